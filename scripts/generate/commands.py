#!/usr/bin/env python3
"""Writes docs/reference/commands.md from the --help of each command.

    commands.py [--encode PROGRAM] [--check]
        --check    compares the page with the program instead, and fails if they differ

The text of the page above the first command stays as it is.
"""
import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/reference/commands.md"
BEGIN = "<!-- commands: begin -->\n"
# An option, or an argument: its names and its value, and its help.
ENTRY = re.compile(r"  (?P<head>\S.*?)(?:  +(?P<help>.*))?")
SECTION = re.compile(r"(Arguments|Commands|Options|Texts and output|Vectors|Device, speed and memory|Messages):")
NOT_OPTIONS = ("Arguments", "Commands")
HELP_INDENT = " " * 26  # of a help text that goes on in the next line
VALUE_INDENT = " " * 10  # of a list of values that goes on in the next line
MORE = "The other options of `encode run` are valid here, too"


def help_of(program, *command):
    return subprocess.run([program, *command, "--help"], check=True, capture_output=True, text=True).stdout


def parse(text):
    """Returns (description, usage, {section: [(head, help)]}, footer) of a help text."""
    lines = text.rstrip().split("\n")
    usage = next(number for number, line in enumerate(lines) if line.startswith("Usage:"))
    sections, footer, section = {}, [], None
    for line in lines[usage + 1:]:
        title = SECTION.fullmatch(line)
        if title and not footer:
            section = sections.setdefault(title[1], [])
        elif section is not None and line.startswith(HELP_INDENT):
            head, before = section[-1]
            section[-1] = (head, f"{before} {line.strip()}".strip())
        elif section is not None and line.startswith(VALUE_INDENT):
            match = ENTRY.fullmatch("  " + line.strip())
            section[-1] = (section[-1][0] + match["head"], match["help"] or "")
        elif section is not None and line.startswith("  "):
            match = ENTRY.fullmatch(line)
            section.append((match["head"], match["help"] or ""))
        elif line.strip() and not line.startswith("Also known as:"):
            section = None
            footer.append(line)
        elif footer:
            footer.append(line)
    return " ".join(lines[:usage]).strip(), lines[usage].removeprefix("Usage: "), sections, "\n".join(footer).strip()


def options_of(sections):
    return [entry for title, entries in sections.items() if title not in NOT_OPTIONS for entry in entries
            if not entry[0].startswith("-h,")]


def value(head):
    """Splits "-c, --config FILE" into ["-c", "--config"] and "FILE"."""
    words = head.split(" ")
    names = [word.rstrip(",") for word in words if word.startswith("-")] or words[:1]
    return names, " ".join(words[len(names):])


def cell(text):
    return re.sub(r"([|<*])", r"\\\1", text)


def table(entries, options):
    lines = [f"| {'option' if options else 'argument'} | value | meaning |", "|---|---|---|"]
    for head, text in entries:
        names, kind = value(head)
        spelled = ", ".join(f"`{name}`" for name in names)
        lines.append(f"| {spelled} | {cell(kind)} | {cell(text)} |")
    return lines


def subcommands(text):
    """Returns the names of each command of a help text: [["preflight", "doctor"], ...]."""
    return [re.split(", *", head) for head, _ in parse(text)[2].get("Commands", [])]


def chapter(program, shared, command, aliases):
    """Returns the lines of a command (a list of words). `shared` are the options that the table of the config options has."""
    text = help_of(program, *command)
    description, usage, sections, footer = parse(text)
    lines = ["#" * (len(command) + 1) + f" encode {' '.join(command)}", "", f"{description}.", "", f"`{usage}`"]
    for alias in aliases:
        lines += ["", f"`encode {alias}` is another name of the command."]
    if sections.get("Arguments"):
        lines += ["", *table(sections["Arguments"], options=False)]
    options = options_of(sections)
    own = [entry for entry in options if entry not in shared]
    if own:
        lines += ["", *table(own, options=True)]
    if len(own) < len(options) or MORE in " ".join(footer.split()):
        lines += ["", "The [options that set keys of the config](#options-of-the-config) apply, too."]
    paragraphs = [text for text in footer.split("\n\n") if not " ".join(text.split()).startswith(MORE)]
    footer = "\n\n".join(paragraphs)
    if footer:
        lines += ["", "```console", footer, "```"]
    for name, *others in subcommands(text):
        lines += ["", *chapter(program, shared, [*command, name], others)]
    return lines


def page(program):
    run = parse(help_of(program, "run"))[2]
    shared = [entry for title, entries in run.items() if title not in (*NOT_OPTIONS, "Options") for entry in entries]
    lines = ["## Options of the config", "",
             "These options belong to every command that reads a config. Each sets a key of the config, for all streams;",
             "[config.md](../config.md) has the keys.", "", *table(shared, options=True)]
    for name, *others in subcommands(help_of(program)):
        lines += ["", *chapter(program, shared, [name], others)]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encode", type=pathlib.Path, default=ROOT / "build/bin/encode")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    there = PAGE.read_text()
    head = there[:there.index(BEGIN) + len(BEGIN)]
    text = head + page(args.encode)
    if args.check and text != there:
        sys.exit(f"{PAGE} is not what the program says: run scripts/generate/commands.py and commit the page")
    if not args.check:
        PAGE.write_text(text)


if __name__ == "__main__":
    main()
