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

"${train[@]}" --out whole >/dev/null
rm -r whole  # that run also warmed the driver's caches
start=$(date +%s%N)
"${train[@]}" --out whole >/dev/null
length=$((($(date +%s%N) - start) / 1000000))  # ms
whole=$(bits whole)

# start_and_kill COMMAND...: true if it was killed before it ended.
start_and_kill() {
  "$@" >/dev/null 2>err &
  local process=$! delay=$((RANDOM * length / 32768))
  sleep "$((delay / 1000)).$(printf %03d $((delay % 1000)))"
  kill -KILL $process 2>/dev/null || true
  ! wait $process 2>/dev/null
}

kills=0
for run in $(seq "$runs"); do
  until start_and_kill "${train[@]}" --out run; do rm -r run; done
  kills=$((kills + 1))
  for again in 1 2; do  # a resumed run may be killed, too
    if [[ -s run/latest ]] && start_and_kill "$vkformer" train --resume --out run --quiet; then kills=$((kills + 1)); fi
  done
  if [[ -s run/latest ]]; then
    "$vkformer" train --resume --out run --quiet >/dev/null
  else
    "${train[@]}" --out run >/dev/null
  fi
  if [[ $(bits run) != "$whole" ]]; then
    echo "FAIL: run $run differs from the undisturbed run"
    exit 1
  fi
  rm -r run
done
echo "$runs runs, $kills kills: the same weights, moments and validation losses as the undisturbed run"
