#!/usr/bin/env python3
"""Compares `encode run` with Hugging Face transformers in float32 on random models of full size and real texts.

  scripts/check_full_size.py --texts rows.jsonl --tokenizer tokenizer.json [--encode build/bin/encode] [--only NAME ..]

The models have the shapes of Qwen3-0.6B, ModernBERT-base and EmbeddingGemma-300M, with random weights in bfloat16. The rows
are twenty of the texts (JSON lines with the field `text`), from the shortest to the longest, cut at 2,048 tokens.
`encode tokenize` makes their ids, and both programs read these ids. Any tokenizer will do if its vocabulary is smaller than
the models' vocabularies. The hidden states are compared by a vector of four parts: first token, maximum, mean and last
token. The exit code is 1 if the cosine of a row is below 0.99999.

It needs torch 2.11, transformers 5.17, numpy, 4 GB of disk and 8 GB of memory, and no network.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_models  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402

ROWS = 20
LONGEST = 2048
GEMMA_LAYERS = (["sliding_attention"] * 5 + ["full_attention"]) * 4
MODELS = {
    "Qwen3-0.6B": ("Qwen3", {
        "vocab_size": 151669, "hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28,
        "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "max_position_embeddings": 32768,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e6}}),
    "ModernBERT-base": ("ModernBert", {"max_position_embeddings": 8192}),  # the defaults of the class
    "EmbeddingGemma-300M": ("Gemma3Text", {
        "vocab_size": 262144, "hidden_size": 768, "intermediate_size": 1152, "num_hidden_layers": 24,
        "num_attention_heads": 3, "num_key_value_heads": 1, "head_dim": 256, "max_position_embeddings": 2048,
        "sliding_window": 512, "use_bidirectional_attention": True, "layer_types": GEMMA_LAYERS,
        "query_pre_attn_scalar": 256, "rope_parameters": check_models.GEMMA_ROPE}),
}


def real_rows(args, folder):
    """Returns the ids of ROWS rows, spread evenly over the lengths."""
    ids = folder / "ids.jsonl"
    subprocess.run([str(word) for word in (args.encode, "tokenize", "--tokenizer", args.tokenizer, "--input", args.texts,
                                           "--field", "text", "--max-length", LONGEST, "--output", ids)],
                   check=True, stdout=subprocess.DEVNULL)
    rows = sorted((json.loads(line)["input_ids"] for line in ids.open()), key=len)
    return [rows[round(i * (len(rows) - 1) / (ROWS - 1))] for i in range(ROWS)]


def make(folder, architecture, config):
    torch.manual_seed(1)
    config = getattr(transformers, architecture + "Config")(**config)
    model = getattr(transformers, architecture + "Model")(config).to(torch.bfloat16)
    model.save_pretrained(folder)
    check_models.write_modules(folder, config.hidden_size)
    return type(model).from_pretrained(folder, dtype=torch.float32).eval()


def check(args, name, sequences):
    with tempfile.TemporaryDirectory() as temp:
        folder = pathlib.Path(temp)
        model = make(folder, *MODELS[name])
        began = time.monotonic()
        expected = check_models.pooled(model, sequences)
        seconds = time.monotonic() - began
        del model
        (folder / "ids.jsonl").write_text("".join(json.dumps({"ids": ids}) + "\n" for ids in sequences))
        command = [args.encode, "run", "--model", folder, "--input", folder / "ids.jsonl", "--field", "ids", "--device",
                   "cpu", "--max-length", LONGEST, "--output", folder / "out.npy", "--quiet"]
        began = time.monotonic()
        subprocess.run([str(word) for word in command], check=True)
        ours = np.load(folder / "out.npy").astype(np.float64)
        print(f"{name:22} transformers {seconds:6.1f} s, encode {time.monotonic() - began:6.1f} s", end="")
    cosines = (ours * expected).sum(1) / np.linalg.norm(ours, axis=1) / np.linalg.norm(expected, axis=1)
    largest = np.abs(ours - expected).max() / max(1.0, np.abs(expected).max())
    print(f", lowest cosine {cosines.min():.9f}, largest difference {largest:.1e}", flush=True)
    return cosines.min() >= 0.99999


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=pathlib.Path, required=True)
    parser.add_argument("--tokenizer", type=pathlib.Path, required=True)
    parser.add_argument("--encode", type=pathlib.Path, default=check_models.ROOT / "build/bin/encode")
    parser.add_argument("--only", nargs="*", default=list(MODELS), choices=list(MODELS))
    args = parser.parse_args()
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as temp:
        sequences = real_rows(args, pathlib.Path(temp))
    print(f"{ROWS} rows of {min(map(len, sequences))} to {max(map(len, sequences))} tokens, "
          f"{sum(map(len, sequences))} in all", flush=True)
    results = [check(args, name, sequences) for name in args.only]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
