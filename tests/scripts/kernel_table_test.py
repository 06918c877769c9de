"""Tests tests/cuda/runtime_stand_in/kernel_table.py: it counts what a record says, and finds what must not happen."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cuda/runtime_stand_in"))
import kernel_table

BATCHES = 8
ADD = "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_T1_"
SHAPE = "grid 1 1 1 block 32 1 1 shared 0"
BATCH = [f"launch {ADD} {SHAPE}"] * 5 + ["product cublasLtMatmul m 1 n 2 k 3 types 0 0 epilogue 4 scale 0 0", "wait event"]


def read(lines, capability="90"):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / f"record.{capability}.1"
        path.write_text("\n".join(lines) + "\n")
        return {(model, type_name, capability): run for model, type_name, run in kernel_table.read_record(path)}


def record(type_name="float32", steady=(), load=(), end="end"):
    return [f"mark model /models/bert {type_name}", *load, "mark warm", *BATCH, f"mark steady {BATCHES}", *BATCH * BATCHES,
            *steady, f"mark {end}", "wait device"]


def faults(runs):
    return list(kernel_table.faults(runs))


class Table(unittest.TestCase):
    def test_it_has_the_launches_and_waits_of_the_steady_state(self):
        runs = read(record())
        self.assertEqual(faults(runs), [])
        # bert has 2 layers.
        self.assertIn("| float32: 9.0 | 6 | 8 | `cublasLtMatmul (bias)` 1, `elementwise add` 2/layer + 1 |",
                      kernel_table.table(runs))

    def test_one_more_launch_or_wait_changes_it(self):
        table = kernel_table.table(read(record()))
        for line in (f"launch {ADD} {SHAPE}", "wait copy", "product cublasSgemm m 1 n 2 k 3 types 0 0"):
            self.assertNotEqual(kernel_table.table(read(record(steady=[line]))), table, line)


class Faults(unittest.TestCase):
    def test_memory_refusals_and_missing_functions_are_faults(self):
        for fault, where in (("allocate device 4096", "steady"), ("allocate pinned 4096", "steady"),
                             ("missing nvrtcCompileProgram", "load"), ("refused too much shared memory: launch f", "load")):
            self.assertEqual(len(faults(read(record(**{where: [fault]})))), 1, fault)
        self.assertEqual(faults(read(record(load=["allocate device 4096"]))), [], "a load may ask for memory")

    def test_a_model_that_fails_is_a_fault(self):
        self.assertEqual(faults(read(record(end="failed an exception"))), ["bert float32 9.0: mark failed an exception"])
        self.assertEqual(faults(read(["mark model /models/bert float32"])), ["bert float32 9.0: no kernel was launched"])

    def test_the_documented_refusals_are_expected_and_no_others(self):
        for type_name, capability, code in (("bfloat16", "75", "device.bfloat16"), ("fp8", "75", "device.fp8"),
                                            ("fp8", "89", "device.fp8")):
            refused = ["mark model /models/bert " + type_name, f"mark refused {code}: what"]
            self.assertEqual(faults(read(refused, capability)), [])
            self.assertEqual(len(faults(read(record(type_name), capability))), 1, "it ran")
            self.assertEqual(len(faults(read(refused, "90"))), 1, "it was refused without a reason")
            self.assertEqual(len(faults(read(["mark model /models/bert " + type_name, "mark refused internal: what"],
                                             capability))), 1, "another refusal")


if __name__ == "__main__":
    unittest.main()
