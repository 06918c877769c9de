#!/usr/bin/env python3
"""Makes a tiny directory of MultiVectorEncoder, and the vectors of documents by sentence-transformers 6.

    make_multi_vector.py [--output tests/data/multi_vector]

config.json, 1_Dense/, ...      the directory that MultiVectorEncoder.save_pretrained() writes: a random BERT and a random Dense
texts.txt                       texts, one on each line; one of them is empty
embeddings.npy, lengths.npy     float32 [vectors, 6], the vectors of all texts one after the other; int64 [texts], their numbers
bare/                           a modules.json without Normalize, a mask whose skip list is for queries only, and a
                                config_sentence_transformers.json without prompts
embeddings_bare.npy, lengths_bare.npy    of the directory with the files of bare/

The vectors are the result of MultiVectorEncoder.encode_document(). It needs sentence-transformers 6.0.1, transformers 5.17.0 and
torch 2.11.
"""
import argparse
import json
import pathlib
import shutil
import string
import tempfile

import numpy as np
import torch
from sentence_transformers import MultiVectorEncoder
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
from tiny_bert import HIDDEN, make_base

WIDTH = 6
TEXTS = ("a", "the cat, sat.", "...", "fix: the leak (in) the pool!", "one, two; three: four five six seven eight nine",
         "no sign at all", "a[D] b", "", "the cat, sat.", "e~ \u00e6 f", "abc def ghi jk")


def save_vectors(folder, model, suffix=""):
    # One text at a time, so that no padding changes the order of a sum.
    vectors = [np.asarray(model.encode_document([text], convert_to_numpy=True)[0], dtype=np.float32) for text in TEXTS]
    np.save(folder / f"embeddings{suffix}.npy", np.concatenate(vectors))
    np.save(folder / f"lengths{suffix}.npy", np.array([len(rows) for rows in vectors], dtype=np.int64))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parents[2] / "tests/data/multi_vector")
    folder = parser.parse_args().output
    shutil.rmtree(folder, ignore_errors=True)
    torch.manual_seed(7)
    with tempfile.TemporaryDirectory() as base:
        make_base(base)
        transformer = Transformer(base, document_length=14, query_length=8,
                                  query_expansion={"strategy": "fixed", "attend": False, "length": 8})
    dense = Dense(HIDDEN, WIDTH, bias=False, activation_function=torch.nn.Identity(), module_input_name="token_embeddings")
    mask = MultiVectorMask(skiplist_words=list(string.punctuation))
    model = MultiVectorEncoder(modules=[transformer, dense, mask, Normalize(module_input_name="token_embeddings")],
                               prompts={"query": "q: ", "document": "d: "}, device="cpu")
    model.save_pretrained(str(folder), create_model_card=False)
    (folder / "texts.txt").write_text("\n".join(TEXTS) + "\n")
    save_vectors(folder, MultiVectorEncoder(str(folder), device="cpu"))

    bare = folder / "bare"
    (bare / "2_MultiVectorMask").mkdir(parents=True)
    modules = json.loads((folder / "modules.json").read_text())
    (bare / "modules.json").write_text(json.dumps(modules[:3], indent=2) + "\n")
    (bare / "2_MultiVectorMask/config.json").write_text(json.dumps({"skiplist_words": [".", ","], "skiplist_tasks": "query"}))
    (bare / "config_sentence_transformers.json").write_text(json.dumps({"model_type": "MultiVectorEncoder", "prompts": {}}))
    with tempfile.TemporaryDirectory() as copy:
        shutil.copytree(folder, copy, dirs_exist_ok=True)
        shutil.copytree(bare, copy, dirs_exist_ok=True)
        save_vectors(folder, MultiVectorEncoder(copy, device="cpu"), "_bare")


if __name__ == "__main__":
    main()
