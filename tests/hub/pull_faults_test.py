"""Tests `encode pull` when a transfer, the server or the process fails.

usage: pull_faults_test.py ENCODE [unittest arguments]
"""
import hashlib
import random
import signal
import subprocess
import time
import unittest

import layout
import server
from pull_case import ENCODE, EVERY_MODULE, MODEL, NEEDED, Pull
from server import COMMIT, body, cut, endless, headers, stall, status


class Faults(Pull):
    LARGE = "model.safetensors"
    SIZE = len(EVERY_MODULE["model.safetensors"])

    def test_a_cut_body_goes_on_where_it_stopped(self):
        self.hub.plan("GET", self.LARGE, cut(7000), cut(12000))
        self.pulled()
        ranges = [r["headers"].get("range") for r in self.hub.requests("GET", "", "cdn")
                  if r["path"].endswith(hashlib.sha256(EVERY_MODULE[self.LARGE]).hexdigest())]
        self.assertEqual(ranges, [None, "bytes=7000-", "bytes=12000-"])
        self.assertTrue(all(r["headers"].get("if-range", "").startswith('"cdn-')
                            for r in self.hub.requests("GET", "", "cdn") if "range" in r["headers"]))

    def test_a_later_process_goes_on_where_an_earlier_one_stopped(self):
        self.hub.plan("GET", self.LARGE, cut(7000))
        self.refused("hub.cut", 75, MODEL, "--retries", "0")
        end = self.pull()
        self.assertEqual(end.code, 0, end.err)
        layout.check(self.cache)
        self.assertEqual([r["headers"]["range"] for r in self.hub.requests("GET", "", "cdn") if "range" in r["headers"]],
                         ["bytes=7000-"])

    def test_a_server_without_ranges_sends_the_file_again(self):
        self.hub.plan("GET", self.LARGE, cut(7000), cut(self.SIZE, answer_range=False))
        self.pulled()

    def test_a_damaged_part_of_an_earlier_download_is_dropped(self):
        blobs = self.cache / "models--org--name/blobs"
        blobs.mkdir(parents=True)
        etag = hashlib.sha256(EVERY_MODULE[self.LARGE]).hexdigest()
        (blobs / f"{etag}.incomplete").write_bytes(b"x" * 500)
        end = self.pull()
        self.assertEqual(end.code, 0, end.err)
        self.assertIn("downloaded again", end.err)
        layout.check(self.cache)

    def test_a_part_that_is_too_long_or_whole_is_handled(self):
        blobs = self.cache / "models--org--name/blobs"
        blobs.mkdir(parents=True)
        small = EVERY_MODULE["config.json"]
        (blobs / f"{server.git_sha1(small)}.incomplete").write_bytes(small)
        (blobs / f"{server.git_sha1(EVERY_MODULE['modules.json'])}.incomplete").write_bytes(b"y" * 9000)
        self.pulled()
        self.assertEqual(self.hub.requests("GET", f"/{COMMIT}/config.json"), [])

    def test_wrong_bytes_are_never_published(self):
        small, large = b"?" * len(EVERY_MODULE["config.json"]), bytes(self.SIZE)
        self.hub.plan("GET", "config.json", body(small))
        self.hub.plan("GET", self.LARGE, body(large))
        self.refused("hub.hash", 65)
        self.refused("hub.hash", 65)
        self.assertEqual(list(self.cache.rglob("*.incomplete")), [])
        for blob in self.cache.glob("models--*/blobs/*"):
            self.assertNotIn(blob.read_bytes(), (small, large))
        self.pulled()

    def test_a_wrong_size_is_refused(self):
        self.hub.plan("GET", self.LARGE, body(EVERY_MODULE[self.LARGE] + b"more"), body(EVERY_MODULE[self.LARGE][:-5]))
        self.assertIn(f"{self.SIZE} bytes", self.refused("hub.size", 65))
        self.assertIn(f"{self.SIZE - 5} bytes", self.refused("hub.size", 65))
        self.pulled()

    def test_a_body_that_never_ends_is_not_read_to_its_end(self):
        self.hub.plan("GET", "api", endless(404, x_error_code="RepoNotFound"))
        self.refused("hub.model", 66)
        self.hub.plan("GET", "api", endless(500), endless(302, location="/api/models/org/name/revision/main"))
        self.hub.plan("GET", "config.json", endless(503))
        self.pulled()

    def test_requests_to_this_machine_use_no_proxy(self):
        end = self.pull(no_proxy=None, http_proxy="http://127.0.0.1:9", all_proxy="http://127.0.0.1:9")
        self.assertEqual(end.code, 0, end.err)

    def test_a_busy_server_is_asked_again(self):
        self.hub.plan("GET", "api", status(503))
        self.hub.plan("HEAD", "config.json", status(429, retry_after="1"))
        self.hub.plan("GET", self.LARGE, status(500))
        start = time.monotonic()
        end = self.pull()
        self.assertEqual(end.code, 0, end.err)
        self.assertGreater(time.monotonic() - start, 1.9)  # 0.5 s, 1 s and 0.5 s
        self.assertEqual(end.err.count("the server is busy"), 3)

    def test_a_server_that_stays_busy_is_a_reason_to_come_back(self):
        self.hub.plan("GET", "api", status(503), status(503))
        self.assertIn("the status 503", self.refused("hub.busy", 75, MODEL, "--retries", "1"))
        self.hub.plan("GET", "api", status(429, retry_after="3600"))
        self.assertIn("in 3600 s", self.refused("hub.busy", 75))

    def test_a_stalled_transfer_is_cut_and_goes_on(self):
        self.hub.plan("GET", self.LARGE, stall(9000))
        end = self.pull(HF_HUB_DOWNLOAD_TIMEOUT="1")
        self.assertEqual(end.code, 0, end.err)
        self.assertIn("no byte came for 1 s", end.err)
        layout.check(self.cache)

    def test_facts_that_change_on_the_way_are_refused(self):
        other = "d" * 64
        self.hub.plan("HEAD", self.LARGE, headers(X_Linked_Etag=f'"{other}"'))
        self.assertIn(other, self.refused("hub.changed", 75))
        self.hub.plan("HEAD", self.LARGE, headers(X_Repo_Commit=server.OLD_COMMIT))
        self.assertIn(server.OLD_COMMIT, self.refused("hub.changed", 75))
        self.hub.plan("HEAD", self.LARGE, headers(X_Linked_Size="5"))
        self.refused("hub.changed", 75)
        self.pulled()

    def test_a_process_that_is_killed_leaves_a_cache_that_works(self):
        chance = random.Random(5)
        self.hub.bytes_per_second = 40_000
        for _ in range(6):
            process = subprocess.Popen([ENCODE, "pull", MODEL], env=self.environment({}), stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            time.sleep(chance.uniform(0.02, 0.5))
            process.send_signal(signal.SIGKILL)
            process.wait()
            if self.cache.exists():
                layout.check(self.cache)
        self.hub.bytes_per_second = 0
        self.assertEqual(server.read_directory(self.pulled()), NEEDED)

    def test_two_processes_share_the_work(self):
        self.hub.bytes_per_second = 200_000
        both = [subprocess.Popen([ENCODE, "pull", MODEL], env=self.environment({}), stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, text=True) for _ in range(2)]
        for process in both:
            self.assertEqual(process.wait(100), 0, process.stderr.read())
            process.stderr.close()
        layout.check(self.cache)
        etag = hashlib.sha256(EVERY_MODULE[self.LARGE]).hexdigest()
        self.assertEqual(len(self.hub.requests("GET", etag, "cdn")), 1)

    def test_a_deleted_blob_is_fetched_again(self):
        snapshot = self.pulled()
        (snapshot / "modules.json").resolve().unlink()
        (snapshot / self.LARGE).resolve().unlink()
        self.assertEqual(server.read_directory(self.pulled()), NEEDED)

if __name__ == "__main__":
    unittest.main()
