"""Tests scripts/deps/fetch.py: a download resumes where it was cut off, and only the pinned bytes are accepted."""
import hashlib
import http.server
import pathlib
import sys
import tempfile
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/deps"))
import fetch

CONTENT = bytes(range(256)) * 4000
PIN = fetch.Pin("demo", "1.0", hashlib.sha256(CONTENT).hexdigest())
NAME = "demo-1.0-py3-none-any.whl"


class Server(http.server.BaseHTTPRequestHandler):
    """Serves `content` with byte ranges. The first `cuts` answers stop in the middle."""
    cuts = 0
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
        self.wfile.write(self.content[start:end])

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

    def test_refuses_a_requirement_without_a_hash(self):
        path = self.folder / "pins.txt"
        path.write_text("# comment\ndemo==1.0\n")
        with self.assertRaisesRegex(SystemExit, "pins.txt:2"):
            list(fetch.read_pins([path]))

    def test_reads_every_pin_file_of_the_project(self):
        for path in (ROOT / "scripts/deps").glob("*.txt"):
            self.assertTrue(list(fetch.read_pins([path])), path)


if __name__ == "__main__":
    unittest.main()
