"""Reads bodies as text in Python, ours beside the usual ways; run.py calls it and says what is measured.

    worker.py time TEXT BYTES    each way in turns; a line of JSON for each: way, seconds of each turn
    worker.py peak TEXT BYTES WAY    one body in this new process: the most memory beyond the start
"""

import codecs
import http.server
import json
import multiprocessing
import random
import sys
import time

import httpx
import requests
from brimful import collect_text

TEXTS = {"ASCII": "a line of text, ", "mixed": "é text und € 12", "CJK": "日本語文字"}
CHUNK = 65_536


def body_of(text: str, size: int) -> bytes:
    unit = TEXTS[text].encode()
    return unit * (size // len(unit))


def chunks_of(body: bytes) -> list[bytes]:
    return [body[at : at + CHUNK] for at in range(0, len(body), CHUNK)]


def incremental(chunks) -> str:
    decoder = codecs.getincrementaldecoder("utf-8")()
    return "".join([decoder.decode(chunk) for chunk in chunks] + [decoder.decode(b"", True)])


def own_encoding(response: requests.Response) -> str:
    response.encoding = "utf-8"  # else it guesses, which takes far longer
    return response.text


def ways(body: bytes, url: str) -> dict:
    chunks = chunks_of(body)
    session, client = requests.Session(), httpx.Client()

    def by_requests(read, stream: bool) -> str:
        with session.get(url, stream=stream) as response:
            return read(response)

    def by_httpx(read) -> str:
        with client.stream("GET", url) as response:
            return read(response)

    return {
        "list: brimful": lambda: collect_text(chunks),
        "list: join, decode": lambda: b"".join(chunks).decode(),
        "list: incremental decoder": lambda: incremental(chunks),
        "iterator: brimful": lambda: collect_text(chunk for chunk in chunks),
        "iterator: join, decode": lambda: b"".join(chunk for chunk in chunks).decode(),
        "iterator: incremental decoder": lambda: incremental(chunk for chunk in chunks),
        "requests: brimful": lambda: by_requests(collect_text, True),
        "requests: .text": lambda: by_requests(own_encoding, False),
        "httpx: brimful": lambda: by_httpx(collect_text),
        "httpx: .text": lambda: client.get(url).text,
    }


def serve(body: bytes, port) -> None:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        port.send(server.server_port)
        server.serve_forever()


def resident(name: str) -> int:
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(name))


def main() -> None:
    what, text, size, *rest = sys.argv[1:]
    body = body_of(text, int(size))
    receiver, sender = multiprocessing.Pipe(False)
    server = multiprocessing.Process(target=serve, args=(body, sender), daemon=True)
    server.start()
    found = ways(body, f"http://127.0.0.1:{receiver.recv()}/")
    try:
        measure(what, body, found, rest)
    finally:
        server.kill()


def measure(what: str, body: bytes, found: dict, rest: list[str]) -> None:
    if what == "peak":
        call = found[rest[0]]
        with open("/proc/self/clear_refs", "w") as refs:
            refs.write("5")  # the most begins anew
        before = resident("VmRSS")
        made = call()
        print(json.dumps({"way": rest[0], "peak": max(resident("VmHWM") - before, 0), "length": len(made)}))
        return
    expected = body.decode()
    for name, call in found.items():
        assert call() == expected, name
    turns = min(max(300_000_000 // (len(body) + 100_000), 5), 400)
    inner = max(1, 20_000 // len(body))
    seconds: dict[str, list[float]] = {name: [] for name in found}
    names = list(found)
    shuffle = random.Random(20261201).shuffle
    for _ in range(turns):
        shuffle(names)  # what one leaves of the heap is what the next one finds
        for name in names:
            call = found[name]
            times = inner if ":" in name and name.split(":")[0] in ("list", "iterator") else 1
            begin = time.perf_counter()
            for _ in range(times):
                call()
            seconds[name].append((time.perf_counter() - begin) / times)
    for name, all_seconds in seconds.items():
        print(json.dumps({"way": name, "seconds": all_seconds}))


if __name__ == "__main__":
    main()
