"""The troubles that states.py plants. Each is a function that changes a State; its docstring is its name in the report."""
import contextlib
import fcntl
import json
import os
import resource
import shutil
import subprocess

from state import KIB, MEMORY_GROUPS, NOBODY


def half_done(s):
    """chunks of a run that was interrupted"""
    s.earlier_run(keep_chunk_cache=True)
    for path in s.cc().glob('train_*_embeddings*'):
        path.unlink()
    for log in s.cc().glob('*_chunks/chunks.log'):
        lines = log.read_bytes().splitlines(keepends=True)
        log.write_bytes(b''.join(lines[:s.random.randint(0, len(lines))]))


def finished(s):
    """a finished run"""
    s.earlier_run()


def finished_with_chunks(s):
    """a finished run that has kept its chunks"""
    s.earlier_run(keep_chunk_cache=True)


def killed_after_mkdir(s):
    """a run that was killed after mkdir"""
    s.cc('train_a_chunks').mkdir(parents=True)


def other_final(s):
    """the final of another experiment"""
    s.earlier_run(max_length=7)


def other_chunks(s):
    """the chunks of another experiment"""
    s.earlier_run(max_length=7, keep_chunk_cache=True)
    for path in s.cc().glob('train_*_embeddings*'):
        path.unlink()


def other_format(s):
    """a finished run of another output type"""
    s.earlier_run(keep_chunk_cache=s.random.random() < 0.5)
    s.semantic['output_dtype'] = 'float16'


def foreign_lock(s):
    """a LOCK that is not from encode"""
    s.cc().mkdir(exist_ok=True)
    s.cc('LOCK').write_text('my notes\n')


def held_lock(s):
    """a lock that another process holds"""
    s.cc().mkdir(exist_ok=True)
    file = s.undo.enter_context(open(s.cc('LOCK'), 'a+', encoding='utf-8'))
    fcntl.lockf(file, fcntl.LOCK_EX)


def lock_is_a_link(s):
    """a LOCK that is a link"""
    s.cc().mkdir(exist_ok=True)
    s.cc('LOCK').unlink(missing_ok=True)
    s.cc('LOCK').symlink_to('elsewhere')


def cache_is_a_file(s):
    """a file in place of the cache directory"""
    shutil.rmtree(s.cc(), ignore_errors=True)
    s.cc().write_text('x')


def cache_below_a_file(s):
    """a file in the way to the cache directory"""
    s.semantic['cache_dir'] = 'a.txt/deep/cc'


def cache_is_a_lost_link(s):
    """a cache directory that is a link to nothing"""
    shutil.rmtree(s.cc(), ignore_errors=True)
    s.cc().symlink_to('nowhere')


def cache_is_a_loop(s):
    """a cache directory that is a link to itself"""
    shutil.rmtree(s.cc(), ignore_errors=True)
    s.cc().symlink_to('cc')


def cache_is_a_link(s):
    """a cache directory that is a link to a directory"""
    shutil.rmtree(s.cc(), ignore_errors=True)
    (s.folder / 'real').mkdir()
    s.cc().symlink_to('real')


def in_the_way(name):
    def plant(s):
        s.cc().mkdir(exist_ok=True)
        path = s.cc(name)
        if path.is_dir():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        if s.random.random() < 0.5:
            path.mkdir()
        else:
            path.write_text('something else\n')
    plant.__doc__ = f'a foreign file or folder with the name {name}'
    return plant


def damaged(pattern):
    def plant(s):
        if not list(s.cc().glob(pattern)):
            s.earlier_run(keep_chunk_cache=True)
        for path in s.cc().glob(pattern):
            data = bytearray(path.read_bytes())
            at = s.random.randrange(len(data)) if data else 0
            if s.random.random() < 0.5:
                data[at:at + 20] = bytes(s.random.randrange(256) for _ in range(20))
            else:
                del data[at:]
            path.write_bytes(data)
            break
    plant.__doc__ = f'damage of {pattern}'
    return plant


def foreign_output(s):
    """an output path that has a foreign file"""
    s.cc().mkdir(exist_ok=True)
    for suffix in ('.npy', '.npy.manifest.json'):
        s.cc('train_a_embeddings' + suffix).unlink(missing_ok=True)
    s.cc('train_a_embeddings.npy').write_text('my thesis')


def small_disk(kib):
    def plant(s):
        shutil.rmtree(s.cc(), ignore_errors=True)
        s.cc().mkdir()
        mount(s, 'tmpfs', f'size={kib}k')
    plant.__doc__ = f'a disk of {kib} KiB'
    return plant


def full_disk(s):
    """a full disk"""
    small_disk(64)(s)
    with contextlib.suppress(OSError), open(s.cc('ballast'), 'wb', buffering=0) as file:
        while True:
            file.write(bytes(4 * KIB))


def read_only(s):
    """a read-only file system"""
    small_disk(1024)(s)
    if s.random.random() < 0.5:
        s.earlier_run()
    subprocess.run(['mount', '-o', 'remount,ro', s.cc()], check=True)


def mount(s, kind, options):
    subprocess.run(['mount', '-t', kind, '-o', options, kind, s.cc()], check=True)
    s.undo.callback(subprocess.run, ['umount', '-l', str(s.cc())], check=False)


def other_user(*closed):
    def plant(s):
        for path in [s.folder, *s.folder.rglob('*')]:
            if not path.is_symlink():
                with contextlib.suppress(OSError):  # a read-only file system
                    os.chown(path, NOBODY, NOBODY)
        s.nobody = True
        for name, mode in closed:
            if (s.folder / name).exists():
                with contextlib.suppress(OSError):
                    (s.folder / name).chmod(mode)
    plant.__doc__ = 'another user' + ''.join(f', {name} has mode {mode:o}' for name, mode in closed)
    return plant


def limit(number, value, name):
    def plant(s):
        s.limits.append((number, value))
    plant.__doc__ = f'{name} of {value}'
    return plant


def memory_group(megabytes):
    def plant(s):
        group = MEMORY_GROUPS / f'encode_states_{os.getpid()}'
        group.mkdir(exist_ok=True)
        (group / 'memory.limit_in_bytes').write_text(str(megabytes * 1000 * 1000))
        s.undo.callback(group.rmdir)
        s.group_bytes = megabytes
    plant.__doc__ = f'a memory group of {megabytes} MB'
    return plant


def setting(part, key, value):
    def plant(s):
        getattr(s, part)[key] = value
    plant.__doc__ = f'{part}.{key}: {json.dumps(value)}'
    return plant


def two_streams(s):
    """two streams"""
    s.streams = {'a': 'a.txt', 'b': 'b.txt'}


def combined(s):
    """two streams that are combined"""
    two_streams(s)
    s.combine = ['a', 'b']


def unequal(s):
    """two combined streams of unequal lengths"""
    combined(s)
    (s.folder / 'b.txt').write_text('one\n')


def standard_mode(s):
    """the standard mode"""
    s.semantic['use_chunked_encoding'] = False


def input_path(path):
    def plant(s):
        s.streams['a'] = path
        (s.folder / 'empty.txt').write_text('')
        (s.folder / 'dir').mkdir(exist_ok=True)
        (s.folder / 'x.jsonl').write_text('{"text": "a"}\n')
    plant.__doc__ = f'the input {path}'
    return plant


def no_file(name):
    def plant(s):
        (s.folder / 'model' / name).unlink()
    plant.__doc__ = f'no {name}'
    return plant


def cut_file(name):
    def plant(s):
        path = s.folder / 'model' / name
        if path.exists():
            path.write_bytes(path.read_bytes()[:path.stat().st_size // 2])
    plant.__doc__ = f'a model with a {name} that is cut off'
    return plant


def embedding_cache(kind):
    def plant(s):
        folder = s.folder / 'ec'
        s.semantic['embedding_cache'] = {'dir': 'ec'}
        if kind == 'file':
            folder.write_text('x')
        elif kind == 'foreign':
            folder.mkdir()
            (folder / 'x').write_text('x')
        elif kind in ('used', 'damaged', 'empty data'):
            s.earlier_run(cache_dir='other_cc')
            data = folder / 'data.mdb'
            if kind == 'damaged':
                data.write_bytes(bytes(s.random.randrange(256) for _ in range(8192)))
            if kind == 'empty data':
                data.write_bytes(b'')
    plant.__doc__ = f'an embedding cache: {kind}'
    return plant


# What a state takes from each group: at most one trouble, with this probability.
CACHE = [half_done, finished, finished_with_chunks, killed_after_mkdir, other_final, other_chunks, other_format, foreign_lock,
         held_lock, lock_is_a_link, cache_is_a_file, cache_below_a_file, cache_is_a_lost_link, cache_is_a_loop, cache_is_a_link,
         foreign_output, *(in_the_way(name) for name in (
             'job.json', 'status.json', 'encode.log', 'faults.jsonl', 'train_a_chunks', 'train_a.rejected.jsonl',
             'model_hashes.json', 'self_test.json', 'attempts.json', 'train_a_embeddings.npy.manifest.json')),
         *(damaged(pattern) for pattern in (
             '*_chunks/chunks.log', '*_chunks/stream.json', '*_chunks/chunk_*.npy', 'train_a_embeddings.npy', 'status.json',
             'train_a_embeddings.npy.manifest.json', 'self_test.json', 'faults.jsonl', 'model_hashes.json'))]
CONFIG = [setting('semantic', 'dtype', 'bfloat16'), setting('semantic', 'dtype', 'int8'), setting('semantic', 'dtype', 'fp8'),
          setting('semantic', 'chunk_size', 'auto'), setting('semantic', 'chunk_size', 0), setting('semantic', 'chunk_sise', 5),
          setting('semantic', 'chunk_size', 'five'), setting('semantic', 'truncate_dim', 100000),
          setting('semantic', 'max_length', 2), setting('semantic', 'pooling', 'none'), setting('semantic', 'prompt_name', 'no'),
          setting('semantic', 'quarantine', 'drop'), setting('semantic', 'output_dtype', 'int8'), two_streams, combined, unequal,
          standard_mode, setting('output', 'format', 'parquet'), setting('output', 'format', 'csv'),
          setting('hardware', 'device', 'cuda'), setting('hardware', 'devices', ['cpu', 'cpu']),
          setting('hardware', 'devices', ['cuda:0', 'cpu']), setting('hardware', 'strict_numerics', True),
          setting('hardware', 'max_restarts', 0),
          *(embedding_cache(kind) for kind in ('new', 'used', 'foreign', 'file', 'damaged', 'empty data'))]
INPUT = [input_path(path) for path in ('missing.txt', 'empty.txt', 'dir', 'no-*.txt', 'x.jsonl', 'a.txt.gz')]
INPUT += [no_file(name) for name in ('config.json', 'tokenizer.json', 'model.safetensors')]
INPUT += [cut_file(name) for name in ('config.json', 'tokenizer.json', 'model.safetensors')]
HOST = [limit(resource.RLIMIT_NOFILE, files, 'ulimit -n') for files in (4, 6, 8, 10, 14, 64)]
HOST += [limit(resource.RLIMIT_DATA, mib * KIB * KIB, 'ulimit -d') for mib in (10, 40, 80, 4000)]
HOST += [limit(resource.RLIMIT_AS, mib * KIB * KIB, 'ulimit -v') for mib in (100, 300, 4000)]
HOST += [limit(resource.RLIMIT_STACK, kib * KIB, 'ulimit -s') for kib in (64, 512)]
HOST += [limit(resource.RLIMIT_FSIZE, size, 'ulimit -f') for size in (0, 2000, 100000)]
ROOT_CACHE = [small_disk(16), small_disk(200), full_disk, read_only]
ROOT_HOST = [other_user(), other_user(('cc', 0o555)), other_user(('cc', 0)), other_user(('a.txt', 0)), other_user(('.', 0o555)),
             other_user(('model/model.safetensors', 0)), other_user(('cc/LOCK', 0o444)), other_user(('c.yaml', 0))]
GROUP_HOST = [memory_group(megabytes) for megabytes in (60, 120, 160, 210, 400)]
