#!/usr/bin/env python3
"""Makes small files of quantised weights, as folders of Hugging Face's hub have them, with the values they mean.

  make_quantised.py --out FOLDER          every case
  make_quantised.py --out FOLDER NAME...  these

Each FOLDER/NAME.safetensors holds the tensors of such a folder's model.safetensors, `expected.X.weight` in F32 for each
matrix X, and in its metadata the text of what config.json says under quantization_config (MLX: under quantization).
compressed-tensors packs and unpacks its formats itself; the others are packed here as their formats are defined.
"""

import argparse
import json
import os
import pathlib
import zlib

os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")  # compressed-tensors would compile a rounding

import compressed_tensors
import numpy
import torch
from compressed_tensors.compressors import BaseCompressor
from compressed_tensors.compressors.nvfp4.helpers import unpack_fp4_from_uint8
from compressed_tensors.quantization import QuantizationArgs, QuantizationConfig, QuantizationScheme
from compressed_tensors.quantization.lifecycle.forward import dequantize
from compressed_tensors.quantization.utils import calculate_qparams, generate_gparam
from transformers.integrations.finegrained_fp8 import Fp8Dequantize
from transformers.integrations.metal_quantization import _affine_dequantize_tensor

import quantised_packing as packing
from quantised_packing import affine, random_weight, reach, require, rounded, spread, write

UP, DOWN = "model.layers.0.mlp.up_proj", "model.layers.0.mlp.down_proj"
ALL_LINEAR = {"targets": ["Linear"]}


def as_int32(words):
    return torch.from_numpy(numpy.ascontiguousarray(words).view(numpy.int32))


def gptq(bits, group, symmetric, less=1, ordered=False):
    """Zeros are stored less one but in gptq_v2; then none of them is 0, as 0 would not survive."""
    def make(rng):
        shape = 32, 64
        size = shape[1] if group == -1 else group
        g_idx = numpy.arange(shape[1]) // size
        weight = random_weight(rng, shape, None if symmetric else shape[1] // size)
        if ordered:
            place = rng.permutation(shape[1])
            g_idx, weight = g_idx[place], weight[:, place]
        codes, zeros, scales, values = affine(weight, g_idx, size, bits, symmetric, less)
        qweight, qzeros = packing.stream(codes, bits), packing.stream(zeros - less, bits)
        if bits == 3:
            require(numpy.array_equal(packing.three_bits(qweight), codes), "GPTQ's words of three bits")
            require(numpy.array_equal(packing.three_bits(qzeros), zeros - less), "GPTQ's zeros of three bits")
        return {UP: ({"qweight": as_int32(qweight.T), "qzeros": as_int32(qzeros), "scales": scales,
                      "g_idx": torch.from_numpy(g_idx.astype(numpy.int32))}, values)}

    return make


def awq(rng):
    shape, group = (96, 64), 32
    codes, zeros, scales, values = affine(random_weight(rng, shape, 2), numpy.arange(shape[1]) // group, group, 4,
                                          False, 0)
    return {UP: ({"qweight": as_int32(packing.awq(codes.T)), "qzeros": as_int32(packing.awq(zeros)), "scales": scales},
                 values)}


def mlx_matrix(rng, shape, bits, dtype):
    """The end of a group that is farther from zero is kept as it is; the scale is negative if that is the highest."""
    group, most = 32, 2 ** bits - 1
    weight = random_weight(rng, shape)
    low, high = (end.T for end in reach(weight, group))
    edge = numpy.where(-low > high, low, high)
    scales = numpy.where(-low > high, 1, -1) * (high - low) / most
    scales = edge / numpy.rint(edge / scales)
    codes = numpy.rint((weight - edge.repeat(group, 1)) / scales.repeat(group, 1))
    codes = numpy.clip(codes, 0, most).astype(int)
    words = torch.from_numpy(packing.stream(codes, bits))
    scales, scale_values = rounded(scales, dtype)
    biases, bias_values = rounded(edge, dtype)
    values = codes * scale_values.repeat(group, 1) + bias_values.repeat(group, 1)
    if 32 % bits == 0:
        library = _affine_dequantize_tensor(words, scales, biases, group, bits).numpy()
        require(numpy.allclose(values, library, rtol=1e-5, atol=1e-7), "MLX against transformers")
    return {"weight": words, "scales": scales, "biases": biases}, values


def mlx(bits, dtype, embedding=False):
    def make(rng):
        matrices = {UP: mlx_matrix(rng, (32, 64), bits, dtype)}
        if embedding:
            matrices["model.embed_tokens"] = mlx_matrix(rng, (48, 64), bits, dtype)
        return matrices

    return make


def qparams(weight, args, g_idx, global_scale):
    """The library's scales and zero points for the lowest and highest values that its strategy looks at."""
    if args.strategy == "tensor":
        low, high = weight.min(), weight.max()
    elif args.strategy == "channel":
        low, high = weight.amin(1, keepdim=True), weight.amax(1, keepdim=True)
    elif args.strategy == "block":
        high = torch.from_numpy(packing.largest(weight.numpy(), args.block_structure))
        low = -high
    else:
        parts = weight if g_idx is None else weight[:, torch.argsort(g_idx, stable=True)]
        parts = parts.unflatten(1, (-1, args.group_size))
        low, high = parts.amin(2), parts.amax(2)
    return calculate_qparams(low, high, args, global_scale)


def own_values(args, state, shape):
    """What the compressed tensors mean, without the library."""
    scales = state["weight_scale"].double().numpy()
    if args.type == "float" and args.num_bits == 4:
        codes = packing.FP4[packing.from_pairs(state["weight_packed"].numpy())]
        if "weight_global_scale" in state:
            scales = scales / state["weight_global_scale"].double().numpy()
        else:
            scales = 2.0 ** (state["weight_scale"].numpy().astype(int) - 127)
    elif args.type == "float":
        codes = packing.from_e4m3(state["weight"])
    elif "weight" in state:
        codes = state["weight"].numpy().astype(int)
    else:
        bits = args.num_bits
        words = state["weight_packed"].numpy().view(numpy.uint32)
        fields = [words >> numpy.uint32(bits * i) & (1 << bits) - 1 for i in range(32 // bits)]
        codes = numpy.stack(fields, axis=-1).reshape(shape[0], -1)[:, :shape[1]].astype(int) - 2 ** (bits - 1)
    if args.strategy == "block":
        return codes * spread(scales, shape, args.block_structure)
    if args.strategy == "tensor":
        return codes * scales
    groups = state["weight_g_idx"].numpy() if "weight_g_idx" in state else (
        numpy.arange(shape[1]) // (args.group_size or shape[1]))
    if "weight_zero_point" in state:
        words = state["weight_zero_point"].numpy().view(numpy.uint32).T
        zeros = packing.from_stream(words, args.num_bits).T[:shape[0]] - 2 ** (args.num_bits - 1)
        codes = codes - zeros[:, groups]
    return codes * scales[:, groups]


def compressed_matrix(rng, shape, scheme, static):
    """A matrix that the library compresses, with its own values of it."""
    args, kind = scheme.weights, BaseCompressor.get_value_from_registry(scheme.format)
    moved = None if args.symmetric else shape[1] // args.group_size
    weight = torch.from_numpy(random_weight(rng, shape, moved)).float()
    g_idx = None
    state = {"weight": weight}
    if args.actorder:
        place = torch.from_numpy(rng.permutation(shape[1]))
        g_idx = (torch.arange(shape[1]) // args.group_size)[place].int()
        state["weight_g_idx"] = g_idx
    global_scale = generate_gparam(weight.min(), weight.max()) if args.strategy == "tensor_group" else None
    scales, zeros = qparams(weight, args, g_idx, global_scale)
    small = args.type == "float" and args.num_bits == 4
    if not small:
        scales = scales.bfloat16().float()
    state["weight_scale"] = scales
    if not args.symmetric:
        state["weight_zero_point"] = zeros
    if global_scale is not None:
        state["weight_global_scale"] = global_scale
    packed = kind.compress(state, scheme)
    if small:
        widened = unpack_fp4_from_uint8(packed["weight_packed"], *shape, dtype=torch.float32)
        values = dequantize(widened, kind._decompress_scale(packed["weight_scale"], torch.float32),
                            global_scale=global_scale, dtype=torch.float32)
        require(torch.allclose(values, kind.decompress(packed, scheme)["weight"].float(), rtol=0.01),
                "compressed-tensors in BF16")
    elif args.strategy == "block":  # decompress() guesses the size of blocks, wrongly where the last ones are cut off
        values = dequantize(packed["weight"], scales, args=args)
    else:
        values = kind.decompress(packed, scheme)["weight"]
    require(values.dtype == torch.float32, "the type of compressed-tensors' values")
    require(numpy.allclose(values.numpy(), own_values(args, packed, shape), rtol=1e-5, atol=1e-9),
            f"compressed-tensors' {scheme.format}")
    packed.update({name: value.clone() for name, value in static.items()})
    if not small:
        packed["weight_scale"] = packed["weight_scale"].bfloat16()
    return packed, values.double().numpy()


def compressed(form, weights, inputs=None, shapes=((32, 64),), static=None):
    """A maker and the config of compressed-tensors' scheme, as llm-compressor saves it."""
    scheme = QuantizationScheme(targets=["Linear"], weights=QuantizationArgs(**weights), format=form,
                                input_activations=QuantizationArgs(**inputs) if inputs else None)

    def make(rng):
        return {name: compressed_matrix(rng, shape, scheme, static or {}) for name, shape in zip((UP, DOWN), shapes)}

    config = QuantizationConfig(config_groups={"group_0": scheme}, format=form, ignore=["lm_head"],
                                quantization_status="compressed").model_dump(mode="json")
    return make, config | {"sparsity_config": {}, "transform_config": {}, "version": compressed_tensors.__version__}


def fp8_block(rng):
    shape, block = (192, 160), (128, 128)
    weight = random_weight(rng, shape)
    weight[128:] *= 0.3
    weight[:, 128:] *= 5
    scales, scale_values = rounded(packing.largest(weight, block) / 448, torch.float32)
    scale_values = spread(scale_values, shape, block)
    data = packing.e4m3(weight / scale_values)
    return {UP: ({"weight": data, "weight_scale_inv": scales}, packing.from_e4m3(data) * scale_values)}


def fp8(scale_name, dtype, shape=(32, 64), rows=False, static=None):
    """One scale for a matrix, or for each of its rows."""
    def make(rng):
        weight = random_weight(rng, shape)
        size = numpy.abs(weight).max(1, keepdims=True) if rows else numpy.array(numpy.abs(weight).max())
        scale, scale_value = rounded(size / 448, dtype)
        data = packing.e4m3(weight / scale_value)
        values = packing.from_e4m3(data) * scale_value
        library = Fp8Dequantize(None)._dequantize_one(data, scale.float()).numpy()
        require(numpy.allclose(values, library, rtol=1e-6), "FP8 against transformers")
        return {UP: ({"weight": data, scale_name: scale} | (static or {}), values)}

    return make


def modelopt_nvfp4(rng):
    """The scale of 16 values is a byte times that of the matrix."""
    weight = random_weight(rng, (32, 64))
    second, second_value = rounded(numpy.array(numpy.abs(weight).max() / (6 * 448)), torch.float32)
    scales = packing.e4m3(packing.largest(weight, (1, 16)) / 6 / second_value)
    scale_values = (packing.from_e4m3(scales) * second_value).repeat(16, 1)
    codes = packing.nearest(numpy.abs(weight) / scale_values, packing.FP4[:8]) + 8 * (weight < 0)
    return {UP: ({"weight": torch.from_numpy(packing.pairs(codes)), "weight_scale": scales, "weight_scale_2": second,
                  "input_scale": torch.tensor(0.0037)}, packing.FP4[codes] * scale_values)}


def bnb_4bit(kind, table, shape, double):
    """Blocks of 64 values over the whole matrix; with `double`, their sizes less the mean are bytes of 256 values."""
    def make(rng):
        weight = random_weight(rng, shape)
        blocks = weight.reshape(-1, 64)
        sizes = numpy.abs(blocks).max(1).astype(numpy.float32)
        state = {"quant_type": kind, "blocksize": 64, "dtype": "bfloat16", "shape": list(shape)}
        more = {"weight.absmax": torch.from_numpy(sizes)}
        if double:
            offset = numpy.float32(sizes.mean(dtype=float))
            rest, size_map = sizes - offset, packing.dynamic_map()
            nested = numpy.array([numpy.abs(rest[i:i + 256]).max() for i in range(0, len(rest), 256)])
            bytes_of_sizes = packing.nearest(rest / nested.repeat(256)[:len(rest)], size_map).astype(numpy.uint8)
            sizes = size_map[bytes_of_sizes].astype(float) * nested.repeat(256)[:len(rest)] + offset
            more = {"weight.absmax": torch.from_numpy(bytes_of_sizes), "weight.nested_absmax": torch.from_numpy(nested),
                    "weight.nested_quant_map": torch.from_numpy(size_map)}
            state |= {"nested_blocksize": 256, "nested_dtype": "float32", "nested_offset": float(offset)}
        codes = packing.nearest(blocks / numpy.abs(blocks).max(1, keepdims=True), table)
        data = packing.pairs(codes, high_first=True).reshape(-1, 1)
        text = numpy.frombuffer(json.dumps(state).encode(), numpy.uint8).copy()
        tensors = {"weight": torch.from_numpy(data), "weight.quant_map": torch.from_numpy(table), **more,
                   f"weight.quant_state.bitsandbytes__{kind}": torch.from_numpy(text)}
        return {UP: (tensors, (table[codes].astype(float) * sizes.astype(float)[:, None]).reshape(shape))}

    return make


def bnb_int8(rng):
    weight = random_weight(rng, (32, 64))
    scb, sizes = rounded(numpy.abs(weight).max(1), torch.float32)
    codes = numpy.rint(weight * 127 / sizes[:, None]).astype(numpy.int8)
    return {UP: ({"weight": torch.from_numpy(codes), "SCB": scb, "weight_format": torch.tensor(0, dtype=torch.uint8)},
                 codes * sizes[:, None] / 127)}


def gptqmodel(version, **keys):
    """As GPTQModel writes it."""
    meta = {"damp_auto_increment": 0.01, "damp_percent": 0.05, "mse": 0.0, "quantizer": [f"gptqmodel:{version}"],
            "static_groups": False, "true_sequential": True, "uri": "https://github.com/modelcloud/gptqmodel"}
    return {"bits": 4, "checkpoint_format": "gptq", "desc_act": False, "group_size": 32, "lm_head": False,
            "meta": meta, "pack_dtype": "int32", "quant_method": "gptq", "sym": False} | keys


def bitsandbytes(**keys):
    four, eight = "bnb_4bit_quant_type" in keys, "bnb_4bit_quant_type" not in keys
    return {"_load_in_4bit": four, "_load_in_8bit": eight, "bnb_4bit_compute_dtype": "float32",
            "bnb_4bit_quant_storage": "uint8", "bnb_4bit_quant_type": "fp4", "bnb_4bit_use_double_quant": False,
            "llm_int8_enable_fp32_cpu_offload": False, "llm_int8_has_fp16_weight": False,
            "llm_int8_skip_modules": None, "llm_int8_threshold": 6.0, "load_in_4bit": four, "load_in_8bit": eight,
            "quant_method": "bitsandbytes"} | keys


def modelopt(algorithm, more):
    number = {"dynamic": False, "num_bits": 8 if algorithm == "FP8" else 4, "type": "float"} | more
    return {"config_groups": {"group_0": {"input_activations": number, "weights": number} | ALL_LINEAR},
            "ignore": ["lm_head"], "quant_algo": algorithm,
            "kv_cache_scheme": {"dynamic": False, "num_bits": 8, "type": "float"},
            "producer": {"name": "modelopt", "version": "0.37.0"}, "quant_method": "modelopt"}


def int_weights(bits, group=32, symmetric=True, **more):
    by_group = {"strategy": "group", "group_size": group} if group else {"strategy": "channel"}
    return {"num_bits": bits, "type": "int", "symmetric": symmetric, "observer": "minmax"} | by_group | more


FP8 = {"num_bits": 8, "type": "float"}
BF16_SCALE = torch.tensor(0.0117, dtype=torch.bfloat16)
BY_TOKEN = {"strategy": "token", "dynamic": True}
NV = {"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16,
      "scale_dtype": torch.float8_e4m3fn}
MX = {"num_bits": 4, "type": "float", "strategy": "group", "group_size": 32, "scale_dtype": torch.uint8}

AUTOGPTQ = {"bits": 4, "group_size": 32, "damp_percent": 0.1, "desc_act": False, "static_groups": False, "sym": True,
            "true_sequential": True, "model_name_or_path": None, "model_file_base_name": "model",
            "quant_method": "gptq"}
OPTIMUM = {"batch_size": 1, "bits": 8, "block_name_to_quantize": None, "cache_block_outputs": True,
           "damp_percent": 0.01, "dataset": None, "desc_act": False, "exllama_config": {"version": 1},
           "group_size": -1, "max_input_length": None, "model_seqlen": None,
           "module_name_preceding_first_block": None, "modules_in_block_to_quantize": None, "pad_token_id": None,
           "quant_method": "gptq", "sym": True, "tokenizer": None, "true_sequential": True, "use_cuda_fp16": False,
           "use_exllama": True}

CASES = {
    "gptq_4": (gptq(4, 32, True), AUTOGPTQ),
    "gptq_4_v2": (gptq(4, 32, False, less=0), gptqmodel("2.2.0", checkpoint_format="gptq_v2")),
    "gptq_4_zeros": (gptq(4, 32, True, less=0), gptqmodel("5.6.0", sym=True)),
    "gptq_4_order": (gptq(4, 32, False, ordered=True), gptqmodel("2.2.0", desc_act=True)),
    "gptq_3": (gptq(3, 32, False), gptqmodel("2.2.0", bits=3)),
    "gptq_2": (gptq(2, 32, False), gptqmodel("2.2.0", bits=2)),
    "gptq_8": (gptq(8, -1, True), OPTIMUM),
    "gptq_8_asym": (gptq(8, 32, False), AUTOGPTQ | {"bits": 8, "sym": False}),
    "awq_4": (awq, {"bits": 4, "group_size": 32, "modules_to_not_convert": None, "quant_method": "awq",
                    "version": "gemm", "zero_point": True}),
    "ct_pack_4": compressed("pack-quantized", int_weights(4)),
    "ct_pack_4_asym": compressed("pack-quantized", int_weights(4, symmetric=False)),
    "ct_pack_4_order": compressed("pack-quantized", int_weights(4, actorder="group")),
    "ct_pack_8": compressed("pack-quantized", int_weights(8, None)),
    "ct_pack_3": compressed("pack-quantized", int_weights(3)),
    "ct_int_8": compressed("int-quantized", int_weights(8, None), {"num_bits": 8, "type": "int"} | BY_TOKEN),
    "ct_fp8_channel": compressed("float-quantized", FP8 | {"strategy": "channel"}, FP8 | BY_TOKEN),
    "ct_fp8_tensor": compressed("float-quantized", FP8 | {"strategy": "tensor"}, FP8 | {"strategy": "tensor"},
                                static={"input_scale": BF16_SCALE.reshape(1)}),
    "ct_fp8_block": compressed("float-quantized", FP8 | {"strategy": "block", "block_structure": [16, 32]},
                               FP8 | {"strategy": "group", "group_size": 32, "dynamic": True}, ((48, 64), (40, 64))),
    "ct_nvfp4": compressed("nvfp4-pack-quantized", NV, NV | {"dynamic": "local"},
                           static={"input_global_scale": torch.tensor([372.5])}),
    "ct_mxfp4": compressed("mxfp4-pack-quantized", MX),
    "fp8_block": (fp8_block, {"activation_scheme": "dynamic", "fmt": "e4m3", "modules_to_not_convert": ["lm_head"],
                              "quant_method": "fp8", "weight_block_size": [128, 128]}),
    "fp8_tensor": (fp8("weight_scale_inv", torch.bfloat16, static={"activation_scale": BF16_SCALE}),
                   {"activation_scheme": "static", "dequantize": False,
                    "modules_to_not_convert": ["model.vision_tower", "model.multi_modal_projector", "lm_head"],
                    "quant_method": "fp8", "weight_block_size": None}),
    "fbgemm_fp8": (fp8("weight_scale", torch.float32, rows=True),
                   {"activation_scale_ub": 1200.0, "modules_to_not_convert": ["lm_head"],
                    "quant_method": "fbgemm_fp8"}),
    "bnb_nf4": (bnb_4bit("nf4", packing.NF4, (192, 96), True),
                bitsandbytes(bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True,
                             bnb_4bit_compute_dtype="bfloat16")),
    "bnb_fp4": (bnb_4bit("fp4", packing.BNB_FP4, (32, 96), False), bitsandbytes(bnb_4bit_quant_type="fp4")),
    "bnb_int8": (bnb_int8, bitsandbytes()),
    "mlx_4": (mlx(4, torch.float16, embedding=True), {"group_size": 32, "bits": 4, "mode": "affine"}),
    "mlx_8": (mlx(8, torch.bfloat16), {"group_size": 32, "bits": 8}),
    "mlx_3": (mlx(3, torch.float16), {"group_size": 32, "bits": 3}),
    "mlx_6": (mlx(6, torch.bfloat16), {"group_size": 32, "bits": 6, "mode": "affine"}),
    "modelopt_fp8": (fp8("weight_scale", torch.float32, static={"input_scale": torch.tensor(0.0117)}),
                     modelopt("FP8", {})),
    "modelopt_nvfp4": (modelopt_nvfp4, modelopt("NVFP4", {"group_size": 16})),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(CASES))
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(CASES):
        parser.error(f"no case {', '.join(sorted(unknown))}")
    torch.set_num_threads(1)
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or CASES:
        make, config = CASES[name]
        rng = numpy.random.default_rng(zlib.crc32(name.encode()))
        tensors = {"model.norm.weight": torch.from_numpy(1 + 0.1 * rng.standard_normal(64)).float()}
        for matrix, (stored, values) in make(rng).items():
            tensors |= {f"{matrix}.{key}": tensor for key, tensor in stored.items()}
            tensors[f"expected.{matrix}.weight"] = torch.from_numpy(values).float()
        path = arguments.out / f"{name}.safetensors"
        write(path, tensors, {"format": "pt", "quantization_config": json.dumps(config)})
        print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
