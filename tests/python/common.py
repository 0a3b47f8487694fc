"""What the tests of the Python module share: recorded models, a reader of their files, small runs made once."""

import functools
import json
import os
import pathlib
import struct
import tempfile
import unittest

import numpy as np

import vkformer

TESTS = pathlib.Path(__file__).resolve().parent.parent
FIXTURES = TESTS / "fixtures"
TOKENIZERS = FIXTURES / "tokenizers"
_scratch = tempfile.TemporaryDirectory()
SCRATCH = pathlib.Path(_scratch.name)

SMALL_GPT = {"model_type": "gpt2", "n_positions": 32, "n_embd": 24, "n_layer": 1, "n_head": 3, "vocab_size": 97,
             "embd_pdrop": 0, "attn_pdrop": 0, "resid_pdrop": 0}


def safetensors(path):
    """The tensors of a file of f32 and i32."""
    data = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    types = {"F32": np.float32, "I32": np.int32, "I64": np.int64, "F64": np.float64}
    arrays = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        raw = np.frombuffer(data[8 + length + begin:8 + length + end], dtype=types[entry["dtype"]])
        arrays[name] = raw.reshape(entry["shape"])
    return arrays


@functools.lru_cache
def fixture(name, device=""):
    return vkformer.Model(FIXTURES / name, device=device)


def small_trainer(**settings):
    usual = {"batch_size": 4, "context": 16, "iterations": 20, "learning_rate": 1e-2, "warmup": 2}
    return vkformer.Trainer(SMALL_GPT, **{**usual, **settings})


def small_batch(seed, rows=4, positions=16):
    """Ids that count up, and those one position further."""
    start = np.random.default_rng(seed).integers(0, 97, size=(rows, 1))
    ids = (start + np.arange(positions + 1)) % 97
    return {"input_ids": ids[:, :-1], "targets": ids[:, 1:]}


def text_model(name="gpt2"):
    """A small GPT with a recorded tokenizer, hardly trained, as a run."""
    run = SCRATCH / f"{name}-run"
    if not run.exists():
        tokenizer = vkformer.Tokenizer(TOKENIZERS / name)
        config = {**SMALL_GPT, "vocab_size": tokenizer.vocabulary_size}
        trainer = vkformer.Trainer(config, tokenizer=TOKENIZERS / name, batch_size=1, context=8, iterations=3)
        ids = tokenizer.encode("the cat sat on the mat and the cat sat")[:9]
        for _ in range(3):
            trainer.step(input_ids=ids[None, :-1][:, :8], targets=ids[None, 1:][:, :8])
        trainer.save(run)
    return run


class Case(unittest.TestCase):
    def refuse(self, kind, words, call, *arguments, **keywords):
        """The call fails so, in one line."""
        with self.assertRaises(kind) as raised:
            call(*arguments, **keywords)
        message = str(raised.exception)
        self.assertIn(words, message)
        self.assertNotIn("\n", message)
