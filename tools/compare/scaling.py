#!/usr/bin/env python3
"""How the time of a training step grows with context, width and batch, beside its operations and bytes.

    scaling.py [--vkformer build/release/vkformer] [--plot docs/scaling.svg] [--rounds N]
    scaling.py --drawn docs/benchmarks.md --device NAME       draws the table of a page again, measuring nothing

Measures every point in each of N rounds (default 1) and keeps its best, since other tenants of a machine come and go.
Prints a table in Markdown and draws it. The lines are the operations of the step at the rate of the
largest point, so points on them mean that cost grows as it must. Operations of one step, counted from the shapes: 6 for
every token and weight of a matrix product, and for attention 14 T C a token and layer, halved by the causal mask (two
products forward, five backward, 2 operations each). Bytes: parameters, gradients and AdamW's moments once each way.
"""
import argparse
import json
import math
import subprocess

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
    parser.add_argument("--drawn", help="page with the table that this printed")
    parser.add_argument("--device", help="with --drawn: what it was measured on")
    args = parser.parse_args()
    series = {"context T (width 128, B 1)": ("context", [Point(128, t, 1) for t in (128, 256, 512, 1024, 2048)]),
              "width C (T 128, B 4)": ("width", [Point(c, 128, 4) for c in (64, 128, 256, 512)]),
              "batch B (width 128, T 128)": ("batch", [Point(128, 128, b) for b in (1, 2, 4, 8, 16)])}
    if args.drawn:
        rows = read_table(args.drawn)
        for title, (_, points) in series.items():
            for point in points:
                point.seconds = rows[title.split(" (")[0], point.width, point.context, point.batch]
        return plot(series, args.plot, args.device)
    for _ in range(args.rounds):
        for _, points in series.values():
            for point in points:
                point.measure(args.vkformer)
    print("| step of 4 layers | C | T | B | GFLOP | MB of state | ms | GFLOP/s |\n|---|---|---|---|---|---|---|---|")
    for title, (_, points) in series.items():
        for point in points:
            print(f"| {title.split(' (')[0]} | {point.width} | {point.context} | {point.batch} | {point.flops * 1e-9:.2f} | "
                  f"{point.bytes * 1e-6:.1f} | {point.seconds * 1e3:.1f} | {point.flops * 1e-9 / point.seconds:.1f} |")
    plot(series, args.plot, points[-1].device)


def read_table(page):
    """Seconds by series, width, context and batch."""
    rows = {}
    with open(page, encoding="utf-8") as lines:
        for line in lines:
            cells = [cell.strip() for cell in line.strip("|\n ").split("|")]
            if len(cells) == 8 and cells[1].isdigit():
                rows[cells[0], int(cells[1]), int(cells[2]), int(cells[3])] = float(cells[6]) / 1e3
    return rows


def plot(series, path, device):
    """Both axes are logarithmic; a panel a series, and the same times on all of them."""
    width, height, left, top, side, gap = 1000, 400, 64, 78, 250, 62
    low, high = 10, 2000

    def text(x, y, words, **style):
        attributes = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in style.items())
        return f'<text x="{x:.0f}" y="{y:.0f}"{attributes}>{words}</text>'

    def line(points, **style):
        attributes = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in style.items())
        return f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}" fill="none"{attributes}/>'

    svg = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="white"/>',
           text(left, 26, "How the time of a training step grows", font_size=16, font_weight="bold"),
           text(left, 46, f"4 layers, {device}; ms a step. Dashed: the step's operations at the rate of the last point",
                fill="#555"),
           text(18, top + side / 2, "ms a step", text_anchor="middle", transform=f"rotate(-90 18 {top + side / 2:.0f})")]

    def y_of(seconds):
        return top + side * (1 - math.log(1e3 * seconds / low) / math.log(high / low))

    for number, (title, (key, points)) in enumerate(series.items()):
        begin = left + number * (side + gap)
        first, last = getattr(points[0], key), getattr(points[-1], key)

        def x_of(value):
            return begin + 16 + (side - 32) * math.log(value / first) / math.log(last / first)

        for ms in (10, 20, 50, 100, 200, 500, 1000, 2000):
            svg.append(line([(begin, y_of(ms / 1e3)), (begin + side, y_of(ms / 1e3))], stroke="#ddd"))
            svg.append(text(begin - 6, y_of(ms / 1e3) + 4, ms, text_anchor="end"))
        xs = [x_of(getattr(point, key)) for point in points]
        rate = points[-1].flops / points[-1].seconds
        svg.append(line([(x, y_of(max(point.flops / rate, low / 1e3))) for x, point in zip(xs, points)], stroke="#888",
                        stroke_dasharray="5 4"))
        svg.append(line([(x, y_of(point.seconds)) for x, point in zip(xs, points)], stroke="#1f77b4", stroke_width=2))
        for x, point in zip(xs, points):
            svg.append(f'<circle cx="{x:.1f}" cy="{y_of(point.seconds):.1f}" r="4" fill="#1f77b4"/>')
            svg.append(text(x, y_of(point.seconds) - 9, f"{1e3 * point.seconds:.0f}", text_anchor="middle", fill="#1f77b4"))
            svg.append(text(x, top + side + 18, getattr(point, key), text_anchor="middle"))
        svg.append(text(begin + side / 2, top - 10, title, text_anchor="middle", font_weight="bold"))
        svg.append(text(begin + side / 2, top + side + 38, key, text_anchor="middle"))
        svg.append(text(begin + side - 6, top + side - 10, f"dashed: {rate * 1e-9:.0f} GFLOP/s", text_anchor="end",
                        fill="#666"))
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([*svg, "</svg>\n"]))


if __name__ == "__main__":
    main()
