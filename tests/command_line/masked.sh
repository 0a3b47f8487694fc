# shellcheck shell=bash disable=SC2154,SC2034
# Masked words: pre-training, what goes on from it, and filling in. Sourced by tests/command_line.sh.

cat >encoder.json <<'JSON'
{"model_type": "bert", "max_position_embeddings": 12, "hidden_size": 24, "num_hidden_layers": 1,
 "num_attention_heads": 3, "intermediate_size": 30, "hidden_dropout_prob": 0.2}
JSON
for i in $(seq 40); do echo "the cat and the dog $((i % 7)) saw $i"; done >lines.txt
{ echo; echo; echo "the cat and the dog 1 saw 1"; echo "the cat and the cat and the cat and the cat and the cat"; } >>lines.txt
masked=("$vkformer" train encoder.json --masked lines.txt --vocabulary 50 --iterations 60 --warmup 1
  --learning-rate 1e-2 --evaluate-every 30)
folder_of() { echo "$1/$(cat "$1/latest")"; }

refuse 2 "--valid takes as many files as --masked: 1" "${masked[@]}" --out run --valid lines.txt lines.txt
refuse 2 "--labels and --masked exclude" "${masked[@]}" --out run --labels lines.txt
refuse 2 "--mask-share" "${masked[@]}" --out run --mask-share 0
refuse 1 "no MaskedLM head for model_type 'gpt2' here; give a config of bert, roberta, xlm-roberta, camembert, distilbert, mpnet, electra, albert, deberta-v2, nomic_bert, modernbert" "$vkformer" train small.json --masked lines.txt --out run
refuse 1 "no MaskedLM head for model_type 'gpt2'" "$vkformer" train --from "$fixtures/gpt2" --masked lines.txt --tokenizer "$fixtures/tokenizers/bert" --out run
refuse 1 "neither \[MASK\] nor <mask>; .*vkformer tokens FILE --kind bpe --layout bert" "${masked[@]:0:5}" --tokenizer "$fixtures/tokenizers/t5" --out run
refuse 1 "the model's 12" "${masked[@]}" --out run --context 13 --set max_position_embeddings=12
refuse 1 "broken.txt:1: not UTF-8" "$vkformer" train encoder.json --masked broken.txt --out run
printf '\n\n' >blank.txt
refuse 1 "blank.txt has no line with a word to mask" "${masked[@]}" --out run --valid blank.txt
[[ -e run ]] && fail "a refused run left a folder behind"
# Of RoBERTa's positions one belongs to padding, which is token 0 here.
sed 's/"bert"/"roberta"/' encoder.json >roberta.json
accept "$vkformer" train roberta.json --masked lines.txt --size 50 --kind unigram --context 14 --iterations 1 --warmup 0 --out roberta
grep -q '"max_position_embeddings": 15' "$(folder_of roberta)/config.json" || fail "not 14 positions: $(cat "$(folder_of roberta)/config.json")"

accept "${masked[@]}" --out run --valid lines.txt --keep-best masked_accuracy
for said in "42 lines of" "2 without words left out" "2 cut at 12 tokens" "1 of them repeat" "warning: 2.4 % of the lines" \
    "stays near [0-9.]* (the entropy" "validation loss [0-9.]* (whole split), perplexity" "% of [0-9]* masked words right"; do
  grep -q "$said" out || fail "'$said' was not said: $(cat out)"
done
[[ $(grep -c '"masked_accuracy":.*"perplexity":' run/metrics.jsonl) == 2 ]] || fail "no scores: $(cat run/metrics.jsonl)"
[[ -s run/best/latest ]] || fail "no best model by masked_accuracy"
grep -A1 '"architectures"' "$(folder_of run)/config.json" | grep -q BertForMaskedLM || fail "config.json names no masked model"
# The tokenizer that is made is the one that the command makes.
accept "$vkformer" tokens lines.txt --tokenizer-kind bpe --layout bert --vocabulary 50 --out words
cmp -s words/tokenizer.json "$(folder_of run)/tokenizer.json" || fail "train and tokens make different vocabularies"
accept "$vkformer" train --resume --out run --iterations 61
refuse 1 "not the text" "$vkformer" train --resume --out run --masked text.txt

short=(--iterations 2 --warmup 1 -d reference)

# On from there: more text, and a classifier, whose head is new.
accept "$vkformer" train --from run --masked text.txt "${short[@]}" --out more
grep -q "at their start values" err && fail "pre-training that goes on lost a tensor: $(cat err)"
for i in $(seq 10); do printf '{"text": "the cat %d", "label": "cat"}\n{"text": "the dog %d", "label": "dog"}\n' "$i" "$i"; done >rows.jsonl
accept "$vkformer" train --from run --labels rows.jsonl "${short[@]}" --out labels
grep -q "^at their start values, for the files have none that fit: bert.pooler.dense.weight, .*classifier.bias$" err || fail "the new head is not named: $(cat err)"
[[ $(grep -c "^at their start values\|^skipped .*cls.predictions" err) == 2 ]] || fail "heads take more than a line each: $(cat err)"
for key in '"BertForSequenceClassification"' '"1": "dog"' '"hidden_dropout_prob": 0.2'; do
  grep -q "$key" "$(folder_of labels)/config.json" || fail "$key is not in config.json: $(cat "$(folder_of labels)/config.json")"
done
cmp -s words/tokenizer.json "$(folder_of labels)/tokenizer.json" || fail "the classifier has another tokenizer"
accept "$vkformer" classify labels -d reference -p "the cat 3"
accept "$vkformer" train --from labels --masked text.txt "${short[@]}" --out back
grep -q "none that fit: cls.predictions" err || fail "a new head for masked words is not named: $(cat err)"

# Every head of MPNet, ELECTRA, DeBERTa and ModernBERT from every other, and from a model without one. MPNet's padding has the id 1.
mkdir marked
sed 's/"\[PAD\]": *0/"[PAD]": 1/; s/"\[UNK\]": *1/"[UNK]": 0/' "$fixtures/tokenizers/bert/tokenizer.json" |
  tr -d '\n' | sed 's/{"id": *0,\([^}]*\)"\[PAD\]"/{"id":1,\1"[PAD]"/; s/{"id": *1,\([^}]*\)"\[UNK\]"/{"id":0,\1"[UNK]"/' >marked/tokenizer.json
printf 'the O\ndog B-A\n\nthe O\ncat B-A\n' >tags.conll
printf '{"question": "who", "context": "the cat is fat", "answer": "fat", "answer_start": 11}\n' >questions.jsonl
distances='"relative_attention": true, "position_biased_input": false, "share_att_key": true, "norm_rel_ebd": "layer_norm", "pos_att_type": "p2c|c2p", "position_buckets": 8'
for family in mpnet electra deberta-v2 modernbert; do
  embeddings=24
  if [[ $family == electra ]]; then embeddings=8; fi
  printf '{"model_type": "%s", "max_position_embeddings": 34, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 30, "embedding_size": %s, %s}' $family $embeddings "$distances" >head.json
  accept "$vkformer" train head.json --masked text.txt --tokenizer marked "${short[@]}" --out $family-masked
  cp -r "$(folder_of $family-masked)" $family-bare
  sed -i 's/ForMaskedLM/Model/' $family-bare/config.json
  heads=("--labels rows.jsonl" "--tags tags.conll" "--answers questions.jsonl" "--masked text.txt")
  for from in masked bare; do
    for head in "${heads[@]}"; do
      # shellcheck disable=SC2086
      accept "$vkformer" train --from $family-$from $head "${short[@]}" --out "$family-$from${head% *}"
    done
  done
  for from in labels tags answers; do
    for head in "${heads[@]}"; do
      # shellcheck disable=SC2086
      accept "$vkformer" train --from "$family-masked--$from" $head "${short[@]}" --out "$family-$from-on${head% *}"
    done
  done
  grep -q "none that fit: classifier\|none that fit: qa_outputs" err && fail "a masked head has another's name: $(cat err)"
done
accept "$vkformer" classify modernbert-tags-on--labels -d reference -p "the cat"

# The mask is the special token, though another's name is a word.
mkdir worded
sed 's/"id": *4,\([^}]*\)"\[MASK\]"/"id":800,\1"<mask>"/' "$fixtures/tokenizers/bert/tokenizer.json" >worded/tokenizer.json
accept "$vkformer" train head.json --masked text.txt --tokenizer worded "${short[@]}" --out worded-run
accept "$vkformer" fill worded-run -d reference -p "the <mask> and"

# A line of validation that is longer than all that is learned is evaluated alone.
printf 'the cat and\nthe dog and\n' >few.txt
printf 'the cat\n%s\n' "the cat and the dog and the cat" >longer.txt
accept "$vkformer" train --from modernbert-masked --masked few.txt --valid longer.txt --accumulate 2 "${short[@]}" --out longer
grep -q "longer ones, of validation" out || fail "no shape for a long line: $(cat out)"

# A line out for each line in.
printf 'the [MASK] and the dog 3 saw 3\nthe cat [MASK] the [MASK]\n[MASK]\n' >asked.txt
"$vkformer" fill run --batch-tokens 9 <asked.txt >out 2>err || fail "fill: $(cat err)"
[[ $(wc -l <out) == 3 && $(grep -c MASK out) == 0 ]] || fail "fill: $(cat out)"
grep -qx "the cat and the dog 3 saw 3" out || fail "fill learned nothing: $(cat out)"
head -n 1 out >first
accept "$vkformer" fill run -q --dtype f16 -p "$(head -n 1 asked.txt)"
needs_stdout "$vkformer" fill run -q -d reference -p "$(head -n 1 asked.txt)"
cmp -s out first || fail "a line alone is filled in another way: $(cat out first)"
"$vkformer" fill run --top 2 -q -d reference <asked.txt >out 2>err || fail "fill --top: $(cat err)"
[[ $(grep -cE $'^[123]\t[12]\t[^\t]+\t[01]\\.[0-9]{4}$' out) == 8 && $(cut -f 1,2 out | uniq -c | grep -c "^ *2 ") == 4 ]] || fail "fill --top: $(cat out)"
for i in $(seq 60); do echo "the [MASK] and the dog $i"; done >many.txt
answers_on_the_way many.txt "$vkformer" fill run -q --top 1 --batch-tokens 12
[[ $(tail -n 1 out) == $'60\t1\t'* ]] || fail "lines of later pieces have other numbers: $(tail -n 1 out)"
accept "$vkformer" fill run -d reference --json --top 3 -p "the [MASK] and"
[[ $(grep -o '"probability":' out | wc -l) == 3 ]] || fail "fill --json --top 3: $(cat out)"
grep -q '"filled":"the .* and".*"masks":\[\[{"filled":.*"id":.*"token":"▁' out || fail "fill --json: $(cat out)"
refuse 1 "line 1 has no \[MASK\]; write \[MASK\]" "$vkformer" fill run -p "the _ and <mask>"
refuse 1 "line 1 has more tokens than the model's 12" "$vkformer" fill run -p "the [MASK] $(cat short.txt short.txt)"
refuse 1 "standard input is empty" "$vkformer" fill run
refuse 1 "t5 model that predicts no masked words" "$vkformer" fill "$fixtures/t5" -p "the [MASK]"
refuse 1 "predicts no masked words" "$vkformer" fill labels -p "the [MASK]"
refuse 1 "tokenizer.json" "$vkformer" fill "$fixtures/bert_mlm" -p "the [MASK]"
configs=$(realpath "$fixtures/../../models/configs")
refuse 1 "data does not train a model of type bert; --masked, --labels, --tags and --answers do" "$vkformer" train "$configs/tiny-bert.json" --data text.txt --out none
refuse 1 "plan of a bert model needs the files" "$vkformer" train "$configs/tiny-bert.json" --plan
accept "$vkformer" info "$configs/tiny-bert.json"
