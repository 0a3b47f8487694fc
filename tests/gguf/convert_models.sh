#!/usr/bin/env bash
# GGUF files of Hugging Face folders by llama.cpp's own tools. Runs in a root that has them; see tests/gguf/run.
#   convert_models.sh MODELS OUT TYPE...      types as llama-quantize has them; F32 and F16 come from the converter
set -euo pipefail
models=$1 out=$2
shift 2
mkdir -p "$out"
for folder in "$models"/*/; do
  name=$(basename "$folder")
  [[ -e $out/$name.F32.gguf ]] && continue
  converter=/usr/share/doc/llama.cpp-tools/scripts/convert_hf_to_gguf.py
  # The vocabularies of the fixtures are nobody's: what splits their words has no hash there.
  python3 tests/gguf/llama_converter.py "$converter" "$folder" --outtype f32 --outfile "$out/$name.F32.gguf" >"$out/$name.log" 2>&1 ||
    { tail -n 3 "$out/$name.log" >&2; exit 1; }
  for type; do
    [[ $type == F32 ]] || llama-quantize "$out/$name.F32.gguf" "$out/$name.$type.gguf" "$type" >>"$out/$name.log" 2>&1 || { tail -n 3 "$out/$name.log" >&2; exit 1; }
  done
done
