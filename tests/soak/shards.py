#!/usr/bin/env python3
"""Random faults on attempts at shards: whatever happens, the merged parts must have the bytes of one run.

usage: shards.py [TRIALS] [SEED]     the default is 100 trials, which take about five minutes on two cores

Each trial divides two streams into random shards. Several attempts at each shard are started and killed at random moments, some of
them at the same time (their lock is removed, as on a file system without locks). Between attempts a file of an earlier attempt may
lose its end or get another byte, as on a bad disk. Then every shard is encoded and the parts are merged, while an attempt that was
not killed may still publish. The worker is the tests' worker without a model (build/bin/fake_worker).
"""
import json
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
NPY_HEADER = 128
STREAMS = ("tc", "commit")


def encode(folder, *words, **options):
    environment = dict(os.environ, ENCODE_WORKER=str(ROOT / "build/bin/fake_worker"), **options.pop("environment", {}))
    return subprocess.Popen([ENCODE, *map(str, words)], cwd=folder, env=environment, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, **options)


def finish(process, allowed=(0,)):
    _, err = process.communicate()
    if process.returncode not in allowed:
        raise AssertionError(f"{' '.join(map(str, process.args))} ended with {process.returncode}:\n{err.decode()}")
    return process.returncode


def write_config(folder, name, cache, chunk):
    splits = ", ".join(f"{stream}: {stream}.jsonl" for stream in STREAMS)
    fields = ", ".join(f"{stream}: {{field: text}}" for stream in STREAMS)
    (folder / name).write_text(
        f"semantic: {{model: {ROOT}/tests/data/models/bert, chunk_size: {chunk}, cache_dir: {cache}}}\n"
        f"data: {{streams: {{{fields}}}, splits: {{train: {{{splits}}}}}}}\noutput: {{combine: [tc, commit]}}\n")


def damage_an_attempt(rng, folder):
    """Changes a file of an attempt that has not published its part."""
    shards = [shard for shard in folder.glob("shared/shards/*") if not (shard / "part.json").exists()]
    files = [path for shard in shards for path in shard.glob("attempt-*/**/*") if path.is_file() and path.stat().st_size]
    if not files:
        return
    path = rng.choice(files)
    content = bytearray(path.read_bytes())
    if rng.random() < 0.5:
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    else:
        del content[rng.randrange(len(content)):]
    path.write_bytes(content)  # also under its other names: attempts share files by hard links


def attempt_and_kill(rng, folder, shards):
    words = ["run", "--config", "shared.yaml", "--no-progress", "--shard"]
    running = []
    for _ in range(rng.randint(1, 3)):
        shard = rng.randrange(shards)
        if rng.random() < 0.5:  # as on a file system without locks
            (folder / f"shared/shards/{shard:05}/LOCK").unlink(missing_ok=True)
        running.append(encode(folder, *words, f"{shard}/{shards}", start_new_session=True,
                              environment={"FAKE_WORKER_SLOW_MS": str(rng.randint(0, 2))}))
    time.sleep(rng.random() * 0.5)
    for process in running:
        if rng.random() < 0.8:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        else:
            finish(process, allowed=(0, 65, 66, 74, 75))
    return len(running)


def take_lock_away(attempt, lock):
    """Deletes the lock of an attempt as soon as it has one, so that another attempt can work beside it."""
    while attempt.poll() is None:
        try:
            if f'"pid":{attempt.pid},' in lock.read_text():
                lock.unlink()
                return
        except OSError:
            pass
        time.sleep(0.001)


def rows_of(folder, cache, name, merged):
    if not merged:
        return (folder / cache / f"{name}_embeddings.npy").read_bytes()[NPY_HEADER:]
    listed = json.loads((folder / cache / f"{name}_embeddings.parts.json").read_text())
    return b"".join((folder / cache / part["file"]).read_bytes()[NPY_HEADER:] for part in listed["parts"])


def trial(seed):
    rng = random.Random(seed)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="encode-shards-"))
    rows, shards, chunk = rng.randint(50, 3000), rng.randint(1, 6), rng.choice((1, 7, 40, 1000))
    if chunk == 1:
        rows = min(rows, 300)
    for stream in STREAMS:
        (folder / f"{stream}.jsonl").write_text(
            "".join(json.dumps({"text": f"{stream} {row} {rng.random()}"}) + "\n" for row in range(rows)))
    write_config(folder, "one.yaml", "one", chunk)
    write_config(folder, "shared.yaml", "shared", chunk)
    finish(encode(folder, "run", "--config", "one.yaml", "--no-progress"))
    finish(encode(folder, "shards", "plan", "--config", "shared.yaml", "--shards", shards))
    attempts = 0
    for _ in range(rng.randint(1, 5)):
        attempts += attempt_and_kill(rng, folder, shards)
        if rng.random() < 0.5:
            damage_an_attempt(rng, folder)
    late = encode(folder, "run", "--config", "shared.yaml", "--no-progress", "--shard", f"0/{shards}",
                  environment={"FAKE_WORKER_SLOW_MS": "2"})
    take_lock_away(late, folder / "shared/shards/00000/LOCK")
    for shard in range(shards):
        finish(encode(folder, "run", "--config", "shared.yaml", "--no-progress", "--shard", f"{shard}/{shards}"))
    finish(encode(folder, "merge", "--config", "shared.yaml"))
    finish(late, allowed=(0, 75))
    for name in ("train_tc", "train_commit", "train_combined"):
        if rows_of(folder, "one", name, False) != rows_of(folder, "shared", name, True):
            raise AssertionError(f"{folder}: {name} has other bytes than one run")
        finish(encode(folder, "verify", f"shared/{name}_embeddings.parts.json"))
    shutil.rmtree(folder)
    return attempts


def main():
    if sys.argv[1:2] in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    trials = int(sys.argv[1]) if sys.argv[1:] else 100
    seed = int(sys.argv[2]) if sys.argv[2:] else 1
    failed = attempts = 0
    for number in range(seed, seed + trials):
        try:
            attempts += trial(number)
        except AssertionError as error:
            failed += 1
            print(f"trial {number}: {error}", flush=True)
    print(f"{trials} trials, {attempts} attempts with faults, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
