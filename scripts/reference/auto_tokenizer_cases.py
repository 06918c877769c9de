"""Random directories of tokenizers for check_auto_tokenizer.py: one function for each family of classes.

A family is a function that takes a random.Random and returns a Case. To add one, write the function and put it into
FAMILIES. The vocabularies are the small ones of tests/data/tokenizer.
"""
import copy
import dataclasses
import functools
import json
import pathlib

DATA = pathlib.Path(__file__).resolve().parents[2] / "tests/data/tokenizer"
NAMED = ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"]
NEW_TOKENS = ["<new>", "[NEW]", "Brand New", "qq", "<extra_id_0>", "<|im_start|>"]
WORDS = ["the", "The", "PARIS", "naïve", "Zürich", "東京", "hello", "world", "a", "  ", "\n", "is", "ÅNGSTRÖM", "test.", "x=1;", "é"]


@dataclasses.dataclass
class Case:
    family: str
    files: dict  # name -> JSON value, str or bytes
    tokens: list  # special and added tokens, which the texts use
    base: str = ""  # the folder of tests/data/tokenizer whose tokenizer.json it changes; "" if it has none
    renames: dict = dataclasses.field(default_factory=dict)  # tokens that have another name than in this file

    def texts(self, random, count):
        pieces = WORDS + 2 * (self.tokens + [token.lower() for token in self.tokens] + NEW_TOKENS[:3])
        rows = ["".join(random.choice(pieces) + random.choice(["", " ", " ", "  "]) for _ in range(random.randint(1, 9)))
                for _ in range(count - 2)]
        return rows + ["", " " + random.choice(self.tokens + WORDS)]


@functools.lru_cache(maxsize=None)
def _base(name):
    return json.loads((DATA / name / "tokenizer.json").read_text(encoding="utf-8"))


def base(name):
    return copy.deepcopy(_base(name))


def maybe(random, chance):
    return random.random() < chance


def flags(random, content, special=None):
    """An added token with flags, as tokenizer_config.json lists it."""
    special = maybe(random, 0.6) if special is None else special
    token = {"content": content, "lstrip": maybe(random, 0.15), "normalized": maybe(random, 0.1 if special else 0.8),
             "rstrip": maybe(random, 0.1), "single_word": maybe(random, 0.1), "special": special}
    if maybe(random, 0.1):
        del token["normalized"]
    return token


def listed(token):
    """An added token of tokenizer.json as added_tokens_decoder lists it."""
    return {key: value for key, value in token.items() if key != "id"}


def free_id(tokenizer):
    ids = [token["id"] for token in tokenizer["added_tokens"]]
    return max([len(tokenizer["model"]["vocab"])] + [number + 1 for number in ids])


def state_class(random, files, class_name, model_type):
    """States the class in tokenizer_config.json, in config.json, or only by the model type."""
    name = class_name + random.choice(["", "", "Fast"]) if class_name != "TokenizersBackend" else class_name
    if class_name == "PreTrainedTokenizer":
        name = "PreTrainedTokenizerFast"
    config = {"model_type": model_type or "bert"}
    place = random.choice(["tokenizer", "tokenizer", "tokenizer", "config", "type" if model_type else "tokenizer"])
    if place == "tokenizer":
        files["tokenizer_config.json"]["tokenizer_class"] = name
    elif place == "config":
        config["tokenizer_class"] = name
    files["config.json"] = config


def state_named(random, files, named):
    """States the special tokens in tokenizer_config.json, in special_tokens_map.json, in both, or not at all."""
    config = files["tokenizer_config.json"]
    form = random.choice(["text", "text", "object", "none", "some"])
    for key, content in named.items():
        if form == "none" or (form == "some" and maybe(random, 0.5)):
            continue
        token = {"__type": "AddedToken", **flags(random, content, maybe(random, 0.5))} if form == "object" and maybe(random, 0.4) else content
        config[key] = None if maybe(random, 0.03) else token
    if maybe(random, 0.4):
        files["special_tokens_map.json"] = {
            key: flags(random, content) if maybe(random, 0.3) else content for key, content in named.items() if maybe(random, 0.8)}
        if maybe(random, 0.3):
            files["special_tokens_map.json"]["additional_special_tokens"] = random.sample(NEW_TOKENS, 1)


def state_added(random, files, tokenizer):
    """States added tokens in added_tokens_decoder, added_tokens.json and the lists of special tokens."""
    config = files["tokenizer_config.json"]
    new = random.sample(NEW_TOKENS, random.randint(0, 2))
    words = [token for token in ("the", "hello", "Par") if token in tokenizer["model"]["vocab"]] if maybe(random, 0.2) else []
    first = free_id(tokenizer)
    kind = random.choice(["decoder", "decoder", "file", "none", "none"])
    if kind == "decoder":
        decoder = {str(token["id"]): listed(token) for token in tokenizer["added_tokens"]}
        for index, content in enumerate(new):
            decoder[str(first + index)] = flags(random, content)
        for content in words:
            decoder[str(tokenizer["model"]["vocab"][content])] = flags(random, content)
        if maybe(random, 0.1) and decoder:
            changed = random.choice(list(decoder.values()))
            changed[random.choice(["lstrip", "rstrip"])] = True
        config["added_tokens_decoder"] = decoder
    elif kind == "file":
        files["added_tokens.json"] = {content: first + index for index, content in enumerate(new)}
    if maybe(random, 0.25):
        known = NEW_TOKENS + [token["content"] for token in tokenizer["added_tokens"]]
        config["additional_special_tokens"] = None if maybe(random, 0.15) else random.sample(known, random.randint(0, 2))
    if maybe(random, 0.12):
        forms = [{}, {"image_token": "<img>"}, {"b_token": "<b>", "a_token": "<a>"}, ["<x>"], []]
        config["extra_special_tokens"] = random.choice(forms)


def common(random, files):
    config = files["tokenizer_config.json"]
    if maybe(random, 0.15):
        config["split_special_tokens"] = maybe(random, 0.7)
    if maybe(random, 0.15):
        config["truncation_side"] = random.choice(["left", "right"])
    if maybe(random, 0.1):
        config["model_input_names"] = ["input_ids", "attention_mask"]
    if maybe(random, 0.05):
        config["backend"] = "tokenizers"
    if maybe(random, 0.06) and "tokenizer_class" not in config:
        del files["tokenizer_config.json"]


def drop_added(random, tokenizer):
    """Leaves some added tokens out of tokenizer.json, as older tools did."""
    if maybe(random, 0.2):
        vocab = tokenizer["model"]["vocab"]
        tokenizer["added_tokens"] = [token for token in tokenizer["added_tokens"] if maybe(random, 0.6) or token["content"] not in vocab]


def finish(random, family, data, tokenizer, files, named):
    tokens = sorted({token["content"] for token in tokenizer["added_tokens"]} | {t for t in named.values() if t})
    drop_added(random, tokenizer)
    state_named(random, files, named)
    state_added(random, files, tokenizer)
    common(random, files)
    files["tokenizer.json"] = tokenizer
    return Case(family, files, tokens, data)


BERT_NAMED = {"unk_token": "[UNK]", "sep_token": "[SEP]", "pad_token": "[PAD]", "cls_token": "[CLS]", "mask_token": "[MASK]"}
ROBERTA_NAMED = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "sep_token": "</s>", "pad_token": "<pad>",
                 "cls_token": "<s>", "mask_token": "<mask>"}
LLAMA_NAMED = {"bos_token": "<bos>", "eos_token": "<eos>", "unk_token": "<unk>"}


def bert_flags(random, tokenizer, config):
    normalizer = tokenizer["normalizer"]
    normalizer["lowercase"] = maybe(random, 0.5)
    normalizer["strip_accents"] = random.choice([None, None, True, False])
    normalizer["handle_chinese_chars"] = maybe(random, 0.7)
    normalizer["clean_text"] = maybe(random, 0.9)
    for key in ("do_lower_case", "tokenize_chinese_chars"):
        if maybe(random, 0.6):
            config[key] = maybe(random, 0.5)
    if maybe(random, 0.5):
        config["strip_accents"] = random.choice([None, True, False])
    if maybe(random, 0.1):
        tokenizer["normalizer"] = {"type": "Sequence", "normalizers": [normalizer]}
    elif maybe(random, 0.05):
        tokenizer["normalizer"] = random.choice([{"type": "Lowercase"}, {"type": "NFC"}, None])


def bert(random):
    data = random.choice(["wordpiece", "wordpiece_cased"])
    tokenizer, files = base(data), {"tokenizer_config.json": {}}
    bert_flags(random, tokenizer, files["tokenizer_config.json"])
    name, model_type = random.choice([("BertTokenizer", "bert"), ("BertTokenizer", "bert"), ("DistilBertTokenizer", "distilbert"),
                                      ("ElectraTokenizer", "electra"), ("MobileBertTokenizer", "mobilebert"),
                                      ("ConvBertTokenizer", "convbert"), ("SqueezeBertTokenizer", "squeezebert"),
                                      ("LayoutLMTokenizer", "layoutlm"), ("FunnelTokenizer", "funnel"),
                                      ("DPRContextEncoderTokenizer", None), ("DPRQuestionEncoderTokenizer", "dpr"),
                                      ("LxmertTokenizer", "lxmert")])
    state_class(random, files, name, model_type)
    return finish(random, name, data, tokenizer, files, BERT_NAMED)


def mpnet(random):
    renames = {"[PAD]": "<pad>", "[CLS]": "<s>", "[SEP]": "</s>", "[MASK]": "<mask>"}
    text = json.dumps(base("wordpiece"))
    for old, new in renames.items():
        text = text.replace(old, new)
    tokenizer, files = json.loads(text), {"tokenizer_config.json": {}}
    bert_flags(random, tokenizer, files["tokenizer_config.json"])
    state_class(random, files, "MPNetTokenizer", "mpnet")
    case = finish(random, "MPNetTokenizer", "wordpiece", tokenizer, files, {**ROBERTA_NAMED, "unk_token": "[UNK]"})
    return dataclasses.replace(case, renames=renames)


def byte_level(random):
    """Classes on GPT-2's bytes: add_prefix_space."""
    name, model_type, data = random.choice([
        ("RobertaTokenizer", "roberta", "roberta"), ("LongformerTokenizer", "longformer", "roberta"), ("BartTokenizer", "bart", "roberta"),
        ("LEDTokenizer", "led", "roberta"), ("GPT2Tokenizer", "gpt2", "gpt2"), ("CodeGenTokenizer", "codegen", "gpt2"), ("DebertaTokenizer", "deberta", "roberta"),
        ("BloomTokenizer", "bloom", "gpt2"), ("Qwen2Tokenizer", "qwen2", "qwen2"), ("Qwen2Tokenizer", "qwen3", "qwen2")])
    tokenizer, files = base(data), {"tokenizer_config.json": {}}
    if tokenizer["pre_tokenizer"]["type"] == "ByteLevel":
        tokenizer["pre_tokenizer"]["add_prefix_space"] = maybe(random, 0.4)
    if maybe(random, 0.4):
        files["tokenizer_config.json"]["add_prefix_space"] = random.choice([True, False, False, None])
    if maybe(random, 0.15):
        files["tokenizer_config.json"]["add_bos_token"] = maybe(random, 0.5)
    state_class(random, files, name, model_type)
    named = ROBERTA_NAMED if data == "roberta" else {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>", "unk_token": "<|endoftext|>"}
    return finish(random, name, data, tokenizer, files, named)


def unigram(random):
    """Classes with a Unigram model, which take tokenizer.json as it is."""
    name, model_type = random.choice([("XLMRobertaTokenizer", "xlm-roberta"), ("CamembertTokenizer", "camembert"),
                                      ("AlbertTokenizer", "albert"), ("DebertaV2Tokenizer", "deberta-v2"), ("RemBertTokenizer", "rembert"),
                                      ("BigBirdTokenizer", "big_bird"), ("XLNetTokenizer", "xlnet"), ("T5Tokenizer", "t5"), ("MT5Tokenizer", "mt5")])
    tokenizer, files = base("unigram"), {"tokenizer_config.json": {}}
    config = files["tokenizer_config.json"]
    if name in ("T5Tokenizer", "MT5Tokenizer"):
        if maybe(random, 0.5):
            config["extra_ids"] = random.choice([0, 2, 100])
        if maybe(random, 0.1):
            config["add_prefix_space"] = random.choice([True, False, None])
    elif maybe(random, 0.2):
        config["do_lower_case"] = maybe(random, 0.5)
    state_class(random, files, name, model_type)
    return finish(random, name, "unigram", tokenizer, files, ROBERTA_NAMED if maybe(random, 0.8) else {**ROBERTA_NAMED, **BERT_NAMED})


def with_languages(random):
    """Classes that put the code of a language beside a text."""
    name, model_type = random.choice([("MBartTokenizer", "mbart"), ("MBart50Tokenizer", None), ("NllbTokenizer", "nllb-moe")])
    tokenizer, files = base("unigram"), {"tokenizer_config.json": {}}
    config = files["tokenizer_config.json"]
    codes = ["en_XX", "de_DE", "fr_XX"] if name != "NllbTokenizer" else ["eng_Latn", "deu_Latn", "fra_Latn"]
    first = free_id(tokenizer)
    for index, code in enumerate(codes[:random.randint(0, 3)]):
        tokenizer["added_tokens"].append({"id": first + index, "normalized": False, **flags(random, code, True)})
    if maybe(random, 0.5):
        config["src_lang"] = random.choice(codes + [None])
    if maybe(random, 0.2):
        config["legacy_behaviour"] = maybe(random, 0.5)
    state_class(random, files, name, model_type)
    case = finish(random, name, "unigram", tokenizer, files, ROBERTA_NAMED)
    if name == "NllbTokenizer" and "tokenizer_config.json" in files and maybe(random, 0.9):
        config["additional_special_tokens"] = (config.get("additional_special_tokens") or []) + codes
    return case


def with_word_ends(random):
    """Classes whose BPE model marks the end of a word."""
    name, model_type = random.choice([("CLIPTokenizer", "clip"), ("HerbertTokenizer", None)])
    tokenizer, files = base("roberta"), {"tokenizer_config.json": {}}
    vocab = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "<|startoftext|>", "<|endoftext|>"]
    vocab += [letter + end for letter in "abcdefghijklmnopqrstuvwxyzABCHINPRSTZ.,=;1" for end in ("", "</w>")]
    merges = [("t", "h"), ("th", "e</w>"), ("h", "e"), ("l", "l"), ("he", "ll"), ("hell", "o</w>"), ("i", "s</w>"), ("o", "r"), ("P", "A"),
              ("w", "or"), ("l", "d</w>"), ("wor", "ld</w>"), ("t", "e"), ("s", "t</w>")]
    vocab += [left + right for left, right in merges]
    tokenizer["model"] = {"type": "BPE", "dropout": None, "unk_token": "<unk>" if name[0] == "H" else "<|endoftext|>",
                          "continuing_subword_prefix": "", "end_of_word_suffix": "</w>", "fuse_unk": False, "byte_fallback": False,
                          "vocab": {token: index for index, token in enumerate(vocab)}, "merges": [" ".join(pair) for pair in merges]}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    if name == "CLIPTokenizer":
        split = {"type": "Split", "pattern": {"Regex": r"'s|'t|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"}, "behavior": "Removed", "invert": True}
        tokenizer["normalizer"] = {"type": "Sequence", "normalizers": [
            {"type": "NFC"}, {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "}, {"type": "Lowercase"}]}
        tokenizer["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [split, byte_level]} if maybe(random, 0.95) else byte_level
        named = {"bos_token": "<|startoftext|>", "eos_token": "<|endoftext|>", "unk_token": "<|endoftext|>", "pad_token": "<|endoftext|>"}
    else:
        tokenizer["normalizer"] = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": False,
                                   "lowercase": False}
        tokenizer["pre_tokenizer"] = {"type": "BertPreTokenizer"}
        named = {key: content for key, content in ROBERTA_NAMED.items() if key not in ("bos_token", "eos_token")}
    first, last = named.get("bos_token", "<s>"), named.get("eos_token", "</s>")
    tokenizer["added_tokens"] = [{"id": vocab.index(token), "normalized": False, **flags(random, token, True)} for token in dict.fromkeys(named.values())]
    tokenizer["post_processor"] = {"type": "RobertaProcessing", "sep": [last, vocab.index(last)], "cls": [first, vocab.index(first)],
                                   "trim_offsets": True, "add_prefix_space": False}
    state_class(random, files, name, model_type)
    case = finish(random, name, "roberta", tokenizer, files, named)
    return dataclasses.replace(case, base="")  # its model is not the one of the base


def bos_eos(random):
    """Classes in which add_bos_token and add_eos_token make the special tokens."""
    name, model_type, data = random.choice([
        ("LlamaTokenizer", "llama", "llama2"), ("LlamaTokenizer", "mistral", "llama2"), ("GemmaTokenizer", "gemma", "gemma"),
        ("GemmaTokenizer", "gemma3_text", "gemma"), ("CodeLlamaTokenizer", "code_llama", "llama2"), ("CohereTokenizer", "cohere", "gpt2"),
        ("GPTNeoXTokenizer", "gpt_neox", "gpt2")])
    tokenizer, files = base(data), {"tokenizer_config.json": {}}
    config = files["tokenizer_config.json"]
    for key in ("add_bos_token", "add_eos_token"):
        if maybe(random, 0.6):
            config[key] = random.choice([True, True, False, None])
    if maybe(random, 0.3):
        config["legacy"] = random.choice([True, False])
    if maybe(random, 0.15):
        config["add_prefix_space"] = random.choice([True, False, None])
    if maybe(random, 0.3):
        tokenizer["post_processor"] = random.choice([None, {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True}])
    named = LLAMA_NAMED if data != "gpt2" else {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>", "unk_token": "<|endoftext|>"}
    state_class(random, files, name, model_type)
    return finish(random, name, data, tokenizer, files, named)


def plain(random):
    """Classes without rules of their own, names that transformers does not have, and no class at all."""
    data = random.choice(["wordpiece", "llama3", "roberta", "qwen2", "unigram"])
    tokenizer, files = base(data), {"tokenizer_config.json": {}}
    config = files["tokenizer_config.json"]
    name = random.choice(["PreTrainedTokenizer", "PreTrainedTokenizer", "TokenizersBackend", "MadeUpTokenizer"])
    if tokenizer["pre_tokenizer"]["type"] == "ByteLevel":
        tokenizer["pre_tokenizer"]["add_prefix_space"] = maybe(random, 0.5)
    if maybe(random, 0.3):
        config["add_prefix_space"] = random.choice([True, False, None])
    for key in ("add_bos_token", "add_eos_token"):
        if maybe(random, 0.15):
            config[key] = maybe(random, 0.5)
    if maybe(random, 0.2):
        config["do_lower_case"] = maybe(random, 0.5)
    state_class(random, files, name, random.choice([None, "modernbert"]))
    named = BERT_NAMED if data == "wordpiece" else ROBERTA_NAMED if data in ("roberta", "unigram") else {}
    return finish(random, name, data, tokenizer, files, named)


FAMILIES = {"bert": bert, "mpnet": mpnet, "byte_level": byte_level, "unigram": unigram, "bos_eos": bos_eos, "plain": plain,
            "with_languages": with_languages, "with_word_ends": with_word_ends}
