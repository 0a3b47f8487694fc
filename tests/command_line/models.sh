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
# A model without a tokenizer takes ids, and says so.
grep -q "tokenizer *none: '.*gpt2' has no tokenizer.json, nor older files of a tokenizer; download them" out || fail "info said nothing of a tokenizer: $(cat out)"
refuse 1 "gpt2' has no tokenizer.json, nor older files .* from where the model is from (.*--ids" "$vkformer" generate "$fixtures/gpt2" -p "the"
mkdir texts && cp "$fixtures"/gpt2/{config.json,model.safetensors} "$fixtures/tokenizers/bert/tokenizer.json" texts
accept "$vkformer" info texts
grep -q "tokenizer *WordPiece, [0-9]* tokens" out || fail "info does not tell the tokenizer: $(cat out)"
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
grep -q "skipped 12 tensors the model does not use: transformer.h.1.*[^ ]* and 8 others" out || fail "info named no extra tensor: $(cat out)"
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
echo "#version: 0.2" >source/merges.txt
echo '{"t": 0, "h": 1, "e": 2}' >source/vocab.json
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
refuse 1 "constants needs 16384 MiB, one allocation\|MiB free" "$vkformer" train long.json --data text.txt --out run --context 16 --set max_position_embeddings=16777216 --quiet

# What files say is shown as text, shortened, whatever it does to a terminal.
long=$(head -c 100000 /dev/zero | tr '\0' x)
for text in '\u001b[31mred\u001b]0;title\u0007' '\u0000nul' "$long"; do
  echo '{"model_type": "'"$text"'"}' >text.json
  refuse 1 "model_type" "$vkformer" info text.json
  [[ $(cat out err | wc -c) -lt 2000 ]] || fail "a long name makes a long message: $(wc -c out err)"
  [[ $(cat out err | tr -d '\n' | LC_ALL=C tr -dc '\000-\037' | wc -c) == 0 ]] || fail "control characters of a file: $(od -c err | head)"
done
mkdir nothing
"$vkformer" verify nothing >out 2>err && fail "an empty folder is verified"
grep -q "no model here, and nothing that was recorded" out || fail "verify of an empty folder: $(cat out)"
refuse 1 "bert model, which writes no text" "$vkformer" perplexity "$fixtures/bert_mlm" -f text.txt
refuse 1 "text.txt is a file of another kind; give folders" "$vkformer" verify text.txt
if command -v script >/dev/null; then
  # Results, which are escaped on a terminal only, and messages.
  name=$'odd \e[31m\u009b1m'
  mkdir "$name"
  script -qec "'$vkformer' verify '$name'" terminal >shown 2>&1 </dev/null
  grep -q 'odd .x1B' shown || fail "nothing came to the terminal: $(cat shown)"
  LC_ALL=C grep -q $'\e\|\x9b' shown && fail "escape sequences came to the terminal: $(od -c shown | head -40)"
  "$vkformer" verify "$name" >out 2>err </dev/null
  LC_ALL=C grep -q $'\e' out || fail "results in a file are not as they are: $(od -c out | head)"
else
  echo "skipped: a terminal (no script)"
fi

# Weights that are no numbers give no results, in any verb.
ids() { # FILE NAME 'ID...' [NAME 'ID...']...: a row under each name, of ids below 256
  local file=$1 header="" data="" at=0 row
  shift
  while (($#)); do
    read -ra row <<<"$2"
    header+="${header:+, }\"$1\": {\"dtype\": \"I32\", \"shape\": [1, ${#row[@]}], \"data_offsets\": [$at, "
    header+="$((at += 4 * ${#row[@]}))]}"
    data+=$(printf '\\x%02x\\0\\0\\0' "${row[@]}")
    shift 2
  done
  header="{$header}"
  printf "\\x$(printf %02x $((${#header} % 256)))\\x$(printf %02x $((${#header} / 256)))\\0\\0\\0\\0\\0\\0%s$data" "$header" >"$file"
}
ids one.safetensors input_ids "5 1 2 3"
accept "$vkformer" logits "$fixtures/gpt2" --ids 5,17,3 --out row.safetensors
# Ids that no name of a file could be.
accept "$vkformer" logits "$fixtures/gpt2" --ids "5,$(printf "%300s" 17)" --out row.safetensors
accept "$vkformer" logits "$fixtures/gpt2" --ids 5,17,3 --out row.safetensors
grep -q "^row.safetensors: logits \[1, 3, 97\]$" out || fail "logits of three ids: $(cat out)"
cp -r "$fixtures/gpt2" own
sha256sum own/* >own.sums
refuse 2 "the file is there, and belongs to what this command reads" "$vkformer" logits own --ids 5 --out own/model.safetensors
refuse 2 "the file is there, and belongs to what this command reads" "$vkformer" generate own --ids 5 -n 1 --profile own/config.json
mkdir linked
for file in config.json model.safetensors; do ln -s "../own/$file" linked; done
refuse 2 "the file is there, and belongs" "$vkformer" logits linked --ids 5 --out linked/model.safetensors
refuse 2 "the file is there, and belongs" "$vkformer" logits linked --ids 5 --out own/model.safetensors
sha256sum --check --quiet own.sums || fail "a model's files were written over"
refuse 2 "--out is empty" "$vkformer" encode own text.txt --out ""
mkdir words
touch words/vocab.txt
refuse 1 "'words' has vocab.txt and no tokenizer.json, and neither .* says of which kind it is" "$vkformer" encode words text.txt
# Of older files a tokenizer is made, which convert and train write.
cp -r "$fixtures/bert_cls" older
printf '%s\n' '[PAD]' '[UNK]' '[CLS]' '[SEP]' '[MASK]' the fox '##es' >older/vocab.txt
accept "$vkformer" info older
grep -q "tokenizer *WordPiece, 8 tokens, made of older files" out || fail "info does not tell the older tokenizer: $(cat out)"
accept "$vkformer" convert older newer
for model in older newer; do
  accept "$vkformer" encode "$model" -p "The foxes"
  [[ $(cat out) == "2 5 6 7 3" ]] || fail "the tokens of $model: $(cat out)"
done
[[ -e newer/tokenizer.json && -e newer/vocab.txt ]] || fail "convert left a tokenizer behind: $(ls newer)"
accept "$vkformer" classify older -p "The foxes"
printf '%s\n' '{"text": "the fox", "label": "LABEL_0"}' '{"text": "foxes", "label": "LABEL_1"}' >rows.jsonl
accept "$vkformer" train --from older --labels rows.jsonl --out tuned --iterations 1 --batch 2 --quiet
cmp -s newer/tokenizer.json tuned/checkpoint-000001/tokenizer.json || fail "train and convert make other tokenizers"
[[ -e tuned/checkpoint-000001/vocab.txt ]] || fail "train left the older files behind: $(ls tuned/checkpoint-000001)"
echo '{"tokenizer_class": "BertJapaneseTokenizer"}' >older/tokenizer_config.json
refuse 1 'tokenizer_class "BertJapaneseTokenizer" is not known; let transformers make' "$vkformer" classify older -p "The foxes"
accept "$vkformer" info older
grep -q "tokenizer *none: 'older' has vocab.txt" out || fail "info does not say why there is no tokenizer: $(cat out)"
accept "$vkformer" logits own --ids 5 --out own/logits.safetensors
refuse 1 "own/model.safetensors holds weights; give the folder" "$vkformer" info own/model.safetensors
refuse 1 "there is no 'nowhere'; give a model folder, a run folder or a .gguf file$" "$vkformer" info nowhere
refuse 1 "there is no 'owner/name'.*vkformer download owner/name" "$vkformer" info owner/name
refuse 1 "is not a list of token ids" "$vkformer" logits "$fixtures/gpt2" --ids 5,,3 --out no.safetensors
refuse 1 "--ids FILE with both" "$vkformer" logits "$fixtures/t5" --ids 5,3 --out no.safetensors
accept "$vkformer" logits "$fixtures/gpt2" --ids one.safetensors --out logits.safetensors
ids both.safetensors input_ids "5 1 2 3" decoder_input_ids "5 1 2 3"
refuse 1 "decoder_input_ids, which this gpt2 model has no decoder for" "$vkformer" logits "$fixtures/gpt2" --ids both.safetensors --out both_out.safetensors
# Padded on the left, with a mask, and with numbers of positions that count from the first token: the row's own logits.
last_row() { tail -c $((97 * 4)) "$1" | cksum; }
ids padded.safetensors input_ids "1 1 5 17 3" attention_mask "0 0 1 1 1" position_ids "0 0 0 1 2"
accept "$vkformer" logits "$fixtures/gpt2" --ids padded.safetensors --out padded_out.safetensors
[[ $(last_row padded_out.safetensors) == $(last_row row.safetensors) ]] || fail "other logits for a row that is padded on the left"
ids far.safetensors input_ids "5 17" position_ids "0 2"
refuse 1 "positions hold 2; they are numbers within a row of 2" "$vkformer" logits "$fixtures/gpt2" --ids far.safetensors --out no_out.safetensors
ids half.safetensors input_ids "5 17" attention_mask "1 2"
refuse 1 "attention_mask holds other numbers" "$vkformer" logits "$fixtures/gpt2" --ids half.safetensors --out no_out.safetensors
refuse 1 "positions itself" "$vkformer" logits "$fixtures/bert_mlm" --ids padded.safetensors --out no_out.safetensors
ids odd.safetensors input_ids "5 17" labels "1 1"
refuse 1 'odd.safetensors: "labels" is no input of a model' "$vkformer" logits "$fixtures/gpt2" --ids odd.safetensors --out no_out.safetensors
ids large.safetensors input_ids "5 97"
refuse 1 "large.safetensors: ids holds 97; the model has 97 ids, from 0 to 96" "$vkformer" logits "$fixtures/gpt2" --ids large.safetensors --out no_out.safetensors
refuse 2 "does not end with .safetensors" "$vkformer" logits "$fixtures/gpt2" --ids 5,17 --out x.npz
cp -r "$fixtures/gpt2" nan
# All data of a NaN: every byte behind the header is 0xff.
size=$(stat -c %s nan/model.safetensors)
start=$((8 + $(od -An -t u8 -N 8 nan/model.safetensors)))
head -c $start "$fixtures/gpt2/model.safetensors" >nan/model.safetensors
head -c $((size - start)) /dev/zero | tr '\0' '\377' >>nan/model.safetensors
refuse 1 "not finite numbers" "$vkformer" logits nan --ids one.safetensors --out nan_out.safetensors
[[ -e nan_out.safetensors || -e both_out.safetensors ]] && fail "a file of no logits was written"
refuse 1 "not finite numbers" "$vkformer" generate nan --ids 5 --quiet

# What was pre-trained on two tasks has the first's head, and tells what is left out.
cp -r "$fixtures/bert_mlm" two_tasks
sed -i 's/BertForMaskedLM/BertForPreTraining/' two_tasks/config.json
accept "$vkformer" logits two_tasks --ids 5,17,3 --out two_tasks.safetensors
accept "$vkformer" logits "$fixtures/bert_mlm" --ids 5,17,3 --out one_task.safetensors
cmp -s one_task.safetensors two_tasks.safetensors || fail "other logits for a BertForPreTraining"
sed -i '/"architectures"/,/]/d' two_tasks/config.json
refuse 1 "names no architectures; of bert vkformer runs BertForMaskedLM" "$vkformer" logits two_tasks --ids 5,17,3 --out no_out.safetensors

# Folders as people have them: of one GGUF file, and of Hugging Face's cache.
mkdir -p one_file cache/refs cache/snapshots/abc
accept "$vkformer" convert "$fixtures/llama" one_file/m.gguf
accept "$vkformer" logits one_file --ids 5,17,3 --out of_folder.safetensors
accept "$vkformer" logits one_file/m.gguf --ids 5,17,3 --out of_file.safetensors
cmp -s of_folder.safetensors of_file.safetensors || fail "other logits for the folder of a GGUF file"
cp one_file/m.gguf one_file/n.gguf
refuse 1 "'one_file' holds 2 GGUF files; name one, like one_file/m.gguf" "$vkformer" logits one_file --ids 5 --out no_out.safetensors
cp "$fixtures/llama"/*.json "$fixtures/llama/model.safetensors" cache/snapshots/abc
echo abc >cache/refs/main
accept "$vkformer" logits cache --ids 5,17,3 --out of_cache.safetensors
cmp -s of_cache.safetensors of_file.safetensors || fail "other logits for a folder of the cache"
mkdir -p hub/models--owner--name && cp -r cache/* hub/models--owner--name
accept env HF_HUB_CACHE="$PWD/hub" "$vkformer" logits owner/name --ids 5,17,3 --out of_name.safetensors
cmp -s of_name.safetensors of_file.safetensors || fail "other logits for a name in the cache"
echo abd >cache/refs/main
refuse 1 "names a snapshot that is not there" "$vkformer" logits cache --ids 5 --out no_out.safetensors

# A device without room for a model is told what would fit.
"$vkformer" devices --json >here.json || fail "no devices"
limits() { sed "s/\"memory_free\": [0-9]*/\"memory_free\": $1/" here.json >small.facts; }
limits 330000
refuse 1 "llama needs .* KiB for weights and caches, .* has 322.3 KiB free; --dtype bf16 takes" "$vkformer" generate "$fixtures/llama" --ids 5 -q --facts small.facts
accept "$vkformer" generate "$fixtures/llama" --ids 5 --dtype bf16 --facts small.facts
accept "$vkformer" info "$fixtures/llama" --facts small.facts
grep -q "^fits here   no: .* has 322.3 KiB free; with --dtype bf16 .* KiB are enough" out || fail "no way out: $(cat out)"
limits 30000
refuse 1 "KiB free; use a smaller model or context" "$vkformer" generate "$fixtures/llama" --ids 5 -q --facts small.facts
accept "$vkformer" info "$fixtures/llama"
grep -q "^fits here   yes" out || fail "a small model has no room: $(cat out)"
refuse 1 "state need [0-9]* MiB, .* has 0 MiB free" "$vkformer" bench -m 1x64x2:99:64 -p 8 -n 0 -b 0 -q --facts small.facts
# What has no room in the device's memory lies in the host's, says so, and computes the same.
for command in "generate $fixtures/llama --ids 5,17,3" "logits $fixtures/llama --ids 5,17,3 --out" "logits $fixtures/bert_mlm --ids 5,17,3 --out"; do
  read -ra words <<<"$command"
  [[ $command == *--out ]] && words+=(of_memory.safetensors)
  rm -f of_memory.safetensors
  accept "$vkformer" "${words[@]}" -q
  grep -q "host memory" err && fail "weights with room for them left the device: $(cat err)"
  cp out near
  [[ $command == *--out ]] && mv of_memory.safetensors near
  accept "$vkformer" "${words[@]}" -q --device-memory 200K
  grep -q "KiB of [0-9.]* KiB of weights lie in host memory: .* has 200.0 KiB free; a .* reads [0-9.]* KiB of them" err || fail "nobody said where weights lie: $(cat err)"
  [[ $command == *--out ]] && mv of_memory.safetensors out
  cmp -s out near || fail "other results with weights in host memory: $command"
done
refuse 1 "has 200.0 KiB free; --dtype" "$vkformer" generate "$fixtures/llama" --ids 5 -q --device-memory 200K --host-memory 0
accept "$vkformer" info "$fixtures/llama" --device-memory 200K
grep -q "^fits here   in part: .* of weights lie in host memory: .* has 200.0 KiB free" out || fail "info does not say what lies in host memory: $(cat out)"
accept "$vkformer" info "$fixtures/llama" --device-memory 200K --json
grep -q '"bytes_read"' out || fail "info does not tell what a token reads of host memory: $(cat out)"
refuse 2 "\"6X\" is no size of memory; give one like 6G" "$vkformer" generate "$fixtures/llama" --ids 5 --device-memory 6X
refuse 2 "\"120%\" is no share" "$vkformer" generate "$fixtures/llama" --ids 5 --device-memory 120%
refuse 2 "is no size of memory" "$vkformer" generate "$fixtures/llama" --ids 5 --host-memory 50%
refuse 2 "did you mean --device-memory" "$vkformer" generate "$fixtures/llama" --ids 5 --n-cpu-moe 3
