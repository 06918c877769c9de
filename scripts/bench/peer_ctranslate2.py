#!/usr/bin/env python3
"""Runs CTranslate2 as a peer: its Encoder on the converted model, in int8 or float32. peer.py describes the output.

    peer_ctranslate2.py --model DIR --input rows.jsonl --threads N [--dtype int8] [--output out.npy]

Each thread computes one batch (inter_threads), which is faster than all threads on one batch.
"""
import os

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import ctranslate2
import numpy as np

import peer


def converted_model(args):
    path = args.work / f"{args.model.resolve().name}-ctranslate2-{ctranslate2.__version__}-{args.dtype}"
    if not path.exists():
        quantization = None if args.dtype == "float32" else args.dtype
        partial = path.with_suffix(".partial")
        ctranslate2.converters.TransformersConverter(str(args.model)).convert(str(partial), quantization=quantization,
                                                                              force=True)
        partial.rename(path)
    return path


def load(args):
    tokenize, head = peer.load_tokenizer(args), peer.Head(args.model)
    model = ctranslate2.Encoder(str(converted_model(args)), device=args.device, compute_type=args.dtype,
                                inter_threads=args.threads, intra_threads=1)

    def encode_batch(ids):
        states = np.array(model.forward_batch(ids).last_hidden_state)
        lengths = np.array([len(row) for row in ids])
        return head(states, np.arange(states.shape[1]) < lengths[:, None])

    def encode(texts):
        return peer.encode_rows(tokenize(texts), args.batch_size, encode_batch, args.threads)

    return encode, f"CTranslate2 {ctranslate2.__version__}, {model.compute_type}, batch {args.batch_size}"


if __name__ == "__main__":
    peer.run(peer.arguments(__doc__, batch_size=8).parse_args(), load)
