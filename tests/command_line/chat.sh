# shellcheck shell=bash disable=SC2154,SC2034
# Conversations. Sourced by tests/command_line.sh.

# A model that has learned three turns by heart, with a tokenizer that has the special tokens of chatml.
refuse 1 "has no chat template" "$vkformer" chat "$fixtures/llama" -p x
refuse 1 "can't chat" "$vkformer" chat "$fixtures/t5" -p x
mkdir tokenizer
sed 's/"added_tokens": *\[/&{"id": 601, "content": "<|im_start|>", "special": true}, {"id": 602, "content": "<|im_end|>", "special": true}, {"id": 603, "content": "<think>", "special": false}, {"id": 604, "content": "<\/think>", "special": false}, /' \
  "$fixtures/tokenizers/gpt2/tokenizer.json" >tokenizer/tokenizer.json
grep -q 'im_start' tokenizer/tokenizer.json || fail "the tokenizer got no tokens of chatml"
cp "$fixtures/../chat_templates/recorded/chatml.jinja" template.jinja
for _ in $(seq 40); do
  for word in cat tree; do
    printf '<|im_start|>user\nSay %s.<|im_end|>\n<|im_start|>assistant\n%s %s!<|im_end|>\n' $word $word $word
  done
done >turns.txt
cat >chat.json <<'JSON'
{"model_type": "llama", "max_position_embeddings": 96, "hidden_size": 32, "intermediate_size": 64,
 "num_hidden_layers": 1, "num_attention_heads": 4}
JSON
accept "$vkformer" train chat.json --data turns.txt --tokenizer tokenizer --out talker --iterations 60 --batch 4 \
  --context 48 --learning-rate 0.01 --warmup 5 --checkpoint-every 60
refuse 1 "has no chat template" "$vkformer" chat talker -p x
chat=("$vkformer" chat talker --template template.jinja --temp 0 -n 20 --quiet)
refuse 1 "neither a template's file nor the name" "$vkformer" chat talker --template nonsense -p x
refuse 2 "logit-bias" "${chat[@]}" --logit-bias 5 -p x
refuse 1 "token 700 is outside" "${chat[@]}" --logit-bias 700+1 -p x
echo '{{ raise_exception("not so") }}' >no.jinja
refuse 1 "no.jinja, line 1: the template refuses this conversation: not so" "$vkformer" chat talker --template no.jinja --quiet -p x

needs_stdout "${chat[@]}" -p "Say cat."

# One question, the same as a line, and with the template that is built in.
accept "${chat[@]}" -p "Say cat."
cp out one
[[ -s one ]] || fail "a question got no answer"
printf 'Say cat.\n' | "${chat[@]}" >out 2>err || fail "a question from a pipe: $(cat err)"
cmp -s out one || fail "-p and a pipe give other answers: $(cat one out)"
accept "$vkformer" chat talker --template chatml --temp 0 -n 20 --quiet -p "Say cat."
cmp -s out one || fail "chatml is not the same template: $(cat one out)"

# A conversation: each answer from the kept cache is what a conversation that was loaded gives from scratch.
printf 'Say tree.\nSay cat.\n/save saved.json\nSay tree.\n' | "${chat[@]}" >whole 2>err || fail "a conversation: $(cat err)"
[[ $(wc -l <whole) -ge 3 ]] || fail "three questions got $(wc -l <whole) lines"
printf 'Say tree.\n/save saved.json\n/save text.txt\n' | "${chat[@]}" >out 2>err && fail "/save wrote over a model's file"
grep -q "text.txt is there and holds something else" err || fail "/save over another file: $(cat err)"
printf '/load small.json\n' | "${chat[@]}" >out 2>err && fail "a config is no conversation"
printf 'Say tree.\nSay cat.\n/save saved.json\n' | "${chat[@]}" >out 2>err || fail "/save over a conversation: $(cat err)"
printf '/load saved.json\nSay tree.\n' | "${chat[@]}" >last 2>err || fail "/load: $(cat err)"
[[ $(tail -n 1 whole) == $(tail -n 1 last) ]] || fail "the kept cache gives another answer: $(cat whole last)"
printf 'Say tree.\n/stats\nSay cat.\n/stats\n/retry\n/stats\n' | "${chat[@]}" >out 2>stats || fail "/stats: $(cat stats)"
[[ $(grep -c " 0 of them kept" stats) == 1 ]] || fail "only the first prompt is all new: $(cat stats)"
printf 'Say tree.\n/undo\nSay cat.\n' | "${chat[@]}" 2>err | tail -n 1 >out
[[ $(cat out) == $(tail -n 1 one) ]] || fail "/undo left something behind: $(cat out one)"
printf '"""\nSay\ncat.\n"""\n/reset\nSay \\\ncat.\n' | "${chat[@]}" >out 2>err || fail "messages of several lines: $(cat err)"
printf '/nonsense\n' >commands
"${chat[@]}" <commands >out 2>err && fail "an unknown command was no error"
grep -q 'there is no command "/nonsense"' err || fail "an unknown command: $(cat err)"
for _ in $(seq 12); do echo "Say cat."; done | "$vkformer" chat talker --template chatml --temp 0 >out 2>err ||
  fail "a full context: $(cat err)"
grep -q "the context is full: the oldest" err || fail "nothing was said of a full context: $(cat err)"
accept "$vkformer" chat talker --template chatml --show-prompt -n 1 -p x
grep -q "prompt of .* tokens: <|im_start|>|" err || fail "--show-prompt shows no special tokens: $(cat err)"

# Guessed tokens change no answer: those of a model, here itself, and those that were there before.
printf 'Say tree.\nSay cat.\nSay tree.\n' >asked
"${chat[@]}" <asked >plain 2>err || fail "three questions: $(cat err)"
for guesses in "--draft-model talker" --draft-lookup; do
  # shellcheck disable=SC2086
  (cat asked && echo /stats) | "${chat[@]}" $guesses >out 2>err || fail "$guesses: $(cat err)"
  cmp -s out plain || fail "$guesses gives other answers: $(cat plain out)"
  grep -q "; [1-9][0-9]* of [0-9]* guessed tokens held" err || fail "$guesses guessed nothing: $(cat err)"
done
refuse 1 "can't draft" "${chat[@]}" --draft-model "$fixtures/qwen3_5" -p x
cp -r talker other && sed -i 's/"<|im_end|>"/"<|other|>"/' other/*/tokenizer.json
refuse 1 "a draft needs the same tokens" "${chat[@]}" --draft-model other -p x
refuse 2 "without beams and --ids" "$vkformer" generate "$fixtures/gpt2" --ids 5 --draft-lookup

# Thoughts go to stderr: here of a prompt that has begun them.
printf '%s' "{% for m in messages %}<|im_start|>user\n{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n<think>" >thinks.jinja
accept "$vkformer" chat talker --template thinks.jinja --temp 0 -n 20 -p "Say cat."
[[ ! $(tr -d '\n' <out) ]] && grep -q '^(.' err || fail "thoughts are an answer: $(cat out err)"

# Variables of a template.
echo '{% if thinks %}think{% else %}say {{ word }}{% endif %}' >variables.jinja
for argument in thinks=false thinks=true word=cat; do
  accept "$vkformer" chat talker --template variables.jinja --template-arg thinks=0 --template-arg "$argument" --show-prompt -n 1 -p x
  sed 's/.*: //' err | tr -d '|' >>prompts
done
[[ $(grep -c think prompts) == 1 && $(grep -c cat prompts) == 1 ]] || fail "variables of a template: $(cat prompts)"
accept "$vkformer" chat talker --template variables.jinja --template-arg thinking=1 -n 1 -p x
grep -q "variables.jinja reads no variable thinking)" err || fail "a variable that nothing reads: $(cat err)"
refuse 2 "chat sets that one itself" "$vkformer" chat talker --template variables.jinja --template-arg messages=1 -p x
refuse 2 '"thinks" is not NAME=VALUE' "$vkformer" chat talker --template variables.jinja --template-arg thinks -p x

# A conversation has no length but what --tokens says, and does not claim another one.
cp -r "talker/$(cat talker/latest)" limited
echo '{"max_new_tokens": 1, "max_length": 3, "do_sample": false}' >limited/generation_config.json
accept "$vkformer" chat limited --template template.jinja -p "Say cat."
grep -q "max_" err && fail "a length is named that chat does not have: $(cat err)"
[[ $(wc -w <out) -ge 2 ]] || fail "an answer of one token: $(cat out)"

# A bias decides, and a penalty is heard.
accept "$vkformer" chat talker --template chatml --quiet --temp 0 -n 3 --logit-bias 37+1000 -p "Say cat."
cp out biased
accept "$vkformer" chat talker --template chatml --quiet --temp 0 -n 3 --logit-bias 37+1000 --presence-penalty 999 --frequency-penalty 999 -p "Say cat."
cmp -s out biased && fail "penalties changed nothing: $(cat out)"

# What a conversation needs goes along: into a GGUF file, from one into another, back into a folder, and into a run.
cp -r "talker/$(cat talker/latest)" instruct
cat >instruct/tokenizer_config.json <<'JSON'
{"eos_token": "<|im_end|>", "chat_template": [{"name": "rag", "template": "no"}, {"name": "default", "template":
 "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}{% endfor %}{{ '<|im_start|>assistant\n' }}"}]}
JSON
echo '{"eos_token_id": [602, 601], "max_new_tokens": 20}' >instruct/generation_config.json
accept "$vkformer" convert instruct/ instruct.gguf
accept "$vkformer" convert instruct.gguf again.gguf
accept "$vkformer" convert again.gguf back --dtype f16
for model in instruct instruct.gguf again.gguf back; do
  accept "$vkformer" chat "$model" --temp 0 -n 20 --quiet -p "Say cat."
  cmp -s out one || fail "$model answers otherwise: $(cat one out)"
done
tr -d ' \n' <back/config.json | grep -q '"eos_token_id":\[602,601\]' || fail "end ids: $(cat back/config.json)"
grep -q '"torch_dtype": "float16"' back/config.json || fail "the type is not told: $(cat back/config.json)"
strings -n 8 again.gguf | grep -q instruct || fail "the model's name is lost"
echo '{"eos_token_id": [602, 601], "num_beams": 4, "num_return_sequences": 2, "length_penalty": 2.0}' >back/generation_config.json
accept "$vkformer" chat back --temp 0 -n 20 -p "Say cat."
grep -q "with 4 beams; a conversation has one" err || fail "beams are left aside silently: $(cat err)"
cmp -s out one || fail "beams of a file change a conversation: $(cat one out)"
accept "$vkformer" train --from instruct --data turns.txt --out grown --iterations 1 --batch 1 --context 48
cmp -s instruct/generation_config.json "grown/$(cat grown/latest)/generation_config.json" || fail "a run lost generation_config.json"
