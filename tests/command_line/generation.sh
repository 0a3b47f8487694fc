# shellcheck shell=bash disable=SC2154,SC2034
# Generation from ids. Sourced by tests/command_line.sh.

# Generation from ids: refused before a device is opened.
ids() {
  refuse "$@"
  grep -q "^device " err && fail "a device was opened before the request was checked: ${*:3}"
}
generate=("$vkformer" generate "$fixtures/gpt2" --ids 5,17,3)
for list in 5,,17 ,5 5,17, '5 , , 17' 5,-1 5x; do
  ids 1 "is not a list of token ids" "$vkformer" generate "$fixtures/gpt2" --ids "$list"
done
ids 1 "after the prompt's 3 the model has positions for 29" "${generate[@]}" -n 30
ids 1 "the prompt has 33 tokens" "${generate[@]}" --ids "$(seq -s, 33)"
ids 1 "token 97 is outside" "${generate[@]}" --ids 97
ids 1 "does not write text" "$vkformer" generate "$fixtures/bert_mlm" --ids 5
ids 1 "1000000000 new tokens" "$vkformer" generate "$fixtures/t5" --ids 5 -n 1000000000
refuse 1 "GiB for weights and caches, .* free; use a smaller" "$vkformer" generate "$fixtures/t5" --ids 5 -n 1000000 --beams 32 --quiet
ids 1 "from 2 beams" "${generate[@]}" --beams 2 --temp 0.5
ids 2 "--length-penalty" "${generate[@]}" --beams 2 --length-penalty 1000
cp -r "$fixtures/gpt2" groups
echo '{"num_beam_groups": 2}' >groups/generation_config.json
ids 1 'groups/generation_config.json: "num_beam_groups" is not supported' "$vkformer" generate groups --ids 5
accept "${generate[@]}" --profile trace.json --json
[[ -s trace.json ]] || fail "--ids wrote no profile"
accept "${generate[@]}" --ids 9 --ids 1,2,3,4,5 -n 4
cp out together
for prompt in 5,17,3 9 1,2,3,4,5; do "$vkformer" generate "$fixtures/gpt2" --ids $prompt -n 4 --quiet; done >alone
cmp -s together alone || fail "a batch of prompts gives other ids than each alone: $(cat together alone)"
accept "${generate[@]}" -n 9 --temp 2 --seed 7
cp out drawn
accept "${generate[@]}" -n 9 --temp 2 --seed 7
cmp -s out drawn || fail "the same seed drew other ids"
accept "${generate[@]}" -n 9
cmp -s out drawn && fail "--temp drew nothing"

# Layers on two devices.
accept "${generate[@]}" --device reference
cp out one
accept "${generate[@]}" --device reference,reference --tensor-split 2,1
cmp -s one out || fail "two devices write something else: $(cat out)"
grep -q "^reference: transformer.h.1, 1 MiB of weights$" err || fail "who has which layers: $(cat err)"
refuse 2 "several devices, as --device 0,1" "${generate[@]}" --tensor-split 2,1
refuse 1 "--tune takes one device" "${generate[@]}" --device reference,reference --tune --quiet

# A text from a file or a pipe is the text itself; ids have their text beside them; both follow one rule.
accept "${train[@]:0:5}" --batch-size 2 --max-iters 2 --warmup-iters 1 --lr 1e-2 --precision f16 --out run --no-last-evaluation
accept "$vkformer" train --resume --out run --max-iters 3
grep -q "whole split" out && fail "--no-last-evaluation was forgotten when a run was resumed: $(cat out)"
accept "$vkformer" train --resume --out run --max-iters 4 --no-last-evaluation=false
grep -q "whole split" out || fail "a run can't be evaluated after all: $(cat out)"
accept "$vkformer" logits run -p "the quick" --out logits.safetensors
grep -q "^logits.safetensors: logits \[1, 9, [0-9]*\]$" out || fail "logits of a text: $(cat out)"
accept "$vkformer" logits run --ids logits.safetensors --out again.safetensors -q
cmp -s logits.safetensors again.safetensors || fail "logits of a text are not those of its ids"
refuse 2 "logits needs" "$vkformer" logits run --out again.safetensors

# How likely a text is: side by side and in windows, from a pipe, beside another type's predictions.
yes "the quick brown fox jumps" | head -n 4 >likely.txt
for flags in "-c 16 --shared 4" "-c 16 --shared 4 --batch-tokens 16"; do
  # shellcheck disable=SC2086
  accept "$vkformer" perplexity run -f likely.txt $flags --json -q
  grep '"loss"' out
done | cut -c -13 | uniq | wc -l >count
[[ $(cat count) == 1 ]] || fail "windows side by side are others: $(cat out)"
grep -q '"tokens": 102' out || fail "tokens of a text: $(cat out)"
cp out apart
"$vkformer" perplexity run -c 16 --shared 4 --batch-tokens 16 --json -q <likely.txt | cmp - apart || fail "another loss of a text from a pipe"
accept "$vkformer" perplexity run -p "the quick brown fox" -n 9
grep -q "^perplexity [0-9.]* +- [0-9.]*, [0-9.]* nats a token, [0-9.]* bits a byte$" out || fail "a perplexity: $(cat out)"
grep -q "^8 tokens in 1 window" err || fail "what was scored: $(cat err)"
accept "$vkformer" perplexity run -p "the quick brown fox" --against run
grep -q "^ratio of the perplexities 1.00000 +- 0.00000; the same likeliest token 100.00 %$" out || fail "a model against itself: $(cat out)"
accept "$vkformer" perplexity run -p "the quick brown fox" --dtype f16 --against-dtype f32
grep -q "^run (f16): perplexity" out && grep -q "^run (f32): perplexity" out || fail "against another type: $(cat out)"
mkdir others
cp "$(find run -name model.safetensors | head -n 1 | xargs dirname)"/* others
sed -i 's/"q"/"swapped"/; s/"u"/"q"/; s/"swapped"/"u"/' others/tokenizer.json
refuse 1 "others makes other tokens of the text than run" "$vkformer" perplexity run -p "the quick brown fox" --against others
refuse 1 "they can share 1 to 8" "$vkformer" perplexity run -p "the quick" -c 8 --shared 9
refuse 1 "it needs one that has another before it" "$vkformer" perplexity run -p "t"
refuse 1 "fewer than --context" "$vkformer" perplexity run -p "the quick" -c 9999
refuse 1 "give a decoder" "$vkformer" perplexity "$fixtures/t5" -p "the"
# What is interrupted tells what it wrote and measured.
mkfifo text
"$vkformer" generate run -p "the" -n 1000000 --profile cut.html >text 2>err &
exec 7<text
read -rN 50 <&7
kill -INT $!
cat <&7 >/dev/null
wait $! && fail "an interrupted generation ends well"
exec 7<&-
grep -q "ended by signal 2; the text ends" err || fail "an interrupted generation says: $(cat err)"
grep -q '"name":"decoding of a token"' cut.html || fail "an interrupted generation has no profile"
printf 'the quick\n' >prompt.txt
"$vkformer" generate run -p "the quick" -n 5 --temp 0 -q </dev/null >expected
"$vkformer" generate run -f prompt.txt -n 5 --temp 0 -q </dev/null >out
cmp -s out expected || fail "-f writes another text: $(cat out)"
refuse 2 "did you mean --file?" "$vkformer" generate run --prompt-file prompt.txt
accept "$vkformer" generate run -p "the quick" --beams 2 --n-best 2 -n 3 -q
[[ $(wc -l <out) == 2 ]] || fail "--n-best: $(cat out)"
"$vkformer" generate run -p - -n 5 --temp 0 -q <prompt.txt >out
cmp -s out expected || fail "-p - writes another text: $(cat out)"
ids=$("$vkformer" tokenize run -p "the quick" | tr ' ' ,)
"$vkformer" generate run --ids "$ids" -n 5 --temp 0 -q </dev/null >out
[[ $(cut -f 2 out) == "$(cat expected)" && $(cut -f 1 out) == "$ids",* ]] || fail "--ids without its text: $(cat out)"
# Several draws of one prompt, of which the first is that without them: as text (also beyond the context, and with a
# line behind each), as JSON, as ids, and of an encoder's source.
for length in 5 40; do
  accept "$vkformer" generate run -p "the quick" -n $length --seed 7 -q
  cp out single
  accept "$vkformer" generate run -p "the quick" -n $length --seed 7 --samples 3
  grep -q "tokens in 3 texts, seed 7)" err || fail "what three texts took: $(cat err)"
  csplit -sz --suppress-matched out '/^---------------$/' '{*}' && cmp -s xx00 single || fail "the first draw: $(cat out)"
  [[ $(sha256sum xx0? | cut -d ' ' -f 1 | sort -u | wc -l) == 3 ]] || fail "three draws are not three texts: $(cat out)"
  accept "$vkformer" generate run -p "the quick" -n $length --seed 7 --num-return-sequences 3 --json -q
  for i in 0 1 2; do grep -qF "\"text\": \"$(sed -z 's/\n$//; s/\n/\\n/g' xx0$i)\"" out || fail "draw $i in JSON: $(cat out)"; done
done
accept "$vkformer" generate run -p "the quick" -n 1 --seed 7 --samples 3
grep -q "then 0.0 tokens/s (3 tokens in 3 texts" err || fail "how fast nothing but first tokens are: $(cat err)"
accept "$vkformer" generate run --ids "$ids" -n 5 --seed 7 -q
cp out single
accept "$vkformer" generate run --ids "$ids" --ids "$ids" -n 5 --seed 7 --samples 2 -q
[[ $(sort -u out | wc -l) == 4 && $(head -n 1 out) == "$(cat single)" ]] || fail "draws of ids: $(cat out)"
accept "$vkformer" generate run -p "the " --samples 2 -q -j '{"const": null}'
[[ $(cat out) == null$'\n'null ]] || fail "draws of JSON: $(cat out)"
accept "$vkformer" generate "$fixtures/t5" --ids 5,17,1 -n 5 --seed 7 --samples 3 -q
[[ $(sort -u out | wc -l) == 3 ]] || fail "draws behind an encoder: $(cat out)"
refuse 1 "3 texts were asked for (--samples" "$vkformer" generate run -p "the" --samples 3 --temp 0
refuse 1 "3 texts were asked for (--samples" "$vkformer" generate run --ids "$ids" --samples 3 --temp 0
refuse 1 "2 beams give at most 2" "$vkformer" generate run -p "the" --samples 3 --beams 2
# Texts of a grammar, whatever the model would write; where there is no end id they end with it.
form='root ::= ("fox" | "dog") "s"? " jumps"'
accept "$vkformer" generate run -p "the " --grammar "$form" -q
grep -qxE '(fox|dog)s? jumps' out || fail "not the grammar's text alone: $(cat out)"
grep "its form" err && fail "a whole text is called broken: $(cat err)"
accept "$vkformer" generate run -p "the " --grammar "$form" -q --json
grep -q '"completion": "[^t]' out && grep -q '"text": "the ' out && grep -q '"finish_reason": "stop"' out ||
  fail "a text of a form in JSON: $(cat out)"
for asked in "-p the" "-p the --beams 2" "--ids 5"; do
  # shellcheck disable=SC2086
  accept "$vkformer" generate run $asked --grammar "$form" -q --json -n 1
  grep -q '"finish_reason": "length"' out || fail "a text that is cut: $(cat out)"
  grep -q "ends before its form is complete" err || fail "a broken form goes unseen: $(cat err)"
done
accept "$vkformer" generate run -p "the quick" -n 5 --temp 0 -q --no-display-prompt
[[ "the quick$(cat out)" == "$(cat expected)" ]] || fail "--no-display-prompt: $(cat out)"
accept "$vkformer" generate run --ids 5,6 -n 2 --temp 0 -q --no-display-prompt
grep -qE "^[0-9]+(,[0-9]+)?$(printf '\t')" out || fail "--no-display-prompt with --ids: $(cat out)"
echo "$form" >form.gbnf
accept "$vkformer" generate run --ids "${ids%%,*}" --beams 3 --grammar-file form.gbnf -q
grep -qE '(fox|dog)s? jumps$' out || fail "not the grammar's ids: $(cat out)"
refuse 1 '--grammar, line 1: " is missing' "$vkformer" generate run -p the --grammar 'root ::= "a'
refuse 1 '--json-schema, /properties/a: "uniqueItems" is not supported' "$vkformer" generate run -p the \
  -j '{"properties": {"a": {"type": "array", "uniqueItems": true}}}'
refuse 1 "vocabulary lacks characters" "$vkformer" generate run -p the -j '{"type": "array"}'
refuse 2 "--json-schema" "$vkformer" generate run -p the -j '{}' --grammar-file form.gbnf
refuse 1 "no tokenizer.json" "$vkformer" generate "$fixtures/gpt2" --ids 5 -j '{}'
for seed in 1 2; do "$vkformer" generate run --ids "$ids" -n 7 -q </dev/null; done >out
[[ $(sort -u out | wc -l) == 2 ]] || fail "ids of a model without generation_config.json are not drawn: $(cat out)"
echo '{}' >run/"$(cat run/latest)"/generation_config.json
accept "$vkformer" generate run --ids "$ids" -n 7 -q
cp out first
accept "$vkformer" generate run --ids "$ids" -n 7 -q
cmp -s out first || fail "generation_config.json without do_sample draws from ids: $(cat out)"
accept "$vkformer" convert "$fixtures/llama" half --dtype bf16
grep -q "^half: llama, [0-9]* parameters, bf16, " out || fail "convert does not say what it wrote: $(cat out)"
accept "$vkformer" info half
grep -q BF16 out || fail "convert --dtype bf16: $(cat out)"
refuse 2 "--dtype q4_k_m: a folder has f32, f16 or bf16" "$vkformer" convert "$fixtures/llama" other --dtype q4_k_m
