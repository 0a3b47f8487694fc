#!/usr/bin/env bash
# Bad input at the command line: one clear line on stderr, exit status 1 or 2, nothing lost.
# Usage: tests/command_line.sh VKFORMER [PART...]     (on the Vulkan driver that the environment selects)
# The parts are the files of tests/command_line/, each with a folder of its own.
parts_folder=$(realpath "$(dirname "$0")/command_line")
# shellcheck source=tests/command_line/common.sh
source "$parts_folder/common.sh" "$1"
shift
(($#)) || set -- usage profile pipelines conform models data pairs labels numbers evaluate masked tags answers embeddings pictures permuted spans generation chat preferences similar download seeing serve serve_apis serve_speech rerank runs processes lora gguf speech pages

# What the parts find in their folders.
for part; do
  [[ -e $parts_folder/$part.sh ]] || { echo "there is no part $part"; exit 2; }
  mkdir "$part"
  for _ in $(seq 60); do echo "the quick brown fox jumps over the lazy dog"; done >"$part/text.txt"
  head -c 40 "$part/text.txt" >"$part/short.txt"
  printf 'abc\xff\xfe' >"$part/broken.txt"
  : >"$part/empty.txt"
  cat >"$part/small.json" <<'JSON'
{"model_type": "gpt2", "n_positions": 16, "n_embd": 24, "n_layer": 1, "n_head": 3}
JSON
done
# shellcheck disable=SC2034
train=("$vkformer" train small.json --data text.txt --iterations 4 --batch 2 --warmup 1 --checkpoint-every 2)

for part; do
  if [[ $part == processes ]] && ! command -v mpirun >/dev/null; then
    echo "skipped: several processes, for want of mpirun"
    continue
  fi
  cd "$folder/$part" || exit 1
  # shellcheck source=/dev/null
  source "$parts_folder/$part.sh"
done

echo "$failures failures"
((failures == 0))
