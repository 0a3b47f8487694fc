# shellcheck shell=bash disable=SC2154
# One training in several processes. Sourced by tests/command_line.sh.

# Open MPI: more processes than cores, all cores for each, root's too (of a container), and nothing of its own to say.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
launch=(mpirun -q --oversubscribe --bind-to none -np)
shared=("$vkformer" train small.json --data text.txt --batch 2 --accumulate 4 --warmup 1)
short=("${shared[@]}" --iterations 6 --checkpoint-every 2)
bits() {
  (cd "$1" && sha256sum "$(cat latest)"/*.safetensors | sed -E 's/(checkpoint-[0-9]+)-[0-9]+/\1/')
  sed -E 's/,"tokens_per_second":[0-9.e+]+//' "$1/metrics.jsonl" | grep -v '"resumed"'
}

# As many processes as there may be, half as many, one: the same bits.
accept "${short[@]}" --gradient-parts 4 --out alone
for count in 1 2 4; do
  accept "${launch[@]}" $count "${short[@]}" --gradient-parts 4 --out shared-$count
  [[ $(bits shared-$count) == "$(bits alone)" ]] || fail "$count processes come to other bits: $(bits shared-$count)"
done
grep -q '^4 processes, each on device' out || fail "not told what the processes are on: $(cat out)"
[[ $(grep -c '^gpt2:' out) == 1 ]] || fail "not one process alone prints: $(cat out)"

# Translations that are scored are shared, too; here each process has those of one of two lines.
for i in 1 2; do echo "the number $i" >>a.txt; echo "$i is it" >>b.txt; done
cat >translator.json <<'JSON'
{"model_type": "marian", "d_model": 24, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 3,
 "decoder_attention_heads": 3, "encoder_ffn_dim": 24, "decoder_ffn_dim": 24, "max_position_embeddings": 16}
JSON
pairs=("$vkformer" train translator.json --pairs a.txt b.txt --valid a.txt b.txt --vocabulary 30 --accumulate 2 --iterations 4 --warmup 1)
accept "${pairs[@]}" --gradient-parts 2 --out pairs-alone
accept "${launch[@]}" 2 "${pairs[@]}" --out pairs
grep -q '"bleu":' pairs/metrics.jsonl || fail "nothing was scored: $(cat pairs/metrics.jsonl)"
[[ $(bits pairs) == "$(bits pairs-alone)" ]] || fail "two processes score otherwise: $(bits pairs)"

# A run goes on in fewer processes. One that is killed takes the others along.
longer=("${shared[@]}" --iterations 200 --checkpoint-every 5 --no-last-evaluation)
accept "${longer[@]}" --gradient-parts 4 --out long
accept "${launch[@]}" 4 "${longer[@]}" --minutes 1e-6 --out fewer
"${launch[@]}" 2 "$vkformer" train --resume --out fewer >out 2>err &
launcher=$!
until [[ $(cat fewer/latest) != checkpoint-000001 ]]; do sleep 0.02; done
read -ra others < <(cat /proc/$launcher/task/*/children)
kill -KILL "${others[-1]}"
wait $launcher && fail "a process was killed, and all is well: $(cat out err)"
# What mpirun has ended may take a moment to let go of the run.
for attempt in {1..100}; do
  "$vkformer" train --resume --out fewer >out 2>err </dev/null && break
  grep -q 'in use by another' err || break
  sleep 0.1
done
((attempt < 100)) || fail "process 0 lives on"
[[ $(bits fewer) == "$(bits long)" ]] || fail "four, two and one process come to other bits: $(bits fewer | head -n 3)"

# What can't be is told once.
refuse 1 "3 processes can't share" "${launch[@]}" 3 "${shared[@]}" --out refused
refuse 2 "--accumulate 8" "${launch[@]}" 8 "${shared[@]}" --out refused
refuse 2 "gradients in 4 parts" "${launch[@]}" 8 "$vkformer" train --resume --out alone --iterations 8
refuse 2 "take 1, 2, 4, 8" "${shared[@]}" --gradient-parts 3 --out refused
refuse 1 "cannot read other.json" "${launch[@]}" 2 "${shared[@]/small.json/other.json}" --out refused
refuse 1 "process 1 has other settings" "${launch[@]}" 1 "${shared[@]}" --gradient-parts 2 --out refused : -np 1 "${shared[@]}" --gradient-parts 2 --seed 3 --out refused
cp text.txt other.txt && echo >>other.txt
refuse 1 "process 1 has other files" "${launch[@]}" 1 "${shared[@]}" --gradient-parts 2 --out refused : -np 1 "${shared[@]/text.txt/other.txt}" --gradient-parts 2 --out refused
[[ ! -e refused ]] || fail "a refused run has left $(ls refused)"
