#!/usr/bin/env python3
"""Makes tiny sentence-transformers directories and matrices, and the results of sentence-transformers for them.

    make_sentence_transformers.py [--output tests/data/sentence_transformers]

<name>/                         a whole directory with random weights, saved by sentence-transformers
<name>/texts.txt                texts, one on each line
<name>/embeddings.npy           float32, encode() of each text alone
dense_activations.npy           float32 [1 + activations, 21]: the inputs, then every activation of a Dense module, in the
                                order of DenseActivation in include/encode/model_directory.h
quantized/                      embeddings.npy (float32) and its quantize_embeddings in every precision; NumPy makes
                                float16.npy

It needs sentence-transformers 6.0.1, torch 2.11 and NumPy 2. The same versions give the same files.
"""
import argparse
import json
import os
import pathlib
import shutil
import string
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import tokenizers
import torch
import transformers
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import modules
from sentence_transformers.util import quantize_embeddings

HIDDEN = 16
ACTIVATIONS = (
    "Identity", "CELU", "ELU", "GELU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU", "LogSigmoid",
    "LogSoftmax", "Mish", "ReLU", "ReLU6", "RReLU", "SELU", "Sigmoid", "SiLU", "Softmax", "Softmin", "Softplus",
    "Softshrink", "Softsign", "Tanh", "Tanhshrink",
)
TEXTS = ("a", "the cat sat on the mat", "def test_that(self): assert self", "fix the leak in the pool of threads",
         "zzz zz z", "one two three four five six seven eight nine ten eleven twelve thirteen fourteen", "q w e r t y",
         "to be or not to be that is")


def words(text):
    """Replaces every character that is not in the vocabulary of letters by a space."""
    return "".join(c if c in string.ascii_lowercase + " " else " " for c in text.lower())


def tokenizer(special_tokens):
    vocab = {name: i for i, name in enumerate(("[PAD]", "[UNK]", "[CLS]", "[SEP]"))}
    for letter in string.ascii_lowercase:
        vocab[letter] = len(vocab)
        vocab["##" + letter] = len(vocab)
    result = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocab, unk_token="[UNK]"))
    result.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    result.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    result.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]"])
    if special_tokens:
        result.post_processor = tokenizers.processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return result


def transformer(folder):
    config = transformers.BertConfig(vocab_size=56, hidden_size=HIDDEN, num_hidden_layers=1, num_attention_heads=2,
                                     intermediate_size=24, max_position_embeddings=64)
    transformers.BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer(True), cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]", unk_token="[UNK]",
        model_max_length=64).save_pretrained(folder)
    return modules.Transformer(folder)


def randomize(module):
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return module


def write_case(folder, model, texts=TEXTS):
    if folder.exists():
        shutil.rmtree(folder)
    model.save(str(folder), create_model_card=False)
    finish_case(folder, texts)


def finish_case(folder, texts=TEXTS):
    """Writes the reference. It loads the model from the saved files, so that it includes what saving changes."""
    model = SentenceTransformer(str(folder), device="cpu")
    texts = [words(text) for text in texts]
    (folder / "texts.txt").write_text("\n".join(texts) + "\n")
    np.save(folder / "embeddings.npy", np.concatenate([model.encode([text]) for text in texts]).astype(np.float32))


def every_module(folder, scratch):
    """Writes three poolings side by side, Dense with and without bias, activation and residual, and LayerNorm, in the files of
    both generations of sentence-transformers."""
    model = SentenceTransformer(modules=[
        transformer(scratch), modules.Pooling(HIDDEN, ("cls", "max", "mean")),
        randomize(modules.Dense(3 * HIDDEN, 12, bias=False, activation_function=torch.nn.SiLU())), modules.Normalize(),
        modules.Dropout(0.1), randomize(modules.LayerNorm(12)),
        randomize(modules.Dense(12, 7, activation_function=torch.nn.Tanh(), use_residual=True)),
        randomize(modules.Dense(7, 7, activation_function=torch.nn.GELU(), use_residual=True)), modules.Normalize(),
    ], device="cpu")
    write_case(folder / "every_module", model)
    older = folder / "older_generation"
    if older.exists():
        shutil.rmtree(older)
    shutil.copytree(folder / "every_module", older)
    listed = json.loads((older / "modules.json").read_text())
    for module in listed:
        name = module["type"].split(".")[-1]
        module["type"] = f"sentence_transformers.models.{name}"
    (older / "modules.json").write_text(json.dumps(listed, indent=2))
    (older / "1_Pooling/config.json").write_text(json.dumps({
        "word_embedding_dimension": HIDDEN, "pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True,
        "pooling_mode_max_tokens": True, "pooling_mode_mean_sqrt_len_tokens": False}, indent=2))
    (older / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 24, "do_lower_case": False}))
    finish_case(older)


def prompts(folder, scratch):
    """Writes a default prompt that the pooling leaves out, a cut that is not normalized again, and another similarity."""
    model = SentenceTransformer(
        modules=[transformer(scratch), modules.Pooling(HIDDEN, "mean", include_prompt=False), modules.Normalize()],
        prompts={"query": "find this ", "document": ""}, default_prompt_name="query", truncate_dim=6,
        similarity_fn_name="dot", device="cpu")
    write_case(folder / "prompts", model)


def static_embedding(folder):
    table = torch.randn(56, 10)
    static = modules.StaticEmbedding(tokenizer(True), embedding_weights=table)
    model = SentenceTransformer(modules=[static, modules.Normalize()], device="cpu")
    write_case(folder / "static_embedding", model, (*TEXTS, ""))
    # The files are as model2vec saves them: the root is ".", the table is "embeddings", and the tokenizer truncates.
    model2vec = folder / "model2vec"
    if model2vec.exists():
        shutil.rmtree(model2vec)
    model2vec.mkdir()
    from safetensors.torch import save_file
    save_file({"embeddings": table}, model2vec / "model.safetensors")
    truncating = tokenizer(False)
    truncating.enable_truncation(9)
    truncating.save(str(model2vec / "tokenizer.json"))
    (model2vec / "config.json").write_text(json.dumps({"model_type": "model2vec", "normalize": True}))
    (model2vec / "modules.json").write_text(json.dumps([
        {"idx": 0, "name": "0", "path": ".", "type": "sentence_transformers.models.StaticEmbedding"},
        {"idx": 1, "name": "1", "path": "1_Normalize", "type": "sentence_transformers.models.Normalize"}]))
    finish_case(model2vec)


def activations(folder):
    x = torch.linspace(-4, 4, 21).unsqueeze(0)
    rows = [x] + [getattr(torch.nn, name)().eval()(x) for name in ACTIVATIONS]
    np.save(folder / "dense_activations.npy", torch.cat(rows).numpy())


def quantized(folder):
    folder = folder / "quantized"
    folder.mkdir(exist_ok=True)
    random = np.random.default_rng(3)
    x = random.standard_normal((61, 21)).astype(np.float32)
    x[:, 3] = 0.25  # a constant column
    x[5:30, 4] = 0
    x[7:20, 5] = -0.0
    x[:, 6] *= 1e-42  # subnormal
    x[:, 7] *= 1e37
    np.save(folder / "embeddings.npy", x)
    for precision in ("int8", "uint8", "binary", "ubinary"):
        np.save(folder / f"{precision}.npy", quantize_embeddings(x, precision))
    ranges = np.vstack((x.min(axis=0) / 2, x.max(axis=0) / 2)).astype(np.float32)
    np.save(folder / "given_ranges.npy", ranges)
    np.save(folder / "given_int8.npy", quantize_embeddings(x, "int8", ranges=ranges))
    np.save(folder / "ranges.npy", np.vstack((x.min(axis=0), x.max(axis=0))))
    small = np.ascontiguousarray(x[:, :7]) * np.float32(1000)
    np.save(folder / "float16_source.npy", small)
    np.save(folder / "float16.npy", small.astype(np.float16))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parents[2] / "tests/data/sentence_transformers")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(11)
    with tempfile.TemporaryDirectory() as scratch:
        every_module(folder, scratch)
        prompts(folder, scratch)
    static_embedding(folder)
    activations(folder)
    quantized(folder)


if __name__ == "__main__":
    main()
