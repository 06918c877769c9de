#!/usr/bin/env python3
"""Compares `encode run` with Hugging Face transformers on random models of other sizes than the tests have.

    check_models.py [--encode build/bin/encode] [--only NAME ..] [--keep DIR]
    check_models.py --full-size ROWS.jsonl TOKENIZER.json [--encode build/bin/encode] [--only NAME ..]

The models have heads of 32 to 256, odd numbers of heads, several ratios of grouped queries, and windows shorter and longer
than the text. The texts have 1 to 300 tokens, and every model has its own seed. The hidden states are compared by four
poolings side by side. The program prints a table. The exit code is 1 if float32 differs by more than 1e-5 (relative to the
largest value if that is above 1), or if a row in bfloat16 or float16 has a cosine below 0.999.

With --full-size the models have the shapes of Qwen3-0.6B, ModernBERT-base and EmbeddingGemma-300M, with random weights in bfloat16,
and are compared in float32. The rows are twenty of the texts (JSON lines with the field `text`), from the shortest to the longest,
cut at 2,048 tokens. `encode tokenize` makes their ids, and both programs read these ids. Any tokenizer will do if its vocabulary is
smaller than the models' vocabularies. The exit code is 1 if the cosine of a row is below 0.99999. It needs 4 GB of disk and 8 GB of
memory.

It needs torch 2.11, transformers 5.17, numpy, and no network.
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import make_models as golden
import numpy as np
import torch
import transformers

ROOT = pathlib.Path(__file__).resolve().parents[2]
VOCAB = 512
LENGTHS = (1, 1, 2, 3, 31, 64, 65, 130, 300)
LONGEST = max(LENGTHS)


def shape(heads, head_dim, layers=3, **other):
    return {"vocab_size": VOCAB, "hidden_size": heads * head_dim, "num_hidden_layers": layers,
            "num_attention_heads": heads, "intermediate_size": 3 * heads * head_dim // 2 + 8,
            "max_position_embeddings": LONGEST, "pad_token_id": 0, **other}


def roberta(heads, head_dim, **other):
    return shape(heads, head_dim, **{"pad_token_id": 1, "type_vocab_size": 1, "max_position_embeddings": LONGEST + 2,
                                     **other})


def decoder(heads, kv_heads, head_dim, **other):
    base = shape(heads, head_dim, num_key_value_heads=kv_heads, bos_token_id=1, eos_token_id=2)
    return {**base, "head_dim": head_dim, **other}


def gpt2(heads, head_dim, **other):
    return {"vocab_size": VOCAB, "n_embd": heads * head_dim, "n_layer": 3, "n_head": heads, "n_positions": LONGEST,
            "pad_token_id": 0, **other}


def lfm2(heads, kv_heads, head_dim, **other):
    return {**decoder(heads, kv_heads, head_dim), "block_multiple_of": 32, "pad_token_id": 0, **other}


def t5(heads, head_dim, hidden, **other):
    return {"vocab_size": VOCAB, "d_model": hidden, "d_kv": head_dim, "d_ff": 2 * hidden, "num_layers": 3,
            "num_heads": heads, "pad_token_id": 0, **other}


GEMMA_ROPE = {"full_attention": {"rope_type": "default", "rope_theta": 1e6},
              "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}
DEBERTA = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "type_vocab_size": 0, "share_att_key": True,
           "position_biased_input": False, "norm_rel_ebd": "layer_norm"}
MODELS = (
    ("bert 3x64", "Bert", shape(3, 64), ""),
    ("bert 5x32 tanh", "Bert", shape(5, 32, hidden_act="gelu_new"), ""),
    ("roberta 7x32", "Roberta", roberta(7, 32), ""),
    ("xlm-roberta-xl 3x48", "XLMRobertaXL", roberta(3, 48), ""),
    ("mpnet 3x64", "MPNet", roberta(3, 64), ""),
    ("distilbert 6x32", "DistilBert", {"vocab_size": VOCAB, "dim": 192, "n_layers": 3, "n_heads": 6, "hidden_dim": 300,
                                       "max_position_embeddings": LONGEST}, ""),
    ("albert 4x48", "Albert", shape(4, 48, layers=6, embedding_size=64, num_hidden_groups=3), ""),
    ("electra 2x128", "Electra", shape(2, 128, embedding_size=64), ""),
    ("ernie 3x64", "Ernie", shape(3, 64, use_task_id=True), ""),
    ("rembert 3x48", "RemBert", shape(3, 48, input_embedding_size=64, bos_token_id=1, eos_token_id=2), ""),
    ("longformer 3x64 window 64", "Longformer", roberta(3, 64, attention_window=64), ""),
    ("longformer 2x32 windows 16, 512, 4", "Longformer", roberta(2, 32, attention_window=[16, 512, 4]), ""),
    ("esm 5x32 rotary", "Esm", shape(5, 32, pad_token_id=1, mask_token_id=32, position_embedding_type="rotary",
                                     token_dropout=True), ""),
    ("esm 3x64 learned positions", "Esm", roberta(3, 64, mask_token_id=32, token_dropout=True,
                                                  emb_layer_norm_before=True), ""),
    ("deberta 3x64", "Deberta", shape(3, 64, relative_attention=True, pos_att_type=["c2p", "p2c"], type_vocab_size=2,
                                      position_biased_input=False, max_relative_positions=-1), ""),
    ("deberta-v2 3x64 buckets 32", "DebertaV2", shape(3, 64, position_buckets=32, **DEBERTA), ""),
    ("deberta-v2 5x32 buckets 256", "DebertaV2", shape(5, 32, **{
        **DEBERTA, "position_buckets": 256, "max_position_embeddings": 512}), ""),
    ("nomic_bert 4x64", "NomicBert", shape(4, 64, **golden.rope(1000.0)), ""),
    ("modernbert 3x64 window 1024", "ModernBert", shape(3, 64, layers=6, local_attention=1024, bos_token_id=1,
                                                        eos_token_id=2, cls_token_id=1, sep_token_id=2), ""),
    ("modernbert 5x32 window 16", "ModernBert", shape(5, 32, layers=6, local_attention=16, bos_token_id=1,
                                                      eos_token_id=2, cls_token_id=1, sep_token_id=2), ""),
    ("eurobert 6:2x64", "EuroBert", decoder(6, 2, 64, mask_token_id=3), ""),
    ("jina_embeddings_v3 3x64", "JinaEmbeddingsV3", roberta(3, 64, **golden.rope(20000.0)), ""),
    ("t5 3x128 gated", "T5", t5(3, 128, 96, feed_forward_proj="gated-gelu"), "T5EncoderModel"),
    ("umt5 5x32", "UMT5", t5(5, 32, 128, feed_forward_proj="gated-gelu"), "UMT5EncoderModel"),
    ("llama 8:1x128", "Llama", decoder(8, 1, 128, hidden_size=192), ""),
    ("llama 3:3x64 llama3", "Llama", decoder(3, 3, 64, **golden.rope(
        500000.0, rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
        original_max_position_embeddings=64)), ""),
    ("mistral 6:3x64 window 4096", "Mistral", decoder(6, 3, 64, sliding_window=4096), ""),
    ("qwen2 12:2x128", "Qwen2", decoder(12, 2, 128, hidden_size=256), ""),
    ("qwen3 16:8x128", "Qwen3", decoder(16, 8, 128, hidden_size=256), ""),
    ("gemma 5:1x256", "Gemma", decoder(5, 1, 256, hidden_size=160), ""),
    ("gemma2 4:2x256 window 32", "Gemma2", decoder(4, 2, 256, hidden_size=192, sliding_window=32), ""),
    ("gemma3 3:1x256 window 64", "Gemma3Text", decoder(
        3, 1, 256, hidden_size=192, sliding_window=64, rope_parameters=GEMMA_ROPE,
        layer_types=["sliding_attention", "sliding_attention", "full_attention"]), ""),
    ("embedding gemma 3:1x256 window 512", "Gemma3Text", decoder(
        3, 1, 256, hidden_size=192, sliding_window=512, rope_parameters=GEMMA_ROPE, use_bidirectional_attention=True,
        layer_types=["sliding_attention", "sliding_attention", "full_attention"]), ""),
    ("gpt2 3x64", "GPT2", gpt2(3, 64), ""),
    ("gpt2 5x32 scaled by layer", "GPT2", gpt2(5, 32, n_inner=200, scale_attn_by_inverse_layer_idx=True), ""),
    ("gpt_neo 3x64 window 256", "GPTNeo", {
        "vocab_size": VOCAB, "hidden_size": 192, "num_layers": 4, "num_heads": 3, "max_position_embeddings": LONGEST,
        "attention_types": [[["global", "local"], 2]], "window_size": 256}, ""),
    ("gpt_neo 5x32 window 16", "GPTNeo", {
        "vocab_size": VOCAB, "hidden_size": 160, "num_layers": 3, "num_heads": 5, "max_position_embeddings": LONGEST,
        "attention_types": [[["local"], 1], [["global", "local"], 1]], "window_size": 16}, ""),
    ("gpt_neox 3x64 a quarter rotated", "GPTNeoX", shape(3, 64, **golden.rope(10000.0, partial_rotary_factor=0.25)), ""),
    ("gpt_neox 5x80 one after the other", "GPTNeoX", shape(
        5, 80, use_parallel_residual=False, attention_bias=False, **golden.rope(10000.0, partial_rotary_factor=0.4)), ""),
    ("gptj 3x64", "GPTJ", gpt2(3, 64, rotary_dim=32), ""),
    ("gptj 2x256", "GPTJ", gpt2(2, 256, rotary_dim=64), ""),
    ("phi 6:2x64", "Phi", shape(6, 64, num_key_value_heads=2, **golden.rope(10000.0, partial_rotary_factor=0.5)), ""),
    ("phi 4x80", "Phi", shape(4, 80, **golden.rope(10000.0, partial_rotary_factor=0.4)), ""),
    ("bloom 4x64", "Bloom", {"vocab_size": VOCAB, "hidden_size": 256, "n_layer": 3, "n_head": 4}, ""),
    ("bloom 7x32", "Bloom", {"vocab_size": VOCAB, "hidden_size": 224, "n_layer": 3, "n_head": 7}, ""),
    ("lfm2 4:2x64", "Lfm2", lfm2(4, 2, 64, layer_types=["conv", "full_attention", "conv"]), ""),
    ("lfm2 3:1x64 filter of 5", "Lfm2", lfm2(
        3, 1, 64, conv_L_cache=5, conv_bias=True, layer_types=["full_attention", "conv", "conv"]), ""),
    ("ministral 6:3x64 window 32", "Ministral", decoder(
        6, 3, 64, sliding_window=32, layer_types=["full_attention", "sliding_attention", "full_attention"]), ""),
    ("ministral3 4:2x64", "Ministral3", decoder(4, 2, 64, hidden_size=192, **golden.rope(
        1000000.0, rope_type="yarn", factor=16.0, original_max_position_embeddings=64, mscale=1.0, mscale_all_dim=1.0,
        beta_fast=32.0, beta_slow=1.0, llama_4_scaling_beta=0.1)), ""),
    # One layer: after a layer in 16 bits a token can choose other experts, and then its vector is another one.
    ("qwen3_moe 4:2x64", "Qwen3Moe", decoder(
        4, 2, 64, hidden_size=192, num_hidden_layers=1, num_experts=8, num_experts_per_tok=2,
        moe_intermediate_size=96), ""),
    ("olmo 6:2x64", "Olmo", decoder(6, 2, 64, clip_qkv=2.0), ""),
    ("olmo2 4:2x64", "Olmo2", decoder(4, 2, 64), ""),
)

FULL_SIZE_ROWS = 20
FULL_SIZE_LONGEST = 2048
GEMMA_LAYERS = (["sliding_attention"] * 5 + ["full_attention"]) * 4
FULL_SIZE_MODELS = {
    "Qwen3-0.6B": ("Qwen3", {
        "vocab_size": 151669, "hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28,
        "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "max_position_embeddings": 32768,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e6}}),
    "ModernBERT-base": ("ModernBert", {"max_position_embeddings": 8192}),  # the defaults of the class
    "EmbeddingGemma-300M": ("Gemma3Text", {
        "vocab_size": 262144, "hidden_size": 768, "intermediate_size": 1152, "num_hidden_layers": 24,
        "num_attention_heads": 3, "num_key_value_heads": 1, "head_dim": 256, "max_position_embeddings": 2048,
        "sliding_window": 512, "use_bidirectional_attention": True, "layer_types": GEMMA_LAYERS,
        "query_pre_attn_scalar": 256, "rope_parameters": GEMMA_ROPE}),
}


def write_tokenizer(folder):
    """Writes a tokenizer in which the word "w17" is token 17, so that a text consists of its ids."""
    vocab = {f"w{i}": i for i in range(VOCAB)}
    (folder / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": None, "decoder": None,
        "model": {"type": "WordPiece", "unk_token": "w0", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": vocab}}))
    # The class of some model types would add special tokens.
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}))


def write_modules(folder, hidden):
    (folder / "modules.json").write_text(json.dumps([
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling/config.json").write_text(json.dumps(
        {"word_embedding_dimension": hidden, **{f"pooling_mode_{name}": True for name in (
            "cls_token", "mean_tokens", "max_tokens", "lasttoken")}}))


def pooled(model, sequences):
    rows = []
    for ids in sequences:
        with torch.no_grad():
            x = model(input_ids=torch.tensor([ids])).last_hidden_state[0]
        rows.append(torch.cat([x[0], x.max(0).values, x.mean(0), x[-1]]))
    return torch.stack(rows).numpy()


def make(folder, spec, seed):
    _, architecture, config, model_class = spec
    classes = golden.TinyModel("", architecture, config, model_class=model_class).classes()
    model = classes[0](classes[1](**config))
    golden.draw_parameters(model, torch.Generator().manual_seed(seed))
    model.save_pretrained(folder)
    write_tokenizer(folder)
    write_modules(folder, model.config.hidden_size)
    model = classes[0].from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()
    numbers = np.random.default_rng(seed)
    sequences = [numbers.integers(3, VOCAB, length).tolist() for length in LENGTHS]
    (folder / "texts.txt").write_text("".join(" ".join(f"w{i}" for i in ids) + "\n" for ids in sequences))
    return pooled(model, sequences)


def encode(program, folder, dtype):
    output = folder / f"{dtype}.npy"
    command = [program, "run", "--model", folder, "--input", folder / "texts.txt", "--dtype", dtype, "--device", "cpu",
               "--max-length", str(LONGEST), "--cache-dir", folder / "cache", "--output", output, "--quiet"]
    subprocess.run([str(word) for word in command], check=True)
    return np.load(output)


def compare(program, folder, expected):
    ours = encode(program, folder, "float32")
    worst = float(np.abs(ours - expected).max() / max(1.0, np.abs(expected).max()))
    cosines = []
    for dtype in ("bfloat16", "float16"):
        narrow = encode(program, folder, dtype)
        norms = np.linalg.norm(narrow, axis=1) * np.linalg.norm(expected, axis=1)
        cosines.append(float(((narrow * expected).sum(1) / norms).min()))
    return worst, cosines


def check_sizes(args):
    """Returns the number of models that differ."""
    failed = 0
    print(f"{'model':36} {'float32':>9} {'bfloat16':>9} {'float16':>9}")
    for seed, spec in enumerate(MODELS, start=100):
        if args.only and not spec[0].startswith(tuple(args.only)):
            continue
        folder = pathlib.Path(tempfile.mkdtemp(dir=args.keep))
        worst, cosines = compare(args.encode, folder, make(folder, spec, seed))
        if args.keep is None:
            shutil.rmtree(folder)
        good = worst <= 1e-5 and min(cosines) >= 0.999
        failed += not good
        print(f"{spec[0]:36} {worst:9.1e} {cosines[0]:9.6f} {cosines[1]:9.6f}{'' if good else '  FAILED'}", flush=True)
    return failed


def real_rows(args, folder):
    """Returns the ids of FULL_SIZE_ROWS rows, spread evenly over the lengths."""
    ids = folder / "ids.jsonl"
    subprocess.run([str(word) for word in (args.encode, "tokenize", "--tokenizer", args.full_size[1], "--input", args.full_size[0],
                                           "--field", "text", "--max-length", FULL_SIZE_LONGEST, "--output", ids)],
                   check=True, stdout=subprocess.DEVNULL)
    rows = sorted((json.loads(line)["input_ids"] for line in ids.open()), key=len)
    return [rows[round(i * (len(rows) - 1) / (FULL_SIZE_ROWS - 1))] for i in range(FULL_SIZE_ROWS)]


def make_full_size(folder, architecture, config):
    torch.manual_seed(1)
    config = getattr(transformers, architecture + "Config")(**config)
    model = getattr(transformers, architecture + "Model")(config).to(torch.bfloat16)
    model.save_pretrained(folder)
    write_modules(folder, config.hidden_size)
    return type(model).from_pretrained(folder, dtype=torch.float32).eval()


def check_full_size(args, name, sequences):
    with tempfile.TemporaryDirectory() as temp:
        folder = pathlib.Path(temp)
        model = make_full_size(folder, *FULL_SIZE_MODELS[name])
        began = time.monotonic()
        expected = pooled(model, sequences)
        seconds = time.monotonic() - began
        del model
        (folder / "ids.jsonl").write_text("".join(json.dumps({"ids": ids}) + "\n" for ids in sequences))
        command = [args.encode, "run", "--model", folder, "--input", folder / "ids.jsonl", "--field", "ids", "--device",
                   "cpu", "--max-length", FULL_SIZE_LONGEST, "--output", folder / "out.npy", "--quiet"]
        began = time.monotonic()
        subprocess.run([str(word) for word in command], check=True)
        ours = np.load(folder / "out.npy").astype(np.float64)
        print(f"{name:22} transformers {seconds:6.1f} s, encode {time.monotonic() - began:6.1f} s", end="")
    cosines = (ours * expected).sum(1) / np.linalg.norm(ours, axis=1) / np.linalg.norm(expected, axis=1)
    largest = np.abs(ours - expected).max() / max(1.0, np.abs(expected).max())
    print(f", lowest cosine {cosines.min():.9f}, largest difference {largest:.1e}", flush=True)
    return cosines.min() >= 0.99999


def check_full_sizes(args):
    """Returns the number of models that differ."""
    with tempfile.TemporaryDirectory() as temp:
        sequences = real_rows(args, pathlib.Path(temp))
    print(f"{FULL_SIZE_ROWS} rows of {min(map(len, sequences))} to {max(map(len, sequences))} tokens, "
          f"{sum(map(len, sequences))} in all", flush=True)
    names = [name for name in FULL_SIZE_MODELS if not args.only or name.startswith(tuple(args.only))]
    return sum(not check_full_size(args, name, sequences) for name in names)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full-size", nargs=2, type=pathlib.Path, metavar=("ROWS.jsonl", "TOKENIZER.json"))
    parser.add_argument("--encode", type=pathlib.Path, default=ROOT / "build/bin/encode")
    parser.add_argument("--only", nargs="*", default=[], help="only models with names that start with one of these")
    parser.add_argument("--keep", type=pathlib.Path, help="make the models in this folder and keep them")
    args = parser.parse_args()
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    sys.exit((check_full_sizes if args.full_size else check_sizes)(args) > 0)


if __name__ == "__main__":
    main()
