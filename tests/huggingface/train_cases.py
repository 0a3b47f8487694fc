#!/usr/bin/env python3
"""Records the losses of the trainings in tests/trainings, in float64.

  build/release/tests/vkformer_tests "[.record]"      writes their batches and settings, without losses
  train_cases.py tests                                trains the models of tests/fixtures on them and adds the losses
  train_cases.py --check tests                        fails if recorded losses differ from those it computes
"""

import argparse
import json
import pathlib
import sys

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from transformers import AutoConfig

from problem import build

INPUTS = {"ids": "input_ids", "mask": "attention_mask"}
PAIR_INPUTS = {"ids": "decoder_input_ids", "source": "input_ids", "source_mask": "attention_mask"}


def losses_of(folder, name, settings):
    """The mean loss over all targets of an iteration's batches, before each update."""
    config = AutoConfig.from_pretrained(folder / "fixtures" / name)
    weights = load_file(folder / "fixtures" / name / "model.safetensors")
    model = build(config, config.architectures[0], weights)
    batches = load_file(folder / "trainings" / f"{name}.batches.safetensors")
    decayed = [p for p in model.parameters() if p.requires_grad and p.dim() >= 2]
    plain = [p for p in model.parameters() if p.requires_grad and p.dim() < 2]
    adamw = torch.optim.AdamW([{"params": decayed, "weight_decay": settings["weight_decay"]},
                               {"params": plain, "weight_decay": 0}],
                              betas=settings["betas"], eps=settings["epsilon"])
    names = PAIR_INPUTS if config.is_encoder_decoder else INPUTS
    losses = []
    for step in range(1, settings["steps"] + 1):
        micro = [{key.split(".")[2]: value.long() for key, value in batches.items() if key.startswith(f"{step}.{i}.")}
                 for i in range(settings["accumulate"])]
        targets = sum((batch["targets"] >= 0).sum() for batch in micro)
        loss = 0
        for batch in micro:
            logits = model(**{names[key]: value for key, value in batch.items() if key in names}).logits
            loss = loss + F.cross_entropy(logits.flatten(0, -2), batch["targets"].flatten(), reduction="sum",
                                          label_smoothing=settings["label_smoothing"]) / targets
        adamw.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_([*decayed, *plain], settings["clip"])
        for group in adamw.param_groups:
            group["lr"] = settings["learning_rates"][step - 1]
        adamw.step()
        losses.append(loss.item())
    return losses


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("tests", type=pathlib.Path)
    arguments = parser.parse_args()
    failed = False
    for file in sorted((arguments.tests / "trainings").glob("*.json")):
        settings = json.loads(file.read_text())
        losses = losses_of(arguments.tests, file.stem, settings)
        if arguments.check:
            worst = max(abs(a / b - 1) for a, b in zip(losses, settings["losses"], strict=True))
            print(f"{file.stem}: largest relative difference {worst:.1e}")
            failed |= worst > 1e-9
        else:
            file.write_text(json.dumps(settings | {"losses": losses}, indent=1) + "\n")
            print(f"{file.stem}: {losses[0]:.6f} -> {losses[-1]:.6f}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
