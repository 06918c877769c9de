#!/usr/bin/env python3
"""Times one peer on the rows of the step `throughput`. The step `peers` starts this program.

    peer.py KIND --options JSON --entries FILE --models minilm,bert-base --row-tokens 512,128,30

KIND is a key of KINDS. Each timing begins with texts and ends with vectors on the host, so tokenizing is inside. Warm-up,
compilation and the choice of the batch size come before it.
"""
import argparse
import gc
import itertools
import json
import os
import pathlib
import time

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import numpy as np
import torch
import transformers
from torch._dynamo.utils import counters

import clocks
from context import Context, read_rows
from limited import end_with_parent
from results import Results
from shapes import card_peak, mfu_percent
from speed import MARGIN, SAMPLE_ROWS, known_speeds

BATCH_TOKENS = (16384, 65536)
TEXTS = 100_000  # at most; a longer timing uses them again


class SentenceTransformers:
    def __init__(self, path, dtype="bfloat16", compiled=False):
        import sentence_transformers
        self.model = sentence_transformers.SentenceTransformer(
            str(path), device="cuda", model_kwargs={"dtype": getattr(torch, dtype), "attn_implementation": "sdpa"})
        if compiled:  # once for all lengths and batch sizes, because each compilation takes half a minute or more
            transformer = self.model[0].auto_model
            # sentence-transformers calls forward() and not the module, so Module.compile() would change nothing.
            transformer.forward = torch.compile(transformer.forward, dynamic=True)

    def set_row_tokens(self, row_tokens):
        self.model.max_seq_length = row_tokens

    def encode(self, texts, batch_size):
        return self.model.encode(texts, batch_size=batch_size, show_progress_bar=False)


def packed(path):
    from packed import Packed
    return Packed(path, torch.bfloat16, "cuda")


KINDS = {
    "sdpa-bfloat16": SentenceTransformers,
    "packed": packed,
    "compile": lambda path: SentenceTransformers(path, compiled=True),
    "sdpa-float16": lambda path: SentenceTransformers(path, dtype="float16"),
}


def timed(encode, texts, batch_size):
    started = time.monotonic()
    vectors = encode(texts, batch_size)
    torch.cuda.synchronize()  # `encode` has copied the vectors; this is for a peer that has not
    return time.monotonic() - started, vectors


def whole_batches(texts, rows, batch_size):
    """Returns about `rows` texts in whole batches, because torch.compile would compile for the size of a last part."""
    rows = max(1, round(rows / batch_size)) * batch_size
    return list(itertools.islice(itertools.cycle(texts), rows))


def best_batch(encode, texts, row_tokens, batch_tokens):
    """Returns (batch size, rows/s) of the fastest of the batch sizes, after a warm-up of each."""
    speeds = []
    for tokens in batch_tokens:
        batch_size = max(1, tokens // row_tokens)
        sample = whole_batches(texts, 4 * batch_size, batch_size)
        timed(encode, sample, batch_size)
        seconds, _ = timed(encode, sample, batch_size)
        speeds.append((len(sample) / seconds, batch_size))
    rate, batch_size = max(speeds)
    return batch_size, rate


def measure(context, encode, texts, row_tokens, sampled):
    """Returns (rows, seconds, batch size, cells of the clocks, vectors) of a timing of at least the seconds of context.timing."""
    batch_size, rate = best_batch(encode, texts, row_tokens, BATCH_TOKENS[:1] if context.quick else BATCH_TOKENS)
    for _ in range(2):
        sample = whole_batches(texts, MARGIN * context.timing.seconds * rate, batch_size)
        seconds, vectors = timed(encode, sample, batch_size)
        if seconds >= context.timing.seconds:
            break
        rate = len(sample) / seconds
    end = time.monotonic()
    return len(sample), seconds, batch_size, sampled.between(end - seconds, end), vectors


def cosine(context, name, row_tokens, vectors):
    """Returns the lowest cosine to the vectors of encode, or None if the step `throughput` has not run."""
    path = context.work / f"sample_{name}_{row_tokens}.npy"
    if not path.exists():
        return None
    ours = np.load(path).astype(np.float64)
    count = min(len(ours), len(vectors), SAMPLE_ROWS)
    theirs = np.asarray(vectors[:count], dtype=np.float64)
    norms = np.linalg.norm(ours[:count], axis=1) * np.linalg.norm(theirs, axis=1)
    with np.errstate(invalid="ignore"):
        return float(((ours[:count] * theirs).sum(axis=1) / norms).min())


def case(context, results, sampled, peer, labels):
    """Times a loaded peer. `labels` are its kind, the model and the tokens of a row."""
    kind, name, row_tokens = labels
    texts = read_rows(context.sized_rows(name, row_tokens, 1), TEXTS)
    peer.set_row_tokens(row_tokens)
    rows, seconds, batch_size, cells, vectors = measure(context, peer.encode, texts, row_tokens, sampled)
    if kind == "compile" and not counters["stats"]["unique_graphs"]:
        raise RuntimeError("torch.compile has compiled nothing, so this is not a figure of it")
    rate = rows * row_tokens / seconds
    ours = known_speeds(context).get(f"{name} {row_tokens}")
    results.row(*labels, rows, batch_size, round(seconds, 2), round(rate),
                mfu_percent(name, row_tokens, rate, card_peak(torch.cuda.get_device_name())), ours and round(ours / rate, 2),
                cosine(context, name, row_tokens, vectors), *cells)


def without(results, label, error):
    """A peer that fails is no fault of encode, and the figures of the others are still useful."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    results.without(label, text[:300])


def cases(args, context, results, sampled, name):
    """Times the peer on one model with rows of each length."""
    torch.compiler.reset()
    counters.clear()
    try:
        peer = KINDS[args.kind](context.model(name))
    except Exception as error:
        without(results, f"{args.kind} {name}", error)
        return
    for row_tokens in map(int, args.row_tokens.split(",")):
        try:
            case(context, results, sampled, peer, (args.kind, name, row_tokens))
        except Exception as error:
            without(results, f"{args.kind} {name} {row_tokens}", error)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--options", type=json.loads, required=True)
    parser.add_argument("--entries", type=pathlib.Path, required=True)
    parser.add_argument("--models", required=True)
    parser.add_argument("--row-tokens", required=True)
    args = parser.parse_args()
    end_with_parent()
    transformers.utils.logging.disable_progress_bar()
    context, results = Context(**args.options), Results(args.entries)
    with clocks.Clocks() as sampled:
        for name in args.models.split(","):
            cases(args, context, results, sampled, name)
            gc.collect()
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
