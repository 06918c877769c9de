#!/usr/bin/env python3
"""Compares encode with its peers on the same rows: the speed of whole runs, the speed of the tokenizers alone, and two matrices.

    compare.py speed --encode build/bin/encode --model DIR --input rows.jsonl --threads N --work DIR [--dtype float32,bfloat16]
               [--peers st,ort,openvino,..] [--runs 3] [--min-ratio 1.5] [--min-ratio ort=2]
    compare.py tokenizers --tool build/bin/tokenize_lines --input rows.jsonl [--runs 3] [--min-ratio R] TOKENIZER.json..
    compare.py matrices OURS.npy REFERENCE.npy [--max-difference 1e-5] [--min-cosine 0.999]

`speed` times encode and its peers, compares their outputs, and prints a Markdown table. For encode the whole command is timed:
start, load, read, tokenize, encode, commit, sync. For a peer only read, tokenize and encode are timed, with a model that is loaded
and warm. This favours the peer, but needs no clock inside encode. The runs are in turns. Each turn runs every contestant once, so
the ratio of a turn compares two runs that are close in time.

Each matrix is compared with the matrix of the first float32 contestant. Float32 may differ by 1e-4; other types must have
a cosine of at least 0.95 in every row. Its exit code is 1 if a matrix is wrong or --min-ratio is missed.

`tokenizers` times encode's tokenizers and Hugging Face `tokenizers` (encode_batch_fast) in turns, both with one thread and then
both with two, and prints a Markdown table of medians. With one thread the table has the processor time, and with two threads the
wall-clock time. Loading is not timed for either.

`matrices` compares two matrices of embeddings. Its exit code is 1 if they differ by more than the tolerance.
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


def speed(args):
    args.field = "text"
    contestants = [Contestant(f"encode {dtype}", dtype, True) for dtype in args.dtype.split(",")]
    contestants += [Contestant(name, PEERS[name][2], False) for name in args.peers]
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


TOKENIZER_PEER = """
import json, sys, time
import tokenizers
tokenizer = tokenizers.Tokenizer.from_file(sys.argv[1])
tokenizer.no_padding()
tokenizer.no_truncation()
rows = [json.loads(line) for line in sys.stdin]
tokenizer.encode_batch_fast(rows[:200])
start, cpu = time.perf_counter(), time.process_time()
count = sum(len(encoding.ids) for encoding in tokenizer.encode_batch_fast(rows))
print(json.dumps(dict(wall=time.perf_counter() - start, cpu=time.process_time() - cpu, tokens=count)))
"""


def run_tokenizer(command, lines, **environment):
    with open(lines, "rb") as texts:
        result = subprocess.run(command, stdin=texts, capture_output=True, check=True, env={**os.environ, **environment})
    return json.loads(result.stdout)


def our_tokenizer(args, tokenizer, threads):
    return run_tokenizer([args.tool, tokenizer, "--time", "--threads", str(threads)], args.input)


def their_tokenizer(args, tokenizer, threads):
    return run_tokenizer([sys.executable, "-c", TOKENIZER_PEER, tokenizer], args.input, RAYON_NUM_THREADS=str(threads),
               TOKENIZERS_PARALLELISM="true" if threads > 1 else "false")


def tokenizer_seconds(args, tokenizer):
    """Returns {(side, threads): median seconds} and the number of tokens."""
    seconds, tokens = {}, set()
    for _ in range(args.runs):
        for threads in args.threads:
            for side, program in (("ours", our_tokenizer), ("theirs", their_tokenizer)):
                result = program(args, tokenizer, threads)
                seconds.setdefault((side, threads), []).append(result["cpu" if threads == 1 else "wall"])
                tokens.add(result["tokens"])
    if len(tokens) != 1:
        sys.exit(f"{tokenizer}: the numbers of tokens differ: {sorted(tokens)}")
    return {key: statistics.median(values) for key, values in seconds.items()}, tokens.pop()


def print_tokenizers(args, megabytes):
    print(f"{megabytes:.1f} MB of text, median of {args.runs} turns\n")
    print("| vocabulary | threads | ours MB/s | ours tokens/s | tokenizers MB/s | ratio | ours, relative to one thread |")
    print("|---|---|---|---|---|---|---|")
    worst = float("inf")
    for tokenizer in args.tokenizers:
        seconds, tokens = tokenizer_seconds(args, tokenizer)
        name = pathlib.Path(tokenizer).resolve().parent.name
        for threads in args.threads:
            mine, peer = seconds["ours", threads], seconds["theirs", threads]
            worst = min(worst, peer / mine)
            scaling = seconds["ours", args.threads[0]] / mine
            print(f"| {name} | {threads} | {megabytes / mine:.1f} | {tokens / mine:,.0f} | {megabytes / peer:.2f} | "
                  f"{peer / mine:.1f} | {scaling:.2f} |", flush=True)
    if worst < args.min_ratio:
        sys.exit(f"FAIL: ratio {worst:.2f} is below {args.min_ratio:g}")


def tokenizers(args):
    texts = [json.loads(line)["text"] for line in open(args.input, encoding="utf-8")]
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as lines:
        lines.writelines(json.dumps(text) + "\n" for text in texts)
        lines.flush()
        args.input = lines.name
        print_tokenizers(args, megabytes)


def matrices(args):
    ours, reference = (np.load(path).astype(np.float64) for path in (args.ours, args.reference))
    if ours.shape != reference.shape:
        sys.exit(f"FAIL: {args.ours} has shape {ours.shape}, {args.reference} has {reference.shape}")
    difference = np.abs(ours - reference).max(axis=1)
    norms = np.linalg.norm(ours, axis=1) * np.linalg.norm(reference, axis=1)
    cosine = (ours * reference).sum(axis=1) / np.maximum(norms, 1e-30)
    worst = int(difference.argmax())
    print(f"{ours.shape[0]} rows x {ours.shape[1]}: max |difference| {difference[worst]:.3g} (row {worst}), "
          f"min cosine {cosine.min():.9f} (row {int(cosine.argmin())})")
    # With these comparisons a NaN fails too.
    good = difference.max() <= args.max_difference and cosine.min() >= args.min_cosine
    if not good:
        sys.exit(f"FAIL: allowed are |difference| <= {args.max_difference:g} and cosine >= {args.min_cosine:g}")
    print("PASS")


def peers(text):
    names = [name for name in text.split(",") if name]
    if unknown := [name for name in names if name not in PEERS]:
        raise argparse.ArgumentTypeError(f"no peer '{unknown[0]}'; there are {', '.join(PEERS)}")
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    of_speed, of_tokenizers, of_matrices = (commands.add_parser(name) for name in ("speed", "tokenizers", "matrices"))
    of_speed.set_defaults(compare=speed)
    of_speed.add_argument("--encode", required=True, help="the program")
    of_speed.add_argument("--model", type=pathlib.Path, required=True)
    of_speed.add_argument("--input", type=pathlib.Path, required=True)
    of_speed.add_argument("--work", type=pathlib.Path, required=True, help="a folder in which peers keep converted models")
    of_speed.add_argument("--device", default="cpu")
    of_speed.add_argument("--dtype", default="float32,bfloat16", help="types of encode")
    of_speed.add_argument("--peers", type=peers, default="st,st-bf16,ort,openvino,ct2-int8", help=f"some of {', '.join(PEERS)}")
    of_speed.add_argument("--threads", type=int, required=True)
    of_speed.add_argument("--max-length", type=int, default=0)
    of_speed.add_argument("--runs", type=int, default=3)
    of_speed.add_argument("--min-ratio", action="append", default=[], metavar="R|PEER=R")
    of_tokenizers.set_defaults(compare=tokenizers)
    of_tokenizers.add_argument("tokenizers", nargs="+", metavar="TOKENIZER.json")
    of_tokenizers.add_argument("--tool", required=True, help="the program tokenize_lines")
    of_tokenizers.add_argument("--input", required=True, help="JSONL with a field 'text'")
    of_tokenizers.add_argument("--runs", type=int, default=3)
    of_tokenizers.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    of_tokenizers.add_argument("--min-ratio", type=float, default=0.0, help="fail below this ratio")
    of_matrices.set_defaults(compare=matrices)
    of_matrices.add_argument("ours")
    of_matrices.add_argument("reference")
    of_matrices.add_argument("--max-difference", type=float, default=1e-5)
    of_matrices.add_argument("--min-cosine", type=float, default=-1.0)
    args = parser.parse_args()
    args.compare(args)


if __name__ == "__main__":
    main()
