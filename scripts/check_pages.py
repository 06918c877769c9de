#!/usr/bin/env python3
"""Runs the code blocks of pages in docs/ and compares what they print with the pages.

    check_pages.py [--encode PROGRAM] [--with NAME]... PAGE...

The blocks of a page run in their order in a fresh folder:

- ```sh blocks run with bash. The exported variables and the folder of one block are there in the next one.
- ```python blocks are programs of their own. They run with the interpreter that runs this file.
- ```text right after one of these is what the block prints on standard output. A line `...` stands for any lines, and `...` in
  a line for any characters. Without such a block nothing is compared.
- ```yaml, ```jsonl, ```csv and ```bash blocks are files if a title names them: ```yaml run.yaml writes run.yaml.
- Blocks of other languages are not run.

`<!-- needs: NAME -->` before a block says that it needs the package or the program NAME. It runs only with `--with NAME`.
CLONE is the folder of the repository, PATH has the folders of `encode` and of the interpreter, and `model` in the fresh folder
is all-MiniLM-L6-v2 of scripts/models.sh. The exit code is 1 if a block fails or prints something else.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODEL = ROOT / ".deps/models/all-MiniLM-L6-v2"
BLOCK = re.compile(r"(?:^<!-- needs: (?P<needs>[\w-]+) -->\n)?^```(?P<language>\w+)(?: (?P<title>\S+))?\n(?P<code>.*?)^```$"
                   r"(?:\n+^```text\n(?P<output>.*?)^```$)?", re.MULTILINE | re.DOTALL)
FILES = ("yaml", "jsonl", "csv", "bash")
BLOCK_SECONDS = 300


@dataclass(frozen=True)
class Block:
    line: int  # of the page
    language: str
    title: str  # the file that the block is, or ""
    code: str
    output: str | None  # what the block prints, if the page says so
    needs: str  # a package or program, or ""


def read_blocks(text):
    for match in BLOCK.finditer(text):
        yield Block(text.count("\n", 0, match.start("language")) + 1, match["language"], match["title"] or "",
                    match["code"], match["output"], match["needs"] or "")


def matches(expected, printed):
    """Compares line by line; `...` of `expected` stands for any lines, or for any characters in a line."""
    lines = [line.rstrip() for line in expected.strip().splitlines()]
    pattern = "".join("(?:.*\n)*?" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + "\n"
                      for line in lines)
    text = "".join(line.rstrip() + "\n" for line in printed.strip().splitlines())
    return re.fullmatch(pattern, text) is not None


def command(block, folder):
    """Returns the command that runs a block. A block of bash hands its exported variables and its folder on."""
    if block.language == "python":
        return [sys.executable, "-c", block.code]
    state = folder / ".state"
    load = f". {state}" if state.exists() else ":"
    return ["bash", "-euo", "pipefail", "-c", f"{load}\n{block.code}\n{{ export -p; echo \"cd '$PWD'\"; }} >{state}"]


def run_block(block, folder, environment):
    """Returns what is wrong with a block, or None."""
    if block.language in FILES and block.title:
        (folder / block.title).write_text(block.code)
        return None
    done = subprocess.run(command(block, folder), cwd=folder, env=environment, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=BLOCK_SECONDS)
    if done.returncode != 0:
        return f"exit code {done.returncode}\n{done.stdout}{done.stderr}"
    if block.output is not None and not matches(block.output, done.stdout):
        return f"the page says:\n{block.output}the block prints:\n{done.stdout}"
    return None


def check_page(page, available, environment):
    """Runs the blocks of a page until one fails, and returns whether none did."""
    ran = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "model").symlink_to(MODEL)
        for block in read_blocks(page.read_text()):
            if block.language not in ("sh", "python") and not block.title:
                continue
            if block.needs and block.needs not in available:
                print(f"{page.name}:{block.line}: not run, because it needs {block.needs}")
                continue
            problem = run_block(block, folder, environment)
            if problem:
                print(f"{page.name}:{block.line}: {problem}")
                return False
            ran += 1
    print(f"{page.name}: {ran} blocks are right")
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encode", type=pathlib.Path, default=ROOT / "build/bin/encode")
    parser.add_argument("--with", dest="available", action="append", default=[], metavar="NAME")
    parser.add_argument("pages", type=pathlib.Path, nargs="+")
    args = parser.parse_args()
    environment = dict(os.environ, CLONE=str(ROOT), PYTHONDONTWRITEBYTECODE="1",
                       PATH=f"{args.encode.resolve().parent}:{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}")
    failed = [page for page in args.pages if not check_page(page, args.available, environment)]
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
