"""A row at work: a process that is told what to do, line by line (bench/c/worker.c says how)."""

import os
import subprocess
import sys
from pathlib import Path


class Skipped(Exception):
    """A row that cannot run here, by name."""


class Worker:
    def __init__(self, path, row, options, preload):
        environment = dict(os.environ)
        if preload:
            environment["LD_PRELOAD"] = " ".join(map(str, preload))
        arguments = [f"{key}={value}" for key, value in options.items()]
        self.name = f"{path.name} {row} {' '.join(arguments)}"
        self.process = subprocess.Popen([path, row, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env=environment)
        if self.process.stdout.readline().strip() != "ready":
            sys.exit(f"bench: {self.name} does not start")

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if not answer:
            sys.exit(f"bench: {self.name} ended at {command!r}")
        return answer

    def run(self, bodies):
        """ns and page faults per body; 0 bodies: one, with none before it to warm up."""
        took, faults = self.ask(f"run {bodies}" if bodies else "cold").split()
        return float(took), float(faults)

    def resident(self, field):
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
        raise ValueError(field)

    def end(self):
        self.process.stdin.close()
        self.process.wait()
