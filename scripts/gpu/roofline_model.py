"""The kernels of a forward pass in bfloat16, and the time of a run on a GPU under the assumptions of devices.json.

Nobody types counts here. Two programs of the project count them, and check() compares the formulas of this file with them:

- docs/cuda-kernels.md has the kernels of each layer and batch. `scripts/soak/cuda.sh runtime --write` writes it from the
  launches of LibTorch's real CUDA library.
- tests/cuda/layer_costs_test.cc has the launches and bytes of a layer of the tiny reference models, and fails if others are found.

Both are counts of tiny models. For a real model the same formulas take its sizes.

The time of a product is the larger one of its operations at the speed of the tensor cores and its bytes at the speed of the
memory. All other kernels but attention take the time of their bytes. Kernels of a stream run one after the other, so their times
add up. A batch takes the larger one of the device's time and the time in which the host launches it. At the end of a window the
device computes the first batches of the next one, and is idle if the host takes longer. A run takes the largest one of three
times: those of the windows on the device, of the reading and tokenizing threads, and of the thread that commits chunks."""
import dataclasses
import json
import math
import pathlib
import re
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parents[2]
KERNEL_PAGE = ROOT / "docs/cuda-kernels.md"
LAYER_COSTS = ROOT / "tests/cuda/layer_costs_test.cc"
BATCH_PLAN = ROOT / "src/batching/batch_plan.cc"
WINDOWS = ROOT / "include/encode/batch_plan.h"
JOB_OPTIONS = ROOT / "include/encode/config.h"
TINY_MODELS = ROOT / "tests/data/models"
SIZE = 2  # the bytes of a bfloat16
PARTS = ("products", "attention", "norms", "activation", "rotary", "embedding", "pooling")
SCENARIOS = ("slow", "expected", "fast")
BLOCK_ROWS = 512  # kCpuBlockTokens: the last layer computes the pooled rows in blocks of this size
MOST_TOKENIZER_THREADS = 8  # kEnoughForAnyGpu of src/job/tokenize_plan.cc
CHUNKS_TOGETHER = 16  # kChunksTogether of src/job/commit_thread.h
POSITION_BYTES = 16  # a token's id and position are copied to the device as int64


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


@dataclass(frozen=True)
class Device:
    flops_per_second: float
    memory_bytes_per_second: float
    l2_bytes: float
    multiprocessors: int


@dataclass(frozen=True)
class Model:
    sizes: Sizes
    one_token: bool  # pooling reads one token of each row, so the last layer finishes only these tokens


@dataclass(frozen=True)
class Change:
    """What a change of the program would do to the times. Without arguments it is the program as it is."""
    drops: frozenset = frozenset()  # roles of kernels that are gone
    activates_in_product: bool = False  # the product before the activation writes the activated rows
    values: dict = field(default_factory=dict)  # assumptions that are replaced
    launch_factor: int = 1
    batching: dict = field(default_factory=dict)  # fields of Batching that are replaced


@dataclass
class Times:
    """The seconds of one window. `device` has the parts of the time in which the device works or waits in a batch."""
    rows: int
    row_tokens: int
    slots: int
    device: dict
    host_launches: float  # by which launching takes longer than the device
    window_end: float  # in which the device is idle
    retirement: float
    feed: float
    commit: float
    launches: int  # of one full batch

    @property
    def gpu(self):
        return sum(self.device.values()) + self.host_launches + self.window_end + self.retirement

    @property
    def seconds(self):
        return max(self.gpu, self.feed, self.commit)

    @property
    def limit(self):
        return {self.gpu: "GPU", self.feed: "tokenizing", self.commit: "commit"}[self.seconds]

    def tokens_per_second(self, seconds=None):
        return self.rows * self.row_tokens / (seconds or self.seconds)


def read_devices(path=ROOT / "scripts/gpu/devices.json"):
    """Returns ({name: Device}, {assumption: its entry})."""
    found = json.loads(path.read_text())
    fields = [each.name for each in dataclasses.fields(Device)]
    devices = {name: Device(**{key: entry[key] for key in fields}) for name, entry in found["devices"].items()}
    return devices, found["assumptions"]


class Clock:
    """Computes times for one device, one set of assumptions and one change."""

    def __init__(self, device, assumptions, scenario, change=Change()):
        self.device, self.change = device, change
        # Names and units are those of devices.json.
        self.a = {name: entry[scenario] for name, entry in assumptions.items()} | change.values

    def memory_seconds(self, size):
        if size <= self.a["l2_share"] * self.device.l2_bytes:
            return size / self.a["l2_bytes_per_second"]
        return size / (self.a["memory_efficiency"] * self.device.memory_bytes_per_second)

    def tile_efficiency(self, rows, n):
        """The share of the time that multiprocessors spend on elements of the result, with the best tile. The last wave of tiles
        does not fill all multiprocessors, and the last tile of a row may reach beyond the result."""
        def share(tile_rows, tile_columns, speed):
            tiles = math.ceil(rows / tile_rows) * math.ceil(n / tile_columns)
            waves = math.ceil(tiles / self.device.multiprocessors)
            return speed * rows * n / (waves * self.device.multiprocessors * tile_rows * tile_columns)

        return max(share(*tile) for tile in self.a["product_tiles"])

    def product_seconds(self, rows, n, k, token_bytes):
        """One launch of a product, without the gap to the next kernel."""
        efficiency = self.a["product_efficiency"] * self.tile_efficiency(rows, n) * k / (k + self.a["product_fill_columns"])
        work = 2 * rows * n * k / (efficiency * self.device.flops_per_second)
        return max(work, self.memory_seconds(rows * token_bytes + SIZE * n * k))

    def attention_seconds(self, sizes, rows, row_tokens, token_bytes):
        """FlashAttention-2 computes whole tiles of scores: for a row of 30 tokens as many as for one of 128."""
        key = str(min(size for size in (32, 64, 128) if sizes.head_dim <= size))
        tile_rows, tile_columns = self.a["attention_tile"][key]
        tiles = math.ceil(row_tokens / tile_rows)
        ends = [min((i + 1) * tile_rows, row_tokens) if sizes.gated else row_tokens for i in range(tiles)]
        columns = sum(math.ceil(end / tile_columns) * tile_columns for end in ends)
        speed = self.a["attention_flops_causal" if sizes.gated else "attention_flops_full"][key]
        average = columns / tiles
        speed *= average / (average + self.a["attention_fill_columns"])
        work = rows * sizes.heads * 4 * sizes.head_dim * tile_rows * columns / speed
        return max(work, self.memory_seconds(rows * row_tokens * token_bytes))

    def kernel_seconds(self, kernel, sizes, batch, launch):
        """Returns the seconds of one kernel for `batch` (rows, row_tokens, slots), and its launches."""
        rows, row_tokens, slots = batch
        token_bytes = kernel.token_bytes
        if self.change.activates_in_product and kernel.role == "up":
            token_bytes -= SIZE * (kernel.n - sizes.inner)  # gate and up are not written, only their product
        if kernel.part == "attention":
            return self.attention_seconds(sizes, rows, row_tokens, token_bytes), 1
        if kernel.part == "products":
            count = math.ceil(slots / launch)
            return count * self.product_seconds(min(launch, slots), kernel.n, kernel.k, token_bytes), count
        return self.memory_seconds(slots * token_bytes + rows * kernel.row_bytes), 1

    def batch(self, model, batch, launch):
        """Returns ({part: seconds}, launches) of a batch (rows, row_tokens, slots)."""
        rows, _, slots = batch
        sizes = model.sizes
        parts = dict.fromkeys((*PARTS, "gaps", "copies"), 0.0)
        launches = 0

        def add(kernel, times, of, size):
            nonlocal launches
            if times == 0 or kernel.role in self.change.drops:
                return
            seconds, count = self.kernel_seconds(kernel, sizes, of, size)
            parts[kernel.part] += times * seconds
            parts["gaps"] += times * count * self.a["kernel_gap_seconds"]
            launches += times * count

        pooled = math.ceil(rows / BLOCK_ROWS) * BLOCK_ROWS if model.one_token else slots
        few = (rows, 1, pooled)
        for kernel in layer_kernels(sizes):
            last_is_short = model.one_token and kernel.finishes
            add(kernel, sizes.layers - last_is_short, batch, launch)
            add(kernel, int(last_is_short), few, BLOCK_ROWS)
        for kernel in batch_kernels(sizes):
            short = model.one_token and kernel.finishes
            add(kernel, 1, few if short else batch, launch)
        copied = slots * POSITION_BYTES + rows * 4 * sizes.hidden
        parts["copies"] = copied / self.a["pcie_bytes_per_second"]
        return parts, launches

    def window(self, model, row_tokens):
        """Returns the Times of one window of rows of this length."""
        batching = dataclasses.replace(Batching.default(), **self.change.batching)
        sizes, a = model.sizes, self.a
        launch = min(batching.launch_tokens(sizes.hidden) * self.change.launch_factor, batching.batch_tokens)
        chunks, rows = batching.window(row_tokens)
        batch_rows = batching.batch_tokens // row_tokens
        full, rest = divmod(rows, batch_rows)
        shapes = [((batch_rows, row_tokens, batching.batch_tokens), full)]
        if rest:
            shapes.append(((rest, row_tokens, math.ceil(rest * row_tokens / launch) * launch), 1))
        device, late, slots, launches = {}, 0.0, 0, 0
        for shape, times in shapes:
            parts, count = self.batch(model, shape, launch)
            launches = launches or count
            for part, seconds in parts.items():
                device[part] = device.get(part, 0.0) + times * seconds
            late += times * max(0.0, count * a["host_launch_seconds"] - sum(parts.values()))
            slots += times * shape[2]
        vector_bytes = rows * 4 * sizes.hidden
        host_end = a["window_end_seconds"] + vector_bytes / a["window_vector_bytes_per_second"]
        ahead = min(batching.batches_ahead, full) * sum(device.values()) / (full + bool(rest))
        end = max(0.0, host_end - ahead)
        threads = min(max(a["host_cores"] - 2, 1), MOST_TOKENIZER_THREADS)
        busy = sum(device.values()) + late + end
        return Times(rows=rows, row_tokens=row_tokens, slots=slots, device=device, host_launches=late, window_end=end,
                     retirement=busy * a["retirement_share"],
                     feed=rows * (a["row_seconds"] + row_tokens / (threads * a["tokenizer_tokens_per_second"])),
                     commit=chunks * a["commit_chunk_seconds"] + math.ceil(chunks / CHUNKS_TOGETHER) * a["commit_group_seconds"]
                     + vector_bytes / a["commit_bytes_per_second"], launches=launches)
