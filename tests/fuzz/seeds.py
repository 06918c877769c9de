#!/usr/bin/env python3
"""Writes real files as the first inputs of a fuzzer.

usage: seeds.py FUZZER FOLDER

Each input begins with the bytes with which the fuzzer chooses what it reads (see the source of the fuzzer).
"""
import base64
import json
import pathlib
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DATA = ROOT / "tests" / "data"
MAX_BYTES = 64 << 10

# The files of a model directory in the order of fuzz_model_dir_json.cc.
MODEL_FILES = ["config.json", "modules.json", "1_Pooling/config.json", "2_Dense/config.json", "sentence_bert_config.json",
               "tokenizer_config.json", "config_sentence_transformers.json", "model.safetensors.index.json"]

RECORD = (b'{"stream":"ab","index":1,"rows":[4,8],"file_bytes":192,"xxh3_128":"0123","stats":{"tokens":28,"truncated_rows":1,'
          b'"lost_tokens":3,"zero_token_rows":0,"redone_rows":0,"set_aside_rows":1},"device":"cpu","libtorch":"2.11.0","driver":"",'
          b'"batch_tokens":512,"ledger":{"file_bytes":9,"xxh3_128":"ab"},"set_aside":{"file_bytes":9,"xxh3_128":"ab"}}\n')
STREAM = (b'{"format":3,"name":"train_tc","rows":30,"dim":4,"chunk_rows":4,"dtype":"<f4","fingerprint":{"seed":1}}\n')
MANIFEST = (b'{"format":3,"name":"train_tc","rows":30,"dim":4,"dtype":"<f4","output_dtype":"float32","columns":4,"ranges":null,'
            b'"file_bytes":608,"xxh3_128":"ab","stats":{"tokens":28,"truncated_rows":1,"lost_tokens":3,"zero_token_rows":0},'
            b'"origins":[{"device":"cpu"}],"parts":[],"ledger":{"file_bytes":0,"xxh3_128":"ab"},"offsets":null,'
            b'"fingerprint":{"seed":1},"quarantine":"zeros","dropped_rows":0,"set_aside":{"file_bytes":9,"xxh3_128":"ab"}}\n')
SET_ASIDE = b'{"code":"device.cuda","message":"illegal address","row":5}\n{"code":"c","message":"m","row":6}\n'
FILE_LIST = (b'{"bytes":[5,6],"first_row":[0,3],"inode":[1,2],"mtime_ns":[7,8],"path":["a","b"],"sha256":["' + b"0" * 64 + b'",""]}\n'
             b'"files":2,"first_files":[0],"format":1,"kind":"input_files"}\n')
FAULT = (b'{"time":1,"type":"bad_row","action":"row_set_aside","stream":"train_tc","chunk":3,"rows":[5,6],"code":"device.cuda",'
         b'"message":"m","config":"c.yaml","model":"m","dtype":"float32","device":"cpu"}\n')
ATTEMPTS = (b'{"fingerprints":{"train_tc":"ab"},"streams":{"train_tc":{"window":[0,8],"failures":1,"search":[0,8],"probe":[0,1],'
            b'"set_aside":[{"row":7,"code":"c","message":"m"}],"alone_failures":1,"budgets":{"gpu":4096}}}}\n')
EVENTS = [b'{"kind":"batch","unit":0,"rows_done":5,"tokens_done":60}', b'{"kind":"log","level":"info","message":"m"}',
          b'{"kind":"error","error":{"exit_code":75,"code":"c","what":"w","where":"","expected":"","found":"","hint":"h"}}']


def tokenizer_seeds(fuzzer):
    """Yields the inputs of a fuzzer of tokenizers."""
    if fuzzer == "fuzz_tokenizer_load":
        for path in sorted(DATA.rglob("tokenizer.json")):
            yield path.read_bytes()
    elif fuzzer == "fuzz_tokenizer_encode":
        for family in range(10):
            yield bytes([family, 1, 2, 33]) + "Hello, wörld! 你好\n".encode()
    elif fuzzer == "fuzz_passages":
        text = "One two. Three 3.5!\n\nDr. Four, wörld. 你好。世界\r\n".encode() * 3
        for family in range(5):
            for rule in range(6):
                yield bytes([family, rule, 20, 3, 9]) + text
    elif fuzzer == "fuzz_slow_tokenizer":
        for line in (DATA / "tokenizer" / "slow_tokenizers.jsonl").read_text().splitlines():
            for file, content in json.loads(line)["files"].items():
                if file.endswith(".model"):
                    for layout in range(7):
                        yield bytes([layout]) + base64.b64decode(content)
        yield b"\x07[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nhello\n##wo\n"
        yield b"\x08<cls>\n<pad>\n<eos>\n<unk>\nL\nA\n<mask>\n"
        for layout in (9, 10):
            yield bytes([layout]) + (b'{"<s>":0,"</s>":1,"<unk>":2,"H":3,"e":4,"He":5}\0\0#version: 0.2\nH e\n')


def seeds(fuzzer):
    """Yields the inputs of a fuzzer."""
    models = sorted((DATA / "models").iterdir()) + sorted((DATA / "sentence_transformers").iterdir())
    if fuzzer == "fuzz_text":
        for path in sorted((DATA / "text").rglob("*")) + [DATA / "minilm" / "texts.jsonl"]:
            if path.is_file():
                for choice in range(4):
                    yield bytes([choice, 63, 7]) + path.read_bytes()[:2000]
        yield bytes([1, 128 + 63, 7]) + b'[{"a":"x","b":[1,{"c":"]"}]},\n {"a":[7]}, {"a":1e999}]'
        yield bytes([1, 192 + 63, 7]) + b'["x", "y\\n", [1, 2]]'
    elif fuzzer == "fuzz_columnar":
        for path in sorted((DATA / "arrow").rglob("*.*")):
            yield bytes([int(path.suffix == ".parquet") + 2 * int(path.stem == "ids")]) + path.read_bytes()
    elif fuzzer == "fuzz_config":
        for path in sorted((ROOT / "configs").glob("*.yaml")):
            yield path.read_bytes()
    elif fuzzer == "fuzz_safetensors":
        for path in sorted(DATA.rglob("*.safetensors")):
            yield path.read_bytes()
    elif fuzzer == "fuzz_torch_weights":
        for path in sorted((DATA / "pickled").rglob("*.bin")):
            yield b"\x00" + path.read_bytes()
            if zipfile.is_zipfile(path):
                with zipfile.ZipFile(path) as archive:
                    for name in archive.namelist():
                        if name.endswith("/data.pkl"):
                            yield b"\x01" + archive.read(name)
    elif fuzzer == "fuzz_model_dir_json":
        for model in models:
            for number, name in enumerate(MODEL_FILES):
                if (model / name).is_file():
                    yield bytes([number]) + (model / name).read_bytes()
    elif fuzzer == "fuzz_store":
        for number, text in enumerate([STREAM, RECORD, SET_ASIDE, MANIFEST]):
            yield bytes([number]) + text
            yield bytes([128 + number]) + text
        yield bytes([5]) + FILE_LIST
    elif fuzzer == "fuzz_messages":
        yield b"\x00" + (ROOT / "tests" / "fuzz" / "job.json").read_bytes()
        for text in EVENTS:
            yield b"\x01" + text
        yield b"\x02" + FAULT
        yield b"\x03" + b'{"time":1,"host_rss_bytes":5}\n'
        yield b"\x04" + b'{"state":"encoding","rows_done":5}'
        yield b"\x05" + ATTEMPTS
    else:
        yield from tokenizer_seeds(fuzzer)


def main():
    fuzzer, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    for number, content in enumerate(seeds(fuzzer)):
        if len(content) <= MAX_BYTES:
            (folder / f"seed_{number:04}").write_bytes(content)


if __name__ == "__main__":
    main()
