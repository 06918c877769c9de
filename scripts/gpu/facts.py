"""The step `facts`: what the figures of the other steps depend on."""
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys

import clocks
from results import Skipped

PACKAGES = ("torch", "transformers", "sentence-transformers", "tokenizers", "triton", "numpy")
CARD = ("name", "driver_version", "memory.total", "compute_cap", "power.limit", "clocks.max.sm", "clocks.max.mem",
        "persistence_mode", "ecc.mode.current")


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
    idle = first_lines(["nvidia-smi", f"--query-gpu={','.join(clocks.FIELDS)}", "--format=csv,noheader"])
    results.row(f"{', '.join(clocks.FIELDS)} before the first step", idle)
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
