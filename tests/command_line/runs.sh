# shellcheck shell=bash disable=SC2154,SC2034
# Runs of a language model: what can be wrong with one, and what it survives. Sourced by tests/command_line.sh.

# A run, and what can be wrong with it.
refuse 1 "no checkpoint" "$vkformer" train --resume --out none
accept "${train[@]}" --out run
grep -q "use it: vkformer generate run -p TEXT$" err || fail "nothing says what to do with a run: $(cat err)"
refuse 1 "already holds a run" "${train[@]}" --out run
# A small rate falls to a tenth of itself.
accept "${train[@]}" --out small --lr 1e-5
grep -qE '"iteration":4,"learning_rate":(1\.0|9\.9)[0-9]*e-0[67]' small/metrics.jsonl || fail "the rate's end: $(cat small/metrics.jsonl)"
# What a new model is: its config, but for what the command line says.
config_of() { cat "$1/$(cat "$1/latest")/config.json"; }
accept "${train[@]}" --out changed --block-size 24 --set n_embd=12 --set activation_function=relu --set attn_pdrop=0.25
[[ $(config_of changed | grep -c '"n_positions": 24\|"n_embd": 12\|"activation_function": "relu"') == 3 ]] || fail "--set: $(config_of changed)"
accept "${train[@]}" --out shorter --context 8 --set n_positions=20
config_of shorter | grep -q '"n_positions": 20' || fail "--context goes before --set: $(config_of shorter)"
accept "$vkformer" train small.json --plan --context 64 --set vocab_size=99
grep -q "vocabulary 99" out || fail "--set is not planned: $(cat out)"
refuse 2 'small.json nor this family has such a key; did you mean "n_layer"' "${train[@]}" --out new --set n_layers=2
refuse 2 '"n_layer" is not KEY=VALUE' "${train[@]}" --out new --set n_layer
refuse 2 "the files that are trained on decide it" "${train[@]}" --out new --set vocab_size=99
refuse 1 '"n_layer" must be' "${train[@]}" --out new --set n_layer=many
refuse 2 "--set can't change when a run is resumed" "$vkformer" train --resume --out changed --set n_layer=2
refuse 1 'the model.s 24, "n_positions" in its config' "$vkformer" train --resume --out changed --iterations 6 --context 32
# Nothing is left to do.
accept "$vkformer" train --resume --out changed
grep -q "^nothing to do: 4 of 4 iterations are done; give more --iterations$" err || fail "a complete run: $(cat err)"
grep -q "resumed\|MiB" out && fail "a complete run is planned and resumed: $(cat out)"
cp -r small jumped
accept "$vkformer" train --resume --out jumped --iterations 12
grep -q "^the learning rate goes from 1e-06 to 8.*e-06 here: the schedule now is that of 12 iterations$" err || fail "a rate that jumps: $(cat err)"
accept "$vkformer" info run
grep -q "run/checkpoint-000004/model.safetensors" out || fail "info did not find the run's checkpoint: $(cat out)"
refuse 1 "not the text" "$vkformer" train --resume --out run --data short.txt
# A text of its own to validate on, whose characters belong to the vocabulary, too.
tr 'a-z' 'A-Z' <text.txt >upper.txt
accept "${train[@]}" --valid upper.txt --out apart
grep -q " $(wc -c <text.txt) tokens of text to train on, $(wc -c <upper.txt) for validation" out || fail "a text for validation: $(cat out)"
accept "$vkformer" generate apart -p "THE" -n 3
accept "$vkformer" train --resume --out apart --iterations 5
refuse 1 "begun without --valid" "$vkformer" train --resume --out run --valid upper.txt
: >empty.txt
refuse 1 "empty.txt" "${train[@]}" --valid empty.txt --out new
refuse 1 "empty.txt" "${train[@]}" --bytes --valid empty.txt --out new
accept "$vkformer" generate run -p "the " -n 30 --seed 1
# An added token takes the text through the general tokenizer, which must not change it.
[[ -z $(tail -c 1 out) ]] || fail "the text does not end its line: $(od -c out | tail -n 2)"
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

# Killed between its last checkpoint and its last evaluation, a run makes up for that.
evaluation=$(tail -n 1 run/metrics.jsonl)
sed -i '$d' run/metrics.jsonl
accept "$vkformer" train --resume --out run
[[ $(tail -n 1 run/metrics.jsonl) == "$evaluation" ]] || fail "the last evaluation was not made up for"
accept "${train[@]}" --evaluate-every 2 --average 2 --out evaluated
cp -r evaluated missed
rm -r missed/checkpoint-000004 missed/average
echo checkpoint-000002 >missed/latest
sed -i '/"iteration":2,.*validation_loss/d' missed/metrics.jsonl
accept "$vkformer" train --resume --out missed
cmp -s <(grep validation_loss evaluated/metrics.jsonl) <(grep validation_loss missed/metrics.jsonl) || fail "an evaluation after a checkpoint was not made up for: $(cat missed/metrics.jsonl)"
# The last checkpoints, as many as asked for; any of them can be gone on from, and a resumed run may keep fewer.
kept() { [[ $(cd "$1" && echo checkpoint-*) == "$(printf 'checkpoint-%06d ' "${@:2}" | sed 's/ $//')" ]] || fail "kept of $1: $(ls "$1")"; }
kept evaluated 2 4
accept "${train[@]:0:5}" --batch 2 --warmup 1 --checkpoint-every 2 --iterations 8 --keep 3 --out kept
kept kept 4 6 8
cp -r kept back
echo checkpoint-000004 >back/latest
accept "$vkformer" train --resume --out back
kept back 4 6 8
cmp -s {kept,back}/checkpoint-000008/model.safetensors || fail "another model from an older checkpoint"
accept "$vkformer" train --resume --out kept --iterations 9 --keep 2
grep -qx "1 checkpoint more than the last 2 will be removed once an iteration is done" err || fail "fewer are kept without a word: $(cat err)"
kept kept 8 9
accept "$vkformer" train --resume --out kept --iterations 10
kept kept 8 10
refuse 1 "characters the model knows" "$vkformer" generate run -p "Q"
refuse 1 "prompt" "$vkformer" generate run -p ""
refuse 1 "there is no 'nowhere'" "$vkformer" generate nowhere -p "the"
refuse 2 "--dropout" "$vkformer" train --resume --out run --dropout 0.5
accept "$vkformer" train --resume --out run --iterations 6 --checkpoint-activations
grep -q "computing activations again saves" out || fail "the plan does not say what recomputed activations save"
grep -q '"checkpoint_activations": true' run/checkpoint-000006/state.json || fail "the run forgot --checkpoint-activations"
[[ $(cat run/latest) == checkpoint-000006 ]] || fail "--iterations did not extend the resumed run"
grep -q '"checkpoint_exactly": true' run/checkpoint-000006/state.json || fail "a resumed run forgot that --checkpoint-every was given"
before=$(sha256sum <"run/$(cat run/latest)/model.safetensors")
refuse 2 "--min-learning-rate 0.0001 is above --learning-rate 5e-05" "$vkformer" train --resume --out small --iterations 8 --learning-rate 5e-5 --min-learning-rate 1e-4
cp -r small least
accept "$vkformer" train --resume --out small --iterations 5 --learning-rate 5e-5
grep -q '"min_learning_rate": 5e-06' small/checkpoint-000005/state.json || fail "a tenth does not follow the rate: $(cat small/checkpoint-000005/state.json)"
sed -i 's/"min_learning_rate": [-0-9.e]*/"min_learning_rate": 2e-06/' "least/$(cat least/latest)/state.json"
accept "$vkformer" train --resume --out least --iterations 5 --learning-rate 5e-5
grep -q '"min_learning_rate": 2e-06' least/checkpoint-000005/state.json || fail "a least rate is not kept: $(cat least/checkpoint-000005/state.json)"
refuse 1 "diverged" "$vkformer" train --resume --out run --iterations 12 --learning-rate 1e38 --quiet
unharmed() {
  [[ $(sha256sum <"run/$(cat run/latest)/model.safetensors") == "$before" ]] || fail "a diverged run replaced its checkpoint: $1"
}
unharmed "after an iteration"
# The rate of noam follows from the model: 1 / sqrt(width * warmup) where the warm-up ends.
accept "${train[@]:0:5}" --batch 2 --out noam --iterations 2 --warmup 2 --schedule noam
grep -q '"iteration":2,.*"learning_rate":0.1443' noam/metrics.jsonl || fail "noam: $(cat noam/metrics.jsonl)"
refuse 1 "validation loss\|the loss is.*checkpoint of iteration 6 with --resume" "$vkformer" train --resume --out run --iterations 7 --learning-rate 3e38 --schedule constant --quiet
unharmed "in the last update"
refuse 1 "gradient's norm.*checkpoint of iteration 6 with --resume" "$vkformer" train --resume --out run --iterations 12 --learning-rate 1e5 --min-learning-rate 1e5 --checkpoint-every 1 --quiet
unharmed "with a finite loss and no finite gradient"
grep -q -- "-nan" err && fail "a norm has a sign: $(cat err)"
[[ $(echo run/checkpoint-*) == run/checkpoint-000006 ]] || fail "a diverged run left checkpoints behind: $(ls run)"
refuse 1 "no checkpoint is from before; begin anew" "${train[@]}" --out ruined --learning-rate 3e38 --quiet
grep -q -- "--resume" err && fail "a run without a checkpoint advised to resume"
[[ -e ruined/latest ]] && fail "a diverged run left a checkpoint: $(ls ruined)"
# Batches beyond the range of f16 are left out, a run of nothing else ends. After a layer norm a token keeps but its
# direction: that of "z" becomes the first axis, which the feed-forward layer makes large.
poke() { # FILE TENSOR ELEMENT BYTES
  local header begin
  header=$(od -An -t u8 -N 8 "$1")
  begin=$(head -c $((8 + header)) "$1" | grep -ao "\"$2\":{[^}]*\"data_offsets\":\[[0-9]*" | grep -o '[0-9]*$')
  printf '%b' "$4" | dd of="$1" bs=1 seek=$((8 + header + begin + 4 * $3)) conv=notrunc status=none
}
accept "${train[@]}" --precision f16 --out ranged
cp -r ranged outside
poke ranged/checkpoint-000004/model.safetensors transformer.wte.weight $((27 * 24)) '\x00\x00\x7a\x44'
poke ranged/checkpoint-000004/model.safetensors transformer.h.0.mlp.c_fc.weight 0 "$(printf '\\x00\\x60\\x6a\\x46%.0s' {1..96})"
accept "$vkformer" train --resume --out ranged --iterations 12
grep -q "loss is .* that batch is beyond the range of f16 and left out; more than 10 in a row" err || fail "batches left out are not told: $(cat err)"
grep -q "iterations\? left out, beyond the range of f16" err || fail "batches left out are not counted: $(cat err)"
grep -q '"iteration":[0-9]*,.*"loss":null' ranged/metrics.jsonl || fail "metrics do not tell what was left out: $(cat ranged/metrics.jsonl)"
[[ $(cat ranged/latest) == checkpoint-000012 ]] || fail "a batch beyond f16 ended the run: $(ls ranged)"
poke outside/checkpoint-000004/model.safetensors transformer.h.0.mlp.c_fc.weight 0 "$(printf '\\xca\\xf2\\x49\\x71%.0s' {1..96})"
"$vkformer" train --resume --out outside --iterations 20 >out 2>err && fail "a run of nothing but overflows did not end"
grep -q "after iteration 14: the training has diverged.*--precision bf16" err || fail "no advice for the range of f16: $(cat err)"
[[ $(echo outside/checkpoint-*) == outside/checkpoint-000004 ]] || fail "overflows made checkpoints: $(ls outside)"
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
# Results that can't be written are an error. (Verbs that need models of their own: in other parts.)
for command in "devices" "ops" "--help" "info --json $fixtures/gpt2" "train small.json --plan --quiet" \
    "generate run -p the -n 4 --quiet" "generate $fixtures/gpt2 --ids 5 -n 4 --quiet" "verify $fixtures/tokenizers" \
    "encode $fixtures/tokenizers/gpt2 -p the" "decode $fixtures/tokenizers/gpt2 --ids 5" "score text.txt text.txt" \
    "conform -o scale -q" "pipelines 1x24x3:100:16 -b 0 -p 4" "bench -m 1x24x3:100:16 -p 4 -n 1 -b 0 -r 1" \
    "bench --op scale --input 4 --attr factor=2 -r 1" "tune 1x24x3:100:16 -p 4 -b 0 --tuning tuned.json"; do
  read -ra words <<<"$command"
  needs_stdout "$vkformer" "${words[@]}"
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

# Settings that were edited are held to the same bounds as flags.
edit() { # FROM TO: in a copy of the run's state
  rm -rf edited
  cp -r run edited
  sed -i "s/$1/$2/" "edited/$(cat run/latest)/state.json"
  cmp -s {edited,run}/"$(cat run/latest)"/state.json && fail "the state has no $1"
}
for change in checkpoint_every:0 evaluate_every:0 seed:99999999999 validation_fraction:5 clip:-3 beta1:7 learning_rate:-1 \
    average:2000 moving_average:1.5 accumulate:0; do
  edit "\"${change%:*}\": [0-9.e+-]*" "\"${change%:*}\": ${change#*:}"
  refuse 1 "\"${change%:*}\" must be" "$vkformer" train --resume --out edited --iterations 12
done
for iteration in 100000000000 2000000; do
  edit '"iteration": [0-9]*' "\"iteration\": $iteration"
  refuse 1 '"iteration"' "$vkformer" train --resume --out edited --iterations 12
done

# A run that has lost the name of its checkpoint is neither begun anew nor removed.
cp -r run lost
rm lost/latest
for again in "train --resume" "train small.json --data text.txt --iterations 2"; do
  read -ra words <<<"$again"
  refuse 1 "holds $(cat run/latest) and no file 'latest'" "$vkformer" "${words[@]}" --out lost
done
cp run/latest lost
accept "$vkformer" train --resume --out lost --quiet
mkdir within
cp text.txt within/loss.svg
refuse 1 "within/loss.svg is what the run would write over" "$vkformer" train small.json --data within/loss.svg --out within
mkdir foreign
echo '{"event": "mine"}' >foreign/metrics.jsonl
refuse 1 "foreign/metrics.jsonl: 1 line without an iteration, so a run did not write it" "${train[@]}" --out foreign
grep -q mine foreign/metrics.jsonl || fail "a new run replaced another program's metrics.jsonl"
# What stands in the place of files that are kept: neither waited for, nor replaced, nor a fault where it is a cache.
rm -rf edited
cp -r run edited
# Curves have bounded memory: 4 points a mean, and 12 of these a point of the page. What has no iteration is said.
{ echo garbage; seq 0 69999 | sed 's/.*/{"iteration":1,"loss":&}/'; } >edited/metrics.jsonl
cp -r edited longer
accept "$vkformer" train --resume --out longer --iterations 12 --quiet
grep -q "metrics.jsonl: 1 line without an iteration left out" err || fail "lines go without a word: $(cat err)"
grep -q '"loss":{[^}]*"points":7000[1-9],"values":\[23.5,71.5,119.5,' longer/run.html || fail "a long curve is bent"
rm edited/metrics.jsonl
mkfifo edited/metrics.jsonl
refuse 1 "not a regular file" timeout 20 "$vkformer" train --resume --out edited --iterations 12
cache=$(XDG_CACHE_HOME=$PWD/cache "$vkformer" generate run -p "the" -n 1 --quiet >out && ls cache/vkformer/pipelines-*)
for what in mkdir mkfifo; do
  rm -r cache
  mkdir -p cache/vkformer
  $what "$cache"
  accept env XDG_CACHE_HOME="$PWD/cache" timeout 20 "$vkformer" generate run -p "the" -n 1 --quiet
  [[ $(ls cache/vkformer) == "$(basename "$cache")" && ! -f $cache ]] || fail "$what in the cache's place: $(ls -l cache/vkformer)"
done
rm -r "$cache"
printf 'not what a driver wrote' >"$cache"
accept env XDG_CACHE_HOME="$PWD/cache" "$vkformer" generate run -p "the" -n 1 --quiet
grep -q 'not what a driver wrote' "$cache" && fail "a spoilt cache is kept"

# Weights that are no numbers, before anything was learned.
cp -r small/"$(cat small/latest)" nans
printf '\000\000\300\177' | dd of=nans/model.safetensors bs=1 conv=notrunc status=none seek=$(($(stat -c %s nans/model.safetensors) - 4))
refuse 1 "for the first batch, before anything was learned: weights of nans are damaged" "$vkformer" train --from nans --data text.txt --out learned --batch 2 --warmup 0
for flag in --bytes "--vocabulary 300" "--tokenizer-kind bpe"; do
  refuse 2 "${flag%% *} \(is for a vocabulary that is made\|is for --\)" "$vkformer" train --from run --data text.txt --out learned $flag
done

# What others do to a run's folder and files while it trains.
meddled() { # COMMAND...: once the run has a checkpoint; then its status
  rm -rf meddled moved
  "$vkformer" train small.json --data "$trained" --iterations 100000 --batch 2 --out meddled --quiet --checkpoint-every 1 \
    -d reference "${more[@]}" >out 2>err </dev/null &
  local process=$! status=0
  until [[ -s meddled/latest ]] || ! kill -0 $process 2>/dev/null; do :; done
  "$@"
  wait $process || status=$?
  [[ $status == 1 && $(wc -l <err) == 1 ]] || fail "$*: status $status: $(cat err)"
}
trained=text.txt more=()
meddled mv meddled moved
grep -q "meddled is not the folder any more that this run began in" err || fail "a moved run: $(cat err)"
[[ -e meddled ]] && fail "a moved run wrote into another folder: $(ls meddled)"
accept "$vkformer" train --resume --out moved --iterations 1 -d reference --quiet
accept "$vkformer" tokens text.txt --out own --size 300 --quiet
for _ in $(seq 40); do cat text.txt; done >long.txt
accept "$vkformer" encode own long.txt --out ids.safetensors
trained=ids.safetensors more=(--tokenizer own)
meddled truncate -s 9 ids.safetensors
grep -q "/ids.safetensors became shorter while it was read" err || fail "a file that is cut short: $(cat err)"

# A signal ends a run cleanly with one checkpoint that continues, wherever it comes: at an iteration that has one anyway,
# and within one of a million micro-batches.
stopped() { # SIGNAL FILE FLAG...: once there is something in the run's FILE
  rm -rf stopped
  # Under nohup these tests run with HUP ignored, and a job of bash with INT ignored.
  env --default-signal=HUP,INT,TERM "$vkformer" train small.json --data text.txt --iterations 100000 --batch 2 \
    --out stopped --quiet "${@:3}" >out 2>err </dev/null &
  local process=$!
  until { [[ -s stopped/$2 ]] && (((0x$(sed -n 's/^SigCgt:\t*//p' /proc/$process/status) & 0x4000) != 0)); } 2>/dev/null ||
      ! kill -0 $process 2>/dev/null; do :; done
  rm -f "$removed"
  until [[ -z $removed || -s $removed ]] || ! kill -0 $process 2>/dev/null; do :; done
  kill "-$1" $process
  wait $process || fail "$1 ended with status $?: $(cat err)"
  [[ -s stopped/latest ]] || fail "$1 left no checkpoint: $(cat err)"
  compgen -G "stopped/checkpoint-??????-*" >/dev/null && fail "$1 wrote a checkpoint twice: $(ls stopped)"
  [[ -z $removed || -s $removed ]] || fail "$removed was removed and is not begun anew"
  grep -q "resume" err || fail "$1 did not say how to continue: $(cat err)"
}
removed=""
stopped INT metrics.jsonl
removed=stopped/metrics.jsonl # which the next checkpoint begins anew
stopped TERM latest --checkpoint-every 1
removed=""
stopped HUP . --accumulate 1000000
accept "$vkformer" train --resume --out stopped --accumulate 2 --iterations 1 --quiet
