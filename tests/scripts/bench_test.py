"""Tests scripts/bench/: wrong output is refused, and a missed limit is a failure."""
import contextlib
import io
import pathlib
import sys
import types
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts" / "bench"))
import numpy as np

import compare
import measure
import peer


def contestant(name, dtype, is_ours, *seconds):
    return compare.Contestant(name, dtype, is_ours, seconds=list(seconds), cpu_seconds=list(seconds))


def limits(*wishes):
    return types.SimpleNamespace(min_ratio=list(wishes))


class Outputs(unittest.TestCase):
    def setUp(self):
        self.rows = np.random.default_rng(1).normal(size=(5, 8))

    def test_a_float32_peer_must_agree_to_the_last_digits(self):
        peer_ = contestant("ort", "float32", False)
        self.assertTrue(compare.agreement(self.rows + 1e-6, self.rows, peer_)[1])
        self.assertFalse(compare.agreement(self.rows + 1e-3, self.rows, peer_)[1])

    def test_a_narrower_peer_must_point_the_same_way_in_every_row(self):
        peer_ = contestant("ct2-int8", "bfloat16", False)
        self.assertTrue(compare.agreement(self.rows * 1.01, self.rows, peer_)[1])
        swapped = self.rows[[1, 0, 2, 3, 4]]
        self.assertFalse(compare.agreement(swapped, self.rows, peer_)[1])

    def test_no_number_and_another_shape_are_wrong(self):
        for dtype in ("float32", "bfloat16"):
            peer_ = contestant("p", dtype, False)
            self.assertFalse(compare.agreement(self.rows * np.nan, self.rows, peer_)[1])
            self.assertFalse(compare.agreement(self.rows[:4], self.rows, peer_)[1])


class Ratios(unittest.TestCase):
    def setUp(self):
        self.contestants = [contestant("encode float32", "float32", True, 1, 2, 3),
                            contestant("encode bfloat16", "bfloat16", True, 1, 1, 1),
                            contestant("ort", "float32", False, 4, 4, 4),
                            contestant("ct2-int8", "bfloat16", False, 3, 3, 3)]

    def test_the_ratio_is_that_of_medians_with_the_range_of_turns(self):
        self.assertEqual(compare.ratios(self.contestants[0], self.contestants[2]), (2, 4 / 3, 4))

    def test_a_peer_competes_with_ours_of_its_own_kind(self):
        compare.check_ratios(limits("2"), self.contestants)
        compare.check_ratios(limits("ort=2", "ct2-int8=3"), self.contestants)
        for wish in ("2.1", "ort=2.1", "ct2-int8=3.1"):
            with self.assertRaises(SystemExit):
                compare.check_ratios(limits(wish), self.contestants)


class Overhead(unittest.TestCase):
    def runs(self, *seconds):
        return [measure.Run(value, value, 100, 5000, 0, {}, [], b"") for value in seconds]

    def test_it_is_the_median_of_turns(self):
        runs = {"standard": self.runs(10, 20, 30), "chunks": self.runs(11, 21, 60)}
        self.assertAlmostEqual(measure.over(runs, "chunks", "standard", lambda run: run.seconds), 0.1)

    def test_other_bytes_end_the_measurement(self):
        outputs = iter([b"a", b"b"])
        real, measure.encode = measure.encode, lambda *_: measure.Run(1, 1, 1, 1, 0, {}, [], next(outputs))
        try:
            with self.assertRaises(SystemExit):
                args = types.SimpleNamespace(runs=1, encode="", model="", threads=1, dtype="", device="cpu")
                measure.measure(args, pathlib.Path("rows"), {"one": (), "other": ()})
        finally:
            measure.encode = real

    # With 5,000 rows there are 5 or 50 chunks. A commit takes 0.1 s.
    def failures(self, standard, of_1000, of_100):
        runs = {"standard": self.runs(standard), "chunks of 1,000": self.runs(of_1000), "chunks of 100": self.runs(of_100)}
        with unittest.mock.patch.multiple(measure, measure=lambda *_: runs, commit_seconds=lambda _: 0.1), \
                contextlib.redirect_stdout(io.StringIO()):
            return measure.modes(types.SimpleNamespace(device="cpu"), pathlib.Path("rows"))

    def test_a_limit_that_is_missed_is_named(self):
        self.assertEqual(self.failures(100, 102, 104), ["rows: chunks of 1,000 cost 2.0 %, and the disk explains 1.8 %"])

    def test_the_time_of_the_commits_is_the_limit_on_every_device(self):
        self.assertEqual(self.failures(1, 1.7, 8), [])
        self.assertEqual(self.failures(1, 1.7, 9), ["rows: chunks of 100 cost 800.0 %, and the disk explains 751.0 %"])

    def test_a_commit_is_measured_on_the_disk(self):
        self.assertGreater(measure.commit_seconds(1000), 0)


class Parts(unittest.TestCase):
    def test_a_share_that_is_missed_or_not_known_is_named(self):
        results = [{"dtype": "float32", "share": {"median": 0.75}}, {"dtype": "int8", "share": None}]
        self.assertEqual(measure.missed(["float32=0.7"], results), [])
        self.assertEqual(measure.missed(["float32=0.8", "int8=0.1"], results),
                         ["float32: 0.75 of the products alone, below --min-share 0.8",
                          "int8: no share of the products alone, below --min-share 0.1"])

    def test_batches_hold_every_row_once_the_longest_first(self):
        batches = []

        def encode_batch(ids):
            batches.append([len(row) for row in ids])
            return np.array([[row[0]] for row in ids])

        rows = [[10] * 3, [11] * 9, [12], [13] * 9, [14] * 5]
        self.assertEqual(peer.encode_rows(rows, 2, encode_batch).ravel().tolist(), [10, 11, 12, 13, 14])
        self.assertEqual(batches, [[9, 9], [5, 3], [1]])

    def test_padding_is_in_no_mean(self):
        head = peer.Head.__new__(peer.Head)
        head.mean, head.normalize = True, False
        states = np.array([[[1.0, 3.0], [3.0, 5.0], [100.0, 100.0]]], dtype=np.float32)
        self.assertEqual(head(states, np.array([[1, 1, 0]])).tolist(), [[2.0, 4.0]])


if __name__ == "__main__":
    unittest.main()
