#!/usr/bin/env python3
"""Makes recorded cases for `vkformer verify` with PyTorch and transformers, or computes old ones again.

  make_cases.py --out DIR [NAME...]     makes the named cases of case_list.py, or the small ones
  make_cases.py --check DIR...          computes recorded cases from their weights and inputs; exit status 1 if they differ

Everything is float64, from float32 weights; results are rounded to float32.
"""

import argparse
import contextlib
import copy
import json
import math
import pathlib
import re
import sys

import torch
import torch.nn.functional as F
import transformers
from safetensors.torch import load_file, save_file
from torch.overrides import TorchFunctionMode

import case_format
import vaswani
from case_list import CASES, CLASSES, NO_DROPOUT, SMALL

ADAMW_STEPS, ADAMW = 5, dict(lr=1e-3, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)
NEW_TOKENS, BEAMS = 16, 4
PROMPT_TRIES = 300


class InDouble(TorchFunctionMode):
    """transformers computes norms, softmax and rotary angles in float32 by name; here that name means float64."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        def wide(value):
            return torch.float64 if value is torch.float32 else value

        func = torch.Tensor.double if func is torch.Tensor.float else func
        return func(*map(wide, args), **{name: wide(value) for name, value in (kwargs or {}).items()})


@contextlib.contextmanager
def precision(dtype):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    with InDouble() if dtype == torch.float64 else contextlib.nullcontext():
        yield
    torch.set_default_dtype(before)


def build(config, architecture, weights, dtype=torch.float64):
    """The model with these weights; without weights, as its own initialisation leaves it."""
    with precision(dtype):
        if architecture == "Vaswani":
            model = vaswani.Vaswani(config).to(dtype)
        else:
            model = getattr(transformers, architecture)._from_config(
                copy.deepcopy(config), attn_implementation="eager", dtype=dtype).to(dtype)
            if getattr(config, "scale_decoder_outputs", None) is False:
                # T5 v1.1 has a head of its own; recent versions tie it until they meet one in a checkpoint.
                model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.detach().clone())
    for module in model.modules():
        if "Sinusoidal" in type(module).__name__:
            module.requires_grad_(False)
        elif isinstance(module, torch.nn.Embedding):
            module.padding_idx = None  # its row has a gradient like any other
    state = model.state_dict(keep_vars=True)
    for name, value in (weights or {}).items():
        state[name].data.copy_(value)
    return model.eval()


def trained(model, weights):
    state = model.state_dict(keep_vars=True)
    return {name: state[name] for name in weights if state[name].requires_grad}


def loss_of(logits, labels, task, smoothing):
    if task == "causal":
        logits, labels = logits[:, :-1], labels[:, 1:]
    return F.cross_entropy(logits.flatten(0, -2), labels.flatten().long(), label_smoothing=smoothing)


class Problem:
    """A model, its inputs and its prompts; everything that is recorded follows from them."""

    def __init__(self, config, architecture, task, weights, inputs, labels, generation):
        self.config, self.architecture, self.task = config, architecture, task
        self.weights, self.inputs, self.labels, self.generation = weights, inputs, labels, generation
        self.smoothing = config["label_smoothing"] if architecture == "Vaswani" else 0.0

    def build(self, weights=None, dtype=torch.float64):
        return build(self.config, self.architecture, weights or self.weights, dtype)

    def forward(self, model, dtype=torch.float64, inputs=None, **more):
        """Every output, with the hidden states of the last stack as last_hidden_state."""
        top = model
        if self.architecture != "Vaswani":
            top = model.get_decoder() if self.task == "seq2seq" else model.base_model
            more["output_attentions"] = True
        seen = []
        hook = top.register_forward_hook(lambda _, __, out: seen.append(out))
        with precision(dtype):
            out = model(**(inputs or self.inputs), **more)
        hook.remove()
        out.last_hidden_state = getattr(seen[0], "last_hidden_state", seen[0][0] if isinstance(seen[0], tuple) else None)
        return out

    def loss(self, model, dtype=torch.float64):
        return loss_of(self.forward(model, dtype).logits, self.labels, self.task, self.smoothing)

    def outputs(self, model, dtype=torch.float64):
        with torch.no_grad():
            out = self.forward(model, dtype)
        found = {"logits": out.logits, "last_hidden_state": out.last_hidden_state}
        if self.task == "seq2seq":
            found["encoder_last_hidden_state"] = out.encoder_last_hidden_state
            names = {"encoder_attention.0": out.encoder_attentions, "decoder_attention.0": out.decoder_attentions,
                     "cross_attention.0": out.cross_attentions}
        else:
            names = {"attention.0": out.attentions}
        found["loss"] = loss_of(out.logits, self.labels, self.task, self.smoothing).reshape(1)
        return found | {name: layers[0] for name, layers in names.items()}

    def gradients(self, model, dtype=torch.float64):
        parameters = trained(model, self.weights)
        found = torch.autograd.grad(self.loss(model, dtype), list(parameters.values()), allow_unused=True)
        self.without_gradient = [name for name, g in zip(parameters, found) if g is None]
        return {name: torch.zeros_like(p) if g is None else g for (name, p), g in zip(parameters.items(), found)}

    def training(self, dtype=torch.float64):
        """AdamW's losses and final parameters."""
        model = self.build(dtype=dtype)
        parameters = trained(model, self.weights)
        reached = [p for name, p in parameters.items() if name not in self.without_gradient]
        groups = [{"params": [p for p in reached if p.dim() >= 2]},
                  {"params": [p for p in reached if p.dim() < 2], "weight_decay": 0.0}]
        optimizer = torch.optim.AdamW(groups, **ADAMW)
        losses = []
        for _ in range(ADAMW_STEPS):
            optimizer.zero_grad()
            loss = self.loss(model, dtype)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        with torch.no_grad():
            losses.append(self.loss(model, dtype).item())
        return losses, {name: p.detach() for name, p in parameters.items()}

    def two_stream(self, model, prefix, given):
        """The permutation language model's forward: queries that see only what the order of prediction allows."""
        with torch.no_grad():
            logits = self.forward(model, perm_mask=given["perm_mask"].double(),
                                  target_mapping=given["target_mapping"].double()).logits
        return {prefix + "logits": logits,
                prefix + "loss": loss_of(logits, given["labels"], "masked", 0.0).reshape(1)}

    def generate(self, model, prompts, dtype=torch.float64):
        """What follows each prompt: ids, and logits or scores."""
        found = {}
        for prefix, prompt in prompts.items():
            settings = dict(max_new_tokens=NEW_TOKENS, do_sample=False, return_dict_in_generate=True)
            with torch.no_grad(), precision(dtype):
                if self.architecture == "Vaswani":
                    g = self.generation
                    ids = (g["decoder_start_token_id"], g["eos_token_id"], g["pad_token_id"])
                    if prefix == "beam.":
                        found[prefix + "sequences"], found[prefix + "scores"] = vaswani.beam_search(
                            model, prompt, NEW_TOKENS, *ids, BEAMS)
                    else:
                        found[prefix + "sequences"] = vaswani.greedy_search(model, prompt, NEW_TOKENS, *ids)
                    continue
                model.generation_config.eos_token_id = self.generation["eos_token_id"]
                if "bad_words_ids" in self.generation:
                    settings["bad_words_ids"] = self.generation["bad_words_ids"]
                prompt = {name: ids.long() for name, ids in prompt.items()}
                if prefix == "beam.":
                    out = model.generate(**prompt, **settings, num_beams=BEAMS, num_return_sequences=BEAMS,
                                         length_penalty=1.0, early_stopping=False, output_scores=True)
                    found[prefix + "scores"] = out.sequences_scores
                    end, pad = self.generation["eos_token_id"], self.generation["pad_token_id"]
                    for row in out.sequences:  # transformers fills with the end id where the pad id is 0
                        row[1:][(row[1:] == end).cumsum(0) - (row[1:] == end).int() > 0] = pad
                else:
                    out = model.generate(**prompt, **settings, output_logits=True)
                    found[prefix + "logits"] = torch.stack(out.logits, 1)
                found[prefix + "sequences"] = out.sequences
        return found

    def expected(self, prompts):
        model = self.build()
        found = self.outputs(model)
        found |= {"grad." + name: g for name, g in self.gradients(model).items()}
        losses, final = self.training()
        found["adamw.losses"] = torch.tensor(losses, dtype=torch.float64)
        found |= {"adamw.final." + name: p for name, p in final.items()}
        return found | self.generate(model, prompts)


def as_recorded(found):
    return {name: (t.detach().to(torch.float32) if t.is_floating_point() else t.to(torch.int32)).contiguous().clone()
            for name, t in found.items()}


def relative(got, want):
    return ((got.double() - want.double()).abs().max() / want.double().abs().max().clamp_min(1e-300)).item()


def zero_in_theory(names, config):
    """Key biases: softmax does not see them, unless keys are rotated."""
    if getattr(config, "rope_parameters", None):
        return []
    return [name for name in names if re.search(r"(\.key|\.k_proj|\.k_lin)\.bias$", name)]


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


def random_weights(model, names, case, seed):
    """Spread wide enough that attention and logits are far from uniform."""
    random = torch.Generator().manual_seed(seed)
    modules, weights = dict(model.named_modules()), {}
    state = model.state_dict()
    for name in sorted(names):
        shape, last = state[name].shape, name.rsplit(".", 1)[-1]
        module = modules.get(name.rsplit(".", 1)[0])
        noise = torch.randn(shape, generator=random, dtype=torch.float64)
        if re.search(r"(?i)(norm\w*|\.ln_\w+)\.weight$", name):
            value = 1 + 0.2 * noise
        elif re.search(r"r_[wrs]_bias|seg_embed|relative_attention_bias", name):
            value = 0.7 * noise
        elif isinstance(module, torch.nn.Embedding) or last == "mask_emb":
            value = case["embedding"] * noise
        elif last.endswith("bias"):
            value = (0.3 if name == "final_logits_bias" else 0.1) * noise
        else:
            outer = type(module).__name__ == "Conv1D" or len(shape) == 3
            gain = case["gain"]
            if re.search(r"\b(q|k|r|query|key|q_proj|k_proj|q_lin|k_lin)(\.weight)?$", name):
                gain *= {"t5": 0.5, "xlnet": 1.4}.get(case["family"], 0.9)  # T5 does not scale its scores
            value = gain / math.sqrt(shape[0 if outer else 1]) * noise
        weights[name] = value.to(torch.float32)
    return weights


def random_ids(random, case, shape):
    last = case["vocab"] - (case.get("pad", 0) == case["vocab"] - 1)
    return torch.randint(case["first_id"], last, shape, generator=random)


def random_inputs(case, seed):
    """Rows of falling length, padded on the right, and what they are to predict."""
    random = torch.Generator().manual_seed(seed)
    seq, task = case["seq"], case["task"]
    batch = 2 if seq >= 100 else 3
    lengths = [seq] * batch if case.get("full") else [seq, seq * 2 // 3, seq * 7 // 12][:batch]
    pad = case["config"].get("pad_token_id", 0)
    ids = random_ids(random, case, (batch, seq))
    ids[0, 3] = ids[0, 4] = ids[0, 1]  # repeated tokens add up in the embedding's gradient
    mask = (torch.arange(seq)[None] < torch.tensor(lengths)[:, None]).long()
    draw = torch.rand(batch, seq, generator=random)
    inputs = {}
    if task == "causal":
        labels = torch.where(draw < 0.08, -100, ids)
    elif task == "masked":
        chosen = draw < 0.3
        labels = torch.where(chosen, ids, -100)
        ids = torch.where(chosen & (draw < 0.24), 4, ids)
        ids = torch.where(chosen & (draw > 0.27), random_ids(random, case, (batch, seq)), ids)
    elif task == "classify":
        labels = torch.randint(CLASSES[task], (batch,), generator=random)
    elif task == "classify_tokens":
        labels = torch.randint(CLASSES[task], (batch, seq), generator=random)
        labels = torch.where(draw < 0.1, -100, labels)
    else:
        target, start, end = case["target"], case["start"], case["end"]
        ends = [target, target * 2 // 3, target * 3 // 5][:batch]
        labels = random_ids(random, case, (batch, target))
        places = torch.arange(target)[None]
        stop = torch.tensor(ends)[:, None] - 1
        labels = torch.where(places == stop, end, labels)
        shifted = torch.cat([torch.full((batch, 1), start), labels[:, :-1]], 1)
        inputs["decoder_input_ids"] = torch.where(places > stop + 1, case["pad"], shifted)
        labels = torch.where(places > stop, -100, labels)
        labels[0, 2] = -100
    if labels.shape == mask.shape and task != "seq2seq":
        labels = torch.where(mask == 0, -100, labels)
    inputs |= {"input_ids": torch.where(mask == 0, pad, ids), "attention_mask": mask}
    if case["family"] in ("bert", "xlnet"):
        halves = torch.tensor(lengths)[:, None] // 2
        inputs["token_type_ids"] = (torch.arange(seq)[None] >= halves).long() * mask
    return {name: t.to(torch.int32) for name, t in inputs.items()}, labels.to(torch.int32)


def random_prompts(case, seed):
    random = torch.Generator().manual_seed(seed)
    width, short = (9, 6) if case["task"] == "seq2seq" else (5, 3)
    ids = random_ids(random, case, (2, width))
    ones = torch.ones_like(ids)
    if case["task"] == "seq2seq":
        mask = ones.clone()
        mask[1, short:] = 0
        prompt = {"input_ids": torch.where(mask == 0, case["pad"], ids), "attention_mask": mask}
        prompts = {"greedy.": prompt, "beam.": dict(prompt)}
    else:
        mask = ones.clone()
        mask[1, : width - short] = 0
        prompts = {"greedy.": {"input_ids": ids, "attention_mask": ones},
                   "greedy_left_pad.": {"input_ids": ids * mask, "attention_mask": mask}}
    return {prefix: {name: t.to(torch.int32) for name, t in p.items()} for prefix, p in prompts.items()}


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


def random_order(problem):
    """Predictions of five real positions in a random order of prediction, for XLNet's second stream."""
    random = torch.Generator().manual_seed(3)
    ids = problem.inputs["input_ids"]
    batch, seq = ids.shape
    last = int(problem.inputs["attention_mask"].sum(1).min())
    place = torch.rand(batch, seq, generator=random)
    place[:, last - 5 : last] += 1  # the predicted ones come last
    targets = torch.arange(last - 5, last)
    return {"perm_mask": (place[:, None, :] >= place[:, :, None]).float(),
            "target_mapping": F.one_hot(targets, seq).float().expand(batch, -1, -1),
            "labels": ids[:, last - 5 : last]}


def save_blank(model, folder, generates):
    """Writes the configs as save_pretrained does; gives the names of the tensors that it would store."""
    model.save_pretrained(folder)
    if not generates:
        (folder / "generation_config.json").unlink(missing_ok=True)
    path = folder / "config.json"
    written = json.loads(path.read_text())
    if written.get("scale_decoder_outputs") is False:
        # Older versions told T5 v1.1 by its untied head; a reader should need no more.
        del written["scale_decoder_outputs"]
        written["tie_word_embeddings"] = False
        path.write_text(json.dumps(written, indent=2) + "\n")
    if "rope_parameters" in written:
        (folder / "config_legacy.json").write_text(case_format.text(case_format.legacy(written)))
    return list(load_file(folder / "model.safetensors"))


def make(name, folder):
    case = CASES[name]
    folder.mkdir(parents=True, exist_ok=True)
    family, architecture, task = case["family"], case["architecture"], case["task"]
    settings = dict(case["config"], vocab_size=case["vocab"], **NO_DROPOUT[family])
    if task in CLASSES:
        settings["num_labels"] = CLASSES[task]
    config = settings if family == "vaswani" else getattr(transformers, architecture).config_class(**settings)
    blank = build(config, architecture, None, torch.float32)
    if family == "vaswani":
        names = list(blank.state_dict())
        (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    else:
        names = save_blank(blank, folder, generates=task in ("causal", "seq2seq"))
    weights = random_weights(blank, names, case, case["seed"])
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    inputs, labels = random_inputs(case, case["seed"] + 100)
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
    save_file(recorded, folder / "expected.safetensors")
    parameters = trained(problem.build(), weights)
    loss = exact["loss"].item()
    smoothing = problem.smoothing
    text = case_format.LOSSES[task]
    if smoothing:
        text += case_format.SMOOTHED.format(smoothing, 1 - smoothing)
    (folder / "case.json").write_text(case_format.text({
        "name": name, "family": family, "task": task, "what": case["what"], "batch": len(inputs["input_ids"]),
        "seq": case["seq"], "target_seq": case.get("target"), "vocab": case["vocab"],
        "seeds": {"weights": case["seed"], "inputs": case["seed"] + 100, "prompts": prompt_seed},
        "loss": loss, "loss_definition": text,
        "optimizer": {"name": "adamw", "steps": ADAMW_STEPS, **ADAMW, "decayed": "parameters with two or more dimensions",
                      "clipping": None, "losses": exact["adamw.losses"].tolist()},
        "generation": problem.generation,
        "parameters": {"count": sum(p.numel() for p in parameters.values()),
                       "fixed": [n for n, p in problem.build().named_parameters() if not p.requires_grad],
                       "without_gradient": problem.without_gradient,
                       "gradient_is_zero_in_theory": zero_in_theory(parameters, config)},
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
    stored, weights = load_file(folder / "expected.safetensors"), load_file(folder / "model.safetensors")
    if case["family"] == "vaswani":
        config, architecture = vaswani.load_config(folder / "config.json"), "Vaswani"
    else:
        config = transformers.AutoConfig.from_pretrained(folder)
        architecture = config.architectures[0]
    names = ("input_ids", "attention_mask", "token_type_ids", "decoder_input_ids")
    problem = Problem(config, architecture, case["task"], weights, {n: stored[n] for n in names if n in stored},
                      stored["labels"], case["generation"])
    prompts = {prefix: {n: stored[prefix + n] for n in names if prefix + n in stored}
               for prefix in ("greedy.", "greedy_left_pad.", "beam.") if prefix + "input_ids" in stored}
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
