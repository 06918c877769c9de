"""The step that shows where the device's time goes: the kernels of a run of `encode`, as CUPTI traces them (kernel_trace.cc)."""
import collections
import os
import pathlib
import re
import subprocess
import sysconfig
from dataclasses import dataclass

from context import HERE, ONE_WORKER, Skipped, encoding_seconds
from shapes import card_peak, mfu_percent
from speed import expected_speed

CASES = (("minilm", 30), ("minilm", 128), ("bert-base", 512), ("qwen2-1.5b", 30), ("qwen2-1.5b", 512))
SECONDS = 2.5  # of a traced run
# The model is loaded and checked at the beginning, and at the end the device waits for the last commit.
BEGIN, END = 0.55, 0.95  # the share of the trace's time in which the kernels are counted
SHOWN = 24  # names in a table
LONGEST_NAME = 110


@dataclass(frozen=True)
class Trace:
    names: dict  # number -> name
    spans: list  # (begin, end, number), in nanoseconds, by their begin


def read_trace(path):
    """Reads a file of kernel_trace.cc. Its last line may be incomplete, if the process was killed."""
    names, spans = {}, []
    for line in path.read_text(errors="replace").split("\n")[:-1]:
        kind, *fields = line.split("\t")
        if kind == "name":
            names[int(fields[0])] = fields[1]
        else:
            spans.append(tuple(map(int, fields)))
    return Trace(names, sorted(spans))


def middle(trace):
    """Returns the spans that lie between BEGIN and END of the trace's time."""
    first, last = trace.spans[0][0], max(end for _, end, _ in trace.spans)
    begin, end = (first + share * (last - first) for share in (BEGIN, END))
    return [span for span in trace.spans if begin <= span[0] and span[1] <= end]


def busy(spans):
    """Returns the nanoseconds in which at least one of the spans runs. They are sorted by their begin."""
    total, reached = 0, 0
    for begin, end, _ in spans:
        total += max(0, end - max(begin, reached))
        reached = max(reached, end)
    return total


def short_name(name):
    """Returns a demangled name without what it says about namespaces and arguments."""
    name = re.sub(r"^(?:void|int) ", "", name)
    name = re.sub(r"\(anonymous namespace\)::|at::native::|at::cuda::|encode::", "", name)
    name = re.sub(r"\((?!anonymous).*\)( const)?(?: \[clone.*\])?$", "", name)
    return name if len(name) <= LONGEST_NAME else name[:LONGEST_NAME - 3] + "..."


def summary(spans, names):
    """Returns [(name, calls, microseconds of a call, share of the period)], the longest first, and the share of the period in which
    the device is busy."""
    period = max(end for _, end, _ in spans) - spans[0][0]
    calls, total = collections.Counter(), collections.Counter()
    for begin, end, number in spans:
        name = short_name(names[number])
        calls[name] += 1
        total[name] += end - begin
    rows = [(name, calls[name], time / calls[name] / 1e3, time / period) for name, time in total.most_common()]
    return rows, busy(spans) / period


def library(context):
    """Builds kernel_trace.cc and returns its path. Raises Skipped if this machine cannot."""
    built = context.work / "kernel_trace.so"
    cuda = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
    folders = [pathlib.Path(sysconfig.get_path("purelib")) / "nvidia" / "cu13", cuda, cuda / "extras" / "CUPTI"]
    headers = next((folder / "include" for folder in folders if (folder / "include" / "cupti.h").exists()), None)
    libraries = next((path.parent for folder in folders for part in ("lib", "lib64")
                      if (path := folder / part / "libcupti.so.13").exists()), None)
    if not headers or not libraries:
        raise Skipped(f"no CUPTI 13 in {', '.join(map(str, folders))}")
    command = ["g++", "-std=c++20", "-O2", "-shared", "-fPIC", f"-I{headers}", f"-I{cuda / 'include'}", HERE / "kernel_trace.cc", "-o", built,
               f"-L{libraries}", "-l:libcupti.so.13", f"-Wl,-rpath,{libraries}"]
    try:
        made = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except OSError as error:
        raise Skipped(f"g++: {error.strerror}") from None
    if made.returncode:
        print(made.stdout, flush=True)
        raise Skipped(f"kernel_trace.cc was not compiled: {made.stdout.strip().splitlines()[-1]}")
    return built


def traced_run(context, name, row_tokens, tracer):
    """Returns (the Run, the Trace of the worker)."""
    folder = context.runs / f"trace_{name}_{row_tokens}"
    folder.mkdir()
    rows = max(1, int(SECONDS * expected_speed(name, row_tokens, context.quick) / row_tokens))
    path = context.sized_rows(name, row_tokens, rows)
    run = context.encode(name, path).run(
        f"traced_{name}_{row_tokens}", "--dtype", "bfloat16", "--max-length", row_tokens, "--limit-rows", rows, "--log-level", "debug",
        *ONE_WORKER, environment={"CUDA_INJECTION64_PATH": str(tracer), "KERNEL_TRACE_FOLDER": str(folder)})
    context.remove(run)
    traces = [read_trace(path) for path in folder.glob("*.tsv")]
    return run, max(traces, key=lambda trace: len(trace.spans), default=Trace({}, []))


def device_time(context, results):
    tracer = library(context)
    for name, row_tokens in CASES:
        run, trace = traced_run(context, name, row_tokens, tracer)
        label = f"{name} {row_tokens}"
        if run.code or not trace.spans:
            results.table(f"The device's time: {label}")
            results.check(label, False, run.failure() if run.code else "CUPTI has recorded no kernel")
            continue
        rows, share = summary(middle(trace), trace.names)
        rate = sum(chunk["tokens"] for chunk in run.chunks()) / encoding_seconds(run.stages())
        mfu = mfu_percent(name, row_tokens, rate, card_peak(run.device()))
        title = f"{label}: busy {share:.1%} of the time, {rate:,.0f} tokens/s with tracing, MFU {mfu or 0:.1f} %"
        results.headline(title)
        results.table(title, "kernel", "calls", "us", "% of the time")
        for kernel, calls, microseconds, part in rows[:SHOWN]:
            results.row(kernel, calls, round(microseconds, 1), round(100 * part, 1))
