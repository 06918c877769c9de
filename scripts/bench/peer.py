#!/usr/bin/env python3
"""The peers of compare.py: each reads the rows of a JSONL file, encodes them as its users would and saves the matrix.

    peer.py PEER --model DIR --input rows.jsonl --threads N [--dtype T] [--work DIR] [--output out.npy]

It prints one line of JSON with these fields:

    rows             the number of rows
    seconds          the time of reading, tokenizing and encoding with a loaded model
    cpu_seconds      the processor time of all threads in that time
    load_seconds     the time of loading the model and the tokenizer
    peak_rss_bytes   the peak of resident memory
    settings         the settings of the run in words

`seconds` leaves out imports, the conversion of the model to the peer's format (kept in --work), loading, and a first
warm-up batch. If the peer's format has no sentence-transformers modules, `Head` pools and normalizes in NumPy.

    sentence-transformers   SentenceTransformer.encode() on PyTorch
    onnxruntime             the graph of ONNX Runtime's transformer optimizer, in float32
    openvino                the model of transformers, converted by OpenVINO: float32, bfloat16 or int8
    llama-cpp               Llama.embed() of llama-cpp-python: f16 or q8_0
    ctranslate2             CTranslate2's Encoder on the converted model: float32 or int8
"""
import argparse
import concurrent.futures
import importlib
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Callable

import numpy as np

WARM_UP_ROWS = 64
CANNOT = 69  # the exit code of a peer that this processor cannot run; it prints the reason
CALIBRATION_ROWS = 300
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


@dataclass
class Peer:
    modules: tuple  # of Python; they are imported before the clock runs
    load: Callable  # takes the arguments; returns (encode, settings)
    batch_size: int


def read_rows(args):
    with args.input.open(encoding="utf-8") as file:
        return [json.loads(line)[args.field] for line in file]


def run(args):
    """Times the peer. encode(texts) returns [rows, dim] in the order of the texts."""
    for module in PEERS[args.peer].modules:
        importlib.import_module(module)
    started = time.monotonic()
    encode, settings = PEERS[args.peer].load(args)
    load_seconds = time.monotonic() - started
    encode(read_rows(args)[:WARM_UP_ROWS])
    started, cpu = time.monotonic(), time.process_time()
    texts = read_rows(args)
    embeddings = encode(texts)
    seconds, cpu_seconds = time.monotonic() - started, time.process_time() - cpu
    if args.output:
        np.save(args.output, np.asarray(embeddings, dtype=np.float32))
    print(json.dumps({
        "rows": len(texts),
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "load_seconds": load_seconds,
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "settings": settings,
    }))


def max_length(args):
    settings = args.model / "sentence_bert_config.json"
    return args.max_length or json.loads(settings.read_text())["max_seq_length"]


def load_tokenizer(args):
    """Returns a function from texts to the ids of the model's tokenizer, truncated and without padding."""
    import tokenizers  # imported here because the distribution's Python, which runs the tests of this file, does not have it
    tokenizer = tokenizers.Tokenizer.from_file(str(args.model / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_length(args))
    return lambda texts: [encoding.ids for encoding in tokenizer.encode_batch_fast(texts)]


def padded_inputs(rows):
    """Returns the inputs of a BERT graph for rows of ids, padded to the longest row."""
    ids = np.zeros((len(rows), max(len(row) for row in rows)), dtype=np.int64)
    mask = np.zeros_like(ids)
    for i, row in enumerate(rows):
        ids[i, :len(row)] = row
        mask[i, :len(row)] = 1
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}


def encode_rows(rows, batch_size, encode_batch, threads=1):
    """Returns [rows, dim]. encode_batch(ids of a batch) returns [rows of the batch, dim]; `threads` threads call it.

    A batch has rows of similar length, and the longest rows come first, as in sentence-transformers.
    """
    order = np.argsort([-len(ids) for ids in rows], kind="stable")
    batches = [order[begin:begin + batch_size] for begin in range(0, len(order), batch_size)]
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        encoded = list(pool.map(lambda batch: encode_batch([rows[row] for row in batch]), batches))
    out = np.empty((len(rows), encoded[0].shape[1]), dtype=np.float32)
    out[order] = np.concatenate(encoded)
    return out


class Head:
    """Applies the modules after the transformer: cls or mean pooling, and Normalize. Refuses other modules."""

    def __init__(self, model):
        pooling = json.loads((model / "1_Pooling" / "config.json").read_text())
        modes = {name for name, on in pooling.items() if name.startswith("pooling_mode_") and on is True}
        if modes not in ({"pooling_mode_mean_tokens"}, {"pooling_mode_cls_token"}):
            raise SystemExit(f"error: {model}: this peer supports the poolings mean and cls, not {sorted(modes)}")
        kinds = [module["type"].rsplit(".", 1)[1] for module in json.loads((model / "modules.json").read_text())]
        if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
            raise SystemExit(f"error: {model}: this peer does not support the modules {kinds}")
        self.mean = "pooling_mode_mean_tokens" in modes
        self.normalize = "Normalize" in kinds

    def __call__(self, states, mask):
        """Returns [rows, dim] from states [rows, tokens, dim] and mask [rows, tokens] of 0 and 1."""
        if self.mean:
            weights = mask.astype(np.float32)
            rows = np.matmul(weights[:, None, :], states)[:, 0] / weights.sum(axis=1, keepdims=True)
        else:
            rows = states[:, 0]
        if self.normalize:
            rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        return rows


def load_sentence_transformers(args):
    import sentence_transformers
    import torch
    torch.set_num_threads(args.threads)
    model = sentence_transformers.SentenceTransformer(
        str(args.model), device=args.device, model_kwargs={"dtype": getattr(torch, args.dtype)})
    if args.max_length:
        model.max_seq_length = args.max_length

    def encode(texts):
        return model.encode(texts, batch_size=args.batch_size, show_progress_bar=False)

    return encode, f"sentence-transformers {sentence_transformers.__version__}, {args.dtype}, batch {args.batch_size}"


def export_onnx(model_path, to):
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


def optimize_onnx(exported, config, to):
    """The optimizer must fuse attention, GELU and the norms of every layer; otherwise the comparison is not fair."""
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


def onnxruntime_model(args):
    """Returns the path of the optimized graph in --work, which is exported from the BERT of transformers."""
    import onnxruntime
    path = args.work / f"{args.model.resolve().name}-onnxruntime-{onnxruntime.__version__}.onnx"
    if not path.exists():
        exported, made = (path.with_suffix(suffix) for suffix in (".exported.onnx", ".made.onnx"))
        export_onnx(args.model, exported)
        optimize_onnx(exported, json.loads((args.model / "config.json").read_text()), made)
        exported.unlink()
        made.with_suffix(".json").rename(path.with_suffix(".json"))
        made.rename(path)
    return path


def load_onnxruntime(args):
    import onnxruntime
    path = onnxruntime_model(args)
    print(f"ONNX Runtime, fused operators: {path.with_suffix('.json').read_text()}", file=sys.stderr)
    tokenize, head = load_tokenizer(args), Head(args.model)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = args.threads
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_inputs()]

    def encode_batch(rows):
        inputs = padded_inputs(rows)
        return head(session.run(None, {name: inputs[name] for name in names})[0], inputs["attention_mask"])

    def encode(texts):
        return encode_rows(tokenize(texts), args.batch_size, encode_batch)

    return encode, f"ONNX Runtime {onnxruntime.__version__}, optimized, float32, batch {args.batch_size}"


def converted_openvino(args):
    import openvino
    import torch
    import transformers
    model = transformers.AutoModel.from_pretrained(str(args.model), dtype=torch.float32, add_pooling_layer=False).eval()
    ids = torch.full((2, 16), 1000)
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "token_type_ids": torch.zeros_like(ids)}
    return openvino.convert_model(model, example_input=inputs)


def quantized_openvino(args, model):
    """Post-training quantization of NNCF for transformers, calibrated with the first rows of the input."""
    import nncf
    tokenize = load_tokenizer(args)
    feeds = [padded_inputs([ids]) for ids in tokenize(read_rows(args)[:CALIBRATION_ROWS])]
    return nncf.quantize(model, nncf.Dataset(feeds), model_type=nncf.ModelType.TRANSFORMER, subset_size=len(feeds))


def openvino_model(args):
    """Returns the path of the converted model in --work. The other types are compiled from the float32 model."""
    import openvino
    kind = "int8" if args.dtype == "int8" else "float32"
    folder = args.work / f"{args.model.resolve().name}-openvino-{openvino.__version__.split('-')[0]}-{kind}"
    if not folder.exists():
        model = converted_openvino(args)
        if kind == "int8":
            model = quantized_openvino(args, model)
        partial = folder.with_name(folder.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        openvino.save_model(model, partial / "model.xml", compress_to_fp16=False)
        partial.rename(folder)
    return folder / "model.xml"


def load_openvino(args):
    """bfloat16 is OpenVINO's precision hint, which it refuses or ignores on a processor without instructions for it."""
    import openvino
    tokenize, head = load_tokenizer(args), Head(args.model)
    hint = "bf16" if args.dtype == "bfloat16" else "f32"
    core = openvino.Core()
    if hint == "bf16" and "BF16" not in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
        print("this processor has no bfloat16 for OpenVINO")
        raise SystemExit(CANNOT)
    model = core.compile_model(openvino_model(args), "CPU", {
        "INFERENCE_PRECISION_HINT": hint, "INFERENCE_NUM_THREADS": args.threads, "PERFORMANCE_HINT": "LATENCY"})
    request = model.create_infer_request()

    def encode_batch(rows):
        inputs = padded_inputs(rows)
        states = request.infer(inputs, share_inputs=True, share_outputs=True)[0]
        return head(states, inputs["attention_mask"])

    def encode(texts):
        return encode_rows(tokenize(texts), args.batch_size, encode_batch)

    return encode, f"OpenVINO {openvino.__version__.split('-')[0]}, {args.dtype}, batch {args.batch_size}"


def llama_cpp_model(args):
    """The folder llama.cpp in --work has the sources of llama.cpp, whose script converts the model."""
    import llama_cpp
    path = args.work / f"{args.model.resolve().name}-llama-cpp-{llama_cpp.__version__}-{args.dtype}.gguf"
    if not path.exists():
        partial = path.with_suffix(".partial")
        converter = args.work / "llama.cpp" / "convert_hf_to_gguf.py"
        subprocess.run([sys.executable, converter, args.model, "--outfile", partial, "--outtype", args.dtype],
                       check=True, stdout=sys.stderr)
        partial.rename(path)
    return path


def load_llama_cpp(args):
    """A batch has at most --batch-size tokens; more are slower, because llama.cpp computes the attention of a batch over all its
    tokens."""
    import llama_cpp
    import llama_cpp.llama_tokenizer

    class FileTokenizer(llama_cpp.llama_tokenizer.BaseLlamaTokenizer):
        """Gives texts the ids of tokenizer.json, so that every peer encodes the same tokens."""

        def __init__(self, tokenize):
            self.ids_of = tokenize

        def tokenize(self, text, add_bos=True, special=True):
            return self.ids_of([text.decode()])[0]

        def detokenize(self, tokens, prev_tokens=None, special=False):
            raise NotImplementedError("a peer only encodes")

    model = llama_cpp.Llama(str(llama_cpp_model(args)), embedding=True, n_ctx=args.batch_size, n_batch=args.batch_size,
                            n_ubatch=args.batch_size, n_threads=args.threads, n_threads_batch=args.threads, n_gpu_layers=0,
                            verbose=False, tokenizer=FileTokenizer(load_tokenizer(args)))

    def encode(texts):
        return np.array(model.embed(texts, normalize=True), dtype=np.float32)

    return encode, f"llama.cpp (llama-cpp-python {llama_cpp.__version__}), {args.dtype}, batch of {args.batch_size} tokens"


def ctranslate2_model(args):
    import ctranslate2
    path = args.work / f"{args.model.resolve().name}-ctranslate2-{ctranslate2.__version__}-{args.dtype}"
    if not path.exists():
        quantization = None if args.dtype == "float32" else args.dtype
        partial = path.with_suffix(".partial")
        ctranslate2.converters.TransformersConverter(str(args.model)).convert(str(partial), quantization=quantization,
                                                                              force=True)
        partial.rename(path)
    return path


def load_ctranslate2(args):
    """Each thread computes one batch (inter_threads), which is faster than all threads on one batch."""
    import ctranslate2
    tokenize, head = load_tokenizer(args), Head(args.model)
    model = ctranslate2.Encoder(str(ctranslate2_model(args)), device=args.device, compute_type=args.dtype,
                                inter_threads=args.threads, intra_threads=1)

    def encode_batch(ids):
        states = np.array(model.forward_batch(ids).last_hidden_state)
        lengths = np.array([len(row) for row in ids])
        return head(states, np.arange(states.shape[1]) < lengths[:, None])

    def encode(texts):
        return encode_rows(tokenize(texts), args.batch_size, encode_batch, args.threads)

    return encode, f"CTranslate2 {ctranslate2.__version__}, {model.compute_type}, batch {args.batch_size}"


PEERS = {
    "sentence-transformers": Peer(("sentence_transformers", "torch"), load_sentence_transformers, 32),
    "onnxruntime": Peer(("onnxruntime",), load_onnxruntime, 16),
    "openvino": Peer(("openvino",), load_openvino, 32),
    "llama-cpp": Peer(("llama_cpp", "llama_cpp.llama_tokenizer"), load_llama_cpp, 512),
    "ctranslate2": Peer(("ctranslate2",), load_ctranslate2, 8),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("--model", type=pathlib.Path, required=True)
    parser.add_argument("--input", type=pathlib.Path, required=True)
    parser.add_argument("--field", default="text")
    parser.add_argument("--output", type=pathlib.Path, help="the file for the matrix, float32 .npy")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("/tmp"), help="a folder for converted models")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--batch-size", type=int, help="the default is the fastest one of the peer")
    parser.add_argument("--max-length", type=int, default=0, help="tokens of a row (0: the limit of the model)")
    args = parser.parse_args()
    args.batch_size = args.batch_size or PEERS[args.peer].batch_size
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["TRANSFORMERS_VERBOSITY"] = "error"
    run(args)


if __name__ == "__main__":
    main()
