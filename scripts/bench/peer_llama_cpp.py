#!/usr/bin/env python3
"""Runs llama.cpp as a peer: Llama.embed() of llama-cpp-python. peer.py describes the output.

    peer_llama_cpp.py --model DIR --input rows.jsonl --threads N --dtype f16|q8_0 --work DIR [--output out.npy]

The folder llama.cpp in --work has the sources of llama.cpp, whose script converts the model. The texts get the ids of tokenizer.json, so
that every peer encodes the same tokens. A batch has at most --batch-size tokens; more are slower, because llama.cpp computes the
attention of a batch over all its tokens.
"""
import subprocess
import sys

import llama_cpp
import llama_cpp.llama_tokenizer
import numpy as np

import peer


class FileTokenizer(llama_cpp.llama_tokenizer.BaseLlamaTokenizer):
    def __init__(self, tokenize):
        self.ids_of = tokenize

    def tokenize(self, text, add_bos=True, special=True):
        return self.ids_of([text.decode()])[0]

    def detokenize(self, tokens, prev_tokens=None, special=False):
        raise NotImplementedError("a peer only encodes")


def converted_model(args):
    path = args.work / f"{args.model.resolve().name}-llama-cpp-{llama_cpp.__version__}-{args.dtype}.gguf"
    if not path.exists():
        partial = path.with_suffix(".partial")
        converter = args.work / "llama.cpp" / "convert_hf_to_gguf.py"
        subprocess.run([sys.executable, converter, args.model, "--outfile", partial, "--outtype", args.dtype],
                       check=True, stdout=sys.stderr)
        partial.rename(path)
    return path


def load(args):
    model = llama_cpp.Llama(str(converted_model(args)), embedding=True, n_ctx=args.batch_size, n_batch=args.batch_size,
                            n_ubatch=args.batch_size, n_threads=args.threads, n_threads_batch=args.threads, n_gpu_layers=0,
                            verbose=False, tokenizer=FileTokenizer(peer.load_tokenizer(args)))

    def encode(texts):
        return np.array(model.embed(texts, normalize=True), dtype=np.float32)

    return encode, f"llama.cpp (llama-cpp-python {llama_cpp.__version__}), {args.dtype}, batch of {args.batch_size} tokens"


if __name__ == "__main__":
    peer.run(peer.arguments(__doc__, batch_size=512).parse_args(), load)
