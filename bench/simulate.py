#!/usr/bin/env python3
"""Search strategies on recorded spaces, side by side in one run: ours (kernwright simulate), Kernel Tuner's in its simulation
mode, and pyATF's with a cost function that looks times up.

Every run counts different configurations that were evaluated, failures included; a strategy that stops early keeps its last
result; where nothing valid was found yet, the worst valid time stands. Ratios, intervals and scores of all strategies come
from the functions below, whoever ran them. The score is that of docs/replay.md, in evaluations; runs for it
have a budget of their own. Kernel Tuner runs with its default options but for `genetic_tuned`, whose options were tuned in
the methodology's own study (single_point, population 20, 150 generations, mutation 1 in 5).

Needs PyPI's kernel-tuner and pyatf, for instance in a virtual environment under build/:
    python3 -m venv build/peers && build/peers/bin/pip install kernel-tuner pyatf
    build/peers/bin/python bench/simulate.py --seeds 50

usage: bench/simulate.py [--kernwright PROGRAM] [--spaces FOLDER] [--seeds 50] [--at 25,50,100,200] [--ours NAMES]
                         [--theirs NAMES] [--score] [--jobs N] [--files PART,..] [--out FILE] [--limit 300]
                         [--seeds-of NAME=N,..]
--ours and --theirs take names, "all", or "none". --out keeps all curves as JSON. --limit ends one run of a peer after so many
seconds of processor time: what it had evaluated by then counts, and the number of such runs is printed. --seeds-of gives a slow
strategy fewer seeds than the others; its interval is the wider for it.
Last line: simulate: key=value ...
"""
import argparse
import contextlib
import glob
import gzip
import io
import json
import math
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
import warnings

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
CUTOFF, START, RESAMPLES = 0.95, 0.01, 2000

THEIRS = {
    "random_sample": ("random_sample", {"fraction": 1}),
    "genetic_algorithm": ("genetic_algorithm", {}),
    "genetic_tuned": ("genetic_algorithm", {"method": "single_point", "popsize": 20, "maxiter": 150, "mutation_chance": 5}),
    "simulated_annealing": ("simulated_annealing", {}),
    "pso": ("pso", {}),
    "diff_evo": ("diff_evo", {}),
    "firefly_algorithm": ("firefly_algorithm", {}),
    "mls": ("mls", {}),
    "greedy_mls": ("greedy_mls", {}),
    "ordered_greedy_mls": ("ordered_greedy_mls", {}),
    "greedy_ils": ("greedy_ils", {}),
    "basinhopping": ("basinhopping", {}),
    "dual_annealing": ("dual_annealing", {}),
    "bayes_opt": ("bayes_opt", {}),
    "hybrid_vndx": ("hybrid_vndx", {}),
    "adaptive_tabu_greywolf": ("adaptive_tabu_greywolf", {}),
}
PYATF = {"pyatf_auc_bandit": "AUCBandit", "pyatf_simulated_annealing": "SimulatedAnnealing",
         "pyatf_differential_evolution": "DifferentialEvolution", "pyatf_pattern_search": "PatternSearch",
         "pyatf_torczon": "Torczon"}
SLOW = {"bayes_opt"}  # minutes per run of some hundred evaluations: only when named


# ---- recorded spaces ----

class Space:
    """A Kernel Tuner cache: times by configuration (None: failed), and what the tuner needs to replay it."""

    def __init__(self, path, work):
        self.path = path
        self.name = os.path.basename(path).removesuffix(".gz").removesuffix(".json").removesuffix(".kt")
        with (gzip.open if path.endswith(".gz") else open)(path, "rt") as f:
            self.data = json.load(f)
        self.keys = self.data["tune_params_keys"]
        self.times = {}
        for key, entry in self.data["cache"].items():
            t = entry["time"]
            good = isinstance(t, (int, float)) and math.isfinite(t) and t > 0
            self.times[key] = t if good else None
        valid = sorted(t for t in self.times.values() if t is not None)
        self.best, self.worst, self.median = valid[0], valid[-1], float(numpy.median(valid))
        self.valid = valid
        self.restrictions = self.find_restrictions()
        self.cache = os.path.join(work, self.name + ".json")
        self.write_cache()

    def find_restrictions(self):
        """The problem's own conditions, or else: what is recorded."""
        problem = os.path.join(os.path.dirname(self.path), "problems", self.name.split("__")[0] + ".T1.json")
        if os.path.exists(problem):
            with open(problem) as f:
                return [c["Expression"] for c in json.load(f)["ConfigurationSpace"].get("Conditions", [])]
        known = set(self.times)
        return lambda p: ",".join(str(p[k]) for k in self.keys) in known

    def write_cache(self):
        """Without the single runs, which no strategy looks at but which take most of the time to read."""
        slim = {k: v for k, v in self.data.items() if k != "cache"}
        keep = set(self.keys) | {"time", "compile_time", "verification_time", "benchmark_time", "strategy_time",
                                 "framework_time", "timestamp"}
        slim["cache"] = {key: {k: v for k, v in entry.items() if k in keep}
                         | ({"times": [entry["time"]]} if "times" in entry else {})
                         for key, entry in self.data["cache"].items()}
        with open(self.cache + ".new", "w") as f:
            json.dump(slim, f, indent=0)
        os.replace(self.cache + ".new", self.cache)
        del self.data["cache"]


# ---- Kernel Tuner ----

def curve_of(results, space, budget):
    """best/optimum after each different configuration."""
    seen, curve, best = set(), [], None
    for r in results:
        key = ",".join(str(r[k]) for k in space.keys)
        if key in seen or key not in space.times:
            continue
        seen.add(key)
        t = space.times[key]
        if t is not None and (best is None or t < best):
            best = t
        curve.append((best if best is not None else space.worst) / space.best)
        if len(curve) == budget:
            break
    last = curve[-1] if curve else space.worst / space.best
    return curve + [last] * (budget - len(curve))


class TimeUp(BaseException):
    """A run's own limit of time; no strategy's "except Exception" keeps it."""


@contextlib.contextmanager
def limited(seconds):
    """Raises TimeUp in the block after so many seconds of processor time, and again until it has got through."""
    def expire(_number, _frame):
        raise TimeUp
    signal.signal(signal.SIGPROF, expire)
    signal.setitimer(signal.ITIMER_PROF, seconds, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def run_kernel_tuner(space, name, budget, limit):
    """What was evaluated, in order, and whether the limit of time cut the run; the list is kept beside the tuner's own, which a
    cut run never returns."""
    from kernel_tuner import tune_kernel
    from kernel_tuner.runners.simulation import SimulationRunner
    strategy, options = THEIRS[name]
    size = space.data["problem_size"]
    results, original = [], SimulationRunner.run

    def run(self, *args):
        found = original(self, *args)
        results.extend(r for r in found if r)
        return found

    SimulationRunner.run = run
    try:
        with limited(limit):
            tune_kernel(
                space.data["kernel_name"], "__global__ void k() {}", tuple(size) if isinstance(size, list) else size, [],
                space.data["tune_params"], restrictions=space.restrictions, cache=space.cache, simulation_mode=True,
                strategy=strategy, strategy_options=dict(options, max_fevals=budget), quiet=True)
    except TimeUp:
        return results, True
    finally:
        SimulationRunner.run = original
    return results, False


# ---- pyATF ----

class Enough(Exception):
    """The budget is spent."""


def recorded_conditions(space):
    """One condition for each parameter but the first: that something recorded begins with the values chosen so far. They admit
    what is recorded and nothing else, in a form that names what it needs."""
    rows = [key.split(",") for key in space.times]
    for i in range(1, len(space.keys)):
        known = {tuple(row[:i + 1]) for row in rows}
        yield space.keys[i], eval(f"lambda {', '.join(space.keys[:i + 1])}: "
                                  f"({', '.join(f'str({k})' for k in space.keys[:i + 1])}) in known", {"known": known})


def pyatf_parameters(space):
    """Each condition belongs to the last parameter that it names, which is where pyATF evaluates it."""
    from pyatf import TP, Set
    constraints, last = {}, {}
    if callable(space.restrictions):
        constraints = dict(recorded_conditions(space))
    else:
        for text in space.restrictions:
            code = compile(text, "condition", "eval")
            names = [k for k in space.keys if k in code.co_names]
            last.setdefault(names[-1], []).append((text, names))
    for k, conditions in last.items():
        text = " and ".join(f"({c})" for c, _ in conditions)
        names = [n for n in space.keys if any(n in used for _, used in conditions)]
        constraints[k] = eval(f"lambda {', '.join(names)}: {text}")  # the text of the problem file
    return [TP(k, Set(*space.data["tune_params"][k]), constraints.get(k)) for k in space.keys]


def run_pyatf(space, name, budget, limit):
    import pyatf.search_techniques
    from pyatf import Tuner
    from pyatf.tuning_data import CostFunctionError
    seen, asked = {}, 0

    def cost(config):
        nonlocal asked
        asked += 1
        if len(seen) >= budget or asked > 50 * budget:
            raise Enough
        key = ",".join(str(config[k]) for k in space.keys)
        seen.setdefault(key, dict(config))
        if space.times[key] is None:
            raise CostFunctionError("failed")
        return space.times[key]

    tuner = Tuner().tuning_parameters(*pyatf_parameters(space)).verbosity(0)
    try:
        with limited(limit), contextlib.suppress(Enough):
            tuner.search_technique(getattr(pyatf.search_techniques, PYATF[name])()).tune(cost)
    except TimeUp:
        return seen.values(), True
    return seen.values(), False


# ---- both ----

def replay(task):
    """One strategy on one space with one seed; returns (task's key, curve, whether the time was up, error)."""
    key, space, name, budget, seed, limit = task
    random.seed(seed)
    numpy.random.seed(seed)
    sink = io.StringIO()
    try:
        with contextlib.redirect_stdout(sink), contextlib.redirect_stderr(sink), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results, cut = (run_pyatf if name in PYATF else run_kernel_tuner)(space, name, budget, limit)
    except Exception as e:  # a peer's failure is a result, not the end of the run
        return key, None, False, f"{type(e).__name__}: {e}"
    return key, curve_of(results, space, budget), cut, None


def run_theirs(spaces, names, budgets, seeds, jobs, what, limit):
    """{(strategy, space): array of seeds x budget}; a strategy that fails on a space is left out there, and reported.
    seeds: number by strategy. The longest budgets first, so that no core waits for them at the end."""
    tasks = [((name, i), space, name, budgets[i], seed, limit)
             for i, space in sorted(enumerate(spaces), key=lambda s: -budgets[s[0]])
             for name in names for seed in range(seeds[name])]
    curves, errors, cuts, start = {}, {}, {}, time.monotonic()
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        for done, (key, curve, cut, error) in enumerate(pool.imap_unordered(replay, tasks, chunksize=1)):
            cuts[key] = cuts.get(key, 0) + cut
            if error:
                errors.setdefault(key, error)
            else:
                curves.setdefault(key, []).append(curve)
            if done % 100 == 99:
                print(f"  {what}: {done + 1} of {len(tasks)} runs, {time.monotonic() - start:.0f} s", file=sys.stderr)
    for (name, i), error in sorted(errors.items()):
        print(f"  {name} on {spaces[i].name}: left out, {error.splitlines()[0][:200]}", file=sys.stderr)
    for (name, i), n in sorted(cuts.items()):
        if n:
            print(f"{what}: {n} runs of {name} on {spaces[i].name} ended after {limit:g} s of processor time; what they had by then counts")
    return {k: numpy.array(v) for k, v in curves.items() if k not in errors}


# ---- ours ----

def run_ours(program, spaces, names, at, seeds, jobs, score):
    argv = [program, "simulate", *[s.path for s in spaces], "--strategy", names, "--at", ",".join(map(str, at)), "--repeat",
            str(seeds), "--jobs", str(jobs), "--json", "--curves"] + (["--score"] if score else [])
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    index = {s.name: i for i, s in enumerate(spaces)}
    runs, scored, last = {}, {}, {}
    for entry in json.loads(done.stdout):
        key = ("our " + entry["strategy"], index[entry["space"]])
        runs[key] = numpy.array(entry["curves"])
        if score:
            scored[key] = numpy.array(entry["score_curves"])
            last[key[1]] = entry["score_evaluations"]
    return runs, scored, last


# ---- figures: the same for all ----

def expected_place(m, n):
    return min(n - 1, round(m * (n + 1) / (m + 1)))


def evaluations_to(i, n):
    return -(-i // (n + 1 - i))


def score_rule(space):
    """First and last evaluation, and the baseline's time over the optimum at each of them from 1 on."""
    worst_first = space.valid[::-1]
    n, gap = len(worst_first), space.median - space.best
    if gap <= 0:
        return 1, 0, []
    place = lambda limit: next(i for i, t in enumerate(worst_first) if t <= limit)
    first = max(1, evaluations_to(place(space.median - START * gap), n))
    last = evaluations_to(place(space.median - CUTOFF * gap), n)
    while last >= first and worst_first[expected_place(last, n)] <= space.best:
        last -= 1
    return first, last, [worst_first[expected_place(m, n)] / space.best for m in range(1, last + 1)]


def scores_of(curves, rule):
    first, last, baseline = rule
    b = numpy.array(baseline[first - 1:last])
    return ((b - curves[:, first - 1:last]) / (b - 1)).mean(axis=1)


def resampled(x, rng):
    return x[rng.integers(0, len(x), (RESAMPLES, len(x)))].mean(axis=1)


def interval(samples):
    return float(numpy.percentile(samples, 2.5)), float(numpy.percentile(samples, 97.5))


def geometric_mean(per_space):
    """Of the spaces' means over seeds, with the bootstrap interval; per_space: one array of seeds each."""
    rng = numpy.random.default_rng(1)
    logs = sum(numpy.log(resampled(x, rng)) for x in per_space) / len(per_space)
    return math.exp(sum(math.log(x.mean()) for x in per_space) / len(per_space)), tuple(map(math.exp, interval(logs)))


def mean_score(per_space):
    rng = numpy.random.default_rng(1)
    samples = sum(resampled(x, rng) for x in per_space) / len(per_space)
    return float(sum(x.mean() for x in per_space) / len(per_space)), interval(samples), samples


def cells(curves, name, n_spaces):
    found = [curves.get((name, i)) for i in range(n_spaces)]
    return None if any(c is None for c in found) else found


def report(spaces, names, curves, at, scored, rules):
    figures = {}
    width = max(map(len, names)) + 2
    print(f"{'strategy':{width}}" + "".join(f"{'at ' + str(k):>24}" for k in at) + (f"{'score':>26}" if scored else ""))
    for name in names:
        found = cells(curves, name, len(spaces))
        if not found:
            print(f"{name:{width}}  incomplete")
            continue
        row, f = "", {}
        for k in at:
            mean, (lo, hi) = geometric_mean([c[:, min(k, c.shape[1]) - 1] for c in found])
            f[k] = mean
            row += f"{mean:.3f} [{lo:.3f}, {hi:.3f}]".rjust(24)
        found = cells(scored, name, len(spaces)) if scored else None
        if found:
            parts = [scores_of(c, rules[i]) for i, c in enumerate(found) if rules[i][1] >= rules[i][0]]
            f["score"], (lo, hi), f["samples"] = mean_score(parts)
            row += f"{f['score']:.3f} [{lo:.3f}, {hi:.3f}]".rjust(26)
        figures[name] = f
        print(f"{name:{width}}{row}")
    return figures


def report_spaces(spaces, names, curves, at):
    for k in at:
        print(f"\nbest/optimum at {k}, mean of the seeds")
        print(f"{'space':28}" + "".join(f"{n.removeprefix('our ')[:14]:>15}" for n in names))
        for i, s in enumerate(spaces):
            found = [curves.get((n, i)) for n in names]
            print(f"{s.name:28}" + "".join(
                f"{'-' if c is None else format(c[:, min(k, c.shape[1]) - 1].mean(), '.3f'):>15}" for c in found))


# ---- the whole ----

def last_line(figures, at, spaces, seeds, version):
    ours = {n: f for n, f in figures.items() if n.startswith("our ")}
    theirs = {n: f for n, f in figures.items() if not n.startswith("our ")}
    auto = ours.get("our auto")
    parts = [f"spaces={len(spaces)}", f"seeds={seeds}", f"kernel_tuner={version}"]
    for k in at:
        if auto:
            parts.append(f"auto_{k}={auto[k]:.4f}")
        if theirs:
            best = min(theirs, key=lambda n: theirs[n][k])
            parts.append(f"best_peer_{k}={best}:{theirs[best][k]:.4f}")
    scored = {n: f for n, f in theirs.items() if "score" in f}
    if auto and "score" in auto:
        parts.append(f"auto_score={auto['score']:.4f}")
    if scored:
        best = max(scored, key=lambda n: scored[n]["score"])
        parts.append(f"best_peer_score={best}:{scored[best]['score']:.4f}")
        if auto and "score" in auto:
            lo, hi = interval(auto["samples"] - numpy.random.default_rng(2).permutation(scored[best]["samples"]))
            parts.append(f"score_difference={auto['score'] - scored[best]['score']:.4f}[{lo:.4f},{hi:.4f}]")
    print("\nsimulate: " + " ".join(parts))


def choose(text, known, slow=()):
    if text == "none":
        return []
    names = [n for n in known if n not in slow] if text == "all" else text.split(",")
    for n in names:
        if n not in known:
            sys.exit(f"simulate.py: unknown strategy '{n}'; there are: {', '.join(known)}")
    return names


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--kernwright", default=os.path.join(ROOT, "build", "kernwright"))
    p.add_argument("--spaces", default=os.path.join(ROOT, "..", "shared", "data", "spaces"))
    p.add_argument("--seeds", type=int, default=50)
    p.add_argument("--at", default="25,50,100,200")
    p.add_argument("--ours", default="all")
    p.add_argument("--theirs", default="all")
    p.add_argument("--files", default="", help="only spaces whose names have one of these parts")
    p.add_argument("--score", action="store_true")
    p.add_argument("--limit", type=float, default=300)
    p.add_argument("--seeds-of", default="")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--work", default=os.path.join(ROOT, "build", "peers-data"))
    p.add_argument("--out")
    args = p.parse_args()
    sys.path[:] = [d for d in sys.path if os.path.abspath(d or ".") != HERE]  # bench/kernel_tuner.py has the module's name
    at = sorted(map(int, args.at.split(",")))
    os.makedirs(args.work, exist_ok=True)
    paths = sorted(glob.glob(os.path.join(args.spaces, "*.kt.json*")))
    spaces = [Space(f, args.work) for f in paths if any(part in f for part in args.files.split(","))]
    if not spaces:
        sys.exit(f"simulate.py: no recorded spaces (*.kt.json, *.kt.json.gz) in {args.spaces}")
    names = choose(args.theirs, [*THEIRS, *PYATF], SLOW)
    version = "none"
    if names:
        import importlib.metadata
        version = importlib.metadata.version("kernel-tuner")
    curves, scored, last = {}, {}, {}
    rules = [score_rule(s) for s in spaces]
    if args.ours != "none":
        curves, scored, last = run_ours(os.path.abspath(os.path.join(ROOT, args.kernwright)), spaces, args.ours, at,
                                        args.seeds, args.jobs, args.score)
        for i, evaluations in last.items():
            assert evaluations == rules[i][1], f"{spaces[i].name}: two rules for the score"
    seeds = {n: args.seeds for n in names}
    for part in filter(None, args.seeds_of.split(",")):
        name, _, number = part.partition("=")
        if name not in seeds or not number.isdigit() or int(number) < 1:
            sys.exit(f"simulate.py: --seeds-of '{part}': give a strategy that runs, '=', and a number of seeds")
        seeds[name] = int(number)
    curves |= run_theirs(spaces, names, [max(at)] * len(spaces), seeds, args.jobs, "ratios", args.limit)
    if args.score:
        budgets = [max(1, r[1]) for r in rules]
        scored |= run_theirs(spaces, names, budgets, seeds, args.jobs, "scores", args.limit)
    if args.out:
        with open(args.out, "w") as f:
            json.dump({"spaces": [s.name for s in spaces],
                       "curves": [[n, i, c.tolist()] for (n, i), c in curves.items()],
                       "score_curves": [[n, i, c.tolist()] for (n, i), c in scored.items()]}, f)
    everyone = list(dict.fromkeys(n for n, _ in curves))
    report_spaces(spaces, everyone, curves, at)
    print(f"\nbest/optimum, geometric mean over {len(spaces)} spaces, {args.seeds} seeds, 95% intervals; "
          f"Kernel Tuner {version}")
    figures = report(spaces, everyone, curves, at, scored, rules)
    last_line(figures, at, spaces, args.seeds, version)


if __name__ == "__main__":
    main()
