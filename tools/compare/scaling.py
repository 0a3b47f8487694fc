#!/usr/bin/env python3
"""How the time of a training step grows with context, width and batch, beside its operations and bytes.

    scaling.py [--vkformer build/release/vkformer] [--plot docs/scaling.svg] [--rounds N]

Measures every point in each of N rounds (default 1) and keeps its best, since other tenants of a machine come and go.
Prints a table in Markdown and draws it (python3-matplotlib). The lines are the operations of the step at the rate of the
largest point, so points on them mean that cost grows as it must. Operations of one step, counted from the shapes: 6 for
every token and weight of a matrix product, and for attention 14 T C a token and layer, halved by the causal mask (two
products forward, five backward, 2 operations each). Bytes: parameters, gradients and AdamW's moments once each way.
"""
import argparse
import json
import math
import subprocess

import matplotlib

LAYERS, VOCABULARY = 4, 65


class Point:
    def __init__(self, width, context, batch):
        self.width, self.context, self.batch = width, context, batch
        weights = 12 * LAYERS * width * width + VOCABULARY * width
        tokens = batch * context
        self.flops = tokens * (6 * weights + LAYERS * 14 * context * width / 2)
        self.seconds = math.inf

    def measure(self, vkformer):
        shape = f"{LAYERS}x{self.width}x{max(1, self.width // 32)}:{VOCABULARY}:{self.context}"
        rows = json.loads(subprocess.run(
            [vkformer, "bench", "-q", "-o", "json", "-m", shape, "-p", "0", "-n", "0", "-b", str(self.batch), "-r", "5"],
            check=True, capture_output=True, text=True).stdout)
        step = next(row for row in rows if row["test"].startswith("train step"))
        self.seconds = min(self.seconds, step["best_seconds"])
        self.bytes, self.device = 4 * 7 * step["parameters"], step["device"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vkformer", default="build/release/vkformer")
    parser.add_argument("--plot", default="docs/scaling.svg")
    parser.add_argument("--rounds", type=int, default=1)
    args = parser.parse_args()
    series = {"context T (width 128, B 1)": ("context", [Point(128, t, 1) for t in (128, 256, 512, 1024, 2048)]),
              "width C (T 128, B 4)": ("width", [Point(c, 128, 4) for c in (64, 128, 256, 512)]),
              "batch B (width 128, T 128)": ("batch", [Point(128, 128, b) for b in (1, 2, 4, 8, 16)])}
    for _ in range(args.rounds):
        for _, points in series.values():
            for point in points:
                point.measure(args.vkformer)
    print("| step of 4 layers | C | T | B | GFLOP | MB of state | ms | GFLOP/s |\n|---|---|---|---|---|---|---|---|")
    for title, (_, points) in series.items():
        for point in points:
            print(f"| {title.split(' (')[0]} | {point.width} | {point.context} | {point.batch} | {point.flops * 1e-9:.2f} | "
                  f"{point.bytes * 1e-6:.1f} | {point.seconds * 1e3:.1f} | {point.flops * 1e-9 / point.seconds:.1f} |")
    plot(series, args.plot)


def plot(series, path):
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "vkformer"  # the same file for the same figures
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(1, len(series), figsize=(12, 3.6))
    for axis, (title, (key, points)) in zip(axes, series.items()):
        x = [getattr(point, key) for point in points]
        rate = points[-1].flops / points[-1].seconds
        axis.loglog(x, [1e3 * point.flops / rate for point in points], "-", color="gray", label="operations / rate")
        axis.loglog(x, [1e3 * point.seconds for point in points], "o", label="measured")
        axis.set(title=title, xlabel=key, ylabel="ms a step", xticks=x, xticklabels=x)
        axis.minorticks_off()
        axis.legend()
    figure.suptitle(f"training step, 4 layers, {points[-1].device}")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()
