#!/usr/bin/env python3
"""f32 gemm on an NVIDIA GPU through OpenCL against cuBLAS (TF32 off), side by side in one run.

Tunes gemm_tiled for a shape within a budget, then times cuBLAS (torch.matmul, 20 calls in a CUDA graph) and the tuned
configuration in turns, warm on both sides, and prints the ratio of the medians. Needs PyTorch with CUDA.

usage: bench/gemm_cublas.py [--kernwright PROGRAM] [--budget 300] [--rounds 5] [--store FILE] [--out FILE] M,N,K...
Last line: gemm_cublas: ratio=... shapes=N geomean=...   (ratio: of the first shape; cuBLAS time / our time)
"""
import argparse
import json
import math
import statistics
import subprocess
import sys

import torch


def cublas_us(m, n, k, replays=30, calls=20):
    """Median time of one call over `replays` replays of a graph of `calls` calls, and all samples."""
    a = torch.randn(m, k, device="cuda")
    b = torch.randn(k, n, device="cuda")
    c = torch.empty(m, n, device="cuda")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            torch.matmul(a, b, out=c)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            torch.matmul(a, b, out=c)
    graph.replay()
    torch.cuda.synchronize()
    samples = []
    for _ in range(replays):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        samples.append(start.elapsed_time(end) * 1e3 / calls)
    return statistics.median(samples), samples


def run_json(argv):
    """Runs the program and returns its JSON lines."""
    done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(argv)}: exit status {done.returncode}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def tune(args, dims):
    lines = run_json([args.kernwright, "tune", "gemm", "--dims", dims, "--template", args.template, "--budget", args.budget,
                      "--warm", "--json", "--store", args.store, "--device", args.device, "--seed", args.seed])
    return next(line["result"] for line in lines if "result" in line)


def time_once(args, dims, result):
    argv = [args.kernwright, "time", result["template"], "--dims", dims, "--warm", "--json", "--device", args.device]
    for name, value in result["config"].items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        argv += ["--set", f"{name}={text}"]
    line = run_json(argv)[0]
    return line["median_ns"] / 1e3, line["samples_ns"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shapes", nargs="*", default=["4096,4096,4096"])
    parser.add_argument("--kernwright", default="build/kernwright")
    parser.add_argument("--template", default="gemm_tiled")
    parser.add_argument("--budget", default="300")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--store", default="gemm_cublas.db")
    parser.add_argument("--device", default="opencl:0:0")
    parser.add_argument("--out")
    args = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    print(f"device {torch.cuda.get_device_name()}, torch {torch.__version__}, CUDA {torch.version.cuda}; warm; "
          f"{args.rounds} rounds in turns")
    rows, kept = [], []
    for shape in args.shapes:
        m, n, k = (int(x) for x in shape.split(","))
        dims = f"M={m},N={n},K={k}"
        result = tune(args, dims)
        theirs, ours = [], []
        for _ in range(args.rounds):
            theirs.append(cublas_us(m, n, k)[0])
            ours.append(time_once(args, dims, result)[0])
        t, o = statistics.median(theirs), statistics.median(ours)
        rows.append((shape, t, min(theirs), max(theirs), o, min(ours), max(ours), t / o, 2.0 * m * n * k / o / 1e6))
        kept.append({"shape": shape, "result": result, "cublas_us": theirs, "ours_us": ours, "ratio": t / o})
        print(f"{shape:>18}  cuBLAS {t:10.2f} us ({min(theirs):.2f}..{max(theirs):.2f})  ours {o:10.2f} us "
              f"({min(ours):.2f}..{max(ours):.2f})  ratio {t / o:.3f}  {2.0 * m * n * k / o / 1e6:.2f} TFLOP/s  "
              f"{result['measured']}+{result['reused']} configurations", flush=True)
        print("   " + " ".join(f"{name}={value}" for name, value in result["config"].items()), flush=True)
    if args.out:
        with open(args.out, "w", encoding="utf-8") as out:
            json.dump(kept, out, indent=1)
    geomean = math.exp(sum(math.log(row[7]) for row in rows) / len(rows))
    print(f"gemm_cublas: ratio={rows[0][7]:.3f} shapes={len(rows)} geomean={geomean:.3f}")


if __name__ == "__main__":
    main()
