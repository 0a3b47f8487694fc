"""A model, its inputs and its prompts, and everything that is recorded of them."""

import contextlib
import copy
import types

import torch
import torch.nn.functional as F
import transformers
from torch.overrides import TorchFunctionMode
from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor

import vaswani

ADAMW_STEPS, ADAMW = 5, dict(lr=1e-3, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)
NEW_TOKENS, BEAMS = 16, 4


class InDouble(TorchFunctionMode):
    """transformers computes norms, softmax, delta rules and rotary angles in float32 by name; here that means float64."""

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
                copy.deepcopy(config), attn_implementation="eager", experts_implementation="eager",
                dtype=dtype).to(dtype)
            if getattr(config, "scale_decoder_outputs", None) is False:
                # T5 v1.1 has a head of its own; recent versions tie it until they meet one in a checkpoint.
                model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.detach().clone())
    if architecture.startswith("Mpt"):
        # transformers takes 8 for it whatever a config says; MosaicML's own code does not.
        most = config.attn_config.alibi_bias_max
        model.transformer.build_mpt_alibi_tensor = (
            lambda heads, length, device: build_mpt_alibi_tensor(heads, length, most, device))
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


def goes_on_alone(config):
    """In transformers a bias in padding on the left reaches the convolution behind it."""
    return any(getattr(config, name, False) for name in ("conv_bias", "mamba_proj_bias"))


def as_called(inputs, dtype):
    """Ids as torch wants them, frames in the model's type."""
    return {name: t.to(dtype) if t.is_floating_point() else t.long() for name, t in inputs.items()}


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
            out = model(**as_called(inputs or self.inputs, dtype), **more)
        hook.remove()
        out.last_hidden_state = seen[0].last_hidden_state
        if "logits" not in out:  # a vector's numbers stand for them
            out.logits = next(out[name] for name in ("image_embeds", "text_embeds", "pooler_output") if name in out)
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
            names = {"attention.0": getattr(out, "attentions", None) or out.encoder_attentions}
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
        reached = {name: p for name, p in parameters.items() if name not in self.without_gradient}
        # gpt-oss stacks its experts' biases.
        decayed = {name for name, p in reached.items() if p.dim() >= 2 and not name.endswith("bias")}
        groups = [{"params": [p for name, p in reached.items() if name in decayed]},
                  {"params": [p for name, p in reached.items() if name not in decayed], "weight_decay": 0.0}]
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
                prompt = as_called(prompt, dtype)
                if self.config.model_type == "whisper":  # its own is a transcriber
                    model.generate = types.MethodType(transformers.GenerationMixin.generate, model)
                if prefix == "beam.":
                    out = model.generate(**prompt, **settings, num_beams=BEAMS, num_return_sequences=BEAMS,
                                         length_penalty=1.0, early_stopping=False, output_scores=True)
                    found[prefix + "scores"] = out.sequences_scores
                    end, pad = self.generation["eos_token_id"], self.generation["pad_token_id"]
                    for row in out.sequences:  # transformers fills with the end id where the pad id is 0
                        row[1:][(row[1:] == end).cumsum(0) - (row[1:] == end).int() > 0] = pad
                elif goes_on_alone(self.config):
                    real = [ids[seen > 0] for ids, seen in zip(prompt["input_ids"], prompt["attention_mask"])]
                    outs = [model.generate(ids[None], **settings, output_logits=True) for ids in real]
                    found[prefix + "logits"] = torch.cat([torch.stack(out.logits, 1) for out in outs])
                    found[prefix + "sequences"] = torch.cat(
                        [prompt["input_ids"], torch.cat([out.sequences[:, -NEW_TOKENS:] for out in outs])], 1)
                    continue
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
