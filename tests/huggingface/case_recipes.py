"""What each family's model takes: its class, its config by sizes, and how to turn off dropout."""

NO_DROPOUT = {
    "bert": dict(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, classifier_dropout=0.0),
    "distilbert": dict(dropout=0.0, attention_dropout=0.0, qa_dropout=0.0, seq_classif_dropout=0.0),
    "bart": dict(dropout=0.0, attention_dropout=0.0, activation_dropout=0.0),
    "gpt2": dict(resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, summary_first_dropout=0.0),
    "gpt_neox": dict(attention_dropout=0.0, hidden_dropout=0.0, classifier_dropout=0.0),
    "llama": dict(attention_dropout=0.0),
    "t5": dict(dropout_rate=0.0, classifier_dropout=0.0),
    "xlnet": dict(dropout=0.0, summary_last_dropout=0.0),
    "vaswani": dict(dropout=0.0),
}
NO_DROPOUT["roberta"] = NO_DROPOUT["electra"] = NO_DROPOUT["bert"]
NO_DROPOUT["nomic_bert"] = NO_DROPOUT["bert"]
NO_DROPOUT["albert"] = dict(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, classifier_dropout_prob=0.0)
NO_DROPOUT["mpnet"] = dict(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
NO_DROPOUT["deberta-v2"] = dict(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
NO_DROPOUT["modernbert"] = dict(embedding_dropout=0.0, attention_dropout=0.0, mlp_dropout=0.0, classifier_dropout=0.0)
for kin in ("marian", "mbart", "m2m_100", "pegasus", "whisper"):
    NO_DROPOUT[kin] = NO_DROPOUT["bart"]
NO_DROPOUT["mistral"] = NO_DROPOUT["qwen2"] = NO_DROPOUT["llama"]
NO_DROPOUT["mixtral"] = NO_DROPOUT["granite"] = NO_DROPOUT["olmoe"] = NO_DROPOUT["llama"]
NO_DROPOUT["qwen2_moe"] = NO_DROPOUT["olmo3"] = NO_DROPOUT["gpt_oss"] = NO_DROPOUT["llama"]
NO_DROPOUT["opt"] = dict(dropout=0.0, attention_dropout=0.0)
NO_DROPOUT["gpt_neo"] = dict(resid_dropout=0.0, embed_dropout=0.0, attention_dropout=0.0, classifier_dropout=0.0)
NO_DROPOUT["starcoder2"] = dict(residual_dropout=0.0, embedding_dropout=0.0, attention_dropout=0.0)
NO_DROPOUT["gptj"] = NO_DROPOUT["codegen"] = NO_DROPOUT["gpt_bigcode"] = dict(resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
NO_DROPOUT["mpt"] = {}
NO_DROPOUT["xglm"] = dict(dropout=0.0, attention_dropout=0.0)
NO_DROPOUT["biogpt"] = dict(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
NO_DROPOUT["stablelm"] = dict(attention_dropout=0.0, hidden_dropout=0.0)
for kin in ("olmo", "glm", "glm4", "cohere", "cohere2", "exaone4", "arcee", "ministral3", "hunyuan_v1_dense",
            "nanochat", "granitemoe", "granitemoehybrid", "qwen3_5_text", "qwen3_5_moe_text", "qwen3_next",
            "gemma4_text", "glm4_moe", "deepseek_v2", "deepseek_v3", "glm4_moe_lite", "nemotron_h",
            "hunyuan_v1_moe", "falcon_h1"):
    NO_DROPOUT[kin] = NO_DROPOUT["llama"]
for kin in ("vit", "deit", "dinov2", "clip_vision_model", "clip_text_model", "siglip_vision_model", "siglip_text_model"):
    NO_DROPOUT[kin] = {}  # as they are
NO_DROPOUT["ernie4_5"] = NO_DROPOUT["ernie4_5_moe"] = NO_DROPOUT["lfm2"] = NO_DROPOUT["lfm2_moe"] = {}
NO_DROPOUT["bloom"] = NO_DROPOUT["falcon"] = dict(attention_dropout=0.0, hidden_dropout=0.0)
NO_DROPOUT["seed_oss"] = dict(attention_dropout=0.0, residual_dropout=0.0)
NO_DROPOUT["phi"] = NO_DROPOUT["phi3"] = dict(resid_pdrop=0.0, embd_pdrop=0.0, attention_dropout=0.0)

CLASSES = {"classify": 3, "classify_tokens": 5}


def bert(task, layers, width, heads, inner, vocab, positions, **more):
    head = {"masked": "MaskedLM", "classify": "SequenceClassification", "classify_tokens": "TokenClassification"}[task]
    return dict(family="bert", task=task, vocab=vocab, first_id=5, architecture="BertFor" + head,
                embedding=2 / width**0.5, gain=1.7,
                config=dict(num_hidden_layers=layers, hidden_size=width, num_attention_heads=heads,
                            intermediate_size=inner, max_position_embeddings=positions, pad_token_id=0, **more))


def roberta(task, layers, width, heads, inner, vocab, positions):
    case = bert(task, layers, width, heads, inner, vocab, positions + 2, layer_norm_eps=1e-5, type_vocab_size=1)
    case.update(family="roberta", architecture=case["architecture"].replace("Bert", "Roberta"))
    case["config"].update(pad_token_id=1, bos_token_id=0, eos_token_id=2)
    return case


def mpnet(*arguments):
    case = roberta(*arguments)
    case.update(family="mpnet", architecture=case["architecture"].replace("Roberta", "MPNet"))
    del case["config"]["type_vocab_size"]
    return case


def albert(*sizes, embedding_size, **more):
    case = bert(*sizes, embedding_size=embedding_size, **more)
    case.update(family="albert", architecture=case["architecture"].replace("Bert", "Albert"),
                embedding=2 / embedding_size**0.5)
    return case


def electra(*sizes, embedding_size):
    case = bert(*sizes, embedding_size=embedding_size)
    case.update(family="electra", architecture=case["architecture"].replace("Bert", "Electra"),
                embedding=2 / embedding_size**0.5)
    return case


def nomic_bert(*sizes):
    case = bert(*sizes)
    case.update(family="nomic_bert", architecture=case["architecture"].replace("Bert", "NomicBert"))
    return case


def deberta(*sizes, buckets, farthest):
    case = bert(*sizes, position_buckets=buckets, max_relative_positions=farthest, relative_attention=True,
                position_biased_input=False, pos_att_type="p2c|c2p", share_att_key=True, norm_rel_ebd="layer_norm")
    case.update(family="deberta-v2", architecture=case["architecture"].replace("Bert", "DebertaV2"))
    return case


def modernbert(task, layers, width, heads, inner, vocab, positions, **more):
    case = bert(task, layers, width, heads, inner, vocab, positions, bos_token_id=1, eos_token_id=2, **more)
    case.update(family="modernbert", architecture=case["architecture"].replace("Bert", "ModernBert"))
    return case


def distilbert(task, layers, width, heads, inner, vocab, positions):
    case = bert(task, layers, width, heads, inner, vocab, positions)
    case.update(family="distilbert", architecture=case["architecture"].replace("Bert", "DistilBert"))
    case["config"] = dict(n_layers=layers, dim=width, n_heads=heads, hidden_dim=inner, pad_token_id=0,
                          max_position_embeddings=positions)
    return case


def gpt2(layers, width, heads, inner, vocab, positions):
    return dict(family="gpt2", task="causal", vocab=vocab, first_id=3, architecture="GPT2LMHeadModel",
                embedding=2 / width**0.5, gain=1.7,
                config=dict(n_layer=layers, n_embd=width, n_head=heads, n_inner=inner, n_positions=positions,
                            bos_token_id=1, eos_token_id=2, pad_token_id=0))


def classifier(case, architecture):
    """A decoder that tells texts apart by its last state."""
    return dict(case, task="classify", architecture=architecture)


def rotary(family, architecture, layers, width, heads, inner, vocab, positions, **more):
    return dict(family=family, task="causal", vocab=vocab, first_id=3, architecture=architecture,
                embedding=0.5, gain=1.7,
                config=dict(num_hidden_layers=layers, hidden_size=width, num_attention_heads=heads,
                            intermediate_size=inner, max_position_embeddings=positions,
                            bos_token_id=1, eos_token_id=2, pad_token_id=0, **more))


def gpt_neox(*sizes, **more):
    more.setdefault("rope_parameters", dict(rope_type="default", rope_theta=10000.0, partial_rotary_factor=0.25))
    return rotary("gpt_neox", "GPTNeoXForCausalLM", *sizes, **more)


def llama(*sizes, **more):
    return rotary("llama", "LlamaForCausalLM", *sizes, rms_norm_eps=1e-6, **more)


def qwen3_5(layers, *sizes, **more):
    """The layers after the first are linear, but for a fourth; the first one has attention weights to record."""
    return rotary("qwen3_5_text", "Qwen3_5ForCausalLM", layers, *sizes, num_key_value_heads=1,
                  layer_types=(["full_attention"] + ["linear_attention"] * 2 + ["full_attention"])[:layers], **more)


def qwen3_5_moe(*sizes, **more):
    case = qwen3_5(*sizes, **more)
    case.update(family="qwen3_5_moe_text", architecture="Qwen3_5MoeForCausalLM")
    case["config"]["moe_intermediate_size"] = case["config"].pop("intermediate_size")
    return case


def gemma4(layers, *sizes, **more):
    """Every other layer has a window, whose heads are narrower; the last one has none."""
    kinds = ["full_attention", "sliding_attention"] * layers
    return rotary("gemma4_text", "Gemma4ForCausalLM", layers, *sizes, num_key_value_heads=2, head_dim=6,
                  global_head_dim=10, sliding_window=5, layer_types=(kinds if layers % 2 else kinds[1:])[:layers],
                  rope_parameters=dict(
                      full_attention=dict(rope_type="proportional", rope_theta=10000.0, partial_rotary_factor=0.5),
                      sliding_attention=dict(rope_type="default", rope_theta=1000.0)), **more)


def nemotron_h(kinds, *sizes, **more):
    """A layer of each kind; the first one has attention weights to record."""
    return rotary("nemotron_h", "NemotronHForCausalLM", len(kinds), *sizes, layers_block_type=kinds,
                  num_key_value_heads=1, head_dim=10, mamba_num_heads=6, ssm_state_size=5, conv_kernel=4, chunk_size=16,
                  **more)


def falcon(layers, width, heads, vocab, positions, **more):
    return dict(rotary("falcon", "FalconForCausalLM", layers, width, heads, 0, vocab, positions), config=dict(
        num_hidden_layers=layers, hidden_size=width, num_attention_heads=heads, max_position_embeddings=positions,
        bos_token_id=1, eos_token_id=2, pad_token_id=0,
        **{"rope_parameters": dict(rope_type="default", rope_theta=10000.0), **more}))


def falcon_h1(*sizes, **more):
    return rotary("falcon_h1", "FalconH1ForCausalLM", *sizes, num_key_value_heads=1, mamba_n_heads=6, mamba_d_state=5,
                  mamba_d_conv=4, mamba_chunk_size=16, rope_parameters=dict(rope_type="default", rope_theta=10000.0), **more)


def phi3(*sizes, original, short, long):
    return rotary("phi3", "Phi3ForCausalLM", *sizes, original_max_position_embeddings=original,
                  rope_parameters=dict(rope_type="longrope", rope_theta=10000.0, short_factor=short, long_factor=long))


def opt(*sizes, **more):
    case = rotary("opt", "OPTForCausalLM", *sizes, **more)
    case["config"]["ffn_dim"] = case["config"].pop("intermediate_size")
    return case


def bloom(layers, width, heads, vocab):
    case = rotary("bloom", "BloomForCausalLM", layers, width, heads, 4 * width, vocab, 24)
    case["config"] = dict(n_layer=layers, hidden_size=width, n_head=heads, seq_length=24, bos_token_id=1, eos_token_id=2,
                          pad_token_id=0)
    return case


def gpt_neo(layers, width, heads, *sizes, **more):
    case = rotary("gpt_neo", "GPTNeoForCausalLM", layers, width, heads, *sizes, **more)
    del case["config"]["num_hidden_layers"], case["config"]["num_attention_heads"]
    case["config"].update(num_layers=layers, num_heads=heads, attention_types=[[["global", "local"], layers // 2]])
    return case


def gptj(*sizes, **more):
    case = gpt2(*sizes)
    case.update(family="gptj", architecture="GPTJForCausalLM", embedding=0.5)
    case["config"].update(more)
    return case


def codegen(*sizes, **more):
    return dict(gptj(*sizes, **more), family="codegen", architecture="CodeGenForCausalLM")


def gpt_bigcode(*sizes, **more):
    return dict(gptj(*sizes, **more), family="gpt_bigcode", architecture="GPTBigCodeForCausalLM")


def mpt(layers, width, heads, vocab, positions, **attention):
    return dict(rotary("mpt", "MptForCausalLM", layers, width, heads, 0, vocab, positions), config=dict(
        n_layers=layers, d_model=width, n_heads=heads, max_seq_len=positions, attn_config=attention, bos_token_id=1,
        eos_token_id=2, pad_token_id=0))


def xglm(layers, width, heads, inner, vocab, positions):
    return dict(rotary("xglm", "XGLMForCausalLM", layers, width, heads, inner, vocab, positions), embedding=0.2,
                config=dict(num_layers=layers, d_model=width, attention_heads=heads, ffn_dim=inner,
                            max_position_embeddings=positions, bos_token_id=1, eos_token_id=2, pad_token_id=0))


def biogpt(*sizes):
    return dict(rotary("biogpt", "BioGptForCausalLM", *sizes), embedding=0.2)


def bart(encoder, decoder, width, heads, inner, vocab, positions):
    return dict(family="bart", task="seq2seq", vocab=vocab, first_id=4, architecture="BartForConditionalGeneration",
                embedding=0.5, gain=1.2, start=2, end=2, pad=1,
                config=dict(encoder_layers=encoder, decoder_layers=decoder, d_model=width,
                            encoder_attention_heads=heads, decoder_attention_heads=heads, encoder_ffn_dim=inner,
                            decoder_ffn_dim=inner, max_position_embeddings=positions, forced_eos_token_id=None,
                            pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=2))


def bart_classifier(*sizes):
    case = bart(*sizes)
    case.update(task="classify", architecture="BartForSequenceClassification")
    return case


def marian(encoder, decoder, width, heads, inner, vocab, positions):
    case = bart(encoder, decoder, width, heads, inner, vocab, positions)
    case.update(family="marian", architecture="MarianMTModel", first_id=1, start=vocab - 1, end=0, pad=vocab - 1,
                embedding=0.25, gain=1.0, banned=[[vocab - 1]])
    case["config"].update(pad_token_id=vocab - 1, eos_token_id=0, bos_token_id=None, scale_embedding=True,
                          decoder_start_token_id=vocab - 1, decoder_vocab_size=vocab, activation_function="swish")
    return case


def whisper(encoder, decoder, width, heads, inner, vocab, positions, source_positions, mels):
    """The encoder has as many positions as a case's seq."""
    case = bart(encoder, decoder, width, heads, inner, vocab, positions)
    case.update(family="whisper", architecture="WhisperForConditionalGeneration", mels=mels)
    config = case["config"]
    config.update(num_mel_bins=mels, max_source_positions=source_positions,
                  max_target_positions=config.pop("max_position_embeddings"),
                  begin_suppress_tokens=None)
    return case


def mbart(*sizes):
    case = bart(*sizes)
    case.update(family="mbart", architecture="MBartForConditionalGeneration")
    case["config"].update(scale_embedding=True, activation_function="relu")
    return case


def m2m_100(*sizes):
    case = bart(*sizes)
    # Padding has no position there: nothing reads what is behind an end, but it would be compared.
    case.update(family="m2m_100", architecture="M2M100ForConditionalGeneration", behind=2)
    return case


def pegasus(*sizes):
    case = bart(*sizes)
    case.update(family="pegasus", architecture="PegasusForConditionalGeneration", start=0, end=1, pad=0)
    case["config"].update(pad_token_id=0, bos_token_id=None, eos_token_id=1, decoder_start_token_id=0,
                          scale_embedding=True, activation_function="relu")
    return case


def apart(recipe):
    """Two embeddings; of one size, since the beam search of transformers takes the encoder's for the decoder's."""
    recipe["config"].update(share_encoder_decoder_embeddings=False)
    return recipe


def t5(encoder, decoder, width, heads, inner, vocab, gated):
    return dict(family="t5", task="seq2seq", vocab=vocab, first_id=2, architecture="T5ForConditionalGeneration",
                embedding=1.0, gain=1.2, start=0, end=1, pad=0,
                config=dict(num_layers=encoder, num_decoder_layers=decoder, d_model=width, num_heads=heads,
                            d_kv=width // heads, d_ff=inner, relative_attention_num_buckets=16,
                            relative_attention_max_distance=20, pad_token_id=0, eos_token_id=1,
                            decoder_start_token_id=0, feed_forward_proj="gated-gelu" if gated else "relu",
                            tie_word_embeddings=not gated))


def vaswani(encoder, decoder, width, heads, inner, vocab, pre_norm):
    return dict(family="vaswani", task="seq2seq", vocab=vocab, first_id=3, architecture="Vaswani",
                embedding=0.2, gain=1.2 if pre_norm else 1.0, start=1, end=2, pad=0,
                config=dict(model_type="vaswani", d_model=width, num_heads=heads, encoder_layers=encoder,
                            decoder_layers=decoder, d_ff=inner, pre_norm=pre_norm, activation="relu",
                            layer_norm_eps=1e-5, positions="sinusoidal, sin at even and cos at odd features",
                            scale_embedding=True, tie_word_embeddings=True, final_norm=pre_norm, label_smoothing=0.1,
                            pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1))


def xlnet(task, layers, width, heads, inner, vocab):
    head = {"masked": "LMHeadModel", "classify": "ForSequenceClassification"}[task]
    return dict(family="xlnet", task=task, vocab=vocab, first_id=5, architecture="XLNet" + head,
                embedding=2.4 / width**0.5 if task == "masked" else 0.8, gain=1.7,
                config=dict(n_layer=layers, d_model=width, n_head=heads, d_inner=inner, ff_activation="gelu",
                            pad_token_id=0, bos_token_id=1, eos_token_id=2))


def pictures(family, architecture, layers, width, heads, inner, patch, table, size=None, **more):
    """`size`: height and width of the pictures, where `table`, those of its positions, are others."""
    size = size or table
    config = dict(num_hidden_layers=layers, hidden_size=width, num_attention_heads=heads, intermediate_size=inner,
                  patch_size=patch, image_size=table[0] if table[0] == table[1] else list(table), **more)
    if family == "dinov2":
        del config["intermediate_size"]
    processor = dict(do_resize=True, size=dict(height=size[0], width=size[1]), resample=2, do_rescale=True,
                     rescale_factor=1 / 255, do_normalize=True, image_mean=[0.5] * 3, image_std=[0.5] * 3,
                     image_processor_type="ViTImageProcessor")
    if family == "dinov2":
        processor.update(image_processor_type="BitImageProcessor", size=dict(shortest_edge=max(size)),
                         do_center_crop=True, crop_size=dict(height=size[0], width=size[1]))
    return dict(family=family, task="classify", architecture=architecture, embedding=0.5, gain=1.2, pictures=size,
                processor=processor, config=config)


def text_tower(family, architecture, layers, width, heads, inner, vocab, positions, **more):
    """The last id ends a text; random ones leave it out."""
    return dict(family=family, task="classify", vocab=vocab, first_id=3, architecture=architecture, embedding=0.5,
                gain=1.2, pad=vocab - 1, end=vocab - 1,
                config=dict(num_hidden_layers=layers, hidden_size=width, num_attention_heads=heads,
                            intermediate_size=inner, max_position_embeddings=positions, bos_token_id=2,
                            eos_token_id=vocab - 1, pad_token_id=1, **more))


def two_towers(family, architecture, see, read, **more):
    """Of such two recipes."""
    config = dict(vision_config=see["config"], text_config=dict(read["config"], vocab_size=read["vocab"]), **more)
    return dict(read, family=family, task="match", architecture=architecture, pictures=see["pictures"],
                processor=see["processor"], config=config)
