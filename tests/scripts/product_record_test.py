"""Tests scripts/gpu/product_record.py: it finds each product that was not computed with the algorithm of the search."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts/gpu"))
import product_record


def product(algorithm=4, beta=1, epilogue=4):
    return f"product cublasLtMatmul m 1 n 2 k 3 types 14 14 epilogue {epilogue} scale 0 0 beta {beta} algorithm {algorithm}"


def faults(*steady, load=(), model="bert"):
    lines = [f"mark model /models/{model} bfloat16", *load, "mark warm", product(0), "mark steady 8", *steady, "mark end"]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "record"
        path.write_text("\n".join(lines) + "\n")
        return product_record.faults([path])[0]


class ProductRecord(unittest.TestCase):
    def test_chosen_products_pass(self):
        self.assertEqual(faults(product(), product(beta=0)), [])

    def test_a_product_of_libtorch_or_a_bad_algorithm_is_found(self):
        for algorithm in (0, 1, 2, 3, 5):
            self.assertEqual(len(faults(product(), product(algorithm))), 1)

    def test_berts_residual_must_be_added_with_the_bias(self):
        self.assertEqual(faults(product(beta=0), product(epilogue=1)), ["no product of BERT adds a bias and a residual"])

    def test_other_faults_are_found(self):
        for line in ("allocate device 512", "refused too much shared memory", "missing cublasLtOther"):
            self.assertEqual(faults(product(), line), [f"bert bfloat16: {line}"])
        self.assertEqual(faults(product(), load=["mark failed CUDA error"]), ["bert bfloat16: mark failed CUDA error"])


if __name__ == "__main__":
    unittest.main()
