#!/usr/bin/env python3
"""Makes the tiny models of tests/data/models and the hidden states that Hugging Face transformers computes with them.

    make_models.py [--output tests/data/models] [--only NAME ..]

It needs torch 2.11, transformers 5.17, safetensors and numpy, and no network. The same versions give the same files.

Every model directory has config.json and its weights. A model without `same_output_as` also has:
  input_ids.npy          int32   [sequences, longest]           right-padded
  lengths.npy            int32   [sequences]                    positions after a length are padding: do not compare them
  last_hidden_state.npy  float32 [sequences, longest, hidden]   eager attention, computed in float32, padding zeroed
The model of TYPED also has:
  typed_hidden_state.npy                                        the same with token_type_ids 0, 1, 0, 1, ..
"""
import argparse
import json
import os
import pathlib
from dataclasses import dataclass, field

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import torch
import transformers

VOCAB = 128
LENGTHS = (1, 2, 7, 19, 40)  # 1 token, less than a tile of a kernel, odd lengths, the model's limit
WINDOW = 8
TYPED = "ernie"
SHAPE = {
    "vocab_size": VOCAB,
    "hidden_size": 64,
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


def rope(theta, **scaling):
    return {"rope_parameters": {"rope_type": "default", "rope_theta": theta, **scaling}}


# The shape of most models below. It is small, and the weights are stored in 16 bits, because there are many models.
SMALL = {**SHAPE, "hidden_size": 32, "intermediate_size": 48}
ROBERTA = {  # positions start at pad_token_id + 1
    **SMALL, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "type_vocab_size": 1,
    "max_position_embeddings": max(LENGTHS) + 2,
}
DECODER = {**SMALL, "num_key_value_heads": 2, "bos_token_id": 1, "eos_token_id": 2}
WIDE = {**DECODER, "head_dim": 12}  # the heads have another width than hidden_size / num_attention_heads
T5 = {
    "vocab_size": VOCAB, "d_model": 32, "d_kv": 12, "d_ff": 48, "num_layers": 2, "num_heads": 4, "pad_token_id": 0,
    "relative_attention_num_buckets": 8, "relative_attention_max_distance": 20,
}
GATED_T5 = {**T5, "feed_forward_proj": "gated-gelu"}
TWO_BASES = {
    "full_attention": {"rope_type": "default", "rope_theta": 160000.0},
    "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
}
GEMMA2 = {**WIDE, "layer_types": ["sliding_attention", "full_attention"], "sliding_window": WINDOW,
          "query_pre_attn_scalar": 20}
GEMMA3 = {**GEMMA2, "rope_parameters": TWO_BASES}
GPT2 = {
    "vocab_size": VOCAB, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_inner": 48, "pad_token_id": 0, "bos_token_id": 1,
    "eos_token_id": 2,
}
DEBERTA = {
    **SMALL, "type_vocab_size": 0, "relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 8,
    "position_biased_input": False, "norm_rel_ebd": "layer_norm",
}
MODERNBERT = {
    **SMALL, "bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1, "sep_token_id": 2, "rope_parameters": TWO_BASES,
    "local_attention": WINDOW, "layer_types": ["full_attention", "sliding_attention"],
}


@dataclass(frozen=True)
class TinyModel:
    name: str
    architecture: str  # the prefix of the class names in transformers
    config: dict = field(default_factory=dict)
    dtype: torch.dtype = torch.bfloat16
    shard_bytes: int = 1 << 30
    # the model that has the same output; a model with this field has no reference of its own
    same_output_as: str = ""
    model_class: str = ""  # the class if it is not <architecture>Model
    # what config.json says instead, for code that its author publishes beside the weights; None removes a key
    published_as: dict = field(default_factory=dict)

    def classes(self):
        model = self.model_class or self.architecture + "Model"
        return getattr(transformers, model), getattr(transformers, self.architecture + "Config")


MODELS = (
    TinyModel("bert", "Bert", SHAPE, dtype=torch.float32),
    TinyModel("bert_float16", "Bert", SHAPE, dtype=torch.float16),
    TinyModel("bert_bfloat16", "Bert", SHAPE),
    TinyModel("bert_heads_of_32", "Bert", {**SHAPE, "num_attention_heads": 2}),  # which the CUDA kernel for short rows takes
    TinyModel("bert_float16_sharded", "Bert", SHAPE, dtype=torch.float16, shard_bytes=60_000, same_output_as="bert_float16"),
    TinyModel("qwen2", "Qwen2", QWEN2, dtype=torch.float32),
    TinyModel("qwen2_bidirectional", "Qwen2", {**QWEN2, "is_causal": False}, dtype=torch.float32),
    TinyModel("roberta", "Roberta", ROBERTA),
    TinyModel("camembert", "Camembert", ROBERTA),
    TinyModel("xlm_roberta", "XLMRoberta", ROBERTA),
    TinyModel("xlm_roberta_xl", "XLMRobertaXL", ROBERTA),
    TinyModel("mpnet", "MPNet", ROBERTA),
    TinyModel("distilbert", "DistilBert", {
        "vocab_size": VOCAB, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48, "pad_token_id": 0,
        "max_position_embeddings": max(LENGTHS)}),
    TinyModel("albert", "Albert", {**SMALL, "embedding_size": 24, "num_hidden_layers": 4, "num_hidden_groups": 2}),
    TinyModel("electra", "Electra", {**SMALL, "embedding_size": 24}),
    TinyModel("ernie", "Ernie", {**SMALL, "use_task_id": True}),
    TinyModel("rembert", "RemBert", {**SMALL, "input_embedding_size": 24, "output_embedding_size": 40,
                                    "bos_token_id": 1, "eos_token_id": 2}),
    TinyModel("longformer", "Longformer", {**ROBERTA, "attention_window": [WINDOW, 4]}),
    TinyModel("esm", "Esm", {
        **SMALL, "pad_token_id": 1, "mask_token_id": 41, "position_embedding_type": "rotary", "token_dropout": True,
        "emb_layer_norm_before": False}),
    TinyModel("esm_learned_positions", "Esm", {
        **ROBERTA, "mask_token_id": 41, "position_embedding_type": "absolute", "emb_layer_norm_before": True}),
    TinyModel("deberta", "Deberta", {
        **SMALL, "type_vocab_size": 0, "relative_attention": True, "pos_att_type": ["c2p", "p2c"],
        "position_biased_input": False, "max_relative_positions": 12}),
    TinyModel("deberta_absolute", "Deberta", {
        **SMALL, "type_vocab_size": 0, "relative_attention": False, "pos_att_type": None, "position_biased_input": True}),
    TinyModel("deberta_v2", "DebertaV2", {**DEBERTA, "share_att_key": True}),
    TinyModel("deberta_v2_own_projections", "DebertaV2", {
        **DEBERTA, "pos_att_type": ["c2p"], "position_buckets": -1, "norm_rel_ebd": "none",
        "position_biased_input": True, "type_vocab_size": 2}),
    TinyModel("nomic_bert", "NomicBert", {**SMALL, **rope(1000.0)}),
    TinyModel("modernbert", "ModernBert", MODERNBERT),
    TinyModel("eurobert", "EuroBert", {**DECODER, **rope(250000.0)}),
    TinyModel("jina_embeddings_v3", "JinaEmbeddingsV3", {**ROBERTA, **rope(20000.0)}),
    TinyModel("t5", "T5", {**T5, "feed_forward_proj": "relu"}, model_class="T5EncoderModel"),
    TinyModel("t5_gated", "T5", GATED_T5, model_class="T5EncoderModel"),
    TinyModel("mt5", "MT5", GATED_T5, model_class="MT5EncoderModel"),
    TinyModel("umt5", "UMT5", GATED_T5, model_class="UMT5EncoderModel"),
    TinyModel("llama", "Llama", {**DECODER, **rope(500000.0), "attention_bias": True, "mlp_bias": True}),
    TinyModel("llama_bidirectional", "Llama", {**DECODER, **rope(500000.0), "is_causal": False}),
    TinyModel("llama_rope_llama3", "Llama", {**DECODER, **rope(
        500000.0, rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
        original_max_position_embeddings=16)}),
    TinyModel("llama_rope_linear", "Llama", {**DECODER, **rope(10000.0, rope_type="linear", factor=4.0)}),
    TinyModel("llama_rope_dynamic", "Llama", {
        **DECODER, "max_position_embeddings": 16, **rope(10000.0, rope_type="dynamic", factor=2.0)}),
    TinyModel("llama_rope_yarn", "Llama", {**DECODER, **rope(
        10000.0, rope_type="yarn", factor=4.0, original_max_position_embeddings=16)}),
    TinyModel("mistral", "Mistral", {**DECODER, **rope(10000.0), "sliding_window": None}),
    TinyModel("mistral_window", "Mistral", {**DECODER, **rope(10000.0), "sliding_window": WINDOW}),
    TinyModel("qwen2_window", "Qwen2", {
        **DECODER, **rope(1000000.0), "use_sliding_window": True, "sliding_window": WINDOW, "max_window_layers": 1}),
    TinyModel("qwen3", "Qwen3", {**WIDE, **rope(1000000.0)}),
    TinyModel("gemma", "Gemma", {**WIDE, **rope(10000.0)}),
    TinyModel("gemma2", "Gemma2", {**GEMMA2, **rope(10000.0), "attn_logit_softcapping": 5.0}),
    TinyModel("gemma3", "Gemma3Text", GEMMA3),
    TinyModel("embedding_gemma", "Gemma3Text", {**GEMMA3, "use_bidirectional_attention": True}),
    TinyModel("llama_bidirec", "Llama", {**DECODER, **rope(500000.0), "is_causal": False}, published_as={
        "model_type": "llama_bidirec", "architectures": ["LlamaBidirectionalModel"], "is_causal": None}),
    TinyModel("gpt2", "GPT2", {**GPT2, "n_positions": max(LENGTHS)}),
    TinyModel("gpt_neo", "GPTNeo", {
        "vocab_size": VOCAB, "hidden_size": 32, "num_layers": 2, "num_heads": 4, "intermediate_size": 48,
        "max_position_embeddings": max(LENGTHS), "attention_types": [[["global", "local"], 1]], "window_size": WINDOW,
        "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}),
    TinyModel("gpt_neox", "GPTNeoX", {
        **SMALL, "num_attention_heads": 2, **rope(10000.0, partial_rotary_factor=0.25)}),
    TinyModel("gptj", "GPTJ", {**GPT2, "n_head": 2, "n_positions": max(LENGTHS), "rotary_dim": 8}),
    TinyModel("phi", "Phi", {**SMALL, "num_key_value_heads": 2, **rope(10000.0, partial_rotary_factor=0.5)}),
    TinyModel("bloom", "Bloom", {"vocab_size": VOCAB, "hidden_size": 36, "n_layer": 2, "n_head": 3, "pad_token_id": 0}),
    TinyModel("lfm2", "Lfm2", {
        **DECODER, **rope(1000000.0), "layer_types": ["conv", "full_attention"], "block_multiple_of": 8}),
    TinyModel("ministral", "Ministral", {
        **WIDE, **rope(10000.0), "layer_types": ["sliding_attention", "full_attention"], "sliding_window": WINDOW}),
    TinyModel("ministral3", "Ministral3", {**WIDE, **rope(
        10000.0, rope_type="yarn", factor=4.0, original_max_position_embeddings=16, mscale=1.0, mscale_all_dim=1.0,
        llama_4_scaling_beta=0.1)}),
    TinyModel("qwen3_moe", "Qwen3Moe", {
        **WIDE, **rope(1000000.0), "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24,
        "norm_topk_prob": True, "mlp_only_layers": [0]}),
    TinyModel("olmo", "Olmo", {**DECODER, **rope(10000.0), "clip_qkv": 1.5}),
    TinyModel("olmo2", "Olmo2", {**DECODER, **rope(500000.0)}),
)


def draw_parameters(model, generator):
    """Gives every parameter a visible scale. With the library's initial values (zero biases, unit norms, tiny matrices) a
    test would not notice a forgotten bias or a skipped norm."""
    tables = {name + ".weight" for name, module in model.named_modules() if isinstance(module, torch.nn.Embedding)}
    # Gemma multiplies its word embeddings by the square root of their width.
    table_scale = model.config.hidden_size ** -0.5 if "gemma" in model.config.model_type else 1.0
    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            noise = torch.randn(parameter.shape, generator=generator)
            if name in tables:
                parameter.copy_(noise * table_scale)
            elif parameter.ndim == 2:
                # T5 does not divide its scores by sqrt(d_kv), so its query weights are smaller instead.
                scale = model.config.d_kv ** -0.5 if name.endswith("SelfAttention.q.weight") else 1.0
                parameter.copy_(noise * (scale / parameter.shape[1] ** 0.5))
            elif ("norm" in name.lower() or "ln_" in name) and name.endswith("weight"):
                parameter.add_(0.2 * noise)
            else:
                parameter.copy_(0.2 * noise)


def draw_inputs(generator, pad_token_id):
    ids = torch.full((len(LENGTHS), max(LENGTHS)), pad_token_id)
    for row, length in enumerate(LENGTHS):
        ids[row, :length] = torch.randint(3, VOCAB, (length,), generator=generator)
    ids[-1, 5] = pad_token_id  # a padding token inside the text: RoBERTa's positions skip it
    return ids


def run(model, ids, lengths, **inputs):
    mask = (torch.arange(ids.shape[1])[None, :] < torch.tensor(lengths)[:, None]).long()
    with torch.no_grad():
        hidden = model(input_ids=ids, attention_mask=mask, **inputs).last_hidden_state
    return hidden * mask[:, :, None]


def run_alone(model, ids):
    """Runs each sequence alone, the shortest first, because dynamic rotary scaling depends on the longest sequence so far."""
    hidden = torch.zeros(*ids.shape, model.config.hidden_size)
    for row, length in enumerate(LENGTHS):
        hidden[row, :length] = run(model, ids[row:row + 1, :length], [length])[0]
    assert torch.isfinite(hidden).all()
    return hidden


def check(spec, model, ids, hidden):
    """Checks the reference itself: a padded batch must agree with each sequence alone."""
    if "dynamic" in spec.name:
        return
    difference = (run(model, ids, LENGTHS) - hidden).abs().max().item()
    assert difference < 5e-6 * max(1, hidden.abs().max().item()), f"{spec.name}: a batch differs by {difference}"


def publish(folder, changes):
    path = folder / "config.json"
    config = {**json.loads(path.read_text()), **changes}
    kept = {key: value for key, value in config.items() if changes.get(key, "") is not None}
    path.write_text(json.dumps(kept, indent=2, sort_keys=True) + "\n")


def make(spec, output):
    folder = output / spec.name
    model_class, config_class = spec.classes()
    model = model_class(config_class(**spec.config))
    draw_parameters(model, torch.Generator().manual_seed(20))
    model.to(spec.dtype).save_pretrained(folder, max_shard_size=spec.shard_bytes)
    if spec.same_output_as:
        return
    # The model is read back, so that the reference uses the weights as they were rounded when they were saved.
    model = model_class.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()
    ids = draw_inputs(torch.Generator().manual_seed(21), model.config.pad_token_id)
    hidden = run_alone(model, ids)
    check(spec, model, ids, hidden)
    np.save(folder / "input_ids.npy", ids.numpy().astype(np.int32))
    np.save(folder / "lengths.npy", np.array(LENGTHS, np.int32))
    np.save(folder / "last_hidden_state.npy", hidden.numpy())
    if spec.published_as:
        publish(folder, spec.published_as)
    if spec.name == TYPED:
        types = (torch.arange(ids.shape[1]) % 2).expand(ids.shape)
        np.save(folder / "typed_hidden_state.npy", run(model, ids, LENGTHS, token_type_ids=types).numpy())


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, default=root / "tests/data/models")
    parser.add_argument("--only", nargs="*", help="only the models of these names")
    args = parser.parse_args()
    output = args.output
    transformers.utils.logging.disable_progress_bar()
    for spec in MODELS:
        if args.only and spec.name not in args.only:
            continue
        make(spec, output)
        files = sorted((output / spec.name).iterdir())
        print(spec.name, *(f"{file.name} {file.stat().st_size}" for file in files), sep="\n  ")


if __name__ == "__main__":
    main()
