#!/usr/bin/env python3
"""Compares what vkformer and llama.cpp make of GGUF files of eyes; see tests/gguf/eyes.

    eyes.py models SEEING WORK     WORK/models/NAME/, WORK/NAME.png, and the texts about it
    eyes.py convert WORK           WORK/NAME.theirs.gguf by llama.cpp's converter
    eyes.py tensors WORK           WORK/NAME.mmproj.gguf against that, value by value
    eyes.py mended WORK            WORK/NAME.mended.gguf: of LLaVA's, from which llama.cpp 0.7 makes what the model makes
    eyes.py states WORK            errors of states, as shares of the largest, and the ids that both find the likeliest
"""
import json
import pathlib
import runpy
import shutil
import sys

import numpy as np

# Pictures that need no resizing, which both do in ways of their own, and what stands for them in texts.
qwen = ((24, 32), "<|vision_start|><|image_pad|><|vision_end|>", "{}")
models = {"llava": ((20, 20), "<image>", "{}"), "llava_siglip": ((20, 20), "<image>", "{}"),
          "idefics3": ((40, 40), "<image>", "{}"), "gemma3": ((20, 20), "<start_of_image>", "\n\n{}\n\n"),
          "qwen2_vl": qwen, "qwen2_5_vl": qwen, "qwen3_vl": qwen,
          "mistral3": ((32, 40), "[IMG]", "{}"), "pixtral": ((32, 40), "[IMG]", "{}")}


def write_models(seeing, work):
    from PIL import Image
    from safetensors.numpy import load_file, save_file
    for name, (size, own, theirs) in models.items():
        folder = work / "models" / name
        shutil.copytree(seeing / name, folder)
        tokenizer = json.loads((folder / "tokenizer.json").read_text())
        # llama.cpp needs merges, of Idefics 3 this one; released files of Gemma 3 call their token as here.
        vocabulary = tokenizer["model"]["vocab"]
        vocabulary["ĊĊ"] = len(vocabulary)
        tokenizer["model"]["merges"] = [["Ċ", "Ċ"]]
        text = json.dumps(tokenizer)
        (folder / "tokenizer.json").write_text(text.replace("<image>", "<image_soft_token>") if name == "gemma3" else text)
        config = json.loads((folder / "config.json").read_text())
        if name == "qwen2_5_vl":
            config["vision_config"]["window_size"] = 112  # which llama.cpp has for all
        if name == "pixtral":
            config["vision_config"]["rope_parameters"]["rope_theta"] = 10000.0
        if name == "qwen3_vl":  # llama.cpp 0.7 aborts where the text's last layer gets something of a picture's
            config["vision_config"]["deepstack_visual_indexes"] = [1]
            # Pairs beyond three times their section turn by time, which it leaves out (of released models the last two).
            config["text_config"]["rope_parameters"]["mrope_section"] = [3, 3, 2]
            kept = {key: value for key, value in load_file(folder / "model.safetensors").items()
                    if "deepstack_merger_list.1" not in key}
            save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
        (folder / "config.json").write_text(json.dumps(config))
        pixels = np.random.default_rng(1).integers(0, 256, (*size, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(work / f"{name}.png")
        (work / f"{name}.ours.txt").write_text(f"What {own} is it?")
        (work / f"{name}.theirs.txt").write_text(f"What {theirs.format('<__media__>')} is it?")


def convert(work):
    sys.path.insert(1, "/usr/share/llama.cpp/llama.cpp-tools")
    import gguf
    from conversion import gemma
    # Names of matrices are counted to 2, but maps of models with two layers end at 1.
    name_map = gguf.get_tensor_name_map
    gguf.get_tensor_name_map = lambda architecture, blocks: name_map(architecture, max(blocks, 8))
    filter_tensors = gemma.Gemma3VisionModel.filter_tensors.__func__

    def with_longer_names(kind, item):  # as transformers 4 has them
        name = item[0]
        if name.startswith("vision_tower.") and "vision_model" not in name:
            name = name.replace("vision_tower.", "vision_tower.vision_model.", 1)
        return filter_tensors(kind, (name, item[1]))

    gemma.Gemma3VisionModel.filter_tensors = classmethod(with_longer_names)
    converter = "/usr/share/doc/llama.cpp-tools/scripts/convert_hf_to_gguf.py"
    for name in models:
        if name.startswith("llava"):  # of which it knows an older form alone
            continue
        sys.argv = [converter, str(work / "models" / name), "--outtype", "f32", "--mmproj", "--outfile",
                    str(work / f"{name}.theirs.gguf")]
        runpy.run_path(converter, run_name="__main__")


def tensors_of(file):
    import gguf
    return {tensor.name: tensor for tensor in gguf.GGUFReader(file).tensors}


def compare_tensors(work):
    for name in models:
        if name.startswith("llava"):
            continue
        theirs, ours = tensors_of(work / f"{name}.theirs.gguf"), tensors_of(work / f"{name}.mmproj.gguf")
        # Which llama.cpp reads and its converter forgets.
        ours.pop("v.token_embd.img_break", None)
        assert theirs.keys() == ours.keys(), (name, theirs.keys() ^ ours.keys())
        for tensor, one in theirs.items():
            other = ours[tensor].data.astype(one.data.dtype)  # some are always in f16 there
            assert list(one.shape) == list(ours[tensor].shape), (name, tensor)
            assert np.array_equal(one.data, other), (name, tensor)
        print(f"{name}: {len(theirs)} tensors equal")


def write_mended(work):
    """llama.cpp leaves out the last layer of the file, and has the class token behind the patches, with the positions
    of all one off and its state in place of the first patch's: so it gets one more layer, and positions in its order."""
    import gguf
    for name in ("llava", "llava_siglip"):
        reader = gguf.GGUFReader(work / f"{name}.mmproj.gguf")
        writer = gguf.GGUFWriter(work / f"{name}.mended.gguf", "clip")
        for key, field in reader.fields.items():
            if key.startswith("GGUF") or key == "general.architecture":
                continue
            kind, value = field.types[0], field.contents()
            writer.add_key_value(key, value + (key == "clip.vision.block_count") if isinstance(value, int) else value, kind,
                                 sub_type=field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None)
        writer.add_bool("clip.has_llava_projector", True)
        for tensor in reader.tensors:
            data = np.array(tensor.data)
            if tensor.name == "v.position_embd.weight" and name == "llava":
                data = np.roll(data, -1, axis=0)
            writer.add_tensor(tensor.name, data)
            if ".blk.1." in tensor.name:
                writer.add_tensor(tensor.name.replace(".blk.1.", ".blk.2."), data)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()


def compare_states(work):
    for name in models:
        theirs, ours = (np.fromfile(work / f"{name}.{whose}.bin", np.float32) for whose in ("theirs", "ours"))
        columns = 24 * (2 if name == "qwen3_vl" else 1)
        theirs, ours = theirs.reshape(-1, columns), ours.reshape(-1, columns)
        if name in ("mistral3", "pixtral"):  # rows of 5 positions have a token behind them
            theirs = theirs[[row for row in range(len(theirs)) if row % 6 != 5]]
        if name == "llava":
            theirs, ours = theirs[:-1], ours[1:]
        off = np.abs(theirs - ours).max() / np.abs(theirs).max()
        assert off < 3e-3, (name, off)
        line = f"{name}: states {off:.1e}"
        if (work / f"{name}.ours.ids").exists():
            ids = [(work / f"{name}.{whose}.ids").read_text().split() for whose in ("theirs", "ours")]
            assert ids[0] == ids[1], (name, ids)
            line += f", {len(ids[0])} tokens equal"
        print(line)


def main():
    what, *folders = sys.argv[1:]
    work = pathlib.Path(folders[-1])
    if what == "models":
        write_models(pathlib.Path(folders[0]), work)
    else:
        {"convert": convert, "tensors": compare_tensors, "mended": write_mended, "states": compare_states}[what](work)


if __name__ == "__main__":
    main()
