#!/usr/bin/env python3
"""Rate of compiling with N workers against one; bench/compile_rate.sh says how it is called.

The jobs are those that `kernwright tune` would send: it is run with a worker that notes each job and answers at once that
it does not compile. They are then given to real workers (docs/protocol.md) in mode "compile". A worker gets one job before
the clock starts, so that its context exists.
"""
import argparse
import json
import os
import selectors
import statistics
import subprocess
import sys
import time


def note_jobs(program, path):
    """The worker of the run that collects the jobs: the hello of a real one, then no real work."""
    real = subprocess.Popen([program, "worker", "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    sys.stdout.buffer.write(real.stdout.readline())
    sys.stdout.buffer.flush()
    real.stdin.close()
    real.wait()
    for line in sys.stdin.buffer:
        job = json.loads(line)
        record = {"outcome": "compile_error", "stage": "compile", "detail": "noted"}
        if job["mode"] == "check":  # of the task itself: nothing to compile
            record = {"outcome": "ok", "stage": "done"}
        else:
            with open(path, "ab") as f:
                f.write(line)
        print(json.dumps({"type": "result", "id": job["id"], "record": record}), flush=True)


def collect(args, program, n):
    path = os.path.join(args.folder, "jobs")
    command = f"exec '{sys.executable}' '{os.path.abspath(__file__)}' --note '{path}' --program '{program}'"
    done = subprocess.run(
        [program, "tune", args.task, "--dims", args.dims, "--template", args.template, "--strategy", "random", "--seed",
         str(args.seed), "--budget", str(n), "--no-probe", "--compile-workers", "1", "--worker-command", command, "--store",
         os.path.join(args.folder, "jobs.db")], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    jobs = []
    if os.path.exists(path):
        with open(path, "rb") as f:
            jobs = [json.loads(line) for line in f]
    if len(jobs) < n:
        sys.exit(f"compile_rate: only {len(jobs)} of {n} jobs came: {done.stderr.strip()[-500:]}")
    for i, job in enumerate(jobs):
        job["id"], job["mode"] = i, "compile"
        job.pop("trusted", None)
        for case in job["cases"]:
            case.pop("trusted_plan", None)
    return jobs


class Worker:
    def __init__(self, program, cache):
        env = dict(os.environ, KERNWRIGHT_CACHE=cache)
        self.process = subprocess.Popen([program, "worker", "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, env=env)
        self.read()  # hello

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit("compile_rate: a worker ended")
        return json.loads(line)

    def send(self, job):
        self.process.stdin.write(json.dumps(job).encode() + b"\n")
        self.process.stdin.flush()

    def result(self):
        while True:
            m = self.read()
            if m["type"] == "result":
                return m["record"]

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def rate(args, program, jobs, n, name):
    """Compiles jobs[n:] by n workers; the first n warm them up. Results per second, and how many came out well."""
    cache = os.path.join(args.folder, name)
    os.makedirs(cache)
    start = time.monotonic()
    workers = [Worker(program, cache) for _ in range(n)]
    for w, job in zip(workers, jobs):
        w.send(job)
    for w in workers:
        w.result()
    ready = time.monotonic() - start
    waiting = list(reversed(jobs[n:]))
    count, good = len(waiting), 0
    chooser = selectors.DefaultSelector()
    start = time.monotonic()
    busy = 0
    for w in workers:
        if waiting:
            w.send(waiting.pop())
            chooser.register(w.process.stdout, selectors.EVENT_READ, w)
            busy += 1
    while busy:
        for key, _ in chooser.select():
            w = key.data
            m = w.read()  # a stage is one line, and another event follows
            while m["type"] != "result":
                m = w.read()
            good += m["record"]["outcome"] == "ok"
            if waiting:
                w.send(waiting.pop())
            else:
                chooser.unregister(w.process.stdout)
                busy -= 1
    wall = time.monotonic() - start
    for w in workers:
        w.end()
    print(f"  {n:3d} at work: {count} compiled in {wall:.2f} s ({count / wall:.2f} a second, {good} right); ready after {ready:.1f} s",
          flush=True)
    return count / wall, good


def main():
    parser = argparse.ArgumentParser()
    for name, kind in (("workers", int), ("folder", str), ("rounds", int), ("single", int), ("many", int), ("task", str),
                       ("template", str), ("dims", str), ("seed", int), ("note", str), ("program", str)):
        parser.add_argument(f"--{name}", type=kind)
    args = parser.parse_args()
    if args.note:
        note_jobs(args.program, args.note)
        return
    program = os.path.abspath(os.environ["KERNWRIGHT"])
    per_round = 1 + args.single + args.workers + args.many
    jobs = collect(args, program, args.rounds * per_round)
    print(f"compile_rate: {args.task}, {args.template}, {len(jobs)} configurations", flush=True)
    ratios, ones, manys, good = [], [], [], 0
    for i in range(args.rounds):
        mine = jobs[i * per_round:(i + 1) * per_round]
        one, n_one = rate(args, program, mine[:1 + args.single], 1, f"one{i}")
        many, n_many = rate(args, program, mine[1 + args.single:], args.workers, f"many{i}")
        ratios.append(many / one)
        ones.append(one)
        manys.append(many)
        good += n_one + n_many
    print(f"compile_rate: workers={args.workers} ratio={statistics.median(ratios):.2f} low={min(ratios):.2f} "
          f"high={max(ratios):.2f} rounds={args.rounds} one_per_s={statistics.median(ones):.2f} "
          f"many_per_s={statistics.median(manys):.2f} compiled={args.rounds * (args.single + args.many)} right={good}")


main()
