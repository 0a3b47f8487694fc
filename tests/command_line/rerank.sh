# shellcheck shell=bash disable=SC2154,SC2034
# Rerankers and other classifiers, asked by the command and by a server's clients. Sourced by tests/command_line.sh.

describe_labels
for i in $(seq 20); do
  printf '{"sentence1": "the cat", "sentence2": "cat %d", "label": "fits"}\n{"sentence1": "the cat", "sentence2": "dog %d", "label": "differs"}\n' "$i" "$i"
done >pairs.jsonl
accept "$vkformer" train label.json --labels pairs.jsonl --tokenizer "$fixtures/tokenizers/bert" --out run --iterations 30 --warmup 1 --learning-rate 1e-2
# One label in place of two, with the difference of their logits: its sigmoid is the softmax of "fits".
python3 - "run/$(cat run/latest)" ranker <<'PY'
import array, json, pathlib, shutil, struct, sys
source, ranker = map(pathlib.Path, sys.argv[1:])
shutil.copytree(source, ranker)
data = (source / "model.safetensors").read_bytes()
begin = 8 + struct.unpack("<Q", data[:8])[0]
header, rest = {}, b""
for name, tensor in json.loads(data[8:begin]).items():
    if name == "__metadata__": continue
    a, b = tensor["data_offsets"]
    part = data[begin + a:begin + b]
    if name in ("classifier.weight", "classifier.bias"):
        both = array.array("f", part)
        half = len(both) // 2
        part = array.array("f", (fits - differs for differs, fits in zip(both[:half], both[half:]))).tobytes()
        tensor["shape"][0] = 1
    tensor["data_offsets"] = [len(rest), len(rest) + len(part)]
    header[name] = tensor
    rest += part
text = json.dumps(header).encode()
(ranker / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + rest)
config = json.loads((ranker / "config.json").read_text())
config["id2label"], config["label2id"] = {"0": "LABEL_0"}, {"LABEL_0": 0}
(ranker / "config.json").write_text(json.dumps(config))
PY
cp -r ranker plain
sed -i 's/{/{"sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity"}, /' plain/config.json

# By the command.
printf 'dog 3\ncat 5\nthe the cat\ndog 8 and\n' >lines.txt
sed 's/^/the cat\t/' lines.txt | "$vkformer" classify run --json -q | grep -o '"fits":[0-9.e-]*' | cut -d : -f 2 >wanted || fail "classify: $(cat wanted)"
by_score() { paste wanted lines.txt | awk -F '\t' '{printf "%.4f\t%s\n", $1, $2}' | sort -r; }
"$vkformer" classify ranker --query "the cat" -q <lines.txt >out 2>err || fail "classify --query: $(cat err)"
[[ $(sort -r out) == "$(by_score)" ]] && sort -rcs -t $'\t' -k 1,1 out || fail "scores: $(cat out) instead of $(by_score)"
[[ $(head -n 2 out | grep -c cat) == 2 ]] || fail "nothing was learnt: $(cat out)"
"$vkformer" classify ranker --query "the cat" --top 1 --json -q <lines.txt >out 2>err || fail "classify --query: $(cat err)"
[[ $(wc -l <out) == 1 ]] && grep -q '{"line":[23],"score":0.*,"text":".*cat' out || fail "the best line: $(cat out)"
refuse 1 "has 2 classes; --query is for rerankers" "$vkformer" classify run --query "the cat" -p "a cat"
refuse 2 "--query" "$vkformer" classify run --top 3 -p "a cat"
sed 's/Identity/GELU/' plain/config.json >gelu.json
cp -r plain gelu && mv gelu.json gelu/config.json
refuse 1 "activation_fn is \"torch.nn.modules.linear.GELU\"; Sigmoid and Identity are supported" "$vkformer" classify gelu --query "a" -p "b"

# By a server.
# shellcheck source=tests/command_line/server.sh
source "$parts_folder/server.sh"
scores_of() { grep -o '"\(relevance_\)\?score":[0-9.e-]*' reply | cut -d : -f 2 | awk '{printf "%.4f\n", $1}'; }
refuse 2 "for models that write text" "$vkformer" serve ranker --slots 2
start ranker
documents='"query": "the cat", "documents": ["dog 3", "cat 5", {"text": "the the cat"}, "dog 8 and"]'
for address in /v1/rerank /rerank /v1/reranking /reranking; do ask 200 POST $address "{$documents}"; done
[[ $(scores_of) == "$(by_score | cut -f 1)" ]] || fail "relevance: $(cat reply) instead of $(by_score)"
grep -q '"document"' reply && fail "documents are sent back unasked: $(cat reply)"
grep -q '"model":"ranker","object":"list"' reply && grep -q '"usage":{"prompt_tokens":38,"total_tokens":38}' reply || fail "what is around: $(cat reply)"
ask 200 POST /v1/rerank "{$documents, \"top_n\": 2, \"return_documents\": true}"
[[ $(grep -o '"document":{"text":"[a-z0-9 ]*cat' reply | wc -l) == 2 && $(scores_of | wc -l) == 2 ]] || fail "the two best: $(cat reply)"
ask 200 POST /v1/rerank "{$documents, \"raw_scores\": true}"
[[ $(scores_of | awk '{printf "%.3f\n", 1 / (1 + exp(-$1))}') == "$(by_score | awk '{printf "%.3f\n", $1}')" ]] || fail "logits: $(cat reply)"
cp reply raw
ask 200 POST /rerank '{"query": "the cat", "texts": ["dog 3", "cat 5"], "return_text": true}'
body_of_reply | grep -q '^\[{"index":1,"score":0\.[0-9]*,"text":"cat 5"},{"index":0,' || fail "a plain list: $(cat reply)"
ask 200 POST /predict '{"inputs": ["the cat", "dog 3"]}'
[[ $(body_of_reply) == '[{"label":"LABEL_0","score":'* && $(scores_of) == "$(head -n 1 wanted | awk '{printf "%.4f\n", $1}')" ]] ||
  fail "a pair's label: $(cat reply)"
long="the cat and the cat and the cat and the cat"
ask 400 POST /v1/rerank "{\"query\": \"the cat\", \"documents\": [\"cat\", \"$long\"]}"
grep -q "pair 2 has more than the 12 tokens" reply || fail "a long document: $(cat reply)"
ask 200 POST /v1/rerank "{\"query\": \"the cat\", \"documents\": [\"cat\", \"$long\"], \"truncate\": true}"
for wrong in '"documents": []' '"documents": "cat"' '"documents": [1]' '"documents": [{"image": "x"}]' '"documents": ["a"], "top_n": 0' \
  '"documents": ["a"], "max_tokens_per_doc": 9' '"documents": ["a"], "topn": 1' '"texts": null'; do
  ask 400 POST /v1/rerank "{\"query\": \"the cat\", $wrong}"
done
ask 400 POST /v1/rerank '{"documents": ["cat"]}'
for wrong in '{}' '{"inputs": []}' '{"inputs": ["a", "b", "c"]}' '{"inputs": [["a"], "b"]}' '{"inputs": [["a", 1]]}'; do ask 400 POST /predict "$wrong"; done
ask 404 POST /v1/embeddings '{"input": "the cat"}'
grep -q "this model is asked at /v1/rerank" reply || fail "where it is asked: $(cat reply)"
ask 403 POST /v1/rerank "" "Host: evil.example:$port"
stop
start plain
ask 200 POST /v1/rerank "{$documents}"
[[ $(scores_of) == "$(mv raw reply && scores_of)" ]] || fail "a model whose scores are logits: $(cat reply)"
stop
start run
ask 200 POST /classify '{"inputs": [["the cat", "dog 3"], ["the cat"]]}'
[[ $(body_of_reply | grep -o '\[{"label":"\(fits\|differs\)","score":[0-9.]*},{"label"' | wc -l) == 2 ]] || fail "classes: $(cat reply)"
ask 404 POST /v1/rerank "{$documents}"
stop
start run --embeddings
ask 200 POST /v1/embeddings '{"input": "the cat"}'
stop
