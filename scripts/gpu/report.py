"""What gpu_check.py prints and writes."""


class Report:
    """PASS/FAIL lines as they come, and Markdown for the end."""

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
