#!/usr/bin/python3
"""Compares the memory model of `encode plan` with real runs on the CPU: eight models, three budgets of tokens and two types.

usage: tests/soak/memory_model.py [MODEL...]       default: all eight; about 20 minutes on 2 cores

It makes model directories of real sizes with random weights, runs `encode plan --profile` for each model, budget and type, and
prints estimated and measured peaks as a table. It fails if an estimate is more than 10 % away from the measured peak of resident
memory. It needs a build, the demo model (scripts/models.sh), NumPy, 4 GB of disk space in .deps, and 3 GB of memory.
"""
import json
import multiprocessing
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENCODE = ROOT / "build/bin/encode"
WORK = pathlib.Path(os.environ.get("ENCODE_SOAK_DIR", ROOT / ".deps/memory_model"))
MINILM = ROOT / ".deps/models/all-MiniLM-L6-v2"
TOKENIZERS = ROOT / "tests/data/tokenizer"
MODELS = ["bert (2 layers, 64 wide)", "all-MiniLM-L6-v2", "distilbert-base", "bert-base", "modernbert-base", "xlm-roberta-base",
          "bert-large", "qwen2-0.5b"]
BUDGETS = [64, 256, 512]
TYPES = ["float32", "bfloat16"]
TOLERANCE = 0.10


def encoder(model_type, hidden, layers, heads, inner, vocab, positions=512):
    return {"model_type": model_type, "hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads,
            "intermediate_size": inner, "vocab_size": vocab, "max_position_embeddings": positions, "type_vocab_size": 2,
            "hidden_act": "gelu", "layer_norm_eps": 1e-12, "pad_token_id": 0}


MADE_MODELS = {
    "distilbert-base": ("wordpiece", "<f4", {
        "model_type": "distilbert", "dim": 768, "n_layers": 6, "n_heads": 12, "hidden_dim": 3072, "vocab_size": 30522,
        "max_position_embeddings": 512, "activation": "gelu", "pad_token_id": 0}),
    "bert-base": ("wordpiece", "<f4", encoder("bert", 768, 12, 12, 3072, 30522)),
    "bert-large": ("wordpiece", "<f4", encoder("bert", 1024, 24, 16, 4096, 30522)),
    "xlm-roberta-base": ("wordpiece", "<f4", encoder("xlm-roberta", 768, 12, 12, 3072, 250002, 514) | {"pad_token_id": 1}),
    "modernbert-base": ("wordpiece", "<f4", {
        "model_type": "modernbert", "hidden_size": 768, "num_hidden_layers": 22, "num_attention_heads": 12,
        "intermediate_size": 1152, "vocab_size": 50368, "max_position_embeddings": 8192, "hidden_activation": "gelu",
        "norm_eps": 1e-5, "local_attention": 128, "global_attn_every_n_layers": 3, "global_rope_theta": 160000.0,
        "local_rope_theta": 10000.0, "pad_token_id": 0}),
    "qwen2-0.5b": ("qwen2", "bf16", {
        "model_type": "qwen2", "hidden_size": 896, "num_hidden_layers": 24, "num_attention_heads": 14,
        "num_key_value_heads": 2, "intermediate_size": 4864, "vocab_size": 151936, "max_position_embeddings": 32768,
        "hidden_act": "silu", "rms_norm_eps": 1e-6, "rope_theta": 1e6}),
}


def bert(config):
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    yield from [("embeddings.word_embeddings.weight", (config["vocab_size"], hidden)),
                ("embeddings.position_embeddings.weight", (config["max_position_embeddings"], hidden)),
                ("embeddings.token_type_embeddings.weight", (2, hidden))]
    yield from norm("embeddings.LayerNorm", hidden)
    for layer in range(config["num_hidden_layers"]):
        at = f"encoder.layer.{layer}."
        for name in ("query", "key", "value"):
            yield from linear(f"{at}attention.self.{name}", hidden, hidden)
        yield from linear(at + "attention.output.dense", hidden, hidden)
        yield from norm(at + "attention.output.LayerNorm", hidden)
        yield from linear(at + "intermediate.dense", inner, hidden)
        yield from linear(at + "output.dense", hidden, inner)
        yield from norm(at + "output.LayerNorm", hidden)


def distilbert(config):
    hidden, inner = config["dim"], config["hidden_dim"]
    yield from [("embeddings.word_embeddings.weight", (config["vocab_size"], hidden)),
                ("embeddings.position_embeddings.weight", (config["max_position_embeddings"], hidden))]
    yield from norm("embeddings.LayerNorm", hidden)
    for layer in range(config["n_layers"]):
        at = f"transformer.layer.{layer}."
        for name in ("q_lin", "k_lin", "v_lin", "out_lin"):
            yield from linear(f"{at}attention.{name}", hidden, hidden)
        yield from norm(at + "sa_layer_norm", hidden)
        yield from linear(at + "ffn.lin1", inner, hidden)
        yield from linear(at + "ffn.lin2", hidden, inner)
        yield from norm(at + "output_layer_norm", hidden)


def modernbert(config):
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    yield "embeddings.tok_embeddings.weight", (config["vocab_size"], hidden)
    yield "embeddings.norm.weight", (hidden,)
    for layer in range(config["num_hidden_layers"]):
        at = f"layers.{layer}."
        if layer > 0:
            yield at + "attn_norm.weight", (hidden,)
        yield from [(at + "attn.Wqkv.weight", (3 * hidden, hidden)), (at + "attn.Wo.weight", (hidden, hidden)),
                    (at + "mlp_norm.weight", (hidden,)), (at + "mlp.Wi.weight", (2 * inner, hidden)),
                    (at + "mlp.Wo.weight", (hidden, inner))]
    yield "final_norm.weight", (hidden,)


def qwen2(config):
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    key_value = hidden // config["num_attention_heads"] * config["num_key_value_heads"]
    yield "embed_tokens.weight", (config["vocab_size"], hidden)
    for layer in range(config["num_hidden_layers"]):
        at = f"layers.{layer}."
        yield at + "input_layernorm.weight", (hidden,)
        yield from linear(at + "self_attn.q_proj", hidden, hidden)
        yield from linear(at + "self_attn.k_proj", key_value, hidden)
        yield from linear(at + "self_attn.v_proj", key_value, hidden)
        yield from [(at + "self_attn.o_proj.weight", (hidden, hidden)), (at + "post_attention_layernorm.weight", (hidden,)),
                    (at + "mlp.gate_proj.weight", (inner, hidden)), (at + "mlp.up_proj.weight", (inner, hidden)),
                    (at + "mlp.down_proj.weight", (hidden, inner))]
    yield "norm.weight", (hidden,)


def linear(name, out, inputs):
    return [(name + ".weight", (out, inputs)), (name + ".bias", (out,))]


def norm(name, width):
    return [(name + ".weight", (width,)), (name + ".bias", (width,))]


TENSORS = {"bert": bert, "xlm-roberta": bert, "distilbert": distilbert, "modernbert": modernbert, "qwen2": qwen2}


def values(shape, dtype, generator):
    """Norms have ones, all other tensors small random numbers; bf16 is the upper half of a float32."""
    numbers = np.ones(shape, "<f4") if len(shape) == 1 else generator.standard_normal(shape, np.float32) * np.float32(0.02)
    return numbers.astype("<f4").view("<u4") >> 16 if dtype == "bf16" else numbers


def write_weights(path, tensors, dtype):
    width, name = (2, "BF16") if dtype == "bf16" else (4, "F32")
    header, offset = {}, 0
    for tensor, shape in tensors:
        size = int(np.prod(shape)) * width
        header[tensor] = {"dtype": name, "shape": list(shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    generator = np.random.default_rng(7)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, shape in tensors:
            numbers = values(shape, dtype, generator)
            file.write((numbers.astype("<u2") if dtype == "bf16" else numbers).tobytes())


def make_model(name, folder):
    tokenizer, dtype, config = MADE_MODELS[name]
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    shutil.copy(TOKENIZERS / tokenizer / "tokenizer.json", folder / "tokenizer.json")
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 512}))
    write_weights(folder / "model.safetensors", list(TENSORS[config["model_type"]](config)), dtype)


def make_models():
    for name in MADE_MODELS:
        folder = WORK / "models" / name
        if not (folder / "model.safetensors").exists():
            shutil.rmtree(folder, ignore_errors=True)
            make_model(name, folder)


def write_rows(path, longest, vocabulary=100):
    """Writes token ids. The rows fill several batches of each of two threads, whatever the budget is."""
    random.seed(7)
    lengths = [longest] * 4 + [random.randrange(1, longest // 3) for _ in range(8)] * (512 // max(longest, 64))
    path.write_text("".join(json.dumps({"text": [random.randrange(1, vocabulary) for _ in range(n)]}) + "\n" for n in lengths))


def folder_of(name):
    if name == "all-MiniLM-L6-v2":
        return MINILM
    return ROOT / "tests/data/models/bert" if name.startswith("bert (") else WORK / "models" / name


def measure(folder, budget, dtype):
    longest = 40 if folder.name == "bert" else 512
    rows = WORK / "rows.jsonl"
    # A row has at most as many tokens as the budget: a longer one would get a batch of its own size.
    write_rows(rows, min(longest, budget))
    home = WORK / "profiles"
    (home / "encode/memory_profiles.json").unlink(missing_ok=True)
    command = [ENCODE, "plan", "--model", folder, "--input", rows, "--field", "text", "--output", WORK / "out.npy",
               "--device", "cpu", "--dtype", dtype, "--batch-tokens", str(budget), "--json", "--profile"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False,
                          env={**os.environ, "XDG_CACHE_HOME": str(home)})
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    profile = json.loads(done.stdout)["profile"]
    return profile["estimated_bytes"], profile["measured_bytes"]


def main():
    if "-h" in sys.argv or "--help" in sys.argv:
        print(__doc__)
        return
    WORK.mkdir(parents=True, exist_ok=True)
    # A child makes the models, because the peak memory of a program that is started later begins with the one of its parent.
    maker = multiprocessing.get_context("spawn").Process(target=make_models)
    maker.start()
    maker.join()
    if maker.exitcode:
        sys.exit("error: the models cannot be made")
    print("| model | type | tokens in a batch | estimated | measured | difference |\n|---|---|---|---|---|---|")
    worst = 0.0
    for name in sys.argv[1:] or MODELS:
        for dtype in TYPES:
            for budget in BUDGETS:
                estimated, measured = measure(folder_of(name), budget, dtype)
                difference = estimated / measured - 1
                worst = max(worst, abs(difference))
                print(f"| {name} | {dtype} | {budget} | {estimated / 1e6:,.0f} MB | {measured / 1e6:,.0f} MB | "
                      f"{100 * difference:+.1f} % |", flush=True)
    print(f"\nlargest difference: {100 * worst:.1f} %")
    if worst > TOLERANCE:
        sys.exit(1)


if __name__ == "__main__":
    main()
