#!/usr/bin/env bash
# What is different on Windows: names that are no ASCII, ends of lines, two writers, mapped files, sockets.
# Usage: tests/windows/command.sh VKFORMER     (runs vkformer.exe, on the Vulkan driver that the environment selects)
# shellcheck source=tests/command_line/common.sh
source "$(dirname "$0")/../command_line/common.sh" "$1"
mkdir "Bücher & Läufe 本"
cd "Bücher & Läufe 本" || exit 1

for i in $(seq 60); do echo "Grüße $i, the quick brown fox jumps over the lazy dog"; done >"Text ä.txt"
echo '{"model_type": "gpt2", "n_positions": 16, "n_embd": 24, "n_layer": 1, "n_head": 3}' >small.json
train=("$vkformer" train small.json --data "Text ä.txt" --batch 2 --warmup 1)

accept "${train[@]}" --iterations 4 --out Läufe/a
refuse 1 "already holds a run" "${train[@]}" --iterations 4 --out Läufe/a
refuse 1 "fehlt ü" "$vkformer" train small.json --data "fehlt ü.txt" --out Läufe/b
accept "$vkformer" generate Läufe/a -p "Grüße " -n 20
grep -q "^Grüße " out || fail "a prompt in UTF-8: $(od -c out)"
grep -qr $'\r' out Läufe --include=out --include=\*.json* && fail "ends of lines: $(grep -lr $'\r' out Läufe)"

# A run has one writer, and goes on where that one is killed.
"${train[@]}" --iterations 100000 --checkpoint-every 100 --out Läufe/lang >/dev/null 2>err &
writer=$!
until [[ -s Läufe/lang/latest ]] || ! kill -0 $writer 2>/dev/null; do :; done
refuse 1 "in use by another" "$vkformer" train --resume --out Läufe/lang
kill -KILL $writer
wait $writer 2>/dev/null
accept "$vkformer" train --resume --out Läufe/lang --iterations $((10#$(sed 's/checkpoint-//' Läufe/lang/latest) + 2))

# What is larger than a MiB is mapped, and replaced all the same.
seq 12000 | sed 's/.*/{"iteration": 1, "loss": 2.5, "learning_rate": 0.001, "gradient_norm": 1.0, "tokens_per_second": 100.0}/' >>Läufe/a/metrics.jsonl
accept "$vkformer" train --resume --out Läufe/a --iterations 5

# A server and its client.
coproc SERVER { exec "$vkformer" serve Läufe/a --port 0 2>log; }
server=$SERVER_PID
read -r url <&"${SERVER[0]}" || fail "no server: $(cat log)"
curl -s --max-time 60 "${url%$'\r'}/v1/completions" -H 'Content-Type: application/json' -d '{"prompt": "Grüße ", "max_tokens": 5}' >reply || fail "no reply"
grep -q '"completion_tokens":5' reply || fail "no completion: $(cat reply)"
kill "$server"

echo "$failures failures"
((failures == 0))
