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
import queue
import threading
import time

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import numpy as np
import torch
import transformers
from torch._dynamo.utils import counters
from torch.nn import functional

from context import Clocks, Context, Results, read_rows
from limited import end_with_parent
from shapes import card_peak, mfu_percent
from speed import MARGIN, SAMPLE_ROWS, known_speeds

BATCH_TOKENS = (16384, 65536)
TEXTS = 100_000  # at most; a longer timing uses them again
READ_AHEAD = 2  # batches of Packed


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


def flash_attention(q, k, v, lengths, causal):
    """q is [tokens, heads, head_dim]; k and v may have fewer heads."""
    from torch.nn.attention.varlen import varlen_attn
    window = (-1, 0) if causal else (-1, -1)
    return varlen_attn(q, k, v, lengths.starts, lengths.starts, lengths.longest, lengths.longest, window_size=window)


class Lengths:
    """Where the sequences of a batch begin in the packed matrix."""

    def __init__(self, rows, device):
        counts = torch.tensor([len(ids) for ids in rows])
        self.longest = int(counts.max())
        self.counts = counts.to(device, non_blocking=True)
        self.starts = functional.pad(torch.cumsum(counts, 0), (1, 0)).to(torch.int32).to(device, non_blocking=True)
        self.positions = torch.cat([torch.arange(count) for count in counts.tolist()]).to(device, non_blocking=True)


class Packed:
    """The forward pass of BERT and Qwen2 over packed sequences in plain PyTorch, with the FlashAttention-2 of
    torch.nn.attention.varlen. It is what a user would write who wants no padding: one matrix [tokens, hidden] for the rows of a
    batch. attend(q, k, v, lengths, causal) is flash_attention or, where there is no GPU, a function like it."""

    def __init__(self, path, dtype, device, attend=flash_attention):
        self.model = transformers.AutoModel.from_pretrained(str(path), dtype=dtype).to(device).eval()
        self.config, self.device, self.attend = self.model.config, device, attend
        self.heads = self.config.num_attention_heads
        self.forward, self.causal = {"bert": (self.bert, False), "qwen2": (self.qwen2, True)}[self.config.model_type]
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(str(path))
        self.set_row_tokens(self.tokenizer.model_max_length)

    def set_row_tokens(self, row_tokens):
        self.row_tokens = row_tokens

    def tokenize(self, texts):
        return self.tokenizer(texts, truncation=True, max_length=self.row_tokens, padding=False)["input_ids"]

    def split(self, x, heads):
        return x.view(x.shape[0], heads, -1)

    def bert(self, ids, lengths):
        embeddings = self.model.embeddings
        x = embeddings.word_embeddings(ids) + embeddings.position_embeddings(lengths.positions)
        x = embeddings.LayerNorm(x + embeddings.token_type_embeddings.weight[0])
        for layer in self.model.encoder.layer:
            attention, output = layer.attention.self, layer.attention.output
            q, k, v = (self.split(product(x), self.heads) for product in (attention.query, attention.key, attention.value))
            attended = self.attend(q, k, v, lengths, False).flatten(1)
            x = output.LayerNorm(output.dense(attended) + x)
            inner = functional.gelu(layer.intermediate.dense(x))
            x = layer.output.LayerNorm(layer.output.dense(inner) + x)
        return x

    def qwen2(self, ids, lengths):
        x = self.model.embed_tokens(ids)
        cos, sin = (part[0][:, None] for part in self.model.rotary_emb(x[None], lengths.positions[None]))

        def rotate(value):
            first, second = value.chunk(2, dim=-1)
            return value * cos + torch.cat((-second, first), dim=-1) * sin

        for layer in self.model.layers:
            attention = layer.self_attn
            normed = layer.input_layernorm(x)
            q = rotate(self.split(attention.q_proj(normed), self.heads))
            k = rotate(self.split(attention.k_proj(normed), self.config.num_key_value_heads))
            v = self.split(attention.v_proj(normed), self.config.num_key_value_heads)
            x = x + attention.o_proj(self.attend(q, k, v, lengths, True).flatten(1))
            x = x + layer.mlp(layer.post_attention_layernorm(x))
        return self.model.norm(x)

    def pool(self, x, lengths):
        """The mean for BERT and the last token for Qwen2, as the models of shapes.py have it, at length 1."""
        if self.causal:
            rows = x[lengths.starts[1:].long() - 1].float()
        else:
            rows = torch.segment_reduce(x.float(), "mean", lengths=lengths.counts, unsafe=True)  # a check would wait for the device
        return functional.normalize(rows, dim=1)

    def encode(self, texts, batch_size):
        """Returns [rows, hidden] in float32 on the host. A thread tokenizes the next batches while the device computes."""
        batches = queue.Queue(READ_AHEAD)

        def produce():
            for begin in range(0, len(texts), batch_size):
                batches.put(self.tokenize(texts[begin:begin + batch_size]))
            batches.put(None)

        threading.Thread(target=produce, daemon=True).start()
        vectors = []
        with torch.inference_mode():
            while (rows := batches.get()) is not None:
                ids = torch.tensor(list(itertools.chain.from_iterable(rows))).to(self.device, non_blocking=True)
                lengths = Lengths(rows, self.device)
                vectors.append(self.pool(self.forward(ids, lengths), lengths))
            return torch.cat(vectors).cpu()


KINDS = {
    "sdpa-bfloat16": SentenceTransformers,
    "packed": lambda path: Packed(path, torch.bfloat16, "cuda"),
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
    with Clocks() as sampled:
        for name in args.models.split(","):
            cases(args, context, results, sampled, name)
            gc.collect()
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
