#!/usr/bin/env python3
"""Many rows in many shards: what the plan, a shard and the merge take.

usage: shard_scale.py [--rows N] [--shards N] [--run N] [--resume-rows N] [--merge-shards N] [--merge-rows N]

The defaults are 100 million rows in 1,000 shards, of which 8 are encoded, and a merge of 1,000 shards of 2,000 rows, which is killed 50
times. That takes about half an hour on two cores and 8 GB of disk. The worker is the tests' worker without a model
(build/bin/fake_worker).
"""
import argparse
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENCODE = ROOT / "build/bin/encode"
MOST_SUPERVISOR_BYTES = 100e6
MOST_JOB_BYTES = 1e6
SMALL_ROWS = 100_000
LONGER_START = 1.1  # a shard's worker may take this much longer to start than that of a small run
STARTS = 3
KILLS = 50
ATTEMPTS = 10 * KILLS  # a merge that is done before the signal comes does not count as killed
POLL_SECONDS = 0.005


def environment():
    return dict(os.environ, ENCODE_WORKER=str(ROOT / "build/bin/fake_worker"))


def rss(pid):
    """Returns the highest memory that a process has had, 0 if it has ended."""
    try:
        for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def run(folder, *words, watch=None):
    """Runs encode. Returns (seconds, the highest memory of the process)."""
    started = time.monotonic()
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen([ENCODE, *map(str, words)], cwd=folder, env=environment(), stdout=subprocess.DEVNULL, stderr=errors)
        highest = 0
        while process.poll() is None:
            highest = max(highest, rss(process.pid))
            if watch:
                watch(process)
            time.sleep(POLL_SECONDS)
        if process.returncode:
            errors.seek(0)
            sys.exit(f"{words} ended with {process.returncode}: {errors.read()[-1000:]}")
    return time.monotonic() - started, highest


def check(results, name, good, figures):
    results.append(good)
    print(f"{'PASS' if good else 'FAIL'}  {name}: {figures}", flush=True)


def write_rows(path, rows):
    with path.open("w") as file:
        for begin in range(0, rows, SMALL_ROWS):
            file.write("".join(f"row {number}\n" for number in range(begin, min(rows, begin + SMALL_ROWS))))


def write_config(folder, name, rows, chunk):
    write_rows(folder / f"{name}.txt", rows)
    (folder / f"{name}.yaml").write_text(f"semantic: {{model: {ROOT}/tests/data/models/bert, chunk_size: {chunk}, cache_dir: {name}}}\n"
                                         f"input: {{file: {name}.txt}}\n")


def largest_job(folder):
    """Returns a function that notes the size of the largest job.json of a run, and its memory."""
    found = {"job": 0, "worker": 0}

    def watch(process):
        for path in folder.glob("**/job*.json"):
            try:
                found["job"] = max(found["job"], path.stat().st_size)
            except OSError:
                pass
        try:
            children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        except OSError:  # the process has ended
            children = []
        found["worker"] = max([found["worker"], *map(rss, children)])
    return found, watch


def many_rows(folder, args, results):
    write_config(folder, "many", args.rows, 10_000)
    write_config(folder, "small", SMALL_ROWS, 10_000)
    seconds, memory = run(folder, "shards", "plan", "--config", "many.yaml", "--shards", args.shards)
    size = (folder / "many.txt").stat().st_size
    check(results, "shards plan", memory <= MOST_SUPERVISOR_BYTES * 2,
          f"{args.rows:,} rows ({size / 1e9:.2f} GB) in {seconds:.1f} s, {size / seconds / 1e6:.0f} MB/s, at most {memory / 1e6:.0f} MB")
    small = []
    for _ in range(STARTS):
        shutil.rmtree(folder / "small", ignore_errors=True)
        for output in folder.glob("small*.npy"):
            output.unlink()
        small.append(run(folder, "run", "--config", "small.yaml")[0])
    memories, jobs, workers, times = [], [], [], []
    for number in range(args.run):
        shard = number * (args.shards - 1) // max(1, args.run - 1)
        found, watch = largest_job(folder / f"many/shards/{shard:05}")
        seconds, memory = run(folder, "run", "--config", "many.yaml", "--shard", f"{shard}/{args.shards}", watch=watch)
        times.append(seconds)
        memories.append(memory)
        jobs.append(found["job"])
        workers.append(found["worker"])
    check(results, "memory of the supervisor", max(memories) <= MOST_SUPERVISOR_BYTES,
          f"at most {max(memories) / 1e6:.0f} MB; worker at most {max(workers) / 1e6:.0f} MB")
    check(results, "size of job.json", 0 < max(jobs) <= MOST_JOB_BYTES, f"at most {max(jobs):,} bytes")
    check(results, "a shard beside a run of as many rows", min(times) <= LONGER_START * min(small) + 0.2,
          f"{min(times):.2f} to {max(times):.2f} s for {args.rows // args.shards:,} rows; a run of {SMALL_ROWS:,} rows takes {min(small):.2f} s")


def running_threads(process):
    """Returns how many threads of a process run or wait for the disk, and whether it has a child process."""
    running, children = 0, False
    for task in pathlib.Path(f"/proc/{process.pid}/task").glob("*"):
        try:
            running += (task / "stat").read_text().rsplit(")", 1)[1].split()[0] in "RD"
            children = children or (task / "children").read_text() != ""
        except OSError:  # the thread has ended
            pass
    return running, children


def resume(folder, args, results):
    """A run whose last chunk is missing: it compares the hashes of all others before it starts a worker."""
    write_config(folder, "resumed", args.resume_rows, 10_000)
    misdeed = f"exit78:{args.resume_rows // 10_000 - 1}:1"
    stopped = subprocess.run([ENCODE, "run", "--config", "resumed.yaml", "--quiet"], cwd=folder, stderr=subprocess.DEVNULL,
                             env=environment() | {"FAKE_WORKER": misdeed}).returncode
    size = sum(path.stat().st_size for path in folder.glob("resumed/*_chunks/**/*.npy"))
    started, most, before_worker = time.monotonic(), 0, 0

    def watch(process):
        nonlocal most, before_worker
        running, children = running_threads(process)
        if not children and before_worker == 0:
            most = max(most, running)
        elif before_worker == 0:
            before_worker = time.monotonic() - started
    run(folder, "run", "--config", "resumed.yaml", watch=watch)
    check(results, "hashing of the chunks", stopped == 78 and most >= len(os.sched_getaffinity(0)),
          f"{size / 1e9:.2f} GB by {most} threads at a time; the worker started after {before_worker:.2f} s")


def kill_merges(folder, rng, seconds):
    """Kills merges at random moments of the time that a whole one takes until KILLS of them did not end. Returns how many did not."""
    killed = 0
    for _ in range(ATTEMPTS):
        if killed == KILLS:
            break
        for path in folder.glob("parts/*.parts.json"):
            path.unlink()  # so that the next merge has everything to check
        if rng.random() < 0.5:
            for path in folder.glob("parts/*-of-*.npy"):
                path.unlink()  # and everything to link
        process = subprocess.Popen([ENCODE, "merge", "--config", "parts.yaml", "--quiet"], cwd=folder, env=environment(),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(rng.random() * seconds)
        process.send_signal(signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
    return killed


def merge(folder, args, results):
    rng = random.Random(args.seed)
    write_config(folder, "parts", args.merge_shards * args.merge_rows, 1000)
    run(folder, "shards", "plan", "--config", "parts.yaml", "--shards", args.merge_shards)
    started = time.monotonic()
    for shard in range(args.merge_shards):
        run(folder, "run", "--config", "parts.yaml", "--shard", f"{shard}/{args.merge_shards}")
    print(f"      {args.merge_shards:,} shards of {args.merge_rows:,} rows encoded in {time.monotonic() - started:.0f} s", flush=True)
    whole, _ = run(folder, "merge", "--config", "parts.yaml", "--quiet")
    manifests = {path.name: path.read_bytes() for path in folder.glob("parts/*.parts.json")}
    killed = kill_merges(folder, rng, whole)
    seconds, memory = run(folder, "merge", "--config", "parts.yaml")
    same = manifests == {path.name: path.read_bytes() for path in folder.glob("parts/*.parts.json")}
    parts = sorted(folder.glob("parts/*-of-*.npy"))
    size = sum(path.stat().st_size for path in parts)
    started = time.monotonic()
    subprocess.run(["xargs", "-0", "-P", str(os.cpu_count()), "-n", "50", "sha256sum"], check=True, stdout=subprocess.DEVNULL,
                   input="\0".join(map(str, parts)).encode())
    hashing = time.monotonic() - started
    check(results, "merge", memory <= MOST_SUPERVISOR_BYTES and len(parts) == args.merge_shards and same and killed == KILLS,
          f"{len(parts):,} parts, {size / 1e9:.2f} GB in {seconds:.1f} s, at most {memory / 1e6:.0f} MB; hashing alone {hashing:.1f} s; "
          f"{killed} merges were killed before it; the manifest has {'the same' if same else 'OTHER'} bytes")
    verified, _ = run(folder, "verify", *folder.glob("parts/*.parts.json"))
    check(results, "verify", True, f"{verified:.1f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--shards", type=int, default=1000)
    parser.add_argument("--run", type=int, default=8)
    parser.add_argument("--merge-shards", type=int, default=1000)
    parser.add_argument("--merge-rows", type=int, default=2000)
    parser.add_argument("--resume-rows", type=int, default=4_000_000)
    parser.add_argument("--seed", type=int, default=34)
    args = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory(prefix="shard_scale_") as folder:
        folder = pathlib.Path(folder)
        if args.rows:
            many_rows(folder, args, results)
        if args.resume_rows:
            resume(folder, args, results)
        if args.merge_shards:
            merge(folder, args, results)
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
