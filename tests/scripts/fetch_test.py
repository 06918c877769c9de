"""Tests scripts/deps/fetch.py: a download resumes where it was cut off, and only the pinned bytes are accepted."""
import hashlib
import http.server
import pathlib
import sys
import tempfile
import threading
import types
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/deps"))
import fetch

CONTENT = bytes(range(256)) * 4000
PIN = fetch.Pin("demo", "1.0", hashlib.sha256(CONTENT).hexdigest())
NAME = "demo-1.0-py3-none-any.whl"


class Server(http.server.BaseHTTPRequestHandler):
    """Serves `content` with byte ranges. The first `cuts` answers stop in the middle."""
    cuts = 0
    pause = 0  # seconds in the middle of an answer
    content = CONTENT
    starts = []

    def do_GET(self):
        start = int(self.headers.get("Range", "bytes=0-")[len("bytes="):-1])
        Server.starts.append(start)
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(self.content) - start))
        self.send_header("Content-Range", f"bytes {start}-{len(self.content) - 1}/{len(self.content)}")
        self.end_headers()
        end = len(self.content)
        if Server.cuts:
            Server.cuts -= 1
            end = start + (end - start) // 2
        middle = (start + end) // 2
        self.wfile.write(self.content[start:middle])
        threading.Event().wait(self.pause)
        self.wfile.write(self.content[middle:end])

    def log_message(self, *_):
        pass


class Fetch(unittest.TestCase):
    def setUp(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.url = f"http://127.0.0.1:{self.server.server_port}/{NAME}"
        temp = tempfile.TemporaryDirectory()
        self.addCleanup(temp.cleanup)
        self.folder = pathlib.Path(temp.name)
        Server.cuts, Server.content, Server.starts = 0, CONTENT, []
        fetch.note = lambda text: None
        fetch.time.sleep = lambda seconds: None

    def test_goes_on_where_it_was_cut(self):
        Server.cuts = 2
        wheel = fetch.download(PIN, self.url, self.folder)
        self.assertEqual(wheel.read_bytes(), CONTENT)
        self.assertEqual(Server.starts, [0, len(CONTENT) // 2, len(CONTENT) * 3 // 4])

    def test_the_progress_has_the_size_of_the_whole_file(self):
        partial, headers = self.folder / "a.partial", self.folder / "a.headers"
        self.assertEqual(fetch.progress_text(partial, 0, headers, 1), "0.0 MB, 1 s")
        partial.write_bytes(bytes(3_000_000))
        headers.write_text("HTTP/1.1 302 Found\r\ncontent-length: 7\r\n\r\nHTTP/1.1 206\r\nContent-Length: 8000000\r\n\r\n")
        self.assertEqual(fetch.progress_text(partial, 2_000_000, headers, 34.4), "3.0 of 10.0 MB, 34 s")

    def test_a_slow_download_shows_its_progress(self):
        self.enterContext(unittest.mock.patch.object(fetch, "LINE_SECONDS", 0.05))
        Server.pause = 0.4
        with unittest.mock.patch("sys.stderr", open(self.folder / "log", "w")) as log, log:
            self.assertIsNotNone(fetch.download(PIN, self.url, self.folder))
        Server.pause = 0
        self.assertRegex((self.folder / "log").read_text(), r"(?m)^   \d\.\d of 1\.0 MB, 0 s$")
        self.assertEqual({path.name for path in self.folder.iterdir()}, {NAME, "log"})

    def test_goes_on_where_an_earlier_run_was_killed(self):
        (self.folder / NAME).with_suffix(".partial").write_bytes(CONTENT[:1000])
        self.assertEqual(fetch.download(PIN, self.url, self.folder).read_bytes(), CONTENT)
        self.assertEqual(Server.starts, [1000])

    def test_refuses_other_bytes(self):
        Server.content = CONTENT[:-1] + b"!"
        self.assertIsNone(fetch.download(PIN, self.url, self.folder))
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_takes_the_cached_file_only_while_it_is_whole(self):
        folder = self.folder / PIN.sha256
        folder.mkdir()
        (folder / NAME).write_bytes(CONTENT)
        self.assertEqual(fetch.cached(self.folder, PIN), folder / NAME)
        (folder / NAME).write_bytes(CONTENT[1:])
        self.assertIsNone(fetch.cached(self.folder, PIN))

    def test_asks_for_the_wheels_of_a_machine(self):
        asked = []
        run = lambda command, **_: asked.append(command) or types.SimpleNamespace(stdout='{"install": []}')
        with unittest.mock.patch("fetch.subprocess.run", run):
            fetch.ask_pip([PIN], "aarch64")
        platforms = [word for before, word in zip(asked[0], asked[0][1:]) if before == "--platform"]
        self.assertIn("manylinux_2_28_aarch64", platforms)
        self.assertEqual([name for name in platforms if not name.endswith("_aarch64")], [])

    def test_takes_the_hash_of_a_machine(self):
        path = self.folder / "pins.txt"
        path.write_text(f"[demo]\ndemo==1.0 --hash=sha256:{'a' * 64} --hash=sha256:{'b' * 64}\nany==2 --hash=sha256:{'c' * 64}\n")
        for machine, first in (("x86_64", "a"), ("aarch64", "b")):
            hashes = [pin.sha256 for pin in fetch.read_pins(["demo"], path, machine)]
            self.assertEqual(hashes, [first * 64, "c" * 64])
        with self.assertRaisesRegex(SystemExit, "demo has wheels for x86_64 and aarch64, and none for riscv64"):
            list(fetch.read_pins(["demo"], path, "riscv64"))

    def test_refuses_a_requirement_without_a_hash(self):
        path = self.folder / "pins.txt"
        path.write_text("[other]\ndemo==2.0\n\n[demo]\n# comment\ndemo==1.0\n")
        with self.assertRaisesRegex(SystemExit, "pins.txt:6"):
            list(fetch.read_pins(["demo"], path))

    def test_a_section_that_is_missing_is_named(self):
        with self.assertRaisesRegex(SystemExit, r"no section \[moon\]; there are torch-cpu, "):
            fetch.section_lines("moon")

    def test_a_section_ends_where_the_next_one_begins(self):
        names = [[pin.name for pin in fetch.read_pins([section])] for section in ("arrow", "pip")]
        self.assertEqual(names, [["pyarrow"], ["pip"]])

    def test_every_wheel_that_is_downloaded_has_a_hash(self):
        for section in fetch.read_sections().keys() - {"reference", "llama-cpp"}:
            self.assertTrue(list(fetch.read_pins([section])), section)


if __name__ == "__main__":
    unittest.main()
