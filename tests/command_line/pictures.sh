# shellcheck shell=bash disable=SC2154,SC2034
# Models that see. Sourced by tests/command_line.sh.

echo iVBORw0KGgoAAAANSUhEUgAAAAYAAAAGCAIAAABvrngfAAAAEUlEQVR42mP4z8CAhhhoKwQAIMIj3VonGMYAAAAASUVORK5CYII= | base64 -d >red.png
echo iVBORw0KGgoAAAANSUhEUgAAAAkAAAAFCAIAAAAYMVE8AAAAGklEQVR42mNgwAs0cCOGANyIoQI3YliACwEAQToOEd76hAgAAAAASUVORK5CYII= | base64 -d >blue.png

# Classes of its own.
accept "$vkformer" classify "$fixtures/vit" red.png blue.png -q
[[ $(grep -cP '^LABEL_[0-2]\t0\.[0-9]{4}\t(red|blue).png$' out) == 2 ]] || fail "classify of pictures: $(cat out)"
accept "$vkformer" classify "$fixtures/vit" blue.png --json -q
grep -q '"file":"blue.png","label":"LABEL_' out || fail "classify --json of pictures: $(cat out)"
for dtype in f16 q8_0; do accept "$vkformer" classify "$fixtures/dinov2" red.png blue.png --dtype $dtype -q; done
refuse 1 "text.txt" "$vkformer" classify "$fixtures/vit" red.png text.txt -q
refuse 2 "name their files" "$vkformer" classify "$fixtures/vit" -p "a"
refuse 2 "not both" "$vkformer" classify "$fixtures/vit" red.png -p "a"
refuse 1 "which reads text" "$vkformer" classify "$fixtures/bert_cls" red.png
refuse 1 "are for CLIP and SigLIP" "$vkformer" classify "$fixtures/vit" red.png --candidates cat,dog
refuse 1 "gives its vectors" "$vkformer" classify "$fixtures/clip_vision" red.png

# Two towers, whose texts need a tokenizer.
accept "$vkformer" tokens text.txt --size 50 --out tokens
for towers in clip siglip; do
  cp -r "$fixtures/$towers" $towers
  cp tokens/tokenizer*.json $towers
done
refuse 2 "name their files" "$vkformer" classify clip -p "the fox"
refuse 1 "has no classes of its own; name some: --candidates" "$vkformer" classify clip red.png
accept "$vkformer" classify clip red.png blue.png --candidates "fox,the dog" -q --dtype f16
accept "$vkformer" classify clip red.png blue.png --candidates "fox,the dog" -q
[[ $(wc -l <out) == 2 ]] || fail "classify --candidates of pictures: $(cat out)"
refuse 1 "shares one probability" "$vkformer" classify clip red.png --candidates "fox,dog" --multi-label
accept "$vkformer" classify siglip red.png --candidates "fox,the dog" --hypothesis "the {}" --multi-label -q
grep -qP '^fox\t0\.\d{4}\tthe dog\t0\.\d{4}$' out || fail "classify --multi-label of pictures: $(cat out)"

# Vectors, and what is nearest.
accept "$vkformer" embed clip red.png blue.png -q
[[ $(wc -l <out) == 2 && $(head -n 1 out | tr -cd , | wc -c) == 6 ]] || fail "no vectors of pictures: $(cat out)"
accept "$vkformer" embed clip red.png --out p.safetensors -q
grep -qa '"embeddings":{"dtype":"F32","shape":\[1,7\]' p.safetensors || fail "embed --out of pictures wrote something else"
for towers in clip siglip; do
  accept "$vkformer" embed $towers red.png blue.png --query "the fox" -q
  [[ $(grep -cP '^-?[01]\.\d{4}\t(red|blue)\.png$' out) == 2 ]] || fail "embed --query of pictures: $(cat out)"
  printf 'the fox\nthe lazy dog\n' | "$vkformer" embed $towers --query "the fox" --top 1 -q >out 2>err || fail "embed of texts: $(cat err)"
  grep -qP '^(1\.0000|0\.9999)\tthe fox$' out || fail "the nearest text is another: $(cat out)"
done
accept "$vkformer" embed "$fixtures/dinov2" red.png blue.png --query blue.png --top 1 -q
[[ $(cat out) == $'1.0000\tblue.png' ]] || fail "the nearest picture is another: $(cat out)"
refuse 2 "is for texts" "$vkformer" embed clip red.png --pooling mean
refuse 2 "name their files" "$vkformer" embed "$fixtures/vit" -p "a"

# What other verbs say.
refuse 1 "sees pictures" "$vkformer" logits "$fixtures/vit" --ids 1,2 --out l.safetensors
refuse 1 "sees pictures" "$vkformer" generate "$fixtures/clip" --ids 1,2
accept "$vkformer" info "$fixtures/clip"
grep -q "pictures.*6 x 6 pixels" out || fail "info of two towers: $(cat out)"
accept "$vkformer" convert clip converted
accept "$vkformer" embed converted red.png -q
cp out converted.out
accept "$vkformer" embed clip red.png -q
cmp -s out converted.out || fail "a converted model sees something else"

# Pictures to train on, and a new model of them; then another of it.
accept "$vkformer" data shapes --out shapes --count 24 --valid 8 --test 4
cat >eye.json <<'JSON'
{"model_type": "vit", "hidden_size": 24, "num_hidden_layers": 1, "num_attention_heads": 3, "intermediate_size": 30,
 "image_size": 16, "patch_size": 8}
JSON
accept "$vkformer" train eye.json --pictures shapes/train.jsonl --valid shapes/valid.jsonl --out eye --iterations 4 --batch 8
grep -q "accuracy" out || fail "train --pictures scores nothing: $(cat out)"
accept "$vkformer" classify eye shapes/test/000000.png -q
grep -qP '^(circle|cross|square|triangle)\t' out || fail "a trained model's classes: $(cat out)"
accept "$vkformer" train --resume --out eye --iterations 6
accept "$vkformer" train --from "$fixtures/dinov2" --pictures shapes/train.jsonl --out fine --iterations 2 --batch 4
accept "$vkformer" classify fine red.png -q
accept "$vkformer" evaluate eye --pictures shapes/test.jsonl
accept "$vkformer" train --from "$fixtures/vit" --pictures shapes/train.jsonl --lora r=2 --out lora --iterations 2 --batch 4
accept "$vkformer" classify "$fixtures/vit" --adapter lora red.png -q
cp out of_adapter
accept "$vkformer" convert "$fixtures/vit" merged --merge lora
accept "$vkformer" classify merged red.png -q
cut -f 1 out | cmp -s - <(cut -f 1 of_adapter) || fail "a merged adapter's classes: $(cat out of_adapter)"
printf 'file,label\nred.png,LABEL_0\nblue.png,LABEL_2\n' >rows_of_three.csv
accept "$vkformer" evaluate "$fixtures/dinov2" --pictures rows_of_three.csv
printf 'image,label\nred.png,a\nnone.png,b\n' >rows.csv
refuse 1 "rows.csv:3: there is no picture" "$vkformer" train eye.json --pictures rows.csv --out none
refuse 1 "give a config of vit, deit, dinov2" "$vkformer" train --from "$fixtures/gpt2" --pictures shapes/train.jsonl --out none
refuse 1 "not served" "$vkformer" serve "$fixtures/vit"
accept "$vkformer" embed clip -p "the fox" -q
cp out plain
accept "$vkformer" embed clip -p "the fox" --prefix "the dog " -q
if cmp -s out plain; then fail "embed --prefix changes nothing"; fi
