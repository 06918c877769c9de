"""docs/models-coverage.md, made from the tables."""
import difflib
import json
import pathlib
import sys

import layout

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs/models-coverage.md"
SOURCES = layout.REPOSITORIES["sources"]
INTRODUCTION = """\
# Repositories that were checked

This page lists {count} well-known repositories of the Hugging Face hub, and says for each whether `encode` works with a directory of
its layout. The layout is the set of files, the keys of config.json, tokenizer_config.json and the modules, the kind of the
tokenizer, and the names and types of the tensors.

`scripts/check_hub_layouts.py` writes such a directory for each row, with smaller sizes, a small vocabulary of the same kind and
random weights. It compares the token ids and the vectors of `encode` (float32, on the CPU) with sentence-transformers on 14
texts, and with the prompt of the column. No id may differ, and no element may differ by more than 1e-5. It also checks that
`encode` refuses the rows that are refused, with the named error. This page is made from the tables in
`scripts/hub_layouts/repositories.json` (`--write-page`), after a run in which every row was as its table says. The real weights were
not used.

| state | rows | meaning |
|---|---|---|
| works | {works} | the vectors are those of the reference |
| works by recipe | {recipes} | the repository names Python code of its own; `encode` does natively what this code does ([models.md](models.md)) |
| refused | {refused} | `encode` ends with exit code 78 before it reads weights, and the message says why |

{confirmed} rows that work have a public source for the modules and the pooling. The column "sources" names it; the
[list of sources](#sources) says what each source shows. `hub@REVISION` is the page of the repository itself on the hub, at this
revision. The keys that no source shows are those of the row's family. A row without a source for its modules has the note "layout
unconfirmed".

## Which version is followed

The reference is transformers 5.17 with sentence-transformers 6.0, and also transformers 4.57 with sentence-transformers 5.1. Both
give the same ids and vectors, except in the rows with a note. One difference concerns every row: sentence-transformers 5 removes
blanks at both ends of a text, version 6 and `encode` keep them. The check keeps them in both.
"""


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


def row(entry):
    config = entry.get("config") or {}
    length = (entry.get("sentence_bert") or {}).get("max_seq_length", "")
    files = (entry.get("weights") or {}).get("file", "model.safetensors")
    kind = "pickle" if files.endswith(".bin") else "safetensors"
    cells = [entry["repository"], entry["state"], config.get("model_type", "static_embedding" if entry.get("static") else ""),
             module_text(entry), str(length), prompt_text(entry), kind, sources_text(entry), notes(entry)]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def text(entries):
    states = [entry["state"] for entry in entries]
    working = [entry for entry in entries if entry["state"] != "refused"]
    lines = [INTRODUCTION.format(count=len(entries), works=states.count("works"), recipes=states.count("works by recipe"),
                                 refused=states.count("refused"), confirmed=sum(map(confirmed, working)))]
    lines += ["## Repositories", "", "| repository | state | model_type | modules | longest text | prompt | weights | sources | notes |",
              "|---|---|---|---|---|---|---|---|---|"]
    order = {"works": 0, "works by recipe": 1, "refused": 2}
    lines += [row(entry) for entry in sorted(entries, key=lambda entry: (order[entry["state"]], entry["repository"].lower()))]
    lines += ["", "## Sources", "", "| source | where | what it shows |", "|---|---|---|"]
    used = {name for entry in entries for name in entry.get("sources", [])}
    lines += [f"| {name} | {SOURCES[name]['at']} | {', '.join(SOURCES[name]['shows'])} |" for name in sorted(used)]
    return "\n".join(lines) + "\n"


def write(entries):
    PAGE.write_text(text(entries))


def differs(entries):
    """1 and the differences, if the page is not what the tables make."""
    lines = list(difflib.unified_diff(PAGE.read_text().splitlines(), text(entries).splitlines(), "docs/models-coverage.md",
                                      "from the tables", lineterm=""))
    print("\n".join(lines), file=sys.stderr)
    return int(bool(lines))
