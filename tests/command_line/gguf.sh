# shellcheck shell=bash disable=SC2154
# GGUF files where a model's folder is taken. Sourced by tests/command_line.sh.

accept "$vkformer" convert "$fixtures/llama" llama.gguf --weights q8_0
accept "$vkformer" convert "$fixtures/llama" plain.gguf --weights f32
# Rows that are no whole blocks.
accept "$vkformer" convert "$fixtures/llama" fallen.gguf --dtype q4_k_m
grep -qE "^([0-9]+) of \1 weights have rows that are no whole blocks of q4_k or q6_k: f16 [0-9]+|q[58]_0 [0-9]+" err ||
  fail "fallbacks go unseen: $(cat err)"
accept "$vkformer" generate "$fixtures/llama" --ids 5 -n 2 --dtype q4_k
grep -q "weights have rows that are no whole blocks of q4_k: " err || fail "fallbacks go unseen: $(cat err)"
accept "$vkformer" generate "$fixtures/llama" --ids 5 -n 2 --dtype f16
grep "whole blocks" err && fail "f16 has no blocks: $(cat err)"
refuse 1 "is there already" "$vkformer" convert "$fixtures/llama" llama.gguf

# Weights that are no numbers, or none in f16.
rm -rf broken
cp -r "$fixtures/llama" broken
end_weights() {
  head -c -4 "$fixtures/llama/model.safetensors" >broken/model.safetensors
  printf '%b' "$1" >>broken/model.safetensors
}
end_weights '\x00\x00\xc0\x7f'
refuse 1 "1 of 64 values are no finite numbers in f32, the first is nan at 63" "$vkformer" convert broken new --quiet
refuse 1 "are no finite numbers in f32, the first is nan at 63" "$vkformer" convert broken new.gguf --dtype q8_0 --quiet
end_weights '\x00\x24\x74\x49'
refuse 1 "in f16, the first is 1000000 at 63; choose bf16 or f32" "$vkformer" convert broken new --dtype f16 --quiet
[[ -e new || -e new.gguf ]] && fail "convert left something behind: $(ls -d new*)"
accept "$vkformer" convert broken new --dtype bf16
grep -q '"torch_dtype": "bfloat16"' new/config.json || fail "the type is not told: $(cat new/config.json)"

# What generating takes is counted in the file's own types.
bytes_of_parameters() { sed -n 's/.*parameters and constants": \([0-9]*\).*/\1/p' out | head -n 1; }
accept "$vkformer" info --json plain.gguf
plain=$(bytes_of_parameters)
accept "$vkformer" info --json llama.gguf
((2 * $(bytes_of_parameters) < plain)) || fail "info counts q8_0 as $(bytes_of_parameters) bytes, f32 as $plain"

# A file has nothing recorded: the device is compared with the reference.
accept "$vkformer" verify llama.gguf plain.gguf
grep -q "^10 passed, 0 failed" out || fail "verify compared something else: $(cat out)"
refuse 1 "nothing recorded" "$vkformer" verify llama.gguf --device reference
for family in gpt2 t5 roberta_cls xlnet; do  # so it is of folders
  cp -r "$fixtures/$family" $family
  rm $family/case.json
done
accept "$vkformer" verify gpt2 t5 roberta_cls xlnet
grep -q "^1[0-9] passed, 0 failed" out || fail "verify compared something else: $(cat out)"
refuse 1 "nothing recorded" "$vkformer" verify gpt2 --device reference
accept "$vkformer" convert "$fixtures/bert_cls" bert.gguf
accept "$vkformer" verify bert.gguf
accept "$vkformer" convert "$fixtures/bert_cls" half.gguf --dtype f16
accept "$vkformer" verify half.gguf
accept "$vkformer" info half.gguf
grep -q 'impossible' out && fail "info can't plan an encoder of f16: $(cat out)"
head -c 3000 llama.gguf >cut.gguf
"$vkformer" verify cut.gguf >out 2>err && fail "verify passed a file that is cut"
grep -q "FAIL.*cut.gguf" out || fail "verify does not tell what is wrong with a file: $(cat out)"

# Blocks are for generating; a training step has a type of its own.
accept "$vkformer" pipelines llama.gguf --batch 0 --prompt 8
grep -q "^llama.gguf as filed decode" out || fail "pipelines has no such program: $(cat out)"
accept "$vkformer" pipelines 1x32x2:16:16 --dtype q8_0 --precision bf16 --prompt 8
grep -q "16 q8_0 decode" out || fail "pipelines has no decoding of blocks: $(cat out)"
grep -q "16 bf16 .*step" out || fail "pipelines has no training step in its precision: $(cat out)"
accept "$vkformer" bench -m llama.gguf --dtype q8_0 -p 8 -n 2 -r 1 --texts 2
grep -q "tg2 of 2 texts" out || fail "texts side by side go untimed: $(cat out)"
accept "$vkformer" generate llama.gguf --ids 5,17,3 -n 4

# What a file has no key for is told; greedy search stays greedy, also in a folder again.
cp -r "$fixtures/llama" greedy
echo '{"max_new_tokens": 5, "num_beams": 1, "typical_p": 0.9, "top_k": null}' >greedy/generation_config.json
accept "$vkformer" convert greedy greedy.gguf
grep -q "no place for these settings: max_new_tokens 5, typical_p 0.9$" err || fail "settings are lost without a word: $(cat err)"
accept "$vkformer" convert greedy.gguf again
[[ ! -s err ]] && grep -q '"do_sample": false' again/generation_config.json || fail "greedy search is lost: $(cat err again/*.json)"

# Logits take weights in the file's own types, too, or in the one that is asked for.
accept "$vkformer" logits llama.gguf --ids 5,17,3 --out own.safetensors -q
accept "$vkformer" logits plain.gguf --ids 5,17,3 --out plain.safetensors -q
accept "$vkformer" logits plain.gguf --ids 5,17,3 --out asked.safetensors --dtype q8_0 -q
cmp -s own.safetensors asked.safetensors || fail "other logits of the same blocks"
cmp -s own.safetensors plain.safetensors && fail "logits were not computed with q8_0"
