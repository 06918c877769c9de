"""What the steps share: the program, the models, and files of rows. Everything that is made is kept in the folder --work."""
import bisect
import itertools
import json
import pathlib
import shutil
import subprocess
import sys
from dataclasses import dataclass

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import make_corpus
from encode_runs import Encode
from results import Skipped
from shapes import SHAPES

TRAINING_TEXTS = 2000  # for the tokenizers of the models


@dataclass(frozen=True)
class Timing:
    """The least size of a timing."""
    seconds: float
    windows: int


def distinct(texts):
    """Yields each text once. `encode` encodes equal rows of a window once, so they would make it look faster than it is."""
    seen = set()
    for text in texts:
        if text not in seen:
            seen.add(text)
            yield text


def write_rows(path, texts):
    partial = path.with_name(path.name + ".partial")
    with partial.open("w") as file:
        for text in texts:
            file.write(json.dumps({"text": text}) + "\n")
    partial.rename(path)


def read_rows(path, count):
    with path.open() as file:
        return [json.loads(line)["text"] for line in itertools.islice(file, count)]


def sized_texts(words, tokens_of, row_tokens):
    """Yields texts without end. Each has at least `row_tokens` tokens and few more, and begins with its number, so that all are
    distinct. `tokens_of` has the tokens of each word."""
    sums = list(itertools.accumulate(tokens_of, initial=0))
    begin = 0
    for number in itertools.count():
        end = bisect.bisect_left(sums, sums[begin] + row_tokens)
        if end > len(words):  # too few words are left
            begin, end = 0, bisect.bisect_left(sums, row_tokens)
        yield f"{number} {' '.join(words[begin:end])}"
        begin = end


class Context:
    def __init__(self, program, work, quick, limit_scale):
        self.program, self.work, self.quick = pathlib.Path(program), pathlib.Path(work), quick
        self.bundle = self.program.parent
        self.limit_scale = limit_scale
        self.runs = self.work / "runs"  # the caches and matrices of one step
        self.timing = Timing(0.2, 1) if quick else Timing(5, 20)
        self.real_rows = 600 if quick else 12000

    def options(self):
        """Returns the arguments of a Context like this one, as JSON can hold them."""
        return {"program": str(self.program), "work": str(self.work), "quick": self.quick, "limit_scale": self.limit_scale}

    def rows(self, count):
        """Returns a file of real texts: functions of the Python sources of this machine."""
        path = self.work / f"rows_{count}.jsonl"
        if not path.exists():
            texts = (text for text, _ in make_corpus.python_texts() if text.strip())
            write_rows(path, itertools.islice(distinct(texts), count))
        return path

    def model(self, name):
        """Returns the folder of a model, which is made if it is missing. Raises Skipped if this Python cannot make models."""
        folder = self.work / "models" / name
        if folder.exists():
            return folder
        partial = folder.with_name(name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.parent.mkdir(exist_ok=True)
        made = subprocess.run([sys.executable, HERE / "random_models.py", name, partial, "--texts", self.rows(TRAINING_TEXTS)],
                              stdout=sys.stdout, stderr=subprocess.PIPE, text=True)
        print(made.stderr, flush=True)
        if made.returncode:
            last = (made.stderr.strip().splitlines() or ["no output"])[-1]
            if last.startswith("ModuleNotFoundError"):
                raise Skipped(f"the model {name} cannot be made: {last}")
            raise RuntimeError(f"the model {name} cannot be made: {last}")
        partial.rename(folder)
        return folder

    def sized_rows(self, name, row_tokens, count):
        """Returns a file with at least `count` rows, each of which has `row_tokens` tokens if --max-length cuts it there."""
        family = SHAPES[name].architecture.lower()
        path = self.work / f"{family}_{row_tokens}.jsonl"
        known = self.work / f"{family}_{row_tokens}.count"
        if not known.exists() or int(known.read_text()) < count:
            words = self.words()
            texts = sized_texts(words, self.word_tokens(self.model(name), words), row_tokens)
            write_rows(path, itertools.islice(texts, count))
            known.write_text(str(count))
        return path

    def words(self):
        """Returns the words of the real texts that are made of letters, in their order."""
        texts = read_rows(self.rows(TRAINING_TEXTS), TRAINING_TEXTS)
        return [word for text in texts for word in text.split() if word.isalpha()]

    @staticmethod
    def word_tokens(model, words):
        import tokenizers  # the tests of this file need no tokenizer
        tokenizer = tokenizers.Tokenizer.from_file(str(model / "tokenizer.json"))
        vocabulary = sorted(set(words))
        encoded = tokenizer.encode_batch([f" {word}" for word in vocabulary], add_special_tokens=False)
        counts = {word: len(tokens.ids) for word, tokens in zip(vocabulary, encoded)}
        return [counts[word] for word in words]

    def clear_runs(self):
        shutil.rmtree(self.runs, ignore_errors=True)
        self.runs.mkdir(parents=True, exist_ok=True)

    def encode(self, name, rows):
        return Encode(self.program, self.model(name), rows, self.runs)

    def bench(self, name, row_tokens, rows, *options):
        """Returns (results of `encode bench`, ""), or ([], the reason) if it fails."""
        command = [self.program, "bench", "--json", "--device", "cuda", "--model", self.model(name), "--input",
                   self.sized_rows(name, row_tokens, rows), "--field", "text", "--cache-dir", self.runs / "bench_cache",
                   "--max-length", row_tokens, "--rows", rows, "--runs", 1, *options]
        print(" ".join(map(str, command)), flush=True)
        run = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        print(run.stdout + run.stderr, flush=True)
        if run.returncode:
            return [], f"exit code {run.returncode}: {' '.join(run.stderr.split())[-300:]}"
        return json.loads(run.stdout)["results"], ""

    def remove(self, run):
        """Deletes the matrix and the cache of a run."""
        run.output.unlink(missing_ok=True)
        shutil.rmtree(self.runs / f"{run.output.stem}_cache", ignore_errors=True)
