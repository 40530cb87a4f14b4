"""Reads a URL with http.client and with urllib.request through brimful, and prints a JSON line for each client.

    python http_clients.py URL [--limit N] [--pooled]

No length is passed by hand: what the response announces is enforced, so a body that is cut short is a ShortError.
Beside each stands the usual way, b"".join over reads of 64 KiB; a body that is read fast is read several times, by
turns, and the best times are told, since the first reads of a process are spent on loading code and memory.
"""

import argparse
import hashlib
import http.client
import json
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import brimful

FAST = 0.1  # seconds
ROUNDS = 5


@contextmanager
def by_http_client(url: str) -> Iterator[http.client.HTTPResponse]:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc)
    try:
        connection.request("GET", f"{parts.path}?{parts.query}" if parts.query else parts.path)
        yield connection.getresponse()
    finally:
        connection.close()


@contextmanager
def by_urllib(url: str) -> Iterator[http.client.HTTPResponse]:
    with urllib.request.urlopen(url) as response:
        yield response


CLIENTS = {"http.client": by_http_client, "urllib.request": by_urllib}


def read(client: str, url: str, limit: int | None, result: str) -> dict[str, object]:
    collector = brimful.Collector(result, limit=limit)
    outcome = "ok"
    with CLIENTS[client](url) as response:
        started = time.perf_counter()
        try:
            collector.read(response)
            body = collector.finish()
        except brimful.Error as error:
            outcome = error.status
            body = collector.take_partial()
        except http.client.IncompleteRead:  # a chunked body that is cut short: http.client finds that out itself
            outcome = "short"
            body = collector.take_partial()
        seconds = time.perf_counter() - started
    info = collector.info()
    digest = hashlib.sha256(body).hexdigest()
    return {
        "client": client,
        "outcome": outcome,
        "bytes": len(body),
        "sha256": digest,
        "copied": info.copied,
        "allocations": info.allocations,
        "peak_held": info.peak_held,
        "seconds": seconds,
        "usual_seconds": None,
    }


def usual(client: str, url: str) -> float:
    with CLIENTS[client](url) as response:
        started = time.perf_counter()
        b"".join(iter(lambda: response.read(64 * 1024), b""))
        return time.perf_counter() - started


def measure(client: str, url: str, limit: int | None, result: str) -> dict[str, object]:
    line = read(client, url, limit, result)
    if line["outcome"] != "ok":
        return line
    line["usual_seconds"] = usual(client, url)
    for _ in range(1, ROUNDS):
        if line["seconds"] >= FAST:
            break
        line["seconds"] = min(line["seconds"], read(client, url, limit, result)["seconds"])
        line["usual_seconds"] = min(line["usual_seconds"], usual(client, url))
    return line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url")
    parser.add_argument("--limit", type=int, help="the most bytes that the body may have")
    parser.add_argument("--pooled", action="store_true", help="into memory that is recycled instead of bytes")
    arguments = parser.parse_args()
    for client in CLIENTS:
        line = measure(client, arguments.url, arguments.limit, "pooled" if arguments.pooled else "bytes")
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
