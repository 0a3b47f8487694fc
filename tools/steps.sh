# shellcheck shell=bash disable=SC2030,SC2031,SC2154
# Steps that are timed and counted, shared by tools/check and tools/check-debian13; sourced, not run.
# The caller sets `logs`, the folder for each step's log.

passed=0 failed=0 skipped=0
table=$(printf '%-58s %8s  %s' step seconds result)

add_row() {
  table+=$'\n'$(printf '%-58s %8s  %s' "$1" "$2" "$3")
}

# step NAME COMMAND...: runs the command with its output in a log, and goes on whatever happens.
step() {
  local name=$1 log start=$SECONDS status=0
  shift
  log="$logs/$(tr -cs 'a-zA-Z0-9\n' '-' <<<"$name").log"
  echo "== $name"
  # Not in an 'if': the command would lose its 'set -e'.
  set +e
  (set -e && "$@") >"$log" 2>&1
  status=$?
  set -e
  if ((status == 0)); then
    ((++passed))
    add_row "$name" $((SECONDS - start)) passed
  else
    ((++failed))
    add_row "$name" $((SECONDS - start)) "FAILED (status $status, $log)"
    tail -n 40 "$log"
  fi
}

skip() {
  ((++skipped))
  echo "== $1: SKIPPED, $2"
  add_row "$1" - "SKIPPED: $2"
}

# at_once FUNCTION NAME...: runs `FUNCTION NAME`, which makes steps, for all names at the same time, but for no more than
# cores and one: the next name begins when another's steps are over. The subshells hand their counts and rows back in files.
at_once() {
  local steps=$1 name more rows free=$(($(nproc) + 1))
  shift
  for name; do
    if ((free-- <= 0)); then wait -n || true; fi
    (
      passed=0 failed=0 skipped=0 table=""
      "$steps" "$name"
      printf '%s\n' "$passed $failed $skipped" "$table" >"$logs/$name.result"
    ) &
  done
  wait
  for name; do
    {
      read -r -a more
      rows=$(cat)
    } <"$logs/$name.result"
    ((passed += more[0], failed += more[1], skipped += more[2])) || true
    table+=$rows
  done
}

# Prints the table; the status is 1 when a step failed.
summary() {
  echo
  echo "$table"
  echo
  if ((skipped)); then echo "$skipped SKIPPED, see the table"; fi
  echo "$passed passed, $failed failed"
  ((failed == 0))
}
