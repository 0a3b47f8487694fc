# shellcheck shell=bash disable=SC2154
# What drivers say of a kernel that must spill, planted.comp, and of its twin that must not. Sourced after
# tools/vendors/stand_ins.sh by tools/check-vendors.

# planted_spills CHIP...: on each, the twin keeps to a budget of nothing, and the kernel exceeds it by as much as it holds more
# values than an invocation has registers on any chip: 512 - 256. (Compilers hold the products, too, and spill more.)
planted_spills() {
  local values chip told faults=0
  for values in 8 512; do
    in_root glslangValidator -V --quiet --target-env vulkan1.3 "-DVALUES=$values" -o "$logs/planted_$values.spv" \
      tests/vendors/planted.comp
  done
  for chip; do
    on_chip "$chip" build/debian13/vkformer pipelines --spirv "$logs/planted_8.spv" --max-spills 0 || {
      echo "$chip: the twin with 8 values spills"
      faults=1
    }
    told=$(on_chip "$chip" build/debian13/vkformer pipelines --verbose --spirv "$logs/planted_512.spv" --max-spills 0 2>&1) && {
      echo "$chip: spills do not fail the budget"
      faults=1
    }
    echo "$told"
    told=$(sed -n 's|^planted_512/spirv/: \([0-9]*\) registers spilled, the budget is at most 0$|\1|p' <<<"$told")
    if ((${told:-0} < 256)); then
      echo "$chip: ${told:-no} spills instead of at least 256"
      faults=1
    fi
  done
  return "$faults"
}
