"""How long `sparkiac check --profile strict` takes for a large fleet, with every rule.

`python tools/benchmarks/check.py` prints the best of 3 runs for fleets of 250, 500 and 1,000 hosts: whole processes,
with byte code written. The deployments are all usable entries of the catalog in turn, no two with the same options,
each beside a service; entries for two machines get two. Run it on a quiet machine.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from sparkiac.resolve import catalogued

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
RUNS = 3
SIZES = (250, 500, 1000)
SECONDS = 5.0
"""What a thousand hosts may take."""
DIGEST = "sha256:" + "1" * 64
HEAD = "name: large\ndefaults: {model_store: /srv/models, api_key: {secret: vllm_api_key}}\n"


def fleet(size: int) -> str:
    """Write the inventory of a fleet of about so many hosts; the last group may need one more."""
    entries = itertools.cycle(each for each in catalogued.everything() if each.usable and _whole(each))
    hosts: list[str] = []
    deployments: list[str] = []
    while len(hosts) < size:
        entry = next(entries)
        on = [f"spark-{len(hosts) + place:04}" for place in range(entry.nodes)]
        hosts += [_host(name, len(hosts) + place) for place, name in enumerate(on)]
        deployments += _deployment(entry, len(deployments), on)
    services = (f"  asr-{place:04}: {_service(place)}\n" for place in range(len(hosts)))
    return f"{HEAD}hosts:\n{''.join(hosts)}deployments:\n{''.join(deployments)}services:\n{''.join(services)}"


def _whole(entry: catalogued.Catalogued) -> bool:
    """Return whether an entry needs only a host and an image from the inventory."""
    files = entry.values.get("container", {}).get("files", {})
    return {"model", "image"} <= entry.values.keys() and all("url" in file for file in files.values())


def _host(name: str, place: int) -> str:
    first, second = divmod(place, 250)
    fabric = f"{{links: [{{interface: enp1s0f1np1, hca: rocep1s0f1, address: 10.1.{first}.{second + 1}/16}}]}}"
    return f"  {name}: {{address: 10.0.{first}.{second + 1}, memory: {{total_gib: 119}}, fabric: {fabric}}}\n"


def _deployment(entry: catalogued.Catalogued, number: int, on: list[str]) -> Iterator[str]:
    recipe, _, variant = entry.name.partition("#")
    yield f"  chat-{number:04}:\n    recipe: {recipe}\n"
    if variant:
        yield f"    variant: {variant}\n"
    image = entry.values["image"].partition("@")[0]
    yield f"    image: {image}@{DIGEST}\n    hosts: [{', '.join(on)}]\n    port: 8001\n    set: {{seed: {number}}}\n"


def _service(place: int) -> str:
    return f"{{kind: parakeet, image: 'example.org/asr@{DIGEST}', hosts: spark-{place:04}, port: 8765}}"


def seconds(inventory: Path) -> float:
    """Measure the time of a check in a new process."""
    command = [sys.executable, "-m", "sparkiac", "check", str(inventory), "--profile", "strict", "--format", "json"]
    start = time.perf_counter()
    found = subprocess.run(command, cwd=ROOT, capture_output=True, check=False, env=_environment(inventory.parent))
    if found.returncode not in {0, 1}:
        sys.exit(found.stderr.decode())
    return time.perf_counter() - start


def _environment(folder: Path) -> dict[str, str]:
    """Compile the byte code, as an installation does."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": str(folder / "bytecode")}


def main() -> None:
    """Print the table; exit 1 if the largest fleet takes longer than its limit."""
    best = 0.0
    with tempfile.TemporaryDirectory() as folder:
        inventory = Path(folder) / "large.yaml"
        for size in SIZES:
            inventory.write_text(fleet(size), encoding="utf-8")
            best = min(seconds(inventory) for _ in range(RUNS))
            print(f"{size:5} hosts {best:6.2f} s  {1000 * best / size:5.2f} ms each")
    sys.exit(best > SECONDS)


if __name__ == "__main__":
    main()
