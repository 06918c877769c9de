"""The steps that compare vectors with those of sentence-transformers on the same GPU."""
import gc

import numpy as np

from context import Skipped, read_rows

ROWS, LARGE_ROWS = 500, 100
FLOAT32_MAX_DIFFERENCE = 2e-5
# The limit for the error of encode in bfloat16 divided by the peer's error in bfloat16, both relative to the peer's float32.
BFLOAT16_ERROR_RATIO = 1.5
# The limits for the mean and the lowest cosine of rows in fp8 to the peer's float32 (docs/models.md).
FP8_MEAN_COSINE, FP8_LEAST_COSINE = 0.99, 0.98
FP8_ROWS = {"minilm": ROWS, "bert-base": ROWS, "qwen2-1.5b": LARGE_ROWS}
FP8_SPEED = ("bert-base", "qwen2-1.5b", "bert-large")
FP8_SPEED_ROWS, FP8_SPEED_TOKENS = 3000, 512
WITHOUT_FP8 = "encode has 8-bit floats from compute capability 9.0 on"


class NoPeer(Exception):
    """The peer is not installed. The text says what is missing."""


class Peer:
    """sentence-transformers on the GPU."""

    def __init__(self, context):
        try:
            import sentence_transformers
            import torch
            import transformers
        except ImportError as error:
            raise NoPeer(str(error)) from None
        transformers.utils.logging.disable_progress_bar()
        self.context, self.torch, self.library = context, torch, sentence_transformers
        torch.backends.cuda.matmul.allow_tf32 = False

    def vectors(self, name, rows, dtype):
        model = self.library.SentenceTransformer(str(self.context.model(name)), device="cuda",
                                                 model_kwargs={"dtype": getattr(self.torch, dtype)})
        texts = read_rows(self.context.rows(rows), rows)
        vectors = model.encode(texts, batch_size=64, show_progress_bar=False, convert_to_numpy=False, convert_to_tensor=True)
        vectors = vectors.float().cpu().numpy().astype(np.float64)
        del model
        gc.collect()
        self.torch.cuda.empty_cache()
        return vectors


def ours(context, name, rows, dtype):
    """Returns (vectors, ""), or (None, how the run failed)."""
    run = context.encode(name, context.rows(rows)).run(f"{name}_{dtype}", "--dtype", dtype)
    return (None, run.failure()) if run.code else (np.load(run.output), "")


def parity(context, results):
    results.table("Vectors beside those of sentence-transformers")
    try:
        peer = Peer(context)
    except NoPeer as reason:
        raise Skipped(str(reason)) from None
    for name in ("bert-tiny", "qwen2-tiny", "minilm", "bert-base"):
        reference = peer.vectors(name, ROWS, "float32")
        found, failure = ours(context, name, ROWS, "float32")
        if failure:
            results.check(f"{name} float32", False, failure)
        else:
            difference = np.abs(found - reference).max()
            results.check(f"{name} float32", bool(difference <= FLOAT32_MAX_DIFFERENCE), f"max difference {difference:.2g}")
        bfloat16(context, results, peer, (name, ROWS), reference)
    large = ("qwen2-1.5b", LARGE_ROWS)
    bfloat16(context, results, peer, large, peer.vectors(*large, "float32"))


def bfloat16(context, results, peer, model_and_rows, reference):
    name, rows = model_and_rows
    found, failure = ours(context, name, rows, "bfloat16")
    if failure:
        results.check(f"{name} bfloat16", False, failure)
        return
    error = np.abs(found - reference).mean()
    peer_error = np.abs(peer.vectors(name, rows, "bfloat16") - reference).mean()
    cosine = (found * reference).sum(axis=1).min()
    results.check(f"{name} bfloat16", bool(error <= BFLOAT16_ERROR_RATIO * peer_error),
                  f"mean error {error:.2g}, the peer's {peer_error:.2g}; min cosine {cosine:.6f}")


def fp8(context, results):
    import torch
    results.table("fp8 (quantized products): parity with float32, and speed beside bfloat16 in the same run")
    if torch.cuda.get_device_capability() < (9, 0):
        results.without("fp8", WITHOUT_FP8)
        return
    try:
        peer = Peer(context)
        for name, rows in FP8_ROWS.items():
            fp8_parity(context, results, name, peer.vectors(name, rows, "float32"))
    except NoPeer as reason:
        results.without("parity of fp8", str(reason))
    for name in FP8_SPEED:
        fp8_speed(context, results, name)


def fp8_parity(context, results, name, reference):
    found, failure = ours(context, name, len(reference), "fp8")
    if failure:  # if the code is fp8.parity, the figures of fp8_speed() tell the cosine
        results.check(f"{name} fp8", False, failure)
        return
    cosines = (found * reference).sum(axis=1)
    good = cosines.mean() >= FP8_MEAN_COSINE and cosines.min() >= FP8_LEAST_COSINE
    results.check(f"{name} fp8", bool(good), f"mean cosine {cosines.mean():.6f}, min {cosines.min():.6f}")


def fp8_speed(context, results, name):
    """Measures also what `encode run` refuses, and then says so."""
    rows = context.real_rows if context.quick else FP8_SPEED_ROWS
    found, reason = context.bench(name, FP8_SPEED_TOKENS, rows, "--dtype", "bfloat16,fp8", "--measure-refused", "--product-seconds",
                                  0.1)
    label = f"{name}, {FP8_SPEED_TOKENS} tokens a row"
    if reason:
        results.check(f"{label}: bench", False, reason)
        return
    plain, quantized = (result["encoding_tokens_per_second"]["median"] for result in found)
    note = f"cosine to bfloat16 {found[1]['parity_cosine']:.6f}"
    if found[1]["refused"]:
        note += ", REFUSED by `encode run`"
    figures = f"fp8 {quantized:,.0f} tokens/s, bfloat16 {plain:,.0f}, ratio {quantized / plain:.2f}; {note}"
    results.row(label, "", figures)
    results.headline(f"{label}: {figures}")
