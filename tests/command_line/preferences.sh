# shellcheck shell=bash disable=SC2154
# Texts of which one is preferred (train --preferences). Sourced by tests/command_line.sh.

cat >lm.json <<'JSON'
{"model_type": "llama", "hidden_size": 24, "num_hidden_layers": 1, "num_attention_heads": 3, "intermediate_size": 32,
 "max_position_embeddings": 32}
JSON
for name in anna ben carl dora emil fay; do
  for other in gus hana ivo jon; do
    echo "{\"prompt\": \"$name sees $other\", \"completion\": \" yes\"}" >>told.jsonl
    echo "{\"prompt\": \"$name sees $other\", \"chosen\": \" yes indeed\", \"rejected\": \" no\"}" >>asked.jsonl
    echo "$name sees $other yes indeed no" >>words.txt
  done
done
accept "$vkformer" tokens words.txt --kind bpe --size 60 --out pieces
accept "$vkformer" train lm.json --prompts told.jsonl --tokenizer pieces --iterations 2 --warmup 0 --out model
learn=("$vkformer" train --from model --preferences asked.jsonl --valid asked.jsonl --learning-rate 1e-2 --warmup 0 --schedule constant)

# It begins at log 2, learns, and is resumed to the same bits.
accept "${learn[@]}" --iterations 6 --evaluate-every 3 --keep-best accuracy --out straight
grep -q '"loss":0.69314' straight/metrics.jsonl || fail "the first loss is not log 2: $(head -n 1 straight/metrics.jsonl)"
grep -q "prefers the chosen text in 100.00 % of 24 pairs" out || fail "nothing was learned: $(cat out)"
accept "${learn[@]}" --iterations 3 --out halves
accept "$vkformer" train --resume --out halves --iterations 6
cmp -s straight/checkpoint-000006/model.safetensors halves/checkpoint-000006/model.safetensors || fail "a resumed run of preferences differs"
# Beside frozen weights; what both texts begin with is not learned.
sed 's/" yes indeed"/" yes indeed indeed"/; s/" no"/" yes no"/' asked.jsonl >alike.jsonl
accept "$vkformer" train --from model --preferences alike.jsonl --lora r=2 --iterations 1 --out adapter
grep -q "the first rejected, what is learned in brackets:.*▁yes \[ " out || fail "what both begin with is learned: $(cat out)"

# By IPO, and by SimPO, which compares with nothing: a run of it has no reference, and goes on to the same bits.
accept "${learn[@]}" --preference-loss ipo --iterations 2 --out ipo
grep -q '"loss":25.0' ipo/metrics.jsonl || fail "IPO's first loss is not (1 / (2 beta))^2: $(head -n 1 ipo/metrics.jsonl)"
simpo=("${learn[@]}" --preference-loss simpo)
accept "${simpo[@]}" --iterations 6 --out simpo
grep -q "prefers the chosen text in 100.00 % of 24 pairs" out || fail "SimPO learned nothing: $(cat out)"
[[ ! -e simpo/checkpoint-000006/reference.safetensors ]] || fail "SimPO has a reference"
accept "${simpo[@]}" --iterations 3 --out half
accept "$vkformer" train --resume --out half --iterations 6
cmp -s simpo/checkpoint-000006/model.safetensors half/checkpoint-000006/model.safetensors || fail "a resumed run of SimPO differs"
accept "$vkformer" evaluate simpo --preferences asked.jsonl
refuse 2 "the chance that a label is wrong: 0.5 at most" "${learn[@]}" --label-smoothing 0.6 --out new
refuse 2 "--preference-margin is for --preference-loss simpo" "${learn[@]}" --preference-margin 2 --out new
refuse 2 "--preference-loss can't change when a run is resumed" "$vkformer" train --resume --out half --preference-loss dpo

refuse 1 "was made of other texts" "$vkformer" train --resume --out halves --iterations 7 --context 6
refuse 1 "asked.jsonl:25: .*no \"rejected\"" bash -c "cat asked.jsonl >more.jsonl; echo '{\"chosen\": \"x\"}' >>more.jsonl
  mv more.jsonl asked.jsonl; '$vkformer' train --from model --preferences asked.jsonl --out new"
head -n 24 asked.jsonl >whole.jsonl
refuse 1 "name that folder with --reference" "$vkformer" evaluate straight --preferences whole.jsonl
refuse 2 "--reference is for --preferences, not for --data" "$vkformer" evaluate model --data text.txt --reference model
refuse 1 "is no model that this one was trained from" "$vkformer" evaluate straight --preferences whole.jsonl --reference "$fixtures/gpt2"
accept "$vkformer" evaluate straight --preferences whole.jsonl --reference model --json
same straight accuracy
python3 - straight/metrics.jsonl out <<'PY' || fail "evaluate tells another margin: $(cat out)"
import json, sys
last = [json.loads(line) for line in open(sys.argv[1])][-1]
assert abs(json.load(open("out"))["margin"] / last["margin"] - 1) < 1e-4
PY
accept "$vkformer" evaluate adapter --preferences alike.jsonl
grep -q "prefers the chosen text in .* of 24 pairs" out || fail "an adapter is told beside no model: $(cat out)"
refuse 2 "--preferences needs --from" "$vkformer" train lm.json --preferences whole.jsonl --tokenizer pieces --out new
refuse 2 "--beta is for --preferences, not for --data" "$vkformer" train small.json --data text.txt --beta 0.2 --out new
refuse 1 "--preferences trains a decoder, t5 is none$" "$vkformer" train --from "$fixtures/t5" --tokenizer pieces --preferences whole.jsonl --out new
echo '{"prompt": "a", "chosen": "b", "rejected": "b"}' >same.jsonl
refuse 1 "no pair of the training file has anything to learn" "$vkformer" train --from model --preferences same.jsonl --out new
