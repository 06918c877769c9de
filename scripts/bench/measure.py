#!/usr/bin/env python3
"""Measures encode alone: how long its stages take, and how a run's time grows with chunks, with batches and with rows.

    measure.py stages --encode build/bin/encode --model DIR --threads N --input rows.jsonl [--dtype float32,bfloat16] [--runs 3]
               [--seconds 4] [--min-share float32=0.8] [--device cuda]
    measure.py chunks --encode build/bin/encode --model DIR --threads N [--runs 5] [--dtype T] [--device D] rows.jsonl ..
    measure.py growth --encode build/bin/encode --model DIR --threads N [--dtype T] [--rows 1000,10000,100000,1000000]
               [--lengths 16,32,..,8192] [--tokens 200000]

Each command prints Markdown tables.

`stages` prints the figures of `encode bench`: how long each stage of a run takes, and how fast the run is compared with the
model's matrix products alone on the same threads. A share is the speed of the run divided by the speed of the matrix products
alone. The whole command includes start, loading and the sync of the final matrix. Encoding alone begins when the model is loaded.
The share per processor second leaves out waiting and hardly depends on other work of the machine. Its exit code is 1 if the share
of the whole command is below --min-share.

If the project has kernels for the processor, the matrix products use them. For comparison, the speed of LibTorch's products
(oneDNN with packed weights, fused bias and activation) on a few of the rows is then timed before and after the runs.

`chunks` runs for each file standard mode, chunks of 1,000 and chunks of 100 in turns. On a GPU it then runs batch_tokens of
1,024 to 16,384 in turns; on a CPU these values do not change a batch. On a CPU it times the whole command. On a GPU it times
encoding only, because the start takes seconds; one worker encodes all chunks, instead of a new one after 50 chunks. The overhead
of a run is its time minus the time of the standard run of the same turn, and the median over the turns counts.

A chunk costs what its commit costs: its file and the log are written and synced, which takes the disk the same time on every
device. A share of the run's time cannot be the limit, because a faster device encodes a chunk in less time. The limit is therefore
a time for each chunk, which the script measures on the same disk: it writes and syncs files of the size of a chunk as a commit
does. Commits overlap with encoding, so a run that waits for each of them, and does nothing meanwhile, is the worst. COMMITS is
above 1, because a chunk also has an event and its place in the log, and a disk is not always equally fast. SHARE is for the noise
of two runs.

Its exit code is 1 in these cases:
- a mode with chunks takes longer than this limit;
- the speed falls by more than 5 % from one batch_tokens to the next;
- two matrices of a file differ.

`growth` first encodes growing numbers of short rows in ten chunks, and prints the speed of each tenth of the last run. Then it
encodes rows of one length at a time, about --tokens tokens for each length. These rows are random ids, so the lengths are
exact. Lengths beyond the model's limit are left out.
"""
import argparse
import json
import os
import pathlib
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

MODES = {"standard": ("--standard",), "chunks of 1,000": ("--chunk-size", "1000"), "chunks of 100": ("--chunk-size", "100")}
CHUNK_ROWS = {"chunks of 1,000": 1000, "chunks of 100": 100}
COMMITS = 1.5
SHARE = 0.01
COMMIT_PROBES = 30
BATCH_TOKENS = (1024, 2048, 4096, 8192, 16384)
LARGEST_FALL = 0.05
ONE_WORKER = "hardware:\n  worker_chunks: 0\n"
SHORT_WORDS = ("fix", "add", "the", "test", "for", "update", "of", "docs", "in", "build")
FIRST_ID, LAST_ID = 1000, 20000  # ids of words in every vocabulary of BERT's size


@dataclass
class Run:
    seconds: float  # of the whole command
    cpu_seconds: float
    tokens: int
    rows: int
    peak_bytes: int
    stages: dict  # seconds of each stage, see include/encode/stage_seconds.h
    chunks: list  # (tokens, seconds) of each chunk in order; empty in standard mode
    output: bytes  # the file of the final

    def encoding_seconds(self):
        """Returns the seconds from the end of loading to the last commit: the stages of the main thread."""
        return sum(self.stages[name] for name in ("rows awaited", "encode", "commit awaited"))


def processor_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def encode(program, model, rows, *flags):
    """Runs `encode run` once with a cache of its own and the given flags, on the CPU unless the flags name a device."""
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "out.npy"
        device = () if "--device" in flags else ("--device", "cpu")
        command = [program, "run", "--model", model, "--input", rows, "--field", "text", *device, "--cache-dir",
                   f"{folder}/cache", "--output", output, "--json", "--log-level", "debug", "--no-progress", *flags]
        before, started = processor_seconds(), time.monotonic()
        result = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        seconds = time.monotonic() - started
        if result.returncode:
            sys.exit(f"{' '.join(map(str, command))}\n{result.stdout[-2000:]}{result.stderr[-2000:]}")
        events = [json.loads(line) for line in result.stdout.splitlines()]
        summary = next(event for event in events if event["event"] == "summary")
        stages = next(event["seconds"] for event in events if event["event"] == "stream_done")
        return Run(seconds, processor_seconds() - before, sum(matrix["tokens"] for matrix in summary["matrices"]),
                   sum(matrix["rows"] for matrix in summary["matrices"]), summary["peak_host_bytes"],
                   stages,
                   [(event["tokens"], event["seconds"]) for event in events if event["event"] == "chunk_done"],
                   output.read_bytes())


def measure(args, path, contestants):
    """Returns the runs of each contestant, one for each turn. Exits if two matrices have different bytes."""
    runs = {name: [] for name in contestants}
    output = None
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as config:
        config.write(ONE_WORKER)
        config.flush()
        for number in range(args.runs):
            # Every second turn runs backwards, so that a slow-down during a turn does not always hit the same contestant.
            for name in list(contestants)[::1 if number % 2 == 0 else -1]:
                run = encode(args.encode, args.model, path, "--config", config.name, "--threads", args.threads, "--dtype",
                                  args.dtype, "--device", args.device, *contestants[name])
                output = output or run.output
                if run.output != output:
                    sys.exit(f"FAIL: {path}, {name}: the matrix differs from the matrix of {next(iter(contestants))}")
                runs[name].append(run)
            print(f"{path.stem}: turn {number + 1} of {args.runs}", file=sys.stderr, flush=True)
    return runs


def timed(args, run):
    return run.seconds if args.device == "cpu" else run.encoding_seconds()


def over(runs, name, base, seconds):
    """Returns the median share by which `name` took longer than `base` in the same turn."""
    return statistics.median(seconds(a) / seconds(b) - 1 for a, b in zip(runs[name], runs[base]))


def write_synced(path, content, mode):
    with open(path, mode) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder):
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(descriptor)
    os.close(descriptor)


def commit_seconds(chunk_bytes):
    """Returns the median time of what a commit does (docs/store-format.md, "Commit a chunk"), in the folder of the runs' caches."""
    seconds = []
    with tempfile.TemporaryDirectory() as folder:
        content = os.urandom(chunk_bytes)
        for number in range(COMMIT_PROBES):
            started = time.monotonic()
            write_synced(f"{folder}/temporary", content, "wb")
            os.rename(f"{folder}/temporary", f"{folder}/chunk_{number}")
            sync_folder(folder)
            write_synced(f"{folder}/log", b"a line of chunks.log" * 20, "ab")
            seconds.append(time.monotonic() - started)
    return statistics.median(seconds)


def most_overhead(run, name, seconds):
    """Returns the share by which the mode `name` may take longer than `run`, a standard run that took `seconds`."""
    if name not in CHUNK_ROWS:
        return float("inf")
    chunks = -(-run.rows // CHUNK_ROWS[name])
    return SHARE + COMMITS * chunks * commit_seconds(len(run.output) // chunks) / seconds


def modes(args, path):
    runs = measure(args, path, MODES)
    standard_seconds = statistics.median(timed(args, run) for run in runs["standard"])
    failures = []
    for name, of_name in runs.items():
        overhead, cpu = (over(runs, name, "standard", seconds)
                         for seconds in (lambda run: timed(args, run), lambda run: run.cpu_seconds))
        spread = ", ".join(f"{timed(args, run):.2f}" for run in of_name)
        print(f"| {path.stem} | {name} | {spread} | {statistics.median(timed(args, run) for run in of_name):.2f} | "
              f"{100 * overhead:+.1f} % | {100 * cpu:+.1f} % |", flush=True)
        most = most_overhead(runs["standard"][0], name, standard_seconds)
        if overhead > most:
            failures.append(f"{path.stem}: {name} cost {100 * overhead:.1f} %, and the disk explains {100 * most:.1f} %")
    return failures


def batches(args, path):
    runs = measure(args, path, {tokens: ("--batch-tokens", str(tokens)) for tokens in BATCH_TOKENS})
    failures = []
    for i, tokens in enumerate(BATCH_TOKENS):
        change = over(runs, tokens, BATCH_TOKENS[max(i - 1, 0)], lambda run: 1 / timed(args, run))
        rate = statistics.median(run.tokens / timed(args, run) for run in runs[tokens])
        print(f"| {path.stem} | {tokens:,} | {rate:,.0f} | {100 * change:+.1f} % |", flush=True)
        if change < -LARGEST_FALL:
            failures.append(f"{path.stem}: batch_tokens {tokens} lowers the rate by {-100 * change:.1f} %")
    return failures


def short_rows(path, count):
    choice = random.Random(1)
    with path.open("w") as file:
        for _ in range(count):
            file.write(json.dumps({"text": " ".join(choice.choices(SHORT_WORDS, k=8))}) + "\n")


def rows_of_length(path, length, tokens):
    choice = random.Random(1)
    with path.open("w") as file:
        for _ in range(max(tokens // length, 1)):
            file.write(json.dumps({"text": [choice.randint(FIRST_ID, LAST_ID) for _ in range(length)]}) + "\n")


def line(label, run):
    stages = run.stages
    print(f"| {label:,} | {run.rows:,} | {run.tokens:,} | {run.seconds:.2f} | {run.tokens / run.seconds:,.0f} | "
          f"{run.rows / run.seconds:,.0f} | {stages['tokenize']:.2f} | {stages['rows awaited']:.2f} | "
          f"{stages['commit']:.2f} | {run.peak_bytes / 1e6:.0f} MB |", flush=True)


def tenths(run):
    return ", ".join(f"{tokens / seconds:,.0f}" for tokens, seconds in run.chunks)


def head(label):
    print(f"| {label} | rows | tokens | seconds | tokens/s | rows/s | tokenize | rows awaited | commit | peak memory |\n"
          f"|{'---|' * 10}")


def longest(model):
    config = json.loads((model / "config.json").read_text())
    return config["max_position_embeddings"]


def numbers(text):
    return [int(value) for value in text.split(",")]


def chunks(args):
    failures = []
    print("| rows | mode | seconds | median | against standard | CPU time |\n|---|---|---|---|---|---|")
    for path in args.files:
        failures += modes(args, path)
    if args.device != "cpu":
        print("\n| rows | batch_tokens | tokens/s | against the row above |\n|---|---|---|---|")
        for path in args.files:
            failures += batches(args, path)
    if failures:
        sys.exit("FAIL: " + "; ".join(failures))


def growth(args):
    flags = ("--threads", args.threads, "--dtype", args.dtype)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "rows.jsonl"
        head("short rows")
        for count in args.rows:
            short_rows(path, count)
            run = encode(args.encode, args.model, path, *flags, "--chunk-size", max(count // 10, 1))
            line(count, run)
        print(f"\nTokens/s of the tenths of the last run: {tenths(run)}\n")
        head("tokens in a row")
        for length in (length for length in args.lengths if length <= longest(args.model)):
            rows_of_length(path, length, args.tokens)
            line(length, encode(args.encode, args.model, path, "--max-length", length, *flags))


def bench(args, rows, runs, environment):
    """Returns the report of `encode bench` on the first rows of the input."""
    with tempfile.TemporaryDirectory() as folder:
        command = [args.encode, "bench", "--model", args.model, "--input", args.input, "--field", "text", "--device",
                   args.device, "--cache-dir", pathlib.Path(folder) / "cache", "--threads", args.threads, "--dtype", args.dtype,
                   "--runs", runs, "--product-seconds", args.seconds, "--rows", rows, "--json"]
        run = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, env=os.environ | environment)
    if run.returncode:
        sys.exit(run.returncode)
    return json.loads(run.stdout)


def library_products(args):
    """Returns {type: tokens/s of LibTorch's matrix products alone}, measured on a few rows."""
    report = bench(args, rows=200, runs=1, environment={"ENCODE_CPU_CAPABILITY": "baseline"})
    return {result["dtype"]: result["products_tokens_per_second"]["median"] for result in report["results"]}


def print_library(results, before, after):
    """Prints the speed of the whole command as a share of the speed of LibTorch's matrix products alone."""
    print("\n| | LibTorch's products alone, tokens/s | whole command, share of these |\n|---|---|---|")
    for result in results:
        dtype = result["dtype"]
        library = (before[dtype] + after[dtype]) / 2
        print(f"| {dtype} | {library:,.0f} ({before[dtype]:,.0f}, {after[dtype]:,.0f}) | "
              f"**{100 * result['tokens_per_second']['median'] / library:.0f} %** |")


def count(figure):
    return f"{figure['median']:,.0f}" if figure else "-"


def percent(figure):
    if not figure:
        return "-"
    return f"**{100 * figure['median']:.0f} %** ({100 * figure['min']:.0f} to {100 * figure['max']:.0f})"


def print_shares(results):
    print("| | products alone, tokens/s | GFLOP/s | whole command, tokens/s | share of the products | share, encoding alone | "
          "share per CPU second | share of a large product | padding | peak memory |\n|---|---|---|---|---|---|---|---|---|---|")
    for result in results:
        shares = [percent(result[key]) for key in ("share", "encoding_share", "cpu_share", "square_share")]
        print(f"| {result['dtype']} | {count(result['products_tokens_per_second'])} | "
              f"{count(result['products_gflops'])} | {count(result['tokens_per_second'])} | {' | '.join(shares)} | "
              f"{100 * result['padding']['median']:.1f} % | {result['peak_host_bytes']['max'] / 1e9:.2f} GB |")


STAGES = ("start", "read", "tokenize", "pack", "rows awaited", "encode", "commit awaited", "commit", "finish")


def print_stages(results):
    print("\nMedian seconds. `encode` is the time of the compute threads. Other threads read, tokenize, pack and commit at the "
          "same time. `start` is everything before, and `finish` is everything after.\n")
    print(f"| | whole command | {' | '.join(STAGES)} |\n|---|---|{'---|' * len(STAGES)}")
    for result in results:
        cells = [f"{result['stages'][name]['median']:.2f}" for name in STAGES]
        print(f"| {result['dtype']} | {result['seconds']['median']:.2f} | {' | '.join(cells)} |")


def missed(limits, results):
    """Returns a text for each result that misses --min-share."""
    shares = {result["dtype"]: result["share"] for result in results}
    failures = []
    for dtype, wanted in (limit.split("=") for limit in limits):
        share = shares.get(dtype)
        if share is None or share["median"] < float(wanted):
            found = f"{share['median']:.2f}" if share else "no share"
            failures.append(f"{dtype}: {found} of the products alone, below --min-share {wanted}")
    return failures


def stages(args):
    has_own = (args.device == "cpu" and "int8" not in args.dtype.split(",")  # LibTorch has no int8 products
               and "avx2" in pathlib.Path("/proc/cpuinfo").read_text())
    before = library_products(args) if has_own else None
    report = bench(args, rows=10**9, runs=args.runs, environment={})
    first = report["results"][0]
    print(f"{report['model']} on {report['device']}: {report['rows']:,} rows, {first['tokens']:,} tokens, "
          f"{first['threads']} threads, {args.runs} runs\n")
    print_shares(report["results"])
    if has_own:
        print_library(report["results"], before, library_products(args))
    print_stages(report["results"])
    if failures := missed(args.min_share, report["results"]):
        sys.exit("FAIL: " + "; ".join(failures))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for name, measured, dtype in (("stages", stages, "float32,bfloat16"), ("chunks", chunks, "float32"), ("growth", growth, "float32")):
        command = commands.add_parser(name)
        command.set_defaults(measured=measured)
        command.add_argument("--encode", required=True)
        command.add_argument("--model", type=pathlib.Path, required=True)
        command.add_argument("--threads", type=int, required=True)
        command.add_argument("--dtype", default=dtype)
    of_stages, of_chunks, of_growth = (commands.choices[name] for name in ("stages", "chunks", "growth"))
    of_stages.add_argument("--input", required=True)
    of_stages.add_argument("--device", default="cpu")
    of_stages.add_argument("--runs", type=int, default=3)
    of_stages.add_argument("--seconds", type=float, default=4, help="seconds for the products alone, before and after each run")
    of_stages.add_argument("--min-share", action="append", default=[], metavar="TYPE=SHARE")
    of_chunks.add_argument("--device", default="cpu")
    of_chunks.add_argument("--runs", type=int, default=5)
    of_chunks.add_argument("files", type=pathlib.Path, nargs="+")
    of_growth.add_argument("--rows", type=numbers, default=numbers("1000,10000,100000,1000000"))
    of_growth.add_argument("--lengths", type=numbers, default=[2**power for power in range(4, 14)])
    of_growth.add_argument("--tokens", type=int, default=200000)
    args = parser.parse_args()
    args.measured(args)


if __name__ == "__main__":
    main()
