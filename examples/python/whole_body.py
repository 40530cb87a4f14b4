import sys
import urllib.request

import brimful

with urllib.request.urlopen(sys.argv[1]) as response:
    data = brimful.collect(response, limit=100_000_000)  # cut short: ShortError, larger: LimitError
print(len(data), "bytes")
