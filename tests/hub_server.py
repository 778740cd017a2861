"""The part of the Hugging Face hub that a push talks to, on this machine: what was asked, and what it holds."""

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from huggingface_hub import constants

LARGE = (".safetensors", ".onnx", ".bin")  # files that the hub keeps in LFS
COMMIT = "c" * 40


@dataclass
class Hub:
    """files: by repository and path. token: the one that is accepted. writable: whose repositories it may write.

    rejected: what validation has against any card. asked: method and path of each request.
    """

    address: str = ""
    token: str = "hf_good"
    writable: str = "me"
    rejected: str = ""
    private: dict[str, bool] = field(default_factory=dict)
    files: dict[str, dict[str, bytes]] = field(default_factory=dict)
    stored: dict[str, bytes] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)

    def answer(self, method: str, path: str, token: str, body: bytes) -> tuple[int, Any]:
        """Status and JSON for one request. Source: huggingface_hub 1.3 to 2.4, and the API of Git LFS."""
        self.asked.append((method, path))
        if method == "PUT":  # to storage, whose address is signed and needs no token
            self.stored[path.rpartition("/")[2]] = body
            return 200, {}
        if token != f"Bearer {self.token}":
            return 401, {"error": "Invalid credentials in Authorization header"}
        if path == "/api/repos/create":
            return self._create(json.loads(body))
        if path == "/api/validate-yaml":
            errors = [{"message": self.rejected}] if self.rejected else []
            return (400 if errors else 200), {"errors": errors, "warnings": []}
        if path.endswith("/info/lfs/objects/batch"):
            return 200, {"transfer": "basic", "objects": list(map(self._place, json.loads(body)["objects"]))}
        name = "/".join(path.split("/")[3:5])
        if name not in self.private:
            return 404, {"error": "Repository not found"}
        if "/preupload/" in path:
            return 200, {"files": [_mode(each["path"]) for each in json.loads(body)["files"]]}
        if "/commit/" in path:
            return self._commit(name, body)
        return 200, {"id": name, "sha": COMMIT, "private": self.private[name], "siblings": []}

    def _create(self, asked: dict[str, Any]) -> tuple[int, Any]:
        name = f"{asked['organization']}/{asked['name']}"
        if asked["organization"] != self.writable:
            return 403, {"error": f"You don't have the rights to create a model under {asked['organization']}"}
        there = name in self.private
        self.private.setdefault(name, asked.get("visibility") == "private" or asked.get("private") is True)
        answer = {"url": f"{self.address}/{name}", "name": name}
        return (409, {"error": "You already created this model repo", **answer}) if there else (200, answer)

    def _place(self, item: dict[str, Any]) -> dict[str, Any]:
        if item["oid"] in self.stored:
            return item
        return {**item, "actions": {"upload": {"href": f"{self.address}/storage/{item['oid']}"}}}

    def _commit(self, name: str, body: bytes) -> tuple[int, Any]:
        stored = self.files.setdefault(name, {})
        for line in map(json.loads, body.splitlines()):
            value = line["value"]
            if line["key"] == "file":
                stored[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                stored[value["path"]] = result = self.stored[value["oid"]]
                assert (hashlib.sha256(result).hexdigest(), len(result)) == (value["oid"], value["size"])
        url = f"{self.address}/{name}/commit/{COMMIT}"
        return 200, {"commitUrl": url, "commitOid": COMMIT, "success": True}


def _mode(path: str) -> dict[str, Any]:
    return {"path": path, "uploadMode": "lfs" if path.endswith(LARGE) else "regular", "shouldIgnore": False}


@contextmanager
def serving(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub that listens on a port of its own, and that the client of this process takes for the real one."""
    hub = Hub()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"".join(self.chunks())
            path = self.path.partition("?")[0]
            status, result = hub.answer(self.command, path, self.headers.get("Authorization", ""), body)
            text = json.dumps(result).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def chunks(self) -> Iterator[bytes]:
            """A body whose length nobody has said beforehand."""
            if self.headers.get("Transfer-Encoding") == "chunked":
                while length := int(self.rfile.readline(), 16):
                    yield self.rfile.read(length)
                    self.rfile.readline()
                self.rfile.readline()

        do_GET = do_POST = do_PUT = answer  # noqa: N815

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    hub.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    monkeypatch.setattr(constants, "ENDPOINT", hub.address)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)  # else large files go to a service beside the hub
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setenv("HF_TOKEN", hub.token)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
