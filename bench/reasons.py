"""Why a target is missed: a sentence or two for each, shown where one of its lines is missed. Written by hand, so to be
read again whenever the engine changes; counts of instructions are those of `make guards`.
"""

REASONS = {
    "T1": "A small body costs about 2,500 instructions in the library whatever its size (`tests/c/guards.json`), spread over some "
          "twenty functions of which none has more than 400; recycled handles, an uncounted default pool and fewer looks at the "
          "clock took 13 ns of it, shards gave some back. Just below and above 16 MiB the ratio moves with the cache: at 16 MiB "
          "itself, between them, it is reached.",
    "T2": "A small body costs 1,280 instructions in the library: 69 to 104 ns beside 8 to 60. At 64 MiB and more what comes "
          "before a quarter of the length lies in the heap or in small pages, and is moved when the announcement is believed (E8).",
    "T3": "Small: as T1, and the copy to the exact size. Beginning in malloc's memory instead was tried and left, see "
          "docs/design/growth.md. 100 kB to 10 MB: the first block's 16 KiB are moved, and the last realloc shrinks, which the best "
          "peers, BytesMut and evbuffer, leave out. 16 MiB and one byte more: the result leaves the heap for a mapping of its own, "
          "which is copied to once. From 64 MiB on half of what realloc takes: 4 MiB in small pages, then the kernel clears what "
          "was given back before.",
    "T4": "Small known bodies: as T2. Above 64 MiB memory is fresh for each body, and the kernel clears it.",
    "T5": "Bytes allocated count what is asked for, so the last doubling of a result of unknown length counts whole, though only "
          "N bytes are touched (T9) and the rest is given back. 16 MiB: as T3.",
    "T6": "Going on after a pause costs 480 instructions in the library, which shows at 512 B. Beyond that the differences are "
          "those of the cache and of other programs.",
    "T7": "A push costs 104 instructions in the library; in Python and Node the call into it comes besides.",
    "T8": "Two threads that hand bodies over meet at one shard's lock, which is only tried: who finds it taken takes fresh memory.",
    "T9": "Not missed on the machine that this was written on.",
    "T12": "Where a language's own memory management moves: see the resident memory of each in the report.",
    "T13": "At 10 MB and below the kernel's copy is all the cost, and the rest is within what two runs differ by; files of 1 kB "
           "pay for the question how large they are. Exact results of 100 MB on pipes: the kernel clears their pages.",
    "T14": "A body of 10 kB of unknown length is collected in 16 KiB and copied to its size, so that a small result that is kept "
           "does not sit at the start of a large hole; peers that realloc from 64 B on hold less. Larger ones: the last doubling "
           "counts whole, as T5.",
    "burst": "A pool of 64 MiB keeps 64 of the 1000 MiB; the rest is mapped, touched and given back again in each round.",
}
