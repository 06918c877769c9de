#!/usr/bin/env python3
"""Compares `encode run` with AutoModel of Hugging Face transformers when config.json lacks keys, or has unusual values.

  scripts/reference/check_config_defaults.py [--changed] [--encode build/bin/encode] [--only NAME ..]

For each architecture that transformers has, the program makes a tiny model with random weights (those of
make_models.py). Then it removes each key of config.json that is not a size, one at a time, and at last all of
them. A missing key has the default of the architecture's config class, so AutoModel and `encode run` must give the same vectors
(float32, 1e-5 relative to the largest value if that is above 1), or `encode` must refuse the directory with exit code 78. If
AutoModel itself fails, or leaves a tensor of the checkpoint out or at random, there is nothing to compare: `encode` must then
refuse too, or give the vectors that AutoModel gives with the key. Exit code 1: a key for which this is not so.

With --changed every key keeps its place and gets another value instead, also the keys that only the config class names: a
switch is turned over, a number is made larger, a name becomes another one, and rope_parameters get each kind of scaling. The
model is made anew with this value. The same holds: the same vectors, or a refusal. A value with which transformers cannot
make a model, or with which this model fails, is left out.

It needs torch 2.11, transformers 5.17, numpy, and no network.
"""
import argparse
import copy
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import make_models as golden
import numpy as np
import torch
import transformers

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Without one of these keys no model is of the right size.
SIZES = {"model_type", "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "dim",
         "n_layers", "n_heads", "hidden_dim", "d_model", "d_ff", "num_layers", "num_heads"}
# Names that change nothing in the last hidden state, or the environment and not the model.
NO_EFFECT = {"id2label", "label2id", "problem_type", "architectures", "transformers_version", "_name_or_path", "output_attentions",
             "output_hidden_states", "return_dict", "dtype", "use_cache", "is_encoder_decoder", "chunk_size_feed_forward",
             "cross_attention_hidden_size", "experts_implementation"}
NAMES = {"hidden_act": ("relu", "silu", "gelu_new", "gelu", "quick_gelu", "tanh", "gelu_10"), "position_embedding_type": (
             "relative_key", "relative_key_query", "rotary", "absolute"), "norm_rel_ebd": ("none", "layer_norm"),
         "feed_forward_proj": ("gated-silu", "gelu", "gated-relu"), "dense_act_fn": ("silu",)}
LISTS = {"layer_types": ("full_attention", "sliding_attention"), "pos_att_type": ("c2p", "p2c"), "attention_types": ()}
NUMBERS_OF_NULL = {"sliding_window": (5,), "attn_logit_softcapping": (3.0,), "clip_qkv": (0.7,), "head_dim": (20,),
                   "hidden_act_param": (0.5,), "n_inner": (56,), "layer_types": (), "num_key_value_heads": (1,)}
# Early files of Gemma say gelu, although the model was trained with the tanh form (src/models/gemma.cc).
FOLLOWED_ELSEWHERE = [("Gemma", "hidden_act", "gelu")]
SCALINGS = (
    {"rope_type": "linear", "factor": 3.0}, {"rope_type": "dynamic", "factor": 3.0},
    {"rope_type": "yarn", "factor": 3.0, "original_max_position_embeddings": 16},
    {"rope_type": "yarn", "factor": 3.0, "original_max_position_embeddings": 16, "mscale": 0.7, "mscale_all_dim": 0.4},
    {"rope_type": "llama3", "factor": 3.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
     "original_max_position_embeddings": 16},
    {"rope_type": "proportional", "factor": 2.0, "partial_rotary_factor": 0.5},
    {"partial_rotary_factor": 0.5}, {"rope_theta": 77.0})
LENGTHS = (1, 3, 17)
LONGEST = 40  # the positions of the models with a table of positions
REFUSED = 78


def longest_row(config_class, removed):
    """Longer than a window that is the default of a removed key, so that the window has an effect."""
    windows = [getattr(config_class(), key, None) for key in removed if "window" in key or key == "local_attention"]
    return max([LONGEST, *(window + 8 for window in windows if type(window) is int and window < 8192)])


def write_rows(folder, longest):
    numbers = np.random.default_rng(41)
    rows = [numbers.integers(3, golden.VOCAB, length).tolist() for length in (*LENGTHS, longest)]
    (folder / "rows.jsonl").write_text("".join(json.dumps({"ids": row}) + "\n" for row in rows))
    return rows


def reference(model_class, folder, rows):
    """The means of the rows' hidden states, or None if the model does not load whole."""
    try:
        model, info = model_class.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32,
                                                  output_loading_info=True)
        parts = [*info["missing_keys"], *info["unexpected_keys"], *info["mismatched_keys"]]
        if any("pooler" not in str(part) and "contact_head" not in str(part) for part in parts):
            return None
        with torch.no_grad():
            return torch.cat([model.eval()(input_ids=torch.tensor([row])).last_hidden_state.mean(1) for row in rows]).numpy()
    except Exception:  # noqa: BLE001 any failure of the reference means that there is nothing to compare
        return None


def encode(program, folder, longest):
    output = folder / "out.npy"
    output.unlink(missing_ok=True)
    shutil.rmtree(folder / "cache", ignore_errors=True)  # a cache belongs to one config.json
    command = [program, "run", "--model", folder, "--input", folder / "rows.jsonl", "--field", "ids", "--device", "cpu",
               "--pooling", "mean", "--max-length", str(longest), "--cache-dir", folder / "cache", "--output", output,
               "--quiet"]
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    return (np.load(output), "") if result.returncode == 0 else (None, f"exit {result.returncode}: {result.stderr.strip()}")


def verdict(expected, usual, found, message):
    """A word and whether it is right."""
    if found is None:
        refused = message.startswith(f"exit {REFUSED}:")
        return ("refused" if refused else message), refused
    if expected is None:
        same = bool(np.abs(found - usual).max() <= 1e-5 * max(1.0, np.abs(usual).max()))
        return ("the reference fails; the same vectors as with the key", True) if same else ("the reference fails", False)
    difference = float(np.abs(found - expected).max() / max(1.0, np.abs(expected).max()))
    return f"{difference:.1e}", difference <= 1e-5


def check(spec, program, folder):
    model_class, config_class = spec.classes()
    model = model_class(config_class(**spec.config))
    golden.draw_parameters(model, torch.Generator().manual_seed(40))
    model.save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    has_table = any("position_embeddings" in name for name, _ in model.named_parameters())
    optional = [key for key in config if key not in SIZES]
    # The default of pad_token_id may be outside the small vocabulary.
    all_keys = [key for key in optional if key != "pad_token_id"]
    wrong, refused = [], []
    for removed in [[], *([key] for key in optional), all_keys]:
        longest = longest_row(config_class, removed) if not has_table else LONGEST
        rows = write_rows(folder, longest)
        (folder / "config.json").write_text(json.dumps(config))
        usual = reference(model_class, folder, rows)
        (folder / "config.json").write_text(json.dumps({key: value for key, value in config.items() if key not in removed}))
        found, message = encode(program, folder, longest)
        word, right = verdict(reference(model_class, folder, rows), usual, found, message)
        name = "all" if removed == all_keys else ", ".join(removed) or "none"
        if not right:
            wrong.append(f"{name}: {word}")
        elif word == "refused":
            refused.append(name)
    return len(optional), wrong, refused


def other_values(key, value):
    """Values to put in place of a key's own."""
    if key in ("rope_parameters", "rope_scaling"):
        return scaled_rope(value)
    if key in NAMES or key.endswith("_act") or "activation" in key:
        return [name for name in NAMES.get(key, NAMES["hidden_act"]) if name != value]
    if key in LISTS and isinstance(value, list):
        return [value[::-1], *([name] * len(value) for name in LISTS[key]), []]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, max(1, value // 2), *([] if value else [4])]
    if isinstance(value, float):
        return [value * 3 if value else 0.5]
    if value is None:
        return list(NUMBERS_OF_NULL.get(key, (True, 3)))
    return []


def scaled_rope(value):
    if not isinstance(value, dict):
        return []
    nested = [key for key, inner in value.items() if isinstance(inner, dict)]
    if not nested:
        return [{**value, **scaling} for scaling in SCALINGS]
    return [{**value, key: {**value[key], **scaling}} for key in nested for scaling in SCALINGS]


def check_changed(spec, program, folder):
    """As check(), with other values in place of missing keys."""
    model_class, config_class = spec.classes()
    given = copy.deepcopy(spec.config)  # transformers changes the dictionaries that it gets
    usual = config_class(**copy.deepcopy(given)).to_dict()
    wrong, refused, count = [], [], 0
    for key in sorted(usual.keys() - SIZES - NO_EFFECT):
        for value in other_values(key, usual[key]):
            if (spec.architecture, key, value) in FOLLOWED_ELSEWHERE:
                continue
            shutil.rmtree(folder)
            folder.mkdir()
            try:
                model = model_class(config_class(**copy.deepcopy({**given, key: value})))
                golden.draw_parameters(model, torch.Generator().manual_seed(40))
                model.save_pretrained(folder)
            except Exception:  # noqa: BLE001 a value that transformers does not take
                continue
            config = json.loads((folder / "config.json").read_text())
            (folder / "config.json").write_text(json.dumps({**config, key: value}))
            rows = write_rows(folder, 30)
            expected = reference(model_class, folder, rows)
            if expected is None:
                continue
            count += 1
            word, right = verdict(expected, expected, *encode(program, folder, 30))
            if not right:
                wrong.append(f"{key} = {value}: {word[:300]}")
            elif word == "refused":
                refused.append(f"{key} = {value}")
    return count, wrong, refused


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encode", type=pathlib.Path, default=ROOT / "build/bin/encode")
    parser.add_argument("--only", nargs="*", default=[], help="only models with one of these names")
    parser.add_argument("--changed", action="store_true", help="change values in place of leaving keys out")
    args = parser.parse_args()
    transformers.utils.logging.set_verbosity(50)
    transformers.utils.logging.disable_progress_bar()
    failed = 0
    for spec in golden.MODELS:
        if spec.same_output_as or (args.only and spec.name not in args.only):
            continue
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "model").mkdir()
            checked = check_changed if args.changed else check
            count, wrong, refused = checked(spec, args.encode, pathlib.Path(folder) / "model")
        failed += len(wrong)
        word = "values" if args.changed else "keys"
        print(f"{spec.name:28} {count:3} {word}, {len(wrong)} wrong; refused: {', '.join(refused) or 'none'}", flush=True)
        for line in wrong:
            print(f"    {'' if args.changed else 'without '}{line}", flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
