#!/usr/bin/env python3
"""Makes small models with random weights and a tokenizer of the fixtures, as Hugging Face folders.

    make_models.py FIXTURES OUT

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
sizes = {"wide": (256, 512, 4, 2), "narrow": (96, 192, 3, 1)}  # width, inner, heads, heads of keys


def spiece(tokenizer):
    """The same vocabulary for sentencepiece, which llama.cpp's converter reads."""
    model = sentencepiece_model_pb2.ModelProto()
    kinds = {"<unk>": 2, "<pad>": 3, "</s>": 3}
    for piece, score in tokenizer["model"]["vocab"]:
        model.pieces.add(piece=piece, score=score, type=kinds.get(piece, 1))
    model.trainer_spec.model_type = 1
    model.trainer_spec.unk_id, model.trainer_spec.eos_id = 2, 1
    model.trainer_spec.pad_id, model.trainer_spec.bos_id = 0, -1
    charsmap = tokenizer["normalizer"]["normalizers"][0]["precompiled_charsmap"]
    model.normalizer_spec.precompiled_charsmap = base64.b64decode(charsmap)
    model.normalizer_spec.add_dummy_prefix = model.normalizer_spec.remove_extra_whitespaces = True
    return model.SerializeToString()


def save(name, model, tokenizer, special):
    # Larger than usual, so that attention looks at something and errors show.
    torch.manual_seed(len(name))
    with torch.no_grad():
        for key, value in model.named_parameters():
            if value.dim() > 1:
                value.normal_(0, 0.08)
            elif key.endswith("bias"):
                value.normal_(0, 0.05)
            else:
                value.copy_(value + 0.1 * torch.randn_like(value))
    folder = out / name
    model.save_pretrained(folder)
    source = fixtures / "tokenizers" / tokenizer / "tokenizer.json"
    shutil.copy(source, folder)
    if tokenizer == "t5":
        (folder / "spiece.model").write_bytes(spiece(json.loads(source.read_text())))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False, **special}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=1))


def main():
    for size, (width, inner, heads, kv) in sizes.items():
        decoder = dict(vocab_size=700, hidden_size=width, intermediate_size=inner, num_hidden_layers=4,
                       num_attention_heads=heads, num_key_value_heads=kv, max_position_embeddings=256,
                       bos_token_id=1, eos_token_id=2, pad_token_id=None)
        scaling = dict(rope_type="llama3", rope_theta=10000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                       original_max_position_embeddings=64)
        save(f"llama-{size}", t.LlamaForCausalLM(t.LlamaConfig(**decoder, tie_word_embeddings=False,
                                                               rope_parameters=scaling)),
             "gpt2", {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>"})
        save(f"qwen2-{size}", t.Qwen2ForCausalLM(t.Qwen2Config(**decoder, tie_word_embeddings=True)),
             "gpt2", {"eos_token": "<|endoftext|>"})
        save(f"gpt2-{size}", t.GPT2LMHeadModel(t.GPT2Config(
            vocab_size=700, n_positions=256, n_embd=width, n_layer=4, n_head=heads, n_inner=4 * width, bos_token_id=0,
            eos_token_id=0)), "gpt2", {"eos_token": "<|endoftext|>"})
        save(f"gpt_neox-{size}", t.GPTNeoXForCausalLM(t.GPTNeoXConfig(
            vocab_size=700, hidden_size=width, intermediate_size=inner, num_hidden_layers=4, num_attention_heads=heads,
            max_position_embeddings=256, bos_token_id=0, eos_token_id=0)), "gpt2", {"eos_token": "<|endoftext|>"})
        save(f"bert-{size}", t.BertForSequenceClassification(t.BertConfig(
            vocab_size=800, hidden_size=width, intermediate_size=inner, num_hidden_layers=4, num_attention_heads=heads,
            max_position_embeddings=256, num_labels=3)), "bert",
             {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]",
              "mask_token": "[MASK]", "tokenizer_class": "BertTokenizer"})
        save(f"t5-{size}", t.T5ForConditionalGeneration(t.T5Config(
            vocab_size=700, d_model=width, d_kv=32, d_ff=inner, num_layers=4, num_heads=heads,
            feed_forward_proj="gated-gelu", tie_word_embeddings=False, decoder_start_token_id=0)), "t5",
             {"eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"})


main()
