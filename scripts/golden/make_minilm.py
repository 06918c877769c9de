#!/usr/bin/env python3
"""Makes tests/data/minilm: 100 real texts and their embeddings by sentence-transformers with all-MiniLM-L6-v2.

    make_minilm.py MODEL_DIRECTORY [--output tests/data/minilm] [--sample]

texts.jsonl     {"text", "source"}: test functions of CPython and changelog entries of Debian packages, spread over the
                corpus of scripts/make_corpus.py; an existing file is kept unless --sample is given
embeddings.npy  float32 [100, 384]: mean pooling, normalized, at most 256 tokens of each text

It needs sentence-transformers 6.0.1 and torch 2.11. The model is the model of scripts/models.sh.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROWS_EACH = 50
STRIDE = 350
E_MAIL = re.compile(r"\w@\w")


def sample(kind, folder):
    output = pathlib.Path(folder) / "corpus.jsonl"
    subprocess.run(["/usr/bin/python3", str(ROOT / "scripts/make_corpus.py"), kind, "--rows", str(ROWS_EACH * 400),
                    "--output", str(output)], check=True, stdout=sys.stderr)
    rows = [row for row in output.read_text().splitlines() if not E_MAIL.search(row)]  # keeps e-mail addresses out of our files
    return rows[::STRIDE][:ROWS_EACH]


def write_texts(path):
    with tempfile.TemporaryDirectory() as folder:
        rows = sample("tests", folder) + sample("changes", folder)
    path.write_text("\n".join(rows) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "tests/data/minilm")
    parser.add_argument("--sample", action="store_true", help="take new texts from this machine's packages")
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    texts_path = args.output / "texts.jsonl"
    if args.sample or not texts_path.exists():
        write_texts(texts_path)
    texts = [json.loads(line)["text"] for line in texts_path.read_text().splitlines()]

    import sentence_transformers

    model = sentence_transformers.SentenceTransformer(str(args.model), device="cpu")
    embeddings = model.encode(texts, batch_size=1, normalize_embeddings=True, show_progress_bar=False)
    np.save(args.output / "embeddings.npy", embeddings.astype(np.float32))
    lengths = [len(ids) for ids in model.tokenizer(texts, truncation=False)["input_ids"]]
    print(f"{len(texts)} texts, {embeddings.shape}, {sum(n > model.max_seq_length for n in lengths)} truncated, "
          f"longest {max(lengths)} tokens")


if __name__ == "__main__":
    main()
