# shellcheck shell=bash disable=SC2154
# What drivers say of pipelines, and the judgement of reports. Sourced by tests/command_line.sh.

refuse 1 "reference has no pipelines" "$vkformer" pipelines --device reference
refuse 2 "neither a folder" "$vkformer" pipelines nonsense
refuse 2 "--judge" "$vkformer" pipelines --allowed small.json
refuse 1 "text.txt: not valid JSON" "$vkformer" pipelines --judge text.txt
refuse 1 "is no report" "$vkformer" pipelines --judge small.json
accept "$vkformer" pipelines 1x32x2:16:16 --batch 1 --prompt 8 --report chip.json
grep -q 'chosen by models, 0 failed' out || fail "pipelines prints no total: $(tail -n 1 out)"
refuse 2 "models excludes --judge" "$vkformer" pipelines 1x32x2:16:16 --judge chip.json
accept "$vkformer" pipelines --judge chip.json
grep -q '^| matmul_' out || fail "--judge prints no table"
refuse 1 "text.txt: not valid JSON" "$vkformer" pipelines --judge chip.json --allowed text.txt
echo '{"pipelines": [{}]}' >odd.json
refuse 1 'odd.json, pipelines.0.: "kernel" is missing' "$vkformer" pipelines --judge odd.json
echo '{"pipelines": "x"}' >odd.json
refuse 1 'odd.json: "pipelines" must be an array' "$vkformer" pipelines --judge odd.json
echo '{"failed": 0, "run": "r", "driver": "d", "pipelines": [{"kernel": "matmul_tile", "variant": "f32", "constants": ["x"]}]}' >odd.json
refuse 1 'odd.json, pipelines.0.: "constants" must be an array of numbers' "$vkformer" conform --matrix odd.json
echo '{"failed": 0, "run": "r", "driver": "d", "pipelines": []}' >one.json
refuse 1 "more (! in the table)" "$vkformer" conform --matrix one.json
(($(wc -c <err) < 1000)) || fail "a long line: $(cat err)"
grep -qE '^matmul_tile .* 0 !' out || fail "no mark of what is not proved: $(cat out)"
refuse 2 "the file is there, and belongs to what this command reads" "$vkformer" pipelines --facts chip.json --report chip.json
refuse 2 "is too large" "$vkformer" pipelines 1x32x2:16:16 --prompt 18446744073709551616

# A report of a driver that gives up, is slow, and spills.
sed 's/"failure": ""/"failure": "no memory"/' chip.json >failed.json
refuse 1 "faults in the pipelines of 1 device" "$vkformer" pipelines --judge failed.json
refuse 1 "faults in the pipelines of 1 device" "$vkformer" pipelines --judge chip.json --slow 0
spilled() {
  cat >"$1" <<JSON
{"pipelines": [{"kernel": "matmul_tile", "variant": "f32", "constants": [1], "subgroup_size": 0, "thread_seconds": 0, "failure": "",
 "chosen": $2, "code": [{"subgroup_size": 32, "statistics": {"Spill count": 3}}]}]}
JSON
}
spilled chosen.json true
spilled other.json false
echo '{"chosen": {"matmul_tile/f32": 1}, "other": {"matmul_tile/f32": 1}}' >allowed.json
refuse 1 "1 fault in the pipelines of 1 device" "$vkformer" pipelines --judge chosen.json --allowed allowed.json
refuse 1 "1 fault in the pipelines of 1 device" "$vkformer" pipelines --judge other.json
accept "$vkformer" pipelines --judge other.json --allowed allowed.json

# Budgets: a line for each excess, and for a driver that does not tell; of the kernels that models choose.
report() {
  cat <<JSON
{"pipelines": [{"kernel": "matmul_tile", "variant": "f32", "constants": [1, 2], "subgroup_size": 0, "thread_seconds": 0, "failure": "",
 "chosen": $1, "code": [{"subgroup_size": 32, "statistics": {"VGPRs": 130, "Code size": 4000, "Subgroups per SIMD": 6}}]}]}
JSON
}
report true >taken.json
report false >left.json
accept "$vkformer" pipelines --judge taken.json --max-registers 130 --max-code 4000 --min-resident 6
refuse 1 "3 faults" "$vkformer" pipelines --judge taken.json --max-registers 128 --max-code 3999 --min-resident 7
grep -q '^taken: matmul_tile/f32/1,2: 130 registers, the budget is at most 128$' out || fail "no excess is named: $(cat out)"
grep -q '^taken: matmul_tile/f32/1,2: 6 subgroups resident, the budget is at least 7$' out || fail "no occupancy: $(cat out)"
accept "$vkformer" pipelines --judge left.json --max-registers 1
refuse 1 "1 fault " "$vkformer" pipelines --judge taken.json --max-spills 0
grep -q 'does not tell registers spilled, so the budget of 0 is unproved' out || fail "silence passes for no spills: $(cat out)"

# Modules of one's own; all that a driver says, which for software drivers is nothing.
refuse 1 "is no SPIR-V module" "$vkformer" pipelines --spirv text.txt
printf '\x03\x02\x23\x07broken' >broken.spv
refuse 1 "is no SPIR-V module" "$vkformer" pipelines --spirv broken.spv
accept "$vkformer" pipelines 1x32x2:16:16 --batch 0 --prompt 8 --json
grep -q '"figures": {' out || fail "--json has no figures"
grep -q '^no statistics: this driver has none' err || fail "silence of the driver is not told: $(cat err)"

# What does not fit into the device is refused before the driver sees it.
printf '#version 460\nlayout(local_size_x = 64) in;\nshared float held[%s];\nvoid main() { held[gl_LocalInvocationIndex] = 0; }\n' 3000000 >large.comp
glslangValidator -V --quiet --target-env vulkan1.3 -o large.spv large.comp || fail "no module"
refuse 1 "takes 12000000 bytes of shared memory" "$vkformer" pipelines --spirv large.spv
