# shellcheck shell=bash disable=SC2154
# Texts that are to be near each other (train --similar). Sourced by tests/command_line.sh.

cat >encoder.json <<'JSON'
{"model_type": "bert", "max_position_embeddings": 16, "hidden_size": 24, "num_hidden_layers": 1, "num_attention_heads": 3,
 "intermediate_size": 32, "hidden_dropout_prob": 0, "attention_probs_dropout_prob": 0}
JSON
names=(anna ben carl dora emil fay gus hana ivo jon)
for i in "${!names[@]}"; do
  for j in 1 2 3; do
    other=${names[(i + j) % 10]}
    echo "{\"query\": \"${names[i]} sees $other\", \"positive\": \"$other is seen by ${names[i]}\"}" >>rows.jsonl
    echo "{\"anchor\": \"${names[i]} sees $other\", \"positive\": \"$other is seen by ${names[i]}\", \"negative\": \"$other sees ${names[i]}\"}" >>apart.jsonl
    echo "${names[i]} sees is seen by" >>words.txt
  done
done
accept "$vkformer" tokens words.txt --kind bpe --layout bert --size 60 --out pieces
learn=("$vkformer" train encoder.json --similar rows.jsonl --valid rows.jsonl --tokenizer pieces --batch 10 --warmup 0
  --learning-rate 1e-2 --schedule constant)

# It learns, and is resumed to the same bits; its folder says how vectors are made.
accept "${learn[@]}" --iterations 40 --evaluate-every 20 --keep-best mrr --out straight
grep -q "to beat in validation: words in common (TF-IDF) accuracy@1 " out || fail "no baseline is told: $(cat out)"
python3 - straight/metrics.jsonl <<'PY' || fail "nothing was learned: $(cat straight/metrics.jsonl)"
import json, sys
scores = [row["mrr"] for row in map(json.loads, open(sys.argv[1])) if "mrr" in row]
sys.exit(not (len(scores) == 2 and scores[-1] > 0.9))
PY
accept "${learn[@]}" --iterations 20 --out halves
accept "$vkformer" train --resume --out halves --iterations 40
cmp -s straight/checkpoint-000040/model.safetensors halves/checkpoint-000040/model.safetensors || fail "a resumed run of similar texts differs"
grep -q '"BertModel"' straight/checkpoint-000040/config.json || fail "a model without a head is called otherwise"
grep -q '"pooling_mode_mean_tokens": true' straight/checkpoint-000040/1_Pooling/config.json || fail "the pooling is not told"
accept "$vkformer" embed straight -p "anna sees ben" --query "ben is seen by anna"
grep -q "anna sees ben" out && ! grep -q "which hidden states count" err || fail "the run's own pooling is not known: $(cat out err)"
accept "$vkformer" evaluate straight --similar rows.jsonl
grep -q "MRR@10 .* of 30 queries among 30 texts" out || fail "evaluate: $(cat out)"

# Beside frozen weights, with texts that are not similar, of a decoder, too, whose last token has seen all others.
accept "$vkformer" train --from straight --similar apart.jsonl --lora r=2 --iterations 1 --out adapter
grep -q FEATURE_EXTRACTION adapter/checkpoint-000001/adapter_config.json || fail "the adapter's task has another name"
accept "$vkformer" embed straight --adapter adapter -p "anna sees ben"
accept "$vkformer" train small.json --similar apart.jsonl --tokenizer pieces --context 16 --iterations 1 --out decoder
grep -q "30 rows of 3 of .*, pooled by the last token" out || fail "a decoder is pooled otherwise: $(cat out)"
grep -q '"pooling_mode_lasttoken": true' decoder/checkpoint-000001/1_Pooling/config.json || fail "a decoder's pooling is not told"

refuse 2 "--pooling first: the files in .* say mean; leave it out" "$vkformer" train --from straight --similar rows.jsonl --pooling first --out new
refuse 2 "--pooling is for --similar, not for --data" "${train[@]}" --pooling mean --out new
refuse 1 "rows.jsonl has 2 texts of a row, .*apart.jsonl has 3" "$vkformer" train encoder.json --similar rows.jsonl --valid apart.jsonl --tokenizer pieces --out new
refuse 1 "t5 model makes no embeddings; encoders and decoders do" "$vkformer" train --from "$fixtures/t5" --tokenizer pieces --similar rows.jsonl --out new
echo '{"query": "x"}' >>rows.jsonl
refuse 1 "rows.jsonl:31: .*this has no \"positive\"" "${learn[@]}" --out new
