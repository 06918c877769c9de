#!/usr/bin/env python3
"""Runs the code blocks of README.md and of pages in docs/ and compares what they print with the pages.

    check_pages.py [--encode PROGRAM | --installed ROOT] [--with NAME]... PAGE...

The blocks of a page run in their order, as if a user pasted them into one shell:

- ```sh blocks run with bash. The exported variables and the folder of one block are there in the next one.
- ```text right after one of these is what the block prints on standard output. A line `...` stands for any lines, and `...` in
  a line for any characters. Without such a block nothing is compared.
- Blocks of other languages are not run.

The first block starts in a stand-in for a clone in which scripts/quickstart.sh has run: it has the same files and programs, the
demo model and a small sample. Nothing else is prepared. PATH has the folder of the interpreter that runs this file.

`<!-- needs: NAME -->` before a block says that it needs the package NAME, or the network. It runs only with `--with NAME`, except
these: `clone` stands for a block that runs only in the clone, and `package` for one that takes its place if `encode` is installed.

With --installed the blocks run in another system, in the folder ROOT: chroot needs root. `encode` is installed there, and the first
block starts in an empty folder. HF_ENDPOINT and no_proxy are handed on.
The exit code is 1 if a block fails or prints something else.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = ROOT / ".deps/models/all-MiniLM-L6-v2"
BLOCK = re.compile(r"(?:^<!-- needs: (?P<needs>[\w-]+) -->\n)?^```(?P<language>\w+)\n(?P<code>.*?)^```$"
                   r"(?:\n+^```text\n(?P<output>.*?)^```$)?", re.MULTILINE | re.DOTALL)
BLOCK_SECONDS = 300
SAMPLE_ROWS = 20


@dataclass(frozen=True)
class Block:
    line: int  # of the page
    language: str
    code: str
    output: str | None  # what the block prints, if the page says so
    needs: str  # a package or "network", or ""


def read_blocks(text):
    for match in BLOCK.finditer(text):
        yield Block(text.count("\n", 0, match.start("language")) + 1, match["language"], match["code"], match["output"],
                    match["needs"] or "")


def matches(expected, printed):
    """Compares line by line; `...` of `expected` stands for any lines, or for any characters in a line."""
    lines = [line.rstrip() for line in expected.strip().splitlines()]
    pattern = "".join("(?:.*\n)*?" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + "\n"
                      for line in lines)
    text = "".join(line.rstrip() + "\n" for line in printed.strip().splitlines())
    return re.fullmatch(pattern, text) is not None


def make_clone(folder, encode):
    """Makes the stand-in for a clone, with the programs that are beside `encode`."""
    clone = folder / "clone"
    for name in ("build", ".deps/models", ".deps/quickstart"):
        (clone / name).mkdir(parents=True)
    for name in ("README.md", "configs", "docs", "python", "scripts", "tests"):
        (clone / name).symlink_to(ROOT / name)
    (clone / "build/bin").symlink_to(encode.resolve().parent)
    (clone / ".deps/models" / MODEL.name).symlink_to(MODEL)
    for kind in ("tests", "changes"):
        rows = (json.dumps({"text": f"row {row} of the {kind}", "source": kind}) for row in range(SAMPLE_ROWS))
        (clone / f".deps/quickstart/{kind}.jsonl").write_text("\n".join(rows) + "\n")


@dataclass(frozen=True)
class Place:
    """Where the blocks of a page run."""
    folder: pathlib.Path
    start: str  # the folder of the first block
    environment: dict
    root: pathlib.Path = pathlib.Path("/")  # of the system

    def inside(self, name):
        return pathlib.Path("/") / (self.folder / name).relative_to(self.root)


def place_in_clone(folder, encode):
    make_clone(folder, encode)
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", TMPDIR=str(folder),
                       PATH=f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}")
    environment.pop("CLONE", None)
    return Place(folder, "clone", environment)


def place_in_system(folder, root):
    handed = {name: os.environ[name] for name in ("HF_ENDPOINT", "no_proxy") if name in os.environ}
    (folder / "start").mkdir()
    (folder / "home").mkdir()
    place = Place(folder, "start", {}, root)
    return Place(folder, "start", {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "HOME": str(place.inside("home")),
                                   "TMPDIR": str(place.inside(".")), **handed}, root)


def run_block(block, place):
    """Returns what is wrong with a block, or None. A block hands its exported variables and its folder on."""
    state = place.inside("state")
    load = f". {state}" if (place.folder / "state").exists() else f"cd {place.inside(place.start)}"
    script = f"{load}\n{block.code}\n{{ export -p; echo \"cd '$PWD'\"; }} >{state}"
    words = ["bash", "-euo", "pipefail", "-c", script]
    if place.root != pathlib.Path("/"):
        words = ["chroot", place.root, *words]
    done = subprocess.run(words, env=place.environment, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=BLOCK_SECONDS)
    if done.returncode != 0:
        return f"exit code {done.returncode}\n{done.stdout}{done.stderr}"
    if block.output is not None and not matches(block.output, done.stdout):
        return f"the page says:\n{block.output}the block prints:\n{done.stdout}"
    return None


def check_page(page, args):
    """Runs the blocks of a page until one fails, and returns whether none did."""
    ran = 0
    root = args.installed.resolve() if args.installed else None
    available = [*args.available, "package" if root else "clone"]
    with tempfile.TemporaryDirectory(dir=root and root / "tmp") as name:
        folder = pathlib.Path(name)
        place = place_in_system(folder, root) if root else place_in_clone(folder, args.encode)
        for block in read_blocks(page.read_text()):
            if block.language != "sh":
                continue
            if block.needs and block.needs not in available:
                print(f"{page.name}:{block.line}: not run, because it needs {block.needs}")
                continue
            problem = run_block(block, place)
            if problem:
                print(f"{page.name}:{block.line}: {problem}")
                return False
            ran += 1
    print(f"{page.name}: {ran} blocks are right")
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encode", type=pathlib.Path, default=ROOT / "build/bin/encode")
    parser.add_argument("--installed", type=pathlib.Path, metavar="ROOT")
    parser.add_argument("--with", dest="available", action="append", default=[], metavar="NAME")
    parser.add_argument("pages", type=pathlib.Path, nargs="+")
    args = parser.parse_args()
    failed = [page for page in args.pages if not check_page(page, args)]
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
