"""The steps of gpu_check.py in the order in which they run."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    name: str
    run: str  # MODULE:FUNCTION; the function takes a context.Context and a results.Results
    limit: int  # seconds after which the step is killed
    least: int  # seconds in which the step gives its first figures; with less time left it does not begin
    what: str


STEPS = (
    Step("facts", "facts:facts", 60, 5, "the machine, the card, versions, `encode preflight`"),
    Step("kernels", "kernels:kernels", 120, 10, "the test programs that need a GPU"),
    Step("parity", "parity:parity", 150, 30, "vectors beside sentence-transformers in float32 and bfloat16"),
    Step("throughput", "speed:throughput", 270, 30, "tokens/s and MFU with 30, 128 and 512 tokens in a row"),
    Step("peers", "peers:peers", 210, 40, "the same rows: sentence-transformers with SDPA, packed FlashAttention-2 in PyTorch"),
    Step("more_peers", "peers:more_peers", 400, 40, "the same rows: torch.compile, float16, and the peers of a large model"),
    Step("chunks", "chunks:chunks", 150, 30, "chunks, resume after SIGKILL, the allocator, what chunks cost"),
    Step("retirement", "chunks:retirement", 90, 30, "workers that are replaced during a run"),
    Step("limits", "speed:limits", 90, 20, "`encode bench`: speed beside the matrix products alone"),
    Step("fp8", "parity:fp8", 200, 30, "fp8: parity with float32, speed beside bfloat16"),
    Step("sanitizer", "kernels:sanitizer", 150, 20, "compute-sanitizer memcheck and racecheck of the kernels"),
    Step("kernel_gain", "speed:kernel_gain", 100, 20, "cuDNN's attention, and the speed without the project's kernels"),
)
BY_NAME = {step.name: step for step in STEPS}


def chosen(names):
    """Returns the steps of a list such as "facts,fp8", in the order of STEPS; all of them for "". Raises ValueError."""
    wanted = [name for name in names.split(",") if name]
    if unknown := [name for name in wanted if name not in BY_NAME]:
        raise ValueError(f"no step '{unknown[0]}'; the steps are {', '.join(BY_NAME)}")
    return [step for step in STEPS if not wanted or step.name in wanted]
