#!/usr/bin/env python3
"""An input of very many small files: what the plan, a shard, a run without shards, the merge and the status take.

usage: many_files.py [--files N] [--shards N]

The defaults are 100,000 files of three rows in 8 shards. The memory is compared with that of one file with the same rows. The worker is
the tests' worker without a model (build/bin/fake_worker).
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

from shard_scale import ENCODE, MOST_JOB_BYTES, ROOT, check, environment, largest_job, run

ROWS_OF_FILE = 3
MOST_BYTES_OF_FILE = 100  # of the supervisor's memory
MOST_PLAN_BYTES = 100_000  # of shards.json, a scan.json and a manifest, which do not grow with the files


def write_inputs(folder, files):
    (folder / "in").mkdir()
    with (folder / "one.txt").open("w") as one:
        for number in range(files):
            rows = "".join(f"row {number} {row} of a file\n" for row in range(ROWS_OF_FILE))
            (folder / f"in/part-{number:07}.txt").write_text(rows)
            one.write(rows)
    for name, file in (("many", "in/*.txt"), ("one", "one.txt")):
        model = f"{ROOT}/tests/data/models/bert, chunk_size: 10000"
        (folder / f"{name}.yaml").write_text(f"semantic: {{model: {model}, cache_dir: {name}}}\ninput: {{file: '{file}'}}\n")
        (folder / f"{name}_whole.yaml").write_text(f"semantic: {{model: {model}}}\ninput: {{file: '{file}'}}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--shards", type=int, default=8)
    args = parser.parse_args()
    results, peaks = [], {}
    with tempfile.TemporaryDirectory(prefix="many_files_") as folder:
        folder = pathlib.Path(folder)
        write_inputs(folder, args.files)
        for name in ("one", "many"):
            calls = {"plan": ("shards", "plan", "--config", f"{name}.yaml", "--shards", args.shards),
                     "shard": ("run", "--config", f"{name}.yaml", "--shard", f"0/{args.shards}"),
                     "same shard again": ("run", "--config", f"{name}.yaml", "--shard", f"0/{args.shards}"),
                     "status": ("status", "--config", f"{name}.yaml", "--json")}
            found, watch = largest_job(folder / name)
            for call, words in calls.items():
                seconds, peaks[name, call] = run(folder, *words, watch=watch)
                print(f"      {name}: {call} {seconds:.2f} s, {peaks[name, call] / 1e6:.1f} MB; worker {found['worker'] / 1e6:.0f} MB", flush=True)
            for shard in range(1, args.shards):
                run(folder, "run", "--config", f"{name}.yaml", "--shard", f"{shard}/{args.shards}")
            seconds, peaks[name, "merge"] = run(folder, "merge", "--config", f"{name}.yaml")
            print(f"      {name}: merge {seconds:.2f} s, {peaks[name, 'merge'] / 1e6:.1f} MB", flush=True)
            run(folder, "verify", next((folder / name).glob("*.parts.json")))
            whole, watch = largest_job(folder / f".{name}.npy.cache")
            seconds, peaks[name, "run"] = run(folder, "run", "--config", f"{name}_whole.yaml", "--output", f"{name}.npy", watch=watch)
            print(f"      {name}: run without shards {seconds:.2f} s, {peaks[name, 'run'] / 1e6:.1f} MB", flush=True)
            job = max(found["job"], whole["job"])
            check(results, f"{name}: size of job.json", 0 < job <= MOST_JOB_BYTES, f"at most {job:,} bytes")
        for call in ("plan", "shard", "same shard again", "status", "merge", "run"):
            more = (peaks["many", call] - peaks["one", call]) / args.files
            check(results, f"memory of a file, {call}", more <= MOST_BYTES_OF_FILE, f"{more:.0f} bytes")
        plan = [folder / "many/shards.json", *folder.glob("many/shards/*/scan.json"), folder / "many.npy.manifest.json",
                *folder.glob("many/*-of-*.manifest.json")]
        largest = max(path.stat().st_size for path in plan)
        check(results, "files of the plan and manifests", largest <= MOST_PLAN_BYTES, f"at most {largest:,} bytes")
        lists = [path.stat().st_size for path in (*folder.glob("many/*.input_files.jsonl"), *folder.glob(".*.input_files.jsonl"))]
        check(results, "the list of the files", len(lists) == 2, f"{max(lists) / args.files:.0f} bytes for each file")
        same = subprocess.run([ENCODE, "compare", "many.npy", "one.npy"], cwd=folder, env=environment(), stdout=subprocess.PIPE).returncode
        check(results, "the same vectors as of one file", same == 0, f"encode compare ended with {same}")
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
