"""What a step has found. The step's process writes a line of JSON at once for each finding, so that the findings of a step that is
killed are in the report too."""
import json
import math

NO_VALUE = "-"


class Skipped(Exception):
    """Ends a step that cannot run on this machine. The text is the reason."""


def plain(cell):
    """Returns what JSON and the report can hold: NaN, which a missing figure is, becomes None."""
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


class Results:
    CHECKS = ("check", "result", "figures")

    def __init__(self, path):
        self.path = path

    def write(self, **entry):
        with self.path.open("a") as file:
            file.write(json.dumps(entry) + "\n")
        print(" ".join(str(value) for value in entry.values()), flush=True)

    def table(self, title, *header):
        self.write(table=title, header=header or self.CHECKS)

    def row(self, *cells):
        self.write(row=[plain(cell) for cell in cells])

    def check(self, name, good, figures):
        self.write(row=[name, "PASS" if good else "FAIL", figures])

    def without(self, name, reason):
        """A figure that this machine cannot give, which is no failure."""
        self.write(row=[name, "SKIP", reason])

    def markdown(self, title, text):
        """Adds the Markdown tables that another script has printed."""
        lines = [line for line in text.splitlines() if line.startswith("|")]
        for line, following in zip(lines, [*lines[1:], ""]):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if following.startswith("|---"):
                self.table(title, *cells)
            elif not line.startswith("|---"):
                self.row(*cells)

    def headline(self, text):
        """The figures of the step's line in the report. The last call counts."""
        self.write(headline=text)

    def skipped(self, reason):
        self.write(skipped=reason)


def read_results(path):
    """Returns {"tables": [{"title", "header", "rows"}], "headline", "skipped", "failed": [name of a check]}. The last line may be
    incomplete, if its writer was killed."""
    found = {"tables": [], "headline": "", "skipped": "", "failed": []}
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:
            continue
        if "table" in entry:
            found["tables"].append({"title": entry["table"], "header": entry["header"], "rows": []})
        elif "row" in entry:
            found["tables"][-1]["rows"].append(entry["row"])
            if entry["row"][1:2] == ["FAIL"]:
                found["failed"].append(entry["row"][0])
        else:
            found.update(entry)
    return found


def shown(cell):
    """Returns a cell as Markdown has it."""
    if cell is None:
        return NO_VALUE
    if isinstance(cell, int):
        return f"{cell:,}"
    if isinstance(cell, float):
        return f"{cell:,.0f}" if abs(cell) >= 1000 else f"{cell:.4g}"
    return " ".join(str(cell).split()).replace("|", "\\|")


def markdown_row(cells):
    return "| " + " | ".join(shown(cell) for cell in cells) + " |"


def markdown_table(header, rows):
    return [markdown_row(header), "|" + "---|" * len(header), *(markdown_row(row) for row in rows)]
