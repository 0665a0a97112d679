#!/usr/bin/env python3
"""Reads what bench/throughput.sh has written and prints the figures. usage: throughput.py FOLDER CONFIGURATIONS

A trace has an interval for every compile, verify and time stage; track 1 is the first timing worker, others are 901 and up; 2 and
up are compile workers, from 1000 on stands how long the device was at work for a candidate.
"""
import json
import os
import sys

FIRST_S = 5.0  # until contexts exist and the first candidates are compiled


def read_trace(path):
    with open(path, encoding="utf-8") as f:
        events = json.load(f)["traceEvents"]
    return [(e["name"], e["tid"], e["ts"] / 1e6, (e["ts"] + e["dur"]) / 1e6) for e in events]


def covered(intervals, begin, end):
    """Length of the union of intervals within begin..end."""
    total = 0.0
    at = begin
    for a, b in sorted(intervals):
        a, b = max(a, at), min(b, end)
        if b > a:
            total += b - a
            at = b
    return total


def read_json_lines(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f if line.startswith("{")]


def compile_ms_by_config(path):
    """First build of each configuration, in milliseconds."""
    found = {}
    for line in read_json_lines(path):
        m = line.get("measurement")
        if m and m.get("compile_ms", 0) > 0:
            found.setdefault((m["template"], json.dumps(m["config"])), m["compile_ms"])
    return found


def is_compiler(track):
    return 2 <= track < 900


def is_timing(track):
    return track == 1 or 900 <= track < 1000


def end_of_search(events, n):
    """When the n-th candidate was done: what comes after is choosing among the best, and verifying the winner."""
    verified = sorted((b, track) for what, track, _, b in events if is_timing(track) and what == "verify")[:n]
    if not verified:
        return 0
    begin, last = verified[0][0], verified[-1]
    timed = [b for what, track, a, b in events if what == "time" and begin <= a <= last[0] + 1 and track == last[1]]
    return max(timed + [last[0]])


def describe(folder, name, events, n):
    end = max(e[3] for e in events if is_timing(e[1]))
    search_end = end_of_search(events, n)
    wall = max(e[3] for e in events)
    parts = {}
    for what, track, a, b in events:
        who = "timing workers" if is_timing(track) else "compile workers" if is_compiler(track) else "device"
        parts.setdefault((who, what), []).append(b - a)
    for (who, what), list_ in sorted(parts.items()):
        if who == "device" and what != "device" or what == "expand":
            continue
        list_.sort()
        print(f"  {who:15s} {what:8s} {len(list_):5d} times {sum(list_):8.2f} s, median {1e3 * list_[len(list_) // 2]:8.1f} ms, "
              f"{100 * sum(list_) / wall:5.1f}% of the wall time")
    busy = [(a, b) for what, track, a, b in events if is_timing(track) and what in ("verify", "time")]
    span = end - FIRST_S
    figures = {"wall_s": wall, "search_s": search_end}
    if span > 0:
        figures["idle_percent"] = 100 * (1 - covered(busy, FIRST_S, end) / span)
    if search_end > FIRST_S:
        figures["search_idle_percent"] = 100 * (1 - covered(busy, FIRST_S, search_end) / (search_end - FIRST_S))
    smi = os.path.join(folder, f"{name}.smi")
    if os.path.exists(smi) and span > 0:
        with open(smi, encoding="utf-8") as f:
            samples = [float(line) for line in f if line.strip().replace(".", "").isdigit()]
        a_second = len(samples) / wall
        for key, until in (("smi_idle_percent", wall), ("smi_search_idle_percent", search_end)):
            part = samples[int(FIRST_S * a_second):int(until * a_second)]
            if part:
                figures[key] = 100 - sum(part) / len(part)
    return figures


def concurrency(events):
    compiles = [(a, b) for what, track, a, b in events if what == "compile" and is_compiler(track)]
    if not compiles:
        return 0, 0
    window = covered(compiles, min(a for a, _ in compiles), max(b for _, b in compiles))
    return sum(b - a for a, b in compiles) / window, len(compiles) / window


def main():
    folder, wanted = sys.argv[1], int(sys.argv[2])
    lines = read_json_lines(os.path.join(folder, "all.lines"))
    search = [x for x in lines if x.get("purpose") == "search"]
    verified = sum(x["outcome"] == "ok" for x in search)
    outcomes = {}
    for x in search:
        outcomes[x["outcome"]] = outcomes.get(x["outcome"], 0) + 1
    events = read_trace(os.path.join(folder, "all.trace"))
    figures = describe(folder, "all", events, len(search))
    figures = {"configurations": len(search), "verified": verified, **figures}
    many, rate = concurrency(events)
    figures["compiles_per_s"] = rate
    if os.path.exists(os.path.join(folder, "one.trace")):
        # Speed-up = compiles under way at once x how much slower one is beside the others, on the same configurations.
        alone, together = (compile_ms_by_config(os.path.join(folder, f"{n}.rows")) for n in ("one", "all"))
        shared = [c for c in alone if c in together]
        if shared:
            slower = sum(together[c] for c in shared) / sum(alone[c] for c in shared)
            print(f"  compiling: {many:.1f} at once, each {slower:.2f} times as long as alone ({len(shared)} configurations)")
            figures["compile_speedup"] = many / slower
    best = min((x["median_ns"] for x in search if x.get("median_ns")), default=0)
    print(f"  outcomes: {outcomes}; best {best / 1e3:.1f} us; asked for {wanted}")
    print("throughput: " + " ".join(f"{k}={v:.2f}" if isinstance(v, float) else f"{k}={v}" for k, v in figures.items()))


main()
