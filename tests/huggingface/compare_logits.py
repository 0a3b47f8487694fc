#!/usr/bin/env python3
"""Loads a model folder with transformers and compares its logits with those that vkformer computed.

  compare_logits.py MODEL --vkformer build/vkformer     makes ids, runs `vkformer logits`, compares
  compare_logits.py MODEL --write-ids IDS               makes ids only
  compare_logits.py MODEL RESULT                        compares a result made elsewhere

IDS and RESULT are safetensors files. IDS holds input_ids [batch, positions], attention_mask, and where the model takes
them token_type_ids and decoder_input_ids, all int32; padding is on the right. RESULT holds the same and float32 logits.
Exit status 1 if a logit of a real token is off by more than the tolerance times the largest logit.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

import torch
import transformers
from safetensors.torch import load_file, save_file

import vaswani

IDS = ("input_ids", "attention_mask", "token_type_ids", "decoder_input_ids")


def is_vaswani(folder):
    return vaswani.load_config(folder / "config.json").get("model_type") == "vaswani"


def load(folder):
    """The model, and only if every one of its weights comes from the folder."""
    if is_vaswani(folder):
        model = vaswani.Vaswani(vaswani.load_config(folder / "config.json"))
        model.load_state_dict(load_file(folder / "model.safetensors"))
        return model.eval()
    config = transformers.AutoConfig.from_pretrained(folder)
    kind = getattr(transformers, (config.architectures or ["AutoModelForCausalLM"])[0])
    # PyTorch's fused attention leaves out Gemma 2's cap of scores; its grouped products want rows of whole vectors.
    model, report = kind.from_pretrained(folder, dtype=torch.float32, output_loading_info=True,
                                         attn_implementation="eager", experts_implementation="eager")
    for trouble in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        if report[trouble]:
            sys.exit(f"{folder}: {trouble.replace('_', ' ')}: {sorted(map(str, report[trouble]))}")
    return model.eval()


def make_ids(folder, positions):
    """Two rows, the second padded on the right."""
    config = vaswani.load_config(folder / "config.json") if is_vaswani(folder) else (
        transformers.AutoConfig.from_pretrained(folder).to_dict())
    random = torch.Generator().manual_seed(1)
    limit = (config.get("max_position_embeddings") or config.get("n_positions") or config.get("seq_length")
             or positions)
    # RoBERTa and MPNet count their positions from pad id + 1 on.
    limit -= config["pad_token_id"] + 1 if config["model_type"] in ("roberta", "mpnet") else 0
    positions = min(positions, limit)
    pad = config.get("pad_token_id") or 0
    ids = torch.randint(min(5, config["vocab_size"] - 1), config["vocab_size"], (2, positions), generator=random)
    ids[ids == pad] -= 1
    mask = torch.ones_like(ids)
    mask[1, positions - positions // 3 :] = 0
    found = {"input_ids": torch.where(mask == 1, ids, pad), "attention_mask": mask}
    if config["model_type"] in ("bert", "albert", "electra", "xlnet"):
        found["token_type_ids"] = (torch.arange(positions) >= positions // 2).int() * mask
    classifies = "SequenceClassification" in str(config.get("architectures"))
    if (config.get("is_encoder_decoder") and not classifies) or config["model_type"] == "vaswani":
        start = config.get("decoder_start_token_id")
        limit = config.get("decoder_vocab_size") or config["vocab_size"]
        targets = ids.flip(1)[:, : max(1, positions * 2 // 3)] % limit
        found["decoder_input_ids"] = torch.cat([torch.full((2, 1), pad if start is None else start), targets[:, 1:]], 1)
    return {name: value.to(torch.int32).contiguous() for name, value in found.items()}


def compare(folder, result, tolerance):
    inputs = {name: result[name].long() for name in IDS if name in result}
    with torch.no_grad():
        output = load(folder)(**inputs)
    answers = "start_logits" in output
    want = torch.stack([output.start_logits, output.end_logits], -1) if answers else output.logits
    got = result["logits"].float()
    if got.shape != want.shape:
        sys.exit(f"{folder}: logits are {list(got.shape)}, transformers gives {list(want.shape)}")
    if "decoder_input_ids" not in inputs and want.dim() == 3 and "attention_mask" in inputs:
        real = inputs["attention_mask"] == 1
        got, want = got[real], want[real]
    largest = want.abs().max().item()
    error = (got - want).abs().max().item() / largest
    same = (got.argmax(-1) == want.argmax(-1)).float().mean().item()
    good = error <= tolerance  # false for NaN
    print(f"{folder}: {'OK' if good else 'FAIL'}: {got.numel()} logits, largest error {error:.1e} of {largest:.3g}, "
          f"tolerance {tolerance:g}, same best id in {100 * same:.1f} %")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("result", type=pathlib.Path, nargs="?")
    parser.add_argument("--vkformer", type=pathlib.Path)
    parser.add_argument("--write-ids", type=pathlib.Path)
    parser.add_argument("--positions", type=int, default=37)
    parser.add_argument("--tolerance", type=float, default=2e-4)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    if sum(x is not None for x in (arguments.result, arguments.vkformer, arguments.write_ids)) != 1:
        parser.error("give one of RESULT, --vkformer, --write-ids")
    if arguments.write_ids:
        save_file(make_ids(arguments.model, arguments.positions), arguments.write_ids)
        return
    if arguments.result:
        result = load_file(arguments.result)
    else:
        with tempfile.TemporaryDirectory() as folder:
            ids, out = pathlib.Path(folder) / "ids.safetensors", pathlib.Path(folder) / "result.safetensors"
            save_file(make_ids(arguments.model, arguments.positions), ids)
            subprocess.run([arguments.vkformer, "logits", arguments.model, "--ids", ids, "--out", out], check=True)
            result = load_file(ids) | load_file(out)
    sys.exit(0 if compare(arguments.model, result, arguments.tolerance) else 1)


if __name__ == "__main__":
    main()
