"""The steps that measure speed. Each timing of `encode run` has the least size of context.Timing; reading and tokenizing are
inside. Each kind of peer runs in a process of its own (peer.py), with a limit of its own."""
import concurrent.futures
import json
import os
import sys
import time
from dataclasses import dataclass

from checks import MIB
from context import CLOCK_HEADER, HERE, ONE_WORKER, STAGES, TRAINING_TEXTS, Clocks, Skipped, encoding_seconds, read_results
from limited import run_limited
from shapes import card_peak, flops_per_token, mfu_percent

MODELS = ("minilm", "bert-base", "qwen2-1.5b")
ROW_TOKENS = (512, 128, 30)
# encode reads rows ahead in windows of this many tokens, but at most this many rows (window_tokens() and window_rows() in
# batch_plan.cc).
WINDOW_TOKENS = 16 * 16384
WINDOW_ROWS = 4096
# The speed that is expected before the first run: this share of the peak, but not more tokens/s than this.
EXPECTED_SHARE = 0.5
EXPECTED_TOKENS_PER_SECOND = 8e6
USUAL_PEAK = 989e12  # for the expected speed on an unknown card
# A timing aims at more than the least time, because the speed is not known before.
MARGIN = 1.3
LONGEST = 2  # times the aim
TRIES = 3
SAMPLE_ROWS = 64  # whose vectors the step `peers` compares with those of a peer
GAIN_CASES = (("minilm", 30), ("bert-base", 512))
WITHOUT_KERNELS = {"ENCODE_CUDA_KERNELS": "off"}
RATIO = "encode / peer"
PEER_HEADER = ("peer", "model", "tokens a row", "rows", "batch", "seconds", "tokens/s", "MFU %", RATIO, "lowest cosine to encode",
               *CLOCK_HEADER)  # of the rows that peer.py writes


@dataclass(frozen=True)
class Timed:
    rows: int
    tokens: int
    seconds: float
    stages: dict
    clocks: tuple  # the cells of CLOCK_HEADER
    device: str

    @property
    def rate(self):
        return self.tokens / self.seconds

    def share(self, stage):
        return round(100 * self.stages[stage] / self.seconds, 1)


def window_rows(row_tokens):
    return max(1, min(WINDOW_ROWS, WINDOW_TOKENS // row_tokens))


def rows_for(timing, row_tokens, tokens_per_second):
    """Returns the number of rows for a timing at this speed."""
    by_time = int(MARGIN * timing.seconds * tokens_per_second / row_tokens)
    # A slow model gets fewer windows than it should have, so that its timing does not take too long.
    return max(by_time, min(timing.windows * window_rows(row_tokens), LONGEST * by_time), 1)


def expected_speed(name, row_tokens, quick):
    if quick:
        return 1
    return min(EXPECTED_SHARE * USUAL_PEAK / flops_per_token(name, row_tokens), EXPECTED_TOKENS_PER_SECOND)


class RunFailed(Exception):
    pass


def timed_run(context, name, row_tokens, rows, environment=None):
    """Times one run over `rows` rows. Raises RunFailed."""
    path = context.sized_rows(name, row_tokens, rows)
    with Clocks() as sampled:
        run = context.encode(name, path).run(
            f"{name}_{row_tokens}", "--dtype", "bfloat16", "--max-length", row_tokens, "--limit-rows", rows, "--log-level", "debug",
            *ONE_WORKER, environment=environment)
        if run.code:
            raise RunFailed(run.failure())
        stages = run.stages()
        seconds = encoding_seconds(stages)
        end = run.chunks()[-1]["arrival"]
        cells = sampled.between(end - seconds, end)
    tokens = sum(chunk["tokens"] for chunk in run.chunks())
    keep_sample(context, run, name, row_tokens)
    context.remove(run)
    return Timed(rows, tokens, seconds, stages, cells, run.device())


def timing(context, name, row_tokens, environment=None):
    """Returns a Timed that is long enough. Raises RunFailed."""
    rows = rows_for(context.timing, row_tokens, expected_speed(name, row_tokens, context.quick))
    for _ in range(TRIES):
        timed = timed_run(context, name, row_tokens, rows, environment)
        if timed.seconds >= context.timing.seconds:
            break
        rows = max(rows_for(context.timing, row_tokens, timed.rate), rows + 1)
    return timed


MADE = ("bert-tiny", "qwen2-tiny", *MODELS)  # by the step `models`: what the other steps use most


def make_rows(context, case):
    name, row_tokens = case
    return context.sized_rows(name, row_tokens, rows_for(context.timing, row_tokens, expected_speed(name, row_tokens, context.quick)))


def models(context, results):
    """Makes what the other steps would make one after the other."""
    import parity  # needs NumPy, which the tests of this file do not have
    results.table("What was made")
    # MiniLM and BERT-base have the same rows, of which MiniLM needs more.
    sized = [(name, row_tokens) for name in ("minilm", "qwen2-1.5b") for row_tokens in ROW_TOKENS]
    started = time.monotonic()
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        context.rows(TRAINING_TEXTS)  # for the tokenizers of all models
        counts = [pool.submit(context.rows, count) for count in (parity.ROWS, parity.LARGE_ROWS, context.real_rows)]
        for model in [pool.submit(context.model, name) for name in MADE]:
            model.result()
        for made in [*counts, *(pool.submit(make_rows, context, case) for case in sized)]:
            made.result()
    results.check("models and rows", True, f"{time.monotonic() - started:.0f} s")


def keep_sample(context, run, name, row_tokens):
    import numpy as np
    np.save(context.work / f"sample_{name}_{row_tokens}.npy", np.load(run.output, mmap_mode="r")[:SAMPLE_ROWS])


def speeds_file(context):
    return context.work / "speeds.json"


def known_speeds(context):
    """Returns what the step `throughput` measured in this --work: {"card", "MODEL ROW_TOKENS": tokens/s}."""
    path = speeds_file(context)
    return json.loads(path.read_text()) if path.exists() else {}


def throughput(context, results):
    results.table("`encode run`, bfloat16, from the end of loading to the last commit, reading and tokenizing inside", "model",
                  "tokens a row", "rows", "windows", "seconds", "tokens/s", "MFU %", "waits for rows %", "waits for commits %",
                  *CLOCK_HEADER)
    speeds = {}
    best = (0, "")
    for name in MODELS:
        for row_tokens in ROW_TOKENS:
            try:
                timed = timing(context, name, row_tokens)
            except RunFailed as failure:
                results.row(f"throughput {name} {row_tokens}", "FAIL", str(failure))
                continue
            mfu = mfu_percent(name, row_tokens, timed.rate, card_peak(timed.device))
            results.row(name, row_tokens, timed.rows, timed.rows // window_rows(row_tokens), round(timed.seconds, 2),
                        round(timed.rate), mfu, timed.share("rows awaited"), timed.share("commit awaited"), *timed.clocks)
            speeds |= {"card": timed.device, f"{name} {row_tokens}": timed.rate}
            speeds_file(context).write_text(json.dumps(speeds))
            figure = f"{mfu:.1f} % MFU" if mfu is not None else f"no MFU, because the peak of {timed.device} is not in shapes.py"
            best = max(best, (mfu or 0, f"{name}, {row_tokens} tokens a row: {timed.rate:,.0f} tokens/s, {figure}"))
            results.headline(best[1])


def kernel_gain(context, results):
    results.table("With and without the project's kernels, bfloat16", "model", "tokens a row", "tokens/s with", "tokens/s without",
                  "ratio")
    for name, row_tokens in GAIN_CASES:
        try:
            ours, plain = (timing(context, name, row_tokens, environment) for environment in (None, WITHOUT_KERNELS))
        except RunFailed as failure:
            results.row(f"kernel_gain {name} {row_tokens}", "FAIL", str(failure))
            continue
        ratio = round(ours.rate / plain.rate, 2)
        results.row(name, row_tokens, round(ours.rate), round(plain.rate), ratio)
        results.headline(f"{name}, {row_tokens} tokens a row: {ratio} times as fast with the kernels")


def limits(context, results):
    results.table("Beside the device's limit (`encode bench`), bfloat16", "model", "tokens a row", "rows", "tokens/s",
                  "share of the products alone %", "share of a large product %", "its TFLOP/s", "start s", "waits s", "padding %",
                  "device memory MiB")
    for name, row_tokens, rows in (("minilm", 30, 100_000), ("bert-base", 512, 3000), ("qwen2-1.5b", 512, 1500)):
        rows = context.real_rows if context.quick else rows
        found, reason = context.bench(name, row_tokens, rows, "--dtype", "bfloat16", "--product-seconds", 1)
        if reason:
            results.check(f"bench {name}", False, reason)
            continue
        stages = found[0]["stages"]

        def figure(key, scale):
            return round(found[0][key]["median"] * scale, 2) if found[0][key] else None

        results.row(name, row_tokens, rows, figure("tokens_per_second", 1), figure("share", 100), figure("square_share", 100),
                    figure("square_gflops", 1e-3), round(stages["start"]["median"], 2),
                    round(sum(stages[stage]["median"] for stage in STAGES if stage != "encode"), 2), figure("padding", 100),
                    figure("peak_device_bytes", 1 / MIB))
        results.headline(f"{name}, {row_tokens} tokens a row: {figure('square_share', 100)} % of the speed of a large product")


@dataclass(frozen=True)
class PeerKind:
    name: str  # of peer.py
    models: tuple
    limit: int  # seconds


PEER_KINDS = (PeerKind("sdpa-bfloat16", ("minilm", "bert-base"), 100), PeerKind("packed", ("minilm", "bert-base"), 100))
# torch.compile takes up to a minute for each model.
MORE_PEER_KINDS = (
    PeerKind("compile", ("minilm", "bert-base"), 240),
    PeerKind("sdpa-bfloat16", ("qwen2-1.5b",), 80),
    PeerKind("packed", ("qwen2-1.5b",), 80),
    PeerKind("sdpa-float16", ("minilm", "bert-base"), 100),
)


def peers(context, results):
    time_peers(PEER_KINDS, context, results)


def more_peers(context, results):
    time_peers(MORE_PEER_KINDS, context, results)


def time_peers(kinds, context, results):
    results.table("Peers on the same rows, tokenizing inside (all but `packed` are sentence-transformers)", *PEER_HEADER)
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
    summarize_peers(results)


def summarize_peers(results):
    rows = read_results(results.path)["tables"][-1]["rows"]
    timed = [row for row in rows if row[1] != "SKIP"]
    if not timed:
        raise Skipped(f"no peer runs here: {rows[0][-1]}")
    if ratios := [row[PEER_HEADER.index(RATIO)] for row in timed if row[PEER_HEADER.index(RATIO)]]:
        results.headline(f"encode is {min(ratios)} to {max(ratios)} times as fast as these peers")
