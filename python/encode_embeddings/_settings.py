"""Keys of a config as keyword arguments."""
import functools
import json
import os
from typing import Any, Dict, List, Mapping, Tuple

from ._program import ask

SECTIONS = ("semantic", "input", "hardware", "output", "log")
# The keys that change neither a vector nor a file of the result. They are not part of the name of a cache directory, so a run
# can be resumed with other values.
SPEED_SECTIONS = ("hardware", "log")
SPEED_KEYS = ("batch_size", "batch_tokens", "padding", "chunk_size", "use_chunked_encoding", "save_chunks", "keep_chunk_cache",
              "quarantine", "embedding_cache", "cache_dir", "cache_directory")


@functools.lru_cache(maxsize=None)
def known_keys(program: str) -> Dict[str, Tuple[str, ...]]:
    """Returns the keys of each section, as the schema of the program has them. Raises what ask() raises."""
    schema = ask(program, "config", "--schema")
    return {section: tuple(schema["properties"][section]["properties"]) for section in SECTIONS}


def plain(value: Any) -> Any:
    """Returns the value in the types of JSON. NumPy's numbers become Python's, and paths become texts."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return value.item() if hasattr(value, "item") else value


def place(settings: Mapping[str, Any], keys: Mapping[str, Tuple[str, ...]]) -> Tuple[Dict[str, Dict[str, Any]], List[str]]:
    """Sorts keyword arguments into the sections of a config.

    A name is a key (`pooling`), a section and a key (`output_format`, or "output.format"), or a section with a map of keys
    (`hardware={"device": "cpu"}`).

    Returns:
        The sections, and the options of the command line for names that no section has: the program refuses them, and says
        which key has a similar name.

    Raises:
        TypeError: A name belongs to several sections, or a key is given twice.
    """
    sections: Dict[str, Dict[str, Any]] = {}
    unknown: List[str] = []

    def put(section: str, key: str, value: Any) -> None:
        if key in sections.setdefault(section, {}):
            raise TypeError(f"{section}.{key} is given twice")
        sections[section][key] = plain(value)

    for name, value in settings.items():
        owners = [section for section in SECTIONS if name in keys[section]]
        prefixed = [section for section in SECTIONS if name.startswith((f"{section}.", f"{section}_"))]
        if len(owners) == 1:
            put(owners[0], name, value)
        elif owners:
            raise TypeError(f"{name} is a key of several sections: give {' or '.join(f'{each}_{name}' for each in owners)}")
        elif name in SECTIONS and isinstance(value, Mapping):
            for key, item in value.items():
                put(name, key, item)
        elif prefixed and name[len(prefixed[0]) + 1:] in keys[prefixed[0]]:
            put(prefixed[0], name[len(prefixed[0]) + 1:], value)
        else:
            unknown += ["--set", f"{name}={value if isinstance(value, str) else json.dumps(plain(value))}"]
    return sections, unknown


def result_settings(sections: Mapping[str, Mapping[str, Any]]) -> Dict[str, Dict[str, Any]]:
    """Returns the settings that are part of the name of a cache directory. A hash of the content stands for `input.file`."""
    return {section: {key: value for key, value in values.items() if key not in SPEED_KEYS and (section, key) != ("input", "file")}
            for section, values in sections.items() if section not in SPEED_SECTIONS}
