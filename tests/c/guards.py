"""Guards speed without a clock: what small pieces of work cost in instructions, what bodies cost in memory.

    guards.py DRIVER            compares with guards.json; exit status 1 if anything got worse
    guards.py DRIVER --bless    writes what is seen now into guards.json

Instructions are those of libbrimful.so alone, counted by callgrind: what libc does for a copy depends on the processor.
They depend on the compiler, so guards.json names it; with another one they are told as skipped, as where there is no
valgrind. What the library says of allocations, bytes allocated, copied, held at most and left over is compared exactly.
"""

import argparse
import json
import platform
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

REFERENCES = Path(__file__).with_suffix(".json")
TOLERANCE = 0.03
ROUNDS = 200
LONG = {"push of 1 B": 100_000}  # so that growing is in it in its share
BLESS = "if that is meant: make guards BLESS=1, and say in the commit what it buys"


def compiler():
    said = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout
    return re.match(r"rustc (\d+\.\d+)", said)[1] + " " + platform.machine()


def instructions(driver, work):
    """Instructions within libbrimful.so of one piece of work."""
    rounds = LONG.get(work, ROUNDS)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind"
        subprocess.run(["valgrind", "--quiet", "--tool=callgrind", "--collect-atstart=no", "--toggle-collect=counted",
                        f"--callgrind-out-file={out}", driver, work, str(rounds)], check=True)
        return round(of_library(out.read_text()) / rounds, 1)


def of_library(profile):
    """The sum of the own costs of all functions of the library in a profile in callgrind's format."""
    names, counts, total, inside, callee = {}, False, 0, False, False
    for line in profile.splitlines():
        if line.startswith("events:"):
            counts = True
        elif line.startswith(("ob=", "cob=")):
            key, _, name = line.split("=", 1)[1].partition(" ")
            names.setdefault(key, name)  # the name is told once, then its number alone
            if line.startswith("ob="):
                inside = "libbrimful.so" in names[key]
        elif line.startswith("calls="):
            callee = True  # the next line is what the callee cost
        elif counts and line[:1] in set("0123456789+-*"):
            if inside and not callee:
                total += int(line.split()[-1])
            callee = False
    return total


def works(driver):
    return subprocess.run([driver], capture_output=True, text=True, check=True).stdout.splitlines()


def see(driver):
    """What is seen now, and what could not be looked at."""
    seen, skipped = {"compiler": compiler()}, []
    if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        return seen, ["all of them (the address space is limited, which changes where bodies lie)"]
    said = subprocess.run([driver, "numbers"], capture_output=True, text=True, check=True).stdout
    seen["numbers"] = json.loads(said)
    if shutil.which("valgrind"):
        seen["instructions"] = {work: instructions(driver, work) for work in works(driver)}
    else:
        skipped.append("the counts of instructions (valgrind is not installed)")
    return seen, skipped


def compare(seen, references):
    """What got worse, what got better, what was skipped: three lists of sentences."""
    worse, better, skipped = [], [], []
    if "instructions" in seen and seen["compiler"] != references["compiler"]:
        skipped.append(f"the counts of instructions (references are of rustc {references['compiler']}, this is {seen['compiler']})")
    else:
        for work, count in seen.get("instructions", {}).items():
            held = references["instructions"].get(work)
            if held is None:
                worse.append(f"{work}: no reference, {count} instructions seen")
            elif abs(count - held) > TOLERANCE * held:
                sentence = f"{work}: {count} instructions instead of {held}, {100 * (count - held) / held:+.1f} %"
                (worse if count > held else better).append(sentence)
    for body, now in seen.get("numbers", {}).items():
        held = references["numbers"].get(body, {})
        for name, value in now.items():
            if name not in held:
                worse.append(f"{body}: no reference for {name}, {value} seen")
            elif value != held[name]:
                (worse if value > held[name] else better).append(f"{body}: {name} {value} instead of {held[name]}")
    for kind in ("instructions", "numbers"):
        for name in references[kind].keys() - seen.get(kind, references[kind]).keys():
            worse.append(f"{name}: has a reference and was not seen")
    return worse, better, skipped


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("driver", help="the program built from guard.c")
    parser.add_argument("--bless", action="store_true", help="make what is seen now the reference")
    arguments = parser.parse_args()
    seen, skipped = see(arguments.driver)
    if arguments.bless:
        if skipped:
            sys.exit("".join(f"guards: not seen - {each}\n" for each in skipped) + "guards: nothing was written")
        REFERENCES.write_text(json.dumps(seen, indent=1).replace('": {\n   "', '": {"').replace(',\n   "', ', "').replace("\n  }", "}") + "\n")
        print(f"guards: {REFERENCES} is what was seen now")
        return
    worse, better, more = compare(seen, json.loads(REFERENCES.read_text()))
    for each in skipped + more:
        print(f"skipped - guards: {each}")
    for each in better:
        print(f"better - {each}")
    if better:
        print("guards: make guards BLESS=1 lowers the references, so that this cannot be lost unseen")
    for each in worse:
        print(f"worse - {each}")
    if worse:
        sys.exit(f"guards: {len(worse)} got worse by more than allowed ({TOLERANCE:.0%} of instructions, no byte of memory); {BLESS}")
    print(f"guards: {len(seen.get('instructions', {}))} pieces of work and {len(seen.get('numbers', {}))} bodies as before or better")


if __name__ == "__main__":
    main()
