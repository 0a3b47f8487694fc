#!/usr/bin/env bash
# What llama.cpp's CPU makes of GGUF files. Runs in a root that has it; see tests/gguf/run.
#   llama_logits.sh PEER FILES INPUTS OUT    OUT/NAME.theirs of each FILES/NAME.gguf
set -euo pipefail
peer=$1 files=$2 inputs=$3 out=$4
for file in "$files"/*.gguf; do
  name=$(basename "$file" .gguf)
  case $name in t5*) ids=t5 ;; *) ids=decoder ;; esac
  "$peer" "$file" logits "$inputs/$ids.bin" "$out/$name.theirs"
done
