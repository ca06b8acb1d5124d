"""Model, image and vLLM release of a server, from its log or the plan, and whether a symptom is known for them."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac.catalog import interfaces

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sparkiac.fleet.diagnosis.lines import LogLine
    from sparkiac.model.symptoms import Conditions
    from sparkiac.plan.container import Container

_RELEASE: Final = re.compile(
    r"vLLM API server version ([0-9][\w.+-]{0,60})|LLM engine \(v([0-9][\w.+-]{0,60})\)"
    r"|^vLLM Version ([0-9][\w.+-]{0,60})|vLLM \(v([0-9][\w.+-]{0,60})\) headless"
)
_MODEL: Final = re.compile(r"with config: model='([^']{1,300})'|'model(?:_tag)?': '([^']{1,300})'")
_HANDLE: Final = re.compile(r"[\w.-]{1,100}/[\w.-]{1,200}")


class DiagnosedServer(NamedTuple):
    """Facts about a server; None or empty if unknown."""

    models: tuple[str, ...] = ()
    image: str | None = None
    release: str | None = None


def of_log(lines: Iterable[LogLine]) -> DiagnosedServer:
    """Return the facts that the log lines of one start contain."""
    release, models = None, dict[str, None]()
    for line in lines:
        if "vLLM" in line.text or "LLM engine" in line.text:
            found = _RELEASE.search(line.text)
            release = next(filter(None, found.groups())) if found else release
        if "model" in line.text and (named := _MODEL.search(line.text)):
            models[next(filter(None, named.groups()))] = None
    return DiagnosedServer(tuple(models), None, release)


def of_plan(container: Container) -> DiagnosedServer:
    """Return the facts that the plan contains."""
    model = container.server.model
    return DiagnosedServer((model,) if model else (), container.image.reference, container.image.vllm)


def merged(logged: DiagnosedServer, planned: DiagnosedServer | None) -> DiagnosedServer:
    """Return both; for release and model the log counts, because the plan may be newer than the server."""
    if planned is None:
        return logged
    handles = tuple(each for each in logged.models if _HANDLE.fullmatch(each))
    return DiagnosedServer(handles or planned.models, planned.image, logged.release or planned.release)


class ReleaseDifference(NamedTuple):
    """A condition of a symptom that a server does not meet."""

    text: str
    excludes: bool
    """Whether the difference excludes the symptom; another image does not, because the line has the same cause."""


def differences(conditions: Conditions, server: DiagnosedServer) -> tuple[ReleaseDifference, ...]:
    """Return the conditions that the server does not meet. What is unknown is no difference."""
    image = server.image.partition("@")[0] if server.image else None
    found = [ReleaseDifference(text, excludes=True) for text in _excluding(conditions, server)]
    if conditions.images and image and not _matches(image, conditions.images):
        text = f"it was seen with {_listed(conditions.images)}; this server has {image}"
        found.append(ReleaseDifference(text, excludes=False))
    return tuple(found)


def _excluding(conditions: Conditions, server: DiagnosedServer) -> Iterator[str]:
    models = [each for each in server.models if _HANDLE.fullmatch(each)]
    if conditions.models and models and not any(_matches(each, conditions.models) for each in models):
        yield f"it is known for {_listed(conditions.models)}; this server has {models[0]}"
    if server.release is None:
        return
    release = interfaces.release(server.release)
    if conditions.vllm_at_least and release < interfaces.release(conditions.vllm_at_least):
        yield f"it is known for vLLM {conditions.vllm_at_least} and later; this server has {server.release}"
    if conditions.vllm_below and release >= interfaces.release(conditions.vllm_below):
        yield f"it is known for releases before vLLM {conditions.vllm_below}; this server has {server.release}"


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name.lower(), pattern.lower()) for pattern in patterns)


def _listed(patterns: Iterable[str]) -> str:
    return ", ".join(pattern.strip("*") for pattern in patterns)
