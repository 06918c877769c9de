"""Random faults on the tasks of an experiment that a Slurm cluster encodes; scripts/soak/slurm_faults.sh starts it in the lab.

usage: slurm_faults.py SPACE [--faults N] [--seed N] [--delete-locks]

SPACE is the beginning of the names of the network namespaces of the cluster. The current folder has run.yaml, and the plan of the
shards in `cache`. --delete-locks says that the nodes see the locks of each other: then the lock of an attempt whose node has lost its
network is deleted, as docs/scale.md says. (A server of NFS 4 frees such a lock by itself.)

A third of the faults stops the processes of a task and cuts the network of its node, so that Slurm starts the task again elsewhere.
These processes go on when the second attempt has published its part, or only when everything is merged.
"""
import argparse
import collections
import hashlib
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time

ENCODE = os.environ["ENCODE"]
SHARDS = 40
FULL_SHARD = 2  # it has a small file system of its own, which gets full
NODES = int(os.environ["NODES"])
SECONDS_OF_FAULTS = 90
LIMIT_SECONDS = 900
NPY_HEADER = 128
CUTS = ["outlive", "late"]  # the faults of which a third of all are
NODES_THAT_STAY = 4  # have a network at any time, because the second attempts need them
CACHE = pathlib.Path("cache")


def log(text):
    print(f"   {time.monotonic() - START:6.1f} s  {text}", flush=True)


def fail(text):
    sys.exit(f"error: {text}")


START = time.monotonic()


class Cluster:
    """What the controller of the cluster is asked for."""

    def __init__(self, space):
        self.space = space

    def run(self, *words, check=True):
        done = subprocess.run(self.words(words), capture_output=True, text=True)
        if check and done.returncode:
            fail(f"{words} ended with {done.returncode}: {done.stderr}")
        return done

    def begin(self, *words):
        """Starts a command that may take long: scancel waits for the answer of a node."""
        subprocess.Popen(self.words(words), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def words(self, words):
        where = ["nsenter", f"--net=/run/netns/{self.space}ctl", "unshare", "--uts", "sh", "-c", 'hostname ctl && exec "$@"', "sh"]
        return [*where, *map(str, words)]

    def link(self, node, state):
        subprocess.run(["ip", "-n", f"{self.space}ctl", "link", "set", f"to-{node}", state], check=True)

    def queue(self):
        """Returns the entries of squeue: (job or task, state, node, reason)."""
        lines = self.run("squeue", "--noheader", "--format=%i|%T|%N|%r").stdout.splitlines()
        return [line.split("|") for line in lines]

    def unfinished(self):
        lines = self.run("squeue", "--noheader", "--states=all", "--format=%i %T").stdout.splitlines()
        return [line for line in lines if not line.endswith("COMPLETED")]

    def pids(self, node):
        done = subprocess.run(["ip", "netns", "pids", f"{self.space}{node}"], capture_output=True, text=True)
        return [int(pid) for pid in done.stdout.split()]

    def run_of(self, node):
        """Returns the shard that a node encodes and its processes (supervisor, worker), or None."""
        for pid in self.pids(node):
            try:
                words = pathlib.Path(f"/proc/{pid}/cmdline").read_text().split("\0")
                if words[:2] != [ENCODE, "run"]:
                    continue
                children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
                shard = int(words[words.index("--shard") + 1].split("/")[0])
                return shard, [Process(one) for one in (pid, *map(int, children))]
            except OSError:  # it has just ended
                pass
        return None


class Process:
    def __init__(self, pid):
        self.pid = pid
        self.fd = os.pidfd_open(pid)

    def send(self, number):
        try:
            signal.pidfd_send_signal(self.fd, number)
        except ProcessLookupError:
            pass

    def ended(self):
        try:
            signal.pidfd_send_signal(self.fd, 0)
            return pathlib.Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
        except (ProcessLookupError, OSError):
            return True


def folder_of(shard):
    return CACHE / f"shards/{shard:05}"


def encoded(shard):
    """Returns the chunks that the attempts at a shard have encoded, in both streams."""
    return [line for path in folder_of(shard).glob("attempt-*/encoded_chunks") for line in path.read_text().splitlines()]


def published(shard):
    """Returns the attempt that has published the part of a shard, or ""."""
    try:
        found = re.search(r"attempt-[0-9a-f]{16}", (folder_of(shard) / "part.json").read_text())
    except OSError:
        return ""
    return found[0] if found else ""


def attempt_of(shard, supervisor):
    """Returns the attempt of a process: the lock of its cache directory names the process."""
    for lock in folder_of(shard).glob("attempt-*/LOCK"):
        if f'"pid":{supervisor.pid},' in lock.read_text():
            return lock.parent.name
    return ""


class Orphan:
    """An attempt whose node has no network. It stands still, and goes on when the second attempt has published, or after the merge."""

    def __init__(self, node, shard, processes, late):
        self.node, self.shard, self.processes, self.late = node, shard, processes, late
        self.attempt = attempt_of(shard, processes[0])
        self.state = "cut"

    def name(self):
        return f"the attempt at shard {self.shard} on {self.node}"

    def send(self, number):
        for process in self.processes:
            process.send(number)


class Faults:
    def __init__(self, cluster, args):
        self.cluster = cluster
        self.delete_locks = args.delete_locks
        self.rng = random.Random(args.seed)
        kinds = self.kinds(args.faults)
        self.rng.shuffle(kinds)
        times = sorted(self.rng.uniform(0, SECONDS_OF_FAULTS) for _ in kinds)
        self.due = collections.deque(zip(times, kinds))
        self.full_after = self.rng.randint(5, 60)  # chunks
        self.orphans = []
        self.counts = collections.Counter()
        self.may_restart = set()
        self.cut = set()
        self.begun = None

    @staticmethod
    def kinds(faults):
        cuts = (faults + 2) // 3
        others = ["kill worker", "kill supervisor", "TERM", "requeue", "preempt"]
        return (CUTS * cuts)[:cuts] + [others[i % len(others)] for i in range(faults - cuts - 1)]

    def tick(self):
        """Does what is due."""
        queue = self.cluster.queue()
        running = [(task, node) for task, state, node, _ in queue if state == "RUNNING" and "_" in task]
        for task, state, _, reason in queue:  # Slurm waits two minutes before it starts a task again
            if state == "PENDING" and reason == "BeginTime":
                self.cluster.begin("scontrol", "update", f"JobId={task}", "StartTime=now")
        if self.begun is None and running:
            self.begun = time.monotonic()
        if self.begun is not None and self.due and time.monotonic() - self.begun >= self.due[0][0]:
            self.apply(running)
        if not self.counts["full disk"] and len(encoded(FULL_SHARD)) >= self.full_after:
            self.fill_disk()
        for orphan in self.orphans:
            self.watch(orphan, queue)

    def apply(self, running):
        """Applies the next fault to a random task that works; later if there is none, or if another fault can come first."""
        moment, kind = self.due.popleft()
        lost = sum(orphan.state != "ended" for orphan in self.orphans)
        if kind in CUTS and lost >= NODES - NODES_THAT_STAY:
            running = []
        self.rng.shuffle(running)
        for task, node in running:
            found = self.cluster.run_of(node)
            if found is None or len(found[1]) < 2:
                continue
            shard, processes = found
            done = len(encoded(shard))
            if shard in self.cut or shard == FULL_SHARD or done < 2 or done > 60:
                continue
            self.counts[kind] += 1
            log(f"{kind}: shard {shard} on {node}, after {done} chunks")
            self.hit(kind, task, node, found)
            return
        self.due.append((moment, kind))

    def fill_disk(self):
        self.counts["full disk"] += 1
        self.may_restart.add(FULL_SHARD)
        log(f"full disk: shard {FULL_SHARD}, after {len(encoded(FULL_SHARD))} chunks")
        filler = os.open(folder_of(FULL_SHARD) / "filler", os.O_WRONLY | os.O_CREAT)
        try:
            while True:
                os.write(filler, b"\0" * 4096)
        except OSError:
            os.close(filler)

    def hit(self, kind, task, node, found):
        shard, processes = found
        if kind != "kill worker":
            self.may_restart.add(shard)
        if kind == "kill worker":
            processes[1].send(signal.SIGKILL)
        elif kind == "kill supervisor":
            processes[0].send(signal.SIGKILL)
        elif kind == "TERM":
            self.cluster.begin("scancel", "--batch", "--signal=TERM", task)
        elif kind == "requeue":
            self.cluster.begin("scontrol", "requeue", task)
        elif kind == "preempt":
            self.cluster.begin("sbatch", "--partition=high", f"--nodelist={node}", "--job-name=other", "--output=/dev/null",
                               "--wrap=sleep 3")
        else:
            orphan = Orphan(node, shard, processes, kind == "late")
            orphan.send(signal.SIGSTOP)
            self.cluster.link(node, "down")
            self.cut.add(shard)
            self.orphans.append(orphan)

    def watch(self, orphan, queue):
        task = [entry for entry in queue if entry[0].endswith(f"_{orphan.shard}")]
        if orphan.state == "cut" and not any(entry[2] == orphan.node for entry in task):
            orphan.state = "lost"
            if self.delete_locks:
                (folder_of(orphan.shard) / "LOCK").unlink(missing_ok=True)
            log(f"Slurm has lost {orphan.name()}")
        if orphan.state == "lost" and published(orphan.shard) not in ("", orphan.attempt):
            orphan.state = "succeeded"
            log(f"the second attempt at shard {orphan.shard} has published")
        if orphan.state == "succeeded" and not orphan.late:
            self.wake(orphan)
        if orphan.state == "awake" and orphan.processes[0].ended():
            self.bury(orphan)

    def wake(self, orphan):
        orphan.send(signal.SIGCONT)
        orphan.state = "awake"

    def bury(self, orphan):
        orphan.state = "ended"
        last = published(orphan.shard) == orphan.attempt
        self.counts["orphans that published last" if last else "orphans that ended without publishing"] += 1
        log(f"{orphan.name()} has ended{' and published' if last else ''}")
        self.cluster.link(orphan.node, "up")


def submit(cluster):
    """Calls encode slurm. Returns (exit code, how many shards it submits, its text)."""
    done = cluster.run(ENCODE, "slurm", "--config", "run.yaml", "--at-once", NODES, "--", "--partition=all", check=False)
    found = re.search(r"^job \d+: (\d+) shards?", done.stdout, re.MULTILINE)
    return done.returncode, int(found[1]) if found else 0, done.stdout + done.stderr


def wait_for_queue(cluster, faults):
    while any("encode" in name for name in cluster.run("squeue", "--noheader", "--format=%j").stdout.split()):
        faults.tick()
        if time.monotonic() - START > LIMIT_SECONDS:
            fail(f"the jobs have not ended: {cluster.queue()}")
        time.sleep(0.3)


def public_files():
    """Returns the hashes of all files with public names."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in CACHE.glob("*_embeddings*") if path.is_file()}


def verify():
    for path in sorted(CACHE.glob("*.parts.json")):
        done = subprocess.run([ENCODE, "verify", path], capture_output=True, text=True)
        if done.returncode:
            fail(f"encode verify {path} ended with {done.returncode}: {done.stdout}{done.stderr}")


def same_rows(whole, parts):
    return whole.read_bytes()[NPY_HEADER:] == b"".join(part.read_bytes()[NPY_HEADER:] for part in parts)


def check_bytes():
    subprocess.run([ENCODE, "run", "--config", "run.yaml", "--cache-dir", "whole", "--quiet"], check=True,
                   env=dict(os.environ, FAKE_WORKER_SLOW_MS="0"))
    for path in sorted(pathlib.Path("whole").glob("*_embeddings.npy")):
        parts = sorted(CACHE.glob(f"{path.stem}-*-of-*.npy"))
        if len(parts) != SHARDS or not same_rows(path, parts):
            fail(f"{path.name}: the {len(parts)} parts have other bytes than one run")
        if same_rows(path, parts[::-1]):
            fail(f"{path.name}: the comparison finds no difference")


def check_starts(faults):
    """Only a task that was hit may start again, and no chunk is encoded twice except beside an orphan."""
    text = "".join(path.read_text() for path in CACHE.glob("slurm/shards-*.out"))
    again = twice = 0
    for shard in range(SHARDS):
        starts = len(re.findall(f"^shard {shard} on ", text, re.MULTILINE))
        again += starts - 1
        if starts < 1 or (starts > 1 and shard not in faults.may_restart):
            fail(f"shard {shard} was started {starts} times, and nothing has hit it")
        repeated = sum(number - 2 for number in collections.Counter(encoded(shard)).values() if number > 2)
        twice += repeated
        if repeated and shard not in faults.cut:
            fail(f"shard {shard}: {repeated} chunks were encoded twice")
    codes = collections.Counter(re.findall(r"^encode ended with exit code (\d+)", text, re.MULTILINE))
    log(f"{SHARDS} shards, {len(faults.may_restart)} of them hit so that they start again: {again} starts more; "
        f"{twice} chunks encoded twice, all beside an orphan; exit codes {dict(sorted(codes.items()))}")


def check_later(cluster, faults):
    """Attempts that publish after the merge change nothing, and there is nothing left to submit."""
    before = public_files()
    late = [orphan for orphan in faults.orphans if orphan.state != "ended"]
    for orphan in late:
        faults.wake(orphan)
    while any(orphan.state != "ended" for orphan in late):
        faults.tick()
        time.sleep(0.2)
        if time.monotonic() - START > LIMIT_SECONDS:
            fail("an orphan does not end")
    if public_files() != before:
        fail("an attempt that went on after the merge has changed a public file")
    verify()
    code, _, text = submit(cluster)
    if code or "nothing to submit" not in text:
        fail(f"a call with nothing to do: {code} {text}")
    for words in (["merge", "--config", "run.yaml"], ["shards", "clean", "--config", "run.yaml"]):
        done = subprocess.run([ENCODE, *words], capture_output=True, text=True)
        if done.returncode:
            fail(f"encode {words} ended with {done.returncode}: {done.stderr}")
        verify()
    log(f"{len(late)} attempts went on after the merge and changed no public file; nothing to submit")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("space")
    parser.add_argument("--faults", type=int, default=30)
    parser.add_argument("--seed", type=int, default=34)
    parser.add_argument("--delete-locks", action="store_true")
    args = parser.parse_args()
    cluster = Cluster(args.space)
    faults = Faults(cluster, args)
    code, shards, text = submit(cluster)
    if code or shards != SHARDS:
        fail(f"the first call: {code} {text}")
    wait_for_queue(cluster, faults)
    (folder_of(FULL_SHARD) / "filler").unlink(missing_ok=True)
    missing = sum(not published(shard) for shard in range(SHARDS))
    log(f"tasks that did not end well: {cluster.unfinished()}")
    code, shards, text = submit(cluster)
    log(f"{missing} shards without a part; the second call submits {shards}")
    if code or shards != missing or faults.due:
        fail(f"the second call: {code} {text}; {len(faults.due)} faults were not applied")
    wait_for_queue(cluster, faults)
    verify()
    check_bytes()
    check_starts(faults)
    check_later(cluster, faults)
    check_bytes()
    log(f"faults: {dict(faults.counts)}")


if __name__ == "__main__":
    main()
