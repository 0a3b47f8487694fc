# shellcheck shell=bash disable=SC2154,SC2034
# T5's pre-training, and what follows from it. Sourced by tests/command_line.sh.

cat >t5.json <<'JSON'
{"model_type": "t5", "d_model": 24, "d_kv": 8, "d_ff": 30, "num_layers": 1, "num_heads": 3, "dropout_rate": 0.1}
JSON
spans=("$vkformer" train t5.json --spans text.txt --vocabulary 145 --batch 4 --warmup 1)
accept "${spans[@]}" --context 40 --out gaps --iterations 60 --learning-rate 2e-2 --evaluate-every 30 --keep-best loss
grep -q "of 44 at a time 7 are hidden, in 2 gaps" out || fail "no summary of the data: $(cat out)"
accept "$vkformer" train --resume --out gaps --iterations 62
accept "$vkformer" generate gaps -p "the <extra_id_0> fox jumps" -n 20 --quiet
grep -q "^<extra_id_0>" out || fail "no gap is filled: $(cat out)"
grep -q "extra_id_[1-9]" out && fail "more gaps are filled than there are: $(cat out)"
accept "${spans[@]}" --context 9 --out valid --iterations 2 --valid text.txt --accumulate 2
accept "$vkformer" train --from gaps --spans text.txt --iterations 1 --context 9 --out further

# A translator.
for i in $(seq 20); do
  echo "the quick fox" >>pairs.a
  echo "fox quick the" >>pairs.b
done
accept "$vkformer" train --from gaps --pairs pairs.a pairs.b --iterations 40 --warmup 1 --learning-rate 2e-2 --out translator
accept "$vkformer" translate translator -p "the quick fox" --quiet
[[ $(cat out) == "fox quick the" ]] || fail "the translator learned nothing: $(cat out)"

for _ in $(seq 240); do echo "the quick brown fox jumps over the lazy dog"; done >long.txt
refuse 1 "has no sentinels" "$vkformer" train t5.json --spans text.txt --tokenizer "$fixtures/tokenizers/t5" --out new
refuse 1 "spans, the tokenizer only 100 sentinels" "$vkformer" train t5.json --spans long.txt --validation-fraction 0 --vocabulary 145 --context 2000 --out new
refuse 1 "3 or more" "${spans[@]}" --context 2 --out new
refuse 1 "tokens for training, one context needs" "${spans[@]}" --context 2000 --out new
refuse 1 "tokens for validation, one context needs 44" "${spans[@]}" --valid short.txt --context 40 --out new
refuse 1 "spans does not train" "$vkformer" train small.json --spans text.txt --vocabulary 145 --out new
refuse 1 "too small for the .* 103 special tokens" "$vkformer" train t5.json --spans text.txt --vocabulary 60 --out new
refuse 1 "UTF-8" "$vkformer" train t5.json --spans broken.txt --out new
[[ -e new ]] && fail "a refused run left a folder behind"
