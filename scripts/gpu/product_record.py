#!/usr/bin/env python3
"""Checks the matrix products of encode_launches --product-search.

    product_record.py RECORD...

tests/cuda/runtime_stand_in/record.h describes the lines of a record. On the stand-in for cuBLASLt (blas_lt.cc), LibTorch's products
have algorithm 0, and 4 is the first good algorithm of a search; the three before it must never be used. The exit code is 1 if
- a product of a batch that cuBLASLt computes has another algorithm than 4;
- a call fails, or the device refuses it, or a batch asks the device for memory;
- no product of BERT adds a bias and a residual together.
"""
import collections
import pathlib
import sys

FIRST_GOOD = 4
BIAS = 4  # CUBLASLT_EPILOGUE_BIAS


def products(path):
    """Yields (model and type, the words of a product or the text of a fault)."""
    run, steady = "", False
    for line in path.read_text().splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "mark":
            word, _, text = rest.partition(" ")
            steady = word == "steady"
            if word == "model":
                run = pathlib.Path(text).name
            elif word in ("refused", "failed"):
                yield run, line
        elif kind in ("refused", "missing") or steady and kind == "allocate":
            yield run, line
        elif steady and kind == "product" and rest.startswith("cublasLtMatmul "):
            words = rest.split(" ")[1:]
            numbers = {name: float(words[words.index(name) + 1]) for name in ("epilogue", "beta", "algorithm")}
            yield run, numbers


def faults(paths):
    """Returns (what is wrong, the number of runs)."""
    counts = collections.defaultdict(collections.Counter)
    wrong, added = [], 0
    for path in map(pathlib.Path, paths):
        for run, found in products(path):
            if isinstance(found, str):
                wrong.append(f"{run}: {found}")
                continue
            counts[run][int(found["algorithm"])] += 1
            added += run.startswith("bert ") and found["epilogue"] == BIAS and found["beta"] == 1
    for run, algorithms in counts.items():
        if set(algorithms) != {FIRST_GOOD}:
            wrong.append(f"{run}: algorithms {dict(algorithms)}, expected only {FIRST_GOOD}")
    if not added:
        wrong.append("no product of BERT adds a bias and a residual")
    return list(dict.fromkeys(wrong)), len(counts)


def main():
    wrong, runs = faults(sys.argv[1:])
    print("\n".join(wrong) if wrong else f"{runs} runs: every product has a chosen algorithm")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
