"""Write the logs under sample_logs/: `python3 tools/make_sample_logs.py` (standard library only)."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from samplelogs.container import container
from samplelogs.damaged import damaged
from samplelogs.incident import incident
from samplelogs.plain import plain


def files() -> dict[str, bytes]:
    """Return every file below sample_logs/ by its name."""
    journal = incident()
    return {
        "incident/incident.export": journal.export(),
        "incident/incident.json": journal.json_lines(whole=True),
        "incident/incident.txt": journal.short(),
        "plain-0.4.6/server.log": plain(),
        "container-0.5.23/sglang-json.log": container(),
        "damaged/damaged.json": damaged(),
    }


def main() -> None:
    """Write the files beside this repository's README."""
    target = Path(__file__).parents[1] / "sample_logs"
    for name, data in files().items():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        print(f"{path.relative_to(target.parent)}  {len(data):,} bytes")


if __name__ == "__main__":
    main()
