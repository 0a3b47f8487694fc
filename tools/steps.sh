# shellcheck shell=bash disable=SC2030,SC2031,SC2154
# Steps that are timed and counted, shared by tools/check and tools/check-debian13; sourced, not run.
# The caller sets `logs`, the folder for each step's log.

passed=0 failed=0 skipped=0

# add_row STEP SECONDS PROCESSOR RESULT: of steps that run at the same time, processor seconds say what each costs.
add_row() {
  table+=$'\n'$(printf '%-58s %8s %10s  %s' "$@")
}
table="" && add_row step seconds processor result
table=${table#$'\n'}

# Sets `processor` to the seconds that this shell's children have taken. `times` knows them in no other shell.
count_processor() {
  local file="$logs/times-$BASHPID"
  times >"$file"
  processor=$(awk 'NR == 2 { split($1, code, "m"); split($2, kernel, "m")
    printf "%.0f", 60 * (code[1] + kernel[1]) + code[2] + kernel[2] }' "$file")
  rm "$file"
}

# step NAME COMMAND...: runs the command with its output in a log, and goes on whatever happens.
step() {
  local name=$1 log start=$SECONDS status=0 processor before
  count_processor
  before=$processor
  shift
  log="$logs/$(tr -cs 'a-zA-Z0-9\n' '-' <<<"$name").log"
  echo "== $name"
  # Not in an 'if': the command would lose its 'set -e'.
  set +e
  (set -e && "$@") >"$log" 2>&1
  status=$?
  set -e
  count_processor
  if ((status == 0)); then
    ((++passed))
    add_row "$name" $((SECONDS - start)) $((processor - before)) passed
  else
    ((++failed))
    add_row "$name" $((SECONDS - start)) $((processor - before)) "FAILED (status $status, $log)"
    tail -n 40 "$log"
  fi
}

skip() {
  ((++skipped))
  echo "== $1: SKIPPED, $2"
  add_row "$1" - - "SKIPPED: $2"
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
