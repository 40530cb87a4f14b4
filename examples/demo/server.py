"""The demo's HTTP server: random bodies on loopback, sent in every way that a client has to cope with.

    python3 server.py        prints {"port": N} and serves until its standard input ends

GET /MODE/SIZE           a body of SIZE random bytes, the same for every MODE:
    length                 with Content-Length
    chunked                in chunks
    close                  without a length; the end of the connection is the end of the body
    slow, slow-chunked     in pieces with pauses, with Content-Length or in chunks
    cut                    with Content-Length, but the connection ends after three quarters
GET /sha256/MODE/SIZE    the SHA-256 of the bytes that /MODE/SIZE really sends; with ?first=N, of the first N of them
"""

import hashlib
import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

LARGEST = 64_000_000
SLOW_PIECES = 12
SLOW_PAUSE = 0.03
CHUNK = 16_000  # on purpose no size that any client's buffer has


bodies: dict[int, bytes] = {}
bodies_lock = threading.Lock()


def body(size: int) -> bytes:
    with bodies_lock:  # made on first use, once: two connections see the same bytes
        if size not in bodies:
            bodies[size] = os.urandom(size)
        return bodies[size]


def pieces(data: memoryview, piece: int):
    for start in range(0, len(data), piece):
        yield data[start : start + piece]


def sent(mode: str, size: int) -> memoryview:
    """What /mode/size really sends."""
    data = memoryview(body(size))
    return data[: size * 3 // 4] if mode == "cut" else data


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def handle(self) -> None:
        try:
            super().handle()
        except ConnectionError:
            pass  # a client that stops at its limit hangs up, in the middle of a body or between two requests

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        try:
            match parts.path.strip("/").split("/"):
                case ["sha256", mode, size] if mode in MODES:
                    self.tell_hash(sent(mode, self.size(size)), parse_qs(parts.query))
                case [mode, size] if mode in MODES:
                    MODES[mode](self, self.size(size))
                case _:
                    self.send_error(404, "known here are /MODE/SIZE and /sha256/MODE/SIZE")
        except ValueError as problem:
            self.send_error(400, str(problem))

    def size(self, text: str) -> int:
        size = int(text)
        if not 0 <= size <= LARGEST:
            raise ValueError(f"sizes go from 0 to {LARGEST}, not {size}")
        return size

    def tell_hash(self, data: memoryview, query: dict[str, list[str]]) -> None:
        first = int(query.get("first", [len(data)])[0])
        answer = hashlib.sha256(data[:first]).hexdigest().encode()
        self.head("Content-Length", str(len(answer)))
        self.wfile.write(answer)

    def head(self, name: str, value: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header(name, value)
        self.end_headers()

    def length(self, size: int) -> None:
        self.head("Content-Length", str(size))
        self.wfile.write(body(size))

    def close(self, size: int) -> None:
        self.close_connection = True
        self.head("Connection", "close")
        self.wfile.write(body(size))

    def cut(self, size: int) -> None:
        self.close_connection = True
        self.head("Content-Length", str(size))
        self.wfile.write(sent("cut", size))

    def slow(self, size: int) -> None:
        self.head("Content-Length", str(size))
        for piece in pieces(memoryview(body(size)), size // SLOW_PIECES + 1):
            self.wfile.write(piece)
            time.sleep(SLOW_PAUSE)

    def chunked(self, size: int) -> None:
        self.chunks(pieces(memoryview(body(size)), CHUNK), 0)

    def slow_chunked(self, size: int) -> None:
        self.chunks(pieces(memoryview(body(size)), size // SLOW_PIECES + 1), SLOW_PAUSE)

    def chunks(self, parts, pause: float) -> None:
        self.head("Transfer-Encoding", "chunked")
        for part in parts:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
            if pause:
                time.sleep(pause)
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_) -> None:
        pass  # the demo prints a table of its own


MODES = {
    "length": Handler.length,
    "chunked": Handler.chunked,
    "close": Handler.close,
    "slow": Handler.slow,
    "slow-chunked": Handler.slow_chunked,
    "cut": Handler.cut,
}


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps({"port": server.server_port}), flush=True)
    sys.stdin.read()  # the demo holds the other end; when it goes, so does the server


if __name__ == "__main__":
    main()
