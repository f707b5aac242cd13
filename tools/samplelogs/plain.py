"""A plain file of release 0.4.6.post5: a fraction raised under a cap that binds, then the cap lifted."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from samplelogs.journal import moment
from samplelogs.server import GIB, Machine, server_args


@dataclass(frozen=True)
class QwenStart:
    """A start of Qwen2.5-32B on two GPUs: 8 KV heads, 64 layers, so 131,072 bytes a token and GPU."""

    fraction: float
    cap: int | None
    seed: int

    machine = Machine(ranks=2, before_gib=78.4, weights_gib=30.72, spread_gib=0.06)
    cell = 131_072
    context = 32768

    @property
    def profiled(self) -> int:
        """Tokens that memory would hold."""
        return self.machine.pool_tokens(self.fraction, self.cell)

    @property
    def pool(self) -> int:
        """Tokens that the pool has."""
        return self.profiled if self.cap is None else min(self.cap, self.profiled)

    def lines(self, at: datetime) -> list[str]:
        """Return all lines up to readiness."""
        m = self.machine
        half = (self.pool + 1) * self.cell / GIB / 2
        table = 257 * (self.context + 4) * 4 / GIB
        after = [m.free_after(r) - 2 * half - table for r in range(m.ranks)]
        args = server_args(
            "0.4.6.post5", model_path="/models/Qwen2.5-32B-Instruct", tokenizer_path="/models/Qwen2.5-32B-Instruct",
            served_model_name="qwen2.5-32b", context_length=self.context, mem_fraction_static=self.fraction,
            max_total_tokens=self.cap, max_running_requests=256, tp_size=2, random_seed=self.seed,
            speculative_algorithm=None, speculative_draft_model_path=None, trust_remote_code=False,
            cuda_graph_max_bs=None, cuda_graph_bs=None, attention_backend="fa3",
        )  # fmt: skip
        steps = [
            (0, None, args),
            (12, "all", "Init torch distributed begin."),
            (15, "all", lambda r: f"Init torch distributed ends. mem usage={0.83 + r * 0.04:.2f} GB"),
            (16, "all", lambda r: f"Load weight begin. avail mem={m.free_before(r):.2f} GB"),
            (24, "bare", "Loading safetensors checkpoint shards:  24% Completed | 4/17 [00:06<00:21,  1.66s/it]"),
            (46, "bare", "Loading safetensors checkpoint shards: 100% Completed | 17/17 [00:29<00:00,  1.72s/it]"),
            (47, "all", lambda r: "Load weight end. type=Qwen2ForCausalLM, dtype=torch.bfloat16, "
                                  f"avail mem={m.free_after(r):.2f} GB, mem usage={m.weights_gib:.2f} GB."),
            (48, "all", f"KV Cache is allocated. #tokens: {self.pool}, K size: {half:.2f} GB, V size: {half:.2f} GB"),
            (48, "all", lambda r: f"Memory pool end. avail mem={after[r]:.2f} GB"),
            (49, "all", lambda r: "Capture cuda graph begin. This can take up to several minutes. "
                                  f"avail mem={after[r] - 0.12:.2f} GB"),
            (71, "all", lambda r: f"Capture cuda graph end. Time elapsed: {21.84 + r / 100:.2f} s. mem usage=1.84 GB. "
                                  f"avail mem={after[r] - 1.96:.2f} GB."),
            (72, 0, f"max_total_num_tokens={self.pool}, chunked_prefill_size=8192, max_prefill_tokens=16384, "
                    f"max_running_requests=256, context_len={self.context}"),
            (73, None, "INFO:     Started server process [4121]"),
            (73, None, "INFO:     Waiting for application startup."),
            (73, None, "INFO:     Application startup complete."),
            (73, None, "INFO:     Uvicorn running on http://127.0.0.1:30000 (Press CTRL+C to quit)"),
            (74, None, 'INFO:     127.0.0.1:40112 - "GET /get_model_info HTTP/1.1" 200 OK'),
            (75, 0, "Prefill batch. #new-seq: 1, #new-token: 6, #cached-token: 0, token usage: 0.00, "
                    "#running-req: 0, #queue-req: 0"),
            (77, None, 'INFO:     127.0.0.1:40126 - "POST /generate HTTP/1.1" 200 OK'),
            (77, None, "The server is fired up and ready to roll!"),
        ]  # fmt: skip
        if self.cap is not None and self.cap > self.profiled:
            raise ValueError("such a cap would print a warning that this sample does not have")
        lines = []
        for after_s, who, say in steps:
            now = at + timedelta(seconds=after_s)
            if who == "bare":
                lines.append(str(say))
                continue
            ranks = range(m.ranks) if who == "all" else (who,)
            lines.extend(_line(now, rank, say(rank) if callable(say) else say) for rank in ranks)  # type: ignore[arg-type]
        return lines


def plain() -> bytes:
    """Return the file: three starts, one after the other."""
    first = QwenStart(0.85, 200_000, 182_331_045)
    second = QwenStart(0.90, 200_000, 771_904_412)
    third = QwenStart(0.90, None, 36_118_207)
    lines = first.lines(moment("2025-06-11T09:00:10"))
    lines += _load(first, moment("2025-06-11T09:20:00"), retracted=3) + _stop(moment("2025-06-11T10:02:31"))
    lines += second.lines(moment("2025-06-11T10:04:02"))
    lines += _load(second, moment("2025-06-11T10:31:00"), retracted=2) + _stop(moment("2025-06-11T11:47:12"))
    lines += third.lines(moment("2025-06-11T11:48:40"))
    lines += _load(third, moment("2025-06-11T12:10:00"), retracted=0)
    return ("\n".join(lines) + "\n").encode()


def _line(at: datetime, rank: int | None, text: str) -> str:
    return f"[{at:%Y-%m-%d %H:%M:%S}{'' if rank is None else f' TP{rank}'}] {text}"


def _load(start: QwenStart, at: datetime, retracted: int) -> list[str]:
    """Forty busy minutes: the pool fills, and where it is too small requests are taken back."""
    lines = []
    for i in range(12):
        tokens = 120_000 + 6_500 * i
        lines.append(_line(
            at + timedelta(seconds=30 * i), 0,
            f"Prefill batch. #new-seq: 4, #new-token: 6144, #cached-token: 2048, token usage: {tokens / start.pool:.2f}, "
            f"#running-req: {88 + i}, #queue-req: {i}",
        ))  # fmt: skip
        lines.append(_line(
            at + timedelta(seconds=30 * i + 12), 0,
            f"Decode batch. #running-req: {92 + i}, #token: {tokens}, token usage: {tokens / start.pool:.2f}, "
            f"cuda graph: True, gen throughput (token/s): {2100.4 - i:.2f}, #queue-req: {i}",
        ))  # fmt: skip
        lines.append(_line(at + timedelta(seconds=30 * i + 13), None,
                           f'INFO:     10.0.7.2:{51000 + i} - "POST /v1/chat/completions HTTP/1.1" 200 OK'))  # fmt: skip
    if retracted:
        lines.append(_line(
            at + timedelta(seconds=371), 0,
            f"Decode out of memory happened. #retracted_reqs: {retracted}, #new_token_ratio: 0.5234 -> 0.9012",
        ))  # fmt: skip
    return lines


def _stop(at: datetime) -> list[str]:
    return [
        _line(at, None, "SIGTERM received. signum=None frame=None. Draining requests and shutting down..."),
        _line(at + timedelta(seconds=2), None, "Gracefully exiting... remaining number of requests 0"),
    ]
