#!/usr/bin/env python3
"""Runs OpenVINO as a peer: the model of transformers, converted by OpenVINO. peer.py describes the output.

    peer_openvino.py --model DIR --input rows.jsonl --threads N [--dtype float32|bfloat16|int8] [--output out.npy]

bfloat16 is OpenVINO's precision hint, which it refuses or ignores on a processor without instructions for it; the program then ends
with peer.CANNOT. int8 is the post-training quantization of NNCF for transformers, calibrated with the first rows of the input.
"""
import os
import shutil

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import openvino

import peer

CALIBRATION_ROWS = 300


def converted_model(args):
    import torch
    import transformers
    model = transformers.AutoModel.from_pretrained(str(args.model), dtype=torch.float32, add_pooling_layer=False).eval()
    ids = torch.full((2, 16), 1000)
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "token_type_ids": torch.zeros_like(ids)}
    return openvino.convert_model(model, example_input=inputs)


def quantized_model(args, model):
    import nncf
    tokenize = peer.load_tokenizer(args)
    feeds = [peer.padded_inputs([ids]) for ids in tokenize(peer.read_rows(args)[:CALIBRATION_ROWS])]
    return nncf.quantize(model, nncf.Dataset(feeds), model_type=nncf.ModelType.TRANSFORMER, subset_size=len(feeds))


def stored_model(args):
    """Returns the path of the converted model in --work. The other types are compiled from the float32 model."""
    kind = "int8" if args.dtype == "int8" else "float32"
    folder = args.work / f"{args.model.resolve().name}-openvino-{openvino.__version__.split('-')[0]}-{kind}"
    if not folder.exists():
        model = converted_model(args)
        if kind == "int8":
            model = quantized_model(args, model)
        partial = folder.with_name(folder.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        openvino.save_model(model, partial / "model.xml", compress_to_fp16=False)
        partial.rename(folder)
    return folder / "model.xml"


def load(args):
    tokenize, head = peer.load_tokenizer(args), peer.Head(args.model)
    hint = "bf16" if args.dtype == "bfloat16" else "f32"
    core = openvino.Core()
    if hint == "bf16" and "BF16" not in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
        print("this processor has no bfloat16 for OpenVINO")
        raise SystemExit(peer.CANNOT)
    model = core.compile_model(stored_model(args), "CPU", {
        "INFERENCE_PRECISION_HINT": hint, "INFERENCE_NUM_THREADS": args.threads, "PERFORMANCE_HINT": "LATENCY"})
    request = model.create_infer_request()

    def encode_batch(rows):
        inputs = peer.padded_inputs(rows)
        states = request.infer(inputs, share_inputs=True, share_outputs=True)[0]
        return head(states, inputs["attention_mask"])

    def encode(texts):
        return peer.encode_rows(tokenize(texts), args.batch_size, encode_batch)

    return encode, f"OpenVINO {openvino.__version__.split('-')[0]}, {args.dtype}, batch {args.batch_size}"


if __name__ == "__main__":
    peer.run(peer.arguments(__doc__, batch_size=32).parse_args(), load)
