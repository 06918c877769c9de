"""Tests `encode pull` as a user runs it, against server.py.

usage: pull_test.py ENCODE [unittest arguments]
"""
import hashlib
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import layout
import server
from server import COMMIT, OK, body, cut, headers, redirect, stall, status

ENCODE = sys.argv.pop(1)
DATA = pathlib.Path(__file__).resolve().parents[1] / "data"
MODEL = "org/name"
EVERY_MODULE = server.read_directory(DATA / "sentence_transformers/every_module")
# What a repository has beside the files that an encoder needs.
NOISE = {"README.md": b"card", ".gitattributes": b"*", "pytorch_model.bin": b"pickle", "onnx/model.onnx": b"onnx",
         "onnx/config.json": b"{}", "openvino/openvino_model.xml": b"<x/>", "tf_model.h5": b"h5",
         "1_Pooling/notes.txt": b"x", "model.fp16.safetensors": b"variant", "With space (1).md": b"x"}
NEEDED = {name: content for name, content in EVERY_MODULE.items() if name not in ("texts.txt", "embeddings.npy")}


class Ended:
    def __init__(self, process):
        self.code, self.out, self.err = process.returncode, process.stdout, process.stderr


class Pull(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name)
        self.cache = self.home / "cache/hub"
        self.hub = server.Hub({MODEL: server.Repository({**EVERY_MODULE, **NOISE})})
        self.addCleanup(self.hub.close)

    def environment(self, variables):
        # A proxy of this machine must not get the requests for 127.0.0.1.
        values = {"HOME": str(self.home), "HF_HOME": str(self.home / "cache"), "HF_ENDPOINT": self.hub.address,
                  "HF_HUB_ETAG_TIMEOUT": "30", "HF_HUB_DOWNLOAD_TIMEOUT": "30", "no_proxy": "*",
                  "PATH": os.environ["PATH"]}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "LD_LIBRARY_PATH"):
            if name in os.environ:
                values[name] = os.environ[name]
        return {name: value for name, value in (values | variables).items() if value is not None}

    def encode(self, *arguments, **variables):
        return Ended(subprocess.run([ENCODE, *arguments], env=self.environment(variables), capture_output=True,
                                    text=True, timeout=100, check=False))

    def pull(self, model=MODEL, *arguments, **variables):
        return self.encode("pull", model, *arguments, **variables)

    def pulled(self, *arguments, **variables):
        """Pulls, and returns the snapshot after a check of the whole cache."""
        end = self.pull(*arguments, **variables)
        self.assertEqual(end.code, 0, end.err)
        layout.check(self.cache)
        self.assertEqual(list(self.cache.rglob("*.incomplete")), [])
        return pathlib.Path(end.out.strip())

    def refused(self, code, exit_code, *arguments, **variables):
        """Pulls, expects the error, and returns its text. No ref may lead to an incomplete model."""
        end = self.pull(*arguments, **variables)
        self.assertRegex(end.err, rf"(?m)^error\[{re.escape(code)}\]")
        self.assertEqual(end.code, exit_code, end.err)
        for field in ("where", "expected", "found", "hint"):
            self.assertRegex(end.err, rf"\n  {field} +\S")
        self.assertEqual(end.out, "")
        if self.cache.exists():
            layout.check(self.cache)
            self.assertEqual([path for path in self.cache.glob("models--*/refs/**/*") if path.is_file()], [])
        return end.err


class Good(Pull):
    def test_the_cache_has_exactly_what_an_encoder_needs(self):
        snapshot = self.pulled()
        self.assertEqual(snapshot, self.cache / "models--org--name/snapshots" / COMMIT)
        self.assertEqual(server.read_directory(snapshot), NEEDED)
        self.assertEqual((self.cache / "models--org--name/refs/main").read_text(), COMMIT)
        fetched = {request["path"].split(f"/resolve/{COMMIT}/")[-1]
                   for request in self.hub.requests("GET", "", "hub") if "/resolve/" in request["path"]}
        # Two files have the same content, and so one blob.
        self.assertEqual(fetched, set(NEEDED) - {"8_Normalize/config.json"})

    def test_a_second_pull_fetches_nothing(self):
        self.pulled()
        self.hub.seen.clear()
        end = self.pull()
        self.assertEqual(end.code, 0, end.err)
        self.assertIn(", 0 B fetched", end.err)
        self.assertEqual([r["path"] for r in self.hub.requests("GET", "") if "/api/models/" not in r["path"]], [])

    def test_a_commit_a_tag_and_a_branch_lead_to_their_files(self):
        old = {**EVERY_MODULE, "sentence_bert_config.json": b'{"max_seq_length": 7}'}
        repository = self.hub.models[MODEL]
        repository.commits[server.OLD_COMMIT] = old
        repository.refs |= {"v1.0": server.OLD_COMMIT, "refs/pr/3": server.OLD_COMMIT}
        main, tag = self.pulled(), self.pulled(f"{MODEL}@v1.0")
        self.assertEqual(self.pulled(f"{MODEL}@{server.OLD_COMMIT}"), tag)
        self.assertEqual(self.pulled(f"{MODEL}@refs/pr/3"), tag)
        name = "sentence_bert_config.json"
        self.assertNotEqual((main / name).read_bytes(), (tag / name).read_bytes())
        # The files that both commits have are one blob.
        self.assertEqual((main / "model.safetensors").resolve(), (tag / "model.safetensors").resolve())
        refs = self.cache / "models--org--name/refs"
        self.assertEqual({str(p.relative_to(refs)) for p in refs.rglob("*") if p.is_file()},
                         {"main", "v1.0", "refs/pr/3"})

    def test_a_branch_that_moves_is_followed(self):
        self.pulled()
        repository = self.hub.models[MODEL]
        repository.commits[server.OLD_COMMIT] = EVERY_MODULE
        repository.refs["main"] = server.OLD_COMMIT
        self.assertEqual(self.pulled().name, server.OLD_COMMIT)
        self.assertEqual((self.cache / "models--org--name/refs/main").read_text(), server.OLD_COMMIT)

    def test_shards_and_plain_directories(self):
        files = server.read_directory(DATA / "models/bert_float16_sharded")
        self.hub.models[MODEL] = server.Repository({**files, **NOISE, "model-00009-of-00009.safetensors": b"stray"})
        self.assertEqual(set(server.read_directory(self.pulled())), set(files))

    def test_a_static_embedding(self):
        files = server.read_directory(DATA / "sentence_transformers/static_embedding")
        self.hub.models[MODEL] = server.Repository({**files, **NOISE})
        self.assertEqual(set(server.read_directory(self.pulled())), set(files) - {"texts.txt", "embeddings.npy"})

    def test_the_variables_choose_the_cache(self):
        for variables, folder in (({"HF_HUB_CACHE": str(self.home / "a")}, "a"),
                                  ({"HF_HOME": str(self.home / "b")}, "b/hub"),
                                  ({"HF_HOME": None, "XDG_CACHE_HOME": str(self.home / "c")}, "c/huggingface/hub"),
                                  ({"HF_HOME": None}, ".cache/huggingface/hub")):
            end = self.pull(**variables)
            self.assertEqual(end.code, 0, end.err)
            self.assertTrue(end.out.startswith(str(self.home / folder)), end.out)

    def test_a_run_says_how_to_get_the_model_and_pulls_on_request(self):
        (self.home / "in.txt").write_text("a text\n")
        run = ("run", "--model", MODEL, "--input", str(self.home / "in.txt"), "--device", "cpu", "--cache-dir",
               str(self.home / "run"), "--output", str(self.home / "out.npy"))
        end = self.encode(*run)
        self.assertEqual(end.code, 66, end.err)
        self.assertIn(f"encode pull {MODEL}", end.err)
        self.assertEqual(self.hub.seen, [])  # no network without being asked
        end = self.encode(*run, "--pull", ENCODE_WORKER="/bin/false")
        self.assertIn(f"pulling {MODEL} (main)", end.err)
        layout.check(self.cache)
        self.assertEqual(set(server.read_directory(self.cache / "models--org--name/snapshots" / COMMIT)), set(NEEDED))
        # The model is there now: no request is sent.
        self.hub.seen.clear()
        end = self.encode(*run, "--pull", ENCODE_WORKER="/bin/false", HF_HUB_OFFLINE="1")
        self.assertNotIn("pulling", end.err)
        self.assertNotIn("hub.offline", end.err)
        self.assertEqual(self.hub.seen, [])


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


class Refusals(Pull):
    def test_what_does_not_exist(self):
        self.assertIn("HF_TOKEN", self.refused("hub.model", 66, "org/other"))
        self.hub.plan("GET", "api", status(401))  # as the hub answers without a token
        self.refused("hub.model", 66)
        self.refused("hub.revision", 66, f"{MODEL}@nowhere")
        self.hub.plan("HEAD", "config.json", status(404, x_error_code="EntryNotFound"))
        self.refused("hub.file", 66)

    def test_what_is_not_allowed(self):
        self.hub.plan("HEAD", "modules.json", status(403, x_error_code="GatedRepo", x_error_message="Ask \x1b[31mfirst"),
                      status(401, x_error_code="GatedRepo"))
        error = self.refused("hub.gated", 77, HF_TOKEN="hf_secret")
        self.assertIn("ask for access", error)
        self.assertNotIn("\x1b", error)
        self.assertNotIn("hf_secret", error)
        self.assertIn("HF_TOKEN", self.refused("hub.gated", 77))
        self.hub.plan("GET", "api", status(401))
        self.assertIn("the token is valid", self.refused("hub.forbidden", 77, HF_TOKEN="hf_secret"))
        self.hub.plan("GET", "api", status(403))
        self.refused("hub.forbidden", 77)

    def test_what_is_no_hub(self):
        self.hub.plan("GET", "api", body(b"<html>log in</html>"), status(418), redirect("file:///etc/passwd"),
                      redirect("https://user:word@127.0.0.1/x"), *[redirect("/api/models/org/name/revision/main")] * 11)
        for _ in range(5):
            self.refused("hub.answer", 69)
        self.hub.plan("HEAD", "modules.json", headers(X_Repo_Commit=None))
        self.hub.plan("HEAD", "model.safetensors", headers(X_Linked_Etag='"../../../../evil"'))
        self.refused("hub.answer", 69)
        self.refused("hub.answer", 69)
        self.refused("hub.connect", 69, MODEL, "--retries", "0", HF_ENDPOINT="http://127.0.0.1:1")
        self.refused("hub.tls", 69, HF_ENDPOINT=self.hub.address.replace("http:", "https:"))

    def test_hostile_lists_write_nothing(self):
        for name in ("../../../evil", "/evil", "1_Pooling/../../evil", "e\x1bvil", "e" * 300):
            self.hub.models[MODEL] = server.Repository({**EVERY_MODULE, name: b"x"})
            self.assertNotIn("\x1b", self.refused("hub.path", 65))
        self.hub.models[MODEL] = server.Repository(EVERY_MODULE)
        self.hub.plan("GET", "api", body(b"[" * (33 << 20)))
        self.refused("hub.limit", 65)
        self.assertFalse(self.cache.exists())

    def test_names_in_files_do_not_lead_out(self):
        modules = EVERY_MODULE["modules.json"].replace(b"1_Pooling", b"../../..")
        self.hub.models[MODEL] = server.Repository({**EVERY_MODULE, "modules.json": modules})
        self.refused("model.name", 78)

    def test_models_that_encode_cannot_use_are_refused_before_their_weights(self):
        for files, code, exit_code, found in (
                ({"config.json": b"{}", "pytorch_model.bin": b"x", "tf_model.h5": b"x"}, "model.format", 78, "tf_model.h5"),
                ({"model.gguf": b"x"}, "model.missing", 66, "1 other files"),
                ({"config.json": b"{}", "README.md": b"x"}, "model.missing", 66, "neither"),
                ({"config.json": b'{"model_type": "whisper", "hidden_size": 4, "vocab_size": 4}',
                  "model.safetensors": b"x"}, "model.type", 78, "whisper"),
                ({**EVERY_MODULE, "adapter_config.json": b"{}"}, "model.unsupported", 78, "adapter_config.json")):
            self.hub.models[MODEL] = server.Repository(files)
            self.assertIn(found, self.refused(code, exit_code))
        self.assertEqual(self.hub.requests("GET", "", "cdn"), [])

    def test_settings_that_cannot_be_used(self):
        for variables in ({"HF_ENDPOINT": "file:///etc"}, {"HF_ENDPOINT": "https://user:pa55@host"},
                          {"HF_ENDPOINT": "https://host/?q"}, {"HF_ENDPOINT": "huggingface.co"},
                          {"HF_TOKEN": "hf_secret\nX-Evil: 1"}, {"HF_HUB_ETAG_TIMEOUT": "soon"},
                          {"HF_HUB_DOWNLOAD_TIMEOUT": "0"}):
            error = self.refused("hub.setting", 64, **variables)
            self.assertNotIn("pa55", error)
            self.assertNotIn("hf_secret", error)
        self.refused("hub.name", 64, "just-a-name")
        error = self.refused("hub.offline", 69, HF_HUB_OFFLINE="1")
        self.assertIn("HF_HUB_OFFLINE=0", error)
        self.assertEqual(self.hub.seen, [])

    def test_a_machine_without_libcurl(self):
        for name in ("libcurl.so.4", "libcurl-gnutls.so.4"):
            (self.home / name).write_text("")
        self.assertIn("hf download", self.refused("hub.library", 69, LD_LIBRARY_PATH=str(self.home)))

    def test_a_full_disk_is_noticed_before_the_download(self):
        size = 1 << 41
        listing = {"sha": COMMIT, "siblings": [{"rfilename": "modules.json", "size": size}]}
        self.hub.plan("GET", "api", body(server.json.dumps(listing).encode()))
        self.hub.plan("HEAD", "modules.json", headers(X_Linked_Etag='"%s"' % ("e" * 64), X_Linked_Size=str(size),
                                                      Location="https://127.0.0.1:1/x"))
        self.assertIn("2.2 TB", self.refused("hub.disk", 74))
        self.assertEqual(self.hub.requests("GET", "modules.json"), [])

    def test_a_cache_that_cannot_be_written(self):
        folder = self.cache / "models--org--name"
        incomplete = folder / "blobs" / (server.git_sha1(EVERY_MODULE["modules.json"]) + ".incomplete")
        incomplete.mkdir(parents=True)
        self.assertIn("Is a directory", self.refused("hub.cache", 74))
        incomplete.rmdir()
        (folder / "snapshots" / COMMIT / "modules.json").mkdir()
        end = self.pull()
        self.assertEqual((end.code, end.out), (66, ""), end.err)
        self.assertIn("error[model.not_a_file]", end.err)


class Token(Pull):
    def authorizations(self, role):
        return {request["headers"].get("authorization") for request in self.hub.seen if request["server"] == role}

    def test_the_token_stays_with_the_hub(self):
        self.pulled(HF_TOKEN="hf_secret")
        self.assertEqual(self.authorizations("hub"), {"Bearer hf_secret"})
        self.assertEqual(self.authorizations("cdn"), {None})

    def test_the_token_does_not_follow_a_redirect_of_the_list(self):
        self.hub.plan("GET", "api", redirect(f"{self.hub.cdn_address}/blob/x"))
        self.hub.blobs["x"] = b"[]"
        self.refused("hub.answer", 69, HF_TOKEN="hf_secret")
        self.assertEqual(self.authorizations("cdn"), {None})

    def test_the_file_of_the_token_is_read(self):
        (self.home / "cache").mkdir()
        (self.home / "cache/token").write_text("hf_from_file\n")
        self.pulled()
        self.assertEqual(self.authorizations("hub"), {"Bearer hf_from_file"})
        self.hub.seen.clear()
        self.pulled(HF_HUB_DISABLE_IMPLICIT_TOKEN="1")
        self.assertEqual(self.authorizations("hub"), {None})
        (self.home / "cache/token").unlink()
        (self.home / "cache/token").mkdir()
        self.assertEqual(self.pull().code, 66)

    def test_no_output_shows_the_token(self):
        end = self.pull(HF_TOKEN="hf_secret")
        self.assertNotIn("hf_secret", end.out + end.err)


if __name__ == "__main__":
    unittest.main()
