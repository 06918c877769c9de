"""One experiment on disk, and the limits under which its commands run."""
import contextlib
import json
import os
import pathlib
import resource
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = ROOT / 'tests/data/models/bert'
MEMORY_GROUPS = pathlib.Path('/sys/fs/cgroup/memory')
NOBODY = 65534
ROWS = 23
KIB = 1024


class State:
    """One experiment on disk. Troubles change it."""

    def __init__(self, folder, encode, random_source):
        self.folder = folder
        self.encode = encode
        self.random = random_source
        self.semantic = {'model': 'model', 'cache_dir': 'cc', 'chunk_size': 5}
        self.hardware = {'device': 'cpu'}
        self.output = {}
        self.combine = None
        self.streams = {'a': 'a.txt'}
        self.limits = []  # pairs for setrlimit
        self.nobody = False
        self.group_bytes = 0
        self.undo = contextlib.ExitStack()
        write_model(folder / 'model')
        for name in ('a', 'b'):
            (folder / f'{name}.txt').write_text(''.join(f'{name} text of row {chr(97 + row)}\n' for row in range(ROWS)))
        self.write_config()

    def write_config(self):
        semantic = dict(self.semantic)
        config = {'semantic': semantic, 'hardware': self.hardware,
                  'data': {'streams': {name: {} for name in self.streams}, 'splits': {'train': self.streams}}}
        if self.output:
            config['output'] = self.output
        if self.combine:
            config['combine'] = {'train': self.combine}
        (self.folder / 'c.yaml').write_text(json.dumps(config))  # JSON is YAML

    def cc(self, name=''):
        return self.folder / 'cc' / name

    def command(self, *words, limited=True):
        """Runs encode. Returns its exit code (negative: a signal) and its output."""
        def before_exec():
            if limited and self.group_bytes:
                (MEMORY_GROUPS / f'encode_states_{os.getppid()}' / 'cgroup.procs').write_text(str(os.getpid()))
            if limited:
                for number, value in self.limits:
                    resource.setrlimit(number, (value, value))
            if limited and self.nobody:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
        done = subprocess.run([self.encode, *words], cwd=self.folder, preexec_fn=before_exec, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False)
        return done.returncode, done.stdout.decode(errors='replace')

    def earlier_run(self, **semantic):
        """A run that has ended well in the same cache directory, perhaps with other options."""
        kept = dict(self.semantic)
        self.semantic.update(semantic)
        self.write_config()
        self.command('run', '--config', 'c.yaml', '--quiet', limited=False)
        self.semantic = kept
        self.write_config()


def write_model(folder):
    folder.mkdir()
    for name in ('config.json', 'model.safetensors'):
        shutil.copy(MODEL / name, folder / name)
    vocab = {'[PAD]': 0, '[UNK]': 1, '[CLS]': 2, '[SEP]': 3}
    for letter in 'abcdefghijklmnopqrstuvwxyz':
        vocab[letter] = len(vocab)
        vocab['##' + letter] = len(vocab)
    tokenizer = {'version': '1.0', 'truncation': None, 'padding': None, 'added_tokens': [], 'normalizer': {'type': 'BertNormalizer', 'clean_text': True, 'handle_chinese_chars': True, 'strip_accents': None,
                                'lowercase': True},
                
                 'pre_tokenizer': {'type': 'BertPreTokenizer'},
                 'post_processor': {'type': 'BertProcessing', 'sep': ['[SEP]', 3], 'cls': ['[CLS]', 2]}, 'decoder': None,
                 'model': {'type': 'WordPiece', 'unk_token': '[UNK]', 'continuing_subword_prefix': '##',
                           'max_input_chars_per_word': 100, 'vocab': vocab}}
    (folder / 'tokenizer.json').write_text(json.dumps(tokenizer))
