"""What examples/python/framed.py replaces: a decoder that cannot stop in the middle. It reads fields and chunks in one go,
and where the packets that have come do not suffice, the attempt is given up and made again, from the first packet, when one
more has come. For the benchmark alone; it knows connections of one value.
"""


class Incomplete(Exception):
    """More packets are needed."""


class Replay:
    def __init__(self, packets: memoryview, came: int) -> None:
        self.packets = packets
        self.came = came  # bytes of whole packets that have come
        self.ended = False
        self.position = (0, 0, 0)  # where the attempt reads, bytes left of its packet, of its chunk

    def total(self) -> int:
        at, payload, chunk = self.position
        field = bytearray(8)
        at, payload = self._take(memoryview(field), at, payload)
        self.position = at, payload, chunk
        return int.from_bytes(field, "little")

    def into(self, target: memoryview) -> int:
        """Fills the target, or as much of it as the value has."""
        at, payload, chunk = self.position
        got = 0
        ended = False
        while got < len(target) and not ended:
            if chunk == 0:
                field = bytearray(4)
                at, payload = self._take(memoryview(field), at, payload)
                chunk = int.from_bytes(field, "little")
                ended = chunk == 0
            count = min(chunk, len(target) - got)
            at, payload = self._take(target[got : got + count], at, payload)
            got += count
            chunk -= count
        self.position = at, payload, chunk
        self.ended = ended
        return got

    def _take(self, target: memoryview, at: int, payload: int) -> tuple[int, int]:
        packets, done, length = self.packets, 0, len(target)
        while done < length:
            if payload == 0:
                if at == self.came:
                    raise Incomplete
                payload = int.from_bytes(packets[at + 2 : at + 4], "little") - 8
                at += 8
            count = min(payload, length - done)
            target[done : done + count] = packets[at : at + count]
            at += count
            payload -= count
            done += count
        return at, payload
