#!/usr/bin/env python3
"""The work of `vkformer bench` in PyTorch: matrix products, and the training step and prompt of a GPT-2 shape.

    pytorch_bench.py [--device cpu|cuda|xpu] [--type f32|bf16|f16] matmul MxNxK[:nn|nt|tn] ...
    pytorch_bench.py [--device cpu|cuda|xpu] [--type f32|bf16|f16] attention BATCHxHEADSxPOSITIONSxWIDTH ...
    pytorch_bench.py [--device cpu|cuda|xpu] [--type f32|bf16] [--batch B] gpt LAYERSxWIDTHxHEADS:VOCABULARY:CONTEXT

Prints one JSON object a line: the test, the best and the median seconds and what clock they are of, GFLOP/s or tokens/s.
Of single ops with CUDA that is the device's, of a replayed graph ("CUDA graph") or, where none can be captured, of single
launches ("CUDA events"); elsewhere, and of models, which people launch from Python, it is the host's ("wall"). f32 means
f32: TF32 stays off. A bf16 step keeps f32 weights and computes under autocast, as nanoGPT does; AdamW is the fused one on a
GPU.
"""
import argparse
import json
import statistics
import sys
import time

import torch
import torch.nn.functional as F

TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}


def on_cuda(work, repetitions):
    """Seconds of each call by events around it, after warm-up. Launched from Python, small kernels would wait for the
    host; so a captured graph is replayed."""
    for _ in range(3):
        work()
    run, how = work, "CUDA events"
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph, stream=torch.cuda.current_stream()):
            work()
        run, how = graph.replay, "CUDA graph"
    except RuntimeError as error:
        print(f"no CUDA graph: {error}", file=sys.stderr)
    run()
    spans = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(repetitions)]
    for begin, end in spans:
        begin.record()
        run()
        end.record()
    torch.cuda.synchronize()
    return [1e-3 * begin.elapsed_time(end) for begin, end in spans], how


def timed(work, device, repetitions, calls=1, eager=False):
    """Best and median time of one of the `calls` that the work makes, after warm-up; a GPU is waited for. `eager`: as
    launched from Python, also with CUDA."""
    def once():
        start = time.perf_counter()
        work()
        if device != "cpu":
            getattr(torch, device).synchronize()
        return time.perf_counter() - start

    if device == "cuda" and not eager:
        times, how = on_cuda(work, repetitions)
    else:
        times, how = [once() for _ in range(3 + repetitions)][3:], "wall"
    return {"best_seconds": min(times) / calls, "median_seconds": statistics.median(times) / calls, "clock": how}


def matmul(spec, args):
    sizes, _, layout = spec.partition(":")
    layout = layout or "nn"
    m, n, k = map(int, sizes.split("x"))
    make = lambda rows, columns: torch.randn(rows, columns, device=args.device).to(TYPES[args.type])
    a = make(k, m).t() if layout[0] == "t" else make(m, k)
    b = make(n, k).t() if layout[1] == "t" else make(k, n)
    calls = max(1, int(2e10 / (2.0 * m * n * k))) if args.device != "cpu" else 1  # hides the launch
    y = torch.empty(m, n, device=args.device, dtype=TYPES[args.type])

    def work():
        for _ in range(calls):
            torch.matmul(a, b, out=y)

    times = timed(work, args.device, args.repetitions, calls)
    yield {"test": f"matmul {args.type} {spec}", **times, "gflops": 2e-9 * m * n * k / times["best_seconds"]}


def attention(spec, args):
    """Causal attention, forward and backward alone; half of the scores are counted, as they are computed."""
    batch, heads, positions, width = map(int, spec.split("x"))
    q, k, v = (torch.randn(batch, heads, positions, width, device=args.device, dtype=TYPES[args.type], requires_grad=True)
               for _ in range(3))
    upstream = torch.randn_like(q)
    forward = lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True)
    y = forward()
    backward = lambda: torch.autograd.grad(y, (q, k, v), upstream, retain_graph=True)
    pairs = batch * heads * positions * (positions + 1) / 2
    for name, work, flops in (("forward", forward, 4), ("backward", backward, 10)):
        times = timed(work, args.device, args.repetitions)
        yield {"test": f"attention {name} {args.type} {spec}", **times,
               "gflops": 1e-9 * flops * pairs * width / times["best_seconds"]}


class Block(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm_1, self.norm_2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, c // self.heads).transpose(1, 2) for y in self.qkv(self.norm_1(x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
        return x + self.down(F.gelu(self.up(self.norm_2(x)), approximate="tanh"))


class Gpt(torch.nn.Module):
    """GPT-2: learned positions, pre-norm blocks, a head tied to the embedding."""

    def __init__(self, layers, width, heads, vocabulary, context):
        super().__init__()
        self.tokens, self.positions = torch.nn.Embedding(vocabulary, width), torch.nn.Embedding(context, width)
        self.blocks = torch.nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = torch.nn.LayerNorm(width)

    def forward(self, ids):
        x = self.tokens(ids) + self.positions.weight[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        return F.linear(self.norm(x), self.tokens.weight)


def gpt(spec, args):
    shape, vocabulary, context = spec.split(":")
    layers, width, heads = map(int, shape.split("x"))
    vocabulary, context = int(vocabulary), int(context)
    model = Gpt(layers, width, heads, vocabulary, context).to(args.device)
    ids = torch.randint(vocabulary, (args.batch, context), device=args.device)
    run = torch.compile(model) if args.compile else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=args.device == "cuda")
    cast = lambda: torch.autocast(args.device, TYPES[args.type], enabled=args.type != "f32")

    def prompt():
        with torch.no_grad(), cast():
            run(ids)

    def step():
        with cast():
            loss = F.cross_entropy(run(ids).view(-1, vocabulary), ids.view(-1))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    for name, work in (("forward", prompt), ("train step", step)):
        times = timed(work, args.device, args.repetitions, eager=True)
        yield {"test": f"{name} {args.type} {spec} B{args.batch}" + (" compiled" if args.compile else ""), **times,
               "tokens_per_second": args.batch * context / times["best_seconds"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda", "xpu"])
    parser.add_argument("--type", default="f32", choices=TYPES)
    parser.add_argument("--batch", type=int, default=12)
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--compile", action="store_true", help="through torch.compile")
    parser.add_argument("work", choices=["matmul", "attention", "gpt"])
    parser.add_argument("specs", nargs="+")
    args = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.manual_seed(1)
    if args.device == "cuda":
        torch.cuda.set_stream(torch.cuda.Stream())  # graphs are captured from any but the usual one
    for spec in args.specs:
        for row in {"matmul": matmul, "attention": attention, "gpt": gpt}[args.work](spec, args):
            name = f"cpu, {torch.get_num_threads()} threads" if args.device == "cpu" else getattr(torch, args.device).get_device_name()
            print(json.dumps({"torch": torch.__version__, "device": name, **row}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
