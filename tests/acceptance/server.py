"""A stand-in SGLang server that prints the lines of a release with arithmetic that closes.

Only for acceptance tests: it knows SGLang's formats and the pool rule independently of the package, so
that a mistake in one does not hide a mistake in the other.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from math import floor
from pathlib import Path

GIB = 2**30
FIELDS = json.loads(
    (Path(__file__).parents[2] / "src/kvforensics/knowledge/settings-by-version.json").read_text()
)
RELEASES = FIELDS["versions"]


def at_least(version: str, other: str) -> bool:
    return RELEASES.index(version) >= RELEASES.index(other)


def defaults(version: str) -> dict[str, str]:
    """Field name -> repr of its default, in a stable order."""
    out = {}
    i = RELEASES.index(version)
    for name, spans in FIELDS["settings"].items():
        for span in spans:
            if RELEASES.index(span["from"]) <= i <= RELEASES.index(span["to"]):
                default = span["default"]
                out[name] = "'/models/m'" if default == "<required>" else default
    return out


@dataclass
class Pool:
    """One pool: bytes a token really takes on one GPU, and how it is printed."""

    bytes_per_token: int
    mla: bool = False
    tokens: int | None = None  # default: the pool's T


@dataclass
class Start:
    """One start of a server. `P` GiB free before loading, `W` taken by the weights, `cell` budgeted bytes."""

    version: str = "0.5.11"
    P: float = 94.0
    W: float = 72.63
    cell: int = 70272
    f: float = 0.85
    page: int = 1
    ranks: int = 8
    context: int = 32768
    max_total: int | None = None
    running: int = 64
    running_effective: int | None = None
    graphs: float = 1.22
    after_pools: float = 0.4  # GiB taken after the pools by tables
    settings: dict = field(default_factory=dict)
    pools: list[Pool] = field(default_factory=lambda: [Pool(70272, mla=True)])
    draft: Pool | None = None
    device: str = "gpu"
    ready: bool = True
    stop_before: str | None = None  # load | pool | summary
    extra: dict[str, list[str]] = field(default_factory=dict)  # stage -> lines (after that stage)
    tags: tuple[tuple[str, str], ...] = ()  # further rank tags, e.g. (("DP", "0"), ("EP", "1"))

    @property
    def rest(self) -> float:
        return self.f * self.P - self.W

    @property
    def profiled(self) -> int:
        return floor(self.rest * GIB / self.cell) // self.page * self.page

    @property
    def T(self) -> int:  # noqa: N802 - the pool rule's own symbol
        t = self.profiled
        if self.max_total is not None:
            t = min(t, self.max_total)
        return t // self.page * self.page

    @property
    def free(self) -> float:
        used = sum(
            (self.T + self.page) * p.bytes_per_token for p in [*self.pools, *filter(None, [self.draft])]
        )
        return self.P - self.W - used / GIB - self.after_pools - self.graphs

    def config(self) -> str:
        values = defaults(self.version)
        put = {
            "context_length": self.context,
            "mem_fraction_static": self.f,
            "max_running_requests": self.running,
            "tp_size": self.ranks,
            "page_size": self.page,
            "max_total_tokens": self.max_total,
            "chunked_prefill_size": 8192,
            "random_seed": 618351931,
            **self.settings,
        }
        for name, value in put.items():
            if name in values or name in self.settings:
                values[name] = repr(value)
        if at_least(self.version, "0.5.19"):
            return "server_args={" + ", ".join(f"'{k}': {v}" for k, v in values.items()) + "}"
        return "server_args=ServerArgs(" + ", ".join(f"{k}={v}" for k, v in values.items()) + ")"

    def _tag(self, rank: int) -> str:
        tags = [] if self.ranks == 1 and at_least(self.version, "0.4.6.post5") else [f"TP{rank}"]
        more = dict(self.tags)
        order = ("DP", "PP", "ATTN_CP", "MOE_DP", "TP", "EP")
        if not at_least(self.version, "0.5.6"):
            order = ("DP", "TP", "EP", "PP")
        more |= {"TP": str(rank)} if tags else {}
        return "".join(f" {name}{more[name]}" for name in order if name in more)

    @property
    def dtype(self) -> str:
        """What the engine says of the cache's type."""
        return "torch.float8_e4m3fn" if "fp8" in self.settings.get("kv_cache_dtype", "") else "torch.bfloat16"

    def prints(self, pool: Pool) -> bool:
        """Whether this release prints a line for such a pool."""
        return at_least(self.version, "0.4.5.post3" if pool.mla else "0.4.1.post7")

    def _pool_line(self, pool: Pool, label: str = "KV Cache") -> str:
        tokens = self.T if pool.tokens is None else pool.tokens
        size = (tokens + self.page) * pool.bytes_per_token / GIB
        dtype = f"dtype: {self.dtype}, " if at_least(self.version, "0.5.13") else ""
        sizes = (
            f"KV size: {size:.2f} GB" if pool.mla else f"K size: {size / 2:.2f} GB, V size: {size / 2:.2f} GB"
        )
        if not at_least(self.version, "0.4.3.post4"):
            return f"{label} is allocated. {sizes}."
        return f"{label} is allocated. {dtype}#tokens: {tokens}, {sizes}"

    def lines(self, start: datetime) -> list[tuple[datetime, int, str]]:
        """Return (time, rank or -1 for the main process, text with prefix) of everything it prints."""
        return _Log(self, start).write()


@dataclass
class _Log:
    """Writes one start, stage by stage; `left` is the free memory of a rank as the start goes on."""

    server: Start
    now: datetime
    left: float = 0.0
    out: list[tuple[datetime, int, str]] = field(default_factory=list)

    def since(self, version: str) -> bool:
        return at_least(self.server.version, version)

    def write(self) -> list[tuple[datetime, int, str]]:
        server = self.server
        self.left = server.P
        self.say(server.config(), dt=8)
        self.extra("config")
        self.all("Init torch distributed begin." if self.since("0.3.4.post2") else "Init nccl begin.", dt=2)
        self.all(f"Load weight begin. avail mem={self.left:.2f} GB", dt=3)
        for stage, write in (("load", self.weights), ("pool", self.target), ("summary", self.rest)):
            if server.stop_before == stage:
                self.extra("" if stage == "pool" else stage)
                break
            write()
        return self.out

    def say(self, text: str, rank: int = -1, dt: float = 0.0) -> None:
        self.now += timedelta(seconds=dt)
        stamp = self.now.strftime("%Y-%m-%d %H:%M:%S" if self.since("0.3.4.post2") else "%H:%M:%S")
        tag = self.server._tag(rank) if rank >= 0 else ""
        self.out.append((self.now, rank, f"[{stamp}{tag}] {text}"))

    def all(self, text: str, dt: float = 0.0, ranks: int | None = None) -> None:
        for rank in range(self.server.ranks if ranks is None else ranks):
            self.say(text, rank, 0 if rank else dt)

    def extra(self, stage: str) -> None:
        for text in self.server.extra.get(stage, []):
            if text.startswith("|"):
                self.out.append((self.now, 0, text[1:]))
            else:
                self.say(text, 0)

    def weights(self) -> None:
        self.left -= self.server.W
        usage = f", mem usage={self.server.W:.2f} GB." if self.since("0.4.3.post4") else ""
        self.all(self.loaded("DeepseekV3ForCausalLM", usage), dt=170)
        self.extra("load")

    def loaded(self, model: str, usage: str) -> str:
        elapsed = "elapsed=170.10 s, " if self.since("0.5.9") else ""
        dtype = "" if self.since("0.5.10") else "dtype=torch.bfloat16, "
        return f"Load weight end. {elapsed}type={model}, {dtype}avail mem={self.left:.2f} GB{usage}"

    def target(self) -> None:
        draft, early = self.server.draft, self.since("0.5.14")
        if draft is not None and early:
            self.draft_weights()
        self.extra("before_pool")
        if self.since("0.5.3") and not self.since("0.5.13"):
            self.say(f"Using KV cache dtype: {self.server.dtype}", 0)
        for pool in self.server.pools:
            self.allocate(pool, dt=1)
        if draft is not None and early:
            self.allocate(draft)
        self.left -= self.server.after_pools
        self.all(f"Memory pool end. avail mem={self.left:.2f} GB")
        self.extra("pool")
        if draft is not None and not early:
            self.draft_weights()
            self.allocate(draft)
            self.all(f"Memory pool end. avail mem={self.left:.2f} GB")

    def draft_weights(self) -> None:
        self.all(f"Load weight begin. avail mem={self.left:.2f} GB")
        self.all(self.loaded("DFlashDraftModel", ", mem usage=0.00 GB."))

    def allocate(self, pool: Pool, dt: float = 0.0) -> None:
        tokens = self.server.T if pool.tokens is None else pool.tokens
        self.left -= (tokens + self.server.page) * pool.bytes_per_token / GIB
        if self.server.prints(pool):
            self.all(self.server._pool_line(pool), dt=dt)

    def rest(self) -> None:
        self.captures()
        server = self.server
        memory = f", available_{server.device}_mem={server.free:.2f} GB" if self.since("0.4.7.post1") else ""
        chunk = f"chunked_prefill_size={server.settings.get('chunked_prefill_size', 8192)}, "
        running = server.running if server.running_effective is None else server.running_effective
        self.all(
            f"max_total_num_tokens={server.T}, {chunk if self.since('0.4.2.post4') else ''}max_prefill_tokens=16384, "
            f"max_running_requests={running}, context_len={server.context}{memory}",
            dt=40,
            ranks=1 if self.since("0.4.6.post5") else None,
        )
        self.extra("summary")
        if server.ready:
            self.say("The server is fired up and ready to roll!", dt=3)
            self.extra("ready")

    def captures(self) -> None:
        usage = f"mem usage={self.server.graphs:.2f} GB"
        before, after = f"avail mem={self.left:.2f} GB", f"avail mem={self.left - self.server.graphs:.2f} GB"
        begin = "Capture cuda graph begin. This can take up to several minutes."
        end = "Capture cuda graph end. Time elapsed: 15.20 s"
        if self.since("0.5.14"):
            name = "Capture target decode CUDA graph"
            per = "num_tokens_per_req" if self.since("0.5.16") else "num_tokens_per_bs"
            early, late = ("", "bs=[1, 2, 4, 8], ") if self.since("0.5.22") else ("bs=[1, 2, 4, 8], ", "")
            lines = [
                f"{name} begin. backend=full, {per}=1, {early}{before}",
                f"{name} end. {late}elapsed=15.20 s, {usage}, {after}.",
            ]
        elif self.since("0.4.6.post5"):
            lines = [f"{begin} {before}", "Capture cuda graph bs [1, 2, 4, 8]", f"{end}. {usage}. {after}."]
        elif self.since("0.4.3.post4"):
            lines = [f"{begin} {before}", f"{end}. {after}. {usage}."]
        else:
            lines = [begin, end]
        for text in lines:
            self.all(text)


def day(hour: int = 9, minute: int = 0, n: int = 20) -> datetime:
    return datetime(2026, 5, n, hour, minute, tzinfo=UTC).replace(tzinfo=None)


def plain(*starts: list[tuple[datetime, int, str]]) -> bytes:
    return "".join(text + "\n" for start in starts for _, _, text in start).encode()


def journal(
    starts: list[list[tuple[datetime, int, str]]],
    *,
    unit: str = "sglang-k26.service",
    host: str = "node1",
    trail: list[tuple[datetime, str, str]] | None = None,
    stop: list[str] | None = None,
) -> bytes:
    """Journal export: systemd's start and stop records around each start; `trail` is (time, ident, message)."""
    records: list[tuple[datetime, dict[str, str]]] = []
    boot = "b" * 32
    for i, lines in enumerate(starts):
        inv = f"{i + 1:032x}"
        begin = lines[0][0] - timedelta(seconds=8)
        base = {"_HOSTNAME": host, "_BOOT_ID": boot}
        manager = {
            **base,
            "_PID": "1",
            "SYSLOG_IDENTIFIER": "systemd",
            "UNIT": unit,
            "_SYSTEMD_UNIT": "init.scope",
        }
        job = {"JOB_ID": str(100 + i), "INVOCATION_ID": inv}
        records.append(
            (
                begin,
                {
                    **manager,
                    **job,
                    "JOB_TYPE": "start",
                    "JOB_RESULT": "done",
                    "MESSAGE_ID": "39f53479d3a045ac8e11786248231fbf",
                    "MESSAGE": f"Started {unit} - SGLang.",
                },
            )
        )
        for when, rank, text in lines:
            pid = 1000 + 100 * i + rank + 1
            records.append(
                (
                    when,
                    {
                        **base,
                        "_TRANSPORT": "stdout",
                        "SYSLOG_IDENTIFIER": "python3",
                        "_PID": str(pid),
                        "_SYSTEMD_UNIT": unit,
                        "_SYSTEMD_INVOCATION_ID": inv,
                        "_STREAM_ID": f"{i + 1:032x}",
                        "MESSAGE": text,
                    },
                )
            )
        how = (stop or ["restart"] * len(starts))[i]
        if how == "restart" and i + 1 < len(starts):
            end = starts[i + 1][0][0] - timedelta(seconds=9)
            nxt = {"JOB_ID": str(101 + i), "INVOCATION_ID": inv}
            records.append(
                (
                    end - timedelta(seconds=3),
                    {
                        **manager,
                        **nxt,
                        "JOB_TYPE": "stop",
                        "MESSAGE_ID": "de5b426a63be47a7b6ac3eaac82e2f6f",
                        "MESSAGE": f"Stopping {unit} - SGLang...",
                    },
                )
            )
            records.append(
                (
                    end,
                    {
                        **manager,
                        **nxt,
                        "JOB_TYPE": "restart",
                        "MESSAGE_ID": "9d1aaa27d60140bd96365438aad20286",
                        "MESSAGE": f"Stopped {unit} - SGLang.",
                    },
                )
            )
        if how == "kill":
            end = lines[-1][0] + timedelta(seconds=5)
            records.append(
                (
                    end,
                    {
                        **manager,
                        "INVOCATION_ID": inv,
                        "MESSAGE_ID": "98e322203f7a4ed290d09fe03c09fe15",
                        "EXIT_CODE": "killed",
                        "EXIT_STATUS": "9",
                        "MESSAGE": f"{unit}: Main process exited, code=killed, status=9/KILL",
                    },
                )
            )
            records.append(
                (
                    end,
                    {
                        **manager,
                        "INVOCATION_ID": inv,
                        "MESSAGE_ID": "d9b373ed55a64feb8242e02dbe79a49c",
                        "UNIT_RESULT": "signal",
                        "MESSAGE": f"{unit}: Failed with result 'signal'.",
                    },
                )
            )
    for when, ident, message in trail or []:
        records.append(
            (
                when,
                {
                    "_HOSTNAME": host,
                    "_BOOT_ID": boot,
                    "SYSLOG_IDENTIFIER": ident,
                    "_COMM": ident,
                    "_PID": "77",
                    "MESSAGE": message,
                },
            )
        )
    records.sort(key=lambda r: r[0])
    return b"".join(_export(when, i, fields) for i, (when, fields) in enumerate(records))


def _export(when: datetime, number: int, fields: dict[str, str]) -> bytes:
    seal = fields["_HOSTNAME"]
    micros = int(when.replace(tzinfo=UTC).timestamp() * 1e6)
    out = [
        f"__CURSOR=s={seal};i={number:x};b={'b' * 8};t={micros:x}\n__REALTIME_TIMESTAMP={micros}\n"
        f"__MONOTONIC_TIMESTAMP={micros - 1_700_000_000_000_000}\n".encode()
    ]
    for name, value in fields.items():
        data = value.encode()
        if any(b < 0x20 and b != 9 for b in data):
            out.append(name.encode() + b"\n" + struct.pack("<Q", len(data)) + data + b"\n")
        else:
            out.append(name.encode() + b"=" + data + b"\n")
    return b"".join(out) + b"\n"
