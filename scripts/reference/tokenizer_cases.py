#!/usr/bin/env python3
"""Adds what rows give beside their ids to tests/data/tokenizer, which tokenizer_golden.py has made.

  scripts/reference/tokenizer_cases.py offsets|truncation tests/data/tokenizer

offsets     needs tokenizers==0.23.3 sentencepiece==0.1.97 docutils==0.21.2. The offsets of the tokens are `Encoding.offsets` of
  Hugging Face `tokenizers`, and for .model files the begin and end of the pieces of `sentencepiece`. Each case gets "offsets" for
  its "ids": begin and end of the first token, then of the second, and so on. The ids must not change. offsets.jsonl has small
  tokenizers with unusual offsets, for the texts of the components.

truncation  needs transformers==5.23.0 tokenizers==0.23.3. truncation.jsonl has the ids and offsets that transformers gives for
  truncated texts, for each side that tokenizer.json ("direction") and tokenizer_config.json ("truncation_side") can state. Each
  line states the family, the "direction" and the "side" (the key is absent: so is the field), and then the cases, or "refused":
  true if transformers refuses the files.
"""
import base64
import glob
import json
import os
import sys
import tempfile

from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors

from tokenizer_golden import write_lines

N, P = normalizers, pre_tokenizers
TEXTS = ["", "a", "Hello, world! one two three four five", "  caf\u00e9  na\u00efve \u4f60\u597d\uff0c\u4e16\u754c\u3002 ",
         "[MASK] def f(x):\n\treturn x**2\n  # 12345 [SEP]", "\u0420\u0443\u0441 \U0001F600 snake_case camelCase world <mask> tail "]
LENGTHS = [3, 6, 9]
SIDES = [(direction, side) for direction in (None, "Right", "Left", "Up", 1) for side in ("absent", "right", "left", "Left", None)]


def read_lines(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def flat(offsets):
    return [number for pair in offsets for number in pair]


def encodings_of(tokenizer, rows):
    encodings = [tokenizer.encode(text) for text in rows]
    return [e.ids for e in encodings], [flat(e.offsets) for e in encodings]


def sentencepiece_encodings(folder, rows):
    import sentencepiece
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


def write_offsets(directory):
    for path in sorted(glob.glob(os.path.join(directory, "*", "c*s.jsonl"))):
        record_cases(path)
    with open(os.path.join(directory, "component_texts.json"), encoding="utf-8") as file:
        rows = json.load(file)
    for path in sorted(glob.glob(os.path.join(directory, "components_*.jsonl"))):
        record_components(path, rows)
    write_offset_tokenizers(directory, rows)


def of_transformers(directory, family, direction, side):
    from transformers import PreTrainedTokenizerFast
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(directory, family, "tokenizer.json"), encoding="utf-8") as file:
            data = json.load(file)
        data["truncation"] = direction and dict(direction=direction, max_length=16, strategy="LongestFirst", stride=0)
        config = {} if side == "absent" else {"truncation_side": side}
        for name, content in (("tokenizer.json", data), ("tokenizer_config.json", config)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
                json.dump(content, out)
        try:
            tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
        except Exception as error:  # tokenizers raises Exception itself
            assert "Truncation side" in str(error) or "expected " in str(error), error
            return None
        cases = []
        for text in TEXTS:
            for length in LENGTHS:
                row = tokenizer(text, truncation=True, max_length=length, return_offsets_mapping=True)
                cases.append(dict(text=text, max_length=length, ids=row["input_ids"],
                                  offsets=[number for pair in row["offset_mapping"] for number in pair]))
        return cases


def write_truncation(directory):
    import transformers
    assert transformers.__version__ == "5.23.0", transformers.__version__
    items = []
    for family in ("wordpiece", "roberta", "llama3", "gemma", "unigram"):
        for direction, side in SIDES:
            item = dict(family=family)
            if direction is not None:
                item["direction"] = direction
            if side != "absent":
                item["side"] = side
            cases = of_transformers(directory, family, direction, side)
            if family != "wordpiece" and cases is None:
                continue
            item.update(refused=True) if cases is None else item.update(cases=cases)
            items.append(item)
    write_lines(os.path.join(directory, "truncation.jsonl"), items)


def main():
    what, directory = sys.argv[1:]
    {"offsets": write_offsets, "truncation": write_truncation}[what](directory)


if __name__ == "__main__":
    main()
