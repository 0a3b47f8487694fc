"""Families whose tensors have other names, or are joined, in files than in transformers' modules."""

import re

import torch

VIT = {"attention.q_proj": "attention.attention.query", "attention.k_proj": "attention.attention.key",
       "attention.v_proj": "attention.attention.value", "attention.o_proj": "attention.output.dense",
       "mlp.fc1": "intermediate.dense", "mlp.fc2": "output.dense"}
RENAMED = {"vit": {"vit.layers.": "vit.encoder.layer.", **VIT}, "deit": {"deit.layers.": "deit.encoder.layer.", **VIT},
           "nomic_bert": {"nomic_bert.layers.": "nomic_bert.encoder.layers.", "embeddings.LayerNorm": "emb_ln",
                          "self_attn.o_proj": "attn.out_proj", "mlp.up_proj": "mlp.fc11", "mlp.gate_proj": "mlp.fc12",
                          "mlp.down_proj": "mlp.fc2", "post_attention_layernorm": "norm1",
                          "post_mlp_layernorm": "norm2"},
           "mixtral": {".mlp.": ".block_sparse_moe."},
           "ernie4_5_moe": {".gate.moe_statics.": ".moe_statics."},
           # The second is what transformers alone writes: it is only undone, since the first has been there before.
           "nemotron_h": {"model.": "backbone.", "model.embeddings.": "model.embedding."}}
JOINED = {"nomic_bert": (["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"], "attn.Wqkv")}

# What each expert's matrices are called in files: gate, where there is one, up and down, which modules have in two
# tensors of all experts.
EXPERTS = {**dict.fromkeys(("lfm2_moe", "mixtral"), ("w1", "w3", "w2")),
           **dict.fromkeys(("glm4_moe", "olmoe", "qwen2_moe", "qwen3moe", "deepseek_v2", "deepseek_v3", "qwen3_next",
                           "glm4_moe_lite", "ernie4_5_moe", "hunyuan_v1_moe"), ("gate_proj", "up_proj", "down_proj")),
           "nemotron_h": (None, "up_proj", "down_proj")}


def experts_apart(tensors, gate, up, down):
    found = {}
    for name, tensor in tensors.items():
        place, _, last = name.rpartition(".experts.")
        for i, own in enumerate(tensor if place else ()):
            whole = {down if last == "down_proj" else up: own}
            each = dict(zip((gate, up), own.chunk(2))) if last == "gate_up_proj" else whole
            found |= {f"{place}.experts.{i}.{part}.weight": matrix for part, matrix in each.items()}
        if not place:
            found[name] = tensor
    return found


def experts_together(tensors, gate, up, down):
    found, lists = {}, {}
    for name, tensor in tensors.items():
        match = re.fullmatch(r"(.*\.experts)\.(\d+)\.(\w+)\.weight", name)
        if match:
            lists.setdefault(match[1], {}).setdefault(int(match[2]), {})[match[3]] = tensor
        else:
            found[name] = tensor
    for place, experts in lists.items():
        parts = [experts[i] for i in range(len(experts))]
        if gate:
            found[place + ".gate_up_proj"] = torch.stack([torch.cat([part[gate], part[up]]) for part in parts])
        else:
            found[place + ".up_proj"] = torch.stack([part[up] for part in parts])
        found[place + ".down_proj"] = torch.stack([part[down] for part in parts])
    return found


# What stands before all names in the files of older versions, which today's modules of a tower alone leave out.
BEFORE = {"siglip_vision_model": "vision_model.", "siglip_text_model": "text_model."}
TOWER = r"^(grad\.|adamw\.final\.)?(embeddings\.|encoder\.|post_layernorm\.|final_layer_norm\.|head\.)"


def names_as_filed(names, family):
    return list(as_filed(dict.fromkeys(names), family)) if family in ("vit", "deit") or family in BEFORE else names


def replaced(name, pairs):
    for old, new in pairs:
        name = name.replace(old, new)
    return name


def as_filed(tensors, family):
    """Those of modules as files have them; names may have something in front ("grad.")."""
    if family in EXPERTS:
        tensors = experts_apart(tensors, *EXPERTS[family])
    if family in BEFORE:
        return {re.sub(TOWER, rf"\1{BEFORE[family]}\2", name): tensor for name, tensor in tensors.items()}
    parts, whole = JOINED.get(family, ([], ""))
    found = {}
    for name, tensor in tensors.items():
        part = next((part for part in parts if part in name), None)
        if part and part != parts[0]:
            continue
        if part:
            tensor = torch.cat([tensors[name.replace(part, other)] for other in parts])
            name = name.replace(part, whole)
        found[replaced(name, RENAMED.get(family, {}).items())] = tensor
    return found


def as_in_modules(tensors, family):
    """The opposite."""
    if family in EXPERTS:
        tensors = experts_together(tensors, *EXPERTS[family])
    if family in BEFORE:
        return {name.replace(BEFORE[family], ""): tensor for name, tensor in tensors.items()}
    parts, whole = JOINED.get(family, ([], "\n"))
    back = [(new, old) for old, new in RENAMED.get(family, {}).items()]
    found = {}
    for name, tensor in tensors.items():
        if whole in name:
            found |= {name.replace(whole, part): piece for part, piece in zip(parts, tensor.chunk(len(parts)))}
        else:
            found[name] = tensor
    return {replaced(name, back): tensor for name, tensor in found.items()}
