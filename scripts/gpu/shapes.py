"""The sizes of the models that gpu_check.py makes, and the operations of their forward pass."""
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Shape:
    architecture: str  # the prefix of the class names in transformers
    pooling: str
    max_length: int
    config: dict = field(default_factory=dict)


def bert(hidden, layers, heads):
    return Shape("Bert", "mean", 512, {
        "hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads,
        "intermediate_size": 4 * hidden, "vocab_size": 30522, "max_position_embeddings": 512})


def qwen2(**sizes):
    return Shape("Qwen2", "lasttoken", 1024, {
        **sizes, "max_position_embeddings": 32768, "rope_parameters": {"rope_type": "default", "rope_theta": 1e6}})


SHAPES = {
    "bert-tiny": bert(128, 2, 2),
    "qwen2-tiny": qwen2(hidden_size=256, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
                        intermediate_size=512, vocab_size=32000),
    "minilm": bert(384, 6, 12),
    "bert-base": bert(768, 12, 12),
    "bert-large": bert(1024, 24, 16),
    "qwen2-1.5b": qwen2(hidden_size=1536, num_hidden_layers=28, num_attention_heads=12, num_key_value_heads=2,
                        intermediate_size=8960, vocab_size=151936),
}


def flops_per_token(name, row_tokens):
    """Returns the operations of a forward pass for one token of a row of `row_tokens`: the matrix products with weights, and
    attention's products, of which causal attention needs half."""
    config = SHAPES[name].config
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    causal = SHAPES[name].architecture != "Bert"
    key_value = hidden * config.get("num_key_value_heads", config["num_attention_heads"]) // config["num_attention_heads"]
    weights = hidden * (2 * hidden + 2 * key_value) + hidden * inner * (3 if causal else 2)
    attention = 2 * 2 * row_tokens * hidden / (2 if causal else 1)
    return config["num_hidden_layers"] * (2 * weights + attention)


# The peak of dense bfloat16 products with a sum in float32, in FLOP/s, by a part of the card's name. The first match counts. The
# figures are NVIDIA's; its data sheets also have figures for sparse products, which are twice as high.
CARD_PEAKS = (
    ("H100 PCIe", 756e12),
    ("H100 NVL", 835e12),
    ("H200 NVL", 835e12),
    ("GH200", 989e12),
    ("H200", 989e12),
    ("H100", 989e12),
    ("B200", 2250e12),
    ("A100", 312e12),
    ("L40S", 362e12),
    ("L4", 121e12),
)


def card_peak(name):
    """Returns FLOP/s, or None for a card that is not in the table."""
    return next((peak for part, peak in CARD_PEAKS if part in name), None)


def mfu_percent(name, row_tokens, tokens_per_second, peak):
    """Returns the share of the peak that the operations of the model use (model FLOPs utilization), or None without a peak."""
    return 100 * tokens_per_second * flops_per_token(name, row_tokens) / peak if peak else None
