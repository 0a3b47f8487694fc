#!/usr/bin/env python3
"""Records what transformers' WhisperFeatureExtractor makes of audio that a formula makes, for 80 and 128 mel filters.

  make_log_mel.py --out FILE        writes it
  make_log_mel.py --check FILE      fails if recorded numbers differ from those it computes

For each signal the file has `SIGNAL.frames`, the frames that are recorded, and for each number of filters M two tensors
[frames, M] of them: `SIGNAL.M.numpy`, which is computed in double, and `SIGNAL.M.torch`, in float32, which is what the class
gives where PyTorch is. The signals are made again in tests/audio_test.cpp.
"""

import argparse
import pathlib
import sys

import numpy
from safetensors.numpy import load_file, save_file
from transformers import WhisperFeatureExtractor

RATE = 16000
FRAMES = {"chirp": [0, 1, 2, 40, 100, 150, 198, 199, 200, 201, 202, 2999], "whole": [0, 1, 1500, 2997, 2998, 2999]}


def noise(count):
    """In [-1, 1): a linear congruential generator modulo 2^32."""
    state, values = 1, numpy.empty(count)
    for i in range(count):
        state = (state * 1664525 + 1013904223) % 2 ** 32
        values[i] = state / 2 ** 31 - 1
    return values


def signals():
    """Two seconds of a tone from 100 to 7000 Hz with noise, and a whole window of a tone that becomes louder."""
    t = numpy.arange(2 * RATE) / RATE
    yield "chirp", 0.5 * numpy.sin(2 * numpy.pi * (100 * t + 1725 * t * t)) + 0.01 * noise(t.size)
    t = numpy.arange(30 * RATE) / RATE
    yield "whole", 0.3 * numpy.sin(2 * numpy.pi * 440 * t) * (t / 30) + 0.02 * noise(t.size)


def compute():
    tensors = {}
    for name, samples in signals():
        samples = samples.astype(numpy.float32)
        tensors[f"{name}.frames"] = numpy.array(FRAMES[name], numpy.int32)
        for mels in 80, 128:
            extractor = WhisperFeatureExtractor(feature_size=mels)
            given = extractor(samples, sampling_rate=RATE, return_tensors="np").input_features
            window = numpy.pad(samples, (0, extractor.n_samples - samples.size))
            wide = extractor._np_extract_fbank_features(window[None], "cpu")
            for kind, features in ("torch", given), ("numpy", wide):
                rows = features[0].T[FRAMES[name]]
                tensors[f"{name}.{mels}.{kind}"] = numpy.ascontiguousarray(rows, numpy.float32)
    return tensors


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--out", type=pathlib.Path)
    what.add_argument("--check", type=pathlib.Path)
    arguments = parser.parse_args()
    tensors = compute()
    for name, values in tensors.items():
        if name.endswith(".numpy"):
            other = tensors[name.replace("numpy", "torch")]
            print(f"{name}: float32 is up to {abs(values - other).max():.1e} away")
    if arguments.out:
        save_file(tensors, arguments.out)
        print(f"{arguments.out}: {arguments.out.stat().st_size} bytes")
        return
    recorded = load_file(arguments.check)
    if recorded.keys() != tensors.keys():
        sys.exit(f"{arguments.check}: it has other tensors")
    for name, values in tensors.items():
        # Sums in float32 depend on the machine.
        limit = 2e-4 if name.endswith(".torch") else 1e-6
        if (worst := abs(values - recorded[name]).max()) > limit:
            sys.exit(f"{arguments.check}: {name} differs by {worst:.1e}")


if __name__ == "__main__":
    main()
