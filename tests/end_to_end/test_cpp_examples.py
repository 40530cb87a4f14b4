"""The C++ examples run, also with input that comes byte by byte. Without a C++ compiler, or Boost, they name themselves."""

import shutil
import socket
import subprocess
import threading
import zlib
from pathlib import Path

import pytest

BUILD = Path(__file__).resolve().parents[2] / "build" / "cpp"
SIZE = 300_000  # more than a first block
CONTENT = bytes(i % 251 for i in range(SIZE))


def program(name):
    if not (BUILD / name).exists():
        assert name == "asio" or shutil.which("g++") is None, f"{name} was not built"
        pytest.skip("needs a C++ compiler" + (" and Boost (libboost-dev)" if name == "asio" else ""))
    return str(BUILD / name)


def run(name, *arguments, content=b"", each=1_000_000):
    """What the program prints and its exit status; its input comes piece by piece."""
    pipe = subprocess.PIPE
    process = subprocess.Popen([program(name), *arguments], stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0)
    try:
        for at in range(0, len(content), each):
            process.stdin.write(content[at : at + each])
    except BrokenPipeError:
        pass  # it has seen enough
    process.stdin.close()
    out = process.stdout.read().decode() + process.stderr.read().decode()
    return out, process.wait(timeout=60)


@pytest.mark.parametrize("length, each", [(0, 1), (1, 1), (5000, 1), (SIZE, 1000), (SIZE, SIZE)])
def test_istream_reads_a_whole_body(length, each):
    assert run("istream", content=CONTENT[:length], each=each) == (f"{length} bytes in one piece\n", 0)


@pytest.mark.parametrize("each", [1, 1_000_000])
def test_exceptions_of_the_source_come_out_and_what_had_come_is_kept(each):
    text = b"a line\n" * 2000
    assert run("exceptions", content=text, each=each) == ("14000 bytes\n", 0)
    assert run("exceptions", "14000", content=text, each=each) == ("14000 bytes\n", 0)
    assert run("exceptions", "13999", content=text, each=each) == ("too long; 13999 bytes had come\n", 1)
    out, status = run("exceptions", content=text + b"\xc3\xa9" + text, each=each)
    assert status == 1 and out.startswith("byte 14000 is no ASCII; ") and out.endswith(" bytes had come\n")
    kept = int(out.split("; ")[1].split()[0])
    assert 14000 - 4096 <= kept <= 14000  # the window with that byte brought nothing


def asio(content, count, limit, each):
    """The lines that the example prints for so many connections to a server that sends the content piece by piece."""
    with socket.create_server(("127.0.0.1", 0), backlog=count) as server:

        def serve():
            peers = [server.accept()[0] for _ in range(count)]
            for peer in peers:
                peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for at in range(0, len(content), each):
                for peer in peers[:]:
                    try:
                        peer.sendall(content[at : at + each])
                    except OSError:
                        peers.remove(peer)  # it has seen enough
            for peer in peers:
                peer.close()

        thread = threading.Thread(target=serve)
        thread.start()
        out, status = run("asio", "127.0.0.1", str(server.getsockname()[1]), str(count), str(limit))
        thread.join()
    assert status == 0
    return out.splitlines()


@pytest.mark.parametrize("length, each", [(0, 1), (1, 1), (2000, 1), (SIZE, 7000)])
def test_asio_reads_many_connections_in_one_loop(length, each):
    program("asio")
    content = CONTENT[:length]
    assert asio(content, 20, SIZE, each) == [f"{length} bytes, {zlib.adler32(content):08x}"] * 20


def test_asio_keeps_what_came_of_a_body_beyond_the_limit():
    program("asio")
    lines = asio(CONTENT, 5, 100_000, 7000)
    assert len(lines) == 5
    assert all(line.startswith("100000 bytes, then: ") and "limit" in line for line in lines), lines
