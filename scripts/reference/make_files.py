#!/usr/bin/env python3
"""Makes small files of other programs in tests/data. The same versions give the same files.

    make_files.py arrow|pickled|utf8 [--output DIR]
    make_files.py minilm --model DIR [--sample] [--output DIR]
    make_files.py old-run --encode PROGRAM [--output DIR]

arrow    tests/data/arrow: files of columns as users have them, written by pyarrow 26.0.1 and Hugging Face datasets 5.2.0
  rows.json       the texts of every file, and the token ids of ids.parquet
  texts.parquet   the column "text", in two row groups (snappy), beside a column of numbers
  ids.parquet     the column "input_ids", a list of int64
  texts.feather   the column "text" by pyarrow.feather (an Arrow IPC file with LZ4)
  saved/          the folder of datasets.save_to_disk, in two files (Arrow IPC streams)
pickled  tests/data/pickled: files of torch.save(). It needs torch 2.11 and safetensors, and no network
  every_module/  the weights of tests/data/sentence_transformers/every_module: the matrices of attention are transposed views, one
                 name shares the storage of the word embeddings, some tensors are parameters
  sharded/       the same transformer in two shards with an index
  small.bin      every type of storage that a model can have, with pickle protocol 2
  protocol_4.bin the tensors of small.bin with pickle protocol 4
  torch_1_6.bin  the tensors of small.bin in an archive with the entries that torch 1.6 wrote, which says nothing about the byte
                 order, and in which the records are not aligned
  views.bin      a tensor with gaps, which encode does not read
  before_torch_1_6.bin   the format without a zip archive
  torchscript.bin        a program
utf8     tests/data/text/utf8_replace.tsv: byte sequences and their decoding by Python with errors='replace'
  CPython's UTF-8 decoder puts U+FFFD for each maximal subpart (Unicode Standard 3.9). EDGES are the bytes at which the table of
  well-formed UTF-8 changes. The file has the examples of the Unicode Standard, every sequence of one or two EDGES, and a digest
  over all sequences of three and of four EDGES.
minilm   tests/data/minilm: 100 real texts and their embeddings by sentence-transformers 6.0.1 (torch 2.11) with all-MiniLM-L6-v2,
         the model of scripts/models.sh
  texts.jsonl     {"text", "source"}: test functions of CPython and changelog entries of Debian packages, spread over the corpus of
                  scripts/make_corpus.py; an existing file is kept unless --sample is given
  embeddings.npy  float32 [100, 384]: mean pooling, normalized, at most 256 tokens of each text
old-run  tests/data/old_run: what a run leaves that an earlier version of encode has started
  PROGRAM is that of the earlier version, with encode-worker beside it. The data come from the commit 8fb8971 (the last one with
  version 8 of the fingerprint), on a CPU with AVX512_BF16. chunks/ are the committed chunks of a run that was killed before its
  final matrix; vectors/ is its embedding cache.
"""
import argparse
import collections
import hashlib
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests/data"
ROWS = 40
SOURCE = DATA / "sentence_transformers" / "every_module"
WORDS = "embeddings.word_embeddings.weight"
EDGES = bytes.fromhex("00417f808f909fa0bfc0c1c2dfe0e1ecedeeeff0f1f3f4f5ff")
EXAMPLES = [
    "c0afe080bff08182 41",  # Unicode 15, table 3-8
    "eda080edbfbfedaf41",  # table 3-9
    "f4919293ff4180bf42",  # table 3-10
    "e180e2f09192f1bf41",  # table 3-11
    "efbbbf41", "c3a9", "f09f9880", "f09f98", "6162e282", "e282ac00e282ac",
]
ROWS_EACH = 50
STRIDE = 350
E_MAIL = re.compile(r"\w@\w")


def make_arrow(folder, _):
    import datasets
    import pyarrow
    import pyarrow.feather
    import pyarrow.parquet
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    texts = [f"Row {row}: " + "the quick brown fox; größer, 日本語 " * (row % 3) for row in range(ROWS)]
    ids = [[row + i for i in range(row % 5)] for row in range(ROWS)]
    table = pyarrow.table({"number": list(range(ROWS)), "text": texts})
    (folder / "rows.json").write_text(json.dumps({"texts": texts, "ids": ids}, ensure_ascii=False) + "\n")
    pyarrow.parquet.write_table(table, folder / "texts.parquet", row_group_size=25)
    pyarrow.parquet.write_table(pyarrow.table({"input_ids": ids}), folder / "ids.parquet")
    pyarrow.feather.write_feather(table, folder / "texts.feather")
    saved = folder / "saved"
    datasets.Dataset.from_dict({"text": texts}).save_to_disk(saved, num_shards=2)


def small():
    """Returns tensors whose values the test knows."""
    import torch
    numbers = torch.arange(6).reshape(2, 3)
    storage = torch.arange(10, dtype=torch.float32)
    return {
        "float": numbers.float(), "half": numbers.half(), "bfloat16": numbers.bfloat16(), "double": numbers.double(),
        "long": numbers, "int": numbers.int(), "short": numbers.short(), "char": numbers.char(), "byte": numbers.byte(),
        "bool": numbers.bool(), "scalar": torch.tensor(7.0), "transposed": torch.arange(6.0).reshape(3, 2).t(),
        "tail": storage[4:], "head": storage[:4], "expanded": torch.arange(4.0).expand(1, 4),
        "parameter": torch.nn.Parameter(torch.ones(2)),
    }


def state_dict(path):
    """Returns the tensors of a safetensors file as a module would hand them out."""
    import torch
    from safetensors.torch import load_file
    tensors = collections.OrderedDict()
    for name, tensor in load_file(path).items():
        transposed = tensor.dim() == 2 and ".attention." in name
        tensors[name] = tensor.t().contiguous().t() if transposed else tensor
        if name.endswith(".bias"):
            tensors[name] = torch.nn.Parameter(tensors[name])
    if WORDS in tensors:
        tensors["cls.predictions.decoder.weight"] = tensors[WORDS]
    tensors._metadata = collections.OrderedDict([("", {"version": 1})])
    return tensors


def write_every_module(folder):
    import torch
    for source in sorted(SOURCE.rglob("model.safetensors")):
        target = folder / source.parent.relative_to(SOURCE) / "pytorch_model.bin"
        target.parent.mkdir(parents=True, exist_ok=True)
        torch.save(state_dict(source), target)


def write_shards(folder):
    import torch
    from safetensors.torch import load_file
    folder.mkdir(parents=True, exist_ok=True)
    tensors = list(load_file(SOURCE / "model.safetensors").items())
    weight_map = {}
    for number, part in enumerate([tensors[:5], tensors[5:]], 1):
        shard = f"pytorch_model-{number:05}-of-00002.bin"
        torch.save(dict(part), folder / shard)
        weight_map |= {name: shard for name, _ in part}
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps({"metadata": {}, "weight_map": weight_map}, indent=1) + "\n")


def write_old(folder):
    """Repacks small.bin: its pickle is the one of torch 1.6, its archive has other entries."""
    with zipfile.ZipFile(folder / "small.bin") as new, zipfile.ZipFile(folder / "torch_1_6.bin", "w", zipfile.ZIP_STORED) as old:
        names = [name.removeprefix("small/") for name in new.namelist()]
        for name in sorted(name for name in names if name == "data.pkl" or name.startswith("data/") or name == "version"):
            old.writestr(zipfile.ZipInfo(f"archive/{name}"), new.read(f"small/{name}"))


def make_pickled(folder, _):
    import torch

    class Program(torch.nn.Module):
        def forward(self, x):
            return x + 1

    write_every_module(folder / "every_module")
    write_shards(folder / "sharded")
    torch.save(small(), folder / "small.bin")
    torch.save(small(), folder / "protocol_4.bin", pickle_protocol=4)
    write_old(folder)
    torch.save({"gaps": torch.arange(12.0).reshape(3, 4)[:, :2]}, folder / "views.bin")
    torch.save({"a": torch.zeros(2)}, folder / "before_torch_1_6.bin", _use_new_zipfile_serialization=False)
    torch.jit.save(torch.jit.script(Program()), folder / "torchscript.bin")


def replaced(data):
    return data.decode("utf-8", errors="replace").encode()


def digest(length):
    total = hashlib.sha256()
    for sequence in itertools.product(EDGES, repeat=length):
        total.update(replaced(bytes(sequence)) + b"\n")
    return total.hexdigest()


def make_utf8(folder, _):
    sequences = [bytes.fromhex(example) for example in EXAMPLES]
    sequences += [bytes(s) for n in (1, 2) for s in itertools.product(EDGES, repeat=n)]
    lines = [f"{s.hex()}\t{replaced(s).hex()}" for s in sequences]
    lines += [f"all {n}\t{EDGES.hex()}\t{digest(n)}" for n in (3, 4)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "utf8_replace.tsv").write_text("\n".join(lines) + "\n")


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


def make_minilm(folder, args):
    os.environ["HF_HUB_OFFLINE"] = "1"
    import numpy as np
    import sentence_transformers
    folder.mkdir(parents=True, exist_ok=True)
    texts_path = folder / "texts.jsonl"
    if args.sample or not texts_path.exists():
        write_texts(texts_path)
    texts = [json.loads(line)["text"] for line in texts_path.read_text().splitlines()]

    model = sentence_transformers.SentenceTransformer(str(args.model), device="cpu")
    embeddings = model.encode(texts, batch_size=1, normalize_embeddings=True, show_progress_bar=False)
    np.save(folder / "embeddings.npy", embeddings.astype(np.float32))
    lengths = [len(ids) for ids in model.tokenizer(texts, truncation=False)["input_ids"]]
    print(f"{len(texts)} texts, {embeddings.shape}, {sum(n > model.max_seq_length for n in lengths)} truncated, "
          f"longest {max(lengths)} tokens")


def make_old_run(folder, args):
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(temporary)
        shutil.copytree(SOURCE, work / "model")
        subprocess.run([args.encode.resolve(), "run", "--model", "model", "--input", "model/texts.txt", "--cache-dir", "cache",
                        "--chunk-size", "2", "--keep-chunks", "--embedding-cache", "vectors", "--device", "cpu", "--no-progress"],
                       cwd=work, check=True)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(next(work.glob("cache/*_chunks")), folder / "chunks")
        (folder / "vectors").mkdir()
        for name in ("data.mdb", "embedding_cache.json"):
            shutil.copy(work / "vectors" / name, folder / "vectors")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    makers = {"arrow": (make_arrow, "arrow"), "pickled": (make_pickled, "pickled"), "utf8": (make_utf8, "text"),
              "minilm": (make_minilm, "minilm"), "old-run": (make_old_run, "old_run")}
    for name, (make, folder) in makers.items():
        command = commands.add_parser(name)
        command.set_defaults(make=make)
        command.add_argument("--output", type=pathlib.Path, default=DATA / folder)
    commands.choices["minilm"].add_argument("--model", required=True)
    commands.choices["minilm"].add_argument("--sample", action="store_true", help="take new texts from this machine's packages")
    commands.choices["old-run"].add_argument("--encode", type=pathlib.Path, required=True)
    args = parser.parse_args()
    args.make(args.output, args)


if __name__ == "__main__":
    main()
