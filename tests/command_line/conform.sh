# shellcheck shell=bash disable=SC2154
# Reports of conformance, another device's limits, and cases that run without vkformer. Sourced by tests/command_line.sh.

accept "$vkformer" conform -o add --report before.json
accept "$vkformer" conform -o add --report page.html
grep -q '<title>Conformance</title>' page.html || fail "the page of a conformance is none"
refuse 2 "--compare runs nothing and takes no --op" "$vkformer" conform --compare before.json before.json --op gelu
refuse 2 "requires --matrix" "$vkformer" conform --op gelu --single x
accept "$vkformer" conform --compare before.json before.json
grep -q ' 0 fail now, 0 no longer' out || fail "a report differs from itself: $(cat out)"
sed '0,/"verdict": "OK"/s//"verdict": "FAIL"/' before.json >after.json
refuse 1 "1 checks fail in after.json" "$vkformer" conform --compare before.json after.json
refuse 1 "is no JSON report" "$vkformer" conform --compare before.json small.json

# Within the limits of a small GPU.
"$vkformer" devices --json >here.json || fail "no devices"
sed 's/"kind": "cpu"/"kind": "integrated"/; s/"shared_memory": [0-9]*/"shared_memory": 16384/
     s/"max_workgroup_size": [0-9]*/"max_workgroup_size": 256/; s/"int64": true/"int64": false/' here.json >gpu.json
accept "$vkformer" conform -o softmax --facts gpu.json --report gpu-report.json
grep -q '"shared_memory": 16384' gpu-report.json || fail "the limits were not followed"
refuse 1 'small.json: "name" is missing' "$vkformer" conform -o add --facts small.json
for limit in subgroup_size max_workgroup_size shared_memory; do
  sed "s/\"$limit\": [0-9]*/\"$limit\": 0/" here.json >none.json
  refuse 1 "none.json: \"$limit\" must be an integer from " "$vkformer" conform -o add --facts none.json
done
sed '/"max_workgroups"/,/]/s/[0-9][0-9]*/0/' here.json >none.json
refuse 1 "max_workgroups has to be three whole numbers from 65535" "$vkformer" conform -o add --facts none.json
sed 's/"matrix_shapes": \[\]/"matrix_shapes": ["f16 16x"]/' "$fixtures/../facts/vulkan-least.json" >none.json
refuse 1 "none.json: matrix_shapes has 'f16 16x', which is not like" "$vkformer" conform -o add --facts none.json
sed 's/"kind": "cpu"/"kind": "abacus"/' here.json >other.json
refuse 1 "other.json: kind is 'abacus'" "$vkformer" conform -o add --facts other.json

# Within those of a real GPU, and within what any Vulkan device has.
for limits in "$fixtures"/../facts/{apple-m1,vulkan-least}.json; do
  accept "$vkformer" conform -p '^(matmul \[72, 100\] \[100, 48\]|attention \[2, 33, 642\]|top_k )' --facts "$limits"
done

# A case as a program of its own, which finds a wrong number.
accept "$vkformer" conform -o add --kit kit
refuse 1 "is there already" "$vkformer" conform -o add --kit kit
if cmake -S kit -B kit/build -G Ninja >log 2>&1 && cmake --build kit/build >>log 2>&1; then
  kit/build/run_case >out || fail "the kit of a right case: $(cat out)"
  printf '\0\0\200\277' | dd of=kit/expected-0.bin conv=notrunc status=none
  ! kit/build/run_case >out || fail "the kit of a wrong case: $(cat out)"
  grep -q 'should be -1 ' out || fail "the kit does not say what is wrong: $(cat out)"
else
  fail "the kit does not build: $(cat log)"
fi

# The report of a GPU keeps what was measured by the same build, on the same device and driver.
cat >measured <<'SH'
#!/bin/sh
[ "$1" = devices ] && exec cat listed.json
echo >>runs
printf 'kernel best median rate\ntile 0.5 0.5 1\n'
SH
chmod +x measured
sed 's/"memory_free": [0-9]*/"memory_free": 1/' here.json >listed.json
report() {
  accept python3 "$fixtures/../../tools/gpu-report" --tiny --vkformer ./measured --out report --only "matmul f32 64x64x64 NN"
  [[ $(wc -l <runs) == "$1" ]] || fail "not measured $1 times for a report: $(cat err)"
}
if command -v python3 >/dev/null; then
  report 1
  cp here.json listed.json  # other memory is free
  report 1
  sed 's/"driver": "/&new /' here.json >listed.json
  report 2
  grep -q "measured anew" err || fail "nothing says that a driver is another: $(cat err)"
  echo "# another build" >>measured
  report 3
fi
