#!/usr/bin/env python3
"""Directories of tokenizers that have no tokenizer.json but the older files of a class: a sentencepiece model, vocab.txt, or
vocab.json and merges.txt.

  pip install transformers==4.57.6 sentencepiece==0.2.1 protobuf
  scripts/reference/older_tokenizers.py tests/data/tokenizer

FAMILIES are the random directories that check_auto_tokenizer.py takes, with random files beside these. The program writes the fixed
ones into slow_tokenizers.jsonl, with the ids that AutoTokenizer of transformers gives for some texts. Each line has the name of the
case, its files (a .model file in base64), the texts and their ids. These .model files are small and written by hand: the special
pieces of the class, letters, and some words.

It needs the package sentencepiece, whose protobuf classes write the .model files.
"""
import base64
import functools
import json
import os
import sys
import tempfile

from sentencepiece import sentencepiece_model_pb2 as pb

from auto_tokenizer_cases import BERT_NAMED, NEW_TOKENS, ROBERTA_NAMED, Case, base, common, maybe, state_added, state_class, state_named

NORMAL, UNKNOWN, CONTROL, USER, BYTE, UNIGRAM, BPE = 1, 2, 3, 4, 6, 1, 2
SPACE = "\u2581"
PIECES = ["hello", "world", "the", "The", "th", "he", "ll", "hell", "lo", "or", "wor", "ld", "is", "test", "PAR", "IS", "PARIS", "na", "ve",
          "12", "1,", "2,", "x=", "1;", "new", "京", "東", "東京", "Br", "and", "qq", "##", "in", "an", "ing", SPACE, SPACE * 2, SPACE + "'", "''"]
LETTERS = list("abcdefghijklmnopqrstuvwxyzABCHINPRSTZ0123456789.,;=!()'`-\"<>[]|_/") + ["ü", "ï", "é", "Å", "\u0301", "\u2581"]
EOS_UNK = {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
FAIRSEQ = [("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL)]
T5 = [("<pad>", CONTROL), ("</s>", CONTROL), ("<unk>", UNKNOWN)]
DEBERTA = [("[PAD]", CONTROL), ("[CLS]", CONTROL), ("[SEP]", CONTROL), ("[UNK]", UNKNOWN)]
ALBERT = [("<pad>", CONTROL), ("<unk>", UNKNOWN), ("[CLS]", CONTROL), ("[SEP]", CONTROL), ("[MASK]", CONTROL), ("(", USER)]
BIG_BIRD = [("<pad>", CONTROL), ("</s>", CONTROL), ("<s>", CONTROL), ("<unk>", UNKNOWN), ("[SEP]", CONTROL), ("[MASK]", CONTROL),
            ("[CLS]", CONTROL)]
REMBERT = [("[PAD]", CONTROL), ("[UNK]", UNKNOWN), ("[CLS]", CONTROL), ("[SEP]", CONTROL), ("[MASK]", CONTROL)]
LLAMA = FAIRSEQ
GEMMA = [("<pad>", CONTROL), ("<eos>", CONTROL), ("<bos>", CONTROL), ("<unk>", UNKNOWN), ("<mask>", USER), ("<start_of_turn>", USER),
         ("\n", USER)]

CLS_SEP = {**BERT_NAMED, "bos_token": "[CLS]", "eos_token": "[SEP]"}
FAIRSEQ_HEAD = (["<s>", "<pad>", "</s>", "<unk>"], 3)
CAMEMBERT_HEAD = (["<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED"], 1)
# The tokens that stand in the place of the first pieces, and the number of these pieces.
HEADS = {"XLMRobertaTokenizer": FAIRSEQ_HEAD, "MBartTokenizer": FAIRSEQ_HEAD, "MBart50Tokenizer": FAIRSEQ_HEAD,
         "CamembertTokenizer": CAMEMBERT_HEAD}
# class, model type, file, first pieces, kind, special tokens, number of tokens that the class adds after the pieces
SENTENCEPIECE = [
    ("XLMRobertaTokenizer", "xlm-roberta", "sentencepiece.bpe.model", FAIRSEQ, UNIGRAM, ROBERTA_NAMED, 1),
    ("XLMRobertaTokenizer", "xlm-roberta-xl", "sentencepiece.bpe.model", FAIRSEQ, UNIGRAM, ROBERTA_NAMED, 1),
    ("CamembertTokenizer", "camembert", "sentencepiece.bpe.model", FAIRSEQ, UNIGRAM, ROBERTA_NAMED, 1),
    ("MBartTokenizer", "mbart", "sentencepiece.bpe.model", FAIRSEQ, UNIGRAM, ROBERTA_NAMED, 26),
    ("MBart50Tokenizer", None, "sentencepiece.bpe.model", FAIRSEQ, UNIGRAM, ROBERTA_NAMED, 53),
    ("T5Tokenizer", "t5", "spiece.model", T5, UNIGRAM, EOS_UNK, 100),
    ("T5Tokenizer", "umt5", "spiece.model", T5, UNIGRAM, EOS_UNK, 100),
    ("MT5Tokenizer", "mt5", "spiece.model", T5, UNIGRAM, EOS_UNK, 100),
    ("AlbertTokenizer", "albert", "spiece.model", ALBERT, UNIGRAM, {**CLS_SEP, "unk_token": "<unk>", "pad_token": "<pad>"}, 0),
    ("BigBirdTokenizer", "big_bird", "spiece.model", BIG_BIRD, UNIGRAM, {**EOS_UNK, "bos_token": "<s>", "sep_token": "[SEP]",
                                                                       "cls_token": "[CLS]", "mask_token": "[MASK]"}, 0),
    ("RemBertTokenizer", "rembert", "sentencepiece.model", REMBERT, UNIGRAM, CLS_SEP, 0),
    ("DebertaV2Tokenizer", "deberta-v2", "spm.model", DEBERTA, UNIGRAM, CLS_SEP, 0),
    ("LlamaTokenizer", "llama", "tokenizer.model", LLAMA, BPE, {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}, 0),
    ("LlamaTokenizer", "mistral", "tokenizer.model", LLAMA, BPE, {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}, 0),
    ("GemmaTokenizer", "gemma", "tokenizer.model", GEMMA, BPE, {"bos_token": "<bos>", "eos_token": "<eos>", "unk_token": "<unk>",
                                                               "pad_token": "<pad>"}, 0),
    ("GemmaTokenizer", "gemma3_text", "tokenizer.model", GEMMA, BPE, {"bos_token": "<bos>", "eos_token": "<eos>", "unk_token": "<unk>",
                                                                     "pad_token": "<pad>"}, 0)]
FLAGS = {"do_lower_case": 0.3, "keep_accents": 0.2, "split_by_punct": 0.15, "legacy": 0.25, "add_prefix_space": 0.12, "add_bos_token": 0.25,
         "add_eos_token": 0.3}


@functools.lru_cache(maxsize=None)
def charsmap():
    """The character map of the Unigram tokenizer in tests/data/tokenizer."""
    steps = base("unigram")["normalizer"]["normalizers"]
    return base64.b64decode(next(step["precompiled_charsmap"] for step in steps if step["type"] == "Precompiled"))


def sentencepiece_model(random, heads, kind):
    proto = pb.ModelProto()
    byte_fallback = kind == BPE or maybe(random, 0.1)
    unk = next(index for index, head in enumerate(heads) if head[1] == UNKNOWN)
    proto.trainer_spec.model_type, proto.trainer_spec.byte_fallback = kind, byte_fallback
    proto.trainer_spec.unk_id, proto.trainer_spec.unk_piece = unk, heads[unk][0]
    proto.normalizer_spec.name = "identity"
    proto.normalizer_spec.remove_extra_whitespaces = maybe(random, 0.3)
    if kind == UNIGRAM and maybe(random, 0.6):
        proto.normalizer_spec.precompiled_charsmap = charsmap()
    proto.normalizer_spec.add_dummy_prefix = maybe(random, 0.9)
    pieces = list(heads) + [(f"<0x{byte:02X}>", BYTE) for byte in range(256) if byte_fallback]
    if maybe(random, 0.2):
        pieces += [(token, random.choice([USER, CONTROL])) for token in random.sample(NEW_TOKENS, 1)]
    words = {word for word in PIECES + [SPACE + word for word in PIECES if word[0] != SPACE] if maybe(random, 0.85)}
    known = {piece for piece, _ in pieces}
    words = sorted((words | {letter for letter in LETTERS if maybe(random, 0.97)}) - known)
    random.shuffle(words)
    if kind == BPE:
        words.sort(key=lambda word: len(word) == 1 or len(word) + random.random())
    for index, (piece, type_) in enumerate(pieces + [(word, NORMAL) for word in words]):
        score = -0.25 * random.randint(4, 60) - (0 if len(piece) > 1 else 12)
        proto.pieces.add(piece=piece, type=type_, score=0.0 if type_ != NORMAL else -float(index) if kind == BPE else score)
    return proto


def older_case(random, name, model_type, files, named, vocabulary):
    """`vocabulary` has the tokens in the order of their ids."""
    tokenizer = {"model": {"vocab": {token: index for index, token in enumerate(vocabulary)}}, "added_tokens": []}
    state_class(random, files, name, model_type)
    if name == "EsmTokenizer":
        files["config.json"]["model_type"] = "esm"
    tokens = sorted({token for token in named.values() if token} | {token for token in vocabulary[:8] if token})
    state_named(random, files, named)
    state_added(random, files, tokenizer)
    common(random, files)
    return Case(f"{name}, older files", files, tokens)


def sentencepiece(random):
    name, model_type, file, heads, kind, named, tail = random.choice(SENTENCEPIECE)
    proto = sentencepiece_model(random, heads, kind)
    config = {key: random.choice([True, False, False, None] if maybe(random, 0.2) else [True, False])
              for key, chance in FLAGS.items() if maybe(random, chance)}
    if name in ("T5Tokenizer", "MT5Tokenizer") and maybe(random, 0.5):
        config["extra_ids"] = tail = random.choice([0, 1, 100])
    if name.startswith("MBart") and maybe(random, 0.5):
        config["src_lang"] = random.choice(["de_DE", "en_XX", "fr_XX", None])
    head, replaced = HEADS.get(name, ([], 0))
    vocabulary = head + [piece.piece for piece in proto.pieces][replaced:] + [f"<tail {index}>" for index in range(tail)]
    return older_case(random, name, model_type, {file: proto.SerializeToString(), "tokenizer_config.json": config}, named, vocabulary)


def vocabulary_txt(random):
    name, model_type = random.choice([
        ("BertTokenizer", "bert"), ("DistilBertTokenizer", "distilbert"), ("ElectraTokenizer", "electra"), ("MPNetTokenizer", "mpnet"),
        ("MobileBertTokenizer", "mobilebert"), ("ConvBertTokenizer", "convbert"), ("SqueezeBertTokenizer", "squeezebert"),
        ("LayoutLMTokenizer", "layoutlm"), ("DPRContextEncoderTokenizer", None), ("LxmertTokenizer", "lxmert"), ("EsmTokenizer", "esm")])
    config = {}
    if name == "EsmTokenizer":
        lines = "<cls> <pad> <eos> <unk> L A G V S E R T I D P K Q N F Y M H W C X B U Z O . - <null_1> <mask> hello is a".split()
        named = {"eos_token": "<eos>", "unk_token": "<unk>", "pad_token": "<pad>", "cls_token": "<cls>", "mask_token": "<mask>"}
    else:
        vocab = base(random.choice(["wordpiece", "wordpiece_cased"]))["model"]["vocab"]
        lines = sorted(vocab, key=vocab.get)
        named = BERT_NAMED
        if name == "MPNetTokenizer":
            named = {**ROBERTA_NAMED, "unk_token": "[UNK]"}
            renames = {"[PAD]": "<pad>", "[CLS]": "<s>", "[SEP]": "</s>", "[MASK]": "<mask>"}
            lines = [renames.get(line, line) for line in lines]
        for key in ("do_lower_case", "tokenize_chinese_chars", "strip_accents"):
            if maybe(random, 0.4):
                config[key] = random.choice([True, False, None] if key == "strip_accents" else [True, False])
    if maybe(random, 0.05):
        lines[random.randrange(5, len(lines))] = random.choice(["the", "", " is", lines[6]])
    text = random.choice(["\n", "\n", "\n", "\r\n"]).join(lines) + random.choice(["\n", "\n", ""])
    files = {"vocab.txt": text.encode(), "tokenizer_config.json": config}
    return older_case(random, name, model_type, files, named, lines)


def merges_txt(random):
    name, model_type, data = random.choice([
        ("RobertaTokenizer", "roberta", "roberta"), ("LongformerTokenizer", "longformer", "roberta"), ("BartTokenizer", "bart", "roberta"),
        ("LEDTokenizer", "led", "roberta"), ("GPT2Tokenizer", "gpt2", "gpt2"), ("GPT2Tokenizer", "gpt_neo", "gpt2"), ("CodeGenTokenizer", "codegen", "gpt2"),
        ("DebertaTokenizer", "deberta", "roberta"), ("Qwen2Tokenizer", "qwen2", "qwen2"), ("Qwen2Tokenizer", "qwen3", "qwen2")])
    model, config = base(data)["model"], {}
    vocab = dict(model["vocab"])
    named = ROBERTA_NAMED
    if data == "roberta":
        vocab.setdefault("<mask>", len(vocab))
    else:
        named = {"eos_token": "<|endoftext|>", "unk_token": "<|endoftext|>", "pad_token": "<|endoftext|>"}
    if name == "DebertaTokenizer":
        named = CLS_SEP
        renames = {"<s>": "[CLS]", "<pad>": "[PAD]", "</s>": "[SEP]", "<unk>": "[UNK]", "<mask>": "[MASK]"}
        vocab = {renames.get(token, token): index for token, index in vocab.items()}
    for key, chance in (("add_prefix_space", 0.3), ("add_bos_token", 0.15), ("trim_offsets", 0.1)):
        if maybe(random, chance):
            config[key] = random.choice([True, False])
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]]
    files = {"vocab.json": json.dumps(vocab), "merges.txt": "#version: 0.2\n" + "\n".join(merges) + "\n", "tokenizer_config.json": config}
    return older_case(random, name, model_type, files, named, sorted(vocab, key=vocab.get))


FAMILIES = {"older_sentencepiece": sentencepiece, "older_vocabulary": vocabulary_txt, "older_merges": merges_txt}
XLMR_FILE, SPIECE = "sentencepiece.bpe.model", "spiece.model"
FIXED_WORDS = ["hello", SPACE + "hello", SPACE + "world", "world", SPACE + "the", "th", SPACE + "th", "he", SPACE + "he", "ll", "hell",
         SPACE + "hell", "lo", "or", "wor", SPACE + "wor", "ld", "12", "1,", "2,", SPACE + "1", SPACE + "12", "\u00e9", "na", "\"",
         "new", SPACE + "new", SPACE + SPACE]
FIXED_LETTERS = [SPACE] + list("abcdefghijklmnopqrstuvwxyzHW0123456789.,!()'`-") + ["\u0301", "\u6771"]
FIXED_TEXTS = ["", " ", "Hello world", "hello  the\tworld ", " he said: hello, 1,2 (12)", "na\u00efve e\u0301 \u6771\u4eac",
         "a <mask> b</s>c <s> d", "x [MASK] y [SEP] z [CLS]", "<extra_id_0> t <extra_id_99>", "``quoted'' new[NEW] new",
         "\u2581hello\nthe", "en_XX <unk>[UNK] <pad>"]


def fixed_model(heads, kind=UNIGRAM, byte_fallback=False, unk_id=0):
    proto = pb.ModelProto()
    proto.trainer_spec.model_type = kind
    proto.trainer_spec.byte_fallback = byte_fallback
    proto.trainer_spec.unk_id = unk_id
    proto.trainer_spec.unk_piece = heads[unk_id][0]
    proto.normalizer_spec.name = "identity"
    proto.normalizer_spec.remove_extra_whitespaces = False
    pieces = list(heads)
    if byte_fallback:
        pieces += [(f"<0x{byte:02X}>", BYTE) for byte in range(256)]
    words = sorted(FIXED_WORDS, key=len) if kind == BPE else FIXED_WORDS
    for piece, type_ in pieces + [(piece, NORMAL) for piece in words + FIXED_LETTERS if (piece, USER) not in heads]:
        score = 0.0 if type_ != NORMAL else -0.25 * len(proto.pieces) - (0 if len(piece) > 1 else 20)
        proto.pieces.add(piece=piece, type=type_, score=score)
    return proto.SerializeToString()


def fixed_cases():
    def case(name, file, content, config, **others):
        return name, {file: content, "tokenizer_config.json": dict(config, tokenizer_class=name.split()[0]), **others}

    yield case("XLMRobertaTokenizer", XLMR_FILE, fixed_model(FAIRSEQ), {})
    yield case("XLMRobertaTokenizerFast with added tokens", XLMR_FILE, fixed_model(FAIRSEQ), {"additional_special_tokens": ["[NEW]"]})
    yield case("CamembertTokenizer", XLMR_FILE, fixed_model(FAIRSEQ), {})
    yield case("MBartTokenizer", XLMR_FILE, fixed_model(FAIRSEQ), {"src_lang": "de_DE"})
    yield case("MBart50Tokenizer", XLMR_FILE, fixed_model(FAIRSEQ), {})
    yield case("T5Tokenizer", SPIECE, fixed_model(T5, unk_id=2), {})
    yield case("T5Tokenizer not legacy", SPIECE, fixed_model(T5, unk_id=2), {"legacy": False, "extra_ids": 1})
    yield case("MT5Tokenizer", SPIECE, fixed_model(T5, unk_id=2), {"extra_ids": 0, "additional_special_tokens": None})
    yield case("AlbertTokenizer", SPIECE, fixed_model(ALBERT, unk_id=1), {})
    yield case("AlbertTokenizer cased", SPIECE, fixed_model(ALBERT, unk_id=1), {"do_lower_case": False, "keep_accents": True})
    yield case("DebertaV2Tokenizer", "spm.model", fixed_model(DEBERTA, unk_id=3), {"do_lower_case": False},
               **{"added_tokens.json": {"[MASK]": len(DEBERTA) + len(FIXED_WORDS) + len(FIXED_LETTERS)}})
    yield case("DebertaV2Tokenizer at punctuation", "spm.model", fixed_model(DEBERTA, unk_id=3),
               {"do_lower_case": True, "split_by_punct": True})
    yield case("BigBirdTokenizer", SPIECE, fixed_model(ALBERT, unk_id=1), {})
    yield case("RemBertTokenizer", "sentencepiece.model", fixed_model(REMBERT, unk_id=1), {})
    yield case("LlamaTokenizer", "tokenizer.model", fixed_model(LLAMA, BPE, True), {"add_eos_token": True})
    yield case("LlamaTokenizer not legacy", "tokenizer.model", fixed_model(LLAMA, BPE, True), {"legacy": False})
    yield case("LlamaTokenizer on the left", "tokenizer.model", fixed_model(LLAMA, BPE, True),
               {"truncation_side": "left", "add_prefix_space": False},
               **{"special_tokens_map.json": {"pad_token": {"content": "[NEW]", "lstrip": True, "normalized": False}}})
    yield case("GemmaTokenizer", "tokenizer.model", fixed_model(GEMMA, BPE, True, 3), {"add_bos_token": True})
    amino = "<cls> <pad> <eos> <unk> L A G V S E R T I D P K Q N F Y M H W C X B U Z O . - <null_1> <mask>".split()
    yield case("EsmTokenizer", "vocab.txt", "\n".join(amino), {})


def main():
    import transformers  # check_auto_tokenizer.py does not need it in this process
    assert transformers.__version__ == "4.57.6", transformers.__version__
    with open(os.path.join(sys.argv[1], "slow_tokenizers.jsonl"), "w", encoding="utf-8") as out:
        for name, files in fixed_cases():
            with tempfile.TemporaryDirectory() as folder:
                for file, content in files.items():
                    data = content if isinstance(content, bytes) else (
                        content if isinstance(content, str) else json.dumps(content)).encode()
                    with open(os.path.join(folder, file), "wb") as target:
                        target.write(data)
                tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
                texts = FIXED_TEXTS + (["MLKV<mask>A <cls> LXB foo\u00a0G"] if name == "EsmTokenizer" else [])
                line = {"name": name,
                        "files": {file: base64.b64encode(content).decode() if isinstance(content, bytes) else
                                  content if isinstance(content, str) else json.dumps(content) for file, content in files.items()},
                        "texts": texts, "ids": [tokenizer(text)["input_ids"] for text in texts],
                        "short": [tokenizer(text, truncation=True, max_length=5)["input_ids"] for text in texts]}
            out.write(json.dumps(line, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
