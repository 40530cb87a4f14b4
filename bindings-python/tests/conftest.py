from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from support import paint

# A shell that starts the tests in the background has them ignore Ctrl-C, and those that wait for it would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)


class Handler(BaseHTTPRequestHandler):
    """GET /MODE/SIZE gives a painted body: announced, chunked, until the connection closes, slow, or cut short."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        try:
            self.serve()
        except ConnectionError:  # a client that had enough has hung up
            self.close_connection = True

    def serve(self) -> None:
        _, mode, size = self.path.split("/")
        body = paint(int(size))
        self.send_response(200)
        if "chunked" in mode:
            self.send_header("Transfer-Encoding", "chunked")
        elif mode == "close":
            self.send_header("Connection", "close")
        else:
            self.send_header("Content-Length", size)
        self.end_headers()
        piece = max(1, len(body) // 5) if "slow" in mode else 30_000
        sent = len(body) * 3 // 4 if "cut" in mode else len(body)
        for at in range(0, sent, piece):
            part = body[at : min(sent, at + piece)]
            # A chunk that is cut short lies in the middle of what its head has announced.
            head = b"%x\r\n" % (len(part) + ("cut" in mode)) if "chunked" in mode else b""
            self.wfile.write(head + part + (b"\r\n" if "chunked" in mode and "cut" not in mode else b""))
            self.wfile.flush()
            if "slow" in mode:
                time.sleep(0.01)
            if mode == "cut-chunked":
                break
        if mode in ("chunked", "slow-chunked"):
            self.wfile.write(b"0\r\n\r\n")
        if mode == "close" or "cut" in mode:
            self.close_connection = True

    def handle(self) -> None:
        with contextlib.suppress(ConnectionError):  # the same between two requests
            super().handle()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """host:port of a real HTTP server."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        threading.Thread(target=httpd.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{httpd.server_port}"
        httpd.shutdown()
