#!/usr/bin/env python3
"""Compares `encode run` with sentence-transformers on variants of one model directory, in float32 on the CPU.

    check_directory.py --model DIR --input rows.jsonl [--prompt-rows N] [--encode build/bin/encode]
                       [--max-difference 1e-5]

On all rows it checks:
- the directory as it is, and every output type;
- truncate_dim 64 with and without normalization;
- each pooling and two concatenations of poolings.

On the first --prompt-rows rows it checks:
- token vectors (no pooling);
- two prompts by name, and a prompt that the pooling leaves out.

The reference runs its transformer once over all rows and then applies its own modules to the result. On the first rows
the program checks that this gives the same as encode() of the reference.

The bytes of a quantized matrix must equal quantize_embeddings of encode's float32 matrix. The program also prints how many
bytes agree with quantize_embeddings of the reference: a difference in the last bit can move a number to another bucket.

The program prints a table. The exit code is 1 if a check fails. It needs sentence-transformers 6.0.1.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling
from sentence_transformers.util import quantize_embeddings, truncate_embeddings

POOLINGS = (("cls",), ("mean",), ("max",), ("lasttoken",), ("weightedmean",), ("mean_sqrt_len_tokens",),
            ("mean", "max"), ("cls", "weightedmean", "lasttoken"))
PROMPTS = {"query": "Represent this sentence for searching relevant passages: ", "passage": "passage: "}
BATCH = 32


class Failures:
    def __init__(self):
        self.count = 0

    def line(self, name, rows, good, text):
        self.count += not good
        print(f"{name:34} {rows:6} rows  {text}  {'ok' if good else 'FAIL'}", flush=True)


def run_encode(program, model, rows, output, *extra):
    command = [str(program), "run", "--model", str(model), "--input", str(rows), "--field", "text", "--device", "cpu",
               "--dtype", "float32", "--output", str(output), "--no-progress", "--quiet", "--keep-chunks", *extra]
    subprocess.run(command, check=True)
    return np.load(output)


def variant(model, folder, pooling=None, prompts=None, include_prompt=True):
    """Copies the directory with another pooling or other prompts. The weights are hard links."""
    target = pathlib.Path(folder)
    shutil.copytree(model, target, copy_function=lambda a, b: os.link(a, b) if a.endswith(".safetensors") else
                    shutil.copy2(a, b))
    config_path = next(target.glob("*_Pooling")) / "config.json"
    config = json.loads(config_path.read_text())
    width = config.get("embedding_dimension", config.get("word_embedding_dimension"))
    config_path.write_text(json.dumps({"embedding_dimension": width, "pooling_mode": list(pooling or ("mean",)),
                                       "include_prompt": include_prompt}))
    if prompts:
        settings = target / "config_sentence_transformers.json"
        settings.write_text(json.dumps({**json.loads(settings.read_text()), "prompts": prompts}))
    return target


def reference_rows(model, texts):
    """Returns the reference's embeddings with its own pooling (key None) and with each of POOLINGS."""
    transformer, own_pooling, *rest = model
    poolings = {None: own_pooling}
    poolings |= {modes: Pooling(transformer.get_embedding_dimension(), modes) for modes in POOLINGS}
    results = {modes: [None] * len(texts) for modes in poolings}
    order = np.argsort([-len(text) for text in texts], kind="stable")
    for start in range(0, len(order), BATCH):
        batch = order[start:start + BATCH]
        with torch.inference_mode():
            features = transformer(transformer.preprocess([texts[i] for i in batch]))
            for modes, pooling in poolings.items():
                out = pooling(dict(features))
                for module in rest:
                    out = module(out)
                for row, values in zip(batch, out["sentence_embedding"].numpy()):
                    results[modes][row] = values
    return {modes: np.stack(rows) for modes, rows in results.items()}


def check_floats(failures, name, ours, theirs, limit):
    if ours.shape != theirs.shape:
        failures.line(name, len(ours), False, f"shape {ours.shape}, not {theirs.shape}")
        return
    # Vectors that are not normalized can be large, so the difference is relative to the largest
    # value if that is above 1.
    difference = np.abs(ours.astype(np.float64) - theirs).max() / max(1.0, np.abs(theirs).max())
    failures.line(name, len(ours), bool(difference <= limit), f"max |difference| {difference:.3g}")


def check_types(args, failures, scratch, ours, reference):
    """Makes each type from the cache of the float32 run, so nothing is encoded again."""
    output = scratch / "plain.npy"
    for precision in ("int8", "uint8", "binary", "ubinary"):
        made = run_encode(args.encode, args.model, args.input, output, "--cache-dir", str(scratch / "plain"),
                          "--output-dtype", precision)
        equal = made.tobytes() == quantize_embeddings(ours, precision).tobytes()
        theirs = quantize_embeddings(reference, precision)
        bits = np.unpackbits(made.view(np.uint8) ^ theirs.view(np.uint8)).sum() if "binary" in precision else None
        agreement = (1 - bits / ours.size) if bits is not None else (made == theirs).mean()
        farthest = "" if bits is not None else f", farthest {np.abs(made.astype(int) - theirs).max()} buckets"
        failures.line(precision, len(made), equal,
                      f"{'bytes equal' if equal else 'bytes differ'}; with the reference's floats "
                      f"{100 * agreement:.5f} % agree{farthest}")


def check_cuts(args, failures, scratch, reference):
    cut = torch.from_numpy(truncate_embeddings(reference, 64))
    for name, theirs, extra in (
            ("truncate_dim 64", cut, ()),
            ("truncate_dim 64, normalized", torch.nn.functional.normalize(cut, p=2, dim=1), ("--normalize", "--fresh"))):
        made = run_encode(args.encode, args.model, args.input, scratch / "cut.npy", "--truncate-dim", "64", *extra)
        check_floats(failures, name, made, theirs.numpy(), args.max_difference)


def check_poolings(args, failures, scratch, references):
    for modes in POOLINGS:
        name = " + ".join(modes)
        output = scratch / f"{name}.npy"
        if len(modes) == 1:
            made = run_encode(args.encode, args.model, args.input, output, "--pooling", name)
        else:
            made = run_encode(args.encode, variant(args.model, scratch / name, modes), args.input, output)
        check_floats(failures, name, made, references[modes], args.max_difference)


def check_tokens(args, failures, few, model, texts):
    """Compares token vectors (no pooling) with encode(output_value="token_embeddings")."""
    output = few.parent / "tokens.npy"
    made = run_encode(args.encode, args.model, few, output, "--pooling", "none")
    offsets = np.load(output.with_name("tokens.offsets.npy"))
    theirs = [row.numpy() for row in model.encode(texts, output_value="token_embeddings", show_progress_bar=False)]
    lengths = [len(row) for row in theirs]
    same = offsets.dtype == np.int64 and offsets.tolist() == np.concatenate([[0], np.cumsum(lengths)]).tolist()
    failures.line("none: offsets", len(theirs), same, f"{len(made)} tokens")
    check_floats(failures, "none: vectors of tokens", made, np.concatenate(theirs), args.max_difference)


def check_prompts(args, failures, scratch, few, texts):
    for include_prompt, names in ((True, ("query", "passage")), (False, ("query",))):
        directory = variant(args.model, scratch / f"prompts-{include_prompt}", prompts=PROMPTS,
                            include_prompt=include_prompt)
        prompted = SentenceTransformer(str(directory), device="cpu")
        for name in names:
            made = run_encode(args.encode, directory, few, scratch / f"{include_prompt}-{name}.npy", "--prompt-name",
                              name)
            theirs = prompted.encode(texts, prompt_name=name, show_progress_bar=False)
            label = f"prompt {name}" + ("" if include_prompt else " left out of the pooling")
            check_floats(failures, label, made, theirs, args.max_difference)


def texts_of(lines):
    return [json.loads(line)["text"] for line in lines]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("--model", type=pathlib.Path, required=True)
    parser.add_argument("--input", type=pathlib.Path, required=True)
    parser.add_argument("--prompt-rows", type=int, default=0, help="rows for token vectors and prompts (0: all)")
    parser.add_argument("--encode", type=pathlib.Path, default=root / "build/bin/encode")
    parser.add_argument("--max-difference", type=float, default=1e-5)
    args = parser.parse_args()

    lines = args.input.read_text(encoding="utf-8").splitlines()
    args.prompt_rows = args.prompt_rows or len(lines)
    texts = texts_of(lines)
    failures = Failures()
    model = SentenceTransformer(str(args.model), device="cpu")
    with tempfile.TemporaryDirectory(dir=args.model.parent) as folder:
        scratch = pathlib.Path(folder)
        references = reference_rows(model, texts)
        first = texts[:BATCH]
        check_floats(failures, "reference: modules and encode()", references[None][:BATCH],
                     model.encode(first, show_progress_bar=False), args.max_difference)
        ours = run_encode(args.encode, args.model, args.input, scratch / "plain.npy", "--cache-dir",
                          str(scratch / "plain"))
        check_floats(failures, "as it is", ours, references[None], args.max_difference)
        check_types(args, failures, scratch, ours, references[None])
        check_cuts(args, failures, scratch, references[None])
        check_poolings(args, failures, scratch, references)
        few = scratch / "few.jsonl"
        few.write_text("\n".join(lines[:args.prompt_rows]) + "\n", encoding="utf-8")
        check_tokens(args, failures, few, model, texts[:args.prompt_rows])
        check_prompts(args, failures, scratch, few, texts[:args.prompt_rows])
    print(f"FAIL: {failures.count} of the above" if failures.count else "PASS")
    sys.exit(bool(failures.count))


if __name__ == "__main__":
    main()
