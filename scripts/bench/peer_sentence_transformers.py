#!/usr/bin/env python3
"""Encodes a JSONL file with sentence-transformers and prints one JSON object with what it took.

    peer_sentence_transformers.py --model DIR --input texts.jsonl --output out.npy

`seconds` is model.encode() alone: neither imports nor loading nor a first warm-up batch. `tokens` counts what the model
sees, special tokens included, after truncation.
"""
import argparse
import json
import os
import pathlib
import resource
import time

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import numpy as np
import sentence_transformers
import torch


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--input", type=pathlib.Path, required=True)
    parser.add_argument("--field", default="text")
    parser.add_argument("--output", type=pathlib.Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32", choices=("float32", "bfloat16", "float16"))
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--max-length", type=int, default=0)
    args = parser.parse_args()

    if args.threads:
        torch.set_num_threads(args.threads)
    started = time.monotonic()
    model = sentence_transformers.SentenceTransformer(
        args.model, device=args.device, model_kwargs={"dtype": getattr(torch, args.dtype)})
    if args.max_length:
        model.max_seq_length = args.max_length
    load_seconds = time.monotonic() - started

    with args.input.open(encoding="utf-8") as file:
        texts = [json.loads(line)[args.field] for line in file]
    model.encode(texts[:args.batch_size], batch_size=args.batch_size, show_progress_bar=False)
    started = time.monotonic()
    embeddings = model.encode(texts, batch_size=args.batch_size, show_progress_bar=False)
    seconds = time.monotonic() - started
    if args.output:
        np.save(args.output, embeddings.astype(np.float32))
    lengths = [len(ids) for ids in model.tokenizer(texts, truncation=False, verbose=False)["input_ids"]]
    limit = model.max_seq_length or max(lengths)
    print(json.dumps({
        "rows": len(texts),
        "tokens": sum(min(length, limit) for length in lengths),
        "seconds": seconds,
        "load_seconds": load_seconds,
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "peak_device_bytes": torch.cuda.max_memory_allocated() if args.device.startswith("cuda") else 0,
    }))


if __name__ == "__main__":
    main()
