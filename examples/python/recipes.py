"""The code of docs/recipes.md: reads a connection of values over many packets (framed.py) from stdin and tells each value's
length and SHA-256. Value number N, where it is given, is given up when it has not come within a while.

    python recipes.py [N] < CONNECTION
"""

import asyncio
import hashlib
import sys
from collections.abc import Callable
from typing import Any

import brimful
from framed import Connection, Decoder

PATIENCE = 0.3  # seconds


class Restartless:
    """For a connection that does not block and whose reader cannot wait: a selector calls `go_on` when it is readable."""

    def __init__(self, receive: Callable[[int], bytes | None], decoder: Decoder) -> None:
        self.receive = receive  # None: nothing more now; b"": the end
        self.decoder = decoder
        self.rest = memoryview(b"")

    def go_on(self) -> bool:
        """True: a value has ended, take() gives it. False: nothing more now; what has come is used, call again."""
        while True:
            while self.rest:
                self.rest = self.rest[self.decoder.feed(self.rest) :]
                if self.decoder.ended:
                    return True
            chunk = self.receive(65536)
            if chunk is None:
                return False
            if not chunk:
                raise EOFError("between two values" if self.decoder.between else "within a value")
            self.rest = memoryview(chunk)


def tell(number: int, value: brimful.PooledBuffer | None) -> None:
    if value is None:  # not the same as an empty one
        print(f"{number}: missing", flush=True)
        return
    with value:  # its memory serves the values after it
        print(f"{number}: {len(value)} bytes, {hashlib.sha256(value).hexdigest()}", flush=True)


async def tell_all(connection: Connection, unwanted: int | None) -> None:
    for number in range(sys.maxsize):
        try:
            # A value that is given up is passed over by the next call, which waits for its own.
            async with asyncio.timeout(PATIENCE if number == unwanted else None):
                tell(number, await connection.value())
        except TimeoutError:
            print(f"{number}: cancelled", flush=True)
        except brimful.Error as error:  # this value alone: too large, or not as long as was said
            print(f"{number}: {error.status}", flush=True)
        except EOFError:
            return


async def main(arguments: list[str]) -> None:
    stream: Any = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stream), sys.stdin)
    decoder = Decoder("pooled", limit=100_000_000)  # of each value
    await tell_all(Connection(stream, decoder), int(arguments[0]) if arguments else None)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
