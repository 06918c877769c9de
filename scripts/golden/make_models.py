#!/usr/bin/env python3
"""Makes the tiny models of tests/data/models and what Hugging Face transformers computes with them.

    make_models.py [--output tests/data/models]

Needs torch 2.11, transformers 5.17, safetensors and numpy, and no network; the same versions give the same files.

Every model directory holds config.json and its weights. Beside them, except where the table says otherwise:
  input_ids.npy          int32   [sequences, longest]           right-padded
  lengths.npy            int32   [sequences]                    positions past a length are padding: never compare them
  last_hidden_state.npy  float32 [sequences, longest, hidden]   eager attention, computed in float32, padding zeroed
"""
import argparse
import os
import pathlib
from dataclasses import dataclass, field

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import torch
import transformers

HIDDEN = 64
VOCAB = 128
LENGTHS = (1, 2, 7, 19, 40)  # one token, fewer than a kernel's tile, odd ones, the model's limit
SHAPE = {
    "vocab_size": VOCAB,
    "hidden_size": HIDDEN,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 80,
    "max_position_embeddings": max(LENGTHS),
    "pad_token_id": 0,
}
QWEN2 = {
    **SHAPE,
    "num_key_value_heads": 2,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1000000.0},
}


@dataclass(frozen=True)
class TinyModel:
    name: str
    architecture: str  # prefix of the transformers classes
    config: dict = field(default_factory=dict)
    dtype: torch.dtype = torch.float32
    shard_bytes: int = 1 << 30
    same_output_as: str = ""  # another model's name: no reference of its own


MODELS = (
    TinyModel("bert", "Bert", SHAPE),
    TinyModel("bert_float16", "Bert", SHAPE, dtype=torch.float16),
    TinyModel("bert_bfloat16", "Bert", SHAPE, dtype=torch.bfloat16),
    TinyModel("bert_float16_sharded", "Bert", SHAPE, dtype=torch.float16, shard_bytes=60_000,
              same_output_as="bert_float16"),
    TinyModel("qwen2", "Qwen2", QWEN2),
    TinyModel("qwen2_bidirectional", "Qwen2", {**QWEN2, "is_causal": False}),
)


def draw_parameters(model, generator):
    """Gives every parameter a visible scale: the library's own start (zero biases, unit norms, tiny matrices) would
    let a forgotten bias or a skipped norm pass."""
    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            noise = torch.randn(parameter.shape, generator=generator)
            if "embed" in name and parameter.ndim == 2:
                parameter.copy_(noise)
            elif parameter.ndim == 2:
                parameter.copy_(noise * (1.5 / parameter.shape[1] ** 0.5))
            elif "norm" in name.lower() and name.endswith("weight"):
                parameter.copy_(1 + 0.2 * noise)
            else:
                parameter.copy_(0.2 * noise)


def draw_inputs(generator):
    ids = torch.zeros(len(LENGTHS), max(LENGTHS), dtype=torch.int64)
    for row, length in enumerate(LENGTHS):
        ids[row, :length] = torch.randint(3, VOCAB, (length,), generator=generator)
    return ids


def run(model, ids, lengths):
    mask = (torch.arange(ids.shape[1])[None, :] < torch.tensor(lengths)[:, None]).long()
    with torch.no_grad():
        hidden = model(input_ids=ids, attention_mask=mask).last_hidden_state
    return hidden * mask[:, :, None]


def check(name, model, ids, hidden):
    """A padded batch must agree with each sequence on its own, or the reference itself is wrong."""
    for row, length in enumerate(LENGTHS):
        alone = run(model, ids[row:row + 1, :length], [length])[0]
        difference = (alone - hidden[row, :length]).abs().max().item()
        assert difference < 5e-6, f"{name}: row {row} alone differs by {difference}"
    assert torch.isfinite(hidden).all()


def make(spec, output):
    folder = output / spec.name
    model_class = getattr(transformers, spec.architecture + "Model")
    config = getattr(transformers, spec.architecture + "Config")(**spec.config)
    model = model_class(config)
    draw_parameters(model, torch.Generator().manual_seed(20))
    model.to(spec.dtype).save_pretrained(folder, max_shard_size=spec.shard_bytes)
    if spec.same_output_as:
        return
    # Read back, so that the reference includes what saving in a narrow type has rounded away.
    model = model_class.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()
    ids = draw_inputs(torch.Generator().manual_seed(21))
    hidden = run(model, ids, LENGTHS)
    check(spec.name, model, ids, hidden)
    np.save(folder / "input_ids.npy", ids.numpy().astype(np.int32))
    np.save(folder / "lengths.npy", np.array(LENGTHS, np.int32))
    np.save(folder / "last_hidden_state.npy", hidden.numpy())


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, default=root / "tests/data/models")
    output = parser.parse_args().output
    transformers.utils.logging.disable_progress_bar()
    for spec in MODELS:
        make(spec, output)
        files = sorted((output / spec.name).iterdir())
        print(spec.name, *(f"{file.name} {file.stat().st_size}" for file in files), sep="\n  ")


if __name__ == "__main__":
    main()
