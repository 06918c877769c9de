#!/usr/bin/env python3
"""Makes a tiny model in the layout of Qodo-Embed-1 and gte-Qwen2, and its vectors by the code that the layout names.

    make_gte_qwen2.py [--output tests/data/models/gte_qwen2]

The published repositories (Alibaba-NLP/gte-Qwen2-1.5B-instruct, Qodo/Qodo-Embed-1-1.5B, NovaSearch/stella_en_1.5B_v5)
bring tokenization_qwen.py and modeling_qwen.py. This script writes stand-ins of both files, which do the same: the
tokenizer's post-processor becomes a template that ends in eos_token if add_eos_token is true, and the attention sees the
whole text. The stand-in of the tokenizer was checked against the fixture of the same code in vLLM
(tests/tokenizers_/test_hf.py), and the token that it appends against text-embeddings-inference (router/src/lib.rs).
sentence-transformers runs them with trust_remote_code=True. The stand-ins are not saved.

texts.txt               texts, one on each line; the last ones are longer than max_seq_length
embeddings.npy          float32, encode() of each text alone: the last token, normalized
embeddings_mean.npy     the same with mean pooling, as in stella
input_ids.npy, lengths.npy, last_hidden_state.npy    as in make_models.py

It needs transformers 4.57.6, sentence-transformers 5.1.2, torch 2.11 and NumPy 2, and no network. The same versions give
the same files.
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

VOCAB = 128
LENGTHS = (1, 2, 7, 19, 40)
MAX_LENGTH = 24
END = "<|endoftext|>"
OTHER_TOKENS = ("<|im_start|>", "<|im_end|>")
WORDS = ("def", "return", "self", "assert", "the", "test", "fix", "in", "of", "er")
TEXTS = (
    "a", "def test_that(self): assert self.x", "fix the leak in the pool of threads", "return",
    "the end<|endoftext|>", "two  blanks", "x" * 22, "x" * 23, "x" * 24, "x" * 60,
    "to be or not to be that is the question of the test in the pool of threads")

TOKENIZATION = '''
from tokenizers import processors
from transformers import Qwen2TokenizerFast as Base


class Qwen2TokenizerFast(Base):
    def __init__(self, *args, add_eos_token=False, **kwargs):
        super().__init__(*args, **kwargs)
        end = [f"{self.eos_token}:0"] if add_eos_token else []
        self._tokenizer.post_processor = processors.TemplateProcessing(
            single=["$A:0", *end], pair=["$A:0", *end, "$B:1", *end],
            special_tokens=[(self.eos_token, self.eos_token_id)] if end else [])
'''
MODELING = '''
import torch
from transformers import Qwen2Model as Base


class Qwen2Model(Base):
    def forward(self, input_ids=None, attention_mask=None, **kwargs):
        hidden = torch.zeros(attention_mask.shape, dtype=self.dtype)
        hidden.masked_fill_(attention_mask == 0, torch.finfo(self.dtype).min)
        mask = hidden[:, None, None, :].expand(-1, 1, input_ids.shape[1], -1)
        return super().forward(input_ids=input_ids, attention_mask={"full_attention": mask}, **kwargs)
'''
AUTO_MAP = {
    "AutoModel": "modeling_qwen.Qwen2Model",
    "AutoModelForCausalLM": "modeling_qwen.Qwen2ForCausalLM",
    "AutoModelForSequenceClassification": "modeling_qwen.Qwen2ForSequenceClassification",
}


def write_json(path, value):
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value, indent=2) + "\n")


def write_tokenizer(folder):
    """Writes a byte-level BPE tokenizer of a few letters and words. Other characters have no token."""
    vocab = {}
    for token in ("Ġ", *string.ascii_letters, *string.digits, *"._():,"):
        vocab[token] = len(vocab)
    merges = []
    for word in WORDS:
        for i in range(1, len(word)):
            if word[:i + 1] not in vocab:
                merges.append((word[:i], word[i]))
                vocab[word[:i + 1]] = len(vocab)
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocab, merges))
    tokenizer.normalizer = tokenizers.normalizers.NFC()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([
        tokenizers.pre_tokenizers.Split(tokenizers.Regex(
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"),
            "isolated"),
        tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.post_processor = tokenizers.processors.ByteLevel(trim_offsets=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    tokenizer.add_special_tokens([END, *OTHER_TOKENS])
    assert tokenizer.get_vocab_size() <= VOCAB, tokenizer.get_vocab_size()
    tokenizer.save(str(folder / "tokenizer.json"))
    special = {str(tokenizer.token_to_id(token)): {
        "content": token, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": True}
        for token in (END, *OTHER_TOKENS)}
    write_json(folder / "tokenizer_config.json", {
        "add_eos_token": True, "add_prefix_space": False, "added_tokens_decoder": special,
        "additional_special_tokens": list(OTHER_TOKENS),
        "auto_map": {"AutoTokenizer": ["tokenization_qwen.Qwen2Tokenizer", "tokenization_qwen.Qwen2TokenizerFast"]},
        "bos_token": None, "clean_up_tokenization_spaces": False, "eos_token": END, "errors": "replace",
        "model_max_length": 32768, "pad_token": END, "split_special_tokens": False,
        "tokenizer_class": "Qwen2Tokenizer", "unk_token": None})
    return tokenizer.token_to_id(END)


def write_model(folder, end):
    torch.manual_seed(30)
    config = transformers.Qwen2Config(
        vocab_size=VOCAB, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=max(LENGTHS), bos_token_id=end, eos_token_id=end,
        rope_theta=1000000.0, dtype="float32")
    model = transformers.Qwen2Model(config)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    model.save_pretrained(folder)
    path = folder / "config.json"
    saved = json.loads(path.read_text())
    assert "is_causal" not in saved
    write_json(path, {**saved, "architectures": ["Qwen2ForCausalLM"], "auto_map": AUTO_MAP})


def write_modules(folder):
    classes = (("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize"))
    write_json(folder / "modules.json", [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{name}"}
        for i, (path, name) in enumerate(classes)])
    modes = ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken")
    write_json(folder / "1_Pooling/config.json", {
        "word_embedding_dimension": 32, **{f"pooling_mode_{mode}": mode == "lasttoken" for mode in modes},
        "include_prompt": True})
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": MAX_LENGTH, "do_lower_case": False})
    write_json(folder / "config_sentence_transformers.json", {"prompts": {}, "default_prompt_name": None})


def encode(folder, mode):
    model = SentenceTransformer(str(folder), trust_remote_code=True, device="cpu", model_kwargs={"attn_implementation": "eager"})
    assert type(model[0].auto_model).__name__ == "Qwen2Model" and "transformers_modules" in type(model[0].auto_model).__module__
    assert "transformers_modules" in type(model.tokenizer).__module__, type(model.tokenizer)
    model[1].pooling_mode_lasttoken = mode == "lasttoken"
    model[1].pooling_mode_mean_tokens = mode == "mean"
    ids = model.tokenizer("the test")["input_ids"]
    assert ids[-1] == model.tokenizer.eos_token_id and ids.count(ids[-1]) == 1
    return np.concatenate([model.encode([text]) for text in TEXTS]), model[0].auto_model


def write_hidden_states(folder, model):
    generator = torch.Generator().manual_seed(31)
    ids = torch.zeros(len(LENGTHS), max(LENGTHS), dtype=torch.int32)
    states = torch.zeros(len(LENGTHS), max(LENGTHS), 32)
    for row, length in enumerate(LENGTHS):
        ids[row, :length] = torch.randint(VOCAB, (length,), generator=generator)
        tokens = ids[row:row + 1, :length].long()
        with torch.no_grad():
            output = model(input_ids=tokens, attention_mask=torch.ones_like(tokens))
        states[row, :length] = output.last_hidden_state[0]
    np.save(folder / "input_ids.npy", ids.numpy())
    np.save(folder / "lengths.npy", np.array(LENGTHS, dtype=np.int32))
    np.save(folder / "last_hidden_state.npy", states.numpy())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    here = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("--output", type=pathlib.Path, default=here / "tests/data/models/gte_qwen2")
    output = parser.parse_args().output
    output.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    write_model(output, write_tokenizer(output))
    write_modules(output)
    (output / "texts.txt").write_text("\n".join(TEXTS) + "\n")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary) / "model"
        shutil.copytree(output, folder)
        (folder / "tokenization_qwen.py").write_text(TOKENIZATION + "\n\nQwen2Tokenizer = Qwen2TokenizerFast\n")
        (folder / "modeling_qwen.py").write_text(MODELING)
        os.environ["HF_MODULES_CACHE"] = str(pathlib.Path(temporary) / "modules")
        embeddings, model = encode(folder, "lasttoken")
        np.save(output / "embeddings.npy", embeddings)
        np.save(output / "embeddings_mean.npy", encode(folder, "mean")[0])
    write_hidden_states(output, model)


if __name__ == "__main__":
    main()
