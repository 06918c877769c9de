#!/usr/bin/env python3
"""Compares two matrices of embeddings. The exit code is 1 if they differ by more than the tolerance.

    compare_embeddings.py OURS.npy REFERENCE.npy --max-difference 1e-5 [--min-cosine 0.999]
"""
import argparse
import sys

import numpy as np


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ours")
    parser.add_argument("reference")
    parser.add_argument("--max-difference", type=float, default=1e-5)
    parser.add_argument("--min-cosine", type=float, default=-1.0)
    args = parser.parse_args()
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


if __name__ == "__main__":
    main()
