"""Every kind of source gives its whole body, as bytes and pooled."""

from __future__ import annotations

import array
import collections
import gc
import gzip
import io
import mmap
import socket
import tempfile
import threading
import weakref
from pathlib import Path
from typing import Any

import brimful
import pytest
from support import Reads, ReadsInto, chunks, fills, paint

SIZES = [0, 1, 100, 4096, 16383, 16384, 16385, 65536, 100_000, 1_000_003]


def both(make: Any, **options: Any) -> bytes:
    """The body as bytes, the same pooled."""
    data = brimful.collect(make(), **options)
    assert type(data) is bytes
    with brimful.collect_pooled(make(), **options) as body:
        assert bytes(body) == data
        assert len(body) == len(data)
    return data


SOURCES = {
    "bytes": lambda body: body,
    "bytearray": bytearray,
    "memoryview": memoryview,
    "BytesIO": io.BytesIO,
    "BufferedReader": lambda body: io.BufferedReader(io.BytesIO(body)),
    "readinto": lambda body: ReadsInto(body, 5000),
    "read": lambda body: Reads(body, 5000),
    "callable": lambda body: fills(body, 5000),
    "bound method": lambda body: io.BytesIO(body).readinto,
    "list": lambda body: list(chunks(body, 3000)),
    "tuple": lambda body: tuple(chunks(body, 3000)),
    "generator": lambda body: chunks(body, 3000),
    "deque": lambda body: collections.deque(chunks(body, 3000)),
    "generator of one": lambda body: (chunk for chunk in [body]),
    "gzip file": lambda body: gzip.GzipFile(fileobj=io.BytesIO(gzip.compress(body, 1))),
}


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("size", SIZES)
def test_a_source_gives_its_whole_body(name: str, size: int) -> None:
    body = paint(size)
    assert both(lambda: SOURCES[name](body)) == body


@pytest.mark.parametrize("name", SOURCES)
def test_a_source_of_known_length_gives_it(name: str) -> None:
    body = paint(100_000)
    assert both(lambda: SOURCES[name](body), length=100_000) == body
    assert both(lambda: SOURCES[name](body), length=100_000, end="eof") == body
    assert both(lambda: SOURCES[name](body), size_hint=10) == body
    assert both(lambda: SOURCES[name](body), size_hint=10_000_000) == body


def test_files_of_every_layer_are_read(tmp_path: Path) -> None:
    body = paint(300_000)
    path = tmp_path / "body"
    path.write_bytes(body)
    for buffering in (0, -1):
        with open(path, "rb", buffering=buffering) as file:
            assert brimful.collect(file) == body
    with open(path, "rb") as file:
        file.seek(299_990)
        assert brimful.collect(file) == body[299_990:]


def test_a_temporary_file_that_hands_on_its_methods_is_read_by_them() -> None:
    body = paint(100_000)
    with tempfile.NamedTemporaryFile() as file:
        file.write(body)
        file.seek(0)
        assert brimful.collect(file) == body
        file.seek(0)
        assert brimful.collect(file) == body


def test_a_mapped_file_and_an_array_are_bytes_like() -> None:
    body = paint(8192)
    mapped = mmap.mmap(-1, 8192)
    mapped[:] = body
    assert brimful.collect(mapped) == body
    numbers = array.array("i", range(1000))
    assert brimful.collect(numbers) == numbers.tobytes()
    assert brimful.collect([numbers, b"x"]) == numbers.tobytes() + b"x"


def test_strided_and_multi_dimensional_views_are_gathered_and_counted_in_bytes() -> None:
    body = paint(10_000)
    assert brimful.collect(memoryview(body)[::3]) == body[::3]
    assert brimful.collect([memoryview(body)[::-1], b"x"]) == body[::-1] + b"x"
    grid = memoryview(body).cast("B", shape=[100, 100])
    assert brimful.collect([grid]) == body
    collector = brimful.Collector()
    assert collector.write(memoryview(array.array("d", [1.0, 2.0]))) == 16


def test_a_socket_is_read_itself_by_its_recv_into_and_by_its_file() -> None:
    body = paint(300_000)

    def serve(peer: socket.socket) -> None:
        with peer:
            peer.sendall(body)

    ways: list[Any] = [
        lambda near: near,
        lambda near: near.recv_into,
        lambda near: near.makefile("rb"),
        lambda near: near.makefile("rb", buffering=0),
    ]
    for way in ways:
        near, far = socket.socketpair()
        thread = threading.Thread(target=serve, args=(far,))
        thread.start()
        with near:
            assert brimful.collect(way(near)) == body
        thread.join()


def test_empty_chunks_of_an_iterable_are_not_its_end() -> None:
    assert brimful.collect(iter([b"", b"ab", b"", bytearray(), b"c", b""])) == b"abc"


def test_a_sequence_is_iterated_by_its_items() -> None:
    class Sequence:
        def __getitem__(self, index: int) -> bytes:
            return [b"ab", b"cd"][index]

    assert brimful.collect(Sequence()) == b"abcd"


@pytest.mark.parametrize(
    "source",
    [lambda body: body, lambda body: [body], lambda body: (body,), lambda body: iter([body]), lambda body: (c for c in [body])],
)
def test_one_bytes_chunk_that_is_the_whole_body_is_returned_itself(source: Any) -> None:
    body = paint(50_000)
    assert brimful.collect(source(body)) is body
    assert brimful.collect(source(body), limit=50_000) is body
    assert brimful.collect(source(body), length=50_000) is body


def test_one_read_that_is_the_whole_body_is_returned_itself() -> None:
    body = paint(5000)

    class Once:
        given = False

        def read(self, size: int) -> bytes:
            self.given, given = True, self.given
            return b"" if given else body

    assert brimful.collect(Once()) is body


def test_a_subclass_of_bytes_is_copied_into_plain_bytes() -> None:
    class Own(bytes):
        pass

    assert type(brimful.collect([Own(b"abc")])) is bytes
    assert brimful.collect(Own(b"abc")) == b"abc"


def test_a_generator_is_not_asked_again_after_a_chunk_above_the_limit() -> None:
    asked = []

    def source() -> Any:
        asked.append(1)
        yield b"12345"
        asked.append(2)
        yield b"6"

    with pytest.raises(brimful.LimitError):
        brimful.collect(source(), limit=4)
    assert asked == [1]


@pytest.mark.parametrize("file", [io.StringIO("text"), io.TextIOWrapper(io.BytesIO(b"text"))])
def test_text_files_are_refused_and_said_to_be_text(file: Any) -> None:
    with pytest.raises(TypeError, match="text file"):
        brimful.collect(file)
    with pytest.raises(TypeError, match="text file"):
        brimful.Collector().read(file)


def test_text_that_comes_from_a_reader_is_refused() -> None:
    class ReadsText:
        def read(self, size: int) -> str:
            return "text"

    with pytest.raises(TypeError, match="binary mode"):
        brimful.collect(ReadsText())
    with pytest.raises(TypeError, match="not str"):
        brimful.collect(["text"])
    with pytest.raises(TypeError, match="not str"):
        brimful.Collector().write("text")
    with pytest.raises(TypeError, match="encode"):
        brimful.collect("text")


def test_what_is_no_source_is_refused_with_what_one_is() -> None:
    async def chunks() -> Any:
        yield b""

    for source in (3, None, object(), 1.5):
        with pytest.raises(TypeError, match="expected bytes-like"):
            brimful.collect(source)
    with pytest.raises(TypeError, match="asynchronous"):
        brimful.collect(chunks())


def test_read_is_never_asked_for_more_than_the_limit_and_one_byte() -> None:
    source = Reads(paint(100_000))
    with pytest.raises(brimful.LimitError):
        brimful.collect(source, limit=10)
    assert sum(source.asked) <= 11


def test_a_type_is_not_taken_for_another_one_at_its_address() -> None:
    for round in range(300):  # more types than the table of types has places
        if round % 2:
            source_type = type("Readable", (), {"read": Reads.read, "__init__": Reads.__init__})
        else:
            source_type = type("Fillable", (), {"__init__": ReadsInto.__init__})
        assert brimful.collect(source_type(b"abc")) == b"abc"


def test_the_end_of_files_and_iterables_is_asked_for_and_that_of_streams_is_not(tmp_path: Path) -> None:
    path = tmp_path / "body"
    path.write_bytes(b"12345")
    for make in (lambda: open(path, "rb"), lambda: open(path, "rb", buffering=0), lambda: io.BytesIO(b"12345")):
        with make() as file, pytest.raises(brimful.LongError):
            brimful.collect(file, length=4)
        with make() as file:
            assert brimful.collect(file, length=4, end="length") == b"1234"
    with pytest.raises(brimful.LongError):
        brimful.collect(iter([b"1234", b"5"]), length=4)
    calls = []

    def source(window: memoryview) -> int:
        calls.append(len(window))
        window[:4] = b"1234"
        return 4

    assert brimful.collect(source, length=4) == b"1234"
    assert calls == [4]
    near, far = socket.socketpair()
    with near, far, near.makefile("rb") as stream:
        far.sendall(b"1234")  # stays open: asking for the end would wait for ever
        assert brimful.collect(stream, length=4) == b"1234"


def test_the_kind_of_a_source_does_not_depend_on_which_of_its_type_came_first() -> None:
    class Callable:
        def __init__(self, body: bytes) -> None:
            self.fill = fills(body)

        def __call__(self, window: memoryview) -> int:
            return self.fill(window)

    class Iterable:
        def __iter__(self) -> Any:
            return iter([b"called"])

    for make in (lambda: Callable(b"called"), Iterable):
        for name in ("readinto", "recv_into"):
            assert brimful.collect(make()) == b"called"
            odd: Any = make()
            setattr(odd, name, fills(b"by its own"))
            assert brimful.collect(odd) == b"by its own"
            assert brimful.collect(make()) == b"called"


def test_a_function_is_called_whatever_attributes_it_has() -> None:
    for _ in range(2):
        fill: Any = fills(b"called")
        fill.readinto = fills(b"its own")
        assert brimful.collect(fill) == b"called"
        assert brimful.collect(fills(b"called")) == b"called"


def test_a_class_of_sources_that_nobody_else_has_is_collected_as_garbage() -> None:
    def make(base: type) -> Any:
        source = type("Source", (base,), {})(b"abc")
        assert brimful.collect(source) == b"abc"
        return weakref.ref(type(source))

    gone = [make(base) for base in (Reads, bytearray, io.BytesIO)]
    gc.collect()
    assert [ref() for ref in gone] == [None] * 3


def test_a_spooled_file_is_text_or_binary_as_it_was_opened() -> None:
    for rolled in (False, True):
        for mode, content in (("w+", "text"), ("w+b", b"bytes")):
            with tempfile.SpooledTemporaryFile(mode=mode) as file:
                file.write(content)
                if rolled:
                    file.rollover()
                file.seek(0)
                if mode == "w+b":
                    assert brimful.collect(file) == b"bytes"
                else:
                    with pytest.raises(TypeError, match="text file"):
                        brimful.collect(file)
