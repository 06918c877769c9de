#!/usr/bin/env python3
"""Makes tests/data/tokenizer/slow_tokenizers.jsonl: directories that have no tokenizer.json but the older files of a class, and
the ids that AutoTokenizer of transformers gives for some texts.

  pip install transformers==4.57.6 sentencepiece==0.2.1 protobuf
  scripts/golden/slow_tokenizers.py tests/data/tokenizer

Each line has the name of the case, its files (a .model file in base64), the texts and their ids. The .model files are small and
written by hand: the special pieces of the class, letters, and some words.
"""
import base64
import json
import os
import sys
import tempfile

import transformers
from sentencepiece import sentencepiece_model_pb2 as pb

NORMAL, UNKNOWN, CONTROL, USER, BYTE = 1, 2, 3, 4, 6
SPACE = "\u2581"
WORDS = ["hello", SPACE + "hello", SPACE + "world", "world", SPACE + "the", "th", SPACE + "th", "he", SPACE + "he", "ll", "hell",
         SPACE + "hell", "lo", "or", "wor", SPACE + "wor", "ld", "12", "1,", "2,", SPACE + "1", SPACE + "12", "\u00e9", "na", "\"",
         "new", SPACE + "new", SPACE + SPACE]
LETTERS = [SPACE] + list("abcdefghijklmnopqrstuvwxyzHW0123456789.,!()'`-") + ["\u0301", "\u6771"]
TEXTS = ["", " ", "Hello world", "hello  the\tworld ", " he said: hello, 1,2 (12)", "na\u00efve e\u0301 \u6771\u4eac",
         "a <mask> b</s>c <s> d", "x [MASK] y [SEP] z [CLS]", "<extra_id_0> t <extra_id_99>", "``quoted'' new[NEW] new",
         "\u2581hello\nthe", "en_XX <unk>[UNK] <pad>"]


def model(heads, kind=1, byte_fallback=False, unk_id=0):
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
    words = sorted(WORDS, key=len) if kind == 2 else WORDS
    for piece, type_ in pieces + [(piece, NORMAL) for piece in words + LETTERS if (piece, USER) not in heads]:
        score = 0.0 if type_ != NORMAL else -0.25 * len(proto.pieces) - (0 if len(piece) > 1 else 20)
        proto.pieces.add(piece=piece, type=type_, score=score)
    return proto.SerializeToString()


FAIRSEQ = [("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL)]
T5 = [("<pad>", CONTROL), ("</s>", CONTROL), ("<unk>", UNKNOWN)]
DEBERTA = [("[PAD]", CONTROL), ("[CLS]", CONTROL), ("[SEP]", CONTROL), ("[UNK]", UNKNOWN)]
ALBERT = [("<pad>", CONTROL), ("<unk>", UNKNOWN), ("[CLS]", CONTROL), ("[SEP]", CONTROL), ("[MASK]", CONTROL), ("(", USER)]
GEMMA = [("<pad>", CONTROL), ("<eos>", CONTROL), ("<bos>", CONTROL), ("<unk>", UNKNOWN), ("<mask>", USER),
         ("<start_of_turn>", USER), ("\n", USER)]
REMBERT = [("[PAD]", CONTROL), ("[UNK]", UNKNOWN), ("[CLS]", CONTROL), ("[SEP]", CONTROL), ("[MASK]", CONTROL)]
XLMR_FILE, SPIECE = "sentencepiece.bpe.model", "spiece.model"


def cases():
    def case(name, file, content, config, **others):
        return name, {file: content, "tokenizer_config.json": dict(config, tokenizer_class=name.split()[0]), **others}

    yield case("XLMRobertaTokenizer", XLMR_FILE, model(FAIRSEQ), {})
    yield case("XLMRobertaTokenizerFast with added tokens", XLMR_FILE, model(FAIRSEQ), {"additional_special_tokens": ["[NEW]"]})
    yield case("CamembertTokenizer", XLMR_FILE, model(FAIRSEQ), {})
    yield case("MBartTokenizer", XLMR_FILE, model(FAIRSEQ), {"src_lang": "de_DE"})
    yield case("MBart50Tokenizer", XLMR_FILE, model(FAIRSEQ), {})
    yield case("T5Tokenizer", SPIECE, model(T5, unk_id=2), {})
    yield case("T5Tokenizer not legacy", SPIECE, model(T5, unk_id=2), {"legacy": False, "extra_ids": 1})
    yield case("MT5Tokenizer", SPIECE, model(T5, unk_id=2), {"extra_ids": 0, "additional_special_tokens": None})
    yield case("AlbertTokenizer", SPIECE, model(ALBERT, unk_id=1), {})
    yield case("AlbertTokenizer cased", SPIECE, model(ALBERT, unk_id=1), {"do_lower_case": False, "keep_accents": True})
    yield case("DebertaV2Tokenizer", "spm.model", model(DEBERTA, unk_id=3), {"do_lower_case": False},
               **{"added_tokens.json": {"[MASK]": len(DEBERTA) + len(WORDS) + len(LETTERS)}})
    yield case("DebertaV2Tokenizer at punctuation", "spm.model", model(DEBERTA, unk_id=3),
               {"do_lower_case": True, "split_by_punct": True})
    yield case("BigBirdTokenizer", SPIECE, model(ALBERT, unk_id=1), {})
    yield case("RemBertTokenizer", "sentencepiece.model", model(REMBERT, unk_id=1), {})
    yield case("LlamaTokenizer", "tokenizer.model", model(FAIRSEQ, 2, True), {"add_eos_token": True})
    yield case("LlamaTokenizer not legacy", "tokenizer.model", model(FAIRSEQ, 2, True), {"legacy": False})
    yield case("LlamaTokenizer on the left", "tokenizer.model", model(FAIRSEQ, 2, True),
               {"truncation_side": "left", "add_prefix_space": False},
               **{"special_tokens_map.json": {"pad_token": {"content": "[NEW]", "lstrip": True, "normalized": False}}})
    yield case("GemmaTokenizer", "tokenizer.model", model(GEMMA, 2, True, 3), {"add_bos_token": True})
    amino = "<cls> <pad> <eos> <unk> L A G V S E R T I D P K Q N F Y M H W C X B U Z O . - <null_1> <mask>".split()
    yield case("EsmTokenizer", "vocab.txt", "\n".join(amino), {})


def main():
    assert transformers.__version__ == "4.57.6", transformers.__version__
    with open(os.path.join(sys.argv[1], "slow_tokenizers.jsonl"), "w", encoding="utf-8") as out:
        for name, files in cases():
            with tempfile.TemporaryDirectory() as folder:
                for file, content in files.items():
                    data = content if isinstance(content, bytes) else (
                        content if isinstance(content, str) else json.dumps(content)).encode()
                    with open(os.path.join(folder, file), "wb") as target:
                        target.write(data)
                tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
                texts = TEXTS + (["MLKV<mask>A <cls> LXB foo\u00a0G"] if name == "EsmTokenizer" else [])
                line = {"name": name,
                        "files": {file: base64.b64encode(content).decode() if isinstance(content, bytes) else
                                  content if isinstance(content, str) else json.dumps(content) for file, content in files.items()},
                        "texts": texts, "ids": [tokenizer(text)["input_ids"] for text in texts],
                        "short": [tokenizer(text, truncation=True, max_length=5)["input_ids"] for text in texts]}
            out.write(json.dumps(line, separators=(",", ":")) + "\n")


main()
