"""Writes the directory of a repository from its entry in repositories.json.

Each of the "families" there has a table with "kinds" and "repositories". An entry names its kind, and its keys are laid over the
keys of the kind (objects are merged, and null removes a key). These keys say what a repository has:
  config             config.json, with the published values; shrink() scales the sizes down
  tokenizer          {kind, settings}: see tokenizer_files.make; "patch" is merged into tokenizer.json
  tokenizer_config   tokenizer_config.json; null: no such file
  special_tokens_map false: no such file
  modules            types of modules.json: Transformer, Pooling:MODE, Dense:IN:OUT:ACTIVATION, Normalize; null: no such file
  sentence_bert      sentence_bert_config.json
  sentence           config_sentence_transformers.json
  without            files that the repository does not have
  weights            {file, class, renames, extra, dtype, published}: see worker.make_weights
  static             {name of the tensor: width} of a repository without a transformer
  first_path         the folder of the first module, where it is not the directory itself
  batch              rows in a batch of the reference
  sizes              sizes that shrink() sets in place of its own
  hub                {revision: what the page of the repository on the hub shows at this revision}
  prompt_text        the text of a prompt, for a repository without names of prompts
  reference_modules  what the authors' own package does with the tokens, where there is no modules.json: see worker.encode
A text in place of a token id in config.json stands for the id of that token.
"""
import copy
import json
import pathlib

REPOSITORIES = json.loads((pathlib.Path(__file__).resolve().parent / "repositories.json").read_text())
SMALL = {  # sizes, by the names that configs have for them; the second value is the least
    "hidden_size": 64, "d_model": 64, "dim": 64, "n_embd": 64, "intermediate_size": 96, "d_ff": 96, "hidden_dim": 96, "n_inner": 96,
    "embedding_size": 32, "d_kv": 16, "head_dim": 16, "query_pre_attn_scalar": 16,
}
LAYERS = ("num_hidden_layers", "num_layers", "n_layers", "n_layer", "num_decoder_layers")
HEADS = ("num_attention_heads", "num_heads", "n_heads", "n_head")


def merged(base, over):
    """`base` with `over` laid over it; null removes a key."""
    result = copy.deepcopy(base)
    for key, value in over.items():
        if value is None and key in result:
            del result[key]
        elif isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = merged(result[key], value)
        else:
            result[key] = copy.deepcopy(value)
    return result


def repositories():
    """All entries, with the keys of their kinds, in the order of the tables."""
    entries = []
    for table in REPOSITORIES["families"].values():
        for entry in table["repositories"]:
            kind = table["kinds"][entry["kind"]]
            while "kind" in kind:
                kind = merged(table["kinds"][kind["kind"]], {key: value for key, value in kind.items() if key != "kind"})
            entries.append(merged(kind, entry))
    return entries


def shrink(config, layers, sizes):
    small = dict(config)
    for key, value in {**SMALL, **sizes}.items():
        if isinstance(small.get(key), int):
            small[key] = value
    for key in LAYERS:
        if key in small:
            small[key] = min(small[key], layers)
    for key in HEADS:
        if key in small:
            kv = small.get("num_key_value_heads")
            if kv:
                small["num_key_value_heads"] = max(1, 4 * kv // small[key])
            small[key] = 4
    if "layer_types" in small:
        small["layer_types"] = small["layer_types"][:layers]
    return small


def write_json(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


class Layout:
    def __init__(self, entry, folder):
        self.entry, self.folder, self.dense = entry, folder, []
        self.first = folder / entry.get("first_path", "")  # the folder of the first module

    def write(self, worker):
        """Writes every file but the weights."""
        self.first.mkdir(parents=True)
        tokenizer = self.entry.get("tokenizer")
        if tokenizer:
            settings = tokenizer.get("settings", {})
            worker({"do": "tokenizer", "folder": str(self.first), "kind": tokenizer["kind"], "settings": settings})
            self.write_tokenizer(tokenizer.get("patch", {}))
        if self.entry.get("config"):
            config = shrink(self.entry["config"], self.entry.get("layers", 2), self.entry.get("sizes", {}))
            write_json(self.folder / "config.json", self.with_ids(config))
        if self.entry.get("modules"):
            self.write_modules()
        for key, name in (("sentence_bert", "sentence_bert_config.json"), ("sentence", "config_sentence_transformers.json")):
            if self.entry.get(key):
                write_json(self.folder / name, self.entry[key])
        for name, value in self.entry.get("files", {}).items():
            write_json(self.folder / name, value)
        for name in self.entry.get("without", []):
            (self.first / name).unlink()

    def vocabulary(self):
        if not (self.first / "tokenizer.json").exists():
            return {token: number for number, token in enumerate((self.first / "vocab.txt").read_text().split("\n"))}
        content = json.loads((self.first / "tokenizer.json").read_text())
        model = content["model"]["vocab"]
        ids = dict(model) if isinstance(model, dict) else {piece: i for i, (piece, _) in enumerate(model)}
        ids.update({token["content"]: token["id"] for token in content["added_tokens"]})
        return ids

    def with_ids(self, config):
        """Token ids for the names of tokens, and the size of the vocabulary."""
        if "vocab_size" not in config:
            return config
        ids = self.vocabulary()
        named = {key: ids.get(value, value) if isinstance(value, str) and key.endswith("token_id") else value
                 for key, value in config.items()}
        # As in published checkpoints, the table of embeddings has more rows than the vocabulary has tokens.
        return {**named, "vocab_size": (max(ids.values()) // 64 + 1) * 64}

    def write_tokenizer(self, patch):
        path = self.first / "tokenizer.json"
        content = json.loads(path.read_text()) if path.exists() else {"added_tokens": []}
        if patch.get("normalizer") == "first":  # older files have the Precompiled normalizer alone
            patch = {**patch, "normalizer": content["normalizer"]["normalizers"][0]}
        for key, value in patch.items():
            content[key] = self.with_token_ids(value)
        if path.exists():
            path.write_text(json.dumps(content, ensure_ascii=False))
        config = self.entry.get("tokenizer_config")
        if config is None:
            return
        if config.get("added_tokens_decoder") == "all":
            config = {**config, "added_tokens_decoder": {
                str(token["id"]): {key: value for key, value in token.items() if key != "id"} for token in content["added_tokens"]}}
        write_json(self.folder / "tokenizer_config.json", config)
        if self.entry.get("special_tokens_map", True):
            names = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token",
                     "additional_special_tokens")
            write_json(self.folder / "special_tokens_map.json", {key: config[key] for key in names if config.get(key) is not None})

    def with_token_ids(self, value):
        """A part of tokenizer.json in which the ids of a post-processor's tokens are put in place of their names."""
        if isinstance(value, list):
            return [self.with_token_ids(item) for item in value]
        if not isinstance(value, dict):
            return value
        if set(value) == {"id", "ids", "tokens"}:
            return {**value, "ids": [self.vocabulary()[token] for token in value["tokens"]]}
        return {key: self.with_token_ids(item) for key, item in value.items()}

    def write_modules(self):
        """modules.json and the folders that it names."""
        modules, package = [], self.entry.get("package", "sentence_transformers.models")
        width = None
        for number, text in enumerate(self.entry["modules"]):
            name, *settings = text.split(":")
            path = f"{number}_{name.split('.')[-1]}" if number else self.entry.get("first_path", "")
            full = name if "." in name else f"{package}.{name}"
            modules.append({"idx": number, "name": str(number), "path": path, "type": full})
            if name == "Pooling":
                width = width or self.width()
                self.write_pooling(path, settings[0], width)
            elif name.split(".")[-1] == "Dense":
                width = width or self.width()
                self.write_dense(path, settings, width)
                width = int(settings[0])
        write_json(self.folder / "modules.json", modules)

    def width(self):
        config = json.loads((self.folder / "config.json").read_text())
        return next(config[key] for key in ("hidden_size", "d_model", "dim", "n_embd") if key in config)

    def write_pooling(self, path, mode, width):
        modes = {"cls": "cls_token", "mean": "mean_tokens", "max": "max_tokens", "sqrt": "mean_sqrt_len_tokens",
                 "weightedmean": "weightedmean_tokens", "lasttoken": "lasttoken"}
        old = ("cls", "mean", "max", "sqrt")
        names = modes if self.entry.get("newer_pooling") or mode not in old else {key: modes[key] for key in old}
        content = {"word_embedding_dimension": width, **{f"pooling_mode_{modes[key]}": key == mode for key in names}}
        if self.entry.get("include_prompt") is not None:
            content["include_prompt"] = self.entry["include_prompt"]
        write_json(self.folder / path / "config.json", content)

    def write_dense(self, path, settings, width):
        out, bias, activation = settings
        write_json(self.folder / path / "config.json", {
            "in_features": width, "out_features": int(out), "bias": bias == "bias",
            "activation_function": f"torch.nn.modules.{activation}"})
        self.dense.append(path)
