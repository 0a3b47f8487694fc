#!/usr/bin/env python3
"""Writes small models with random weights that see pictures and write, and what transformers makes of a conversation about
two pictures, in float64.

  make_seeing.py --out FOLDER        writes FOLDER/NAME for each model

A model's folder has all files that a chat with it reads, `first.png`, `second.jpg`, and `expected.safetensors`: `input_ids` of
a conversation with both pictures as the processor expands it, of each picture `pixels.N` [views, 3, height, width] (as
transformers' PIL processors make them) and `states.N` [positions, C], what stands for it in the text, of Qwen3-VL with what is added to the
states of its first layers behind it, and `logits`; in the metadata `text`, what the
chat template makes of the conversation, whose messages are under `messages`.
"""

import argparse
import json
import pathlib

import numpy
import torch
from make_images import picture
from PIL import Image
from safetensors.numpy import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import (CLIPImageProcessorPil, CLIPVisionConfig, Gemma3Config, Gemma3ForConditionalGeneration,
                          Gemma3ImageProcessorPil, Gemma3Processor, Gemma3TextConfig, Idefics3Config, Idefics3ForConditionalGeneration,
                          Idefics3ImageProcessorPil, Idefics3Processor, LlamaConfig, LlavaConfig,
                          LlavaForConditionalGeneration, LlavaProcessor, Mistral3Config, Mistral3ForConditionalGeneration,
                          PixtralImageProcessorPil, PixtralProcessor, PreTrainedTokenizerFast, Qwen2_5_VLConfig,
                          Qwen2_5_VLForConditionalGeneration, Qwen2_5_VLProcessor, Qwen2Config, Qwen2VLConfig,
                          Qwen2VLForConditionalGeneration, Qwen2VLImageProcessorPil, Qwen2VLProcessor, Qwen3VLConfig,
                          Qwen3VLForConditionalGeneration, Qwen3VLProcessor, SiglipImageProcessorPil, SiglipVisionConfig)

# As llava-hf/llava-1.5-7b-hf has it.
LLAVA_TEMPLATE = (
    "{% for message in messages %}{% if message['role'] != 'system' %}{{ message['role'].upper() + ': '}}{% endif %}"
    "{# Render all images first #}{% for content in message['content'] | selectattr('type', 'equalto', 'image') %}"
    "{{ '<image>\n' }}{% endfor %}{# Render all text next #}{% if message['role'] != 'assistant' %}"
    "{% for content in message['content'] | selectattr('type', 'equalto', 'text') %}{{ content['text'] + ' '}}{% endfor %}"
    "{% else %}{% for content in message['content'] | selectattr('type', 'equalto', 'text') %}{% generation %}"
    "{{ content['text'] + ' '}}{% endgeneration %}{% endfor %}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'ASSISTANT:' }}{% endif %}")
# As HuggingFaceTB/SmolVLM-256M-Instruct has it.
SMOLVLM_TEMPLATE = (
    "<|im_start|>{% for message in messages %}{{message['role'] | capitalize}}{% if message['content'][0]['type'] == 'image' %}"
    "{{':'}}{% else %}{{': '}}{% endif %}{% for line in message['content'] %}{% if line['type'] == 'text' %}{{line['text']}}"
    "{% elif line['type'] == 'image' %}{{ '<image>' }}{% endif %}{% endfor %}<end_of_utterance>\n{% endfor %}"
    "{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}")
# As google/gemma-3-4b-it has it, without what it says of roles.
GEMMA_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}{{ '<start_of_turn>' + ('model' if message['role'] == 'assistant' else "
    "message['role']) + '\n' }}{% for item in message['content'] %}{% if item['type'] == 'image' %}{{ '<start_of_image>' }}"
    "{% elif item['type'] == 'text' %}{{ item['text'] | trim }}{% endif %}{% endfor %}{{ '<end_of_turn>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %}")
# As Qwen/Qwen2.5-VL-7B-Instruct has it.
QWEN_TEMPLATE = (
    "{% set image_count = namespace(value=0) %}{% set video_count = namespace(value=0) %}{% for message in messages %}"
    "{% if loop.first and message['role'] != 'system' %}<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n{% endif %}"
    "<|im_start|>{{ message['role'] }}\n{% if message['content'] is string %}{{ message['content'] }}<|im_end|>\n{% else %}"
    "{% for content in message['content'] %}{% if content['type'] == 'image' or 'image' in content or 'image_url' in content %}"
    "{% set image_count.value = image_count.value + 1 %}{% if add_vision_id %}Picture {{ image_count.value }}: {% endif %}"
    "<|vision_start|><|image_pad|><|vision_end|>{% elif content['type'] == 'video' or 'video' in content %}"
    "{% set video_count.value = video_count.value + 1 %}{% if add_vision_id %}Video {{ video_count.value }}: {% endif %}"
    "<|vision_start|><|video_pad|><|vision_end|>{% elif 'text' in content %}{{ content['text'] }}{% endif %}{% endfor %}"
    "<|im_end|>\n{% endif %}{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")
# As Mistral's models have it.
PIXTRAL_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}{% if message['role'] == 'user' %}[INST]"
    "{% for block in message['content'] %}{% if block['type'] == 'text' %}{{ block['text'] }}"
    "{% elif block['type'] in ['image', 'image_url'] %}[IMG]{% endif %}{% endfor %}[/INST]{% else %}"
    "{{ message['content'][0]['text'] + eos_token }}{% endif %}{% endfor %}")
MESSAGES = [
    {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "What is it?"}]},
    {"role": "assistant", "content": [{"type": "text", "text": "A hill."}]},
    {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "And this?"}]},
]


def tokenizer(*more, begins=True, image="<image>"):
    """A token for each byte, behind the special ones."""
    special = ["<unk>", "<s>", "</s>", image, "<pad>", *more]
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: i for i, token in enumerate(special + alphabet)}
    bpe = Tokenizer(models.BPE(vocabulary, []))
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    if begins:
        bpe.post_processor = processors.TemplateProcessing("<s> $A", "<s> $A $B", [("<s>", 1)])
    bpe.add_special_tokens(special)
    return PreTrainedTokenizerFast(tokenizer_object=bpe, bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token="<pad>",
                                   extra_special_tokens={"image_token": image})


def llava():
    vision = CLIPVisionConfig(hidden_size=32, intermediate_size=40, num_hidden_layers=3, num_attention_heads=2, image_size=20,
                              patch_size=5)
    text = LlamaConfig(vocab_size=264, hidden_size=24, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4,
                       num_key_value_heads=2, max_position_embeddings=256, bos_token_id=1, eos_token_id=2, pad_token_id=4)
    config = LlavaConfig(vision_config=vision, text_config=text, image_token_index=3, image_seq_length=16)
    model = LlavaForConditionalGeneration(config)
    images = CLIPImageProcessorPil(size={"shortest_edge": 20}, crop_size={"height": 20, "width": 20})
    processor = LlavaProcessor(images, tokenizer(), patch_size=5, vision_feature_select_strategy="default",
                               chat_template=LLAVA_TEMPLATE, num_additional_image_tokens=1)
    return model, processor


def llava_siglip():
    """SigLIP's encoder, all states of the last layer but one, and a Qwen 2."""
    vision = SiglipVisionConfig(hidden_size=32, intermediate_size=40, num_hidden_layers=3, num_attention_heads=2, image_size=20,
                                patch_size=5, vision_use_head=False)
    text = Qwen2Config(vocab_size=264, hidden_size=24, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4,
                       num_key_value_heads=2, max_position_embeddings=256, bos_token_id=1, eos_token_id=2, pad_token_id=4)
    config = LlavaConfig(vision_config=vision, text_config=text, image_token_index=3, image_seq_length=16,
                         vision_feature_select_strategy="full")
    images = SiglipImageProcessorPil(size={"height": 20, "width": 20})
    processor = LlavaProcessor(images, tokenizer(), patch_size=5, vision_feature_select_strategy="full",
                               chat_template=LLAVA_TEMPLATE)
    return LlavaForConditionalGeneration(config), processor


def idefics3():
    """SmolVLM: up to 2 x 2 tiles and the whole, each of 4 x 4 patches, of which 2 x 2 are a position."""
    text = LlamaConfig(vocab_size=275, hidden_size=24, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4,
                       num_key_value_heads=2, max_position_embeddings=256, bos_token_id=1, eos_token_id=2, pad_token_id=4)
    vision = {"hidden_size": 32, "intermediate_size": 40, "num_hidden_layers": 2, "num_attention_heads": 2, "image_size": 20,
              "patch_size": 5}
    config = Idefics3Config(vision_config=vision, text_config=text, image_token_id=3, scale_factor=2, pad_token_id=4)
    tiles = [f"<row_{row}_col_{column}>" for row in (1, 2) for column in (1, 2)]
    tokens = tokenizer("<fake_token_around_image>", "<end_of_utterance>", "<|im_start|>", "<global-img>", *tiles, begins=False)
    images = Idefics3ImageProcessorPil(size={"longest_edge": 40}, max_image_size={"longest_edge": 20})
    processor = Idefics3Processor(images, tokens, image_seq_len=4, chat_template=SMOLVLM_TEMPLATE)
    return Idefics3ForConditionalGeneration(config), processor


def gemma3():
    """Positions that are means of 2 x 2 patches, see all of their picture, and stand behind a window's length of others."""
    vision = SiglipVisionConfig(hidden_size=32, intermediate_size=40, num_hidden_layers=2, num_attention_heads=2, image_size=20,
                                patch_size=5, vision_use_head=False)
    text = Gemma3TextConfig(vocab_size=270, hidden_size=24, intermediate_size=40, num_hidden_layers=3, num_attention_heads=4,
                            num_key_value_heads=2, head_dim=8, max_position_embeddings=256, sliding_window=5, query_pre_attn_scalar=8,
                            layer_types=["sliding_attention", "full_attention", "sliding_attention"], bos_token_id=1,
                            eos_token_id=2, pad_token_id=4)
    config = Gemma3Config(vision_config=vision, text_config=text, mm_tokens_per_image=4, image_token_index=3, boi_token_index=5,
                          eoi_token_index=6)
    tokens = tokenizer("<start_of_image>", "<end_of_image>", "<start_of_turn>", "<end_of_turn>", begins=False)
    tokens = PreTrainedTokenizerFast(tokenizer_object=tokens.backend_tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>",
                                     pad_token="<pad>", extra_special_tokens={"image_token": "<image>", "boi_token": "<start_of_image>",
                                                                              "eoi_token": "<end_of_image>"})
    images = Gemma3ImageProcessorPil(size={"height": 20, "width": 20})
    processor = Gemma3Processor(images, tokens, image_seq_length=4, chat_template=GEMMA_TEMPLATE)
    return Gemma3ForConditionalGeneration(config), processor


def qwen_text(**more):
    return {"vocab_size": 268, "hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 2, "num_attention_heads": 2,
            "num_key_value_heads": 1, "max_position_embeddings": 256, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 4,
            **more}


def qwen_processor(make, patch):
    """Pictures in whole multiples of two patches, up to 1000 pixels."""
    tokens = tokenizer("<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|video_pad|>", begins=False,
                       image="<|image_pad|>")
    make.check_argument_for_proper_class = lambda *_: None  # there are no videos
    images = Qwen2VLImageProcessorPil(size={"shortest_edge": 64, "longest_edge": 1000}, patch_size=patch)
    return make(images, tokens, chat_template=QWEN_TEMPLATE)


QWEN_IDS = {"image_token_id": 3, "vision_start_token_id": 7, "vision_end_token_id": 8, "video_token_id": 9}


def qwen2_vl():
    vision = {"embed_dim": 16, "hidden_size": 24, "mlp_ratio": 2, "depth": 2, "num_heads": 2, "patch_size": 4}
    text = qwen_text(rope_parameters={"rope_type": "default", "rope_theta": 100.0, "mrope_section": [2, 2, 2]})
    config = Qwen2VLConfig(vision_config=vision, text_config=text, **QWEN_IDS)
    return Qwen2VLForConditionalGeneration(config), qwen_processor(Qwen2VLProcessor, 4)


def qwen2_5_vl():
    """Windows of 2 x 2 positions, past whose edges pictures do not reach; the second layer sees all."""
    vision = {"hidden_size": 16, "out_hidden_size": 24, "intermediate_size": 28, "depth": 2, "num_heads": 2, "patch_size": 4,
              "window_size": 16, "fullatt_block_indexes": [1]}
    text = qwen_text(rope_parameters={"rope_type": "default", "rope_theta": 100.0, "mrope_section": [1, 3, 2]})
    config = Qwen2_5_VLConfig(vision_config=vision, text_config=text, **QWEN_IDS)
    return Qwen2_5_VLForConditionalGeneration(config), qwen_processor(Qwen2_5_VLProcessor, 4)


def qwen3_vl():
    """Learned positions of a grid of 4 x 4; the states of both layers go to the text's, too."""
    vision = {"hidden_size": 16, "out_hidden_size": 24, "intermediate_size": 28, "depth": 2, "num_heads": 2, "patch_size": 4,
              "num_position_embeddings": 16, "deepstack_visual_indexes": [0, 1]}
    text = qwen_text(head_dim=16, rope_parameters={"rope_type": "default", "rope_theta": 100.0, "mrope_section": [4, 2, 2],
                                                   "mrope_interleaved": True})
    config = Qwen3VLConfig(vision_config=vision, text_config=text, **QWEN_IDS)
    return Qwen3VLForConditionalGeneration(config), qwen_processor(Qwen3VLProcessor, 4)


PIXTRAL_VISION = {"model_type": "pixtral", "hidden_size": 32, "intermediate_size": 40, "num_hidden_layers": 2,
                  "num_attention_heads": 2, "image_size": 40, "patch_size": 4}
PIXTRAL_TEXT = {"vocab_size": 268, "hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 2, "num_attention_heads": 4,
                "num_key_value_heads": 2, "max_position_embeddings": 256, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 4,
                "sliding_window": None}


def pixtral_processor(patch, merge):
    """Pictures of up to 40 pixels to a side."""
    tokens = tokenizer("[IMG_BREAK]", "[IMG_END]", "[INST]", "[/INST]", begins=False, image="[IMG]")
    images = PixtralImageProcessorPil(size={"longest_edge": 40}, patch_size={"height": patch, "width": patch})
    return PixtralProcessor(images, tokens, patch_size=patch, spatial_merge_size=merge, chat_template=PIXTRAL_TEMPLATE)


def mistral3():
    """Two patches by two are a position."""
    config = Mistral3Config(vision_config={**PIXTRAL_VISION, "hidden_act": "silu"}, spatial_merge_size=2, image_token_index=3,
                            text_config={**PIXTRAL_TEXT, "model_type": "mistral"}, tie_word_embeddings=False)
    return Mistral3ForConditionalGeneration(config), pixtral_processor(4, 2)


def pixtral():
    """A patch is a position; exact GELU's gates."""
    vision = {**PIXTRAL_VISION, "hidden_size": 16, "patch_size": 8,
              "rope_parameters": {"rope_type": "default", "rope_theta": 50.0}}
    config = LlavaConfig(vision_config=vision, text_config={**PIXTRAL_TEXT, "model_type": "mistral"}, image_token_index=3,
                         vision_feature_select_strategy="full", vision_feature_layer=-1)
    return LlavaForConditionalGeneration(config), pixtral_processor(8, 1)


def pixels_of_patches(patches, grid, processor):
    """[1, 3, height, width] of patches in the order of Qwen's processors."""
    _, rows, columns = grid.tolist()
    merge, side, frames = processor.merge_size, processor.patch_size, processor.temporal_patch_size
    blocks = patches.reshape(rows // merge, columns // merge, merge, merge, 3, frames, side, side)
    return blocks[:, :, :, :, :, 0].permute(4, 0, 2, 5, 1, 3, 6).reshape(1, 3, rows * side, columns * side)


def record(folder, model, processor):
    for name, parameter in model.named_parameters():
        # So large that pictures and places count, and norms are not ones.
        values = torch.empty_like(parameter).normal_(0, 0.3 if parameter.dim() > 1 else 0.1)
        parameter.data = values + 1 if parameter.dim() == 1 and "norm" in name and name.endswith("weight") else values
    model.eval()
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    if getattr(processor, "video_processor", processor) is None:  # then it can't write itself
        processor.tokenizer.chat_template = processor.chat_template
        processor.image_processor.save_pretrained(folder)
        processor.tokenizer.save_pretrained(folder)
    else:
        processor.save_pretrained(folder)
    picture(37, 23).save(folder / "first.png")
    picture(14, 42).transpose(Image.Transpose.ROTATE_90).save(folder / "second.jpg", quality=90)
    pictures = [Image.open(folder / name).convert("RGB") for name in ("first.png", "second.jpg")]
    text = processor.apply_chat_template(MESSAGES, add_generation_prompt=True)
    inputs = processor(images=pictures, text=text, return_tensors="pt")
    more = {}
    if "image_grid_thw" in inputs:
        grids = inputs["image_grid_thw"]
        patches = inputs["pixel_values"].split(grids.prod(1).tolist())
        views = [pixels_of_patches(one, grid, processor.image_processor) for one, grid in zip(patches, grids)]
        more = {"image_grid_thw": grids, "mm_token_type_ids": inputs["mm_token_type_ids"]}
    elif "image_sizes" in inputs:  # each in a corner of the largest
        sizes = inputs["image_sizes"]
        views = [pixels[None, :, :height, :width] for pixels, (height, width) in zip(inputs["pixel_values"], sizes.tolist())]
    elif inputs["pixel_values"].dim() == 5:  # a list of pictures for each text
        views = [processor.image_processor(image, return_tensors="pt")["pixel_values"][0] for image in pictures]
    else:
        views = [pixels[None] for pixels in inputs["pixel_values"]]
    model = model.double()
    with torch.no_grad():
        if more:
            seen = [get_qwen_features(model, one.double(), grid[None]) for one, grid in zip(patches, grids)]
        else:
            seen = [torch.cat(list(get_features(model, pixels.double()))) for pixels in views]
        if "image_sizes" in inputs:
            more = {"image_sizes": inputs["image_sizes"]}
        images = {"pixel_values": inputs["pixel_values"].double(), **more}
        for key in ("pixel_attention_mask", "token_type_ids"):
            if key in inputs:
                images[key] = inputs[key]
        logits = model(input_ids=inputs["input_ids"], **images).logits
    tensors = {"input_ids": inputs["input_ids"][0].numpy().astype(numpy.int32),
               "logits": logits[0].numpy().astype(numpy.float32)}
    for number in range(2):
        tensors[f"pixels.{number}"] = views[number].float().contiguous().numpy()
        tensors[f"states.{number}"] = seen[number].numpy().astype(numpy.float32)
    save_file(tensors, folder / "expected.safetensors", {"text": text, "messages": json.dumps(MESSAGES)})


def get_features(model, pixels):
    """Of each view [positions, C]."""
    if model.config.model_type == "idefics3":
        return model.model.get_image_features(pixels[None]).pooler_output
    if getattr(model.config.vision_config, "model_type", "") == "pixtral":
        return model.model.get_image_features(pixels, image_sizes=torch.tensor([pixels.shape[2:]])).pooler_output
    return model.model.get_image_features(pixel_values=pixels).pooler_output


def get_qwen_features(model, patches, grid):
    """Of one picture [positions, C], and behind it what is added to the states of each of the first layers."""
    features = model.model.get_image_features(patches, grid)
    return torch.cat([*features.pooler_output, *(getattr(features, "deepstack_features", None) or [])], dim=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    out = parser.parse_args().out
    models = (llava, idefics3, llava_siglip, qwen2_5_vl, qwen3_vl, qwen2_vl, gemma3, mistral3, pixtral)
    for number, (name, make) in enumerate((make.__name__, make) for make in models):
        torch.manual_seed(number)
        record(out / name, *make())


if __name__ == "__main__":
    main()
