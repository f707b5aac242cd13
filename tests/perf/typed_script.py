"""What one would write in an hour instead: one regular expression a kind, typed values, a table of launches.

    python tests/perf/typed_script.py FILE

It knows one version's lines, checks nothing and judges nothing. It is the honest floor that kvforensics has to
beat: it sums the same figures over each second of each rank as the timeline does.
"""

from __future__ import annotations

import json
import re
import sys
from datetime import datetime

_DECODE = re.compile(
    r"\[([-0-9]{10} [:0-9]{8})(?: TP([0-9]+))?\] Decode batch, #running-req: ([0-9]+), #token: ([0-9]+), "
    r"token usage: ([0-9.]+), accept len: ([0-9.]+), accept rate: ([0-9.]+), cuda graph: (True|False), "
    r"gen throughput \(token/s\): ([0-9.]+), #queue-req: ([0-9]+)"
)
_PREFILL = re.compile(
    r"\[([-0-9]{10} [:0-9]{8})(?: TP([0-9]+))?\] Prefill batch, #new-seq: ([0-9]+), #new-token: ([0-9]+), "
    r"#cached-token: ([0-9]+), token usage: ([0-9.]+), #running-req: ([0-9]+), #queue-req: ([0-9]+), "
    r"#pending-token: ([0-9]+), cuda graph: (True|False), input throughput \(token/s\): ([0-9.]+)"
)
_ACCESS = re.compile(r'\[([-0-9]{10} [:0-9]{8})\] INFO: +([0-9.:]+) - "([A-Z]+) (\S+) HTTP/1.1" ([0-9]{3})')
_RETRACT = re.compile(
    r"\[([-0-9]{10} [:0-9]{8})(?: TP([0-9]+))?\] KV cache pool is full.*#retracted_reqs: ([0-9]+)"
)
_SUMMARY = re.compile(
    r"\[([-0-9]{10} [:0-9]{8})(?: TP([0-9]+))?\] max_total_num_tokens=([0-9]+).*context_len=([0-9]+)"
)


def main() -> None:
    """Read the file that the command line names and print what it says."""
    launches: list[dict[str, object]] = []
    seconds: dict[tuple[datetime, int], list[float]] = {}
    statuses: dict[int, int] = {}
    retracted = 0
    with open(sys.argv[1], encoding="utf-8", errors="replace") as log:  # noqa: PTH123 - as one writes it
        for line in log:
            if match := _DECODE.match(line):
                at, rank, running, tokens, usage, _, _, _, tps, queue = match.groups()
                known = seconds.setdefault((datetime.fromisoformat(at), int(rank or 0)), [0.0] * 6)
                known[0] = max(known[0], float(usage))
                known[1] = max(known[1], int(running))
                known[2] = max(known[2], int(queue))
                known[3], known[4] = int(tokens), known[4] + float(tps)
            elif match := _ACCESS.match(line):
                status = int(match[5])
                statuses[status] = statuses.get(status, 0) + 1
            elif match := _PREFILL.match(line):
                at, rank, _, new, _, usage, running, queue, _, _, _ = match.groups()
                known = seconds.setdefault((datetime.fromisoformat(at), int(rank or 0)), [0.0] * 6)
                known[0] = max(known[0], float(usage))
                known[1] = max(known[1], int(running))
                known[2] = max(known[2], int(queue))
                known[5] += int(new)
            elif match := _RETRACT.match(line):
                retracted += int(match[3])
            elif match := _SUMMARY.match(line):
                launches.append({"at": match[1], "pool_tokens": int(match[3]), "context": int(match[4])})
    peak = max((known[0] for known in seconds.values()), default=None)
    print(json.dumps({"launches": launches, "peak": peak, "retracted": retracted, "statuses": statuses}))


if __name__ == "__main__":
    main()
