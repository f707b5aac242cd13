"""Builds the scanner of lines where there is a C compiler; without one the package is whole, only slower."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCES = Path("src/kvforensics/scanner")
NAME = "_scan.abi3.so"
FLAGS = ("-O3", "-std=c11", "-Wall", "-Wextra", "-fPIC", "-fvisibility=hidden", "-shared")


class ScannerHook(BuildHookInterface):
    """Compiles `scanner/*.c` into the wheel, or into the package for an editable install."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add what could be built."""
        if self.target_name != "wheel" or os.name != "posix":
            return
        root = Path(self.root)
        place = root / SOURCES.parent if version == "editable" else Path(tempfile.mkdtemp())
        if not compiled(root / SOURCES, place / NAME):
            self.app.display_warning("no C compiler: logs are read without the scanner, a quarter as fast")
            return
        if version != "editable":
            build_data["force_include"][str(place / NAME)] = f"kvforensics/{NAME}"
            build_data["pure_python"] = False
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data["tag"] = f"cp311-abi3-{platform}"


def compiled(folder: Path, target: Path) -> bool:
    """Compile the extension module of a folder; false where that cannot be done."""
    compiler = os.environ.get("CC") or (sysconfig.get_config_var("CC") or "cc").split()[0]
    undefined = ("-undefined", "dynamic_lookup") if sys.platform == "darwin" else ()
    include = sysconfig.get_path("include")
    sources = sorted(map(str, folder.glob("*.c")))
    fresh = target.with_suffix(".new")
    try:
        subprocess.run(  # noqa: S603 - the compiler that built Python, or the one that CC names
            [compiler, *FLAGS, *undefined, f"-I{include}", *sources, "-o", str(fresh)],
            check=True,
            capture_output=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return False
    fresh.replace(target)
    return True
