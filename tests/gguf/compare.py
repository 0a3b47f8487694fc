#!/usr/bin/env python3
"""Compares what vkformer and llama.cpp make of GGUF files; see tests/gguf/run.

    compare.py ids OUT                     the ids that both get
    compare.py logits NAME OURS PEER       largest difference of their logits, as a share of the largest
"""
import pathlib
import sys

import numpy as np
from safetensors.numpy import load_file, save_file


def write_ids(out):
    out.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(1)
    ids = random.integers(3, 590, (1, 48), dtype=np.int32)
    source = random.integers(3, 590, (1, 21), dtype=np.int32)
    save_file({"input_ids": ids}, out / "decoder.safetensors")
    ids.tofile(out / "decoder.bin")
    # Short, so that the buckets of T5's distances, which depend on a number that files lack, are all used.
    save_file({"input_ids": source, "decoder_input_ids": ids}, out / "t5.safetensors")
    np.concatenate([[source.size], source[0], ids[0]]).astype(np.int32).tofile(out / "t5.bin")


def compare(name, ours, peer):
    logits = load_file(ours)["logits"].reshape(-1).astype(np.float64)
    theirs = np.fromfile(peer, np.float32).astype(np.float64)
    if logits.size != theirs.size:
        sys.exit(f"{name}: {logits.size} logits here, {theirs.size} there")
    error = np.abs(logits - theirs).max() / np.abs(theirs).max()
    rows = logits.reshape(48, -1) if logits.size % 48 == 0 else logits.reshape(1, -1)
    same = (rows.argmax(1) == theirs.reshape(rows.shape).argmax(1)).mean()
    print(f"{name:28} {error:9.2e} of the largest; the best token is the same at {same:7.2%} of the positions")


if sys.argv[1] == "ids":
    write_ids(pathlib.Path(sys.argv[2]))
else:
    compare(*sys.argv[2:5])
