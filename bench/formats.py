#!/usr/bin/env python3
"""Whether other tuners accept what is written for them: T1 problems and T4 results.

Each template's space, written as T1, must pass Kernel Tuner's reader (which checks the JSON schema), and Kernel Tuner must
find the same configurations in it, one by one, where there are at most --most of them. Recorded results, written as T4, must
pass the schema that Kernel Tuner carries and hold the same times.

Needs PyPI's kernel-tuner (see bench/simulate.py); without it the last line says so and nothing is checked.

usage: bench/formats.py [--kernwright PROGRAM] [--most 200000]
Last line: formats: t1=.. configurations=.. t4=.. kernel_tuner=.., or formats: skipped=1
"""
import argparse
import glob
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)


def run(args, *argv):
    return subprocess.run([args.kernwright, *argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)


def check_problem(args, path, folder):
    """Returns how many configurations were compared, or None where the template cannot be written."""
    from kernel_tuner.file_utils import get_input_file
    from kernel_tuner.searchspace import Searchspace
    done = run(args, "space", path, "--format", "t1")
    if done.returncode != 0:
        print(f"{os.path.basename(path)}: not written: {done.stderr.strip()}")
        return None
    file = pathlib.Path(folder, "problem.json")
    file.write_text(done.stdout)
    problem = get_input_file(file)["ConfigurationSpace"]
    count = json.loads(run(args, "space", path, "--count", "--json").stdout)["count"]
    if int(count) > args.most:
        print(f"{os.path.basename(path)}: passes the schema; {count} configurations are too many to compare")
        return 0
    params = {p["Name"]: eval(p["Values"]) for p in problem["TuningParameters"]}
    space = Searchspace(params, [c["Expression"] for c in problem["Conditions"]], 1 << 30, block_size_names=["-"])
    theirs = {tuple(c) for c in space.list}
    lines = run(args, "space", str(file), "--list", "--json").stdout.splitlines()
    ours = {tuple(json.loads(line)[name] for name in params) for line in lines}
    assert ours == theirs and len(ours) == int(count), f"{path}: {len(ours)} configurations, Kernel Tuner has {len(theirs)}"
    print(f"{os.path.basename(path)}: {count} configurations, the same in Kernel Tuner")
    return int(count)


def check_results(args, path, folder):
    import jsonschema
    from kernel_tuner.file_utils import output_file_schema
    store = os.path.join(folder, "store.db")
    for argv in (["results", "import", path, "--store", store],
                 ["results", "export", "--format", "t4", "--store", store, "-o", os.path.join(folder, "t4.json")]):
        done = run(args, *argv)
        assert done.returncode == 0, done.stderr
    with open(os.path.join(folder, "t4.json")) as f:
        results = json.load(f)
    version, schema = output_file_schema("results")
    jsonschema.validate(results, schema)
    assert results["schema_version"] == version
    times = {}
    with open(path) as f:
        for line in f:
            m = json.loads(line).get("measurement")
            if m:
                times.setdefault(json.dumps(m["config"]), []).append(m.get("median_ns"))
    for r in results["results"]:
        known = times.pop(json.dumps(r["configuration"]))
        value = r["measurements"][0]["value"]
        if r["invalidity"] == "correct":
            assert min(known) / 1e6 * 0.999999 <= value <= max(known) / 1e6 * 1.000001, r
        else:
            assert isinstance(value, str) and None in known, r
    assert not times, f"not exported: {list(times)[:3]}"
    print(f"{os.path.basename(path)}: {len(results['results'])} results pass the schema {version}")


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--kernwright", default=os.path.join(ROOT, "build", "kernwright"))
    p.add_argument("--most", type=int, default=200000)
    args = p.parse_args()
    args.kernwright = os.path.abspath(args.kernwright)
    sys.path[:] = [d for d in sys.path if os.path.abspath(d or ".") != HERE]  # bench/kernel_tuner.py has the module's name
    try:
        import importlib.metadata
        import kernel_tuner  # noqa: F401
        version = importlib.metadata.version("kernel-tuner")
    except ImportError as e:
        print(f"nothing checked: {e}")
        print("formats: skipped=1")
        return
    problems = total = results = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted(glob.glob(os.path.join(ROOT, "templates", "*.cl"))):
            count = check_problem(args, path, folder)
            problems += count is not None
            total += count or 0
        for path in sorted(glob.glob(os.path.join(ROOT, "tests", "recorded", "searches", "*.results.jsonl"))):
            check_results(args, path, folder)
            results += 1
    print(f"formats: t1={problems} configurations={total} t4={results} kernel_tuner={version}")


if __name__ == "__main__":
    main()
