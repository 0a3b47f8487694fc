#!/usr/bin/env bash
# What llama.cpp's CPU makes of GGUF files. Runs in a root that has it; see tests/gguf/run.
#   llama_logits.sh PEER FILES INPUTS OUT    OUT/NAME.theirs of each FILES/NAME.gguf
set -euo pipefail
peer=$1 files=$2 inputs=$3 out=$4
for file in "$files"/*.gguf; do
  name=$(basename "$file" .gguf)
  case $name in t5*) ids=t5 ;; *) ids=decoder ;; esac
  # Debian's llama.cpp 0.7 aborts at latent attention in F16 and Q8_0: their values are compared in F32 alone.
  "$peer" "$file" logits "$inputs/$ids.bin" "$out/$name.theirs" ||
    [[ $name =~ ^(deepseek_v[23]|glm4_moe_lite)-.*\.(F16|Q8_0)$ ]]
done
