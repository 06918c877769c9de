"""The steps `peers` and `more_peers`: each kind of peer in a process of its own, with a limit of its own."""
import json
import sys
from dataclasses import dataclass

import clocks
from context import HERE
from limited import run_limited
from results import Skipped, read_results
from speed import ROW_TOKENS

RATIO = "encode / peer"
HEADER = ("peer", "model", "tokens a row", "rows", "batch", "seconds", "tokens/s", "MFU %", RATIO, "lowest cosine to encode",
          *clocks.HEADER)  # of the rows that peer.py writes


@dataclass(frozen=True)
class Kind:
    name: str  # of peer.py
    models: tuple
    limit: int  # seconds


KINDS = (Kind("sdpa-bfloat16", ("minilm", "bert-base"), 100), Kind("packed", ("minilm", "bert-base"), 100))
# torch.compile takes up to a minute for each model.
MORE_KINDS = (
    Kind("compile", ("minilm", "bert-base"), 240),
    Kind("sdpa-bfloat16", ("qwen2-1.5b",), 80),
    Kind("packed", ("qwen2-1.5b",), 80),
    Kind("sdpa-float16", ("minilm", "bert-base"), 100),
)


def peers(context, results):
    time_kinds(KINDS, context, results)


def more_peers(context, results):
    time_kinds(MORE_KINDS, context, results)


def time_kinds(kinds, context, results):
    results.table("Peers on the same rows, tokenizing inside (all but `packed` are sentence-transformers)", *HEADER)
    log = context.work / "peer.log"
    for kind in kinds:
        log.unlink(missing_ok=True)
        command = [sys.executable, "-u", HERE / "peer.py", kind.name, "--options", json.dumps(context.options()), "--entries",
                   results.path, "--models", ",".join(kind.models), "--row-tokens", ",".join(map(str, ROW_TOKENS))]
        for name in kind.models:  # a model that is made in this process does not count for the peer's limit
            for row_tokens in ROW_TOKENS:
                context.sized_rows(name, row_tokens, 4096)
        ended = run_limited(command, kind.limit * context.limit_scale, log)
        output = log.read_text(errors="replace")
        print(output, flush=True)
        name = f"{kind.name} {', '.join(kind.models)}"
        if ended.timed_out:
            results.without(name, f"stopped after {kind.limit * context.limit_scale:.0f} s")
        elif ended.code:
            results.without(name, f"exit code {ended.code}: {(output.strip().splitlines() or ['no output'])[-1]}")
    summarize(results)


def summarize(results):
    rows = read_results(results.path)["tables"][-1]["rows"]
    timed = [row for row in rows if row[1] != "SKIP"]
    if not timed:
        raise Skipped(f"no peer runs here: {rows[0][-1]}")
    if ratios := [row[HEADER.index(RATIO)] for row in timed if row[HEADER.index(RATIO)]]:
        results.headline(f"encode is {min(ratios)} to {max(ratios)} times as fast as these peers")
