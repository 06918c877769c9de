#!/usr/bin/env python3
"""Prints how fast encode should be on an H100 and an H200, and what limits it.

    roofline.py [--json]
    roofline.py --write|--check PAGE

The counts of kernels, launches and bytes come from programs of the project (roofline_model.py says which); the program ends with
an error if they differ from its formulas. What it assumes about devices and hosts is in devices.json, with sources.
roofline_model.py computes the times. The models have the sizes of shapes.py, which has the definition of MFU, too.

--json          the figures of all scenarios as JSON
--write PAGE    writes the tables into a page, between its marks `<!-- roofline NAME: begin -->` and `<!-- roofline NAME: end -->`
--check PAGE    the exit code is 1 if the tables of the page are others
"""
import argparse
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import roofline_model
from roofline_model import SCENARIOS, Change, Clock, Model, read_devices
from shapes import SHAPES, flops_per_token

MODELS = {"minilm": "MiniLM (6 layers)", "bert-base": "BERT-base", "qwen2-1.5b": "Qwen2-1.5B"}
ROW_TOKENS = (30, 128, 512)
# What the model should reach in the expected scenario: (device, model, tokens of a row, least tokens/s or None, least MFU or None).
GOALS = (("H100", "qwen2-1.5b", 512, None, 0.60), ("H100", "minilm", 128, 10e6, None), ("H100", "minilm", 30, 6e6, None))
PART_TITLES = {"products": "products", "attention": "attention", "norms": "norms", "activation": "activation", "rotary": "rotary",
               "embedding": "embedding", "pooling": "pooling", "gaps": "gaps between kernels", "copies": "copies",
               "host_launches": "waiting for launches", "window_end": "end of windows", "retirement": "new workers"}
# What a change of the program would save. Each one is computed alone.
CHANGES = {
    "attention in tiles of 64 x 64": Change(values={"attention_tile": dict.fromkeys(("32", "64", "128"), (64, 64))}),
    "the activation inside the product before it": Change(drops=frozenset({"activation"}), activates_in_product=True),
    "the norms inside other kernels (upper bound)": Change(drops=frozenset({"norm"})),
    "rotary inside attention": Change(drops=frozenset({"rotary"})),
    "half the gap between kernels": Change(values={"kernel_gap_seconds": 1e-6}),
    "launches of twice as many tokens": Change(launch_factor=2),
    "chunks of 4,000 rows": Change(batching={"chunk_rows": 4000}),
}


def model_of(name):
    shape = SHAPES[name]
    gated = shape.architecture != "Bert"
    return Model(roofline_model.Sizes.of(shape.config, gated), shape.pooling == "lasttoken")


class Roofline:
    def __init__(self):
        roofline_model.check()
        self.devices, self.assumptions = read_devices()

    def times(self, device, name, row_tokens, scenario="expected", change=Change()):
        return Clock(self.devices[device], self.assumptions, scenario, change).window(model_of(name), row_tokens)

    def speed(self, case, scenario="expected", change=Change()):
        return self.times(*case, scenario, change).tokens_per_second()

    def mfu(self, case, tokens_per_second):
        device, name, row_tokens = case
        return tokens_per_second * flops_per_token(name, row_tokens) / self.devices[device].flops_per_second

    def cases(self, devices=None):
        return [(device, name, row_tokens) for device in devices or self.devices for name in MODELS for row_tokens in ROW_TOKENS]

    def parts(self, case, scenario="expected"):
        """Returns {part: share of the time of the windows on the device}."""
        times = self.times(*case, scenario)
        seconds = times.device | {"host_launches": times.host_launches, "window_end": times.window_end,
                                  "retirement": times.retirement}
        return {part: value / times.gpu for part, value in seconds.items()}

    def gain(self, case, change):
        return self.speed(case, change=change) / self.speed(case) - 1


def percent(share):
    return f"{100 * share:.0f} %"


def rate(tokens_per_second):
    millions = tokens_per_second / 1e6
    return f"{millions:.1f} M" if millions >= 1 else f"{tokens_per_second / 1e3:.0f} k"


def table(header, rows):
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in (header, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(header), *lines[1:]])


def speed_table(roofline):
    rows = []
    for case in roofline.cases():
        times = {scenario: roofline.times(*case, scenario) for scenario in SCENARIOS}
        speeds = [times[scenario].tokens_per_second() for scenario in SCENARIOS]
        expected = times["expected"]
        host = min(expected.tokens_per_second(expected.feed), expected.tokens_per_second(expected.commit))
        limits = dict.fromkeys(times[scenario].limit for scenario in SCENARIOS)
        slow, middle, fast = (percent(roofline.mfu(case, speed)) for speed in speeds)
        rows.append((case[0], MODELS[case[1]], case[2], rate(speeds[1]), f"{rate(speeds[0])} to {rate(speeds[2])}", middle,
                     f"{slow} to {fast}", " or ".join(limits), rate(host)))
    return table(("device", "model", "tokens of a row", "tokens/s", "slow to fast", "MFU", "slow to fast", "limit", "host alone"),
                 rows)


def goal_table(roofline):
    rows = []
    for device, name, row_tokens, least_speed, least_mfu in GOALS:
        case = (device, name, row_tokens)
        values = [roofline.speed(case, scenario) for scenario in SCENARIOS]
        if least_mfu:
            values, show, goal = [roofline.mfu(case, value) for value in values], lambda value: f"{percent(value)} MFU", least_mfu
        else:
            show, goal = (lambda value: f"{rate(value)} tokens/s"), least_speed
        reached = next((scenario for scenario, value in zip(SCENARIOS, values) if value >= goal), "no")
        words = {"slow": "in all scenarios", "expected": "from the expected scenario on", "fast": "only in the fast scenario",
                 "no": "in no scenario"}
        rows.append((f"{MODELS[name]}, {row_tokens} tokens, {device}", show(goal), *map(show, values), words[reached]))
    return table(("case", "goal", *SCENARIOS, "reached"), rows)


def case_titles():
    return [f"{MODELS[name].partition(' (')[0]}, {row_tokens}" for name in MODELS for row_tokens in ROW_TOKENS]


def part_table(roofline):
    shares = [roofline.parts(case) for case in roofline.cases(["H100"])]
    rows = [(title, *(percent(share[part]) if share[part] >= 0.005 else "-" for share in shares))
            for part, title in PART_TITLES.items()]
    return table(("H100, share of the time", *case_titles()), rows)


def gain_table(roofline):
    rows = []
    for title, change in CHANGES.items():
        gains = [roofline.gain(case, change) for case in roofline.cases(["H100"])]
        rows.append((title, *(f"{100 * gain:+.0f} %" if abs(gain) >= 0.005 else "-" for gain in gains)))
    return table(("H100, tokens/s", *case_titles()), rows)


def count_table(_roofline):
    batching = roofline_model.Batching.default()
    rows = []
    for name, title in MODELS.items():
        model = model_of(name)
        layer = roofline_model.layer_kernels(model.sizes)
        products = [kernel for kernel in layer if kernel.part == "products"]
        split = batching.batch_tokens // batching.launch_tokens(model.sizes.hidden)
        per_layer = len(layer) + (split - 1) * len(products)
        rows.append((title, len(layer), split, per_layer, f"{sum(kernel.token_bytes for kernel in layer):,}",
                     f"{sum(kernel.token_bytes for kernel in layer if kernel.part not in ('products', 'attention')):,}",
                     f"{sum(2 * kernel.n * kernel.k for kernel in products) / 1e6:.1f}"))
    return table(("model", "kernels of a layer", "launches of a product in a batch", "launches of a layer",
                  "bytes of a token and layer", "of these not in products and attention", "MFLOP of a token in a layer's products"),
                 rows)


TABLES = {"speeds": speed_table, "goals": goal_table, "counts": count_table, "parts": part_table, "gains": gain_table}


def as_json(roofline):
    figures = []
    for case in roofline.cases():
        entry = dict(zip(("device", "model", "row_tokens"), case), scenarios={})
        for scenario in SCENARIOS:
            times = roofline.times(*case, scenario)
            speed = times.tokens_per_second()
            entry["scenarios"][scenario] = {
                "tokens_per_second": speed, "mfu": roofline.mfu(case, speed), "limit": times.limit,
                "gpu_tokens_per_second": times.tokens_per_second(times.gpu),
                "feed_tokens_per_second": times.tokens_per_second(times.feed),
                "commit_tokens_per_second": times.tokens_per_second(times.commit),
                "fill": times.rows * times.row_tokens / times.slots, "launches_of_a_batch": times.launches,
                "shares": roofline.parts(case, scenario)}
        entry["gains"] = {title: roofline.gain(case, change) for title, change in CHANGES.items()}
        figures.append(entry)
    return json.dumps(figures, indent=2)


def with_tables(text, roofline):
    """Returns the page with the tables between its marks. Raises ValueError if a mark is missing."""
    for name, make in TABLES.items():
        marks = re.compile(rf"(<!-- roofline {name}: begin -->\n).*?(<!-- roofline {name}: end -->)", re.DOTALL)
        if not marks.search(text):
            raise ValueError(f"the page has no marks for the table '{name}'")
        text = marks.sub(lambda found, make=make: f"{found[1]}\n{make(roofline)}\n\n{found[2]}", text)
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--json", action="store_true")
    action.add_argument("--write", type=pathlib.Path, metavar="PAGE")
    action.add_argument("--check", type=pathlib.Path, metavar="PAGE")
    args = parser.parse_args()
    try:
        roofline = Roofline()
        if args.json:
            print(as_json(roofline))
        elif page := args.write or args.check:
            text = page.read_text()
            new = with_tables(text, roofline)
            if args.write:
                page.write_text(new)
            elif new != text:
                sys.exit(f"{page} has other tables: run {sys.argv[0]} --write {page}")
        else:
            print("\n\n".join(make(roofline) for make in TABLES.values()))
    except (roofline_model.Stale, ValueError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
