#!/usr/bin/env python3
"""Records the losses of the trainings in tests/trainings, in float64.

  build/release/tests/vkformer_tests "[.record]"      writes batches, adapters and settings, no losses
  train_cases.py tests                                trains the models of tests/fixtures on them and adds the losses
  train_cases.py --check tests                        fails if recorded losses differ from those it computes
"""

import argparse
import copy
import json
import pathlib
import sys

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from transformers import AutoConfig

from problem import build, precision

INPUTS = {"ids": "input_ids", "mask": "attention_mask"}
PAIR_INPUTS = {"ids": "decoder_input_ids", "source": "input_ids", "source_mask": "attention_mask"}


class Lora(torch.nn.Module):
    """PEFT's low-rank product beside a linear layer, which rests (peft/tuners/lora/layer.py, without dropout)."""

    def __init__(self, base, a, b, settings):
        super().__init__()
        self.base, self.a, self.b = base, torch.nn.Parameter(a.double()), torch.nn.Parameter(b.double())
        rank = settings["r"] ** 0.5 if settings["use_rslora"] else settings["r"]
        self.scaling = settings["lora_alpha"] / rank

    def forward(self, x):
        return self.base(x) + (x @ self.a.T) @ self.b.T * self.scaling


def adapt(model, folder):
    settings = json.loads((folder / "adapter_config.json").read_text())
    tensors = load_file(folder / "adapter_model.safetensors")
    model.requires_grad_(False)
    end = ".lora_A.weight"
    for name in [name for name in tensors if name.endswith(end)]:
        path = name.removesuffix(end).removeprefix("base_model.model.")
        outer, _, inner = path.rpartition(".")
        module = model.get_submodule(outer)
        b = tensors[name.replace("lora_A", "lora_B")]
        setattr(module, inner, Lora(getattr(module, inner), tensors[name], b, settings))


def texts_of(batch):
    """The texts of packed rows, each alone: they begin where positions do. Padding is a text without targets."""
    for ids, positions, targets in zip(batch["ids"], batch["positions"], batch["targets"], strict=True):
        starts = [*(positions == 0).nonzero().flatten().tolist(), len(ids)]
        for first, last in zip(starts, starts[1:]):
            if (targets[first:last] >= 0).any():
                yield {"ids": ids[None, first:last], "targets": targets[None, first:last]}


def likelihoods_of(model, batch):
    """Of each row's labels."""
    with precision(torch.float64):
        logits = model(input_ids=batch["ids"]).logits
    found = logits.log_softmax(-1).gather(-1, batch["labels"].clamp(min=0)[..., None])[..., 0]
    return (found * (batch["labels"] >= 0)).sum(-1)


def preference_loss(model, reference, batch, settings):
    """Summed over pairs: Rafailov et al. 2023, equation 7; 1: Azar et al. 2023, equation 17, of means over tokens as
    TRL has it; 2: Meng et al. 2024, equation 6. A label is wrong with half of label_smoothing (TRL's label_smoothing:
    Mitchell's conservative DPO)."""
    kind, beta = settings.get("preference_loss", 0), settings["beta"]
    with torch.no_grad():
        before = likelihoods_of(reference, batch)
    gained = likelihoods_of(model, batch) - (0 if kind == 2 else before)
    if kind > 0:
        gained = gained / (batch["labels"] >= 0).sum(-1).clamp(min=1)
    apart = gained.view(-1, 2)
    apart = (apart[:, 0] - apart[:, 1])[batch["targets"] >= 0]
    if kind == 1:
        return ((apart - 1 / (2 * beta)) ** 2).sum()
    margin = beta * apart - (settings["margin"] if kind == 2 else 0)
    wrong = settings["label_smoothing"] / 2
    return -((1 - wrong) * F.logsigmoid(margin) + wrong * F.logsigmoid(-margin)).sum()


def similarity_loss(model, batch, settings):
    """van den Oord et al. 2018, equation 4, with cosines times a scale, summed over queries. Texts are the means of
    last hidden states; those that are similar as well do not count."""
    queries, mask = len(batch["targets"]), batch["mask"][..., None]
    with precision(torch.float64):
        hidden = model.base_model(input_ids=batch["ids"], attention_mask=batch["mask"]).last_hidden_state
    vectors = F.normalize((hidden * mask).sum(1) / mask.sum(1), dim=-1)
    logits = settings["similarity_scale"] * vectors[:queries] @ vectors[queries:].T
    texts = [tuple(row[: length.item()].tolist()) for row, length in zip(batch["ids"], batch["mask"].sum(-1))]
    for i, row in enumerate(logits):
        for j in range(len(row)):
            similar = texts[queries + j] in (texts[i], texts[queries + i]) or (j < queries and texts[j] == texts[i])
            if batch["targets"][j % queries] < 0 or (similar and i != j):
                logits[i, j] = -torch.inf
    return F.cross_entropy(logits, batch["targets"], reduction="sum")


def losses_of(folder, name, settings):
    """The mean loss over all targets of an iteration's batches, before each update."""
    base = folder / "fixtures" / settings["base"]
    config = AutoConfig.from_pretrained(base)
    model = build(config, config.architectures[0], load_file(base / "model.safetensors"))
    adapter = folder / "trainings" / f"{name}.adapter"
    if adapter.exists():
        adapt(model, adapter)
    batches = load_file(folder / "trainings" / f"{name}.batches.safetensors")
    decayed = [p for p in model.parameters() if p.requires_grad and p.dim() >= 2]
    plain = [p for p in model.parameters() if p.requires_grad and p.dim() < 2]
    adamw = torch.optim.AdamW([{"params": decayed, "weight_decay": settings["weight_decay"]},
                               {"params": plain, "weight_decay": 0}],
                              betas=settings["betas"], eps=settings["epsilon"])
    reference = copy.deepcopy(model)
    names = PAIR_INPUTS if config.is_encoder_decoder else INPUTS
    losses = []
    for step in range(1, settings["steps"] + 1):
        micro = [{key.split(".")[2]: value if value.is_floating_point() else value.long() for key, value in batches.items() if key.startswith(f"{step}.{i}.")}
                 for i in range(settings["accumulate"])]
        targets = sum((batch["targets"] >= 0).sum() for batch in micro)
        loss = 0
        if "positions" in micro[0]:
            micro = [text for batch in micro for text in texts_of(batch)]
        for batch in micro:
            if settings.get("beta", 0) > 0:
                loss = loss + preference_loss(model, reference, batch, settings) / targets
                continue
            if "similarity_scale" in settings:
                loss = loss + similarity_loss(model, batch, settings) / targets
                continue
            with precision(torch.float64):
                logits = model(**{names[key]: value for key, value in batch.items() if key in names}).logits
            if "wanted" in batch:  # several labels of a text may hold: transformers' BCEWithLogitsLoss
                counts = (batch["targets"] >= 0).view(logits.shape)
                loss = loss + F.binary_cross_entropy_with_logits(logits, batch["wanted"].double(), counts.double(),
                                                                 reduction="sum") / targets
                continue
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
