"""An OCI artifact as a source of recipes: fetched from Debian's docker-registry, pinned, verified and upgraded."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest
import yaml

from tests.commands.test_own_recipes import INVENTORY as OWN
from tests.commands.test_own_recipes import RECIPE
from tests.commands.test_recipe_sources import EUGR
from tests.plan.fleets import LOCK
from tests.upstream.registry import content, servers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.conftest import Outcome
    from tests.upstream.registry.content import Layer
    from tests.upstream.registry.servers import Registry

    Cli = Callable[..., Outcome]

INVENTORY: Final = f"""\
{OWN}sources:
  team: {{oci: "REFERENCE"}}
"""
NEWER: Final = RECIPE.replace("max_model_len: 4096", "max_model_len: 8192")


class Upstream(NamedTuple):
    """A repository of the registry, and the user's directory."""

    folder: Path
    registry: Registry
    repository: str

    @property
    def name(self) -> str:
        """The repository with its registry."""
        return f"{self.registry.host}/{self.repository}"

    def push(self, tag: str, *layers: Layer, **more: object) -> str:
        """Push an artifact; give its digest."""
        made = content.artifact(*layers, **more)
        self.registry.push(self.repository, tag, made)
        return made.manifest.digest

    def name_source(self, source: str) -> None:
        """Write the inventory with this source."""
        (self.folder / "inventories/lab.yaml").write_text(INVENTORY.replace('{oci: "REFERENCE"}', source))

    @property
    def locked(self) -> dict[str, Any]:
        """The sources of the lock."""
        found: dict[str, Any] = yaml.safe_load((self.folder / "inventories/lab.lock.yaml").read_text())
        return found.get("sources", {})

    @property
    def recipe(self) -> Path:
        """The fetched recipe."""
        return self.folder / "sources/team/ours/chat.yaml"


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    """Run a real registry without TLS; a client uses such a registry on this machine alone."""
    folder = tmp_path_factory.mktemp("registry")
    servers.authority(folder)
    with servers.registry(folder, tls=None, auth={}, headers={}) as running:
        yield running


@pytest.fixture
def upstream(folder: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch) -> Upstream:
    """Push an artifact with one recipe as v1, and name it in an inventory."""
    monkeypatch.setenv("HOME", str(folder))
    found = Upstream(folder, registry, f"team-{folder.name.replace('_', '-').lower()}/recipes")
    found.push("v1", content.file("recipes/ours/chat.yaml", RECIPE))
    (folder / "inventories").mkdir()
    found.name_source(f'{{oci: "{found.name}:v1"}}')
    (folder / "inventories/lab.lock.yaml").write_text(LOCK)
    return found


def test_an_artifact_is_fetched_pinned_restored_and_used_offline(
    cli: Cli, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = cli("check", "inventories/lab.yaml")
    assert (
        f"RCP004 source-not-fetched: source team is not fetched: the inventory names {upstream.name}:v1" in before.err
    )
    done = cli("recipes", "fetch", "inventories/lab.yaml")
    assert done.code == 0, done.err
    digest = upstream.locked["team"]["digest"]
    assert f"team: 1 file of {upstream.name}:v1 at {digest}\n" in done.out
    assert upstream.recipe.read_text() == RECIPE
    assert upstream.locked["team"].keys() == {"oci", "digest", "files"}
    upstream.push("v1", content.file("recipes/ours/chat.yaml", NEWER))  # the tag moves; the pin does not
    upstream.recipe.write_text(RECIPE.replace("4096", "16384"))
    refused = cli("check", "inventories/lab.yaml")
    assert refused.code == 2
    assert "RCP005 source-changed: source team: sources/team/ours/chat.yaml differs from its hash" in refused.err
    assert cli("recipes", "fetch", "inventories/lab.yaml").code == 0
    assert (upstream.recipe.read_text(), upstream.locked["team"]["digest"]) == (RECIPE, digest)
    monkeypatch.setattr("socket.socket.connect", None)  # every connection would be a TypeError
    assert cli("check", "inventories/lab.yaml").code == 0
    assert cli("generate", "inventories/lab.yaml").code == 0
    assert cli("recipes", "fetch", "inventories/lab.yaml").out == "inventories/lab.lock.yaml: up to date\n"


def test_an_upgrade_shows_the_diff_and_moves_the_digest(cli: Cli, upstream: Upstream) -> None:
    assert cli("recipes", "fetch", "inventories/lab.yaml").code == 0
    digest = upstream.push("v1", content.archive({"recipes/ours/chat.yaml": NEWER.encode()}))
    shown = cli("recipes", "fetch", "inventories/lab.yaml", "--upgrade", "--dry-run")
    assert shown.code == 3
    assert "-set: {max_model_len: 4096" in shown.out
    assert "+set: {max_model_len: 8192" in shown.out
    assert cli("recipes", "fetch", "inventories/lab.yaml", "--upgrade", "team").code == 0
    assert (upstream.recipe.read_text(), upstream.locked["team"]["digest"]) == (NEWER, digest)


def test_an_upgrade_takes_nothing_older_than_the_lock(cli: Cli, upstream: Upstream) -> None:
    """Its manifest says when it was made, as that of `oras push` does; one that does not is of unknown age."""
    made = {"annotations": {"org.opencontainers.image.created": "2026-11-28T19:00:00+02:00"}}
    digest = upstream.push("v1", content.file("recipes/ours/chat.yaml", NEWER), **made)
    assert cli("recipes", "fetch", "inventories/lab.yaml", "--upgrade").code == 0
    assert upstream.locked["team"]["created"] == "2026-11-28T17:00:00Z"
    upstream.push("v1", content.file("recipes/ours/chat.yaml", RECIPE))
    done = cli("recipes", "fetch", "inventories/lab.yaml", "--upgrade")
    assert (done.code, upstream.locked["team"]["digest"]) == (1, digest)
    assert f"of an unknown time, which is older than {digest} of 2026-11-28T17:00:00Z in the lock" in done.err


def test_a_digest_of_the_inventory_must_be_that_of_the_lock(cli: Cli, upstream: Upstream) -> None:
    first = upstream.push("other", content.file("recipes/ours/chat.yaml", NEWER))
    upstream.name_source(f'{{oci: "{upstream.name}@{first}"}}')
    assert cli("recipes", "fetch", "inventories/lab.yaml").code == 0
    assert upstream.locked["team"]["digest"] == first
    lock = upstream.folder / "inventories/lab.lock.yaml"
    data = yaml.safe_load(lock.read_text())
    data["sources"]["team"]["digest"] = f"sha256:{'0' * 64}"
    lock.write_text(json.dumps(data))  # JSON is YAML
    assert "RCP004 source-not-fetched" in cli("check", "inventories/lab.yaml").err


def test_bytes_that_were_changed_in_the_registry_are_refused(cli: Cli, upstream: Upstream) -> None:
    [blob] = [each for each in upstream.registry.data.rglob("data") if each.read_bytes() == RECIPE.encode()]
    blob.write_bytes(RECIPE.replace("4096", "4097").encode())
    try:
        done = cli("recipes", "fetch", "inventories/lab.yaml")
    finally:
        blob.unlink()
        shutil.rmtree(upstream.registry.data / "docker/registry/v2/repositories" / upstream.repository)
    assert done.code == 1
    assert "do not match the requested digest" in done.err
    assert upstream.locked == {}
    assert not (upstream.folder / "sources").exists()


@pytest.mark.parametrize(
    ("source", "code", "message"),
    [
        ('{oci: "NAME:v9"}', 6, "has no tag v9"),
        (f'{{oci: "NAME@sha256:{"1" * 64}"}}', 6, f"has no manifest sha256:{'1' * 64}"),
        ('{oci: "NAME:v1", path: other}', 1, "has no recipes in other at sha256:"),
        ('{oci: "NAME:v1", revision: main}', 2, "revision is for git alone"),
        ("{format: eugr}", 2, "a source has either git, the address of a repository, or oci"),
        ('{oci: "oci://NAME:v1"}', 2, "is not an image reference"),
        ('{oci: "localhost:1/recipes:v1"}', 6, "source team: localhost:1/recipes:v1: localhost:1: "),
    ],
)
def test_what_cannot_be_fetched_changes_nothing(
    cli: Cli, upstream: Upstream, source: str, code: int, message: str
) -> None:
    upstream.name_source(source.replace("NAME", upstream.name))
    done = cli("recipes", "fetch", "inventories/lab.yaml")
    assert (done.code, message in done.err) == (code, True), done.err
    assert upstream.locked == {}
    assert not (upstream.folder / "sources").exists()


def test_a_recipe_with_another_path_than_its_name_is_refused(cli: Cli, upstream: Upstream) -> None:
    upstream.push("v1", content.file("recipes/Ours/chat.yaml", RECIPE))
    done = cli("recipes", "fetch", "inventories/lab.yaml")
    assert done.code == 1
    assert "Ours/chat.yaml:1:1: not used: RCP001 the path of this file is not the name" in done.err
    assert not (upstream.folder / "sources").exists()


def test_an_artifact_with_recipes_of_another_tool_is_converted(cli: Cli, upstream: Upstream) -> None:
    upstream.push("v1", content.file("recipes/their-model.yaml", EUGR))
    upstream.name_source(f'{{oci: "{upstream.name}:v1", format: eugr}}')
    done = cli("recipes", "fetch", "inventories/lab.yaml")
    assert done.code == 0, done.err
    written = (upstream.folder / "sources/team/team/their-model.yaml").read_text()
    assert f"imported from {upstream.name}:v1, recipes: their-model.yaml" in written
