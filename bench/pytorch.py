#!/usr/bin/env python3
"""Tuned templates on an NVIDIA GPU through OpenCL against PyTorch eager and compiled, side by side in one run.

Each shape is tuned within a budget (what the store knows counts), then PyTorch eager, PyTorch compiled and the tuned
configuration are timed in turns. Cold by default on all sides: PyTorch's calls sit in one CUDA graph and walk over as many
sets of tensors as it takes to outgrow the last-level cache several times; --warm uses one set again and again. Results of PyTorch
are compared with each other in double precision before anything is timed. Needs PyTorch with CUDA.

usage: bench/pytorch.py [--kernwright PROGRAM] [--budget 60] [--rounds 5] [--store FILE] [--device SPEC] [--warm] [--out FILE]
                        [--shapes FILE] [--template NAME]... TASK...
TASK: softmax, layernorm, gemm_bias_gelu or rmsnorm_residual; the shapes are tasks/TASK/shapes/h200.json by default.
Last line: pytorch: TASK_eager=.. TASK_compiled=.. ..   (geometric mean over the shapes of PyTorch's time / our time)
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys

import torch
import torch.nn.functional as F

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CACHE_BYTES, CALLS = 4 * 64 << 20, 16


def softmax(x):
    return torch.softmax(x, dim=-1)


def layernorm(x, gamma, beta):
    return F.layer_norm(x, x.shape[-1:], gamma, beta, 1e-5)


def gemm_bias_gelu(a, b, bias):
    return F.gelu(torch.addmm(bias, a, b))


def rmsnorm_residual(x, r, w):
    h = x + r
    return h, F.rms_norm(h, h.shape[-1:], w, 1e-5)


TASKS = {"softmax": (softmax, ["RC"]), "layernorm": (layernorm, ["RC", "C", "C"]),
         "gemm_bias_gelu": (gemm_bias_gelu, ["MK", "KN", "N"]), "rmsnorm_residual": (rmsnorm_residual, ["RC", "RC", "C"])}


def first(value):
    return value[-1] if isinstance(value, tuple) else value


def tensors(names, dims):
    return [torch.randn([dims[d] for d in name], device="cuda") for name in names]


def graph_of(function, sets):
    """A CUDA graph of CALLS calls that walk over the sets of inputs; outputs are the graph's own, one for each call."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            for inputs in sets[:2]:
                function(*inputs)
    torch.cuda.synchronize()
    graph, kept = torch.cuda.CUDAGraph(), []
    with torch.cuda.graph(graph):
        for call in range(CALLS):
            kept.append(function(*sets[call % len(sets)]))
    return graph, kept


def time_graph(graph, replays=15):
    """Median time of a call in microseconds over `replays` replays."""
    graph.replay()
    torch.cuda.synchronize()
    samples = []
    for _ in range(replays):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        samples.append(start.elapsed_time(end) * 1e3 / CALLS)
    return statistics.median(samples)


def run_json(argv):
    done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(argv)}: exit status {done.returncode}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def tune(args, task, dims):
    argv = [args.kernwright, "tune", task, "--dims", dims, "--budget", args.budget, "--json", "--store", args.store, "--device",
            args.device] + args.mode
    for name in args.template:
        argv += ["--template", name]
    return next(line["result"] for line in run_json(argv) if "result" in line)


def time_ours(args, dims, result):
    path = {os.path.splitext(os.path.basename(name))[0]: name for name in args.template}
    argv = [args.kernwright, "time", path.get(result["template"], result["template"]), "--dims", dims, "--json", "--device", args.device] + args.mode
    for name, value in result["config"].items():
        argv += ["--set", f"{name}={str(value).lower() if isinstance(value, bool) else value}"]
    return run_json(argv)[0]["median_ns"] / 1e3


def one_shape(args, task, dims):
    function, names = TASKS[task]
    text = ",".join(f"{name}={value}" for name, value in dims.items())
    result = tune(args, task, text)
    probe = tensors(names, dims)
    size = 4 * sum(t.numel() for t in probe)
    sets = [probe] + [tensors(names, dims) for _ in range(0 if args.warm else min(CALLS, -(-CACHE_BYTES // size)) - 1)]
    compiled = torch.compile(function, dynamic=False)
    exact = first(function(*[t.double() for t in probe]))
    for name, candidate in (("eager", function), ("compiled", compiled)):
        error = (first(candidate(*probe)).double() - exact).abs().max().item()
        if not error < 1e-2:
            sys.exit(f"{task} {text}: PyTorch {name} is off by {error}")
    graphs = {"eager": graph_of(function, sets), "compiled": graph_of(compiled, sets)}
    times = {"eager": [], "compiled": [], "ours": []}
    for _ in range(args.rounds):
        for name, (graph, _) in graphs.items():
            times[name].append(time_graph(graph))
        times["ours"].append(time_ours(args, text, result))
    middle = {name: statistics.median(values) for name, values in times.items()}
    ratios = {name: middle[name] / middle["ours"] for name in ("eager", "compiled")}
    columns = "  ".join(f"{name} {middle[name]:9.2f} us ({min(v):.2f}..{max(v):.2f})" for name, v in times.items())
    print(f"{task:>17} {text:<24} {columns}  eager/ours {ratios['eager']:.3f}  compiled/ours {ratios['compiled']:.3f}  "
          f"{result['template']}", flush=True)
    return {"task": task, "dims": dims, "result": result, "times_us": times, "ratios": ratios}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tasks", nargs="+", choices=sorted(TASKS))
    parser.add_argument("--kernwright", default="build/kernwright")
    parser.add_argument("--budget", default="60")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--store", default="pytorch.db")
    parser.add_argument("--device", default="opencl:0:0")
    parser.add_argument("--warm", action="store_true")
    parser.add_argument("--template", action="append", default=[])
    parser.add_argument("--shapes")
    parser.add_argument("--out")
    args = parser.parse_args()
    args.mode = ["--warm"] if args.warm else []
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.manual_seed(0)
    print(f"device {torch.cuda.get_device_name()}, torch {torch.__version__}, CUDA {torch.version.cuda}, TF32 off; "
          f"{'warm' if args.warm else 'cold'}; {args.rounds} rounds in turns")
    kept, line = [], "pytorch:"
    for task in args.tasks:
        shapes = args.shapes or os.path.join(ROOT, "tasks", task, "shapes", "h200.json")
        with open(shapes, encoding="utf-8") as f:
            rows = [one_shape(args, task, json.loads(text)) for text in f if text.strip()]
        torch.cuda.empty_cache()
        kept += rows
        for name in ("eager", "compiled"):
            mean = math.exp(statistics.fmean(math.log(row["ratios"][name]) for row in rows))
            line += f" {task}_{name}={mean:.3f}"
    if args.out:
        with open(args.out, "w", encoding="utf-8") as out:
            json.dump(kept, out, indent=1)
    print(line)


if __name__ == "__main__":
    main()
