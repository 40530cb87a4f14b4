"""NULL in place of every pointer, and the largest numbers in place of every size, of every function that brimful.h declares,
with good values for all the others. Nothing crashes; where NULL has no meaning the answer is INVALID, or nothing.

The program is written from the header, so that no function and no parameter can be forgotten.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from interface import ROOT, functions

PREFIX = ROOT / "dist" / "prefix"
INVALID = -1

# A good value of each parameter's type; of what a type does not say, by function and name.
VALUES = {
    "brimful_pool *": "pool",
    "const brimful_pool *": "pool",
    "const brimful_options *": "&options",
    "brimful_options *": "&options",
    "const brimful_pool_options *": "&pool_options",
    "brimful_pool_options *": "&pool_options",
    "brimful_read_fn": "ends",
    "const brimful_allocator *": "&allocator",
    "brimful_collector *": "collector",
    "const brimful_collector *": "collector",
    "brimful_buffer *": "buffer",
    "const brimful_buffer *": "buffer",
    "brimful_queue *": "queue",
    "const brimful_queue *": "queue",
    "brimful_cancel *": "cancel",
    "brimful_buffer **": "&a_buffer",
    "brimful_collector **": "&a_collector",
    "brimful_pool **": "&a_pool",
    "brimful_cancel **": "&a_cancel",
    "brimful_queue **": "&a_queue",
    "void **": "&a_pointer",
    "const void **": "&a_view",
    "char **": "&a_text",
    "const char *": '"utf-8"',
    "size_t *": "&a_size",
    "uint64_t *": "&a_number",
    "brimful_slice *": "slices",
    "brimful_info *": "&info",
    "brimful_pool_statistics *": "&statistics",
    "const void *": "bytes",
    "void *": "bytes",
    "size_t": "4",
    "uint64_t": "4",
    "uint32_t": "0",
    "int32_t": "file",
    "brimful_status": "0",
}
SPECIAL = {
    ("brimful_collector_commit", "filled"): "0",
    ("brimful_queue_commit", "filled"): "0",
    ("brimful_queue_skip", "length"): "0",
    ("brimful_options_init", "size"): "sizeof options",
    ("brimful_pool_options_init", "size"): "sizeof pool_options",
    ("brimful_buffer_slice", "offset"): "1",
    ("brimful_buffer_slice", "length"): "2",
    ("brimful_memory_free", "memory"): "malloc(1)",
}
# NULL means something: the default, nothing wanted, nothing to do.
MEANS = {"pool", "options", "context", "allocator", "rest", "taken", "encoding", "error_offset", "memory"}
# These have nothing to say INVALID with; they do and count nothing.
SILENT = {
    "brimful_buffer_copy", "brimful_buffer_length", "brimful_buffer_release", "brimful_buffer_retain", "brimful_buffer_segment_count",
    "brimful_buffer_segments", "brimful_buffer_truncated", "brimful_cancel_release", "brimful_cancel_retain", "brimful_cancel_trigger",
    "brimful_collector_copy", "brimful_collector_free", "brimful_collector_segments", "brimful_options_init", "brimful_pool_options_init",
    "brimful_pool_release", "brimful_queue_free", "brimful_queue_length",
}
# The call takes the object away.
TAKES = {"brimful_buffer_release": "buffer", "brimful_cancel_release": "cancel", "brimful_collector_free": "collector",
         "brimful_pool_release": "pool", "brimful_queue_free": "queue"}  # fmt: skip
# No number is too large for what is only compared with what there is; a struct's size is the caller's word for it.
HUGE = ["SIZE_MAX", "SIZE_MAX - 1", "(size_t)PTRDIFF_MAX + 1", "SIZE_MAX / 2 + 4096"]
TOLD_SIZE = {("brimful_options_init", "size"), ("brimful_pool_options_init", "size")}

BEGIN = """
#include <brimful.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static brimful_status ends(void *context, void *window, size_t room, size_t *filled)
{ (void)context; (void)window; (void)room; (void)filled; return BRIMFUL_OK; }
static void *allocate(void *context, size_t size) { (void)context; return malloc(size); }
static void deallocate(void *context, void *memory, size_t size) { (void)context; (void)size; free(memory); }
static const brimful_allocator allocator = { sizeof allocator, allocate, NULL, deallocate, NULL };

static brimful_pool *pool, *a_pool; static brimful_collector *collector, *a_collector; static brimful_buffer *buffer, *a_buffer;
static brimful_queue *queue, *a_queue; static brimful_cancel *cancel, *a_cancel;
static brimful_options options; static brimful_pool_options pool_options;
static brimful_info info; static brimful_pool_statistics statistics; static brimful_slice slices[4];
static char bytes[64]; static void *a_pointer; static const void *a_view; static char *a_text; static size_t a_size;
static uint64_t a_number; static int file;

static void begin(void)
{
  brimful_options_init(&options, sizeof options);
  brimful_pool_options_init(&pool_options, sizeof pool_options);
  info.struct_size = sizeof info; statistics.struct_size = sizeof statistics;
  file = open("/dev/null", O_RDONLY);
  brimful_pool_new(NULL, &pool); brimful_cancel_new(&cancel); brimful_queue_new(pool, 1000, &queue);
  brimful_queue_write(queue, "abcd", 4, &a_size);
  brimful_collector_new(pool, NULL, &collector);
  brimful_collector_write(collector, "abcd", 4, NULL);
  brimful_collector_take_partial(collector, &buffer);
  brimful_collector_reset(collector, NULL);
  a_pool = NULL; a_collector = NULL; a_buffer = NULL; a_queue = NULL; a_cancel = NULL; a_pointer = NULL; a_text = NULL;
}

static void end(void)
{
  brimful_buffer_release(a_buffer); brimful_collector_free(a_collector); brimful_queue_free(a_queue); brimful_cancel_release(a_cancel);
  brimful_pool_release(a_pool);
  brimful_buffer_release(buffer); brimful_collector_free(collector); brimful_queue_free(queue); brimful_cancel_release(cancel);
  brimful_pool_release(pool); free(a_text);
  buffer = NULL; collector = NULL; queue = NULL; cancel = NULL; pool = NULL;
  close(file);
}
"""


def cases() -> list[tuple[str, str, str, str]]:
    """Function, parameter, value, and the call."""
    found = []
    for function, parameters in functions().items():
        good = [SPECIAL.get((function, name), VALUES.get(type_)) for type_, name in parameters]
        assert None not in good, f"{function}: no good value for {parameters[good.index(None)]}"
        for index, (type_, name) in enumerate(parameters):
            if "*" in type_ or type_ == "brimful_read_fn":
                values = ["NULL"]
            elif type_ in ("size_t", "uint64_t") and (function, name) not in TOLD_SIZE:
                values = HUGE
            else:
                values = []
            for value in values:
                arguments = ", ".join(good[:index] + [value] + good[index + 1 :])
                found.append((function, name, value, f"{function}({arguments})"))
        assert parameters or function in ("brimful_pool_default", "brimful_version", "brimful_version_number")
    return found


def means_something(function: str, name: str) -> bool:
    """Whether NULL does; where a result is to go to, only for those that need not be wanted."""
    is_result = dict((parameter, type_) for type_, parameter in functions()[function])[name].endswith("**") and name != "rest"
    return name in MEANS and not is_result and (function, name) != ("brimful_queue_move", "taken")


def answers_nothing(function: str) -> bool:
    header = (ROOT / "include" / "brimful.h").read_text()
    return re.search(rf"^void {function}\(", header, re.MULTILINE) is not None


def program() -> str:
    text = BEGIN.replace("#include <string.h>", "#include <string.h>\n#include <unistd.h>")
    calls = []
    for index, (function, name, value, call) in enumerate(cases()):
        # Said before, so that the last line names what crashed.
        told = f'printf("{function} {name}={value}: "); fflush(stdout); begin();'
        taken = f"{TAKES[function]} = NULL;" if function in TAKES and value != "NULL" else ""
        made = f'{call}; printf("0\\n");' if answers_nothing(function) else f'printf("%ld\\n", (long){call});'
        text += f"static void call_{index}(void) {{ {told} {made} {taken} end(); }}\n"
        calls.append(f"call_{index}();")
    return text + "int main(void) { " + " ".join(calls) + " return 0; }\n"


@pytest.fixture(scope="module")
def answers(tmp_path_factory) -> dict[tuple[str, str, str], int]:
    if shutil.which("gcc") is None:
        pytest.skip("NULL in place of every pointer (gcc is not installed)")
    folder: Path = tmp_path_factory.mktemp("arguments")
    (folder / "arguments.c").write_text(program())
    link = [f"-I{PREFIX}/include", f"-L{PREFIX}/lib", f"-Wl,-rpath,{PREFIX}/lib", "-lbrimful"]
    subprocess.run(["gcc", "-std=gnu11", "-g", "-Wall", "-Werror", "arguments.c", "-o", "arguments", *link], cwd=folder, check=True)
    done = subprocess.run([folder / "arguments"], capture_output=True, text=True, timeout=120)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, f"crashed: {lines[-1] if lines else done.stderr}"
    found = {}
    for line in lines:
        function, name, value, answer = re.fullmatch(r"(\w+) (\w+)=(.*): (-?\d+)", line).groups()
        found[function, name, value] = int(answer)
    return found


def test_every_parameter_was_tried(answers):
    assert set(answers) == {case[:3] for case in cases()}
    assert {function for function, _, _ in answers} >= {name for name, parameters in functions().items() if any("*" in type_ for type_, _ in parameters)}


def test_null_is_invalid_where_it_has_no_meaning(answers):
    wrong = []
    for (function, name, value), answer in answers.items():
        if value != "NULL" or means_something(function, name):
            continue
        expected = 0 if function in SILENT else INVALID
        if answer != expected:
            wrong.append(f"{function}: {name} NULL: {answer}, expected {expected}")
    assert not wrong, "\n".join(wrong)


def test_null_where_it_means_something_is_no_error(answers):
    wrong = [f"{key}: {answer}" for key, answer in answers.items() if key[2] == "NULL" and means_something(*key[:2]) and answer < 0]
    assert not wrong, "\n".join(wrong)


def test_the_largest_numbers_are_answered_and_never_wrap(answers):
    """Lengths of memory that cannot be are INVALID; offsets behind the end count nothing; wishes and capacities are cut."""
    tried = {key: answer for key, answer in answers.items() if key[2] in HUGE}
    assert len(tried) > 60
    for (function, name, value), answer in tried.items():
        if (function, name) in {("brimful_collector_write", "length"), ("brimful_queue_write", "length"), ("brimful_queue_skip", "length"),
                                ("brimful_collect_into", "capacity"), ("brimful_collector_new_into", "capacity"),
                                ("brimful_buffer_slice", "offset"), ("brimful_buffer_slice", "length")}:  # fmt: skip
            assert answer == INVALID, (function, name, value)
        elif name in ("offset", "first"):
            assert answer == 0, (function, name, value)
        else:
            assert -14 <= answer <= 4, (function, name, value, answer)
