"""Tests what `encode pull` writes, against server.py.

usage: pull_test.py ENCODE [unittest arguments]
"""
import os
import pty
import shutil
import ssl
import subprocess
import unittest

import layout
import server
from pull_case import DATA, ENCODE, EVERY_MODULE, MODEL, NEEDED, NOISE, Pull
from server import COMMIT, redirect


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

    def test_pickled_weights_if_there_are_no_others(self):
        files = {name: content for name, content in NEEDED.items() if not name.endswith("model.safetensors")}
        files |= server.read_directory(DATA / "pickled/every_module")
        self.hub.models[MODEL] = server.Repository({**files, "tf_model.h5": b"x", "training_args.bin": b"x"})
        self.assertEqual(server.read_directory(self.pulled()), files)

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
        shutil.rmtree(self.cache)
        end = self.encode(*run, "--pull", "--quiet", ENCODE_WORKER="/bin/false")
        self.assertNotEqual(self.hub.seen, [])
        self.assertTrue(end.err.startswith("error["), end.err)

    def test_a_terminal_has_a_bar_and_a_log_has_lines(self):
        self.hub.bytes_per_second = 40_000
        master, terminal = pty.openpty()
        subprocess.run([ENCODE, "pull", MODEL], env=self.environment({"TERM": "xterm"}), stderr=terminal,
                       stdout=subprocess.DEVNULL, check=True, timeout=100)
        os.close(terminal)
        self.addCleanup(os.close, master)
        self.assertRegex(os.read(master, 1 << 16).decode(), r"model\.safetensors \[#+\.*\] +\d+% [0-9.]+ kB/19\.2 kB")
        end = self.pull(HF_HUB_CACHE=str(self.home / "other"))
        self.assertNotIn("\r", end.err)
        self.assertIn("fetched model.safetensors (19.2 kB)\n", end.err)

    def test_other_commands_have_no_network_code(self):
        needed = subprocess.run(["objdump", "-p", ENCODE], check=True, capture_output=True, text=True).stdout
        self.assertIn("NEEDED", needed)
        self.assertNotIn("libcurl", needed)


class Token(Pull):
    def authorizations(self, role):
        return {request["headers"].get("authorization") for request in self.hub.seen if request["server"] == role}

    def test_the_token_stays_with_the_hub(self):
        self.pulled(HF_TOKEN="hf_secret")
        self.assertEqual(self.authorizations("hub"), {"Bearer hf_secret"})
        self.assertEqual(self.authorizations("cdn"), {None})

    def test_the_token_does_not_follow_a_redirect_of_the_list(self):
        self.hub.blobs["x"] = b"[]"
        for host in ("localhost", "127.0.0.1"):  # another host, and only another port
            self.hub.plan("GET", "api", redirect(f"http://{host}:{self.hub.cdn.server_port}/blob/x"))
            self.refused("hub.answer", 69, HF_TOKEN="hf_secret")
        self.assertEqual(len(self.hub.requests("GET", "", "cdn")), 2)
        self.assertEqual(self.authorizations("cdn"), {None})

    def test_the_token_is_not_sent_in_the_clear(self):
        port = self.hub.hub.server_port
        end = self.pull(HF_TOKEN="hf_secret", HF_ENDPOINT=f"http://other.example:{port}", no_proxy=None,
                        http_proxy=self.hub.address)
        self.assertIn("the token is not sent", end.err)
        self.assertEqual(self.authorizations("hub"), {None})

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

class Tls(Pull):
    def serve(self, **tls):
        """Replaces the servers by servers with a certificate that only SSL_CERT_FILE makes trusted."""
        self.certificate = self.home / "certificate.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-keyout", self.home / "key.pem", "-out", self.certificate, "-days", "2", "-subj",
                        "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
                       check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.home / "key.pem")
        self.hub.close()
        self.hub = server.Hub({MODEL: server.Repository(EVERY_MODULE)}, **{name: context for name in tls})
        self.addCleanup(self.hub.close)

    def test_a_server_with_a_trusted_certificate(self):
        self.serve(tls=True, cdn_tls=True)
        snapshot = self.pulled(SSL_CERT_FILE=str(self.certificate), HF_TOKEN="hf_secret")
        self.assertEqual(server.read_directory(snapshot), NEEDED)

    def test_a_certificate_that_nobody_trusts(self):
        self.serve(tls=True, cdn_tls=True)
        self.assertIn("SSL_CERT_FILE", self.refused("hub.tls", 69, HF_TOKEN="hf_secret"))
        self.assertEqual(self.hub.seen, [])

    def test_a_redirect_from_https_to_http(self):
        self.serve(tls=True)
        self.assertIn("not from https to http",
                      self.refused("hub.answer", 69, SSL_CERT_FILE=str(self.certificate)))
        self.assertEqual(self.hub.requests("GET", "", "cdn"), [])


if __name__ == "__main__":
    unittest.main()
