"""Bodies of http.client and urllib.request from a real server; no length is passed by hand."""

from __future__ import annotations

import http.client
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import brimful
import pytest
from support import paint


@contextmanager
def by_http_client(server: str, path: str) -> Iterator[http.client.HTTPResponse]:
    connection = http.client.HTTPConnection(server, timeout=10)
    try:
        connection.request("GET", path)
        yield connection.getresponse()
    finally:
        connection.close()


@contextmanager
def by_urllib(server: str, path: str) -> Iterator[http.client.HTTPResponse]:
    with urllib.request.urlopen(f"http://{server}{path}", timeout=10) as response:
        yield response


CLIENTS: list[Callable[[str, str], Any]] = [by_http_client, by_urllib]


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("mode", ["length", "chunked", "close", "slow", "slow-chunked"])
@pytest.mark.parametrize("size", [0, 1000, 100_000, 3_000_000])
def test_a_body_is_read_whole(server: str, client: Any, mode: str, size: int) -> None:
    with client(server, f"/{mode}/{size}") as response:
        assert brimful.collect(response) == paint(size)
    with client(server, f"/{mode}/{size}") as response, brimful.collect_pooled(response) as body:
        assert bytes(body) == paint(size)


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("collect", [brimful.collect, brimful.collect_pooled])
def test_a_body_that_is_cut_short_is_a_short_error(server: str, client: Any, collect: Any) -> None:
    with client(server, "/cut/100000") as response, pytest.raises(brimful.ShortError) as caught:
        collect(response)
    assert (caught.value.expected, caught.value.received) == (100_000, 75_000)
    assert caught.value.partial.tobytes() == paint(75_000)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_collector_enforces_what_http_announces(server: str, client: Any) -> None:
    collector = brimful.Collector()
    with client(server, "/cut/100000") as response, pytest.raises(brimful.ShortError):
        collector.read(response)
    assert collector.info().expected == 100_000
    assert collector.take_partial().tobytes() == paint(75_000)
    collector.reset()
    assert collector.info().expected is None
    with client(server, "/length/100000") as response:
        assert collector.read(response)
    assert (collector.info().allocations, collector.info().copied) == (1, 0)
    assert collector.finish() == paint(100_000)


def test_a_body_behind_other_bytes_is_enforced_too(server: str) -> None:
    collector = brimful.Collector()
    collector.write(b"head")
    with by_http_client(server, "/cut/100000") as response, pytest.raises(http.client.IncompleteRead):
        collector.read(response)
    assert collector.take_partial().tobytes() == b"head" + paint(75_000)
    collector.reset()
    collector.write(b"head")
    with by_http_client(server, "/length/1000") as response:
        assert collector.read(response)
    assert collector.finish() == b"head" + paint(1000)


def test_a_chunked_body_that_is_cut_short_is_what_http_client_says_and_the_bytes_are_kept(server: str) -> None:
    collector = brimful.Collector()
    with by_http_client(server, "/cut-chunked/100000") as response, pytest.raises(http.client.IncompleteRead):
        brimful.collect(response, collector=collector)
    partial = collector.take_partial().tobytes()
    assert partial == paint(len(partial))


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("mode", ["length", "chunked", "close"])
def test_a_body_above_the_limit_is_a_limit_error(server: str, client: Any, mode: str) -> None:
    with client(server, f"/{mode}/100000") as response, pytest.raises(brimful.LimitError) as caught:
        brimful.collect(response, limit=99_999)
    # What is announced is refused before a byte is read.
    assert caught.value.received == (0 if mode == "length" else 100_000)
    with client(server, f"/{mode}/100000") as response:
        assert len(brimful.collect(response, limit=100_000)) == 100_000


def test_a_kept_alive_connection_stays_usable(server: str) -> None:
    connection = http.client.HTTPConnection(server, timeout=10)
    for mode in ("length", "chunked", "length"):
        connection.request("GET", f"/{mode}/50000")
        response = connection.getresponse()
        assert brimful.collect(response) == paint(50_000)
        assert response.isclosed()
        assert connection.sock is not None
    connection.close()


def test_what_was_read_of_a_response_before_is_not_waited_for(server: str) -> None:
    with by_http_client(server, "/length/50000") as response:
        assert response.read(1000) == paint(1000)
        assert brimful.collect(response) == paint(49_000, 1000)
        assert brimful.collect(response) == b""


def test_the_callers_own_length_is_used_where_it_is_given(server: str) -> None:
    with by_http_client(server, "/length/50000") as response:
        assert brimful.collect(response, length=100) == paint(100)
    with by_http_client(server, "/length/50000") as response, pytest.raises(brimful.ShortError):
        brimful.collect(response, length=50_001)


