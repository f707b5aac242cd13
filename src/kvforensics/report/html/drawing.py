"""Drawings by vl-convert, the optional package that carries Vega: pictures, compiled charts, the bundle."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from kvforensics.errors import MissingExtraError

_RELEASE = "6.4"  # of Vega-Lite
_CLIP = re.compile(r"""( id="|url\(#)clip([0-9]+)("|\))""")
_SCALE = 2.0  # pixels of a PNG for one of the specification
# An inline picture takes the page's colours, so that it is at home in a dark page too.
_INLINE = {
    "background": None,
    "view": {"stroke": "rgba(128,128,128,0.4)"},
    "axis": {
        "labelColor": "currentColor",
        "titleColor": "currentColor",
        "domainColor": "rgba(128,128,128,0.6)",
        "tickColor": "rgba(128,128,128,0.6)",
        "gridColor": "rgba(128,128,128,0.25)",
    },
    "legend": {"labelColor": "currentColor", "titleColor": "currentColor"},
}


def require() -> Any:
    """Return the package. Raises MissingExtraError where it is not installed."""
    try:
        import vl_convert  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError(
            "charts need the package vl-convert-python",
            hint="install the extra: pip install 'kvforensics[report]'",
        ) from error
    return vl_convert


def svg(specification: dict[str, Any]) -> str:
    """Return a picture by itself."""
    return _settled(str(require().vegalite_to_svg(specification, vl_version=_RELEASE)), "")


def inline_svg(specification: dict[str, Any], name: str) -> str:
    """Return a picture for the middle of a page, in the colours of that page; `name` is its own there."""
    themed = specification | {"config": {**specification["config"], **_merged(specification["config"])}}
    return _settled(str(require().vegalite_to_svg(themed, vl_version=_RELEASE)), f"{name}-")


def png(specification: dict[str, Any]) -> bytes:
    """Return a picture as pixels."""
    return bytes(require().vegalite_to_png(specification, vl_version=_RELEASE, scale=_SCALE))


def compiled(specification: dict[str, Any]) -> dict[str, Any]:
    """Return the Vega specification that a page draws: compiled here, so that no reader's browser has to.

    The time axes follow the parameters `t0` and `t1` alone; what data they show has no say in it.
    """
    made: dict[str, Any] = require().vegalite_to_vega(specification, vl_version=_RELEASE)
    for scale in made["scales"]:
        if scale["type"] == "utc":
            scale["domain"] = {"signal": "[t0, t1]"}
            del scale["domainMin"], scale["domainMax"]
    made.pop("background", None)
    return made


@cache
def bundle() -> str:
    """Return Vega's JavaScript out of the package, in a form that no script element ends early by."""
    made = str(require().javascript_bundle(vl_version=_RELEASE))
    return made.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _settled(svg: str, prefix: str) -> str:
    """Count the clips of a picture by itself; Vega counts them over the life of the process."""
    numbers: dict[str, int] = {}

    def renamed(match: re.Match[str]) -> str:
        number = numbers.setdefault(match[2], len(numbers) + 1)
        return f"{match[1]}{prefix}clip{number}{match[3]}"

    return _CLIP.sub(renamed, svg)


def _merged(config: dict[str, Any]) -> dict[str, Any]:
    return {
        name: {**config[name], **value} if isinstance(value, dict) and name in config else value
        for name, value in _INLINE.items()
    }
