# shellcheck shell=bash disable=SC2154,SC2034
# Configs and model folders. Sourced by tests/command_line.sh.

# Configs.
refuse 1 "missing.json" "$vkformer" train missing.json --data text.txt --out run
echo '{"model_type": "gpt2", "n_embd": 24,' >cut.json
refuse 1 "cut.json" "$vkformer" train cut.json --data text.txt --out run
echo '{"model_type": "gpt2", "n_embd": 24, "n_head": 5}' >heads.json
refuse 1 "n_head" "$vkformer" train heads.json --data text.txt --out run
echo '{"model_type": "nonsense"}' >family.json
refuse 1 "nonsense" "$vkformer" train family.json --data text.txt --out run
echo '{}' >nothing.json
refuse 1 '"model_type" is missing' "$vkformer" info nothing.json

# config FILE BASE KEY VALUE: the fixture's config with one value changed (BASE: gpt2 or llama).
config() {
  sed "s/\"$3\": [^,}]*/\"$3\": $4/" "$fixtures/$2/config.json" >"$1"
  grep -q "\"$3\": $4" "$1" || fail "the $2 config has no $3"
}
# What no model has is refused before anything is allocated, by its key.
for change in "gpt2 n_head 5" "gpt2 n_layer -1" "gpt2 n_embd 1e18" "gpt2 n_embd 1000000000000000000" \
    "gpt2 vocab_size 0" "gpt2 n_positions 99999999999999999999" 'gpt2 activation_function "nonsense"' \
    'gpt2 n_layer "two"' "gpt2 n_layer 2.5" "llama num_attention_heads 3" "llama num_key_value_heads 3" \
    "llama hidden_size -64" "llama hidden_size 1e18" "llama num_hidden_layers -1" 'llama hidden_act "nonsense"' \
    "llama intermediate_size 0" "llama max_position_embeddings 1e300" "llama head_dim 15"; do
  read -r base key value <<<"$change"
  config bad.json "$base" "$key" "$value"
  refuse 1 "not supported: bad.json.*$key" "$vkformer" info bad.json
done
refuse 1 "bad.json.*head_dim" "$vkformer" train bad.json --data text.txt --out run
config bad.json llama model_type '"nonsense"'
refuse 1 "not supported: bad.json: model_type 'nonsense'" "$vkformer" info bad.json
grep -q "sizes .*layers 2, width 64" out || fail "info said nothing of an unsupported model: $(cat out)"

# Model folders: one tensor gone, one of another shape, one too many; shards.
accept "$vkformer" info "$fixtures/gpt2"
grep -q "supported *yes" out || fail "info did not say that the fixture is supported: $(cat out)"
grep -q "parameters *75,328" out || fail "info counted other parameters: $(cat out)"
accept "$vkformer" info --json --context 7 "$fixtures/llama"
grep -q '"parameters": 86976' out || fail "info --json has no parameters: $(cat out)"
refuse 2 "--context" "$vkformer" info --context 33 "$fixtures/gpt2"
cp -r "$fixtures/gpt2" odd
config odd/config.json gpt2 n_layer 3
refuse 1 "lacks 12 tensors that the config asks for: transformer.h.2.ln_1.weight, " "$vkformer" info odd
config odd/config.json gpt2 vocab_size 98
refuse 1 'tensor "transformer.wte.weight" has shape \[97, 64\], the config asks for \[98, 64\]' "$vkformer" info odd
config odd/config.json gpt2 n_layer 1
accept "$vkformer" info odd
grep -q "skipped 12 tensors the model does not use: transformer.h.1" out || fail "info named no extra tensor: $(cat out)"
mv odd/model.safetensors odd/model-00001-of-00001.safetensors
refuse 1 "neither model.safetensors nor model.safetensors.index.json" "$vkformer" info odd
index() {
  echo '{"metadata": {}, "weight_map": {"transformer.wte.weight": "'"$1"'"}}' >odd/model.safetensors.index.json
}
index model-00001-of-00001.safetensors
accept "$vkformer" info odd
index model-00002-of-00002.safetensors
refuse 1 'names "model-00002-of-00002.safetensors", which is missing' "$vkformer" info odd
index ../odd/model-00001-of-00001.safetensors
refuse 1 "must be a name in this folder" "$vkformer" info odd

# Converting: the tokenizer's files go along, and what fails leaves nothing behind.
cp -r "$fixtures/gpt2" source
touch source/merges.txt source/vocab.json
accept "$vkformer" convert source converted
accept "$vkformer" info converted
[[ -e converted/merges.txt && -e converted/vocab.json && -e converted/model.safetensors ]] ||
  fail "convert left a file behind: $(ls converted)"
refuse 1 "not an empty folder" "$vkformer" convert source converted
mkdir source/tokenizer.json
refuse 1 "tokenizer.json" "$vkformer" convert source halfway
[[ -e halfway ]] && fail "a conversion that failed left a folder behind"

# Dropout goes to the family's own keys.
cat >rotary.json <<'JSON'
{"model_type": "llama", "max_position_embeddings": 16, "hidden_size": 24, "intermediate_size": 30,
 "num_hidden_layers": 1, "num_attention_heads": 3}
JSON
accept "$vkformer" train rotary.json --data text.txt --out rotary --iterations 1 --batch 2 --dropout 0.25
grep -q '"attention_dropout": 0.25' rotary/checkpoint-000001/config.json || fail "--dropout did not reach the model"
for key in bos_token_id eos_token_id pad_token_id; do
  grep -q "\"$key\": null" rotary/checkpoint-000001/config.json || fail "train left $key to the family, where it is a character"
done
grep -q embd_pdrop rotary/checkpoint-000001/config.json && fail "--dropout set another family's key"

# A plan is that of the type asked for.
accept "$vkformer" train small.json --plan --json
mv out plan.f32
accept "$vkformer" train small.json --plan --json --precision bf16
cmp -s out plan.f32 && fail "--plan ignored --dtype"

# All programs of generation are planned.
accept "$vkformer" info "$fixtures/bart"
for what in "a source of 24 positions" "a prompt of 24 positions" "a token"; do
  grep -q "inputs and outputs of $what  " out || fail "info does not plan $what: $(cat out)"
done
sed 's/"num_attention_heads"/"head_dim": 256, "num_attention_heads"/; s/: 16,/: 16777216,/' rotary.json >long.json
refuse 1 "constants needs 16384 MiB, one allocation\|MiB free" "$vkformer" train long.json --data text.txt --out run --context 16 --quiet
