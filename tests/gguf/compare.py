#!/usr/bin/env python3
"""Compares what vkformer and llama.cpp make of GGUF files; see tests/gguf/run.

    compare.py inputs OUT                        ids and texts that both get
    compare.py folders MODELS WRITTEN            weights bit for bit
    compare.py files WRITTEN FILES               types and bytes of all tensors
    compare.py logits OUTPUTS                    errors of all logits, as shares of the largest
    compare.py tokenizers FIXTURES TRAINED MODEL OUT
                                                 folders of a small model with each kind of tokenizer
    compare.py tokens TEXTS TOKENIZERS OUTPUTS   ids, a line for each text
    compare.py greedy TRAINED                    ids that both find the likeliest
"""
import json
import pathlib
import shutil
import sys
import unicodedata

import gguf
import numpy as np
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer

# Largest error of logits where it is not 1e-5: llama.cpp looks GELU up in a table of f16, of which scores that no root
# divides (T5's, Gemma 4's) make more, and by which a mixture may take other experts.
limits = {"t5-narrow": 1e-5, "t5": 5e-3, "gemma4_moe": 3e-1, "gemma4": 6e-3,
          **dict.fromkeys(("gemma", "gpt2", "gpt_neox", "gpt_bigcode", "mpt", "falcon", "bert"), 2e-3)}
# Transformers scale what goes into the head of the first T5 by the root of its width, llama.cpp does not.
scales = {"t5-narrow": 96**0.5}

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
    lines = [line(random) for line in (words_of, characters_of, blanks_of, specials_of) for _ in range(1000)]
    with open(out / "texts.txt", "w", newline="") as file:
        file.write("".join(f"{line}\n" for line in lines))


def words_of(random):
    count = 1 + int(random.integers(0, 12))
    blanks = [" " * int(n) for n in random.choice([1, 1, 1, 1, 0, 2, 3], count)]
    return "".join(words[random.integers(0, len(words))] + blank for blank in blanks)


def characters_of(random):
    """Any that Unicode assigns, half of them of the first planes' scripts."""
    text = ""
    while len(text) < 12:
        character = chr(int(random.integers(32, random.choice([0x80, 0x600, 0x3000, 0x10000, 0x20000]))))
        if unicodedata.category(character) not in ("Cn", "Cs", "Co", "Cc"):
            text += character
    return text


def blanks_of(random):
    some = [" ", "  ", "\t", "\r", "\v", "\f", "\u00a0", "\u2009", "\u3000", "\u200b", "\u0085", "\u2028", "a", "B1",
            "...", "'s", "-", "7", "é", "京"]
    return "".join(random.choice(some, 10)).rstrip("\r")  # which belongs to the end of the line


def specials_of(random):
    some = ["<|endoftext|>", "<s>", "</s>", "<unk>", "<pad>", "[CLS]", "[SEP]", "[MASK]", "[UNK]", "<0x41>", "<", "[", "|>", " ",
            " ", "  ", "word", "Word's", "12"]
    return "".join(random.choice(some, 8))


def finish(what, bad):
    if bad:
        sys.exit(f"{what}: wrong are {', '.join(bad)}")
    print(f"{what}: all right")


def compare_logits(outputs):
    """The error beside what llama.cpp makes of the same values in F32 must be small. Of other types it also rounds the
    activations, to 8 or 16 bits: what it makes of both files says how much that is."""
    print(f"{'file':26} {'error':>8} {'beside its own type':>20} {'its rounding':>13}  best tokens equal")
    bad = []
    for ours in sorted(outputs.glob("*.ours.safetensors")):
        name = ours.name.removesuffix(".ours.safetensors")
        logits = load_file(ours)["logits"].astype(np.float64).reshape(-1) * scales.get(name.split(".")[0], 1)
        typed, decoded = (outputs / f"{name}{kind}.theirs" for kind in ("", ".decoded"))
        typed, theirs = (np.fromfile(a if a.exists() else b, np.float32).astype(np.float64)
                         for a, b in ((typed, decoded), (decoded, typed)))
        if logits.size != theirs.size:
            sys.exit(f"{name}: {logits.size} logits here, {theirs.size} there")
        largest = np.abs(theirs).max()
        error, own, rounding = (np.abs(a - b).max() / largest
                                for a, b in ((logits, theirs), (logits, typed), (theirs, typed)))
        shape = (48, -1) if logits.size % 48 == 0 else (1, -1)
        same = (logits.reshape(shape).argmax(1) == theirs.reshape(shape).argmax(1)).mean()
        right = error <= next((limit for kind, limit in limits.items() if name.startswith(kind)), 1e-5)
        print(f"{name:26} {error:8.1e} {own:20.1e} {rounding:13.1e}  {same:.0%}{'' if right else '  WRONG'}")
        if not right:
            bad.append(name)
    finish("logits", bad)


def compare_files(written, files):
    """Of both sides' files. llama.cpp's converter computes the divisors of rotary frequencies and the exponentials of
    delta nets in f32, and writes vectors with a dimension of one more."""
    bad = []
    for ours in sorted(written.glob("*.gguf")):
        a, b = ({t.name: t for t in gguf.GGUFReader(file).tensors} for file in (ours, files / ours.name))
        types = [name for name in b if name not in a or a[name].tensor_type != b[name].tensor_type]
        data = [name for name in b if name not in types and not np.array_equal(a[name].data.ravel(), b[name].data.ravel()) and
                not ((name == "rope_freqs.weight" or name.endswith(".ssm_a")) and
                     np.allclose(a[name].data, b[name].data, rtol=1e-6))]
        more = [name for name in a if name not in b]
        if types or data or more:
            bad.append(ours.name)
            print(f"{ours.name:28} of {len(b)} tensors of another type {types}, of other bytes {data}, alone here {more}")
    finish(f"{len(list(written.glob('*.gguf')))} files' types and bytes", bad)


def apart(weights):
    """Each expert of a stack, as transformers writes small models, by its own name."""
    parts = {}
    for name, values in weights.items():
        layer, _, stack = name.partition("experts.")
        if stack not in ("gate_up_proj", "down_proj"):
            parts[name] = values
            continue
        for expert, matrix in enumerate(values):
            names = ("gate_proj", "up_proj") if stack == "gate_up_proj" else (stack,)
            for key, part in zip(names, np.split(matrix, len(names)), strict=True):
                parts[f"{layer}experts.{expert}.{key}.weight"] = part
    return parts


def as_released(weights):
    """The embedding of a Nemotron-H, which transformers alone calls otherwise."""
    return {name.replace("backbone.embedding.", "backbone.embeddings."): values for name, values in weights.items()}


def as_plain_granite(weights):
    """What a Granite 4 without state spaces becomes."""
    parts = {}
    for name, values in weights.items():
        name = name.replace("shared_mlp.output_linear", "mlp.down_proj")
        if "shared_mlp.input_linear" in name:
            for key, part in zip(("mlp.gate_proj", "mlp.up_proj"), np.split(values, 2), strict=True):
                parts[name.replace("shared_mlp.input_linear", key)] = part
        else:
            parts[name] = values
    return parts


def compare_folders(before, after):
    """Gains of Gemma's and Qwen3.5's norms are stored one larger, the logarithms of delta nets as exponentials, which
    rounds them."""
    bad = []
    for folder in sorted(before.iterdir()):
        a, b = (apart(load_file(side / folder.name / "model.safetensors")) for side in (before, after))
        a = as_released(a)
        a = as_plain_granite(a) if folder.name.startswith("granite4_plain") else a
        rounded = 2.0**-23 if folder.name.startswith(("gemma", "qwen3_5", "qwen3_next")) else 0
        unlike = [name for name in a if name not in b or a[name].shape != b[name].shape or not
                  (np.array_equal(a[name], b[name]) or
                   name.endswith("norm.weight") and np.allclose(a[name], b[name], rtol=0, atol=rounded) or
                   name.endswith("A_log") and np.allclose(a[name], b[name], rtol=0, atol=2.0**-22))]
        if unlike:
            bad.append(folder.name)
            print(f"{folder.name:28} {len(a)} tensors, unlike {unlike}")
    finish(f"{len(list(before.iterdir()))} folders' weights", bad)


def byte_level(fixture):
    """GPT-2's fixture with each of the ways of splitting words."""
    llama3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
              r"\s+(?!\S)|\s+")
    bytes_alone = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    words = {**bytes_alone, "use_regex": True}
    digits = {"type": "Digits", "individual_digits": True}

    def split(expression):
        return {"type": "Split", "pattern": {"Regex": expression}, "behavior": "Isolated", "invert": False}

    qwen2 = [split(llama3.replace("{1,3}", "")), bytes_alone]
    marks = llama3.replace("{1,3}", "").replace(r"?\p{L}+", r"?[\p{L}\p{M}]+").replace(r"^\s\p{L}", r"^\s\p{L}\p{M}")
    qwen35 = [split(marks), bytes_alone]
    # As Phi-4-mini's and Mistral-Nemo's files have them; llama.cpp approximates the classes of letters.
    capitals, small = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
    behind = r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"

    def cased(contractions, digits):
        before = r"[^\r\n\p{L}\p{N}]?"
        return (f"{before}{capitals}*{small}+{contractions}|{before}{capitals}+{small}*{contractions}|{digits}{behind}")

    gpt4o = [split(cased("(?i:'s|'t|'re|'ve|'m|'ll|'d)?", r"\p{N}{1,3}")), bytes_alone]
    tekken = [split(cased("", r"\p{N}")), bytes_alone]
    eastern = split("[一-龥ࠀ-一가-퟿]+")
    letters = ("A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-ώᾀ-ᾴᾶ-ᾼιῂ-ῄῆ"
               "-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃")
    deepseek = [split("[\r\n]"), split(rf"\s?[{letters}]+"), split(r"\s?[!-/:-~！-／：-～‘-‟　-。]+"), split(r"\s+$"),
                eastern, split(r"\p{N}+"), bytes_alone]
    coder = [split("[\r\n]"), split(r"\s?\p{L}+"), split(r"\s?\p{P}+"), eastern, split(r"\p{N}"), bytes_alone]
    splitters = {"deepseek-llm": deepseek, "deepseek-coder": coder, "gpt-4o": gpt4o, "tekken": tekken, "gpt-2": [words], "llama-bpe": [split(llama3), bytes_alone], "dbrx": [split(llama3), bytes_alone],
                 "qwen2": qwen2, "qwen35": qwen35, "stablelm2": qwen2, "smollm": [digits, words],
                 "default": [split(r"[\p{P}\$\+<=>\^~\|]+"), words, split(r"\p{N}+"), split("[0-9][0-9][0-9]")]}
    for name, steps in splitters.items():
        tokenizer = json.loads(fixture.read_text())
        tokenizer["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": steps}
        tokenizer["model"]["ignore_merges"] = name in ("llama-bpe", "tekken")
        tokenizer["normalizer"] = {"type": "NFC"} if name in ("qwen2", "qwen35") else None
        yield name, tokenizer


def with_stripping_tokens(tokenizer):
    """Phi-3's special tokens take the blanks behind them along, which files tell by the model's name."""
    size = len(tokenizer["model"]["vocab"])
    for token in tokenizer["added_tokens"]:
        token["rstrip"] = token["content"] == "</s>"
    for i, content in enumerate(("<|endoftext|>", "[CLS]", "[MASK]")):
        tokenizer["added_tokens"].append({"id": size + i, "content": content, "single_word": False, "lstrip": False,
                                          "rstrip": i > 0, "normalized": False, "special": True})
    return tokenizer


def make_tokenizers(fixtures, trained, model, out):
    shutil.rmtree(out, ignore_errors=True)
    tokenizers = dict(byte_level(fixtures / "gpt2" / "tokenizer.json"))
    for folder in [fixtures / kind for kind in ("llama", "bert", "t5")] + sorted(trained.iterdir()):
        tokenizers[folder.name] = json.loads((folder / "tokenizer.json").read_text())
    tokenizers["phi-3"] = with_stripping_tokens(json.loads((fixtures / "llama" / "tokenizer.json").read_text()))
    for name, tokenizer in tokenizers.items():
        folder = out / name
        shutil.copytree(model, folder)
        size = max(len(tokenizer["model"]["vocab"]), 1 + max(token["id"] for token in tokenizer["added_tokens"]))
        (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
        config = json.loads((folder / "config.json").read_text())
        weights = load_file(folder / "model.safetensors")
        for tensor in ("model.embed_tokens.weight", "lm_head.weight"):
            weights[tensor] = np.resize(weights[tensor], (size, weights[tensor].shape[1]))
        save_file(weights, folder / "model.safetensors", {"format": "pt"})
        config.update(vocab_size=size, bos_token_id=None, eos_token_id=None)
        (folder / "config.json").write_text(json.dumps(config))


def lines_of(file):
    with open(file, newline="") as text:
        return text.read().split("\n")[:-1]


def compare_tokens(texts, folders, outputs):
    """Where llama.cpp has other ids than Hugging Face's library, which computed those of the model, that library's count:
    llama.cpp applies no NFC of Qwen's, normalises T5's texts as sentencepiece does, and BERT's by tables of its own."""
    bad = []
    for ours in sorted(outputs.glob("*.ours.txt")):
        name = ours.name.removesuffix(".ours.txt")
        file = folders / name / "tokenizer.json"
        library = Tokenizer.from_file(str(file)) if file.exists() else None
        rows = list(zip(*map(lines_of, (texts, ours, outputs / f"{name}.theirs.txt")), strict=True))
        if name == "unigram":  # files can't say that it strips other blanks than spaces
            rows = [row for row in rows if "\u0085" not in row[0]]
        others = [(text, a, b, " ".join(map(str, library.encode(text).ids)) if library else b)
                  for text, a, b in rows if a != b]
        wrong = [row for row in others if row[1] != row[3]]
        if wrong or len(others) > len(rows) / 20:
            bad.append(name)
        for text, a, b, c in wrong[:3]:
            print(f"{name}: {text!r}\n  here          {a}\n  llama.cpp     {b}\n  Hugging Face  {c}")
        print(f"{name:12} {len(rows)} texts; {len(others)} with other ids than llama.cpp's, {len(wrong)} with wrong ones")
    finish("ids", bad)


def compare_greedy(trained):
    """Of F32 all ids are llama.cpp's. Of Q8_0 a text may part from F32's where two tokens are nearly as likely."""
    def rows(type, whose):
        return [line.split() for line in lines_of(trained / f"{type}.{whose}.ids")]

    def equal(a, b):
        return sum(x == y for x, y in zip(a, b, strict=True))

    count = len(rows("F32", "ours"))
    print(f"of {count} greedy texts equal: here Q8_0 and F32 {equal(rows('Q8_0', 'ours'), rows('F32', 'ours'))}, "
          f"in llama.cpp {equal(rows('Q8_0', 'theirs'), rows('F32', 'theirs'))}, "
          f"here and there F32 {equal(rows('F32', 'ours'), rows('F32', 'theirs'))}")
    finish("greedy texts", [] if rows("F32", "ours") == rows("F32", "theirs") else ["F32"])


verbs = {"inputs": write_inputs, "logits": compare_logits, "files": compare_files, "folders": compare_folders,
         "tokenizers": make_tokenizers, "tokens": compare_tokens, "greedy": compare_greedy}
verbs[sys.argv[1]](*map(pathlib.Path, sys.argv[2:]))
