#!/usr/bin/env python3
"""Compares the documents that `encode run` makes with those of PyLate, in float32 on the CPU.

    check_late_interaction.py --model DIR --input rows.jsonl [--rows 200] [--encode build/bin/encode] [--max-difference 1e-5]

DIR is a directory of PyLate, or any sentence-transformers or Hugging Face directory: then PyLate adds a random Dense. The
program makes these variants of the model, and PyLate saves and loads each of them:
- the model as it is;
- two prefixes that the vocabulary has already ([unused0] and [unused1]), and short documents; only if it has them;
- no prefixes, and a skip list of its own;
- one more Dense with a bias, a residual and GELU.

Each row must have as many vectors as in PyLate, and no element may differ by more than --max-difference. The rows are those of
the input and some odd texts. The exit code is 1 if a variant differs. It needs PyLate 1.6.0.
"""
import argparse
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import torch
from pylate import models

ODD_TEXTS = ("", "[D] [Q] [unused1] x", "\u65e5\u672c\u8a9e \u2013 \u201cquotes\u201d \u2026 ~", "a.b,c" * 400)


def variants(path):
    """Yields a name and a model that can be saved."""
    def load(**settings):
        return models.ColBERT(path, device="cpu", **settings)

    yield "as it is", load()
    if "[unused1]" in load().tokenizer.get_vocab():
        yield "prefixes of the vocabulary", load(document_prefix="[unused1]", query_prefix="[unused0]", document_length=60)
    yield "no prefixes, own skip list", load(document_prefix="", query_prefix="", skiplist_words=[".", "a"])
    deeper = load()
    width = deeper[-1].out_features
    deeper.append(models.Dense(width, width // 2, bias=True, activation_function=torch.nn.GELU(), use_residual=True))
    yield "two Dense modules", deeper


def encode(args, model, rows, folder):
    """Returns the matrix and the offsets that `encode run` writes."""
    texts = folder / "rows.jsonl"
    texts.write_text("".join(json.dumps({"text": row}) + "\n" for row in rows))
    subprocess.run([args.encode, "run", "--model", model, "--input", texts, "--field", "text", "--output",
                    folder / "out.npy", "--device", "cpu", "--quiet", "--fresh", "--overwrite"], check=True)
    return np.load(folder / "out.npy"), np.load(folder / "out.offsets.npy")


def agrees(args, name, model, rows):
    """Compares one variant, and prints a line about it."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model"
        model.save_pretrained(str(path), create_model_card=False)
        theirs = models.ColBERT(str(path), device="cpu").encode(rows, is_query=False)
        ours, offsets = encode(args, path, rows, pathlib.Path(folder))
    if [len(vectors) for vectors in theirs] != np.diff(offsets).tolist():
        print(f"{name:28} FAIL: rows have other numbers of vectors")
        return False
    difference = float(np.abs(ours - np.concatenate(theirs)).max())
    good = difference <= args.max_difference
    print(f"{name:28} {len(rows)} rows, {len(ours)} vectors, largest difference {difference:.2g} {'ok' if good else 'FAIL'}")
    return good


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--input", type=pathlib.Path, required=True)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--encode", type=pathlib.Path, default=root / "build/bin/encode")
    parser.add_argument("--max-difference", type=float, default=1e-5)
    args = parser.parse_args()
    torch.manual_seed(1)
    with args.input.open() as lines:
        rows = [json.loads(line)["text"] for line in itertools.islice(lines, args.rows)] + list(ODD_TEXTS)
    results = [agrees(args, name, model, rows) for name, model in variants(args.model)]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
