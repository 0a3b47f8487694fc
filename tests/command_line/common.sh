# shellcheck shell=bash
# shellcheck disable=SC2034
# A temporary folder to work in, and what tests of the command have in common. Sourced with the command as $1.

set -uo pipefail
vkformer=$(realpath "$1")
fixtures=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../fixtures")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failures=0

fail() {
  echo "FAIL: $1"
  failures=$((failures + 1))
}

# refuse STATUS WORD COMMAND...: the command must end with STATUS and one line on stderr that contains WORD, beside the
# device's and those that tell the progress of a slow command.
refuse() {
  local want=$1 word=$2 status=0
  shift 2
  "$@" >out 2>err </dev/null || status=$?
  local lines
  lines=$(grep -vc '^device \|^\.\.\. ' err)
  if [[ $status != "$want" ]]; then
    fail "status $status instead of $want: $*: $(cat err)"
  elif [[ $lines != 1 ]] || ! grep -q -- "$word" err; then
    fail "expected one line with '$word': $*: $(cat err)"
  else
    echo "ok: $(grep -v '^device ' err)"
  fi
}

accept() {
  "$@" >out 2>err </dev/null || fail "status $?: $*: $(cat err)"
}

# needs_stdout COMMAND...: results that can't be written are an error, and no verdict on anything else.
needs_stdout() {
  local target status
  for target in /dev/full closed; do
    status=0
    if [[ $target == closed ]]; then
      "$@" >&- 2>err </dev/null || status=$?
    else
      "$@" >$target 2>err </dev/null || status=$?
    fi
    [[ $status == 1 ]] && grep -q "can't be written to stdout" err || fail "status $status, stdout $target: $*: $(cat err)"
  done
}

# answers_on_the_way LINES COMMAND...: of standard input that stays open the command answers a first piece; of a longer
# one it answers the same as of a file. LINES, a file, is more than a piece.
answers_on_the_way() {
  local lines=$1 first="" pid
  shift
  "$@" <"$lines" >of_file 2>err || fail "status $?: $*: $(cat err)"
  rm -f question answer
  mkfifo question answer
  "$@" <question >answer 2>err &
  pid=$!
  exec 3>question 4<answer
  cat "$lines" >&3
  read -r -t 60 -u 4 first || fail "nothing is written while standard input is open: $*"
  exec 3>&-
  { echo "$first" && cat <&4; } >out
  exec 4<&-
  wait $pid || fail "status $?: $*: $(cat err)"
  cmp -s out of_file || fail "a pipe is answered unlike a file: $*: $(diff out of_file | head -n 5)"
}

# keeps_what_it_wrote COUNT COMMAND...: ended by a signal, the command has written whole pieces and tells how many lines
# of COUNT. Its standard input is a file; what it writes of it is more than a pipe holds, so that it can't be done.
keeps_what_it_wrote() {
  local count=$1 lines=$2 first="" pid status=0 written
  shift 2
  rm -f answer
  mkfifo answer
  "$@" <"$lines" >answer 2>err &
  pid=$!
  exec 4<answer
  read -r -t 60 -u 4 first || fail "nothing is written before all is done: $*"
  kill -TERM $pid
  { echo "$first" && cat <&4; } >out
  exec 4<&-
  wait $pid || status=$?
  written=$(wc -l <out)
  ((status == 1 && written < count)) || fail "status $status, $written lines of $count: $*: $(cat err)"
  grep -q "ended by signal 15; written: $written of $count lines" err || fail "$written lines were written: $(cat err)"
}

# same RUN KEY...: the last evaluation in RUN/metrics.jsonl and what `evaluate --json` wrote to `out` have the same
# numbers.
same() {
  local run=$1
  shift
  python3 - "$run/metrics.jsonl" out "$@" <<'PY' || fail "evaluate differs from the last evaluation of $run: $(cat out)"
import json, sys
last = [json.loads(line) for line in open(sys.argv[1])][-1]
got = json.load(open(sys.argv[2]))
for key in sys.argv[3:]:
    assert got["loss" if key == "validation_loss" else key] == last[key], key
PY
}

# describe_labels: `label.json`, of a tiny BERT, and `rows.jsonl`, of two labels.
describe_labels() {
  cat >label.json <<'JSON'
{"model_type": "bert", "max_position_embeddings": 12, "hidden_size": 24, "num_hidden_layers": 1,
 "num_attention_heads": 3, "intermediate_size": 30}
JSON
  for i in $(seq 20); do
    printf '{"text": "the cat and %d", "label": "cat"}\n{"text": "the dog and %d", "label": "dog"}\n' "$i" "$i"
  done >rows.jsonl
}
# describe_ear: `ear.json`, of a tiny Whisper.
describe_ear() {
  cat >ear.json <<'JSON'
{"model_type": "whisper", "d_model": 24, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 3,
 "decoder_attention_heads": 3, "encoder_ffn_dim": 24, "decoder_ffn_dim": 24, "num_mel_bins": 16,
 "max_source_positions": 100, "max_target_positions": 16}
JSON
}
# make_ear: such a model that has learnt next to nothing, `ear`, and recordings, `tones`.
make_ear() {
  describe_ear
  accept "$vkformer" data tones --out tones --count 2 --valid 1 --test 1 --digits 2
  accept "$vkformer" train ear.json --speech tones/train.jsonl --vocabulary 1780 --batch-tokens 400 --iterations 1 --out ear
}
