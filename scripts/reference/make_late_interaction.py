#!/usr/bin/env python3
"""Makes tiny directories of late interaction, and the vectors of documents by the package that wrote each directory.

    make_late_interaction.py pylate [--output tests/data/late_interaction]
    make_late_interaction.py multi-vector [--output tests/data/multi_vector]

Both have a random BERT and a random Dense, and these files:

texts.txt                       texts, one on each line; one of them is empty
embeddings.npy                  float32 [vectors, 6], the vectors of all texts one after the other
lengths.npy                     int64 [texts], the number of vectors of each text

pylate has the directory that ColBERT.save_pretrained() writes, and the result of ColBERT.encode(texts, is_query=False). It needs
PyLate 1.6.0, which needs sentence-transformers 5.3.0 and transformers 5.3.0, and torch 2.11.

embeddings_tanh.npy             as embeddings.npy, with a Dense that has a bias, a residual and Tanh
dense_tanh/                     the files of this Dense

multi-vector has the directory that MultiVectorEncoder.save_pretrained() writes, and the result of
MultiVectorEncoder.encode_document(). It needs sentence-transformers 6.0.1, transformers 5.17.0 and torch 2.11.

bare/                           a modules.json without Normalize, a mask whose skip list is for queries only, and a
                                config_sentence_transformers.json without prompts
embeddings_bare.npy, lengths_bare.npy    of the directory with the files of bare/
"""
import argparse
import json
import pathlib
import shutil
import string
import tempfile

import numpy as np
import tokenizers
import torch
import transformers

DATA = pathlib.Path(__file__).resolve().parents[2] / "tests/data"
HIDDEN = 16
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
# The vocabulary has no "~", so that one word of the usual skip list, string.punctuation, is unknown.
SIGNS = string.punctuation.replace("~", "")
WIDTH = 6
# "é~" has an unknown token, for which "~" of PyLate's skip list stands.
TEXTS = ("a", "the cat, sat.", "...", "fix: the leak (in) the pool!", "one, two; three: four five six seven eight nine",
         "no sign at all", "a[D] b", "", "the cat, sat.", "e~ \u00e6 f", "abc def ghi jk")


def make_tokenizer():
    vocab = {name: i for i, name in enumerate(SPECIAL)}
    for letter in string.ascii_lowercase:
        vocab[letter] = len(vocab)
        vocab["##" + letter] = len(vocab)
    for sign in SIGNS:
        vocab[sign] = len(vocab)
    result = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocab, unk_token="[UNK]"))
    result.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    result.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    result.add_special_tokens(list(SPECIAL))
    result.post_processor = tokenizers.processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=result, cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]", unk_token="[UNK]",
        mask_token="[MASK]", model_max_length=64)


def make_base(folder):
    """Writes a BERT without modules.json, to which another program adds the modules of its model."""
    tokenizer = make_tokenizer()
    tokenizer.save_pretrained(folder)
    config = transformers.BertConfig(vocab_size=len(tokenizer), hidden_size=HIDDEN, num_hidden_layers=1,
                                     num_attention_heads=2, intermediate_size=24, max_position_embeddings=64)
    model = transformers.BertModel(config, add_pooling_layer=False).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    model.save_pretrained(folder)


def vectors_of(encode):
    # One text at a time, so that no padding changes the order of a sum.
    return [np.asarray(encode(text), dtype=np.float32) for text in TEXTS]


def save_vectors(folder, vectors, suffix=""):
    np.save(folder / f"embeddings{suffix}.npy", np.concatenate(vectors))
    np.save(folder / f"lengths{suffix}.npy", np.array([len(rows) for rows in vectors], dtype=np.int64))


def make_pylate(folder):
    from pylate import models

    def encode(model):
        return vectors_of(lambda text: model.encode([text], is_query=False)[0])

    torch.manual_seed(5)
    with tempfile.TemporaryDirectory() as base:
        make_base(base)
        model = models.ColBERT(base, embedding_size=WIDTH, document_length=14, query_length=8, device="cpu")
    # The rows of the prefixes are random, but the default makes them nearly equal to the mean of all rows.
    torch.nn.init.normal_(model[0].auto_model.get_input_embeddings().weight, std=0.3)
    model.save_pretrained(str(folder), create_model_card=False)
    (folder / "texts.txt").write_text("\n".join(TEXTS) + "\n")
    save_vectors(folder, encode(models.ColBERT(str(folder), device="cpu")))

    model[1] = models.Dense(HIDDEN, WIDTH, bias=True, activation_function=torch.nn.Tanh(), use_residual=True)
    np.save(folder / "embeddings_tanh.npy", np.concatenate(encode(model)))
    (folder / "dense_tanh").mkdir()
    model[1].save(str(folder / "dense_tanh"))


def make_multi_vector(folder):
    from sentence_transformers import MultiVectorEncoder
    from sentence_transformers.base.modules import Dense, Normalize, Transformer
    from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask

    def encode(model):
        return vectors_of(lambda text: model.encode_document([text], convert_to_numpy=True)[0])

    torch.manual_seed(7)
    with tempfile.TemporaryDirectory() as base:
        make_base(base)
        transformer = Transformer(base, document_length=14, query_length=8,
                                  query_expansion={"strategy": "fixed", "attend": False, "length": 8})
    dense = Dense(HIDDEN, WIDTH, bias=False, activation_function=torch.nn.Identity(), module_input_name="token_embeddings")
    mask = MultiVectorMask(skiplist_words=list(string.punctuation))
    model = MultiVectorEncoder(modules=[transformer, dense, mask, Normalize(module_input_name="token_embeddings")],
                               prompts={"query": "q: ", "document": "d: "}, device="cpu")
    model.save_pretrained(str(folder), create_model_card=False)
    (folder / "texts.txt").write_text("\n".join(TEXTS) + "\n")
    save_vectors(folder, encode(MultiVectorEncoder(str(folder), device="cpu")))

    bare = folder / "bare"
    (bare / "2_MultiVectorMask").mkdir(parents=True)
    modules = json.loads((folder / "modules.json").read_text())
    (bare / "modules.json").write_text(json.dumps(modules[:3], indent=2) + "\n")
    (bare / "2_MultiVectorMask/config.json").write_text(json.dumps({"skiplist_words": [".", ","], "skiplist_tasks": "query"}))
    (bare / "config_sentence_transformers.json").write_text(json.dumps({"model_type": "MultiVectorEncoder", "prompts": {}}))
    with tempfile.TemporaryDirectory() as copy:
        shutil.copytree(folder, copy, dirs_exist_ok=True)
        shutil.copytree(bare, copy, dirs_exist_ok=True)
        save_vectors(folder, encode(MultiVectorEncoder(copy, device="cpu")), "_bare")


def main():
    makers = {"pylate": (make_pylate, DATA / "late_interaction"), "multi-vector": (make_multi_vector, DATA / "multi_vector")}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", choices=makers)
    parser.add_argument("--output", type=pathlib.Path)
    args = parser.parse_args()
    make, folder = makers[args.package]
    folder = args.output or folder
    shutil.rmtree(folder, ignore_errors=True)
    make(folder)


if __name__ == "__main__":
    main()
