"""The parts that the peers of compare_speed.py share: flags, rows, clock, tokenizer, batches, pooling and output.

Each peer_*.py is a program that reads the rows of a JSONL file, encodes them as its users would, saves the matrix and
prints one line of JSON with these fields:

    rows             the number of rows
    seconds          the time of reading, tokenizing and encoding with a loaded model
    cpu_seconds      the processor time of all threads in that time
    load_seconds     the time of loading the model and the tokenizer
    peak_rss_bytes   the peak of resident memory
    settings         the settings of the run in words

`seconds` leaves out imports, the conversion of the model to the peer's format (kept in --work), loading, and a first
warm-up batch. If the peer's format has no sentence-transformers modules, `Head` pools and normalizes in NumPy.
"""
import argparse
import concurrent.futures
import json
import pathlib
import resource
import time

import numpy as np

WARM_UP_ROWS = 64
CANNOT = 69  # the exit code of a peer that this processor cannot run; it prints the reason


def arguments(description, batch_size):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=pathlib.Path, required=True)
    parser.add_argument("--input", type=pathlib.Path, required=True)
    parser.add_argument("--field", default="text")
    parser.add_argument("--output", type=pathlib.Path, help="the file for the matrix, float32 .npy")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("/tmp"), help="a folder for converted models")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--batch-size", type=int, default=batch_size)
    parser.add_argument("--max-length", type=int, default=0, help="tokens of a row (0: the limit of the model)")
    return parser


def read_rows(args):
    with args.input.open(encoding="utf-8") as file:
        return [json.loads(line)[args.field] for line in file]


def run(args, load):
    """Times the peer. load(args) returns (encode, settings); encode(texts) returns [rows, dim] in the order of the texts."""
    started = time.monotonic()
    encode, settings = load(args)
    load_seconds = time.monotonic() - started
    encode(read_rows(args)[:WARM_UP_ROWS])
    started, cpu = time.monotonic(), time.process_time()
    texts = read_rows(args)
    embeddings = encode(texts)
    seconds, cpu_seconds = time.monotonic() - started, time.process_time() - cpu
    if args.output:
        np.save(args.output, np.asarray(embeddings, dtype=np.float32))
    print(json.dumps({
        "rows": len(texts),
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "load_seconds": load_seconds,
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "settings": settings,
    }))


def max_length(args):
    settings = args.model / "sentence_bert_config.json"
    return args.max_length or json.loads(settings.read_text())["max_seq_length"]


def load_tokenizer(args):
    """Returns a function from texts to the ids of the model's tokenizer, truncated and without padding."""
    import tokenizers  # imported here because the distribution's Python, which runs the tests of this file, does not have it
    tokenizer = tokenizers.Tokenizer.from_file(str(args.model / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_length(args))
    return lambda texts: [encoding.ids for encoding in tokenizer.encode_batch_fast(texts)]


def padded_inputs(rows):
    """Returns the inputs of a BERT graph for rows of ids, padded to the longest row."""
    ids = np.zeros((len(rows), max(len(row) for row in rows)), dtype=np.int64)
    mask = np.zeros_like(ids)
    for i, row in enumerate(rows):
        ids[i, :len(row)] = row
        mask[i, :len(row)] = 1
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}


def encode_rows(rows, batch_size, encode_batch, threads=1):
    """Returns [rows, dim]. encode_batch(ids of a batch) returns [rows of the batch, dim]; `threads` threads call it.

    A batch has rows of similar length, and the longest rows come first, as in sentence-transformers.
    """
    order = np.argsort([-len(ids) for ids in rows], kind="stable")
    batches = [order[begin:begin + batch_size] for begin in range(0, len(order), batch_size)]
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        encoded = list(pool.map(lambda batch: encode_batch([rows[row] for row in batch]), batches))
    out = np.empty((len(rows), encoded[0].shape[1]), dtype=np.float32)
    out[order] = np.concatenate(encoded)
    return out


class Head:
    """Applies the modules after the transformer: cls or mean pooling, and Normalize. Refuses other modules."""

    def __init__(self, model):
        pooling = json.loads((model / "1_Pooling" / "config.json").read_text())
        modes = {name for name, on in pooling.items() if name.startswith("pooling_mode_") and on is True}
        if modes not in ({"pooling_mode_mean_tokens"}, {"pooling_mode_cls_token"}):
            raise SystemExit(f"error: {model}: this peer supports the poolings mean and cls, not {sorted(modes)}")
        kinds = [module["type"].rsplit(".", 1)[1] for module in json.loads((model / "modules.json").read_text())]
        if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
            raise SystemExit(f"error: {model}: this peer does not support the modules {kinds}")
        self.mean = "pooling_mode_mean_tokens" in modes
        self.normalize = "Normalize" in kinds

    def __call__(self, states, mask):
        """Returns [rows, dim] from states [rows, tokens, dim] and mask [rows, tokens] of 0 and 1."""
        if self.mean:
            weights = mask.astype(np.float32)
            rows = np.matmul(weights[:, None, :], states)[:, 0] / weights.sum(axis=1, keepdims=True)
        else:
            rows = states[:, 0]
        if self.normalize:
            rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        return rows
