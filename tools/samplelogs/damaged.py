"""The incident's first two starts as they often arrive: exported without `-a`, and hurt on the way."""

from __future__ import annotations

import json
from datetime import timedelta

from samplelogs.incident import incident
from samplelogs.journal import Journal, moment


def damaged() -> bytes:
    """Return journal JSON whose `server_args=` lines are null, with a gap, a torn record and bad bytes.

    What is left proves less: the settings come from the command lines, and what was lost is counted.
    """
    whole = incident()
    cut = moment("2026-05-20T15:30:00")
    journal = Journal(whole.host, whole.boot_at, [record for record in whole.records if record.at < cut])
    journal.add(
        moment("2026-05-20T14:31:00") + timedelta(milliseconds=4),
        "Suppressed 425 messages from sglang-k26.service",
        {
            "PRIORITY": "6",
            "_TRANSPORT": "driver",
            "SYSLOG_IDENTIFIER": "systemd-journald",
            "_PID": "412",
            "_COMM": "systemd-journal",
            "_SYSTEMD_UNIT": "systemd-journald.service",
            "MESSAGE_ID": "a596d6fe7bfa4994828e72309e95d61e",
            "N_DROPPED": "425",
            "OBJECT_SYSTEMD_UNIT": "sglang-k26.service",
        },
    )
    lines = journal.json_lines(whole=False).splitlines()
    chats = [number for number, line in enumerate(lines) if b"Decode batch" in line]
    torn, bad, foreign = chats[2], chats[4], chats[6]
    lines[torn] = lines[torn][:180]  # the disk was full
    lines[bad] = lines[bad].replace(b"Decode batch", b"Decode \xff\xfebatch")
    entry = json.loads(lines[foreign])
    entry["MESSAGE"] = "GPU 3: the moon is in the wrong phase (error 0x2a)"
    lines[foreign] = json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode()
    return b"\n".join(lines) + b"\n"
