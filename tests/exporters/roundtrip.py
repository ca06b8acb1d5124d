"""A deployment there and back: inventory → plan → text of another tool → import → inventory."""

from __future__ import annotations

import hashlib
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import yaml

from sparkiac import foreign, pipeline
from sparkiac.foreign import assemble, redaction
from sparkiac.plan import build
from tests.catalog.rendered import ENTRYPOINTS
from tests.catalog.test_reference import inventory
from tests.plan.fleets import repositories

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.foreign.node import Exported
    from sparkiac.plan import Container, Plan
    from sparkiac.resolve.catalogued import Catalogued

NAME: Final = "chat"
_PULL: Final = {"number": 41834, "repository": "https://github.com/vllm-project/vllm.git", "commit": "2" * 40}
_NODE: Final = {"vllm-node-dsv4": {"commit": "1" * 40, "pull_requests": [_PULL]}}
BUILDS: Final[Mapping[str, Mapping[str, Any]]] = {
    "deepseek-ai/deepseek-v4-flash": _NODE,
    "deepseek-ai/deepseek-v4-flash#host-tuning": _NODE,
    "deepseek-ai/deepseek-v4-flash#no-mtp": _NODE,
    "deepseek-ai/deepseek-v4-flash#pr-43447": {
        "vllm-node-dsv4-pr-43447": {
            "repository": "https://github.com/eugr/spark-vllm-docker.git",
            "commit": "1" * 40,
            "pull_requests": [_PULL | {"number": 43447}],
        }
    },
    "deepseek-ai/deepseek-v4-flash-pinned": {
        "vllm-ds4-pinned": {"base": "nvcr.io/nvidia/vllm:26.04-py3", "install": ["pip", "install", "."]}
    },
}
"""Entry → what only a user can say of the image that it builds."""
_TEMPLATE: Final = {"url": "https://example.org/qwen3.5-chat-template.jinja"}
NEEDED: Final[Mapping[str, Mapping[str, Any]]] = {
    "redhatai/qwen3.5-122b-a10b-nvfp4#chat-template": {
        "container": {"files": {"/opt/sparkiac/qwen3.5-chat-template.jinja": _TEMPLATE}}
    }
}
"""Entry → what only a user can say of the deployment."""


class Trip(NamedTuple):
    """What a deployment is before and after."""

    before: tuple[Container, ...]
    after: tuple[Container, ...]
    first: Exported
    second: Exported
    fleet: dict[str, Any]
    """The inventory afterwards."""
    lost: tuple[str, ...]
    """What the importer lost."""


def of_entry(each: Catalogued, kind: str) -> Trip:
    """Take a catalog entry there and back, on a reference host or several."""
    needed, builds = NEEDED.get(each.name, {}), BUILDS.get(each.name, {})
    fleet = inventory(each, port=8001, **needed) | {"builds": builds}
    return of_fleet(fleet, kind, again=needed | ({"image": next(iter(builds))} if builds else {}))


def of_fleet(fleet: dict[str, Any], kind: str, *, again: Mapping[str, Any] | None = None) -> Trip:
    """Take an inventory's one deployment there and back; `again` is what only a user can say of it both times."""
    before = planned(fleet)
    first = foreign.exporter(kind).write(foreign.nodes(before, NAME))
    entry = imported(first.text)
    own = fleet["deployments"][NAME]
    deployment = plain(entry.data) | {"hosts": own["hosts"]} | dict(again or {})
    drafted = fleet | {"deployments": {NAME: deployment}}
    after = planned(drafted)
    second = foreign.exporter(kind).write(foreign.nodes(after, NAME))
    lost = tuple(f"{note.what}: {note.why}" for note in entry.notes if note.kind == "lost")
    return Trip(containers(before), containers(after), first, second, drafted, lost)


def imported(text: str) -> Any:  # noqa: ANN401  an importer's entry
    """Import a text by its recognised format; of a group, what its first node says."""
    kind = foreign.recognised(text, "chat")
    assert kind is not None, text
    launches = foreign.importer(kind).read(text, name="chat")
    return assemble.entries([("chat", launch) for launch in launches], redaction.secret_values(text))[0][1]


def plain(value: Any) -> Any:  # noqa: ANN401  plain data
    """Return data with lists for tuples, as YAML has them."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list | tuple) else value


def planned(fleet: dict[str, Any]) -> Plan:
    """Plan an inventory with a lock that has all that it wants; the same inventory goes to several formats."""
    return _planned(yaml.safe_dump(fleet, sort_keys=False))


@cache
def _planned(text: str) -> Plan:
    pins, plan = None, _with_lock(text, None)
    while (wanted := locked(plan)) != pins:  # the hash of a build has the digest of its base in it
        pins, plan = wanted, _with_lock(text, wanted)
    return plan


def _with_lock(text: str, pins: Mapping[str, Any] | None) -> Plan:
    lock = pins and pipeline.InputFile("lab.lock.yaml", yaml.safe_dump(pins).encode())
    report, found = pipeline.resolve_inventory(pipeline.InputFile("lab.yaml", text.encode()), lock or None)
    assert found is not None, [finding.message for finding in report.findings]
    return build(found)


def locked(plan: Plan) -> Mapping[str, Any]:
    """Pin images, models, files and builds; of an image that names its digest, that one."""
    found = containers(plan)
    bases = {build.base.reference for build in plan.builds if build.base}
    pulled = {each.image.reference for each in found if each.image.build is None}
    return {
        "version": 1,
        "images": {name: _pin(name) for name in bases | pulled},
        "builds": {
            build.name: {"id": f"sha256:{_digits(build.name)}", "spec": build.digest, "entrypoint": []}
            for build in plan.builds
        },
        "models": {model: {"commit": _digits(model)[:40]} for model in repositories(plan)},
        "files": {file.url: {"sha256": _digits(file.url)} for each in found for file in each.storage.files},
    }


def _pin(reference: str) -> dict[str, Any]:
    tagged, _, digest = reference.partition("@")
    entrypoint = ENTRYPOINTS.get(tagged.rpartition(":")[0])
    return {"digest": digest or f"sha256:{_digits(tagged)}"} | ({"entrypoint": entrypoint} if entrypoint else {})


def _digits(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def containers(plan: Plan) -> tuple[Container, ...]:
    """Return the deployment's containers, the leader first."""
    return tuple(node.container for node in foreign.nodes(plan, NAME))
