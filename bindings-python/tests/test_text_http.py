"""Text of HTTP messages: the charset that a Content-Type names, from real clients and servers, where no encoding was given."""

from __future__ import annotations

import asyncio
import http.client
import threading
import urllib.parse
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import aiohttp
import brimful
import httpx
import pytest
import requests
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

TEXT = "naïve café, ÿ, line\r\nby line "
# A Content-Type, and the codec that the body is in; what names no charset of text is none, and then it is UTF-8.
HEADERS = [
    ("text/plain; charset=utf-8", "utf-8"),
    ("text/plain; charset=UTF-8", "utf-8"),
    ("text/plain;charset=latin-1", "latin-1"),
    ("text/plain; charset=ISO-8859-1", "latin-1"),
    ("text/plain; charset=iso-8859-15", "iso-8859-15"),
    ('text/html; charset="windows-1252"', "cp1252"),
    ("text/html; Charset='UTF-8'", "utf-8"),
    ("TEXT/HTML ; boundary=x ; charset=utf-16le ; charset=latin-1", "utf-16-le"),
    ('text/html; title="a; charset=latin-1"; charset=utf-16be', "utf-16-be"),
    ("text/html; charset=", "utf-8"),
    ("text/html; charset=no-such-charset", "utf-8"),
    ("text/html; charset=base64", "utf-8"),
    ("text/html; charset=utf-7", "utf-8"),
    ("no slash; charset=latin-1", "utf-8"),
    ("application/json", "utf-8"),
    ("", "utf-8"),
]


class Typed(BaseHTTPRequestHandler):
    """GET /?type=CONTENT-TYPE&codec=CODEC gives the text in the codec, announced as of that type."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        asked = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query, keep_blank_values=True)
        body = (TEXT * 2000).encode(asked["codec"][0])
        self.send_response(200)
        if asked["type"][0]:
            self.send_header("Content-Type", asked["type"][0])
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def typed() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Typed) as httpd:
        threading.Thread(target=httpd.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{httpd.server_port}/?"
        httpd.shutdown()


def address(typed: str, header: str, codec: str) -> str:
    return typed + urllib.parse.urlencode({"type": header, "codec": codec})


@pytest.mark.parametrize(("header", "codec"), HEADERS)
def test_each_synchronous_client_s_header_is_read(typed: str, header: str, codec: str) -> None:
    url = address(typed, header, codec)
    with urllib.request.urlopen(url, timeout=10) as response:
        assert brimful.collect_text(response) == TEXT * 2000
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=10)
    connection.request("GET", url)
    assert brimful.collect_text(connection.getresponse()) == TEXT * 2000
    connection.close()
    with requests.get(url, stream=True, timeout=10) as by_requests:
        assert brimful.collect_text(by_requests) == TEXT * 2000
    with httpx.stream("GET", url) as by_httpx:
        assert brimful.collect_text(by_httpx) == TEXT * 2000


@pytest.mark.parametrize(("header", "codec"), HEADERS)
def test_each_asynchronous_client_s_header_is_read(typed: str, header: str, codec: str) -> None:
    async def main() -> None:
        url = address(typed, header, codec)
        async with aiohttp.ClientSession() as session, session.get(url) as response:
            assert await brimful.collect_text_async(response) == TEXT * 2000
        async with httpx.AsyncClient() as client, client.stream("GET", url) as by_httpx:
            assert await brimful.collect_text_async(by_httpx) == TEXT * 2000

    asyncio.run(main())


def test_an_encoding_that_was_given_wins_and_a_mark_only_where_there_is_no_charset(typed: str) -> None:
    url = address(typed, "text/plain; charset=utf-8", "latin-1")
    with urllib.request.urlopen(url, timeout=10) as response:
        assert brimful.collect_text(response, encoding="latin-1") == TEXT * 2000
    with urllib.request.urlopen(url, timeout=10) as response, pytest.raises(brimful.EncodingError) as caught:
        brimful.collect_text(response)
    assert caught.value.offset == TEXT.index("ï")
    with urllib.request.urlopen(address(typed, "text/plain", "utf-16"), timeout=10) as response:
        assert brimful.collect_text(response) == TEXT * 2000
    with urllib.request.urlopen(address(typed, "application/json; charset=latin-1", "utf-8"), timeout=10) as response:
        assert brimful.collect_text(response, encoding="utf-8", limit=1 << 20) == TEXT * 2000


async def echo(request: Request) -> Response:
    return PlainTextResponse(await brimful.collect_text_async(request))


def test_a_request_to_a_server_says_its_charset_too() -> None:
    config = uvicorn.Config(Starlette(routes=[Route("/", echo, methods=["POST"])]), port=0, log_level="warning")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            thread.join(0.01)
        url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/"
        for header, codec in HEADERS:
            answer = requests.post(url, data=TEXT.encode(codec), headers={"Content-Type": header}, timeout=10)
            assert answer.content.decode() == TEXT, header
    finally:
        server.should_exit = True
        thread.join()


@pytest.mark.parametrize(("header", "codec"), HEADERS)
def test_a_header_alone_says_its_charset(header: str, codec: str) -> None:
    name = brimful.charset(header)
    assert name == brimful.charset(header.encode())
    if name is None:
        assert codec == "utf-8"
    else:
        assert brimful.collect_text(TEXT.encode(codec), encoding=name) == TEXT


def test_no_header_is_none_and_what_is_none_a_type_error() -> None:
    assert brimful.charset(None) is None
    assert brimful.charset("text/plain; charset=\udcff") is None
    with pytest.raises(TypeError):
        brimful.charset(5)  # type: ignore[arg-type]
