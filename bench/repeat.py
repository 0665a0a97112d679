#!/usr/bin/env python3
"""Reads what bench/repeat.sh has written, times the winners in turns and prints the figures.

usage: repeat.py FOLDER RUNS PROGRAM TEMPLATE DIMS ROUNDS
"""
import json
import os
import statistics
import subprocess
import sys


def read_run(folder, run):
    with open(os.path.join(folder, f"{run}.lines"), encoding="utf-8") as f:
        lines = [json.loads(line) for line in f if line.startswith("{")]
    result = next(x["result"] for x in lines if "result" in x)
    proposals = {json.dumps(x["config"]) for x in lines if x.get("purpose") == "search"}
    return result, proposals


def time_once(program, template, dims, config):
    """Median of one row in ns."""
    settings = [f"{k}={str(v).lower() if isinstance(v, bool) else v}" for k, v in config.items()]
    options = [word for s in settings for word in ("--set", s)]
    done = subprocess.run([program, "time", template, "--dims", dims, *options, "--warm", "--json"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"repeat: {' '.join(settings)}: {done.stderr.strip()}")
    return statistics.median(json.loads(done.stdout.splitlines()[-1])["samples_ns"])


def spread(values):
    return 100 * (max(values) - min(values)) / min(values)


def main():
    folder, runs, program, template, dims, rounds = sys.argv[1:]
    results, proposals = zip(*(read_run(folder, i + 1) for i in range(int(runs))))
    configs = {json.dumps(r["config"]): r["config"] for r in results}
    again = {key: [] for key in configs}
    for _ in range(int(rounds)):
        for key, config in configs.items():
            again[key].append(time_once(program, template, dims, config))
    medians = {key: statistics.median(values) for key, values in again.items()}
    for i, r in enumerate(results):
        key = json.dumps(r["config"])
        common = len(proposals[i] & proposals[0])
        print(f"  run {i + 1}: {r['tuned_ns'] / 1e3:.2f} us ({r['lo_ns'] / 1e3:.2f}..{r['hi_ns'] / 1e3:.2f}), in turns "
              f"{medians[key] / 1e3:.2f} us, {common} of {len(proposals[i])} proposals as in run 1: {key}")
    keys = [json.dumps(r["config"]) for r in results]
    times = [r["tuned_ns"] for r in results]
    print(f"repeat: runs={runs} spread_percent={spread(times):.2f} again_percent={spread(list(medians.values())):.2f} "
          f"least_us={min(times) / 1e3:.2f} largest_us={max(times) / 1e3:.2f} "
          f"same_winner={max(keys.count(k) for k in keys)} same_proposals={sum(p == proposals[0] for p in proposals)}")


main()
