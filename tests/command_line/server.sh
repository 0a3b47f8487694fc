# shellcheck shell=bash disable=SC2154,SC2034
# A server to test, and clients of it. Sourced by parts that need one.

# start MODEL FLAG...: a server on a free port, whose address goes to `url`, `host` and `port`.
start() {
  coproc SERVER { exec "$vkformer" serve --port 0 "$@" 2>log; }
  server=$SERVER_PID
  read -r url <&"${SERVER[0]}" || fail "no server: $(cat log)"
  host=${url#http://} port=${url##*:}
}
stop() {
  local status=0
  kill -TERM "$server"
  wait "$server" || status=$?
  [[ $status == 0 ]] || fail "the server ended with status $status: $(cat log)"
}
# send METHOD PATH BODY HEADER...: opens a connection, `client`, and sends a request. (Nothing but bash is needed.)
send() {
  local method=$1 path=$2 body=$3 header=
  shift 3
  for header; do header+=$'\r\n'; done
  exec {client}<>"/dev/tcp/127.0.0.1/$port"
  printf '%s %s HTTP/1.1\r\n%sConnection: close\r\nContent-Length: %s\r\n\r\n%s' "$method" "$path" \
    "$(printf '%s\r\n' "${@:-Host: $host}" "Content-Type: application/json")"$'\r\n' "${#body}" "$body" >&"$client"
}
# take_reply STATUS REQUEST: what comes from `client` goes to `reply`.
take_reply() {
  cat <&"$client" >reply
  exec {client}>&-
  grep -q "^HTTP/1.[01] $1" reply || fail "expected $1 for $2: $(cat reply)"
}
body_of_reply() { sed '1,/^\r$/d' reply; }
# ask STATUS METHOD PATH BODY HEADER...: the reply to that goes to `reply`. What is refused by its headers (401, 403) has
# no body: the server closes without having read it, and a write then ends this shell.
ask() {
  local status=$1
  shift
  send "$@"
  take_reply "$status" "$*"
}
