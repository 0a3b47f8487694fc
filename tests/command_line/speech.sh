# shellcheck shell=bash disable=SC2154,SC2034
# Whisper. Sourced by tests/command_line.sh.

accept "$vkformer" data tones --out tones --count 12 --valid 4 --test 2 --digits 2
describe_ear
speech=("$vkformer" train ear.json --speech tones/train.jsonl --vocabulary 1780 --batch-tokens 400)
accept "${speech[@]}" --iterations 4 --valid tones/valid.jsonl --out ear
grep -q "word error rate" out || fail "no score of a validation: $(cat out)"
accept "${speech[@]}" --iterations 4 --valid tones/valid.jsonl --keep-best word_accuracy --evaluate-every 2 --checkpoint-every 2 --out kept
accept "$vkformer" train --resume --out ear --iterations 6
# Half of it, and on: the same weights.
accept "${speech[@]}" --iterations 2 --checkpoint-every 2 --out half
accept "${speech[@]}" --iterations 4 --out whole
accept "$vkformer" train --resume --out half --iterations 4
cmp -s "half/$(cat half/latest)/model.safetensors" "whole/$(cat whole/latest)/model.safetensors" ||
  fail "a resumed run ends elsewhere"
recording=tones/train/000003.wav
for more in "" "--beams 1" "--no-times" "--format srt" "--format vtt" "--json" "--dtype f16" "--prompt 5"; do
  # shellcheck disable=SC2086
  accept "$vkformer" transcribe ear "$recording" $more
done
# Times of words: of each segment in JSON, in subtitles one for each.
accept "$vkformer" transcribe ear "$recording" --words --json
grep -q '"words":\[{"end":[0-9.]*,"probability":[0-9.e-]*,"start":[0-9.]*,"word":"' out || fail "no times of words: $(cat out)"
words=$(grep -o '"word":' out | wc -l)
accept "$vkformer" transcribe ear "$recording" --words --format vtt
[[ $(grep -c -- ' --> ' out) == "$words" ]] || fail "not a subtitle for each of $words words: $(cat out)"
refuse 2 "give --words with --json" "$vkformer" transcribe ear "$recording" --words
cp -r "ear/$(cat ear/latest)" headless
for heads in '[[1, 0]]' '[[0, 3]]' '[0]' '[]'; do
  echo "{\"alignment_heads\": $heads}" >headless/generation_config.json
  refuse 1 '"alignment_heads"' "$vkformer" transcribe headless "$recording"
done
accept "$vkformer" transcribe ear "$recording" tones/test/*.wav --out texts
[[ $(find texts -name '*.txt' | wc -l) == 3 ]] || fail "a file for each recording: $(ls texts)"
# A line a recording, which can be scored; where nothing is said it is empty. (Nothing but times is left to that model.)
cp -r "ear/$(cat ear/latest)" mute
echo "{\"suppress_tokens\": [$(seq -s , 0 264)]}" >mute/generation_config.json
accept "$vkformer" transcribe ear tones/test/*.wav --per-file
[[ $(wc -l <out) == 2 && $(grep -c . out) == 2 ]] || fail "a line for each recording: $(cat out)"
cp out heard.txt
printf '1 2\n3 4\n' >right.txt
accept "$vkformer" score --metric wer right.txt heard.txt
accept "$vkformer" transcribe mute tones/test/*.wav --per-file
[[ $(wc -l <out) == 2 && $(grep -c . out) == 0 ]] || fail "silence is no empty line: $(cat out)"
accept "$vkformer" transcribe ear tones/test/*.wav --per-file --json
[[ $(grep -c '"file":.*"language":.*"segments":\[{"begin":.*"text":' out) == 2 ]] || fail "an object for each recording: $(cat out)"
accept "$vkformer" transcribe mute "$recording" --per-file --json
grep -q '"file":.*"segments":\[\],"text":""' out || fail "an object of silence: $(cat out)"
accept "$vkformer" transcribe mute tones/test/*.wav --json
[[ $(grep -c '"begin":0.0,"end":[0-9.]*,"file":.*"text":""' out) == 2 ]] || fail "silence leaves no trace: $(cat out)"
refuse 2 "--format srt excludes --json" "$vkformer" transcribe ear "$recording" --format srt --json
refuse 2 "--format vtt excludes --per-file" "$vkformer" transcribe ear "$recording" --format vtt --per-file
accept "$vkformer" train --from ear --speech tones/train.jsonl --batch-tokens 400 --iterations 1 --lora r=2 --out adapter
accept "$vkformer" transcribe ear "$recording" --adapter adapter
needs_stdout "$vkformer" transcribe ear "$recording" --format vtt
refuse 1 "none.wav" "$vkformer" transcribe ear none.wav
refuse 1 "text.txt" "$vkformer" transcribe ear text.txt
refuse 1 "English alone" "$vkformer" transcribe ear "$recording" --language de
refuse 1 "English alone" "$vkformer" transcribe ear "$recording" --translate
refuse 1 "give --out FOLDER" "$vkformer" transcribe ear "$recording" "$recording" --format srt
refuse 1 "needs a model that reads sound" "$vkformer" transcribe "$fixtures/gpt2" "$recording"
refuse 1 "does not train a model of type gpt2; --data and --prompts do" "$vkformer" train small.json --speech tones/train.jsonl --out none
refuse 1 "does not train a model of type whisper; --speech does" "$vkformer" train ear.json --pairs text.txt text.txt --out none
refuse 1 "two of the recordings are called 000003" "$vkformer" transcribe ear "$recording" "$recording" --out texts
refuse 1 "reads sound, not text; use transcribe" "$vkformer" generate ear -p "one"
refuse 1 "reads sound, not text; use transcribe" "$vkformer" logits ear --ids 5 --out none.safetensors
refuse 1 "reads sound, not text; use transcribe" "$vkformer" attention ear -p "one" --target "one" --out none.html
accept "$vkformer" info ear
grep -q "a source of 100 positions" out || fail "info plans another encoder: $(cat out)"
refuse 1 "give 1762 or more" "$vkformer" train ear.json --speech tones/train.jsonl --vocabulary 1000 --out none
refuse 1 "use transcribe" "$vkformer" translate ear -p "one"
printf 'none.wav\tone\n' >missing.tsv
refuse 1 "missing.tsv:1: there is no audio file" "$vkformer" train ear.json --speech missing.tsv --out none
printf 'no tab\n' >flat.tsv
refuse 1 "flat.tsv:1: no tab" "$vkformer" train ear.json --speech flat.tsv --out none
printf '%s\t%s\n' "$recording" "$(seq -s ' ' 40)" >long.tsv
refuse 1 "long.tsv:1: .* tokens, at most 16 are taken" "$vkformer" train ear.json --speech long.tsv --vocabulary 1780 --out none
[[ -e none ]] && fail "a refused run left a folder behind"
