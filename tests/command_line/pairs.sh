# shellcheck shell=bash disable=SC2154,SC2034
# Translators. Sourced by tests/command_line.sh.

# Pairs of lines, and translations.
for i in $(seq 30); do
  echo "one $i two" >>pairs.a
  echo "two $i one" >>pairs.b
done
cat >translator.json <<'JSON'
{"model_type": "marian", "d_model": 24, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 3,
 "decoder_attention_heads": 3, "encoder_ffn_dim": 24, "decoder_ffn_dim": 24, "max_position_embeddings": 16}
JSON
pairs=("$vkformer" train translator.json --pairs pairs.a pairs.b --vocabulary 40 --batch-tokens 40)
accept "${pairs[@]}" --iterations 4 --valid pairs.a pairs.b --out translator
grep -q "BLEU = .*refs:1" out || fail "no score of a validation: $(cat out)"
accept "${pairs[@]}" --valid pairs.a pairs.b --out best --iterations 12 --checkpoint-every 3 --evaluate-every 2 \
  --keep-best chrf --early-stopping 1 --average 2 --learning-rate 1e-9
grep -q "ended early: 1 evaluations without a better chrf" err || fail "no early end: $(cat err)"
accept "$vkformer" translate best/best -p "one 1 two"
accept "$vkformer" translate best/average -p "one 1 two"
rm -r best/average  # as if the run had been killed before it was written
accept "$vkformer" train --resume --out best
[[ -e best/average/latest ]] || fail "a lost average was not made up for"
refuse 1 "this run scores bleu, chrf, exact_match" "${pairs[@]}" --valid pairs.a pairs.b --out none --keep-best accuracy
refuse 1 "this run scores nothing; give it --valid" "${pairs[@]}" --out none --keep-best chrf
refuse 1 "need a validation split" "${pairs[@]}" --out none --early-stopping 2
[[ -e none ]] && fail "a refused run left a folder behind"
refuse 1 "not by loss" "$vkformer" train --resume --out best --keep-best loss
rm -r best
printf 'one 1 two\n\none 2 two one 3 two\n' | "$vkformer" translate translator -q --beams 2 >out || fail "translate"
[[ $(wc -l <out) == 3 && -z $(sed -n 2p out) ]] || fail "a line out for each line in: $(cat out)"
accept "$vkformer" translate translator -p "one 1 two" --n-best 2 --beams 2 --json
head -n 29 pairs.b >fewer.b
(cat pairs.a && echo) >gap.a
(cat pairs.b && echo one) >gap.b
(cat pairs.a && seq -s ' ' 40) >long.a
refuse 2 "--pairs" "$vkformer" train translator.json --out new
refuse 1 "pairs.a has 30 lines, .*fewer.b has 29" "$vkformer" train translator.json --pairs pairs.a fewer.b --out new
refuse 1 "gap.a:31: the line is empty" "$vkformer" train translator.json --pairs gap.a gap.b --vocabulary 40 --out new
refuse 1 "long.a:31: .* tokens, at most 16" "$vkformer" train translator.json --pairs long.a gap.b --vocabulary 40 --out new
refuse 1 "broken.txt:1: not UTF-8" "$vkformer" train translator.json --pairs broken.txt broken.txt --out new
refuse 1 "is none" "$vkformer" train small.json --pairs pairs.a pairs.b --vocabulary 40 --out new
refuse 1 "No such file" "$vkformer" train translator.json --pairs pairs.a pairs.b --tokenizer none --out new
refuse 1 "not the text" "$vkformer" train --resume --pairs pairs.b pairs.a --out translator
refuse 2 "--vocabulary can't change" "$vkformer" train --resume --vocabulary 50 --out translator
[[ -e new ]] && fail "a refused run left a folder behind"
accept "$vkformer" train translator.json --pairs long.a gap.b --vocabulary 40 --skip-long --iterations 1 --out new \
  --valid long.a gap.b
rm -r new
refuse 1 "encoder-decoder" "$vkformer" translate "$fixtures/gpt2"
refuse 1 "is empty" "$vkformer" translate translator
