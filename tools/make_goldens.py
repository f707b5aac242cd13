"""Draw every sample again: `.venv/bin/python tools/make_goldens.py`. Then read the diff as a reviewer would.

Writes tests/golden/*.json and *.txt (the timelines of all samples), docs/timeline.svg (the README's picture), the
tables of docs/json.md, and the reason codes of the timeline's schema.
"""

from __future__ import annotations

import hashlib
import json
import os
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from kvforensics.analysis import analyse
from kvforensics.errors import KvforensicsError
from kvforensics.findings.catalogue import CATALOGUE
from kvforensics.options import Options
from kvforensics.report.plain import dumps
from kvforensics.report.terminal.page import Page
from kvforensics.report.terminal.timeline import draw
from kvforensics.report.timeline_json import timeline
from kvforensics.verdicts.reasons import reason_codes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvforensics.analysis import Analysis

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests/golden"
PICTURE = ROOT / "docs/timeline.svg"
TABLES = ROOT / "docs/json.md"
SCHEMA = ROOT / "src/kvforensics/report/schemas/timeline-v1.json"
_WIDTH = 100
_WHOLE = ("sample_logs/incident/incident.export",)  # whose settings are kept at length
_FRAME = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
 font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def samples() -> dict[str, list[str]]:
    """Return every golden timeline by name, with its inputs as paths from the root of the repository."""
    found = {}
    for folder in ("sample_logs", "tests/samples"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and path.suffix != ".md":
                inside = str(path.relative_to(ROOT))
                found[inside.removeprefix("tests/samples/").replace("/", "--")] = [inside]
    real = sorted(str(p.relative_to(ROOT)) for p in (ROOT / "tests/samples/sglang-real").rglob("s0*.log"))
    return found | {"together--sglang-real": real}


def documents(inputs: list[str]) -> tuple[str, str]:
    """Return the JSON and the text of a timeline; for inputs without one, what is said instead."""
    os.chdir(ROOT)  # so that paths are the same everywhere
    try:
        analysis = analyse(inputs, Options())
    except KvforensicsError as error:
        said = f"exit {error.exit_code}: {error}\n"
        return dumps({"exit_code": error.exit_code, "error": str(error)}), said
    document = timeline(analysis)
    if inputs[0] not in _WHOLE:
        for launch in (launch for service in document["services"] for launch in service["launches"]):
            launch["config"] = _digest(launch["config"])
    return dumps(document), _text(analysis)


def picture() -> str:
    """Return the README's picture: the timeline of the bundled incident."""
    os.chdir(ROOT / "sample_logs")
    analysis = analyse(["incident/incident.export"], Options())
    console = Console(
        record=True, width=_WIDTH, file=StringIO(), force_terminal=True, color_system="truecolor",
        markup=False, emoji=False, highlight=False, legacy_windows=False,
    )  # fmt: skip
    draw(analysis, Page(console))
    return console.export_svg(title="kvforensics demo", code_format=_FRAME, unique_id="timeline")


def tables(page: str) -> str:
    """Return docs/json.md with its closed lists as the code has them."""
    codes = "".join(f"| `{code}` | {_sentence(said)} |\n" for code, said in reason_codes().items())
    found = "".join(
        f"| `{name}` | {severity} | {_sentence(said)} |\n"
        for name, (severity, said) in sorted(CATALOGUE.items())
    )
    page = _between(page, "reason codes", f"| code | meaning |\n|---|---|\n{codes}")
    return _between(page, "findings", f"| id | severity | says |\n|---|---|---|\n{found}")


def schema(text: str) -> str:
    """Return the timeline's schema with its list of reason codes as the code has them."""
    whole = json.loads(text)
    whole["$defs"]["reason_code"]["enum"] = list(reason_codes())
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def _sentence(said: str) -> str:
    return said[:1].upper() + said[1:].rstrip(".") + "."


def _between(page: str, name: str, table: str) -> str:
    begin = page.index("-->\n", page.index(f"<!-- begin {name}")) + 4
    return page[:begin] + table + page[page.index(f"<!-- end {name}") :]


def files() -> Iterator[tuple[Path, str]]:
    """Yield every file that this script writes."""
    for name, inputs in samples().items():
        document, text = documents(inputs)
        yield GOLDEN / f"{name}.json", document
        yield GOLDEN / f"{name}.txt", text
    yield PICTURE, picture()
    yield TABLES, tables(TABLES.read_text("utf-8"))
    yield SCHEMA, schema(SCHEMA.read_text("utf-8"))


def _text(analysis: Analysis) -> str:
    made = StringIO()
    draw(analysis, Page.on(made, width=_WIDTH, color=False))
    return "".join(f"{line.rstrip()}\n" for line in made.getvalue().splitlines())


def _digest(config: dict[str, Any]) -> dict[str, Any]:
    data = json.dumps(config, sort_keys=True).encode()
    return {"settings": len(config), "sha256": hashlib.sha256(data).hexdigest()[:16]}


def main() -> None:
    """Write all files, and remove the goldens of samples that are gone."""
    made = dict(files())
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for path in GOLDEN.iterdir():
        if path.suffix in {".json", ".txt"} and path not in made:
            path.unlink()
    for path, text in made.items():
        path.write_text(text, encoding="utf-8")
    print(f"{len(made)} files written")


if __name__ == "__main__":
    main()
