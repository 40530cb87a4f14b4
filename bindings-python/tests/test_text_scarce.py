"""Text where memory is scarce, and what kept chunks may cost: each program has a process of its own."""

import gc
import subprocess
import sys
import textwrap

import brimful
import pytest


def run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True)
    assert done.returncode == 0, f"{done.returncode}: {done.stderr[-2000:]}"
    return done.stdout.strip()


LEAVE = """
import resource
def leave(size):
    '''So much address space is left from now on.'''
    with open("/proc/self/statm") as pages:
        limit = int(pages.read().split()[0]) * resource.getpagesize() + size
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
"""


@pytest.mark.parametrize("source", ["iter(bytes(1024) for _ in forever())", "itertools.repeat(bytes(100_000))"])
def test_an_endless_source_ends_in_memory_error_and_not_in_the_process_end(source: str) -> None:
    said = run(
        LEAVE
        + f"""
import itertools, brimful
def forever():
    while True:
        yield
leave(300 << 20)
try:
    brimful.collect_text({source})
except MemoryError as error:
    print("MemoryError")
"""
    )
    assert said == "MemoryError"


def test_reads_of_more_than_came_take_a_page_each_for_a_few_of_them_only() -> None:
    said = run(
        """
        import os, brimful
        def reads(times):
            reader, writer = os.pipe()
            for index in range(times):
                os.write(writer, b"%07d." % index * 150)
                yield os.read(reader, 256 << 10)  # a mapping of its own, cut to a page
        most = 0
        def watched():
            global most
            for index, chunk in enumerate(reads(12_000)):
                if index % 1000 == 0:
                    with open("/proc/self/maps") as maps:
                        most = max(most, sum(1 for _ in maps))
                yield chunk
        text = brimful.collect_text(watched())
        assert text == "".join("%07d." % index * 150 for index in range(12_000))
        print(most)
        """
    )
    assert int(said) < 6000


def test_an_exception_of_the_source_comes_out_at_once_without_a_copy_of_what_came() -> None:
    said = run(
        """
        import resource, brimful
        def failing():
            chunk = bytes(1 << 20)
            for _ in range(500):
                yield chunk
            raise KeyError("mine")
        brimful.collect_text([b"warm"])
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            brimful.collect_text(failing())
        except KeyError as error:
            print(error.args[0], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
        """
    )
    name, more = said.split()
    assert name == "mine"
    assert int(more) < 50_000, "kilobytes"


def test_text_that_begins_as_ascii_is_made_in_the_memory_that_it_needs() -> None:
    said = run(
        LEAVE
        + """
import brimful
data = b"a" * 20_000 + "日".encode() * 20_000_000
leave(52 << 20)  # 40 MB are needed, and 60 MB as many characters as bytes
print(len(brimful.collect_text([data])))
"""
    )
    assert said == "20020000"


def test_a_pool_with_a_budget_does_not_hinder_one_object_that_is_the_body() -> None:
    pool = brimful.Pool(budget=1000)
    for source in (iter([b"abc"]), [b"abc"], b"abc"):
        assert brimful.collect_text(source, pool=pool) == "abc"


def test_the_whole_body_is_with_an_error_of_kept_chunks() -> None:
    chunks = [b"%07d." % index * 100 for index in range(3000)]
    with pytest.raises(brimful.EncodingError) as caught:
        brimful.collect_text(iter([*chunks, b"\xff"]))
    assert bytes(caught.value.partial) == b"".join(chunks) + b"\xff"
    assert caught.value.offset == len(b"".join(chunks))


@pytest.mark.parametrize(
    ("chunks", "options"),
    [
        ([b"\x81\xff" * 1000] * 2, {"encoding": "shift_jis"}),
        ([b"ab" * 1000, b"cd" * 1000], {"encoding": "utf-8-sig"}),
        ([b"\xef\xbb\xbf" + b"ab" * 1000, b"cd" * 1000], {"errors": "ignore"}),
    ],
)
def test_codecs_of_python_s_leave_nothing_behind(chunks: list[bytes], options: dict[str, str]) -> None:
    def once() -> None:
        try:
            brimful.collect_text(iter(chunks), **options)  # type: ignore[arg-type]
        except brimful.EncodingError:
            pass

    for _ in range(500):
        once()
    gc.collect()
    blocks, references = sys.getallocatedblocks(), sys.getrefcount(1)
    for _ in range(1000):
        once()
    gc.collect()
    assert sys.getallocatedblocks() - blocks < 300
    assert sys.getrefcount(1) - references < 300
