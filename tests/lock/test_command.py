"""`sparkiac lock` against a real registry and the model hub's stand-in: what it writes, and what it leaves alone."""

from __future__ import annotations

import difflib
import json
from typing import TYPE_CHECKING

import pytest

from sparkiac.lock.text import HEADER
from tests.lock.upstream import CONFIG, HEAD, TINY, WEIGHTS, repository
from tests.plan.fleets import ONES
from tests.standin.hub import Repository, sha256
from tests.upstream.registry import content, servers

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome
    from tests.lock.upstream import Upstream

    Cli = Callable[..., Outcome]

NEWER = TINY | {"config.json": json.dumps(CONFIG | {"hidden_size": 128}).encode(), "merges.txt": b"a b\n"}


def diff(before: str, after: str) -> tuple[list[str], list[str]]:
    """Return the lines that went and those that came."""
    old, new = before.splitlines(), after.splitlines()
    codes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    changed = [code for code in codes if code[0] != "equal"]
    went = [line for _, start, end, _, _ in changed for line in old[start:end]]
    return went, [line for *_, start, end in changed for line in new[start:end]]


def test_a_gated_model_is_told_with_its_hosts_and_their_secret(
    upstream: Upstream, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "token")
    upstream.hub.tokens["token"] = frozenset({"acme/mine"})
    upstream.hub.repositories["acme/mine"] = repository("acme/mine", gated="auto")
    upstream.write(upstream.deployment(model="acme/mine"))
    demand = (
        "model acme/mine is gated: to download it, spark-01 must send the token of an account that accepted the terms "
        "on https://huggingface.co/acme/mine; "
    )
    outcome = cli("lock", "lab.yaml")
    assert outcome.code == 0
    assert f"{demand}add `hub: {{api_key: {{secret: hub_token}}}}` to the inventory\n" in outcome.out
    assert "MDL002" in cli("check", "lab.yaml").text
    upstream.write(upstream.deployment(model="acme/mine"), more="hub: {api_key: {secret: mine}}\n")
    assert f"{demand}it is the secret mine\n" in cli("lock", "lab.yaml").out
    assert "MDL002" not in cli("check", "lab.yaml").text


def test_a_first_lock_holds_what_upstream_says(upstream: Upstream, cli: Cli) -> None:
    made = upstream.push("vllm", Labels={"com.nvidia.vllm.version": "0.17.1"})
    outcome = cli("lock", "lab.yaml")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.endswith("lab.lock.yaml: written\n")
    commit = upstream.hub.repositories["acme/tiny"].head()
    assert upstream.locked == {
        "version": 1,
        "images": {
            upstream.image("vllm"): {
                "digest": made.index.digest,
                "manifest": made.arm.manifest.digest,
                "config": made.arm.config.digest,
                "size_bytes": made.arm.size_bytes,
                "created": "2026-11-01T12:00:00Z",
                "versions": {"vllm": "0.17.1"},
                "entrypoint": ["vllm", "serve"],
                "command": ["--help"],
            }
        },
        "models": {
            "acme/tiny": {
                "commit": commit,
                "licence": "apache-2.0",
                "tensors": {"BF16": 6, "F8_E4M3": 4},
                "tensor_bytes": 16,
                "config": CONFIG,
                "files": {
                    path: {"size_bytes": len(TINY[path]), "sha256": sha256(TINY[path])}
                    for path in ("config.json", "model.safetensors")
                },
            }
        },
    }
    text = upstream.lock.read_text()
    assert text.startswith(HEADER)
    assert f'    commit: "{commit}"\n' in text
    assert f'      model.safetensors: {{size_bytes: {len(WEIGHTS)}, sha256: "{sha256(WEIGHTS)}"}}\n' in text


def test_generate_needs_nothing_else(upstream: Upstream, cli: Cli) -> None:
    assert cli("generate", "lab.yaml").code == 4
    assert cli("lock", "lab.yaml").code == 0
    assert cli("generate", "lab.yaml").code == 0
    upstream.lock.unlink()
    assert cli("generate", "lab.yaml").code == 4
    assert cli("lock", "lab.yaml").code == 0
    assert cli("generate", "lab.yaml", "--check").code == 0


def test_a_second_run_sends_no_request_and_writes_nothing(upstream: Upstream, cli: Cli) -> None:
    cli("lock", "lab.yaml")
    before, inode = upstream.lock.read_bytes(), upstream.lock.stat().st_ino
    upstream.hub.requests.clear()
    outcome = cli("lock", "lab.yaml")
    assert (outcome.code, outcome.out, outcome.err) == (0, "lab.lock.yaml: up to date\n", "")
    assert (upstream.lock.read_bytes(), upstream.lock.stat().st_ino) == (before, inode)
    assert upstream.hub.requests == []


def test_what_is_locked_anew_is_the_same_to_the_byte(upstream: Upstream, cli: Cli) -> None:
    cli("lock", "lab.yaml")
    before = upstream.lock.read_bytes()
    upstream.lock.unlink()
    cli("lock", "lab.yaml")
    assert upstream.lock.read_bytes() == before


def test_a_moved_tag_and_a_moved_branch_change_nothing_until_upgrade(upstream: Upstream, cli: Cli) -> None:
    cli("lock", "lab.yaml")
    before, old = upstream.lock.read_bytes(), upstream.locked
    made = upstream.push("vllm", mark="second", Env=["CUDA_VERSION=13.0"])
    commit = upstream.hub.repositories["acme/tiny"].commit(NEWER)
    assert cli("lock", "lab.yaml").out == "lab.lock.yaml: up to date\n"
    assert cli("lock", "lab.yaml", "--check").code == 0
    assert upstream.lock.read_bytes() == before
    outcome = cli("lock", "lab.yaml", "--upgrade")
    assert (outcome.code, outcome.err) == (0, "")
    was, now = old["images"][upstream.image("vllm")]["digest"], made.index.digest
    size = upstream.locked["images"][upstream.image("vllm")]["size_bytes"]
    assert outcome.out == (
        f"~ image {upstream.image('vllm')}\n"
        f"    digest  {was[:19]} → {now[:19]}\n"
        "    cuda    - → 13.0\n"
        f"    size    {old['images'][upstream.image('vllm')]['size_bytes']} B → {size} B\n"
        "~ model acme/tiny\n"
        f"    commit  {old['models']['acme/tiny']['commit'][:12]} → {commit[:12]}\n"
        f"    size    272 B → {len(NEWER['config.json']) + len(WEIGHTS) + 4} B\n"
        "    config  hidden_size\n"
        f"    files   1 new, 1 changed, 0 removed; {len(NEWER['config.json']) + 4} B to download\n"
        "lab.lock.yaml: written\n"
    )
    assert upstream.locked["models"]["acme/tiny"]["commit"] == commit


@pytest.mark.parametrize(
    ("names", "moved"), [(["acme/tiny"], "models"), (["asr"], "none"), (["image"], "images"), (["chat"], "both")]
)
def test_upgrade_moves_what_is_named_and_no_other_pin(
    upstream: Upstream, cli: Cli, names: list[str], moved: str
) -> None:
    upstream.push("asr")
    upstream.write(upstream.deployment(), upstream.service())
    cli("lock", "lab.yaml")
    old = upstream.locked
    upstream.push("vllm", mark="second")
    upstream.hub.repositories["acme/tiny"].commit(NEWER)
    given = [upstream.image("vllm") if name == "image" else name for name in names]
    assert cli("lock", "lab.yaml", "--upgrade", *given).code == 0
    changed = {key for key in ("images", "models") if upstream.locked[key] != old[key]}
    assert changed == {"both": {"images", "models"}, "none": set()}.get(moved, {moved})
    assert upstream.locked["images"][upstream.image("asr")] == old["images"][upstream.image("asr")]


def test_a_name_that_stands_for_nothing_gets_the_nearest(upstream: Upstream, cli: Cli) -> None:
    outcome = cli("lock", "lab.yaml", "--upgrade", "acme/tinny")
    assert (outcome.code, outcome.out, upstream.lock.exists()) == (2, "", False)
    assert "'acme/tinny'; did you mean 'acme/tiny'?" in outcome.err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["chat"], "'chat' selects pins to upgrade; add --upgrade"),
        (["--check", "--upgrade"], "--check and --upgrade exclude each other"),
        (["--check", "--dry-run"], "--check and --dry-run exclude each other"),
        (["--record", "lab.yaml", "--verify"], "--record and --verify exclude each other"),
        (["--record", "lab.yaml", "--check"], "--record and --check exclude each other"),
        (["--key", "lab.yaml"], "--key needs --verify"),
        (["--key", "none.pub", "--verify"], "none.pub"),
    ],
)
def test_options_that_say_two_things(upstream: Upstream, cli: Cli, options: list[str], says: str) -> None:
    outcome = cli("lock", "lab.yaml", *options)
    assert (outcome.code, outcome.out, upstream.lock.exists()) == (2, "", False)
    assert says in outcome.err
    assert upstream.hub.requests == []


def test_a_dry_run_shows_all_and_writes_nothing(upstream: Upstream, cli: Cli) -> None:
    outcome = cli("lock", "lab.yaml", "--dry-run")
    assert (outcome.code, upstream.lock.exists()) == (3, False)
    assert outcome.out.startswith("+ image ")
    assert outcome.out.endswith("lab.lock.yaml: would be written\n")
    cli("lock", "lab.yaml")
    before = upstream.lock.read_bytes()
    upstream.push("vllm", mark="second")
    assert cli("lock", "lab.yaml", "--dry-run").code == 0
    assert cli("lock", "lab.yaml", "--upgrade", "--dry-run").code == 3
    assert upstream.lock.read_bytes() == before


def test_a_new_deployment_adds_lines_and_changes_none(upstream: Upstream, cli: Cli) -> None:
    upstream.hub.repositories["acme/next"] = repository("acme/next")
    upstream.push("another")
    cli("lock", "lab.yaml")
    before = upstream.lock.read_text()
    upstream.push("vllm", mark="second")
    more = upstream.deployment(name="next", image="another", model="acme/next", port=8002)
    upstream.write(upstream.deployment() + more)
    assert cli("lock", "lab.yaml").code == 0
    went, came = diff(before, upstream.lock.read_text())
    assert went == []
    assert f'  "{upstream.image("another")}":' in came
    assert '  "acme/next":' in came
    assert list(upstream.locked["images"]) == sorted(upstream.locked["images"])
    upstream.write(upstream.deployment())
    assert cli("lock", "lab.yaml").code == 0
    assert upstream.lock.read_text() == before


def test_a_pin_that_knew_only_its_digest_is_completed_and_does_not_move(upstream: Upstream, cli: Cli) -> None:
    first, commit = upstream.pushed["vllm"], upstream.hub.repositories["acme/tiny"].head()
    upstream.push("vllm", mark="second")
    upstream.hub.repositories["acme/tiny"].commit(NEWER)
    head = "# Pinned by hand.\nversion: 1\n"
    upstream.lock.write_text(
        f"{head}images:\n  {upstream.image('vllm')}: {{digest: '{first.index.digest}'}} # the first\n"
        f"models: {{acme/tiny: {{commit: '{commit}'}}}}\n"
    )
    stale = cli("lock", "lab.yaml", "--check")
    assert (stale.code, stale.err.count("the entry in the lock is incomplete")) == (3, 2)
    outcome = cli("lock", "lab.yaml")
    assert (outcome.code, outcome.out.count("(completed)")) == (0, 2)
    image, model = upstream.locked["images"][upstream.image("vllm")], upstream.locked["models"]["acme/tiny"]
    assert (image["digest"], image["manifest"]) == (first.index.digest, first.arm.manifest.digest)
    assert model["commit"] == commit
    assert model["files"]["config.json"]["sha256"] == sha256(TINY["config.json"])
    assert "revision" not in model, "that is main, as before"
    assert upstream.lock.read_text().startswith(head)
    assert cli("lock", "lab.yaml", "--check").code == 0


def test_the_revision_is_what_the_inventory_says(upstream: Upstream, cli: Cli) -> None:
    tiny = upstream.hub.repositories["acme/tiny"]
    first = tiny.head()
    tiny.tag("v1", first)
    tiny.commit(NEWER)
    cli("lock", "lab.yaml")
    upstream.write(upstream.deployment(), more="revisions: {acme/tiny: v1}\n")
    stale = cli("lock", "lab.yaml", "--check")
    assert stale.code == 3
    assert "model acme/tiny: the lock pins another revision than v1 (used by chat)" in stale.err
    assert cli("lock", "lab.yaml").code == 0
    locked = upstream.locked["models"]["acme/tiny"]
    assert (locked["commit"], locked["revision"]) == (first, "v1")
    assert cli("lock", "lab.yaml", "--check").code == 0


def test_files_of_a_repository_stay_at_its_one_commit(upstream: Upstream, cli: Cli) -> None:
    tiny, remote = upstream.hub.repositories["acme/tiny"], "hf://acme/tiny/config.json"
    first = tiny.head()
    tiny.tag("v1", first)
    files = f"    container: {{files: {{/b.json: {{url: '{remote}'}}}}}}\n"
    upstream.write(upstream.deployment() + files, more="revisions: {acme/tiny: v1}\n")
    newer = tiny.commit(NEWER)
    assert cli("lock", "lab.yaml").code == 0
    locked = upstream.locked
    assert (locked["files"][remote]["commit"], locked["files"][remote]["revision"]) == (first, "v1")
    upstream.write(upstream.deployment() + files)
    stale = cli("lock", "lab.yaml", "--check")
    assert stale.code == 3
    assert f"file {remote}: the lock pins another revision than main (used by chat)" in stale.err
    assert cli("lock", "lab.yaml").code == 0
    assert upstream.locked["files"][remote]["commit"] == upstream.locked["models"]["acme/tiny"]["commit"] == newer
    tiny.commit(TINY)
    assert cli("lock", "lab.yaml", "--upgrade", "acme/tiny").code == 0
    assert upstream.locked["files"][remote]["commit"] == upstream.locked["models"]["acme/tiny"]["commit"] != newer


def test_a_file_at_another_commit_than_its_repository_is_stale_and_fixed(upstream: Upstream, cli: Cli) -> None:
    tiny, remote = upstream.hub.repositories["acme/tiny"], "hf://acme/tiny/config.json"
    first = tiny.head()
    files = f"    container: {{files: {{/b.json: {{url: '{remote}'}}}}}}\n"
    upstream.write(upstream.deployment() + files)
    assert cli("lock", "lab.yaml").code == 0
    newer = tiny.commit(NEWER)
    text = upstream.lock.read_text()
    head, _, tail = text.rpartition(first)
    upstream.lock.write_text(f"{head}{newer}{tail}")
    assert upstream.locked["files"][remote]["commit"] == newer
    stale = cli("lock", "lab.yaml", "--check")
    assert stale.code == 3
    assert f"file {remote}: the lock pins another commit than for the rest of its repository" in stale.err
    assert cli("lock", "lab.yaml").code == 0
    assert upstream.lock.read_text() == text


def test_weights_in_two_forms_are_locked_in_the_one_that_is_loaded(upstream: Upstream, cli: Cli) -> None:
    both = {**TINY, "consolidated.safetensors": TINY["model.safetensors"], "params.json": b"{}"}
    upstream.hub.repositories["acme/tiny"].commit(both)
    assert cli("lock", "lab.yaml").code == 0
    tiny = upstream.locked["models"]["acme/tiny"]
    assert list(tiny["files"]) == ["config.json", "consolidated.safetensors", "params.json"]
    assert tiny["left_out"] == ["shards"]
    upstream.write(upstream.deployment() + "    set: {load_format: safetensors}\n")
    assert cli("lock", "lab.yaml", "--check").code == 3
    outcome = cli("lock", "lab.yaml")
    assert "~ model acme/tiny (completed)" in outcome.out
    assert "left out  shards → consolidated\n" in outcome.out
    tiny = upstream.locked["models"]["acme/tiny"]
    assert list(tiny["files"]) == ["config.json", "model.safetensors", "params.json"]
    assert cli("lock", "lab.yaml", "--check").code == 0


def test_what_nothing_wants_any_more_is_stale_and_goes(upstream: Upstream, cli: Cli) -> None:
    upstream.push("asr")
    upstream.write(upstream.deployment(), upstream.service())
    cli("lock", "lab.yaml")
    upstream.write(services=upstream.service())
    outcome = cli("lock", "lab.yaml", "--check")
    assert outcome.code == 3
    assert "lab.lock.yaml:13:3: error LCK031 stale-lock: image " in outcome.err
    assert "model acme/tiny: no longer used" in outcome.err
    outcome = cli("lock", "lab.yaml")
    assert outcome.out == f"- image {upstream.image('vllm')}\n- model acme/tiny\nlab.lock.yaml: written\n"
    assert upstream.locked.keys() == {"version", "images"}


def test_an_example_pins_nothing_and_is_replaced(upstream: Upstream, cli: Cli) -> None:
    upstream.lock.write_text(
        f"version: 1\nexample: true\nimages: {{{upstream.image('vllm')}: {{digest: '{ONES}'}}}}\n"
        f"builds: {{engine: {{id: '{ONES}', spec: '{ONES}'}}}}\n"
    )
    stale = cli("lock", "lab.yaml", "--check")
    assert (stale.code, stale.err.count("the lock is an example")) == (3, 1)
    assert cli("lock", "lab.yaml").code == 0
    assert upstream.locked.keys() == {"version", "images", "models"}
    assert upstream.locked["images"][upstream.image("vllm")]["digest"] == upstream.pushed["vllm"].index.digest


def test_a_mirror_is_asked_and_the_inventorys_name_is_locked(upstream: Upstream, cli: Cli) -> None:
    name = f"nvcr.io/{upstream.prefix}/vllm:1"
    deployment = upstream.deployment().replace(upstream.image("vllm"), name)
    mirror = f"registries: {{mirrors: {{nvcr.io: '{upstream.registry.host}'}}}}\n"
    upstream.write(deployment, more=mirror)
    assert cli("lock", "lab.yaml").code == 0
    assert upstream.locked["images"][name]["digest"] == upstream.pushed["vllm"].index.digest
    upstream.lock.write_text(
        f"version: 1\nimages: {{'{name}': {{digest: '{upstream.pushed['vllm'].index.digest}'}}}}\n"
    )
    assert cli("lock", "lab.yaml").code == 0
    assert upstream.locked["images"][name]["manifest"] == upstream.pushed["vllm"].arm.manifest.digest


def test_a_digest_of_the_inventory_is_completed_and_upgrade_leaves_it(upstream: Upstream, cli: Cli) -> None:
    digest = upstream.pushed["vllm"].index.digest
    upstream.write(upstream.deployment().replace(upstream.image("vllm"), f"{upstream.image('vllm')}@{digest}"))
    upstream.push("vllm", mark="second")
    assert cli("lock", "lab.yaml").code == 0
    assert upstream.locked["images"][f"{upstream.image('vllm')}@{digest}"]["digest"] == digest
    assert cli("lock", "lab.yaml", "--upgrade").out == "lab.lock.yaml: up to date\n"


def test_one_file_of_a_repository_for_an_engine_that_loads_one(upstream: Upstream, cli: Cli) -> None:
    files = {"a-Q4.gguf": b"four", "a-Q8.gguf": b"eight", "config.json": b"{}"}
    upstream.hub.repositories["acme/gguf"] = Repository("acme/gguf", files)
    text = upstream.deployment(model="acme/gguf").replace("base/single-spark", "base/llama-cpp")
    upstream.write(f"{text}    model_file: a-Q4.gguf\n")
    assert cli("lock", "lab.yaml").code == 0
    assert list(upstream.locked["models"]["acme/gguf"]["files"]) == ["a-Q4.gguf"]
    upstream.write(f"{text}    model_file: a-Q8.gguf\n")
    assert cli("lock", "lab.yaml", "--check").code == 3
    assert cli("lock", "lab.yaml").code == 0
    assert list(upstream.locked["models"]["acme/gguf"]["files"]) == ["a-Q8.gguf"]


def test_extra_files_of_the_hub_and_of_the_disk(upstream: Upstream, cli: Cli) -> None:
    (upstream.folder / "parser.py").write_bytes(b"parser\n")
    local, remote = f"file://{upstream.folder}/parser.py", "hf://acme/tiny/config.json"
    files = f"    container: {{files: {{/a.py: {{url: '{local}'}}, /b.json: {{url: '{remote}'}}}}}}\n"
    upstream.write(upstream.deployment() + files)
    assert cli("lock", "lab.yaml").code == 0
    assert upstream.locked["files"] == {
        local: {"sha256": sha256(b"parser\n"), "size_bytes": 7},
        remote: {
            "sha256": sha256(TINY["config.json"]),
            "size_bytes": len(TINY["config.json"]),
            "commit": upstream.hub.repositories["acme/tiny"].head(),
        },
    }
    (upstream.folder / "parser.py").write_bytes(b"another\n")
    assert cli("lock", "lab.yaml").out == "lab.lock.yaml: up to date\n"
    assert cli("lock", "lab.yaml", "--upgrade", local).code == 0
    assert upstream.locked["files"][local]["size_bytes"] == 8


def test_a_file_of_the_hub_without_its_commit_is_completed_if_it_is_the_same(upstream: Upstream, cli: Cli) -> None:
    remote = "hf://acme/tiny/config.json"
    upstream.write(upstream.deployment() + f"    container: {{files: {{/b.json: {{url: '{remote}'}}}}}}\n")
    pinned = f"version: 1\nimages: {{}}\nfiles: {{'{remote}': {{sha256: '{sha256(TINY['config.json'])}'}}}}\n"
    upstream.lock.write_text(pinned)
    assert cli("lock", "lab.yaml").code == 0
    commit = upstream.hub.repositories["acme/tiny"].head()
    assert upstream.locked["files"][remote]["commit"] == commit
    upstream.lock.write_text(pinned)
    upstream.hub.repositories["acme/tiny"].commit(NEWER)
    outcome = cli("lock", "lab.yaml")
    assert (outcome.code, upstream.lock.read_text()) == (1, pinned)
    assert "lab.yaml:11:40: error LCK020 no-such-file: hf://acme/tiny/config.json no longer has" in outcome.err
    assert cli("lock", "lab.yaml", "--upgrade", remote).code == 0
    assert upstream.locked["files"][remote]["sha256"] == sha256(NEWER["config.json"])


def test_the_base_of_a_build_is_locked_and_the_build_itself_asked_for(upstream: Upstream, cli: Cli) -> None:
    upstream.push("base")
    source = "repository: https://example.org/engine.git, install: [make]"
    build = f"{{why: tests, base: '{upstream.image('base')}', commit: '{'1' * 40}', {source}}}"
    service = upstream.service().replace(upstream.image("asr"), "engine")
    upstream.write(services=service, more=f"builds: {{engine: {build}}}\n")
    outcome = cli("lock", "lab.yaml")
    assert outcome.code == 0
    assert list(upstream.locked["images"]) == [upstream.image("base")]
    assert "warning LCK031 stale-lock: build engine: the lock does not pin it" in outcome.err
    assert "sparkiac lock INVENTORY --record RECORD" in outcome.err
    assert cli("lock", "lab.yaml", "--check").code == 3
    upstream.lock.write_text(upstream.lock.read_text() + f"builds:\n  engine: {{id: '{ONES}', spec: '{ONES}'}}\n")
    stale = cli("lock", "lab.yaml", "--check")
    assert "build engine: the lock has an image that was built from another spec" in stale.err


def test_signatures_are_looked_for_and_noted(upstream: Upstream, cli: Cli) -> None:
    cli("lock", "lab.yaml")
    outcome = cli("lock", "lab.yaml", "--verify")
    assert outcome.out == (
        f"~ image {upstream.image('vllm')} (completed)\n    signature  - → none\nlab.lock.yaml: written\n"
    )
    assert cli("lock", "lab.yaml", "--upgrade").out == "lab.lock.yaml: up to date\n", "the digest is the same"
    upstream.push("vllm", mark="second")
    assert cli("lock", "lab.yaml", "--upgrade").code == 0
    assert "signature" not in upstream.locked["images"][upstream.image("vllm")]
    assert cli("lock", "lab.yaml", "--verify", "--upgrade").code == 0
    assert upstream.locked["images"][upstream.image("vllm")]["signature"] == "none"


def test_json_has_all_that_moves(upstream: Upstream, cli: Cli) -> None:
    cli("lock", "lab.yaml")
    was = upstream.locked["images"][upstream.image("vllm")]
    upstream.push("vllm", mark="second")
    outcome = cli("lock", "lab.yaml", "--upgrade", "--format", "json")
    now = upstream.locked["images"][upstream.image("vllm")]
    assert json.loads(outcome.out) == {
        "format_version": 1,
        "findings": [],
        "lock": "lab.lock.yaml",
        "state": "written",
        "moves": [
            {
                "kind": "image",
                "name": upstream.image("vllm"),
                "state": "moved",
                "changes": {
                    key: {"before": was[key], "after": now[key]}
                    for key in ("digest", "size_bytes", "manifest", "config")
                },
            }
        ],
    }
    assert json.loads(cli("lock", "lab.yaml", "--check", "--format", "json").out) == {
        "format_version": 1,
        "findings": [],
    }


def test_rules_and_a_missing_lock_do_not_stop_it(upstream: Upstream, cli: Cli) -> None:
    upstream.write(upstream.deployment(port=22))
    assert cli("check", "lab.yaml").code == 1
    assert cli("lock", "lab.yaml").code == 0
    assert cli("check", "lab.yaml").code == 1


@pytest.mark.parametrize(
    ("inventory", "lock", "says"),
    [
        ("name: [", "", "lab.yaml:1:"),
        (HEAD + "deployments: {chat: {recipe: base/none, hosts: spark-01}}\n", "", "lab.yaml:4:"),
        (HEAD, "version: 2\nimages: {}\n", "lab.lock.yaml:1:10: error INV002"),
        (HEAD, "<<<<<<< ours\nversion: 1\n", "lab.lock.yaml:"),
    ],
)
def test_bad_input_is_reported_and_no_request_is_sent(
    upstream: Upstream, cli: Cli, inventory: str, lock: str, says: str
) -> None:
    upstream.inventory.write_text(inventory)
    upstream.lock.write_text(lock) if lock else None
    outcome = cli("lock", "lab.yaml")
    assert (outcome.code, outcome.out) == (2, "")
    assert says in outcome.err
    assert upstream.hub.requests == []
    assert not lock or upstream.lock.read_text() == lock


def test_an_ollama_servers_models_have_no_pin(upstream: Upstream, cli: Cli) -> None:
    upstream.push("ollama")
    kept = f"  ollama: {{kind: ollama, image: '{upstream.image('ollama')}', hosts: spark-01, models: ['qwen3:8b']}}\n"
    upstream.write(services=kept)
    assert cli("lock", "lab.yaml").code == 0
    assert upstream.locked.keys() == {"version", "images"}


def test_a_signature_that_is_there_is_noted_and_not_believed(upstream: Upstream, cli: Cli) -> None:
    digest = upstream.pushed["vllm"].index.digest
    upstream.registry.push(
        f"{upstream.prefix}/vllm", f"{digest.replace(':', '-')}.sig", content.image("arm64", mark="signature")
    )
    assert cli("lock", "lab.yaml", "--verify").code == 0
    noted = upstream.locked["images"][upstream.image("vllm")]["signature"]
    assert noted == "present, not checked: neither a key nor an identity was given"
    (upstream.folder / "cosign.pub").write_text("a key\n")
    assert cli("lock", "lab.yaml", "--verify", "--key", "cosign.pub").code == 0
    assert upstream.locked["images"][upstream.image("vllm")]["signature"] != noted
    upstream.write(upstream.deployment(image="none"))
    assert cli("lock", "lab.yaml", "--verify").code == 1


def test_a_registry_of_this_machine_without_tls(
    upstream: Upstream, cli: Cli, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("plain")
    servers.authority(folder)
    with servers.registry(folder, tls=None, auth={}, headers={}) as plain:
        for name in "abcdefgh":
            plain.push(name, "1", content.image("arm64", mark=name))
        services = [
            f"  {name}: {{kind: container, image: '{plain.host}/{name}:1', hosts: spark-01}}\n" for name in "abcdefgh"
        ]
        upstream.write(services="".join(services))
        outcome = cli("lock", "lab.yaml")
    assert (outcome.code, outcome.err) == (0, "")
    assert len(upstream.locked["images"]) == 8
