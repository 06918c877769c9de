#!/usr/bin/env python3
"""Checks a bundle of encode on a machine with a GPU. scripts/gpu_check.sh lists the checks and calls this program."""
import argparse
import gc
import hashlib
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import numpy as np
import sentence_transformers
import torch
import transformers

import make_corpus
from gpu import random_models
from gpu.run import LONG_ROW_TOKENS, LONG_ROWS, SHORT_ROWS, Encode, Report, chunks_done, failure, run_steps, steady_speed
from gpu.run import attention as attention_step

MIB = 1 << 20
# The allocator keeps its blocks in segments of 2 and 20 MiB. Parts of segments may remain after a
# release, and this is no leak.
RESERVED_SLACK_BYTES = 64 * MIB
FLOAT32_MAX_DIFFERENCE = 2e-5
# The limit for the error of encode in bfloat16 divided by the peer's error in bfloat16, both
# relative to the peer's float32.
BFLOAT16_ERROR_RATIO = 1.5
# The limits for the mean and the lowest cosine of rows in fp8 to the peer's float32
# (docs/models.md).
FP8_MEAN_COSINE, FP8_LEAST_COSINE = 0.99, 0.98
HAS_FP8 = torch.cuda.is_available() and torch.cuda.get_device_capability() >= (9, 0)
WITHOUT_FP8 = "encode has 8-bit floats from compute capability 9.0 on"
# The peak FLOP/s of an H100 or H200 SXM for dense bfloat16 matrix products. The MFU is the share of
# this peak that is used.
PEAK_FLOPS = 989e12
SELF_CHECK = re.compile(r"self-check (.+) (Float|Half|BFloat16) (.+)")  # a name such as "gated to fp8" has spaces
NOT_PASSED = re.compile(r"\[  (?:FAILED |SKIPPED) \] ([\w/]+\.[\w/]+)")  # a line of GoogleTest about one test
GPU_TESTS = ("gpu_kernels_test", "cuda_test")


def peer_embeddings(model_path, texts, dtype, batch_size=64):
    model = sentence_transformers.SentenceTransformer(str(model_path), device="cuda", model_kwargs={"dtype": dtype})
    model.encode(texts[:batch_size], batch_size=batch_size, show_progress_bar=False)
    torch.cuda.synchronize()
    started = time.monotonic()
    embeddings = model.encode(texts, batch_size=batch_size, show_progress_bar=False)
    seconds = time.monotonic() - started
    del model
    gc.collect()
    torch.cuda.empty_cache()
    return embeddings.astype(np.float64), seconds


def distinct(texts):
    """Yields each text once. `encode` encodes equal rows of a window once, so they would make it look faster than it is."""
    seen = set()
    for text in texts:
        if text not in seen:
            seen.add(text)
            yield text


def file_sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Checks:
    attention = attention_step  # a method of this class

    def __init__(self, args, work, report):
        self.args, self.work, self.report = args, work, report
        texts = (text for text, _ in make_corpus.python_texts() if text.strip())
        self.texts = list(itertools.islice(distinct(texts), args.rows))
        self.models = {}

    def rows_file(self, count):
        path = self.work / f"rows_{count}.jsonl"
        if not path.exists():
            path.write_text("".join(json.dumps({"text": text}) + "\n" for text in self.texts[:count]))
        return path

    def model(self, name):
        if name not in self.models:
            folder = self.work / name
            random_models.make(name, folder, self.texts[:2000], "cuda")
            torch.cuda.empty_cache()
            self.models[name] = folder
        return self.models[name]

    def encode(self, model, rows):
        return Encode(self.args.program, self.model(model), self.rows_file(rows), self.work)

    def gpu_tests(self):
        self.report.section("Tests that need a GPU: each kernel against LibTorch, same row same vector", "check", "result",
                            "figures")
        no_fp8 = [] if HAS_FP8 else ["--gtest_filter=-*Fp8*"]
        if no_fp8:
            self.report.row("fp8", "SKIP", WITHOUT_FP8)
        for name in GPU_TESTS:
            if (run := self.gpu_test(name, *no_fp8)) is None:
                continue
            lines = run.stdout.splitlines()
            wrong = sorted({found[1] for line in lines if (found := NOT_PASSED.match(line))})
            figures = next((line for line in reversed(lines) if "PASSED" in line), "no result")
            if wrong:
                figures += f" Failed or skipped: {', '.join(wrong)}"
            good = run.returncode == 0 and not wrong
            self.report.check(name, good, figures)
            if not good:
                print("\n".join(lines[-60:]), flush=True)

    def gpu_test(self, name, *options):
        """Runs a test program and shows its lines of self-checks. Returns None if the bundle lacks it, which is reported."""
        bundle = self.args.program.parent
        libraries = f"{bundle / 'lib' / 'encode'}:{pathlib.Path(torch.__file__).parent / 'lib'}"
        data = pathlib.Path(__file__).resolve().parents[2] / "tests" / "data"
        environment = {**os.environ, "LD_LIBRARY_PATH": libraries, "ENCODE_TEST_DATA": str(data),
                       "ENCODE_TEST_DEVICE": "cuda"}
        program = bundle / "tests" / name
        if not program.exists():
            self.report.check(name, False, "not in the bundle: make it with scripts/package.sh --gpu-tests")
            return None
        run = subprocess.run([program, "--gtest_color=no", *options], env=environment, text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT)
        for line in run.stdout.splitlines():
            if found := SELF_CHECK.fullmatch(line):
                self.report.row(*found.groups())
        return run

    def preflight(self):
        self.report.section("`encode preflight`: the driver, the device, the defences against faults", "check", "result", "figures")
        command = [self.args.program, "preflight", "--json", "--device", "cuda", "--model", self.model("bert-base"), "--input",
                   self.rows_file(500), "--field", "text", "--dtype", "bfloat16", "--cache-dir", self.work / "preflight_cache"]
        run = subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if not run.stdout.startswith("{"):
            return self.report.check("preflight", False, f"exit code {run.returncode}: {run.stderr.strip()[-300:]}")
        found = json.loads(run.stdout)
        for finding in found["findings"]:
            if finding["grade"] != "green":
                self.report.row(finding["check"], finding["grade"], finding["found"])
        counts = ", ".join(f"{found[grade]} {grade}" for grade in ("green", "yellow", "red"))
        self.report.check("preflight", run.returncode == 0, counts)

    def short_rows(self):
        """Writes changelog entries, repeated until there are enough, or lines of Python if the machine has no changelogs. Each
        row begins with its number, so that all rows are distinct."""
        path = self.work / "short.jsonl"
        if path.exists():
            return path
        texts = [text for text, _ in make_corpus.change_texts() if text.strip()]
        if len(texts) < 1000:
            texts = [line for text in self.texts for line in text.splitlines() if len(line) > 20]
            self.report.row("short rows", "no changelogs on this machine, so lines of Python", "", "", "", "", "")
        rows = itertools.islice(itertools.cycle(texts), SHORT_ROWS)
        path.write_text("".join(json.dumps({"text": f"{i} {text}"}) + "\n" for i, text in enumerate(rows)))
        return path

    def long_rows(self):
        path = self.work / "long.jsonl"
        if not path.exists():
            texts = itertools.cycle(self.texts)
            with path.open("w") as file:
                for i in range(LONG_ROWS):
                    row = f"{i} "
                    while len(row) < 8 * LONG_ROW_TOKENS:  # more tokens than needed; the rest is cut off
                        row += next(texts) + "\n"
                    file.write(json.dumps({"text": row}) + "\n")
        return path

    def kernels(self):
        self.report.section("With and without the project's kernels, bfloat16", "model", "rows", "tokens a row",
                            "tokens/s with", "tokens/s without", "ratio", "MFU with")
        cases = [(name, self.short_rows(), SHORT_ROWS) for name in ("minilm", "bert-base", "bert-large")]
        cases += [(name, self.long_rows(), LONG_ROWS) for name in ("bert-base", "qwen2-1.5b")]
        for name, path, rows in cases:
            encode = Encode(self.args.program, self.model(name), path, self.work)
            options = ("--dtype", "bfloat16", "--max-length", str(LONG_ROW_TOKENS), "--chunk-size", str(rows // 3))
            speeds = []
            for kernels in (True, False):
                events, _, code = encode.run(f"{path.stem}_{name}_{kernels}", *options, kernels=kernels)
                if code != 0:
                    self.report.check(f"{name} {path.stem}", False, failure(events, code))
                    break
                speeds.append(steady_speed(events))
            else:
                row_tokens = sum(event["tokens"] for event in chunks_done(events)) / rows
                mfu = speeds[0] * random_models.flops_per_token(name, row_tokens) / PEAK_FLOPS
                self.report.row(name, f"{rows} {path.stem}", f"{row_tokens:.0f}", f"{speeds[0]:,.0f}",
                                f"{speeds[1]:,.0f}", f"{speeds[0] / speeds[1]:.2f}", f"{mfu:.1%}")

    def limits(self):
        self.report.section("Against the device's limit (`encode bench`), bfloat16", "model", "rows", "tokens/s",
                            "share of the products alone", "share of a large product", "its TFLOP/s", "start s", "idle s", "padding",
                            "device memory")
        for name, path, rows in (("minilm", self.short_rows(), SHORT_ROWS // 2), ("bert-base", self.long_rows(), LONG_ROWS),
                                 ("qwen2-1.5b", self.long_rows(), LONG_ROWS // 2)):
            results = self.bench(name, path, rows, "--dtype", "bfloat16", "--product-seconds", 1)
            if not results:
                continue
            result = results[0]
            stages = result["stages"]

            def figure(key):
                return result[key]["median"] if result[key] else float("nan")

            self.report.row(name, f"{rows} {path.stem}", f"{figure('tokens_per_second'):,.0f}", f"{figure('share'):.0%}",
                            f"{figure('square_share'):.0%}", f"{figure('square_gflops') / 1000:,.0f}",
                            f"{stages['start']['median']:.1f}",
                            f"{stages['rows awaited']['median'] + stages['commit awaited']['median']:.2f}",
                            f"{figure('padding'):.1%}", f"{figure('peak_device_bytes') / MIB:,.0f} MiB")

    def bench(self, name, path, rows, *options):
        """Returns the results of `encode bench`, or [] if it fails, which is reported."""
        command = [self.args.program, "bench", "--json", "--device", "cuda", "--model", self.model(name), "--input", path,
                   "--field", "text", "--cache-dir", self.work / "bench_cache", "--max-length", LONG_ROW_TOKENS, "--rows", rows,
                   "--runs", 1, *options]
        run = subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if run.returncode:
            self.report.check(f"bench {name}", False, run.stderr.strip()[-300:])
            return []
        return json.loads(run.stdout)["results"]

    def parity(self):
        self.report.section("Parity with sentence-transformers on the same GPU", "model, type", "result", "figures")
        rows = 500
        torch.backends.cuda.matmul.allow_tf32 = False
        for name in ("bert-tiny", "qwen2-tiny", "minilm", "bert-base"):
            reference, _ = peer_embeddings(self.model(name), self.texts[:rows], torch.float32)
            events, output, code = self.encode(name, rows).run(f"parity_{name}_float32", "--dtype", "float32")
            if code == 0:
                difference = np.abs(np.load(output) - reference).max()
                self.report.check(f"{name} float32", difference <= FLOAT32_MAX_DIFFERENCE, f"max difference {difference:.2g}")
            else:
                self.report.check(f"{name} float32", False, failure(events, code))
            self.parity_bfloat16(name, rows, reference)
        reference, _ = peer_embeddings(self.model("qwen2-1.5b"), self.texts[:100], torch.float32)
        self.parity_bfloat16("qwen2-1.5b", 100, reference)

    def parity_bfloat16(self, name, rows, reference):
        peer, _ = peer_embeddings(self.model(name), self.texts[:rows], torch.bfloat16)
        events, output, code = self.encode(name, rows).run(f"parity_{name}_bfloat16", "--dtype", "bfloat16")
        if code != 0:
            return self.report.check(f"{name} bfloat16", False, failure(events, code))
        ours = np.load(output)
        error = np.abs(ours - reference).mean()
        peer_error = np.abs(peer - reference).mean()
        cosine = (ours * reference).sum(axis=1).min()
        self.report.check(f"{name} bfloat16", error <= BFLOAT16_ERROR_RATIO * peer_error,
                          f"mean error {error:.2g}, the peer's {peer_error:.2g}; min cosine {cosine:.6f}")

    def fp8(self):
        self.report.section("fp8 (quantized products): parity with float32, speed beside bfloat16 in the same run", "model",
                            "result", "figures")
        if not HAS_FP8:
            return self.report.row("fp8", "SKIP", WITHOUT_FP8)
        for name, rows in (("minilm", 500), ("bert-base", 500), ("qwen2-1.5b", 100)):
            reference, _ = peer_embeddings(self.model(name), self.texts[:rows], torch.float32)
            events, output, code = self.encode(name, rows).run(f"parity_{name}_fp8", "--dtype", "fp8")
            if code != 0:  # if the code is fp8.parity, the figures below tell the cosine
                self.report.check(f"{name} fp8", False, failure(events, code))
                continue
            cosines = (np.load(output) * reference).sum(axis=1)
            good = cosines.mean() >= FP8_MEAN_COSINE and cosines.min() >= FP8_LEAST_COSINE
            self.report.check(f"{name} fp8", good, f"mean cosine {cosines.mean():.6f}, min {cosines.min():.6f}")
        for name in ("bert-base", "bert-large", "qwen2-1.5b"):
            self.fp8_speed(name)

    def fp8_speed(self, name):
        """Measures also what `encode run` refuses, and then says so."""
        results = self.bench(name, self.long_rows(), LONG_ROWS, "--dtype", "bfloat16,fp8", "--measure-refused",
                             "--product-seconds", 0.1)
        if not results:
            return
        bfloat16, fp8 = (result["encoding_tokens_per_second"]["median"] for result in results)
        note = f"cosine to bfloat16 {results[1]['parity_cosine']:.6f}"
        if results[1]["refused"]:
            note += ", REFUSED by `encode run`"
        self.report.row(f"{name}, {LONG_ROW_TOKENS} tokens a row", "", f"fp8 {fp8:,.0f} tokens/s, bfloat16 {bfloat16:,.0f}, ratio "
                        f"{fp8 / bfloat16:.2f}; {note}")

    def chunks_and_resume(self):
        self.report.section("Chunks, resume, allocator (bert-base, bfloat16)", "check", "result", "figures")
        rows = self.args.rows
        chunk_size = max(1, rows // 60)
        encode = self.encode("bert-base", rows)
        options = ("--dtype", "bfloat16", "--chunk-size", str(chunk_size))
        events, whole, code = encode.run("whole", *options)
        done = chunks_done(events)
        expected = -(-rows // chunk_size)
        if code != 0:
            return self.report.check("run", False, failure(events, code))
        self.report.check("run", len(done) == expected, f"{len(done)} of {expected} chunks")
        self.allocator(done)
        _, standard, code = encode.run("standard", "--dtype", "bfloat16", "--standard")
        self.report.check("standard mode = chunked, to the bit", code == 0 and file_sha256(standard) == file_sha256(whole),
                          f"{rows} rows")
        output, code = self.resume(encode, "resumed", options, expected)
        self.report.check("resumed = uninterrupted, to the bit",
                          code == 0 and file_sha256(output) == file_sha256(whole), output.name)

    def allocator(self, done):
        reserved = [event["device_reserved_bytes"] for event in done]
        allocated = [event["device_allocated_bytes"] for event in done]
        kept = max(r - a for r, a in zip(reserved, allocated))
        growth = reserved[-1] - reserved[0]
        self.report.check("allocator cleared between chunks", min(reserved) > 0 and kept <= RESERVED_SLACK_BYTES,
                          f"at most {kept / MIB:.0f} MiB reserved beyond the {max(allocated) / MIB:.0f} MiB in use")
        self.report.check("memory flat over the run", abs(growth) <= RESERVED_SLACK_BYTES,
                          f"reserved {reserved[0] / MIB:.0f} MiB after the first chunk, {reserved[-1] / MIB:.0f} after the last")

    def resume(self, encode, name, options, expected):
        """Kills a run and goes on. Returns the path of the matrix and the exit code."""
        before, _, _ = encode.run(name, *options, kill_after_chunks=expected // 3)
        # the orphaned worker can hold the lock for a moment, and then the exit code is 75
        for _ in range(30):
            after, output, code = encode.run(name, *options)
            if code != 75:
                break
            time.sleep(1)
        saved, rest = len(chunks_done(before)), len(chunks_done(after))
        self.report.check(f"{name}: killed by SIGKILL, resumed", code == 0 and saved > 0 and 0 < rest <= expected - saved,
                          f"{saved} chunks before the kill, {rest} after, {expected} in all")
        return output, code

    def throughput(self):
        self.report.section("Throughput, bfloat16 (model loaded and warm on both sides)", "model", "rows", "tokens",
                            "encode tokens/s", "sentence-transformers tokens/s (best batch)", "ratio")
        for name, rows in (("minilm", self.args.rows), ("bert-base", self.args.rows),
                           ("qwen2-1.5b", self.args.rows // 2)):
            encode = self.encode(name, rows)
            events, _, code = encode.run(f"speed_{name}", "--dtype", "bfloat16", "--chunk-size", str(rows // 3))
            done = chunks_done(events)
            if code != 0 or len(done) < 2:
                self.report.check(f"throughput {name}", False, failure(events, code))
                continue
            tokens = sum(event["tokens"] for event in done)
            ours = steady_speed(events)
            best, batch = self.peer_speed(name, rows, tokens)
            self.report.row(name, rows, tokens, f"{ours:,.0f}", f"{best:,.0f} ({batch})", f"{ours / best:.2f}")

    def chunk_overhead(self):
        self.report.section("Chunks against standard mode, and batch_tokens: MiniLM, bfloat16, short rows")
        script = pathlib.Path(__file__).resolve().parents[1] / "bench" / "scaling.py"
        run = subprocess.run([sys.executable, script, "chunks", "--encode", self.args.program, "--model", self.model("minilm"),
                              "--threads", str(os.cpu_count()), "--dtype", "bfloat16", "--device", "cuda", "--runs", "2",
                              self.short_rows()], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.report.lines += run.stdout.splitlines() + ["", "| check | result | figures |", "|---|---|---|"]
        verdict = run.stderr.strip().splitlines()[-1:] or ["no output"]
        self.report.check("chunks and batch_tokens", run.returncode == 0, verdict[0])

    def peer_speed(self, name, rows, tokens):
        speeds = []
        for batch in (64, 256):
            _, seconds = peer_embeddings(self.model(name), self.texts[:rows], torch.bfloat16, batch)
            speeds.append((tokens / seconds, batch))
        return max(speeds)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--rows", type=int, default=12000)
    parser.add_argument("--seconds", type=int, default=510)
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    if not torch.cuda.is_available():
        sys.exit("FAIL: torch sees no GPU")
    transformers.utils.logging.disable_progress_bar()
    report = Report(args.output)
    started = time.monotonic()
    report.lines = [f"# encode on {torch.cuda.get_device_name()}", "",
                    f"torch {torch.__version__}, sentence-transformers {sentence_transformers.__version__}"]
    with tempfile.TemporaryDirectory(prefix="gpu_check_", ignore_cleanup_errors=True) as work:
        checks = Checks(args, pathlib.Path(work), report)
        # What tells whether the vectors are right comes first, in case the time is up before the last step.
        run_steps((checks.gpu_tests, checks.preflight, checks.parity, checks.fp8, checks.chunks_and_resume,
                   checks.attention, checks.kernels, checks.throughput, checks.limits, checks.chunk_overhead), report, args.seconds)
    report.lines += ["", f"{len(report.failed)} failed; {time.monotonic() - started:.0f} s in all"]
    report.write()
    print(f"{report.path}: {'FAIL: ' + ', '.join(report.failed) if report.failed else 'PASS'}")
    sys.exit(bool(report.failed))


if __name__ == "__main__":
    main()
