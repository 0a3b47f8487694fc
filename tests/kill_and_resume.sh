#!/usr/bin/env bash
# A run that is killed (SIGKILL) or stopped (SIGTERM) at random moments and resumed, by two writers at once, of which one is refused, ends in the
# same bits as an undisturbed one.
# Usage: tests/kill_and_resume.sh VKFORMER [RUNS OF EACH KIND]     (on the Vulkan driver that the environment selects)
set -euo pipefail
vkformer=$(realpath "$1")
runs=${2:-1}
words=$(realpath "$(dirname "$0")/fixtures/tokenizers/bert")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for i in $(seq 300); do echo "line $i: the quick brown fox jumps over the lazy dog"; done >text.txt
echo '{"model_type": "gpt2", "n_positions": 16, "n_embd": 24, "n_layer": 1, "n_head": 3,
       "embd_pdrop": 0.1, "attn_pdrop": 0.1, "resid_pdrop": 0.1}' >model.json
for i in $(seq 40); do
  echo "the number $i and $((i * 7 % 40))" >>pairs.a
  echo "number $((i * 7 % 40)) $i the" >>pairs.b
  echo "{\"text\": \"the number $i\", \"label\": $((i % 3))}" >>rows.jsonl
  printf 'the O\nnumber O\n%d B-NUM\n\n' "$i" >>tagged.conll
  echo "{\"prompt\": \"line $i: \", \"completion\": \"the fox\"}" >>prompts.jsonl
  echo "{\"question\": \"which\", \"context\": \"the number $i\", \"answer\": \"$i\", \"answer_start\": 11}" >>asked.jsonl
done
echo '{"model_type": "marian", "d_model": 24, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 3,
       "decoder_attention_heads": 3, "encoder_ffn_dim": 24, "decoder_ffn_dim": 24, "max_position_embeddings": 32,
       "dropout": 0.1}' >translator.json
echo '{"model_type": "bert", "hidden_size": 24, "num_hidden_layers": 1, "num_attention_heads": 3,
       "intermediate_size": 24, "max_position_embeddings": 32}' >encoder.json
echo '{"model_type": "xlnet", "d_model": 24, "n_layer": 1, "n_head": 3, "d_inner": 30, "dropout": 0.1}' >xlnet.json
echo '{"model_type": "t5", "d_model": 24, "d_kv": 8, "d_ff": 30, "num_layers": 1, "num_heads": 3,
       "dropout_rate": 0.1}' >t5.json
same=(--iterations 40 --warmup 5 --checkpoint-every 2 --evaluate-every 15 --quiet)
# Weights, moments and metrics. Of the latter what differs: how fast it was, and where it was resumed. A checkpoint that was
# complete before a kill but not named yet is written a second time, as checkpoint-000040-2.
bits() {
  (cd "$1" && find "$(cat latest)" best good average -name '*.safetensors' 2>/dev/null | sort | xargs sha256sum) |
    sed -E 's/(checkpoint-[0-9]+)-[0-9]+/\1/'
  grep -v '"resumed"' "$1/metrics.jsonl" | sed -E 's/,"tokens_per_second":[0-9.e+]+//'
}

# start_and_kill COMMAND...: starts it, in a run that has begun also a rival, and kills them; true if one was killed before it ended.
start_and_kill() {
  local processes=() i status killed=1 delay=$((RANDOM * length / 32768)) signal=KILL
  ((RANDOM % 3)) || signal=TERM
  "$@" >/dev/null 2>err-0 &
  processes+=($!)
  if [[ -s run/latest ]]; then
    "$vkformer" train --resume --out run --quiet >/dev/null 2>err-1 &
    processes+=($!)
  fi
  sleep "$((delay / 1000)).$(printf %03d $((delay % 1000)))"
  kill -$signal "${processes[@]}" 2>/dev/null || true
  for i in "${!processes[@]}"; do
    status=0
    wait "${processes[i]}" 2>/dev/null || status=$?
    case $status in
      0) [[ $signal == KILL ]] || killed=0 ;;
      137 | 143) killed=0 ;;
      1) grep -q 'in use by another' "err-$i" || { cat "err-$i"; exit 1; } ;;
      *) cat "err-$i"; exit 1 ;;
    esac
  done
  return $killed
}

kills=0 all=0
# disturb TRAIN...: kills runs of this command and compares them with one that was left alone.
disturb() {
  local train=("$@") whole start run
  "${train[@]}" --out whole >/dev/null
  rm -r whole  # that run also warmed the driver's caches
  start=$(date +%s%N)
  "${train[@]}" --out whole >/dev/null
  length=$((($(date +%s%N) - start) / 1000000))  # ms
  whole=$(bits whole)
  for run in $(seq "$runs"); do
    until start_and_kill "${train[@]}" --out run; do rm -r run; done
    kills=$((kills + 1))
    for _ in 1 2; do  # a resumed run may be killed, too
      if [[ -s run/latest ]] && start_and_kill "$vkformer" train --resume --out run --quiet; then kills=$((kills + 1)); fi
    done
    # Killed between the first checkpoint and the file that names it.
    if [[ ! -s run/latest ]]; then
      for name in run/checkpoint-??????; do [[ -e $name ]] && echo "${name#run/}" >run/latest; done
    fi
    if [[ -s run/latest ]]; then
      "$vkformer" train --resume --out run --quiet >/dev/null
    else
      "${train[@]}" --out run >/dev/null
    fi
    if [[ $(bits run) != "$whole" ]]; then
      echo "FAIL: run $run of ${train[*]} differs from the undisturbed run"
      diff <(echo "$whole") <(bits run) | head -n 20
      exit 1
    fi
    all=$((all + 1))
    rm -r run
  done
  rm -r whole
}
disturb "$vkformer" train model.json --data text.txt --batch 2 --moving-average 0.9 "${same[@]}"
disturb "$vkformer" train model.json --data text.txt --batch 2 --accumulate 2 --precision f16 --checkpoint-activations "${same[@]}"
disturb "$vkformer" train translator.json --pairs pairs.a pairs.b --valid pairs.a pairs.b --vocabulary 60 \
  --batch-tokens 40 --keep-best loss --average 3 "${same[@]}"
disturb "$vkformer" train encoder.json --masked pairs.a --valid pairs.b --vocabulary 60 --batch-tokens 80 "${same[@]}"
disturb "$vkformer" train encoder.json --labels rows.jsonl --valid rows.jsonl --tokenizer "$words" --batch 8 --average-best 2 "${same[@]}"
disturb "$vkformer" train encoder.json --tags tagged.conll --valid tagged.conll --tokenizer "$words" --batch 8 "${same[@]}"
disturb "$vkformer" train encoder.json --answers asked.jsonl --valid asked.jsonl --tokenizer "$words" --batch 8 "${same[@]}"
"$vkformer" train model.json --data text.txt --iterations 2 --out base --quiet >/dev/null
disturb "$vkformer" train --from base --prompts prompts.jsonl --valid prompts.jsonl --batch 2 --lora r=2 --weights f16 "${same[@]}"
disturb "$vkformer" train xlnet.json --permuted text.txt --vocabulary 60 --batch 2 --context 13 "${same[@]}"
disturb "$vkformer" train t5.json --spans text.txt --vocabulary 160 --batch 2 --context 20 "${same[@]}"
echo "$all runs, $kills kills: the same weights, moments and metrics as the undisturbed run"
