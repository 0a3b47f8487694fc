"""How a recorded case is written: the words of case.json and its layout."""

import json
import re

TOLERANCE = {
    "logits_relative_to_max": 0.0002,
    "loss_relative": 1e-05,
    "gradient_relative_to_tensor_max": 0.001,
    "adamw_losses_relative": 0.0001,
    "adamw_final_absolute": 5e-05,
    "adamw_final_fraction_within": 0.98,
    "adamw_final_absolute_max": 0.01,
    "beam_score_absolute": 0.001,
}

LOSSES = {
    "causal": "mean cross-entropy of logits[:, :-1] against labels[:, 1:], -100 ignored",
    "masked": "mean cross-entropy of logits against labels, no shift, -100 ignored",
    "seq2seq": "mean cross-entropy of logits against labels, no shift, -100 ignored",
    "classify": "mean cross-entropy of logits[batch, classes] against labels[batch]",
    "match": "none: logits are the cosines of pictures and texts",
    "classify_tokens": "mean cross-entropy of logits[batch, position, classes] against labels[batch, position], no "
                       "shift, -100 ignored",
}
SMOOTHED = ("; label smoothing {0:g}: {1:g} * (-log p[label]) + {0:g} * mean over the vocabulary of -log p")

IDS = "token ids; padded positions hold the pad id"
MASK = "1 for real tokens, 0 for padding"
SEQUENCES = "ids with the prompt (decoder-only) or the start id (encoder-decoder) in front"
STEPS = "logits of each generated step [batch, step, vocab]; in a row that ended, ignore later steps"
LEFT = "; the second prompt is padded on the left, positions count real tokens only"

MEANING = {
    "input_ids": IDS,
    "attention_mask": MASK,
    "token_type_ids": "segment ids",
    "pixel_values": "pictures [batch, channels, height, width]",
    "logits_per_image": "exp(logit_scale) times the cosines, plus logit_bias where there is one",
    "image_embeds": "vectors of the pictures, of length 1",
    "text_embeds": "vectors of the texts, of length 1",
    "decoder_input_ids": "start id, then the targets shifted right, then pad ids; causal mask only, no padding mask",
    "labels": "targets of the loss",
    "loss": "see loss_definition",
    "logits": "model output before softmax",
    "last_hidden_state": "input of the output head (decoder side if there is one), after the last norm if the family "
                         "has one",
    "encoder_last_hidden_state": "encoder output",
    "attention.0": "attention probabilities of layer 0 [batch, head, query, key]",
    "encoder_attention.0": "encoder self-attention probabilities of layer 0",
    "decoder_attention.0": "decoder self-attention probabilities of layer 0",
    "cross_attention.0": "cross-attention probabilities of decoder layer 0 [batch, head, target, source]",
    "adamw.losses": "loss before each step, then after the last one",
    "greedy.input_ids": IDS,
    "greedy.attention_mask": MASK,
    "greedy.sequences": SEQUENCES,
    "greedy.logits": STEPS,
    "greedy_left_pad.input_ids": IDS + LEFT,
    "greedy_left_pad.attention_mask": MASK + LEFT,
    "greedy_left_pad.sequences": SEQUENCES + LEFT,
    "greedy_left_pad.logits": STEPS + LEFT,
    "beam.input_ids": IDS,
    "beam.attention_mask": MASK,
    "beam.sequences": "hypotheses, best first, grouped by source [batch * beams, length]; pad after the end id",
    "beam.scores": "sum of log-probabilities / generated length (end id counted) for each hypothesis",
    "two_stream.perm_mask": "[batch, i, j] = 1 where position i may not see position j",
    "two_stream.target_mapping": "[batch, p, t] = 1 where prediction p is of position t",
    "two_stream.labels": "targets for two_stream.loss",
    "two_stream.logits": "logits of [batch, predicted] for the given perm_mask and target_mapping",
    "two_stream.loss": "mean cross-entropy of two_stream.logits",
}

GROUPS = {
    "grad.*": "gradient of loss with respect to each parameter, named as in model.safetensors",
    "adamw.final.*": "each parameter after the AdamW steps",
}


def tensors(expected):
    return {name: {"shape": list(expected[name].shape), "meaning": meaning}
            for name, meaning in MEANING.items() if name in expected}


def text(value):
    """One space a level; a list of numbers stays on its line."""
    def squeeze(match):
        return re.sub(r"\s+", " ", match.group(0)).replace("[ ", "[").replace(" ]", "]")

    return re.sub(r"\[[^\[\]{}\"]*\]", squeeze, json.dumps(value, indent=1)) + "\n"


def legacy(config):
    """The same config with the keys that older versions of transformers wrote."""
    old = {key: value for key, value in config.items() if key not in ("dtype", "rope_parameters")}
    if config["model_type"] == "nemotron_h":
        letters = {"mamba": "M", "attention": "*", "moe": "E", "mlp": "-"}
        kinds = old.pop("layers_block_type")
        return old | {"hybrid_override_pattern": "".join(letters[kind] for kind in kinds),
                      "num_hidden_layers": len(kinds), "attention_head_dim": old.pop("head_dim"),
                      "torch_dtype": config["dtype"]}
    rope = dict(config["rope_parameters"])
    if config["model_type"] == "olmo3":
        rope = dict(rope["full_attention"])  # layers with a window have the base alone
    if "full_attention" in rope:
        del old["layer_types"]
        return old | {"global_rope_theta": rope["full_attention"]["rope_theta"],
                      "local_rope_theta": rope["sliding_attention"]["rope_theta"], "torch_dtype": config["dtype"]}
    theta, kind, part = rope.pop("rope_theta"), rope.pop("rope_type"), rope.pop("partial_rotary_factor", None)
    if config["model_type"] == "gpt_neox":
        old.update(rotary_emb_base=theta, rotary_pct=part)
    else:
        old.update(rope_theta=theta, **({} if part is None else {"partial_rotary_factor": part}))
    return old | {"rope_scaling": None if kind == "default" else {"rope_type": kind, **rope},
                  "torch_dtype": config["dtype"]}
