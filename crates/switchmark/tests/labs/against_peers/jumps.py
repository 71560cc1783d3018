"""jumpavg as an online detector: groups the latest values after every tenth repetition.

Reads one JSON object a line, {"values": [...], "from": N, "to": N, "difference": bool}, and prints
for each the list of [repetition, jump] where the last value's group is not the first: by how much
that group's average differs from the one before, as a share or as a difference.
"""

import json
import sys

from jumpavg import classify

WINDOW = 24

for line in sys.stdin:
    told = json.loads(line)
    values = told["values"]
    found = []
    for at in range(max(told["from"], WINDOW), told["to"]):
        if at % 10:
            continue
        groups = classify(values[at - WINDOW + 1 : at + 1])
        if len(groups) < 2:
            continue
        new, old = groups[-1].stats.avg, groups[-2].stats.avg
        jump = abs(new - old) if told["difference"] else abs(new / old - 1.0)
        found.append([at, jump])
    print(json.dumps(found), flush=True)
