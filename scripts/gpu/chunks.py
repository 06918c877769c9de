"""The steps about chunks: equal bytes in every mode, resume, memory, and workers that are replaced."""
import hashlib
import os
import subprocess
import sys
import time

from context import HERE
from encode_runs import ONE_WORKER, TRY_AGAIN

MIB = 1 << 20
# The allocator keeps its blocks in segments of 2 and 20 MiB. Parts of segments may remain after a release, and this is no leak.
RESERVED_SLACK_BYTES = 64 * MIB
# Between chunks the working set of one batch stays reserved, and a quarter of it (ReleaseRule).
WORKING_SET_SHARE = 4
MODEL = "bert-base"
CHUNKS = 60
WORKER_CHUNKS = 12
# A worker ends between two windows, and these rows are several windows.
REPLACED_ROWS = 6000
SHORT_ROWS = 200_000
SHORT_ROW_TOKENS = 30
WAITS_FOR_LOCK = 30


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def chunk_size(rows):
    return ("--chunk-size", rows // CHUNKS)


def whole_run(results, encode, rows):
    """Encodes the rows in CHUNKS chunks with one worker. Returns the Run, or None if it failed, which is reported."""
    run = encode.run("whole", "--dtype", "bfloat16", *chunk_size(rows), *ONE_WORKER)
    if run.code:
        results.check("run", False, run.failure())
        return None
    results.check("run", len(run.chunks()) == CHUNKS, f"{len(run.chunks())} of {CHUNKS} chunks")
    return run


def chunks(context, results):
    results.table(f"Chunks, resume, allocator ({MODEL}, bfloat16)")
    rows = context.real_rows
    encode = context.encode(MODEL, context.rows(rows))
    if (whole := whole_run(results, encode, rows)) is not None:
        allocator(results, whole.chunks())
        standard = encode.run("standard", "--dtype", "bfloat16", "--standard")
        results.check("standard mode = chunked, to the bit", standard.code == 0 and sha256(standard.output) == sha256(whole.output),
                      f"{rows} rows")
        resume(results, encode, rows, whole.output)
    cost(context, results)


def allocator(results, done):
    reserved = [event["device_reserved_bytes"] for event in done]
    allocated = [event["device_allocated_bytes"] for event in done]
    unused = [r - a for r, a in zip(reserved, allocated)]
    allowed = unused[0] + max(unused[0] // WORKING_SET_SHARE, RESERVED_SLACK_BYTES)
    results.check("no more than a batch's working set stays reserved between chunks", min(reserved) > 0 and max(unused) <= allowed,
                  f"{unused[0] / MIB:.0f} MiB unused after the first chunk, at most {max(unused) / MIB:.0f} MiB later, beside the "
                  f"{max(allocated) / MIB:.0f} MiB in use")
    results.check("unused memory released at the end of the stream", unused[-1] <= RESERVED_SLACK_BYTES,
                  f"{unused[-1] / MIB:.0f} MiB reserved beyond what is in use after the last chunk")


def resume(results, encode, rows, whole):
    """Kills a run and goes on."""
    options = ("--dtype", "bfloat16", *chunk_size(rows))
    before = encode.run("resumed", *options, kill_after_chunks=CHUNKS // 3)
    # The worker of the killed run can hold the lock for a moment.
    for _ in range(WAITS_FOR_LOCK):
        after = encode.run("resumed", *options)
        if after.code != TRY_AGAIN:
            break
        time.sleep(1)
    saved, rest = len(before.chunks()), len(after.chunks())
    results.check("killed by SIGKILL, resumed", after.code == 0 and saved > 0 and 0 < rest <= CHUNKS - saved,
                  f"{saved} chunks before the kill, {rest} after, {CHUNKS} in all")
    results.check("resumed = uninterrupted, to the bit", after.code == 0 and sha256(after.output) == sha256(whole),
                  f"{rows} rows")


def cost(context, results):
    """Measures what chunks and batch sizes cost with the fastest model, where a chunk is short."""
    rows = context.real_rows if context.quick else SHORT_ROWS
    path = context.sized_rows("minilm", SHORT_ROW_TOKENS, rows)
    command = [sys.executable, HERE.parent / "bench" / "scaling.py", "chunks", "--encode", context.program, "--model",
               context.model("minilm"), "--threads", os.cpu_count(), "--dtype", "bfloat16", "--device", "cuda", "--runs", 2, path]
    run = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    print(run.stdout + run.stderr, flush=True)
    results.markdown("Chunks beside standard mode, and batch_tokens (MiniLM, bfloat16, short rows)", run.stdout)
    results.table("What chunks and batch_tokens cost")
    verdict = run.stderr.strip().splitlines()[-1:] or ["no output"]
    results.check("chunks and batch_tokens", run.returncode == 0, verdict[0])


def retirement(context, results):
    results.table(f"Workers that are replaced after {WORKER_CHUNKS} chunks ({MODEL}, bfloat16)")
    encode = context.encode(MODEL, context.rows(REPLACED_ROWS))
    if (whole := whole_run(results, encode, REPLACED_ROWS)) is None:
        return
    run = encode.run("replaced", "--dtype", "bfloat16", *chunk_size(REPLACED_ROWS), "--set",
                     f"hardware.worker_chunks={WORKER_CHUNKS}")
    if run.code:
        results.check("run with new workers", False, run.failure())
        return
    retired = run.of("worker_retired")
    results.check("workers were replaced", 0 < len(retired) < CHUNKS, f"{len(retired)} times in {len(run.chunks())} chunks")
    results.check("new workers = one worker, to the bit", sha256(run.output) == sha256(whole.output), f"{REPLACED_ROWS} rows")
    most = max(chunk["device_reserved_bytes"] for chunk in whole.chunks())
    reserved = max(chunk["device_reserved_bytes"] for chunk in run.chunks())
    results.check("new workers need no more memory", reserved <= most + RESERVED_SLACK_BYTES,
                  f"{reserved / MIB:.0f} MiB reserved, {most / MIB:.0f} with one worker")
    lost = [chunk["arrival"] - event["arrival"] for event in retired if (chunk := next_chunk(run, event))]
    if lost:
        figures = f"{max(lost):.1f} s at most from the end of a worker to the first chunk of the next"
        results.row("the cost of a new worker", "", figures)
        results.headline(figures)


def next_chunk(run, event):
    return next((chunk for chunk in run.chunks() if chunk["arrival"] > event["arrival"]), None)
