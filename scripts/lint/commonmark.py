"""A hook of mkdocs (mkdocs.yml): lists and code blocks mean the same in the site as in other viewers of Markdown.

Python-Markdown, which mkdocs uses, ends a paragraph before a list only at an empty line, and nests by four spaces. CommonMark
needs no empty line, and nests by the width of the marker ("- ": two spaces). Words after the language of a code block become
the title of the block. In code in a table, \\| is a bar. The pages of docs/ are CommonMark with tables.
"""
import re

ITEM = re.compile(r"( *)([-*]|\d+\.)( +)(?=\S)")
FENCE = re.compile(r" *```")
CODE = re.compile(r"`[^`]+`")
NAMED_FENCE = re.compile(r"( *```\w+) ([^={}]+)")


def indentation(line):
    return len(line) - len(line.lstrip(" "))


def for_python_markdown(text):
    """Returns the text with an empty line before each list and with nested lists and blocks indented by four spaces."""
    lines = []
    columns = []  # of the items that are open: where their text begins
    fenced = False
    for line in text.split("\n"):
        line = NAMED_FENCE.sub(r'\1 title="\2"', line)
        if line.startswith("|") and not fenced:
            line = CODE.sub(lambda code: code[0].replace(r"\|", "|"), line)
        in_list = bool(columns)
        item = None if fenced else ITEM.match(line)
        after_text = bool(lines and lines[-1].strip())
        if line.strip() and not fenced and (item or not after_text or FENCE.match(line)):
            while columns and indentation(line) < columns[-1]:
                columns.pop()
        if item:
            if after_text and not in_list:
                lines.append("")
            lines.append("    " * len(columns) + f"{item[2]} {line[item.end():]}")
            columns.append(item.end())
        elif columns and line.strip():
            lines.append("    " * len(columns) + line[min(indentation(line), columns[-1]):])
        else:
            lines.append(line)
        if FENCE.match(line):
            fenced = not fenced
    return "\n".join(lines)


def on_page_markdown(markdown, **_):
    return for_python_markdown(markdown)
