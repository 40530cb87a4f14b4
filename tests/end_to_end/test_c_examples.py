"""The C examples run: from sources that give 1 byte at a time, to their limits, with input that is cut short. What needs a
library that is not installed names itself."""

import gzip
import hashlib
import json
import os
import random
import re
import resource
import shutil
import socket
import struct
import subprocess
import threading
import zlib
from pathlib import Path

import pytest

from http_server import Server, content

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "c"
PREFIX = ROOT / "dist" / "prefix"
SIZE = 300_000  # more than a first block
SIZES = [0, 1, 1000, SIZE, 10_000_000]

# What each example needs beside the library: a header, its development package, what it is linked with.
NEEDS = {
    "curl_easy": ("curl/curl.h", "libcurl4-openssl-dev", ["curl_body.c", "-lcurl"]),
    "curl_multi": ("curl/curl.h", "libcurl4-openssl-dev", ["curl_body.c", "-lcurl"]),
    "cjson": ("cjson/cJSON.h", "libcjson-dev", ["-lcjson"]),
    "gunzip": ("zlib.h", "zlib1g-dev", ["-lz"]),
    "unzstd": ("zstd.h", "libzstd-dev", ["-lzstd"]),
}
ALL = ["whole_body", "http_get", "epoll", "queue", "records", "arena", "uploads", *NEEDS]
# No proxy between the programs and this machine.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
ENVIRONMENT["MALLOC_PERTURB_"] = "165"  # what glibc gives is not zero by chance


def need(name: str) -> None:
    header, package, _ = NEEDS.get(name, (None, None, []))
    if header is None:
        return
    source = f"#include <stddef.h>\n#include <{header}>\n"
    if subprocess.run(["gcc", "-E", "-x", "c", "-"], input=source, text=True, capture_output=True).returncode:
        pytest.skip(f"the example {name} ({package} is not installed)")


def program(name: str) -> str:
    if not (BUILD / name).exists():
        need(name)
    return str(BUILD / name)


def run(name: str, *arguments, stdin: bytes = b"", each: int = 1_000_000, before=(), **options):
    """Exit status, output and errors. With each = 1 a read gives 1 byte, never more: each is a packet of its own."""
    command = [*before, program(name), *map(str, arguments)]
    kind = socket.SOCK_SEQPACKET if each == 1 else socket.SOCK_STREAM
    mine, its = socket.socketpair(socket.AF_UNIX, kind)
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=its, stdout=pipe, stderr=pipe, env=ENVIRONMENT, **options)
    its.close()

    def send():
        with mine:
            try:
                for at in range(0, len(stdin), each):
                    mine.sendall(stdin[at : at + each])
            except OSError:
                pass  # it has seen enough

    sender = threading.Thread(target=send)
    sender.start()
    out, errors = process.communicate(timeout=120)
    sender.join()
    return process.returncode, out, errors.decode()


@pytest.fixture(scope="module")
def server():
    server = Server()
    yield server
    server.listener.close()


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("name", ALL)
def test_it_compiles_as_a_user_would_without_a_warning(name, compiler, tmp_path):
    need(name)
    if shutil.which(compiler) is None:
        pytest.skip(f"the examples under {compiler} ({compiler} is not installed)")
    flags = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", f"-I{PREFIX}/include", f"-L{PREFIX}/lib", "-lbrimful", "-lpthread"]
    more = NEEDS.get(name, (None, None, []))[2]
    command = [compiler, f"{name}.c", *more, *flags, "-o", tmp_path / name]
    done = subprocess.run(command, cwd=ROOT / "examples/c", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# ---- standard input


@pytest.mark.parametrize("length, each", [(0, 1), (1, 1), (5000, 1), (SIZE, 999), (10_000_000, 100_000)])
def test_standard_input_is_read_whole(length, each):
    assert run("whole_body", stdin=content(length), each=each) == (0, f"{length} bytes in one piece\n".encode(), "")


# ---- libcurl


@pytest.mark.parametrize("way", ["length", "chunked", "close", "gzip"])
def test_curl_brings_bodies_of_every_size_over_one_handle(server, way):
    status, out, errors = run("curl_easy", 10_000_000, *(server.url(way, size) for size in SIZES))
    assert (status, errors) == (0, "")
    assert out == b"".join(map(content, SIZES))


@pytest.mark.parametrize("way", ["drops", "drops-chunked"])
def test_curl_brings_a_body_that_comes_byte_by_byte(server, way):
    assert run("curl_easy", 2000, server.url(way, 2000)) == (0, content(2000), "")


def test_curl_follows_a_redirect_and_keeps_nothing_of_its_body(server):
    assert run("curl_easy", 1000, server.url("redirect", 1000)) == (0, content(1000), "")


@pytest.mark.parametrize("way", ["cut", "cut-chunked"])
def test_a_connection_that_is_cut_is_an_error_and_what_came_is_there(server, way):
    status, out, errors = run("curl_easy", SIZE, server.url(way, SIZE))
    assert status == 1 and "the source ended before the announced length" in errors.lower(), errors
    assert out == content(SIZE)[: len(out)] and SIZE // 2 < len(out) < SIZE
    assert f"; {len(out)} bytes had come" in errors


@pytest.mark.parametrize("way, kept", [("length", 0), ("chunked", 99_999), ("close", 99_999), ("gzip", 99_999), ("drops", 0)])
def test_a_body_above_the_limit_ends_the_transfer_and_the_next_one_is_fine(server, way, kept):
    """One that is announced is refused before a byte of it is kept; the limit is one of decoded bytes."""
    status, out, errors = run("curl_easy", 99_999, server.url(way, 100_000), server.url("length", 99_999))
    assert status == 1 and "limit" in errors and f"; {kept} bytes had come" in errors
    assert out == content(kept) + content(99_999)


def test_what_libcurl_itself_says_is_told(server):
    status, out, errors = run("curl_easy", 1000, server.url("missing", 10), server.url("length", 10), "http://127.0.0.1:1/")
    assert status == 1 and out == content(10)
    said = [line.split(": ", 1)[1] for line in errors.splitlines()]
    assert re.fullmatch(r"HTTP response code said error; 0 bytes had come", said[0])
    assert re.fullmatch(r"Could(n't| not) connect to server; 0 bytes had come", said[1])


def test_curl_brings_many_bodies_at_once_on_one_pool(server):
    program("curl_multi")
    wanted = [(way, size) for way in ["length", "chunked", "close", "drops"] for size in [0, 1, 1000, *([SIZE] * (way != "drops"))]]
    wanted = [*wanted * 8, ("length", 10_000_000), ("close", 10_000_000)]
    random.Random(1).shuffle(wanted)
    bad = {server.url("chunked", 10_000_001): "limit", server.url("length", 10_000_001): "limit", server.url("cut", SIZE): "short"}
    status, out, errors = run("curl_multi", 10_000_000, *(server.url(*one) for one in wanted), *bad)
    assert (status, errors) == (1, "")
    expected = [f"{server.url(*one)}: {one[1]} bytes, {hashlib.sha256(content(one[1])).hexdigest()}" for one in wanted]
    expected += [f"{url}: {why}" for url, why in bad.items()]
    assert sorted(out.decode().splitlines()) == sorted(expected)


# ---- a parser that wants a NUL


@pytest.mark.parametrize("each", [1, 1_000_000])
def test_a_parser_finds_its_nul_behind_the_body(each):
    value = {"text": "ä" * 500, "numbers": [*range(1000)], "nothing": None}
    text = json.dumps(value, indent=2).encode()
    for exactly in (text, text + b" " * (4096 - len(text) % 4096)):  # the body may fill its block to the last byte
        status, out, errors = run("cjson", stdin=exactly, each=each)
        assert (status, errors, json.loads(out)) == (0, "", value)


@pytest.mark.parametrize("text, said", [
    (b"", "no JSON at byte 0 of 0"), (b"[1, 2", "no JSON at byte 5 of 5"), (b"[1]\0[2]", "no JSON at byte 3 of 7"),
    (b"[1] x", "no JSON at byte 4 of 5"),
])  # fmt: skip
def test_a_parser_does_not_take_less_than_the_body(text, said):
    assert run("cjson", stdin=text) == (1, b"", said + "\n")


def test_json_above_the_limit_is_not_parsed():
    status, out, errors = run("cjson", 10, stdin=b"[1,2,3,4,5,6]")
    assert (status, out) == (1, b"") and "limit" in errors


# ---- decoders


def zstd(data: bytes, *options: str) -> bytes:
    if shutil.which("zstd") is None:
        pytest.skip("the example unzstd (zstd is not installed)")
    return subprocess.run(["zstd", "-qc", *options], input=data, capture_output=True, check=True).stdout


DECODERS = {"gunzip": gzip.compress, "unzstd": zstd}


@pytest.mark.parametrize("name", DECODERS)
@pytest.mark.parametrize("length, each", [(0, 1), (1, 1), (SIZE, 1), (10_000_000, 100_000)])
def test_a_decoder_is_a_source(name, length, each):
    program(name)
    data = DECODERS[name](content(length))
    assert run(name, length, stdin=data, each=each) == (0, content(length), "")


@pytest.mark.parametrize("name", DECODERS)
@pytest.mark.parametrize("each", [1, 100_000])
def test_a_decoder_goes_on_with_what_was_compressed_apart(name, each):
    program(name)
    data = b"".join(DECODERS[name](part) for part in [content(5000), b"", content(3)])
    assert run(name, 5003, stdin=data, each=each) == (0, content(5000) + content(3), "")


@pytest.mark.parametrize("name", DECODERS)
def test_a_decoder_says_what_is_wrong(name):
    program(name)
    noise = random.Random(2).randbytes(5000)
    data = DECODERS[name](noise)
    for cut in [0, 1, 5, 100, len(data) // 2, len(data) - 5, len(data) - 1]:
        status, out, errors = run(name, SIZE, stdin=data[:cut], each=1)
        assert (status, out) == (1, b"") and errors.startswith("the input ends too early; "), (cut, errors)
    for each in [1, 100_000]:
        assert run(name, SIZE, stdin=data + b"and more", each=each)[2].startswith("something else follows ")
        assert run(name, SIZE, stdin=b"no such thing" + data, each=each)[2].startswith("the input is damaged")
    if name == "gunzip":  # which has a checksum in any case
        assert run(name, SIZE, stdin=data[:2000] + bytes([data[2000] ^ 1]) + data[2001:])[2].startswith("the input is damaged")


@pytest.mark.parametrize("name", DECODERS)
def test_a_bomb_ends_at_the_limit_after_bounded_memory(name):
    program(name)
    bomb = DECODERS[name](bytes(400_000_000)) if name == "unzstd" else gzip.compress(bytes(10_000_000), 1) * 40
    limits = (resource.RLIMIT_DATA, (64 << 20, 64 << 20))  # nor could it take more
    for limit in [0, 1, 100_000, 1_000_000]:
        status, out, errors = run(name, limit, stdin=bomb, preexec_fn=lambda: resource.setrlimit(*limits))
        assert (status, out) == (1, b"") and "limit" in errors, errors
        came, held = map(int, re.search(r"; (\d+) bytes had come, in (\d+) of memory", errors).groups())
        assert came == limit and held <= 2 * limit + 65536


def test_zstd_is_not_given_more_memory_than_a_decoder_has_to_have():
    program("unzstd")
    data = zstd(content(70_000_000), "--long=26", "-1")
    assert run("unzstd", 70_000_000, stdin=data)[2].startswith("the input wants a decoder with more memory")


# ---- memory of the caller's


def test_exact_results_lie_in_an_arena_of_the_callers(tmp_path):
    files = []
    for number, length in enumerate([0, 1, 100, 5000, SIZE, 3_000_000]):
        files.append(tmp_path / str(number))
        files[-1].write_bytes(b"x" * (length // 2) + content(length - length // 2))
    status, out, errors = run("arena", *files, tmp_path / "none")
    assert status == 1 and errors == f"{tmp_path / 'none'}: No such file or directory\n"
    lines = out.decode().splitlines()
    for file, line in zip(files, lines):
        data = file.read_bytes()
        assert line == f"{file}: {len(data)} bytes, {(data + bytes(1)).index(0)} before the first NUL"
    bytes_read, total = map(int, re.fullmatch(r"(\d+) bytes in (\d+) of the arena", lines[-1]).groups())
    assert bytes_read == sum(file.stat().st_size for file in files) <= total < bytes_read + (3 << 20)


def test_an_arena_moves_what_outgrows_its_piece(tmp_path):
    """The length of a pipe is not known, so that its memory grows."""
    names = [tmp_path / "first", tmp_path / "second"]
    for name in names:
        os.mkfifo(name)
    body = b"x" * 100 + content(3_000_000)
    writers = [threading.Thread(target=name.write_bytes, args=[body], daemon=True) for name in names]
    for writer in writers:
        writer.start()
    status, out, errors = run("arena", *names)
    assert (status, errors) == (0, "")
    assert out.decode().splitlines()[:2] == [f"{name}: {len(body)} bytes, 100 before the first NUL" for name in names]


@pytest.mark.parametrize("each", [1, 1_000_000])
def test_records_are_collected_into_a_struct(each):
    payloads = [b"", b"a", b"text of a record" * 256]
    wire = b"".join(struct.pack(">II", number, len(payload)) + payload for number, payload in enumerate(payloads))
    expected = b"".join(b"%d: %d bytes: %s\n" % (number, len(payload), payload) for number, payload in enumerate(payloads))
    assert run("records", stdin=wire, each=each) == (0, expected, "")
    for cut in [1, 7, 8, 100]:
        head = struct.pack(">II", 9, 101)
        status, out, errors = run("records", stdin=wire + (head + bytes(100))[:cut], each=each)
        assert (status, out) == (1, expected) and "before the announced length" in errors.lower()
    status, out, errors = run("records", stdin=wire + struct.pack(">II", 9, 4097) + bytes(5000), each=each)
    assert (status, out) == (1, expected) and "limit" in errors


# ---- many connections


class Uploads:
    def __init__(self, limit: int, budget: int) -> None:
        self.process = subprocess.Popen([program("uploads"), str(limit), str(budget)], stdout=subprocess.PIPE)
        self.port = int(self.process.stdout.readline())

    def connect(self) -> socket.socket:
        peer = socket.create_connection(("127.0.0.1", self.port))
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        peer.settimeout(60)
        return peer

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.stdout.close()
        self.process.wait()


def answer(peer: socket.socket) -> str:
    with peer, peer.makefile() as lines:
        return lines.read().strip()


def taken(body: bytes) -> str:
    return f"{len(body)} bytes, {zlib.adler32(body):08x}"


def test_uploads_over_many_connections_come_to_one_pool():
    bodies = [content(size)[number % 7 :] for number, size in enumerate([0, 8, 300, 70_000] * 50)]
    with Uploads(10_000_000, 1 << 30) as server:
        peers = [server.connect() for _ in bodies]
        for part in range(4):  # all of them are open and stall, again and again
            for peer, body in zip(peers, bodies):
                peer.sendall(body[len(body) * part // 4 : len(body) * (part + 1) // 4])
        for peer in peers:
            peer.shutdown(socket.SHUT_WR)
        assert [answer(peer) for peer in peers] == [taken(body) for body in bodies]
        slow, large, gone = server.connect(), server.connect(), server.connect()
        gone.sendall(b"half of a")
        gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        gone.close()  # which resets the connection
        for byte in b"byte by byte":
            slow.sendall(bytes([byte]))
        large.sendall(content(10_000_000))
        for peer, body in [(slow, b"byte by byte"), (large, content(10_000_000))]:
            peer.shutdown(socket.SHUT_WR)
            assert answer(peer) == taken(body)


def test_an_upload_above_the_limit_is_told_so_although_it_goes_on():
    with Uploads(100_000, 1 << 30) as server:
        for size, said in [(100_000, taken(content(100_000))), (100_001, "refused: limit"), (4_000_000, "refused: limit")]:
            peer = server.connect()
            peer.sendall(content(size))
            peer.shutdown(socket.SHUT_WR)
            assert answer(peer) == said


def test_uploads_beyond_the_budget_are_refused_and_those_after_them_are_not():
    with Uploads(10_000_000, 1 << 20) as server:
        for size, said in [(3_000_000, "refused: budget"), (500_000, taken(content(500_000)))] * 3:
            peer = server.connect()
            peer.sendall(content(size))
            peer.shutdown(socket.SHUT_WR)
            assert answer(peer) == said


# ---- leaks


@pytest.mark.parametrize("name", ["curl_easy", "curl_multi", "cjson", "gunzip", "unzstd", "arena", "records"])
def test_it_leaks_nothing(name, server, tmp_path):
    if shutil.which("valgrind") is None:
        pytest.skip("the examples under valgrind (valgrind is not installed)")
    program(name)
    memcheck = ["valgrind", "--quiet", "--error-exitcode=99", "--leak-check=full", "--errors-for-leak-kinds=definite"]
    if name.startswith("curl"):
        cases = [([1000, *(server.url(way, 1001) for way in ["length", "chunked", "cut"]), server.url("length", 999)], b"")]
    elif name == "arena":
        (tmp_path / "file").write_bytes(content(SIZE))
        cases = [([tmp_path / "file", tmp_path / "file", tmp_path], b"")]
    else:
        good = {"cjson": b'{"a": [1, 2]}', "records": struct.pack(">II", 1, 4) + b"four"}.get(name)
        good = good or DECODERS[name](content(SIZE))
        cases = [([SIZE], good[:-1]), ([1], good)]
    for arguments, data in cases:
        status, _, errors = run(name, *arguments, stdin=data, before=memcheck)
        assert status in (0, 1), errors
