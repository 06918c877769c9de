"""Models of architectures that transformers does not have, by the formulas of scripts/golden/make_published.py.

The tokenizer is the fast class that tokenizer_config.json names, and pooling and normalization are computed here, as the code of these repositories is not run.
"""
import json
import pathlib
import shutil
import sys
import tempfile

import numpy as np
import torch
import transformers
from safetensors.torch import load_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "golden"))
import make_published as formulas


def gte_of_config(config):
    """GTE with the rotary positions that config.json states."""
    scaling = (config.get("rope_scaling") or {}).get("factor", 1.0)
    width = formulas.HIDDEN // formulas.HEADS
    frequencies = 1 / (config["rope_theta"] * scaling) ** formulas.exponents() / scaling ** (2 / width)

    def forward(p, ids):
        x = formulas.embed(p, ids, "embeddings.LayerNorm", segments=config["type_vocab_size"])
        return formulas.gte_layers(p, x, frequencies)

    return forward


def forward_of(folder, name):
    config = json.loads((pathlib.Path(folder) / "config.json").read_text())
    formulas.VOCAB = config["vocab_size"]
    return gte_of_config(config) if name == "gte" else getattr(formulas, name)


def tensors(folder, name):
    """Random weights: those that the formulas ask for."""
    parameters = formulas.Parameters()
    forward_of(folder, name)(parameters, torch.tensor([1, 2, 3]))
    return parameters.tensors


def tokenizer_of(folder):
    """The tokenizer, read from a copy without config.json: transformers refuses a config.json that names code."""
    name = json.loads((folder / "tokenizer_config.json").read_text())["tokenizer_class"]
    with tempfile.TemporaryDirectory() as copy:
        for file in folder.iterdir():
            if file.is_file() and file.name not in ("config.json", "model.safetensors"):
                shutil.copy(file, copy)
        return getattr(transformers, name + "Fast").from_pretrained(copy)


class Model:
    def __init__(self, folder, architecture):
        folder = pathlib.Path(folder)
        weights = load_file(folder / "model.safetensors")
        self.parameters = lambda tensor, *_: weights[tensor].float()
        self.forward = forward_of(folder, architecture)
        self.tokenizer = tokenizer_of(folder)
        self.limit = json.loads((folder / "sentence_bert_config.json").read_text())["max_seq_length"]
        modules = json.loads((folder / "modules.json").read_text())
        self.dense = [load_file(folder / module["path"] / "model.safetensors") for module in modules
                      if module["type"].endswith("Dense")]
        self.normalize = modules[-1]["type"].endswith("Normalize")
        self.pooling = json.loads((folder / "1_Pooling/config.json").read_text())
        path = folder / "config_sentence_transformers.json"
        self.prompts = json.loads(path.read_text())["prompts"] if path.exists() else {}

    def ids(self, text):
        return self.tokenizer(text, truncation=True, max_length=self.limit)["input_ids"]

    def encode(self, texts, prompt):
        rows = [self.row(self.prompts[prompt] + text if prompt else text) for text in texts]
        return np.stack(rows)

    def row(self, text):
        with torch.no_grad():
            hidden = self.forward(self.parameters, torch.tensor(self.ids(text)))
        vector = hidden[0] if self.pooling["pooling_mode_cls_token"] else hidden.mean(0)
        for dense in self.dense:
            vector = dense["linear.weight"] @ vector + dense["linear.bias"]
        return (vector / vector.norm() if self.normalize else vector).numpy()
