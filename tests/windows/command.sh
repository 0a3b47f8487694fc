#!/usr/bin/env bash
# What is different on Windows: names that are no ASCII, ends of lines, Ctrl-C, locks, files in use, sockets.
# Usage: tests/windows/command.sh VKFORMER     (runs vkformer.exe, on the Vulkan driver that the environment selects)
here=$(realpath "$(dirname "$0")")
# shellcheck source=tests/command_line/common.sh
source "$here/../command_line/common.sh" "$1"
mkdir "Bücher & Läufe 本"
cd "Bücher & Läufe 本" || exit 1

for i in $(seq 60); do echo "Grüße $i, the quick brown fox jumps over the lazy dog"; done >"Text ä.txt"
echo '{"model_type": "gpt2", "n_positions": 16, "n_embd": 24, "n_layer": 1, "n_head": 3}' >small.json
train=("$vkformer" train small.json --data "Text ä.txt" --batch 2 --warmup 1 --checkpoint-every 4)
weights() { sha256sum <"$1/$(cat "$1/latest")/model.safetensors"; }

accept "${train[@]}" --iterations 12 --out Läufe/ganz
# Ctrl-C at a console: one checkpoint more, and how to go on. So it ends in the same bits.
python3 "$here/in_console.py" iter '\x03' "${train[@]}" --iterations 1000000 --out Läufe/halb >out || fail "Ctrl-C: $(cat out)"
