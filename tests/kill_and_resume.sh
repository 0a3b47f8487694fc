#!/usr/bin/env bash
# A run that is killed (SIGKILL) at random moments and resumed ends in the same bits as an undisturbed one.
# Usage: tests/kill_and_resume.sh VKFORMER [RUNS]     (on the Vulkan driver that the environment selects)
set -euo pipefail
vkformer=$(realpath "$1")
runs=${2:-3}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for i in $(seq 300); do echo "line $i: the quick brown fox jumps over the lazy dog"; done >text.txt
echo '{"model_type": "gpt2", "n_positions": 16, "n_embd": 24, "n_layer": 1, "n_head": 3,
       "embd_pdrop": 0.1, "attn_pdrop": 0.1, "resid_pdrop": 0.1}' >model.json
train=("$vkformer" train model.json --data text.txt --iterations 60 --batch 2 --warmup 5 --checkpoint-every 3
       --evaluate-every 20 --quiet)
bits() { (cd "$1/$(cat "$1/latest")" && sha256sum model.safetensors optimizer.safetensors); grep -v tokens_per_second "$1/metrics.jsonl"; }

SECONDS=0
start=$(date +%s%N)
"${train[@]}" --out whole >/dev/null
length=$((($(date +%s%N) - start) / 1000000))
whole=$(bits whole)
kills=0
for run in $(seq "$runs"); do
  out=run$run
  for attempt in $(seq 200); do
    command=("${train[@]}" --out "$out")
    if [[ -s $out/latest ]]; then command=("$vkformer" train --resume --out "$out" --quiet); fi
    "${command[@]}" >/dev/null 2>err &
    process=$!
    # The first attempt of a run is killed at a random moment of a whole run's time; later ones less and less often.
    if ((attempt <= 3)); then
      delay=$((RANDOM * length / 32768))
      sleep "$((delay / 1000)).$(printf %03d $((delay % 1000)))"
      if kill -KILL $process 2>/dev/null; then kills=$((kills + 1)); fi
    fi
    if wait $process 2>/dev/null; then break; fi
    if ((attempt > 3)); then cat err; exit 1; fi
  done
  if [[ $(bits "$out") != "$whole" ]]; then
    echo "FAIL: run $run differs from the undisturbed run"
    exit 1
  fi
  rm -rf "$out"
done
echo "$runs runs, $kills kills: the same weights, moments and validation losses as the undisturbed run"
