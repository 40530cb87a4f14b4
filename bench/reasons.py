"""Why a target is missed: a sentence or two for each, shown where one of its lines is missed. Written by hand, so to be
read again whenever the engine changes; counts of instructions are those of `make guards`.
"""

REASONS = {
    "T1": "A small body costs 2,282 instructions in the library whatever its size. From 100 kB on, 20 kB are moved out of the "
          "first block into the one that grows.",
    "T2": "A small body costs 1,338 instructions in the library. At 100 MB a quarter is collected before the announcement is "
          "believed (E8), and moved then.",
    "T3": "The body is collected in a block that grows and copied once at the end: a second pass over its bytes and fresh "
          "memory for all of them, where realloc mostly stays in place.",
    "T4": "As T3: the copy at the end, into fresh memory.",
    "T5": "The 424 B are the handles of the collector and the buffer, from malloc; no block is allocated. At 100 MB the default "
          "pool keeps 64 MiB of the block, the rest is fresh each time, and the result besides.",
    "T6": "Going on after a pause costs 468 instructions in the library, which shows at 512 B. Beyond that the differences are "
          "those of the cache and of other programs.",
    "T7": "A push costs 296 instructions in the library; in Python and Node the call into it comes besides.",
    "T8": "The pool has one lock, which is only tried: of two threads that meet one takes fresh memory. How far two threads get "
          "on this machine without any pool stands beside.",
    "T9": "The block and the exact result are held together while the one is copied into the other.",
    "T12": "Where a language's own memory management moves: see the resident memory of each in the report.",
    "T13": "Exact results of unknown length: the copy at the end, as T3. The rest at 10 MB and below is the kernel's copy, and "
           "within what two runs differ by.",
    "T14": "Exact results of unknown length are collected and then copied, as T3, so allocated, held and copied are about twice "
           "what realloc needs where it stays in place.",
    "burst": "A pool of 64 MiB keeps 64 of the 1000 MiB; the rest is mapped, touched and given back again in each round.",
}
