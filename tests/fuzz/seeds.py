"""Writes what no fixture has into the folder FOLDER: a folder for each reader (tests/fuzz/run) with small GGUF files of each
kind of tokenizer, and with files as vkformer's commands write them."""

import collections
import io
import json
import pickle
import struct
import sys
import types
import wave
import zipfile
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
    (folder / "gguf" / f"seed-{number}").write_bytes(gguf(pairs, tensors))


def write(reader, value):
    (folder / reader / "seed-json").write_text(value if isinstance(value, str) else json.dumps(value))


def lora(modules):
    config = {"peft_type": "LORA", "r": 1, "lora_alpha": 2, "lora_dropout": 0.0, "bias": "none", "target_modules": modules,
              "fan_in_fan_out": True, "use_rslora": False, "base_model_name_or_path": "base", "modules_to_save": None}
    path = "base_model.model.transformer.h.0.attn.c_attn.lora_"
    tensors = {path + "A.weight": {"dtype": "F32", "shape": [1, 4], "data_offsets": [0, 16]},
               path + "B.weight": {"dtype": "F32", "shape": [12, 1], "data_offsets": [16, 64]}}
    return json.dumps(config) + "\n" + json.dumps(tensors)


write("adapter", lora(["c_attn"]))
write("chat", [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"},
               {"role": "assistant", "content": "Hi"}])
write("mel_settings", {"feature_extractor": {"chunk_length": 1, "dither": 0.0, "feature_extractor_type": "WhisperFeatureExtractor",
                                             "feature_size": 8, "hop_length": 160, "n_fft": 400, "padding_value": 0.0,
                                             "sampling_rate": 16000}})
write("image_settings", {"image_processor_type": "CLIPImageProcessor", "do_center_crop": True, "size": {"shortest_edge": 8},
                         "crop_size": {"height": 7, "width": 6}, "resample": 3, "image_mean": [0.5, 0.4, 0.3],
                         "image_std": [0.5, 0.5, 0.5], "rescale_factor": 0.00392156862745098, "do_resize": True})
settings = {"accumulate": 1, "batch": 2, "beta1": 0.9, "checkpoint_every": 2, "clip": 1.0, "context": 8, "dropout": -1.0,
            "dtype": "f32", "iterations": 2, "keep_best": "loss", "learning_rate": 0.001, "loss_scale": 65536.0,
            "schedule": "cosine", "seed": 1337, "stride": -1, "validation_fraction": 0.1, "warmup": 1}
write("state", {"files": {"text": {"fingerprint": "1760-f5d7121eeb3e1a55", "path": "text.txt"}}, "iteration": 2,
                "settings": settings})
write("tuning", {"choices": {"multiply f32[4]": {"kernel": "elementwise", "seconds": 1e-6}}, "device": "", "driver": "",
                 "driver_version": 0, "vendor_id": 0, "device_id": 0, "subgroup_size": 0, "kind": 3, "threads": 0,
                 "registers": 0, "format": 1, "kernels": "",
                 "roof": {"bytes_per_second": 2e10, "flops_per_second": 4e10}})
case = {"case": "[1] [1]", "check": "forward", "detail": "", "op": "multiply", "seconds": 0.001, "verdict": "OK",
        "worst_share_of_tolerance": 0.5}
write("report", {"cases": [case], "facts": {"name": "a device", "memory_free": 1}, "run": "vkformer conform"})
kernel = {"name": "multiply", "op": "multiply", "dispatches": 3, "least": 5.5, "first_half": 5.5, "second_half": 6.0}
write("profile", {"vkformer": {"programs": [{"name": "step", "kernels": [kernel]}]}})

with wave.open(str(folder / "sound" / "seed-wav"), "wb") as sound:
    sound.setparams((2, 2, 8000, 0, "NONE", "not compressed"))
    sound.writeframes(bytes(range(100)))

images = Path("tests/fixtures/images.safetensors").read_bytes()
(header,) = struct.unpack("<Q", images[:8])
for name, entry in json.loads(images[8:8 + header]).items():
    if name.startswith("files."):
        first, end = entry["data_offsets"]
        (folder / "picture" / f"seed-{name}").write_bytes(images[8 + header + first:8 + header + end])


class Storage:
    """A torch.FloatStorage with a key in the archive."""

    def __init__(self, key, count):
        self.id = ("storage", FloatStorage, key, "cpu", count)


def named(module, name):
    """Something that pickle calls by this name, and that does nothing."""
    made = type(name, (), {"__module__": module, "__reduce__": lambda self: (type(self), self.arguments)})
    made.__init__ = lambda self, *arguments: setattr(self, "arguments", arguments)
    parent = sys.modules.setdefault(module, types.ModuleType(module))
    setattr(parent, name, made)
    return made


FloatStorage = named("torch", "FloatStorage")
rebuild_tensor = named("torch._utils", "_rebuild_tensor_v2")
rebuild_parameter = named("torch._utils", "_rebuild_parameter")


class Pickler(pickle.Pickler):
    def persistent_id(self, value):
        return value.id if isinstance(value, Storage) else None


def torch_file(path, tensors):
    """What torch.save writes of a state dict: {"name": (shape, strides, first, values)}, or a tied tensor's other name."""
    state, storages = collections.OrderedDict(), {}
    for name, what in tensors.items():
        if isinstance(what, str):
            state[name] = rebuild_parameter(state[what], True, collections.OrderedDict())
            continue
        shape, strides, first, values = what
        storages[name] = values
        storage = Storage(str(len(storages) - 1), len(values))
        state[name] = rebuild_tensor(storage, first, shape, strides, False, collections.OrderedDict())
    state._metadata = collections.OrderedDict([("", {"version": 1})])
    out = io.BytesIO()
    Pickler(out, 2).dump(state)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", out.getvalue())
        for number, values in enumerate(storages.values()):
            archive.writestr(f"archive/data/{number}", struct.pack(f"<{len(values)}f", *values))
        archive.writestr("archive/version", "3\n")


torch_file(folder / "torch" / "seed-python", {"w": ((2, 3), (3, 1), 0, [1.5, 2, 3, 4, 5, 6]), "tied": "w",
                                              "turned": ((3, 2), (1, 3), 0, [1, 2, 3, 4, 5, 6]), "one": ((), (), 1, [7, 8])})


def varint(number):
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + varint(number >> 7)


def message(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


pieces = [("<pad>", 3), ("</s>", 3), ("<unk>", 2), ("\u2581", 1), ("\u2581The", 1), ("cat", 1), ("own", 4)]
model = b"".join(message(1, message(1, piece.encode()) + b"\x15" + struct.pack("<f", -i) + b"\x18" + varint(kind))
                 for i, (piece, kind) in enumerate(pieces))
(folder / "sentence_piece" / "seed-model").write_bytes(model + message(2, b"\x18\x01\xc0\x02\x02") + message(3, b"\x18\x01"))
