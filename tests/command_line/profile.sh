# shellcheck shell=bash disable=SC2154
# Profiles as traces and as pages, and two of them compared. Sourced by tests/command_line.sh.

bench=("$vkformer" bench -m 1x32x2:16:16 --batch 1 --prompt 8 --tokens 4 --repetitions 3)
accept "${bench[@]}" --profile bench.json
grep -q '^training: step' err || fail "bench prints no profile of a training step"
grep -q '^\* timestamps cost' err || fail "a profile does not say what timestamps cost"
for track in forward backward optimizer; do
  grep -q "\"name\":\"training: step: $track\"" bench.json || fail "a trace has no track of $track"
done
grep -q '"name":"h.0.c_fc: matmul' bench.json || fail "slices of a trace don't name their layer"
grep -q '"name":"optimizer: adamw' bench.json || fail "the optimizer has no slices"
accept "${bench[@]}" --profile bench.html
refuse 2 '"bench.txt" does not end with .html or .json' "${bench[@]}" --profile bench.txt
refuse 2 "create the folder none first" "${bench[@]}" --profile none/bench.json
grep -q '"name":"decoding of a token"' bench.html || fail "the page has no decoding"

# One kernel of five is a tenth slower, all are a twentieth: clocks do that.
profile() {
  local kernels=
  for kernel in a b c d e; do
    local time=$1
    [[ $kernel == c ]] && time=$2
    kernels+="{\"name\": \"$kernel\", \"dispatches\": 4, \"least\": $time, \"first_half\": $time, \"second_half\": $((time + $3))},"
  done
  echo "{\"traceEvents\": [], \"vkformer\": {\"programs\": [{\"name\": \"step\", \"runs\": ${4:-8}, \"kernels\": [${kernels%,}]}]}}"
}
profile 10000 10000 50 >before.json
profile 10500 11550 50 >after.json
profile 10500 11550 900 >noisy.json
accept "$vkformer" profile --compare before.json before.json
grep -q '^0 of 5 kernels changed' out || fail "a profile differs from itself: $(cat out)"
accept "$vkformer" profile --compare before.json after.json
grep -q '^1 of 5 kernels changed' out || fail "not one kernel is named: $(cat out)"
grep -q '^step: c .* +10.0% .*slower' out || fail "the slowed kernel is not named: $(cat out)"
accept "$vkformer" profile --compare before.json noisy.json
grep -q '^0 of 5 kernels changed' out || fail "noise is taken for a change: $(cat out)"
accept "$vkformer" profile --compare before.json after.json --json
profile 10500 11550 0 1 >once.json
accept "$vkformer" profile --compare before.json once.json
grep -q '^too few runs to tell what changed: all 5 kernels were timed once' out || fail "a single run is taken for a measurement: $(cat out)"
# So it is where the other run went without timestamps.
profile 10500 11550 0 2 | sed 's/"kernels"/"device": {"runs": 1}, &/' >timed_once.json
accept "$vkformer" profile --compare before.json timed_once.json
grep -q '^too few runs to tell' out || fail "a single timed run is taken for a measurement: $(cat out)"
grep -q 'not the same work' out && fail "equal work is not seen: $(cat out)"
sed 's/"least"/"flops": 8, "bytes": 4, &/g' after.json >counted.json
sed 's/"flops": 8/"flops": 9/' counted.json >larger.json
accept "$vkformer" profile --compare counted.json larger.json
grep -q '^not the same work: 1 of 5 kernels' out || fail "nothing says that models differ: $(cat out)"
# Several profiles of the same: c takes as long in one of them now and then.
profile 10000 11000 50 >again.json
accept "$vkformer" profile --compare before.json,before.json after.json,after.json
grep -q '^1 of 5 kernels changed' out || fail "profiles that agree name no kernel: $(cat out)"
accept "$vkformer" profile --compare before.json,again.json after.json,after.json
grep -q '^0 of 5 kernels changed' out || fail "noise between profiles is taken for a change: $(cat out)"
# A busy machine: every kernel changes by another share.
sed 's/"a", "dispatches": 4, "least": 10500/"a", "dispatches": 4, "least": 12500/; s/"b", "dispatches": 4, "least": 10500/"b", "dispatches": 4, "least": 9000/
     s/"d", "dispatches": 4, "least": 10500/"d", "dispatches": 4, "least": 11900/' after.json >busy.json
accept "$vkformer" profile --compare before.json busy.json
grep -q '^0 of 5 kernels changed' out || fail "a busy machine is taken for a change: $(cat out)"
refuse 1 "is no profile" "$vkformer" profile --compare before.json small.json
refuse 1 "no kernel in common" "$vkformer" profile --compare before.json bench.json
refuse 2 "--compare" "$vkformer" profile --compare before.json
