#!/usr/bin/env python3
"""Makes sentence-transformers directories with random weights, without a network.

    random_models.py NAME FOLDER --texts FILE.jsonl [--device cuda]

NAME is one of shapes.py. The tokenizers are trained on the given texts, so that token counts are similar to real models.
"""
import argparse
import json
import pathlib

import tokenizers
import torch
import transformers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

from shapes import SHAPES

# The regex with which Qwen2 splits a text: contractions; words with at most one character before
# them (often a space); single digits; runs of punctuation; line ends; white space.
QWEN2_SPLIT = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
               r"\s*[\r\n]+|\s+(?!\S)|\s+")
VOCAB_TRAINED = 20000


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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=SHAPES)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--texts", type=pathlib.Path, required=True)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    transformers.utils.logging.disable_progress_bar()
    make(args.name, args.folder, [json.loads(line)["text"] for line in args.texts.open()], args.device)


if __name__ == "__main__":
    main()
