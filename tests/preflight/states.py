"""Compares `encode preflight` with `encode run` in random states of the cache directory, the config, the inputs and the host.

Preflight must be red exactly when the run fails before its first batch, and must end with the exit code of the run. Each state
is made from nothing in a folder of its own: an experiment with a tiny model and a few rows, in which zero to three random
troubles are planted. Preflight looks at it first, and then the run is started in the same state. Some troubles need root, a
control group or a mount; they are left out where these are missing, and the last line says so.

usage: states.py ENCODE [--count N] [--seed S] [--only NUMBER] [--keep]
"""
import argparse
import collections
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

from state import MEMORY_GROUPS, State
from troubles import CACHE, CONFIG, GROUP_HOST, HOST, INPUT, ROOT_CACHE, ROOT_HOST


def may_mount(folder):
    folder.mkdir()
    mounted = subprocess.run(['mount', '-t', 'tmpfs', 'tmpfs', folder], capture_output=True, check=False).returncode == 0
    if mounted:
        subprocess.run(['umount', folder], check=False)
    return mounted


def groups_of_troubles(folder):
    """Returns (probability, troubles) for each group, and what is left out on this machine."""
    cache, host, left_out = list(CACHE), list(HOST), []
    root = os.geteuid() == 0
    if root and may_mount(folder / 'mount'):
        cache += ROOT_CACHE
    else:
        left_out.append('mounts')
    if root:
        host += ROOT_HOST
    else:
        left_out.append('another user')
    if root and os.access(MEMORY_GROUPS / 'memory.limit_in_bytes', os.W_OK):
        host += GROUP_HOST
    else:
        left_out.append('memory groups')
    return [(0.5, CONFIG), (0.75, cache), (0.2, INPUT), (0.35, host)], left_out


def batches(folder):
    """How many chunks the cache directory has on record, and which finals exist."""
    logs = sum(path.read_bytes().count(b'\n') for path in folder.rglob('chunks.log') if path.is_file())
    return logs, sorted(str(path) for path in folder.rglob('*_embeddings.*') if path.is_file())


def compare(state):
    """Returns a sentence about a disagreement, or ''; then the exit code of the run."""
    code, text = state.command('preflight', '--config', 'c.yaml', '--json')
    try:
        report = json.loads(text.splitlines()[-1])
        red = [finding for finding in report['findings'] if finding['grade'] == 'red']
    except (ValueError, IndexError):
        red = [{'code': 'no report', 'found': text[-300:], 'exit_code': code}] if code else []
    before = batches(state.folder)
    run_code, run_text = state.command('run', '--config', 'c.yaml', '--quiet')
    began = batches(state.folder) != before
    if run_code == code or (run_code != 0 and began and code == 0):
        return '', run_code
    return (f'preflight {code} {[(finding["code"], finding["found"][:120]) for finding in red]}, '
            f'run {run_code} {run_text.strip()[-400:]!r}'), run_code


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('encode')
    parser.add_argument('--count', type=int, default=200)
    parser.add_argument('--seed', type=int, default=31)
    parser.add_argument('--only', type=int)
    parser.add_argument('--keep', action='store_true')
    options = parser.parse_args()
    top = pathlib.Path(tempfile.mkdtemp(prefix='encode_states.'))
    top.chmod(0o755)
    groups, left_out = groups_of_troubles(top)
    codes, wrong = collections.Counter(), 0
    for number in range(options.count):
        source = random.Random(options.seed * 100003 + number)
        troubles = [source.choice(members) for probability, members in groups if source.random() < probability]
        if options.only is not None and number != options.only:
            continue
        folder = top / str(number)
        folder.mkdir()
        state = State(folder, os.path.abspath(options.encode), source)
        with state.undo:
            for trouble in troubles:
                trouble(state)
                if not state.nobody:
                    state.write_config()
            problem, code = compare(state)
        codes[code] += 1
        if problem:
            wrong += 1
            print(f'state {number} ({"; ".join(trouble.__doc__ for trouble in troubles)}): {problem}', flush=True)
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    if not options.keep:
        shutil.rmtree(top, ignore_errors=True)
    print(f'seed {options.seed}: {sum(codes.values())} states, {wrong} disagreements; exit codes of the run: '
          f'{dict(sorted(codes.items()))}' + (f'; left out here: {", ".join(left_out)}' if left_out else ''))
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
