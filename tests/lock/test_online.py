"""`sparkiac lock --check --online` against a real registry and the stand-in for the model hub."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from sparkiac.upstream import transport
from tests.lock.upstream import CONFIG, TINY
from tests.standin.hub import Fault, sha256

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome
    from tests.lock.upstream import Upstream

    Cli = Callable[..., Outcome]

ONLINE = ("lock", "lab.yaml", "--check", "--online")
REMOTE = "hf://acme/tiny/config.json"
OTHER = "5" * 64


@pytest.fixture
def locked(upstream: Upstream, cli: Cli) -> Upstream:
    """Lock an image, a model and a file of its repository."""
    upstream.write(upstream.deployment() + f"    container: {{files: {{/b.json: {{url: '{REMOTE}'}}}}}}\n")
    assert cli("lock", "lab.yaml").code == 0
    return upstream


def tampered(upstream: Upstream, before: str, after: str) -> None:
    """Change the lock by hand."""
    text = upstream.lock.read_text()
    assert before in text
    upstream.lock.write_text(text.replace(before, after, 1))


def test_a_lock_that_its_servers_confirm(locked: Upstream, cli: Cli) -> None:
    before = locked.lock.read_bytes(), locked.lock.stat().st_mtime_ns
    outcome = cli(*ONLINE)
    assert (outcome.code, outcome.out, outcome.err) == (0, "lab.lock.yaml: 3 of 3 pins confirmed\n", "")
    assert (locked.lock.read_bytes(), locked.lock.stat().st_mtime_ns) == before
    found = json.loads(cli(*ONLINE, "--format", "json").out)
    assert [(each["kind"], each["name"]) for each in found["confirmed"]] == [
        ("file", REMOTE),
        ("image", locked.image("vllm")),
        ("model", "acme/tiny"),
    ]
    assert (found["differences"], found["not_compared"], found["findings"]) == ([], [], [])


def test_without_online_no_request_is_sent(locked: Upstream, cli: Cli) -> None:
    locked.hub.requests.clear()
    assert cli("lock", "lab.yaml", "--check").code == 0
    assert locked.hub.requests == []
    outcome = cli("lock", "lab.yaml", "--online")
    assert (outcome.code, "--online needs --check" in outcome.err) == (2, True)


def test_a_tag_and_a_branch_that_moved(locked: Upstream, cli: Cli) -> None:
    old, tiny = locked.pushed["vllm"].index.digest, locked.hub.repositories["acme/tiny"]
    first, before = tiny.head(), locked.lock.read_bytes()
    new = locked.push("vllm", mark="second").index.digest
    newer = tiny.commit(TINY | {"README.md": b"# New"})
    outcome = cli(*ONLINE)
    assert (outcome.code, locked.lock.read_bytes()) == (3, before)
    kept = "upstream, where the pinned one still exists"
    assert f"image {locked.image('vllm')}: digest is {old} in the lock, but {new} {kept}" in outcome.err
    assert f"model acme/tiny: commit is {first} in the lock, but {newer} {kept}" in outcome.err
    assert f"run `sparkiac lock lab.yaml --upgrade {locked.image('vllm')}`" in outcome.err
    assert outcome.out == "lab.lock.yaml: 0 of 3 pins confirmed\n", "the file follows the commit of its repository"


def test_a_pin_that_was_made_up(locked: Upstream, cli: Cli) -> None:
    digest, commit = locked.pushed["vllm"].index.digest, locked.hub.repositories["acme/tiny"].head()
    tampered(locked, f'digest: "{digest}"', f'digest: "sha256:{OTHER}"')
    outcome = cli(*ONLINE)
    gone = "upstream, where the pinned one is missing"
    assert outcome.code == 3
    assert f"digest is sha256:{OTHER} in the lock, but {digest} {gone}" in outcome.err
    assert outcome.out == "lab.lock.yaml: 2 of 3 pins confirmed\n"
    text = locked.lock.read_text().replace(commit, OTHER[:40])
    locked.lock.write_text(text)
    outcome = cli(*ONLINE)
    assert (outcome.code, outcome.err.count(f"commit is {OTHER[:40]} in the lock, but {commit} {gone}")) == (3, 2)


def values(upstream: Upstream) -> dict[str, tuple[str, str]]:
    """Return for each value that is changed by hand its text before and after."""
    arm = upstream.pushed["vllm"].arm
    weights = sha256(TINY["model.safetensors"])
    return {
        "manifest": (arm.manifest.digest, f"sha256:{OTHER}"),
        "config": (arm.config.digest, f"sha256:{OTHER}"),
        "size_bytes": (f"size_bytes: {arm.size_bytes}", "size_bytes: 7"),
        "files.model.safetensors.sha256": (weights, OTHER),
        "tensor_bytes": ("tensor_bytes: 16", "tensor_bytes: 15"),
        "config.hidden_size": ("hidden_size: 64", "hidden_size: 65"),
    }


@pytest.mark.parametrize(
    "what",
    ["manifest", "config", "size_bytes", "files.model.safetensors.sha256", "tensor_bytes", "config.hidden_size"],
)
def test_a_value_that_was_changed_by_hand(locked: Upstream, cli: Cli, what: str) -> None:
    before, after = values(locked)[what]
    tampered(locked, before, after)
    line = 1 + next(row for row, text in enumerate(locked.lock.read_text().splitlines()) if after in text)
    assert cli("lock", "lab.yaml", "--check").code == 0, "only its server knows"
    outcome = cli(*ONLINE)
    assert outcome.code == 3
    assert f"lab.lock.yaml:{line}:" in outcome.err
    there, here = before.rpartition(" ")[2], after.rpartition(" ")[2]
    assert f": {what} is {here} in the lock, but {there} upstream\n" in outcome.err
    assert "restore the entry, or remove it and run `sparkiac lock lab.yaml`" in outcome.err


def test_a_file_that_was_removed_from_the_lock(locked: Upstream, cli: Cli) -> None:
    lines = locked.lock.read_text().splitlines()
    locked.lock.write_text("\n".join(line for line in lines if "      config.json:" not in line))
    outcome = cli(*ONLINE)
    assert outcome.code == 3
    assert f"files.config.json.sha256 is missing in the lock, but {sha256(TINY['config.json'])} upstream" in outcome.err


def test_an_incomplete_pin_is_confirmed_and_reported(upstream: Upstream, cli: Cli) -> None:
    digest, commit = upstream.pushed["vllm"].index.digest, upstream.hub.repositories["acme/tiny"].head()
    upstream.lock.write_text(
        f"version: 1\nimages: {{'{upstream.image('vllm')}': {{digest: '{digest}'}}}}\n"
        f"models: {{acme/tiny: {{commit: '{commit}', config: {{hidden_size: {CONFIG['hidden_size']}}}}}}}\n"
    )
    outcome = cli(*ONLINE)
    assert (outcome.code, outcome.out) == (3, "lab.lock.yaml: 2 of 2 pins confirmed\n")
    assert (outcome.err.count("LCK031"), "LCK034" in outcome.err) == (2, False)


def test_a_server_that_does_not_respond(locked: Upstream, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setattr(transport, "_FIRST_WAIT_S", 0.001)
    outcome = cli(*ONLINE)
    assert outcome.code == 6
    assert "LCK013" in outcome.err
    assert "model acme/tiny was not compared: " in outcome.err
    rest = f"1 of 3 pins confirmed; not compared: file {REMOTE}, model acme/tiny"
    assert outcome.out == f"lab.lock.yaml: {rest}\n"
    tampered(locked, locked.pushed["vllm"].index.digest, f"sha256:{OTHER}")
    assert cli(*ONLINE).code == 3, "a difference comes before a missing response"


def test_a_request_that_is_refused(locked: Upstream, cli: Cli) -> None:
    locked.hub.fail(Fault("/revision/main", status=401, times=9))
    outcome = cli(*ONLINE)
    assert (outcome.code, "not compared" in outcome.out) == (1, True)


def test_an_example_lock_is_not_compared(locked: Upstream, cli: Cli) -> None:
    tampered(locked, "version: 1\n", "version: 1\nexample: true\n")
    locked.hub.requests.clear()
    outcome = cli(*ONLINE)
    assert (outcome.code, outcome.out) == (3, "lab.lock.yaml: 0 of 0 pins confirmed\n")
    assert locked.hub.requests == []
