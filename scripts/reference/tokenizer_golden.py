#!/usr/bin/env python3
"""Makes tests/data/tokenizer: small tokenizers, and the ids that they give for a few hundred texts. The ids come from Hugging
Face `tokenizers`, or from `sentencepiece` for .model files. The tokenizers are trained on the source of one release of
docutils, which is the same on every machine.

  pip install tokenizers==0.23.3 sentencepiece==0.1.97 docutils==0.21.2
  scripts/reference/tokenizer_golden.py tests/data/tokenizer

The trainers of `tokenizers` have no seed, so a new run gives other WordPiece, Unigram and byte-fallback vocabularies and
the ids for them. No text of this machine is used.

NAME/tokenizer.json (or tokenizer.model) is the tokenizer. NAME/cases.jsonl has one text on each line:
  {"text": .., "ids": with special tokens, "plain": without, "short": with special tokens and at most 8 tokens}
components_N.jsonl has one small tokenizer on each line, each with another normalizer or pre-tokenizer. Its WordLevel
vocabulary contains the pieces of the texts in component_texts.json, so equal ids mean equal pieces.
"""
import glob
import io
import json
import os
import random
import sys

import docutils
import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

from check_tokenizers import INTERESTING, SNIPPETS, random_string

QWEN2 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
         r"|\s+(?!\S)|\s+")
LLAMA3 = QWEN2.replace(r"|\p{N}|", r"|\p{N}{1,3}|")
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def training_text():
    """Returns the source of docutils without its tables of languages and symbols, because their characters would fill the
    vocabularies."""
    assert docutils.__version__ == "0.21.2", docutils.__version__
    root = os.path.dirname(docutils.__file__)
    files = sorted(os.path.relpath(path, root) for path in glob.glob(os.path.join(root, "**", "*.py"), recursive=True))
    return "".join(open(os.path.join(root, path), encoding="utf-8").read() for path in files
                   if not {"languages", "math"} & set(path.split(os.sep)))


def texts():
    rng = random.Random(1)
    fixed = [
        "", " ", "  ", "\n", "a", "A", "\u00e9", "e\u0301", "Hello, world!", "hello   world  ", "\tdef f(x):\n\treturn x**2\n",
        "I'm sure you've seen it; they'LL say 'twas John's.", "x\u017f '\u017f 's 'S", "caf\u00e9 na\u00efve \u00c5ngstr\u00f6m \u0130stanbul",
        "\u4f60\u597d\uff0c\u4e16\u754c\u3002", "\u3053\u3093\u306b\u3061\u306f\u30ab\u30bf\u30ab\u30ca", "\ud55c\uad6d\uc5b4 \u1112\u1161\u11ab", "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440",
        "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645", "\u05e9\u05dc\u05d5\u05dd", "\u0928\u092e\u0938\u094d\u0924\u0947", "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35",
        "\U0001F468\u200d\U0001F469\u200d\U0001F467\u200d\U0001F466 \U0001F1E9\U0001F1EA \U0001F44D\U0001F3FD",
        "\ufb01ne \ufdfa \u2460 \u00bd \u212b", "q\u0323\u0307 q\u0307\u0323 \u0344", "nul\x00here", "bell\x07 esc\x1b del\x7f",
        "a\u00a0b\u2003c\u3000d\u0085e\u2028f", "zero\u200bwidth\u200djoin\ufeff", "price: $1,234.56 (10%)", "1234567890123",
        "http://example.org/a_b-c?d=e&f=%20#g", "snake_case camelCase SCREAMING_CASE kebab-case", "<s>x</s> [CLS] [MASK] [SEP]",
        "tail space ", " head space", "\r\n\r\nwindows\r\nlines\r\n", "a\n\n\n  b\n \n c", "--- === *** ###", "((([[[{{{",
        "supercalifragilisticexpialidocious", "x" * 120, "a" * 300, " " * 70, "\n" * 40, "ab" * 200, "\u4e2d" * 60, "=" * 90,
        "\U0001F600" * 20, "0" * 50, "_" * 33 + "end",
    ]
    fixed += [chr(c) for c in INTERESTING] + [f"a{chr(c)}b {chr(c)}" for c in INTERESTING] + list(SNIPPETS)
    code = training_text().splitlines(keepends=True)
    fixed += ["".join(code[i:i + 3]) for i in range(100, len(code), len(code) // 30)]
    return fixed + [random_string(rng) for _ in range(80)]


# Grapheme clusters for a charsmap: with marks that join the next character to the cluster, and with
# controls that end one.
CLUSTERS = ["\u0602e\u0301", "\u0605 a\u0301", "\u0602\u0678\u0670", "\x00\u200d\u0670", "\U00011A3Ae\u0301", "\U00011A84e\u0301",
            "\U0001D173\u200d\u0670", "\u0890\x00\u200d\u0670"]


def write_clusters(directory):
    """Writes <directory>/unigram/clusters.jsonl by the tokenizer.json in that folder."""
    tokenizer = Tokenizer.from_file(os.path.join(directory, "unigram", "tokenizer.json"))
    write_lines(os.path.join(directory, "unigram", "clusters.jsonl"), cases_of(tokenizer, CLUSTERS))


def cases_of(tokenizer, rows):
    tokenizer.no_padding()
    result = []
    for text in rows:
        tokenizer.no_truncation()
        case = dict(text=text, ids=tokenizer.encode(text).ids,
                    plain=tokenizer.encode(text, add_special_tokens=False).ids)
        tokenizer.enable_truncation(8)
        case["short"] = tokenizer.encode(text).ids
        result.append(case)
    tokenizer.no_truncation()
    return result


def write_lines(path, items):
    with open(path, "w", encoding="ascii") as out:
        for item in items:
            out.write(json.dumps(item, separators=(",", ":")) + "\n")
    assert os.path.getsize(path) < 300_000, path


def write(directory, name, tokenizer, rows):
    folder = os.path.join(directory, name)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "tokenizer.json")
    with open(path, "w", encoding="utf-8") as out:
        json.dump(json.loads(tokenizer.to_str()), out, ensure_ascii=True, separators=(",", ":"))
    assert os.path.getsize(path) < 300_000, path
    write_lines(os.path.join(folder, "cases.jsonl"), cases_of(Tokenizer.from_file(path), rows))


def train(tokenizer, trainer, text):
    tokenizer.train_from_iterator(text.splitlines(keepends=True), trainer)


def wordpiece(text, cased):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
    t.normalizer = normalizers.BertNormalizer(lowercase=not cased, strip_accents=None, handle_chinese_chars=not cased)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    train(t, trainers.WordPieceTrainer(vocab_size=3000, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]), text)
    ids = [(s, t.token_to_id(s)) for s in ("[SEP]", "[CLS]")]
    t.post_processor = processors.BertProcessing(*ids) if cased else processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ids)
    t.enable_truncation(128)
    t.enable_padding(length=128)
    return t


def byte_level(pattern, normalizer=None, **model):
    """Makes a tokenizer without a vocabulary."""
    t = Tokenizer(models.BPE(**model))
    if normalizer:
        t.normalizer = normalizer
    if pattern is None:
        t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    else:
        t.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Split(Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    return t


def train_byte_level(t, text, special=("<|endoftext|>",), size=4000):
    train(t, trainers.BpeTrainer(vocab_size=size, special_tokens=list(special), show_progress=False,
                                 initial_alphabet=pre_tokenizers.ByteLevel.alphabet()), text)
    return t


def spelled_merges(tokenizer):
    """Writes merges in the older form, "a b"."""
    data = json.loads(tokenizer.to_str())
    data["model"]["merges"] = [" ".join(m) for m in data["model"]["merges"]]
    return Tokenizer.from_str(json.dumps(data)), data


def roberta(text):
    t = train_byte_level(byte_level(None), text, special=("<s>", "<pad>", "</s>", "<unk>"), size=3000)
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    t.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    t.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
    t.add_tokens([AddedToken("camelCase", single_word=True), AddedToken("world", rstrip=True, normalized=False)])
    return t


def llama3(text):
    t = train_byte_level(byte_level(LLAMA3, ignore_merges=True), text,
                         special=("<|begin_of_text|>", "<|end_of_text|>"))
    data = json.loads(t.to_str())
    data["model"]["vocab"]["supercalifragilisticexpialidocious"] = len(data["model"]["vocab"])   # no merges give this token
    t = Tokenizer.from_str(json.dumps(data))
    t.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(single="<|begin_of_text|> $A", pair="<|begin_of_text|> $A $B",
                                      special_tokens=[("<|begin_of_text|>", 0)])])
    return t


def byte_fallback(text, dummy_prefix):
    """Makes a tokenizer like Gemma's (without prefix) or Llama 2's (with prefix): spaces are U+2581, unknown characters become
    bytes."""
    t = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    t.normalizer = normalizers.Replace(" ", "\u2581")
    t.pre_tokenizer = pre_tokenizers.Split("\u2581", "merged_with_next")
    special = ["<pad>", "<eos>", "<bos>", "<unk>"] + [f"<0x{b:02X}>" for b in range(256)]
    train(t, trainers.BpeTrainer(vocab_size=3500, special_tokens=special, limit_alphabet=150, show_progress=False), text)
    data = json.loads(t.to_str())
    data["added_tokens"] = data["added_tokens"][:4]
    t = Tokenizer.from_str(json.dumps(data))
    if dummy_prefix:
        t.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
        t.pre_tokenizer = None
    else:
        t.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    t.post_processor = processors.TemplateProcessing(single="<bos> $A <eos>", pair="<bos> $A $B",
                                                     special_tokens=[("<bos>", 2), ("<eos>", 1)])
    t.add_tokens([AddedToken("\n\n", normalized=False), AddedToken("\n\n\n", normalized=False)])
    return t


def unigram(text, charsmap=None, **model):
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<s>", "<pad>", "</s>", "<unk>"] + ([f"<0x{b:02X}>" for b in range(256)] if model else [])
    train(t, trainers.UnigramTrainer(vocab_size=3000, special_tokens=special, unk_token="<unk>", show_progress=False,
                                     n_sub_iterations=1), text[:600_000])
    t.post_processor = processors.TemplateProcessing(single="<s> $A </s>", pair="<s> $A </s> $B </s>",
                                                     special_tokens=[("<s>", 0), ("</s>", 2)])
    data = json.loads(t.to_str())
    data["model"].update(model)
    data["added_tokens"] = data["added_tokens"][:4]
    if charsmap:
        data["normalizer"] = {"type": "Sequence", "normalizers": [
            {"type": "Precompiled", "precompiled_charsmap": charsmap},
            {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]}
    return Tokenizer.from_str(json.dumps(data))


def write_sentencepiece(folder, text, rows, **options):
    os.makedirs(folder, exist_ok=True)
    model = io.BytesIO()
    lines = [line for line in text.splitlines() if line][:20_000]
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=model,
                                             vocab_size=1200, minloglevel=2, num_threads=1, **options)
    with open(os.path.join(folder, "tokenizer.model"), "wb") as out:
        out.write(model.getvalue())
    assert len(model.getvalue()) < 300_000
    sp = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    cases = []
    for text in rows:
        ids = sp.encode(text)
        cases.append(dict(text=text, ids=ids, plain=ids, short=ids[:8]))
    write_lines(os.path.join(folder, "cases.jsonl"), cases)


N, P = normalizers, pre_tokenizers
COMPONENTS = [
    ("BertNormalizer", N.BertNormalizer(), None), ("BertNormalizer plain", N.BertNormalizer(False, False, False, False), None),
    ("BertNormalizer accents kept", N.BertNormalizer(True, True, False, True), None),
    ("BertNormalizer cased, stripped", N.BertNormalizer(False, True, True, False), None),
    ("NFC", N.NFC(), None), ("NFD", N.NFD(), None), ("NFKC", N.NFKC(), None), ("NFKD", N.NFKD(), None),
    ("Lowercase", N.Lowercase(), None), ("StripAccents", N.Sequence([N.NFD(), N.StripAccents()]), None),
    ("Strip", N.Strip(), None), ("Strip left", N.Strip(True, False), None), ("Strip right", N.Strip(False, True), None),
    ("Nmt", N.Nmt(), None), ("ByteLevel normalizer", N.ByteLevel(), None), ("Prepend", N.Prepend("\u2581"), None),
    ("Replace string", N.Replace("ab", "\u00e9"), None), ("Replace character", N.Replace(" ", "__"), None),
    ("Replace away", N.Replace(" ", ""), None), ("Replace regex", N.Replace(Regex(r"\s+"), " "), None),
    ("Replace regex class", N.Replace(Regex(r"[^a-z\s]|\p{Lu}{2,}"), "?"), None),
    ("BertPreTokenizer", None, P.BertPreTokenizer()), ("ByteLevel", None, P.ByteLevel(add_prefix_space=False)),
    ("ByteLevel with space", None, P.ByteLevel(add_prefix_space=True)),
    ("ByteLevel in the middle", None, P.Sequence([P.ByteLevel(add_prefix_space=False), P.Digits(True)])),
    ("Whitespace", None, P.Whitespace()), ("WhitespaceSplit", None, P.WhitespaceSplit()),
    ("Digits", None, P.Digits(False)), ("Digits one by one", None, P.Digits(True)),
    ("CharDelimiterSplit", None, P.CharDelimiterSplit("\u4e2d")), ("FixedLength", None, P.FixedLength(3)),
    ("Metaspace", None, P.Metaspace()), ("Metaspace first", None, P.Metaspace(prepend_scheme="first")),
    ("Metaspace never", None, P.Metaspace(prepend_scheme="never", split=False)),
    ("Metaspace first after Strip", N.Strip(), P.Metaspace(prepend_scheme="first")),
    ("WhitespaceSplit, Metaspace first", None, P.Sequence([P.WhitespaceSplit(), P.Metaspace(prepend_scheme="first")])),
    ("Split cl100k", None, P.Split(Regex(LLAMA3), "isolated")), ("Split qwen2", None, P.Split(Regex(QWEN2), "removed", invert=True)),
    ("Split o200k", None, P.Split(Regex(
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
        r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"), "isolated")),
    ("Split deepseek", None, P.Sequence([
        P.Split(Regex(r"\p{N}{1,3}"), "isolated"), P.Split(Regex("[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"), "isolated"),
        P.Split(Regex(r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|"
                      r" ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"), "isolated")])),
]
O200K_WORDS = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|"
               r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|")
COMPONENTS += [
    ("Split tekken", None, P.Split(Regex(O200K_WORDS + r"\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"),
                                   "isolated")),
    ("UnicodeScripts", None, P.UnicodeScripts()),
    ("UnicodeScripts of digits", None, P.Sequence([P.Digits(True), P.UnicodeScripts()])),
]
BEHAVIORS = ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]
COMPONENTS += [(f"Punctuation {b}", None, P.Punctuation(b)) for b in BEHAVIORS]
COMPONENTS += [(f"Split space {b}", None, P.Split(" ", b)) for b in BEHAVIORS]
COMPONENTS += [(f"Split regex {b} inverted", None, P.Split(Regex(r"[a-z]\d?|\s"), b, invert=True)) for b in BEHAVIORS]


def write_components(path, rows):
    items = []
    for name, normalizer, pre_tokenizer in COMPONENTS:
        t = Tokenizer(models.WordLevel(unk_token="?"))
        if normalizer:
            t.normalizer = normalizer
        if pre_tokenizer:
            t.pre_tokenizer = pre_tokenizer
        pieces = {}
        for text in rows:
            normal = normalizer.normalize_str(text) if normalizer else text
            cut = [p for p, _ in pre_tokenizer.pre_tokenize_str(normal)] if pre_tokenizer else [normal]
            for piece in cut:
                pieces.setdefault(piece, len(pieces) + 1)
        t.model = models.WordLevel({"?": 0, **pieces}, unk_token="?")
        ids = [t.encode(text).ids for text in rows]
        items.append(dict(name=name, tokenizer=json.loads(t.to_str()), ids=ids))
    with open(path.replace("components.jsonl", "component_texts.json"), "w") as out:
        json.dump(rows, out)
    third = len(items) // 3   # three files, because the size of a file is limited
    for i in range(3):
        write_lines(path.replace(".jsonl", f"_{i + 1}.jsonl"), items[i * third:(i + 1) * third if i < 2 else None])


def main():
    directory = sys.argv[1]
    os.makedirs(directory, exist_ok=True)
    text, rows = training_text(), texts()
    write(directory, "wordpiece", wordpiece(text, cased=False), rows)
    write(directory, "wordpiece_cased", wordpiece(text, cased=True), rows)
    write(directory, "qwen2", train_byte_level(byte_level(QWEN2, normalizers.NFC()), text), rows)
    write(directory, "gpt2", train_byte_level(byte_level(None), text), rows)
    _, spelled = spelled_merges(Tokenizer.from_file(os.path.join(directory, "gpt2", "tokenizer.json")))
    with open(os.path.join(directory, "gpt2", "tokenizer.json"), "w") as out:
        json.dump(spelled, out, separators=(",", ":"))
    write(directory, "roberta", roberta(text), rows)
    write(directory, "llama3", llama3(text), rows)
    write(directory, "gemma", byte_fallback(text, dummy_prefix=False), rows)
    write(directory, "llama2", byte_fallback(text, dummy_prefix=True), rows)
    write_sentencepiece(os.path.join(directory, "sentencepiece_bpe"), text, rows, model_type="bpe", byte_fallback=True)
    write_sentencepiece(os.path.join(directory, "sentencepiece_unigram"), text, rows, model_type="unigram")
    write_sentencepiece(os.path.join(directory, "mistral"), text, rows, model_type="bpe", byte_fallback=True,
                        normalization_rule_name="identity",
                        remove_extra_whitespaces=False, user_defined_symbols=["[MASK]", "\n\n", "\u2581def"])
    write(directory, "unigram", unigram(text, charsmap=small_charsmap()), rows)
    write_clusters(directory)
    write(directory, "unigram_bytes", unigram(text, byte_fallback=True), rows)
    short = [row for row in rows if len(row) < 60][:150]
    write_components(os.path.join(directory, "components.jsonl"), short)


def small_charsmap():
    """Returns a small precompiled charsmap with the kinds of rules of real ones, which have 240 kB: NFKC of a few hundred
    characters, composed sequences, removed control characters."""
    import tempfile
    import unicodedata

    rules = {chr(c): "" for c in range(1, 9)} | {chr(c): " " for c in (9, 10, 13, 0xA0, 0x3000, 0x200B, 0xFEFF)}
    for c in [*range(0xA0, 0x250), *range(0x2100, 0x2190), *range(0xFB00, 0xFB10), *range(0xFF00, 0xFF60), 0xFDFA]:
        decomposed = unicodedata.normalize("NFD", chr(c))
        if unicodedata.normalize("NFKC", chr(c)) != chr(c):
            rules.setdefault(chr(c), unicodedata.normalize("NFKC", chr(c)))
        elif decomposed != chr(c):
            rules[decomposed] = chr(c)
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as tsv:
        for source, target in sorted(rules.items()):
            tsv.write(" ".join(f"{ord(c):X}" for c in source) + "\t" + " ".join(f"{ord(c):X}" for c in target) + "\n")
        tsv.flush()
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(["a b c"] * 9), model_writer=model,
                                                 model_type="char", vocab_size=7, minloglevel=2,
                                                 normalization_rule_tsv=tsv.name)
    return charsmap_of(model.getvalue())


def charsmap_of(model):
    """Returns the precompiled charsmap of a .model file: field 2 of NormalizerSpec, which is field 3 of the model."""
    import base64

    def fields(data):
        i = 0
        while i < len(data):
            def varint():
                nonlocal i
                value = shift = 0
                while True:
                    byte = data[i]
                    i += 1
                    value |= (byte & 127) << shift
                    shift += 7
                    if byte < 128:
                        return value
            key = varint()
            if key & 7 == 2:
                size = varint()
                yield key >> 3, data[i:i + size]
                i += size
            elif key & 7 == 0:
                yield key >> 3, varint()
            else:
                size = {1: 8, 5: 4}[key & 7]
                yield key >> 3, data[i:i + size]
                i += size

    spec = dict(fields(model))[3]
    return base64.b64encode(dict(fields(spec))[2]).decode()


if __name__ == "__main__":
    main()
