# shellcheck shell=bash disable=SC2154,SC2034
# Labels of which several hold, that are numbers, or tell how relevant a text is. Sourced by tests/command_line.sh.

describe_labels
sed -i 's/"intermediate_size": 30/&, "hidden_dropout_prob": 0, "attention_probs_dropout_prob": 0/' label.json
words=(--tokenizer "$fixtures/tokenizers/bert" --warmup 1 --learning-rate 1e-2 --schedule constant)
for i in $(seq 10); do
  printf '{"text": "the cat %d", "labels": ["cat", "the"]}\n{"text": "the dog %d", "labels": ["dog", "the"]}\n{"text": "so %d", "labels": []}\n' "$i" "$i" "$i" >>several.jsonl
  printf '{"text": "cat %d", "label": 1.5}\n{"text": "the dog %d", "label": -2}\n' "$i" "$i" >>numbers.jsonl
  printf '{"sentence1": "the", "sentence2": "cat %d", "label": 1}\n{"sentence1": "the", "sentence2": "dog %d", "label": 0}\n' "$i" "$i" >>relevant.jsonl
done
learn() { "$vkformer" train label.json --labels "$1" --valid "$1" "${words[@]}" --evaluate-every 20 "${@:2}"; }

accept learn several.jsonl --iterations 80 --keep-best micro_f1 --out several
grep -q "30 rows of .*, 3 labels, of which several may hold" out || fail "lists are no labels of which several hold: $(cat out)"
grep -q "micro F1 1.0000, macro F1 1.0000, all labels right in 100.00 % of 30 rows" out || fail "several labels were not learned: $(cat out)"
accept learn several.jsonl --iterations 40 --out halves
accept "$vkformer" train --resume --out halves --iterations 80
cmp -s several/checkpoint-000080/model.safetensors halves/checkpoint-000080/model.safetensors || fail "a resumed run of several labels differs"
grep -q '"problem_type": "multi_label_classification"' several/checkpoint-000080/config.json || fail "the config does not tell that several labels may hold"
accept "$vkformer" classify several -p "the dog 3" --json
python3 -c 'import json; p = json.load(open("out"))["probabilities"]; assert p["dog"] > 0.5 and p["the"] > 0.5 > p["cat"], p' || fail "classify: $(cat out)"

accept learn numbers.jsonl --iterations 40 --keep-best pearson --out numbers
grep -q "by the means of training:  mean squared error 3.06" out || fail "no baseline of numbers: $(cat out)"
grep -q "correlation [01][.][09][09]" out || fail "numbers were not learned: $(cat out)"
accept "$vkformer" classify numbers -p "cat 3" --quiet
python3 -c 'assert abs(float(open("out").read()) - 1.5) < 0.5' || fail "classify gives another number: $(cat out)"
accept "$vkformer" classify numbers -p "cat 3" --json
grep -q '"number":1\.' out || fail "classify --json gives no number: $(cat out)"
accept "$vkformer" evaluate numbers --labels numbers.jsonl
grep -q "mean squared error 0.0\|mean squared error [0-9.]*e-" out || fail "evaluate: $(cat out)"
refuse 2 "numbers gives a number of each text; leave out --query" "$vkformer" classify numbers --query cat
refuse 1 "can't say that a model gives numbers" "$vkformer" convert numbers numbers.gguf

# What goes on from a model with one label has its kind.
accept learn relevant.jsonl --label-kind relevance --iterations 40 --out relevance
grep -q "average precision 1.0000, accuracy 100.00 % of 20 rows" out || fail "what is relevant was not learned: $(cat out)"
accept "$vkformer" train --from relevance --labels relevant.jsonl --iterations 1 --lora r=2 --out adapter
grep -q "20 rows of .*, each relevant or not" out || fail "a reranker is trained as something else: $(cat out)"
grep -q SEQ_CLS adapter/checkpoint-000001/adapter_config.json || fail "a reranker's adapter has another task"
printf 'dog 2\ncat 2\n' >lines.txt
accept bash -c "'$vkformer' classify relevance --adapter adapter --query the -q <lines.txt"
[[ $(head -n 1 out) == *$'\t'"cat 2" ]] || fail "the reranker sorts otherwise: $(cat out)"

refuse 1 "numbers.jsonl:1: 1.5 does not lie between 0 and 1" learn numbers.jsonl --label-kind relevance --out new
refuse 1 "several.jsonl has lists of labels, of which several hold; leave out --label-kind one" learn several.jsonl --label-kind one --out new
refuse 1 'rows.jsonl:1: the label "cat" is no number' learn rows.jsonl --label-kind number --out new
refuse 2 "--label-smoothing is for labels of which one holds" learn several.jsonl --label-smoothing 0.1 --out new
refuse 2 "--label-kind can't change when a run is resumed" "$vkformer" train --resume --out several --label-kind one
refuse 1 "--keep-best spearman: this run scores micro_f1" learn several.jsonl --keep-best spearman --out new
