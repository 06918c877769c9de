#!/usr/bin/env python3
"""Makes tokenizers, random weights and reference vectors in one Python environment.

    worker.py < JOBS > ANSWERS        both are lines of JSON; check.py starts it

A job has "do" and the folder of a model; make_tokenizer, write_code, make_weights and encode below say what else. The answer has the key
"error" if a job fails. The environment has torch, transformers and sentence-transformers; the jobs on tokenizers need version 4
of transformers.
"""
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import torch
import transformers
from safetensors.torch import load_file, save_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import make_published as formulas

MEAN_AFTER_PROMPT = "mean of the tokens after the prompt, Normalize"

# Stand-ins of Python code that repositories name, written from what the published code does. They are not part of the product.
LLAMA_BIDIRECTIONAL = '''
import torch
from transformers import LlamaConfig, LlamaModel


class LlamaBidirectionalConfig(LlamaConfig):
    model_type = "llama_bidirec"


class LlamaBidirectionalModel(LlamaModel):
    config_class = LlamaBidirectionalConfig

    def forward(self, input_ids=None, attention_mask=None, **kwargs):
        hidden = torch.zeros(attention_mask.shape, dtype=self.dtype)
        hidden.masked_fill_(attention_mask == 0, torch.finfo(self.dtype).min)
        mask = hidden[:, None, None, :].expand(-1, 1, input_ids.shape[1], -1)
        return super().forward(input_ids=input_ids, attention_mask=mask, **kwargs)
'''

# encode() of the package gritlm calls the published model with is_causal=False.
GRITLM = '''
import torch
import transformers


class MistralModel(transformers.MistralModel):
    def forward(self, input_ids=None, attention_mask=None, **kwargs):
        hidden = torch.zeros(attention_mask.shape, dtype=self.dtype)
        hidden.masked_fill_(attention_mask == 0, torch.finfo(self.dtype).min)
        mask = hidden[:, None, None, :].expand(-1, 1, input_ids.shape[1], -1)
        return super().forward(input_ids=input_ids, attention_mask=mask, **kwargs)
'''


def stand_in_files(name):
    """The files of a stand-in of Python code: {name of the file: its text}."""
    if name == "gritlm":
        return {"modeling_gritlm7b.py": GRITLM}
    if name == "llama_bidirectional":
        return {"llama_bidirectional_model.py": LLAMA_BIDIRECTIONAL}
    import make_gte_qwen2  # it needs version 4 of transformers
    return {"tokenization_qwen.py": make_gte_qwen2.TOKENIZATION, "modeling_qwen.py": make_gte_qwen2.MODELING}


def make_tokenizer(job):
    import tokenizer_files
    tokenizer_files.make(job["folder"], job["kind"], job["settings"])
    return {}


def draw(parameters, generator):
    """Random values of a size at which every part of a network shows in its output."""
    with torch.no_grad():
        for name, value in parameters:
            noise = torch.randn(value.shape, generator=generator)
            if value.dim() < 2:
                value.copy_(0.2 * noise + (1 if name.endswith("weight") else 0))
            else:
                value.copy_(noise if "embed" in name and "project" not in name else noise / value.shape[-1] ** 0.5)


def published_names(model, renames):
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        tensors = {}
        for file in sorted(pathlib.Path(folder).glob("*.safetensors")):
            tensors.update(load_file(file))
    for pattern, replacement in renames:
        tensors = {re.sub(pattern, replacement, name): value for name, value in tensors.items()}
    return tensors


def write(tensors, path):
    path.parent.mkdir(exist_ok=True)
    if path.suffix == ".bin":
        torch.save(tensors, path)
    elif "-of-" in path.name:
        write_shards(tensors, path)
    else:
        save_file(tensors, path, {"format": "pt"})


def write_shards(tensors, path):
    names = sorted(tensors)
    halves = [names[::2], names[1::2]]
    where = {}
    for number, half in enumerate(halves, 1):
        file = path.with_name(f"model-{number:05}-of-{len(halves):05}.safetensors")
        save_file({name: tensors[name] for name in half}, file, {"format": "pt"})
        where.update({name: file.name for name in half})
    (path.parent / "model.safetensors.index.json").write_text(json.dumps(
        {"metadata": {"total_size": sum(t.nbytes for t in tensors.values())}, "weight_map": where}))


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


def published_tensors(folder, name):
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


class PublishedModel:
    """A model of an architecture that transformers does not have, by the formulas of make_published.py.

    The tokenizer is the fast class that tokenizer_config.json names, and pooling and normalization are computed here, as the
    code of these repositories is not run.
    """

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


def make_weights(job):
    """Weights of the model that config.json describes, and of the Dense modules.

    "class" is the class of transformers, "renames" are pairs of a pattern and its replacement for the names of tensors, "extra" are
    tensors of a head {name: shape}, "dtype" is the type, "file" is the name of the file, "dense" are the folders of Dense modules,
    "static" is {name: shape} of a repository without a transformer, "first" is the folder of the first module, "published" is the
    name of an architecture that transformers does not have (PublishedModel), "reference_config" are fields of config.json by the names that
    the class of transformers has for them, where the repository has other names.
    """
    folder = pathlib.Path(job["folder"])
    generator = torch.Generator().manual_seed(job["seed"])
    suffix = ".bin" if job["file"].endswith(".bin") else ".safetensors"
    for dense in job["dense"]:
        config = json.loads((folder / dense / "config.json").read_text())
        tensors = {"linear.weight": torch.empty(config["out_features"], config["in_features"])}
        if config["bias"]:
            tensors["linear.bias"] = torch.empty(config["out_features"])
        draw(tensors.items(), generator)
        write(tensors, folder / dense / ("pytorch_model.bin" if suffix == ".bin" else "model.safetensors"))
    if job["published"]:
        tensors = published_tensors(folder, job["published"])
    elif job["static"]:
        tensors = {name: torch.randn(shape, generator=generator) for name, shape in job["static"].items()}
    else:
        config = transformers.AutoConfig.from_pretrained(folder, trust_remote_code=job["remote"], **job["reference_config"])
        made = getattr(transformers, job["class"])
        options = {"trust_remote_code": job["remote"]} if job["class"].startswith("Auto") else {}
        model = made.from_config(config, **options) if job["class"].startswith("Auto") else made(config)
        draw(model.named_parameters(), generator)
        tensors = published_names(model, job["renames"])
        heads = {name: torch.empty(shape) for name, shape in job["extra"].items()}
        draw(heads.items(), generator)
        tensors.update(heads)
    tensors = {name: value.to(getattr(torch, job["dtype"])).contiguous() for name, value in tensors.items()}
    write(tensors, pathlib.Path(job["first"]) / job["file"])
    return {"tensors": len(tensors)}


def write_code(job):
    """Writes stand-ins of the code that the directory names."""
    for file, text in stand_in_files(job["name"]).items():
        (pathlib.Path(job["folder"]) / file).write_text(text)
    return {}


class Unstripped(str):
    """A text that keeps its spaces: sentence-transformers 5 strips both ends of a text, version 6 and encode do not."""

    def __str__(self):
        return self

    def __radd__(self, prompt):
        return Unstripped(str.__add__(prompt, self))

    def strip(self, chars=None):
        return self


def encode(job):
    """Token ids of the texts (none of a late-interaction model), and vectors for each of "prompts" (null, or the argument of
    encode() and its value), written to "output" as prompt-I.npy. "modules" is null or MEAN_AFTER_PROMPT."""
    if job["published"]:
        model = PublishedModel(job["folder"], job["published"])
        for number, prompt in enumerate(job["prompts"]):
            np.save(pathlib.Path(job["output"]) / f"prompt-{number}.npy", model.encode(job["texts"], prompt and prompt[1]))
        return {"ids": [model.ids(text) for text in job["texts"]]}
    import sentence_transformers
    kind = sentence_transformers.MultiVectorEncoder if job["late"] else sentence_transformers.SentenceTransformer
    width = {"torch_dtype" if int(transformers.__version__[0]) < 5 else "dtype": torch.float32}
    options = {"model_kwargs": {**width, "attn_implementation": "eager"}} if job["eager"] else {"model_kwargs": width}
    if job["static"]:
        options = {}
    options["config_kwargs"] = job["reference_config"]
    model = kind(with_known_types(job), device="cpu", trust_remote_code=job["remote"], **options).float()
    rows = [Unstripped(text) for text in job["texts"]]
    ids = None if job["late"] else [row_ids(model, row) for row in rows]
    for number, prompt in enumerate(job["prompts"]):
        if job["late"]:
            vectors = np.concatenate([np.asarray(v) for v in model.encode_document(rows, batch_size=job["batch"])])
        elif job["modules"] == MEAN_AFTER_PROMPT:
            vectors = np.stack([mean_after_prompt(model, row, prompt[1] if prompt else "") for row in rows])
        else:
            vectors = model.encode(rows, batch_size=job["batch"], convert_to_numpy=True, show_progress_bar=False, **dict([prompt] if prompt else []))
        np.save(pathlib.Path(job["output"]) / f"prompt-{number}.npy", vectors)
    return {"ids": ids}


def with_known_types(job):
    """The folder of a job. sentence-transformers 6 knows the Dense of PyLate by the name of its file only, so such a folder is a copy."""
    modules = pathlib.Path(job["folder"]) / "modules.json"
    if not modules.exists() or '"pylate.models.Dense"' not in modules.read_text():
        return job["folder"]
    copy = shutil.copytree(job["folder"], pathlib.Path(job["output"]) / "model")
    (copy / "modules.json").write_text(modules.read_text().replace('"pylate.models.Dense"', '"pylate.models.Dense.Dense"'))
    return str(copy)


def mean_after_prompt(model, text, prompt):
    """What encode() of the package gritlm does with the hidden states."""
    features = model.tokenizer(prompt + text, truncation=True, max_length=model.max_seq_length, return_tensors="pt")
    before = len(model.tokenizer(prompt)["input_ids"]) if prompt else 0
    with torch.no_grad():
        vector = model[0](dict(features))["token_embeddings"][0, before:].mean(0)
    return (vector / vector.norm()).numpy()


def row_ids(model, text):
    features = model.tokenize([text]) if hasattr(model, "tokenize") else model.preprocess([text])
    ids = features["input_ids"]
    if "attention_mask" in features:
        ids = ids[features["attention_mask"].bool()]
    return ids.reshape(-1).tolist()


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print does not belong to the answers
    torch.set_num_threads(1)
    transformers.utils.logging.set_verbosity_error()
    jobs = {"tokenizer": make_tokenizer, "code": write_code, "weights": make_weights, "encode": encode}
    for line in sys.stdin:
        job = json.loads(line)
        try:
            answer = jobs[job["do"]](job)
        except Exception as error:  # an answer for every job, whatever a library raises
            answer = {"error": f"{type(error).__name__}: {str(error)[:400]}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
