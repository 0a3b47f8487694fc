#!/usr/bin/env python3
"""Makes small models with random weights and a tokenizer of the fixtures, as Hugging Face folders.

    make_models.py FIXTURES OUT [KIND...]     all of them, or those of these kinds

Rows are whole blocks of 256 values, or where the name ends in "narrow", of 32 only. Needs transformers and torch.
"""
import base64
import json
import pathlib
import shutil
import sys

import torch
import transformers as t
from sentencepiece import sentencepiece_model_pb2

fixtures, out = map(pathlib.Path, sys.argv[1:3])
kinds = sys.argv[3:]
sizes = {"wide": (256, 512, 4, 2), "narrow": (96, 192, 3, 1)}  # width, inner, heads, heads of keys

# What a tokenizer's special tokens are.
bytes_alone = {"eos_token": "<|endoftext|>", "tokenizer_class": "GPT2Tokenizer"}
pieces = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "tokenizer_class": "LlamaTokenizer"}


def unigram_pieces(model, tokenizer):
    kinds = {"<unk>": 2, "<pad>": 3, "</s>": 3}
    for piece, score in tokenizer["model"]["vocab"]:
        model.pieces.add(piece=piece, score=score, type=kinds.get(piece, 1))
    model.trainer_spec.model_type = 1
    model.trainer_spec.unk_id, model.trainer_spec.eos_id = 2, 1
    model.trainer_spec.pad_id, model.trainer_spec.bos_id = 0, -1
    charsmap = tokenizer["normalizer"]["normalizers"][0]["precompiled_charsmap"]
    model.normalizer_spec.precompiled_charsmap = base64.b64decode(charsmap)
    model.normalizer_spec.add_dummy_prefix = model.normalizer_spec.remove_extra_whitespaces = True


def merged_pieces(model, tokenizer):
    """What merges make has the higher score the earlier it is made."""
    kinds = {"<unk>": 2, "<s>": 3, "</s>": 3}
    rank = {}
    for left, right in (merge if isinstance(merge, list) else merge.split(" ") for merge in tokenizer["model"]["merges"]):
        rank.setdefault(left + right, len(rank))
    for piece in sorted(tokenizer["model"]["vocab"], key=tokenizer["model"]["vocab"].get):
        byte = len(piece) == 6 and piece.startswith("<0x")
        model.pieces.add(piece=piece, score=0.0 if byte or piece in kinds else -float(rank.get(piece, len(rank))),
                         type=6 if byte else kinds.get(piece, 1))
    model.trainer_spec.model_type = 2
    model.trainer_spec.byte_fallback = True
    model.normalizer_spec.add_dummy_prefix = True
    model.normalizer_spec.remove_extra_whitespaces = False


def sentence_pieces(tokenizer):
    """The same vocabulary for sentencepiece, which llama.cpp's converter reads."""
    model = sentencepiece_model_pb2.ModelProto()
    (unigram_pieces if tokenizer["model"]["type"] == "Unigram" else merged_pieces)(model, tokenizer)
    return model.SerializeToString()


def save(name, model, tokenizer, special):
    if kinds and name.rsplit("-", 1)[0] not in kinds:
        return
    # Larger than usual, so that attention looks at something and errors show.
    torch.manual_seed(len(name))
    with torch.no_grad():
        for key, value in model.named_parameters():
            if value.dim() > 1:
                # T5 does not divide scores by the root of a head's width.
                value.normal_(0, 0.014 if "Attention.q." in key else 0.08)
            elif key.endswith("bias"):
                value.normal_(0, 0.05)
            else:
                value.copy_(value + 0.1 * torch.randn_like(value))
        for key, value in model.named_buffers():
            if key.endswith("layer_scalar"):
                value.copy_(1 + 0.1 * torch.randn_like(value))
            elif key.endswith(("expert_bias", "e_score_correction_bias")):
                value.normal_(0, 0.1)
    folder = out / name
    model.save_pretrained(folder)
    source = fixtures / "tokenizers" / tokenizer / "tokenizer.json"
    shutil.copy(source, folder)
    for kind, file in (("t5", "spiece.model"), ("llama", "tokenizer.model")):
        if tokenizer == kind:
            (folder / file).write_bytes(sentence_pieces(json.loads(source.read_text())))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False, **special}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=1))


def save_decoders(size, width, inner, heads, kv):
    shape = dict(vocab_size=700, hidden_size=width, intermediate_size=inner, num_hidden_layers=4,
                 num_attention_heads=heads, num_key_value_heads=kv, max_position_embeddings=256, bos_token_id=1,
                 eos_token_id=2, pad_token_id=None)
    head = {"head_dim": 32}  # 4 of them are half of the wide models' width
    windows = {"sliding_window": 16}
    llama3 = dict(rope_type="llama3", rope_theta=10000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                  original_max_position_embeddings=64)
    yarn = dict(rope_type="yarn", rope_theta=10000.0, factor=4.0, original_max_position_embeddings=64)
    half = width // heads // 4  # pairs of columns that turn, in phi3 half of a head's
    narrow = size == "narrow"
    # llama.cpp's context is 256: for it the narrow model's texts are long, the wide one's short.
    original = 32 if narrow else 256
    longrope = dict(rope_type="longrope", rope_theta=10000.0, partial_rotary_factor=0.5,
                    original_max_position_embeddings=original, short_factor=[1 + 0.1 * i for i in range(half)],
                    long_factor=[1 + i for i in range(half)])

    def make(kind, model_class, config_class, tokenizer=("gpt2", bytes_alone), **settings):
        save(f"{kind}-{size}", model_class(config_class(**{**shape, **settings})), *tokenizer)

    sentences = ("llama", pieces)
    make("llama", t.LlamaForCausalLM, t.LlamaConfig, tie_word_embeddings=False, rope_parameters=llama3)
    make("mistral", t.MistralForCausalLM, t.MistralConfig, sentences, tie_word_embeddings=False, sliding_window=None)
    make("qwen2", t.Qwen2ForCausalLM, t.Qwen2Config, tie_word_embeddings=True)
    make("qwen3", t.Qwen3ForCausalLM, t.Qwen3Config, **head, tie_word_embeddings=narrow,
         **({"rope_parameters": yarn} if narrow else {}))
    make("qwen3_moe", t.Qwen3MoeForCausalLM, t.Qwen3MoeConfig, **head, moe_intermediate_size=width, num_experts=6,
         num_experts_per_tok=3, norm_topk_prob=True, decoder_sparse_step=1, mlp_only_layers=[])
    make("mixtral", t.MixtralForCausalLM, t.MixtralConfig, sentences, tie_word_embeddings=False, num_local_experts=8)
    make("granite", t.GraniteForCausalLM, t.GraniteConfig, tie_word_embeddings=True, embedding_multiplier=3.0,
         attention_multiplier=0.2, residual_multiplier=0.5, logits_scaling=2.0)
    factors = dict(embedding_multiplier=3.0, attention_multiplier=0.2, residual_multiplier=0.5, logits_scaling=2.0)
    make("granitemoe", t.GraniteMoeForCausalLM, t.GraniteMoeConfig, **factors, tie_word_embeddings=narrow,
         num_local_experts=6, num_experts_per_tok=3)
    # State spaces in two layers of four, with experts or without.
    spaces = dict(**factors, vocab_size=704,  # to whose multiples of 8 the converter rounds it
                  mamba_n_heads=2 * heads, mamba_d_head=width // heads, mamba_d_state=16 if narrow else 32,
                  mamba_expand=2, shared_intermediate_size=inner, tie_word_embeddings=True)
    space = ["mamba", "attention", "mamba", "attention"]
    make("granite4", t.GraniteMoeHybridForCausalLM, t.GraniteMoeHybridConfig, **spaces, layer_types=space,
         num_local_experts=0, num_experts_per_tok=0, position_embedding_type="nope")
    make("granite4_plain", t.GraniteMoeHybridForCausalLM, t.GraniteMoeHybridConfig, **spaces, num_local_experts=0,
         layer_types=["attention"] * 4, num_experts_per_tok=0, position_embedding_type="rope")
    make("granite4_moe", t.GraniteMoeHybridForCausalLM, t.GraniteMoeHybridConfig, **spaces, layer_types=space,
         num_local_experts=6, num_experts_per_tok=3, position_embedding_type="nope")
    # A state space of two groups, attention, and a feed-forward layer or a mixture: a layer each.
    parts = dict(**head, vocab_size=704, mamba_num_heads=2 * heads, mamba_head_dim=width // heads, n_groups=2,
                 ssm_state_size=16 if narrow else 32, num_hidden_layers=5, tie_word_embeddings=False)
    mixtures = dict(layers_block_type=["mamba", "moe", "attention", "moe", "mamba"], n_routed_experts=6,
                    num_experts_per_tok=3, moe_intermediate_size=width, moe_shared_expert_intermediate_size=inner,
                    routed_scaling_factor=1.5 if narrow else 1.0)
    make("nemotron_h", t.NemotronHForCausalLM, t.NemotronHConfig, **parts, mlp_bias=narrow,
         layers_block_type=["mamba", "mlp", "attention", "mlp", "mamba"])
    make("nemotron_h_moe", t.NemotronHForCausalLM, t.NemotronHConfig, **parts, **mixtures)
    make("nemotron_h_latent", t.NemotronHForCausalLM, t.NemotronHConfig, **parts, **mixtures,
         moe_latent_size=64 if narrow else 512)
    make("hunyuan_moe", t.HunYuanMoEV1ForCausalLM, t.HunYuanMoEV1Config, **head, num_experts=6, moe_topk=3,
         tie_word_embeddings=narrow)
    make("qwen2_moe", t.Qwen2MoeForCausalLM, t.Qwen2MoeConfig, tie_word_embeddings=False, moe_intermediate_size=width,
         shared_expert_intermediate_size=inner, num_experts=6, num_experts_per_tok=3)
    make("olmoe", t.OlmoeForCausalLM, t.OlmoeConfig, tie_word_embeddings=False, num_experts=6, num_experts_per_tok=3,
         num_key_value_heads=heads)  # llama.cpp's norms of keys are as wide as those of queries
    make("olmo3", t.Olmo3ForCausalLM, t.Olmo3Config, **windows, tie_word_embeddings=False)
    # In all but the last layer of the wide models, and in those between of the narrow ones, a delta net, whose heads of
    # values are several for each of keys.
    linear = "linear_attention"
    nets = dict(**head, linear_num_key_heads=2, linear_num_value_heads=6 if narrow else 8,
                linear_key_head_dim=16 if narrow else 32, linear_value_head_dim=16 if narrow else 32,
                layer_types=["full_attention", linear, linear, "full_attention"] if narrow else None,
                rope_parameters=dict(rope_type="default", rope_theta=10000.0, partial_rotary_factor=0.5))
    make("qwen3_5", t.Qwen3_5ForCausalLM, t.Qwen3_5TextConfig, **nets, tie_word_embeddings=narrow)
    make("qwen3_5_moe", t.Qwen3_5MoeForCausalLM, t.Qwen3_5MoeTextConfig, **nets, tie_word_embeddings=False,
         moe_intermediate_size=width, shared_expert_intermediate_size=inner, num_experts=6, num_experts_per_tok=3)
    make("qwen3_next", t.Qwen3NextForCausalLM, t.Qwen3NextConfig, **nets, tie_word_embeddings=False,
         moe_intermediate_size=width, shared_expert_intermediate_size=inner, num_experts=6, num_experts_per_tok=3)
    make("smollm3", t.SmolLM3ForCausalLM, t.SmolLM3Config, tie_word_embeddings=True)
    make("olmo2", t.Olmo2ForCausalLM, t.Olmo2Config, tie_word_embeddings=False)
    # Named otherwise: llama.cpp expects tokens of Phi-3 that these tokenizers lack where it reads "phi3".
    make("phi_3", t.Phi3ForCausalLM, t.Phi3Config, sentences, tie_word_embeddings=False, sliding_window=None,
         rope_parameters=longrope, original_max_position_embeddings=original, max_position_embeddings=4 * original)
    make("gemma", t.GemmaForCausalLM, t.GemmaConfig, sentences, **head)
    make("gemma2", t.Gemma2ForCausalLM, t.Gemma2Config, sentences, **head, **windows, query_pre_attn_scalar=32)
    # Of six layers one sees all positions.
    make("gemma3", t.Gemma3ForCausalLM, t.Gemma3TextConfig, sentences, **head, **windows, query_pre_attn_scalar=32,
         num_hidden_layers=7)
    local, whole = "sliding_attention", "full_attention"
    short = ["conv", whole, "conv", whole]
    make("lfm2", t.Lfm2ForCausalLM, t.Lfm2Config, layer_types=short, block_auto_adjust_ff_dim=False,
         tie_word_embeddings=True)
    make("lfm2_moe", t.Lfm2MoeForCausalLM, t.Lfm2MoeConfig, layer_types=short, num_dense_layers=1, num_experts=6,
         num_experts_per_tok=3, moe_intermediate_size=width, tie_word_embeddings=True)
    make("glm4_moe", t.Glm4MoeForCausalLM, t.Glm4MoeConfig, **head, n_routed_experts=6, num_experts_per_tok=3,
         moe_intermediate_size=width, n_shared_experts=2 if narrow else 1, routed_scaling_factor=1.5 if narrow else 1.0,
         first_k_dense_replace=1, use_qk_norm=narrow, attention_bias=True, tie_word_embeddings=False)
    # Without factors, which files have in their weights.
    make("falcon_h1", t.FalconH1ForCausalLM, t.FalconH1Config, **head, mamba_d_ssm=2 * width, mamba_n_heads=6 if narrow else 8,
         mamba_d_head=32 if narrow else 64, mamba_n_groups=1 if narrow else 2, mamba_d_state=16, mamba_rms_norm=not narrow,
         mamba_norm_before_gate=False)
    # Latent attention. llama.cpp means yarn's two factors to be the same.
    latent = dict(num_key_value_heads=heads, qk_nope_head_dim=32, qk_rope_head_dim=16 if narrow else 32,
                  v_head_dim=64 if narrow else 32, n_routed_experts=6, num_experts_per_tok=3, moe_intermediate_size=width,
                  tie_word_embeddings=False)
    make("deepseek_v2", t.DeepseekV2ForCausalLM, t.DeepseekV2Config, **latent, q_lora_rank=None,
         kv_lora_rank=64 if narrow else 256, n_shared_experts=2, first_k_dense_replace=1,
         num_hidden_layers=27)  # by which llama.cpp knows that queries are one matrix
    growing = dict(rope_type="yarn", rope_theta=10000.0, factor=4.0, original_max_position_embeddings=64, mscale=0.8,
                   mscale_all_dim=0.8)
    make("deepseek_v3", t.DeepseekV3ForCausalLM, t.DeepseekV3Config, **latent, q_lora_rank=96 if narrow else 256,
         kv_lora_rank=64 if narrow else 256, n_shared_experts=1, first_k_dense_replace=2, n_group=1, topk_group=1,
         rope_parameters=growing, scoring_func="sigmoid")
    # llama.cpp's converter takes the shared experts for as wide as the inner width over the heads of keys.
    make("ernie4_5_moe", t.Ernie4_5_MoeForCausalLM, t.Ernie4_5_MoeConfig, sentences, **head, moe_num_experts=6, moe_k=3,
         moe_num_shared_experts=2 if narrow else 1, moe_intermediate_size=width, moe_layer_start_index=1)
    make("glm4_moe_lite", t.Glm4MoeLiteForCausalLM, t.Glm4MoeLiteConfig, **latent, q_lora_rank=96 if narrow else 256,
         kv_lora_rank=64 if narrow else 512, n_shared_experts=1, first_k_dense_replace=1,
         scoring_func="sigmoid", rms_norm_eps=1e-6)  # which is that of all norms in GGUF files
    gemma4 = dict(**head, **windows, global_head_dim=64, hidden_size_per_layer_input=0, final_logit_softcapping=30.0,
                  layer_types=[local, whole, local, whole])
    make("gemma4", t.Gemma4ForCausalLM, t.Gemma4TextConfig, sentences, **gemma4, attention_k_eq_v=True,
         num_global_key_value_heads=1)
    make("gemma4_moe", t.Gemma4ForCausalLM, t.Gemma4TextConfig, sentences, **gemma4, enable_moe_block=True,
         num_experts=6, top_k_experts=3, moe_intermediate_size=width)
    make("gemma4_small", t.Gemma4ForCausalLM, t.Gemma4TextConfig, sentences,
         **{**gemma4, "hidden_size_per_layer_input": 32, "layer_types": [local, whole, local, whole, local, whole]},
         vocab_size_per_layer_input=700, num_hidden_layers=6, num_kv_shared_layers=2, use_double_wide_mlp=True)


def main():
    for size, (width, inner, heads, kv) in sizes.items():
        save_decoders(size, width, inner, heads, kv)
        save(f"gpt2-{size}", t.GPT2LMHeadModel(t.GPT2Config(
            vocab_size=700, n_positions=256, n_embd=width, n_layer=4, n_head=heads, n_inner=4 * width, bos_token_id=0,
            eos_token_id=0)), "gpt2", bytes_alone)
        save(f"gpt_neox-{size}", t.GPTNeoXForCausalLM(t.GPTNeoXConfig(
            vocab_size=700, hidden_size=width, intermediate_size=inner, num_hidden_layers=4, num_attention_heads=heads,
            max_position_embeddings=256, bos_token_id=0, eos_token_id=0)), "gpt2", bytes_alone)
        save(f"gpt_bigcode-{size}", t.GPTBigCodeForCausalLM(t.GPTBigCodeConfig(
            vocab_size=700, n_positions=256, n_embd=width, n_layer=4, n_head=heads, n_inner=4 * width, bos_token_id=0,
            eos_token_id=0)), "gpt2", bytes_alone)
        save(f"mpt-{size}", t.MptForCausalLM(t.MptConfig(
            vocab_size=700, max_seq_len=256, d_model=width, n_layers=4, n_heads=heads, bos_token_id=0, eos_token_id=0,
            attn_config=dict(alibi_bias_max=8 if size == "wide" else 16))), "gpt2", bytes_alone)
        for kind, form in (("falcon", {}), ("falcon_grouped", dict(num_kv_heads=kv, num_ln_in_parallel_attn=1)),
                           ("falcon_new", dict(num_kv_heads=kv))):
            save(f"{kind}-{size}", t.FalconForCausalLM(t.FalconConfig(
                vocab_size=700, hidden_size=width, num_hidden_layers=4, num_attention_heads=heads,
                max_position_embeddings=2048, bos_token_id=0, eos_token_id=0, new_decoder_architecture=bool(form),
                tie_word_embeddings=kind == "falcon", **form)), "gpt2", bytes_alone)
        save(f"bert-{size}", t.BertForSequenceClassification(t.BertConfig(
            vocab_size=800, hidden_size=width, intermediate_size=inner, num_hidden_layers=4, num_attention_heads=heads,
            max_position_embeddings=256, num_labels=3)), "bert",
             {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]",
              "mask_token": "[MASK]", "tokenizer_class": "BertTokenizer"})
        # The first T5 and the one after it.
        first = size == "narrow"
        save(f"t5-{size}", t.T5ForConditionalGeneration(t.T5Config(
            vocab_size=700, d_model=width, d_kv=32, d_ff=inner, num_layers=4, num_heads=heads,
            feed_forward_proj="relu" if first else "gated-gelu", tie_word_embeddings=first,
            decoder_start_token_id=0)), "t5",
             {"eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"})


main()
