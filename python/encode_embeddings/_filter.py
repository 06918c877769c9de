"""The columns that the filter `where` of a config compares, for texts that are not in a file.

The program reads the filter itself, and has checked it before these functions see it.
"""
import re
from typing import Any, List

from ._arrow import canonical, import_pyarrow, is_text

# What names a field (the groups), and what could be taken for a name: strings and numbers.
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|[-+.]?[0-9][0-9A-Za-z_.+-]*|`([^`]+)`|(/[^ \t\r\n()\[\],=<>!"\'`]*)|'
                   r"([A-Za-z_\u0080-\U0010ffff][0-9A-Za-z_\u0080-\U0010ffff]*)", re.DOTALL)
WORDS = ("and", "or", "not", "in", "is", "null", "true", "false")


def filter_fields(where: str) -> List[str]:
    """Returns the fields that a filter names, each once."""
    names = []
    for match in TOKEN.finditer(where):
        quoted, pointer, word = match.groups()
        call = word and word.lower() == "length" and where[match.end():].lstrip(" \t\r\n").startswith("(")
        if quoted or pointer or (word and word.lower() not in WORDS and not call):
            names.append(quoted or pointer or word)
    return list(dict.fromkeys(names))


def comparable(array: Any, name: str) -> Any:
    """Returns a column in the type in which the filter compares it: numbers and booleans stay what they are, and other values
    become strings.

    Raises:
        TypeError: The column has lists, objects or bytes.
    """
    pa = import_pyarrow()
    if pa.types.is_dictionary(array.type) and not is_text(array.type):
        array = array.dictionary_decode()
    kind = array.type
    if pa.types.is_float16(kind):
        return array.cast(pa.float32())
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return array
    return canonical(array, name)
