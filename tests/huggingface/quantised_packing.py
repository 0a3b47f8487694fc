"""Packs whole numbers and small floats as files of quantised weights have them, and reads them back another way."""

import json

import numpy
import torch

TYPES = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.float8_e4m3fn: "F8_E4M3",
         torch.int64: "I64", torch.int32: "I32", torch.uint32: "U32", torch.int8: "I8", torch.uint8: "U8"}
FP4 = numpy.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
AWQ_COLUMNS = [0, 2, 4, 6, 1, 3, 5, 7]
NF4 = numpy.array([-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635,
                   -0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725,
                   0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941,
                   0.7229568362236023, 1.0], numpy.float32)
BNB_FP4 = (numpy.array([0, 0.0625, 8, 12, 4, 6, 2, 3, -0.0, -0.0625, -8, -12, -4, -6, -2, -3]) / 12).astype("f4")


def require(holds, what):
    if not holds:
        raise ValueError(f"self-check: {what}")


def stream(codes, bits):
    """Each row a stream of bits, the lowest first, over words of 32 bits."""
    spread = codes.astype(numpy.uint8)[..., None] >> numpy.arange(bits, dtype=numpy.uint8) & 1
    data = numpy.packbits(spread.reshape(len(codes), -1).astype(numpy.uint8), axis=1, bitorder="little")
    words = numpy.ascontiguousarray(data).view("<u4")
    require(numpy.array_equal(from_stream(words, bits), codes), f"a stream of {bits} bits")
    return words


def from_stream(words, bits):
    """The codes back, each row taken as one large whole number."""
    rows = []
    for row in words:
        number = int.from_bytes(numpy.ascontiguousarray(row).tobytes(), "little")
        rows.append([number >> bits * i & (1 << bits) - 1 for i in range(row.size * 32 // bits)])
    return numpy.array(rows)


def three_bits(words):
    """GPTQ's own words for 32 codes of three bits: 10 and a part, a part and 10 and a part, a part and 10."""
    first, second, third = (words[:, part::3].astype(numpy.int64) for part in range(3))
    codes = [first >> 3 * i & 7 for i in range(10)] + [first >> 30 | (second & 1) << 2]
    codes += [second >> 3 * i + 1 & 7 for i in range(10)] + [second >> 31 | (third & 3) << 1]
    codes += [third >> 3 * i + 2 & 7 for i in range(10)]
    return numpy.stack(codes, axis=-1).reshape(len(words), -1)


def awq(codes):
    """Eight columns a word, the even ones in its low half."""
    groups = codes.reshape(len(codes), -1, 8)
    words = numpy.zeros(groups.shape[:2], numpy.uint32)
    for place, column in enumerate(AWQ_COLUMNS):
        words |= groups[..., column].astype(numpy.uint32) << numpy.uint32(4 * place)
    require(numpy.array_equal(from_awq(words), codes), "the order of AWQ's columns")
    return words


def from_awq(words):
    """The codes back: column c lies c // 2 places up, and four more if it is odd."""
    columns = [words >> numpy.uint32(4 * (c // 2 + 4 * (c % 2))) & 15 for c in range(8)]
    return numpy.stack(columns, axis=-1).reshape(len(words), -1)


def pairs(codes, high_first=False):
    """Two codes of four bits a byte."""
    first, second = codes[..., 0::2].astype(numpy.uint8), codes[..., 1::2].astype(numpy.uint8)
    data = first << 4 | second if high_first else second << 4 | first
    require(numpy.array_equal(from_pairs(data, high_first), codes), "pairs of codes")
    return data


def from_pairs(data, high_first=False):
    """The codes back from the digits of the bytes, of which the first is the high one."""
    digits = [[int(digit, 16) for digit in bytes(row).hex()] for row in data.reshape(-1, data.shape[-1])]
    codes = numpy.array(digits).reshape(*data.shape, 2)
    return (codes if high_first else codes[..., ::-1]).reshape(*data.shape[:-1], -1)


def nearest(values, table):
    """The place in `table` of what is nearest to each value; the first of equals."""
    return numpy.abs(numpy.asarray(values, float)[..., None] - table.astype(float)).argmin(-1)


def from_e4m3(tensor):
    """The values of E4M3's bytes: sign, four bits of exponent about 7, three bits of fraction; no infinities."""
    data = tensor.view(torch.uint8).numpy().astype(int)
    exponent, fraction = data >> 3 & 15, data & 7
    size = numpy.where(exponent, (8 + fraction) * 2.0 ** (exponent - 10), fraction * 2.0 ** -9)
    values = numpy.where(data & 128, -size, size)
    require(numpy.array_equal(values, tensor.double().numpy()), "E4M3")
    return values


def e4m3(values):
    return torch.from_numpy(numpy.clip(values, -448, 448)).float().to(torch.float8_e4m3fn)


def dynamic_map():
    """bitsandbytes' 256 values of eight bits: seven decades, each cut into twice as many parts as the last one."""
    values = [0.0, 1.0]
    for decade in range(7):
        edges = numpy.linspace(0.1, 1, 2 ** decade + 1)
        middles = (edges[:-1] + edges[1:]) / 2 * 10.0 ** (decade - 6)
        values += [*middles, *-middles]
    return numpy.array(sorted(values), numpy.float32)


def rounded(values, dtype):
    """As a tensor of that type, and what it holds as float64."""
    tensor = torch.from_numpy(numpy.array(values, order="C")).to(dtype)
    return tensor, tensor.double().numpy()


def spread(scales, shape, block):
    """One scale for each value, of scales that count for blocks of rows and columns."""
    return scales.repeat(block[0], 0).repeat(block[1], 1)[:shape[0], :shape[1]]


def largest(weight, block):
    """The largest size in each block, the last ones of which may be cut off."""
    padded = numpy.pad(numpy.abs(weight), [(0, -size % part) for size, part in zip(weight.shape, block)])
    rows, columns = (size // part for size, part in zip(padded.shape, block))
    return padded.reshape(rows, block[0], columns, block[1]).max((1, 3))


def random_weight(rng, shape, groups=None):
    """Rows of very different size, in no order; with `groups`, these many parts of each row are moved up or down."""
    sizes = rng.permutation(2.0 ** numpy.linspace(-3, 3, shape[0]))[:, None]
    weight = rng.standard_normal(shape)
    if groups:
        weight += rng.uniform(-2.5, 2.5, (shape[0], groups)).repeat(shape[1] // groups, 1)
    return 0.05 * sizes * weight


def reach(weight, group):
    """Lowest and highest values of each row's groups, with zero between them: [groups, out]."""
    parts = weight.reshape(len(weight), -1, group)
    return numpy.minimum(parts.min(2), 0).T, numpy.maximum(parts.max(2), 0).T


def affine(weight, g_idx, group, bits, symmetric, zeros_from):
    """Codes [out, in], zeros [groups, out], scales [groups, out] in F16 and the values of these."""
    most = 2 ** bits - 1
    low, high = reach(weight[:, numpy.argsort(g_idx, kind="stable")], group)
    if symmetric:
        high = numpy.maximum(-low, high)
        low = -high
    stored, scales = rounded((high - low) / most, torch.float16)
    zeros = numpy.full(scales.shape, (most + 1) // 2)
    if not symmetric:
        zeros = numpy.clip(numpy.rint(-low / scales), zeros_from, most).astype(int)
    codes = numpy.clip(numpy.rint(weight / scales[g_idx].T) + zeros[g_idx].T, 0, most).astype(int)
    return codes, zeros, stored, (codes - zeros[g_idx].T) * scales[g_idx].T


def write(path, tensors, metadata):
    """As safetensors lays a file out, wide types first; its header is always in the same order."""
    header, parts, place = {"__metadata__": metadata}, [], 0
    for name, tensor in sorted(tensors.items(), key=lambda item: (-item[1].element_size(), item[0])):
        data = tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
        header[name] = {"dtype": TYPES[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [place, place + len(data)]}
        parts.append(data)
        place += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(parts))
