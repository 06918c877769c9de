"""Tests scripts/lint/limits.py: it finds what breaks a rule and accepts the rest."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts/lint"))
import limits


def found(path, text):
    return [finding for _, finding in limits.findings(path, text)]


def function(lines, head="int f() {"):
    """Returns a function with a body of `lines` lines, braces included."""
    return head + "\n" + "  g();\n" * (lines - 2) + "}\n"


class Sizes(unittest.TestCase):
    def test_a_file_of_401_lines_is_too_long(self):
        self.assertEqual(found("src/a.cc", "\n" * 400), [])
        self.assertEqual(found("src/a.cc", "\n" * 401), ["401 lines; a file has at most 400"])

    def test_a_function_of_61_lines_is_too_long_wherever_it_is(self):
        too_long = ["a function of 61 lines; it has at most 60"]
        for before, after in (("", ""), ("namespace a::b {\n", "}\n"), ("class A : public B {\n public:\n", "};\n"),
                              ("template <typename T>\nstruct A {\n", "};\n")):
            for head in ("int f() {", "TEST_P(Suite, Case) {", "A() : a_{1}, b_(2) {", "int f(std::vector<int> a = {}) {"):
                self.assertEqual(found("tests/a.cc", before + function(61, head) + after), too_long, before + head)
                self.assertEqual(found("tests/a.cc", before + function(60, head) + after), [], before + head)

    def test_the_line_is_that_of_the_opening_brace(self):
        self.assertEqual(limits.findings("src/a.cc", "int a;\n\n" + function(70))[0][0], 3)

    def test_braces_in_comments_and_literals_do_not_count(self):
        body = "int f() {\n  // }\n  /* } */ a = '}';\n  b = \"}\\\"}\";\n  c = R\"x(}\n)x\";\n  d = 1'000;\n"
        self.assertEqual(found("src/a.cc", body + "  g();\n" * 60 + "}\n"), ["a function of 68 lines; it has at most 60"])

    def test_a_table_is_no_function(self):
        rows = "  {1, [] { return 2; }},\n" * 80
        self.assertEqual(found("src/a.cc", "const A kTable[] = {\n" + rows + "};\n"), [])
        self.assertEqual(found("src/a.cc", "std::vector<A> table() {\n  return {\n" + rows + "};\n}\n"), [])
        self.assertEqual(len(found("src/a.cc", "int f() {\n  g();\n  return {\n" + rows + "};\n}\n")), 1)

    def test_cuda_has_at_most_4_parameters(self):
        head = "template <typename T, int kTile, int kWarps> __global__ __launch_bounds__(128, 4) void f({}) {{"
        four = "A<1, 2> a, const int* b, C c = C(1, 2), D (*d)(int, int)"
        self.assertEqual(found("src/a.cu", function(3, head.format(four))), [])
        self.assertEqual(found("src/a.cu", function(3, head.format(four + ", int e"))),
                         ["a function of 5 parameters; it has at most 4"])
        self.assertEqual(found("src/a.cu", function(3, head.format(""))), [])

    def test_python_counts_too(self):
        self.assertEqual(found("scripts/a.py", "def f():\n" + "    g()\n" * 59), [])
        self.assertEqual(found("scripts/a.py", "def f():\n" + "    g()\n" * 60), ["a function of 61 lines; it has at most 60"])


class Macros(unittest.TestCase):
    def test_a_definition_is_found_unless_it_is_listed(self):
        self.assertIn("macro N", found("src/a.cc", "int a;\n#define N 8\n")[0])
        self.assertEqual(found("src/protocol/json_fields.h", "#pragma once\n#define ENCODE_FIELDS(Struct, ...)\n"), [])

    def test_the_listed_ones_are_there(self):
        for path, names in limits.ALLOWED_MACROS.items():
            for name in names:
                self.assertRegex((limits.ROOT / path).read_text(), rf"(?m)^#define {name}\b")

    def test_a_header_without_pragma_once_is_found(self):
        self.assertEqual(found("src/a.h", "// What it is for.\n#pragma once\n"), [])
        self.assertEqual(len(found("src/a.h", "// #pragma once\nint a;\n")), 1)


class Definitions(unittest.TestCase):
    HEADER = "#pragma once\nnamespace encode {\nstruct Finding {\n  int a = f();\n};\n}  // namespace encode\n"

    def found_after_header(self, path, text):
        definitions = limits.OneDefinition()
        self.assertEqual(list(definitions.findings("src/verify/a.h", self.HEADER)), [])
        return list(definitions.findings(path, text))

    def test_a_second_type_of_the_same_name_is_found(self):
        second = "namespace encode {\nint g() {\n  return 1;\n}\nclass Finding final : public encode::Base {\n};\n}\n"
        [(line, text)] = self.found_after_header("src/plan/b.cc", second)
        self.assertEqual(line, 5)
        self.assertIn("encode::Finding is also a type in src/verify/a.h", text)

    def test_types_that_no_other_file_sees_are_not(self):
        for text in ("namespace encode {\nnamespace {\nint g() {\n  return 1;\n}\nstruct Finding {\n};\n}\n}\n",
                     "namespace encode {\nstruct Outer {\n  struct Finding {\n  };\n};\n}\n",
                     "namespace encode::hub {\nstruct Finding {\n};\n}\n",
                     "namespace encode {\nstruct Finding;\nstruct Finding::State {\n};\n}\n"):
            self.assertEqual(self.found_after_header("src/plan/b.cc", text), [], text)

    def test_tests_are_programs_of_their_own(self):
        self.assertEqual(self.found_after_header("tests/plan/b.cc", self.HEADER), [])


class Headers(unittest.TestCase):
    def found_after_header(self, path):
        headers = limits.HeaderNames()
        self.assertEqual(list(headers.findings("src/verify/rows.h", "")), [])
        return list(headers.findings(path, ""))

    def test_a_second_one_of_the_same_name_is_found(self):
        for path in ("src/plan/rows.h", "include/encode/rows.h", "src/verify/deeper/rows.h"):
            [(_, text)] = self.found_after_header(path)
            self.assertIn("src/verify/rows.h is also called rows.h", text)

    def test_other_names_and_tests_are_not(self):
        for path in ("src/plan/plan_rows.h", "src/plan/rows.cc", "tests/plan/rows.h", "src/verify/rows.h"):
            self.assertEqual(self.found_after_header(path), [], path)


class Words(unittest.TestCase):
    def test_marks_of_unfinished_work_are_found(self):
        for mark in ("TO" + "DO", "FIX" + "ME"):
            self.assertIn(mark, found("docs/a.md", f"A line.\n{mark}: finish this.\n")[0])
        self.assertEqual(found("src/a.cc", "std::vector<Range> todo;\n"), [])

    def test_folders_of_one_machine_are_found(self):
        for path in ("/ro" + "ot/.cache", "/ho" + "me/somebody/models", "~/.py" + "env/shims"):
            self.assertEqual(len(found("README.md", f"Put it in {path}.\n")), 1, path)
        self.assertEqual(found("scripts/a.sh", 'cache="$HOME/.cache"  # a root/ of trees\n'), [])


if __name__ == "__main__":
    unittest.main()
