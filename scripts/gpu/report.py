"""The report of gpu_check.py."""


class Report:
    """Prints results at once, and collects them as Markdown for gpu_check.md."""

    def __init__(self, folder):
        self.path = folder / "gpu_check.md"
        self.lines = []
        self.failed = []

    def section(self, title, *header):
        self.lines += ["", f"## {title}", ""]
        if header:
            self.lines += ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
        print(f"== {title}", flush=True)

    def row(self, *cells):
        self.lines.append("| " + " | ".join(map(str, cells)) + " |")
        print("   " + "  ".join(map(str, cells)), flush=True)

    def check(self, name, good, detail):
        result = "PASS" if good else "FAIL"
        if not good:
            self.failed.append(name)
        self.row(name, result, detail)

    def write(self):
        self.path.write_text("\n".join(self.lines) + "\n")
