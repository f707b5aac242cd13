"""What an SGLang server prints while it starts, with the memory arithmetic of its release.

The wording is that of releases 0.4.6.post5, 0.5.11 and 0.5.23; the figures follow from a machine and the flags:
rest = free after the weights - free before loading * (1 - fraction); pool = rest / bytes a token, floored.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

GIB = 2**30
_FIELDS: dict[str, list[list[str]]] = json.loads(
    Path(__file__).with_name("server_args.json").read_text(encoding="utf-8")
)


class Line(NamedTuple):
    """A message, seconds after the process began. `rank` is None for the main process; `bare` has no prefix."""

    offset: float
    rank: int | None
    text: str
    bare: bool = False


def server_args(version: str, **settings: object) -> str:
    """Return the whole `server_args=` message of a release, every field in its order."""
    rows = [
        (name, repr(settings.pop(name)) if name in settings else default)
        for name, default in _FIELDS[version]
    ]
    if settings:
        raise KeyError(f"{version} has no {sorted(settings)}")
    if version == "0.5.23":
        return "server_args={" + ", ".join(f"{name!r}: {value}" for name, value in rows) + "}"
    return "server_args=ServerArgs(" + ", ".join(f"{name}={value}" for name, value in rows) + ")"


@dataclass(frozen=True)
class Machine:
    """One GPU of the tightest rank: GiB free before loading, GiB that the weights take, and the spread over ranks."""

    ranks: int
    before_gib: float
    weights_gib: float
    spread_gib: float = 0.04

    def free_before(self, rank: int) -> float:
        """Free memory of a rank before it loads: rank 0 is the tightest."""
        return self.before_gib + rank % 3 * self.spread_gib

    def free_after(self, rank: int) -> float:
        """Free memory of a rank once the weights are loaded."""
        return self.free_before(rank) - self.weights_gib

    def pool_tokens(self, fraction: float, cell_bytes: int) -> int:
        """Tokens that the budget pays for."""
        rest = self.before_gib * fraction - self.weights_gib
        return int(rest * GIB / cell_bytes)


@dataclass(frozen=True)
class KimiStart:
    """A start of the incident's server: 0.5.11, an MLA target and a DFLASH draft.

    0.5.11 prices a draft layer like a layer of the target: 70,272 bytes a token become 77,184, while the draft's
    own pool takes 3,072. Request table and graph buffers grow with the context and are not budgeted.
    """

    context: int
    fraction: float
    seed: int

    machine = Machine(ranks=8, before_gib=94.0, weights_gib=72.63013)
    target_bytes = 70_272
    draft_bytes = 3_072
    running = 64
    graph_batch = 16
    draft_tokens = 8

    @property
    def pool(self) -> int:
        """Tokens of the target's pool; the draft's has as many."""
        return self.machine.pool_tokens(self.fraction, self.target_bytes * 67 // 61)

    @property
    def free_gib(self) -> float:
        """What the tightest rank has left once ready."""
        return self._free()[-1]

    def _free(self) -> list[float]:
        tokens = self.pool + 1  # one dummy page
        table = (self.running + 1) * (self.context + 4 + self.draft_tokens) * 4 / GIB
        graphs = 9 * self.graph_batch * self.draft_tokens * self.context / GIB
        steps = (
            tokens * self.target_bytes / GIB + table,
            0.13,
            2.61 + graphs,
            0.02,
            1.08,
            tokens * self.draft_bytes / GIB + table,
            0.02,
            0.68,
        )
        free, left = [], self.machine.free_after(0)
        for step in steps:
            left -= step
            free.append(left)
        return free

    def command(self) -> str:
        """Return the command line that systemd runs."""
        return (
            "/opt/sglang/venv/bin/python3 -m sglang.launch_server --model-path /models/Kimi-K2.6 --tp-size 8 "
            f"--trust-remote-code --mem-fraction-static {self.fraction} --context-length {self.context} "
            "--max-running-requests 64 --cuda-graph-max-bs 16 --attention-backend triton "
            "--speculative-algorithm DFLASH --speculative-draft-model-path /models/Kimi-K2.6-DFlash "
            "--served-model-name kimi-k2.6 --host 0.0.0.0 --port 30000"
        )

    def args(self) -> str:
        """Return the `server_args=` message."""
        return server_args(
            "0.5.11",
            model_path="/models/Kimi-K2.6",
            tokenizer_path="/models/Kimi-K2.6",
            trust_remote_code=True,
            context_length=self.context,
            host="0.0.0.0",  # noqa: S104 - a sample's text
            port=30000,
            mem_fraction_static=self.fraction,
            max_running_requests=self.running,
            chunked_prefill_size=8192,
            page_size=1,
            tp_size=8,
            device="cuda",
            random_seed=self.seed,
            served_model_name="kimi-k2.6",
            attention_backend="triton",
            sampling_backend="flashinfer",
            cuda_graph_max_bs=self.graph_batch,
            cuda_graph_bs=[1, 2, 4, 8, 12, 16],
            speculative_algorithm="DFLASH",
            speculative_draft_model_path="/models/Kimi-K2.6-DFlash",
            speculative_num_steps=1,
            speculative_eagle_topk=1,
            speculative_num_draft_tokens=self.draft_tokens,
            speculative_dflash_block_size=8,
            reasoning_parser="kimi_k2",
            tool_call_parser="kimi_k2",
        )

    def lines(self, pid: int) -> list[Line]:
        """Return all lines up to readiness, in time order."""
        m, pool, free = self.machine, self.pool, self._free()
        target, draft = ((pool + 1) * size / GIB for size in (self.target_bytes, self.draft_bytes))
        loaded = free[3]
        every: list[tuple[float, float, object]] = [
            (21.0, 0.004, lambda r: "Init torch distributed begin."),
            (
                24.4,
                0.003,
                lambda r: f"Init torch distributed ends. elapsed={3.31 + r * 0.01:.2f} s, mem usage=1.21 GB",
            ),
            (25.1, 0.002, lambda r: f"Load weight begin. avail mem={m.free_before(r):.2f} GB"),
            (
                195.0,
                0.9,
                lambda r: (
                    f"Load weight end. elapsed={169.9 + r * 0.9:.2f} s, type=KimiK25ForConditionalGeneration, "
                    f"quant=compressed-tensors, avail mem={m.free_after(r):.2f} GB, mem usage={m.weights_gib:.2f} GB."
                ),
            ),
            (204.0, 0.001, lambda r: f"KV Cache is allocated. #tokens: {pool}, KV size: {target:.2f} GB"),
            (204.3, 0.001, lambda r: f"Memory pool end. avail mem={free[0] + r % 3 * 0.04:.2f} GB"),
            (
                205.0,
                0.001,
                lambda r: (
                    "Capture cuda graph begin. This can take up to several minutes. "
                    f"avail mem={free[1] + r % 3 * 0.04:.2f} GB"
                ),
            ),
            (
                226.0,
                0.001,
                lambda r: (
                    f"Capture cuda graph end. Time elapsed: {21.01 + r * 0.01:.2f} s. "
                    f"mem usage={free[1] - free[2]:.2f} GB. avail mem={free[2] + r % 3 * 0.04:.2f} GB."
                ),
            ),
            (227.1, 0.002, lambda r: f"Load weight begin. avail mem={loaded + r % 3 * 0.04:.2f} GB"),
            (
                231.2,
                0.02,
                lambda r: (
                    f"Load weight end. elapsed={4.1 + r * 0.02:.2f} s, type=DFlashDraftModel, "
                    f"avail mem={free[4] + r % 3 * 0.04:.2f} GB, mem usage=1.08 GB."
                ),
            ),
            (
                232.0,
                0.001,
                lambda r: (
                    f"KV Cache is allocated. #tokens: {pool}, K size: {draft / 2:.2f} GB, V size: {draft / 2:.2f} GB"
                ),
            ),
            (232.2, 0.001, lambda r: f"Memory pool end. avail mem={free[5] + r % 3 * 0.04:.2f} GB"),
            (
                233.0,
                0.001,
                lambda r: (
                    "Capture draft cuda graph begin. This can take up to several minutes. "
                    f"avail mem={free[6] + r % 3 * 0.04:.2f} GB"
                ),
            ),
            (
                237.0,
                0.001,
                lambda r: (
                    f"Capture draft cuda graph end. Time elapsed: {4.01 + r * 0.01:.2f} s. "
                    f"mem usage={free[6] - free[7]:.2f} GB. avail mem={free[7] + r % 3 * 0.04:.2f} GB."
                ),
            ),
        ]
        lines = [Line(11.2, None, self.args())]
        lines += [Line(at + r * gap, r, say(r)) for at, gap, say in every for r in range(m.ranks)]  # type: ignore[operator]
        lines += [
            Line(203.8, 0, "Using KV cache dtype: torch.bfloat16"),
            Line(205.1, 0, "Capture cuda graph bs [1, 2, 4, 8, 12, 16]"),
            Line(205.2, 0, _bar(16, free[1], 0, "00:00<?, ?it/s"), bare=True),
            Line(225.9, 0, _bar(8, free[2] + 0.9, 3, "00:11<00:08,  2.20s/it") + _bar(1, free[2], 6, "00:20<00:00,  1.70s/it"), bare=True),
            Line(231.9, 0, "Initialized DFLASH draft runner. attention_backend=triton, model=DFlashDraftModel, "
                 "block_size=8, draft_window_size=None, compact_cache=False"),
            Line(232.5, 0, "DFLASH draft runner ready. mask_token=<|MASK|>, mask_token_id=163838, mask_token_id_override=None"),
            Line(232.6, 0, "DFLASH fused KV materialization enabled. n_layers=6, num_kv_heads=1, head_dim=128"),
            Line(238.2, 0, f"max_total_num_tokens={pool}, chunked_prefill_size=8192, max_prefill_tokens=16384, "
                 f"max_running_requests={self.running}, context_len={self.context}, available_gpu_mem={free[7]:.2f} GB"),
            Line(239.0, None, f"\x1b[32mINFO\x1b[0m:     Started server process [{pid}]", bare=True),
            Line(239.0, None, "\x1b[32mINFO\x1b[0m:     Waiting for application startup.", bare=True),
            Line(239.1, None, "\x1b[32mINFO\x1b[0m:     Application startup complete.", bare=True),
            Line(239.1, None, "\x1b[32mINFO\x1b[0m:     Uvicorn running on http://0.0.0.0:30000 (Press CTRL+C to quit)", bare=True),
            Line(240.1, None, '\x1b[32mINFO\x1b[0m:     127.0.0.1:51234 - "GET /model_info HTTP/1.1" 200 OK', bare=True),
            Line(241.4, 0, prefill(6, 0, 0.0, 0, 0, 0, 0.0)),
            Line(243.9, None, '\x1b[32mINFO\x1b[0m:     127.0.0.1:51240 - "POST /generate HTTP/1.1" 200 OK', bare=True),
            Line(244.0, None, "The server is fired up and ready to roll!"),
        ]  # fmt: skip
        return sorted(lines, key=lambda line: line.offset)


def _bar(size: int, free: float, done: int, clock: str) -> str:
    filled = "█" * (done * 10 // 6)
    return f"\rCapturing batches (bs={size} avail_mem={free:.2f} GB): {done * 100 // 6:3d}%|{filled:<10}| {done}/6 [{clock}]"


def prefill(new: int, cached: int, usage: float, running: int, queue: int, pending: int, speed: float) -> str:
    """Return a `Prefill batch` message as 0.5.11 and later print it."""
    return (
        f"Prefill batch, #new-seq: 1, #new-token: {new}, #cached-token: {cached}, token usage: {usage:.2f}, "
        f"#running-req: {running}, #queue-req: {queue}, #pending-token: {pending}, cuda graph: False, "
        f"input throughput (token/s): {speed:.2f}"
    )


def decode(
    running: int, tokens: int, pool: int, speed: float, queue: int, accept: float | None = None
) -> str:
    """Return a `Decode batch` message as 0.5.9 and later print it; `accept` is the mean accepted length of a draft."""
    drafted = "" if accept is None else f"accept len: {accept:.2f}, accept rate: {(accept - 1) / 7:.2f}, "
    return (
        f"Decode batch, #running-req: {running}, #token: {tokens}, token usage: {tokens / pool:.2f}, {drafted}"
        f"cuda graph: True, gen throughput (token/s): {speed:.2f}, #queue-req: {queue}"
    )
