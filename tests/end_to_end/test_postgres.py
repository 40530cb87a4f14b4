"""The PostgreSQL client of the examples reads values as libpq does, and stays in step whatever ends one.

Contents depend on their position: byte i of a bytea is i mod 251, character i of a text 33 + i mod 89.
"""

import functools
import hashlib
import json
import os
import random
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time

import postgres_server
import pytest
from postgres_proxy import Proxy

SMALL = [0, 1, 100, 8000]
LARGE = [1_000_000, 16_000_000]
HUGE = 64_000_000
ALL = "SELECT bytes, words FROM pieces WHERE size < 64000000 ORDER BY size"
WAYS = {  # how to ask, and libpq's way to the same
    "binary": ("--binary", "blocking", ALL),
    "text": ("--text", "text", ALL),
    "simple": ("--simple", "simple", ALL),
    "binary cursor": ("--simple", "simple", f"BEGIN; DECLARE whole BINARY CURSOR FOR {ALL}; FETCH ALL FROM whole"),
}
ONE = "SELECT bytes FROM pieces WHERE size = {}"


@pytest.fixture(scope="module")
def installation():
    found = postgres_server.Installation.find()
    if found is None:
        pytest.skip("no PostgreSQL server is installed")
    return found


@pytest.fixture(scope="module")
def server(installation):
    server = postgres_server.Server(installation)
    try:
        server.start()
        server.fill([*SMALL, *LARGE, HUGE], words_up_to=LARGE[-1])
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    return tmp_path_factory.mktemp("programs")


@pytest.fixture(scope="module")
def client(programs):
    return postgres_server.build_values(programs)


@pytest.fixture(scope="module")
def read(client, server):
    """Runs the client, and gives what it printed."""

    def read(*arguments, port=None, user="reader", password=None, status=0, under=()):
        environment = {name: value for name, value in os.environ.items() if name != "PGPASSWORD"}
        if password is not None:
            environment["PGPASSWORD"] = password
        command = [*under, client, port or server.port, user, postgres_server.DATABASE, *arguments]
        command = [str(part) for part in command]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == status, done.stdout + done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    return read


@pytest.fixture(scope="module")
def libpq(programs, installation, server):
    """Reads with libpq, and gives what it read."""
    program = postgres_server.build_libpq(programs, installation)
    if program is None:
        pytest.skip("libpq's header is not installed")

    @functools.cache
    def read(how, query):
        printed = postgres_server.run([program, server.port, "reader", postgres_server.DATABASE, how, query])
        return [json.loads(line) for line in printed.splitlines()]

    return read


def content(size: int) -> bytes:
    return (bytes(range(251)) * (size // 251 + 1))[:size]


def words(size: int) -> bytes:
    return (bytes(range(33, 33 + 89)) * (size // 89 + 1))[:size]


def is_value(line: dict, data: bytes, **more: object) -> bool:
    wanted = {"status": "ok", "length": len(data), "sha256": hashlib.sha256(data).hexdigest()} | more
    return {name: line.get(name) for name in wanted} == wanted


def what(lines: list[dict]) -> list[tuple]:
    return [tuple(line.get(name) for name in ("row", "column", "status", "length", "sha256")) for line in lines]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("memory", ["pooled", "exact"])
def test_values_of_all_sizes_and_formats_are_those_that_libpq_reads(read, libpq, way, memory):
    option, how, query = WAYS[way]
    lines = read(option, *(["--exact"] if memory == "exact" else []), query)
    assert len(lines) == 12
    assert what(lines) == what(libpq(how, query))


def test_values_are_what_was_stored(read):
    lines = read(ALL)
    for row, size in enumerate([*SMALL, *LARGE]):
        assert is_value(lines[2 * row], content(size), row=row, column=0)
        assert is_value(lines[2 * row + 1], words(size), row=row, column=1)


@pytest.mark.parametrize("memory", ["--exact", None])
def test_a_value_of_64_mb_is_allocated_once_and_never_moved(read, memory):
    (line,) = read(*([memory] if memory else []), ONE.format(HUGE))
    assert is_value(line, content(HUGE), received=HUGE, copied=0, allocations=1)
    assert line["peak_held"] <= HUGE + (0 if memory else 2 << 20)


def test_a_bytea_as_text_is_hex_and_twice_as_long(read):
    (line,) = read("--text", "--exact", ONE.format(16_000_000))
    assert is_value(line, b"\\x" + content(16_000_000).hex().encode(), allocations=1, copied=0)


def test_libpqs_reading_that_does_not_block_gives_the_same(read, libpq):
    assert what(read(ALL)) == what(libpq("single", ALL))


def test_null_is_not_the_empty_value(read):
    lines = read("SELECT NULL::bytea, ''::bytea, ''::text, NULL::text")
    assert [line["status"] for line in lines] == ["null", "ok", "ok", "null"]
    assert [line.get("length") for line in lines] == [None, 0, 0, None]


def test_a_row_without_columns_and_a_result_without_rows_are_read(read):
    assert read("SELECT FROM generate_series(1, 3)", "SELECT 1 WHERE false", "", "SELECT 'x'")[0]["query"] == 3


def test_values_of_many_rows_are_read_each(read):
    query = "SELECT n::text, repeat(chr(33 + n % 89), n % 300) FROM generate_series(1, 20000) AS n"
    lines = read("--exact", query)
    assert len(lines) == 40000
    for n in range(1, 20001):
        assert is_value(lines[2 * n - 2], str(n).encode(), row=n - 1)
        assert is_value(lines[2 * n - 1], bytes([33 + n % 89]) * (n % 300), row=n - 1)


def test_a_value_above_the_limit_is_refused_unread_and_the_rest_of_the_row_is_right(read):
    query = "SELECT bytes, 'behind it' FROM pieces WHERE size >= 1000000 ORDER BY size"
    lines = read("--limit", 15_999_999, query, "SELECT 'next'")
    assert [line["status"] for line in lines] == ["ok", "ok", "limit", "ok", "limit", "ok", "ok"]
    for refused, size in ((lines[2], 16_000_000), (lines[4], HUGE)):
        assert (refused["announced"], refused["received"], refused["allocations"]) == (size, 0, 0)
    for line in (lines[1], lines[3], lines[5]):
        assert is_value(line, b"behind it")
    assert is_value(lines[6], b"next", query=1)


@pytest.mark.parametrize("memory", [[], ["--exact"]])
def test_a_value_for_which_there_is_no_memory_is_refused_and_the_connection_stays_in_step(read, memory):
    little = (
        "import os, resource, sys; resource.setrlimit(resource.RLIMIT_AS, (60 << 20,) * 2);"
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    query = "SELECT bytes, 'behind it' FROM pieces WHERE size >= 16000000 ORDER BY size"
    lines = read(*memory, query, "SELECT 'next'", under=(sys.executable, "-c", little))
    assert is_value(lines[0], content(16_000_000))
    assert (lines[2]["status"], lines[2]["announced"]) == ("no_memory", HUGE)
    assert is_value(lines[1], b"behind it") and is_value(lines[3], b"behind it") and is_value(lines[4], b"next")


def test_a_value_of_just_the_limit_is_read(read):
    assert is_value(read("--limit", 16_000_000, "--exact", ONE.format(16_000_000))[0], content(16_000_000))


def test_a_cancelled_value_leaves_its_first_bytes_and_the_connection_in_step(read):
    sizes = [16_000_000, 1_000_000, 100, 0, 1_000_000]
    lines = read("--connections", 20, "--cancel-at", 3_000_000, *(ONE.format(size) for size in sizes))
    assert len(lines) == 100
    for line in lines:
        if line["query"] == 0:
            assert 3_000_000 <= line["length"] < 16_000_000
            assert is_value(line, content(line["length"]), status="cancelled")
        else:
            assert is_value(line, content(sizes[line["query"]]))


def test_an_error_is_shown_and_the_next_query_works(read):
    lines = read("SELECT nothing FROM nowhere", "SELEC", "SELECT 'next'", status=1)
    assert [line.get("error") for line in lines[:2]] == [
        'ERROR 42P01: relation "nowhere" does not exist',
        'ERROR 42601: syntax error at or near "SELEC"',
    ]
    assert is_value(lines[2], b"next")


@pytest.mark.parametrize("option", ["--binary", "--simple"])
def test_an_error_after_rows_comes_after_their_values(read, option):
    query = "SELECT repeat('!', n), 1 / (3 - n) FROM generate_series(0, 9) AS n"
    lines = read(option, query, "SELECT 'next'", status=1)
    assert [line["row"] for line in lines[:6]] == [0, 0, 1, 1, 2, 2]
    assert is_value(lines[4], b"!!")
    assert lines[6]["error"] == "ERROR 22012: division by zero"
    assert is_value(lines[7], b"next")


def test_several_statements_and_copies_leave_the_connection_in_step(read):
    copies = "COPY (SELECT words FROM pieces WHERE size = 1000000) TO STDOUT"
    lines = read("--simple", "SELECT 1; SELECT 2", copies, "SELECT 'next'")
    assert [line["query"] for line in lines] == [0, 0, 2]
    lines = read("--simple", "CREATE TEMP TABLE t (a text); COPY t FROM STDIN", "SELECT 'next'", status=1)
    assert "this client sends no data" in lines[0]["error"]
    assert is_value(lines[1], b"next")


def test_fifty_connections_in_one_loop_read_at_the_same_time(read):
    query = "SELECT substr(bytes, 1 + n, 250000 - n) FROM pieces, generate_series(1, 8) AS n WHERE size = 1000000"
    lines = read("--connections", 50, f"{query} ORDER BY n", ONE.format(1_000_000), ONE.format(0))
    expected = [content(1_000_000)[n:250_000] for n in range(1, 9)]
    for number in range(50):
        own = [line for line in lines if line["connection"] == number]
        assert [line["query"] for line in own] == [0] * 8 + [1, 2]
        assert all(is_value(line, data) for line, data in zip(own, [*expected, content(1_000_000), b""]))
    turns = sum(before["connection"] != after["connection"] for before, after in zip(lines, lines[1:]))
    assert turns > 50, "one after the other"


@pytest.mark.parametrize("user", postgres_server.USERS)
def test_each_way_to_log_in_works(read, user):
    password, _ = postgres_server.USERS[user]
    assert is_value(read("SELECT 'in'", user=user, password=password)[0], b"in")


def test_a_wrong_or_missing_password_is_a_clear_error(read):
    for user in ("clear", "scram"):
        refused, lost = read("SELECT 1", user=user, password="wrong", status=1)
        assert refused["error"] == f'FATAL 28P01: password authentication failed for user "{user}"'
        assert lost["lost"] == "the server has closed the connection"
        (lost,) = read("SELECT 1", user=user, status=1)
        assert lost["lost"] == "could not log in: the server asks for a password, and none was given"


def test_a_server_that_is_not_there_is_a_clear_error(read):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        (lost,) = read("SELECT 1", port=unused.getsockname()[1], status=1)
    assert lost["lost"] == "the connection failed: Connection refused"


@pytest.mark.parametrize("memory", ["pooled", "exact"])
def test_a_line_that_gives_1_to_1460_bytes_at_a_time_loses_nothing(read, server, memory):
    def pieces():
        dice = random.Random(5)
        for i in range(20_000):
            time.sleep(0.0001)  # so that the client sees each by itself
            yield 1 if i < 3000 else dice.choice((1, 2, 3, 5, 700, 1459, 1460))

    proxy = Proxy(server.port, pieces)
    try:
        query = "SELECT bytes, words, NULL FROM pieces WHERE size <= 1000000 ORDER BY size"
        lines = read(*(["--exact"] if memory == "exact" else []), query, "SELECT 'next'", port=proxy.port)
    finally:
        proxy.close()
    for row, size in enumerate([*SMALL, 1_000_000]):
        assert is_value(lines[3 * row], content(size)) and is_value(lines[3 * row + 1], words(size))
        assert lines[3 * row + 2]["status"] == "null"
    assert is_value(lines[15], b"next")
    assert sum(line.get("pendings", 0) for line in lines) > 1000
    assert lines[12]["copied"] == 0 and lines[12]["allocations"] == 1


def test_a_value_whose_server_process_is_killed_is_short_and_its_first_bytes_can_be_taken(read, server):
    proxy = Proxy(server.port, hold_at=5_000_000)

    def kill():
        assert proxy.held.wait(timeout=60)
        server.sql("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE usename = 'reader'")
        proxy.go_on()

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        cut, lost = read("--exact", ONE.format(HUGE), "SELECT 'never'", port=proxy.port, status=1)
    finally:
        proxy.close()
        killer.join()
    assert 4_990_000 < cut["length"] < HUGE
    assert is_value(cut, content(cut["length"]), status="short", announced=HUGE, received=cut["length"])
    assert lost["lost"] == "the server has closed the connection"


# ---- a server that lies


def message(kind: bytes, body: bytes, length: int | None = None) -> bytes:
    return kind + struct.pack("!I", len(body) + 4 if length is None else length) + body


READY = message(b"Z", b"I")
LIES = {
    "a message shorter than its own head": message(b"T", b"", 3),
    "a message of 4 GB": message(b"D", b"", 0xFFFFFFFF),
    "a row too short for its count": message(b"D", b"\0"),
    "a field beyond the row": message(b"D", b"\0\1" + struct.pack("!I", 1000) + b"abc"),
    "a field of negative length": message(b"D", b"\0\1" + struct.pack("!i", -2) + bytes(100)),
    "more columns than fields": message(b"D", b"\0\2" + struct.pack("!I", 1) + b"a"),
    "more bytes than columns": message(b"D", b"\0\1" + struct.pack("!I", 1) + b"abc"),
    "an error message of 2 GB": message(b"E", b"", 0x7FFFFFFF),
}


@pytest.fixture
def liar():
    """A server that says `after` to the first query and then closes."""
    listener = socket.create_server(("127.0.0.1", 0))
    threads = []

    def start(after: bytes, login: bytes = message(b"R", bytes(4))) -> int:
        def run():
            connection, _ = listener.accept()
            with connection:
                connection.settimeout(20)
                connection.recv(65536)
                connection.sendall(login + READY)
                connection.recv(65536)
                connection.sendall(after)
                connection.shutdown(socket.SHUT_WR)
                connection.recv(65536)

        threads.append(threading.Thread(target=run))
        threads[-1].start()
        return listener.getsockname()[1]

    yield start
    for thread in threads:
        thread.join()
    listener.close()


@pytest.mark.parametrize("lie", LIES)
def test_a_server_that_lies_about_lengths_is_let_go_of(read, liar, lie):
    lines = read("SELECT 1", port=liar(LIES[lie] + READY), status=1)
    assert lines[-1]["lost"].startswith("the server does not keep to the protocol: ")


def test_an_announcement_of_1_gb_takes_no_memory_for_what_does_not_come(read, liar):
    announced = 1_000_000_000
    row = message(b"D", b"\0\1" + struct.pack("!I", announced) + content(100), announced + 10)
    watched = (
        "import resource, subprocess, sys; status = subprocess.run(sys.argv[1:]).returncode;"
        "sys.exit(status if resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 100_000 else 'too much memory')"
    )
    cut, lost = read("--exact", "SELECT 1", port=liar(row), status=1, under=(sys.executable, "-c", watched))
    assert is_value(cut, content(100), status="short", announced=announced)
    assert lost["lost"] == "the server has closed the connection"


@pytest.mark.parametrize(
    "login, lost",
    [
        (message(b"R", struct.pack("!I", 7)), "a way to log in that this client does not have"),
        (message(b"R", struct.pack("!I", 5) + b"salt"), "MD5"),
        (message(b"R", b"\0\0"), "a way to log in that this client does not have"),
        (message(b"R", struct.pack("!I", 10) + b"SCRAM-SHA-256"), "does not offer SCRAM-SHA-256"),
        (message(b"R", struct.pack("!I", 10) + b"SCRAM-SHA-256\0\0") + message(b"R", bytes(4)), "without proving"),
        (message(b"R", struct.pack("!I", 11) + b"r=a,s=YQ==,i=4096"), "cannot be understood"),
        (message(b"R", struct.pack("!I", 12) + b"v="), "does not know the password either"),
    ],
)
def test_a_server_whose_way_to_log_in_is_wrong_is_let_go_of(read, liar, login, lost):
    lines = read("SELECT 1", port=liar(b"", login), password="secret", status=1)
    assert lines[-1]["lost"].startswith("could not log in: ") and lost in lines[-1]["lost"]


def test_the_client_uses_memory_rightly(read, server):
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        pytest.skip("valgrind is not installed")
    under = (valgrind, "--quiet", "--error-exitcode=99", "--leak-check=full", "--errors-for-leak-kinds=definite")
    all_of_it = "SELECT bytes, words, NULL FROM pieces WHERE size <= 1000000 ORDER BY size"
    queries = [all_of_it, "SELECT nothing", "SELECT 'next'"]
    for options in (["--exact", "--cancel-at", 300_000], ["--text", "--limit", 10_000]):
        lines = read("--connections", 2, *options, *queries, user="scram", password="salted", status=1, under=under)
        assert is_value(lines[-1], b"next")
