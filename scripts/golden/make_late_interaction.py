#!/usr/bin/env python3
"""Makes a tiny late-interaction directory with PyLate, and the vectors of documents by PyLate.

    make_late_interaction.py [--output tests/data/late_interaction]

config.json, 1_Dense/, ...      the directory that ColBERT.save_pretrained() writes: a random BERT and a random Dense
texts.txt                       texts, one on each line; one of them is empty
embeddings.npy                  float32 [vectors, 6], the vectors of all texts one after the other
lengths.npy                     int64 [texts], the number of vectors of each text
embeddings_tanh.npy             as embeddings.npy, with a Dense that has a bias, a residual and Tanh
dense_tanh/                     the files of this Dense

The vectors are the result of ColBERT.encode(texts, is_query=False). It needs PyLate 1.6.0, which needs sentence-transformers
5.3.0 and transformers 5.3.0, and torch 2.11.
"""
import argparse
import pathlib
import shutil
import tempfile

import numpy as np
import torch
from pylate import models
from tiny_bert import HIDDEN, make_base

WIDTH = 6
# "é~" has an unknown token, for which "~" of PyLate's skip list stands.
TEXTS = ("a", "the cat, sat.", "...", "fix: the leak (in) the pool!", "one, two; three: four five six seven eight nine",
         "no sign at all", "a[D] b", "", "the cat, sat.", "e~ \u00e6 f", "abc def ghi jk")


def encode(model):
    # One text at a time, so that no padding changes the order of a sum.
    return [np.asarray(model.encode([text], is_query=False)[0], dtype=np.float32) for text in TEXTS]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parents[2] / "tests/data/late_interaction")
    folder = parser.parse_args().output
    shutil.rmtree(folder, ignore_errors=True)
    torch.manual_seed(5)
    with tempfile.TemporaryDirectory() as base:
        make_base(base)
        model = models.ColBERT(base, embedding_size=WIDTH, document_length=14, query_length=8, device="cpu")
    # The rows of the prefixes are random, but the default makes them nearly equal to the mean of all rows.
    torch.nn.init.normal_(model[0].auto_model.get_input_embeddings().weight, std=0.3)
    model.save_pretrained(str(folder), create_model_card=False)
    (folder / "texts.txt").write_text("\n".join(TEXTS) + "\n")
    vectors = encode(models.ColBERT(str(folder), device="cpu"))
    np.save(folder / "embeddings.npy", np.concatenate(vectors))
    np.save(folder / "lengths.npy", np.array([len(rows) for rows in vectors], dtype=np.int64))

    model[1] = models.Dense(HIDDEN, WIDTH, bias=True, activation_function=torch.nn.Tanh(), use_residual=True)
    np.save(folder / "embeddings_tanh.npy", np.concatenate(encode(model)))
    (folder / "dense_tanh").mkdir()
    model[1].save(str(folder / "dense_tanh"))


if __name__ == "__main__":
    main()
