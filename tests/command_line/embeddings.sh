# shellcheck shell=bash disable=SC2154,SC2034
# Embeddings of texts. Sourced by tests/command_line.sh.

cat >encoder.json <<'JSON'
{"model_type": "bert", "max_position_embeddings": 12, "hidden_size": 24, "num_hidden_layers": 1,
 "num_attention_heads": 3, "intermediate_size": 30}
JSON
accept "$vkformer" train encoder.json --masked text.txt --tokenizer "$fixtures/tokenizers/bert" --out masked --iterations 1 --batch 2
cp -r "masked/$(cat masked/latest)" encoder
sed -i 's/BertForMaskedLM/BertModel/' encoder/config.json
printf 'the cat\na dog barks\nthe cat and the cat and the cat and the cat\n' >lines.txt
"$vkformer" embed encoder <lines.txt >out 2>err || fail "embed: $(cat err)"
[[ $(wc -l <out) == 3 && $(head -n 1 out | tr -cd , | wc -c) == 23 ]] || fail "no embeddings: $(cat out)"
grep -q "does not say which hidden states count" err || fail "a guess is not told: $(cat err)"
grep -q "1 cut at 12 tokens" err || fail "embed did not say what was cut: $(cat err)"
"$vkformer" embed masked --pooling mean <lines.txt >same 2>err || fail "embed: $(cat err)"
cmp -s out same || fail "a head changes embeddings"
grep -q "does not say" err && fail "what is asked for is called a guess: $(cat err)"
accept "$vkformer" embed encoder -p "the cat" --json
grep -q '"embedding":\[.*"text":"the cat"' out || fail "embed --json: $(cat out)"
needs_stdout "$vkformer" embed encoder -p "the cat" -q
# Of one length: a pipe's shapes of batches are those of its first piece, and other shapes round differently.
for _ in $(seq 300); do printf "the cat and the dog\nthe dog and the cat\n"; done >many.txt
answers_on_the_way many.txt "$vkformer" embed encoder -q --batch-tokens 20
keeps_what_it_wrote 600 many.txt "$vkformer" embed encoder -q --batch-tokens 20
"$vkformer" embed encoder --query "the cat" --top 2 -q <lines.txt >out 2>err || fail "embed --query: $(cat err)"
[[ $(head -n 1 out) == $'1.0000\tthe cat' && $(wc -l <out) == 2 ]] || fail "the nearest line is another: $(cat out)"
"$vkformer" embed encoder --query "the cat" --top 1 --dtype f16 -q <lines.txt >out 2>err || fail "embed --dtype: $(cat err)"
[[ $(cat out) == $'1.0000\tthe cat' ]] || fail "the nearest line is another in f16: $(cat out)"
"$vkformer" embed encoder --out e.safetensors -q <lines.txt >out 2>err || fail "embed --out: $(cat err)"
[[ ! -s out ]] || fail "embed --out prints: $(cat out)"
grep -qa '"embeddings":{"dtype":"F32","shape":\[3,24\],"data_offsets":\[0,288\]}' e.safetensors || fail "embed --out wrote something else"
refuse 2 "query" "$vkformer" embed encoder --top 3 -p "a"
refuse 2 "pooling" "$vkformer" embed encoder --pooling max -p "a"
refuse 1 "makes no embeddings" "$vkformer" embed "$fixtures/t5" -p "a"

# How embeddings are made goes to a GGUF file and back.
mkdir encoder/1_Pooling
echo '{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}' >encoder/1_Pooling/config.json
echo '[{"path": "", "type": "sentence_transformers.models.Transformer"},
  {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]' >encoder/modules.json
accept "$vkformer" embed encoder -p "the cat" -q
cp out first
accept "$vkformer" convert encoder encoder.gguf
accept "$vkformer" convert encoder.gguf back
for model in encoder.gguf back; do
  accept "$vkformer" embed "$model" -p "the cat" -q
  cmp -s out first || fail "the embedding of $model is another: $(cat out first)"
done
accept "$vkformer" train --from back --masked text.txt --out on --iterations 1 --batch 2

# A layer behind the pooling, which makes one number of 24, so the vector is 1 or -1.
cp -r encoder layered
mkdir layered/2_Dense
sed -i 's/\]$/, {"path": "2_Dense", "type": "sentence_transformers.models.Dense"}]/' layered/modules.json
echo '{"in_features": 24, "out_features": 1, "bias": false}' >layered/2_Dense/config.json
refuse 1 "2_Dense" "$vkformer" embed layered -p "the cat" -q
printf '\x48\0\0\0\0\0\0\0{"linear.weight":{"dtype":"F32","shape":[1,24],"data_offsets":[0,96]}}  ' >layered/2_Dense/model.safetensors
head -c 96 /dev/zero | tr '\0' '\77' >>layered/2_Dense/model.safetensors
accept "$vkformer" embed layered -p "the cat" -q
grep -qx '\[-\?1\]' out || fail "a dense layer is left out: $(cat out)"
accept "$vkformer" convert layered layered2
accept "$vkformer" embed layered2 -p "the cat" -q
grep -qx '\[-\?1\]' out || fail "a dense layer is lost: $(cat out)"
refuse 1 "no place for its Dense layers" "$vkformer" convert layered layered.gguf

# Prompts that are not pooled are refused where there is one; lower case is made whatever the tokenizer does.
echo '{"prompts": {"document": "text: "}}' >encoder/config_sentence_transformers.json
echo '{"pooling_mode_cls_token": true, "include_prompt": false}' >encoder/1_Pooling/config.json
refuse 1 "leaves prompts out (include_prompt), which is not supported" "$vkformer" embed encoder -p "the cat" -q
accept "$vkformer" embed encoder -p "the cat" -q --prefix ''
cmp -s out first || fail "without a prompt the embedding is another: $(cat out first)"
sed -i 's/"lowercase": *true/"lowercase": false/' encoder/tokenizer.json
echo '{"do_lower_case": true}' >encoder/sentence_bert_config.json
accept "$vkformer" embed encoder -p "The CAT" -q --prefix ''
cmp -s out first || fail "do_lower_case is ignored: $(cat out first)"
