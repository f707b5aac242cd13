"""A docker json-file of release 0.5.23: more requests, a fraction that leaves no room, and back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta

from samplelogs.journal import moment
from samplelogs.server import GIB, Machine, decode, prefill, server_args

_PIECE = 16 * 1024  # docker's json-file driver cuts longer lines at so many bytes
_BATCHES = "[1, 2, 4, 8, 16, 24, 32, 64, 128, 256]"


@dataclass(frozen=True)
class LlamaStart:
    """A start of Llama-3.3-70B on four GPUs: 8 KV heads, 80 layers, so 81,920 bytes a token and GPU."""

    fraction: float
    running: int
    seed: int

    machine = Machine(ranks=4, before_gib=78.6, weights_gib=33.02)
    cell = 81_920
    context = 131_072

    @property
    def pool(self) -> int:
        """Tokens that the pool has."""
        return self.machine.pool_tokens(self.fraction, self.cell)

    def write(self, log: DockerLog, at: datetime, *, fails: bool) -> None:
        """Write all lines up to readiness, or up to the capture that finds no memory."""
        m = self.machine
        half = (self.pool + 1) * self.cell / GIB / 2
        table = (self.running + 1) * (self.context + 4) * 4 / GIB
        after = [m.free_after(r) - 2 * half - table for r in range(m.ranks)]
        log.say(at, None, server_args(
            "0.5.23", model_path="/models/Llama-3.3-70B-Instruct", tokenizer_path="/models/Llama-3.3-70B-Instruct",
            served_model_name="llama-3.3-70b", context_length=self.context, mem_fraction_static=self.fraction,
            max_running_requests=self.running, tp_size=4, random_seed=self.seed, trust_remote_code=False,
            speculative_algorithm=None, speculative_draft_model_path=None, attention_backend="fa3",
        ))  # fmt: skip
        steps = [
            (14, lambda r: f"Load weight begin. avail mem={m.free_before(r):.2f} GB"),
            (58, lambda r: f"Load weight end. elapsed={43.7 + r / 10:.2f} s, type=LlamaForCausalLM, "
                           f"avail mem={m.free_after(r):.2f} GB, mem usage={m.weights_gib:.2f} GB."),
            (59, lambda r: f"KV Cache is allocated. dtype: torch.bfloat16, #tokens: {self.pool}, "
                           f"K size: {half:.2f} GB, V size: {half:.2f} GB"),
            (59.3, lambda r: f"Memory pool end. avail mem={after[r]:.2f} GB"),
            (60, lambda r: "Capture target decode CUDA graph begin. backend=full, num_tokens_per_req=1, "
                           f"avail mem={after[r] - 0.21:.2f} GB"),
        ]  # fmt: skip
        if not fails:
            steps.append((88, lambda r: f"Capture target decode CUDA graph end. bs={_BATCHES}, "
                          f"elapsed={27.9 + r / 100:.2f} s, mem usage=2.84 GB, avail mem={after[r] - 3.05:.2f} GB."))  # fmt: skip
        for offset, say in steps:
            for rank in range(m.ranks):
                log.say(at + timedelta(seconds=offset, milliseconds=rank), rank, say(rank))
        if fails:
            self._fail(log, at + timedelta(seconds=71), after[0] - 0.21)
            return
        log.say(at + timedelta(seconds=88.4), 0,
                "Tree cache initialized: source=default impl=UnifiedRadixCache hybrid_swa=False hybrid_ssm=False "
                "hicache_attached=False")  # fmt: skip
        log.say(at + timedelta(seconds=88.5), 0,
                f"max_total_num_tokens={self.pool}, chunked_prefill_size=8192, max_prefill_tokens=16384, "
                f"max_running_requests={self.running}, context_len={self.context}, "
                f"available_gpu_mem={after[0] - 3.05:.2f} GB")  # fmt: skip
        for offset, text in (
            (89.0, "INFO:     Started server process [1]"),
            (89.0, "INFO:     Waiting for application startup."),
            (89.1, "INFO:     Application startup complete."),
            (89.1, "INFO:     Uvicorn running on http://0.0.0.0:30000 (Press CTRL+C to quit)"),
            (90.2, 'INFO:     127.0.0.1:41022 - "GET /model_info HTTP/1.1" 200 OK'),
        ):
            log.say(at + timedelta(seconds=offset), None, text, stream="stdout")
        log.say(at + timedelta(seconds=91.0), 0, prefill(6, 0, 0.0, 0, 0, 0, 0.0))
        log.say(at + timedelta(seconds=92.6), None, "The server is fired up and ready to roll!")

    def _fail(self, log: DockerLog, at: datetime, free: float) -> None:
        oom = (
            "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB of which "
            f"{free:.2f} GiB is free."
        )
        log.say(at, 0, "Scheduler hit an exception: Traceback (most recent call last):")
        for text in (
            '  File "/sgl-workspace/sglang/python/sglang/srt/managers/scheduler.py", line 6301, in run_scheduler_process',
            "    scheduler = Scheduler(",
            f"torch.OutOfMemoryError: {oom}",
            "",
            "During handling of the above exception, another exception occurred:",
            "",
            f"Exception: Capture cuda graph failed: {oom}",
            "Possible solutions:",
            "1. set --mem-fraction-static to a smaller value (e.g., 0.8 or 0.7)",
            "2. set --cuda-graph-max-bs-decode to a smaller value (e.g., 16)",
            "",
        ):
            log.raw(at, text)
        log.say(at + timedelta(seconds=1.2), None,
                "Received sigquit from a child process. It usually means the child failed.")  # fmt: skip


class DockerLog:
    """Lines as docker's json-file driver keeps them: JSON objects, long lines in pieces."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, at: datetime, rank: int | None, text: str, stream: str = "stderr") -> None:
        """Write a line with SGLang's prefix."""
        self.raw(at, f"[{at:%Y-%m-%d %H:%M:%S}{'' if rank is None else f' TP{rank}'}] {text}", stream)

    def raw(self, at: datetime, text: str, stream: str = "stderr") -> None:
        """Write a line as it is."""
        data = f"{text}\n"
        for number, start in enumerate(range(0, len(data), _PIECE)):
            stamp = at + timedelta(microseconds=137 + 11 * number)
            piece = {
                "log": data[start : start + _PIECE],
                "stream": stream,
                "time": f"{stamp:%Y-%m-%dT%H:%M:%S.%f}286Z",
            }
            self.lines.append(json.dumps(piece, ensure_ascii=False, separators=(",", ":")))


def container() -> bytes:
    """Return the file: four starts, of which the third fails."""
    log = DockerLog()
    starts = [
        (LlamaStart(0.82, 128, 91_220_114), "2026-09-02T07:10:00.200", False),
        (LlamaStart(0.82, 256, 404_118_730), "2026-09-02T09:41:20.310", False),
        (LlamaStart(0.97, 256, 550_271_093), "2026-09-02T11:05:01.120", True),
        (LlamaStart(0.82, 256, 12_905_577), "2026-09-02T11:09:44.050", False),
    ]
    for start, begins, fails in starts:
        at = moment(begins)
        start.write(log, at, fails=fails)
        if fails:
            continue
        for i in range(10):
            now = at + timedelta(seconds=300 + 45 * i)
            tokens = 140_000 + 11_000 * i
            running = min(start.running, 90 + 12 * i)
            queue = max(0, 90 + 12 * i - start.running)
            log.say(now, 0, prefill(4096, 1024, tokens / start.pool, running - 1, queue, 0, 9120.5 - i))
            log.say(now + timedelta(seconds=6), 0, decode(running, tokens, start.pool, 3310.2 - i, queue))
            log.say(now + timedelta(seconds=9), None,
                    f'INFO:     10.4.0.9:{52000 + i} - "POST /v1/chat/completions HTTP/1.1" 200 OK', stream="stdout")  # fmt: skip
    return ("\n".join(log.lines) + "\n").encode()
