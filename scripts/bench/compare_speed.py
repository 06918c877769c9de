#!/usr/bin/env python3
"""Times encode and its peers on the same rows, compares their outputs, and prints a Markdown table.

    compare_speed.py --encode build/bin/encode --model DIR --input rows.jsonl --threads N [--dtype float32,bfloat16]
                     [--peers st,ort,openvino,..] [--runs 3] [--min-ratio 1.5] [--min-ratio ort=2]

For encode the whole command is timed: start, load, read, tokenize, encode, commit, sync. For a peer only read, tokenize
and encode are timed, with a model that is loaded and warm. This favours the peer, but needs no clock inside encode.
The runs are in turns. Each turn runs every contestant once, so the ratio of a turn compares two runs that are close in time.

Each matrix is compared with the matrix of the first float32 contestant. Float32 may differ by 1e-4; other types must have
a cosine of at least 0.95 in every row. The exit code is 1 if a matrix is wrong or --min-ratio is missed.
"""
import argparse
import json
import os
import pathlib
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field

import numpy as np

import peer

HERE = pathlib.Path(__file__).resolve().parent
# {name: (program of peer.py, flags, the type of encode that it competes with)}
PEERS = {
    "st": ("sentence-transformers", ("--dtype", "float32"), "float32"),
    "st-bf16": ("sentence-transformers", ("--dtype", "bfloat16"), "bfloat16"),
    "ort": ("onnxruntime", ("--dtype", "float32"), "float32"),
    "openvino": ("openvino", ("--dtype", "float32"), "float32"),
    "openvino-bf16": ("openvino", ("--dtype", "bfloat16"), "bfloat16"),
    "openvino-int8": ("openvino", ("--dtype", "int8"), "int8"),
    "llama-f16": ("llama-cpp", ("--dtype", "f16"), "bfloat16"),
    "llama-q8": ("llama-cpp", ("--dtype", "q8_0"), "int8"),
    "ct2": ("ctranslate2", ("--dtype", "float32"), "float32"),
    "ct2-int8": ("ctranslate2", ("--dtype", "int8"), "int8"),
}
FLOAT32_DIFFERENCE = 1e-4
OTHER_COSINE = 0.95


@dataclass
class Contestant:
    name: str
    dtype: str  # the type of encode; for a peer the type that it competes with
    ours: bool  # True for encode, False for a peer
    seconds: list = field(default_factory=list)
    cpu_seconds: list = field(default_factory=list)
    load_seconds: float = 0
    peak_bytes: int = 0
    settings: str = ""
    agreement: str = ""

    def float32(self):
        return self.dtype == "float32"


class CannotRun(Exception):
    """The processor lacks what a peer needs. The text is the reason."""


def machine(threads):
    cpu = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")),
               platform.machine())
    return f"{cpu}, {threads} threads"


def checked(command, threads):
    """Runs the command. Returns its standard output, wall-clock seconds and processor seconds."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "RAYON_NUM_THREADS": str(threads)}
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=environment)
    seconds, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    if result.returncode == peer.CANNOT:
        raise CannotRun(result.stdout.strip())
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{result.stdout[-2000:]}{result.stderr[-2000:]}\n"
                 f"exit code {result.returncode}")
    return result.stdout, seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def common_flags(args):
    flags = ["--model", args.model, "--input", args.input, "--field", "text", "--device", args.device, "--threads",
             args.threads]
    return flags + (["--max-length", args.max_length] if args.max_length else [])


def run_ours(args, contestant, folder):
    output = folder / "ours.npy"
    _, seconds, cpu_seconds = checked(
        [args.encode, "run", *common_flags(args), "--dtype", contestant.dtype, "--cache-dir", folder / "cache",
         "--output", output, "--json", "--no-progress"], args.threads)
    contestant.settings = f"{contestant.dtype}; whole command with start and commit"
    return {"seconds": seconds, "cpu_seconds": cpu_seconds, "load_seconds": 0, "peak_rss_bytes": 0}, output


def run_peer(args, contestant, folder):
    program, flags, _ = PEERS[contestant.name]
    output = folder / "peer.npy"
    out, _, _ = checked([sys.executable, HERE / "peer.py", program, *common_flags(args), *flags, "--work", args.work,
                         "--output", output], args.threads)
    said = json.loads(out.splitlines()[-1])
    contestant.settings = said["settings"] + "; read, tokenize, encode"
    return said, output


def turn(args, contestant, reference):
    """Runs the contestant once and compares its matrix with `reference`, the first float32 matrix. Returns the reference."""
    with tempfile.TemporaryDirectory() as folder:
        run = run_ours if contestant.ours else run_peer
        said, output = run(args, contestant, pathlib.Path(folder))
        matrix = np.load(output).astype(np.float64)
    contestant.seconds.append(said["seconds"])
    contestant.cpu_seconds.append(said["cpu_seconds"])
    contestant.load_seconds = said["load_seconds"]
    contestant.peak_bytes = max(contestant.peak_bytes, said["peak_rss_bytes"])
    if reference is None:
        return matrix if contestant.float32() else None
    contestant.agreement, good = agreement(matrix, reference, contestant)
    if not good:
        sys.exit(f"FAIL: {contestant.name} gives wrong embeddings of these rows: {contestant.agreement}")
    return reference


def agreement(matrix, reference, contestant):
    if matrix.shape != reference.shape:
        return f"shape {matrix.shape}, not {reference.shape}", False
    difference = np.abs(matrix - reference).max()
    cosine = ((matrix * reference).sum(axis=1) /
              (np.linalg.norm(matrix, axis=1) * np.linalg.norm(reference, axis=1))).min()
    good = difference <= FLOAT32_DIFFERENCE if contestant.float32() else cosine >= OTHER_COSINE
    return f"max difference {difference:.1e}, lowest cosine {cosine:.6f}", bool(good)


def ratios(ours, other):
    """Returns the ratio of the medians, and the smallest and largest ratio of a turn."""
    turns = [theirs / mine for mine, theirs in zip(ours.seconds, other.seconds)]
    return statistics.median(other.seconds) / statistics.median(ours.seconds), min(turns), max(turns)


def cpu_ratio(ours, other):
    """Returns the ratio of the medians of processor time. It is steadier than wall-clock time on a shared machine, but a
    thread that waits actively counts as working."""
    return statistics.median(other.cpu_seconds) / statistics.median(ours.cpu_seconds)


def table(contestants, rows, tokens):
    ours = [contestant for contestant in contestants if contestant.ours]
    heads = "".join(f" relative to {mine.name} (turns) |" for mine in ours)
    print(f"| | what is timed | seconds | median | CPU s | tokens/s |{heads} against the first float32 |")
    print("|---|---|---|---|---|---|" + "---|" * len(ours) + "---|")
    for contestant in contestants:
        median = statistics.median(contestant.seconds)
        cells = [contestant.name, contestant.settings, ", ".join(f"{value:.2f}" for value in contestant.seconds),
                 f"{median:.2f}", f"{statistics.median(contestant.cpu_seconds):.1f}", f"{tokens / median:,.0f}"]
        for mine in ours:
            middle, low, high = ratios(mine, contestant)
            cells.append("" if contestant.ours else f"**{middle:.2f}** ({low:.2f} to {high:.2f}), CPU "
                         f"{cpu_ratio(mine, contestant):.2f}")
        print(f"| {' | '.join(cells)} | {contestant.agreement or 'itself'} |")
    print(f"\n{rows:,} rows, {tokens:,} tokens. The peers' seconds leave out: " + ", ".join(
        f"{peer_.name} {peer_.load_seconds:.1f} s loading" for peer_ in contestants if not peer_.ours) + ".")


def check_ratios(args, contestants):
    """Exits if a peer misses --min-ratio against encode in the type that the peer competes with."""
    ours = {contestant.dtype: contestant for contestant in contestants if contestant.ours}
    limits = dict(wish.split("=") if "=" in wish else ("", wish) for wish in args.min_ratio)
    failures = []
    for contestant in contestants:
        limit = float(limits.get(contestant.name, limits.get("", 0)))
        if contestant.ours or limit == 0:
            continue
        mine = ours.get(contestant.dtype, next(iter(ours.values())))
        if (ratio := ratios(mine, contestant)[0]) < limit:
            failures.append(f"{contestant.name}: ratio {ratio:.2f} to {mine.name} is below {limit:g}")
    if failures:
        sys.exit("FAIL: " + "; ".join(failures))


def count_tokens(args):
    return [len(ids) for ids in peer.load_tokenizer(args)(peer.read_rows(args))]


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encode", required=True, help="the program")
    parser.add_argument("--model", type=pathlib.Path, required=True)
    parser.add_argument("--input", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True, help="a folder in which peers keep converted models")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32,bfloat16", help="types of encode")
    parser.add_argument("--peers", default="st,st-bf16,ort,openvino,ct2-int8", help=f"some of {', '.join(PEERS)}")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--max-length", type=int, default=0)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--min-ratio", action="append", default=[], metavar="R|PEER=R")
    args = parser.parse_args()
    args.field = "text"
    for name in filter(None, args.peers.split(",")):
        if name not in PEERS:
            parser.error(f"no peer '{name}'; there are {', '.join(PEERS)}")
    return args


def main():
    args = parse()
    contestants = [Contestant(f"encode {dtype}", dtype, True) for dtype in args.dtype.split(",")]
    contestants += [Contestant(name, PEERS[name][2], False) for name in args.peers.split(",") if name]
    # Float32 comes first, because the other matrices are compared with it.
    contestants.sort(key=lambda contestant: not contestant.float32())
    args.work.mkdir(parents=True, exist_ok=True)
    reference = None
    for number in range(args.runs):
        for contestant in list(contestants):
            try:
                reference = turn(args, contestant, reference)
            except CannotRun as reason:
                print(f"{contestant.name} is left out: {reason}\n")
                contestants.remove(contestant)
                continue
            print(f"turn {number + 1}: {contestant.name} {contestant.seconds[-1]:.2f} s", file=sys.stderr, flush=True)
    lengths = count_tokens(args)
    contestants.sort(key=lambda contestant: not contestant.ours)
    print(f"{machine(args.threads)}; {args.device}; {args.model.name}; {args.input.stem}\n")
    table(contestants, len(lengths), sum(lengths))
    check_ratios(args, contestants)


if __name__ == "__main__":
    main()
