"""Tests scripts/gpu/roofline.py: its formulas match what programs count, its times match published ones, and
docs/gpu-roofline.md has its tables."""
import dataclasses
import json
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/gpu"))
import roofline
import roofline_model
from roofline_model import KERNEL_PAGE, LAYER_COSTS, SCENARIOS, Batching, Change, Clock, Sizes, Stale
from shapes import card_peak

PAGE = ROOT / "docs/gpu-roofline.md"
WITHIN = {"products": 0.10, "attention": 0.12}
# TFLOP/s of cuBLAS for squares in bfloat16 on an H100: the sources of product_efficiency in devices.json.
SQUARES = {2048: 677, 4096: 789, 6144: 741, 8192: 798}
# TFLOP/s of FlashAttention-2 on an H100 (Shah et al. 2024), for 16,384 tokens and heads of 2,048 numbers together.
ATTENTION = {(128, False): {512: 309, 1024: 350, 2048: 362}, (128, True): {512: 191, 1024: 260, 2048: 298},
             (64, True): {512: 180, 1024: 229, 2048: 262}}
LINES = roofline.Roofline()


def clock(scenario="expected", change=Change(), device="H100"):
    return Clock(LINES.devices[device], LINES.assumptions, scenario, change)


class Counts(unittest.TestCase):
    def test_the_formulas_give_the_counts_of_the_programs(self):
        roofline_model.check()

    def test_another_count_is_found(self):
        page, costs = KERNEL_PAGE.read_text(), LAYER_COSTS.read_text()
        section = page.index("## qwen2")
        line = page.index("bfloat16: 8.0", section)
        for before, after in (("| 23 |", "| 25 |"), ("`norm_kernel` 2/layer + 1", "`norm_kernel` 2/layer"),
                              ("`rotary_kernel` 1/layer", "`turn_kernel` 1/layer"), ("`activation_kernel` 1/layer, ", "")):
            self.assertIn(before, page[line:])
            changed = page[:line] + page[line:].replace(before, after, 1)
            with self.assertRaises(Stale, msg=before):
                roofline_model.check(changed, costs)
        for before, after in (("kBFloat16, 9, 3456", "kBFloat16, 9, 3328"), ("kBFloat16, 8, 2944", "kBFloat16, 7, 2944"),
                              ('Cost{"qwen2", ComputeType::kBFloat16', 'Cost{"qwen2", ComputeType::kFloat16')):
            self.assertIn(before, costs)
            with self.assertRaises(Stale, msg=before):
                roofline_model.check(page, costs.replace(before, after))

    def test_products_multiply_as_often_as_the_mfu_says(self):
        for name in roofline.MODELS:
            sizes = roofline.model_of(name).sizes
            weights = sum(kernel.n * kernel.k for kernel in roofline_model.layer_kernels(sizes))
            self.assertEqual(2 * sizes.layers * weights, roofline.flops_per_token(name, 0))

    def test_batches_are_those_of_the_program(self):
        batching = Batching.default()
        # tests/batching/batch_plan_test.cc expects the same.
        self.assertEqual([batching.launch_tokens(hidden) for hidden in (384, 768, 1024, 1536, 4096, 16384, 1)],
                         [16384, 8192, 4096, 4096, 2048, 2048, 16384])
        # A window takes chunks until it has 16 batches or 4,096 rows.
        self.assertEqual([batching.window(tokens) for tokens in (30, 128, 512)], [(5, 5000), (3, 3000), (1, 1000)])
        large = dataclasses.replace(batching, chunk_rows=8192)
        self.assertEqual(large.window(30), (0.5, 4096))

    def test_a_source_of_another_form_is_an_error(self):
        with self.assertRaises(Stale):
            roofline_model.constant(roofline_model.BATCH_PLAN, r"kNoSuchConstant = (\d+);")


class Assumptions(unittest.TestCase):
    def test_each_has_a_source_a_unit_and_a_range(self):
        for name, entry in LINES.assumptions.items():
            self.assertEqual(set(entry), {*SCENARIOS, "kind", "unit", "source"}, name)
            self.assertIn(entry["kind"], ("published", "measured", "estimate"), name)
            if isinstance(entry["slow"], (int, float)):
                values = [entry[scenario] for scenario in SCENARIOS]
                self.assertIn(values, (sorted(values), sorted(values, reverse=True)), name)

    def test_the_peaks_are_those_of_the_check_on_a_gpu(self):
        for name, device in LINES.devices.items():
            self.assertEqual(device.flops_per_second, card_peak(name))

    def test_a_better_value_never_makes_a_run_slower(self):
        base = {case: LINES.speed(case, "slow") for case in LINES.cases(["H100"])}
        for name, entry in LINES.assumptions.items():
            better = Change(values={name: entry["fast"]})
            for case, speed in base.items():
                self.assertGreaterEqual(LINES.speed(case, "slow", better), speed * (1 - 1e-9), f"{name} {case}")


class Products(unittest.TestCase):
    def test_squares_take_the_published_time(self):
        fast = clock("fast")
        for size, published in SQUARES.items():
            seconds = fast.product_seconds(size, size, size, 2 * 2 * size) + fast.a["kernel_gap_seconds"]
            self.assertAlmostEqual(2 * size**3 / seconds / 1e12 / published, 1, delta=WITHIN["products"], msg=size)

    def test_the_memory_limits_a_product_with_a_short_inner_dimension(self):
        bytes_of_token = 2 * (64 + 4096)
        at_once = Change(values={"product_fill_columns": 0})
        slow_memory, fast_memory = clock(change=at_once), clock(change=at_once, device="H200")
        self.assertAlmostEqual(slow_memory.product_seconds(65536, 4096, 64, bytes_of_token),
                               fast_memory.product_seconds(65536, 4096, 64, bytes_of_token) * 4.8 / 3.35)
        self.assertEqual(slow_memory.product_seconds(65536, 4096, 8192, bytes_of_token),
                         fast_memory.product_seconds(65536, 4096, 8192, bytes_of_token))

    def test_a_last_wave_of_few_tiles_costs_a_whole_wave(self):
        tiles = Change(values={"product_tiles": [[128, 256, 1.0]]})
        full, more = (clock(change=tiles).product_seconds(132 * 128 + extra, 256, 4096, 0) for extra in (0, 1))
        self.assertAlmostEqual(more / full, 2)


class Attention(unittest.TestCase):
    def test_it_takes_the_published_time(self):
        for (head_dim, causal), points in ATTENTION.items():
            sizes = Sizes(layers=1, hidden=2048, inner=1, heads=2048 // head_dim, key_heads=2048 // head_dim, gated=causal)
            for tokens, published in points.items():
                rows = 16384 // tokens
                seconds = clock().attention_seconds(sizes, rows, tokens, 4 * 2 * 2048) + clock().a["kernel_gap_seconds"]
                operations = 4 * tokens**2 * 2048 * rows / (2 if causal else 1)
                self.assertAlmostEqual(operations / seconds / 1e12 / published, 1, delta=WITHIN["attention"],
                                       msg=(head_dim, causal, tokens))

    def test_a_short_row_costs_a_whole_tile(self):
        sizes = roofline.model_of("minilm").sizes
        self.assertEqual(clock().attention_seconds(sizes, 100, 30, 0), clock().attention_seconds(sizes, 100, 128, 0))


class Times(unittest.TestCase):
    def test_the_scenarios_are_in_order(self):
        for case in LINES.cases():
            speeds = [LINES.speed(case, scenario) for scenario in SCENARIOS]
            self.assertEqual(speeds, sorted(speeds))
            self.assertLess(LINES.mfu(case, speeds[-1]), LINES.assumptions["product_efficiency"]["fast"])

    def test_the_parts_are_the_whole_time(self):
        for case in LINES.cases():
            self.assertAlmostEqual(sum(LINES.parts(case).values()), 1)

    def test_each_stage_can_limit_a_run(self):
        case = ("H100", "minilm", 30)
        for name, value, limit in (("commit_chunk_seconds", 0.1, "commit"), ("tokenizer_tokens_per_second", 1e5, "tokenizing"),
                                   ("memory_efficiency", 0.1, "GPU")):
            self.assertEqual(LINES.times(*case, change=Change(values={name: value})).limit, limit)

    def test_launches_limit_a_batch_if_the_host_is_slow(self):
        times = LINES.times("H100", "minilm", 128, change=Change(values={"host_launch_seconds": 1e-3}))
        batches = times.slots / 16384
        self.assertAlmostEqual(sum(times.device.values()) + times.host_launches, batches * times.launches * 1e-3)
        self.assertEqual(times.launches, 6 * 8 + 2)

    def test_the_last_layer_finishes_only_the_pooled_tokens(self):
        model = roofline.model_of("qwen2-1.5b")
        whole = dataclasses.replace(model, one_token=False)
        one, all_tokens = (sum(clock().window(each, 512).device.values()) for each in (model, whole))
        self.assertLess(one, all_tokens)
        self.assertGreater(one, all_tokens * 27 / 28)

    def test_a_window_that_fills_no_whole_launch_is_padded(self):
        times = LINES.times("H100", "minilm", 30)
        self.assertEqual(times.slots % 16384, 0)
        self.assertGreater(times.slots, times.rows * 30)

    def test_a_change_of_kernels_never_loses(self):
        for title, change in roofline.CHANGES.items():
            fills_otherwise = change.launch_factor > 1 or change.batching  # the last batch of a window may be less full
            gains = [LINES.gain(case, change) for case in LINES.cases(["H100"])]
            self.assertGreaterEqual(min(gains), -0.02 if fills_otherwise else -1e-9, title)
            self.assertGreater(max(gains), 0, title)


class Page(unittest.TestCase):
    def test_it_has_the_tables_of_the_program(self):
        text = PAGE.read_text()
        self.assertEqual(roofline.with_tables(text, LINES), text, "run scripts/gpu/roofline.py --write docs/gpu-roofline.md")

    def test_a_page_without_a_mark_is_refused(self):
        with self.assertRaisesRegex(ValueError, "'speeds'"):
            roofline.with_tables("# A page\n", LINES)

    def test_the_program_writes_json(self):
        run = subprocess.run([sys.executable, "-B", ROOT / "scripts/gpu/roofline.py", "--json"], capture_output=True, text=True,
                             check=True)
        figures = json.loads(run.stdout)
        self.assertEqual(len(figures), 2 * 3 * 3)
        self.assertEqual(set(figures[0]["scenarios"]), set(SCENARIOS))


if __name__ == "__main__":
    unittest.main()
