"""A Hugging Face Hub on this machine: the part of its API that downloads use, over real HTTP.

Large files (*.safetensors) lie on a second server with another port, as on the real hub, which redirects to a CDN. Small
files are redirected once on the same server. A test can make the next answers for a file faulty:

    hub.plan("GET", "model.safetensors", cut(1000), status(503), OK)

Each answer of the list is used once; when the list is empty, the answers are good again.

usage: server.py DIR ORG/NAME [BYTES_PER_SECOND]   serves a model directory until it is killed, and prints the address
"""
import hashlib
import http.server
import json
import pathlib
import signal
import sys
import threading
import time
import urllib.parse

COMMIT = "c0ffee" + "0" * 34
OLD_COMMIT = "badc0de" + "1" * 33
OK = {}


def status(code, **headers):
    """Answers with a status. The headers are given as x_error_code="GatedRepo"."""
    return {"status": code, "headers": {key.replace("_", "-"): value for key, value in headers.items()}}


def endless(code, **headers):
    """Answers with a status and a body that never ends."""
    return status(code, **headers) | {"endless": True}


def cut(after, answer_range=True):
    """Closes the connection after some bytes of the body."""
    return {"cut": after, "answer_range": answer_range}


def stall(after):
    """Sends nothing more after some bytes of the body, until the server ends."""
    return {"stall": after}


def body(content):
    """Sends another body, with a Content-Length that fits it."""
    return {"body": content}


def headers(**values):
    """Replaces headers of the answer; None leaves one out."""
    return {"replace": {key.replace("_", "-"): value for key, value in values.items()}}


def redirect(url):
    return status(302, location=url)


def git_sha1(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def is_large(path):
    return path.endswith((".safetensors", ".bin", ".onnx"))


def etag_of(path, content):
    return hashlib.sha256(content).hexdigest() if is_large(path) else git_sha1(content)


class Repository:
    def __init__(self, files):
        self.commits = {COMMIT: files}
        self.refs = {"main": COMMIT}

    def files(self, revision):
        return self.commits.get(self.refs.get(revision, revision))


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # a head and a body are two writes, and the second must not wait

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.answer()

    def do_GET(self):
        self.answer()

    def answer(self):
        hub, path = self.server.hub, urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
        hub.seen.append({"server": self.server.role, "method": self.command, "path": path,
                         "headers": {key.lower(): value for key, value in self.headers.items()}})
        try:
            if self.server.role == "cdn":
                self.send_blob(path.removeprefix("/blob/"))
            elif path.startswith("/api/models/"):
                self.send_listing(path)
            elif path.startswith("/api/resolve-cache/"):
                self.send_small(path)
            else:
                self.send_resolved(path)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def fault(self, key):
        """Takes the planned fault of a request. One that is only a status is sent at once."""
        fault = self.server.hub.next_fault(self.command, key)
        if "status" in fault:
            length = {} if fault.get("endless") else {"Content-Length": "0"}
            self.send_head(fault["status"], length | fault["headers"])
            while fault.get("endless") and self.command == "GET":
                self.wfile.write(b"x" * 65536)  # until the client closes the connection
            return None
        return fault

    def send_head(self, code, values):
        self.send_response(code)
        for key, value in values.items():
            if value is not None:
                self.send_header(key, str(value))
        self.end_headers()

    def send_listing(self, path):
        model, _, revision = path.removeprefix("/api/models/").partition("/revision/")
        fault = self.fault("api")
        if fault is None:
            return
        repository = self.server.hub.models.get(model)
        files = repository.files(revision) if repository else None
        if files is None:
            code = "RevisionNotFound" if repository else "RepoNotFound"
            return self.send_head(404, {"X-Error-Code": code, "Content-Length": "0"})
        siblings = []
        for name, content in files.items():
            sibling = {"rfilename": name, "size": len(content), "blobId": git_sha1(content)}
            if is_large(name):
                sibling["lfs"] = {"sha256": etag_of(name, content), "size": len(content), "pointerSize": 133}
            siblings.append(sibling)
        listing = {"id": model, "sha": repository.refs.get(revision, revision), "siblings": siblings}
        text = fault.get("body", json.dumps(listing).encode())
        self.send_head(200, {"Content-Type": "application/json", "Content-Length": len(text)})
        self.wfile.write(text)

    def send_resolved(self, path):
        """/ORG/NAME/resolve/COMMIT/FILE: the hub states the facts, and says where the bytes are."""
        hub = self.server.hub
        model, _, rest = path.lstrip("/").partition("/resolve/")
        revision, _, name = rest.partition("/")
        repository = hub.models.get(model)
        files = repository.files(revision) if repository else None
        fault = self.fault(name)
        if fault is None:
            return
        if files is None or name not in files:
            return self.send_head(404, {"X-Error-Code": "EntryNotFound", "Content-Length": "0"})
        commit, etag = repository.refs.get(revision, revision), etag_of(name, files[name])
        values = {"X-Repo-Commit": commit, "Content-Length": "0"}
        if is_large(name):
            hub.blobs[etag] = files[name]
            values |= {"X-Linked-Etag": f'"{etag}"', "X-Linked-Size": len(files[name]), "ETag": '"pointer"',
                       "Location": f"{hub.cdn_address}/blob/{etag}?signature=x"}
            # The faults of a body belong to the CDN.
            hub.blob_faults[etag] = fault
        else:
            values["Location"] = f"/api/resolve-cache/{model}/{commit}/{name}"
            hub.cache_faults[name] = fault
        self.send_head(302 if is_large(name) else 307, values | fault.get("replace", {}))

    def send_small(self, path):
        parts = path.removeprefix("/api/resolve-cache/").split("/")
        content = self.server.hub.models["/".join(parts[:2])].files(parts[2])["/".join(parts[3:])]
        fault = self.server.hub.cache_faults.pop("/".join(parts[3:]), OK)
        self.send_content(content, {"ETag": f'"{git_sha1(content)}"', "X-Repo-Commit": parts[2]}, fault)

    def send_blob(self, etag):
        fault = self.server.hub.blob_faults.pop(etag, OK)
        self.send_content(self.server.hub.blobs[etag], {"ETag": '"cdn-%s"' % etag[:8]}, fault)

    def send_content(self, content, values, fault):
        content = fault.get("body", content)
        begin, code = 0, 200
        asked = self.headers.get("Range") if fault.get("answer_range", True) else None
        if_range = self.headers.get("If-Range")
        if asked and if_range in (None, values["ETag"]):
            begin, code = int(asked.removeprefix("bytes=").rstrip("-")), 206
            values["Content-Range"] = f"bytes {begin}-{len(content) - 1}/{len(content)}"
        values |= {"Content-Length": len(content) - begin} | fault.get("replace", {})
        self.send_head(code, values)
        if self.command == "HEAD":
            return
        end = min([fault[kind] for kind in ("cut", "stall") if kind in fault], default=len(content))
        self.send_bytes(content[begin:max(begin, end)])
        if "stall" in fault:
            self.server.hub.ended.wait(60)
        self.close_connection = bool(fault)

    def send_bytes(self, content):
        rate = self.server.hub.bytes_per_second
        step = len(content) if not rate else max(1, rate // 50)
        for begin in range(0, len(content), max(step, 1)):
            self.wfile.write(content[begin:begin + step])
            if rate:
                self.wfile.flush()
                time.sleep(0.02)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, hub, role, tls):
        super().__init__(("127.0.0.1", 0), Handler)
        self.hub, self.role = hub, role
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_side=True)
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def handle_error(self, *_):
        pass


class Hub:
    """Runs both servers until close(). `tls` and `cdn_tls` are an ssl.SSLContext for servers that speak https."""

    def __init__(self, models=None, bytes_per_second=0, tls=None, cdn_tls=None):
        self.models = models or {}
        self.bytes_per_second = bytes_per_second
        self.seen = []
        self.blobs, self.blob_faults, self.cache_faults, self.planned = {}, {}, {}, {}
        self.ended = threading.Event()
        self.hub, self.cdn = Server(self, "hub", tls), Server(self, "cdn", cdn_tls)
        self.address = f"{'https' if tls else 'http'}://127.0.0.1:{self.hub.server_port}"
        self.cdn_address = f"{'https' if cdn_tls else 'http'}://localhost:{self.cdn.server_port}"  # huggingface_hub compares hosts without ports

    def plan(self, method, key, *faults):
        """Plans the next answers. `key` is the path of a file, or "api" for the list of files."""
        self.planned.setdefault((method, key), []).extend(faults)

    def next_fault(self, method, key):
        faults = self.planned.get((method, key))
        return faults.pop(0) if faults else OK

    def requests(self, method, ending, server=None):
        return [request for request in self.seen
                if request["method"] == method and request["path"].endswith(ending)
                and server in (None, request["server"])]

    def close(self):
        self.ended.set()
        for server in (self.hub, self.cdn):
            server.shutdown()
            server.server_close()


def read_directory(folder):
    """Returns the files of a directory as a dict of path and content."""
    root = pathlib.Path(folder)
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def main():
    folder, model = sys.argv[1:3]
    rate = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    hub = Hub({model: Repository(read_directory(folder))}, rate)
    print(hub.address, flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
