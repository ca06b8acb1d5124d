"""Inventories as texts, taken through the stages in memory."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel

from sparkiac import pipeline, source
from sparkiac.model.inventory import Inventory
from sparkiac.model.lock import Lock
from sparkiac.plan import build
from sparkiac.plan.weights import needed
from sparkiac.resolve import resolve

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.catalog.interfaces import Interface
    from sparkiac.model.resolved import ResolvedFleet
    from sparkiac.plan import Container, Plan
    from sparkiac.report import Finding
    from sparkiac.resolve import Resolved

ONES: Final = "sha256:" + "1" * 64
TWOS: Final = "sha256:" + "2" * 64
COMMIT: Final = "3" * 40
SMALL: Final = (
    f'commit: "{COMMIT}", tensor_bytes: 16000000000, '
    "config: {model_type: qwen3, num_hidden_layers: 12, num_attention_heads: 8, num_key_value_heads: 2, head_dim: 128, "
    "max_position_embeddings: 262144, mtp_num_hidden_layers: 1}"
)
"""What a lock says of a dense model with 16 GB of weights, of which everything that a proof needs is known."""
LOCK: Final = f"""\
version: 1
images:
  nvcr.io/nvidia/vllm:26.04-py3: {{digest: "{ONES}", entrypoint: [/opt/nvidia/nvidia_entrypoint.sh]}}
  vllm/vllm-openai:gemma4-0505-arm64-cu130: {{digest: "{TWOS}"}}
models:
  example/model: {{{SMALL}}}
  example/big: {{{SMALL}}}
"""
SPARK: Final = "spark-01: {address: 192.168.1.11}"
PAIR: Final = """\
name: pair
defaults: {model_store: /srv/models}
hosts:
  spark-01:
    address: 192.168.1.11
    fabric: {links: [{interface: enp1s0f1np1, hca: rocep1s0f1, address: 192.168.177.11/24}]}
  spark-02:
    address: 192.168.1.12
    fabric: {links: [{interface: enp1s0f1np1, hca: rocep1s0f1, address: 192.168.177.12/24}]}
deployments:
  big:
    recipe: base/single-spark
    model: example/big
    hosts: [spark-02, spark-01]
    port: 8001
"""
"""One distributed group; the second host leads."""


def deployment(*lines: str, defaults: str = "{model_store: /srv/models}", host: str = SPARK) -> str:
    """Write an inventory with the deployment `chat` and these further lines of it."""
    head = f"name: lab\ndefaults: {defaults}\nhosts: {{{host}}}\ndeployments:\n  chat:\n    recipe: base/single-spark\n"
    return head + "".join(f"    {line}\n" for line in ("model: example/model", "hosts: spark-01", "port: 8001", *lines))


def service(*lines: str, defaults: str = "{}", host: str = SPARK) -> str:
    """Write an inventory with the service `asr` and these further lines of it."""
    head = f"name: lab\ndefaults: {defaults}\nhosts: {{{host}}}\nservices:\n  asr:\n    kind: container\n"
    image = f"image: example.org/asr@{ONES}"
    return head + "".join(f"    {line}\n" for line in (image, "hosts: spark-01", *lines))


def webui(*lines: str, host: str = SPARK) -> str:
    """Write an inventory with the front end `chat` and these further lines of it."""
    head = f"name: lab\nhosts: {{{host}}}\nservices:\n  chat:\n    kind: open-webui\n"
    image = f"image: example.org/webui@{ONES}"
    return head + "".join(f"    {line}\n" for line in (image, "hosts: spark-01", *lines))


@cache
def lock(text: str = LOCK) -> Lock:
    """Read a lock that is valid."""
    found = source.load(text.encode(), name="lab.lock.yaml", model=Lock)
    assert found.value is not None, found.findings
    return found.value


def resolution(
    text: str, *, locked: str = LOCK, interfaces: Mapping[str, Interface] | None = None
) -> tuple[tuple[Finding, ...], Resolved | None]:
    """Resolve an inventory whose form is valid."""
    inventory = source.load(text.encode(), name="lab.yaml", model=Inventory)
    assert inventory.value is not None, inventory.findings
    return resolve(inventory, lock(locked), interfaces or {})


def resolved(text: str, *, locked: str = LOCK, interfaces: Mapping[str, Interface] | None = None) -> Resolved:
    """Resolve an inventory that has no fault."""
    findings, found = resolution(text, locked=locked, interfaces=interfaces)
    assert found is not None, said(findings)
    return found


def values(text: str) -> dict[str, Any]:
    """Return what is resolved of an inventory, as plain data without what no layer says."""
    return dumped(resolved(text).fleet)


def planned(text: str, *, locked: str = LOCK) -> Plan:
    """Plan an inventory that has no fault."""
    return build(resolved(text, locked=locked))


def containers(text: str, *, locked: str = LOCK) -> dict[str, Container]:
    """Return the planned containers by `host/name`."""
    plan = planned(text, locked=locked)
    return {f"{host.name}/{each.name}": each for host in plan.hosts for each in host.containers}


def container(text: str, *, locked: str = LOCK) -> Container:
    """Return the one planned container."""
    [found] = containers(text, locked=locked).values()
    return found


def checked(
    text: str, *, locked: str | None = LOCK, allow_unlocked: bool = False, hidden: frozenset[str] | None = None
) -> pipeline.Outcome:
    """Run the pipeline up to the rules; without `hidden`, those of the default profile."""
    pins = None if locked is None else pipeline.InputFile("lab.lock.yaml", locked.encode())
    return pipeline.check(
        pipeline.InputFile("lab.yaml", text.encode()), pins, allow_unlocked=allow_unlocked, hidden=hidden
    )


def said(findings: tuple[Finding, ...]) -> list[str]:
    """Write findings as `CODE line:column message`."""
    return [
        f"{finding.code} {finding.loc.mark.line}:{finding.loc.mark.column} {finding.message}"
        if finding.loc
        else f"{finding.code} {finding.message}"
        for finding in findings
    ]


def repositories(plan: Plan) -> list[str]:
    """Name the repositories of the model hub that a plan needs, sorted."""
    return sorted({name for host in plan.hosts for each in host.containers for name in needed(each)})


def pins(text: str, locked: str = "version: 1\nimages: {}\n") -> str:
    """Return a lock with the commits of all repositories that a plan of the inventory needs, beside what it holds."""
    outcome = checked(text, locked=locked, allow_unlocked=True)
    names = repositories(outcome.plan) if outcome.plan else ()
    models = "".join(f"  {name}: {{{SMALL}}}\n" for name in names)
    return f"{locked.rstrip()}\nmodels:\n{models}" if models else locked


def faults(text: str) -> list[str]:
    """Write what resolving finds."""
    return said(resolution(text)[0])


def dumped(fleet: ResolvedFleet) -> dict[str, Any]:
    """Return the values of a fleet as plain data, without defaults of the models."""
    return {name: _plain(part) for name, part in fleet._asdict().items() if part}


def _plain(part: BaseModel | dict[str, Any]) -> dict[str, Any]:
    if isinstance(part, BaseModel):
        return part.model_dump(exclude_unset=True)
    return {name: _plain(each) for name, each in part.items()}
