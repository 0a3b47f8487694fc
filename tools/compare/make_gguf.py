#!/usr/bin/env python3
"""Writes a GGUF file of a LLaMA config.json with random weights, for llama-bench.

    make_gguf.py CONFIG.json OUT.gguf [--type f32|f16]
"""
import argparse
import json

import gguf
import numpy as np


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config")
    parser.add_argument("out")
    parser.add_argument("--type", default="f32", choices=["f32", "f16"])
    args = parser.parse_args()
    with open(args.config, encoding="utf-8") as file:
        config = json.load(file)
    width, inner, layers = config["hidden_size"], config["intermediate_size"], config["num_hidden_layers"]
    heads, vocabulary = config["num_attention_heads"], config["vocab_size"]
    kv_heads = config.get("num_key_value_heads", heads)
    kv_width = width // heads * kv_heads
    weights = np.float16 if args.type == "f16" else np.float32

    writer = gguf.GGUFWriter(args.out, "llama")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(width)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(inner)
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_layer_norm_rms_eps(config.get("rms_norm_eps", 1e-5))
    writer.add_rope_dimension_count(width // heads)
    writer.add_vocab_size(vocabulary)
    writer.add_tokenizer_model("no_vocab")
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16 if args.type == "f16" else gguf.LlamaFileType.ALL_F32)
    random = np.random.default_rng(1)

    def matrix(name, rows, columns):
        writer.add_tensor(name, (0.02 * random.standard_normal((rows, columns), dtype=np.float32)).astype(weights))

    matrix("token_embd.weight", vocabulary, width)
    for i in range(layers):
        block = f"blk.{i}."
        for name, rows, columns in [("attn_q", width, width), ("attn_k", kv_width, width), ("attn_v", kv_width, width),
                                    ("attn_output", width, width), ("ffn_gate", inner, width), ("ffn_up", inner, width),
                                    ("ffn_down", width, inner)]:
            matrix(f"{block}{name}.weight", rows, columns)
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"{block}{name}.weight", np.ones(width, np.float32))
    writer.add_tensor("output_norm.weight", np.ones(width, np.float32))
    if not config.get("tie_word_embeddings", False):
        matrix("output.weight", vocabulary, width)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
