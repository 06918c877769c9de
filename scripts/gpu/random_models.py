"""Makes sentence-transformers directories with random weights, without a network.

The tokenizers are trained on the given texts, so that token counts are similar to real models.
"""
import json
from dataclasses import dataclass, field

import tokenizers
import torch
import transformers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

# The regex with which Qwen2 splits a text: contractions; words with at most one character before
# them (often a space); single digits; runs of punctuation; line ends; white space.
QWEN2_SPLIT = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
               r"\s*[\r\n]+|\s+(?!\S)|\s+")
VOCAB_TRAINED = 20000


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


def wordpiece(texts):
    tokenizer = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator(texts, trainers.WordPieceTrainer(
        vocab_size=VOCAB_TRAINED, special_tokens=special, show_progress=False))
    cls, sep = (("[CLS]", tokenizer.token_to_id("[CLS]")), ("[SEP]", tokenizer.token_to_id("[SEP]")))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[cls, sep])
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        mask_token="[MASK]")


def byte_level_bpe(texts):
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(tokenizers.Regex(QWEN2_SPLIT), behavior="isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=VOCAB_TRAINED, special_tokens=["<|endoftext|>"], show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<|endoftext|>", eos_token="<|endoftext|>", padding_side="right")


def tame(model, layers):
    """Scales the output products of each layer as GPT-2 does at the start of its training. Without this, a deep model with random
    weights amplifies rounding errors far more than a trained one, and the parity check of fp8 refuses it."""
    outputs = ("o_proj.weight", "down_proj.weight", "attention.output.dense.weight", "output.dense.weight")
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith(outputs):
                weight.mul_((2 * layers) ** -0.5)


def make(name, folder, texts, device):
    shape = SHAPES[name]
    config = getattr(transformers, shape.architecture + "Config")(**shape.config)
    torch.manual_seed(7)
    with torch.device(device):
        model = getattr(transformers, shape.architecture + "Model")(config)
    tame(model, shape.config["num_hidden_layers"])
    large = shape.config["hidden_size"] > 1024  # large models are published in bfloat16
    model.to(torch.bfloat16 if large else torch.float32).save_pretrained(folder)
    tokenizer = (wordpiece if shape.architecture == "Bert" else byte_level_bpe)(texts)
    tokenizer.model_max_length = shape.max_length
    tokenizer.save_pretrained(folder)
    modules = [("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize")]
    (folder / "modules.json").write_text(json.dumps([
        {"idx": index, "name": str(index), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for index, (kind, path) in enumerate(modules)]))
    (folder / "1_Pooling").mkdir()
    (folder / "2_Normalize").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({
        "word_embedding_dimension": shape.config["hidden_size"],
        "pooling_mode_mean_tokens": shape.pooling == "mean",
        "pooling_mode_lasttoken": shape.pooling == "lasttoken"}))
    (folder / "sentence_bert_config.json").write_text(
        json.dumps({"max_seq_length": shape.max_length, "do_lower_case": False}))
