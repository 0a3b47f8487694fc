"""Writes small GGUF files with each kind of tokenizer into the folder FOLDER: tests/fuzz/run."""

import struct
import sys
from pathlib import Path

U32, I32, F32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9


def text(value):
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(data)) + data


def value_of(value):
    """Type and bytes; lists are of one type."""
    if isinstance(value, bool):
        return BOOL, struct.pack("<?", value)
    if isinstance(value, int):
        return U32, struct.pack("<I", value)
    if isinstance(value, float):
        return F32, struct.pack("<f", value)
    if isinstance(value, str):
        return STRING, text(value)
    items = [value_of(item) for item in value]
    return ARRAY, struct.pack("<IQ", items[0][0], len(items)) + b"".join(data for _, data in items)


def gguf(pairs, tensors):
    out = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(pairs))
    for key, value in pairs.items():
        kind, data = value_of(value)
        out += text(key) + struct.pack("<I", kind) + data
    offset = 0
    for name, shape, kind, size in tensors:
        out += text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape) + struct.pack("<IQ", kind, offset)
        offset += -(-size // 32) * 32
    return out + b"\0" * (-len(out) % 32 + offset)


def tokenizer(model, tokens, **more):
    return {
        "general.architecture": "llama",
        "tokenizer.ggml.model": model,
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [1 + 2 * (token[0] in "<[") for token in tokens],
        "tokenizer.ggml.scores": [-0.5 * i for i in range(len(tokens))],
        "tokenizer.ggml.eos_token_id": 1,
    } | {f"tokenizer.ggml.{key}": value for key, value in more.items()}


tensors = [("token_embd.weight", [32, 2], 0, 256), ("a", [32, 2], 8, 68), ("b", [256, 1], 12, 144)]
special = ["<unk>", "<s>", "</s>"]
seeds = [
    tokenizer("gpt2", special + ["a", "b", "ab", "\u0120"], merges=["a b"], pre="gpt-2"),
    tokenizer("gpt2", special + ["a", "b"], merges=["a b"], pre="llama-bpe", add_bos_token=True),
    tokenizer("llama", special + ["\u2581", "a", "\u2581a"], add_bos_token=True, unknown_token_id=0),
    tokenizer("bert", ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "\u2581a", "b"], cls_token_id=2, seperator_token_id=3),
    tokenizer("t5", special + ["\u2581", "\u2581a"], precompiled_charsmap=[0] * 8),
]
folder = Path(sys.argv[1])
for number, pairs in enumerate(seeds):
    (folder / f"seed-{number}").write_bytes(gguf(pairs, tensors))
