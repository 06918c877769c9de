"""Compares the tables of modules and programs in docs/architecture.md with the CMakeLists.txt files of src/ and apps/."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/architecture.md").read_text()
CMAKE = "\n".join(path.read_text() for folder in ("src", "apps") for path in sorted((ROOT / folder).glob("*/CMakeLists.txt")))
# The words that end a list in a call of encode_module().
KEYWORD = re.compile(r"\b(?:SOURCES|HEADERS|DEPS|LIBS|PRIVATE_LIBS)\b")


def after(keyword, call):
    """Returns the words between the keyword and the next one: after("DEPS", "nn SOURCES a.cc DEPS base LIBS x") is ["base"]."""
    parts = re.split(rf"\b{keyword}\b", call, maxsplit=1)
    return KEYWORD.split(parts[1])[0].split() if len(parts) == 2 else []


def built(cmake):
    """Returns {name: (modules that it uses, whether it links LibTorch itself)} of each module and each program."""
    found = {}
    for name, call in re.findall(r"^encode_module\((\w+)([^)]*)\)", cmake, re.MULTILINE):
        found[name] = (set(after("DEPS", call)), "encode_torch" in after("LIBS", call))
    for program in re.findall(r"^add_executable\((\S+)", cmake, re.MULTILINE):
        links = re.findall(rf"^target_link_libraries\({program} PRIVATE ([^)]*)\)", cmake, re.MULTILINE)
        found[program] = (set(re.findall(r"\bencode_(\w+)", " ".join(links))), False)
    return found


def documented(page):
    """Returns what built() returns, from the rows "| `name` | what it holds | uses |". A star after the name stands for LibTorch."""
    section = page.partition("\n## Modules\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([\w-]+)`(\*?) \|.*\| *([^|]*?) *\|$", section, re.MULTILINE)
    return {name: (set(uses.split(", ")) - {""}, star == "*") for name, star, uses in rows}


def included(name):
    """Returns the modules whose headers the sources of a module or a program include."""
    folder = {"encode": "apps/encode", "encode-worker": "apps/worker"}.get(name, f"src/{name}")
    text = "\n".join(path.read_text() for path in (ROOT / folder).rglob("*") if path.suffix in (".cc", ".h", ".cu", ".cuh"))
    return set(re.findall(r'^#include "(\w+)/', text, re.MULTILINE)) - {name, "encode"}


class ModuleTable(unittest.TestCase):
    def test_a_module_names_every_module_whose_headers_it_includes(self):
        for name, (uses, _) in built(CMAKE).items():
            self.assertLessEqual(included(name) & built(CMAKE).keys(), uses, name)
        self.assertIn("run_plan", included("bench"))  # the control

    def test_the_rows_are_what_cmake_links(self):
        page, cmake = documented(PAGE), built(CMAKE)
        self.assertEqual(page.keys(), cmake.keys())
        for name, facts in cmake.items():
            self.assertEqual(page[name], facts, f"the row of {name} in docs/architecture.md, and its CMakeLists.txt")

    def test_control_another_dependency_a_new_module_and_libtorch_are_noticed(self):
        for old, new in (("repack.cc DEPS base)", "repack.cc DEPS base text)"),
                         ("encode_module(batching ", "encode_module(packing "),
                         ("LIBS encode_torch", "LIBS"), ("PRIVATE encode_job", "PRIVATE encode_job encode_text")):
            self.assertIn(old, CMAKE)
            self.assertNotEqual(built(CMAKE.replace(old, new)), documented(PAGE), new)


if __name__ == "__main__":
    unittest.main()
