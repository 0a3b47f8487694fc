# shellcheck shell=bash disable=SC2154,SC2034
# A server's further APIs: OpenAI's Responses, llama.cpp's own completions. Sourced by tests/command_line.sh.

accept "${train[@]}" --set n_positions=600 --context 16 --out run
echo '{% for m in messages %}{{ m.content }} {% endfor %}' >talk.jinja
# shellcheck source=tests/command_line/server.sh
source "$parts_folder/server.sh"
# Of a body or an event's data: the value of the last such key of strings.
value_of() { grep -o "\"$1\":\"[^\"]*\"" "${2:-reply}" | sed 's/^[^:]*:"//; s/"$//'; }
events_of() { sed -n 's/^event: //p' reply | uniq | tr '\n' ' '; }

start run --template talk.jinja --slots 2 --temp 0
ask 200 POST /v1/chat/completions '{"messages": [{"role": "user", "content": "the quick"}], "max_tokens": 40}'
told=$(value_of content)
stop=${told: -1}
[[ $told ]] || fail "nothing was told: $(cat reply)"

# Responses.
question='{"input": "the quick", "max_output_tokens": 40'
ask 200 POST /v1/responses "$question}"
[[ $(value_of text) == "$told" ]] || fail "a response: $(cat reply) instead of $told"
grep -q '"incomplete_details":{"reason":"max_output_tokens"}' reply && grep -q '"object":"response"' reply || fail "how it ended: $(cat reply)"
grep -q '"usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":[0-9]*},"output_tokens":40,' reply || fail "what it took: $(cat reply)"
ask 200 POST /responses '{"input": [{"role": "user", "content": [{"type": "input_text", "text": "the quick"}]}], "max_output_tokens": 40, "stream": true}'
[[ $(value_of delta | tr -d '\n') == "$told" ]] || fail "a streamed response: $(cat reply)"
[[ $(events_of) == "response.created response.in_progress response.output_item.added response.content_part.added response.output_text.delta response.output_text.done response.content_part.done response.output_item.done response.incomplete " ]] ||
  fail "events: $(events_of)"
ask 400 POST /v1/responses "$question, \"previous_response_id\": \"resp_1\"}"
grep -q 'previous_response_id.*nothing is kept between requests' reply || fail "what is not kept: $(cat reply)"
ask 400 POST /v1/responses '{"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}]}'
grep -q 'input\[0\], content\[0\]: parts of type \\"input_image\\"' reply || fail "a picture: $(cat reply)"
ask 400 POST /v1/responses "${question/40/6000}}"

# llama.cpp's own.
ask 200 POST /completion '{"prompt": "the quick ", "n_predict": 40}'
[[ $(value_of content) == "$told" && $(value_of stop_type) == limit ]] || fail "llama.cpp's completion: $(cat reply) instead of $told"
grep -q '"tokens_evaluated":10,"tokens_predicted":40,' reply && grep -q '"timings":{' reply || fail "what it took: $(cat reply)"
ask 200 POST /completion "{\"prompt\": \"the quick \", \"n_predict\": 40, \"stream\": true, \"stop\": [\"$stop\"]}"
[[ $(value_of content | tr -d '\n') == "${told%%"$stop"*}" && $(value_of stopping_word) == "$stop" ]] || fail "a stop text: $(cat reply)"
grep -q DONE reply && fail "llama.cpp's streams end without a mark: $(cat reply)"
ask 200 POST /completion '{"prompt": ["the", [1, 2]], "n_predict": 1}'
[[ $(grep -o '"index":[01],' reply | tr -d '\n') == '"index":0,"index":1,' ]] || fail "two prompts: $(cat reply)"
ask 400 POST /completion '{"prompt": "the", "n_probs": 3}'
ask 200 GET /props ""
grep -q '"total_slots":2' reply && grep -q '"n_ctx":600,.*"temperature":0' reply && grep -q '"chat_template":"{% for m in' reply || fail "props: $(cat reply)"
ask 200 GET /slots ""
[[ $(body_of_reply) == '[{"id":0,"is_processing":false,"n_ctx":600},{"id":1,"is_processing":false,"n_ctx":600}]' ]] || fail "slots: $(cat reply)"

# Anthropic's Messages.
question='{"messages": [{"role": "user", "content": "the quick"}], "max_tokens": 40'
ask 200 POST /v1/messages "$question}"
[[ $(value_of text) == "$told" && $(value_of stop_reason) == max_tokens ]] || fail "a message: $(cat reply) instead of $told"
ask 200 POST /v1/messages "${question/40/99999}, \"stop_sequences\": [\"$stop\"], \"stream\": true}"
[[ $(value_of text | tr -d '\n') == "${told%%"$stop"*}" && $(value_of stop_sequence) == "$stop" ]] || fail "a streamed message: $(cat reply)"
[[ $(events_of) == "message_start content_block_start content_block_delta content_block_stop message_delta message_stop " ]] || fail "events: $(events_of)"
ask 200 POST /v1/messages/count_tokens "${question/, \"max_tokens\": 40/}}"
[[ $(body_of_reply) == '{"input_tokens":10}' ]] || fail "tokens: $(cat reply)"
ask 400 POST /v1/messages "${question/, \"max_tokens\": 40/}}"
grep -q max_tokens reply || fail "a message of any length: $(cat reply)"
for address in /v1/responses /completion /v1/messages; do
  ask 403 POST $address "" "Host: evil.example:$port"
  ask 403 POST $address "" "Host: $host" "Origin: https://evil.example"
done
stop

# Calls of tools, which a model of bytes must make.
accept "$vkformer" train small.json --data text.txt --bytes --set n_positions=600 --iterations 1 --batch 2 --context 16 --warmup 1 --out bytes
echo '{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}'\
  '<tool_call>{{ c.function | tojson }}</tool_call>{% endfor %}{% endfor %}' | tr -d '\n' >tools.jinja
echo secret >key
start bytes --template tools.jinja --temp 1 --api-key-file key
schema='{"properties": {"a": {"enum": [1]}}, "required": ["a"]}'
ask_with_key() { ask "$1" POST "$2" "$3" "Host: $host" "${4:-Authorization: Bearer secret}"; }
called="{\"input\": [{\"role\": \"user\", \"content\": \"call\"}, {\"type\": \"function_call\", \"call_id\": \"x\", \"name\": \"add\", \"arguments\": \"{\\\"a\\\": 1}\"},
  {\"type\": \"function_call_output\", \"call_id\": \"x\", \"output\": \"2\"}], \"tool_choice\": \"required\", \"parallel_tool_calls\": false,
  \"tools\": [{\"type\": \"function\", \"name\": \"add\", \"parameters\": $schema}]"
ask_with_key 200 /v1/responses "$called}"
grep -q '"output":\[{"arguments":"{\\"a\\":1}","call_id":"[0-9a-z]\{9\}","id":"fc_[0-9a-z]*","name":"add","status":"completed","type":"function_call"}\]' reply &&
  grep -q '"status":"completed","store":false' reply || fail "no call: $(cat reply)"
ask_with_key 200 /v1/responses "$called, \"stream\": true}"
[[ $(events_of) == *"response.output_item.added response.function_call_arguments.delta response.function_call_arguments.done response.output_item.done response.completed " ]] ||
  fail "events of a call: $(events_of)"
ask_with_key 200 /v1/responses '{"input": "x", "text": {"format": {"type": "json_schema", "name": "n", "schema": {"const": "yes"}}}}'
grep -q '"text":"\\"yes\\""' reply || fail "a response of one form: $(cat reply)"
called="{\"messages\": [{\"role\": \"user\", \"content\": \"call\"}], \"max_tokens\": 200, \"tool_choice\": {\"type\": \"any\", \"disable_parallel_tool_use\": true},
  \"tools\": [{\"name\": \"add\", \"input_schema\": $schema}]"
ask_with_key 200 /v1/messages "$called}" "X-Api-Key: secret"
grep -q '"input":{"a":1},"name":"add","type":"tool_use"}\]' reply && [[ $(value_of stop_reason) == tool_use ]] || fail "no call in a message: $(cat reply)"
ask_with_key 200 /v1/messages "$called, \"stream\": true}" "X-Api-Key: secret"
grep -q '"delta":{"partial_json":"{\\"a\\":1}","type":"input_json_delta"}' reply || fail "no call in a stream: $(cat reply)"
ask_with_key 401 /v1/messages "" "X-Api-Key: secre"
for address in /v1/responses /completion; do ask 401 POST $address ""; done
for address in /props /slots; do ask 401 GET $address ""; done
stop
