#!/usr/bin/env python3
"""Parts of bench/more_shapes.sh: reads a recorded matrix.

more_shapes.py shapes MATRIX                     its shapes, as lines of a shapes file
more_shapes.py new MATRIX < SHAPES               those of the lines whose shape it does not have
more_shapes.py pick MATRIX COUNT ROWS SHAPES     writes the rows of its COUNT most useful general configurations on a few
                                                 shapes that together each of them runs on, and those shapes

A configuration is the more useful the more shapes it comes near to the best on: the sum of exp(-(time/best - 1) / 0.05).
"""
import gzip
import json
import math
import sys


def rows_of(path):
    with gzip.open(path, "rt") as f:
        for line in f:
            row = json.loads(line).get("measurement")
            if row and row["outcome"] == "ok" and row["verified"] == "general":
                yield line, row


def dims_of(row):
    return json.dumps(row["shape"])


def useful(path, count):
    times = {}
    for _, row in rows_of(path):
        times.setdefault(dims_of(row), {})[row["source_hash"]] = row["median_ns"]
    score = {}
    for by_hash in times.values():
        best = min(by_hash.values())
        for key, ns in by_hash.items():
            score[key] = score.get(key, 0) + math.exp(-(ns / best - 1) / 0.05)
    picked = set(sorted(score, key=lambda key: (-score[key], key))[:count])
    shapes, left = [], set(picked)
    while left:
        shapes.append(max(sorted(times), key=lambda shape: len(left & times[shape].keys())))
        left -= times[shapes[-1]].keys()
    return picked, shapes


def main():
    what, matrix = sys.argv[1:3]
    if what == "pick":
        picked, shapes = useful(matrix, int(sys.argv[3]))
        with open(sys.argv[4], "w") as f:
            f.write('{"kernwright":"results","schema":1}\n')
            f.writelines(line for line, row in rows_of(matrix)
                         if row["source_hash"] in picked and dims_of(row) in shapes)
        with open(sys.argv[5], "w") as f:
            f.writelines(shape + "\n" for shape in shapes)
        return
    known = {dims_of(row): row for _, row in rows_of(matrix)}
    if what == "shapes":
        for shape in known:
            print(shape)
        return
    sizes = {tuple(sorted(json.loads(shape).items())) for shape in known}
    for line in sys.stdin:
        shape = json.loads(line)
        shape.pop("count", None)
        if tuple(sorted(shape.items())) not in sizes:
            sys.stdout.write(json.dumps(shape) + "\n")


main()
