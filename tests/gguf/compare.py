#!/usr/bin/env python3
"""Compares what vkformer and llama.cpp make of GGUF files; see tests/gguf/run.

    compare.py inputs OUT                        ids and texts that both get
    compare.py logits NAME OURS PEER             largest difference of their logits, as a share of the largest
    compare.py files OURS PEER                   types and bytes of all tensors
    compare.py folders BEFORE AFTER              weights bit for bit
    compare.py tokenizers FIXTURES MODEL OUT     folders of a small model with each kind of tokenizer
    compare.py tokens NAME TEXTS OURS PEER       ids, a line for each text
"""
import json
import pathlib
import shutil
import sys

import gguf
import numpy as np
from safetensors.numpy import load_file, save_file

words = ("the quick Brown fox, it's WE'VE I'll 12 345 6789 0.5 3,14 naïve Straße ÉCOLE ångström Москва привет Ελλάδα "
         "日本語 中文 東京 한국어 नमस्ते สวัสดี שלום مرحبا 🚀 👩‍💻 🦙🦙 -- ... ?! (x) [y] {z} <b> a_b c@d.e #1 $2 50% ~ ^ "
         "don't 'RE x=1; // \\n \" ` « » — … ½ ² Ⅷ ﬁ Å ﷺ \u00a0 \u2003 \u200b \t   ▁ Ġ").split(" ")


def write_inputs(out):
    out.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(1)
    ids = random.integers(3, 590, (1, 48), dtype=np.int32)
    source = random.integers(3, 590, (1, 21), dtype=np.int32)
    save_file({"input_ids": ids}, out / "decoder.safetensors")
    ids.tofile(out / "decoder.bin")
    save_file({"input_ids": source, "decoder_input_ids": ids}, out / "t5.safetensors")
    np.concatenate([[source.size], source[0], ids[0]]).astype(np.int32).tofile(out / "t5.bin")
    lines = []
    for i in range(1000):
        count = 1 + int(random.integers(0, 12))
        blanks = [" " * int(n) for n in random.choice([1, 1, 1, 1, 0, 2, 3], count)]
        lines.append("".join(words[random.integers(0, len(words))] + blank for blank in blanks))
    (out / "texts.txt").write_text("\n".join(lines) + "\n")


def compare_logits(name, ours, peer):
    logits = load_file(ours)["logits"].reshape(-1).astype(np.float64)
    theirs = np.fromfile(peer, np.float32).astype(np.float64)
    if logits.size != theirs.size:
        sys.exit(f"{name}: {logits.size} logits here, {theirs.size} there")
    error = np.abs(logits - theirs).max() / np.abs(theirs).max()
    rows = logits.reshape(48, -1) if logits.size % 48 == 0 else logits.reshape(1, -1)
    same = (rows.argmax(1) == theirs.reshape(rows.shape).argmax(1)).mean()
    print(f"{name:28} {error:9.2e} of the largest; the best token is the same at {same:7.2%} of the positions")


def compare_files(ours, peer):
    a, b = ({t.name: t for t in gguf.GGUFReader(file).tensors} for file in (ours, peer))
    types = [name for name in b if name not in a or a[name].tensor_type != b[name].tensor_type]
    data = [name for name in b if name not in types and not np.array_equal(a[name].data, b[name].data)]
    print(f"{pathlib.Path(ours).name:28} {len(b)} tensors, of another type {types}, of other bytes {data}")


def compare_folders(before, after):
    a, b = (load_file(pathlib.Path(folder) / "model.safetensors") for folder in (before, after))
    unlike = [name for name in a if name not in b or not np.array_equal(a[name], b[name])]
    print(f"{pathlib.Path(after).name:28} {len(a)} tensors, unlike {unlike}")


def make_tokenizers(fixtures, model, out):
    llama3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
              r"\s+(?!\S)|\s+")
    bytes_alone = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    split = {"type": "Split", "pattern": {"Regex": llama3}, "behavior": "Isolated", "invert": False}
    single = {**split, "pattern": {"Regex": llama3.replace("{1,3}", "")}}
    digits = {"type": "Digits", "individual_digits": True}
    splitters = {"llama-bpe": [split, bytes_alone], "qwen2": [single, bytes_alone],
                 "smollm": [digits, {**bytes_alone, "use_regex": True}], "gpt-2": None}
    for kind in ("gpt2", "llama", "bert", "t5"):
        for name, steps in splitters.items() if kind == "gpt2" else {kind: None}.items():
            folder = out / name
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(model, folder)
            tokenizer = json.loads((fixtures / kind / "tokenizer.json").read_text())
            if steps:
                tokenizer["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": steps}
                tokenizer["model"]["ignore_merges"] = name == "llama-bpe"
            size = 1 + max(token["id"] for token in tokenizer["added_tokens"])
            vocabulary = tokenizer["model"]["vocab"]
            size = max(size, len(vocabulary))
            (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
            config = json.loads((folder / "config.json").read_text())
            weights = load_file(folder / "model.safetensors")
            for tensor in ("model.embed_tokens.weight", "lm_head.weight"):
                weights[tensor] = np.resize(weights[tensor], (size, weights[tensor].shape[1]))
            save_file(weights, folder / "model.safetensors", {"format": "pt"})
            config.update(vocab_size=size, bos_token_id=None, eos_token_id=None)
            (folder / "config.json").write_text(json.dumps(config))


def compare_tokens(name, texts, ours, peer):
    lines = [pathlib.Path(file).read_text().split("\n")[:-1] for file in (texts, ours, peer)]
    unlike = [(text, a, b) for text, a, b in zip(*lines, strict=True) if a != b]
    print(f"{name:28} {len(lines[0])} texts, {len(unlike)} with other ids{''.join(map(repr, unlike[:3]))}")


verbs = {"inputs": write_inputs, "logits": compare_logits, "files": compare_files, "folders": compare_folders,
         "tokenizers": make_tokenizers, "tokens": compare_tokens}
verb = sys.argv[1]
paths = verb in ("inputs", "tokenizers")
verbs[verb](*(pathlib.Path(argument) if paths else argument for argument in sys.argv[2:]))
