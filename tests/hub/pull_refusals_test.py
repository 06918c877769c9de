"""Tests what `encode pull` refuses, and how it explains it.

usage: pull_refusals_test.py ENCODE [unittest arguments]
"""
import json
import unittest

import server
from pull_case import EVERY_MODULE, MODEL, Pull
from server import COMMIT, body, headers, redirect, status

OWN_CODE = json.dumps({**json.loads(EVERY_MODULE["config.json"]), "auto_map": {"AutoModel": "modeling_own.OwnModel"}}).encode()


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
                ({"config.json": b"{}", "model.onnx": b"x", "tf_model.h5": b"x"}, "model.format", 78, "tf_model.h5"),
                ({"model.gguf": b"x"}, "model.missing", 66, "1 other files"),
                ({"config.json": b"{}", "README.md": b"x"}, "model.missing", 66, "none of them"),
                ({"config.json": b'{"model_type": "whisper", "hidden_size": 4, "vocab_size": 4}',
                  "model.safetensors": b"x"}, "model.type", 78, "whisper"),
                ({**EVERY_MODULE, "config.json": OWN_CODE}, "model.custom_code", 78, "modeling_own.OwnModel"),
                ({**EVERY_MODULE, "adapter_config.json": b"{}"}, "model.unsupported", 78, "adapter_config.json")):
            self.hub.models[MODEL] = server.Repository(files)
            self.assertIn(found, self.refused(code, exit_code))
        self.assertEqual(self.hub.requests("GET", "", "cdn"), [])

    def test_unknown_code_is_downloaded_if_it_is_to_be_ignored(self):
        self.hub.models[MODEL] = server.Repository({**EVERY_MODULE, "config.json": OWN_CODE})
        self.pulled(MODEL, "--ignore-custom-code")

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
        self.refused("hub.offline", 69, TRANSFORMERS_OFFLINE="yes")
        self.assertEqual(self.hub.seen, [])
        self.pulled(HF_HUB_OFFLINE="0", TRANSFORMERS_OFFLINE="1")

    def test_a_machine_without_libcurl(self):
        for name in ("libcurl.so.4", "libcurl-gnutls.so.4"):
            (self.home / name).write_text("")
        self.assertIn("hf download", self.refused("hub.library", 69, LD_LIBRARY_PATH=str(self.home)))

    def test_a_full_disk_is_noticed_before_the_download(self):
        size = 1 << 41
        listing = {"sha": COMMIT, "siblings": [{"rfilename": "modules.json", "size": size}]}
        self.hub.plan("GET", "api", body(json.dumps(listing).encode()))
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

if __name__ == "__main__":
    unittest.main()
