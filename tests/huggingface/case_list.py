"""What make_cases.py makes: one entry a case. Sizes are odd on purpose: nothing may depend on a multiple of 4 or 8."""

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
for kin in ("marian", "mbart", "m2m_100", "pegasus"):
    NO_DROPOUT[kin] = NO_DROPOUT["bart"]
NO_DROPOUT["mistral"] = NO_DROPOUT["qwen2"] = NO_DROPOUT["llama"]
NO_DROPOUT["mixtral"] = NO_DROPOUT["granite"] = NO_DROPOUT["olmoe"] = NO_DROPOUT["llama"]
NO_DROPOUT["qwen2_moe"] = NO_DROPOUT["olmo3"] = NO_DROPOUT["gpt_oss"] = NO_DROPOUT["llama"]
NO_DROPOUT["opt"] = dict(dropout=0.0, attention_dropout=0.0)
NO_DROPOUT["gpt_neo"] = dict(resid_dropout=0.0, embed_dropout=0.0, attention_dropout=0.0, classifier_dropout=0.0)
NO_DROPOUT["starcoder2"] = dict(residual_dropout=0.0, embedding_dropout=0.0, attention_dropout=0.0)
NO_DROPOUT["gptj"] = dict(resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
NO_DROPOUT["stablelm"] = dict(attention_dropout=0.0, hidden_dropout=0.0)
for kin in ("olmo", "glm", "glm4", "cohere", "cohere2", "exaone4", "arcee", "ministral3", "hunyuan_v1_dense",
            "nanochat", "granitemoe", "granitemoehybrid", "qwen3_5_text", "qwen3_5_moe_text", "qwen3_next",
            "gemma4_text", "glm4_moe", "deepseek_v2", "deepseek_v3", "glm4_moe_lite"):
    NO_DROPOUT[kin] = NO_DROPOUT["llama"]
NO_DROPOUT["ernie4_5"] = NO_DROPOUT["lfm2"] = NO_DROPOUT["lfm2_moe"] = {}
NO_DROPOUT["bloom"] = dict(attention_dropout=0.0, hidden_dropout=0.0)
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


def case(what, seed, seq, recipe, **more):
    return dict(recipe, what=what, seed=seed, seq=seq, **more)


LINEAR = dict(rope_type="linear", rope_theta=10000.0, factor=2.5)
HALF_TURNS = dict(rope_type="default", rope_theta=10000.0, partial_rotary_factor=0.5)
YARN = dict(rope_type="yarn", rope_theta=10000.0, factor=2.5, original_max_position_embeddings=2048)
LLAMA3 = dict(rope_type="llama3", rope_theta=10000.0, factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=32)

# Kept in tests/fixtures: as small as they can be.
SMALL = {
    "bart": case("learned positions offset by 2, normed embeddings, post-norm, gelu; 2 encoder and 1 decoder layers",
                 31, 13, bart(2, 1, 15, 3, 19, 61, 24), target=9),
    "marian_apart": case("embeddings of their own for encoder and decoder", 45, 13,
                         apart(marian(1, 1, 15, 3, 19, 61, 24)), target=9),
    "bart_cls": case("encoder and decoder read one text, head of the last state: dense, tanh, projection", 88, 13,
                     bart_classifier(1, 1, 15, 3, 19, 61, 24)),
    "mbart": case("learned positions offset by 2, normed embeddings times sqrt(C), pre-norm, final norms", 84, 13,
                  mbart(1, 1, 15, 3, 19, 61, 24), target=9),
    "m2m_100": case("sinusoids in two halves from position 2 on, pre-norm, final norms, relu", 85, 13,
                    m2m_100(1, 1, 15, 3, 19, 61, 24), target=9),
    "pegasus": case("sinusoids in two halves, pre-norm, final norms, relu", 86, 13,
                    pegasus(1, 1, 15, 3, 19, 61, 24), target=9),
    "roberta_mlm": case("positions count from pad id + 1, masked language model", 32, 13,
                        roberta("masked", 2, 15, 3, 19, 61, 17)),
    "roberta_cls": case("head of the first token: dense, tanh, projection", 33, 11,
                        roberta("classify", 1, 15, 3, 19, 61, 17)),
    "roberta_tokens": case("one class a token", 34, 11, roberta("classify_tokens", 1, 15, 3, 19, 61, 17)),
    "mpnet_mlm": case("bias by relative position for all layers, masked language model", 49, 13,
                      mpnet("masked", 2, 15, 3, 19, 61, 17)),
    "mpnet_cls": case("head of the first token: dense, tanh, projection", 50, 13,
                      mpnet("classify", 1, 15, 3, 19, 61, 17)),
    "electra_mlm": case("embeddings of another width than the layers, masked language model", 84, 13,
                        electra("masked", 2, 18, 3, 19, 61, 17, embedding_size=15)),
    "electra_cls": case("head of the first token: dense, gelu, projection", 85, 13,
                        electra("classify", 1, 15, 3, 19, 61, 17, embedding_size=15)),
    "albert_mlm": case("four layers of two sets of parameters, embeddings of another width, masked language model", 118, 13,
                       albert("masked", 4, 18, 3, 19, 61, 17, embedding_size=15, num_hidden_groups=2)),
    "albert_cls": case("two layers that share their parameters, head of the first token: dense, tanh, projection", 120, 13,
                       albert("classify", 2, 18, 3, 19, 61, 17, embedding_size=15)),
    "deberta_mlm": case("disentangled attention with distances in buckets, masked language model", 87, 11,
                        deberta("masked", 2, 18, 3, 19, 61, 17, buckets=4, farthest=8)),
    "deberta_cls": case("a row for each distance up to 7, head of the first token: dense, gelu, projection", 88, 11,
                        deberta("classify", 1, 18, 3, 19, 61, 17, buckets=-1, farthest=7)),
    "nomic_mlm": case("queries and keys turned by their positions, gated layers without biases, masked language model", 121, 13,
                      nomic_bert("masked", 2, 18, 3, 19, 61, 17)),
    "nomic_cls": case("head of the first token: dense, tanh, projection", 122, 13, nomic_bert("classify", 2, 18, 3, 19, 61, 17)),
    "modernbert_mlm": case("no biases, windows of 7 positions but for the first and fourth layer", 82, 13,
                           modernbert("masked", 4, 18, 3, 19, 61, 17, local_attention=6)),
    "modernbert_cls": case("head of the mean of all positions, all biases", 83, 13,
                           modernbert("classify", 2, 18, 3, 19, 61, 17, local_attention=4, classifier_pooling="mean",
                                      norm_bias=True, attention_bias=True, mlp_bias=True, classifier_bias=True)),
    "distilbert_mlm": case("no segments, masked language model", 35, 13, distilbert("masked", 2, 15, 3, 19, 61, 17)),
    "distilbert_cls": case("head of the first token: dense, relu, projection", 36, 11,
                           distilbert("classify", 1, 15, 3, 19, 61, 17)),
    "bert_tokens": case("one class a token", 37, 11, bert("classify_tokens", 1, 15, 3, 19, 61, 17)),
    "gpt_neox": case("parallel residual, rotary on a quarter of each head, untied head", 38, 13,
                     gpt_neox(2, 16, 2, 23, 61, 24)),
    "gpt_neox_sequential": case("residuals one after the other, rotary on a quarter of each head", 39, 11,
                                gpt_neox(1, 16, 2, 23, 61, 24, use_parallel_residual=False)),
    "opt": case("learned positions offset by 2, pre-norm, relu, tied head", 102, 13, opt(2, 18, 3, 19, 61, 24)),
    "opt_after": case("norms of the sums, none at the end, embeddings of another width than the layers", 103, 13,
                      opt(1, 18, 3, 19, 61, 24, do_layer_norm_before=False, word_embed_proj_dim=11)),
    "gpt_neo": case("learned positions, scores that are not scaled, a window of 5 in the second layer, tied head", 104,
                    13, gpt_neo(2, 18, 3, 19, 61, 24, window_size=5)),
    "bloom": case("no positions but scores that fall with the distance, norm of the embeddings, tied head", 123, 13,
                  bloom(2, 18, 3, 61)),
    "phi": case("one norm for attention and feed-forward, rotary on half of each head, all biases", 105, 13,
                rotary("phi", "PhiForCausalLM", 2, 24, 3, 19, 61, 32,
                       rope_parameters=dict(rope_type="default", rope_theta=10000.0, partial_rotary_factor=0.5))),
    "starcoder2": case("sliding window of 7 positions, 3 heads on 1 key/value head, all biases, tied head", 106, 17,
                       rotary("starcoder2", "Starcoder2ForCausalLM", 2, 18, 3, 19, 61, 32, num_key_value_heads=1,
                              sliding_window=7, rope_parameters=dict(rope_type="default", rope_theta=10000.0))),
    "gptj": case("one norm for attention and feed-forward, rotary of neighbours on 4 of 6 columns, biases of the "
                 "feed-forward and the head", 107, 13, gptj(2, 18, 3, 19, 61, 24, rotary_dim=4)),
    "stablelm": case("LLaMA with LayerNorm, rotary on a quarter of each head, biases of queries, keys and values", 108,
                     13, rotary("stablelm", "StableLmForCausalLM", 1, 24, 3, 19, 61, 32, num_key_value_heads=1,
                                use_qkv_bias=True, rope_parameters=dict(rope_type="default", rope_theta=10000.0,
                                                                        partial_rotary_factor=0.25))),
    "olmo": case("norms without gain and bias", 109, 13,
                 rotary("olmo", "OlmoForCausalLM", 2, 18, 3, 19, 61, 32,
                        rope_parameters=dict(rope_type="default", rope_theta=10000.0))),
    "mistral": case("sliding window of 7 positions, 3 heads on 1 key/value head", 40, 17,
                    rotary("mistral", "MistralForCausalLM", 2, 18, 3, 19, 61, 32, num_key_value_heads=1,
                           sliding_window=7, rope_parameters=dict(rope_type="default", rope_theta=10000.0))),
    "qwen2": case("query, key and value biases, tied head", 41, 13,
                  rotary("qwen2", "Qwen2ForCausalLM", 2, 18, 3, 19, 61, 32, num_key_value_heads=1,
                         tie_word_embeddings=True, rope_parameters=dict(rope_type="default", rope_theta=1000000.0))),
    "mixtral": case("five experts, two a token, sliding window of 7 positions", 90, 17,
                    rotary("mixtral", "MixtralForCausalLM", 2, 18, 3, 7, 61, 32, num_key_value_heads=1,
                           num_local_experts=5, sliding_window=7,
                           rope_parameters=dict(rope_type="default", rope_theta=10000.0))),
    "granite": case("multipliers of embeddings, scores, residuals and logits, attention biases, tied head", 91, 13,
                    rotary("granite", "GraniteForCausalLM", 2, 18, 3, 19, 61, 32, num_key_value_heads=1,
                           attention_bias=True, tie_word_embeddings=True, embedding_multiplier=1.5,
                           attention_multiplier=0.3, residual_multiplier=0.7, logits_scaling=1.7,
                           rope_parameters=dict(rope_type="default", rope_theta=10000.0))),
    "granite4": case("Granite of attention alone, in the form of its hybrids: joint feed-forward layers", 125, 13,
                     rotary("granitemoehybrid", "GraniteMoeHybridForCausalLM", 2, 18, 3, 7, 61, 32, num_key_value_heads=1,
                            shared_intermediate_size=19, num_local_experts=0, layer_types=["attention"] * 2,
                            position_embedding_type="rope", mamba_n_heads=4, embedding_multiplier=1.5,
                            attention_multiplier=0.3, residual_multiplier=0.7, logits_scaling=1.7,
                            rope_parameters=dict(rope_type="default", rope_theta=10000.0))),
    "olmoe": case("five experts, three a token with weights as the softmax gives them", 92, 13,
                  rotary("olmoe", "OlmoeForCausalLM", 2, 18, 3, 7, 61, 32, num_key_value_heads=1, num_experts=5,
                         num_experts_per_tok=3, rope_parameters=dict(rope_type="default", rope_theta=10000.0))),
    "qwen2_moe": case("five experts, two a token, and one that all tokens take", 96, 13,
                      rotary("qwen2_moe", "Qwen2MoeForCausalLM", 2, 18, 3, 11, 61, 32, num_key_value_heads=1,
                             num_experts=5, num_experts_per_tok=2, moe_intermediate_size=7,
                             shared_expert_intermediate_size=9,
                             rope_parameters=dict(rope_type="default", rope_theta=10000.0))),
    "gpt_oss": case("sinks, five experts with biases, three a token, windows of 5 positions in every other layer", 100, 13,
                    rotary("gpt_oss", "GptOssForCausalLM", 2, 18, 3, 7, 61, 5120, num_key_value_heads=1, head_dim=6,
                           num_local_experts=5, num_experts_per_tok=3, sliding_window=5,
                           rope_parameters=dict(YARN, truncate=False, rope_theta=150000.0))),
    "olmo3": case("window of 5 positions in all layers but the last, where yarn scales rotary positions", 99, 13,
                  rotary("olmo3", "Olmo3ForCausalLM", 4, 18, 3, 7, 61, 5120, num_key_value_heads=1, sliding_window=5,
                         rope_parameters=dict(full_attention=dict(YARN),
                                              sliding_attention=dict(rope_type="default", rope_theta=10000.0)))),
    "glm": case("rotary of neighbours in half of each head, biases of queries, keys and values", 110, 13,
                rotary("glm", "GlmForCausalLM", 1, 24, 3, 19, 61, 32, num_key_value_heads=1, head_dim=8,
                       rope_parameters=HALF_TURNS)),
    "glm4": case("the same with norms of what its parts give", 111, 13,
                 rotary("glm4", "Glm4ForCausalLM", 2, 24, 3, 19, 61, 32, num_key_value_heads=1, head_dim=8,
                        rope_parameters=HALF_TURNS)),
    "cohere": case("one norm for attention and feed-forward, rotary of neighbours, a factor of logits, tied head", 112, 13,
                   rotary("cohere", "CohereForCausalLM", 2, 18, 3, 19, 61, 32, num_key_value_heads=1, logit_scale=0.3,
                          rope_parameters=dict(rope_type="default", rope_theta=10000.0))),
    "cohere2": case("windows of 5 positions in three layers of four, no positions in the fourth", 113, 13,
                    rotary("cohere2", "Cohere2ForCausalLM", 4, 18, 3, 7, 61, 32, num_key_value_heads=1, logit_scale=0.3,
                           sliding_window=5, rope_parameters=dict(rope_type="default", rope_theta=10000.0))),
    "ernie4_5": case("rotary of neighbours, tied head", 114, 13,
                     rotary("ernie4_5", "Ernie4_5ForCausalLM", 2, 18, 3, 19, 61, 32, num_key_value_heads=1, head_dim=6,
                            rope_parameters=dict(rope_type="default", rope_theta=500000.0))),
    "exaone4": case("norms of what parts give and of each head, windows of 5 positions in three layers of four, no "
                    "positions in the fourth", 115, 13,
                    rotary("exaone4", "Exaone4ForCausalLM", 4, 18, 3, 7, 61, 32, num_key_value_heads=1, sliding_window=5,
                           rope_parameters=dict(rope_type="default", rope_theta=10000.0))),
    "hunyuan": case("norms of each head of what has turned, a base of rotary positions grown by alpha, tied head", 121, 13,
                    rotary("hunyuan_v1_dense", "HunYuanDenseV1ForCausalLM", 2, 18, 3, 19, 61, 32, num_key_value_heads=1,
                           head_dim=6, tie_word_embeddings=True,
                           rope_parameters=dict(rope_type="dynamic", rope_theta=10000.0, alpha=5.0, factor=1.0))),
    "nanochat": case("norms without gains, of each head of what has turned backwards, the square of relu, a cap of logits", 124, 13,
                     rotary("nanochat", "NanoChatForCausalLM", 2, 18, 3, 19, 61, 32, num_key_value_heads=1,
                            rope_parameters=dict(rope_type="default", rope_theta=10000.0))),
    "seed_oss": case("biases of queries, keys and values", 122, 13,
                     rotary("seed_oss", "SeedOssForCausalLM", 1, 18, 3, 19, 61, 32, num_key_value_heads=1, head_dim=6,
                            rope_parameters=dict(rope_type="default", rope_theta=10000.0))),
    "arcee": case("LLaMA with the square of relu in place of gates", 116, 13,
                  rotary("arcee", "ArceeForCausalLM", 2, 18, 3, 19, 61, 32, num_key_value_heads=1,
                         rope_parameters=dict(rope_type="default", rope_theta=10000.0))),
    "ministral3": case("queries that grow beyond the original context of 4, yarn", 117, 13,
                       rotary("ministral3", "Ministral3ForCausalLM", 2, 18, 3, 19, 61, 48, num_key_value_heads=1,
                              head_dim=6, rope_parameters=dict(
                                  rope_type="yarn", rope_theta=10000.0, factor=4.0, beta_fast=32.0, beta_slow=1.0,
                                  original_max_position_embeddings=4, mscale=1.0, mscale_all_dim=1.0,
                                  llama_4_scaling_beta=0.3))),
    "qwen3_5": case("gated attention that turns half of each head around two gated delta nets, two value heads a key head",
                    126, 13, qwen3_5(4, 18, 3, 19, 61, 32, head_dim=12, linear_num_key_heads=2,
                                     linear_num_value_heads=4, linear_key_head_dim=6, linear_value_head_dim=10,
                                     rope_parameters=HALF_TURNS)),
    "qwen3_5_moe": case("gated delta nets of as many key heads as value heads, wider than these, and kernels of 3 positions; "
                        "five experts, two a token, and one that all tokens take; tied head", 127, 13,
                        qwen3_5_moe(3, 18, 3, 7, 61, 32, head_dim=10, linear_num_key_heads=2, linear_num_value_heads=2,
                                    linear_key_head_dim=10, linear_value_head_dim=6, linear_conv_kernel_dim=3,
                                    num_experts=5, num_experts_per_tok=2, shared_expert_intermediate_size=9,
                                    tie_word_embeddings=True,
                                    rope_parameters=dict(HALF_TURNS, partial_rotary_factor=0.4))),
    "qwen3_next": case("gated delta nets of two value heads for a key head, whose projections files have by key head; five "
                       "experts, two a token, and one that all tokens take", 147, 13,
                       qwen3_5(2, 18, 3, 19, 61, 32, head_dim=10, linear_num_key_heads=2,
                               linear_num_value_heads=4, linear_key_head_dim=6, linear_value_head_dim=5,
                               num_experts=5, num_experts_per_tok=2, moe_intermediate_size=7,
                               shared_expert_intermediate_size=9,
                               rope_parameters=dict(HALF_TURNS, partial_rotary_factor=0.4)) |
                       dict(family="qwen3_next", architecture="Qwen3NextForCausalLM")),
    "lfm2": case("two short convolutions with biases between attention that norms its queries and keys, tied head", 128, 13,
                 rotary("lfm2", "Lfm2ForCausalLM", 4, 18, 3, 19, 61, 32, num_key_value_heads=1, conv_L_cache=3,
                        conv_bias=True, block_auto_adjust_ff_dim=False,
                        layer_types=["full_attention", "conv", "conv", "full_attention"])),
    "lfm2_moe": case("five experts, two a token by sigmoids that a bias balances, behind a layer without", 137, 13,
                     rotary("lfm2_moe", "Lfm2MoeForCausalLM", 3, 18, 3, 11, 61, 32, num_key_value_heads=1, conv_L_cache=3,
                            layer_types=["conv", "full_attention", "conv"], num_dense_layers=1, num_experts=5,
                            num_experts_per_tok=2, moe_intermediate_size=7)),
    "glm4_moe": case("five experts, two a token by sigmoids that a bias balances, and two that all tokens take, behind a "
                     "layer without; biases, norms of queries and keys", 138, 13,
                     rotary("glm4_moe", "Glm4MoeForCausalLM", 2, 24, 3, 11, 61, 32, num_key_value_heads=1, head_dim=8,
                            attention_bias=True, use_qk_norm=True, n_routed_experts=5, num_experts_per_tok=2,
                            n_shared_experts=2, moe_intermediate_size=7, routed_scaling_factor=1.7,
                            first_k_dense_replace=1, rope_parameters=HALF_TURNS)),
    "deepseek_v2": case("latent attention, whose queries are one matrix; five experts, two a token, and two that all "
                        "tokens take, behind a layer without", 139, 13,
                        rotary("deepseek_v2", "DeepseekV2ForCausalLM", 2, 21, 3, 11, 61, 32, q_lora_rank=None,
                               kv_lora_rank=10, qk_nope_head_dim=6, qk_rope_head_dim=4, v_head_dim=5,
                               n_routed_experts=5, num_experts_per_tok=2, n_shared_experts=2, moe_intermediate_size=7,
                               routed_scaling_factor=1.7, first_k_dense_replace=1)),
    "deepseek_v3": case("latent attention with queries of a low rank, scores that grow with yarn's factor; experts by "
                        "sigmoids that a bias balances, in one group", 140, 13,
                        rotary("deepseek_v3", "DeepseekV3ForCausalLM", 2, 21, 3, 11, 61, 32, num_key_value_heads=3, q_lora_rank=9,
                               kv_lora_rank=10, qk_nope_head_dim=6, qk_rope_head_dim=4, v_head_dim=8,
                               n_routed_experts=5, num_experts_per_tok=2, n_shared_experts=1, moe_intermediate_size=7,
                               n_group=1, topk_group=1, first_k_dense_replace=1,
                               rope_parameters=dict(rope_type="yarn", rope_theta=10000.0, factor=4.0, mscale=1.3,
                                                    mscale_all_dim=1.3, original_max_position_embeddings=8))),
    "glm4_moe_lite": case("latent attention with biases, experts by sigmoids that a bias balances", 141, 13,
                          rotary("glm4_moe_lite", "Glm4MoeLiteForCausalLM", 2, 21, 3, 11, 61, 32, num_key_value_heads=3, q_lora_rank=9,
                                 kv_lora_rank=10, qk_nope_head_dim=6, qk_rope_head_dim=4, v_head_dim=8,
                                 attention_bias=True, n_routed_experts=5, num_experts_per_tok=2, n_shared_experts=1,
                                 moe_intermediate_size=7)),
    "gemma4": case("wider heads without a window whose values are their keys, norms of values, a share of columns that "
                   "turn, scales of layers, a cap of logits", 132, 13,
                   gemma4(3, 18, 4, 19, 61, 32, attention_k_eq_v=True, num_global_key_value_heads=1,
                          hidden_size_per_layer_input=0, final_logit_softcapping=20.0)),
    "gemma4_small": case("inputs of each layer; two layers with the keys of earlier ones, and twice as wide feed-forward "
                         "layers", 136, 13,
                         gemma4(5, 18, 4, 11, 61, 32, num_kv_shared_layers=2, use_double_wide_mlp=True,
                                hidden_size_per_layer_input=4, vocab_size_per_layer_input=61)),
    "gemma4_moe": case("a mixture of five experts, two a token, with norms of its own beside each feed-forward layer", 134, 13,
                       gemma4(1, 18, 4, 11, 61, 32, hidden_size_per_layer_input=0, enable_moe_block=True,
                              num_experts=5, top_k_experts=2, moe_intermediate_size=7)),
    "granitemoe": case("Granite with experts in place of feed-forward layers, multipliers", 131, 13,
                       rotary("granitemoe", "GraniteMoeForCausalLM", 2, 18, 3, 7, 61, 32, num_key_value_heads=1,
                              num_local_experts=5, num_experts_per_tok=2, embedding_multiplier=1.5,
                              residual_multiplier=0.7, attention_multiplier=0.3, logits_scaling=1.7,
                              tie_word_embeddings=True)),
    "granite4_mamba": case("Mamba 2 with three heads a group and biases between attention without positions, five experts, two "
                           "a token, and one that all tokens take; tied head", 129, 13,
                           rotary("granitemoehybrid", "GraniteMoeHybridForCausalLM", 4, 18, 3, 7, 61, 32,
                                  num_key_value_heads=1, shared_intermediate_size=11, num_local_experts=5,
                                  num_experts_per_tok=2, layer_types=["attention", "mamba", "mamba", "attention"],
                                  position_embedding_type="nope", mamba_expand=3, mamba_n_heads=6, mamba_d_head=9,
                                  mamba_n_groups=2, mamba_d_state=5, mamba_d_conv=4, mamba_chunk_size=8,
                                  mamba_conv_bias=True, mamba_proj_bias=True, tie_word_embeddings=True,
                                  embedding_multiplier=1.5, attention_multiplier=0.3, residual_multiplier=0.7,
                                  logits_scaling=1.7)),
    "llama_cls": case("head of the last position, padded or not: a projection", 89, 13,
                      classifier(llama(1, 18, 3, 19, 61, 32, num_key_value_heads=1,
                                       rope_parameters=dict(rope_type="default", rope_theta=10000.0)),
                                 "LlamaForSequenceClassification")),
    "gpt2_cls": case("head of the last position, padded or not: a projection", 101, 13,
                     classifier(gpt2(1, 18, 3, 19, 61, 24), "GPT2ForSequenceClassification")),
    "llama_linear": case("linear rotary scaling, all biases, tied head, head width unlike width / heads", 42, 13,
                         llama(1, 18, 3, 19, 61, 32, num_key_value_heads=3, head_dim=10, attention_bias=True,
                               mlp_bias=True, tie_word_embeddings=True, rope_parameters=LINEAR)),
    "llama_yarn": case("yarn rotary scaling", 46, 13,
                       llama(1, 18, 3, 19, 61, 5120, num_key_value_heads=1, head_dim=10, rope_parameters=YARN)),
    "phi3_short": case("longrope in short texts", 47, 13,
                       phi3(1, 18, 3, 19, 61, 48, original=24, short=[1.0, 1.1, 1.5], long=[1.2, 2.0, 4.0])),
    "phi3_long": case("longrope in texts beyond the original context of 4", 48, 13,
                      phi3(1, 18, 3, 19, 61, 48, original=4, short=[1.0, 1.1, 1.5], long=[1.2, 2.0, 4.0])),
    "xlnet_cls": case("head of the last position, padded or not: dense, tanh, projection", 43, 11,
                      xlnet("classify", 1, 18, 3, 19, 61)),
}

# Made by hand when wanted; not kept.
LARGE = {
    "gpt2_odd": case("GPT-2 with odd sizes", 44, 37, gpt2(1, 15, 3, 19, 61, 41)),
    "gpt2_72": case("width 72, 3 heads", 51, 37, gpt2(2, 72, 3, 100, 89, 64)),
    "bert_mlm_72": case("width 72, 3 heads", 52, 37, bert("masked", 2, 72, 3, 100, 89, 64)),
    "bert_cls_72": case("width 72, 3 heads", 53, 37, bert("classify", 2, 72, 3, 100, 89, 64)),
    "roberta_mlm_72": case("width 72, 3 heads", 54, 37, roberta("masked", 2, 72, 3, 100, 89, 64)),
    "distilbert_cls_72": case("width 72, 3 heads", 55, 37, distilbert("classify", 2, 72, 3, 100, 89, 64)),
    "gpt_neox_72": case("width 72, 3 heads", 56, 37, gpt_neox(2, 72, 3, 100, 89, 64)),
    "gpt_neox_sequential_72": case("width 72, 3 heads", 57, 37,
                                   gpt_neox(2, 72, 3, 100, 89, 64, use_parallel_residual=False)),
    "llama_72": case("width 72, 3 heads, linear scaling", 58, 37,
                     llama(2, 72, 3, 100, 89, 64, num_key_value_heads=1, rope_parameters=LINEAR)),
    "llama3_72": case("width 72, 3 heads, llama3 scaling", 59, 37,
                      llama(2, 72, 3, 100, 89, 128, num_key_value_heads=3, rope_parameters=LLAMA3)),
    "mistral_72": case("sliding window of 7 positions", 60, 37,
                       rotary("mistral", "MistralForCausalLM", 2, 72, 3, 100, 89, 64, num_key_value_heads=1,
                              sliding_window=7, rope_parameters=dict(rope_type="default", rope_theta=10000.0))),
    "qwen2_72": case("width 72, 3 heads, untied", 61, 37,
                     rotary("qwen2", "Qwen2ForCausalLM", 2, 72, 3, 100, 89, 64, num_key_value_heads=3,
                            rope_parameters=dict(rope_type="default", rope_theta=1000000.0))),
    "bart_72": case("width 72, 3 heads", 62, 37, bart(2, 2, 72, 3, 100, 89, 64), target=23),
    "marian_72": case("width 72, 3 heads", 63, 37, marian(2, 2, 72, 3, 100, 89, 64), target=23),
    "t5_72": case("width 72, 3 heads", 64, 37, t5(2, 2, 72, 3, 100, 89, False), target=23),
    "t5_v11_72": case("width 72, 3 heads", 65, 37, t5(2, 2, 72, 3, 100, 89, True), target=23),
    "vaswani_72": case("width 72, 3 heads", 66, 37, vaswani(2, 2, 72, 3, 100, 89, False), target=23),
    "vaswani_prenorm_72": case("width 72, 3 heads", 67, 37, vaswani(2, 2, 72, 3, 100, 89, True), target=23),
    "xlnet_72": case("width 72, 3 heads", 68, 37, xlnet("masked", 2, 72, 3, 100, 89)),
    "xlnet_cls_full": case("width 72, 3 heads, no padding", 69, 37, xlnet("classify", 2, 72, 3, 100, 89),
                           full=True),
    "gpt2_300": case("300 positions", 70, 300, gpt2(1, 24, 3, 35, 61, 320)),
    "bert_mlm_300": case("300 positions", 71, 300, bert("masked", 1, 24, 3, 35, 61, 320)),
    "mpnet_300": case("300 positions", 79, 300, mpnet("masked", 1, 24, 3, 35, 61, 320)),
    "electra_300": case("300 positions", 86, 300, electra("masked", 1, 24, 3, 35, 61, 320, embedding_size=16)),
    "deberta_300": case("300 positions", 89, 300,
                        deberta("masked", 1, 24, 3, 35, 61, 320, buckets=64, farthest=-1)),
    "modernbert_300": case("300 positions", 80, 300,
                           modernbert("masked", 2, 24, 3, 35, 61, 320, local_attention=128)),
    "modernbert_tokens": case("one class a token", 81, 37, modernbert("classify_tokens", 2, 72, 3, 100, 89, 64)),
    "llama_300": case("300 positions", 72, 300, llama(1, 24, 3, 35, 61, 320, num_key_value_heads=1,
                                                      rope_parameters=dict(rope_type="default", rope_theta=10000.0))),
    "mistral_300": case("300 positions, window 131", 73, 300,
                        rotary("mistral", "MistralForCausalLM", 1, 24, 3, 35, 61, 320, num_key_value_heads=1,
                               sliding_window=131, rope_parameters=dict(rope_type="default", rope_theta=10000.0))),
    "t5_300": case("300 positions", 74, 300, t5(1, 1, 24, 3, 35, 61, False), target=157),
    "bart_300": case("300 positions", 75, 300, bart(1, 1, 24, 3, 35, 61, 320), target=157),
    "m2m_100_300": case("300 positions", 87, 300, m2m_100(1, 1, 24, 3, 35, 61, 320), target=157),
    "marian_300": case("300 positions", 76, 300, marian(1, 1, 24, 3, 35, 61, 320), target=157),
    "vaswani_300": case("300 positions", 77, 300, vaswani(1, 1, 24, 3, 35, 61, False), target=157),
    "xlnet_300": case("300 positions", 78, 300, xlnet("masked", 1, 24, 3, 35, 61)),
}

CASES = SMALL | LARGE
