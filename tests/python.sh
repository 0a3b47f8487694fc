#!/usr/bin/env bash
# The tests of the Python module, by the Python that it was built for.
# Usage: tests/python.sh BUILD [TEST...]      (on the Vulkan driver that the environment selects)
# With --python in place of tests: prints that Python; fails where the module was not built.
set -euo pipefail
build=$(realpath "$1")
shift
python=$(sed -n 's/^_*Python_EXECUTABLE:[A-Z]*=//p' "$build/CMakeCache.txt" | head -n 1)
compgen -G "$build/python/vkformer/_vkformer*" >/dev/null || exit 1
if [[ ${1:-} == --python ]]; then
  echo "$python"
  exit
fi
cd "$(dirname "$0")/python"
PYTHONPATH="$build/python" PYTHONDONTWRITEBYTECODE=1 VKFORMER="$build/vkformer" "$python" -m unittest "$@"
