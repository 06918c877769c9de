#!/usr/bin/env python3
"""Makes docs/cuda-kernels.md of the records of encode_launches, or compares it with them.

    kernel_table.py --write|--check TABLE RECORD...

A record is a file NAME.CAPABILITY.PID, for example record.90.4711. record.h describes its lines, and
encode_launches.cc its marks. The exit code is 1 if
- a model runs on a device that must refuse it, or is refused on a device that must run it;
- a device refuses a call, the stand-in lacks a function that was called, or a batch asks the device for memory;
- with --check, the table has other figures than the records. The differences are printed.
"""
import argparse
import collections
import difflib
import json
import pathlib
import re
import subprocess
import sys
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parents[3]
# The refusals that docs/errors.md promises, as {type: (least capability, code)}.
REFUSALS = {"bfloat16": (80, "device.bfloat16"), "fp8": (90, "device.fp8")}
DATA_TYPES = {0: "float32", 2: "float16", 14: "bfloat16", 28: "e4m3"}  # cudaDataType_t
EPILOGUES = {1: "", 2: "relu", 4: "bias", 6: "bias, relu", 32: "gelu", 36: "bias, gelu"}  # cublasLtEpilogue_t
# How the arguments of a kernel for single elements name the operation.
OPERATIONS = [re.compile(r"binary_internal::(\w+?)(?:Functor|_kernel)"), re.compile(r"CUDAFunctor(?:OnSelf)?_(\w+)"),
              re.compile(r"\b(?![AB]Unary|Binary)(\w+)Functor<"),
              re.compile(r"\b(?:direct_|bfloat16_|float16_)?(\w+?)_kernel(?:_cuda|_impl)?(?:<\w+>)?\(at::TensorIter"),
              re.compile(r"(arange)_cuda_out")]
HEAD = """# The kernels of a batch on CUDA

`scripts/soak/cuda.sh runtime --write` writes this page. It runs each reference model of `tests/data/models` on LibTorch's real
CUDA library, with a stand-in for NVIDIA's libraries in which kernels do nothing ([gpu.md](gpu.md)). `scripts/soak/cuda.sh runtime`
fails if a figure changes. Whoever changes a figure writes the page anew and gives the reason in the commit.

The figures are those of one batch of 16 rows with 12 tokens each, after a first pass over the same batches. *Waits* is how often
the host waits for the device in 8 batches. "2/layer + 1" means twice the number of layers, and one more.
`elementwise` are LibTorch's kernels for operations on single elements. No batch asks the device for memory. All numbers that the
host reads from the device, except vectors, are zero on the stand-in, so no token reaches an expert of `nomic_bert_moe`.
"""


@dataclass
class Run:
    """One model as one type on one device."""
    refusal: str = ""  # the code of the error
    faults: list = field(default_factory=list)
    batches: int = 0
    kernels: collections.Counter = field(default_factory=collections.Counter)
    waits: int = 0


def read_record(path):
    """Yields (model, type, Run)."""
    run, steady = Run(), False
    for line in path.read_text().splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "mark":
            word, _, rest = rest.partition(" ")
            steady = word == "steady"
            if word == "model":
                run = Run()
                model, type_name = rest.rsplit(" ", 1)
                yield pathlib.Path(model).name, type_name, run
            elif steady:
                run.batches = int(rest)
            elif word == "refused":
                run.refusal = rest.split(":")[0]
            elif word == "failed":
                run.faults.append(line)
        elif kind in ("refused", "missing"):
            run.faults.append(line)
        elif steady and kind in ("launch", "product"):
            run.kernels[kernel_key(kind, rest)] += 1
        elif steady and kind == "wait":
            run.waits += 1
        elif steady and kind == "allocate":
            run.faults.append(f"a batch asks for memory: {line}")


def kernel_key(kind, rest):
    words = rest.split(" ")
    if kind == "launch":
        return words[0]  # the mangled name
    name = words[0]
    types = [DATA_TYPES.get(int(word), word) for word in words[words.index("types") + 1:][:2]]
    text = types[0] if types[0] == types[1] else f"{types[0]} to {types[1]}"
    if "epilogue" in words:
        epilogue = int(words[words.index("epilogue") + 1])
        text += f", {EPILOGUES.get(epilogue, epilogue)}" if epilogue != 1 else ""
        if words[words.index("scale") + 1] == "1":
            text += ", scales"
    return f"{name} ({text})"


def demangle(names):
    names = sorted(names)
    output = subprocess.run(["c++filt"], input="\n".join(names), check=True, capture_output=True, text=True).stdout
    return dict(zip(names, map(short_name, output.splitlines())))


def short_name(name):
    """Returns the name of the function, without namespaces, arguments and types."""
    if name.startswith("cublas"):
        return name
    if "GemmUniversal" in name:  # CUTLASS; c++filt does not read names of this length
        return f"GemmUniversal ({re.search(r'Mainloop(Sm[0-9]+)', name)[1]})"
    plain = name.replace("(anonymous namespace)::", "").removeprefix("void ")
    head = re.split(r"[<(]", plain, maxsplit=1)[0].split("::")[-1]
    if "flash_fwd" in head:
        head_dim = re.search(r"traits<(\d+)", plain)[1]
        return f"{head} (head_dim {head_dim})"
    if re.search(r"(?<!scatter_gather_)elementwise_kernel", head):
        operation = next(filter(None, (pattern.search(plain) for pattern in OPERATIONS)), None)
        return f"elementwise {operation[1].lower()}" if operation else head
    return re.sub(r"_(?:f32|f16|bf16)_", "_", head)


def layers_of(model):
    config = json.loads((ROOT / "tests" / "data" / "models" / model / "config.json").read_text())
    config = config.get("text_config", config)  # NV-Embed
    return next(config[key] for key in ("num_hidden_layers", "n_layer", "n_layers", "num_layers") if key in config)


def kernel_text(run, layers, names, type_name):
    counts = collections.Counter()
    for key, count in run.kernels.items():
        # A product of the type of the run is named without the type.
        counts[names[key].replace(f" ({type_name})", "").replace(f" ({type_name}, ", " (")] += count
    parts = []
    for name, count in sorted(counts.items()):
        each, rest = divmod(count, run.batches)
        if rest:
            parts.append(f"`{name}` {count} in {run.batches} batches")
            continue
        in_layer, beside = divmod(each, layers)
        amount = f"{in_layer}/layer" if in_layer else ""
        amount += " + " if in_layer and beside else ""
        parts.append(f"`{name}` {amount}{beside or ''}")
    return ", ".join(parts)


def capability_text(capability):
    return f"{capability[:-1]}.{capability[-1]}"


def model_rows(model, runs, names):
    """Returns the lines of a model's table."""
    rows = {}  # {figures: {type: [capabilities]}}
    for (each, type_name, capability), run in runs.items():
        if each != model or run.refusal:
            continue
        launches = sum(run.kernels.values()) / max(run.batches, 1)
        figures = (f"{launches:g}", str(run.waits), kernel_text(run, layers_of(model), names, type_name))
        rows.setdefault(figures, {}).setdefault(type_name, []).append(capability_text(capability))
    for figures, where in rows.items():
        label = "<br>".join(f"{type_name}: {' '.join(capabilities)}" for type_name, capabilities in where.items())
        yield f"| {label} | {' | '.join(figures)} |"


def table(runs):
    names = demangle({key for run in runs.values() for key in run.kernels})
    sections = {}  # {(number of layers, lines of the table): [models]}
    for model in sorted({model for model, _, _ in runs}):
        key = layers_of(model), "\n".join(model_rows(model, runs, names))
        sections.setdefault(key, []).append(model)
    lines = [HEAD]
    for (layers, rows), models in sections.items():
        lines += [f"## {', '.join(models)}: {layers} layers", "", "| type: compute capabilities | launches | waits | kernels |",
                  "|---|---|---|---|", rows, ""]
    return "\n".join(lines)


def faults(runs):
    """Yields what must not happen, whatever the table says."""
    for (model, type_name, capability), run in runs.items():
        where = f"{model} {type_name} {capability_text(capability)}"
        least, code = REFUSALS.get(type_name, (0, ""))
        expected = code if int(capability) < least else ""
        if run.refusal != expected:
            yield f"{where}: expected {expected or 'a run'}, found {run.refusal or 'a run'}"
        elif not run.refusal and not run.kernels:
            yield f"{where}: no kernel was launched"
        for fault in dict.fromkeys(run.faults):
            yield f"{where}: {fault}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--write", action="store_true")
    action.add_argument("--check", action="store_true")
    parser.add_argument("table", type=pathlib.Path)
    parser.add_argument("records", type=pathlib.Path, nargs="+")
    args = parser.parse_args()
    runs = {}
    for path in sorted(args.records, key=lambda path: int(path.name.split(".")[1])):
        for model, type_name, run in read_record(path):
            runs[model, type_name, path.name.split(".")[1]] = run
    found = list(faults(runs))
    text = table(runs)
    if args.write:
        args.table.write_text(text)
    else:
        old = args.table.read_text() if args.table.exists() else ""
        found += difflib.unified_diff(old.splitlines(), text.splitlines(), str(args.table), "these records", lineterm="")
    print("\n".join(found) if found else f"{len(runs)} runs: all as they should be")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
