"""Reads one value over many packets in the ways that measure.py asks for; the commands are those of worker.c."""

import ctypes
import json
import sys
from pathlib import Path
from time import perf_counter_ns

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "examples" / "python"))

from framed import UNKNOWN, Decoder  # noqa: E402
from replay import Incomplete, Replay  # noqa: E402

PIECES = [65521, 32749, 16381, 8191, 4093, 2039, 1021]


class Counts(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("allocations", "allocated", "peak", "copied")]


library = ctypes.CDLL(None)
begin = getattr(library, "counts_begin", lambda: None)
end = getattr(library, "counts_end", lambda counts: None)


class Worker:
    def load(self, packets, content, size):
        self.packets = bytearray(Path(packets).read_bytes())
        self.view = memoryview(self.packets)
        self.expected = memoryview(Path(content).read_bytes())
        self.length, self.size = len(self.expected), int(size)
        return {}

    def read(self, way, use, stops, stride, repeats):
        took = sum(self.run(way, use, int(stops), int(stride)) for _ in range(int(repeats)))
        return {"ns": round(took / int(repeats))}

    def count(self, way, use, stops, stride):
        self.run(way, use, int(stops), int(stride))
        return self.seen

    def check(self, way, use, stops):
        self.shown = []
        self.run(way, use, int(stops), 0, lambda data: self.shown.append(bytes(data)))
        return {"right": b"".join(self.shown) == self.expected}

    def run(self, way, use, stops, stride, show=lambda data: None):
        """ns for one value."""
        is_replay = way in ("replay", "cached")
        self.packets[8:16] = (UNKNOWN if way == "exact-unknown" else self.length).to_bytes(8, "little")
        if is_replay and use == "whole":
            return self.replay_whole(stops, stride, way == "cached", show)
        counts = Counts()
        begin()
        started = perf_counter_ns()
        if is_replay:
            self.replay_pieces(stops, way == "cached", show)
        else:
            self.ours("pooled" if way == "pooled" else "bytes", use, stops, show)
        took = perf_counter_ns() - started
        end(ctypes.byref(counts))
        self.seen = {name: getattr(counts, name) for name in ("allocations", "allocated", "copied")}
        return took

    def replay_whole(self, stops, stride, keeps, show):
        """How long all attempts take, of which each stride-th is made; 0: only the last."""
        took, last = 0, -(-len(self.packets) // self.size)
        target = bytearray(self.length) if keeps else None
        self.seen = {"allocations": int(keeps), "allocated": self.length * keeps, "copied": 0}
        counts = Counts()
        for i in range(1 if stops else last, last + 1):
            if i < last and (stride == 0 or i % stride != stride // 2):
                continue
            stands_for = 1 if i == last else stride
            begin()
            started = perf_counter_ns()
            try:
                replay = Replay(self.view, min(i * self.size, len(self.packets)))
                total = replay.total()
                if not keeps:
                    target = bytearray(total)
                replay.into(memoryview(target))
                if replay.into(memoryview(bytearray(1))) != 0:
                    raise AssertionError("the value goes on")
            except Incomplete:
                pass
            took += (perf_counter_ns() - started) * stands_for
            end(ctypes.byref(counts))
            for name in self.seen:
                self.seen[name] += getattr(counts, name) * stands_for
        show(target)
        return took

    def replay_pieces(self, stops, keeps, show):
        """Each piece has attempts of its own, from where the last piece ended."""
        replay, index, at = Replay(self.view, 0 if stops else len(self.packets)), 0, 0
        cached = memoryview(bytearray(PIECES[0]))
        begun = False
        while not replay.ended:
            size = PIECES[index % len(PIECES)]
            position = replay.position
            piece = cached[:size] if keeps else memoryview(bytearray(size))
            try:
                if not begun:
                    replay.total()
                got = replay.into(piece)
            except Incomplete:
                replay.position = position
                replay.came = min(replay.came + self.size, len(self.packets))
                continue
            begun = True
            show(piece[:got])
            at += got
            index += 1

    def ours(self, result, use, stops, show):
        decoder, fed, view = Decoder(result), 0, self.view
        each = self.size if stops else len(view)
        if use == "pieces":
            target, at, index = memoryview(bytearray(PIECES[0])), 0, 0
            collector = decoder.collector
            while at < self.length:
                have, want = 0, min(PIECES[index % len(PIECES)], self.length - at)
                while True:
                    have += collector.copy(at + have, target[have:want])
                    if have == want:
                        break
                    fed += decoder.feed(view[fed : fed + each])
                show(target[:want])
                at += want
                index += 1
        while not decoder.ended:
            fed += decoder.feed(view[fed : fed + each])
        if use == "whole":
            value = decoder.take()
            if result == "bytes":
                show(value)
            else:
                with value, memoryview(value) as shown:
                    show(shown)


worker = Worker()
for line in sys.stdin:
    command, *arguments = line.split()
    print(json.dumps(getattr(worker, command)(*arguments)), flush=True)
