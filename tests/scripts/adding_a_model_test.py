"""Checks docs/adding-a-model.md: the code and the names that it quotes are in the files that it names."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs/adding-a-model.md").read_text()


def quoted_code(text):
    """Returns [(path, code)] of the blocks that open with a language and a path."""
    return re.findall(r"^```\w+ (\S+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def sources(*folders):
    return "".join(path.read_text() for folder in folders for path in sorted((ROOT / folder).rglob("*.[hc]*")))


# Tests and scripts that try a few architectures. A new one does not have to be added there.
SAMPLES = {"tests/models/config_defaults_test.cc", "tests/models/found_weights_test.cc", "tests/models/pooled_rows_test.cc",
           "tests/models/token_types_test.cc"}


def files_that_name(model):
    """Returns the sources that name an architecture: its model_type, its file or its loader, and those that list its file.
    SAMPLES and the classes of tokenizers do not count."""
    name = re.compile(rf"(?<![\w-])(load_)?{model.replace('_', '[_-]')}\b")
    return {str(path.relative_to(ROOT)) for folder in ("src", "tests/models", "scripts")
            for path in (ROOT / folder).rglob("*")
            if path.suffix in (".h", ".cc", ".py", ".sh", ".txt") and "tokenizer" not in path.parts
            and "tokenizer" not in path.name and str(path.relative_to(ROOT)) not in SAMPLES and name.search(path.read_text())}


class AddingAModel(unittest.TestCase):
    def test_code_is_quoted_as_it_is(self):
        blocks = quoted_code(TEXT)
        self.assertGreaterEqual(len(blocks), 6)
        for path, code in blocks:
            self.assertIn(code, (ROOT / path).read_text(), path)

    def test_a_changed_quotation_is_noticed(self):
        (path, code), = quoted_code("```cpp src/models/registry.cc\n    case kDistilBert: return load_nothing;\n```\n")
        self.assertNotIn(code, (ROOT / path).read_text())

    def test_files_exist(self):
        for path in set(re.findall(r"`((?:src|tests|scripts|docs)/[\w/.]+\.\w+)`", TEXT)):
            self.assertTrue((ROOT / path).exists(), path)

    def test_the_table_has_every_file_that_a_model_touches(self):
        section = TEXT.split("## What a new model touches")[1].split("##")[0]
        listed = set(re.findall(r"^\| `(\S+)` \|", section, re.MULTILINE))
        self.assertEqual(listed, files_that_name("distilbert"))
        self.assertIn("Four files change, without tests", " ".join(section.split()))
        self.assertIn("The tests need three more files", " ".join(section.split()))
        self.assertEqual(len(listed), 4 + 3)

    def test_a_model_with_its_own_layer_touches_the_files_that_the_guide_names(self):
        section = TEXT.split("## What a new model touches")[1].split("##")[0]
        listed = set(re.findall(r"^\| `(\S+)` \|", section, re.MULTILINE)) - {"src/models/bert.cc"}
        listed |= {"src/models/xlm_roberta_xl.cc", "src/models/CMakeLists.txt"}
        self.assertIn("So one file is written, and four files change", " ".join(section.split()))
        self.assertEqual(len(listed), 1 + 4 + 3)
        self.assertEqual(listed, files_that_name("xlm_roberta_xl"))

    def test_a_file_that_is_not_listed_is_noticed(self):
        # The model_type of jina_bert is BERT's, and load_bert() in bert.cc calls its loader.
        self.assertIn("src/models/bert.cc", files_that_name("jina_bert"))

    def test_names_exist(self):
        code = sources("src/models", "src/model_dir", "src/nn", "tests/models") + (ROOT / "scripts/reference/check_models.py").read_text()
        for name in set(re.findall(r"`(?:\w+::)?(\w+)(?:<\w+>)?`", TEXT)) - {"encode", "nn"}:
            self.assertIn(name, code, name)


if __name__ == "__main__":
    unittest.main()
