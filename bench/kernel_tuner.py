#!/usr/bin/env python3
"""Verified configurations per minute against Kernel Tuner: the same kernel text, configurations and OpenCL device, in turns
in one run, each time from empty compiler caches.

Needs kernel-tuner and pyopencl (pip install kernel-tuner pyopencl). The kernel is bench/kernel_tuner/gemm.cl; both tuners
try every combination of --params. Kernel Tuner compares the result of each configuration once with the right answer at
the target shape (its `answer`, rtol and atol for single precision), then times 7 runs (its default). Kernwright does all
that docs/measurement.md says. Its time is that of the whole command, with choosing and re-timing the best; Kernel Tuner's is
that of tune_kernel alone, without the start of Python. `kernwright probe`, which measures a device once for all searches
on it and has no counterpart, runs before and is timed by itself; with_probe is the ratio with its time in ours.

usage: bench/kernel_tuner.py [--kernwright PROGRAM] [--size 256] [--rounds 3] [--params JSON] [--device N]
Last line: kernel_tuner: ratio=.. low=.. high=.. rounds=.. with_probe=.. configurations=.. ours_per_minute=..
theirs_per_minute=.. ours_processor_s=.. theirs_processor_s=..; the ratio is the median of those of the rounds, low and high the least and the largest of them.
"""
import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "kernel_tuner")
PARAMS = {"TX": [8, 16], "TY": [8, 16], "WX": [1, 2, 4], "WY": [1, 2, 4], "TK": [16], "UNROLL": [4]}


def theirs(args):
    """Runs in a process of its own, so that nothing is compiled before. Prints one JSON line."""
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != HERE]  # this file has the module's name
    import numpy
    from kernel_tuner import tune_kernel

    n = args.size
    rng = numpy.random.default_rng(1)
    a, b = (rng.standard_normal((n, n)).astype(numpy.float32) for _ in range(2))
    c = numpy.full((n, n), numpy.nan, dtype=numpy.float32)
    alpha, beta = numpy.float32(1), numpy.float32(0)
    dim = numpy.int32(n)
    answer = (a.astype(numpy.float64) @ b.astype(numpy.float64)).astype(numpy.float32)
    start = time.monotonic()
    results, _ = tune_kernel(
        "gemm", os.path.join(FOLDER, "gemm.cl"), (n, n), [dim, dim, dim, alpha, a, b, beta, c], json.loads(args.params),
        grid_div_x=["TX", "WX"], grid_div_y=["TY", "WY"], block_size_names=["TX", "TY"], lang="OpenCL", device=args.device,
        answer=[None] * 7 + [answer], atol=1e-3, verbose=False, quiet=True)
    wall = time.monotonic() - start
    good = [r for r in results if isinstance(r["time"], float)]
    shares = {k: sum(r.get(f"{k}_time", 0) for r in results) / 1e3 for k in ("compile", "verification", "benchmark")}
    print(json.dumps({"wall_s": wall, "n": len(results), "ok": len(good), "shares_s": shares,
                      "best_ms": min(r["time"] for r in good)}))


def processor_s():
    """Processor time of all processes that were started and have ended."""
    r = resource.getrusage(resource.RUSAGE_CHILDREN)
    return r.ru_utime + r.ru_stime


def run_theirs(args, folder):
    env = dict(os.environ, XDG_CACHE_HOME=folder, POCL_CACHE_DIR=os.path.join(folder, "pocl"))
    os.makedirs(env["POCL_CACHE_DIR"])
    argv = [sys.executable, os.path.abspath(__file__), "--theirs", "--size", str(args.size), "--params", args.params,
            "--device", str(args.device)]
    used = processor_s()
    done = subprocess.run(argv, env=env, cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
    result = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    return {**result, "cpu_s": processor_s() - used}


def run_ours(args, folder):
    with open(os.path.join(FOLDER, "gemm.kw.json"), encoding="utf-8") as f:
        sidecar = json.load(f)
    for name, values in json.loads(args.params).items():
        sidecar["params"][name] = {"values": values}
    shutil.copy(os.path.join(FOLDER, "gemm.cl"), folder)
    with open(os.path.join(folder, "gemm.kw.json"), "w", encoding="utf-8") as f:
        json.dump(sidecar, f)
    env = dict(os.environ, KERNWRIGHT_CACHE=os.path.join(folder, "cache"))
    for name in ("POCL_CACHE_DIR", "CUDA_CACHE_PATH", "KERNWRIGHT_STORE"):
        env.pop(name, None)
    n, trace = args.size, os.path.join(folder, "trace.json")
    common = ["--store", os.path.join(folder, "store.db"), "--device", f"opencl:0:{args.device}"]
    start = time.monotonic()
    subprocess.run([args.kernwright, "probe", *common], env=env, check=True, stdout=subprocess.DEVNULL)
    probe = time.monotonic() - start
    argv = [args.kernwright, "tune", "gemm", "--dims", f"M={n},N={n},K={n}", "--template", os.path.join(folder, "gemm.kw.json"),
            "--strategy", "exhaustive", "--budget", "100000", "--warm", "--json", "--trace", trace,
            *common]
    start, used = time.monotonic(), processor_s()
    done = subprocess.run(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    wall, used = time.monotonic() - start, processor_s() - used
    if done.returncode != 0:
        sys.exit(done.stderr)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    search = [x for x in lines if x.get("purpose") == "search"]
    good = [x for x in search if x["outcome"] == "ok"]
    shares = {}
    with open(trace, encoding="utf-8") as f:
        for e in json.load(f)["traceEvents"]:
            if e["tid"] < 1000 and e["name"] != "expand":
                shares[e["name"]] = shares.get(e["name"], 0) + e["dur"] / 1e6
    return {"wall_s": wall, "n": len(search), "ok": len(good), "shares_s": shares, "probe_s": probe, "cpu_s": used,
            "best_ms": min(x["median_ns"] for x in good) / 1e6}


def show(name, r):
    sum_s = sum(r["shares_s"].values())
    shares = ", ".join(f"{k} {v:.1f} s ({100 * v / sum_s:.0f}%)" for k, v in r["shares_s"].items())
    print(f"  {name:13s} {r['ok']} of {r['n']} verified in {r['wall_s']:.1f} s ({60 * r['ok'] / r['wall_s']:.1f} a minute); "
          f"{shares}; processor {r['cpu_s']:.1f} s; best {r['best_ms']:.3f} ms", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernwright", default="build/kernwright")
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--params", default=json.dumps(PARAMS))
    parser.add_argument("--device", type=int, default=0, help="number of the device on the first platform")
    parser.add_argument("--theirs", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.theirs:
        theirs(args)
        return
    rates = {"Kernel Tuner": [], "kernwright": [], "with probe": []}
    processor = {"Kernel Tuner": [], "kernwright": []}
    n = 0
    for _ in range(args.rounds):
        for name, run in (("Kernel Tuner", run_theirs), ("kernwright", run_ours)):
            with tempfile.TemporaryDirectory() as folder:
                r = run(args, folder)
            show(name, r)
            n = max(n, r["n"])
            rates[name].append(60 * r["ok"] / r["wall_s"])
            processor[name].append(r["cpu_s"])
            if "probe_s" in r:
                rates["with probe"].append(60 * r["ok"] / (r["wall_s"] + r["probe_s"]))
    ours, their, with_probe = (rates[k] for k in ("kernwright", "Kernel Tuner", "with probe"))
    ratios = [a / b for a, b in zip(ours, their)]
    print(f"kernel_tuner: ratio={statistics.median(ratios):.2f} low={min(ratios):.2f} high={max(ratios):.2f} rounds={args.rounds} "
          f"with_probe={statistics.median(a / b for a, b in zip(with_probe, their)):.2f} configurations={n} "
          f"ours_per_minute={statistics.median(ours):.1f} theirs_per_minute={statistics.median(their):.1f} "
          f"ours_processor_s={statistics.median(processor['kernwright']):.1f} "
          f"theirs_processor_s={statistics.median(processor['Kernel Tuner']):.1f}")


main()
