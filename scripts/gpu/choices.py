"""The steps of gpu_check.py that compare two ways to compute the same: attention, and the algorithms of matrix products."""
import json
import pathlib

import numpy as np

from gpu.encode_run import Encode, failure, steady_speed

# Changelog entries are short, so 200,000 of them keep a small model busy for a second or more.
SHORT_ROWS = 200_000
LONG_ROWS = 3000
LONG_ROW_TOKENS = 512
ATTENTION_TEST = "gpu_attention_test"
# The lowest cosine of a row with chosen algorithms to the row with LibTorch's, both in bfloat16. Only the roundings differ.
CHOSEN_PRODUCTS_COSINE = 0.999


def attention(checks):
    """Measures what a decision needs (docs/gpu.md); no figure is right or wrong. cuDNN may end the program, for example by an
    illegal access, which is then the finding."""
    report = checks.report
    report.section("Attention: cuDNN beside FlashAttention-2 (docs/gpu.md says what follows)", "shape", "type", "figures")
    run = checks.gpu_test(ATTENTION_TEST)
    if run is not None and run.returncode:
        report.row(ATTENTION_TEST, f"ended with {run.returncode}", (run.stdout.strip().splitlines() or ["no output"])[-1])


def chosen_products(checks):
    """Compares runs with and without hardware.product_search: vectors, speed, and one choice of algorithms after a kill."""
    report = checks.report
    report.section("hardware.product_search, bfloat16", "check", "result", "figures")
    for name, path, rows in (("bert-base", checks.long_rows(), LONG_ROWS), ("qwen2-1.5b", checks.long_rows(), LONG_ROWS),
                             ("minilm", checks.short_rows(), SHORT_ROWS)):
        compare_products(checks, name, path, rows)
    resume(checks)


def compare_products(checks, name, path, rows):
    encode = Encode(checks.args.program, checks.model(name), path, checks.work)
    options = ("--dtype", "bfloat16", "--max-length", str(LONG_ROW_TOKENS), "--chunk-size", str(rows // 3))
    speeds, outputs = [], []
    for search in ((), ("--product-search",)):
        events, output, code = encode.run(f"products_{path.stem}_{name}_{len(search)}", *options, *search)
        if code != 0:
            return checks.report.check(f"{name} {' '.join(search)}", False, failure(events, code))
        speeds.append(steady_speed(events))
        outputs.append(np.load(output).astype(np.float64))
    cosine = (outputs[0] * outputs[1]).sum(axis=1).min()
    checks.report.check(f"{name} with chosen products", cosine >= CHOSEN_PRODUCTS_COSINE,
                        f"lowest cosine to LibTorch's products {cosine:.6f}; {speeds[1]:,.0f} tokens/s, without "
                        f"{speeds[0]:,.0f}, ratio {speeds[1] / speeds[0]:.3f}")


def resume(checks):
    """A resumed run takes the algorithms of the first run, whatever its own measurements would say."""
    rows = checks.args.rows
    chunk_size = max(1, rows // 60)
    encode = checks.encode("bert-base", rows)
    options = ("--dtype", "bfloat16", "--chunk-size", str(chunk_size), "--product-search")
    output, code = checks.resume(encode, "products_resumed", options, -(-rows // chunk_size))
    manifest = pathlib.Path(f"{output}.manifest.json")
    origins = json.loads(manifest.read_text())["origins"] if code == 0 else []
    checks.report.check("resumed with the algorithms of the first run", len(origins) == 1, f"{len(origins)} kinds of chunks")
