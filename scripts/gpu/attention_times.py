#!/usr/bin/env python3
"""Times the plugin's attention kernel for short rows beside FlashAttention-2 of LibTorch, in bfloat16. The step `attention` of
gpu_check.py runs it. The times show up to which length short_attention() is the faster one (kEncodeCudaShortTokens in
src/nn/cuda/plugin.h).

    attention_times.py libencode_cuda.so [LENGTH...]
"""
import ctypes
import math
import sys
from dataclasses import dataclass

import torch

TOKENS = 16384
LENGTHS = (4, 8, 16, 24, 30, 32, 48, 64)
MOST = {32: 64, 64: 64, 128: 32}  # encode_cuda_short_tokens()
LAUNCHES = 50  # in one graph, so that the host's time does not count
REPEATS = 5
BFLOAT16 = 2  # kEncodeCudaBFloat16
LAUNCHERS_BEFORE = 9  # the launchers of EncodeCudaKernels before short_attention


class Arguments(ctypes.Structure):
    """EncodeCudaAttention of plugin.h."""
    _fields_ = [
        ("query", ctypes.c_void_p), ("key", ctypes.c_void_p), ("value", ctypes.c_void_p),
        ("query_stride", ctypes.c_int64), ("key_stride", ctypes.c_int64), ("value_stride", ctypes.c_int64),
        ("y", ctypes.c_void_p), ("cu_seqlens", ctypes.c_void_p), ("sequences", ctypes.c_int64), ("max_seqlen", ctypes.c_int64),
        ("heads", ctypes.c_int64), ("key_heads", ctypes.c_int64), ("head_dim", ctypes.c_int64),
        ("left", ctypes.c_int64), ("right", ctypes.c_int64), ("column", ctypes.c_void_p), ("reach", ctypes.c_int64),
        ("columns", ctypes.c_int64), ("bias", ctypes.c_void_p), ("of_query", ctypes.c_void_p), ("of_key", ctypes.c_void_p),
        ("scale", ctypes.c_float), ("softcap", ctypes.c_float), ("type", ctypes.c_int32), ("stream", ctypes.c_void_p),
    ]


@dataclass(frozen=True)
class Shape:
    model: str
    heads: int
    key_heads: int
    head_dim: int
    causal: bool


SHAPES = (Shape("MiniLM", 12, 12, 32, False), Shape("BERT-base", 12, 12, 64, False), Shape("Qwen2-1.5B", 12, 2, 128, True))


class Case:
    """A batch of rows of one length, and the two kernels for it."""

    def __init__(self, launcher, shape, length):
        rows = TOKENS // length
        self.launcher, self.shape, self.length, self.used = launcher, shape, length, rows * length
        qkv = torch.randn(TOKENS, shape.heads + 2 * shape.key_heads, shape.head_dim, device="cuda", dtype=torch.bfloat16)
        self.q, self.k, self.v = qkv.split((shape.heads, shape.key_heads, shape.key_heads), dim=1)
        self.starts = torch.arange(rows + 1, device="cuda", dtype=torch.int32) * length
        self.y = torch.full_like(self.q.contiguous(), float("nan"))

    def flash(self):
        return torch.ops.aten._flash_attention_forward(
            self.q, self.k, self.v, self.starts, self.starts, self.length, self.length, 0.0, self.shape.causal, False,
            scale=1 / math.sqrt(self.shape.head_dim))[0]

    def short(self):
        q, k, v = self.q, self.k, self.v
        arguments = Arguments(
            q.data_ptr(), k.data_ptr(), v.data_ptr(), q.stride(0), k.stride(0), v.stride(0), self.y.data_ptr(),
            self.starts.data_ptr(), self.starts.numel() - 1, self.length, self.shape.heads, self.shape.key_heads,
            self.shape.head_dim, -1, 0 if self.shape.causal else -1, None, 0, 0, None, None, None,
            1 / math.sqrt(self.shape.head_dim), 0.0, BFLOAT16, torch.cuda.current_stream().cuda_stream)
        if status := self.launcher(ctypes.byref(arguments)):
            raise RuntimeError(f"short_attention: status {status}")
        return self.y

    def expected(self):
        q, k, v = (x[:self.used].float().view(-1, self.length, x.shape[1], x.shape[2]).transpose(1, 2) for x in (self.q, self.k, self.v))
        return torch.nn.functional.scaled_dot_product_attention(
            q, k, v, is_causal=self.shape.causal, enable_gqa=True).transpose(1, 2).reshape(self.used, -1, self.shape.head_dim)


def microseconds(run):
    """Returns the median time of one launch in a graph of LAUNCHES."""
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        run()
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for _ in range(LAUNCHES):
                run()
        times = []
        for _ in range(REPEATS + 1):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            graph.replay()
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end) * 1000 / LAUNCHES)
    return sorted(times[1:])[REPEATS // 2]


def launcher_of(library):
    table = ctypes.CDLL(library).encode_cuda_kernels
    table.restype = ctypes.POINTER(ctypes.c_void_p)
    return ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(table()[LAUNCHERS_BEFORE])


def measure(library, lengths=LENGTHS):
    """Yields (model, length, FlashAttention-2 us, short us, ratio, error of both beside float32)."""
    launcher = launcher_of(library)
    torch.manual_seed(0)
    for shape in SHAPES:
        for length in (length for length in lengths if length <= MOST[shape.head_dim]):
            case = Case(launcher, shape, length)
            expected = case.expected()
            errors = [(run()[:case.used].float() - expected).abs().max().item() for run in (case.flash, case.short)]
            flash, short = microseconds(case.flash), microseconds(case.short)
            yield shape.model, length, round(flash, 1), round(short, 1), round(flash / short, 2), *(f"{e:.1e}" for e in errors)


HEADER = ("model", "tokens of a row", "FlashAttention-2 us", "short_attention us", "ratio", "largest error of FlashAttention-2",
          "of short_attention")


def attention(context, results):
    results.table(f"Attention of one layer, {TOKENS:,} tokens, bfloat16", *HEADER)
    library = context.bundle / "lib" / "encode" / "libencode_cuda.so"
    for row in measure(str(library)):
        results.row(*row)
        model, length, flash, short, ratio, of_flash, of_short = row
        if not float(of_short) <= 2 * max(float(of_flash), 1e-3):  # NaN is an error, too
            results.check(f"{model} {length}", False, f"error {of_short}, FlashAttention-2 has {of_flash}")


if __name__ == "__main__":
    for line in measure(sys.argv[1], tuple(map(int, sys.argv[2:])) or LENGTHS):
        print(*line, sep="\t", flush=True)
