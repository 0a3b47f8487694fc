#!/usr/bin/env bash
# GGUF files of Hugging Face folders by llama.cpp's own tools. Runs in a root that has them; see tests/gguf/run.
#   llama_files.sh MODELS OUT TYPE...     OUT/NAME.F32.gguf by its converter, OUT/NAME.TYPE.gguf by llama-quantize, and
#                                         OUT/NAME.TYPE.decoded.gguf: the values of that in F32
# Files that are there already stay.
set -euo pipefail
models=$1 out=$2
shift 2
mkdir -p "$out"

# quietly NAME COMMAND...: its output in OUT/NAME.log, whose end tells of a failure
quietly() {
  local log="$out/$1.log"
  "${@:2}" >>"$log" 2>&1 || { tail -n 5 "$log" >&2; return 1; }
}

# The vocabularies of the fixtures are nobody's: what splits their words has no hash there.
quietly converter python3 tests/gguf/llama_converter.py /usr/share/doc/llama.cpp-tools/scripts/convert_hf_to_gguf.py \
  "$models" "$out"
for folder in "$models"/*/; do
  name=$(basename "$folder")
  for type; do
    file=$out/$name.$type
    [[ -e $file.gguf ]] || quietly "$name" llama-quantize "$out/$name.F32.gguf" "$file.gguf" "$type"
    [[ -e $file.decoded.gguf ]] ||
      quietly "$name" llama-quantize --allow-requantize "$file.gguf" "$file.decoded.gguf" F32
  done
done
