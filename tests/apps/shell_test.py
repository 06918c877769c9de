"""Tests the completions and the manual page: every flag of every --help is in each of them.

    shell_test.py ENCODE bash|zsh|fish|man

The completions run in their shells, as if a user had typed a command and the beginning of a word.
"""
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import unittest

ENCODE = sys.argv[1]
SUBJECT = sys.argv[2]
FLAG = re.compile(r"^  ((?:-\w, )?--[\w-]+)", re.MULTILINE)
COMMAND = re.compile(r"^  ([a-z][a-z-]*)", re.MULTILINE)
# The words that a flag of these keys accepts, and one flag each for files, folders and other texts.
WORDS = {"--device": {"auto", "cpu", "cuda"}, "--pooling": {"cls", "mean", "max", "lasttoken", "weightedmean",
                                                            "mean_sqrt_len_tokens", "none"}}


def run(command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def commands():
    """Returns {path: set of flags} of the program and all its commands, as --help shows them."""
    found = {}

    def visit(path):
        text = run([ENCODE, *path, "--help"])
        found[path] = {name for group in FLAG.findall(text) for name in group.split(", ")}
        if "Commands:" in text:
            # An empty line ends the list, and examples may follow.
            for name in COMMAND.findall(text.split("Commands:")[1].split("\n\n")[0]):
                visit((*path, name))

    visit(())
    return found


def missing(expected, found):
    """Returns 'path flag' for each expected flag that was not found."""
    return [f"{' '.join(path)} {flag}" for path, flags in expected.items() for flag in flags - found.get(path, set())]


class Bash:
    name = "bash"
    SCRIPT = """
compopt() { options="$options $*"; }
source "$1"; shift
options= COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_encode
printf '%s\\n' "${COMPREPLY[@]}" "options:$options"
"""

    def offered(self, file, words):
        lines = run(["bash", "--norc", "-uc", self.SCRIPT, "bash", file, "encode", *words]).splitlines()
        # Without an answer of its own, bash offers files, or what the options say.
        files = {"options:": {"FILES"}, "options: +o default -o dirnames": {"DIRECTORIES"}}.get(lines[-1], set())
        return set(lines[:-1]) - {""} or files


class Zsh:
    name = "zsh"
    # An interactive zsh sources this. Each match is then printed between << and >>, and zsh ends after the first completion.
    SETUP = r"""
PS1=
LISTMAX=10000
unset zle_bracketed_paste
autoload -U compinit
compinit -C -d {dump}
source {file}
bindkey '^I' complete-word
zstyle ':completion:*' insert-tab false
compadd() {{
  local -a kept
  if [[ ${{@[1,(i)(-|--)]}} != *-(O|A|D)\ * ]]; then
    builtin compadd -O kept "$@"
    print -rl -- "<<"${{^kept}}">>"
  fi
  builtin compadd "$@"
}}
_files() {{ [[ " $* " == *" -/ "* ]] && print "<<DIRECTORIES>>" || print "<<FILES>>" }}
comppostfuncs=(exit)
print -r -- READY "<now>"
"""

    def offered(self, file, words):
        with tempfile.TemporaryDirectory() as folder:
            setup = pathlib.Path(folder) / "setup"
            setup.write_text(self.SETUP.format(dump=f"{file}.dump", file=file))
            process, terminal = pty.fork()
            if process == 0:
                os.execvpe("zsh", ["zsh", "-f", "-i"], {"TERM": "dumb", "HOME": folder, "PATH": "/usr/bin:/bin"})
            os.write(terminal, f"source {setup}\n".encode())
            self.read(terminal, "READY <now>")
            os.write(terminal, f"{' '.join(['encode', *words])}\t".encode())
            text = self.read(terminal, None)
            os.close(terminal)
            os.waitpid(process, 0)
        return set(re.findall(r"<<([\w-]+)>>", text))

    @staticmethod
    def read(terminal, until):
        """Reads to the given text, or to the end of zsh if it is None."""
        text = ""
        while until is None or until not in text:
            if not select.select([terminal], [], [], 60)[0]:
                raise TimeoutError(f"zsh printed only {text!r}")
            try:
                text += os.read(terminal, 1 << 16).decode(errors="replace")
            except OSError:  # zsh has ended
                if until is None:
                    break
                raise
        return text


class Fish:
    name = "fish"

    def offered(self, file, words):
        with tempfile.TemporaryDirectory() as folder:
            home = pathlib.Path(folder)
            (home / "a_file").touch()
            (home / "a_folder").mkdir()
            script = f"source {file}; complete --do-complete '{' '.join(['encode', *words])}'"
            text = run(["fish", "--no-config", "-c", script], cwd=home, env={"HOME": folder, "PATH": "/usr/bin:/bin"})
        found = {line.split("\t")[0] for line in text.splitlines()}
        if {"a_file", "a_folder/"} <= found:
            return {"FILES"}
        return {"DIRECTORIES"} if "a_folder/" in found else found


class Completions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shell = {"bash": Bash, "zsh": Zsh, "fish": Fish}[SUBJECT]()
        cls.folder = tempfile.TemporaryDirectory()
        cls.file = f"{cls.folder.name}/_encode"
        pathlib.Path(cls.file).write_text(run([ENCODE, "completions", SUBJECT]))
        cls.expected = commands()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def offered(self, *words):
        return self.shell.offered(self.file, words)

    def test_every_flag_of_every_command(self):
        self.assertGreater(len(self.expected), 15)
        long_flags = {path: {flag for flag in flags if flag.startswith("--")} for path, flags in self.expected.items()}
        found = {path: self.offered(*path, "--") for path in long_flags}
        self.assertEqual(missing(long_flags, found), [])
        for path, flags in found.items():
            unknown = flags - {"FILES", "DIRECTORIES"} - self.expected[path] - (self.expected[("run",)] if path == () else set())
            self.assertEqual(unknown, set(), path)
        found[("cache", "stats")].discard("--dir")
        self.assertEqual(missing(long_flags, found), ["cache stats --dir"])

    def test_commands(self):
        names = {path[0] for path in self.expected if len(path) == 1}
        self.assertLessEqual(names, self.offered(""))
        self.assertEqual(self.offered("cache", ""), {"stats", "verify", "clear", "prune"})

    def test_values(self):
        for flag, words in WORDS.items():
            self.assertLessEqual(words, self.offered("run", flag, ""), flag)
        self.assertLessEqual(WORDS["--pooling"], self.offered("--pooling", ""), "a flag without a command")
        self.assertEqual(self.offered("run", "--config", ""), {"FILES"})
        self.assertEqual(self.offered("run", "--cache-dir", ""), {"DIRECTORIES"})
        self.assertEqual(self.offered("verify", ""), {"FILES"})
        self.assertEqual(self.offered("run", "--prompt", ""), set())
        self.assertEqual(self.offered("completions", ""), {"bash", "zsh", "fish"})


class ManualPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.page = run([ENCODE, "man"])

    def render(self, *options):
        return subprocess.run(["groff", "-man", "-Tutf8", "-P-cbou", "-ww", *options], input=self.page, check=True,
                              capture_output=True, text=True)

    def test_groff_and_mandoc_have_no_warnings(self):
        self.assertEqual(self.render("-z").stderr, "")
        if shutil.which("mandoc"):
            lint = subprocess.run(["mandoc", "-T", "lint", "-W", "warning"], input=self.page, text=True, capture_output=True)
            self.assertEqual(lint.stdout + lint.stderr, "")
        else:
            print("no mandoc: its lint did not run")

    def test_every_flag_of_every_command(self):
        text = self.render("-rLL=200n").stdout.replace("\u2212", "-")
        sections = re.split(r"^ {3}(?=encode)|^(?=\S)", text, flags=re.MULTILINE)
        named = {section.splitlines()[0].strip(): section for section in sections if section.strip()}
        flags = {name: set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", section)) for name, section in named.items()}
        found = {}
        for path in commands():
            name = " ".join(("encode", *path)) if path else "DESCRIPTION"
            found[path] = flags[name] | (flags["CONFIG FLAGS"] if "CONFIG FLAGS" in named[name] else set())
        self.assertEqual(missing(commands(), found), [])
        found[("bench",)].discard("--rows")
        self.assertEqual(missing(commands(), found), ["bench --rows"])

    def test_exit_codes_are_those_of_the_documents(self):
        documents = pathlib.Path(__file__).resolve().parents[2] / "docs/errors.md"
        table = documents.read_text().split("## Exit codes")[1].split("\n## ")[0]
        documented = set(re.findall(r"^\| (\d+) \|", table, re.MULTILINE)) - {"137"}  # 137 is a signal
        status = self.page.split(".SH EXIT STATUS")[1]
        self.assertEqual(set(re.findall(r"^\\fB(\d+)\\fR$", status, re.MULTILINE)), documented)


if __name__ == "__main__":
    program = {"bash": "bash", "zsh": "zsh", "fish": "fish", "man": "groff"}[SUBJECT]
    if not shutil.which(program):
        print(f"skipped: this machine has no {program}")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], defaultTest="ManualPage" if SUBJECT == "man" else "Completions")
