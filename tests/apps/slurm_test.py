"""Tests `encode slurm` with programs that stand for those of Slurm, and runs the scripts that it submits with bash.

    slurm_test.py ENCODE FAKE_WORKER

scripts/soak/slurm.sh does the same on a real cluster.
"""
import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from slurm_lab import ENCODE, NPY_HEADER, Lab, option


class DryRun(unittest.TestCase):
    def test_it_shows_the_jobs_and_needs_no_slurm(self):
        lab = Lab(self)
        shutil.rmtree(lab.bin)
        lab.bin.mkdir()
        end = lab.slurm("--shards", "5", "--at-once", "2", "--dry-run", "--", "--gres=gpu:1", PATH=str(lab.bin))
        self.assertEqual((end.returncode, end.stderr), (0, ""))
        self.assertEqual(end.stdout.count("\nsbatch "), 3)
        self.assertEqual(end.stdout.count("--gres=gpu:1"), 3)
        self.assertIn("--array=0-4%2 --dependency=afterok:JOB_1 --kill-on-invalid-dep=yes", end.stdout)
        self.assertIn("--dependency=afterok:JOB_2 --kill-on-invalid-dep=yes", end.stdout)
        self.assertFalse((lab.folder / "cache").exists())
        self.assertEqual(subprocess.run(["bash", "-n"], input=end.stdout, text=True).returncode, 0)

    def test_json(self):
        lab = Lab(self)
        lines = lab.slurm("--shards", "2", "--dry-run", "--json").stdout.splitlines()
        jobs = [json.loads(line) for line in lines]
        self.assertEqual([job["event"] for job in jobs], ["slurm_dry_run"] * 3)
        self.assertEqual(jobs[1]["command"][0], "sbatch")
        self.assertNotIn("--json", jobs[1]["script"])


class Submission(unittest.TestCase):
    def test_the_jobs_give_what_one_run_gives(self):
        lab = Lab(self)
        end = lab.slurm("--shards", "4", "--at-once", "2", "--", "--partition", "gpu", "--gres=gpu:1")
        self.assertEqual((end.returncode, end.stderr), (0, ""))
        self.assertEqual(end.stdout.splitlines()[:3],
                         ["job 100: the plan of 4 shards", "job 101: 4 shards, 2 at once", "job 102: the merge"])
        jobs = lab.calls("sbatch")
        self.assertEqual([option(job, "--array") for job in jobs], [None, "0-3%2", None])
        self.assertEqual([option(job, "--dependency") for job in jobs], [None, "afterok:100", "afterok:101"])
        for job in jobs:
            self.assertIn("--partition gpu --gres=gpu:1", " ".join(job["words"]))
            self.assertIn("--requeue", job["words"])
            self.assertEqual(option(job, "--signal"), "B:TERM@120" if option(job, "--array") else None)
            self.assertEqual("--kill-on-invalid-dep=yes" in job["words"], option(job, "--dependency") is not None)
        lab.run_jobs(jobs)
        self.assertEqual(lab.encode("verify", "cache/train_combined_embeddings.parts.json").returncode, 0)
        whole = lab.encode("run", "--config", "run.yaml", "--cache-dir", "whole")
        self.assertEqual(whole.returncode, 0, whole.stderr)
        self.assertEqual(lab.merged(), (lab.folder / "whole/train_tc_embeddings.npy").read_bytes()[NPY_HEADER:])

        lab.forget_calls()
        again = lab.slurm()
        self.assertEqual((again.returncode, again.stdout),
                         (0, "4 shards are encoded and merged: there is nothing to submit\n"))
        self.assertEqual(lab.calls("sbatch"), [])

    def test_only_what_is_missing_is_submitted(self):
        lab = Lab(self)
        lab.slurm("--shards", "8")
        plan, shards, merge = lab.calls("sbatch")
        lab.run_jobs([plan, shards])
        lab.forget_calls()
        lab.slurm()
        self.assertEqual([option(job, "--array") for job in lab.calls("sbatch")], [None], "only the merge is missing")
        self.assertIsNone(option(lab.calls("sbatch")[0], "--dependency"))
        lab.run_jobs([merge])
        for missing, array in (((1,), "1"), ((0, 2, 3, 4, 7), "0,2-4,7"), (range(8), "0-7")):
            for shard in missing:
                lab.part(shard).unlink()
            lab.forget_calls()
            self.assertEqual(lab.slurm("--shards", "8").returncode, 0)
            jobs = lab.calls("sbatch")
            self.assertEqual([option(job, "--array") for job in jobs], [array, None])
            self.assertEqual([option(job, "--dependency") for job in jobs], [None, "afterok:100"])
            lab.run_jobs(jobs)

    def test_a_part_that_is_newer_than_the_merge_is_merged(self):
        lab = Lab(self)
        lab.slurm("--shards", "2")
        lab.run_jobs(lab.calls("sbatch"))
        parts = lab.folder / "cache/train_tc_embeddings.parts.json"
        parts.write_text(parts.read_text().replace("train", "other"))
        lab.forget_calls()
        self.assertIn("job 100: the merge\n", lab.slurm().stdout)

    def test_one_file_is_made_on_request(self):
        lab = Lab(self)
        end = lab.slurm("--shards", "2", "--parts", "one", "--gpu", "H100-80GB")
        self.assertEqual(end.returncode, 0, end.stderr)
        jobs = lab.calls("sbatch")
        self.assertIn("shards plan --shards=2 --gpu=H100-80GB ", jobs[0]["script"])
        self.assertIn(" merge --parts=one ", jobs[2]["script"])
        self.assertNotIn("--parts", jobs[0]["script"] + jobs[1]["script"])
        lab.run_jobs(jobs)
        self.assertEqual(lab.encode("verify", "cache/train_combined_embeddings.npy").returncode, 0)
        self.assertFalse((lab.folder / "cache/train_tc_embeddings.parts.json").exists())
        lab.forget_calls()
        for asked in (("--parts", "one"), ("--set", "output.parts=one")):
            self.assertIn("nothing to submit", lab.slurm(*asked).stdout)
        self.assertIn("job 100: the merge\n", lab.slurm().stdout, "the parts are not listed yet")

    def test_a_small_max_array_size_divides_the_array(self):
        lab = Lab(self)
        lab.answer("scontrol.out", "MaxArraySize            = 3\n")
        lab.slurm("--shards", "8", "--at-once", "2")
        jobs = lab.calls("sbatch")
        self.assertEqual([option(job, "--array") for job in jobs], [None, "0-2%2", "0-2%2", "0-1%2", None])
        self.assertEqual([option(job, "--dependency") for job in jobs],
                         [None, "afterok:100", "afterok:100,afterany:101", "afterok:100,afterany:102", "afterok:101:102:103"])
        lab.run_jobs(jobs[:1])
        end = lab.run_script(jobs[2]["script"], SLURM_ARRAY_TASK_ID="1", SLURM_ARRAY_JOB_ID="102")
        self.assertEqual(end.returncode, 0, end.stderr)
        self.assertEqual([shard for shard in range(8) if lab.part(shard).exists()], [4])
        lab.forget_calls()
        lab.slurm()
        jobs = lab.calls("sbatch")
        self.assertEqual([option(job, "--array") for job in jobs], ["0-2", "0,2", "0-1", None])
        self.assertEqual([option(job, "--dependency") for job in jobs], [None, None, None, "afterok:100:101:102"])
        lab.run_jobs(jobs)
        self.assertEqual(lab.encode("verify", "cache/train_tc_embeddings.parts.json").returncode, 0)

    def test_the_plan_and_the_merge_can_have_options_of_their_own(self):
        lab = Lab(self)
        lab.slurm("--shards", "2", "--cpu-option=--partition=cpu", "--cpu-option", "--time=10", "--", "--partition=gpu", "--gres=gpu:1")
        jobs = lab.calls("sbatch")
        self.assertEqual([option(job, "--partition") for job in jobs], ["cpu", "gpu", "cpu"])
        self.assertEqual([option(job, "--gres") for job in jobs], [None, "gpu:1", None])

    def test_any_path_and_any_flag_reaches_the_jobs(self):
        lab = Lab(self, name="it's a \"lab\"\n100%$(x)")
        end = lab.slurm("--shards", "2", "--set", "semantic.prompt=it's \"$HOME\" ; `x`", "--cache-dir", "c%d'x", "--json")
        self.assertEqual(end.returncode, 0, end.stderr)
        jobs = lab.calls("sbatch")
        self.assertEqual(option(jobs[0], "--output"), "c%%d'x/slurm/plan-%j.out")
        self.assertEqual(option(jobs[0], "--chdir"), str(lab.folder))
        lab.run_jobs(jobs)
        self.assertTrue((lab.folder / "c%d'x/train_tc_embeddings.parts.json").exists())
        self.assertNotIn("$HOME", (lab.folder / "c%d'x/shards.json").read_text().replace('\\"$HOME', ""))

    def test_variables_that_would_change_the_jobs_are_left_out(self):
        lab = Lab(self)
        lab.slurm("--shards", "2", SBATCH_ARRAY_INX="0-99", SLURM_RESTART_COUNT="3", SLURM_CONF="x", TORCH_ROOT="/opt/my torch", ARROW_ROOT="")
        for job in lab.calls("sbatch"):
            self.assertEqual([job["variables"].get(name) for name in ("SBATCH_ARRAY_INX", "SLURM_RESTART_COUNT", "SLURM_CONF")],
                             [None, None, "x"])
            self.assertIn("export TORCH_ROOT='/opt/my torch'\n", job["script"])
            self.assertNotIn("ARROW_ROOT", job["script"])


class Refusals(unittest.TestCase):
    def refused(self, end, code, exit_code):
        self.assertEqual(end.returncode, exit_code, end.stdout + end.stderr)
        self.assertIn(f"error[{code}]", end.stderr)
        return end.stderr

    def test_a_refusal_half_way_cancels_what_was_submitted(self):
        lab = Lab(self)
        for refused, cancelled in (("100", []), ("101", [["100"]]), ("102", [["100", "101"]])):
            lab.forget_calls()
            lab.answer("sbatch.refuse", refused)
            text = self.refused(lab.slurm("--shards", "2"), "slurm.failed", 69)
            self.assertIn(r"\x1b[31mInvalid partition", text)
            self.assertEqual([call["words"] for call in lab.calls("scancel")], cancelled)
            self.assertEqual("has cancelled its jobs" in text, bool(cancelled))
        lab.answer("scancel.code", "1")
        lab.forget_calls()
        self.assertIn("the jobs 100, 101 of this call are in the queue", self.refused(lab.slurm("--shards", "2"), "slurm.failed", 69))
        lab.answer("squeue.out", "100 PENDING (Priority)\n")
        self.refused(lab.slurm("--shards", "2"), "slurm.queued", 75)

    def test_jobs_in_the_queue_are_not_submitted_again(self):
        lab = Lab(self)
        lab.slurm("--shards", "2")
        lab.forget_calls()
        lab.answer("squeue.out", "101 RUNNING (None)\n101 RUNNING (None)\n102 PENDING (launch failed requeued held)\n")
        text = self.refused(lab.slurm(), "slurm.queued", 75)
        self.assertIn("101 RUNNING, 102 PENDING (launch failed requeued held)\n", text)
        self.assertIn("scontrol release 102, or cancel them: scancel 100 101 102", " ".join(text.split()))
        self.assertEqual(option(lab.calls("squeue")[0], "--jobs"), "100,101,102")
        self.assertEqual(lab.calls("sbatch"), [])
        lab.answer("squeue.out", "nothing\n")
        self.refused(lab.slurm(), "slurm.failed", 69)
        lab.answer("squeue.out", "")
        lab.answer("squeue.code", "1")
        lab.answer("squeue.err", "slurm_load_jobs error: Unable to contact slurm controller")
        self.assertIn("Unable to contact", self.refused(lab.slurm(), "slurm.failed", 69))
        self.assertEqual(lab.calls("sbatch"), [])
        lab.answer("squeue.err", "slurm_load_jobs error: Invalid job id specified")
        self.assertEqual(lab.slurm("--shards", "2").returncode, 0, "Slurm has forgotten the jobs")

    def test_a_job_that_waits_in_vain_is_cancelled(self):
        lab = Lab(self)
        lab.slurm("--shards", "2")
        lab.answer("squeue.out", "101 RUNNING (None)\n102 PENDING (DependencyNeverSatisfied)\n")
        self.refused(lab.slurm(), "slurm.queued", 75)
        self.assertEqual(lab.calls("scancel"), [])
        lab.answer("squeue.out", "102 PENDING (DependencyNeverSatisfied)\n")
        self.assertEqual(lab.slurm("--shards", "2").returncode, 0)
        self.assertEqual([call["words"] for call in lab.calls("scancel")], [["102"]])

    def test_answers_of_sbatch(self):
        lab = Lab(self)
        lab.answer("sbatch.out", "Welcome!\n  -> your project has 3 hours left\n\n77;big\n")
        self.assertIn("job 77: the plan", lab.slurm("--shards", "2").stdout)
        self.assertEqual([option(job, "--clusters") for job in lab.calls("sbatch")], [None, "big", "big"])
        lab.answer("squeue.out", "CLUSTER: big\n")
        for answer in ("", "Submitted batch job 5\n", "5;big\nbye\n", "-5\n"):
            lab.answer("sbatch.out", answer)
            self.refused(lab.slurm("--shards", "2"), "slurm.failed", 69)
        self.assertEqual(option(lab.calls("squeue")[0], "--clusters"), "big")

    def test_what_is_wrong_with_the_cluster_is_said(self):
        lab = Lab(self)
        (lab.bin / "scontrol").rename(lab.bin / "away")
        self.refused(lab.slurm("--shards", "2", PATH=str(lab.bin)), "slurm.absent", 69)
        (lab.bin / "scontrol").write_text("#!/bin/sh\n")
        self.refused(lab.slurm("--shards", "2", PATH=str(lab.bin)), "slurm.failed", 77)  # it may not be executed
        (lab.bin / "away").rename(lab.bin / "scontrol")
        for answer in ("MaxArraySize = 0\n", "MaxArraySize = many\n", "Nothing\n"):
            lab.answer("scontrol.out", answer)
            self.refused(lab.slurm("--shards", "2"), "slurm.failed", 69)
        self.assertEqual(lab.calls("sbatch"), [])

    def test_options_that_the_jobs_need_are_refused(self):
        lab = Lab(self)
        for word in ("--array=0-3", "-a0-3", "--dep=afterok:1", "--wrap=true", "--wr=true", "-D/tmp", "--wait", "--test-only", "job.sh"):
            self.assertIn(word, self.refused(lab.slurm("--shards", "2", "--", word), "usage", 64))
            self.refused(lab.slurm("--shards", "2", "--cpu-option=" + word), "usage", 64)
        self.refused(lab.slurm("--shards", "2", "--", "--gres=gpu:1", "job.sh"), "usage", 64)
        for word in ("--wait-all-nodes=1", "--account=a", "-Aa", "-pgpu", "--hold"):
            self.assertEqual(lab.slurm("--shards", "2", "--dry-run", "--", word).returncode, 0, word)

    def test_another_experiment_and_another_number_of_shards_are_refused(self):
        lab = Lab(self)
        self.refused(lab.slurm(), "usage", 64)
        self.refused(lab.slurm("--shards", "2", "--set", "semantic.use_chunked_encoding=false"), "shards.config", 78)
        self.assertFalse((lab.folder / "cache").exists())
        self.assertEqual(lab.encode("shards", "plan", "--config", "run.yaml", "--shards", "3").returncode, 0)
        self.refused(lab.slurm("--shards", "2"), "shards.foreign", 78)
        self.refused(lab.slurm("--pooling", "cls"), "shards.foreign", 78)
        self.assertEqual(lab.calls("sbatch"), [])

    def test_a_damaged_record_is_not_ignored(self):
        lab = Lab(self)
        lab.slurm("--shards", "2")
        record = lab.folder / "cache/slurm.json"
        record.write_text(record.read_text().replace('"100"', '"900"'))
        self.assertIn("squeue", self.refused(lab.slurm("--shards", "2"), "store.damaged", 65))


class ArrayScript(unittest.TestCase):
    """Runs the script of the array with a program in place of encode."""

    def setUp(self):
        self.lab = Lab(self)
        self.lab.slurm("--shards", "12")
        self.script = self.lab.calls("sbatch")[1]["script"]
        self.program = self.lab.bin / "encode"
        self.script = self.script.replace(str(ENCODE), str(self.program))
        self.lab.forget_calls()

    def be(self, text):
        self.program.write_text("#!/bin/bash\n" + text)
        self.program.chmod(0o755)

    def start(self, restarts=0):
        """Runs task 7 of array 41, which is the last one and so has the job id of the array. Returns its exit code and what was
        requeued."""
        self.lab.forget_calls()
        end = self.lab.run_script(self.script, SLURM_ARRAY_TASK_ID="7", SLURM_ARRAY_JOB_ID="41", SLURM_RESTART_COUNT=str(restarts))
        return end.returncode, [call["words"] for call in self.lab.calls("scontrol")]

    def test_only_an_end_that_can_go_on_requeues_the_task_and_no_other(self):
        for code in (75, 137):
            self.be(f"exit {code}\n")
            self.assertEqual(self.start(), (code, [["requeue", "41_7"]]))
        self.be("kill -9 $$\n")
        self.assertEqual(self.start(), (137, [["requeue", "41_7"]]))
        for code in (0, 64, 65, 66, 69, 70, 78, 127, 143):
            self.be(f"exit {code}\n")
            self.assertEqual(self.start(), (code, []))

    def test_the_task_encodes_its_shard(self):
        self.be('printf "%s\\n" "$@" >words\n')
        self.start()
        self.assertEqual((self.lab.folder / "words").read_text().split(), ["run", "--config=run.yaml", "--shard", "7/12"])

    def test_starts_without_a_new_chunk_come_to_an_end(self):
        self.be("exit 75\n")
        requeued = [len(self.start(restarts=count)[1]) for count in range(12)]
        self.assertEqual(requeued, [1] * 9 + [0] * 3)
        self.assertEqual(self.start(restarts=0), (75, [["requeue", "41_7"]]), "a new job counts from the beginning")

    def test_a_new_chunk_begins_the_count_again(self):
        self.be('folder=cache/shards/00007/attempt-$(printf %016x "$SLURM_RESTART_COUNT")/train_tc_chunks\nmkdir -p "$folder"\n'
                'for ((i = 0; i <= SLURM_RESTART_COUNT / 6; ++i)); do touch "$folder/chunk_000$i.npy"; done\nexit 75\n')
        self.assertEqual([len(self.start(restarts=count)[1]) for count in range(36)], [1] * 36)
        self.be("exit 75\n")
        self.assertEqual([len(self.start(restarts=36 + count)[1]) for count in range(12)].count(1), 3)

    def test_a_signal_of_slurm_reaches_encode_which_finishes_its_batch(self):
        self.be("trap 'sleep 0.3; echo stopped >stopped; exit 75' USR1\ntouch ready\nwhile :; do sleep 0.05; done\n")
        environment = self.lab.environment(SLURM_ARRAY_TASK_ID="7", SLURM_ARRAY_JOB_ID="41", SLURM_JOB_ID="41")
        path = self.lab.root / "array.sh"
        path.write_text(self.script)
        task = subprocess.Popen(["bash", path], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while not (self.lab.folder / "ready").exists():
            time.sleep(0.01)
        task.send_signal(signal.SIGTERM)
        time.sleep(0.1)
        task.send_signal(signal.SIGTERM)  # as timeout(1) and some schedulers do
        _, err = task.communicate(timeout=20)
        self.assertEqual((task.returncode, err), (75, ""))
        self.assertTrue((self.lab.folder / "stopped").exists())
        self.assertEqual([call["words"] for call in self.lab.calls("scontrol")], [["requeue", "41_7"]])

    def test_a_node_without_the_folder_says_so(self):
        (self.lab.folder).rename(self.lab.root / "away")
        self.assertEqual(self.start(), (66, []))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
