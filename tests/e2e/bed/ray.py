"""Real Ray as a layer of an image: installed with pip for the Python of the hosts' root, built once and kept.

The image has all that `ray[default]` installs, the dashboard as well: what is not reachable must not be there by
chance.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from tests.e2e.bed import layers, rootfs
from tests.e2e.bed.shell import run

if TYPE_CHECKING:
    from collections.abc import Iterator

REQUIREMENT = "ray[default]==2.60.0"
PLATFORMS = ("manylinux2014_x86_64", "manylinux_2_17_x86_64", "manylinux_2_28_x86_64")
LIBRARIES = ("libdl.so.2", "libgcc_s.so.1", "libpthread.so.0", "librt.so.1", "libstdc++.so.6")
"""What Ray's programs need and Python does not."""
PROGRAM = b"#!/usr/bin/python3\nimport sys\n\nfrom ray.scripts.scripts import main\n\nsys.exit(main())\n"
# A container with a read-only root cannot compile modules, and each of Ray's processes would do so at its start. Some
# files are templates, which cannot be compiled.
COMPILE = """
mount --bind "$1" "$2/mnt"
chroot "$2" python3 -m compileall -q --invalidation-mode unchecked-hash -s /mnt -p "$3" /mnt || :
"""


def layer() -> layers.Layer:
    """Return the layer, building it when it has not been built yet (a minute or two, and 100 MB from the registry)."""
    return layers.built("ray", Path(__file__), lambda: list(_files(rootfs.built())))


def _files(root: Path) -> Iterator[layers.Entry]:
    python = PurePosixPath(layers.target(root, "/usr/bin/python3")).name
    place = f"usr/local/lib/{python}/dist-packages"
    with tempfile.TemporaryDirectory(prefix="ray-", dir=rootfs.cache()) as scratch:
        _install(Path(scratch), python.removeprefix("python"))
        run(["unshare", "--mount", "sh", "-euc", COMPILE, "sh", scratch, root, f"/{place}"], timeout=1800)
        for directory, _, names in os.walk(scratch):
            for path in (Path(directory) / name for name in names):
                mode = stat.S_IMODE(path.stat().st_mode)
                yield layers.file(f"{place}/{path.relative_to(scratch)}", path.read_bytes(), mode=mode)
    yield layers.file("usr/local/bin/ray", PROGRAM, mode=0o755)
    for name in LIBRARIES:
        (library,) = root.glob(f"usr/lib/*/{name}")
        for each in {str(library.relative_to(root)), layers.target(root, f"/{library.relative_to(root)}")}:
            yield layers.from_root(root, each)


def _install(directory: Path, version: str) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    where = ["--only-binary=:all:", f"--python-version={version}", "--target", directory]
    run([*pip, *where, *(f"--platform={each}" for each in PLATFORMS), REQUIREMENT], timeout=1800)
