#!/usr/bin/env bash
# Bad input at the command line: one clear line on stderr, exit status 1 or 2, nothing lost.
# Usage: tests/command_line.sh VKFORMER     (on the Vulkan driver that the environment selects)
set -uo pipefail
vkformer=$(realpath "$1")
fixtures=$(realpath "$(dirname "$0")/fixtures")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failures=0

fail() {
  echo "FAIL: $1"
  failures=$((failures + 1))
}

# refuse STATUS WORD COMMAND...: the command must end with STATUS and one line on stderr that contains WORD.
refuse() {
  local want=$1 word=$2 status=0
  shift 2
  "$@" >out 2>err </dev/null || status=$?
  local lines
  lines=$(grep -vc '^device ' err)
  if [[ $status != "$want" ]]; then
    fail "status $status instead of $want: $*: $(cat err)"
  elif [[ $lines != 1 ]] || ! grep -q -- "$word" err; then
    fail "expected one line with '$word': $*: $(cat err)"
  else
    echo "ok: $(grep -v '^device ' err)"
  fi
}

accept() {
  "$@" >out 2>err </dev/null || fail "status $?: $*: $(cat err)"
}

for _ in $(seq 60); do echo "the quick brown fox jumps over the lazy dog"; done >text.txt
head -c 40 text.txt >short.txt
printf 'abc\xff\xfe' >broken.txt
: >empty.txt
cat >small.json <<'JSON'
{"model_type": "gpt2", "n_positions": 16, "n_embd": 24, "n_layer": 1, "n_head": 3}
JSON
train=("$vkformer" train small.json --data text.txt --iterations 4 --batch 2 --warmup 1 --checkpoint-every 2)

# Usage.
refuse 2 "subcommand" "$vkformer"
refuse 2 "nonsense" "$vkformer" nonsense
refuse 2 "CONFIG" "$vkformer" train --out run
refuse 2 "--out" "$vkformer" train small.json --data text.txt
refuse 2 "--batch" "${train[@]}" --out run --batch 0
refuse 2 "--iterations" "${train[@]}" --out run --iterations many
refuse 2 "no op" "$vkformer" conform -o nonsense
refuse 2 "regular expression" "$vkformer" conform -p '('
refuse 2 "neither a folder" "$vkformer" bench -m nonsense

# Measured choices.
refuse 1 "no such file" "${train[@]}" --out run --tuning none.json
refuse 2 "--tuning none" "${train[@]}" --out run --tuning none --tune
refuse 1 "timestamps" "${train[@]}" --out run --device reference --tune --tuning new.json

# Vocabularies.
refuse 2 "plain" "$vkformer" tokens text.txt --layout plain --out tokens
refuse 1 "broken.txt:1: not UTF-8: byte 4" "$vkformer" tokens broken.txt --out tokens
refuse 1 "empty" "$vkformer" tokens empty.txt --out tokens
refuse 1 "size of 30 or more" "$vkformer" tokens text.txt --size 20 --out tokens
accept "$vkformer" tokens text.txt --kind byte-bpe --size 270 --out tokens
refuse 1 "there already" "$vkformer" tokens text.txt --out tokens

# Devices and memory.
refuse 1 "no device" "${train[@]}" --out run --device nonsense
refuse 1 "no Vulkan driver" env VK_DRIVER_FILES=/nonexistent.json VK_ICD_FILENAMES=/nonexistent.json "${train[@]}" --out run
cat >huge.json <<'JSON'
{"model_type": "gpt2", "n_positions": 64, "n_embd": 4096, "n_layer": 96, "n_head": 32}
JSON
refuse 1 "MiB free" "$vkformer" train huge.json --data text.txt --out run --quiet

cat >wide.json <<'JSON'
{"model_type": "gpt2", "n_positions": 64, "n_embd": 65536, "n_layer": 1, "n_head": 512}
JSON
refuse 1 "one allocation" "$vkformer" train wide.json --data text.txt --out run --quiet

# Values that can't be, and ops that can't be timed.
refuse 2 "warmup" "${train[@]}" --out run --warmup -3
refuse 2 "name=number" "$vkformer" bench --op scale --input 4 --attr factor=abc
refuse 2 "not legal" "$vkformer" bench --op add --input 4 --input 4 --candidate nonsense
refuse 1 "matmul" "$vkformer" bench --op matmul
refuse 1 "timestamps" "$vkformer" bench --op add --input 4 --input 4 --device reference

# Configs.
refuse 1 "missing.json" "$vkformer" train missing.json --data text.txt --out run
echo '{"model_type": "gpt2", "n_embd": 24,' >cut.json
refuse 1 "cut.json" "$vkformer" train cut.json --data text.txt --out run
echo '{"model_type": "gpt2", "n_embd": 24, "n_head": 5}' >heads.json
refuse 1 "n_head" "$vkformer" train heads.json --data text.txt --out run
echo '{"model_type": "nonsense"}' >family.json
refuse 1 "nonsense" "$vkformer" train family.json --data text.txt --out run
echo '{}' >nothing.json
refuse 1 '"model_type" is missing' "$vkformer" info nothing.json

# config FILE BASE KEY VALUE: the fixture's config with one value changed (BASE: gpt2 or llama).
config() {
  sed "s/\"$3\": [^,}]*/\"$3\": $4/" "$fixtures/$2/config.json" >"$1"
  grep -q "\"$3\": $4" "$1" || fail "the $2 config has no $3"
}
# What no model has is refused before anything is allocated, by its key.
for change in "gpt2 n_head 5" "gpt2 n_layer -1" "gpt2 n_embd 1e18" "gpt2 n_embd 1000000000000000000" \
    "gpt2 vocab_size 0" "gpt2 n_positions 99999999999999999999" 'gpt2 activation_function "nonsense"' \
    'gpt2 n_layer "two"' "gpt2 n_layer 2.5" "llama num_attention_heads 3" "llama num_key_value_heads 3" \
    "llama hidden_size -64" "llama hidden_size 1e18" "llama num_hidden_layers -1" 'llama hidden_act "nonsense"' \
    "llama intermediate_size 0" "llama max_position_embeddings 1e300" "llama head_dim 15"; do
  read -r base key value <<<"$change"
  config bad.json "$base" "$key" "$value"
  refuse 1 "not supported: bad.json.*$key" "$vkformer" info bad.json
done
refuse 1 "bad.json.*head_dim" "$vkformer" train bad.json --data text.txt --out run
config bad.json llama model_type '"nonsense"'
refuse 1 "not supported: bad.json: model_type 'nonsense'" "$vkformer" info bad.json
grep -q "sizes .*layers 2, width 64" out || fail "info said nothing of an unsupported model: $(cat out)"

# Model folders: one tensor gone, one of another shape, one too many; shards.
accept "$vkformer" info "$fixtures/gpt2"
grep -q "supported *yes" out || fail "info did not say that the fixture is supported: $(cat out)"
grep -q "parameters *75,328" out || fail "info counted other parameters: $(cat out)"
accept "$vkformer" info --json --context 7 "$fixtures/llama"
grep -q '"parameters": 86976' out || fail "info --json has no parameters: $(cat out)"
refuse 2 "--context" "$vkformer" info --context 33 "$fixtures/gpt2"
cp -r "$fixtures/gpt2" odd
config odd/config.json gpt2 n_layer 3
refuse 1 "lacks 12 tensors that the config asks for: transformer.h.2.ln_1.weight, " "$vkformer" info odd
config odd/config.json gpt2 vocab_size 98
refuse 1 'tensor "transformer.wte.weight" has shape \[97, 64\], the config asks for \[98, 64\]' "$vkformer" info odd
config odd/config.json gpt2 n_layer 1
accept "$vkformer" info odd
grep -q "skipped 12 tensors the model does not use: transformer.h.1" out || fail "info named no extra tensor: $(cat out)"
mv odd/model.safetensors odd/model-00001-of-00001.safetensors
refuse 1 "neither model.safetensors nor model.safetensors.index.json" "$vkformer" info odd
index() {
  echo '{"metadata": {}, "weight_map": {"transformer.wte.weight": "'"$1"'"}}' >odd/model.safetensors.index.json
}
index model-00001-of-00001.safetensors
accept "$vkformer" info odd
index model-00002-of-00002.safetensors
refuse 1 'names "model-00002-of-00002.safetensors", which is missing' "$vkformer" info odd
index ../odd/model-00001-of-00001.safetensors
refuse 1 "must be a name in this folder" "$vkformer" info odd

# Converting: the tokenizer's files go along, and what fails leaves nothing behind.
cp -r "$fixtures/gpt2" source
touch source/merges.txt source/vocab.json
accept "$vkformer" convert source converted
accept "$vkformer" info converted
[[ -e converted/merges.txt && -e converted/vocab.json && -e converted/model.safetensors ]] ||
  fail "convert left a file behind: $(ls converted)"
refuse 1 "not an empty folder" "$vkformer" convert source converted
mkdir source/tokenizer.json
refuse 1 "tokenizer.json" "$vkformer" convert source halfway
[[ -e halfway ]] && fail "a conversion that failed left a folder behind"

# Dropout goes to the family's own keys.
cat >rotary.json <<'JSON'
{"model_type": "llama", "max_position_embeddings": 16, "hidden_size": 24, "intermediate_size": 30,
 "num_hidden_layers": 1, "num_attention_heads": 3}
JSON
accept "$vkformer" train rotary.json --data text.txt --out rotary --iterations 1 --batch 2 --dropout 0.25
grep -q '"attention_dropout": 0.25' rotary/checkpoint-000001/config.json || fail "--dropout did not reach the model"
for key in bos_token_id eos_token_id pad_token_id; do
  grep -q "\"$key\": null" rotary/checkpoint-000001/config.json || fail "train left $key to the family, where it is a character"
done
grep -q embd_pdrop rotary/checkpoint-000001/config.json && fail "--dropout set another family's key"

# A plan is that of the type asked for.
accept "$vkformer" train small.json --plan --json
mv out plan.f32
accept "$vkformer" train small.json --plan --json --dtype bf16
cmp -s out plan.f32 && fail "--plan ignored --dtype"

# All programs of generation are planned.
accept "$vkformer" info "$fixtures/bart"
for what in "a source of 24 positions" "a prompt of 24 positions" "a token"; do
  grep -q "inputs and outputs of $what  " out || fail "info does not plan $what: $(cat out)"
done
sed 's/"num_attention_heads"/"head_dim": 256, "num_attention_heads"/; s/: 16,/: 16777216,/' rotary.json >long.json
refuse 1 "constants needs 16384 MiB, one allocation\|MiB free" "$vkformer" train long.json --data text.txt --out run --context 16 --quiet

# Texts.
refuse 1 "missing.txt" "$vkformer" train small.json --data missing.txt --out run
refuse 1 "empty" "$vkformer" train small.json --data empty.txt --out run
refuse 1 "UTF-8" "$vkformer" train small.json --data broken.txt --out run
refuse 1 "context" "$vkformer" train small.json --data short.txt --out run
refuse 1 "16" "${train[@]}" --out run --context 17
[[ -e run ]] && fail "a refused run left a folder behind"

# Scores: pairs of lines in UTF-8, of which at most one file is standard input.
printf 'abc\n\xff\xfe\n' >broken_line.txt
accept "$vkformer" score --metric bleu,chrf,exact,labels text.txt text.txt
grep -q "^BLEU = 100.00 100.0/100.0/100.0/100.0 (BP = 1.000 ratio = 1.000 hyp_len = 540 ref_len = 540)$" out ||
  fail "score: $(cat out)"
cp text.txt copy.txt
"$vkformer" score --json text.txt <copy.txt >out || fail "score does not read standard input"
grep -q '"score": 100' out || fail "score --json: $(cat out)"
refuse 1 "text.txt has 60 lines and short.txt has 1" "$vkformer" score text.txt short.txt
refuse 1 "empty" "$vkformer" score text.txt empty.txt
refuse 1 "standard input is empty" "$vkformer" score text.txt
refuse 1 "broken_line.txt:2: not UTF-8" "$vkformer" score text.txt broken_line.txt
refuse 1 "No such file" "$vkformer" score none.txt text.txt
refuse 2 "standard input" "$vkformer" score -
refuse 2 "nonsense" "$vkformer" score --metric nonsense text.txt text.txt
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

# Corpora.
refuse 2 "subcommand" "$vkformer" data
refuse 2 "two languages" "$vkformer" data numbers en en --out numbers
refuse 2 "too few" "$vkformer" data numbers en de --pairs 5 --out numbers
refuse 1 'language "gl"; it has them for en' env LC_ALL=de_DE.UTF-8 "$vkformer" data numbers en gl --out numbers
refuse 1 'no words for .* "su"' "$vkformer" data numbers en su --to 999999999999999 --pairs 200 --out numbers
compgen -G "numbers/*" >left && fail "a corpus that was refused left files behind: $(cat left)"
accept "$vkformer" data numbers en de --to 999 --out numbers
grep -q "800 pairs to train on, 100 for validation, 100 for test: vkformer train .* --pairs numbers/train.en numbers/train.de" out ||
  fail "data numbers did not say how to train: $(cat out)"
[[ $(cat numbers/{train,valid,test}.de | sort -u | wc -l) == 1000 ]] || fail "numbers are missing or twice: $(wc -l numbers/*)"
[[ $(paste numbers/train.en numbers/train.de | sed -n 22p) == "twenty-one	einundzwanzig" ]] || fail "the pairs don't match"

# A run, and what can be wrong with it.
refuse 1 "no checkpoint" "$vkformer" train --resume --out none
accept "${train[@]}" --out run
refuse 1 "already holds a run" "${train[@]}" --out run
accept "$vkformer" info run
grep -q "run/checkpoint-000004/model.safetensors" out || fail "info did not find the run's checkpoint: $(cat out)"
refuse 1 "not the text" "$vkformer" train --resume --out run --data short.txt
accept "$vkformer" generate run -p "the " -n 30 --seed 1
# An added token takes the text through the general tokenizer, which must not change it.
cp out plain
cp -r "run/$(cat run/latest)" tokenized
sed -i 's/"added_tokens": \[\]/"added_tokens": [{"id": 900, "content": "<end>", "special": true}]/' tokenized/tokenizer.json
accept "$vkformer" generate tokenized -p "the " -n 30 --seed 1
cmp -s out plain || fail "the general tokenizer gives another text: $(cat out)"
refuse 1 "the prompt has token 900" "$vkformer" generate tokenized -p "<end>the "
# How text is generated: flags, then generation_config.json, then as above; the keys that matter are named.
accept "$vkformer" generate tokenized -p "the " -n 12 --temp 0.7 --top-k 5 --seed 3
grep -q generation_config err && fail "keys of a file that is not there: $(cat err)"
cp out by_flags
says='from generation_config.json: max_new_tokens 12, temperature 0.7, top_k 5'
echo '{"do_sample": true, "temperature": 0.7, "top_k": 5, "max_new_tokens": 12, "min_length": 0}' >tokenized/generation_config.json
accept "$vkformer" generate tokenized -p "the " --seed 3
cmp -s out by_flags || fail "generation_config.json does not do what the flags do: $(cat out by_flags)"
grep -qx "$says" err || fail "expected '$says': $(cat err)"
accept "$vkformer" generate tokenized -p "the " -n 30 --seed 1 --temp 1 --top-k 0 --quiet
cmp -s out plain || fail "generation_config.json goes before the flags: $(cat out)"
[[ -s err ]] && fail "--quiet is not: $(cat err)"
echo '{"no_repeat_ngram_size": 1, "max_new_tokens": 4}' >tokenized/generation_config.json
for beams in 1 2; do
  accept "$vkformer" generate tokenized -p "the " --beams $beams --quiet
  [[ -z $(sed 's/^-[0-9.]*  //' out | tr -d '\n' | fold -w1 | sort | uniq -d) ]] || fail "no_repeat_ngram_size was ignored: $(cat out)"
done
rm tokenized/generation_config.json
accept "$vkformer" generate run -p "the" --beams 2 -n 5
# Text through an encoder-decoder.
cp -r "$fixtures/t5" translated
cp tokenized/tokenizer.json translated
accept "$vkformer" generate translated -p "the" -n 5 --beams 2 --json
grep -q '"text"' out || fail "no text from an encoder-decoder: $(cat out)"
# Classifiers.
cat >label.json <<'JSON'
{"model_type": "bert", "max_position_embeddings": 12, "hidden_size": 24, "num_hidden_layers": 1,
 "num_attention_heads": 3, "intermediate_size": 30}
JSON
for i in $(seq 20); do
  printf '{"text": "the cat and %d", "label": "cat"}\n{"text": "the dog and %d", "label": "dog"}\n' "$i" "$i"
done >rows.jsonl
{ echo text,label; echo '"the cat, ""one""",cat'; echo a dog,dog; } >rows.csv
printf 'text\tlabel\nthe cow\tcow\n' >cow.tsv
label=("$vkformer" train label.json --labels rows.jsonl --iterations 30 --warmup 1 --learning-rate 1e-2 --evaluate-every 15)
words=(--tokenizer "$fixtures/tokenizers/bert")
refuse 2 "--tokenizer FOLDER" "${label[@]}" --out labels
refuse 2 "one with --labels" "${label[@]}" "${words[@]}" --out labels --valid rows.csv rows.csv
refuse 2 "CONFIG" "${label[@]}" "${words[@]}" --out labels --pairs text.txt text.txt
refuse 1 'cow.tsv:2: no training row has the label "cow"; they have cat, dog' "${label[@]}" "${words[@]}" --out labels --valid cow.tsv
refuse 1 "call it .jsonl" "$vkformer" train label.json --labels text.txt "${words[@]}" --out labels
refuse 1 "can't be a classifier" "$vkformer" train small.json --labels rows.jsonl "${words[@]}" --out labels
refuse 1 "the model's 12" "${label[@]}" "${words[@]}" --out labels --context 13
[[ -e labels ]] && fail "a refused run left a folder behind"
accept "${label[@]}" "${words[@]}" --out labels --valid rows.csv
grep -q "majority 50.0 %, bag of words (naive Bayes) 100.0 %" out || fail "no baselines: $(cat out)"
[[ $(grep -c "accuracy [0-9.]* %, macro F1 [0-9.]* of 2 rows" out) == 2 ]] || fail "no scores: $(cat out)"
[[ $(grep -c '"accuracy":.*"macro_f1":' labels/metrics.jsonl) == 2 ]] || fail "no scores: $(cat labels/metrics.jsonl)"
grep -q '"0": "cat"' "labels/$(cat labels/latest)/config.json" || fail "the labels are not in config.json"
accept "$vkformer" train --resume --out labels --iterations 31
printf 'the cat\na dog\tdogs\n\nthe cat and the cat and the cat and the cat\n' >asked.txt
"$vkformer" classify labels --batch-tokens 9 <asked.txt >out 2>err || fail "classify: $(cat err)"
[[ $(grep -cP '^(cat|dog)\t[01]\.[0-9]{4}$' out) == 4 && $(wc -l <out) == 4 ]] || fail "classify: $(cat out)"
[[ $(head -n 1 out) == cat* ]] || fail "classify learned nothing: $(cat out)"
grep -q "1 cut at 12 tokens" err || fail "classify did not say what was cut: $(cat err)"
head -n 1 out >first
accept "$vkformer" classify labels -p "the cat" --quiet
cmp -s out first || fail "a text alone has another label or probability: $(cat out first)"
accept "$vkformer" classify labels -p "the cat" --json
grep -q '"probabilities":{"cat":0.*,"dog":0' out || fail "classify --json: $(cat out)"
refuse 1 "gives no class" "$vkformer" classify "$fixtures/bert_mlm" -p "the"
refuse 1 "tokenizer.json" "$vkformer" classify "$fixtures/bert_cls" -p "the"
refuse 1 "standard input is empty" "$vkformer" classify labels
# Generation from ids: refused before a device is opened.
ids() {
  refuse "$@"
  grep -q "^device " err && fail "a device was opened before the request was checked: ${*:3}"
}
generate=("$vkformer" generate "$fixtures/gpt2" --ids 5,17,3)
ids 1 "after the prompt's 3 the model has positions for 29" "${generate[@]}" -n 30
ids 1 "the prompt has 33 tokens" "${generate[@]}" --ids "$(seq -s, 33)"
ids 1 "token 97 is outside" "${generate[@]}" --ids 97
ids 1 "does not write text" "$vkformer" generate "$fixtures/bert_mlm" --ids 5
ids 1 "1000000000 new tokens" "$vkformer" generate "$fixtures/t5" --ids 5 -n 1000000000
refuse 1 "MiB free" "$vkformer" generate "$fixtures/t5" --ids 5 -n 1000000 --beams 32 --quiet
ids 1 "num_beams 2" "${generate[@]}" --beams 2 --temp 0.5
ids 2 "--length-penalty" "${generate[@]}" --beams 2 --length-penalty 1000
cp -r "$fixtures/gpt2" groups
echo '{"num_beam_groups": 2}' >groups/generation_config.json
ids 1 'groups/generation_config.json: "num_beam_groups" is not supported' "$vkformer" generate groups --ids 5
accept "${generate[@]}" --profile trace.json --json
[[ -s trace.json ]] || fail "--ids wrote no profile"
accept "${generate[@]}" --ids 9 --ids 1,2,3,4,5 -n 4
cp out together
for prompt in 5,17,3 9 1,2,3,4,5; do "$vkformer" generate "$fixtures/gpt2" --ids $prompt -n 4 --quiet; done >alone
cmp -s together alone || fail "a batch of prompts gives other ids than each alone: $(cat together alone)"
accept "${generate[@]}" -n 9 --temp 2 --seed 7
cp out drawn
accept "${generate[@]}" -n 9 --temp 2 --seed 7
cmp -s out drawn || fail "the same seed drew other ids"
accept "${generate[@]}" -n 9
cmp -s out drawn && fail "--temp drew nothing"
# Killed between its last checkpoint and its last evaluation, a run makes up for that.
evaluation=$(tail -n 1 run/metrics.jsonl)
sed -i '$d' run/metrics.jsonl
accept "$vkformer" train --resume --out run
[[ $(tail -n 1 run/metrics.jsonl) == "$evaluation" ]] || fail "the last evaluation was not made up for"
refuse 1 "characters the model knows" "$vkformer" generate run -p "Q"
refuse 1 "prompt" "$vkformer" generate run -p ""
refuse 1 "not a folder" "$vkformer" generate nowhere -p "the"
refuse 2 "--dropout" "$vkformer" train --resume --out run --dropout 0.5
accept "$vkformer" train --resume --out run --iterations 6 --checkpoint-activations
grep -q "computing activations again saves" out || fail "the plan does not say what recomputed activations save"
grep -q '"checkpoint_activations": true' run/checkpoint-000006/state.json || fail "the run forgot --checkpoint-activations"
[[ $(cat run/latest) == checkpoint-000006 ]] || fail "--iterations did not extend the resumed run"
before=$(sha256sum <"run/$(cat run/latest)/model.safetensors")
refuse 1 "diverged" "$vkformer" train --resume --out run --iterations 12 --learning-rate 1e38 --quiet
unharmed() {
  [[ $(sha256sum <"run/$(cat run/latest)/model.safetensors") == "$before" ]] || fail "a diverged run replaced its checkpoint: $1"
}
unharmed "after an iteration"
refuse 1 "validation loss\|the loss is.*checkpoint of iteration 6 with --resume" "$vkformer" train --resume --out run --iterations 7 --min-learning-rate 1e39 --quiet
unharmed "in the last update"
refuse 1 "gradient's norm.*checkpoint of iteration 6 with --resume" "$vkformer" train --resume --out run --iterations 12 --learning-rate 1e5 --min-learning-rate 1e5 --checkpoint-every 1 --quiet
unharmed "with a finite loss and no finite gradient"
[[ $(echo run/checkpoint-*) == run/checkpoint-000006 ]] || fail "a diverged run left checkpoints behind: $(ls run)"
refuse 1 "no checkpoint is from before; begin anew" "${train[@]}" --out ruined --learning-rate 1e39 --quiet
grep -q -- "--resume" err && fail "a run without a checkpoint advised to resume"
[[ -e ruined/latest ]] && fail "a diverged run left a checkpoint: $(ls ruined)"
accept "$vkformer" train --resume --out run --iterations 8
checkpoint=run/$(cat run/latest)
damage() {
  rm -rf damaged
  cp -r "$checkpoint" damaged
}
damage; head -c 1000 "$checkpoint/model.safetensors" >damaged/model.safetensors
refuse 1 "model.safetensors" "$vkformer" generate damaged -p "the"
damage; printf '\xff\xff\xff\xff\xff\xff\xff\x7f{}' >damaged/model.safetensors
refuse 1 "model.safetensors" "$vkformer" generate damaged -p "the"
damage; sed -i 's/"n_embd": 24/"n_embd": 27/' damaged/config.json
refuse 1 "shape" "$vkformer" generate damaged -p "the"
grep -q "^device " err && fail "a device was opened before the model's files were checked"
damage; rm damaged/tokenizer.json
refuse 1 "tokenizer.json" "$vkformer" generate damaged -p "the"
cp -r run broken-run; echo "checkpoint-999999" >broken-run/latest
refuse 1 "latest" "$vkformer" train --resume --out broken-run
cp -r run odd-run; sed -i 's/"n_embd": 24/"n_embd": 27/' "odd-run/$(cat run/latest)/config.json"
refuse 1 "shape" "$vkformer" train --resume --out odd-run
grep -q "^device " err && fail "a device was opened before the checkpoint was checked"
cp -r run cut-run; head -c 500 "$checkpoint/optimizer.safetensors" >"cut-run/$(cat run/latest)/optimizer.safetensors"
refuse 1 "optimizer.safetensors" "$vkformer" train --resume --out cut-run

# Messages that can't be written stop no work, also where nothing is open for them: no file must take their place.
trained() {
  cmp -s "$1/checkpoint-000004/model.safetensors" reference/checkpoint-000004/model.safetensors || fail "no whole run: $2"
}
accept "${train[@]}" --out reference
"${train[@]}" --out silent 2>/dev/full >out </dev/null || fail "stderr on a full device ended a training: $?"
trained silent "stderr on a full device"
"${train[@]}" --out closed 2>&- >out </dev/null || fail "a closed stderr ended a training: $?"
trained closed "a closed stderr"
"${train[@]}" --out piped --evaluate-every 1 2>err </dev/null | true
trained piped "a reader that went away"
"$vkformer" devices --nonsense 2>/dev/full </dev/null
[[ $? == 2 ]] || fail "an error that can't be printed changes the status"
# Results that can't be written are an error, and no verdict on anything else.
for command in "devices" "ops" "--help" "info --json $fixtures/gpt2" "train small.json --plan --quiet" \
    "generate run -p the -n 4 --quiet" "generate $fixtures/gpt2 --ids 5 -n 4 --quiet" "verify $fixtures/tokenizers"; do
  for target in /dev/full closed; do
    read -ra words <<<"$command"
    status=0
    if [[ $target == closed ]]; then
      "$vkformer" "${words[@]}" >&- 2>err </dev/null || status=$?
    else
      "$vkformer" "${words[@]}" >$target 2>err </dev/null || status=$?
    fi
    [[ $status == 1 && $(grep -vc '^device ' err) == 1 ]] && grep -q "can't be written to stdout" err ||
      fail "status $status, stdout $target: $command: $(cat err)"
  done
done
(ulimit -f 100; "$vkformer" convert "$fixtures/gpt2" large) 2>err && fail "a file may be larger than the limit"
grep -q "large" err && [[ ! -e large ]] || fail "a limit on file sizes: $(cat err; ls)"

# A full disk loses no checkpoint. (Needs the right to mount.)
mkdir full
if mount -t tmpfs -o size=1m tmpfs full 2>/dev/null; then
  accept "${train[@]}" --out full/run
  before=$(sha256sum <"full/run/$(cat full/run/latest)/model.safetensors")
  sed -i 's/"iterations": 4/"iterations": 8/' "full/run/$(cat full/run/latest)/state.json"
  head -c 2m /dev/zero >full/filler 2>/dev/null
  refuse 1 "disk" "$vkformer" train --resume --out full/run --quiet
  [[ $(sha256sum <"full/run/$(cat full/run/latest)/model.safetensors") == "$before" ]] || fail "a full disk damaged the checkpoint"
  umount full
else
  echo "skipped: a full disk (no right to mount)"
fi

# Pages.
refuse 1 "tokenizer.json" "$vkformer" attention "$fixtures/gpt2" -p text --out page.html
refuse 2 "prompt" "$vkformer" attention "$fixtures/gpt2"
cp -r "$fixtures/gpt2" gpt2_text
cp "$fixtures/tokenizers/gpt2/tokenizer.json" gpt2_text/
refuse 1 "the model has 97 ids" "$vkformer" attention gpt2_text -p "the quick brown fox" --out page.html
[[ ! -e page.html ]] || fail "a page was written without weights"

# Ctrl-C ends cleanly with a checkpoint that continues.
"$vkformer" train small.json --data text.txt --iterations 100000 --batch 2 --out stopped --quiet >out 2>err &
process=$!
until [[ -s stopped/metrics.jsonl ]] || ! kill -0 $process 2>/dev/null; do :; done
kill -INT $process
wait $process || fail "Ctrl-C ended with status $?"
[[ -s stopped/latest ]] || fail "Ctrl-C left no checkpoint"
grep -q "resume" err || fail "Ctrl-C did not say how to continue"

echo "$failures failures"
((failures == 0))
