"""Nothing that an inventory may say is lost: each field changes what is written, what is pinned, or what is found.

Each field of each model is set to one value and then to another one, in small valid inventories of all shapes. The
files, what the lock must hold, or the findings must differ in one of these inventories at least.
"""

from __future__ import annotations

import copy
import json
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import pytest

from sparkiac import pipeline, source
from sparkiac.model import forms
from sparkiac.model.inventory import Inventory
from sparkiac.plan import build
from tests import destinations
from tests.everyfield import TEXTS, Place, choices, places, put
from tests.plan.fleets import LOCK, ONES
from tests.resolve.built import as_yaml

if TYPE_CHECKING:
    from sparkiac.plan import Plan
    from sparkiac.report.artifact import Artifact


def _link(number: int) -> str:
    return f"fabric: {{links: [{{interface: enp1s0f1np1, hca: rocep1s0f1, address: 10.0.0.{number}/24}}]}}"


_HEAD: Final = f"""\
name: fleet
defaults: {{model_store: /srv/models}}
hosts:
  spark-01: {{address: 192.168.1.11, {_link(1)}}}
  spark-02: {{address: 192.168.1.12, {_link(2)}}}
  spark-03: {{address: 192.168.1.13, {_link(3)}}}
"""
_CHAT: Final = (
    _HEAD + "deployments:\n  chat: {recipe: base/single-spark, model: example/model, hosts: spark-01, port: 8001}\n"
)


def _ported(first: str, second: str) -> str:
    """Return an inventory whose platform has a port of these two interfaces."""
    port = f"{{interface: {first}, hca: one, twin: {{interface: {second}, hca: two}}}}"
    platform = f"platforms: {{bench: {{title: Bench, architecture: arm64, rdma_ports: [{port}]}}}}\n"
    return _CHAT.replace("192.168.1.11,", "192.168.1.11, platform: bench,") + platform


_IMAGE: Final = f"image: 'example.org/image@{ONES}', hosts: spark-01"
_OLLAMA: Final = f"  ollama: {{kind: ollama, {_IMAGE}, models: ['qwen3:8b']}}\n"
SHAPES: Final = {
    "solo": _CHAT,
    "platform": _CHAT.replace("192.168.1.11,", "192.168.1.11, platform: bench,")
    + """\
platforms:
  bench: {title: Bench, architecture: arm64, gpu: {name: NVIDIA GB10, compute_capability: "12.1"}}
""",
    "own model": _CHAT + "own_models: {example/model: {host: spark-01, path: /srv/one}}\n",
    "first half of a port": _ported("enp1s0f1np1", "other"),
    "second half of a port": _ported("other", "enp1s0f1np1"),
    "group": _CHAT.replace(
        "hosts: spark-01", "hosts: [spark-01, spark-02], per_host: {spark-01: {container: {ipc: private}}}"
    ),
    "images from a host": _CHAT.replace("192.168.1.11,", "192.168.1.11, images_from: spark-02,"),
    "variant": _CHAT.replace("base/single-spark, model: example/model", "redhatai/qwen3.5-122b-a10b-nvfp4").replace(
        "port: 8001",
        "port: 8001, container: {files: {/opt/sparkiac/qwen3.5-chat-template.jinja: {url: 'https://example.org/one'}}}",
    ),
    "fork": _CHAT.replace("example/model", "example/without-config").replace(
        "port: 8001",
        "port: 8001, image: 'vllm/vllm-openai:v0.20.0', set: {max_model_len: 65536, option_one: 1}, env: {VLLM_ONE: 1}",
    ),
    "host memory": _CHAT.replace("port: 8001", "port: 8001, load_memory: {drop_caches_every_s: 2, read_ahead_kib: 64}"),
    "no recipe": _HEAD
    + """\
deployments:
  chat:
    engine: vllm
    image: nvcr.io/nvidia/vllm:26.04-py3
    model: example/model
    hosts: spark-01
    port: 8001
    bind: lan
    container: {ipc: private, tmp_size_gib: 1, read_only: true}
    timeouts: {ready_s: 900, stop_s: 90, restart_delay_s: 5, drain_s: 5, answer_s: 60}
    set: {port: 8000}
""",
    "llama.cpp": _HEAD
    + """\
deployments:
  chat:
    {recipe: base/llama-cpp, image: 'example.org/llama:1', model: example/model, model_file: model.gguf,
     hosts: spark-01, port: 8001}
""",
    "container": _HEAD + f"services:\n  asr: {{kind: container, {_IMAGE}, port: 8765}}\n",
    "ollama": _HEAD + "services:\n" + _OLLAMA,
    "open-webui": _CHAT
    + "services:\n"
    + _OLLAMA
    + f"  webui: {{kind: open-webui, {_IMAGE}, port: 3000, uses: [chat]}}\n",
    "hermes-agent": _CHAT.replace("port: 8001", "port: 8001, served_names: [first, second]")
    + "services:\n"
    + _OLLAMA
    + "  agent: {kind: hermes-agent, hosts: spark-01, uses: chat, user: spark, program: /opt/hermes,\n"
    + "    api_key: {secret: agent_key}}\n",
    "openclaw": _CHAT.replace("port: 8001", "port: 8001, served_names: [first, second]")
    + "  other: {recipe: base/single-spark, model: example/big, hosts: spark-02, port: 8001}\n"
    + "services:\n"
    + _OLLAMA
    + "  claw: {kind: openclaw, hosts: spark-01, aliases: {first: {to: chat}}}\n",
    "gateway": _CHAT
    + "  other: {recipe: base/single-spark, model: example/big, hosts: spark-02, port: 8001}\n"
    + "  third: {recipe: base/single-spark, model: example/big, hosts: spark-03, port: 8001}\n"
    + f"services:\n  gate: {{kind: gateway, {_IMAGE}, api_key: {{secret: gate_key}}}}\n"
    + "routes:\n  fast: {to: [chat]}\n",
    "monitoring": _CHAT
    + """\
monitoring:
  prometheus: {hosts: spark-01}
  grafana: {hosts: spark-01, admin_password: {secret: grafana_admin}}
  timer: {hosts: spark-01}
  alerts: {telegram: {chat_id: 12345, token: {secret: telegram_token}}}
""",
    "monitoring by a webhook": _CHAT
    + """\
monitoring:
  prometheus: {hosts: spark-01}
  timer: {hosts: spark-01}
  alerts: {webhook: {url: "https://example.org/hook"}}
""",
    "monitoring by a secret webhook": _CHAT
    + """\
monitoring:
  prometheus: {hosts: spark-01}
  timer: {hosts: spark-01}
  alerts: {webhook: {secret_url: {secret: hook}}}
""",
    "turns": _CHAT
    + """\
  other: {recipe: base/single-spark, model: example/big, hosts: spark-01, port: 8001}
  third: {recipe: base/single-spark, model: example/big, hosts: spark-03, port: 8001}
turns:
  day: {run: [chat]}
  night: {run: [other]}
""",
    "build": _CHAT.replace("port: 8001", "port: 8001, image: built")
    + """\
builds:
  built:
    why: a fix that no release has
    repository: https://example.org/vllm.git
    commit: "1111111111111111111111111111111111111111"
    base: nvcr.io/nvidia/vllm:26.04-py3
    install: [python3, -m, pip, install, .]
    mods:
    - {path: mods/quiet, commit: "2222222222222222222222222222222222222222", repository: https://example.org/mods.git}
""",
    "build by a program": _CHAT.replace("port: 8001", "port: 8001, image: built")
    + """\
builds:
  built:
    why: a fix that no release has
    repository: https://example.org/vllm.git
    commit: "1111111111111111111111111111111111111111"
    program: [make-image, "{image}"]
""",
}
"""Valid inventories, one for each way to serve something."""


LOCKED: Final = pipeline.InputFile("lab.lock.yaml", LOCK.encode())


def file(text: str) -> pipeline.InputFile:
    return pipeline.InputFile("lab.yaml", text.encode())


@cache
def checked(text: str) -> pipeline.Outcome:
    return pipeline.check(file(text), LOCKED, allow_unlocked=True, hidden=frozenset())


@cache
def planned(text: str) -> Plan | None:
    """Plan an inventory, if it is valid; rules, which take as long as all before them, find nothing in most fields."""
    _, found = pipeline.resolve_inventory(file(text), LOCKED)
    return found and build(found)


def findings(text: str) -> set[object]:
    """Return the findings without lines and columns."""
    return {(each.code, each.severity, each.message, each.hint) for each in checked(text).report.findings}


@cache
def files(text: str) -> tuple[Artifact, ...]:
    """Return the files of a valid inventory."""
    plan = planned(text)
    assert plan is not None
    return pipeline.render(plan)


@cache
def pins(text: str) -> list[object]:
    """Return what the lock must hold."""
    found = pipeline.lock_state(file(text), LOCKED).pins
    return [(each.key, each.users, each.source, each.revision, each.files) for each in found]


def differ(one: str, two: str) -> bool:
    """Return whether two valid inventories lead to other findings, files or pins, with the cheapest of them first."""
    if planned(one) is None or planned(two) is None:
        return False
    return any(what(one) != what(two) for what in (findings, files, pins))


@cache
def data(shape: str) -> str:
    """Read one of the inventories, as JSON."""
    document = source.load(SHAPES[shape].encode(), name=shape, model=Inventory).document
    return json.dumps(document.data)


def with_value(shape: str, place: Place, value: object) -> str:
    """Write an inventory with this value at that place."""
    changed: dict[str, Any] = json.loads(data(shape))
    return as_yaml(changed) if put(changed, place.steps, copy.deepcopy(value)) else ""


def pair(shape: str, place: Place) -> tuple[str, str] | None:
    """Write an inventory twice, with two values of a field; nothing if it cannot hold the field."""
    one, two = choices(place.owner, place.steps[-1].key, place.hint)[:2]
    found = with_value(shape, place, one), with_value(shape, place, two)
    return found if all(found) else None


def reaches(place: Place) -> bool:
    """Whether two values of a field make a difference in any of the inventories."""
    return any(found is not None and differ(*found) for found in (pair(shape, place) for shape in SHAPES))


def reached(shape: str, place: Place) -> destinations.Destination | None:
    """Return where a field ends up in one of the inventories, and what an apply does after its change."""
    texts = pair(shape, place)
    if texts is None or None in (planned(texts[0]), planned(texts[1])):
        return None
    one, two = texts
    if found := destinations.ends(files(one), files(two)):
        return destinations.Destination(shape, found, destinations.effects(files(one), files(two), named(shape)))
    other = [destinations.LOCK] * (pins(one) != pins(two)) or [destinations.FINDINGS] * (findings(one) != findings(two))
    return destinations.Destination(shape, other, [destinations.NOTHING]) if other else None


def named(shape: str) -> set[str]:
    """Return the names of deployments and services in one of the inventories, and those that a new one would get."""
    found = json.loads(data(shape))
    return {*found.get("deployments", ()), *found.get("services", ()), *TEXTS[forms.NAME]}


def destination(place: Place) -> destinations.Destination | None:
    """Return where a field ends up, as the first inventory shows it whose files differ, or else the first one."""
    first = None
    for found in filter(None, (reached(shape, place) for shape in SHAPES)):
        if not destinations.NO_FILES & set(found.ends):
            return found
        first = first or found
    return first


def told(place: Place) -> bool:
    """Whether there is more than one value to choose: a kind or a method that names its class has only one."""
    return len(choices(place.owner, place.steps[-1].key, place.hint)) > 1


EVERY: Final = {str(place): place for place in places(Inventory) if told(place)}
RECORDED: Final = [name for name in EVERY if not name.endswith(tuple(destinations.EXCEPTIONS))]
"""Fields of which tests/destinations.json says where they end up."""


@pytest.mark.parametrize("shape", SHAPES)
def test_the_inventories_are_valid(shape: str) -> None:
    assert planned(SHAPES[shape]) is not None


@pytest.mark.parametrize("name", RECORDED)
def test_a_field_is_not_lost(name: str) -> None:
    assert name in destinations.recorded(), (
        f"{name} is new: python tools/docs/destinations.py finds the files that it reaches, if there are any"
    )
    recorded = destinations.recorded()[name]
    assert recorded.ends
    assert reached(recorded.shape, EVERY[name]) == recorded, (
        f"{name} no longer ends up as recorded; if that is right: python tools/docs/destinations.py"
    )


def test_what_is_recorded_are_fields() -> None:
    assert sorted(destinations.recorded()) == sorted(RECORDED)


@pytest.mark.parametrize("end", destinations.EXCEPTIONS)
def test_an_exception_is_still_needed(end: str) -> None:
    found = [place for name, place in EVERY.items() if name.endswith(end)]
    assert found
    assert not any(reaches(each) for each in found)


@pytest.mark.parametrize(
    ("place", "effects"),
    [
        ("deployments.*.description", ["reload"]),
        ("services.*<ContainerService>.description", ["reload"]),
        ("deployments.*.port", ["restarts NAME"]),
        ("deployments.*.image", ["restarts NAME"]),
        ("deployments.*.env", ["restarts NAME"]),
        ("deployments.*.set", ["restarts NAME"]),
        ("deployments.*.container.shm_size_gib", ["restarts NAME"]),
        ("deployments.*.api_key.secret", ["restarts NAME"]),
        ("deployments.*.load_memory.drop_caches_every_s", ["restarts NAME"]),
        ("deployments.*.timeouts.ready_s", ["restarts NAME"]),
        ("deployments.*.timeouts.stop_s", ["restarts NAME"]),
        ("deployments.*.timeouts.restart_delay_s", ["reload"]),
        ("deployments.*.timeouts.drain_s", ["files"]),
        ("deployments.*.timeouts.answer_s", ["asks NAME"]),
        ("deployments.*.clients", ["asks NAME"]),
        ("deployments.*.hosts", ["starts NAME", "stops NAME"]),
        ("allow.*.code", ["nothing"]),
        ("hosts.*.sysctl", ["kernel settings"]),
        ("hosts.*.driver", ["files"]),
    ],
)
def test_what_an_apply_does_after_a_change(place: str, effects: list[str]) -> None:
    assert destinations.recorded()[place].effects == effects
