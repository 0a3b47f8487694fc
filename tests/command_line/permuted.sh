# shellcheck shell=bash disable=SC2154,SC2034
# XLNet's pre-training, and what follows from it. Sourced by tests/command_line.sh.

cat >xlnet.json <<'JSON'
{"model_type": "xlnet", "d_model": 24, "n_layer": 1, "n_head": 3, "d_inner": 30, "dropout": 0.1}
JSON
permuted=("$vkformer" train xlnet.json --permuted text.txt --vocabulary 45 --batch 3 --iterations 4 --warmup 1 --evaluate-every 2)
accept "${permuted[@]}" --context 13 --out words --valid text.txt --keep-best masked_accuracy
grep -q "of 13 at most 6 are predicted" out || fail "no summary of the data: $(cat out)"
[[ $(grep -c '"masked_accuracy":' words/metrics.jsonl) == 2 ]] || fail "no scores: $(cat words/metrics.jsonl)"
grep -q '"pad_token_id": 5' "words/$(cat words/latest)/config.json" || fail "the padding's id is not in config.json"
accept "$vkformer" train --resume --out words --iterations 5
accept "${permuted[@]}" --context 13 --out without --validation-fraction 0 --accumulate 2
grep -q "0 for validation" out || fail "no summary without a validation: $(cat out)"
accept "$vkformer" train --from words --permuted text.txt --iterations 1 --context 9 --out further

# A classifier, with <cls> at the end and padding in front.
for i in $(seq 20); do
  printf '{"text": "the fox %d", "label": "fox"}\n{"text": "the lazy dog", "label": "dog"}\n' "$i"
done >rows.jsonl
accept "$vkformer" train --from words --labels rows.jsonl --valid rows.jsonl --iterations 40 --warmup 1 --learning-rate 1e-2 --out labels
grep -q "sequence_summary" err || fail "nothing says that the head is new: $(cat err)"
printf 'the fox\nthe lazy dog\n' | "$vkformer" classify labels --quiet >out || fail "classify"
[[ $(cut -f 1 out | tr '\n' ' ') == "fox dog " ]] || fail "classify learned nothing: $(cat out)"

refuse 2 "--permuted and --spans exclude" "${permuted[@]}" --spans text.txt --out new
refuse 2 "as many files as --permuted: 1" "${permuted[@]}" --valid text.txt text.txt --out new
refuse 1 "XLNet's language model, not this gpt2" "$vkformer" train small.json --permuted text.txt --vocabulary 45 --out new
refuse 1 "XLNet's language model, not this xlnet" "$vkformer" train --from labels --permuted text.txt --out new
refuse 1 "tokens for training, one context needs 2000" "${permuted[@]}" --context 2000 --out new
refuse 1 "the model's 2048, which its family sets" "${permuted[@]}" --context 2049 --out new
refuse 1 "tokens for validation, one context needs 40" "${permuted[@]}" --valid short.txt --context 40 --out new
refuse 1 "broken.txt:1: not UTF-8" "$vkformer" train xlnet.json --permuted broken.txt --out new
refuse 1 "too small for the .* characters" "$vkformer" train xlnet.json --permuted text.txt --vocabulary 20 --out new
[[ -e new ]] && fail "a refused run left a folder behind"
refuse 1 "does not write text" "$vkformer" generate words -p "the"
