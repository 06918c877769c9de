#!/usr/bin/env python3
"""Fits the functions by which src/kernels/lane_activations.h computes erf and a fast 2^x, and prints their coefficients.

    fit.py erf [--numerator 5] [--denominator 5] [--limit 3.95]
    fit.py exp2 [--degree 4]

erf(z) = z P(z^2) / Q(z^2) on [0, limit], and 1 beyond. The fit repeats weighted least squares on Chebyshev nodes. Each round
raises the weights at the largest errors (Lawson) and divides them by the last Q (Sanathanan and Koerner), so that the largest
absolute error becomes small. The last line has the largest error in exact arithmetic, in float32 arithmetic, and beyond the limit.

The polynomial approximates 2^r on [-1/2, 1/2] with a small largest relative error. The fit repeats weighted least squares on
Chebyshev nodes and raises the weights at the largest errors (Lawson). Both need numpy.
"""
import argparse
import math

import numpy as np

POINTS = 4000
ROUNDS = 200


def fit_erf(numerator, denominator, limit):
    z = limit * 0.5 * (1 - np.cos(np.pi * (np.arange(POINTS) + 0.5) / POINTS))
    target = np.array([math.erf(v) / v for v in z])
    s = z * z
    smooth = np.ones_like(s)
    minimax = np.ones_like(s)
    best = (np.inf, None, None)
    for _ in range(ROUNDS):
        columns = np.concatenate(
            [np.vander(s, numerator + 1, increasing=True),
             -target[:, None] * np.vander(s, denominator + 1, increasing=True)[:, 1:]], axis=1)
        weight = smooth * np.sqrt(minimax) * z
        scale = np.abs(columns * weight[:, None]).max(0)
        solution, *_ = np.linalg.lstsq(columns * weight[:, None] / scale, target * weight, rcond=None)
        solution = solution / scale
        p, q = solution[:numerator + 1], np.concatenate([[1.0], solution[numerator + 1:]])
        bottom = np.polyval(q[::-1], s)
        error = np.abs(np.polyval(p[::-1], s) / bottom - target) * z
        if error.max() < best[0]:
            best = (error.max(), p, q)
        smooth = 1 / np.abs(bottom)
        minimax *= 0.1 + error / error.max()
        minimax /= minimax.mean()
    return best


def float32_error(p, q, limit):
    z = np.linspace(-limit, limit, 400001).astype(np.float32)
    s = z * z

    def horner(coefficients):
        value = np.full_like(s, np.float32(coefficients[-1]))
        # a fused multiply-add rounds only once, so the step is computed in float64
        for c in coefficients[-2::-1]:
            value = (value.astype(np.float64) * s + np.float32(c)).astype(np.float32)
        return value

    exact = np.array([math.erf(float(v)) for v in z])
    return np.abs(z * horner(p) / horner(q) - exact).max()


def fit_exp2(degree, points=2001, rounds=3000):
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


def print_erf(args):
    error, p, q = fit_erf(args.numerator, args.denominator, args.limit)
    for name, coefficients in (("P", p), ("Q", q)):
        print(name, " ".join(float(np.float32(c)).hex() for c in coefficients))
    print(f"largest error: {error:.2e} exact, {float32_error(p, q, args.limit):.2e} in float32, "
          f"{1 - math.erf(args.limit):.2e} beyond the limit")


def print_exp2(args):
    coefficients, error = fit_exp2(args.degree)
    print(" ".join(float(c).hex() for c in coefficients))
    print(f"largest relative error: {error:.2e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    functions = parser.add_subparsers(required=True)
    erf = functions.add_parser("erf")
    erf.set_defaults(run=print_erf)
    erf.add_argument("--numerator", type=int, default=5, help="degree of P")
    erf.add_argument("--denominator", type=int, default=5, help="degree of Q")
    erf.add_argument("--limit", type=float, default=3.95, help="from here on erf is 1")
    exp2 = functions.add_parser("exp2")
    exp2.set_defaults(run=print_exp2)
    exp2.add_argument("--degree", type=int, default=4)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
