# shellcheck shell=bash disable=SC2154,SC2034
# Texts, vocabularies, scores and corpora. Sourced by tests/command_line.sh.

# Vocabularies.
refuse 2 "plain" "$vkformer" tokens text.txt --layout plain --out tokens
refuse 1 "broken.txt:1: not UTF-8: byte 4" "$vkformer" tokens broken.txt --out tokens
refuse 1 "empty" "$vkformer" tokens empty.txt --out tokens
refuse 1 "size of 30 or more" "$vkformer" tokens text.txt --size 20 --out tokens
accept "$vkformer" tokens text.txt --kind byte-bpe --size 270 --out tokens
refuse 1 "there already" "$vkformer" tokens text.txt --out tokens
head -n 2 text.txt | "$vkformer" encode tokens >out || fail "encode"
[[ $(wc -l <out) == 2 && $(grep -cE '^[0-9]+( [0-9]+)*$' out) == 2 ]] || fail "encode: $(cat out)"
accept "$vkformer" encode tokens -p "the fox" --json
grep -q '"ids":\[.*"tokens":\["the","Ġ"' out || fail "encode --json: $(cat out)"
refuse 1 "tokenizer.json" "$vkformer" encode "$fixtures/gpt2" -p "the"
# And back.
head -n 3 text.txt | "$vkformer" tokenize tokens | "$vkformer" detokenize tokens >out || fail "detokenize"
head -n 3 text.txt | cmp -s - out || fail "tokens are another text than they were made of: $(cat out)"
refuse 2 "excludes" "$vkformer" encode tokens none.txt -p "the fox"
refuse 2 "excludes" "$vkformer" decode tokens none.txt --ids 1
accept "$vkformer" decode tokens --ids "$("$vkformer" encode tokens -p "<|endoftext|>")" --special
[[ $(cat out) == "<|endoftext|>" ]] || fail "decode --special: $(cat out)"
refuse 1 "--ids: the tokenizer has 270 tokens and none with the id 270" "$vkformer" decode tokens --ids 3,270
printf 'the\n\nfox\n' >gap.txt
"$vkformer" encode tokens <gap.txt | "$vkformer" decode tokens | cmp -s - gap.txt || fail "an empty line does not come back"
refuse 1 "is not a list of token ids" "$vkformer" decode tokens --ids 3,x
# Token files give the same run as the text they were made of.
refuse 2 "standard input" "$vkformer" encode tokens --out tokens.safetensors
refuse 2 "such a name" "$vkformer" encode tokens text.txt --out tokens.bin
accept "$vkformer" encode tokens text.txt --out tokens.safetensors
refuse 2 "needs the --tokenizer" "${train[@]:0:3}" --data tokens.safetensors --out run
refuse 1 "another tokenizer" "${train[@]:0:3}" --data tokens.safetensors --tokenizer "$fixtures/tokenizers/gpt2" --out run
refuse 1 '"ids"' "${train[@]:0:3}" --data "$fixtures/gpt2/model.safetensors" --tokenizer tokens --out run
printf 'abc' >odd.bin
refuse 1 "middle of one" "${train[@]:0:3}" --data odd.bin --tokenizer tokens --out run
for data in text.txt tokens.safetensors; do
  accept "${train[@]:0:3}" --data $data --tokenizer tokens --epochs 1 --batch 8 --out "of-$data" --evaluate-every 100
  grep -q "bits a byte" out || fail "no bits a byte: $(cat out)"
done
# Bits a byte are of what is validated on: here two bytes a character, in a text that else has one.
{ head -c 900 text.txt; for _ in $(seq 100); do printf 'ж'; done; } >mixed.txt
accept "${train[@]:0:3}" --data mixed.txt --iterations 1 --batch 2 --warmup 1 --out mixed
sed -n 's/.*"bits_per_byte":\([0-9.]*\).*"validation_loss":\([0-9.]*\).*/\1 \2/p' mixed/metrics.jsonl |
  awk '{ d = $1 * 2 * log(2) / $2 - 1; ok += d * d < 1e-8 } END { exit ok == 0 || ok < NR }' ||
  fail "bits a byte: $(cat mixed/metrics.jsonl)"
# A mark of byte order is no text.
{ printf '\xef\xbb\xbf'; cat text.txt; } >marked.txt
accept "$vkformer" encode tokens marked.txt --out marked.safetensors
cmp -s tokens.safetensors marked.safetensors || fail "a byte order mark has tokens"
cmp -s of-*/checkpoint-*/model.safetensors || fail "a token file trains another model than its text"
accept "${train[@]:0:5}" --batch 2 --out short --iterations 1000000 --minutes 0.0001
grep -q "ended at iteration 1: 0.0001 minutes are over" err || fail "--minutes: $(cat err)"
grep -q "tokens/s; [0-9.]* % of that time outside the device" out || fail "no speed: $(cat out)"

# Texts.
refuse 1 "missing.txt" "$vkformer" train small.json --data missing.txt --out run
refuse 1 "empty" "$vkformer" train small.json --data empty.txt --out run
refuse 1 "broken.txt is not UTF-8: byte 3" "$vkformer" train small.json --data broken.txt --out run
refuse 1 "context" "$vkformer" train small.json --data short.txt --out run
refuse 1 '17 is more than the model.s 16, "n_positions" in its config' "${train[@]}" --out run --context 17 --set n_positions=16
[[ -e run ]] && fail "a refused run left a folder behind"

# Scores: pairs of lines in UTF-8, of which at most one file is standard input.
printf 'abc\n\xff\xfe\n' >broken_line.txt
accept "$vkformer" score --metric bleu,chrf,exact,labels text.txt text.txt
grep -q "^BLEU = 100.00 100.0/100.0/100.0/100.0 (BP = 1.000 ratio = 1.000 hyp_len = 540 ref_len = 540)$" out ||
  fail "score: $(cat out)"
cp text.txt copy.txt
"$vkformer" score --json text.txt <copy.txt >out || fail "score does not read standard input"
grep -q '"score": 100' out || fail "score --json: $(cat out)"
refuse 1 "text.txt has 60 lines and short.txt has 1" "$vkformer" score text.txt short.txt
refuse 1 "empty" "$vkformer" score text.txt empty.txt
refuse 1 "standard input is empty" "$vkformer" score text.txt
refuse 1 "broken_line.txt:2: not UTF-8" "$vkformer" score text.txt broken_line.txt
refuse 1 "No such file" "$vkformer" score none.txt text.txt
refuse 2 "standard input" "$vkformer" score -
printf 'the cat sat\n\nÄrzte\n' >said.txt
printf 'The cat\nno\närzte\n' >heard.txt
accept "$vkformer" score --metric wer,cer said.txt heard.txt
grep -q "^WER = 100.00 (2 substitutions, 1 deletions, 1 insertions; 4 words in the references)$" out || fail "wer: $(cat out)"
grep -q "^CER = 50.00 (2 substitutions, 4 deletions, 2 insertions; 16 characters in the references)$" out || fail "cer: $(cat out)"
accept "$vkformer" score --metric wer -l --json said.txt heard.txt
tr -d ' \n' <out | grep -q '"lower_case":true,"wer":{"deletions":1,"insertions":1,"score":50.0,"substitutions":0,"words":4}' ||
  fail "wer --json: $(cat out)"
refuse 2 "nonsense" "$vkformer" score --metric nonsense text.txt text.txt

# Corpora.
refuse 1 "text.txt/z: Not a directory" "$vkformer" data numbers en de --to 999 --out text.txt/z
refuse 2 "two languages" "$vkformer" data numbers en en --out numbers
refuse 2 "too few" "$vkformer" data numbers en de --pairs 5 --out numbers
refuse 1 'language "gl"; it has them for en' env LC_ALL=de_DE.UTF-8 "$vkformer" data numbers en gl --out numbers
refuse 1 'no words for .* "su"' "$vkformer" data numbers en su --to 999999999999999 --pairs 200 --out numbers
compgen -G "numbers/*" >left && fail "a corpus that was refused left files behind: $(cat left)"
"$vkformer" data numbers en de --to 999 --out numbers >/dev/full 2>err && fail "what to do next was not written, and nothing says so"
refuse 1 "numbers/train.en is there already" "$vkformer" data numbers en de --to 999 --out numbers
rm -r numbers
accept "$vkformer" data numbers en de --to 999 --out numbers
grep -q "800 pairs to train on, 100 for validation, 100 for test: vkformer train .* --pairs numbers/train.en numbers/train.de" out ||
  fail "data numbers did not say how to train: $(cat out)"
[[ $(cat numbers/{train,valid,test}.de | sort -u | wc -l) == 1000 ]] || fail "numbers are missing or twice: $(wc -l numbers/*)"
[[ $(paste numbers/train.en numbers/train.de | sed -n 22p) == "twenty-one	einundzwanzig" ]] || fail "the pairs don't match"

# Recordings of a telephone's keys.
tones=("$vkformer" data tones --count 20 --valid 3 --test 4 --out)
refuse 2 "digits" "${tones[@]}" tones --digits 0
refuse 2 "count" "$vkformer" data tones --count 0 --out tones
refuse 2 "valid" "$vkformer" data tones --valid -1 --out tones
refuse 2 "seed" "${tones[@]}" tones --seed x
refuse 1 "text.txt is there already and is no empty folder" "${tones[@]}" text.txt
refuse 1 "numbers is there already and is no empty folder" "${tones[@]}" numbers
refuse 1 "text.txt/tones: Not a directory" "${tones[@]}" text.txt/tones
[[ -e tones ]] && fail "a corpus that was refused left files behind: $(ls tones)"
mkdir tones # an empty one will do
accept "${tones[@]}" tones
grep -q "^20 recordings to train on in tones/train.jsonl, 3 for validation in tones/valid.jsonl, 4 for test in tones/test.jsonl: vkformer train " out ||
  fail "data tones: $(cat out)"
refuse 1 "tones is there already" "${tones[@]}" tones
[[ $(cat tones/*.jsonl | wc -l) == 27 && $(find tones -name '*.wav' | wc -l) == 27 ]] || fail "recordings: $(find tones)"
grep -vqE '^\{"audio": "(train|valid|test)/[0-9]{6}\.wav", "text": "[0-9]( [0-9]){0,5}"\}$' tones/*.jsonl && fail "rows: $(cat tones/*.jsonl)"
for part in train valid test; do
  diff <(cut -d '"' -f 4 tones/$part.jsonl) <(cd tones && find $part -name '*.wav' | sort) || fail "rows of $part name other files"
done
[[ $(cat tones/*.jsonl | cut -d '"' -f 8 | sort -u | wc -l) == 27 ]] || fail "a text is twice: $(cat tones/*.jsonl)"
accept "${tones[@]}" again/tones
diff -r tones again/tones || fail "the same seed writes other files"
accept "${tones[@]}" others --seed 2
cmp -s tones/train.jsonl others/train.jsonl && fail "another seed writes the same texts"
