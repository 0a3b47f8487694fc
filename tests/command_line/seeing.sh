# shellcheck shell=bash disable=SC2154,SC2034
# Pictures in conversations. Sourced by tests/command_line.sh.

model=$fixtures/../seeing/llava
cp "$model/first.png" "$model/second.jpg" .
chat=("$vkformer" chat "$model" --temp 0 -n 12 --quiet)
cp -r "$fixtures/llama" blind
cp "$model"/tokenizer*.json blind
refuse 1 "llama model has no eyes" "$vkformer" chat blind --template chatml -p x --image first.png -q
refuse 1 "short.txt: it is no JPEG, PNG or WebP" "${chat[@]}" -p x --image short.txt
refuse 1 "none.png" "${chat[@]}" -p x --image none.png
refuse 1 "has places for pictures: 1, shown were: 0" "${chat[@]}" -p "What is <image>?"
accept "${chat[@]}" -p "What is it?" --image first.png
cp out first
[[ -s first ]] || fail "a question about a picture got no answer"
accept "${chat[@]}" -p "What is it?" --image second.jpg
cmp -s out first && fail "two pictures look alike"
accept "${chat[@]}" -p "What is it?"
cmp -s out first && fail "a picture makes no difference"
accept "$vkformer" chat "$model" --temp 0 -n 1 --show-prompt -p "What is it?" --image first.png
grep -q "prompt of 46 tokens: <s>|U|S|E|R|:|$(printf '\xe2\x96\x81')|<image>|<image>" err || fail "the prompt: $(cat err)"
printf '/image first.png\nWhat is it?\n' | "${chat[@]}" >out 2>err || fail "/image: $(cat err)"
cmp -s out first || fail "/image and --image show other things: $(cat out)"
accept "$vkformer" chat --image first.png "$model" --temp 0 -n 12 --quiet -p "What is it?"
cmp -s out first || fail "what follows a picture is no picture: $(cat out)"
printf '/image first.png\n/reset\nWhat is it?\n' | "${chat[@]}" >out 2>err || fail "/reset: $(cat err)"
cmp -s out first && fail "/reset keeps a picture that was shown"
accept "$vkformer" convert "$model" written
grep -q "left out: what sees pictures" err || fail "convert did not tell of the eyes: $(cat err)"

# As two GGUF files.
mkdir pair
accept "$vkformer" convert "$model" pair/text.gguf
grep -q "(--mmproj writes the other" err || fail "convert did not tell of --mmproj: $(cat err)"
accept "$vkformer" convert "$model" pair/mmproj.gguf --mmproj
grep -q "pair/mmproj.gguf: eyes of llava" out || fail "convert --mmproj: $(cat out)"
refuse 2 "--mmproj: eyes is no .gguf" "$vkformer" convert "$model" eyes --mmproj
refuse 2 "eyes have f32, f16, bf16, q8_0" "$vkformer" convert "$model" eyes.gguf --mmproj --dtype q4_0
refuse 1 "give the folder of a model that sees" "$vkformer" convert pair/text.gguf eyes.gguf --mmproj
gguf=("$vkformer" chat pair/text.gguf --temp 0 -n 12 --quiet --image first.png -p "What is it?")
# As far as the tokenizer knows the ids: others have names there.
sees_the_same() { cmp -s -n 16 out first || fail "$1 another answer: $(cat out)"; }
accept "${gguf[@]}" --mmproj pair/mmproj.gguf
sees_the_same "two GGUF files give"
accept "$vkformer" chat pair --temp 0 -n 12 --quiet --image first.png -p "What is it?"
sees_the_same "a folder of both gives"
refuse 1 "text.gguf: it has no eyes; if there is an mmproj file" "${gguf[@]}"
refuse 1 "text.gguf: its architecture is .llama." "${gguf[@]}" --mmproj pair/text.gguf
refuse 1 "the eyes of a model alone" "$vkformer" chat pair/mmproj.gguf -p x
accept "$vkformer" info pair
grep -q "eyes, for pictures" out || fail "the memory of a GGUF file's eyes: $(cat out)"
refuse 1 "its architecture is .llama." "$vkformer" info pair/text.gguf --mmproj pair/text.gguf

accept "$vkformer" info "$model"
grep -q "eyes, for pictures" out || fail "the memory of eyes: $(cat out)"

# A picture in tiles, of rows and columns.
accept "$vkformer" chat "$fixtures/../seeing/idefics3" --temp 0 -n 4 --show-prompt -p "What is it?" --image first.png
grep -q "<row_2_col_2>|<image>|<image>|<image>|<image>|.n|.n|<fake_token_around_image>|<global-img>|<image>" err ||
  fail "the prompt of tiles: $(cat err)"

# Pictures of any size, whose rows and columns are positions.
qwen=("$vkformer" chat "$fixtures/../seeing/qwen2_5_vl" --temp 0 -n 12 --quiet)
accept "${qwen[@]}" --show-prompt -p "What is it?" --image first.png
[[ $(grep -o "<|image_pad|>" err | wc -l) == 15 ]] || fail "the prompt of 3 x 5 positions: $(cat err)"
printf '/image first.png\nWhat is it?\n/image second.jpg\nAnd this?\n/stats\n/save qwen.json\n' | "${qwen[@]}" >whole 2>err ||
  fail "two pictures: $(cat err)"
grep -q " [1-9][0-9]* of them kept" err || fail "nothing was kept: $(cat err)"
printf '/load qwen.json\n/retry\n' | "${qwen[@]}" >out 2>err || fail "/load with pictures: $(cat err)"
[[ $(tail -n 1 whole) == "$(tail -n 1 out)" ]] || fail "the kept cache gives another answer: $(cat whole out)"

# A picture of any size, whose rows end with a token.
accept "$vkformer" chat "$fixtures/../seeing/mistral3" --temp 0 -n 4 --show-prompt -p "What is it?" --image first.png
grep -qF "[INST]|[IMG]|[IMG]|[IMG]|[IMG]|[IMG]|[IMG_BREAK]|[IMG]" err || fail "the prompt of rows: $(cat err)"
grep -qF "[IMG]|[IMG_END]|W" err || fail "the end of a picture: $(cat err)"

# The second picture in a conversation: from the kept cache what comes from scratch.
printf '/image first.png\nWhat is it?\n/image second.jpg\nAnd this?\n/stats\n/save talk.json\n' | "${chat[@]}" >whole 2>err ||
  fail "two pictures: $(cat err)"
grep -q "\"path\": \"second.jpg\"" talk.json || fail "/save forgot a picture: $(cat talk.json)"
grep -q " [1-9][0-9]* of them kept" err || fail "nothing was kept: $(cat err)"
printf '/load talk.json\n/retry\n' | "${chat[@]}" >out 2>err || fail "/load with pictures: $(cat err)"
sed 's/second.jpg/gone.jpg/' talk.json >gone.json
if printf '/load gone.json\n' | "${chat[@]}" >gone 2>err; then fail "/load of a picture that is gone"; fi
grep -q "gone.jpg" err || fail "/load did not look for the pictures: $(cat err)"
[[ $(tail -n 1 whole) == "$(tail -n 1 out)" ]] || fail "the kept cache gives another answer: $(cat whole out)"

# shellcheck source=tests/command_line/server.sh
source "$parts_folder/server.sh"
about() {
  printf '{"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "%s"}}, {"type": "text", "text": "What is it?"}]}], "max_tokens": 12}' "$1"
}
start "$model" --temp 0
ask 200 GET /props ""
grep -q '"vision":true' reply || fail "/props does not say that it sees: $(cat reply)"
ask 200 POST /v1/chat/completions "$(about "data:image/png;base64,$(base64 -w 0 first.png)")"
grep -q '"prompt_tokens":46' reply || fail "the prompt of a picture: $(cat reply)"
cp reply of_first
ask 200 POST /v1/chat/completions "$(about "data:image/jpeg;base64,$(base64 -w 0 second.jpg)")"
grep -q '"cached_tokens":7' reply || fail "another picture was taken for the same: $(cat reply)"
ask 200 POST /v1/chat/completions "$(about "data:image/png;base64,$(base64 -w 0 first.png)")"
[[ $(grep -o '"content":"[^"]*"' reply) == "$(grep -o '"content":"[^"]*"' of_first)" ]] || fail "another answer: $(cat reply of_first)"
ask 400 POST /v1/chat/completions "$(about "https://example.org/a.png")"
grep -q "is not fetched" reply || fail "an address: $(cat reply)"
ask 400 POST /v1/chat/completions "$(about "data:image/png;base64,AAAA")"
grep -q "it is no JPEG" reply || fail "no picture: $(cat reply)"
ask 400 POST /v1/completions '{"prompt": [[1, 264]], "max_tokens": 1}'
grep -q "token 264 is outside" reply || fail "the ids of pictures are not for everybody: $(cat reply)"
stop

# Of two GGUF files.
start pair/text.gguf --mmproj pair/mmproj.gguf --temp 0
ask 200 POST /v1/chat/completions "$(about "data:image/png;base64,$(base64 -w 0 first.png)")"
grep -q '"prompt_tokens":46' reply || fail "the prompt of a picture of two GGUF files: $(cat reply)"
stop

# Two slots, with pictures that count as fewer positions than they take.
start "$fixtures/../seeing/qwen2_5_vl" --temp 0 --slots 2
ask 200 POST /v1/chat/completions "$(about "data:image/png;base64,$(base64 -w 0 first.png)")"
cp reply of_first
ask 200 POST /v1/chat/completions "$(about "data:image/jpeg;base64,$(base64 -w 0 second.jpg)")"
ask 200 POST /v1/chat/completions "$(about "data:image/png;base64,$(base64 -w 0 first.png)")"
[[ $(grep -o '"content":"[^"]*"' reply) == "$(grep -o '"content":"[^"]*"' of_first)" ]] || fail "another answer: $(cat reply of_first)"
stop
