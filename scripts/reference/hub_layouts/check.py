#!/usr/bin/env python3
"""Compares `encode` with the reference on directories that have the layouts of well-known repositories of the hub.

    check.py --python4 PYTHON --python5 PYTHON [--encode build/bin/encode] [--only NAME...] [--keep DIR] [--write-page]
    check.py --page-only        (needs neither: compares docs/models-coverage.md with the tables)

For each entry of repositories.json the program writes a directory with the files, keys and names of tensors that the repository
has, scaled down, with a small vocabulary of the same kind and with random weights. `encode tokenize` and `encode run` (float32, on
the CPU) must give the token ids and the vectors of sentence-transformers, or refuse the directory with the exit code and the
error that the table names. --only takes parts of names. --write-page makes the page from the tables, if every row is as
expected.

--python4 has transformers 4.57 and sentence-transformers 5.1, --python5 has transformers 5.17 and sentence-transformers 6.0; both
have torch 2.11, sentencepiece and einops. An entry with custom code is compared with transformers 4.57, every other entry with both;
if they differ, the table must say so and name the one that is followed. The exit code is 1 if an entry is not as its table says.
"""
import argparse
import difflib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

import layout

ROOT = pathlib.Path(__file__).resolve().parents[3]
BOUND = 1e-5  # of a vector's element, relative to the largest value if this value is above 1
LONG = "The run writes a chunk, commits it to disk and continues after an interruption. "
TEXTS = [
    "encode turns text files into embedding matrices.", "Hello World! HELLO, wORLD?", "  two  spaces\tand a tab ", "a",
    "Der Käse schmeckt größer; el niño comió piñas.", "Быстрая лиса прыгает через собаку.", "机器学习模型 and 日本語の文章です。", "مرحبا بالعالم",
    "def f(x):\n    return x ** 2  # a comment\n", "e\u0301 and \u00e9, \ufb01ne, \u2026 \u201cquotes\u201d \U0001f600", "1234567.89 and 3/4",
    "a [SEP] b </s> c <|endoftext|> d [MASK]", "MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQ", LONG * 12,
]

PAGE = ROOT / "docs/models-coverage.md"
SOURCES = layout.REPOSITORIES["sources"]
INTRODUCTION = """\
# Repositories that were checked

This page lists {count} well-known repositories of the Hugging Face hub, and says for each whether `encode` works with a directory of
its layout. The layout is the set of files, the keys of config.json, tokenizer_config.json and the modules, the kind of the
tokenizer, and the names and types of the tensors.

`scripts/reference/hub_layouts/check.py` writes such a directory for each row, with smaller sizes, a small vocabulary of the same kind and
random weights. It compares the token ids and the vectors of `encode` (float32, on the CPU) with sentence-transformers on 14
texts, and with the prompt of the column. No id may differ, and no element may differ by more than 1e-5. It also checks that
`encode` refuses the rows that are refused, with the named error. This page is made from the tables in
`scripts/reference/hub_layouts/repositories.json` (`--write-page`), after a run in which every row was as its table says. The real weights were
not used.

| state | rows | meaning |
|---|---|---|
| works | {works} | the vectors are those of the reference |
| works by recipe | {recipes} | the repository names Python code of its own; `encode` does natively what this code does ([models.md](models.md)) |
| refused | {refused} | `encode` ends with exit code 78 before it reads weights, and the message says why |

{confirmed} rows that work have a public source for the modules and the pooling. The column "sources" names it; the [list of
sources](#sources) says what each source shows. `hub@REVISION` is the page of the repository itself on the hub, at this
revision. For a key that no source shows, the check uses the value of other models of the family. A row without a source for its
modules has the note "layout unconfirmed".

## Which version is followed

The reference is transformers 5.17 with sentence-transformers 6.0, and also transformers 4.57 with sentence-transformers 5.1. Both
give the same ids and vectors, except in the rows with a note. One difference concerns every row: sentence-transformers 5 removes
blanks at both ends of a text, version 6 and `encode` keep them. The check keeps them in both.
"""


class Worker:
    """One Python environment that answers jobs (worker.py)."""

    def __init__(self, python, log):
        self.process = subprocess.Popen([python, "-B", pathlib.Path(__file__).with_name("worker.py")], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=log, text=True)

    def __call__(self, job):
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline() or '{"error": "the worker ended"}')
        if "error" in answer:
            raise RuntimeError(f"{job['do']}: {answer['error']}")
        return answer

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def largest_difference(ours, theirs):
    if ours.shape != theirs.shape:
        return float("inf")
    return float(np.abs(ours - theirs).max() / max(1.0, float(np.abs(theirs).max())))


class Check:
    def __init__(self, args, workers, entry, folder):
        self.args, self.workers, self.entry, self.folder = args, workers, entry, folder
        self.model = folder / "model"

    def make(self):
        """Writes the directory."""
        made = layout.Layout(self.entry, self.model)
        made.write(self.workers[4])
        if self.entry["state"] == "refused":
            self.write_unread_weights()
            return
        if self.entry.get("code"):
            self.workers[4]({"do": "code", "folder": str(self.model), "name": self.entry["code"]})
        weights = self.entry.get("weights", {})
        static = {name: [len(made.vocabulary()), width] for name, width in self.entry.get("static", {}).items()}
        self.workers[weights.get("transformers", 4)]({
            "do": "weights", "folder": str(self.model), "first": str(made.first), "seed": 7, "published": weights.get("published"), "class": weights.get("class", "AutoModel"),
            "file": weights.get("file", "model.safetensors"), "renames": weights.get("renames", []), "extra": weights.get("extra", {}),
            "dtype": weights.get("dtype", "float32"), "dense": made.dense, "static": static, "remote": self.remote(),
            "reference_config": self.entry.get("reference_config", {})})

    def write_unread_weights(self):
        """One tensor that no model has: the refusal must come from the other files."""
        header = b'{"unread": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}'
        (self.model / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))

    def remote(self):
        return self.entry["state"] == "works by recipe" and bool(self.entry.get("code"))

    def prompts(self):
        """None, and what the table says: the option of the prompt without its dashes, and its value."""
        options = (("prompt_name", self.entry.get("prompt")), ("prompt", self.entry.get("prompt_text")))
        return [None, *([option, value] for option, value in options if value)]

    def reference(self, version):
        """Token ids and vectors of one version of transformers."""
        output = self.folder / f"reference{version}"
        output.mkdir()
        answer = self.workers[version]({
            "do": "encode", "folder": str(self.model), "output": str(output), "texts": TEXTS, "prompts": self.prompts(),
            "remote": self.remote(), "late": bool(self.entry.get("late")), "static": bool(self.entry.get("static")), "reference_config": self.entry.get("reference_config", {}),
            "modules": self.entry.get("reference_modules"), "batch": self.entry.get("batch", 4), "eager": self.entry.get("eager", True), "published": self.entry.get("weights", {}).get("published")})
        return answer["ids"], [np.load(output / f"prompt-{number}.npy") for number in range(len(self.prompts()))]

    def encode(self, *words):
        texts = self.folder / "texts.jsonl"
        texts.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
        command = [self.args.encode, *words, "--model", self.model, "--input", texts, "--field", "text"]
        return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300)

    def ours(self):
        """Token ids and vectors of encode, or the text of its refusal."""
        ids = self.folder / "ids.jsonl"
        done = self.encode("tokenize", "--output", ids)
        if done.returncode != 0:
            return None, None, done
        rows = [json.loads(line)["input_ids"] for line in ids.read_text().splitlines()]
        vectors = []
        for number, prompt in enumerate(self.prompts()):
            output = self.folder / f"ours-{number}.npy"
            done = self.encode("run", "--output", output, "--cache-dir", self.folder / f"cache-{number}", "--device", "cpu", "--dtype",
                               "float32", "--quiet", *(["--" + prompt[0].replace("_", "-"), prompt[1]] if prompt else []))
            if done.returncode != 0:
                return rows, None, done
            vectors.append(np.load(output))
        return rows, vectors, done

    def refusal(self):
        """Whether the directory is refused as the table says, and how it is refused."""
        output = self.folder / "ours.npy"
        done = self.encode("run", "--output", output, "--cache-dir", self.folder / "cache", "--device", "cpu", "--quiet")
        expected = self.entry["error"]
        good = done.returncode == expected["exit"] and expected["code"] in done.stderr and not output.exists()
        return good, f"exit {done.returncode}: {' '.join(done.stderr.split())[:160]}"

    def compare(self, version, rows, vectors):
        """A text about the difference to one version, and whether there is none."""
        theirs, expected = self.reference(version)
        worst = max(largest_difference(*pair) for pair in zip(vectors, expected))
        wrong = [number for number, pair in enumerate(zip(rows, theirs or rows)) if pair[0] != pair[1]]
        text = f"{worst:.1e}" + (f", ids of {len(wrong)} texts (first {wrong[0]}: {TEXTS[wrong[0]][:20]!r} {rows[wrong[0]][:12]}"
                                 f" {theirs[wrong[0]][:12]})" if wrong else "")
        return text, not wrong and worst <= BOUND

    def run(self):
        """Whether the entry is as its table says, and what was seen."""
        self.make()
        if self.entry["state"] == "refused":
            return self.refusal()
        rows, vectors, done = self.ours()
        if vectors is None:
            return False, f"exit {done.returncode}: {' '.join(done.stderr.split())[:300]}"
        followed = self.entry.get("follows", 4 if self.remote() else 5)
        seen, good = {}, True
        for version in ([4] if self.remote() else self.entry.get("references", [4, 5])):
            try:
                text, same = self.compare(version, rows, vectors)
            except RuntimeError as error:
                text, same = str(error), False
            seen[version] = text
            expected = version == followed or str(version) not in self.entry.get("differs", {})
            good &= same == expected
        return good, "  ".join(f"transformers {version}: {text}" for version, text in seen.items())


def check(args, entries):
    """The names of the entries that are not as their tables say."""
    surprises = []
    with open(args.log, "w") as log:
        workers = {4: Worker(args.python4, log), 5: Worker(args.python5, log)}
        for entry in entries:
            folder = pathlib.Path(tempfile.mkdtemp(prefix=entry["repository"].replace("/", "--") + "-", dir=args.keep))
            start = time.monotonic()
            try:
                good, text = Check(args, workers, entry, folder).run()
            except Exception as error:  # the table is wrong: say so, and go on with the next entry
                good, text = False, f"{type(error).__name__}: {error}"
            print(f"{'ok  ' if good else 'FAIL'} {entry['repository']:56} {entry['state']:16} {time.monotonic() - start:5.1f} s  {text}", flush=True)
            if not good:
                surprises.append(entry["repository"])
            if args.keep is None:
                shutil.rmtree(folder)
        for worker in workers.values():
            worker.close()
    return surprises


def confirmed(entry):
    shown = [text for name in entry.get("sources", []) for text in SOURCES[name]["shows"]] + list(entry.get("hub", {}).values())
    return any("modules" in text for text in shown)


def sources_text(entry):
    pages = [f"hub@{revision[:12]} ({shown})" for revision, shown in entry.get("hub", {}).items()]
    return " ".join([*entry.get("sources", []), *pages])


def module_text(entry):
    """The modules after the transformer."""
    if entry.get("static"):
        return "StaticEmbedding"
    if not entry.get("modules"):
        return "no modules.json: " + entry.get("reference_modules", "mean")
    names = []
    for text in entry["modules"][1:]:
        name, *settings = text.split(":")
        names.append(settings[0] if name == "Pooling" else name.split(".")[-1])
    return ", ".join(names)


def prompt_text(entry):
    text = entry.get("prompt_text")
    return f"`{json.dumps(text)[1:-1]}`" if text else entry.get("prompt") or ""


def notes(entry):
    texts = []
    if entry["state"] == "refused":
        texts.append(f"`{entry['error']['code']}`: {entry['reason']}")
    elif not confirmed(entry):
        texts.append("layout unconfirmed")
    if entry.get("follows"):
        texts.append(f"transformers {entry['follows']} is followed")
    for version, reason in sorted(entry.get("differs", {}).items()):
        texts.append(f"transformers {version} differs: {reason}")
    if entry.get("note"):
        texts.append(entry["note"])
    return "; ".join(texts)


def page_row(entry):
    config = entry.get("config") or {}
    length = (entry.get("sentence_bert") or {}).get("max_seq_length", "")
    files = (entry.get("weights") or {}).get("file", "model.safetensors")
    kind = "pickle" if files.endswith(".bin") else "safetensors"
    cells = [entry["repository"], entry["state"], config.get("model_type", "static_embedding" if entry.get("static") else ""),
             module_text(entry), str(length), prompt_text(entry), kind, sources_text(entry), notes(entry)]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def page_text(entries):
    states = [entry["state"] for entry in entries]
    working = [entry for entry in entries if entry["state"] != "refused"]
    lines = [INTRODUCTION.format(count=len(entries), works=states.count("works"), recipes=states.count("works by recipe"),
                                 refused=states.count("refused"), confirmed=sum(map(confirmed, working)))]
    lines += ["## Repositories", "", "| repository | state | model_type | modules | longest text | prompt | weights | sources | notes |",
              "|---|---|---|---|---|---|---|---|---|"]
    order = {"works": 0, "works by recipe": 1, "refused": 2}
    lines += [page_row(entry) for entry in sorted(entries, key=lambda entry: (order[entry["state"]], entry["repository"].lower()))]
    lines += ["", "## Sources", "", "| source | where | what it shows |", "|---|---|---|"]
    used = {name for entry in entries for name in entry.get("sources", [])}
    lines += [f"| {name} | {SOURCES[name]['at']} | {', '.join(SOURCES[name]['shows'])} |" for name in sorted(used)]
    return "\n".join(lines) + "\n"


def page_differs(entries):
    """1 and the differences, if the page is not what the tables make."""
    lines = list(difflib.unified_diff(PAGE.read_text().splitlines(), page_text(entries).splitlines(), "docs/models-coverage.md",
                                      "from the tables", lineterm=""))
    print("\n".join(lines), file=sys.stderr)
    return int(bool(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python4")
    parser.add_argument("--python5")
    parser.add_argument("--encode", type=pathlib.Path, default=ROOT / "build/bin/encode")
    parser.add_argument("--only", nargs="*", default=[], help="parts of the names of repositories")
    parser.add_argument("--keep", type=pathlib.Path, help="make the directories here and keep them")
    parser.add_argument("--log", default="/dev/null", help="file for what the references print")
    parser.add_argument("--write-page", action="store_true")
    parser.add_argument("--page-only", action="store_true")
    args = parser.parse_args()
    entries = layout.repositories()
    if args.page_only:
        sys.exit(page_differs(entries))
    if not args.python4 or not args.python5:
        parser.error("--python4 and --python5 name the two environments of the references")
    chosen = [entry for entry in entries if not args.only or any(part in entry["repository"] for part in args.only)]
    surprises = check(args, chosen)
    print(f"{len(chosen)} repositories, {len(surprises)} not as expected{': ' + ', '.join(surprises) if surprises else ''}")
    if args.write_page and not surprises:
        PAGE.write_text(page_text(entries))
    sys.exit(bool(surprises))


if __name__ == "__main__":
    main()
