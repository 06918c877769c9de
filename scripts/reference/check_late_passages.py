#!/usr/bin/env python3
"""Compares passages with late vectors (late chunking) with PyTorch, in float32 on the CPU.

    check_late_passages.py --model DIR --input rows.jsonl [--field text] [--rows 200] [--max-tokens 64] [--overlap 8]
                           [--max-length N] [--encode build/bin/encode] [--max-difference 1e-5]

`encode run` cuts the rows and writes the vectors and the places of the passages. Then transformers tokenizes every whole row with its
offsets, AutoModel encodes its windows one by one, and the vector of a passage is the mean of the last hidden states of its tokens. If
the directory has a Normalize module, this mean is scaled to length 1. docs/howto/passages.md has the definition. Only directories with
mean pooling can be compared. The exit code is 1 if an element differs by more than --max-difference, or is not finite.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer


def encode(arguments, folder, limit):
    out = folder / "out.npy"
    subprocess.run([arguments.encode, "run", "--model", arguments.model, "--input", folder / "rows.jsonl", "--field", "text",
                    "--passage-tokens", str(arguments.max_tokens), "--passage-overlap", str(arguments.overlap),
                    "--passage-vectors", "late", "--max-length", str(limit), "--device", "cpu", "--output", out, "--quiet"],
                   check=True)
    return np.load(out), np.load(folder / "out.passages.npy")


def last_characters(encoding):
    """The last character that each token comes from; -1 for a token without text."""
    return np.array([end - 1 if end > begin else -1 for begin, end in encoding["offset_mapping"]])


class Reference:
    def __init__(self, model, limit, max_tokens):
        self.tokenizer = AutoTokenizer.from_pretrained(model)
        self.model = AutoModel.from_pretrained(model, dtype=torch.float32).eval()
        modules = pathlib.Path(model) / "modules.json"
        kinds = [module["type"] for module in json.loads(modules.read_text())] if modules.exists() else []
        self.normalizes = any(kind.endswith("Normalize") for kind in kinds)
        self.limit, self.max_tokens = limit, max_tokens

    @torch.inference_mode()
    def vectors(self, text, places):
        """The vectors of the passages of one text."""
        encoding = self.tokenizer(text, return_offsets_mapping=True, truncation=False)
        ids, last = encoding["input_ids"], last_characters(encoding)
        step = self.limit - self.max_tokens
        states = {}
        found = []
        for begin, end in places:
            own = np.flatnonzero((last >= begin) & (last < end))[:self.max_tokens]
            number = 0
            while len(own) and number * step + self.limit <= own[-1]:
                number += 1
            if number not in states:
                window = torch.tensor([ids[number * step:number * step + self.limit]])
                states[number] = self.model(input_ids=window, attention_mask=torch.ones_like(window)).last_hidden_state[0]
            tokens = states[number] if not len(own) else states[number][own - number * step]
            vector = tokens.mean(0)
            found.append(torch.nn.functional.normalize(vector, dim=0) if self.normalizes else vector)
        return torch.stack(found).numpy(), len(states)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--input", required=True)
    parser.add_argument("--field", default="text")
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--max-tokens", type=int, default=64)
    parser.add_argument("--overlap", type=int, default=8)
    parser.add_argument("--max-length", type=int, default=256, help="the tokens of a window")
    parser.add_argument("--encode", default="build/bin/encode")
    parser.add_argument("--max-difference", type=float, default=1e-5)
    arguments = parser.parse_args()
    with open(arguments.input, encoding="utf-8") as lines:
        texts = [json.loads(line)[arguments.field] for _, line in zip(range(arguments.rows), lines)]
    with tempfile.TemporaryDirectory(prefix="encode_late_") as folder:
        folder = pathlib.Path(folder)
        (folder / "rows.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        vectors, places = encode(arguments, folder, arguments.max_length)
    reference = Reference(arguments.model, arguments.max_length, arguments.max_tokens)
    largest, windows = 0.0, 0
    for row, text in enumerate(texts):
        own = places[:, 0] == row
        expected, count = reference.vectors(text, places[own][:, 4:6])
        largest = max(largest, float(np.abs(vectors[own] - expected).max()))
        windows += count
    print(f"{len(texts)} rows, {windows} windows, {len(places)} passages: the largest difference is {largest:.2e}")
    return 0 if largest <= arguments.max_difference and np.isfinite(vectors).all() else 1


if __name__ == "__main__":
    sys.exit(main())
