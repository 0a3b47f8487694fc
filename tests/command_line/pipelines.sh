# shellcheck shell=bash disable=SC2154
# What drivers say of pipelines, and the judgement of reports. Sourced by tests/command_line.sh.

refuse 1 "reference has no pipelines" "$vkformer" pipelines --device reference
refuse 2 "neither a folder" "$vkformer" pipelines nonsense
refuse 2 "--judge" "$vkformer" pipelines --allowed small.json
refuse 1 "is no report" "$vkformer" pipelines --judge text.txt
accept "$vkformer" pipelines 1x32x2:16:16 --batch 1 --prompt 8 --report chip.json
grep -q 'chosen by models, 0 failed' out || fail "pipelines prints no total: $(tail -n 1 out)"
accept "$vkformer" pipelines --judge chip.json
grep -q '^| matmul_' out || fail "--judge prints no table"
refuse 1 "no JSON object" "$vkformer" pipelines --judge chip.json --allowed text.txt

# A report of a driver that gives up, is slow, and spills.
sed 's/"failure": ""/"failure": "no memory"/' chip.json >failed.json
refuse 1 "faults" "$vkformer" pipelines --judge failed.json
refuse 1 "faults" "$vkformer" pipelines --judge chip.json --slow 0
spilled() {
  cat >"$1" <<JSON
{"pipelines": [{"kernel": "matmul_tile", "variant": "f32", "constants": [1], "subgroup_size": 0, "thread_seconds": 0, "failure": "",
 "chosen": $2, "code": [{"subgroup_size": 32, "statistics": {"Spill count": 3}}]}]}
JSON
}
spilled chosen.json true
spilled other.json false
echo '{"chosen": {"matmul_tile/f32": 1}, "other": {"matmul_tile/f32": 1}}' >allowed.json
refuse 1 "faults" "$vkformer" pipelines --judge chosen.json --allowed allowed.json
refuse 1 "faults" "$vkformer" pipelines --judge other.json
accept "$vkformer" pipelines --judge other.json --allowed allowed.json
