#!/usr/bin/env python3
"""Writes the tables of Unicode in src/tokenizer/unicode, as Hugging Face `tokenizers` behaves.

  pip install tokenizers sentencepiece
  scripts/generate/unicode.py properties src/tokenizer/unicode/unicode_data.cc
  scripts/generate/unicode.py scripts src/tokenizer/unicode/unicode_scripts_data.cc

`properties` writes the properties of every code point.

The parts of `tokenizers` use tables of different Unicode versions: normalization uses version 9, categories use version 8;
regular expressions, letter case and grapheme clusters use the newest. No Unicode library agrees with all of them. Every
value here therefore comes from an experiment with the package, one code point at a time. Another version of `tokenizers`
changes the file only if that version behaves differently.

`scripts` writes the script of each character for the UnicodeScripts pre-tokenizer. Two characters have the same script if they
have the same number; the numbers mean nothing else. A character with the number 0 stays with the text before it.
"""
import base64
import os
import sys

import tokenizers
from tokenizers import Regex, normalizers, pre_tokenizers

from c_arrays import write_array

CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]

NFC = normalizers.NFC().normalize_str
NFD = normalizers.NFD().normalize_str
NFKC = normalizers.NFKC().normalize_str
NFKD = normalizers.NFKD().normalize_str
LOWER = normalizers.Lowercase().normalize_str
CUT = pre_tokenizers.UnicodeScripts().pre_tokenize_str
STEP = 1 << 12


def bert(**flags):
    options = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    return normalizers.BertNormalizer(**{**options, **flags}).normalize_str


def pieces_of(pre_tokenizer, text):
    return [piece for piece, _ in pre_tokenizer.pre_tokenize_str(text)]


def regex_class(pattern):
    """Returns a function that tells whether the regular expression engine puts a character into the class."""
    splitter = pre_tokenizers.Split(Regex(f"(?:{pattern})+"), "removed", invert=True)
    members = set()
    for i in range(0, len(CODE_POINTS), 1 << 16):
        text = "".join(map(chr, CODE_POINTS[i:i + (1 << 16)]))
        members.update(c for piece in pieces_of(splitter, text) for c in piece)
    return lambda c: c in members


def isolates(pre_tokenizer):
    return lambda c: len(pieces_of(pre_tokenizer, "a" + c + "a")) == 3


def combining_classes():
    """Returns {code point: canonical combining class}, except for class 0.

    It finds the class of a character by the order of the character and a known mark of each class after NFD. The known
    marks come from Python, because Unicode never changes a class.
    """
    import unicodedata

    lowest, highest = "\u0334", "\u0345"   # classes 1 and 240
    assert NFD(highest + lowest) == lowest + highest
    marks = {}
    for c in CODE_POINTS:
        k, s = unicodedata.combining(chr(c)), chr(c)
        # tokenizers knows the mark
        known = NFD(s + lowest) != s + lowest or NFD(highest + s) != highest + s
        if k and known and k not in marks and NFD(s) == s:
            marks[k] = s
    result = {}
    for c in CODE_POINTS:
        s = chr(c)
        if NFD(s) != s:
            continue
        if NFD(s + lowest) == s + lowest and NFD(highest + s) == highest + s:
            continue  # class 0: the character is never reordered
        after = [k for k, m in marks.items() if NFD(s + m) == s + m]   # here the class of s is at most k
        result[c] = min(after)
    for c, k in result.items():
        for other, m in marks.items():
            s = chr(c)
            assert (NFD(s + m) != s + m) == (k > other), (hex(c), k, other)
    return result


def hangul(c):
    return 0xAC00 <= c < 0xAC00 + 11172


def compositions():
    pairs = {}
    for c in CODE_POINTS:
        d = NFD(chr(c))
        if d == chr(c) or hangul(c) or NFC(d) != chr(c):
            continue
        first = NFC(d[:-1])
        assert len(first) == 1, hex(c)
        assert NFC(first + d[-1]) == chr(c)
        pairs[(ord(first), ord(d[-1]))] = c
    return pairs


def precompiled(rules):
    """Returns a Precompiled normalizer that replaces each character of `rules` by "X"."""
    import io
    import tempfile

    import sentencepiece

    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as tsv:
        tsv.writelines(f"{ord(c):X}\t58\n" for c in rules)
        tsv.flush()
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(["b c d"] * 9), model_writer=model, model_type="char", vocab_size=7, minloglevel=2,
            normalization_rule_tsv=tsv.name)
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "golden"))
    from tokenizer_golden import charsmap_of
    return normalizers.Precompiled(base64.b64decode(charsmap_of(model.getvalue()))).normalize_str


# Tells whether a character extends a grapheme cluster. Precompiled replaces a whole cluster of less
# than six bytes by the rule for the cluster's first character.
def grapheme_extends():
    normalize = precompiled("a")
    return lambda c: normalize("a" + c) == "X"


def grapheme_controls():
    # A cluster has at most five bytes, so a character of four bytes leaves no room for U+0301, which has two.
    normalize = precompiled([chr(c) for c in CODE_POINTS if 0 < c < 0x10000 and chr(c) not in "X\u0301"])
    return lambda c: 0 < ord(c) < 0x10000 and ord(c) != 0x301 and normalize(c + "\u0301") != "X"


def properties(ccc, trailing):
    ascii_punctuation = isolates(pre_tokenizers.Punctuation("isolated"))
    digits = isolates(pre_tokenizers.Digits(individual_digits=True))
    split_space = pre_tokenizers.WhitespaceSplit()
    word = pre_tokenizers.Whitespace()
    clean, strip_accents = bert(clean_text=True), bert(strip_accents=True)
    chinese = bert(handle_chinese_chars=True)
    strip_marks = normalizers.StripAccents().normalize_str
    letter, number, space = regex_class(r"\p{L}"), regex_class(r"\p{N}"), regex_class(r"\s")
    upper = regex_class(r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]")
    lower = regex_class(r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]")

    def maybe(form):  # true if the form can change the character, alone or together with its neighbours
        return lambda c: form(c) != c or ord(c) in ccc or ord(c) in trailing

    def maybe_decomposed(form):
        return lambda c: form(c) != c or ord(c) in ccc

    bits = [
        ("kWhitespace", lambda c: pieces_of(split_space, "a" + c + "a") == ["a", "a"]),
        ("kControl", lambda c: clean(c) == ""),
        ("kPunctuation", ascii_punctuation),
        ("kNonspacingMark", lambda c: strip_accents(c) == ""),
        ("kCombiningMark", lambda c: strip_marks(c) == ""),
        ("kNumeric", digits),
        ("kWord", lambda c: pieces_of(word, "a" + c) == ["a" + c]),
        ("kChinese", lambda c: chinese(c) != c),
        ("kNfcMaybe", maybe(NFC)),
        ("kNfdMaybe", maybe_decomposed(NFD)),
        ("kNfkcMaybe", maybe(NFKC)),
        ("kNfkdMaybe", maybe_decomposed(NFKD)),
        ("kHasLower", lambda c: LOWER(c) != c),
        ("kLetter", letter),
        ("kNumber", number),
        ("kUpperish", upper),
        ("kLowerish", lower),
        ("kGraphemeExtend", grapheme_extends()),
        ("kGraphemeControl", grapheme_controls()),
    ]
    values = [0] * 0x110000
    for i, (name, test) in enumerate(bits):
        count = 0
        for c in CODE_POINTS:
            if test(chr(c)):
                values[c] |= 1 << i
                count += 1
        print(f"{name}: {count}", file=sys.stderr)
    for c in CODE_POINTS:
        assert space(chr(c)) == bool(values[c] & 1), hex(c)   # the two definitions of white space agree
    for c, k in ccc.items():
        values[c] |= k << 24
    return [name for name, _ in bits], values


def newer_categories():
    """Returns runs [begin, end, substitute] of code points with another general category in the regular expression engine
    than in Unicode 14. The substitute has that category in both, and as many bytes in UTF-8."""
    import unicodedata

    assert unicodedata.unidata_version == "14.0.0", "run with Python 3.11"
    names = ("Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Co Cn").split()
    category = {}
    for name in names:
        test = regex_class(r"\p{%s}" % name)
        for c in CODE_POINTS:
            if c not in category and test(chr(c)):
                category[c] = name
    substitute = {}
    for c in reversed(CODE_POINTS):
        if category.get(c) == unicodedata.category(chr(c)):
            substitute.setdefault((category[c], len(chr(c).encode())), c)
    runs = []
    for c in CODE_POINTS:
        if category.get(c) == unicodedata.category(chr(c)):
            continue
        other = substitute[(category[c], len(chr(c).encode()))]
        if runs and runs[-1][1] == c and runs[-1][2] == other:
            runs[-1][1] = c + 1
        else:
            runs.append([c, c + 1, other])
    return runs


def write_mapping(out, name, mapping):
    """Writes a map from code points to texts as three arrays: the keys, the offset of each text in a pool (and the end of the
    last), and the pool."""
    pool, offsets = [], [0]
    for _, text in mapping:
        pool += [ord(c) for c in text]
        offsets.append(len(pool))
    write_array(out, "uint32_t", f"k{name}Keys", [c for c, _ in mapping])
    write_array(out, "uint16_t", f"k{name}Offsets", offsets)
    write_array(out, "uint32_t", f"k{name}Pool", pool)


def write_properties(path):
    ccc = combining_classes()
    pairs = compositions()
    trailing = {b for _, b in pairs} | set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3))
    names, values = properties(ccc, trailing)
    with open(path, "w", encoding="ascii") as out:
        out.write("// Made by scripts/generate/unicode.py from Hugging Face `tokenizers` "
                  f"{tokenizers.__version__}; do not edit.\n// clang-format off\n"
                  '#include "tokenizer/unicode/unicode_data.h"\n\nnamespace encode::unicode {\n\n')
        starts, runs = [], []
        for c, v in enumerate(values):
            if not runs or runs[-1] != v:
                starts.append(c)
                runs.append(v)
        out.write("// The properties of code points, as runs: value i applies to the code points from start i up to, but not\n"
                  "// including, start i + 1. The low bits are flags, in this order:\n"
                  f"// {', '.join(names)}.\n// The highest byte is the canonical combining class.\n")
        write_array(out, "uint32_t", "kRunStarts", starts)
        write_array(out, "uint32_t", "kRunValues", runs)
        decomposing = [c for c in CODE_POINTS if not hangul(c)]
        write_mapping(out, "Canonical", [(c, NFD(chr(c))) for c in decomposing if NFD(chr(c)) != chr(c)])
        write_mapping(out, "Compatibility",
                      [(c, NFKD(chr(c))) for c in decomposing if NFKD(chr(c)) != NFD(chr(c))])
        write_mapping(out, "Lower", [(c, LOWER(chr(c))) for c in CODE_POINTS if LOWER(chr(c)) != chr(c)])
        newer = newer_categories()
        for i, name in enumerate(("kNewerStarts", "kNewerEnds", "kNewerSubstitutes")):
            write_array(out, "uint32_t", name, [run[i] for run in newer])
        ordered = sorted(pairs)
        write_array(out, "uint64_t", "kCompositionKeys", [a << 32 | b for a, b in ordered])
        write_array(out, "uint32_t", "kCompositionValues", [pairs[p] for p in ordered])
        out.write("\n}  // namespace encode::unicode\n")


def starts_of_pieces(text):
    return {begin for _, (begin, _) in CUT(text)}


def joined_with(reference):
    """Returns the code points that cause no cut between two characters `reference`."""
    members = set()
    for i in range(0, len(CODE_POINTS), STEP):
        part = CODE_POINTS[i:i + STEP]
        cuts = starts_of_pieces(reference + "".join(chr(c) + reference for c in part))
        members.update(c for k, c in enumerate(part) if 2 * k + 1 not in cuts and 2 * k + 2 not in cuts)
    return members


def same_script(a, b):
    return len(CUT(chr(a) + chr(b))) == 1


def scripts():
    any_script = joined_with("a") & joined_with("\u4e2d")
    script = {}
    members = []   # one code point of each script
    previous = None
    for c in CODE_POINTS:
        if c in any_script:
            continue
        if previous is not None and same_script(previous, c):
            script[c] = script[previous]
        else:
            script[c] = next((i for i, member in enumerate(members, 1) if same_script(member, c)), len(members) + 1)
            if script[c] > len(members):
                members.append(c)
        previous = c
    return script


def write_scripts(path):
    script = scripts()
    starts, values = [], []
    for c in range(0x110000):
        value = script.get(c, 0)
        if not values or values[-1] != value:
            starts.append(c)
            values.append(value)
    print(f"{max(values)} scripts, {len(starts)} runs", file=sys.stderr)
    with open(path, "w", encoding="ascii") as out:
        out.write("// Made by scripts/generate/unicode.py from Hugging Face `tokenizers` "
                  f"{tokenizers.__version__}; do not edit.\n// clang-format off\n"
                  '#include "tokenizer/unicode/unicode_scripts_data.h"\n\nnamespace encode::unicode {\n\n'
                  "// Script i applies to the code points from start i up to, but not including, start i + 1.\n")
        write_array(out, "uint32_t", "kScriptStarts", starts)
        write_array(out, "uint8_t", "kScriptValues", values)
        out.write("\n}  // namespace encode::unicode\n")


def main():
    what, path = sys.argv[1:]
    {"properties": write_properties, "scripts": write_scripts}[what](path)


if __name__ == "__main__":
    main()
