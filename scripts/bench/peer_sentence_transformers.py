#!/usr/bin/env python3
"""Runs sentence-transformers as a peer: SentenceTransformer.encode() on PyTorch. peer.py describes the output.

    peer_sentence_transformers.py --model DIR --input rows.jsonl --threads N [--dtype bfloat16] [--output out.npy]
"""
import os

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import sentence_transformers
import torch

import peer


def load(args):
    torch.set_num_threads(args.threads)
    model = sentence_transformers.SentenceTransformer(
        str(args.model), device=args.device, model_kwargs={"dtype": getattr(torch, args.dtype)})
    if args.max_length:
        model.max_seq_length = args.max_length

    def encode(texts):
        return model.encode(texts, batch_size=args.batch_size, show_progress_bar=False)

    return encode, f"sentence-transformers {sentence_transformers.__version__}, {args.dtype}, batch {args.batch_size}"


if __name__ == "__main__":
    peer.run(peer.arguments(__doc__, batch_size=32).parse_args(), load)
