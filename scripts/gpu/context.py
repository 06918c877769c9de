"""What the steps share: what a step has found, runs of the program, the clocks of the card, and the models and files of rows.
Everything that is made is kept in the folder --work.

The step's process writes a line of JSON at once for each finding, so that the findings of a step that is killed are in the report
too.
"""
import bisect
import itertools
import json
import math
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time
from dataclasses import dataclass

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import make_corpus
from shapes import SHAPES

TRAINING_TEXTS = 2000  # for the tokenizers of the models
NO_VALUE = "-"
TRY_AGAIN = 75  # the exit code that says that a new run may succeed
# No new worker starts during a run, because its start would be timed.
ONE_WORKER = ("--set", "hardware.worker_chunks=0")
STAGES = ("rows awaited", "encode", "commit awaited")  # of the main thread, see include/encode/stage_seconds.h

CLOCK_FIELDS = ("clocks.sm", "clocks.mem", "power.draw", "temperature.gpu", "clocks_event_reasons.active")
CLOCK_PERIOD_MS = 250
CLOCK_IDLE = 0x1  # a reason of the last field: nothing runs, so the clocks are low
CLOCK_HEADER = ("SM MHz", "memory MHz", "W", "°C", "limits of the clocks")


class Skipped(Exception):
    """Ends a step that cannot run on this machine. The text is the reason."""


def plain(cell):
    """Returns what JSON and the report can hold: NaN, which a missing figure is, becomes None."""
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


class Results:
    CHECKS = ("check", "result", "figures")

    def __init__(self, path):
        self.path = path

    def write(self, **entry):
        with self.path.open("a") as file:
            file.write(json.dumps(entry) + "\n")
        print(" ".join(str(value) for value in entry.values()), flush=True)

    def table(self, title, *header):
        self.write(table=title, header=header or self.CHECKS)

    def row(self, *cells):
        self.write(row=[plain(cell) for cell in cells])

    def check(self, name, good, figures):
        self.write(row=[name, "PASS" if good else "FAIL", figures])

    def without(self, name, reason):
        """A figure that this machine cannot give, which is no failure."""
        self.write(row=[name, "SKIP", reason])

    def markdown(self, title, text):
        """Adds the Markdown tables that another script has printed."""
        lines = [line for line in text.splitlines() if line.startswith("|")]
        for line, following in zip(lines, [*lines[1:], ""]):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if following.startswith("|---"):
                self.table(title, *cells)
            elif not line.startswith("|---"):
                self.row(*cells)

    def headline(self, text):
        """The figures of the step's line in the report. The last call counts."""
        self.write(headline=text)

    def skipped(self, reason):
        self.write(skipped=reason)


def read_results(path):
    """Returns {"tables": [{"title", "header", "rows"}], "headline", "skipped", "failed": [name of a check]}. The last line may be
    incomplete, if its writer was killed."""
    found = {"tables": [], "headline": "", "skipped": "", "failed": []}
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:
            continue
        if "table" in entry:
            found["tables"].append({"title": entry["table"], "header": entry["header"], "rows": []})
        elif "row" in entry:
            found["tables"][-1]["rows"].append(entry["row"])
            if entry["row"][1:2] == ["FAIL"]:
                found["failed"].append(entry["row"][0])
        else:
            found.update(entry)
    return found


def shown(cell):
    """Returns a cell as Markdown has it."""
    if cell is None:
        return NO_VALUE
    if isinstance(cell, int):
        return f"{cell:,}"
    if isinstance(cell, float):
        return f"{cell:,.0f}" if abs(cell) >= 1000 else f"{cell:.4g}"
    return " ".join(str(cell).split()).replace("|", "\\|")


def markdown_row(cells):
    return "| " + " | ".join(shown(cell) for cell in cells) + " |"


def markdown_table(header, rows):
    return [markdown_row(header), "|" + "---|" * len(header), *(markdown_row(row) for row in rows)]


@dataclass(frozen=True)
class Run:
    events: list  # with their arrival times
    output: object  # the path of the matrix
    code: int  # the exit code

    def of(self, name):
        return [event for event in self.events if event["event"] == name]

    def chunks(self):
        return self.of("chunk_done")

    def failure(self):
        """Says how a run ended that failed: the exit code, and the code of the error if it has told one."""
        return " ".join([f"exit code {self.code}", *(event["code"] for event in self.of("error"))])

    def stages(self):
        """Returns the seconds of each stage of the stream. The run must have had --log-level debug and one worker."""
        return next(event["seconds"] for event in self.of("stream_done") if "seconds" in event)

    def device(self):
        return next((event["device"] for event in self.of("model_loaded")), "")


class Encode:
    """Runs the program on one model and one input."""

    def __init__(self, program, model, rows, work):
        self.command = [str(program), "run", "--json", "--no-progress", "--model", str(model), "--input", str(rows), "--field",
                        "text", "--device", "cuda"]
        self.work = work

    def run(self, name, *options, kill_after_chunks=0, environment=None):
        """Returns a Run. `name` is that of its cache and its matrix; a second run with a name goes on where the first one ended.
        `environment` has variables beside those of this process."""
        output = self.work / f"{name}.npy"
        command = [*self.command, "--cache-dir", str(self.work / f"{name}_cache"), "--output", str(output), *map(str, options)]
        print(" ".join(command), flush=True)
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})})
        events = []
        for line in process.stdout:
            if line.startswith("{"):
                events.append({**json.loads(line), "arrival": time.monotonic()})
            if kill_after_chunks and sum(event["event"] == "chunk_done" for event in events) >= kill_after_chunks:
                process.send_signal(signal.SIGKILL)
                break
        process.stdout.close()
        code = process.wait()
        if code not in (0, TRY_AGAIN, -signal.SIGKILL):
            print("\n".join(json.dumps(event) for event in events[-5:]), flush=True)
        return Run(events, output, code)


def encoding_seconds(stages):
    """Returns the seconds from the end of loading to the last commit. Reading and tokenizing begin after loading, so they are
    inside."""
    return sum(stages[name] for name in STAGES)


def parse_clocks(line):
    """Returns the numbers of CLOCK_FIELDS, or None for a line without them."""
    parts = [part.strip() for part in line.split(",")]
    if len(parts) != len(CLOCK_FIELDS):
        return None
    try:
        return [*map(float, parts[:-1]), int(parts[-1], 16)]
    except ValueError:  # for example [N/A]
        return None


class Clocks:
    """Samples the clocks and the power of the card, as nvidia-smi gives them, until the end of a `with` block. Without nvidia-smi there are no samples."""

    def __init__(self):
        self.samples = []  # (time, numbers of CLOCK_FIELDS)
        self.process = None

    def __enter__(self):
        command = ["nvidia-smi", f"--query-gpu={','.join(CLOCK_FIELDS)}", "--format=csv,noheader,nounits", f"-lms={CLOCK_PERIOD_MS}", "--id=0"]
        try:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        except OSError:
            return self
        threading.Thread(target=self.read, daemon=True).start()
        return self

    def read(self):
        for line in self.process.stdout:
            if numbers := parse_clocks(line):
                self.samples.append((time.monotonic(), numbers))

    def __exit__(self, *failure):
        if self.process:
            self.process.kill()
            self.process.wait()

    def between(self, start, end):
        """Returns the cells of CLOCK_HEADER: medians over the samples from `start` to `end` of time.monotonic(), and the bits of all
        reasons."""
        inside = [numbers for moment, numbers in self.samples if start <= moment <= end]
        if not inside:
            return (None,) * len(CLOCK_HEADER)
        reasons = 0
        for numbers in inside:
            reasons |= numbers[-1]
        return (*(statistics.median(column) for column in list(zip(*inside))[:-1]), hex(reasons & ~CLOCK_IDLE))


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
