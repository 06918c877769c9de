#!/usr/bin/env python3
"""Writes docs/reference/commands.md from the --help of each command.

    commands.py [--encode PROGRAM] [--check]
        --check    compares the page with the program instead, and fails if they differ

The text of the page above the first command stays as it is. The exit code is 77 if the help texts have another layout than
that of CLI11 2.1 to 2.4.
"""
import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/reference/commands.md"
BEGIN = "<!-- commands: begin -->\n"
# An option, or a positional argument: its names, what CLI11 writes about its value, and its help.
ENTRY = re.compile(r"  (?P<head>\S.*?)(?:  +(?P<help>.*))?")
SECTIONS = ("Positionals:", "Options:", "Subcommands:")
INDENT = " " * 26  # at least, of a help text on a line of its own


def help_of(program, *command):
    return subprocess.run([program, *command, "--help"], check=True, capture_output=True, text=True).stdout


def parse(text):
    """Returns (description, usage, {section: [(head, help)]}, footer) of a help text."""
    lines = text.rstrip().split("\n")
    usage = next(number for number, line in enumerate(lines) if line.startswith("Usage:"))
    sections, footer, section = {}, [], None
    for line in lines[usage + 1:]:
        if line in SECTIONS:
            section = sections.setdefault(line, [])
        elif section is not None and line.startswith(INDENT):
            head, before = section[-1]
            section[-1] = (head, f"{before} {line.strip()}".strip())
        elif section is not None and line.startswith("  "):
            match = ENTRY.fullmatch(line)
            section.append((match["head"], match["help"] or ""))
        elif line.strip():
            section = None
            footer.append(line)
        elif footer:
            footer.append(line)
    return " ".join(lines[:usage]).strip(), lines[usage].removeprefix("Usage: "), sections, "\n".join(footer).strip()


def value(head):
    """Splits "--rows INT:INT in [0 - 1000]=3 Excludes: --a" into its names and "INT in [0 - 1000], default 3"."""
    head = re.sub(r" (Excludes|Needs): .*", "", head)
    names, _, rest = head.partition(" ")
    rest = re.sub(r"\b(\w+):\1 in ", r"\1 in ", rest)
    rest = re.sub(r"=(\S+)$", r", default \1", rest.strip())
    return names, rest.replace(" REQUIRED", ", required")


def cell(text):
    return re.sub(r"([|<*])", r"\\\1", text)


def table(entries, options):
    lines = [f"| {'option' if options else 'argument'} | value | meaning |", "|---|---|---|"]
    for head, text in entries:
        names, kind = value(head)
        spelled = ", ".join(f"`{name}`" for name in names.split(","))
        lines.append(f"| {spelled} | {cell(kind)} | {cell(text)} |")
    return lines


def subcommands(text):
    """Returns the names of each command of a help text: [["preflight", "doctor"], ...]."""
    return [re.split(", *", head) for head, _ in parse(text)[2].get("Subcommands:", [])]


def chapter(program, shared, command, aliases):
    """Returns the lines of a command (a list of words). `shared` are the options that the table of the config options has."""
    text = help_of(program, *command)
    description, usage, sections, footer = parse(text)
    lines = ["#" * (len(command) + 1) + f" encode {' '.join(command)}", "", f"{description}.", "", f"`{usage}`"]
    for alias in aliases:
        lines += ["", f"`encode {alias}` is another name of the command."]
    if sections.get("Positionals:"):
        lines += ["", *table(sections["Positionals:"], options=False)]
    options = [entry for entry in sections.get("Options:", []) if not entry[0].startswith("-h,")]
    own = [entry for entry in options if entry not in shared]
    if own:
        lines += ["", *table(own, options=True)]
    if len(own) < len(options):
        lines += ["", "The [options that set keys of the config](#options-of-the-config) apply, too."]
    if footer:
        lines += ["", "```console", footer, "```"]
    for name, *others in subcommands(text):
        lines += ["", *chapter(program, shared, [*command, name], others)]
    return lines


def page(program):
    config = {entry for entry in parse(help_of(program, "config"))[2]["Options:"]}
    run = parse(help_of(program, "run"))[2]["Options:"]
    shared = [entry for entry in run if entry in config and not entry[0].startswith("-h,")]
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
    if "\nOptions:\n" not in help_of(args.encode):
        print("the help texts have another layout, so the page cannot be compared with them")
        sys.exit(77)
    there = PAGE.read_text()
    head = there[:there.index(BEGIN) + len(BEGIN)]
    text = head + page(args.encode)
    if args.check and text != there:
        sys.exit(f"{PAGE} is not what the program says: run scripts/generate/commands.py and commit the page")
    if not args.check:
        PAGE.write_text(text)


if __name__ == "__main__":
    main()
