#!/usr/bin/env python3
"""Makes recorded cases for `vkformer verify` with PyTorch and transformers, or computes old ones again.

  make_cases.py --out DIR [NAME...]     makes the named cases of case_list.py, or the small ones
  make_cases.py --check DIR...          computes recorded cases from their weights and inputs; fails if they differ

Everything is float64, from float32 weights; results are rounded to float32.
"""

import argparse
import json
import math
import pathlib
import re
import sys

import torch
import transformers
from safetensors.torch import load_file, save_file

import case_format
import vaswani
from case_list import CASES, SMALL
from case_recipes import CLASSES, NO_DROPOUT
from filed_names import as_filed, as_in_modules, names_as_filed
from problem import ADAMW, ADAMW_STEPS, BEAMS, NEW_TOKENS, Problem, as_called, build, precision, trained
from random_case import random_inputs, random_order, random_prompts, random_weights

PROMPT_TRIES = 300


def as_recorded(found):
    return {name: (t.detach().to(torch.float32) if t.is_floating_point() else t.to(torch.int32)).contiguous().clone()
            for name, t in found.items()}


def relative(got, want):
    return ((got.double() - want.double()).abs().max() / want.double().abs().max().clamp_min(1e-300)).item()


def zero_in_theory(names, config):
    """Key biases: softmax does not see them, unless keys are rotated."""
    if getattr(config, "rope_parameters", None):
        return []
    return [name for name in names if re.search(r"(\.key|\.k_proj|\.k_lin|\.attn\.k)\.bias$", name)]


def measure(problem, exact):
    """What float32 costs here, and how lively the model is."""
    single = torch.float32
    model = problem.build(dtype=single)
    skipped = zero_in_theory(problem.weights, problem.config)
    losses, final = problem.training(single)
    differences = torch.cat([(final[name].double() - exact["adamw.final." + name]).abs().flatten()
                             for name in final if name not in skipped])
    gradients = problem.gradients(model, single)
    found = {
        "float32_logits_relative_to_max": relative(problem.outputs(model, single)["logits"], exact["logits"]),
        "float32_gradient_relative_to_tensor_max": max(
            relative(g, exact["grad." + name]) for name, g in gradients.items()
            if name not in skipped and name not in problem.without_gradient),
        "float32_adamw_losses_relative": max(abs(a / b - 1) for a, b in zip(losses, exact["adamw.losses"].tolist())),
        "float32_adamw_final_fraction_within": (differences <= 5e-5).double().mean().item(),
        "float32_adamw_final_absolute_max": differences.max().item(),
    }
    random = torch.Generator().manual_seed(1)
    direction = {name: torch.randn(g.shape, generator=random, dtype=torch.float64) for name, g in gradients.items()}
    length, step = math.sqrt(sum(d.square().sum().item() for d in direction.values())), 1e-5
    ends = []
    for side in (step, -step):
        moved = {name: w.double() + side / length * direction[name] if name in direction else w
                 for name, w in problem.weights.items()}
        with torch.no_grad():
            ends.append(problem.loss(problem.build(moved)).item())
    slope = sum((exact["grad." + name] * d).sum().item() for name, d in direction.items()) / length
    found["finite_difference_relative"] = abs((ends[0] - ends[1]) / (2 * step) / slope - 1)
    found["logits_std"] = exact["logits"].std().item()
    p = exact["encoder_attention.0" if problem.task == "seq2seq" else "attention.0"]
    shown = (p > 0).sum(-1)
    share = -torch.special.xlogy(p, p).sum(-1) / shown.clamp_min(2).log()
    found["attention_entropy_fraction"] = share[shown > 1].mean().item()
    return found


def steady_prompts(problem, case, seed):
    """Prompts whose generated ids survive float32 and weight changes of 3e-5."""
    random = torch.Generator().manual_seed(7)
    models = [(problem.build(), torch.float64), (problem.build(dtype=torch.float32), torch.float32)]
    for _ in range(2):
        moved = {name: w.double() + 3e-5 * torch.randn(w.shape, generator=random).sign()
                 for name, w in problem.weights.items()}
        models.append((problem.build(moved), torch.float64))
    for attempt in range(PROMPT_TRIES):
        prompts = random_prompts(case, seed + attempt)
        first, *others = [{name: ids for name, ids in problem.generate(model, prompts, dtype).items()
                           if name.endswith("sequences")} for model, dtype in models]
        if all(a[name].shape == ids.shape and (a[name] == ids).all() for a in others for name, ids in first.items()):
            return prompts, seed + attempt
    sys.exit("no steady prompts found")


def generation_settings(case):
    if case["task"] == "causal":
        return {"max_new_tokens": NEW_TOKENS, "pad_token_id": 0, "eos_token_id": None, "note": "never stops early"}
    if case["task"] != "seq2seq":
        return None
    banned = {"bad_words_ids": case["banned"]} if "banned" in case else {}
    return {"max_new_tokens": NEW_TOKENS, "pad_token_id": case["pad"], **banned, "eos_token_id": case["end"],
            "decoder_start_token_id": case["start"], "num_beams": BEAMS, "num_return_sequences": BEAMS,
            "length_penalty": 1.0, "early_stopping": False,
            "note": "a hypothesis ends at the end id or at the length limit"}


def save_blank(model, folder, generates):
    """Writes the configs as save_pretrained does; gives the tensors that it would store."""
    # Qwen's own folders hold a layer's experts together, where transformers would part those of the text model alone.
    model.save_pretrained(folder, save_original_format=model.config.model_type != "qwen3_5_moe_text")
    if not generates:
        (folder / "generation_config.json").unlink(missing_ok=True)
    path = folder / "config.json"
    written = json.loads(path.read_text())
    if written.get("scale_decoder_outputs") is False:
        # Older versions told T5 v1.1 by its untied head; a reader should need no more.
        del written["scale_decoder_outputs"]
        written["tie_word_embeddings"] = False
        path.write_text(json.dumps(written, indent=2) + "\n")
    kind = written["model_type"]
    if kind == "nemotron_h" or ("rope_parameters" in written and not kind.startswith("gemma4")):  # no older ones of that
        (folder / "config_legacy.json").write_text(case_format.text(case_format.legacy(written)))
    return load_file(folder / "model.safetensors")


def matched(config, architecture, weights, inputs):
    """What two towers give: vectors, their cosines, and what the model makes of these."""
    with torch.no_grad(), precision(torch.float64):
        out = build(config, architecture, weights)(**as_called(inputs, torch.float64))
    return {"image_embeds": out.image_embeds, "text_embeds": out.text_embeds,
            "logits": out.image_embeds @ out.text_embeds.T, "logits_per_image": out.logits_per_image}


def make_match(name, case, folder, config, weights, inputs):
    recorded = as_recorded(matched(config, case["architecture"], weights, inputs) | inputs)
    save_file(recorded, folder / "expected.safetensors")
    (folder / "case.json").write_text(case_format.text({
        "name": name, "family": case["family"], "task": case["task"], "what": case["what"],
        "seeds": {"weights": case["seed"], "inputs": case["seed"] + 100},
        "loss_definition": case_format.LOSSES[case["task"]], "parameters": {"gradient_is_zero_in_theory": []},
        "tolerance": case_format.TOLERANCE, "tensors": case_format.tensors(recorded)}))
    print(f"{name:24} logits {recorded['logits_per_image'].std():.2f}", flush=True)


def make(name, folder):
    case = CASES[name]
    folder.mkdir(parents=True, exist_ok=True)
    family, architecture, task = case["family"], case["architecture"], case["task"]
    settings = dict(case["config"], **NO_DROPOUT.get(family, {}))
    if "vocab" in case and task != "match":
        settings["vocab_size"] = case["vocab"]
    if task in CLASSES:
        settings["num_labels"] = CLASSES[task]
    config = settings if family == "vaswani" else getattr(transformers, architecture).config_class(**settings)
    blank = build(config, architecture, None, torch.float32)
    if family == "vaswani":
        names = list(blank.state_dict())
        (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    else:
        stored = save_blank(blank, folder, generates=task in ("causal", "seq2seq"))
        names = list(as_in_modules(stored, family))
    weights = random_weights(blank, names, case, case["seed"])
    save_file(as_filed(weights, family), folder / "model.safetensors", metadata={"format": "pt"})
    if "processor" in case:
        (folder / "preprocessor_config.json").write_text(json.dumps(case["processor"], indent=2) + "\n")
    inputs, labels = random_inputs(case, case["seed"] + 100)
    if task == "match":
        return make_match(name, case, folder, config, weights, inputs)
    problem = Problem(config, architecture, task, weights, inputs, labels, generation_settings(case))
    prompts, prompt_seed = {}, None
    if problem.generation:
        prompts, prompt_seed = steady_prompts(problem, case, 1000 * case["seed"])
    exact = problem.expected(prompts)
    measured = measure(problem, exact)
    if architecture == "XLNetLMHeadModel":
        order = random_order(problem)
        exact |= problem.two_stream(problem.build(), "two_stream.", order)
        exact |= {"two_stream." + key: value for key, value in order.items()}
    if case["seq"] > 32:  # T x T numbers a head, which nothing compares
        exact = {key: value for key, value in exact.items() if "attention.0" not in key}
    recorded = as_recorded(exact | inputs | {"labels": labels}
                           | {prefix + key: t for prefix, p in prompts.items() for key, t in p.items()})
    recorded = as_filed(recorded, family)
    save_file(recorded, folder / "expected.safetensors")
    parameters = trained(problem.build(), weights)
    loss = exact["loss"].item()
    smoothing = problem.smoothing
    text = case_format.LOSSES[task]
    if smoothing:
        text += case_format.SMOOTHED.format(smoothing, 1 - smoothing)
    (folder / "case.json").write_text(case_format.text({
        "name": name, "family": family, "task": task, "what": case["what"], "batch": len(labels),
        "seq": case["seq"], "target_seq": case.get("target"), "vocab": case.get("vocab"),
        "seeds": {"weights": case["seed"], "inputs": case["seed"] + 100, "prompts": prompt_seed},
        "loss": loss, "loss_definition": text,
        "optimizer": {"name": "adamw", "steps": ADAMW_STEPS, **ADAMW,
                      "decayed": "parameters with two or more dimensions", "clipping": None,
                      "losses": exact["adamw.losses"].tolist()},
        "generation": problem.generation,
        "parameters": {"count": sum(p.numel() for p in parameters.values()),
                       "fixed": [n for n, p in problem.build().named_parameters() if not p.requires_grad],
                       "without_gradient": names_as_filed(problem.without_gradient, family),
                       "gradient_is_zero_in_theory": names_as_filed(zero_in_theory(parameters, config), family)},
        "tolerance": case_format.TOLERANCE, "measured": measured, "tensors": case_format.tensors(recorded),
        "tensor_groups": case_format.GROUPS}))
    size = sum(file.stat().st_size for file in folder.iterdir())
    print(f"{name:24} {size:8} bytes  logits {measured['logits_std']:.2f}  entropy "
          f"{measured['attention_entropy_fraction']:.2f}  float32 {measured['float32_logits_relative_to_max']:.1e}  "
          f"difference {measured['finite_difference_relative']:.1e}  losses {exact['adamw.losses'][0]:.2f} to "
          f"{exact['adamw.losses'][-1]:.2f}", flush=True)


def check(folder):
    """Largest difference between a recorded case and the same case computed here."""
    case = json.loads((folder / "case.json").read_text())
    stored, weights = [as_in_modules(load_file(folder / file), case["family"])
                       for file in ("expected.safetensors", "model.safetensors")]
    if case["family"] == "vaswani":
        config, architecture = vaswani.load_config(folder / "config.json"), "Vaswani"
    else:
        config = transformers.AutoConfig.from_pretrained(folder)
        architecture = config.architectures[0]
    names = ("input_ids", "attention_mask", "token_type_ids", "decoder_input_ids", "input_features", "pixel_values")
    if case["task"] == "match":
        inputs = {n: stored[n] for n in names if n in stored}
        got = as_recorded(matched(config, architecture, weights, inputs))
        wrong = [n for n, t in got.items() if relative(t, stored[n]) > 1e-6]
        print(f"{folder}: {'differs: ' + ', '.join(wrong) if wrong else 'the same'}", flush=True)
        return not wrong
    problem = Problem(config, architecture, case["task"], weights, {n: stored[n] for n in names if n in stored},
                      stored["labels"], case["generation"])
    prompts = {prefix: {n: stored[prefix + n] for n in names if prefix + n in stored}
               for prefix in ("greedy.", "greedy_left_pad.", "beam.") if prefix + "sequences" in stored}
    exact = problem.expected(prompts)
    if "two_stream.logits" in stored:
        given = {n: stored["two_stream." + n] for n in ("perm_mask", "target_mapping", "labels")}
        exact |= problem.two_stream(problem.build(), "two_stream.", given)
    got = as_recorded(exact)
    inputs = set(problem.inputs) | {p + n for p, t in prompts.items() for n in t}
    worst, wrong = {}, sorted(set(stored) - set(got) - inputs - {"labels"} - {n for n in stored if "two_stream" in n})
    skipped = zero_in_theory(weights, config)
    for name in sorted(set(stored) & set(got)):
        group = re.sub(r"^(grad|adamw\.final)\..*", r"\1", name)
        tensor = name.removeprefix(group + ".")
        if got[name].shape != stored[name].shape:
            wrong.append(name)
        elif tensor not in skipped:
            worst[group] = max(worst.get(group, 0), relative(got[name], stored[name]))
    for group, difference in worst.items():
        print(f"  {group:32} {difference:.1e}")
        if difference > (1e-2 if group == "adamw.final" else 1e-6):
            wrong.append(group)
    print(f"{folder}: {'differs: ' + ', '.join(wrong) if wrong else 'the same'}", flush=True)
    return not wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    if arguments.check:
        sys.exit(0 if all([check(pathlib.Path(name)) for name in arguments.names]) else 1)
    if not arguments.out:
        parser.error("--out DIR or --check is needed")
    for name in arguments.names or SMALL:
        make(name, arguments.out / name)


if __name__ == "__main__":
    main()
