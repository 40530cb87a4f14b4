"""Nothing of the interface is without its test: each status is reached by a test that is named after it, and each function
is called from inside a callback."""

import re

import pytest

from interface import ROOT, functions, named_tests, statuses

C = sorted((ROOT / "tests" / "c").glob("test_*.c"))
CPP = sorted((ROOT / "tests" / "cpp").glob("test_*.cpp"))


def in_cpp(status: str) -> str:
    """As brimful.hpp calls it; words of the language have an underscore behind them."""
    name = status.removeprefix("ERR_").lower()
    return rf"(?:status::|errc::|answer::|THROWS\(){name}_?\b"


@pytest.mark.parametrize("status", statuses())
@pytest.mark.parametrize("language", ["c", "cpp"])
def test_each_status_is_reached_by_a_test_of_its_name(status, language):
    files, said = (C, rf"\bBRIMFUL_{status}\b") if language == "c" else (CPP, in_cpp(status))
    begins = f"status_{status.removeprefix('ERR_').lower()}_"
    own = [body for name, body in named_tests(files).items() if re.match(rf"{begins}(is|has)_", name)]
    assert own, f"no test in {language} is named {begins}is_..."
    assert any(re.search(said, body) for body in own), f"the test that is named {begins}... says nothing of {said}"


def test_each_function_is_called_from_inside_a_callback():
    text = (ROOT / "tests" / "c" / "test_callback.c").read_text()
    inside = re.search(r"^static brimful_status calls_everything\(.*?^\}", text, re.MULTILINE | re.DOTALL)[0]
    missing = [name for name in functions() if not re.search(rf"\b{name}\(", inside)]
    assert not missing, f"tests/c/test_callback.c, calls_everything: {', '.join(missing)}"
