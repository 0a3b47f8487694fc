# shellcheck shell=bash disable=SC2154,SC2034
# Classifiers. Sourced by tests/command_line.sh.

# Classifiers.
describe_labels
{ echo text,label; echo '"the cat, ""one""",cat'; echo a dog,dog; } >rows.csv
printf 'text\tlabel\nthe cow\tcow\n' >cow.tsv
label=("$vkformer" train label.json --labels rows.jsonl --iterations 30 --warmup 1 --learning-rate 1e-2 --evaluate-every 15)
words=(--tokenizer "$fixtures/tokenizers/bert")
refuse 2 "--tokenizer FOLDER" "${label[@]}" --out labels
refuse 2 "as many files as --labels: 1" "${label[@]}" "${words[@]}" --out labels --valid rows.csv rows.csv
refuse 2 "--pairs and --labels exclude" "${label[@]}" "${words[@]}" --out labels --pairs text.txt text.txt
refuse 1 'cow.tsv:2: no training row has the label "cow"; they have cat, dog' "${label[@]}" "${words[@]}" --out labels --valid cow.tsv
refuse 1 "call it .jsonl" "$vkformer" train label.json --labels text.txt "${words[@]}" --out labels
sed 's/"gpt2"/"granite"/' small.json >granite.json
refuse 1 "there is no SequenceClassification head" "$vkformer" train granite.json --labels rows.jsonl "${words[@]}" --out labels
refuse 1 "the model's 12" "${label[@]}" "${words[@]}" --out labels --context 13 --set max_position_embeddings=12
[[ -e labels ]] && fail "a refused run left a folder behind"
accept "${label[@]}" "${words[@]}" --out labels --valid rows.csv
grep -q "majority 50.0 %, bag of words (naive Bayes) 100.0 %" out || fail "no baselines: $(cat out)"
[[ $(grep -c "accuracy [0-9.]* %, macro F1 [0-9.]* of 2 rows" out) == 2 ]] || fail "no scores: $(cat out)"
[[ $(grep -c '"accuracy":.*"macro_f1":' labels/metrics.jsonl) == 2 ]] || fail "no scores: $(cat labels/metrics.jsonl)"
grep -q '"0": "cat"' "labels/$(cat labels/latest)/config.json" || fail "the labels are not in config.json"
accept "$vkformer" train --resume --out labels --iterations 31 --keep-best accuracy
grep -q "^best by accuracy: [01][.0-9]* at iteration 31, in labels/best; labels itself is iteration 31$" err || fail "nothing says what is the best: $(cat err)"
refuse 1 "labels/best has a model, but no state.json .*; resume the run, --out [^ ]*/labels; .*train --from labels/best" "$vkformer" train --resume --out labels/best
printf 'the cat\na dog\tdogs\n\nthe cat and the cat and the cat and the cat\n' >asked.txt
"$vkformer" classify labels --batch-tokens 9 <asked.txt >out 2>err || fail "classify: $(cat err)"
[[ $(grep -cP '^(cat|dog)\t[01]\.[0-9]{4}$' out) == 4 && $(wc -l <out) == 4 ]] || fail "classify: $(cat out)"
[[ $(head -n 1 out) == cat* ]] || fail "classify learned nothing: $(cat out)"
cut -f 1 out >wanted.txt
"$vkformer" score --metric labels wanted.txt <out | grep -q '^accuracy = 1.0000' || fail "score does not read what classify writes"
grep -q "1 cut at 12 tokens" err || fail "classify did not say what was cut: $(cat err)"
head -n 1 out >first
accept "$vkformer" classify labels -p "the cat" --quiet
needs_stdout "$vkformer" classify labels -p "the cat" --quiet
cmp -s out first || fail "a text alone has another label or probability: $(cat out first)"
for i in $(seq 100); do printf 'the cat and %d\na dog\n' "$i"; done >many.txt
answers_on_the_way many.txt "$vkformer" classify labels -q --batch-tokens 20
# What is wrong in a later piece of a pipe is found there; of a file before anything is computed.
printf 'a\tb\tc\n' >>many.txt
status=0
cat many.txt | "$vkformer" classify labels -q --batch-tokens 20 >out 2>err || status=$?
[[ $status == 1 && $(wc -l <out) -gt 50 ]] && grep -q "line 201 has more than one tab" err || fail "status $status: $(wc -l <out) lines: $(cat err)"
"$vkformer" classify labels -q --batch-tokens 20 <many.txt >out 2>err && fail "a bad line is accepted"
[[ ! -s out ]] && grep -q "line 201 has more than one tab" err || fail "work began before a file was checked: $(cat err)"
cp -r "labels/$(cat labels/latest)" lines
sed -i 's/"cat"/"c\\na\\tt"/' lines/config.json
accept "$vkformer" classify lines -p "the cat" --quiet --dtype q8_0
grep -qP '^c\\na\\tt\t[01]' out || fail "a label has lines of its own: $(cat out)"
accept "$vkformer" classify labels -p "the cat" --json
grep -q '"probabilities":{"cat":0.*,"dog":0' out || fail "classify --json: $(cat out)"
refuse 1 "line 1 has more than one tab" "$vkformer" classify labels -p $'a\tb\tc'
accept "$vkformer" classify labels -p "a" --profile classes.json
[[ $(wc -l <out) == 1 ]] || fail "a profile stands among the labels: $(cat out)"
refuse 1 "none.json: there is no such file" "$vkformer" classify labels -p "a" --tuning none.json
grep -q '"1 text of [0-9]* tokens"' classes.json || fail "classify measured nothing"
refuse 1 "gives no class" "$vkformer" classify "$fixtures/bert_mlm" -p "the"
refuse 1 "tokenizer.json" "$vkformer" classify "$fixtures/bert_cls" -p "the"
refuse 1 "standard input is empty" "$vkformer" classify labels
printf '{"label":"x"}\n' >json.txt
printf 'x\n' >label.txt
refuse 1 "is no label; give what classify writes without --json" "$vkformer" score --metric labels label.txt json.txt

# BART tells apart what encoder and decoder read, also where it began as a translator.
cat >bart.json <<'JSON'
{"model_type": "bart", "d_model": 24, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 3,
 "decoder_attention_heads": 3, "encoder_ffn_dim": 24, "decoder_ffn_dim": 24, "max_position_embeddings": 16}
JSON
printf 'the cat\ta cat\nthe dog\ta dog\n' >pairs.tsv
accept "$vkformer" train bart.json --pairs pairs.tsv "${words[@]}" --out bart --iterations 1
accept "$vkformer" train --from bart --labels rows.jsonl --out barts --iterations 20 --warmup 1 --learning-rate 1e-2
grep -q '"BartForSequenceClassification"' "barts/$(cat barts/latest)/config.json" || fail "no classifier of BART"
grep -q '"eos_token_id": 3' "barts/$(cat barts/latest)/config.json" || fail "BART's end of a text is not in its config"
printf 'the cat and 3\nthe dog\n' | "$vkformer" classify barts -q >out || fail "classify by BART"
[[ $(cut -f 1 out | paste -s) == $'cat\tdog' ]] || fail "BART learned nothing: $(cat out)"

refuse 1 "does not train a model of type bart; as its architectures has it, --labels does" "$vkformer" train --from barts --pairs pairs.tsv --out none
# So does LLaMA, by the last state; its tokenizers need no padding where the config names one.
accept "$vkformer" train "$fixtures/../../models/configs/tiny-llama.json" --labels rows.jsonl "${words[@]}" --context 12 --out llamas \
  --iterations 20 --warmup 1 --learning-rate 1e-2
grep -q '"LlamaForSequenceClassification"' "llamas/$(cat llamas/latest)/config.json" || fail "no classifier of LLaMA"
printf 'the cat and 3\nthe dog\n' | "$vkformer" classify llamas -q >out || fail "classify by LLaMA"
[[ $(cut -f 1 out | paste -s) == $'cat\tdog' ]] || fail "LLaMA learned nothing: $(cat out)"
refuse 1 "does not write text" "$vkformer" generate llamas -p "the cat"
refuse 1 'have no place for tensor "score.weight"' "$vkformer" convert llamas llamas.gguf

# Classes that a model does not know, by what a text entails.
for i in $(seq 20); do
  printf '{"sentence1": "the and %d", "sentence2": "this is a cat", "label": "entailment"}\n' "$i"
  printf '{"sentence1": "the and %d", "sentence2": "this is a dog", "label": "contradiction"}\n' "$i"
done >claims.jsonl
accept "$vkformer" train label.json --labels claims.jsonl "${words[@]}" --out claims --iterations 30 --warmup 1 --learning-rate 1e-2
printf 'the and 4\nthe and 2\n' >asked.txt
"$vkformer" classify claims --candidates dog,cat --hypothesis "this is a {}" --quiet <asked.txt >out || fail "classify --candidates"
[[ $(grep -cP '^cat\t' out) == 2 && $(wc -l <out) == 2 ]] || fail "candidates are not told apart: $(cat out)"
"$vkformer" classify claims --candidates dog,cat --hypothesis "this is a {}" --multi-label --quiet <asked.txt >out || fail "classify --multi-label"
[[ $(grep -cP '^dog\t0\.[0-4]\d*\tcat\t(0\.[5-9]|1)\d*' out) == 2 ]] || fail "candidates do not hold by themselves: $(cat out)"
accept "$vkformer" classify claims -p "the and 3" --candidates dog,cat --hypothesis "this is a {}" --json
grep -q '"label":"cat"' out || fail "classify --candidates --json: $(cat out)"
refuse 1 "does not tell what a text entails: its classes are cat, dog" "$vkformer" classify labels -p "a" --candidates a,b
refuse 2 '--candidates has "b" twice' "$vkformer" classify claims -p "a" --candidates "b, b "
refuse 2 "--candidates names none" "$vkformer" classify claims --candidates "" -p "a"
accept "$vkformer" classify --candidates dog,cat claims -p "a"
refuse 2 "--candidates names none" "$vkformer" classify claims -p "a" --candidates " , "
accept "$vkformer" classify claims -p "the and the and the and the and" --candidates " dog" --hypothesis "this is a {}" -q
grep -qP '^dog\t0\.[0-4]' out || fail "a single candidate is certain: $(cat out)"
refuse 1 "tokens, the model 12 positions for it and a text; shorten hypothesis or candidate" "$vkformer" classify claims -p "a" --candidates a --hypothesis "{} {} {} a a a a a a a"
refuse 2 "has no {} where a candidate goes" "$vkformer" classify claims -p "a" --candidates a,b --hypothesis x
