#!/usr/bin/env python3
"""Runs the same work in vkformer and its peers, in turns, and prints the best of each; see tools/compare/run."""
import argparse
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
BACKEND_OPS = "/usr/libexec/x86_64-linux-gnu/llama.cpp-tests/test-backend-ops"
LLAMA = {"model_type": "llama", "vocab_size": 32000, "hidden_size": 768, "intermediate_size": 2048,
         "num_hidden_layers": 12, "num_attention_heads": 12, "num_key_value_heads": 12,
         "max_position_embeddings": 2048}
# A GPU is refused by none of these; on a CPU device matrix cores and f16 arithmetic are slow.
GGML_MODES = {"default": {}, "no coopmat": {"GGML_VK_DISABLE_COOPMAT": "1"},
              "no coopmat, no f16": {"GGML_VK_DISABLE_COOPMAT": "1", "GGML_VK_DISABLE_F16": "1"}}
THREADS = str(os.cpu_count())


def output(command, **variables):
    result = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        print(f"{' '.join(command)}: status {result.returncode}\n{result.stderr[-2000:]}", file=sys.stderr)
    return result.stdout


class Vkformer:
    name = "vkformer"

    def __init__(self, binary):
        self.binary = binary

    def model(self, rows, *flags):
        for row in json.loads(output([self.binary, "bench", "-q", "-o", "json", *flags]) or "[]"):
            rows[row["test"]] = row["best_seconds"], row["tokens_per_second"]
        return rows

    def matmul(self, m, n, k, layout, dtype="f32"):
        a = f"{k}x{m}" if layout[0] == "t" else f"{m}x{k}"
        b = (f"{n}x{k}" if layout[1] == "t" else f"{k}x{n}") + ("" if dtype == "f32" else f":{dtype}")
        flags = [f"--attr=transpose_{x}={int(layout[i] == 't')}" for i, x in enumerate("ab")]
        text = output([self.binary, "bench", "-q", "-r", "10", "--op", "matmul", "--candidate", "first", "--input", a,
                       "--input", b, *flags])
        rates = [float(line.split()[3]) for line in text.splitlines()[1:2]]
        return rates[0] if rates else None


def llama_bench(gguf, cpu, mode):
    flags = ["-dev", "none", "-ngl", "0"] if cpu else ["-ngl", "99"]
    text = output(["llama-bench", "-m", gguf, "-p", "128", "-n", "16", "-r", "1", "-t", THREADS, "-o", "json", *flags],
                  GGML_VK_VISIBLE_DEVICES="0", **GGML_MODES[mode])
    rows = json.loads(text[text.find("["):]) if "[" in text else []
    return {"prompt" if row["n_prompt"] else "decode": row["avg_ts"] for row in rows}


def ggml_matmul(mode):
    text = output([BACKEND_OPS, "perf", "-o", "MUL_MAT", "-b", "Vulkan0", "-p",
                   "type_a=f16,type_b=f32,m=4096,n=512,k=14336,bs=.1,1."], GGML_VK_VISIBLE_DEVICES="0",
                  **GGML_MODES[mode])
    found = re.search(r"([0-9.]+) ([GTM])FLOPS", re.sub(r"\x1b\[[0-9;]*m", "", text))
    return float(found[1]) * {"M": 1e-3, "G": 1, "T": 1e3}[found[2]] if found else None


def pytorch(*flags):
    text = output([sys.executable, os.path.join(HERE, "pytorch_bench.py"), "--repetitions", "3", *flags],
                  OMP_NUM_THREADS=THREADS)
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


class Best:
    """The best value of each contestant for each row of the table."""

    def __init__(self):
        self.rows = {}

    def add(self, row, contestant, value, smaller=False):
        if value is None:
            return
        values = self.rows.setdefault(row, {})
        known = values.get(contestant)
        values[contestant] = value if known is None else (min if smaller else max)(known, value)

    def table(self, contestants):
        lines = ["| work | " + " | ".join(contestants) + " |", "|---" * (len(contestants) + 1) + "|"]
        for row, values in self.rows.items():
            cells = [f"{values[c]:.4g}" if c in values else "" for c in contestants]
            lines.append(f"| {row} | " + " | ".join(cells) + " |")
        return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--work", required=True, help="folder for the model files")
    parser.add_argument("--vkformer", required=True)
    args = parser.parse_args()
    config = os.path.join(args.work, "llama-134m.json")
    with open(config, "w", encoding="utf-8") as file:
        json.dump(LLAMA, file)
    ggufs = {t: os.path.join(args.work, f"llama-134m-{t}.gguf") for t in ("f32", "f16")}
    for dtype, path in ggufs.items():
        if not os.path.exists(path):
            output([sys.executable, os.path.join(HERE, "make_gguf.py"), config, path, "--type", dtype])

    ours, best = Vkformer(args.vkformer), Best()
    for turn in range(args.rounds):
        print(f"round {turn + 1} of {args.rounds}", file=sys.stderr, flush=True)
        for layout in ("nn", "nt", "tn"):
            for m, n, k in ((1024, 1024, 1024), (2048, 768, 768)):
                row = f"matmul f32 {m} x {n} x {k} {layout.upper()}, GFLOP/s"
                best.add(row, "vkformer", ours.matmul(m, n, k, layout))
                for result in pytorch("matmul", f"{m}x{n}x{k}:{layout}"):
                    best.add(row, "PyTorch", result["gflops"])
        row = "matmul f32 x f16 weights, 512 x 4096 x 14336 NT, GFLOP/s"
        best.add(row, "vkformer", ours.matmul(512, 4096, 14336, "nt", "f16"))
        for mode in GGML_MODES:
            best.add(row, "ggml-vulkan", ggml_matmul(mode))
        for dtype in ggufs:
            rows = ours.model({}, "-m", config, "-p", "128", "-n", "16", "-b", "0", "-r", "2", "--dtype", dtype)
            prompt, decode = (f"LLaMA 134 M {dtype}, {what}, tokens/s" for what in ("prompt of 128", "decode 16"))
            for row, test, tokens in ((prompt, "pp128", 128), (decode, "tg16", 16)):
                if test in rows:
                    best.add(row, "vkformer", tokens / rows[test][0])
            for contestant, cpu, modes in (("ggml-vulkan", False, GGML_MODES), ("llama.cpp CPU", True, ["default"])):
                for mode in modes:
                    rates = llama_bench(ggufs[dtype], cpu, mode)
                    best.add(prompt, contestant, rates.get("prompt"))
                    best.add(decode, contestant, rates.get("decode"))
        for shape, batch in (("4x128x4:65:64", 12), ("6x384x6:65:256", 8)):
            row = f"training step {shape}, B {batch}, ms"
            rows = ours.model({}, "-m", shape, "-p", "0", "-n", "0", "-b", str(batch), "-r", "3")
            for test, (seconds, _) in rows.items():
                if test.startswith("train step"):
                    best.add(row, "vkformer", 1e3 * seconds, smaller=True)
            for result in pytorch("--batch", str(batch), "gpt", shape):
                if result["test"].startswith("train step"):
                    best.add(row, "PyTorch", 1e3 * result["best_seconds"], smaller=True)
        # After each round: one takes ten minutes, and whoever stops early keeps something.
        print(best.table(["vkformer", "ggml-vulkan", "llama.cpp CPU", "PyTorch"]), flush=True)


if __name__ == "__main__":
    main()
