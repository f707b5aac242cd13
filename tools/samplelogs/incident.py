"""The incident: a context raised without effect on the pool, then the fraction that truly raised it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from samplelogs.journal import Journal, hex_id, moment
from samplelogs.server import KimiStart, Line, decode, prefill

UNIT = "sglang-k26.service"
TITLE = f"{UNIT} - SGLang Kimi K2.6 (TP8, DFlash)"
_STARTED, _STOPPING, _STOPPED, _DONE, _USED = (
    "39f53479d3a045ac8e11786248231fbf",
    "de5b426a63be47a7b6ac3eaac82e2f6f",
    "9d1aaa27d60140bd96365438aad20286",
    "7ad2d189f7e94e70a38c781354912448",
    "ae8f7b866b0347b9af31fe1c80b127c0",
)


@dataclass(frozen=True)
class Life:
    """One start of the unit in a journal: who writes, and under which invocation."""

    journal: Journal
    start: KimiStart
    at: datetime
    number: int

    @property
    def invocation(self) -> str:
        """Systemd's id of this start."""
        return hex_id(f"{self.journal.host} start {self.number}")

    @property
    def pid(self) -> int:
        """The main process; rank r is pid + 3 + r."""
        return 1440 + 60 * self.number

    def begin(self, job: int) -> None:
        """Write systemd's record and all lines up to readiness."""
        self.journal.systemd(
            self.at, UNIT, f"Started {TITLE}.", CODE_FILE="src/core/job.c", CODE_FUNC="job_emit_done_message",
            JOB_ID=str(job), JOB_TYPE="start", JOB_RESULT="done", MESSAGE_ID=_STARTED, INVOCATION_ID=self.invocation,
        )  # fmt: skip
        for line in self.start.lines(self.pid):
            self.say(self.at + timedelta(seconds=line.offset), line)

    def say(self, at: datetime, line: Line) -> None:
        """Write one line of the server."""
        main = line.rank is None
        tag = "" if main else f" TP{line.rank}"
        text = line.text if line.bare else f"[{at:%Y-%m-%d %H:%M:%S}{tag}] {line.text}"
        self.journal.add(
            at,
            text,
            {
                "PRIORITY": "6",
                "_TRANSPORT": "stdout",
                "SYSLOG_FACILITY": "3",
                "SYSLOG_IDENTIFIER": "python3",
                "_PID": str(self.pid if main else self.pid + 3 + (line.rank or 0)),
                "_UID": "0",
                "_GID": "0",
                "_COMM": "python3" if main else "sglang::schedul",
                "_EXE": "/usr/bin/python3.12",
                "_CMDLINE": self.start.command() if main else f"sglang::scheduler_TP{line.rank}",
                "_SYSTEMD_UNIT": UNIT,
                "_SYSTEMD_CGROUP": f"/system.slice/{UNIT}",
                "_SYSTEMD_SLICE": "system.slice",
                "_SYSTEMD_INVOCATION_ID": self.invocation,
                "_STREAM_ID": hex_id(f"stream {self.journal.host} {self.number}"),
            },
        )

    def rank0(self, at: datetime, text: str) -> None:
        """Write a line of rank 0."""
        self.say(at, Line(0, 0, text))

    def access(self, at: datetime, port: int, status: str) -> None:
        """Write an access line of the HTTP server."""
        request = f'10.0.4.17:{port} - "POST /v1/chat/completions HTTP/1.1" {status}'
        self.say(at, Line(0, None, f"\x1b[32mINFO\x1b[0m:     {request}", bare=True))

    def restart(self, at: datetime, job: int) -> None:
        """Write what a restart leaves behind, up to the stop."""
        same = {"JOB_ID": str(job), "INVOCATION_ID": self.invocation}
        self.journal.systemd(at, UNIT, f"Stopping {TITLE}...", JOB_TYPE="stop", MESSAGE_ID=_STOPPING, **same)
        for after, text in (
            (0.3, "SIGTERM received. signum=None frame=None. Draining requests and shutting down..."),
            (
                1.9,
                "Gracefully exiting... Remaining number of requests 0. Remaining requests remaining_rids=[].",
            ),
        ):
            self.say(at + timedelta(seconds=after), Line(0, None, text))
        end = at + timedelta(seconds=4.1)
        self.journal.systemd(
            end, UNIT, f"{UNIT}: Deactivated successfully.", MESSAGE_ID=_DONE, INVOCATION_ID=self.invocation
        )
        end += timedelta(milliseconds=10)
        self.journal.systemd(
            end, UNIT, f"Stopped {TITLE}.", JOB_TYPE="restart", JOB_RESULT="done", MESSAGE_ID=_STOPPED, **same
        )
        end += timedelta(milliseconds=10)
        self.journal.systemd(
            end,
            UNIT,
            f"{UNIT}: Consumed 2h 11min 43.114s CPU time.",
            MESSAGE_ID=_USED,
            INVOCATION_ID=self.invocation,
        )


def incident() -> Journal:
    """Return the journal of the afternoon on which it happened."""
    journal = Journal("k26-node1", moment("2026-05-20T14:02:09"))
    first = Life(journal, KimiStart(32768, 0.85, 417532818), moment("2026-05-20T14:03:00.412"), 0)
    second = Life(journal, KimiStart(200000, 0.85, 88120044), moment("2026-05-20T15:10:30.655"), 1)
    third = Life(journal, KimiStart(200000, 0.93, 510022931), moment("2026-05-20T15:41:14.702"), 2)
    first.begin(131)
    _chat(first, moment("2026-05-20T14:20:00"))
    asked = moment("2026-05-20T15:02:11.040")
    first.say(asked, Line(0, None, "[http_server] Error: The input (150000 tokens) is longer than the model's "
                                   "context length (32768 tokens)."))  # fmt: skip
    first.access(asked + timedelta(milliseconds=2), 40377, "400 Bad Request")

    _edit(journal, moment("2026-05-20T15:10:22"), 90104, "--context-length 32768", "--context-length 200000")
    first.restart(moment("2026-05-20T15:10:26.520"), 2207)
    second.begin(2207)
    _refused(second, moment("2026-05-20T15:18:40.510"))

    _edit(
        journal,
        moment("2026-05-20T15:41:03"),
        90131,
        "--mem-fraction-static 0.85",
        "--mem-fraction-static 0.93",
    )
    third_stop = moment("2026-05-20T15:41:10.560")
    second.restart(third_stop, 2419)
    third.begin(2419)
    _served(third, moment("2026-05-20T15:47:30"))
    return journal


def _edit(journal: Journal, at: datetime, pid: int, old: str, new: str) -> None:
    journal.sudo(at, pid, "theuser", f"/usr/bin/sed -i 's/{old}/{new}/' /etc/systemd/system/{UNIT}")
    journal.sudo(at + timedelta(seconds=3), pid + 3, "theuser", "/usr/bin/systemctl daemon-reload")
    journal.systemd(at + timedelta(seconds=3.05), None, "Reloading.", CODE_FILE="src/core/main.c")
    journal.sudo(at + timedelta(seconds=4.4), pid + 6, "theuser", "/usr/bin/systemctl restart sglang-k26")


def _chat(life: Life, at: datetime) -> None:
    """Twelve minutes of ordinary chats."""
    for i in range(12):
        now = at + timedelta(seconds=31.7 * i)
        running, tokens = 4 + i % 5, 21000 + 1900 * i
        life.rank0(
            now, prefill(1024 + 256 * i, 512 * i, tokens / life.start.pool, running - 1, 0, 0, 5210.5 - i)
        )
        life.rank0(now + timedelta(seconds=4), decode(running, tokens, life.start.pool, 402.11 - i, 0, 3.42))
        life.access(now + timedelta(seconds=9), 40210 + i, "200 OK")


def _refused(life: Life, at: datetime) -> None:
    """Write a prompt that the context admits and the pool cannot hold, then a full pool."""
    pool = life.start.pool
    said = (
        f"Input length (150000 tokens) exceeds the maximum allowed length ({pool - 6} tokens). "
        "Use a shorter input or enable --allow-auto-truncate."
    )
    life.rank0(at, f"{said}, self.rid='cb3a6e33ec954b5bac773351b15c65f6'")
    life.say(at + timedelta(milliseconds=3), Line(0, None, f"[http_server] Error: {said}"))
    life.access(at + timedelta(milliseconds=4), 40391, "400 Bad Request")
    for i in range(10):
        now = at + timedelta(seconds=60 + 20.4 * i)
        tokens = 58000 + 4000 * i
        life.rank0(now, prefill(4096, 0, tokens / pool, 3 + i, i // 2, 0, 4890.2 - i))
        life.rank0(now + timedelta(seconds=3), decode(3 + i, tokens, pool, 298.44 + i, i // 2, 3.31))
        life.access(now + timedelta(seconds=8), 40400 + i, "200 OK")


def _served(life: Life, at: datetime) -> None:
    """Write the same prompt, taken in chunks and answered."""
    pool = life.start.pool
    chunks = [8192] * 18 + [150000 - 18 * 8192]
    for i, chunk in enumerate(chunks):
        done = sum(chunks[:i])
        life.rank0(
            at + timedelta(seconds=2.1 * i),
            prefill(chunk, 0, done / pool, 0, 0, 150000 - done - chunk, 3911.0 - i),
        )
    for i in range(6):
        life.rank0(
            at + timedelta(seconds=50 + 6.5 * i), decode(1, 150100 + 410 * i, pool, 61.2 + i / 10, 0, 3.4)
        )
    life.access(at + timedelta(seconds=92), 40500, "200 OK")
