"""Every entry that can be deployed is deployed on a reference host, or pair, and says what its file says it will.

What a source leaves open (an image, a model, the address of a file) the reference inventory gives, as a user would.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import pytest

from sparkiac import catalog, pipeline
from sparkiac.report import Severity
from sparkiac.resolve import catalogued
from sparkiac.words import entries
from tests.plan.fleets import ONES, checked, said
from tests.plan.fleets import pins as with_models
from tests.resolve.built import as_yaml

if TYPE_CHECKING:
    from sparkiac.model.catalog import Fragment, Recipe, Variant
    from sparkiac.plan import Plan
    from sparkiac.resolve.catalogued import Catalogued

IMAGE: Final = f"example.org/engine:1@{ONES}"
ENTRIES: Final = {each.name: each for each in catalogued.everything()}
USABLE: Final = sorted(name for name, each in ENTRIES.items() if each.usable)
SUPERSEDED: Final = sorted(name for name, each in ENTRIES.items() if each.entry.status == "superseded")
UNUSABLE: Final = sorted(name for name, each in ENTRIES.items() if each.entry.status in {"mention", "retired"})
FRAGMENTS: Final = catalog.fragment_names()


def host(number: int) -> dict[str, Any]:
    """Return a Spark as it is bought, with its fast link."""
    link = {"interface": "enp1s0f1np1", "hca": "rocep1s0f1", "address": f"192.168.177.{number}/24"}
    twin = {"interface": "enP2p1s0f1np1", "hca": "roceP2p1s0f1"}
    return {"address": f"192.168.1.{number}", "fabric": {"links": [link | {"twin": twin}]}}


def inventory(each: Catalogued, **more: Any) -> dict[str, Any]:  # noqa: ANN401  plain YAML data
    """Write what a user writes to deploy an entry, with what only a user can know."""
    recipe, _, variant = each.name.partition("#")
    hosts = {f"spark-0{number}": host(number) for number in range(1, each.nodes + 1)}
    chat: dict[str, Any] = {"recipe": recipe, "hosts": list(hosts) if len(hosts) > 1 else "spark-01", **more}
    if variant:
        chat["variant"] = variant
    if "image" not in each.values:
        chat["image"] = IMAGE
    missing = {"model": "example/model", "port": 8000}
    if each.recipe.engine == "llama-cpp":
        missing["model_file"] = "model-Q4_K_M.gguf"
    chat = {key: value for key, value in missing.items() if key not in each.values} | chat
    return {
        "name": "reference",
        "defaults": {"model_store": "/srv/models"},
        "hosts": hosts,
        "deployments": {"chat": chat},
    }


def lock(each: Catalogued) -> str:
    """Pin everything that an entry names."""
    reference = each.values.get("image", IMAGE)
    files = [file["url"] for file in each.values["container"].get("files", {}).values() if file.get("url")]
    pins: dict[str, Any] = {
        "version": 1,
        "images": {reference: {"digest": reference.partition("@")[2] or ONES, "entrypoint": ["/entrypoint"]}},
        "files": {url: {"sha256": "1" * 64} for url in files},
    }
    return with_models(as_yaml(inventory(each)), as_yaml(pins))


def codes(outcome: pipeline.Outcome) -> list[str]:
    return sorted({finding.code for finding in outcome.report.findings})


def release_unknown(plan: Plan) -> bool:
    """Return whether no release is known for a vLLM image, which is a fact about the image and not about the entry."""
    containers = [container for host in plan.hosts for container in host.containers]
    return any(each.server.engine == "vllm" and each.image.vllm is None for each in containers)


@pytest.mark.parametrize("name", USABLE)
def test_an_entry_gives_exactly_the_findings_that_its_file_names(name: str) -> None:
    each = ENTRIES[name]
    outcome = checked(as_yaml(inventory(each)), locked=lock(each))
    solved = set(each.variant.solves if each.variant else ())
    expected = {finding.code for finding in (*each.recipe.findings, *each.entry.findings)} - solved
    if outcome.plan is not None and release_unknown(outcome.plan):
        expected.add("FLG106")
    assert codes(outcome) == sorted(expected), said(outcome.report.findings)
    if outcome.plan is not None:
        rendered(outcome.plan)


@pytest.mark.parametrize("name", USABLE)
def test_an_entry_passes_its_own_check_or_the_list_says_that_it_does_not(name: str) -> None:
    each = ENTRIES[name]
    outcome = checked(as_yaml(inventory(each)), locked=lock(each))
    refused = {finding.code for finding in outcome.report.findings if finding.severity is Severity.ERROR}
    assert sorted(entries.needs(each)) == sorted(refused), said(outcome.report.findings)


@pytest.mark.parametrize("name", USABLE)
def test_an_entry_passes_before_a_lock_on_the_fewest_hosts_that_it_needs(name: str) -> None:
    """Without any pin: with `--allow-unlocked`."""
    each = ENTRIES[name]
    outcome = checked(as_yaml(inventory(each)), locked=None, allow_unlocked=True)
    refused = {finding.code for finding in outcome.report.findings if finding.severity is Severity.ERROR}
    assert refused <= set(entries.needs(each)), said(outcome.report.findings)


def rendered(plan: Plan) -> None:
    """Everything that runs is pinned, on hosts that must be of the images' architecture."""
    files = {artifact.path: artifact.content.decode() for artifact in pipeline.render(plan)}
    projects = [text for path, text in files.items() if path.endswith("compose.yaml")]
    images = [line for text in projects for line in text.splitlines() if line.startswith("    image: ")]
    assert images
    assert all(re.search(r"sha256:[0-9a-f]{64}\"$", line) for line in images)
    for host in plan.hosts:
        assert '"architecture": "aarch64"' in files[f"hosts/{host.name}/etc/sparkiac/preflight.json"]


@pytest.mark.parametrize("name", SUPERSEDED)
def test_a_superseded_entry_says_why_and_can_be_allowed(name: str) -> None:
    each = ENTRIES[name]
    outcome = checked(as_yaml(inventory(each)), locked=lock(each))
    [finding] = [finding for finding in outcome.report.findings if finding.code == "CAT001"]
    assert str(each.entry.why) in finding.message
    assert each.entry.instead is None or each.entry.instead in finding.hint
    allowed = inventory(each, allow=[{"code": "CAT001", "reason": "to compare with"}])
    assert "CAT001" not in codes(checked(as_yaml(allowed), locked=lock(each)))


@pytest.mark.parametrize("name", UNUSABLE)
def test_what_is_only_mentioned_is_refused_with_the_nearest_recipe(name: str) -> None:
    each = ENTRIES[name]
    outcome = checked(as_yaml(inventory(each)), locked=lock(each))
    refused = [finding for finding in outcome.report.findings if finding.code == "REF004"]
    assert refused
    assert any(str(each.entry.why) in finding.message for finding in refused)
    assert outcome.plan is None
    instead = each.entry.instead
    assert instead is None or (ENTRIES[instead].usable and any(instead in finding.hint for finding in refused))


def fragment(name: str) -> Fragment:
    found = catalog.fragment(name)
    assert found is not None
    assert found.value is not None
    return found.value


@pytest.mark.parametrize("name", FRAGMENTS)
def test_a_fragment_gives_exactly_the_findings_that_its_file_names(name: str) -> None:
    """On a model that has a drafter, so that each method finds its own, and on as many hosts as it is for.

    The profile for sm_121, the methods of speculation, and the load guard that is gone.
    """
    base, chosen = ENTRIES["base/single-spark"], fragment(name)
    images = [each.image for each in (chosen, *map(fragment, chosen.needs)) if each.image is not None]
    image = images[0] if images else "nvcr.io/nvidia/vllm:26.07-py3"
    fleet = inventory(base, image=f"{image}@{ONES}", model="Qwen/Qwen3.6-35B-A3B", fragments=[*chosen.needs, name])
    if chosen.nodes:
        fleet["hosts"] = {f"spark-0{number}": host(number) for number in range(1, chosen.nodes + 1)}
        fleet["deployments"]["chat"]["hosts"] = list(fleet["hosts"])
    text = as_yaml(fleet)
    outcome = checked(text, locked=with_models(text))
    expected = {finding.code for finding in chosen.findings} | ({"CAT001"} if chosen.status == "superseded" else set())
    assert codes(outcome) == sorted(expected), said(outcome.report.findings)


@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_an_entry_names_its_sources(name: str) -> None:
    entry: Recipe | Variant = ENTRIES[name].entry
    assert entry.sources
    assert (entry.status == "recipe") == (entry.why is None)
    assert entry.instead is None or entry.instead in ENTRIES
    assert len({finding.code for finding in entry.findings}) == len(entry.findings)
