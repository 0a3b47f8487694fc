# shellcheck shell=bash disable=SC2154,SC2034
# A server and its clients. Sourced by tests/command_line.sh.

cat >long.json <<'JSON'
{"model_type": "gpt2", "n_positions": 6000, "n_embd": 24, "n_layer": 1, "n_head": 3}
JSON
accept "$vkformer" train long.json --data text.txt --iterations 4 --batch 2 --context 16 --warmup 1 --out run
echo '{% for m in messages %}{{ m.content }} {% endfor %}' >talk.jinja

refuse 2 "give them a key" "$vkformer" serve run --host 0.0.0.0
refuse 1 "which is not served" "$vkformer" serve "$fixtures/t5"
refuse 1 "nowhere.invalid" "$vkformer" serve run --host nowhere.invalid --api-key x

# shellcheck source=tests/command_line/server.sh
source "$parts_folder/server.sh"
# Of a reply, whole or streamed.
text_of() { grep -o '"\(content\|text\)":"[^"]*"' "${1:-reply}" | sed 's/^[^:]*:"//; s/"$//' | tr -d '\n'; }
tokens_of() { grep -o '"predicted_n":[0-9]*' "${1:-reply}" | cut -d : -f 2; }

start run --template talk.jinja --slots 2 --temp 0
refuse 1 "can't listen at 127.0.0.1 port $port" "$vkformer" serve run --port "$port"
ask 200 GET /health ""
grep -q '"status":"ok"' reply || fail "health: $(cat reply)"
ask 200 GET /v1/models ""
grep -q '"id":"run"' reply || fail "models: $(cat reply)"
ask 200 GET /v1/models/run ""
ask 200 HEAD /health ""
ask 200 GET / ""
grep -q '<form' reply || fail "no page: $(cat reply)"

# The same text by the command, whole, streamed, and beside others.
question='{"messages": [{"role": "user", "content": "the quick"}], "max_tokens": 60'
accept "$vkformer" chat run --template talk.jinja --temp 0 -n 60 --quiet -p "the quick"
cp out told
ask 200 POST /v1/chat/completions "$question}"
[[ $(text_of) == "$(cat told)" ]] || fail "an answer: $(cat reply told)"
grep -q '"finish_reason":"length"' reply || fail "how it ended: $(cat reply)"
grep -q '"cached_tokens":0' reply || fail "nothing was kept: $(cat reply)"
ask 200 POST /v1/chat/completions "$question, \"stream\": true, \"stream_options\": {\"include_usage\": true}}"
[[ $(text_of) == "$(cat told)" ]] || fail "a streamed answer: $(text_of) instead of $(cat told)"
grep -q '^data: \[DONE\]' reply || fail "a stream without its end: $(cat reply)"
grep -q '"completion_tokens":60' reply || fail "a stream without its usage: $(cat reply)"
grep -q '"cache_n":0' reply && fail "nothing was kept: $(cat reply)"
clients=()
for i in 1 2 3 4; do
  send POST /v1/chat/completions "$question, \"stream\": true, \"cache_prompt\": false}"
  clients+=("$client")
done
for client in "${clients[@]}"; do
  cat <&"$client" >reply
  exec {client}>&-
  [[ $(text_of) == "$(cat told)" ]] || fail "an answer beside others: $(text_of) instead of $(cat told)"
done

# A beginning that all have is no reason to lose another conversation's cache.
for prompt in "the quick brown fox" "the lazy dog jumps over" "the quick brown fox" "the lazy dog jumps over"; do
  ask 200 POST /v1/completions "{\"prompt\": \"$prompt\", \"max_tokens\": 1}"
  grep -o '"cached_tokens":[0-9]*' reply | cut -d : -f 2
done >cached
[[ $(tail -n 2 cached | tr '\n' ' ') == "18 22 " ]] || fail "two conversations in two slots: $(cat cached)"

# Other ways to ask.
ask 200 POST /v1/completions '{"prompt": "the quick", "max_tokens": 8, "echo": true}'
[[ $(text_of) == "the quick"* && $(tokens_of) == 8 ]] || fail "a completion: $(cat reply)"
ask 200 POST /v1/completions '{"prompt": [1, 2, 3], "max_tokens": 3, "temperature": 0.7, "seed": 5}'
cp reply drawn
ask 200 POST /v1/completions '{"prompt": [1, 2, 3], "max_tokens": 3, "temperature": 0.7, "seed": 5}'
[[ $(text_of) == "$(text_of drawn)" && $(text_of) ]] || fail "a seed: $(cat reply drawn)"
# Several prompts and answers; tokens with their probabilities, of the prompt, too.
numbers_of() { grep -o "\"$1\":\[[^]]*\]" "${2:-reply}" | grep -o '\(null\|-[0-9.e-]*\)' | cut -c -6; }
several='{"prompt": ["the quick", [1, 2, 3]], "n": 2, "max_tokens": 4, "temperature": 1, "seed": 5'
ask 200 POST /v1/completions "$several}"
cp reply several
[[ $(grep -o '"index":[0-9]' reply | tr -d '\n') == '"index":0"index":1"index":2"index":3' ]] || fail "not four answers: $(cat reply)"
grep -q '"completion_tokens":16,"prompt_tokens":12' reply || fail "what four answers took: $(cat reply)"
ask 200 POST /v1/completions "$several, \"stream\": true}"
for i in 0 1 2 3; do
  [[ $(grep "\"index\":$i," reply | text_of /dev/stdin) == "$(sed 's/{"finish/\n&/g' several | grep "\"index\":$i," | text_of /dev/stdin)" ]] ||
    fail "answer $i in a stream: $(cat reply several)"
done
ask 200 POST /v1/completions '{"prompt": "the quick", "max_tokens": 3, "logprobs": 2, "echo": true}'
[[ $(text_of) == "the quick"* && $(numbers_of token_logprobs | wc -l) == 12 && $(numbers_of token_logprobs | head -n 1) == null ]] ||
  fail "a prompt with its probabilities: $(cat reply)"
numbers_of token_logprobs >scored
ask 200 POST /v1/completions '{"prompt": "the quick", "max_tokens": 3, "logprobs": 2, "stream": true}'
numbers_of token_logprobs | cmp - <(tail -n 3 scored) || fail "probabilities in a stream: $(cat reply scored)"
prompt_tokens() { ask 200 GET /metrics "" && sed -n 's/^vkformer:prompt_tokens_total \([0-9]*\).*/\1/p' reply; }
before=$(prompt_tokens)
ask 200 POST /v1/completions '{"prompt": "the quick", "max_tokens": 0, "logprobs": 2, "echo": true}'
cp reply alone
(($(prompt_tokens) - before == 8)) || fail "the last token of a prompt, which nothing follows, was run"
mv alone reply
numbers_of token_logprobs | cmp - <(head -n 9 scored) || fail "a prompt's probabilities alone: $(cat reply scored)"
[[ $(text_of) == "the quick" ]] || fail "more than a prompt: $(cat reply)"
for count in 0 2; do
  ask 200 POST /v1/completions "{\"prompt\": [5], \"max_tokens\": $count, \"logprobs\": 2, \"echo\": true}"
  [[ $(numbers_of token_logprobs | head -n 1) == null && $(numbers_of token_logprobs | wc -l) == $((count + 1)) ]] ||
    fail "a prompt of one token, and $count more: $(cat reply)"
done
filling=$(printf ' fox%.0s' {1..1024})
ask 200 POST /v1/completions "{\"prompt\": \"$filling\", \"max_tokens\": 0, \"logprobs\": 0, \"echo\": true}"
[[ $(numbers_of token_logprobs | wc -l) == 4096 ]] || fail "a prompt that fills the context: $(head -c 300 reply)"
ask 200 POST /v1/completions "{\"prompt\": \"$filling\"}"
[[ $(tokens_of) == 1 ]] || fail "one token behind a full context: $(head -c 300 reply)"
ask 200 POST /v1/completions '{"prompt": "the", "logprobs": 20, "n": 40, "stop": ["a", "e", "o", " "]}'
[[ $(grep -o '"finish_reason":"stop"' reply | wc -l) == 40 ]] || fail "answers of any length with probabilities: $(head -c 300 reply)"
ask 200 POST /v1/chat/completions "${question/60/2}, \"logprobs\": true, \"top_logprobs\": 3}"
[[ $(grep -o '"top_logprobs":\[' reply | wc -l) == 2 && $(grep -o '"logprob":' reply | wc -l) == 8 ]] ||
  fail "a conversation's probabilities: $(cat reply)"
first=$(cut -c 2-3 told)
ask 200 POST /v1/chat/completions "$question, \"stop\": [\"$first\"]}"
grep -q '"finish_reason":"stop"' reply || fail "a stop text: $(cat reply)"
told=$(cat told)
[[ $(text_of) == "${told%%"$first"*}" ]] || fail "what stands before a stop text: $(cat reply)"
ask 200 POST /v1/chat/completions "$question, \"temperature\": 1, \"grammar\": \"root ::= \\\"fox\\\" | \\\"dog\\\"\"}"
[[ $(text_of) == fox || $(text_of) == dog ]] || fail "not the grammar's text: $(cat reply)"
ask 400 POST /v1/chat/completions "$question, \"grammar\": \"root\"}"
ask 500 POST /v1/chat/completions "$question, \"response_format\": {\"type\": \"json_object\"}}"
grep -q 'lacks characters' reply || fail "a form that the vocabulary has not: $(cat reply)"
ask 200 POST /tokenize '{"content": "the"}'
ids=$(grep -o '"tokens":\[[^]]*\]' reply)
ask 200 POST /detokenize "{$ids}"
grep -q '"content":"the"' reply || fail "ids as text: $(cat reply)"
ask 200 POST /apply-template "$question}"
grep -q '"prompt":"the quick "' reply || fail "a conversation as text: $(cat reply)"

# What is wrong gets its status and one line.
ask 400 POST /v1/chat/completions '{"messages": '
ask 400 POST /v1/chat/completions "$question, \"suffix\": \"x\"}"
grep -q 'suffix' reply || fail "what is not there goes unnamed: $(cat reply)"
# A slip of the pen is told; what other servers have, and is nothing like ours, is not.
ask 400 POST /v1/chat/completions "${question/max_tokens/max_tokns}}"
grep -q 'max_tokns.* says nothing here; did you mean .*max_tokens' reply || fail "a slip: $(cat reply)"
ask 400 POST /v1/completions '{"prompt": "the", "max_tokens": 1, "temprature": 0}'
ask 200 POST /v1/completions '{"prompt": "the", "max_tokens": 1, "user": "me", "store": true, "prompt_cache_key": "k", "top_a": 0}'
ask 400 POST /v1/chat/completions "${question/60/6000}}"
grep -q 'the context 4096 positions' reply || fail "what does not fit: $(cat reply)"
ask 400 POST /v1/completions '{"prompt": [99999]}'
ask 400 POST /v1/completions '{"prompt": "x", "logit_bias": {"99999": 1}}'
ask 400 POST /v1/completions '{"prompt": "the", "logprobs": 20, "n": 40, "max_tokens": 2000}'
grep -q 'wants 21 probabilities of each of up to' reply || fail "more probabilities than there is memory for: $(cat reply)"
ask 400 POST /v1/completions "{\"prompt\": [\"the\", \"$filling fox\"]}"
grep -q 'prompt 2 has 4100 tokens' reply || fail "which prompt does not fit: $(cat reply)"
ask 404 POST /v1/nonsense '{}'
ask 404 POST /v1/audio/transcriptions "" "Host: $host" "Content-Type: multipart/form-data"
grep -q 'this model is asked at /v1/chat/completions, .*/v1/messages and /completion' reply || fail "speech for a model of texts: $(cat reply)"
ask 403 GET /health "" "Host: evil.example:$port"
ask 403 GET /health "" "Host: $host" "Origin: https://evil.example"
ask 403 GET /health "" "Host: $host" "Origin: null"
ask 200 GET /health "" "Host: $host" "Origin: $url"
exec {client}<>"/dev/tcp/127.0.0.1/$port"
printf 'POST /v1/completions HTTP/1.0\r\nHost: %s\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}' "$host" >&"$client"
grep -q "415" <&"$client" || fail "a form may ask"
exec {client}>&-
head -c 17000000 /dev/zero | tr '\0' ' ' >large
exec {client}<>"/dev/tcp/127.0.0.1/$port"
{ printf 'POST /v1/completions HTTP/1.0\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: 17000000\r\n\r\n' "$host" && cat large; } >&"$client"
grep -q "413" <&"$client" || fail "17 MB are taken"
exec {client}>&-

# Who goes away frees the slot; what else is asked then is answered.
for i in 1 2 3; do
  send POST /v1/completions '{"prompt": "the", "stream": true}'
  read -r _ <&"$client"
  exec {client}>&-
done
ask 200 POST /v1/chat/completions "$question}"
[[ $(text_of) == "$(cat told)" ]] || fail "an answer after clients that left: $(text_of)"

for i in 1 2 3; do  # whole answers, too
  send POST /v1/completions '{"prompt": "the"}'
  exec {client}>&-
done
deferred=1
until [[ $deferred == 0 ]]; do
  ask 200 GET /metrics ""
  deferred=$(grep -c '^vkformer:requests_\(deferred\|processing\) [1-9]' reply)
done
ask 200 POST /v1/completions '{"prompt": "the", "max_tokens": 50, "top_p": 0.5}'
cp reply greedy
ask 200 POST /v1/completions '{"prompt": "the", "max_tokens": 50, "top_p": 0.9, "seed": 9223372036854775807}'
[[ $(text_of) == "$(text_of greedy)" ]] || fail "--temp 0 is forgotten: $(text_of)"

# An end within an answer says so.
send POST /v1/completions '{"prompt": "the", "stream": true}'
read -r _ <&"$client"
stop
cat <&"$client" >reply
exec {client}>&-
grep -q "the server ends\|DONE" reply || fail "a stream that the server's end cut: $(tail -n 5 reply)"

# A model of few positions.
accept "${train[@]}" --out few
start few --context 999 --temp 0 --draft-lookup
grep -q "the model has 16 positions, so that is the context" log || fail "another context than was asked for: $(cat log)"
ask 400 POST /v1/completions '{"prompt": "the quick brown fox jumps over the lazy dog"}'
grep -q "16 positions; shorten it, for the model has no more" reply || fail "advice that can't help: $(cat reply)"
# What is written alone may be guessed.
ask 200 POST /v1/completions '{"prompt": "the", "max_tokens": 13}'
grep -q '"draft_n":[1-9].*"draft_n_accepted":[1-9]' reply || fail "nothing was guessed: $(cat reply)"
stop

# Who waits, and who is told that too many do.
start run --slots 1 --waiting 1 --seed 7 --temp 1 --quiet
send POST /v1/completions '{"prompt": "the", "stream": true}'
writing=$client
read -r _ <&"$writing"
send POST /v1/completions '{"prompt": "the", "max_tokens": 1}'
waiting=$client
deferred=
until [[ $deferred ]]; do
  ask 200 GET /metrics ""
  deferred=$(grep '^vkformer:requests_deferred 1' reply)
done
ask 429 POST /v1/completions '{"prompt": "the", "max_tokens": 1}'
ask 400 POST /v1/completions '{"prompt": "the", "max_tokens": 1, "n": 3}'
grep -q 'wants 3 answers, and 2 have room' reply || fail "more answers than a server ever takes: $(cat reply)"
exec {writing}>&-
grep -q '"seed":7' <&"$waiting" || fail "who waited got nothing, or another seed"
exec {waiting}>&-
stop

# Tools, which a model of bytes must call.
accept "$vkformer" train long.json --data text.txt --bytes --iterations 1 --batch 2 --context 16 --warmup 1 --out bytes
echo '{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}'\
  '<tool_call>{{ c.function | tojson }}</tool_call>{% endfor %}{% endfor %}' | tr -d '\n' >tools.jinja
start bytes --template tools.jinja --temp 1
tools='{"messages": [{"role": "user", "content": "call"}], "tool_choice": "required", "max_tokens": 200, "parallel_tool_calls": false, "tools":
  [{"type": "function", "function": {"name": "add", "parameters": {"properties": {"a": {"enum": [1, 2]}, "b": {"const": "x"}}, "required": ["a", "b"]}}}]'
ask 200 POST /v1/chat/completions "$tools}"
call='"function":{"arguments":"{\\"a\\":[12],\\"b\\":\\"x\\"}","name":"add"}'
grep -q "$call" reply && grep -q '"finish_reason":"tool_calls"' reply || fail "no call: $(cat reply)"
ask 200 POST /v1/chat/completions "$tools, \"stream\": true}"
grep -q "$call,\"id\":\"[0-9a-z]\{9\}\",\"index\":0" reply || fail "no call in a stream: $(cat reply)"
ask 200 POST /apply-template "${tools/'"role"'/'"role": "assistant", "tool_calls": [{"function": {"name": "add", "arguments": "{\"a\": 1}"}}], "role2"'}}"
grep -q '<tool_call>{\\"name\\": \\"add\\", \\"arguments\\": {\\"a\\": 1}}' reply || fail "a call that was: $(cat reply)"
ask 200 POST /apply-template '{"messages": [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "Well, "}]}'
grep -q '"Why?Well, "' reply || fail "an answer that was begun: $(cat reply)"
stop

# A key, and pages that may ask.
echo secret >key
start run --api-key-file key --allow-origin https://chat.example --quiet
ask 401 GET /v1/models ""
ask 401 GET /v1/models "" "Host: $host" "Authorization: Bearer secre"
ask 200 GET /v1/models "" "Host: $host" "Authorization: bearer secret"
ask 200 GET /v1/models "" "Host: chat.example" "Authorization: Bearer secret" "Origin: https://chat.example"
grep -q "Access-Control-Allow-Origin: https://chat.example" reply || fail "the page does not see it: $(cat reply)"
ask 204 OPTIONS /v1/models "" "Host: $host" "Origin: https://chat.example"
ask 400 POST /v1/chat/completions "$question}" "Host: $host" "Authorization: Bearer secret"
grep -q "no chat template" reply || fail "a conversation without a template: $(cat reply)"
stop
[[ $(grep -vc '^\.\.\. ' log) == 0 ]] || fail "--quiet: $(cat log)"

# Embeddings.
cat >encoder.json <<'JSON'
{"model_type": "bert", "max_position_embeddings": 12, "hidden_size": 24, "num_hidden_layers": 1,
 "num_attention_heads": 3, "intermediate_size": 30}
JSON
accept "$vkformer" train encoder.json --masked text.txt --tokenizer "$fixtures/tokenizers/bert" --out encoder --iterations 1 --batch 2
refuse 2 "for models that write text" "$vkformer" serve encoder --slots 2
start encoder
embedding_of() { grep -o '"embedding":\[[^]]*\]' "$1"; }
printf 'the cat\na dog barks\nthe cat\n' | "$vkformer" embed encoder --json -q >told 2>err || fail "embed: $(cat err)"
ask 200 POST /v1/embeddings '{"input": ["the cat", "a dog barks", "the cat"]}'
# Batches of other sizes may differ in the last digits.
[[ $(embedding_of reply | grep -o '[0-9.e-]*' | cut -c 1-6) == "$(embedding_of told | grep -o '[0-9.e-]*' | cut -c 1-6)" ]] ||
  fail "embeddings: $(embedding_of reply) instead of $(embedding_of told)"
grep -q '"prompt_tokens":18' reply || fail "tokens of texts: $(cat reply)"
ask 200 POST /v1/embeddings '{"input": "the cat", "encoding_format": "base64", "dimensions": 6}'
[[ $(grep -o '"embedding":"[^"]*"' reply | wc -c) == 47 ]] || fail "base64: $(cat reply)"
ask 400 POST /v1/embeddings '{"input": "the cat", "dimensions": 60}'
ask 400 POST /v1/embeddings '{"input": "the cat and the cat and the cat and the cat"}'
grep -q "more than the 12 tokens" reply || fail "a long text: $(cat reply)"
ask 404 POST /v1/chat/completions '{}'
stop
