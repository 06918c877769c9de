"""An experiment, and programs that stand for those of Slurm. slurm_test.py uses them; its arguments name the programs under test."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ENCODE = pathlib.Path(sys.argv[1]).resolve()
WORKER = pathlib.Path(sys.argv[2]).resolve()
MODEL = pathlib.Path(__file__).resolve().parents[2] / "tests/data/models/bert"
STREAMS = ("tc", "commit")
NPY_HEADER = 128

# Stands for sbatch, scontrol, squeue and scancel. It writes its call to a file. The file NAME.out beside it has what the program
# prints, NAME.err the standard error and NAME.code the exit code. sbatch counts its jobs from 100, and the file sbatch.refuse has
# the number of the job that it refuses.
FAKE = r"""#!@PYTHON@
import json, os, pathlib, sys
place = pathlib.Path(sys.argv[0]).parent
name = pathlib.Path(sys.argv[0]).name
call = {"program": name, "words": sys.argv[1:]}
if name == "sbatch":
    call |= {"script": sys.stdin.read(), "variables": {name: os.environ[name] for name in os.environ if name.startswith("S")}}
with open(place / "calls", "a") as calls:
    calls.write(json.dumps(call) + "\n")
def text(suffix, other=""):
    path = place / (name + suffix)
    return path.read_bytes() if path.exists() else other.encode()
answer = ""
if name == "sbatch":
    number = 100 + sum(json.loads(line)["program"] == "sbatch" for line in open(place / "calls")) - 1
    if text(".refuse") == str(number).encode():
        sys.stderr.write("sbatch: error: \x1b[31mInvalid partition\n")
        sys.exit(1)
    answer = f"{number}\n"
elif name == "scontrol":
    answer = "Configuration data as of today\nMaxArraySize            = 1001\nMaxJobCount = 10000\n"
sys.stdout.buffer.write(text(".out", answer))
sys.stderr.buffer.write(text(".err"))
sys.exit(int(text(".code", "0")))
"""


class Lab:
    """A folder with an experiment of two streams, and the programs of Slurm."""

    def __init__(self, test, name="lab", rows=40):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="slurm_test."))
        test.addCleanup(shutil.rmtree, self.root)
        self.bin = self.root / "bin"
        self.folder = self.root / name
        self.bin.mkdir()
        self.folder.mkdir()
        for program in ("sbatch", "scontrol", "squeue", "scancel"):
            (self.bin / program).write_text(FAKE.replace("@PYTHON@", sys.executable))
            (self.bin / program).chmod(0o755)
        for stream in STREAMS:
            lines = (json.dumps({"text": f"{stream} {row}"}) for row in range(rows))
            (self.folder / f"{stream}.jsonl").write_text("\n".join(lines) + "\n")
        splits = ", ".join(f"{stream}: {stream}.jsonl" for stream in STREAMS)
        fields = ", ".join(f"{stream}: {{field: text}}" for stream in STREAMS)
        (self.folder / "run.yaml").write_text(
            f"semantic: {{model: {MODEL}, chunk_size: 3, cache_dir: cache}}\n"
            f"data: {{streams: {{{fields}}}, splits: {{train: {{{splits}}}}}}}\noutput: {{combine: [tc, commit]}}\n")

    def environment(self, **more):
        return dict(os.environ, PATH=f"{self.bin}:/usr/bin:/bin", ENCODE_WORKER=str(WORKER)) | more

    def encode(self, *words, **variables):
        return subprocess.run([ENCODE, *words], cwd=self.folder, env=self.environment(**variables), capture_output=True, text=True)

    def slurm(self, *words, **variables):
        return self.encode("slurm", "--config", "run.yaml", *words, **variables)

    def calls(self, program):
        """Returns the calls of a program since the last look at them."""
        path = self.bin / "calls"
        calls = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        return [call for call in calls if call["program"] == program]

    def forget_calls(self):
        (self.bin / "calls").unlink(missing_ok=True)

    def answer(self, file, text):
        (self.bin / file).write_text(text)

    def part(self, shard):
        return self.folder / f"cache/shards/{shard:05}/part.json"

    def run_script(self, script, **variables):
        environment = self.environment(SLURM_JOB_ID="555", **variables)
        return subprocess.run(["bash"], input=script, cwd="/", env=environment, capture_output=True, text=True)

    def run_jobs(self, jobs):
        """Runs the scripts of submitted jobs as Slurm would."""
        for number, job in enumerate(jobs, 100):
            array = option(job, "--array")
            if array is None:
                assert (end := self.run_script(job["script"])).returncode == 0, end.stderr
            for task in indices(array) if array else []:
                end = self.run_script(job["script"], SLURM_ARRAY_TASK_ID=str(task), SLURM_ARRAY_JOB_ID=str(number))
                assert end.returncode == 0, end.stderr

    def merged(self):
        rows = b""
        for part in sorted(self.folder.glob("cache/train_tc_embeddings-*-of-*.npy")):
            rows += part.read_bytes()[NPY_HEADER:]
        return rows


def option(call, name):
    """Returns the value of the last option of this name."""
    values = [word.partition("=")[2] for word in call["words"] if word.split("=")[0] == name]
    return values[-1] if values else None


def indices(array):
    for part in array.split("%")[0].split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)
