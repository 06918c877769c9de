"""The steps that check without a peer: the machine, the test programs of the bundle alone and under compute-sanitizer, equal bytes in
every mode, resume, memory, and workers that are replaced."""
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

from context import CLOCK_FIELDS, HERE, ONE_WORKER, TRY_AGAIN, Skipped

PACKAGES = ("torch", "transformers", "sentence-transformers", "tokenizers", "triton", "numpy")
CARD = ("name", "driver_version", "memory.total", "compute_cap", "power.limit", "clocks.max.sm", "clocks.max.mem",
        "persistence_mode", "ecc.mode.current")
SELF_CHECK = re.compile(r"self-check (.+) (Float|Half|BFloat16) (.+)")  # a name such as "gated to fp8" has spaces
NOT_PASSED = re.compile(r"\[  (?:FAILED |SKIPPED) \] ([\w/]+\.[\w/]+)")  # a line of GoogleTest about one test
GPU_TESTS = ("gpu_kernels_test", "cuda_test")
FP8_CAPABILITY = 9.0
DATA = HERE.parents[1] / "tests" / "data"
TOOLS = ("memcheck", "racecheck")
FOUND_ERRORS = 77  # the exit code of compute-sanitizer, and of no test program
# The caching allocator gives many tensors one allocation, in which memcheck finds no access beyond a tensor. The tools are slow, so
# they watch only the kernels of the project, whose mangled names have its namespace.
SANITIZER_OPTIONS = ("--kernel-regex", "kns=6encode", "--error-exitcode", str(FOUND_ERRORS), "--print-limit", "20")
UNCACHED = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
# Not the matrix products, which have no kernel of the project and are large: racecheck of 2025.3 ends with an internal error in
# cuBLASLt's kernel for 8-bit floats.
SANITIZER_TESTS = "GpuKernels.*-GpuKernels.Fp8Products*"
SANITIZER_SUMMARY = re.compile(r"=+ (?:ERROR|RACECHECK) SUMMARY: (.*)")
MIB = 1 << 20
# The allocator keeps its blocks in segments of 2 and 20 MiB. Parts of segments may remain after a release, and this is no leak.
RESERVED_SLACK_BYTES = 64 * MIB
# Between chunks the working set of one batch stays reserved, and a quarter of it (ReleaseRule).
WORKING_SET_SHARE = 4
MODEL = "bert-base"
CHUNKS = 60
WORKER_CHUNKS = 12
# A worker ends between two windows, and these rows are several windows.
REPLACED_ROWS = 6000
SHORT_ROWS = 200_000
SHORT_ROW_TOKENS = 30
WAITS_FOR_LOCK = 30


def first_lines(command, count=1):
    """Returns the first lines of a program's output, or why there are none."""
    try:
        run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except OSError as error:
        return f"{command[0]}: {error.strerror}"
    return " ".join(run.stdout.strip().splitlines()[:count]) or f"exit code {run.returncode}"


def last_line(command):
    try:
        run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except OSError as error:
        return f"{command[0]}: {error.strerror}"
    return (run.stdout.strip().splitlines() or ["no output"])[-1]


def version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def facts(context, results):
    results.table("The machine", "fact", "value")
    card = first_lines(["nvidia-smi", f"--query-gpu={','.join(CARD)}", "--format=csv,noheader"])
    results.row(", ".join(CARD), card)
    results.headline(card)
    idle = first_lines(["nvidia-smi", f"--query-gpu={','.join(CLOCK_FIELDS)}", "--format=csv,noheader"])
    results.row(f"{', '.join(CLOCK_FIELDS)} before the first step", idle)
    results.row("encode", first_lines([str(context.program), "--version"], 3))
    for package in PACKAGES:
        results.row(package, version(package))
    results.row("Python", sys.version.split()[0])
    results.row("nvcc", last_line(["nvcc", "--version"]))
    results.row("compute-sanitizer", last_line(["compute-sanitizer", "--version"]))
    results.row("processors", f"{os.cpu_count()}, of which this process may use {len(os.sched_getaffinity(0))}")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    results.row("host memory", f"{memory / 1e9:.0f} GB")
    results.row("free space of --work", f"{shutil.disk_usage(context.work).free / 1e9:.0f} GB")
    results.table("`encode preflight`: the driver, the device, the defences against faults")
    try:
        preflight(context, results)
    except Skipped as reason:
        results.without("preflight", str(reason))


def preflight(context, results):
    command = [context.program, "preflight", "--json", "--device", "cuda", "--model", context.model("bert-base"), "--input",
               context.rows(500), "--field", "text", "--dtype", "bfloat16", "--cache-dir", context.runs / "preflight_cache"]
    run = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    print(run.stdout + run.stderr, flush=True)
    if not run.stdout.startswith("{"):
        results.check("preflight", False, f"exit code {run.returncode}: {run.stderr.strip()[-300:]}")
        return
    found = json.loads(run.stdout)
    for finding in found["findings"]:
        if finding["grade"] != "green":
            results.row(finding["check"], finding["grade"], finding["found"])
    counts = ", ".join(f"{found[grade]} {grade}" for grade in ("green", "yellow", "red"))
    results.check("preflight", run.returncode == 0, counts)


def torch_libraries():
    found = importlib.util.find_spec("torch")  # without importing LibTorch
    return pathlib.Path(found.origin).parent / "lib" if found else None


def run_test(context, name, *options, before=(), environment=None):
    """Runs a test program of the bundle. Returns (exit code, lines), or None if the bundle lacks it."""
    program = context.bundle / "tests" / name
    if not program.exists():
        return None
    folders = [context.bundle / "lib" / "encode", torch_libraries()]
    variables = {**os.environ, **(environment or {}), "LD_LIBRARY_PATH": ":".join(str(folder) for folder in folders if folder),
                 "ENCODE_TEST_DATA": str(DATA), "ENCODE_TEST_DEVICE": "cuda"}
    lines = []
    with subprocess.Popen([*before, str(program), "--gtest_color=no", *options], env=variables, text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        for line in process.stdout:  # at once, so that the log of a killed step says where it was
            print(line, end="", flush=True)
            lines.append(line.rstrip("\n"))
    return process.returncode, lines


def without_fp8():
    """Returns the option that leaves out the tests of 8-bit floats on a card that has none."""
    try:
        query = subprocess.run(["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"], stdout=subprocess.PIPE,
                               text=True)
        return () if float(query.stdout.split()[0]) >= FP8_CAPABILITY else ("--gtest_filter=-*Fp8*",)
    except (OSError, ValueError, IndexError):
        return ()


def missing(name):
    return f"{name} is not in the bundle: make it with scripts/package.sh --gpu-tests"


def not_passed(lines):
    return sorted({found[1] for line in lines if (found := NOT_PASSED.match(line))})


def judged(code, lines):
    """Returns (good, figures) of a test program. No test may skip, because a GPU is there."""
    wrong = not_passed(lines)
    figures = next((line for line in reversed(lines) if "PASSED" in line), "no result")
    if wrong:
        figures += f" Failed or skipped: {', '.join(wrong)}"
    return code == 0 and not wrong, figures


def kernels(context, results):
    results.table("Each kernel against LibTorch, and the same row gives the same vector")
    counts = []
    if options := without_fp8():
        results.without("fp8", f"encode has 8-bit floats from compute capability {FP8_CAPABILITY} on")
    for name in GPU_TESTS:
        if (run := run_test(context, name, *options)) is None:
            results.check(name, False, missing(name))
            continue
        code, lines = run
        for line in lines:
            if found := SELF_CHECK.fullmatch(line):
                results.row(*found.groups())
        good, figures = judged(code, lines)
        results.check(name, good, figures)
        passed = sum(line.startswith("[       OK") for line in lines)
        counts.append(f"{name}: {passed} tests passed, {len(not_passed(lines))} did not")
        results.headline("; ".join(counts))


def sanitizer(context, results):
    program = shutil.which("compute-sanitizer") or shutil.which("/usr/local/cuda/bin/compute-sanitizer")
    if not program:
        raise Skipped("this machine has no compute-sanitizer")
    results.table(f"compute-sanitizer, {SANITIZER_TESTS} of gpu_kernels_test, the kernels of the project")
    for tool in TOOLS:
        run = run_test(context, "gpu_kernels_test", f"--gtest_filter={SANITIZER_TESTS}",
                       before=(program, "--tool", tool, *SANITIZER_OPTIONS), environment=UNCACHED)
        if run is None:
            raise Skipped(missing("gpu_kernels_test"))
        code, lines = run
        summaries = [found[1] for line in lines if (found := SANITIZER_SUMMARY.match(line))]
        errors = summaries[-1] if summaries else f"no summary, exit code {code}"
        good, figures = judged(code, lines)
        results.check(tool, good, f"{errors}; {figures}")


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def chunk_size(rows):
    return ("--chunk-size", rows // CHUNKS)


def whole_run(results, encode, rows):
    """Encodes the rows in CHUNKS chunks with one worker. Returns the Run, or None if it failed, which is reported."""
    run = encode.run("whole", "--dtype", "bfloat16", *chunk_size(rows), *ONE_WORKER)
    if run.code:
        results.check("run", False, run.failure())
        return None
    results.check("run", len(run.chunks()) == CHUNKS, f"{len(run.chunks())} of {CHUNKS} chunks")
    return run


def chunks(context, results):
    results.table(f"Chunks, resume, allocator ({MODEL}, bfloat16)")
    rows = context.real_rows
    encode = context.encode(MODEL, context.rows(rows))
    if (whole := whole_run(results, encode, rows)) is not None:
        allocator(results, whole.chunks())
        standard = encode.run("standard", "--dtype", "bfloat16", "--standard")
        results.check("standard mode = chunked, to the bit", standard.code == 0 and sha256(standard.output) == sha256(whole.output),
                      f"{rows} rows")
        resume(results, encode, rows, whole.output)
    cost(context, results)


def allocator(results, done):
    reserved = [event["device_reserved_bytes"] for event in done]
    allocated = [event["device_allocated_bytes"] for event in done]
    unused = [r - a for r, a in zip(reserved, allocated)]
    allowed = unused[0] + max(unused[0] // WORKING_SET_SHARE, RESERVED_SLACK_BYTES)
    results.check("no more than a batch's working set stays reserved between chunks", min(reserved) > 0 and max(unused) <= allowed,
                  f"{unused[0] / MIB:.0f} MiB unused after the first chunk, at most {max(unused) / MIB:.0f} MiB later, beside the "
                  f"{max(allocated) / MIB:.0f} MiB in use")
    results.check("unused memory released at the end of the stream", unused[-1] <= RESERVED_SLACK_BYTES,
                  f"{unused[-1] / MIB:.0f} MiB reserved beyond what is in use after the last chunk")


def resume(results, encode, rows, whole):
    """Kills a run and goes on."""
    options = ("--dtype", "bfloat16", *chunk_size(rows))
    before = encode.run("resumed", *options, kill_after_chunks=CHUNKS // 3)
    # The worker of the killed run can hold the lock for a moment.
    for _ in range(WAITS_FOR_LOCK):
        after = encode.run("resumed", *options)
        if after.code != TRY_AGAIN:
            break
        time.sleep(1)
    saved, rest = len(before.chunks()), len(after.chunks())
    results.check("killed by SIGKILL, resumed", after.code == 0 and saved > 0 and 0 < rest <= CHUNKS - saved,
                  f"{saved} chunks before the kill, {rest} after, {CHUNKS} in all")
    results.check("resumed = uninterrupted, to the bit", after.code == 0 and sha256(after.output) == sha256(whole),
                  f"{rows} rows")


def cost(context, results):
    """Measures what chunks and batch sizes cost with the fastest model, where a chunk is short."""
    rows = context.real_rows if context.quick else SHORT_ROWS
    path = context.sized_rows("minilm", SHORT_ROW_TOKENS, rows)
    command = [sys.executable, HERE.parent / "bench" / "measure.py", "chunks", "--encode", context.program, "--model",
               context.model("minilm"), "--threads", os.cpu_count(), "--dtype", "bfloat16", "--device", "cuda", "--runs", 2, path]
    run = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    print(run.stdout + run.stderr, flush=True)
    results.markdown("Chunks beside standard mode, and batch_tokens (MiniLM, bfloat16, short rows)", run.stdout)
    results.table("What chunks and batch_tokens cost")
    verdict = run.stderr.strip().splitlines()[-1:] or ["no output"]
    results.check("chunks and batch_tokens", run.returncode == 0, verdict[0])


def retirement(context, results):
    results.table(f"Workers that are replaced after {WORKER_CHUNKS} chunks ({MODEL}, bfloat16)")
    encode = context.encode(MODEL, context.rows(REPLACED_ROWS))
    if (whole := whole_run(results, encode, REPLACED_ROWS)) is None:
        return
    run = encode.run("replaced", "--dtype", "bfloat16", *chunk_size(REPLACED_ROWS), "--set",
                     f"hardware.worker_chunks={WORKER_CHUNKS}")
    if run.code:
        results.check("run with new workers", False, run.failure())
        return
    retired = run.of("worker_retired")
    results.check("workers were replaced", 0 < len(retired) < CHUNKS, f"{len(retired)} times in {len(run.chunks())} chunks")
    results.check("new workers = one worker, to the bit", sha256(run.output) == sha256(whole.output), f"{REPLACED_ROWS} rows")
    most = max(chunk["device_reserved_bytes"] for chunk in whole.chunks())
    reserved = max(chunk["device_reserved_bytes"] for chunk in run.chunks())
    results.check("new workers need no more memory", reserved <= most + RESERVED_SLACK_BYTES,
                  f"{reserved / MIB:.0f} MiB reserved, {most / MIB:.0f} with one worker")
    lost = [chunk["arrival"] - event["arrival"] for event in retired if (chunk := next_chunk(run, event))]
    if lost:
        figures = f"{max(lost):.1f} s at most from the end of a worker to the first chunk of the next"
        results.row("the cost of a new worker", "", figures)
        results.headline(figures)


def next_chunk(run, event):
    return next((chunk for chunk in run.chunks() if chunk["arrival"] > event["arrival"]), None)
