#!/usr/bin/env python3
"""Compares the ids of encode with those of transformers' AutoTokenizer for random directories of tokenizers.

  check_auto_tokenizer.py --python4 PYTHON --python5 PYTHON [--count N] [--family NAME ..] [--seed N] [--record FILE]

PYTHON4 has transformers 4.57.6 and PYTHON5 has transformers 5.17.0. Each directory has a random combination of files and keys
(auto_tokenizer_cases.py, older_tokenizers.py), and is tokenized by both versions and by encode, with and without truncation. docs/tokenizers.md
says which version encode follows for which class. encode must give the ids of that version or refuse the directory. Where that
version cannot load the directory, encode must refuse it too, or give the ids of the other version.

The program prints a Markdown table of the classes. The exit code is 1 if any ids differ; --keep FOLDER keeps these directories.
--record writes the directories as JSON lines, as differences from the tokenizers in tests/data/tokenizer, with the ids of the
followed version, or null if encode refuses the directory.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


def serve():
    """The reference: reads {"folder", "texts", "length"} from each line, and writes {"ids"} or {"error"}."""
    import logging
    import warnings
    warnings.simplefilter("ignore")
    import transformers
    transformers.logging.set_verbosity(logging.CRITICAL)
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(request["folder"], local_files_only=True)
            answer = {"ids": [tokenizer(request["texts"])["input_ids"],
                              tokenizer(request["texts"], truncation=True, max_length=request["length"])["input_ids"]]}
        except BaseException as error:  # a panic of `tokenizers` is no Exception
            answer = {"error": f"{type(error).__name__}: {error}"[:200]}
        output.write(json.dumps(answer) + "\n")
        output.flush()


class Reference:
    def __init__(self, python):
        environment = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen([python, __file__, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, env=environment)

    def ask(self, request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def encode_ids(tool, folder, texts, length):
    """Returns {"ids"} or {"error"} of encode."""
    rows = "".join(json.dumps(text) + "\n" for text in texts)
    found = []
    for options in ([], ["--max-length", str(length)]):
        result = subprocess.run([tool, folder, *options], input=rows, capture_output=True, text=True, timeout=60)
        if result.returncode not in (0, 66, 78):
            return {"crash": f"exit code {result.returncode}: {result.stderr[:300]}"}
        if result.returncode:
            return {"error": result.stderr.strip()}
        found.append([json.loads(line) for line in result.stdout.splitlines()])
    return {"ids": found}


def followed_version(files):
    """Returns 5 for the directories in which encode follows transformers 5, else 4."""
    config = files.get("tokenizer_config.json", {})
    name = config.get("tokenizer_class") or files["config.json"].get("tokenizer_class") or ""
    return 5 if name in ("TokenizersBackend", "MadeUpTokenizer", "MadeUpTokenizerFast") else 4


def in_form_of_4(files):
    """Changes what only transformers 5 writes into the form of transformers 4.

    A list of extra_special_tokens becomes additional_special_tokens. The special tokens around a text, which transformers 5
    leaves to tokenizer.json, become add_bos_token and add_eos_token.
    """
    config = dict(files.get("tokenizer_config.json", {}))
    if isinstance(config.get("extra_special_tokens"), list):
        extra = config.pop("extra_special_tokens")
        if extra:
            config["additional_special_tokens"] = (config.get("additional_special_tokens") or []) + extra
    keys = ("add_bos_token", "add_eos_token")
    if "backend" in config and "tokenizer.json" in files and takes_bos_eos(files) and not any(key in config for key in keys):
        single = (files["tokenizer.json"]["post_processor"] or {}).get("single", [{"Sequence": {}}])
        text = next(index for index, piece in enumerate(single) if "Sequence" in piece)
        config.update(zip(keys, (text > 0, text < len(single) - 1)))
    return {**files, "tokenizer_config.json": config} if "tokenizer_config.json" in files else files


def takes_bos_eos(files):
    config = files["config.json"]
    name = files.get("tokenizer_config.json", {}).get("tokenizer_class") or config.get("tokenizer_class")
    classes = ("LlamaTokenizer", "CodeLlamaTokenizer", "GemmaTokenizer", "CohereTokenizer", "GPTNeoXTokenizer")
    types = ("llama", "mistral", "gemma", "gemma3_text", "code_llama", "cohere", "gpt_neox")
    return name.removesuffix("Fast") in classes if name else config["model_type"] in types


def write_files(folder, files):
    for name, value in files.items():
        path = pathlib.Path(folder, name)
        if isinstance(value, bytes):
            path.write_bytes(value)
        else:
            path.write_text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), encoding="utf-8")


def judge(ours, references, followed):
    """Returns the verdict about one directory."""
    first, other = references[followed], references[9 - followed]
    if "crash" in ours:
        return "crash"
    if "error" in ours:
        return "refused" if "ids" in first else "refused by both"
    if "ids" in first:
        return "equal" if ours["ids"] == first["ids"] else "DIFFERENT"
    if "ids" in other and ours["ids"] == other["ids"]:
        return "equal to the other version"
    return "equal to none" if "ids" in other else "accepted alone"


BAD = ("crash", "DIFFERENT", "equal to none")


def recorded(case, texts, length, ids):
    """Of tokenizer.json the record has all but the model, if that is the one of the base."""
    files = dict(case.files)
    files["tokenizer.json"] = {key: value for key, value in files["tokenizer.json"].items() if key != "model" or not case.base}
    return {"class": case.family, "base": case.base, "renames": case.renames, "files": files, "texts": texts, "length": length,
            "ids": ids}


def check(arguments):
    import auto_tokenizer_cases
    import older_tokenizers
    families = {**auto_tokenizer_cases.FAMILIES, **older_tokenizers.FAMILIES}
    references = {4: Reference(arguments.python4), 5: Reference(arguments.python5)}
    counts = collections.defaultdict(collections.Counter)
    records, refusals = [], collections.Counter()
    source = random.Random(arguments.seed)
    for number in range(arguments.count):
        name = (arguments.family or list(families))[number % len(arguments.family or families)]
        case = families[name](source)
        texts, length = case.texts(source, arguments.rows), source.randint(3, 12)
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as folder4:
            write_files(folder, case.files)
            write_files(folder4, in_form_of_4(case.files))
            request = {"texts": texts, "length": length}
            found = {version: reference.ask({"folder": folder4 if version == 4 else folder, **request})
                     for version, reference in references.items()}
            ours = encode_ids(arguments.tool, folder, texts, length)
        followed = followed_version(case.files)
        verdict = judge(ours, found, followed)
        counts[case.family][verdict] += 1
        counts[case.family]["4 and 5 differ"] += found[4].get("ids") != found[5].get("ids")
        if verdict == "refused":
            refusals[refusal_reason(ours["error"])] += 1
        if verdict in BAD or (verdict == "accepted alone" and arguments.verbose):
            report(arguments, number, case, texts, found, ours, verdict)
        if "tokenizer.json" in case.files and verdict in ("equal", "refused", "refused by both"):
            records.append(recorded(case, texts, length, found[followed]["ids"] if verdict == "equal" else None))
    for reference in references.values():
        reference.close()
    if arguments.record:
        arguments.record.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")
    print_table(counts, refusals)
    return any(counter[verdict] for counter in counts.values() for verdict in BAD)


def refusal_reason(message):
    """Returns the code and the first words of a refusal; names in it become '..'."""
    return re.sub(r"'[^' ]+'", "'..'", message.split("\n")[0].removeprefix("error"))[:150]


def report(arguments, number, case, texts, found, ours, verdict):
    print(f"{verdict}: directory {number}, {case.family}, {json.dumps(case.files.get('tokenizer_config.json'))[:600]}", file=sys.stderr)
    if "ids" in ours:
        for version in (4, 5):
            for text, expected, actual in zip(texts, found[version].get("ids", [[]])[0], ours["ids"][0]):
                if expected != actual:
                    print(f"  {version}: {text!r}: {expected}, encode {actual}", file=sys.stderr)
                    break
            if "error" in found[version]:
                print(f"  {version}: {found[version]['error']}", file=sys.stderr)
    else:
        print(f"  {ours}", file=sys.stderr)
    if arguments.keep:
        folder = arguments.keep / str(number)
        folder.mkdir(parents=True, exist_ok=True)
        write_files(folder, case.files)
        (folder / "texts.json").write_text(json.dumps(texts), encoding="utf-8")


def print_table(counts, refusals):
    verdicts = sorted({verdict for counter in counts.values() for verdict in counter})
    print(f"| class | {' | '.join(verdicts)} |\n|---|{'---|' * len(verdicts)}")
    for family, counter in sorted(counts.items()):
        print(f"| {family} | {' | '.join(str(counter[verdict]) for verdict in verdicts)} |")
    print()
    for message, count in refusals.most_common():
        print(f"refused {count} times although the followed version loads it: {message}")


def main():
    if sys.argv[1:] == ["--serve"]:
        return serve()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python4", required=True)
    parser.add_argument("--python5", required=True)
    parser.add_argument("--tool", default="build/bin/tokenize_lines")
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--rows", type=int, default=12)
    parser.add_argument("--family", nargs="+")
    parser.add_argument("--seed", type=int, default=30)
    parser.add_argument("--record", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--verbose", action="store_true", help="also show the directories that only encode loads")
    return 1 if check(parser.parse_args()) else 0


if __name__ == "__main__":
    sys.exit(main())
