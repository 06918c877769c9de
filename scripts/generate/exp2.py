#!/usr/bin/env python3
"""Fits the polynomial by which src/kernels/lane_activations.h computes a fast 2^x, and prints its coefficients.

    exp2.py [--degree 4]

The polynomial approximates 2^r on [-1/2, 1/2] with a small largest relative error. The fit repeats weighted least squares on
Chebyshev nodes and raises the weights at the largest errors (Lawson). It needs numpy.
"""
import argparse

import numpy as np


def fit(degree, points=2001, rounds=3000):
    r = np.cos(np.linspace(0, np.pi, points)) / 2
    columns = np.vander(r, degree + 1, increasing=True) / 2.0 ** r[:, None]
    weight = np.ones_like(r)
    for _ in range(rounds):
        root = np.sqrt(weight)
        coefficients, *_ = np.linalg.lstsq(columns * root[:, None], root, rcond=None)
        error = np.abs(columns @ coefficients - 1)
        weight *= error / error.max() + 1e-3
        weight /= weight.sum()
    rounded = coefficients.astype(np.float32).astype(float)
    return rounded, np.abs(columns @ rounded - 1).max()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--degree", type=int, default=4)
    coefficients, error = fit(parser.parse_args().degree)
    print(" ".join(float(c).hex() for c in coefficients))
    print(f"largest relative error: {error:.2e}")


if __name__ == "__main__":
    main()
