"""The steps that run the test programs of the bundle on the GPU: alone, and under compute-sanitizer."""
import os
import pathlib
import re
import shutil
import subprocess

from results import Skipped

SELF_CHECK = re.compile(r"self-check (.+) (Float|Half|BFloat16) (.+)")  # a name such as "gated to fp8" has spaces
NOT_PASSED = re.compile(r"\[  (?:FAILED |SKIPPED) \] ([\w/]+\.[\w/]+)")  # a line of GoogleTest about one test
GPU_TESTS = ("gpu_kernels_test", "cuda_test")
FP8_CAPABILITY = 9.0
ATTENTION_TEST = "gpu_attention_test"
DATA = pathlib.Path(__file__).resolve().parents[2] / "tests" / "data"
TOOLS = ("memcheck", "racecheck")
FOUND_ERRORS = 77  # the exit code of compute-sanitizer, and of no test program
# The caching allocator gives many tensors one allocation, in which memcheck finds no access beyond a tensor. The tools are slow, so
# they watch only the kernels of the project, whose mangled names have its namespace.
SANITIZER_OPTIONS = ("--kernel-regex", "kns=6encode", "--error-exitcode", str(FOUND_ERRORS), "--print-limit", "20")
UNCACHED = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
# Not the matrix products, which have no kernel of the project and are large.
SANITIZER_TESTS = "GpuKernels.*"
SANITIZER_SUMMARY = re.compile(r"=+ (?:ERROR|RACECHECK) SUMMARY: (.*)")


def torch_libraries():
    import importlib.util  # without importing LibTorch
    found = importlib.util.find_spec("torch")
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


def attention(context, results):
    """Measures what a decision needs (docs/gpu.md); no figure is right or wrong. cuDNN may end the program, for example by an
    illegal access, which is then the finding."""
    results.table("cuDNN beside FlashAttention-2 (docs/gpu.md says what follows)", "shape", "type", "figures")
    if (run := run_test(context, ATTENTION_TEST)) is None:
        results.without(ATTENTION_TEST, missing(ATTENTION_TEST))
        return
    code, lines = run
    for line in lines:
        if found := SELF_CHECK.fullmatch(line):
            results.row(*found.groups())
    if code:
        results.row(ATTENTION_TEST, f"ended with {code}", lines[-1] if lines else "no output")


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
