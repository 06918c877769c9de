"""The time of a run on a GPU, from the kernels of roofline_kernels.py and the assumptions of devices.json.

The time of a product is the larger one of its operations at the speed of the tensor cores and its bytes at the speed of the
memory. All other kernels but attention take the time of their bytes. Kernels of a stream run one after the other, so their times
add up. A batch takes the larger one of the device's time and the time in which the host launches it. At the end of a window the
device computes the first batches of the next one, and is idle if the host takes longer. A run takes the largest one of three
times: that of the windows on the device, that of the reading and tokenizing threads, and that of the thread that commits chunks.
"""
import dataclasses
import json
import math
import pathlib
from dataclasses import dataclass, field

from roofline_kernels import PARTS, SIZE, Batching, Sizes, batch_kernels, layer_kernels

DEVICES = pathlib.Path(__file__).resolve().with_name("devices.json")
SCENARIOS = ("slow", "expected", "fast")
BLOCK_ROWS = 512  # kCpuBlockTokens: the last layer computes the pooled rows in blocks of this size
MOST_TOKENIZER_THREADS = 8  # kEnoughForAnyGpu of src/job/tokenize_plan.cc
POSITION_BYTES = 16  # a token's id and position are copied to the device as int64


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
    cudnn: bool = False
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


def read_devices(path=DEVICES):
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
        if self.change.cudnn and row_tokens >= 512:
            speed *= self.a["attention_cudnn_gain"][key]
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
                     commit=chunks * a["commit_chunk_seconds"] + vector_bytes / a["commit_bytes_per_second"], launches=launches)
