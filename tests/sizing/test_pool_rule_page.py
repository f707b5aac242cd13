"""The tables of docs/pool-rule.md are the closed lists of the code."""

from pathlib import Path

import pytest

from kvforensics.sizing import REFUSALS, WHY_NOT

PAGE = Path(__file__).parents[2] / "docs/pool-rule.md"


def table(codes: dict[str, str]) -> str:
    rows = [f"| `{code}` | {text[:1].upper()}{text[1:]}. |" for code, text in sorted(codes.items())]
    return "\n".join(["| code | meaning |", "|---|---|", *rows])


@pytest.mark.parametrize(("name", "codes"), [("why_not", WHY_NOT), ("refusals", REFUSALS)])
def test_the_page_has_every_code_and_no_other(name, codes):
    text = PAGE.read_text()
    shown = text.split(f"<!-- begin {name} -->\n")[1].split(f"\n<!-- end {name} -->")[0]
    assert shown == table(codes)
