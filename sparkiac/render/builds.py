"""Render the builds: a Dockerfile, the build specification as JSON, and the script that reads both."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final

from sparkiac.plan import Plan, PlannedBuild
from sparkiac.render import escape
from sparkiac.render.templates import fill
from sparkiac.report import assets
from sparkiac.report.artifact import Artifact

_HOME: Final = "/opt/sparkiac"
_SOURCE: Final = f"{_HOME}/source"
_MOD_SCRIPT: Final = "run.sh"
_SCRIPT: Final = "build"


def render(plan: Plan) -> Iterator[Artifact]:
    """Render builds/<name>/ for every build that the plan uses."""
    for build in plan.builds:
        root = f"builds/{build.name}"
        yield Artifact(f"{root}/Dockerfile", fill("build/Dockerfile.j2", _values(build)))
        yield Artifact(f"{root}/spec.json", _spec(build))
        yield Artifact(f"{root}/{_SCRIPT}", _script(), 0o755)


@cache
def _script() -> bytes:
    """Read the build script. It is the same for every build; values of the inventory are never inserted into code."""
    return (assets.directory("sparkiac/host") / "build/program.py").read_bytes()


def _spec(build: PlannedBuild) -> bytes:
    data = {"name": build.name, "spec": build.digest, "build": build.spec}
    return (json.dumps(data, indent=1, sort_keys=True) + "\n").encode()


def _values(build: PlannedBuild) -> dict[str, Any]:
    spec = build.spec
    return {
        "base": build.base.pull if build.base else None,
        "arguments": sorted(spec.get("arguments", {})),
        "environment": sorted(spec.get("environment", {})),
        "source": _SOURCE,
        "install": _run(spec["install"], _SOURCE) if "install" in spec else None,
        "pip": escape.json_argument(["python3", "-m", "pip", "install", *spec["pip"]]) if spec.get("pip") else None,
        "mods": [_mod(index, mod) for index, mod in enumerate(spec.get("mods", ()))],
    }


def _mod(index: int, mod: dict[str, Any]) -> dict[str, str]:
    target = f"{_HOME}/mods/{index}"
    run = f"./{mod.get('run', _MOD_SCRIPT)}"
    return {"staged": f"sparkiac-mods/{index}", "target": target, "run": _run([run], target)}


def _run(words: Sequence[str], folder: str) -> str:
    """Return a RUN instruction in exec form, so that no shell parses it; the working directory of the image stays."""
    return escape.json_argument(["/bin/sh", "-c", f'cd {folder} && exec "$@"', "sh", *words])
