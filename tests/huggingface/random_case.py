"""Random weights, inputs and prompts; the same seed gives the same numbers."""

import math
import re

import torch
import torch.nn.functional as F

from case_recipes import CLASSES


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
            if case["family"].startswith("qwen3_5") and "linear_attn" not in name:
                value -= 1  # stored as what they add to one; only the norm within a delta net is not
        elif last in ("A_log", "dt_bias"):
            value = 0.7 * noise  # decays from nearly none to most of the state
        elif last in ("D", "layer_scalar", "scale", "per_expert_scale"):
            value = 1 + 0.2 * noise
        elif "conv1d" in name or ".conv.conv." in name:
            value = 0.5 * noise
        elif re.search(r"\bconv[12]\.weight$", name):
            value = case["gain"] / math.sqrt(shape[1] * shape[2]) * noise
        elif re.search(r"r_[wrs]_bias|seg_embed|relative_attention_bias", name):
            value = 0.7 * noise
        elif last == "sinks":
            value = noise
        elif last in ("class_embedding", "logit_scale", "logit_bias"):
            value = 0.5 * noise
        elif last == "lambda1":
            value = 0.7 + 0.2 * noise
        elif len(shape) == 4:
            value = case["gain"] / math.sqrt(math.prod(shape[1:])) * noise
        elif isinstance(module, torch.nn.Embedding) or last == "mask_emb":
            value = case["embedding"] * noise
        elif last.endswith("bias"):
            value = (0.3 if name == "final_logits_bias" else 0.1) * noise
        else:
            inner = 0 if type(module).__name__ == "Conv1D" or len(shape) == 3 else 1
            gain = case["gain"]
            if case["family"] == "gpt_oss" and len(shape) == 3:
                inner, gain = 1, 2 * gain  # some values are beyond the gate's limit
            elif "experts" in name or "block_sparse_moe" in name:
                inner = -1
            if re.search(r"\b(q|k|r|query|key|q_proj|k_proj|q_lin|k_lin)(\.weight)?$", name):
                gain *= {"t5": 0.5, "gpt_neo": 0.5, "xlnet": 1.4}.get(case["family"], 0.9)  # two don't scale their scores
            value = gain / math.sqrt(shape[inner]) * noise
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
    seen = {}
    if "pictures" in case:
        seen["pixel_values"] = torch.randn(batch, 3, *case["pictures"], generator=random, dtype=torch.float64).to(
            torch.float32)
        if task == "classify":
            return seen, torch.randint(CLASSES[task], (batch,), generator=random).to(torch.int32)
    lengths = [seq] * batch if case.get("full") else [seq, seq * 2 // 3, seq * 7 // 12][:batch]
    pad = case["config"].get("pad_token_id", 0)
    ids = random_ids(random, case, (batch, seq))
    ids[0, 3] = ids[0, 4] = ids[0, 1]  # repeated tokens add up in the embedding's gradient
    mask = (torch.arange(seq)[None] < torch.tensor(lengths)[:, None]).long()
    draw = torch.rand(batch, seq, generator=random)
    inputs = seen
    if task == "causal":
        labels = torch.where(draw < 0.08, -100, ids)
    elif task == "masked":
        chosen = draw < 0.3
        labels = torch.where(chosen, ids, -100)
        ids = torch.where(chosen & (draw < 0.24), 4, ids)
        ids = torch.where(chosen & (draw > 0.27), random_ids(random, case, (batch, seq)), ids)
    elif task in ("classify", "match"):  # of two towers each picture's own text is the first one's, ..
        labels = torch.arange(batch) if task == "match" else torch.randint(CLASSES[task], (batch,), generator=random)
        if "end" in case:  # where such a model looks
            ids[torch.arange(batch), torch.tensor(lengths) - 1] = case["end"]
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
        inputs["decoder_input_ids"] = torch.where(places > stop + 1, case.get("behind", case["pad"]), shifted)
        labels = torch.where(places > stop, -100, labels)
        labels[0, 2] = -100
    if "mels" in case:
        inputs["input_features"] = random_frames(random, case, batch)
        return {name: as_input(t) for name, t in inputs.items()}, labels.to(torch.int32)
    if labels.shape == mask.shape and task != "seq2seq":
        labels = torch.where(mask == 0, -100, labels)
    inputs |= {"input_ids": torch.where(mask == 0, pad, ids), "attention_mask": mask}
    if case["family"] in ("bert", "electra", "xlnet"):
        halves = torch.tensor(lengths)[:, None] // 2
        inputs["token_type_ids"] = (torch.arange(seq)[None] >= halves).long() * mask
    return {name: as_input(t) for name, t in inputs.items()}, labels.to(torch.int32)


def random_frames(random, case, batch):
    """Log-mel spectra as an encoder wants them: two frames for each of its positions."""
    return torch.randn(batch, case["mels"], 2 * case["seq"], generator=random, dtype=torch.float64).to(torch.float32)


def as_input(t):
    return t if t.is_floating_point() else t.to(torch.int32)


def random_prompts(case, seed):
    random = torch.Generator().manual_seed(seed)
    width, short = (9, 6) if case["task"] == "seq2seq" else (5, 3)
    if "mels" in case:
        frames = {"input_features": random_frames(random, case, 2)}
        return {"greedy.": frames, "beam.": dict(frames)}
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
