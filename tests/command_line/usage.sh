# shellcheck shell=bash disable=SC2154,SC2034
# Flags, devices, memory. Sourced by tests/command_line.sh.

# Usage.
refuse 2 "which verb? see 'vkformer --help'" "$vkformer"
refuse 2 "nonsense" "$vkformer" nonsense
refuse 2 '"--verbose" belongs behind a verb' "$vkformer" --verbose
refuse 2 "did you mean --iterations?" "${train[@]}" --iters 5
# What was meant, and where help is.
refuse 2 "did you mean train? see 'vkformer --help'" "$vkformer" trian
refuse 2 "train has no option --lerning-rate; did you mean --learning-rate? see 'vkformer train --help'" \
  "${train[@]}" --lerning-rate 1
refuse 2 "did you mean --max-iters?" "${train[@]}" --max_iters=5
refuse 2 "did you mean --pairs?" "$vkformer" train small.json --train-sets a b
refuse 2 "has no option --zzz; see 'vkformer bench --help'" "$vkformer" bench --zzz 0.5
refuse 2 '"text" is one word too much' "$vkformer" generate run -p some text
refuse 2 "train --from $fixtures/gpt2" "$vkformer" train "$fixtures/gpt2" --data text.txt --out run
refuse 2 'data has no verb "foo"; it has numbers, tones and shapes; see' "$vkformer" data foo
refuse 2 "which verb of data? numbers, tones or shapes; see" "$vkformer" data
accept "$vkformer" generate --help
cp out told
accept "$vkformer" help generate
cmp -s out told || fail "help generate: $(cat out)"
refuse 2 "there is no verb" "$vkformer" help nonsense
# A reader that has seen enough ends a command without a word.
{ "$vkformer" train --help; echo $? >status; } 2>err | :
[[ $(cat status) == 1 && ! -s err ]] || fail "a reader that left: status $(cat status), $(cat err)"
accept "$vkformer" help
for heading in Train "Use a model" "Model files" "Texts and vocabularies" "Prove a device" Measure; do
  grep -qx "$heading:" out || fail "no heading $heading in the list of verbs: $(cat out)"
done
grep -E '^  [a-z]' out | sed -E 's/^  ([a-z]+).*/\1/' | grep -v '^vkformer$' >verbs
(($(wc -l <verbs) == 31)) || fail "$(wc -l <verbs) verbs in the help: $(cat verbs)"
while read -r verb; do
  "$vkformer" "$verb" --help >out 2>err </dev/null || fail "no help of $verb: $(cat err)"
  grep -q "^Usage: vkformer $verb" out || fail "the help of $verb: $(cat out)"
  (($(awk '{ print length }' out | sort -n | tail -n 1) <= 110)) || fail "the help of $verb has lines beyond 110 columns"
done <verbs
"$vkformer" train --help >out
grep -q -- "--learning-rate X .*also --lr" out || fail "no alias in the help of train: $(cat out)"
refuse 2 "CONFIG" "$vkformer" train --out run
refuse 2 "--out" "$vkformer" train small.json --data text.txt
sed 's/"n_layer"/"n_layers"/' small.json >slip.json
accept "$vkformer" train slip.json --data text.txt --plan
grep -q 'slip.json: "n_layers" says nothing to this model; did you mean "n_layer"?' err || fail "a slip in a config goes unseen: $(cat err)"
accept "$vkformer" train small.json --data text.txt --plan
grep "did you mean" err && fail "a right config is corrected: $(cat err)"
refuse 2 "--batch" "${train[@]}" --out run --batch 0
refuse 2 "--iterations" "${train[@]}" --out run --iterations many
refuse 2 "--mask-share is for --masked, not for --data" "${train[@]}" --out run --mask-share 0.3
refuse 2 "no op" "$vkformer" conform -o nonsense
refuse 2 "regular expression" "$vkformer" conform -p '('
refuse 2 "regular expression" "$vkformer" conform -o add --kernel '('
refuse 1 "no case matches '' and has a kernel here that matches 'none'" "$vkformer" conform -o add --kernel none
refuse 2 "neither a folder" "$vkformer" bench -m nonsense

# Measured choices.
refuse 1 "no such file" "${train[@]}" --out run --tuning none.json
refuse 2 "--tuning none" "${train[@]}" --out run --tuning none --tune
refuse 2 "--tuning chooses among" "${train[@]}" --out run --device reference --tuning small.json
refuse 1 "timestamps" "${train[@]}" --out run --device reference --tune --tuning new.json

# A file that the user named is no tuning file, or another device's: it stays.
cp text.txt kept.txt
refuse 1 "kept.txt: not valid JSON" "$vkformer" tune 1x8x1:11:8 -p 1 -b 0 --tuning kept.txt
cmp -s text.txt kept.txt || fail "tune wrote over a text"
accept "$vkformer" tune 1x8x1:11:8 -p 1 -b 0 --tuning mine.json --quiet
refuse 1 "none/mine.json" "$vkformer" tune 1x8x1:11:8 -p 1 -b 0 --tuning none/mine.json
refuse 1 "a prompt of 10 tokens" "$vkformer" tune 1x8x1:11:8 -p 010 -b 0  # not of eight
for verb in tune pipelines; do
  refuse 1 "a prompt of 9 tokens does not fit the context of 8" "$vkformer" $verb 1x8x1:11:8 -p 9 -q
  refuse 1 "context 9: the model has 8 positions" "$vkformer" $verb 1x8x1:11:8 --context 9 -b 0 -q
done
refuse 1 "the context of 8 positions is too short" "$vkformer" bench -m 1x8x1:11:8 -p 9 -q
[[ ! -s out ]] || fail "bench prints before it refuses: $(cat out)"
refuse 1 "with other --facts (" "$vkformer" tune 1x8x1:11:8 -p 1 -b 0 --tuning mine.json --facts "$fixtures/../facts/vulkan-least.json"
sed -i 's/"driver_version": /&7/' mine.json
cp mine.json theirs.json
refuse 1 "name another file to write" "$vkformer" tune 1x8x1:11:8 -p 1 -b 0 --tuning theirs.json
cmp -s mine.json theirs.json || fail "tune wrote over what was measured elsewhere"
refuse 2 "--iterations is there more than once" "${train[@]}" --out run --iterations 3
refuse 2 "a file of texts goes with <" "$vkformer" translate model text.txt

# Devices and memory.
refuse 1 "no device" "${train[@]}" --out run --device nonsense
refuse 1 "no Vulkan driver" env VK_DRIVER_FILES=/nonexistent.json VK_ICD_FILENAMES=/nonexistent.json "${train[@]}" --out run
# Drivers of which none has a device, as for a user who may open no GPU.
for driver in /usr/share/vulkan/icd.d/radeon_icd*.json; do
  [ ! -e "$driver" ] || refuse 1 "no Vulkan driver" env VK_DRIVER_FILES="$driver" VK_ICD_FILENAMES="$driver" "$vkformer" devices
done
cat >huge.json <<'JSON'
{"model_type": "gpt2", "n_positions": 64, "n_embd": 4096, "n_layer": 96, "n_head": 32}
JSON
refuse 1 "MiB free" "$vkformer" train huge.json --data text.txt --out run --quiet

cat >wide.json <<'JSON'
{"model_type": "gpt2", "n_positions": 64, "n_embd": 65536, "n_layer": 1, "n_head": 512}
JSON
refuse 1 "one allocation" "$vkformer" train wide.json --data text.txt --out run --quiet

# Values that were left out.
refuse 2 "^vkformer: --data has no value, --out follows; see" "$vkformer" train small.json --data --out run
refuse 2 "^vkformer: --lora has no value, --out follows; see" "$vkformer" train --from small --data text.txt --lora --out run
refuse 2 "^vkformer: --prompt has no value, --tokens follows; see" "$vkformer" generate small -p --tokens 5

# Values that can't be, and ops that can't be timed.
refuse 2 "warmup" "${train[@]}" --out run --warmup -3
refuse 2 "name=number" "$vkformer" bench --op scale --input 4 --attr factor=abc
refuse 2 "scale has no attribute 'faktor'; its attributes are factor" "$vkformer" bench --op scale --input 4 --attr faktor=2
refuse 2 "add has no attribute 'factor'; it has none" "$vkformer" bench --op add --input 4 --input 4 --attr factor=2
refuse 1 "the attribute 'factor' is missing" "$vkformer" bench --op scale --input 4
grep kernel out && fail "bench measured before it looked: $(cat out)"
refuse 2 "not legal" "$vkformer" bench --op add --input 4 --input 4 --candidate nonsense
for shape in 0 0x4 4x-1 4xx4 4x4q 4x4:f32:zero 4x4:f32:0:1:2 ''; do
  refuse 2 "is not a shape like" "$vkformer" bench --op add --input "$shape" --input "$shape"
done
refuse 2 "excludes" "$vkformer" train small.json --data text.txt --bytes --tokenizer none --out bad
refuse 2 "is above --learning-rate" "$vkformer" train small.json --data text.txt --min-learning-rate 5 --out bad
refuse 2 "needs --out" "$vkformer" train --plan --resume
mkfifo fifo
refuse 1 "fifo" timeout 5 "$vkformer" pipelines --judge fifo
refuse 1 "fifo" timeout 5 "$vkformer" conform --matrix fifo
refuse 1 "empty.txt" "$vkformer" bench --op add --input 4 --input 4 -r 1 --tuning empty.txt
refuse 1 "the context of 16 positions is too short: 17 are" "$vkformer" bench -m 1x24x3:100:16 -p 4 -n 16 -b 0
grep pp4 out && fail "bench measured before it looked: $(cat out)"
refuse 2 "training has --precision" "$vkformer" bench -m 1x24x3:100:16 -p 0 -n 0 -b 1 --dtype bf16
refuse 2 "are of models that write text" "$vkformer" tune "$fixtures/bert_mlm" --dtype f16
refuse 2 "are of models that write text" "$vkformer" tune "$fixtures/bert_mlm" --cache-dtype f16
refuse 2 "did you mean --cache-dtype" "$vkformer" chat "$fixtures/llama" -ctk q8_0
refuse 2 "--input requires --op" "$vkformer" bench --input 4x4
refuse 2 "nothing to time" "$vkformer" bench -p 0 -n 0 -b 0
refuse 2 "--json excludes --op" "$vkformer" bench --op add --input 4 --input 4 --json
accept "$vkformer" bench -m 1x24x3:100:16 -p 4 -n 0 -b 0 -r 1 --json
grep -q '^ *[{[]' out || fail "bench --json: $(cat out)"
refuse 2 "--batch excludes --op" "$vkformer" bench --op add --input 4 --input 4 --batch 2
refuse 2 "matmul needs its inputs .*--input" "$vkformer" bench --op matmul
refuse 1 "timestamps" "$vkformer" bench --op add --input 4 --input 4 --device reference
refuse 1 "this t5 model does not" "$vkformer" bench -m "$fixtures/t5" -p 4 -n 1 -b 0
refuse 1 "use a smaller batch" "$vkformer" train small.json --data text.txt --out run --batch 100000 --quiet
refuse 2 "--lora is empty" "$vkformer" train --from "$fixtures/gpt2" --data text.txt --plan --lora ""
refuse 2 "alpha 'nan'" "$vkformer" train small.json --plan --lora r=2,alpha=nan

# Flags of numbers take numbers: walks the help, so that new flags are held to it, too.
flags=0
for verb in $("$vkformer" --help | sed -nE 's/^  ([a-z]+)  .*/\1/p'); do
  for flag in $("$vkformer" "$verb" --help | sed -nE 's/^.*(--[a-z0-9-]+) X .*/\1/p; s/^.*(--max-[a-z]+|--min-resident) N .*/\1/p'); do
    for value in nan inf; do
      "$vkformer" "$verb" "$flag" $value >out 2>err </dev/null
      [[ $? == 2 ]] && grep -q -- "$flag: $value is no finite number" err || fail "$verb $flag $value: $(cat err)"
    done
    flags=$((flags + 1))
  done
done
((flags >= 35)) || fail "only $flags flags of floats are in the help"
for flag in -p -n -b; do refuse 2 "-5 is below 0" "$vkformer" bench -m 1x24x3:100:32 $flag -5; done
refuse 2 "seed: Value -1 not in range 0 to" "$vkformer" train small.json --data text.txt --seed -1 --out bad
refuse 2 "beta1: 1 is not between 0 and 0.9999999" "$vkformer" train small.json --data text.txt --beta1 1 --out bad
refuse 2 "1e39 is no finite number that 32 bits hold" "$vkformer" train small.json --data text.txt --lr 1e39 --out bad
refuse 2 "take a --weight-decay below 1000" "${train[@]}" --out bad --weight-decay 1000
refuse 2 "schedule constant has no such end" "${train[@]}" --out bad --schedule constant --min-lr 1e-5
refuse 2 "plan computes nothing; leave out --tune" "${train[@]}" --plan --tune
refuse 2 "plan computes nothing; leave out --profile" "${train[@]}" --plan --profile plan.html

# What other tools call verbs, options and types.
for verb in run quantize show; do refuse 2 "did you mean" "$vkformer" $verb small.json; done
refuse 2 "-d names one" "$vkformer" generate small.json -p a -ngl 99
refuse 2 "experts go to host memory first" "$vkformer" generate small.json -p a -ncmoe 4
refuse 2 "the model is a word of its own, as in 'vkformer generate MODEL'" "$vkformer" generate -m small.json -p a
for type in F16 half float16 FP16; do
  accept "$vkformer" convert "$fixtures/gpt2" "of-$type" --dtype $type
  cmp -s of-F16/model.safetensors "of-$type/model.safetensors" || fail "--dtype $type is not F16"
done
accept "$vkformer" convert "$fixtures/llama" mixed.gguf --dtype Q8_0

# The pages name only flags and headings that there are.
accept python3 "$parts_folder/documents.py" "$vkformer" "$parts_folder/../.."
