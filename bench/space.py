#!/usr/bin/env python3
"""Search spaces of published problems: time to build them, beside Kernel Tuner and pyATF on the same machine, in turns in
one run; samples and neighbour queries per second; counts.

Every time is that of the first construction in a new process, of one space ready for random access, with the file read
and its expressions parsed before: `space_new` here, `Searchspace(...)` in Kernel Tuner, `SearchSpace(...,
enable_1d_access=True)` in pyATF, whose constraints stand with the last parameter that they use. Kernel Tuner and pyATF
list the space, so the largest problem is ours alone. Ratios are of processor time (all three use one thread), which other
work on the machine does not change; wall time is printed beside it.

usage: bench/space.sh [--repeat 5] [--own-repeat 11] [--timeout 300] [--only NAME,NAME] [--no-peers]
Last line: space: hotspot_ms=.. hotspot_ratio=.. ... counts_exact=.. least_samples_per_s=.. least_neighbours_per_s=..
least_lists_per_s=..
"""
import argparse
import csv
import json
import os
import re
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != HERE]  # kernel_tuner.py here has the package's name
LARGEST = 10_000_000  # valid configurations that the peers are asked to list


def now():
    return time.perf_counter(), time.process_time()


def since(start):
    """Milliseconds by the clock and on a processor."""
    return [(b - a) * 1e3 for a, b in zip(start, now())]


def load(path):
    with open(path, encoding="utf-8") as f:
        part = json.load(f)["ConfigurationSpace"]
    params = {p["Name"]: eval(p["Values"]) for p in part["TuningParameters"]}  # the files are data of the benchmark
    return params, [c["Expression"] for c in part.get("Conditions", [])]


def names_in(text, params):
    return [n for n in params if re.search(rf"\b{re.escape(n)}\b", text)]


def kernel_tuner(path):
    from kernel_tuner.searchspace import Searchspace

    params, conditions = load(path)
    start = now()
    space = Searchspace(params, conditions, 1024, block_size_names=[])  # no limit that the problem does not state
    return since(start), space.size


def pyatf(path):
    from pyatf import TP, Set
    from pyatf.search_space import SearchSpace

    params, conditions = load(path)
    of_last = {n: [] for n in params}
    for text in conditions:
        of_last[names_in(text, params)[-1]].append(text)
    tps = []
    for name, values in params.items():
        constraint = None
        if of_last[name]:
            used = dict.fromkeys(n for t in of_last[name] for n in names_in(t, params))
            body = " and ".join(f"({t})" for t in of_last[name])
            constraint = eval(f"lambda {', '.join(used)}: {body}")
        tps.append(TP(name, Set(*values), constraint) if constraint else TP(name, Set(*values)))
    start = now()
    space = SearchSpace(*tps, enable_1d_access=True, verbosity=0)
    return since(start), space.constrained_size


PEERS = {"kernel_tuner": kernel_tuner, "pyatf": pyatf}


def peer(name, path, timeout):
    """([milliseconds by the clock, on a processor], count) in a new process; None where it takes too long or fails."""
    argv = [sys.executable, os.path.abspath(__file__), "--peer", name, path]
    try:
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        print(f"{name}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return None
    return tuple(json.loads(done.stdout.splitlines()[-1]))


def ours(program, path, rounds):
    return json.loads(subprocess.run([program, path, "1", str(rounds)], stdout=subprocess.PIPE, check=True).stdout)


def versions():
    from importlib import metadata
    import constraint.solvers

    compiled = constraint.solvers.__file__.endswith(".so")
    print(f"kernel-tuner {metadata.version('kernel-tuner')} with python-constraint2 "
          f"{metadata.version('python-constraint2')} ({'compiled' if compiled else 'pure Python'} solver), "
          f"pyatf {metadata.version('pyatf')}, Python {sys.version.split()[0]}")


def text_of(times):
    return f"{statistics.median(times):.2f} ({min(times):.2f}..{max(times):.2f})" if times else "-"


def one(args, name, valid, peers):
    path = os.path.join(args.folder, f"{name}.T1.json")
    mine, cpu, theirs, ratios, rates = [], [], {p: [] for p in peers}, {p: [] for p in peers}, []
    wrong, given_up = 0, set()
    for i in range(max(args.own_repeat, args.repeat)):
        r = ours(args.program, path, 1)
        mine.append(r["cold_ms"])
        cpu.append(r["cold_cpu_ms"])
        rates.append(r)
        wrong += r["count"] != valid
        for p in peers if i < args.repeat and valid <= LARGEST else []:
            got = peer(p, path, args.timeout) if p not in given_up else None
            if got is None:
                given_up.add(p)
                continue
            theirs[p].append(got[0])
            ratios[p].append(got[0][1] / cpu[-1])
            if got[1] != valid:
                print(f"  {p} counts {got[1]} in {name}, not {valid}")
    rate = {k: statistics.median(r[k] for r in rates) for k in rates[0] if k.endswith("_per_s")}
    print(f"{name}: {rates[0]['count']} of {rates[0]['cartesian']:.6g}{' WRONG' if wrong else ''}, {rates[0]['bytes']} bytes; "
          f"ours {text_of(cpu)} ms, wall {text_of(mine)} ms ({len(mine)})"
          + "".join(f"; {p} {text_of([t[1] for t in theirs[p]])} ms, wall {text_of([t[0] for t in theirs[p]])} ms "
                    f"({len(theirs[p])}), ratio {text_of(ratios[p])}" for p in peers)
          + f"; millions a second: {rate['samples_per_s'] / 1e6:.2f} samples, {rate['neighbours_per_s'] / 1e6:.2f} random "
          f"neighbours, {rate['lists_per_s'] / 1e6:.2f} lists of all neighbours, {rate['listed_per_s'] / 1e6:.1f} neighbours "
          "in lists", flush=True)
    return (statistics.median(mine), statistics.median(cpu)), {p: statistics.median(r) for p, r in ratios.items() if r}, rate, wrong == 0


def main():
    if sys.argv[1:2] == ["--peer"]:
        print(json.dumps(PEERS[sys.argv[2]](sys.argv[3])))
        return
    a = argparse.ArgumentParser()
    a.add_argument("--program", default="build/bench/space")
    a.add_argument("--folder", default="../shared/data/spaces/problems/construct")
    a.add_argument("--repeat", type=int, default=5)
    a.add_argument("--own-repeat", type=int, default=11)
    a.add_argument("--timeout", type=float, default=300)
    a.add_argument("--only", default="")
    a.add_argument("--no-peers", action="store_true")
    args = a.parse_args()
    peers = []
    if not args.no_peers:
        try:
            versions()
            peers = list(PEERS)
        except ImportError as e:
            print(f"without peers: {e}")
    with open(os.path.join(args.folder, "COUNTS.tsv"), encoding="utf-8") as f:
        problems = {r["name"]: int(r["valid"]) for r in csv.DictReader(f, delimiter="\t")}
    only = [n for n in args.only.split(",") if n]
    results = {n: one(args, n, v, peers) for n, v in problems.items() if not only or n in only}
    keys = []
    for name, (ms, ratios, _, _) in results.items():
        keys.append(f"{name}_ms={ms[0]:.3f} {name}_cpu_ms={ms[1]:.3f}")
        keys += [f"{name}_{'ratio' if p == 'kernel_tuner' else p + '_ratio'}={r:.1f}" for p, r in ratios.items()]
    keys.append(f"counts_exact={sum(r[3] for r in results.values())}")
    keys.append(f"least_samples_per_s={min(r[2]['samples_per_s'] for r in results.values()):.0f}")
    keys.append(f"least_neighbours_per_s={min(r[2]['neighbours_per_s'] for r in results.values()):.0f}")
    keys.append(f"least_lists_per_s={min(r[2]['lists_per_s'] for r in results.values()):.0f}")
    print("space: " + " ".join(keys))


if __name__ == "__main__":
    main()
