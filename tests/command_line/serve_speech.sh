# shellcheck shell=bash disable=SC2154,SC2034
# A server of Whisper and its clients. Sourced by tests/command_line.sh.

# shellcheck source=tests/command_line/server.sh
source "$parts_folder/server.sh"
make_ear
recording=tones/train/000001.wav

refuse 2 "for models that write text" "$vkformer" serve ear --temp 0.5
refuse 2 "for models that read text" "$vkformer" serve ear --context 16
refuse 2 "for models that read sound" "$vkformer" serve "$fixtures/gpt2" --beams 2

# form FIELD=VALUE...: makes the form `body`, where a value "@FILE" is that file's bytes.
form() {
  local field value
  for field; do
    value=${field#*=}
    printf -- '--split\r\nContent-Disposition: form-data; name="%s"' "${field%%=*}"
    if [[ $value == @* ]]; then
      printf '; filename="%s"\r\nContent-Type: audio/wav\r\n\r\n' "${value#@}"
      cat "${value#@}"
    else
      printf '\r\n\r\n%s' "$value"
    fi
    printf '\r\n'
  done >body
  printf -- '--split--\r\n' >>body
}
# send_form PATH HEADER...: opens a connection, `client`, and sends the form.
send_form() {
  local path=$1
  shift
  exec {client}<>"/dev/tcp/127.0.0.1/$port"
  {
    printf 'POST %s HTTP/1.1\r\n' "$path"
    printf '%s\r\n' "${@:-Host: $host}" "Content-Type: multipart/form-data; boundary=split" "Connection: close" \
      "Content-Length: $(wc -c <body)" ""
    cat body
  } >&"$client"
}
# ask_form STATUS PATH HEADER...: the reply to that goes to `reply`.
ask_form() {
  local status=$1
  shift
  send_form "$@"
  take_reply "$status" "$*"
}
transcriptions=/v1/audio/transcriptions

start ear --beams 2
ask 200 GET /health ""
ask 200 GET /v1/models ""
grep -q '"id":"ear"' reply || fail "models: $(cat reply)"
ask 200 GET / ""
grep -q 'type="file"' reply || fail "no page: $(cat reply)"

# The same as by the command, in every format.
for format in text srt vtt; do
  accept "$vkformer" transcribe ear "$recording" --beams 2 --format $format --quiet
  form "file=@$recording" response_format=$format
  ask_form 200 $transcriptions
  # A text is one line here.
  [[ $(body_of_reply | tr -d '\n') == "$(tr -d '\n' <out)" ]] || fail "$format: $(cat reply out)"
  grep -i '^content-type' reply | tr -d '\r'
done >types
[[ $(tr '\n' ' ' <types) == *text/plain*application/x-subrip*text/vtt* ]] || fail "types of formats: $(cat types)"
accept "$vkformer" transcribe ear "$recording" --beams 2 --quiet
form model=whisper-1 "file=@$recording" language= temperature=0
ask_form 200 /audio/transcriptions
grep -qF "{\"text\":\"$(cat out)\"}" reply || fail "a text: $(cat reply out)"
form "file=@$recording" response_format=verbose_json "timestamp_granularities[]=segment" "timestamp_granularities[]=word" stream=false
ask_form 200 $transcriptions
for key in '"task":"transcribe"' '"language":"en"' '"duration":0.8' '"segments":\[{"avg_logprob":-' '"no_speech_prob":' '"seek":0,"start":0' '"tokens":\[' '"words":\[{"end":'; do
  grep -q "$key" reply || fail "no $key: $(cat reply)"
done
form "file=@$recording" prompt="5 6" temperature=0.8
ask_form 200 $transcriptions
cp reply drawn
ask_form 200 $transcriptions
[[ $(body_of_reply) == "$(tail -n 1 drawn)" ]] || fail "equal requests, unlike answers: $(cat reply drawn)"
ask 200 GET /metrics ""
grep -q '^vkformer:requests_total 7' reply && grep -q '^vkformer:audio_seconds_total 5.8' reply || fail "metrics: $(cat reply)"

# What is wrong gets its status and one line.
refuse_form() {
  form "${@:2}"
  ask_form 400 $transcriptions
  grep -q "$1" reply || fail "expected '$1': $(cat reply)"
}
refuse_form 'no \\"file\\"' model=whisper-1
refuse_form "text.txt: it is no audio" "file=@text.txt"
refuse_form "the form has .*file.* more than once" "file=@$recording" "file=@$recording"
refuse_form "stream" "file=@$recording" stream=true
refuse_form "need .*response_format.* verbose_json" "file=@$recording" "timestamp_granularities[]=word"
refuse_form "response_format" "file=@$recording" response_format=diarized_json
refuse_form "a number from 0 to 1" "file=@$recording" temperature=2
refuse_form "English alone" "file=@$recording" language=de
refuse_form "is not UTF-8" "file=@$recording" prompt=$'\xff'
head -c 9000 "$recording" >cut.wav
refuse_form "cut.wav: it ends after" "file=@cut.wav"
form "file=@$recording"
ask_form 400 /v1/audio/translations
grep -q "can't translate" reply || fail "a translation: $(cat reply)"
form "file=@$recording"
truncate -s -9 body
ask_form 400 $transcriptions
grep -q "can't be read to its end" reply || fail "a form without its end: $(cat reply)"
form "file=@$recording"
LC_ALL=C sed -i 's/form-data; name="file"; /form-data; /' body
ask_form 400 $transcriptions
ask 415 POST $transcriptions '{}'
ask 404 POST /v1/chat/completions '{"messages": []}'
grep -q "asked at $transcriptions" reply || fail "where speech is: $(cat reply)"

# Pages of other sites may send forms, too.
form "file=@$recording"
ask_form 403 $transcriptions "Host: $host" "Origin: https://evil.example"
ask_form 403 $transcriptions "Host: $host" "Origin: null"
ask_form 403 $transcriptions "Host: evil.example:$port"
ask_form 200 $transcriptions "Host: $host" "Origin: $url"
exec {client}<>"/dev/tcp/127.0.0.1/$port"
{ printf 'POST %s HTTP/1.0\r\nHost: %s\r\nContent-Type: multipart/form-data; boundary=split\r\nContent-Length: 70000000\r\n\r\n' "$transcriptions" "$host" &&
  head -c 70000000 /dev/zero; } >&"$client"
take_reply 413 "70 MB"
stop

# Who waits, who is told that too many do, and who goes away. A Sun audio file of any length is hours of silence.
{ printf '.snd\0\0\0\x18\xff\xff\xff\xff\0\0\0\x01\0\0\x1f\x40\0\0\0\x01' && head -c 16000000 /dev/zero; } >long.au
# until_counted KIND NUMBER: so many recordings are being written down (processing) or wait (deferred).
until_counted() {
  : >reply
  until grep -q "^vkformer:requests_$1 $2" reply; do ask 200 GET /metrics ""; done
}
start ear --waiting 1 --beams 1 --quiet
form "file=@long.au"
send_form $transcriptions
written=$client
until_counted processing 1
form "file=@$recording"
send_form $transcriptions
waiting=$client
until_counted deferred 1
ask_form 429 $transcriptions
exec {waiting}>&-
until_counted deferred 0
send_form $transcriptions
waiting=$client
until_counted deferred 1
exec {written}>&-
client=$waiting
take_reply 200 "who waited"
# An end within a recording says so.
form "file=@long.au"
send_form $transcriptions
written=$client
until_counted processing 1
stop
client=$written
take_reply 500 "a recording that the server's end cut"
grep -q "the server ends" reply || fail "why it was cut: $(cat reply)"
[[ $(grep -vc '^\.\.\. ' log) == 0 ]] || fail "--quiet: $(cat log)"
