# shellcheck shell=bash disable=SC2154,SC2034
# Taggers. Sourced by tests/command_line.sh.

cat >tagger.json <<'JSON'
{"model_type": "bert", "max_position_embeddings": 12, "hidden_size": 24, "num_hidden_layers": 1,
 "num_attention_heads": 3, "intermediate_size": 30}
JSON
# Numbers are names of something, of two words where "and" comes before.
for i in $(seq 10 40); do
  printf 'the X O\ncat X O\n%d X B-NUM\n.\tX O\n\nand X O\n%d X B-NUM\n%d X I-NUM\n\n' "$i" "$i" "$((i + 7))"
done >tagged.conll
printf '{"tokens": ["the", "99"], "tags": ["O", "B-NUM"]}\n{"words": ["and", "98", "97"], "ner_tags": ["O", "B-NUM", "I-NUM"]}\n' >tagged.jsonl
printf 'the O\ncow B-COW\n' >cow.conll
printf 'the O\ncow\n' >untagged.txt
printf 'the DET\ncow NOUN\n' >words.tsv
tagger=("$vkformer" train tagger.json --tags tagged.conll --warmup 1 --schedule constant --learning-rate 1e-2 --evaluate-every 20)
words=(--tokenizer "$fixtures/tokenizers/bert")
refuse 2 "--tags needs --tokenizer FOLDER" "${tagger[@]}" --out tags
refuse 2 "as many files as --tags: 1" "${tagger[@]}" "${words[@]}" --out tags --valid tagged.jsonl tagged.jsonl
refuse 1 'cow.conll:2: no training word has the tag "B-COW"; they have O, B-NUM, I-NUM' "${tagger[@]}" "${words[@]}" --out tags --valid cow.conll
refuse 1 'untagged.txt:2: the word "cow" has no tag' "$vkformer" train tagger.json --tags untagged.txt "${words[@]}" --out tags
refuse 1 "call it .conll" "$vkformer" train tagger.json --tags tagger.json "${words[@]}" --out tags
refuse 1 "no TokenClassification head .* give a config of bert, roberta, xlm-roberta, camembert, distilbert, mpnet, electra, albert, deberta-v2, nomic_bert, modernbert" "$vkformer" train small.json --tags tagged.conll "${words[@]}" --out tags
[[ -e tags ]] && fail "a refused run left a folder behind"
accept "${tagger[@]}" "${words[@]}" --out tags --valid tagged.jsonl --keep-best entity_f1 --iterations 40
# Unseen numbers have the most frequent tag.
grep -q "most frequent tag: accuracy 40.00 %, entities: precision 0.00 %, recall 0.00 %, F1 0.0000" out || fail "no baseline: $(cat out)"
[[ $(grep -c "accuracy [0-9.]* %, entities: precision .* F1 [0-9.]* of 5 words" out) == 2 ]] || fail "no scores: $(cat out)"
tail -n 1 out | grep -q "accuracy 100.00 %, .* F1 1.0000" || fail "the tagger learned nothing: $(cat out)"
[[ $(grep -c '"accuracy":.*"entity_f1":.*"entity_precision":.*"entity_recall":' tags/metrics.jsonl) == 2 ]] || fail "no scores: $(cat tags/metrics.jsonl)"
grep -q '"entity_f1"' "tags/best/$(cat tags/best/latest)/best.json" || fail "no best model: $(ls tags/best)"
tr -d ' \n' <"tags/$(cat tags/latest)/config.json" | grep -q '"id2label":{"0":"O","1":"B-NUM","2":"I-NUM"}' || fail "the tags are not in config.json"
refuse 1 "this run scores nothing with --score-lines 0" "${tagger[@]}" "${words[@]}" --out none --valid tagged.jsonl --keep-best entity_f1 --score-lines 0
accept "${tagger[@]}" "${words[@]}" --out none --valid tagged.jsonl --iterations 1 --score-lines 0
grep -q accuracy none/metrics.jsonl && fail "scores of no words: $(cat none/metrics.jsonl)"

# A run that was stopped ends with the same bits.
accept "${tagger[@]}" "${words[@]}" --out half --iterations 1
accept "$vkformer" train --resume --out half --iterations 3
accept "${tagger[@]}" "${words[@]}" --out whole --iterations 3
cmp -s half/checkpoint-000003/model.safetensors whole/checkpoint-000003/model.safetensors || fail "a resumed run has other weights"

# Every word has a line, also those beyond the context.
printf 'the  cat\t55\n\nand 12 13\nthe cat 11 the cat 12 the cat 13 the cat 14 the cat 15\n' >asked.txt
"$vkformer" tag tags --batch-tokens 20 <asked.txt >out 2>err || fail "tag: $(cat err)"
[[ $(head -n 3 out) == $'the\tO\ncat\tO\n55\tB-NUM' ]] || fail "tag: $(cat out)"
[[ $(sed -n '4p;5p' out) == "" && $(sed -n '6,8p' out) == $'and\tO\n12\tB-NUM\n13\tI-NUM' ]] || fail "tag: $(cat out)"
[[ $(wc -l <out) == 25 && $(grep -c $'\tB-NUM$' out) == 7 ]] || fail "tag left words out: $(cat out)"
grep -q "1 in windows of 12 tokens" err || fail "tag did not say what was cut: $(cat err)"
for i in $(seq 10 99); do echo "and $i the cat"; done >many.txt
answers_on_the_way many.txt "$vkformer" tag tags -q --batch-tokens 10
needs_stdout "$vkformer" tag tags --quiet -p "the cat 55"
accept "$vkformer" tag tags --quiet --json --dtype f16 -p "the cat 55"
grep -q '{"probabilities":\[0[.0-9]*,0[.0-9]*,0[.0-9]*\],"tags":\["O","O","B-NUM"\],"words":\["the","cat","55"\]}' out || fail "tag --json: $(cat out)"

# Other tags, from the encoder of these, which gets a new head; the same ones keep it.
accept "$vkformer" train --from tags --tags words.tsv --context 8 --iterations 1 --out other
grep -q "at their start values, .*: classifier.weight, classifier.bias" err || fail "the new head is not named: $(cat err)"
accept "$vkformer" train --from tags --tags tagged.conll --iterations 1 --out more
grep -q "start values" err && fail "a head that fits is not used: $(cat err)"
refuse 1 "--keep-best entity_f1: this run scores accuracy" "$vkformer" train tagger.json "${words[@]}" --tags words.tsv --valid words.tsv --iterations 1 --out parts --keep-best entity_f1
refuse 1 "gives no tags" "$vkformer" tag "$fixtures/bert_mlm" -p the
refuse 1 "standard input is empty" "$vkformer" tag tags
# A text in windows is scored as one: one entity of five words is missed when one word is, whatever window it is in.
for _ in $(seq 20); do printf '%s\n' "10 I-NUM" "11 I-NUM" "12 I-NUM" "13 I-NUM" "14 O" "the B-NUM" ""; done >short.conll
printf '%s\n' "10 B-NUM" "11 I-NUM" "12 I-NUM" "13 I-NUM" "14 I-NUM" >long.conll
accept "${tagger[@]:0:3}" --tags short.conll "${words[@]}" --warmup 1 --learning-rate 1e-2 --out windows --valid long.conll --context 6 --iterations 60
tail -n 1 out | grep -q "accuracy 60.00 %, entities: precision 0.00 %, recall 0.00 %" || fail "windows are scored as texts: $(cat out)"
sed 's/"vocab_size": [0-9]*/"vocab_size": 700/' "windows/$(cat windows/latest)/config.json" >small_vocabulary.json
mkdir narrow && cp small_vocabulary.json narrow/config.json && cp "$fixtures/tokenizers/bert/tokenizer.json" narrow/
refuse 1 "the tokenizer has 800 tokens, the model only 700" "$vkformer" train --from narrow --tags tagged.conll --out other2
