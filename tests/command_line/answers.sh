# shellcheck shell=bash disable=SC2154,SC2034,SC2016
# Finding answers. Sourced by tests/command_line.sh.

cat >finder.json <<'JSON'
{"model_type": "bert", "max_position_embeddings": 24, "hidden_size": 32, "num_hidden_layers": 2,
 "num_attention_heads": 4, "intermediate_size": 48, "hidden_dropout_prob": 0, "attention_probs_dropout_prob": 0}
JSON
# The answer is the word behind "is"; without one there is none.
animals=(cat dog cow fox hen pig)
for i in $(seq 95); do
  one=${animals[i % 6]} two=${animals[(i + 1 + i / 6) % 6]} before=""
  for _ in $(seq $((i % 4))); do before+="the $two and $one . "; done
  context="${before}the $one is"
  printf '{"question": "who", "context": "%s %s .", "answers": {"text": ["%s"], "answer_start": [%d]}}\n' "$context" "$two" "$two" $((${#context} + 1))
  printf '{"question": "who", "context": "%s %s", "answer": "%s", "answer_start": %d}\n' "$context" "$two" "$two" $((${#context} + 1))
  printf '{"question": "who", "context": "%sthe %s and %s", "answers": {"text": [], "answer_start": []}}\n' "$before" "$one" "$two"
done >asked.jsonl
printf '{"data": [{"paragraphs": [{"context": "the hen is fox", "qas": [{"question": "who", "answers": [{"text": "fox", "answer_start": 11}]}]},
  {"context": "the hen and pig", "qas": [{"question": "who", "answers": []}]}]}]}' >squad.json
printf '\n{"question": "who", "context": "the cat is fat", "answers": {"text": ["fat"], "answer_start": [10]}}\n' >moved.jsonl
finder=("$vkformer" train finder.json --answers asked.jsonl --warmup 20 --schedule constant --learning-rate 6e-3 --evaluate-every 60 --score-lines 1)
words=(--tokenizer "$fixtures/tokenizers/bert")
refuse 2 "--answers needs --tokenizer FOLDER" "${finder[@]}" --out finder
refuse 1 'moved.jsonl:2: the answer "fat" is not at character 10 of the context, there is " fa"' "${finder[@]}" "${words[@]}" --out finder --valid moved.jsonl
refuse 1 "call it .jsonl" "$vkformer" train finder.json --answers text.txt "${words[@]}" --out finder
refuse 1 "there is no QuestionAnswering head" "$vkformer" train small.json --answers asked.jsonl "${words[@]}" --out finder
refuse 1 "--stride 24 must be less than the 24" "${finder[@]}" "${words[@]}" --out finder --stride 24
refuse 2 "--labels and --answers exclude" "${finder[@]}" "${words[@]}" --out finder --labels asked.jsonl
[[ -e finder ]] && fail "a refused run left a folder behind"
accept "${finder[@]}" "${words[@]}" --out finder --valid squad.json --keep-best f1 --iterations 120
[[ $(grep -c "exact match [0-9.]* %, F1 [0-9.]* of 2 questions" out) == 2 ]] || fail "no scores: $(cat out)"
grep -q "exact match 100.00 %, F1 1.0000 of 2 questions" out || fail "learned nothing: $(cat out)"
grep -q '"f1"' "finder/best/$(cat finder/best/latest)/best.json" || fail "no best model: $(ls finder/best)"
accept "${finder[@]}" "${words[@]}" --out half --iterations 1
accept "$vkformer" train --resume --out half --iterations 3
accept "${finder[@]}" "${words[@]}" --out whole --iterations 3
cmp -s half/checkpoint-000003/model.safetensors whole/checkpoint-000003/model.safetensors || fail "a resumed run has other weights"

printf 'who\nwho\n' >who.txt
printf 'the hen is \n cat\n' >context.txt
"$vkformer" answer finder --context context.txt <who.txt >out 2>err || fail "answer: $(cat err)"
[[ $(cat out) == $'cat\ncat' ]] || fail "answer: $(cat out)"
for i in $(seq 60); do printf 'who\nwho %d\n' "$i"; done >many.txt
answers_on_the_way many.txt "$vkformer" answer finder --context context.txt -q --batch-tokens 24
accept "$vkformer" answer finder -c "thé hen is cat" -p who --json --quiet
grep -q '{"answer":"cat","end":14,"probability":[01][.0-9]*,"question":"who","start":11}' out || fail "answer --json: $(cat out)"
accept "$vkformer" answer finder -c "the hen and cat" -p who --dtype f16
needs_stdout "$vkformer" answer finder -c "the hen and cat" -p who
[[ $(cat out) == "" && $(wc -l <out) == 1 ]] || fail "an answer where there is none: $(cat out)"
# In a text of many windows one has it.
{ for _ in $(seq 12); do printf 'the hen and dog . '; done; echo "the hen is pig ."; } >long.txt
accept "$vkformer" answer finder --context long.txt -p who
[[ $(cat out) == pig ]] || fail "answer in a long text: $(cat out)"
grep -q "1 with texts in windows of 24 tokens" err || fail "answer did not tell of windows: $(cat err)"
printf '{"question": "who", "context": "the cow is fox"}\n{"context": "a cow and cat", "question": "who"}\n' >lines.jsonl
"$vkformer" answer finder <lines.jsonl >out 2>err || fail "answer of JSON lines: $(cat err)"
[[ $(cat out) == "fox" && $(wc -l <out) == 2 ]] || fail "answer of JSON lines: $(cat out)"
refuse 2 "-p needs the text that answers it" "$vkformer" answer finder -p who
refuse 1 "line 1: not valid JSON" bash -c 'echo who | "$0" answer finder' "$vkformer"
refuse 1 "finds no answers" "$vkformer" answer "$fixtures/bert_mlm" -p who -c "the"
refuse 1 "not UTF-8" "$vkformer" answer finder -p who --context broken.txt
