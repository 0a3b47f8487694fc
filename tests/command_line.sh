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
