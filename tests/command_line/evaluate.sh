# shellcheck shell=bash disable=SC2154,SC2034
# What evaluate says is what train said of the same files. Sourced by tests/command_line.sh.

describe_labels
{ echo text,label; echo the cat,cat; echo a dog,dog; echo the dog,cat; } >test.csv
run=labels
accept "$vkformer" train label.json --labels rows.jsonl --iterations 8 --warmup 1 --learning-rate 1e-2 \
  --tokenizer "$fixtures/tokenizers/bert" --out $run --valid test.csv --keep-best accuracy --evaluate-every 4
accept "$vkformer" evaluate $run --labels test.csv --json
same "$run" validation_loss accuracy macro_f1 rows
needs_stdout "$vkformer" evaluate $run --labels test.csv
accept "$vkformer" evaluate $run/best --labels test.csv
grep -qE '^loss [0-9.]+$' out && grep -qE '^  accuracy [0-9.]+ %, macro F1 [0-9.]+ of 3 rows$' out || fail "evaluate: $(cat out)"
accept "$vkformer" evaluate "$run/$(cat $run/latest)" --labels test.csv --dtype q8_0
cp -r "$run/$(cat $run/latest)" folder
rm folder/state.json folder/optimizer.safetensors
accept "$vkformer" evaluate folder --labels test.csv --json
same "$run" accuracy macro_f1
for place in $run $run/best $run/best/; do
  refuse 2 "this run was trained with --labels, so --labels FILE" "$vkformer" evaluate $place
done
refuse 2 "evaluate needs files of a kind that train knows" "$vkformer" evaluate folder
printf 'text\tlabel\nthe cow\tcow\n' >cow.tsv
refuse 1 'cow.tsv:2: no training row has the label "cow"; they have cat, dog' "$vkformer" evaluate $run --labels cow.tsv
refuse 1 "gone.csv" "$vkformer" evaluate $run --labels gone.csv
refuse 1 "does not train a model of type bert" "$vkformer" evaluate $run --data text.txt
refuse 2 "exclude each other" "$vkformer" evaluate $run --labels test.csv --data text.txt

run=text
accept "${train[@]}" --out $run --valid short.txt --accumulate 2
accept "$vkformer" evaluate $run --data short.txt --json
same "$run" validation_loss bits_per_byte
refuse 2 "--batch-tokens is for .*, not for --data" "$vkformer" evaluate $run --data short.txt --batch-tokens 8
