#!/usr/bin/env python3
"""Compares the documents that `encode run` makes with those of PyLate or sentence-transformers 6, in float32 on the CPU.

    check_late_interaction.py --model DIR --input rows.jsonl [--library pylate|sentence-transformers] [--rows 200]
                              [--encode build/bin/encode] [--max-difference 1e-5]

DIR is a directory of the library, or any sentence-transformers or Hugging Face directory: then the library adds a random Dense.
The program makes variants of the model, and the library saves and loads each of them:
- the model as it is;
- PyLate: two prefixes that the vocabulary has already ([unused0] and [unused1]), and short documents, only if it has them; no
  prefixes, and a skip list of its own;
- sentence-transformers: prompts, short documents and a skip list of all punctuation; no Normalize, and a skip list for queries;
- one more Dense with a bias, a residual and GELU.

Each row must have as many vectors as in the library, and no element may differ by more than --max-difference. The rows are those
of the input and some odd texts. The exit code is 1 if a variant differs. It needs PyLate 1.6.0, or sentence-transformers 6.0.1.
"""
import argparse
import itertools
import json
import os
import pathlib
import string
import subprocess
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import torch

ODD_TEXTS = ("", "[D] [Q] [unused1] x", "\u65e5\u672c\u8a9e \u2013 \u201cquotes\u201d \u2026 ~", "a.b,c" * 400)


class PyLate:
    def __init__(self):
        from pylate import models
        self.models = models

    def load(self, path, **settings):
        return self.models.ColBERT(str(path), device="cpu", **settings)

    def documents(self, path, rows):
        return self.load(path).encode(rows, is_query=False)

    def variants(self, path):
        """Yields a name and a model that can be saved."""
        yield "as it is", self.load(path)
        if "[unused1]" in self.load(path).tokenizer.get_vocab():
            yield "prefixes of the vocabulary", self.load(path, document_prefix="[unused1]", query_prefix="[unused0]",
                                                          document_length=60)
        yield "no prefixes, own skip list", self.load(path, document_prefix="", query_prefix="", skiplist_words=[".", "a"])
        deeper = self.load(path)
        width = deeper[-1].out_features
        deeper.append(self.models.Dense(width, width // 2, bias=True, activation_function=torch.nn.GELU(),
                                        use_residual=True))
        yield "two Dense modules", deeper


class SentenceTransformers:
    def __init__(self):
        import sentence_transformers
        from sentence_transformers.base.modules import Dense, Normalize
        from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
        self.encoder = sentence_transformers.MultiVectorEncoder
        self.dense, self.normalize, self.mask = Dense, Normalize, MultiVectorMask

    def load(self, path):
        return self.encoder(str(path), device="cpu")

    def documents(self, path, rows):
        return self.load(path).encode_document(rows, convert_to_numpy=True)

    def build(self, path, modules, **settings):
        """Makes a model of the Transformer and the first Dense of a directory, and other modules."""
        first, dense = list(self.load(path))[:2]
        first.document_length = settings.pop("document_length", None)
        return self.encoder(modules=[first, dense, *modules], device="cpu", **settings)

    def variants(self, path):
        normalize = self.normalize(module_input_name="token_embeddings")
        yield "as it is", self.load(path)
        yield "prompts and a skip list", self.build(
            path, [self.mask(skiplist_words=list(string.punctuation)), normalize], document_length=60,
            prompts={"query": "[Q] ", "document": "[D] "})
        yield "no Normalize", self.build(path, [self.mask(skiplist_words=["."], skiplist_tasks=["query"])])
        width = list(self.load(path))[1].out_features
        second = self.dense(width, width // 2, bias=True, activation_function=torch.nn.GELU(), use_residual=True,
                            module_input_name="token_embeddings")
        yield "two Dense modules", self.build(path, [second, self.mask(), normalize])


def encode(args, model, rows, folder):
    """Returns the matrix and the offsets that `encode run` writes."""
    texts = folder / "rows.jsonl"
    texts.write_text("".join(json.dumps({"text": row}) + "\n" for row in rows))
    subprocess.run([args.encode, "run", "--model", model, "--input", texts, "--field", "text", "--output",
                    folder / "out.npy", "--device", "cpu", "--quiet", "--fresh", "--overwrite"], check=True)
    return np.load(folder / "out.npy"), np.load(folder / "out.offsets.npy")


def agrees(args, library, variant, rows):
    """Compares one variant, and prints a line about it."""
    name, model = variant
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model"
        model.save_pretrained(str(path), create_model_card=False)
        theirs = library.documents(path, rows)
        ours, offsets = encode(args, path, rows, pathlib.Path(folder))
    if [len(vectors) for vectors in theirs] != np.diff(offsets).tolist():
        print(f"{name:28} FAIL: rows have other numbers of vectors")
        return False
    difference = float(np.abs(ours - np.concatenate(theirs)).max())
    good = difference <= args.max_difference
    print(f"{name:28} {len(rows)} rows, {len(ours)} vectors, largest difference {difference:.2g} {'ok' if good else 'FAIL'}")
    return good


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    libraries = {"pylate": PyLate, "sentence-transformers": SentenceTransformers}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--input", type=pathlib.Path, required=True)
    parser.add_argument("--library", choices=libraries, default="pylate")
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--encode", type=pathlib.Path, default=root / "build/bin/encode")
    parser.add_argument("--max-difference", type=float, default=1e-5)
    args = parser.parse_args()
    torch.manual_seed(1)
    with args.input.open() as lines:
        rows = [json.loads(line)["text"] for line in itertools.islice(lines, args.rows)] + list(ODD_TEXTS)
    library = libraries[args.library]()
    results = [agrees(args, library, variant, rows) for variant in library.variants(args.model)]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
