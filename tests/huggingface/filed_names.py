"""Families whose tensors have other names, or are joined, in files than in transformers' modules."""

import torch

RENAMED = {"nomic_bert": {"nomic_bert.layers.": "nomic_bert.encoder.layers.", "embeddings.LayerNorm": "emb_ln",
                          "self_attn.o_proj": "attn.out_proj", "mlp.up_proj": "mlp.fc11", "mlp.gate_proj": "mlp.fc12",
                          "mlp.down_proj": "mlp.fc2", "post_attention_layernorm": "norm1",
                          "post_mlp_layernorm": "norm2"}}
JOINED = {"nomic_bert": (["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"], "attn.Wqkv")}


def replaced(name, pairs):
    for old, new in pairs:
        name = name.replace(old, new)
    return name


def as_filed(tensors, family):
    """Those of modules as files have them; names may have something in front ("grad.")."""
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
    parts, whole = JOINED.get(family, ([], "\n"))
    back = [(new, old) for old, new in RENAMED.get(family, {}).items()]
    found = {}
    for name, tensor in tensors.items():
        if whole in name:
            found |= {name.replace(whole, part): piece for part, piece in zip(parts, tensor.chunk(len(parts)))}
        else:
            found[name] = tensor
    return {replaced(name, back): tensor for name, tensor in found.items()}
