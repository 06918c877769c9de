"""Random directories without tokenizer.json for check_auto_tokenizer.py: a sentencepiece model, vocab.txt, or vocab.json and
merges.txt, with random files beside them.

It needs the package sentencepiece, whose protobuf classes write the .model files.
"""
import base64
import functools
import json

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
LLAMA = [("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL)]
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
