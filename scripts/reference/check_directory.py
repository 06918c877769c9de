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

The bytes of a quantized matrix must equal quantize_embeddings of encode's float32 matrix. The program also prints how much
of it agrees with quantize_embeddings of the reference: a difference in the last bit can move a number to another bucket.

The program prints a table. The exit code is 1 if a check fails. It needs sentence-transformers 6.0.1.
"""
import argparse
import dataclasses
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


@dataclasses.dataclass
class Check:
    """The options of this script, the folder for the files that it writes, and its failures."""
    args: argparse.Namespace
    scratch: pathlib.Path
    failures: Failures

    def encode(self, output, *extra, model=None, rows=None):
        """Returns the matrix of `rows` by `model`. The defaults are --input and --model."""
        command = [str(self.args.encode), "run", "--model", str(model or self.args.model), "--input",
                   str(rows or self.args.input), "--field", "text", "--device", "cpu", "--dtype", "float32", "--output",
                   str(output), "--no-progress", "--quiet", "--keep-chunks", *extra]
        subprocess.run(command, check=True)
        return np.load(output)

    def floats(self, name, ours, theirs):
        if ours.shape != theirs.shape:
            self.failures.line(name, len(ours), False, f"shape {ours.shape}, not {theirs.shape}")
            return
        # Poolings that are not normalized can be large, so the difference is relative to the largest value if that is
        # above 1.
        difference = np.abs(ours.astype(np.float64) - theirs).max() / max(1.0, np.abs(theirs).max())
        self.failures.line(name, len(ours), bool(difference <= self.args.max_difference),
                           f"max |difference| {difference:.3g}")


def variant(model, folder, pooling, prompts=None):
    """Copies the directory with another pooling or other prompts. `pooling` is the config of the pooling without its width.
    The weights are hard links."""
    target = pathlib.Path(folder)
    shutil.copytree(model, target, copy_function=lambda a, b: os.link(a, b) if a.endswith(".safetensors") else
                    shutil.copy2(a, b))
    config_path = next(target.glob("*_Pooling")) / "config.json"
    config = json.loads(config_path.read_text())
    width = config.get("embedding_dimension", config.get("word_embedding_dimension"))
    config_path.write_text(json.dumps({"embedding_dimension": width, **pooling}))
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


def check_types(check, ours, reference):
    """Makes each type from the cache of the float32 run, so nothing is encoded again."""
    output = check.scratch / "plain.npy"
    for precision in ("int8", "uint8", "binary", "ubinary"):
        made = check.encode(output, "--cache-dir", str(check.scratch / "plain"), "--output-dtype", precision)
        equal = made.tobytes() == quantize_embeddings(ours, precision).tobytes()
        theirs = quantize_embeddings(reference, precision)
        bits = np.unpackbits(made.view(np.uint8) ^ theirs.view(np.uint8)).sum() if "binary" in precision else None
        agreement = (1 - bits / ours.size) if bits is not None else (made == theirs).mean()
        farthest = "" if bits is not None else f", farthest {np.abs(made.astype(int) - theirs).max()} buckets"
        check.failures.line(precision, len(made), equal,
                            f"{'bytes equal' if equal else 'bytes differ'}; with the reference's floats "
                            f"{100 * agreement:.5f} % agree{farthest}")


def check_cuts(check, reference):
    cut = torch.from_numpy(truncate_embeddings(reference, 64))
    for name, theirs, extra in (
            ("truncate_dim 64", cut, ()),
            ("truncate_dim 64, normalized", torch.nn.functional.normalize(cut, p=2, dim=1), ("--normalize", "--fresh"))):
        made = check.encode(check.scratch / "cut.npy", "--truncate-dim", "64", *extra)
        check.floats(name, made, theirs.numpy())


def check_poolings(check, references):
    for modes in POOLINGS:
        name = " + ".join(modes)
        output = check.scratch / f"{name}.npy"
        if len(modes) == 1:
            made = check.encode(output, "--pooling", name)
        else:
            pooling = {"pooling_mode": list(modes), "include_prompt": True}
            made = check.encode(output, model=variant(check.args.model, check.scratch / name, pooling))
        check.floats(name, made, references[modes])


def check_tokens(check, few, model, texts):
    """Compares token vectors (no pooling) with encode(output_value="token_embeddings")."""
    output = few.parent / "tokens.npy"
    made = check.encode(output, "--pooling", "none", rows=few)
    offsets = np.load(output.with_name("tokens.offsets.npy"))
    theirs = [row.numpy() for row in model.encode(texts, output_value="token_embeddings", show_progress_bar=False)]
    lengths = [len(row) for row in theirs]
    same = offsets.dtype == np.int64 and offsets.tolist() == np.concatenate([[0], np.cumsum(lengths)]).tolist()
    check.failures.line("none: offsets", len(theirs), same, f"{len(made)} tokens")
    check.floats("none: vectors of tokens", made, np.concatenate(theirs))


def check_prompts(check, few, texts):
    for include_prompt, names in ((True, ("query", "passage")), (False, ("query",))):
        pooling = {"pooling_mode": ["mean"], "include_prompt": include_prompt}
        directory = variant(check.args.model, check.scratch / f"prompts-{include_prompt}", pooling, PROMPTS)
        prompted = SentenceTransformer(str(directory), device="cpu")
        for name in names:
            made = check.encode(check.scratch / f"{include_prompt}-{name}.npy", "--prompt-name", name, model=directory,
                                rows=few)
            theirs = prompted.encode(texts, prompt_name=name, show_progress_bar=False)
            label = f"prompt {name}" + ("" if include_prompt else " left out of the pooling")
            check.floats(label, made, theirs)


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
        check = Check(args, scratch, failures)
        check.floats("reference: modules and encode()", references[None][:BATCH],
                     model.encode(first, show_progress_bar=False))
        ours = check.encode(scratch / "plain.npy", "--cache-dir", str(scratch / "plain"))
        check.floats("as it is", ours, references[None])
        check_types(check, ours, references[None])
        check_cuts(check, references[None])
        check_poolings(check, references)
        few = scratch / "few.jsonl"
        few.write_text("\n".join(lines[:args.prompt_rows]) + "\n", encoding="utf-8")
        check_tokens(check, few, model, texts[:args.prompt_rows])
        check_prompts(check, few, texts[:args.prompt_rows])
    print(f"FAIL: {failures.count} of the above" if failures.count else "PASS")
    sys.exit(bool(failures.count))


if __name__ == "__main__":
    main()
