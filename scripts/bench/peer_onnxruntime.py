#!/usr/bin/env python3
"""Runs ONNX Runtime as a peer: the graph of its transformer optimizer, in float32. peer.py describes the output.

    peer_onnxruntime.py --model DIR --input rows.jsonl --threads N [--output out.npy]

The graph is exported from the BERT of transformers. The optimizer must fuse attention, GELU and the norms of every layer;
otherwise the comparison is not fair, and the program ends with an error.
"""
import json
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import onnxruntime

import peer

INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def export(model_path, to):
    import torch
    import transformers

    class HiddenStates(torch.nn.Module):
        def __init__(self):
            super().__init__()
            # The optimizer recognizes the pattern of eager attention and replaces it by its own fused operator.
            self.model = transformers.AutoModel.from_pretrained(str(model_path), attn_implementation="eager",
                                                                dtype=torch.float32, add_pooling_layer=False)

        def forward(self, input_ids, attention_mask, token_type_ids):
            return self.model(input_ids=input_ids, attention_mask=attention_mask,
                              token_type_ids=token_type_ids).last_hidden_state

    ids = torch.full((2, 16), 1000)
    mask = torch.ones_like(ids)
    mask[1, 8:] = 0  # with some zeros, so that the export does not fold the mask into a constant
    axes = {name: {0: "batch", 1: "tokens"} for name in (*INPUTS, "last_hidden_state")}
    torch.onnx.export(HiddenStates().eval(), (ids, mask, torch.zeros_like(ids)), str(to), input_names=list(INPUTS),
                      output_names=["last_hidden_state"], dynamic_axes=axes, opset_version=17, dynamo=False)


def optimize(exported, config, to):
    from onnxruntime.transformers.optimizer import optimize_model
    model = optimize_model(str(exported), model_type="bert", num_heads=config["num_attention_heads"],
                           hidden_size=config["hidden_size"], opt_level=0)
    fused = {name: count for name, count in model.get_fused_operator_statistics().items() if count}
    layers = config["num_hidden_layers"]
    wanted = {"EmbedLayerNormalization": 1, "Attention": layers, "BiasGelu": layers, "SkipLayerNormalization": 2 * layers}
    if any(fused.get(name) != count for name, count in wanted.items()):
        raise SystemExit(f"error: the optimizer fused {fused}, not {wanted}: the comparison would not be fair")
    model.save_model_to_file(str(to))
    to.with_suffix(".json").write_text(json.dumps(fused))


def optimized_model(args):
    path = args.work / f"{args.model.resolve().name}-onnxruntime-{onnxruntime.__version__}.onnx"
    if not path.exists():
        exported, made = (path.with_suffix(suffix) for suffix in (".exported.onnx", ".made.onnx"))
        export(args.model, exported)
        optimize(exported, json.loads((args.model / "config.json").read_text()), made)
        exported.unlink()
        made.with_suffix(".json").rename(path.with_suffix(".json"))
        made.rename(path)
    return path


def load(args):
    path = optimized_model(args)
    print(f"ONNX Runtime, fused operators: {path.with_suffix('.json').read_text()}", file=sys.stderr)
    tokenize, head = peer.load_tokenizer(args), peer.Head(args.model)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = args.threads
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_inputs()]

    def encode_batch(rows):
        inputs = peer.padded_inputs(rows)
        return head(session.run(None, {name: inputs[name] for name in names})[0], inputs["attention_mask"])

    def encode(texts):
        return peer.encode_rows(tokenize(texts), args.batch_size, encode_batch)

    return encode, f"ONNX Runtime {onnxruntime.__version__}, optimized, float32, batch {args.batch_size}"


if __name__ == "__main__":
    peer.run(peer.arguments(__doc__, batch_size=16).parse_args(), load)
