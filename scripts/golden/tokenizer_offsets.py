#!/usr/bin/env python3
"""Adds the offsets of the tokens to tests/data/tokenizer, which tokenizer_golden.py has made. They are `Encoding.offsets` of
Hugging Face `tokenizers`, and for .model files the begin and end of the pieces of `sentencepiece`.

  pip install tokenizers==0.23.3 sentencepiece==0.1.97 docutils==0.21.2
  scripts/golden/tokenizer_offsets.py tests/data/tokenizer

Each case gets "offsets" for its "ids": begin and end of the first token, then of the second, and so on. The ids must not
change. offsets.jsonl has small tokenizers with unusual offsets, for the texts of the components.
"""
import base64
import glob
import json
import os
import sys

import sentencepiece
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors

from tokenizer_golden import write_lines

N, P = normalizers, pre_tokenizers


def read_lines(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def flat(offsets):
    return [number for pair in offsets for number in pair]


def encodings_of(tokenizer, rows):
    encodings = [tokenizer.encode(text) for text in rows]
    return [e.ids for e in encodings], [flat(e.offsets) for e in encodings]


def sentencepiece_encodings(folder, rows):
    sp = sentencepiece.SentencePieceProcessor(model_file=os.path.join(folder, "tokenizer.model"))
    encodings = [sp.encode(text, out_type="immutable_proto").pieces for text in rows]
    return ([[piece.id for piece in pieces] for pieces in encodings],
            [flat((piece.begin, piece.end) for piece in pieces) for pieces in encodings])


def record_cases(path):
    cases, folder = read_lines(path), os.path.dirname(path)
    texts = [case["text"] for case in cases]
    if os.path.exists(os.path.join(folder, "tokenizer.json")):
        tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        encodings = encodings_of(tokenizer, texts)
    else:
        encodings = sentencepiece_encodings(folder, texts)
    for case, ids, offsets in zip(cases, *encodings, strict=True):
        assert case["ids"] == ids, (path, case["text"])
        case["offsets"] = offsets
    write_lines(path, cases)


def record_components(path, rows):
    items = read_lines(path)
    for item in items:
        ids, item["offsets"] = encodings_of(Tokenizer.from_str(json.dumps(item["tokenizer"])), rows)
        assert item["ids"] == ids, item["name"]
    write_lines(path, items)


def small_bpe(**options):
    """Returns a model that knows few characters, to test the offsets of characters that are left out, unknown or fused."""
    tokens = ["<unk>", "<s>", "</s>", "a", "b", "e", " ", "\u0120", "ab", "##a", "##b", "e!", "a##b"]
    merge = ("a", "##b" if "continuing_subword_prefix" in options else "b")
    return models.BPE({token: i for i, token in enumerate(tokens)}, [merge], **options)


def small_unigram(**options):
    tokens = ["<unk>", "<s>", "</s>"]
    if options:
        tokens += [f"<0x{byte:02X}>" for byte in range(256)]
    tokens += ["a", "b", "e", "he", "ll", "\u2581", "ab"]
    return models.Unigram([(token, -float(i % 7)) for i, token in enumerate(tokens)], 0, **options)


def all_bytes():
    return models.BPE({c: i for i, c in enumerate(["<unk>", "<s>", "</s>"] + sorted(P.ByteLevel.alphabet()))}, [])


def offset_tokenizers(charsmap):
    """Returns a list of (name, model, normalizer, pre-tokenizer, post-processor)."""
    unknown = dict(unk_token="<unk>")
    fused = dict(unk_token="<unk>", fuse_unk=True)
    affixed = dict(unk_token="<unk>", continuing_subword_prefix="##", end_of_word_suffix="!")
    nfkc = N.Sequence([charsmap, N.NFKC(), N.Lowercase()])
    stripped = N.Sequence([N.NFKD(), N.StripAccents(), N.NFC()])
    spelled = N.Sequence([N.NFD(), N.ByteLevel()])
    byte_level, no_space = P.ByteLevel(add_prefix_space=True), P.ByteLevel(add_prefix_space=False)
    trim, trim_all = (processors.ByteLevel(add_prefix_space=space, trim_offsets=True) for space in (True, False))
    roberta = processors.RobertaProcessing(("</s>", 2), ("<s>", 1), trim_offsets=True, add_prefix_space=True)
    template = processors.TemplateProcessing(single="<s> $A </s>", pair="$A $B",
                                             special_tokens=[("<s>", 1), ("</s>", 2)])
    return [
        ("characters left out", small_bpe(), None, None, None),
        ("bytes left out", small_bpe(), None, no_space, None),
        ("unknown", small_bpe(**unknown), None, None, None),
        ("unknown fused", small_bpe(**fused), None, None, None),
        ("unknown bytes fused", small_bpe(**fused), None, byte_level, None),
        ("prefix and suffix", small_bpe(**affixed), None, P.Whitespace(), None),
        ("Unigram, unknown", small_unigram(), None, P.Metaspace(), None),
        ("Unigram, bytes", small_unigram(byte_fallback=True), N.NFKC(), P.Metaspace(), None),
        ("Unigram, trimmed", small_unigram(), None, None, trim_all),
        ("a charsmap, then NFKC", small_unigram(), nfkc, P.Metaspace(), None),
        ("NFKD, accents off, NFC", small_unigram(), stripped, None, None),
        ("nothing prepended", small_unigram(), N.Prepend(""), None, None),
        ("ByteLevel normalizer, trimmed", all_bytes(), spelled, None, trim),
        ("ByteLevel, trimmed", all_bytes(), None, byte_level, trim),
        ("Roberta", all_bytes(), None, byte_level, roberta),
        ("Roberta after stripping", all_bytes(), N.Strip(), byte_level, roberta),
        ("Roberta, trimmed", all_bytes(), N.Strip(), byte_level, processors.Sequence([roberta, trim])),
        ("a template, trimmed", all_bytes(), N.Strip(), byte_level, processors.Sequence([template, trim])),
    ]


def write_offset_tokenizers(directory, rows):
    with open(os.path.join(directory, "unigram", "tokenizer.json"), encoding="utf-8") as file:
        encoded = json.load(file)["normalizer"]["normalizers"][0]["precompiled_charsmap"]
    charsmap = N.Precompiled(base64.b64decode(encoded))
    items = []
    for name, model, normalizer, pre_tokenizer, processor in offset_tokenizers(charsmap):
        t = Tokenizer(model)
        if normalizer:
            t.normalizer = normalizer
        if pre_tokenizer:
            t.pre_tokenizer = pre_tokenizer
        if processor:
            t.post_processor = processor
        t.add_tokens([AddedToken("world", lstrip=True, rstrip=True, normalized=name.startswith("ByteLevel,")),
                      AddedToken("<unk>", normalized=False)])
        ids, offsets = encodings_of(t, rows)
        items.append(dict(name=name, tokenizer=json.loads(t.to_str()), ids=ids, offsets=offsets))
    write_lines(os.path.join(directory, "offsets.jsonl"), items)


def main():
    directory = sys.argv[1]
    for path in sorted(glob.glob(os.path.join(directory, "*", "c*s.jsonl"))):
        record_cases(path)
    with open(os.path.join(directory, "component_texts.json"), encoding="utf-8") as file:
        rows = json.load(file)
    for path in sorted(glob.glob(os.path.join(directory, "components_*.jsonl"))):
        record_components(path, rows)
    write_offset_tokenizers(directory, rows)


if __name__ == "__main__":
    main()
