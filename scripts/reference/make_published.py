#!/usr/bin/env python3
"""Makes tiny models of architectures that Hugging Face transformers does not have, and their hidden states.

    make_published.py [--output tests/data/models] [--only NAME ..]

The reference is the formulas below, written in plain torch from the code that the authors publish: GTE's "new" and "gte"
(Alibaba-NLP/new-impl), JinaBERT (jinaai/jina-bert-implementation, jinaai/jina-bert-v2-qk-post-norm), nomic-embed-text-v2-moe
(nomic-ai/nomic-bert-2048), CodeSage (amazon-science/CodeSage, modeling_codesage.py) and NV-Embed-v2 (nvidia/NV-Embed-v2).
The names of tensors and the fields of config.json are those of their checkpoints. It needs torch 2.11, safetensors and
numpy. A model has the same files as the models of make_models.py.
"""
import argparse
import json
import pathlib

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import save_file

VOCAB, HIDDEN, LAYERS, HEADS, INNER, LONGEST = 128, 32, 2, 4, 48, 40
LENGTHS = (1, 2, 7, 19, 40)
EPS = 1e-12


class Parameters:
    """Draws a tensor when it is first used. Saves and returns it rounded to bfloat16."""

    def __init__(self):
        self.generator = torch.Generator().manual_seed(30)
        self.tensors = {}

    def __call__(self, name, *shape):
        if name not in self.tensors:
            noise = torch.randn(shape, generator=self.generator)
            if "embeddings.weight" in name or name in ("wte.weight", "wpe.weight"):
                value = noise
            elif len(shape) == 2:
                # The router has larger weights, so that its choice does not depend on the rounding to 16 bits.
                inputs = shape[0] if ".c_" in name else shape[1]
                value = noise * (4 if "router" in name else 1) / inputs ** 0.5
            else:
                value = 0.2 * noise + (1 if name.endswith("weight") else 0)
            self.tensors[name] = value.bfloat16()
        return self.tensors[name].float()


def norm(p, name, x, eps=EPS):
    return F.layer_norm(x, (HIDDEN,), p(name + ".weight", HIDDEN), p(name + ".bias", HIDDEN), eps)


def project(p, name, x, out):
    return F.linear(x, p(name + ".weight", out, x.shape[1]))


def linear(p, name, x, out):
    return F.linear(x, p(name + ".weight", out, x.shape[1]), p(name + ".bias", out))


def rotate(x, frequencies):
    angle = torch.outer(torch.arange(x.shape[1]).float(), frequencies)
    cos, sin = angle.cos(), angle.sin()
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)


def by_head(x):
    return x.view(-1, HEADS, HIDDEN // HEADS).transpose(0, 1)


def attend_rotated(q, k, v, frequencies):
    return attend_heads(rotate(by_head(q), frequencies), rotate(by_head(k), frequencies), by_head(v))


def attend(q, k, v, bias):
    return attend_heads(by_head(q), by_head(k), by_head(v), bias)


def attend_heads(q, k, v, bias=None):
    scores = q @ k.transpose(1, 2) / (HIDDEN // HEADS) ** 0.5
    scores = scores if bias is None else scores + bias
    return (scores.softmax(-1) @ v).transpose(0, 1).reshape(-1, HIDDEN)


def embed(p, ids, norm_name, segments=2):
    x = p("embeddings.word_embeddings.weight", VOCAB, HIDDEN)[ids]
    if segments:
        x = x + p("embeddings.token_type_embeddings.weight", segments, HIDDEN)[0]
    return norm(p, norm_name, x)


def exponents():
    return torch.arange(0, HIDDEN // HEADS, 2).float() / (HIDDEN // HEADS)


def gte_new(p, ids):
    """Has rotary positions with fixed NTK scaling by 2, and no segments."""
    frequencies = 1 / (500000.0 * 2) ** exponents() / 2 ** (2 / (HIDDEN // HEADS))
    return gte_layers(p, embed(p, ids, "embeddings.LayerNorm", segments=0), frequencies)


def gte(p, ids):
    """Has rotary positions without scaling, and one segment (arctic-embed-m-v2.0)."""
    return gte_layers(p, embed(p, ids, "embeddings.LayerNorm", segments=1), 1 / 160000.0 ** exponents())


def gte_layers(p, x, frequencies):
    """Has post-norm layers. The GELU gate is the second half of up_gate_proj."""
    for i in range(LAYERS):
        at = f"encoder.layer.{i}."
        q, k, v = linear(p, at + "attention.qkv_proj", x, 3 * HIDDEN).chunk(3, -1)
        x = norm(p, at + "attn_ln", x + linear(p, at + "attention.o_proj", attend_rotated(q, k, v, frequencies), HIDDEN))
        up, gate = project(p, at + "mlp.up_gate_proj", x, 2 * INNER).chunk(2, -1)
        x = norm(p, at + "mlp_ln", x + linear(p, at + "mlp.down_proj", F.gelu(gate) * up, HIDDEN))
    return x


def alibi(ids):
    place = torch.arange(len(ids))
    slopes = torch.tensor([2 ** (-8 * (h + 1) / HEADS) for h in range(HEADS)])
    return -(place[:, None] - place[None, :]).abs() * slopes[:, None, None]


def jina_bert(p, ids):
    """Has post-norm layers and ALiBi to both sides. The GELU gate is the first half of gated_layers."""
    x = embed(p, ids, "embeddings.LayerNorm")
    bias = alibi(ids)
    for i in range(LAYERS):
        at = f"encoder.layer.{i}."
        q, k, v = (linear(p, f"{at}attention.self.{name}", x, HIDDEN) for name in ("query", "key", "value"))
        y = linear(p, at + "attention.output.dense", attend(q, k, v, bias), HIDDEN)
        x = norm(p, at + "attention.output.LayerNorm", x + y)
        gate, up = project(p, at + "mlp.gated_layers", x, 2 * INNER).chunk(2, -1)
        x = norm(p, at + "mlp.layernorm", x + linear(p, at + "mlp.wo", F.gelu(gate) * up, HIDDEN))
    return x


def jina_bert_code(p, ids):
    """Is JinaBERT with norms of all heads of queries and keys, a second norm after attention, and the GELU gate in the second half."""
    x = embed(p, ids, "embeddings.LayerNorm")
    for i in range(LAYERS):
        at = f"encoder.layer.{i}."
        q, k, v = (linear(p, f"{at}attention.self.{name}", x, HIDDEN) for name in ("query", "key", "value"))
        q, k = norm(p, at + "attention.self.layer_norm_q", q), norm(p, at + "attention.self.layer_norm_k", k)
        y = linear(p, at + "attention.output.dense", attend(q, k, v, alibi(ids)), HIDDEN)
        y = norm(p, at + "layer_norm_1", x + norm(p, at + "attention.output.LayerNorm", x + y))
        up, gate = project(p, at + "mlp.up_gated_layer", y, 2 * INNER).chunk(2, -1)
        x = norm(p, at + "layer_norm_2", y + linear(p, at + "mlp.down_layer", F.gelu(gate) * up, HIDDEN))
    return x


def conv1d(p, name, x, out):
    """A projection of GPT-2, whose weight is [in, out]."""
    return x @ p(name + ".weight", x.shape[1], out) + p(name + ".bias", out)


def codesage(p, ids):
    """Has GPT-2's pre-norm layers without causality, learned positions and the tanh form of GELU."""
    x = p("wte.weight", VOCAB, HIDDEN)[ids] + p("wpe.weight", LONGEST, HIDDEN)[:len(ids)]
    for i in range(LAYERS):
        at = f"h.{i}."
        q, k, v = conv1d(p, at + "attn.c_attn", norm(p, at + "ln_1", x, 1e-5), 3 * HIDDEN).chunk(3, -1)
        x = x + conv1d(p, at + "attn.c_proj", attend(q, k, v, 0), HIDDEN)
        y = F.gelu(conv1d(p, at + "mlp.c_fc", norm(p, at + "ln_2", x, 1e-5), INNER), approximate="tanh")
        x = x + conv1d(p, at + "mlp.c_proj", y, HIDDEN)
    return norm(p, "ln_f", x, 1e-5)


EXPERTS = 4
TOP_K = 2  # the number of experts of a token


def experts(p, at, x):
    """Sums all experts for every token. The weight is the router's softmax for the token's best experts, and 0 for the others."""
    probabilities = project(p, at + "router.layer", x, EXPERTS).softmax(-1)
    best = probabilities.topk(TOP_K, -1)
    weights = torch.zeros_like(probabilities).scatter_(1, best.indices, best.values)
    w1 = p(at + "experts.mlp.w1", EXPERTS * INNER, HIDDEN).view(EXPERTS, INNER, HIDDEN)
    w2 = p(at + "experts.mlp.w2", EXPERTS * INNER, HIDDEN).view(EXPERTS, INNER, HIDDEN)
    y = sum(weights[:, e:e + 1] * (F.gelu(x @ w1[e].T) @ w2[e]) for e in range(EXPERTS))
    return y + p(at + "experts.bias", HIDDEN)


def nomic_moe(p, ids):
    """Has post-norm layers, rotary positions, experts in every second layer, and a bias in every projection."""
    frequencies = 1 / 10000.0 ** exponents()
    x = embed(p, ids, "emb_ln", segments=1)
    for i in range(LAYERS):
        at = f"encoder.layers.{i}."
        q, k, v = linear(p, at + "attn.Wqkv", x, 3 * HIDDEN).chunk(3, -1)
        x = norm(p, at + "norm1", x + linear(p, at + "attn.out_proj", attend_rotated(q, k, v, frequencies), HIDDEN))
        if i % 2 == 1:
            y = experts(p, at + "mlp.", x)
        else:
            y = linear(p, at + "mlp.fc2", F.gelu(linear(p, at + "mlp.fc1", x, INNER)), HIDDEN)
        x = norm(p, at + "norm2", x + y)
    return x


def rms_norm(p, name, x):
    return p(name + ".weight", HIDDEN) * x * (x.pow(2).mean(-1, keepdim=True) + 1e-5).rsqrt()


def bidirectional_mistral(p, ids, prefix):
    """MistralModel without a causal mask and without a window, with two heads of queries for each head of keys."""
    frequencies = 1 / 10000.0 ** exponents()
    x = p(prefix + "embed_tokens.weight", VOCAB, HIDDEN)[ids]
    for i in range(LAYERS):
        at = f"{prefix}layers.{i}."
        z = rms_norm(p, at + "input_layernorm", x)
        q = rotate(by_head(project(p, at + "self_attn.q_proj", z, HIDDEN)), frequencies)
        k, v = (project(p, f"{at}self_attn.{name}_proj", z, HIDDEN // 2).view(len(ids), HEADS // 2, -1).transpose(0, 1)
                for name in "kv")
        heads = attend_heads(q, rotate(k, frequencies).repeat_interleave(2, 0), v.repeat_interleave(2, 0))
        x = x + project(p, at + "self_attn.o_proj", heads, HIDDEN)
        z = rms_norm(p, at + "post_attention_layernorm", x)
        gate, up = (project(p, f"{at}mlp.{name}_proj", z, INNER) for name in ("gate", "up"))
        x = x + project(p, at + "mlp.down_proj", F.silu(gate) * up, HIDDEN)
    return rms_norm(p, prefix + "norm", x)


LATENTS, LATENT_HEADS, LATENT_WIDTH = 6, 2, 20


def layer_norm(p, name, x):
    return F.layer_norm(x, (HIDDEN,), p(name + ".weight", HIDDEN), p(name + ".bias", HIDDEN))


def nv_embed(p, ids):
    x = bidirectional_mistral(p, ids, "embedding_model.")
    at = "latent_attention_model.cross_attend_blocks."
    latents = layer_norm(p, at + "0.norm_context", p("latent_attention_model.latents", LATENTS, HIDDEN))
    q = project(p, at + "0.fn.to_q", layer_norm(p, at + "0.norm", x), LATENT_HEADS * LATENT_WIDTH)
    k, v = project(p, at + "0.fn.to_kv", latents, 2 * LATENT_HEADS * LATENT_WIDTH).chunk(2, -1)
    q, k, v = (part.view(-1, LATENT_HEADS, LATENT_WIDTH).transpose(0, 1) for part in (q, k, v))
    heads = F.scaled_dot_product_attention(q, k, v).transpose(0, 1).reshape(len(ids), -1)
    x = x + project(p, at + "0.fn.to_out", heads, HIDDEN)
    up, gate = linear(p, at + "1.fn.net.0", layer_norm(p, at + "1.norm", x), 8 * HIDDEN).chunk(2, -1)
    return x + linear(p, at + "1.fn.net.2", up * F.gelu(gate), HIDDEN)


BERT_SHAPE = {"vocab_size": VOCAB, "hidden_size": HIDDEN, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
              "intermediate_size": INNER, "max_position_embeddings": LONGEST, "layer_norm_eps": EPS,
              "hidden_act": "gelu", "pad_token_id": 0}
MODELS = {
    "gte_new": (gte_new, {
        **BERT_SHAPE, "model_type": "new", "architectures": ["NewModel"], "type_vocab_size": 0, "pack_qkv": True,
        "position_embedding_type": "rope", "layer_norm_type": "layer_norm", "rope_theta": 500000.0,
        "rope_scaling": {"type": "ntk", "factor": 2.0}, "logn_attention_scale": False}),
    "gte": (gte, {
        **BERT_SHAPE, "model_type": "gte", "architectures": ["GteModel"], "type_vocab_size": 1, "pack_qkv": True,
        "position_embedding_type": "rope", "layer_norm_type": "layer_norm", "rope_theta": 160000.0, "rope_scaling": None,
        "logn_attention_scale": False, "logn_attention_clip1": False, "unpad_inputs": False}),
    "jina_bert_code": (jina_bert_code, {
        **BERT_SHAPE, "model_type": "bert", "architectures": ["JinaBertForMaskedLM"], "type_vocab_size": 2,
        "position_embedding_type": "alibi", "feed_forward_type": "geglu"}),
    "codesage": (codesage, {
        "model_type": "codesage", "architectures": ["CodeSage"], "vocab_size": VOCAB, "hidden_size": HIDDEN,
        "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "intermediate_size": INNER,
        "max_position_embeddings": LONGEST, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5,
        "position_embedding_type": "absolute"}),
    "jina_bert": (jina_bert, {
        **BERT_SHAPE, "model_type": "bert", "architectures": ["JinaBertForMaskedLM"], "type_vocab_size": 2,
        "position_embedding_type": "alibi", "feed_forward_type": "geglu"}),
    "nomic_bert_moe": (nomic_moe, {
        "model_type": "nomic_bert", "architectures": ["NomicBertModel"], "vocab_size": VOCAB, "n_embd": HIDDEN,
        "n_layer": LAYERS, "n_head": HEADS, "n_inner": INNER, "n_positions": LONGEST, "type_vocab_size": 1,
        "layer_norm_epsilon": EPS, "activation_function": "gelu", "qkv_proj_bias": True, "mlp_fc1_bias": True,
        "mlp_fc2_bias": True, "rotary_emb_base": 10000.0, "rotary_emb_fraction": 1.0, "rotary_scaling_factor": None,
        "num_experts": 4, "moe_top_k": 2, "moe_every_n_layers": 2, "moe_normalize_expert_weights": False,
        "prenorm": False, "causal": False}),
    "nv_embed": (nv_embed, {
        "model_type": "nvembed", "architectures": ["NVEmbedModel"], "hidden_size": HIDDEN,
        "latent_attention_config": {
            "model_type": "latent_attention", "hidden_dim": HIDDEN, "latent_dim": HIDDEN, "num_latents_value": LATENTS,
            "num_cross_heads": LATENT_HEADS, "cross_dim_head": LATENT_WIDTH, "output_normalize": True},
        "text_config": {
            "model_type": "bidir_mistral", "vocab_size": VOCAB, "hidden_size": HIDDEN, "num_hidden_layers": LAYERS,
            "num_attention_heads": HEADS, "num_key_value_heads": HEADS // 2, "intermediate_size": INNER,
            "max_position_embeddings": LONGEST, "rms_norm_eps": 1e-5, "hidden_act": "silu", "rope_theta": 10000.0,
            "sliding_window": 8}}),
}


def make(folder, forward, config):
    p = Parameters()
    generator = torch.Generator().manual_seed(31)
    ids = torch.zeros(len(LENGTHS), LONGEST, dtype=torch.int64)
    hidden = torch.zeros(len(LENGTHS), LONGEST, HIDDEN)
    for row, length in enumerate(LENGTHS):
        ids[row, :length] = torch.randint(3, VOCAB, (length,), generator=generator)
        hidden[row, :length] = forward(p, ids[row, :length])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    save_file(p.tensors, folder / "model.safetensors", metadata={"format": "pt"})
    np.save(folder / "input_ids.npy", ids.numpy().astype(np.int32))
    np.save(folder / "lengths.npy", np.array(LENGTHS, np.int32))
    np.save(folder / "last_hidden_state.npy", hidden.numpy())


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, default=root / "tests/data/models")
    parser.add_argument("--only", nargs="*", help="only the models of these names")
    args = parser.parse_args()
    output = args.output
    for name, (forward, config) in MODELS.items():
        if args.only and name not in args.only:
            continue
        make(output / name, forward, config)


if __name__ == "__main__":
    main()
