#!/usr/bin/env python3
"""Makes the files of torch.save() in tests/data/pickled.

    make_pickled.py [--output tests/data/pickled]

It needs torch 2.11 and safetensors, and no network. The same versions give the same files.

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
"""
import argparse
import collections
import json
import pathlib
import zipfile

import torch
from safetensors.torch import load_file

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SOURCE = ROOT / "tests" / "data" / "sentence_transformers" / "every_module"
WORDS = "embeddings.word_embeddings.weight"


def small():
    """Returns tensors whose values the test knows."""
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
    for source in sorted(SOURCE.rglob("model.safetensors")):
        target = folder / source.parent.relative_to(SOURCE) / "pytorch_model.bin"
        target.parent.mkdir(parents=True, exist_ok=True)
        torch.save(state_dict(source), target)


def write_shards(folder):
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


class Program(torch.nn.Module):
    def forward(self, x):
        return x + 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "tests" / "data" / "pickled")
    folder = parser.parse_args().output
    write_every_module(folder / "every_module")
    write_shards(folder / "sharded")
    torch.save(small(), folder / "small.bin")
    torch.save(small(), folder / "protocol_4.bin", pickle_protocol=4)
    write_old(folder)
    torch.save({"gaps": torch.arange(12.0).reshape(3, 4)[:, :2]}, folder / "views.bin")
    torch.save({"a": torch.zeros(2)}, folder / "before_torch_1_6.bin", _use_new_zipfile_serialization=False)
    torch.jit.save(torch.jit.script(Program()), folder / "torchscript.bin")


if __name__ == "__main__":
    main()
