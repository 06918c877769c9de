"""Small tokenizers of the kinds that embedding models use.

make(folder, kind, settings) trains a vocabulary of the kind on a fixed text and writes the files that a repository of that kind has:
vocab.txt, vocab.json and merges.txt, or a sentencepiece model, and tokenizer.json as the fast class of transformers 4 makes
it from them. Special tokens have the ids of the real vocabulary where these are small, and the same order at its end.
"""
import io
import json
import pathlib
import string

import sentencepiece
import tokenizers
import transformers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

ROOT = pathlib.Path(__file__).resolve().parents[3]
SIZE = 900
CLASSES = {  # kind: the fast class of transformers 4 that makes tokenizer.json
    "wordpiece": "BertTokenizerFast", "mpnet": "MPNetTokenizerFast", "roberta": "RobertaTokenizerFast", "qwen2": "Qwen2TokenizerFast",
    "xlm-roberta": "XLMRobertaTokenizerFast", "camembert": "CamembertTokenizerFast", "t5": "T5TokenizerFast",
    "gpt2": "GPT2TokenizerFast", "albert": "AlbertTokenizerFast", "deberta": "DebertaV2TokenizerFast", "llama": "LlamaTokenizerFast", "gemma": "GemmaTokenizerFast",
}
UNIGRAM = {  # kind: ids of the special pieces of its sentencepiece model; the rest are sentencepiece's own
    "xlm-roberta": {"unk_id": 0, "bos_id": 1, "eos_id": 2, "pad_id": -1},
    "camembert": {"unk_id": 0, "bos_id": 1, "eos_id": 2, "pad_id": -1},
    "t5": {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1},
    "albert": {"pad_id": 0, "unk_id": 1, "bos_id": -1, "eos_id": -1, "control_symbols": "[CLS],[SEP]", "user_defined_symbols": "[MASK]"},
    "deberta": {"pad_id": 0, "bos_id": 1, "eos_id": 2, "unk_id": 3, "pad_piece": "[PAD]", "bos_piece": "[CLS]", "eos_piece": "[SEP]",
                "unk_piece": "[UNK]"},
}
MODEL_FILES = {"xlm-roberta": "sentencepiece.bpe.model", "camembert": "sentencepiece.bpe.model", "t5": "spiece.model",
               "albert": "spiece.model", "deberta": "spm.model", "llama": "tokenizer.model", "gemma": "tokenizer.model"}
QWEN2_SPLIT = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
LLAMA3_SPLIT = QWEN2_SPLIT.replace(r"\p{N}|", r"\p{N}{1,3}|", 1)


def training_text():
    """Prose of this project, and lines in other scripts."""
    lines = []
    for name in ("architecture.md", "models.md", "reliability.md", "tutorial.md"):
        lines += (ROOT / "docs" / name).read_text().splitlines()
    return lines + 20 * [" ".join(string.punctuation), "Быстрая лиса прыгает через собаку.", "el niño comió piñas y café", "Die Straße ist schön und größer.",
                         "日本語の文章です。今日は天気がいいです。", "机器学习模型的句子向量", "مرحبا بالعالم كيف حالك", "한국어 문장을 벡터로"]


def wordpiece(folder, settings):
    specials = ["[PAD]", *(f"[unused{i}]" for i in range(1, 100)), "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    return train_wordpiece(folder, specials, settings)


def mpnet(folder, settings):
    return train_wordpiece(folder, ["<s>", "<pad>", "</s>", "<unk>", "[UNK]"], settings, last=["<mask>"])


def train_wordpiece(folder, specials, settings, last=()):
    lower = settings.get("do_lower_case", True)
    trained = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    trained.normalizer = normalizers.BertNormalizer(lowercase=lower, strip_accents=settings.get("strip_accents"))
    trained.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trained.train_from_iterator(training_text(), trainers.WordPieceTrainer(
        vocab_size=SIZE, special_tokens=specials, show_progress=False))
    vocabulary = sorted(trained.get_vocab(), key=trained.get_vocab().get)
    (folder / "vocab.txt").write_text("".join(f"{token}\n" for token in [*vocabulary, *last]))


def esm(folder, settings):
    """The real vocabulary of ESM-2: the letters of amino acids in this order. Its class has no fast version, so no tokenizer.json."""
    tokens = ["<cls>", "<pad>", "<eos>", "<unk>", *"LAGVSERTIDPKQNFYMHWCXBUZO.-", "<null_1>", "<mask>"]
    (folder / "vocab.txt").write_text("\n".join(tokens))


def byte_level(folder, specials, last, split=None, normalizer=None):
    """A vocabulary of bytes: special tokens first, merges, then the tokens of `last`."""
    trained = tokenizers.Tokenizer(models.BPE())
    if normalizer:
        trained.normalizer = normalizer
    spaces = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=split is None)
    trained.pre_tokenizer = spaces if split is None else pre_tokenizers.Sequence(
        [pre_tokenizers.Split(tokenizers.Regex(split), "isolated"), spaces])
    trained.decoder = decoders.ByteLevel()
    trained.train_from_iterator(training_text(), trainers.BpeTrainer(
        vocab_size=SIZE, special_tokens=list(specials), initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False))
    model = json.loads(trained.to_str())["model"]
    for token in last:
        model["vocab"][token] = len(model["vocab"])
    (folder / "vocab.json").write_text(json.dumps(model["vocab"]))
    (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(" ".join(pair) + "\n" for pair in model["merges"]))
    return trained


def roberta(folder, settings):
    byte_level(folder, ["<s>", "<pad>", "</s>", "<unk>"], ["<mask>"])


def gpt2(folder, settings):
    byte_level(folder, [], ["<|endoftext|>"])


def qwen2(folder, settings):
    byte_level(folder, [], settings["added"], QWEN2_SPLIT, normalizers.NFC())
    vocab = json.loads((folder / "vocab.json").read_text())
    for token in settings["added"]:  # Qwen keeps them out of vocab.json
        del vocab[token]
    (folder / "vocab.json").write_text(json.dumps(vocab))


def sentence_pieces(folder, kind, settings):
    bpe = kind in ("llama", "gemma")
    options = UNIGRAM.get(kind) or (
        {"pad_id": 0, "eos_id": 1, "bos_id": 2, "unk_id": 3, "bos_piece": "<bos>", "eos_piece": "<eos>"} if kind == "gemma" else {"unk_id": 0, "bos_id": 1, "eos_id": 2, "pad_id": -1})
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(training_text()), model_writer=model, vocab_size=SIZE, model_type="bpe" if bpe else "unigram",
        byte_fallback=bpe, split_digits=bpe, character_coverage=0.999, num_threads=1, minloglevel=2, add_dummy_prefix=kind != "gemma",
        remove_extra_whitespaces=not bpe, normalization_rule_name="identity" if bpe else "nmt_nfkc", **options)
    (folder / settings.get("model_file", MODEL_FILES[kind])).write_bytes(model.getvalue())


def fast_only(folder, kind, settings):
    """Kinds whose repositories have tokenizer.json and nothing else."""
    if kind == "modernbert":
        last = ["|||IP_ADDRESS|||", "[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]
        trained = byte_level(folder, ["|||IP_ADDRESS|||", "<|padding|>"], [], normalizer=normalizers.NFC())
        trained.add_special_tokens([tokenizers.AddedToken(token, lstrip=token == "[MASK]", normalized=False) for token in last[1:]])
        trained.add_tokens([tokenizers.AddedToken(token, normalized=True) for token in settings.get("added", [])])
        ids = {token: trained.token_to_id(token) for token in last}
        trained.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[(t, ids[t]) for t in ("[CLS]", "[SEP]")])
    else:  # llama3
        added = settings["added"]
        trained = byte_level(folder, [], [], LLAMA3_SPLIT)
        trained.add_special_tokens(list(added))
        begin, end = settings["template"]
        parts = [token for token in (begin, "$A", end) if token]
        trained.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(
            single=" ".join(parts), special_tokens=[(t, trained.token_to_id(t)) for t in (begin, end) if t])])
    for name in ("vocab.json", "merges.txt"):
        (folder / name).unlink()
    trained.save(str(folder / "tokenizer.json"))


def make(folder, kind, settings):
    """Writes the files. `settings` are keyword arguments of the class (do_lower_case, add_eos_token, ...) and those named here:
    added (the tokens after the vocabulary), template (llama3: first and last token), model_file."""
    folder = pathlib.Path(folder)
    if kind in ("modernbert", "llama3"):
        return fast_only(folder, kind, settings)
    if kind in MODEL_FILES:
        sentence_pieces(folder, kind, settings)
    else:
        globals()[kind](folder, settings)
    if kind not in CLASSES:
        return
    arguments = {key: value for key, value in settings.items() if key not in ("added", "template", "model_file", "patch")}
    vocabulary = {"wordpiece": ["vocab_file"], "mpnet": ["vocab_file"], "roberta": ["vocab_file", "merges_file"], "gpt2": ["vocab_file", "merges_file"],
                  "qwen2": ["vocab_file", "merges_file"]}.get(kind, ["vocab_file"])
    names = {"vocab_file": settings.get("model_file", MODEL_FILES.get(kind, "vocab.json" if len(vocabulary) == 2 else "vocab.txt")),
             "merges_file": "merges.txt"}
    made = getattr(transformers, CLASSES[kind])(**{key: str(folder / names[key]) for key in vocabulary}, **arguments)
    if settings.get("added"):
        made.add_special_tokens({"additional_special_tokens": settings["added"]})
    made.backend_tokenizer.save(str(folder / "tokenizer.json"))
    if kind == "gemma":  # the converter puts a tab in place of the byte <0x09>; the published file has both
        content = json.loads((folder / "tokenizer.json").read_text())
        content["model"]["vocab"]["<0x09>"] = content["model"]["vocab"].pop("\t")
        (folder / "tokenizer.json").write_text(json.dumps(content, ensure_ascii=False))
