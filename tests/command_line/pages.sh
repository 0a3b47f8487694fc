# shellcheck shell=bash disable=SC2154,SC2034
# Pages. Sourced by tests/command_line.sh.

# Pages.
refuse 1 "tokenizer.json" "$vkformer" attention "$fixtures/gpt2" -p text --out page.html
refuse 2 "prompt" "$vkformer" attention "$fixtures/gpt2"
cp -r "$fixtures/gpt2" gpt2_text
cp "$fixtures/tokenizers/gpt2/tokenizer.json" gpt2_text/
refuse 1 "the model has 97 ids" "$vkformer" attention gpt2_text -p "the quick brown fox" --out page.html
[[ ! -e page.html ]] || fail "a page was written without weights"
