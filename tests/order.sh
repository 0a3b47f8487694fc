#!/usr/bin/env bash
# Runs every kernel with its workgroups, subgroups and invocations in the opposite order, and compares it with the
# reference. Between two barriers a software driver runs a workgroup's subgroups one after the other, first to last, so
# a value that the first one leaves for all others is there when they look, barrier or not; backwards it is not. Builds
# the command from a copy of the tree: by hand, 10 to 40 minutes a driver.
#
#   tests/order.sh [CONFORM-OPTION...]      tests/order.sh -o softmax
#   VK_DRIVER_FILES=FILE tests/order.sh     on another driver
set -euo pipefail
# shellcheck source=tools/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../tools/setup.sh"
cd "$project"

tree=build/order
rm -rf "$tree"/{cmake,models,python,runtime,shaders,tools}
mkdir -p "$tree"
cp -a CMakeLists.txt CMakePresets.json cmake models python runtime shaders tools "$tree/"
# Each name once: what replaces one has others that are replaced later.
find "$tree/shaders" \( -name '*.comp' -o -name '*.glsl' \) -exec sed -i -E '
  s/\<gl_GlobalInvocationID\>/(gl_WorkGroupID * gl_WorkGroupSize + gl_LocalInvocationID)/g
  s/\<gl_WorkGroupID\>/(gl_NumWorkGroups - 1u - gl_WorkGroupID)/g
  s/\<gl_LocalInvocationID\>/(gl_WorkGroupSize - 1u - gl_LocalInvocationID)/g
  s/\<gl_LocalInvocationIndex\>/(gl_WorkGroupSize.x * gl_WorkGroupSize.y * gl_WorkGroupSize.z - 1u - gl_LocalInvocationIndex)/g
  s/\<gl_SubgroupID\>/(gl_NumSubgroups - 1u - gl_SubgroupID)/g' {} +
grep -rq 'gl_NumSubgroups - 1u' "$tree/shaders" || fail "tests/order.sh: nothing was turned round"
cmake --preset release -S "$tree" -B "$tree/build" -DBUILD_TESTING=OFF -DVKFORMER_UNITY_BUILD=ON >"$tree/build.log" 2>&1 &&
  cmake --build "$tree/build" --target vkformer_cli >>"$tree/build.log" 2>&1 ||
  fail "tests/order.sh: the build failed (all output: $tree/build.log)"
# Pieces of a dispatch would each be turned round for themselves.
"$tree/build/vkformer" conform --grad --all --as-gpu --segment-seconds 1000 "$@"
