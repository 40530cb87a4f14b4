"""The code of docs/recipes.md is code of the examples, word for word, and each of these programs runs."""

import hashlib
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples" / "python"))

from framed import UNKNOWN, Decoder, packets, value  # noqa: E402

PROGRAMS = {
    "c": [ROOT / "build" / "c" / "recipes"],
    "python": [sys.executable, ROOT / "examples" / "python" / "recipes.py"],
    "node": ["node", ROOT / "build" / "node" / "examples" / "recipes.mjs"],
}
CONTENT = hashlib.shake_128(b"recipes").digest(300_000)
VALUES = [CONTENT[:5], None, b"", CONTENT, CONTENT[5:70_005], b"", CONTENT[7:1007], None, CONTENT[1:3]]
FRAMED = [value(data, chunk=9000, total=UNKNOWN if i % 2 else None) for i, data in enumerate(VALUES)]
STREAM = packets(FRAMED, 512)
BAD = packets([value(b"four", total=5), value(b"next")], 512)


def told(number, data):
    return f"{number}: missing" if data is None else f"{number}: {len(data)} bytes, {hashlib.sha256(data).hexdigest()}"


def run(language, stream, *arguments, each=1500):
    """What the program prints; its input comes piece by piece."""
    process = subprocess.Popen([*map(str, PROGRAMS[language]), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def send():
        for at in range(0, len(stream), each):
            process.stdin.write(stream[at : at + each])
            process.stdin.flush()
        process.stdin.close()

    sender = threading.Thread(target=send)
    sender.start()
    out = process.stdout.read().decode()
    sender.join()
    process.stdout.close()
    assert process.wait(timeout=60) == 0
    return out.splitlines()


def test_all_code_of_the_recipes_is_in_the_examples():
    text = (ROOT / "docs" / "recipes.md").read_text()
    found = re.findall(r"\[`(examples/\S+)`\]\(\.\./\1\)\n\n```\w+\n(.*?)```", text, re.DOTALL)
    assert len(found) == text.count("```") // 2 == 9
    for name, code in found:
        assert code in (ROOT / name).read_text(), f"the recipes show another {name}:\n{code}"
    assert {Path(name).suffix for name, _ in found} == {".c", ".py", ".mjs"}
    for link in re.findall(r"\]\(\.\./([^)]+)\)", text):
        assert (ROOT / link).exists(), link


@pytest.mark.parametrize("language", PROGRAMS)
@pytest.mark.parametrize("each", [37, 1500, len(STREAM)])
def test_a_decoder_that_does_not_restart_reads_many_values_on_one_collector(language, each):
    assert run(language, STREAM, each=each) == [told(number, data) for number, data in enumerate(VALUES)]


def test_chunks_of_an_event_emitter_are_decoded_as_they_come():
    assert run("node", STREAM, "events") == [told(number, data) for number, data in enumerate(VALUES)]


def test_a_reader_that_cannot_wait_goes_on_whenever_it_is_called():
    from recipes import Restartless

    pieces = [piece for at in range(0, len(STREAM), 700) for piece in (STREAM[at : at + 700], None)] + [b""]
    reader, came, pauses = Restartless(lambda size: pieces.pop(0), Decoder("pooled")), [], 0
    with pytest.raises(EOFError, match="between two values"):
        while True:
            if reader.go_on():
                got = reader.decoder.take()
                came.append(None if got is None else got.tobytes())
            else:
                pauses += 1
    assert came == VALUES
    assert pauses == -(-len(STREAM) // 700)


@pytest.mark.parametrize("language", PROGRAMS)
def test_a_value_that_is_given_up_does_not_bring_the_next_ones_out_of_step(language):
    process = subprocess.Popen([*map(str, PROGRAMS[language]), "3"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    half = len(packets(FRAMED[:3], 512)) + 150_000  # in the middle of value 3
    process.stdin.write(STREAM[:half])
    process.stdin.flush()
    lines = []
    while not lines or not lines[-1].startswith("2:"):
        lines.append(process.stdout.readline().decode().rstrip("\n"))
    lines.append(process.stdout.readline().decode().rstrip("\n"))
    out, _ = process.communicate(STREAM[half:], timeout=60)
    assert process.returncode == 0
    expected = [told(number, data) for number, data in enumerate(VALUES)]
    expected[3] = "3: cancelled"
    # The program in C tells that it gives up, while it waits, and that the value is cancelled when it has passed by.
    assert [line for line in lines + out.decode().splitlines() if line != "3: given up"] == expected


@pytest.mark.parametrize("language", PROGRAMS)
def test_a_value_that_is_not_as_long_as_was_said_fails_alone(language):
    assert run(language, BAD) == ["0: short", told(1, b"next")]
