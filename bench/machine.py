"""What this was measured on: the machine, and the version of everything that was measured."""

import os
import platform
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent


def version(*command):
    try:
        said = subprocess.run(command, capture_output=True, text=True)
        return (said.stdout or said.stderr).splitlines()[0] if said.returncode == 0 else None
    except OSError:
        return None


def package(name):
    return version("dpkg-query", "-W", "-f", "${Version}\n", name)


def machine():
    cpu = [line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    lock = (HERE / "rust" / "Cargo.lock").read_text().split("[[package]]")
    crates = {part.split('"')[1]: part.split('"')[3] for part in lock[1:]}
    huge = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    return {
        "cpu": cpu[0] if cpu else platform.machine(), "cores": os.cpu_count(), "kernel": platform.release(),
        "huge_pages": huge.read_text().split("[")[1].split("]")[0] if huge.exists() else None,
        "libc": " ".join(platform.libc_ver()), "load_at_start": os.getloadavg()[0],
        "versions": {
            "gcc": version("gcc", "--version"), "rustc": version("rustc", "--version"), "go": version("go", "version"),
            "libevent": package("libevent-dev"), "GLib": package("libglib2.0-dev"), "APR-util": package("libaprutil1-dev"),
            "Boost": package("libboost-dev"), "mimalloc": package("libmimalloc2.0"),
            "libcurl": package("libcurl4-openssl-dev"),
            "bytes": crates.get("bytes"), "http-body-util": crates.get("http-body-util"),
        },
    }
