"""Repositories of recipes as sources of an inventory: a Git repository on this machine is fetched and pinned."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml

from tests.commands.test_own_recipes import INVENTORY as OWN
from tests.commands.test_own_recipes import RECIPE
from tests.conftest import ROOT
from tests.plan.fleets import LOCK
from tests.upstream import git_server
from tests.upstream.git_server import git
from tests.upstream.registry import servers

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

INVENTORY: Final = f"""\
{OWN}sources:
  team: {{git: "file://ADDRESS"}}
"""
OWN_MODEL: Final = """\
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat: {recipe: base/single-spark, model: example/model, hosts: spark-01, port: 8001}
"""
EUGR: Final = """\
recipe_version: "1"
name: Their model
description: vLLM serving example/model
model: example/model
container: vllm-node
defaults: {port: 8000, host: 0.0.0.0, gpu_memory_utilization: 0.4, max_model_len: 4096}
command: |
  vllm serve example/model --port {port} --host {host} \\
    --gpu-memory-utilization {gpu_memory_utilization} --max-model-len {max_model_len}
"""


@dataclass
class Upstream:
    """The repository of recipes, and the user's directory beside it."""

    folder: Path
    repository: Path

    def commit(self, files: dict[str, str | None]) -> str:
        """Write or remove files, commit, and give the commit."""
        for path, text in files.items():
            target = self.repository / path
            if text is None:
                target.unlink()
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text)
        return git_server.commit(self.repository)

    @property
    def locked(self) -> dict[str, Any]:
        """The sources of the lock."""
        found: dict[str, Any] = yaml.safe_load((self.folder / "inventories/lab.lock.yaml").read_text())
        return found.get("sources", {})

    @property
    def recipe(self) -> Path:
        """The fetched recipe."""
        return self.folder / "sources/team/ours/chat.yaml"


@pytest.fixture
def upstream(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Upstream:
    """Make a repository with one recipe, and an inventory that names it."""
    found = Upstream(folder, tmp_path_factory.mktemp("upstream"))
    found.commit({"recipes/ours/chat.yaml": RECIPE, "recipes/README.yaml": "x: 1\n", "README.md": "# recipes\n"})
    (folder / "inventories").mkdir()
    (folder / "inventories/lab.yaml").write_text(INVENTORY.replace("ADDRESS", str(found.repository)))
    (folder / "inventories/lab.lock.yaml").write_text(LOCK)
    return found


def test_a_source_is_fetched_pinned_and_used_without_its_repository(cli: Cli, upstream: Upstream) -> None:
    before = cli("check", "inventories/lab.yaml")
    assert before.code == 2
    assert "inventories/lab.yaml:7:3: error RCP004 source-not-fetched: source team is not fetched" in before.err
    done = cli("recipes", "fetch", "inventories/lab.yaml")
    assert done.code == 0, done.err
    assert "team: recipes/README.yaml: skipped: not VENDOR/NAME.yaml" in done.err
    assert upstream.recipe.read_text() == RECIPE
    commit = git(upstream.repository, "rev-parse", "HEAD").strip()
    assert upstream.locked["team"]["commit"] == commit
    assert set(upstream.locked["team"]["files"]) == {"ours/chat.yaml"}
    shutil.rmtree(upstream.repository)
    assert cli("generate", "inventories/lab.yaml").code == 0
    again = cli("recipes", "fetch", "inventories/lab.yaml")
    assert (again.code, again.out) == (0, "inventories/lab.lock.yaml: up to date\n")
    assert "sources/team/ours/chat.yaml" in cli("recipes", "show", "ours/chat").out
    assert "ours/chat" in cli("recipes", "search", "--model", "our model").out


def test_a_recipe_of_a_source_is_added_to_the_inventory(cli: Cli, upstream: Upstream) -> None:
    inventory = upstream.folder / "inventories/lab.yaml"
    inventory.write_text(
        inventory.read_text()
        .replace("recipe: ours/chat,", "recipe: nvidia/nemotron-3-nano-4b-fp8,")
        .replace("hosts: {spark-01:", "hosts: {spark-02: {address: 192.168.1.12}, spark-01:")
    )
    assert cli("recipes", "fetch", "inventories/lab.yaml").code == 0
    done = cli("add", "ours/chat", "--on", "spark-02", "--to", "inventories/lab.yaml", "--name", "second")
    assert done.code == 0, done.err
    assert "recipe: ours/chat" in inventory.read_text()


@pytest.mark.parametrize("change", ["edited", "added", "removed"])
def test_changed_files_are_refused_and_restored(cli: Cli, upstream: Upstream, change: str) -> None:
    assert cli("recipes", "fetch", "inventories/lab.yaml").code == 0
    if change == "edited":
        upstream.recipe.write_text(RECIPE.replace("4096", "8192"))
    elif change == "added":
        (upstream.recipe.parent / "other.yaml").write_text(RECIPE)
    else:
        upstream.recipe.unlink()
    for command in (("check",), ("generate",), ("lock", "--check")):
        refused = cli(command[0], "inventories/lab.yaml", *command[1:])
        assert refused.code == 2
        assert "RCP005 source-changed: source team: " in refused.err
    assert not (upstream.folder / "generated").exists()
    upstream.commit({"recipes/ours/chat.yaml": RECIPE.replace("4096", "16384")})
    assert cli("recipes", "fetch", "inventories/lab.yaml").code == 0
    assert upstream.recipe.read_text() == RECIPE
    assert [*upstream.recipe.parent.iterdir()] == [upstream.recipe]
    assert cli("check", "inventories/lab.yaml").code == 0


def test_an_upgrade_shows_the_diff_and_moves_the_pin(cli: Cli, upstream: Upstream) -> None:
    assert cli("recipes", "fetch", "inventories/lab.yaml").code == 0
    before = upstream.locked
    newer = RECIPE.replace("max_model_len: 4096", "max_model_len: 8192")
    commit = upstream.commit({"recipes/ours/chat.yaml": newer, "recipes/ours/second.yaml": RECIPE})
    assert cli("recipes", "fetch", "inventories/lab.yaml").out == "inventories/lab.lock.yaml: up to date\n"
    shown = cli("recipes", "fetch", "inventories/lab.yaml", "--upgrade", "--dry-run")
    assert shown.code == 3
    assert "-set: {max_model_len: 4096" in shown.out
    assert "+set: {max_model_len: 8192" in shown.out
    assert "sources/team/ours/second.yaml" in shown.out
    assert shown.out.endswith("inventories/lab.lock.yaml: would be written\n")
    assert (upstream.locked, upstream.recipe.read_text()) == (before, RECIPE)
    done = cli("recipes", "fetch", "inventories/lab.yaml", "--upgrade", "team")
    assert done.code == 0
    assert "+set: {max_model_len: 8192" in done.out
    assert upstream.locked["team"]["commit"] == commit
    assert upstream.recipe.read_text() == newer
    upstream.commit({"recipes/ours/second.yaml": None})
    assert cli("recipes", "fetch", "inventories/lab.yaml", "--upgrade").code == 0
    assert not (upstream.recipe.parent / "second.yaml").exists()
    assert cli("check", "inventories/lab.yaml").code == 0


def test_an_upgrade_takes_nothing_older_than_the_lock(cli: Cli, upstream: Upstream) -> None:
    """A branch that was moved back is refused; who wants the older commit names it."""
    older = git(upstream.repository, "rev-parse", "HEAD").strip()
    env = {"GIT_COMMITTER_DATE": "2038-01-01T00:00:00Z"}
    with pytest.MonkeyPatch.context() as later:
        later.setenv(*env.popitem())
        newer = upstream.commit({"recipes/ours/chat.yaml": RECIPE.replace("4096", "8192")})
    assert cli("recipes", "fetch", "inventories/lab.yaml").code == 0
    assert (upstream.locked["team"]["commit"], upstream.locked["team"]["created"]) == (newer, "2038-01-01T00:00:00Z")
    before = upstream.locked
    git(upstream.repository, "reset", "-q", "--hard", older)
    done = cli("recipes", "fetch", "inventories/lab.yaml", "--upgrade")
    assert (done.code, upstream.locked) == (1, before)
    assert (
        f"which is older than {newer} of 2038-01-01T00:00:00Z in the lock; to go back to it, name it as rev" in done.err
    )
    inventory = upstream.folder / "inventories/lab.yaml"
    inventory.write_text(inventory.read_text().replace('"}', f'", revision: "{older}"}}'))
    assert cli("recipes", "fetch", "inventories/lab.yaml").code == 0
    assert (upstream.locked["team"]["commit"], upstream.recipe.read_text()) == (older, RECIPE)


def test_only_commits_that_a_named_key_signed_are_taken(cli: Cli, upstream: Upstream, tmp_path: Path) -> None:
    keys = {}
    for name in ("theirs", "other"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True)
        keys[name] = " ".join((tmp_path / f"{name}.pub").read_text().split()[:2])
    inventory = upstream.folder / "inventories/lab.yaml"
    inventory.write_text(inventory.read_text().replace('"}', f'", signed_by: [{keys["theirs"]}]}}'))
    unsigned = cli("recipes", "fetch", "inventories/lab.yaml")
    assert (unsigned.code, upstream.locked) == (6, {})
    assert "no key of signed_by has signed" in unsigned.err
    for name, code in (("other", 6), ("theirs", 0)):
        git(upstream.repository, "config", "gpg.format", "ssh")
        git(upstream.repository, "config", "user.signingKey", str(tmp_path / name))
        git(upstream.repository, "config", "commit.gpgSign", "true")
        upstream.commit({"README.md": name})
        done = cli("recipes", "fetch", "inventories/lab.yaml")
        assert done.code == code, done.err
    assert upstream.locked["team"]["signed_by"] == [keys["theirs"]]
    assert cli("check", "inventories/lab.yaml").code == 0
    inventory.write_text(inventory.read_text().replace(keys["theirs"], keys["other"]))
    changed = cli("check", "inventories/lab.yaml")
    assert (changed.code, f"format sparkiac, signed by {keys['other']}" in changed.err) == (2, True), changed.err


def test_files_that_differ_from_the_lock_at_the_same_commit_are_refused(cli: Cli, upstream: Upstream) -> None:
    assert cli("recipes", "fetch", "inventories/lab.yaml").code == 0
    lock = upstream.folder / "inventories/lab.lock.yaml"
    digest = upstream.locked["team"]["files"]["ours/chat.yaml"]
    lock.write_text(lock.read_text().replace(digest, "0" * 64))
    done = cli("recipes", "fetch", "inventories/lab.yaml")
    assert done.code == 1
    assert (
        "another version of sparkiac may have read them otherwise; if that is expected, run with --upgrade team"
        in done.err
    )
    assert upstream.recipe.read_text() == RECIPE


def test_a_source_of_another_place_is_fetched_again(cli: Cli, upstream: Upstream) -> None:
    assert cli("recipes", "fetch", "inventories/lab.yaml").code == 0
    first = upstream.locked["team"]["commit"]
    git(upstream.repository, "tag", "v1")
    upstream.commit({"recipes/ours/chat.yaml": RECIPE.replace("4096", "8192")})
    inventory = upstream.folder / "inventories/lab.yaml"
    inventory.write_text(inventory.read_text().replace('"}', '", revision: v1}'))
    assert "source team is fetched from another place" in cli("check", "inventories/lab.yaml").err
    assert cli("recipes", "fetch", "inventories/lab.yaml").code == 0
    assert (upstream.locked["team"]["commit"], upstream.locked["team"]["revision"]) == (first, "v1")
    inventory.write_text(inventory.read_text().partition("sources:")[0])
    assert cli("recipes", "fetch", "inventories/lab.yaml").code == 0
    assert upstream.locked == {}


def test_the_recipes_of_a_removed_source_are_reported_and_removed(cli: Cli, upstream: Upstream) -> None:
    """Not while another inventory of the folder names the source, or is not readable."""
    assert cli("recipes", "fetch", "inventories/lab.yaml").code == 0
    notes = upstream.recipe.parent / "notes.txt"
    notes.write_text("mine\n")
    inventory, other = (upstream.folder / f"inventories/{name}.yaml" for name in ("lab", "other"))
    other.write_text(inventory.read_text())
    other.with_name("kept.yaml").mkdir()
    inventory.write_text(OWN_MODEL)
    told = "sources/team: no inventory in inventories names it; `sparkiac recipes fetch inventories/lab.yaml` removes"
    assert told not in cli("generate", "inventories/lab.yaml").err
    other.write_text("sources: [\n")
    assert told not in cli("generate", "inventories/lab.yaml").err
    other.unlink()
    generated = cli("generate", "inventories/lab.yaml")
    assert (generated.code, told in generated.err) == (0, True)
    assert cli("recipes", "fetch", "inventories/lab.yaml", "--dry-run").code == 3
    assert upstream.recipe.exists()
    done = cli("recipes", "fetch", "inventories/lab.yaml")
    assert (done.code, "team: no inventory names it; its recipes are removed\n" in done.out) == (0, True)
    assert not upstream.recipe.exists()
    assert notes.exists(), "a file that is no recipe stays"
    assert told not in cli("generate", "inventories/lab.yaml").err


def test_a_recipe_with_faults_refuses_itself_and_not_its_collection(cli: Cli, upstream: Upstream) -> None:
    faulty = RECIPE.replace("engine: vllm", "engine: vlm")
    upstream.commit({"recipes/ours/chat.yaml": faulty})
    done = cli("recipes", "fetch", "inventories/lab.yaml")
    assert (done.code, "has no recipes in recipes" in done.err) == (1, True)
    assert "team: ours/chat.yaml:2:9: not used: REF001 unknown engine 'vlm'" in done.err
    assert not (upstream.folder / "sources").exists()
    assert upstream.locked == {}
    variant = "title: of the faulty one\nsources: [ours]\n"
    taken = RECIPE.replace("Our", "Their")
    upstream.commit(
        {
            "recipes/ours/other.yaml": RECIPE,
            "recipes/ours/chat/fast.yaml": variant,
            "recipes/base/single-spark.yaml": taken,
        }
    )
    done = cli("recipes", "fetch", "inventories/lab.yaml")
    assert done.code == 0, done.err
    assert {*upstream.locked["team"]["files"]} == {"ours/other.yaml"}
    assert (
        "ours/chat/fast.yaml:1:1: not used: RCP003 ours/chat#fast is a variant of ours/chat, which does not exist"
        in done.err
    )
    assert "base/single-spark is also in the catalog of sparkiac" in done.err
    assert cli("recipes", "fetch", "inventories/lab.yaml").out == "inventories/lab.lock.yaml: up to date\n"
    upstream.recipe.write_text(faulty)
    listed = cli("recipes", "list")
    assert (listed.code, "ours/other" in listed.out, "sources/team/ours/chat.yaml:2:9" in listed.err) == (0, True, True)


def test_recipes_at_the_top_of_a_repository(cli: Cli, upstream: Upstream) -> None:
    upstream.commit({"ours/chat.yaml": RECIPE})
    inventory = upstream.folder / "inventories/lab.yaml"
    inventory.write_text(inventory.read_text().replace('"}', '", path: .}'))
    assert cli("recipes", "fetch", "inventories/lab.yaml").code == 0
    assert "ours/chat.yaml" in upstream.locked["team"]["files"]
    assert cli("check", "inventories/lab.yaml").code == 0
    inventory.write_text(inventory.read_text().replace("path: .", "path: a/../b"))
    assert cli("recipes", "fetch", "inventories/lab.yaml").code == 2


def test_an_upgrade_writes_only_what_changed(cli: Cli, upstream: Upstream) -> None:
    second = EUGR.replace("Their model", "Second")
    upstream.commit({"recipes/first.yaml": EUGR, "recipes/second.yaml": second})
    inventory = upstream.folder / "inventories/lab.yaml"
    inventory.write_text(inventory.read_text().replace('"}', '", format: eugr}'))
    assert cli("recipes", "fetch", "inventories/lab.yaml").code == 0
    before = {path.name: path.stat().st_ino for path in (upstream.folder / "sources").rglob("*.yaml")}
    upstream.commit({"recipes/second.yaml": second.replace("4096", "8192")})
    done = cli("recipes", "fetch", "inventories/lab.yaml", "--upgrade")
    assert (done.code, "first.yaml" in done.out, "+  max_model_len: 8192" in done.out) == (0, False, True)
    after = {path.name: path.stat().st_ino for path in (upstream.folder / "sources").rglob("*.yaml")}
    assert [name for name, number in after.items() if before[name] != number] == ["second.yaml"]


FACT: Final = """\
facts:
  - when: {set.max_model_len: {under: 5000}}
    at: set.max_model_len
    message: "{name} has {set.max_model_len:setting}, too little for our agents"
    hint: use 8192
    verdict: fails
    evidence: [{kind: source, source: our agents, date: 2026-11}]
"""


def test_a_source_carries_facts_as_it_carries_recipes(cli: Cli, upstream: Upstream) -> None:
    upstream.commit({"recipes/facts/agents.yaml": FACT, "recipes/facts/wrong.yaml": FACT.replace("under", "search")})
    done = cli("recipes", "fetch", "inventories/lab.yaml")
    assert done.code == 0, done.err
    assert "team: facts/wrong.yaml:2:" in done.err
    assert "not used: INV002 facts[0].when: set.max_model_len: operators are" in done.err
    assert {*upstream.locked["team"]["files"]} == {"ours/chat.yaml", "facts/agents.yaml"}
    found = cli("check", "inventories/lab.yaml")
    told = "error FCT001 fact-of-a-fleet: chat has max_model_len: 4096, too little for our agents (sources/team/facts/"
    assert (found.code, told in found.err) == (1, True), found.err
    assert "ours/chat" in cli("recipes", "list").out
    facts = upstream.folder / "sources/team/facts/agents.yaml"
    facts.write_text(FACT.replace("under: 5000", "under: 1000"))
    assert "RCP005 source-changed: source team: sources/team/facts/agents.yaml differs" in (
        cli("check", "inventories/lab.yaml").err
    )
    facts.write_text(FACT)
    own = upstream.folder / "facts/own.yaml"
    own.parent.mkdir()
    own.write_text(FACT.replace("our agents", "our own"))
    assert "too little for our own (facts/own.yaml)" in cli("check", "inventories/lab.yaml").err


def test_a_source_carries_interfaces_and_says_of_which_images(cli: Cli, upstream: Upstream) -> None:
    """Its options are those of the image with that digest, as if they had been captured here."""
    digest = f"sha256:{'1' * 64}"
    interface = json.loads((ROOT / "sparkiac/catalog/vllm/0.19.0.json").read_text())
    image = {"reference": "example.org/vllm:1", "digests": [digest]}
    captured = interface | {"version": "0.19.0", "format": 1, "image": image}
    upstream.commit(
        {
            "recipes/ours/chat.yaml": RECIPE.replace("nvcr.io/nvidia/vllm:26.04-py3", f"example.org/vllm:1@{digest}"),
            "recipes/interfaces/ours.yaml": json.dumps(captured),
            "recipes/interfaces/deep.yaml": "[" * 200_000,
        }
    )
    done = cli("recipes", "fetch", "inventories/lab.yaml")
    assert done.code == 0, done.err
    assert f"team: interfaces/ours.yaml decides the options of example.org/vllm:1 ({digest})\n" in done.out
    assert "interfaces/deep.yaml:1:1: not used: INV002 not the interface of an image" in done.err
    inventory = upstream.folder / "inventories/lab.yaml"
    text = inventory.read_text()
    inventory.write_text(text.replace("recipe: ours/chat", "recipe: ours/chat, set: {no_such_option: 1}"))
    assert "FLG101" in cli("check", "inventories/lab.yaml", "--allow-unlocked").err
    shutil.rmtree(upstream.folder / "sources/team/interfaces")
    assert "RCP005" in cli("check", "inventories/lab.yaml").err


IMAGES: Final = """\
title: Our build
provenance: community
repository: registry.example.org/ours/vllm
style: vllm-serve
entrypoint: [/opt/ours/start, vllm, serve]
tags: {"2026-11": {vllm: "0.19.0", lacks: [audio]}}
sources: [our build log]
"""


def test_a_source_carries_what_is_known_about_images(cli: Cli, upstream: Upstream) -> None:
    """A server starts with the entrypoint that the source names; a repository of the catalog keeps what that says."""
    recipe = RECIPE.replace(
        "nvcr.io/nvidia/vllm:26.04-py3", f"registry.example.org/ours/vllm:2026-11@sha256:{'1' * 64}"
    )
    upstream.commit(
        {
            "recipes/ours/chat.yaml": recipe,
            "recipes/images/ours.yaml": IMAGES,
            "recipes/images/again.yaml": IMAGES,
            "recipes/images/theirs.yaml": IMAGES.replace("registry.example.org/ours/vllm", "vllm/vllm-openai"),
            "recipes/images/none.yaml": IMAGES.replace("repository: registry.example.org/ours/vllm\n", ""),
        }
    )
    done = cli("recipes", "fetch", "inventories/lab.yaml")
    assert done.code == 0, done.err
    assert "team: images/again.yaml decides how images of registry.example.org/ours/vllm start\n" in done.out
    for name, reason in (("ours", "is also in images/again.yaml"), ("none", "repository is missing")):
        assert f"team: images/{name}.yaml:" in done.err
        assert reason in done.err
    assert "images/theirs.yaml:3:1: not used: RCP002 vllm/vllm-openai is also in the catalog of sparkiac" in done.err
    assert "ENT100" not in cli("check", "inventories/lab.yaml").err
    command = cli("plan", "inventories/lab.yaml", "--format", "json").out
    assert "/opt/ours/start" in json.dumps(json.loads(command)["plan"]["hosts"][0]["containers"][0])
    shutil.rmtree(upstream.folder / "sources/team/images")
    assert "RCP005" in cli("check", "inventories/lab.yaml").err


def test_code_of_others_and_files_of_the_host_have_a_line_of_their_own(cli: Cli, upstream: Upstream) -> None:
    assert cli("recipes", "fetch", "inventories/lab.yaml").code == 0
    more = """\
  /data: {source: /srv/data}
  prelude: [[pip, install, thing]]
  files: {/app/x.py: {url: "https://example.org/x.py"}}
"""
    text = RECIPE.replace("set: {", "set: {trust_remote_code: true, ")
    mounts = "  mounts: {/root/.cache/huggingface: {source: model_store}"
    text = text.replace(
        f"{mounts}}}\n", f"{mounts}, {more.replace('source: /srv/data}', 'source: /srv/data}}', 1).strip()}\n"
    )
    upstream.commit({"recipes/ours/chat.yaml": text})
    done = cli("recipes", "fetch", "inventories/lab.yaml", "--upgrade")
    assert [line for line in done.out.splitlines() if " allows " in line] == [
        "team: ours/chat.yaml allows container.files: /app/x.py",
        "team: ours/chat.yaml allows container.mounts: /data from /srv/data",
        "team: ours/chat.yaml allows container.prelude: pip install thing",
        "team: ours/chat.yaml allows set.trust_remote_code",
    ], done.text


@pytest.mark.parametrize("kind", ["eugr", "sparkrun"])
def test_a_converted_recipe_is_added_without_an_edit(cli: Cli, upstream: Upstream, kind: str) -> None:
    text = {"eugr": EUGR, "sparkrun": SPARKRUN["official-recipes/small/small-vllm.yaml"]}[kind]
    upstream.commit({"recipes/model.yaml": text.replace("container: vllm-node", "container: example.org/vllm:1")})
    inventory = upstream.folder / "inventories/lab.yaml"
    source = inventory.read_text().partition("sources:")[2].replace('"}', f'", format: {kind}}}')
    inventory.write_text(OWN_MODEL.partition("deployments:")[0] + f"sources:{source}")
    assert cli("recipes", "fetch", "inventories/lab.yaml").code == 0
    done = cli("add", "team/model", "--on", "spark-01", "--to", "inventories/lab.yaml")
    assert done.code == 0, done.text


def test_a_repository_is_fetched_over_https(
    cli: Cli, upstream: Upstream, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path_factory.mktemp("served")
    git(root, "clone", "-q", "--bare", str(upstream.repository), str(root / "team.git"))
    authority = servers.authority(tmp_path_factory.mktemp("authority"))
    monkeypatch.setenv("NO_PROXY", "*")
    inventory = upstream.folder / "inventories/lab.yaml"
    with git_server.serve(root, authority, "") as server:
        inventory.write_text(inventory.read_text().replace(f"file://{upstream.repository}", f"{server.base}/team.git"))
        refused = cli("recipes", "fetch", "inventories/lab.yaml")
        assert refused.code == 6
        assert f"source team: {server.base}/team.git: unable to access" in refused.err
        assert "name it in GIT_SSL_CAINFO" in refused.err
        monkeypatch.setenv("GIT_SSL_CAINFO", str(authority.bundle))
        assert cli("recipes", "fetch", "inventories/lab.yaml").code == 0
    assert upstream.recipe.read_text() == RECIPE
    assert upstream.locked["team"]["commit"] == git(upstream.repository, "rev-parse", "HEAD").strip()
    assert cli("check", "inventories/lab.yaml").code == 0


def test_the_user_of_an_address_is_refused_and_its_password_not_printed(cli: Cli, upstream: Upstream) -> None:
    inventory = upstream.folder / "inventories/lab.yaml"
    text = inventory.read_text()
    for user in ("reader:canary-password", "canary0123456789abcdef"):
        inventory.write_text(text.replace("file://", f"https://{user}@git.example.org"))
        refused = cli("recipes", "fetch", "inventories/lab.yaml")
        assert refused.code == 2
        assert "SEC003 literal-secret" in refused.err
        assert "canary" not in refused.out + refused.err


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        (("file://", "file:///missing"), 6, "does not appear to be a git repository"),
        (('"}', '", revision: nowhere}'), 6, "couldn't find remote ref nowhere"),
        (('"}', '", path: other}'), 1, "has no recipes in other"),
        (("file://", "ssh://git@"), 2, "the address of a Git repository: https://… or file:///…, without a user name"),
    ],
)
def test_what_cannot_be_fetched_changes_nothing(
    cli: Cli, upstream: Upstream, change: tuple[str, str], code: int, message: str
) -> None:
    inventory = upstream.folder / "inventories/lab.yaml"
    inventory.write_text(inventory.read_text().replace(*change))
    done = cli("recipes", "fetch", "inventories/lab.yaml")
    assert (done.code, message in done.err) == (code, True), done.err
    assert upstream.locked == {}
    assert not (upstream.folder / "sources").exists()


def test_recipes_of_another_tool_are_converted(cli: Cli, upstream: Upstream) -> None:
    upstream.commit({"recipes/4x/their-model.yaml": EUGR, "recipes/notes.yaml": "just: notes\n"})
    inventory = upstream.folder / "inventories/lab.yaml"
    text = inventory.read_text().replace('"}', '", format: eugr}')
    inventory.write_text(text.replace("recipe: ours/chat", "recipe: team/4x-their-model, image: vllm-node:1"))
    done = cli("recipes", "fetch", "inventories/lab.yaml")
    assert done.code == 0, done.err
    assert "team: recipes/notes.yaml:1: skipped: command: is missing" in done.err
    written = (upstream.folder / "sources/team/team/4x-their-model.yaml").read_text()
    assert "max_model_len: 4096" in written
    assert f"imported from file://{upstream.repository}, recipes: 4x/their-model.yaml" in written
    listed = cli("recipes", "search", "--model", "their-model")
    assert "team/4x-their-model" in listed.out
    assert "RCP00" not in cli("check", "inventories/lab.yaml", "--allow-unlocked").err
    assert cli("recipes", "fetch", "inventories/lab.yaml").out == "inventories/lab.lock.yaml: up to date\n"
    [digest] = upstream.locked["team"]["files"].values()
    lock = upstream.folder / "inventories/lab.lock.yaml"
    lock.write_text(lock.read_text().replace(digest, "0" * 64))
    refused = cli("recipes", "fetch", "inventories/lab.yaml")
    assert refused.code == 1
    assert (
        "another version of sparkiac may have read them otherwise; if that is expected, run with --upgrade team"
        in refused.err
    )


SPARKRUN: Final = {
    "official-recipes/small/small-vllm.yaml": """\
recipe_version: "2"
model: example/small
runtime: vllm
container: vllm/vllm-openai:v0.20.0
min_nodes: 1
max_nodes: 1
defaults: {port: 8000, host: 0.0.0.0, gpu_memory_utilization: 0.5, max_model_len: 8192}
post_exec: [echo ready]
""",
    "official-recipes/small/small-with-base.yaml": """\
recipe_version: "2"
include: small-vllm
defaults: {max_model_len: 4096}
""",
    "official-recipes/README.yaml": "title: not a recipe\n",
    "official-recipes/broken.yaml": "recipe_version: '2'\nmodel: [\n",
    "experimental-recipes/other.yaml": "recipe_version: '2'\n",
}
"""A repository in the layout of sparkrun: folders of recipes, each with a folder for each family of models."""
LOST: Final = (
    "small/small-vllm.yaml:8: lost: post_exec: echo ready: runs in the first container once the server answers; "
    "sparkiac runs nothing there"
)


def test_a_repository_of_sparkrun_is_converted(cli: Cli, upstream: Upstream) -> None:
    upstream.commit(dict(SPARKRUN))
    inventory = upstream.folder / "inventories/lab.yaml"
    text = inventory.read_text().replace('"}', '", format: sparkrun, path: official-recipes}')
    inventory.write_text(text.replace("ours/chat", "team/small-small-vllm"))
    done = cli("recipes", "fetch", "inventories/lab.yaml")
    assert done.code == 0, done.err
    readme, broken, base, lost = (line.removeprefix("team: official-recipes/") for line in done.err.splitlines())
    assert readme == "README.yaml:1: skipped: model: is missing"
    assert broken == "broken.yaml:2: skipped: not valid YAML: did not find expected node content"
    assert base.startswith("small/small-with-base.yaml:1: skipped: it starts no server; ")
    assert "; include: small-vllm: the recipe that it includes is not read" in base
    assert lost == LOST
    assert upstream.locked["team"]["refused"] == [f"official-recipes/{each}" for each in (readme, broken, base)]
    again = cli("recipes", "fetch", "inventories/lab.yaml")
    assert again.out == "inventories/lab.lock.yaml: up to date\n"
    assert again.err.splitlines() == done.err.splitlines()[:3]
    listed = cli("recipes", "list").out
    assert "team/small-small-vllm" in listed
    assert f"team: official-recipes/{readme}\n" in listed
    assert "team: official-recipes/broken.yaml:2: skipped" in listed
    assert [each["source"] for each in json.loads(cli("recipes", "list", "--format", "json").out)["refused"]] == [
        "team"
    ] * 3
    written = (upstream.folder / "sources/team/team/small-small-vllm.yaml").read_text()
    assert "# lost, line 8: post_exec: echo ready" in written
    assert "official-recipes: small/small-vllm.yaml" in written
    assert set(upstream.locked["team"]["files"]) == {"team/small-small-vllm.yaml"}
    assert cli("generate", "inventories/lab.yaml", "--allow-unlocked").code == 0
    compose = (upstream.folder / "generated/lab/hosts/spark-01/etc/sparkiac/chat/compose.yaml").read_text()
    assert "8192" in compose
