#!/usr/bin/env python3
"""Times encode's tokenizers and Hugging Face `tokenizers` (encode_batch_fast) in turns on the same texts, both with one
thread and then both with two, and prints a Markdown table of medians.

With one thread the table has the processor time, and with two threads the wall-clock time. Loading is not timed for either.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

PEER = """
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


def run(command, lines, **environment):
    with open(lines, "rb") as texts:
        result = subprocess.run(command, stdin=texts, capture_output=True, check=True, env={**os.environ, **environment})
    return json.loads(result.stdout)


def ours(args, tokenizer, threads):
    return run([args.tool, tokenizer, "--time", "--threads", str(threads)], args.input)


def theirs(args, tokenizer, threads):
    return run([sys.executable, "-c", PEER, tokenizer], args.input, RAYON_NUM_THREADS=str(threads),
               TOKENIZERS_PARALLELISM="true" if threads > 1 else "false")


def measure(args, tokenizer):
    """Returns {(side, threads): median seconds} and the number of tokens."""
    seconds, tokens = {}, set()
    for _ in range(args.runs):
        for threads in args.threads:
            for side, program in (("ours", ours), ("theirs", theirs)):
                result = program(args, tokenizer, threads)
                seconds.setdefault((side, threads), []).append(result["cpu" if threads == 1 else "wall"])
                tokens.add(result["tokens"])
    if len(tokens) != 1:
        sys.exit(f"{tokenizer}: the numbers of tokens differ: {sorted(tokens)}")
    return {key: statistics.median(values) for key, values in seconds.items()}, tokens.pop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tokenizers", nargs="+", metavar="TOKENIZER.json")
    parser.add_argument("--tool", required=True, help="the program tokenize_lines")
    parser.add_argument("--input", required=True, help="JSONL with a field 'text'")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--min-ratio", type=float, default=0.0, help="fail below this ratio")
    args = parser.parse_args()
    texts = [json.loads(line)["text"] for line in open(args.input, encoding="utf-8")]
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as lines:
        lines.writelines(json.dumps(text) + "\n" for text in texts)
        lines.flush()
        args.input = lines.name
        compare(args, megabytes)


def compare(args, megabytes):
    print(f"{megabytes:.1f} MB of text, median of {args.runs} turns\n")
    print("| vocabulary | threads | ours MB/s | ours tokens/s | tokenizers MB/s | ratio | ours, relative to one thread |")
    print("|---|---|---|---|---|---|---|")
    worst = float("inf")
    for tokenizer in args.tokenizers:
        seconds, tokens = measure(args, tokenizer)
        name = pathlib.Path(tokenizer).resolve().parent.name
        for threads in args.threads:
            mine, peer = seconds["ours", threads], seconds["theirs", threads]
            worst = min(worst, peer / mine)
            scaling = seconds["ours", args.threads[0]] / mine
            print(f"| {name} | {threads} | {megabytes / mine:.1f} | {tokens / mine:,.0f} | {megabytes / peer:.2f} | "
                  f"{peer / mine:.1f} | {scaling:.2f} |", flush=True)
    if worst < args.min_ratio:
        sys.exit(f"FAIL: ratio {worst:.2f} is below {args.min_ratio:g}")


if __name__ == "__main__":
    main()
