#!/usr/bin/env python3
"""Makes tests/data/tokenizer/truncation.jsonl: the ids and offsets that transformers gives for truncated texts, for each side
that tokenizer.json ("direction") and tokenizer_config.json ("truncation_side") can state. tokenizer_golden.py must have made
the tokenizers.

  pip install transformers==5.23.0 tokenizers==0.23.3
  scripts/golden/tokenizer_truncation.py tests/data/tokenizer

Each line states the family, the "direction" and the "side" (the key is absent: so is the field), and then the cases, or
"refused": true if transformers refuses the files.
"""
import json
import os
import sys
import tempfile

import transformers
from transformers import PreTrainedTokenizerFast

from tokenizer_golden import write_lines

TEXTS = ["", "a", "Hello, world! one two three four five", "  caf\u00e9  na\u00efve \u4f60\u597d\uff0c\u4e16\u754c\u3002 ",
         "[MASK] def f(x):\n\treturn x**2\n  # 12345 [SEP]", "\u0420\u0443\u0441 \U0001F600 snake_case camelCase world <mask> tail "]
LENGTHS = [3, 6, 9]
SIDES = [(direction, side) for direction in (None, "Right", "Left", "Up", 1) for side in ("absent", "right", "left", "Left", None)]


def of_transformers(directory, family, direction, side):
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(directory, family, "tokenizer.json"), encoding="utf-8") as file:
            data = json.load(file)
        data["truncation"] = direction and dict(direction=direction, max_length=16, strategy="LongestFirst", stride=0)
        config = {} if side == "absent" else {"truncation_side": side}
        for name, content in (("tokenizer.json", data), ("tokenizer_config.json", config)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
                json.dump(content, out)
        try:
            tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
        except Exception as error:  # tokenizers raises Exception itself
            assert "Truncation side" in str(error) or "expected " in str(error), error
            return None
        cases = []
        for text in TEXTS:
            for length in LENGTHS:
                row = tokenizer(text, truncation=True, max_length=length, return_offsets_mapping=True)
                cases.append(dict(text=text, max_length=length, ids=row["input_ids"],
                                  offsets=[number for pair in row["offset_mapping"] for number in pair]))
        return cases


def main():
    directory = sys.argv[1]
    assert transformers.__version__ == "5.23.0", transformers.__version__
    items = []
    for family in ("wordpiece", "roberta", "llama3", "gemma", "unigram"):
        for direction, side in SIDES:
            item = dict(family=family)
            if direction is not None:
                item["direction"] = direction
            if side != "absent":
                item["side"] = side
            cases = of_transformers(directory, family, direction, side)
            if family != "wordpiece" and cases is None:
                continue
            item.update(refused=True) if cases is None else item.update(cases=cases)
            items.append(item)
    write_lines(os.path.join(directory, "truncation.jsonl"), items)


main()
