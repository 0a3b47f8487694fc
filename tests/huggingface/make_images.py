#!/usr/bin/env python3
"""Records what PIL reads of small files of pictures, and how it makes pictures larger and smaller, and what transformers'
image processors make of one.

  make_images.py --out FILE

For each file the result has `files.NAME`, its bytes, and `read.NAME` [height, width, 3], what PIL's convert("RGB") makes of
it behind exif_transpose; for each filter and size `resized.FILTER.WIDTHxHEIGHT`, made of `picture`. All are U8. `prepared.NAME` [3, height, width] (F32)
is made of `picture` by a processor whose settings are in the file's metadata as NAME, in the form of preprocessor_config.json.
"""

import argparse
import io
import json
import pathlib
import struct
import zlib

import numpy
from PIL import Image, ImageOps
from transformers import (BitImageProcessorPil, CLIPImageProcessorPil, DeiTImageProcessorPil, SiglipImageProcessorPil,
                          ViTImageProcessorPil)

FILTERS = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "box": 4, "hamming": 5}
SIZES = [(11, 13), (45, 29), (7, 40), (37, 9), (53, 23)]
PROCESSORS = {
    "vit": (ViTImageProcessorPil, {"image_processor_type": "ViTImageProcessor", "size": {"height": 9, "width": 12}}),
    "deit": (DeiTImageProcessorPil, {"feature_extractor_type": "DeiTFeatureExtractor", "size": {"height": 14, "width": 14},
                                     "crop_size": {"height": 11, "width": 12}}),
    "clip": (CLIPImageProcessorPil, {"image_processor_type": "CLIPImageProcessor", "size": {"shortest_edge": 14},
                                     "crop_size": {"height": 12, "width": 12}}),
    "clip.black": (CLIPImageProcessorPil, {"image_processor_type": "CLIPImageProcessorFast", "size": {"shortest_edge": 7},
                                           "crop_size": {"height": 10, "width": 15}}),
    "siglip": (SiglipImageProcessorPil, {"image_processor_type": "SiglipImageProcessor", "size": {"height": 12, "width": 12},
                                         "rescale_factor": 0.00784313725490196, "image_mean": [1, 1.5, 0.25]}),
    "bit": (BitImageProcessorPil, {"image_processor_type": "BitImageProcessor", "size": {"shortest_edge": 16},
                                   "crop_size": {"height": 14, "width": 13}, "image_mean": [0.485, 0.456, 0.406],
                                   "image_std": [0.229, 0.224, 0.225], "resample": 2}),
    "plain": (ViTImageProcessorPil, {"image_processor_type": "ViTImageProcessor", "size": {"height": 6, "width": 6},
                                     "resample": 0, "do_rescale": False, "do_normalize": False}),
}


def picture(width, height):
    """Gradients with noise: a linear congruential generator modulo 2^32."""
    state, values = 1, numpy.zeros((height, width, 3), numpy.uint8)
    for y in range(height):
        for x in range(width):
            for channel, base in enumerate((255 * x // width, 255 * y // height, 255 * (x + y) // (width + height))):
                state = (state * 1664525 + 1013904223) % 2 ** 32
                values[y, x, channel] = min(255, max(0, base + (state >> 24) % 64 - 32))
    return Image.fromarray(values)


def saved(image, kind, **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def taken(orientation):
    exif = Image.Exif()
    exif[271], exif[274] = "a camera", orientation
    return exif.tobytes()


def png(width, height, depth, colours, rows):
    """PIL writes no 16-bit colours."""
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    header = struct.pack(">IIBBBBB", width, height, depth, colours, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"".join(b"\0" + row for row in rows))) +
            chunk(b"IEND", b""))


def files():
    image = picture(19, 13)
    small = picture(8, 5)
    alpha = image.copy()
    alpha.putalpha(image.convert("L").point(lambda value: 255 if value > 128 else value))
    yield "jpeg", saved(image, "JPEG")
    yield "jpeg.444", saved(image, "JPEG", subsampling=0, quality=95)
    yield "jpeg.progressive", saved(image, "JPEG", progressive=True)
    yield "jpeg.grey", saved(image.convert("L"), "JPEG")
    yield "jpeg.cmyk", saved(image.convert("CMYK"), "JPEG")
    for orientation in range(1, 9):
        yield f"jpeg.orientation.{orientation}", saved(small, "JPEG", exif=taken(orientation), optimize=True)
    yield "png", saved(image, "PNG")
    yield "png.alpha", saved(alpha, "PNG")
    yield "png.grey", saved(image.convert("L"), "PNG")
    yield "png.grey.alpha", saved(alpha.convert("LA"), "PNG")
    yield "png.black.white", saved(image.convert("1"), "PNG")
    yield "png.palette", saved(image.quantize(16), "PNG", transparency=3)
    yield "png.palette.256", saved(image.quantize(200), "PNG")
    yield "png.orientation", saved(small, "PNG", exif=taken(8))
    yield "png.16", png(3, 2, 16, 2, [bytes((41 * i + 7 * row) % 256 for i in range(18)) for row in range(2)])
    yield "png.16.alpha", png(2, 2, 16, 6, [bytes((53 * i + 9 * row) % 256 for i in range(16)) for row in range(2)])
    yield "webp", saved(image, "WEBP")
    yield "webp.lossless", saved(image, "WEBP", lossless=True)
    yield "webp.alpha", saved(alpha, "WEBP", lossless=True, exact=True)
    yield "webp.lossy.alpha", saved(alpha, "WEBP", quality=70)
    yield "webp.orientation", saved(small, "WEBP", lossless=True, exif=taken(6))
    yield "webp.animation", saved(image, "WEBP", save_all=True, append_images=[ImageOps.invert(image)], lossless=True)


def compute():
    for name, data in files():
        read = ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB")
        yield f"files.{name}", numpy.frombuffer(data, numpy.uint8)
        yield f"read.{name}", numpy.array(read)
    image = picture(37, 23)
    yield "picture", numpy.array(image)
    for name, number in FILTERS.items():
        for width, height in SIZES:
            yield f"resized.{name}.{width}x{height}", numpy.array(image.resize((width, height), number))
    for name, (processor, settings) in PROCESSORS.items():
        values = processor(**settings)(image, return_tensors="np")["pixel_values"][0]
        yield f"prepared.{name}", numpy.ascontiguousarray(values, numpy.float32)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    header = {"__metadata__": {name: json.dumps(settings) for name, (_, settings) in PROCESSORS.items()}}
    data = b""
    out = parser.parse_args().out
    for name, tensor in compute():
        header[name] = {"dtype": {"uint8": "U8", "float32": "F32"}[tensor.dtype.name], "shape": tensor.shape,
                        "data_offsets": [len(data), len(data) + tensor.nbytes]}
        data += tensor.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    out.write_bytes(struct.pack("<Q", len(text)) + text + data)


if __name__ == "__main__":
    main()
