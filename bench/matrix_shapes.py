#!/usr/bin/env python3
"""Draws the shapes of a recorded matrix: usage matrix_shapes.py COUNT LARGEST SEED > FILE

Of every 16 shapes of a product: 6 log-uniform in each dim, 4 skinny (one or two dims are small), 3 of odd sizes, 3 square.
Dims are 1..LARGEST; shapes of over 2^37 operations (4096^3) are drawn again, so that one run stays below some
milliseconds. `count` is how often the shape is wanted, log-uniform in 1..1000.
"""
import json
import random
import sys


def log_uniform(rng, low, high):
    return int(round(low * (high / low) ** rng.random()))


def draw(rng, kind, largest):
    small, big = max(1, largest // 128), max(2, largest // 16)
    dims = [log_uniform(rng, 1, largest) for _ in range(3)]
    if kind == "skinny":
        thin = rng.randrange(5)  # M, N, K, or two of them
        dims = [log_uniform(rng, big, largest) for _ in range(3)]
        for i in ([0], [1], [2], [0, 1], [1, 2])[thin]:
            dims[i] = log_uniform(rng, 1, small)
        dims = [d + d % 2 if d > 8 else d for d in dims]
        dims = [min(largest, (d + 7) // 8 * 8) if d > small else d for d in dims]
    elif kind == "odd":
        dims = [log_uniform(rng, 16 if largest > 64 else 4, largest - 1) | 1 for _ in range(3)]
    elif kind == "square":
        side = log_uniform(rng, 16, min(largest, 4096))
        side = min(1 << (side - 1).bit_length(), largest) if rng.random() < 0.6 else (side + 7) // 8 * 8
        dims = [side] * 3
    else:
        # Half of the log-uniform ones are rounded to multiples of 4, as sizes in use mostly are.
        if rng.random() < 0.5:
            dims = [max(4, d // 4 * 4) for d in dims]
    return tuple(dims)


def main():
    count, largest, seed = (int(x) for x in sys.argv[1:4])
    rng = random.Random(seed)
    kinds = ["log"] * 6 + ["skinny"] * 4 + ["odd"] * 3 + ["square"] * 3
    seen = set()
    while len(seen) < count:
        m, n, k = shape = draw(rng, kinds[len(seen) % len(kinds)], largest)
        if shape in seen or 2 * m * n * k > 2 ** 37 or max(shape) > largest:
            continue
        seen.add(shape)
        print(json.dumps({"M": m, "N": n, "K": k, "count": log_uniform(rng, 1, 1000)}))


main()
