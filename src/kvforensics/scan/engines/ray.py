"""Ray Core tasks as an engine (extra `kvforensics[ray]`)."""

from __future__ import annotations

import os
import pickle
from typing import TYPE_CHECKING, Any

from kvforensics.errors import MissingExtraError, UsageError
from kvforensics.scan.engine import RETRIES, Item, Result, WorkerDiedError, prepare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

WINDOW = 64  # tasks under way for each core: references cost the driver memory


class Ray:
    """Tasks of a Ray cluster: at `address`, at RAY_ADDRESS, or one started on this machine.

    Ray's usage report is off unless RAY_USAGE_STATS_ENABLED says otherwise.
    """

    def __init__(self, address: str | None = None) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        try:
            import ray  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise MissingExtraError(
                "--engine ray needs Ray", hint="install the extra: pip install 'kvforensics[ray]'"
            ) from error
        self._ray: Any = ray
        if not ray.is_initialized():
            at = address or os.environ.get("RAY_ADDRESS") or "local"  # never a stale cluster's file
            try:
                ray.init(address=at, log_to_driver=False, include_dashboard=False if at == "local" else None)
            except (ConnectionError, ValueError, RuntimeError) as error:
                raise UsageError(
                    f"cannot reach the Ray cluster: {str(error).splitlines()[0]}",
                    hint="see --engine ray=ADDRESS",
                ) from error

    def run(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[tuple[Item, Result | None, Exception | None]]:
        """Give each item once, with its result or its error; a dead worker's items are tried again."""
        ray = self._ray
        task = ray.remote(num_cpus=1, max_retries=RETRIES, retry_exceptions=[OSError])(_apply)
        shipped = ray.put(pickle.dumps(function))
        running: dict[Any, Item] = {}
        most = WINDOW * max(1, int(ray.cluster_resources().get("CPU", 1)))
        pending = iter(items)
        while True:
            while len(running) < most and (item := next(pending, None)) is not None:
                running[task.remote(shipped, pickle.dumps(item))] = item
            if not running:
                return
            for reference in ray.wait(list(running))[0]:
                yield self._outcome(running.pop(reference), reference)

    def _outcome(self, item: Item, reference: Any) -> tuple[Item, Any, Exception | None]:
        try:
            return item, self._ray.get(reference), None
        except self._ray.exceptions.WorkerCrashedError:
            return item, None, WorkerDiedError(f"its worker died {RETRIES + 1} times")
        except self._ray.exceptions.RayTaskError as error:
            cause = error.cause if isinstance(error.cause, Exception) else error
            return item, None, cause
        except self._ray.exceptions.RayError as error:
            return item, None, error


def _apply(function: bytes, item: bytes) -> Any:
    prepare(1)  # before what comes next loads polars: Ray gives a task one core
    return pickle.loads(function)(pickle.loads(item))  # noqa: S301 - from this run's own driver
