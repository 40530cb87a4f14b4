"""Runs the canaries of one kind of build: each must be reported, in the words and by the function that are expected.

    python3 canaries.py KIND PROGRAM      KIND: address, thread, valgrind
"""

import re
import subprocess
import sys

# What the report says, and one of the functions that it names: where on which side of the interface it was seen.
POISONED = "AddressSanitizer: use-after-poison"
OVERFLOW = "AddressSanitizer: heap-buffer-overflow"
LEAK = "LeakSanitizer: detected memory leaks"
RACE = "ThreadSanitizer: data race"

CANARIES = {
    "address": {
        "stale_small": (POISONED, "look_after_release"),
        "stale_range": (POISONED, "look_after_release"),
        "stale_in_a_list": (POISONED, "look_after_release"),
        "stale_in_own_memory": (POISONED, "look_after_release"),
        "write_into_a_kept_window": (POISONED, "write_into_a_kept_window"),
        "write_beyond_a_window": (POISONED, "gives_too_much"),
        "write_beyond_a_reserved_window": (POISONED, "write_beyond_a_reserved_window"),
        "write_beyond_a_queues_window": (POISONED, "write_beyond_a_queues_window"),
        "too_few_places_for_pieces": (OVERFLOW, "ffi/src/buffer.rs"),
        "too_little_room_for_a_copy": (OVERFLOW, "core/src/buffer.rs"),
        "use_a_freed_collector": ("AddressSanitizer: heap-use-after-free", "core/src/handle.rs"),
        # Rust's own checks.
        "copy_that_overlaps": ("unsafe precondition.* violated: ptr::copy_nonoverlapping", "panic"),
        "leaked_buffer": (LEAK, "core/src/memory/mod.rs"),
        "leaked_exact_result": (LEAK, "core/src/memory/malloc.rs"),
        "signed_overflow": ("runtime error: signed integer overflow", "signed_overflow"),
    },
    "thread": {
        "race_on_a_collector": (f"{RACE}|ThreadSanitizer: heap-use-after-free", "ffi/src/collector.rs"),
        "race_on_a_target": (RACE, "core/src/body.rs"),
        "race_on_a_buffer": (RACE, "core/src/buffer.rs"),
        "race_on_a_queue": (RACE, "ffi/src/queue.rs"),
    },
    "valgrind": {
        "uninitialised_read": ("depends on uninitialised value", "uninitialised_read"),
        "use_a_freed_collector": ("Invalid write|Invalid read", "brimful_collector_is_complete"),
        "leaked_buffer": ("definitely lost", "brimful_collect"),
    },
}

MEMCHECK = "valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite".split()


def missed(command: list[str], said: str, seen_at: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=120)
    report = done.stdout + done.stderr
    if done.returncode == 0:
        return f"exit status 0\n{report}"
    for pattern in (said, seen_at):
        if re.search(pattern, report) is None:
            return f"no {pattern!r} in its report\n{report}"
    return ""


def main(kind: str, program: str) -> int:
    prefix = MEMCHECK if kind == "valgrind" else []
    caught = failed = 0
    for name, (said, seen_at) in CANARIES[kind].items():
        why = missed([*prefix, program, name], said, seen_at)
        caught, failed = caught + (not why), failed + bool(why)
        print(f"{'MISSED' if why else 'ok'} - {kind}: {name.replace('_', ' ')}{why and ': ' + why}")
    print(f"canaries of {kind}: {caught} caught, {failed} missed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
