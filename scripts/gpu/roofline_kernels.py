"""The kernels of a forward pass on a GPU in bfloat16: what each one computes, reads and writes.

Nobody types counts here. Two programs of the project count them, and check() compares the formulas of this file with them:

- docs/cuda-kernels.md has the kernels of each layer and batch. `scripts/soak/cuda.sh runtime --write` writes it from the
  launches of LibTorch's real CUDA library.
- tests/cuda/layer_costs_test.cc has the launches and the bytes of a layer of the tiny reference models, and fails if the program
  has other ones.

Both are counts of tiny models. For a real model the same formulas take its sizes.
"""
import json
import pathlib
import re
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parents[2]
KERNEL_PAGE = ROOT / "docs/cuda-kernels.md"
LAYER_COSTS = ROOT / "tests/cuda/layer_costs_test.cc"
BATCH_PLAN = ROOT / "src/batching/batch_plan.cc"
WINDOWS = ROOT / "include/encode/batch_plan.h"
JOB_OPTIONS = ROOT / "include/encode/config.h"
TINY_MODELS = ROOT / "tests/data/models"
SIZE = 2  # the bytes of a bfloat16
PARTS = ("products", "attention", "norms", "activation", "rotary", "embedding", "pooling")


class Stale(Exception):
    """A file that this program reads has another form or other counts than the formulas expect."""


@dataclass(frozen=True)
class Sizes:
    layers: int
    hidden: int
    inner: int
    heads: int
    key_heads: int
    gated: bool  # the layer is that of Llama and Qwen2: rotary positions, gated MLP, causal, few biases; otherwise it is BERT's

    @staticmethod
    def of(config, gated):
        return Sizes(config["num_hidden_layers"], config["hidden_size"], config["intermediate_size"],
                     config["num_attention_heads"], config.get("num_key_value_heads", config["num_attention_heads"]), gated)

    @property
    def head_dim(self):
        return self.hidden // self.heads

    @property
    def key_value(self):
        return self.key_heads * self.head_dim


@dataclass(frozen=True)
class Kernel:
    role: str
    name: str  # in docs/cuda-kernels.md
    part: str  # of PARTS
    token_bytes: int  # read and written for one token slot, without the weights of a product
    n: int = 0  # a product multiplies [rows, k] by [k, n]
    k: int = 0
    finishes: bool = False  # it works on the rows that are left after attention: in the last layer on the pooled ones alone
    row_bytes: int = 0  # for each row of the batch


def product(role, k, n, bias=False, adds=False, finishes=False):
    """A product, which reads its input and writes its result. `adds`: it also reads the residual as the matrix C."""
    return Kernel(role, "cublasLtMatmul (bias)" if bias else "cublasLtMatmul", "products", SIZE * (k + n * (2 if adds else 1)),
                  n, k, finishes)


def pointwise(role, name, part, token_bytes, finishes=False):
    return Kernel(role, name, part, token_bytes, finishes=finishes)


def layer_kernels(s):
    """Returns the kernels of one layer in their order."""
    flash = pointwise("attention", f"flash_fwd_kernel (head_dim {round_up(s.head_dim)})", "attention",
                      SIZE * 2 * (s.hidden + s.key_value))
    if not s.gated:
        norm = pointwise("norm", "norm_kernel", "norms", SIZE * 3 * s.hidden, finishes=True)  # x, residual, result
        return [product("qkv", s.hidden, s.hidden + 2 * s.key_value, bias=True), flash,
                product("out", s.hidden, s.hidden, bias=True, finishes=True), norm,
                product("up", s.hidden, s.inner, bias=True, finishes=True),
                pointwise("activation", "activation_kernel", "activation", SIZE * 2 * s.inner, finishes=True),
                product("down", s.inner, s.hidden, bias=True, finishes=True), norm]
    # The rotary kernel reads and writes queries and keys, and reads float32 cosines and sines.
    rotary = pointwise("rotary", "rotary_kernel", "rotary", s.head_dim * (2 * (s.heads + s.key_heads) * SIZE + 4))
    norm_bytes = SIZE * 2 * s.hidden  # the product before it has added the residual
    return [pointwise("norm", "norm_kernel", "norms", norm_bytes), product("qkv", s.hidden, s.hidden + 2 * s.key_value, bias=True),
            rotary, flash, product("out", s.hidden, s.hidden, adds=True, finishes=True),
            pointwise("norm", "norm_kernel", "norms", norm_bytes, finishes=True),
            product("up", s.hidden, 2 * s.inner, finishes=True),
            pointwise("activation", "activation_kernel", "activation", SIZE * 3 * s.inner, finishes=True),
            product("down", s.inner, s.hidden, adds=True, finishes=True)]


def batch_kernels(s):
    """Returns the kernels of a batch that belong to no layer."""
    pool = Kernel("pool", "pool_kernel", "pooling", SIZE * s.hidden, row_bytes=4 * s.hidden)
    if not s.gated:
        return [pointwise("embed", "embedding_kernel", "embedding", SIZE * 3 * s.hidden), pool]  # words, positions, result
    angles = pointwise("angles", "vectorized_gather_kernel", "rotary", 2 * 4 * s.head_dim // 2)
    return [pointwise("embed", "vectorized_gather_kernel", "embedding", SIZE * 2 * s.hidden), angles, angles,
            pointwise("norm", "norm_kernel", "norms", SIZE * 2 * s.hidden, finishes=True), pool]


def round_up(head_dim):
    """FlashAttention-2 has kernels for these sizes of a head."""
    return next(size for size in (32, 64, 96, 128, 192, 256) if head_dim <= size)


def counts(kernels):
    names = [kernel.name for kernel in kernels]
    return {name: names.count(name) for name in names}


def page_counts(model, text):
    """Returns ({kernel: launches of a batch}, layers) of a reference model in bfloat16 on compute capability 9.0."""
    for section in text.split("\n## ")[1:]:
        title, _, rest = section.partition("\n")
        names, _, layers = title.rpartition(": ")
        if model not in names.split(", "):
            continue
        layers = int(layers.split()[0])
        for row in re.findall(r"^\| (.*bfloat16: [^|]*\b9\.0\b.*) \|$", rest, re.MULTILINE):
            cells = row.split(" | ")
            found = re.findall(r"`([^`]+)` (?:(\d+)/layer)?(?: \+ )?(\d+)?", cells[3])
            total = {name: int(each or 0) * layers + int(beside or 0) for name, each, beside in found}
            if sum(total.values()) != int(cells[1]):
                raise Stale(f"{KERNEL_PAGE.name}: the kernels of {model} in bfloat16 do not add up to its {cells[1]} launches")
            return total, layers
    raise Stale(f"{KERNEL_PAGE.name} has no line for {model} in bfloat16 on 9.0")


def layer_costs(model, text):
    """Returns (launches, bytes of a token) of one layer of a tiny reference model in bfloat16."""
    found = re.search(rf'Cost\{{"{model}",\s*ComputeType::kBFloat16,\s*(\d+),\s*(\d+)\}}', text)
    if not found:
        raise Stale(f"{LAYER_COSTS.name} has no costs of {model} in bfloat16")
    return int(found[1]), int(found[2])


def check(page=None, costs=None):
    """Raises Stale if a count differs from the formulas. `page` and `costs` are the texts of the two files."""
    page = KERNEL_PAGE.read_text() if page is None else page
    costs = LAYER_COSTS.read_text() if costs is None else costs
    for model, gated in (("bert", False), ("qwen2", True)):
        sizes = Sizes.of(json.loads((TINY_MODELS / model / "config.json").read_text()), gated)
        layer = layer_kernels(sizes)
        expected = counts(layer * sizes.layers + batch_kernels(sizes))
        counted, layers = page_counts(model, page)
        if counted != expected or layers != sizes.layers:
            raise Stale(f"{model}: {KERNEL_PAGE.name} has {counted}, the formulas have {expected}")
        formula = len(layer), sum(kernel.token_bytes for kernel in layer)
        if layer_costs(model, costs) != formula:
            raise Stale(f"{model}: {LAYER_COSTS.name} has {layer_costs(model, costs)} launches and bytes of a layer, the formulas "
                        f"have {formula}")


def constant(path, pattern):
    """Returns the product of the numbers that the pattern's groups find in a source of the program."""
    found = re.search(pattern, path.read_text())
    if not found:
        raise Stale(f"{path.relative_to(ROOT)}: nothing matches {pattern}")
    value = 1
    for group in found.groups():
        value *= int(group)
    return value


@dataclass(frozen=True)
class Batching:
    """How the program cuts rows into chunks, windows, batches and launches if the user sets nothing."""
    chunk_rows: int
    window_rows: int
    window_tokens: int
    batch_tokens: int
    launch_outputs: int
    least_launch: int
    batches_ahead: int  # of the next window, which the device computes while the host ends a window

    @staticmethod
    def default():
        batch = constant(BATCH_PLAN, r"kGpuBudgetTokens = (\d+);")
        return Batching(chunk_rows=constant(JOB_OPTIONS, r"kMostDefaultChunkRows = (\d+);"),
                        window_rows=constant(BATCH_PLAN, r"kRows = (\d+);"),
                        window_tokens=constant(BATCH_PLAN, r"kWindowBatches = (\d+);") * batch, batch_tokens=batch,
                        launch_outputs=constant(BATCH_PLAN, r"kOutputs = int64_t\{(\d+)\} \* (\d+);"),
                        least_launch=constant(BATCH_PLAN, r"kLeast = (\d+);"),
                        batches_ahead=constant(WINDOWS, r"return token_embeddings \? 1 : (\d+);"))

    def launch_tokens(self, hidden):
        """The same as launch_tokens() of src/batching/batch_plan.cc."""
        tokens = self.batch_tokens
        while tokens > self.least_launch and tokens * hidden > self.launch_outputs:
            tokens //= 2
        return tokens

    def window(self, row_tokens):
        """Returns (chunks, rows) of a window of equally long rows, see WindowProducer::make_window()."""
        if self.chunk_rows > self.window_rows:
            return self.window_rows / self.chunk_rows, self.window_rows
        chunks = 1
        while chunks * self.chunk_rows < self.window_rows and chunks * self.chunk_rows * row_tokens < self.window_tokens:
            chunks += 1
        return chunks, chunks * self.chunk_rows
