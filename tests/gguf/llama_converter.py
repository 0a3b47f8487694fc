#!/usr/bin/env python3
"""Runs llama.cpp's converter on every model of a folder, whose tokenizers it has never seen.

    llama_converter.py CONVERTER MODELS OUT     MODELS/NAME/ becomes OUT/NAME.F32.gguf, unless that is there

It knows the splitting of words by a hash of tokens, which ids of another vocabulary change: here it is GPT-2's. What
else it does is its own. It also asks for keys that transformers 5 no longer writes.
"""
import pathlib
import runpy
import sys

sys.path.insert(1, "/usr/share/llama.cpp/llama.cpp-tools")
from conversion import base, hunyuan  # noqa: E402

known = base.TextModel.get_vocab_base_pre


def get_vocab_base_pre(self, tokenizer):
    try:
        return known(self, tokenizer)
    except NotImplementedError:
        return "gpt-2"


load_hparams = base.ModelBase.load_hparams


def with_older_keys(*arguments, **options):
    settings = load_hparams(*arguments, **options)
    if settings.get("model_type") == "gpt2":
        settings["n_ctx"] = settings["n_positions"]
    if settings.get("model_type") == "gpt_neox":
        settings["rotary_pct"] = settings["rope_parameters"]["partial_rotary_factor"]
    if settings.get("model_type") == "falcon" and not settings["new_decoder_architecture"]:
        del settings["num_kv_heads"]  # which is nobody's: released files don't have it
    if settings.get("model_type") == "mpt":
        settings["architectures"] = ["MPTForCausalLM"]  # as MosaicML's own files have it
    if settings.get("model_type") == "nemotron_h":
        settings["norm_eps"] = settings["layer_norm_epsilon"]
    if settings.get("model_type") == "nemotron_h" and "moe" not in settings["layers_block_type"]:
        # As released files without experts have it: there is no word of them.
        letters = {"mamba": "M", "attention": "*", "mlp": "-"}
        settings["hybrid_override_pattern"] = "".join(letters[kind] for kind in settings["layers_block_type"])
        for key in ("n_routed_experts", "num_experts_per_tok", "n_group", "topk_group"):
            del settings[key]
    if settings.get("model_type") == "hunyuan_v1_moe":  # which the released files have of each layer
        layers = settings["num_hidden_layers"]
        settings.update(moe_intermediate_size=[settings["intermediate_size"]] * layers, num_shared_expert=[1] * layers,
                        moe_topk=[settings["moe_topk"]] * layers)
    return settings


base.ModelBase.load_hparams = staticmethod(with_older_keys)
base.TextModel.get_vocab_base_pre = get_vocab_base_pre
base.TextModel._set_vocab_glm = base.TextModel._set_vocab_gpt2  # GLM's has tokens that these vocabularies lack
hunyuan.HunYuanMoEModel.set_vocab = base.TextModel._set_vocab_gpt2  # of whose tokenizer it knows an older form alone
converter, models, out = sys.argv[1:]
for folder in sorted(pathlib.Path(models).iterdir()):
    file = pathlib.Path(out) / f"{folder.name}.F32.gguf"
    if file.exists():
        continue
    sys.argv = [converter, str(folder), "--outtype", "f32", "--outfile", str(file)]
    if folder.name.startswith(("qwen3_5", "qwen3_next", "glm4_moe")):  # without layers that predict further tokens
        sys.argv.append("--no-mtp")
    try:
        runpy.run_path(converter, run_name="__main__")
    except BaseException as error:
        file.unlink(missing_ok=True)
        print(f"{folder.name}: {error!r}", file=sys.stderr)
        raise
