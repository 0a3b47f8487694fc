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
sed 's/marian/bart/' translator.json >bart.json
pairs=("$vkformer" train translator.json --pairs pairs.a pairs.b --vocabulary 40 --batch-tokens 40)
accept "${pairs[@]}" --iterations 4 --valid pairs.a pairs.b --out translator
grep -q "BLEU = .*refs:1" out || fail "no score of a validation: $(cat out)"
accept "${pairs[@]}" --valid pairs.a pairs.b --out best --iterations 12 --checkpoint-every 3 --evaluate-every 2 \
  --keep-best chrf --early-stopping 1 --average-best 2 --learning-rate 1e-9
grep -q "mean of the best 2 checkpoints" out || fail "no mean of the best: $(cat out)"
grep -q "ended early: 1 evaluation without a better chrf" err || fail "no early end: $(cat err)"
grep -q "^best by chrf: [0-9.]* at iteration 2, in best/best; best itself is iteration 4$" err || fail "what is the best: $(cat err)"
accept "$vkformer" translate best/best -p "one 1 two"
accept "$vkformer" translate best/average -p "one 1 two"
accept "$vkformer" translate best/average -p "one 1 two" --profile lines.html
[[ $(wc -l <out) == 1 ]] || fail "a profile stands among the translations: $(cat out)"
refuse 1 "none.json: there is no such file" "$vkformer" translate best/average -p "one 1 two" --tuning none.json
grep -q '"name":"encoder, 1 source of [0-9]* tokens"' lines.html || fail "translate measured nothing"
needs_stdout "$vkformer" translate best/average -p "one 1 two"
rm -r best/average  # as if the run had been killed before it was written
accept "$vkformer" train --resume --out best
[[ -e best/average/latest ]] || fail "a lost average was not made up for"
refuse 1 "this run scores bleu, chrf, exact_match" "${pairs[@]}" --valid pairs.a pairs.b --out none --keep-best accuracy
refuse 1 "scores nothing without --valid" "${pairs[@]}" --out none --keep-best chrf
refuse 1 "need a validation split" "${pairs[@]}" --out none --early-stopping 2
[[ -e none ]] && fail "a refused run left a folder behind"
refuse 1 "not by loss" "$vkformer" train --resume --out best --keep-best loss
rm -r best
printf 'one 1 two\n\none 2 two one 3 two\n' | "$vkformer" translate translator -q --beams 2 >out || fail "translate"
[[ $(wc -l <out) == 3 && -z $(sed -n 2p out) ]] || fail "a line out for each line in: $(cat out)"
printf 'one 1 two\n\none 2 two\n' | "$vkformer" translate translator -q --beams 2 --n-best 2 >out || fail "translate --n-best"
[[ $(wc -l <out) == 6 && $(sed -n 3,4p out) == $'0.0000\t\n-inf\t' ]] || fail "two lines out for each line in: $(cat out)"
# A model that never ends a line writes each as long as it would alone.
printf 'one\none 2 two one 3 two\none 1 two\n' >unlike.txt
"$vkformer" translate translator -q <unlike.txt >together || fail "translate"
while read -r line; do "$vkformer" translate translator -q -p "$line"; done <unlike.txt >alone
cmp -s together alone || fail "a line's translation depends on others: $(cat together alone)"
for i in $(seq 80); do printf 'one %d two\n\n' "$i"; done >many.txt
answers_on_the_way many.txt "$vkformer" translate translator -q -n 4 --batch-tokens 12
accept "$vkformer" translate translator -p "one 1 two" --n-best 2 --beams 2 --json
# Lines longer than the model's 16 positions.
long="one $(seq -s ' ' 30) two"
refuse 1 "tokens, the model 16 positions; split it, or give --cut-long" "$vkformer" translate translator -p "$long"
printf 'one 1 two\n%s\n' "$long" | "$vkformer" translate translator --cut-long >out 2>err || fail "translate --cut-long: $(cat err)"
[[ $(wc -l <out) == 2 ]] || fail "a line out for each line in: $(cat out)"
grep -q "^1 line cut at 16 tokens" err || fail "translate did not say what it cut: $(cat err)"
# One file of pairs.
paste pairs.a pairs.b >pairs.tsv
paste pairs.a pairs.b | sed 's/\(.*\)\t\(.*\)/{"translation": {"xx": "\1", "aa": "\2"}}/' >pairs.jsonl
one=(--vocabulary 40 --batch-tokens 40 --iterations 1 --score-lines 0 --quiet)
accept "${pairs[@]}" --iterations 1 --score-lines 0 --quiet --out new
mv "new/$(cat new/latest)/model.safetensors" weights && rm -r new
for file in pairs.tsv pairs.jsonl; do
  accept "$vkformer" train translator.json --pairs $file "${one[@]}" --out new
  cmp "new/$(cat new/latest)/model.safetensors" weights || fail "$file is not read as two files are"
  rm -r new
done
refuse 1 "pairs.a: one file of pairs" "$vkformer" train translator.json --pairs pairs.a --out new
sed '2s/$/\tsomebody/' pairs.tsv >wide.tsv
accept "$vkformer" train translator.json --pairs wide.tsv "${one[@]}" --out new
cmp "new/$(cat new/latest)/model.safetensors" weights || fail "a third column changes a training"
[[ $(grep -c "wide.tsv: 1 line with more than two columns" err) == 1 ]] || fail "a third column goes unseen: $(cat err)"
rm -r new
sed -i 3d pairs.tsv && echo no tab >>pairs.tsv
refuse 1 "pairs.tsv:30: no tab" "$vkformer" train translator.json --pairs pairs.tsv --out new
# Each side with a vocabulary of its own; the targets' has no small letters.
tr '[:lower:]' '[:upper:]' <pairs.b >upper.b
accept "$vkformer" train translator.json --pairs pairs.a upper.b --valid pairs.a upper.b --apart --vocabulary 40 --iterations 2 --out apart
accept "$vkformer" train --resume --out apart --iterations 3
accept "$vkformer" translate apart -p "one 1 two"
grep -q '[a-z]' out && fail "not the target's tokens: $(cat out)"
refuse 2 "--apart can't change" "$vkformer" train --resume --out apart --apart
refuse 1 "share one embedding" "$vkformer" train bart.json --pairs pairs.a upper.b --apart --vocabulary 40 --out new
refuse 2 "name the other by --target-tokenizer" "${pairs[@]:0:6}" --batch-tokens 40 --apart --tokenizer "apart/$(cat apart/latest)" --out new
refuse 2 "needs the source's --tokenizer" "${pairs[@]}" --target-tokenizer "apart/$(cat apart/latest)" --out new
rm -r apart
head -n 29 pairs.b >fewer.b
(cat pairs.a && echo) >gap.a
(cat pairs.b && echo one) >gap.b
(cat pairs.a && seq -s ' ' 40) >long.a
refuse 2 "--pairs" "$vkformer" train translator.json --out new
refuse 1 "pairs.a has 30 lines, .*fewer.b has 29" "$vkformer" train translator.json --pairs pairs.a fewer.b --out new
refuse 1 "gap.a:31: the line is empty" "$vkformer" train translator.json --pairs gap.a gap.b --vocabulary 40 --out new
refuse 1 "long.a:31: .* tokens, at most 16" "$vkformer" train translator.json --pairs long.a gap.b --vocabulary 40 --out new
refuse 1 "broken.txt:1: not UTF-8" "$vkformer" train translator.json --pairs broken.txt broken.txt --out new
refuse 1 "pairs does not train a model of type gpt2; --data and --prompts do" "$vkformer" train small.json --pairs pairs.a pairs.b --vocabulary 40 --out new
refuse 1 "there is no 'none'; give a folder with a tokenizer" "$vkformer" train translator.json --pairs pairs.a pairs.b --tokenizer none --out new
refuse 1 "not the text" "$vkformer" train --resume --pairs pairs.b pairs.a --out translator
refuse 2 "--vocabulary can't change" "$vkformer" train --resume --vocabulary 50 --out translator
[[ -e new ]] && fail "a refused run left a folder behind"
accept "$vkformer" train translator.json --pairs long.a gap.b --vocabulary 40 --skip-long --iterations 1 --out new \
  --valid long.a gap.b
rm -r new
refuse 1 "encoder-decoder" "$vkformer" translate "$fixtures/gpt2"
refuse 1 "is empty" "$vkformer" translate translator

# A tokenizer of many languages, as NLLB's: both sides' are named, and what is trained writes one.
accept "$vkformer" tokens pairs.a pairs.b --layout translation --size 40 --out many --quiet
language='"special": true, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false'
sed -i "s/\"added_tokens\": *\[/&{\"id\": 40, \"content\": \"eng_Latn\", $language}, {\"id\": 41, \"content\": \"fra_Latn\", $language},/" \
  many/tokenizer.json
sed -i 's/PreTrainedTokenizerFast/NllbTokenizer/' many/tokenizer_config.json
sed 's/marian/m2m_100/' translator.json >m2m_100.json
many=("$vkformer" train m2m_100.json --pairs pairs.a pairs.b --tokenizer many --batch-tokens 60)
refuse 2 "name both sides' by --source-lang and --target-lang" "${many[@]}" --out none
refuse 1 '"de" is none of its 2 languages; there are eng_Latn, fra_Latn' "${many[@]}" --source-lang eng --target-lang de --out none
accept "${many[@]}" --source-lang eng --target-lang fra_Latn --iterations 2 --valid pairs.a pairs.b --out languages
refuse 2 "can't change when a run is resumed" "$vkformer" train --resume --out languages --source-lang fra
accept "$vkformer" train --resume --out languages --iterations 3
run=languages/$(cat languages/latest)
echo "one 3 two" | "$vkformer" encode "$run" >out
[[ $(cat out) == "40 "*" 1" ]] || fail "a source has not its language before it: $(cat out)"
grep -q '"forced_bos_token_id": 41' "$run/config.json" || fail "the language to write is not kept"
grep -q '"decoder_start_token_id": 1' "$run/config.json" || fail "M2M-100's decoder begins with padding"
scores() { "$vkformer" translate "$@" -p "one 3 two" -q --beams 2 --json >out || fail "translate $*"; grep -o '"score":[-0-9.]*' out; }
kept=$(scores languages)
[[ $(scores languages --source-lang eng_Latn --target-lang fra) == "$kept" ]] || fail "a run has other languages than those that were named"
[[ $(scores languages --source-lang fra) != "$kept" ]] || fail "the source's language counts for nothing"
[[ $(scores languages --target-lang eng) != "$kept" ]] || fail "the language to write counts for nothing"
paste pairs.a pairs.b | sed 's/\(.*\)\t\(.*\)/{"translation": {"fr": "\2", "en": "\1"}}/' >turned.jsonl
for rows in turned.jsonl "pairs.a pairs.b"; do
  out=sides.${rows%%.*}
  # shellcheck disable=SC2086
  accept "$vkformer" train m2m_100.json --pairs $rows --tokenizer many --batch-tokens 60 --source-lang eng --target-lang fra --iterations 1 --out "$out"
  grep -q "from eng_Latn to fra_Latn" out || fail "train does not say the languages: $(cat out)"
done
cmp "sides.turned/$(cat sides.turned/latest)/model.safetensors" "sides.pairs/$(cat sides.pairs/latest)/model.safetensors" ||
  fail "rows whose second language is the source's are not turned"
# A run that began with others; an adapter, whose base has none.
accept "$vkformer" train --from languages --pairs pairs.b pairs.a --source-lang fra --target-lang eng --batch-tokens 60 --iterations 1 --out back
grep -q '"forced_bos_token_id": 40' "back/$(cat back/latest)/config.json" || fail "a run keeps the languages of the one before"
cp -r "$run" base && sed -i 's/"forced_bos_token_id": 41/"forced_bos_token_id": null/' base/config.json && rm base/target_tokenizer.json
refuse 2 "name one by --target-lang, and that of the lines by --source-lang, which is eng_Latn now" \
  "$vkformer" translate base -p "one 3 two"
refuse 2 "name both sides' by" "$vkformer" train --from base --pairs pairs.a pairs.b --lora r=2 --out adapter
accept "$vkformer" train --from base --pairs pairs.a pairs.b --lora r=2 --source-lang fra --target-lang eng --batch-tokens 60 --iterations 1 --out adapter
accept "$vkformer" train --resume --out adapter --iterations 2
[[ $(scores base --adapter adapter) == "$(scores base --adapter adapter --source-lang fra --target-lang eng)" ]] || fail "an adapter's languages are lost"
accept "$vkformer" convert base merged --merge adapter
grep -q "trained from fra_Latn to eng_Latn; name these" err || fail "the merged model's languages are not named: $(cat err)"
refuse 2 "goes without --source-lang" "${many[@]}" --target-tokenizer many --source-lang eng --target-lang fra --out none
# mBART's first models have languages behind texts, and decoders begin with one.
sed -i 's/"NllbTokenizer"/"MBartTokenizer", "src_lang": "eng_Latn"/' many/tokenizer_config.json
refuse 1 "it puts languages behind texts (legacy_behaviour)" "${many[@]}" --source-lang eng --target-lang fra --out none
sed -i 's/m2m_100/mbart/' m2m_100.json
accept "${many[@]}" --source-lang eng --target-lang fra --iterations 1 --valid pairs.a pairs.b --out mbart
grep -q '"decoder_start_token_id": 41' "mbart/$(cat mbart/latest)/config.json" || fail "mBART's decoder does not begin with its language"
[[ $(scores mbart) == "$(scores mbart --target-lang fra)" ]] || fail "mBART does not write what it was trained on"
[[ $(scores mbart) != "$(scores mbart --target-lang eng)" ]] || fail "mBART's language to write counts for nothing"
refuse 2 "--source-lang and --target-lang need a tokenizer" "$vkformer" train m2m_100.json --pairs pairs.a pairs.b --source-lang a --out none
refuse 1 "has no tokens of languages" "$vkformer" train m2m_100.json --pairs pairs.a pairs.b --tokenizer translator --source-lang a --target-lang b --out none
refuse 1 "has no tokens of languages, of which one could be" "$vkformer" translate translator -p "one 3 two" --target-lang fra
