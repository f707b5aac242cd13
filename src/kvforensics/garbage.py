"""How often Python looks for garbage."""

from __future__ import annotations

import gc

# New objects after which garbage is looked for, 700 by default. A run makes hundreds of thousands that stay,
# modules and grammars first, and next to nothing that is garbage and cyclic: it took a tenth of its time.
_OBJECTS = 50_000


def look_seldom() -> None:
    """Look for garbage less often than Python would."""
    gc.set_threshold(_OBJECTS, 20, 20)
