# shellcheck shell=bash disable=SC2154,SC2034
# Adapters: trained beside a base model, continued, used and merged. Sourced by tests/command_line.sh.

accept "${train[@]}" --out base
model=base/$(cat base/latest)
sha256sum "$model"/* >before
lora=("$vkformer" train --from "$model" --data text.txt --batch 2 --warmup 0 --schedule constant --checkpoint-every 2
  --learning-rate 0.05)
cp -r "$model" $'odd\e[1m'
accept "$vkformer" train --from $'odd\e[1m' --data text.txt --batch 2 --lora r=1 --iterations 1 --out oddly --warmup 0
cp -r "$model" $'odd\xff'
refuse 1 "not UTF-8; rename it" "$vkformer" train --from $'odd\xff' --data text.txt --batch 2 --lora r=1 --out oddly2 --warmup 0
refuse 2 "needs --from" "${train[@]}" --lora r=2 --out bad
refuse 2 "'rank=2' is not a setting" "${lora[@]}" --lora rank=2 --out bad
refuse 2 "r is there more than once" "${lora[@]}" --lora r=2,r=3 --out bad
refuse 2 "r '0' is not a number" "${lora[@]}" --lora r=0 --out bad
refuse 2 "for frozen weights" "${lora[@]}" --weights f16 --out bad
refuse 2 "do not go with --lora" "${lora[@]}" --lora r=2 --average 2 --out bad
refuse 1 "no linear module 'q_proj'; it has c_attn" "${lora[@]}" --lora r=2,targets=q_proj --out bad
refuse 1 "products take operands of one type" "${lora[@]}" --lora r=2 --dtype f16 --weights bf16 --out bad
accept "${lora[@]}" --lora r=2,alpha=8,dropout=0.1,targets=all-linear --weights f16 --iterations 4 --valid short.txt --out whole
accept "${lora[@]}" --lora r=2,alpha=8,dropout=0.1,targets=all-linear --weights f16 --iterations 2 --valid short.txt --out parts
accept "$vkformer" train --resume --out parts --iterations 4
refuse 2 "do not go with --lora" "$vkformer" train --resume --out parts --iterations 5 --average 2
for file in adapter_model.safetensors optimizer.safetensors; do
  cmp -s whole/checkpoint-000004/$file parts/checkpoint-000004/$file || fail "an adapter's run goes on otherwise: $file"
done
# With frozen weights and the optimizer's moments in host memory: the same bits.
far=("${lora[@]}" --lora r=2,alpha=8,dropout=0.1,targets=all-linear --weights f16 --iterations 4 --valid short.txt --offload-optimizer)
accept "${far[@]}" --plan --json
bytes=$(python3 -c 'import json; plan = json.load(open("out")); print(plan["total_bytes"] - plan["host_bytes"])')
accept "${far[@]}" --out far --device-memory $((bytes - 2000))
grep -q "of weights lie in host memory: .*; a micro-batch reads" err || fail "nobody said where frozen weights lie: $(cat err)"
grep -q "AdamW moments, in host memory" out || fail "the plan does not say where moments lie: $(cat out)"
grep -q "^  frozen parameters in host memory" out || fail "the plan does not say where frozen weights lie: $(cat out)"
grep -q '"offload_optimizer": true' far/checkpoint-000004/state.json || fail "the run forgot --offload-optimizer"
for file in adapter_model.safetensors optimizer.safetensors; do
  cmp -s {whole,far}/checkpoint-000004/$file || fail "host memory changes an adapter's run: $file"
done
[[ -e whole/checkpoint-000004/model.safetensors ]] && fail "an adapter's checkpoint has the base model"
grep -q "of them trained (LoRA), the others kept as f32" <<<"$("${lora[@]}" --lora r=2 --plan)" || fail "the plan does not tell what is trained"
refuse 1 "holds an adapter and no model" "$vkformer" generate whole -p "the "
refuse 1 "has no adapter_config.json" "$vkformer" generate "$model" -p "the " --adapter "$model"
accept "$vkformer" generate "$model" -p "the " -n 12 --temp 0 --quiet --adapter whole
cp out adapted
accept "$vkformer" convert "$model" merged --merge whole --quiet
accept "$vkformer" generate merged -p "the " -n 12 --temp 0 --quiet
cmp -s out adapted || fail "the merged model writes another text: $(cat out adapted)"
# A GGUF file of both is what the merged folder makes. (These have no place for a tokenizer of characters.)
cp -r "$model" of_ids
rm of_ids/tokenizer.json
mkdir two
accept "$vkformer" convert of_ids two/of_ids --merge whole --quiet
for type in f32 q4_k_m; do
  accept "$vkformer" convert two/of_ids two-$type.gguf --dtype $type
  accept "$vkformer" convert of_ids one-$type.gguf --dtype $type --merge whole
  cmp -s {two,one}-$type.gguf || fail "an adapter is merged into another file of $type"
done
for adapter in "" whole; do
  accept "$vkformer" logits "$model" --ids 5,17,3 --out "logits$adapter.safetensors" -q ${adapter:+--adapter $adapter}
done
cmp -s logits.safetensors logitswhole.safetensors && fail "logits ignores an adapter"
sha256sum --check --quiet before || fail "the base model has changed"
# A file whose tensors are not those that its config names.
cp -r "whole/$(cat whole/latest)" named
sed -i 's/"c_attn"/"c_proj"/' named/adapter_config.json
grep -q c_proj named/adapter_config.json || fail "c_attn is no target: $(cat named/adapter_config.json)"
refuse 1 "which target_modules of adapter_config.json" "$vkformer" generate "$model" -p "the " --adapter named
# A base that has moved, another one, and none.
cp -r "$model" moved
mv "$model" aside
refuse 1 "is not there; name an equal copy of it with --from" "$vkformer" train --resume --out parts --iterations 5
refuse 1 "is not there; name an equal copy of it with --from" "$vkformer" evaluate whole --data short.txt
accept "$vkformer" evaluate whole --data short.txt --from moved --json
same whole validation_loss
accept "$vkformer" train --resume --out parts --iterations 5 --from moved
accept "$vkformer" generate moved -p "the " -n 1 --temp 0 --quiet --adapter whole
[[ -s err ]] && fail "a copy of the base is called another: $(cat err)"
mv aside "$model"
accept "${train[@]}" --seed 5 --out other
accept "$vkformer" generate other -p "the " -n 1 --temp 0 --quiet --adapter whole
grep -q "is not the model this adapter was trained for" err || fail "another base is taken without a word"
cp "$model/model.safetensors" kept.safetensors
cp "other/$(cat other/latest)/model.safetensors" "$model"
touch -d 2001-01-01 "$model/model.safetensors"  # as what is moved or unpacked may look
accept "$vkformer" generate "$model" -p "the " -n 1 --temp 0 --quiet --adapter whole
grep -q "is not the model this adapter was trained for" err || fail "a base that was replaced is taken without a word"
cp kept.safetensors "$model/model.safetensors"
accept "$vkformer" generate "$model" -p "the " -n 1 --temp 0 --quiet --adapter whole
[[ -s err ]] && fail "the base is called another: $(cat err)"
# What a run would be lost in.
refuse 1 "moved holds a model (config.json)" "${lora[@]}" --out moved
refuse 1 "lies in a checkpoint (checkpoint-000004)" "${lora[@]}" --lora r=1 --out whole/checkpoint-000004/more/
ln -s "whole/$(cat whole/latest)" linked
refuse 1 "lies in a checkpoint (checkpoint-000004)" "${lora[@]}" --lora r=1 --out linked/more
mkdir filed
: >filed/model.gguf
refuse 1 'filed holds "model.gguf"' "${lora[@]}" --out filed
# A tokenizer that is given may stand for one that can't be read.
cp -r "$model" odd
sed -i 's/"pre_tokenizer"/"normalizer": {"type": "SomethingNew"}, "pre_tokenizer"/' odd/tokenizer.json
grep -q SomethingNew odd/tokenizer.json || echo '{}' >odd/tokenizer.json
accept "$vkformer" train --from odd --tokenizer "$model" --data text.txt --batch 2 --iterations 1 --warmup 0 --out from-odd
refuse 2 "--from can't change" "$vkformer" train --resume --out other --from moved
refuse 2 "--set is for a new model's config" "$vkformer" train --from "$model" --data text.txt --set n_layer=2 --out set
# Another base under the same path.
echo >>moved/config.json
refuse 1 "is not the model this adapter was begun on" "$vkformer" train --resume --out parts --iterations 6

# Prompts and completions.
for i in $(seq 20); do echo '{"prompt": "the quick ", "completion": "brown fox"}'; done >rows.jsonl
refuse 1 "this run scores only loss" "$vkformer" train --from "$model" --prompts rows.jsonl --valid rows.jsonl --keep-best bleu --out bad
accept "$vkformer" train --from "$model" --prompts rows.jsonl --valid rows.jsonl --iterations 2 --out prompts
grep -q '\[ b r o w n' out || fail "the first row is not shown: $(cat out)"
grep -q "whose last given token" out && fail "characters run on: $(cat out)"
accept "$vkformer" tokens text.txt --kind byte-bpe --size 290 --out pieces
accept "$vkformer" train small.json --tokenizer pieces --prompts rows.jsonl --iterations 1 --out pieced
grep -q "; 20 whose last given token also has what is learned: begin that" out || fail "nothing is said of blanks: $(cat out)"
accept "$vkformer" convert pieced pieced.gguf
accept "$vkformer" train --from pieced.gguf --data text.txt --batch 2 --lora r=1 --iterations 1 --warmup 0 --out of-file
accept "$vkformer" generate pieced.gguf --adapter of-file -p the -n 1 --temp 0 --quiet
sed 's/quick ", "completion": "/quick", "completion": " /' rows.jsonl >blanks.jsonl
accept "$vkformer" train small.json --tokenizer pieces --prompts blanks.jsonl --iterations 1 --out blanks
grep -q "whose last given token" out && fail "a blank where it belongs runs on: $(cat out)"
# Conversations whose template writes no end behind an answer.
echo '{"messages": [{"role": "user", "content": "the"}, {"role": "assistant", "content": "quick"}]}' >talks.jsonl
for end in '' '<|endoftext|>'; do
  echo "{% for m in messages %}{{ m.content }}${end}{% endfor %}" >pieces/chat_template.jinja
  accept "$vkformer" train small.json --tokenizer pieces --prompts talks.jsonl --iterations 1 --warmup 0 --out "talks$end"
  [[ $(grep -c "; 1 whose answers end in no special token" out) == $([[ $end ]] && echo 0 || echo 1) ]] || fail "ends '$end': $(cat out)"
done
(cat rows.jsonl && echo '{}') >odd.jsonl
echo '{"prompt": "the quick ", "completion": "7"}' >>rows.jsonl
refuse 1 "rows.jsonl:21" "$vkformer" train --from "$model" --prompts rows.jsonl --iterations 2 --out bad
sed -i '$d' rows.jsonl
refuse 1 "odd.jsonl:21" "$vkformer" train --from "$model" --prompts odd.jsonl --iterations 2 --out bad
refuse 1 "as --pairs FILE.jsonl" "$vkformer" train --from "$fixtures/t5" --tokenizer "$model" --prompts rows.jsonl --out bad

# Heads: a classifier beside an encoder of masked words, which rests.
describe_labels
for i in $(seq 8); do echo "the cat and the dog $i"; done >masked.txt
{ echo text,label; echo the cat,cat; echo a dog,dog; echo the dog,dog; } >test.csv
accept "$vkformer" train label.json --masked masked.txt --tokenizer "$fixtures/tokenizers/bert" --iterations 1 --warmup 0 --out words
words=words/$(cat words/latest)
sha256sum "$words"/* >before
labels=("$vkformer" train --from "$words" --labels rows.jsonl --valid test.csv --lora "r=4,alpha=8,dropout=0.1" --warmup 0
  --schedule constant --learning-rate 2e-2 --evaluate-every 20 --keep-best accuracy --moving-average 0.5)
accept "${labels[@]}" --iterations 40 --out head
grep -q "start values, .*: bert.pooler.dense.weight, bert.pooler.dense.bias, classifier.weight, classifier.bias" err || fail "the new head is not named: $(cat err)"
grep -q "task_type\": \"SEQ_CLS\"" "head/$(cat head/latest)/adapter_config.json" || fail "no task: $(cat head/*/adapter_config.json)"
accept "${labels[@]}" --iterations 2 --out killed
accept "$vkformer" train --resume --out killed --iterations 40
grep -q "start values" err && fail "a resumed head begins anew: $(cat err)"
for file in adapter_model.safetensors optimizer.safetensors head.json; do
  cmp -s head/checkpoint-000040/$file killed/checkpoint-000040/$file || fail "a classifier's adapter goes on otherwise: $file"
done
printf 'the cat and 3\nthe dog\n' >asked.txt
for run in head head/best head/average; do
  "$vkformer" classify "$words" --adapter $run -q <asked.txt >out || fail "classify --adapter $run"
  [[ $(cut -f 1 out | paste -s) == $'cat\tdog' ]] || fail "$run learned nothing: $(cat out)"
done
"$vkformer" classify "$words" --adapter head -q --json <asked.txt >with
accept "$vkformer" convert "$words" whole-head --merge head --quiet
"$vkformer" classify whole-head -q --json <asked.txt >out
python3 - with out <<'PY' || fail "the merged classifier tells apart otherwise: $(cat with out)"
import json, sys
for a, b in zip(*(map(json.loads, open(file)) for file in sys.argv[1:])):
    assert a["label"] == b["label"] and abs(a["probability"] - b["probability"]) < 1e-5, (a, b)
PY
accept "$vkformer" evaluate head --labels test.csv --json
same head validation_loss accuracy macro_f1
accept "$vkformer" evaluate "head/$(cat head/latest)/" --labels test.csv --json
refuse 2 "this run was trained with --labels, so --labels FILE" "$vkformer" evaluate head/best
accept "$vkformer" embed "$words" --adapter head -p "the cat" --pooling mean -q
cp out adapted
accept "$vkformer" embed "$words" -p "the cat" --pooling mean -q
cmp -s out adapted && fail "embed ignores an adapter"
for i in $(seq 10 40); do printf 'the O\ncat O\n%d B-NUM\n\n' "$i"; done >tagged.conll
accept "$vkformer" train --from "$words" --tags tagged.conll --valid tagged.conll --lora r=2 --precision bf16 --iterations 3 --warmup 0 --out tagger
accept "$vkformer" evaluate tagger --tags tagged.conll --json
same tagger validation_loss accuracy entity_f1
accept "$vkformer" convert "$words" whole-tagger --merge tagger --quiet
accept "$vkformer" tag whole-tagger -p "the cat 55" -q
cp out merged-tags
accept "$vkformer" tag "$words" --adapter tagger -p "the cat 55" -q
cmp -s out merged-tags || fail "the merged tagger tags otherwise: $(cat out merged-tags)"
# As PEFT writes one, without the names of the classes; and what can't be.
cp -r "head/$(cat head/latest)" peft
rm peft/head.json peft/state.json
accept "$vkformer" classify "$words" --adapter peft -p "the cat" -q
grep -q '^LABEL_0' out || fail "an adapter without names of classes: $(cat out)"
refuse 1 "peft is an adapter of \"nowhere\", which is not there; name that model" "$vkformer" evaluate peft --labels test.csv --from nowhere
refuse 2 "--from names the model of an adapter, and .* is none" "$vkformer" evaluate "$words" --labels test.csv --from "$words"
refuse 1 "that gives no class of a text" "$vkformer" classify "$words" -p "the cat"
refuse 1 "is not supported for a model that writes text" "$vkformer" generate "$model" --adapter peft -p "the "
refuse 1 "no head for words is trained beside an adapter" "$vkformer" train --from whole-head --masked masked.txt --lora r=2 --out bad
sha256sum --check --quiet before || fail "the base has changed"
