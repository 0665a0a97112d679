#!/usr/bin/env python3
"""Replays what bench/general.sh has recorded. usage: general.py REPEATS PROGRAM OTHER JOBS...

OTHER may be empty: then the same program on one core is the other side.
"""
import json
import os
import statistics
import subprocess
import sys


def read_jobs(paths):
    """Lines of all jobs that only verify, in order."""
    found = {}
    for path in paths:
        with open(path, encoding="utf-8") as f:
            for line in f:
                job = json.loads(line)
                if job.get("type") == "job" and job["mode"] == "verify":
                    found[job["id"]] = line
    return [found[i] for i in sorted(found)]


def cpu_ms(pid):
    """Of the first thread of a process: the one that does the jobs."""
    with open(f"/proc/{pid}/task/{pid}/schedstat", encoding="utf-8") as f:
        return int(f.read().split()[0]) / 1e6


def run(command, lines):
    """(wall, cpu) in milliseconds of each job in a worker of its own."""
    worker = subprocess.Popen(command + ["worker", "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True)
    figures = []
    worker.stdout.readline()
    for line in lines:
        before = cpu_ms(worker.pid)
        worker.stdin.write(line)
        worker.stdin.flush()
        answer = {"type": ""}
        while answer["type"] not in ("result", "error"):
            answer = json.loads(worker.stdout.readline())
        record = answer.get("record", {})
        if record.get("outcome") != "ok":
            sys.exit(f"general: {answer}")
        figures.append((record["verify_ms"], cpu_ms(worker.pid) - before, record["cases_passed"]))
    worker.stdin.close()
    worker.wait()
    return figures


def main():
    repeats, program, other = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    lines = read_jobs(sys.argv[4:])
    sides = {"program": [program], "other": [other] if other else ["taskset", "-c", str(min(os.sched_getaffinity(0))), program]}
    found = {name: [] for name in sides}
    for i in range(repeats):
        for name in list(sides)[:: -1 if i % 2 else 1]:
            figures = run(sides[name], lines)
            found[name].append((sum(f[0] for f in figures), sum(f[1] for f in figures)))
            print(f"  {name:8s} wall " + " + ".join(f"{f[0]:.0f}" for f in figures) + " ms, cpu " +
                  " + ".join(f"{f[1]:.0f}" for f in figures) + " ms, cases " + " + ".join(str(f[2]) for f in figures), flush=True)
    parts = [f"jobs={len(lines)}", f"repeats={repeats}"]
    for k, what in enumerate(("wall", "cpu")):
        for name in sides:
            parts.append(f"{what}_{name}_ms={statistics.median(f[k] for f in found[name]):.0f}")
        ratios = [a[k] / b[k] for a, b in zip(found["other"], found["program"])]
        parts.append(f"{what}_ratio={statistics.median(ratios):.2f} ({min(ratios):.2f}..{max(ratios):.2f})")
    print("general: " + " ".join(parts))


if __name__ == "__main__":
    main()
