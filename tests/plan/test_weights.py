"""Weights: which commit each host must hold, in which layout, what the server is told, and who gives them to others."""

from __future__ import annotations

from typing import Final

import pytest

from sparkiac.plan import weights
from sparkiac.render import staging
from tests.plan.fleets import COMMIT, LOCK, PAIR, checked, container, deployment, planned, said

FILES: Final = f"{{config.json: {{size_bytes: 7, sha256: '{'a' * 64}'}}}}"


def _listing(model: str) -> str:
    """Write a lock that knows the files of a model."""
    return LOCK.replace(f"{model}: {{", f"{model}: {{files: {FILES}, ")


KNOWN: Final = _listing("example/model")
BIG: Final = _listing("example/big")
OTHERS: Final = f"""\
  example/words: {{commit: "{"4" * 40}"}}
  example/draft: {{commit: "{"5" * 40}"}}
"""


def test_the_server_gets_the_commits_of_model_tokenizer_and_drafter() -> None:
    words = deployment(
        "set: {tokenizer: example/words}",
        "needs_models: [example/words]",
        "speculative: {method: draft_model, model: example/draft, num_speculative_tokens: 2}",
    )
    found = container(words, locked=LOCK + OTHERS)
    assert f"--revision={COMMIT}" in found.command.words
    assert f"--tokenizer-revision={'4' * 40}" in found.command.words
    [draft] = [word for word in found.command.words if word.startswith("--speculative-config=")]
    assert f'"revision":"{"5" * 40}"' in draft
    assert found.weights.commits == {"example/draft": "5" * 40, "example/model": COMMIT, "example/words": "4" * 40}


def test_an_own_revision_wins() -> None:
    assert "--revision=main" in container(deployment("set: {revision: main}")).command.words


def test_sglang_gets_the_commits_too() -> None:
    text = deployment("image: example.org/x:1", "speculative: {method: eagle3, model: example/draft}")
    words = container(text.replace("base/single-spark", "base/sglang"), locked=LOCK + OTHERS).command.words
    assert {f"--revision={COMMIT}", f"--speculative-draft-model-revision={'5' * 40}"} <= set(words)


def test_a_model_that_is_served_from_a_directory_has_no_revision() -> None:
    found = container(deployment("model_path: /model", "speculative: {method: draft_model, model: /model/x}"))
    assert not [word for word in found.command.words if "revision" in word]
    assert found.weights.commits == {"example/model": COMMIT}


def test_another_commit_is_another_cache() -> None:
    """Also where the command names none."""
    text = deployment("model_path: /model")
    moved = LOCK.replace(COMMIT, "6" * 40)
    assert container(text).storage.cache_key != container(text, locked=moved).storage.cache_key


@pytest.mark.parametrize(("line", "layout"), [("env: {A: b}", "hub"), ("model_path: /model", "directory")])
def test_a_store_holds_the_repositories_whose_files_are_known(line: str, layout: str) -> None:
    text = deployment(line)
    [host] = planned(text, locked=KNOWN).hosts
    [store] = host.stores
    [stored] = store.models
    assert (store.path, stored.layout, stored.repository.commit) == ("/srv/models", layout, COMMIT)
    assert stored.repository.files == {"config.json": (7, "a" * 64)}
    assert stored.repository.size_bytes == 7
    assert [each.models for each in host.preflight.store] == [()], "it may not be there yet: the playbook stages it"
    [host] = planned(text).hosts
    assert host.stores == ()
    [store] = host.preflight.store
    assert store.models == (f"models--example--model@{COMMIT}" if layout == "hub" else "example/model",)


def test_the_token_of_the_hub_is_a_secret_of_the_hosts_that_download() -> None:
    text = deployment() + "hub: {url: 'https://hub.example.org', api_key: {secret: hub_token}}\n"
    plan = planned(text, locked=KNOWN)
    assert plan.hub == ("https://hub.example.org", "hub_token")
    assert plan.hosts[0].secrets == ("hub_token",)
    assert planned(text).hosts[0].secrets == ()


def test_a_group_downloads_once() -> None:
    plan = planned(PAIR, locked=BIG)
    assert {host.name: host.weights_from for host in plan.hosts} == {
        "spark-01": (),
        "spark-02": (("spark-01", "192.168.177.11"),),
    }
    assert [repository.model for repository in plan.repositories] == ["example/big"]


def test_hosts_without_a_common_link_download_each_for_itself() -> None:
    plan = planned(PAIR.replace("192.168.177.12", "192.168.178.12"), locked=BIG)
    assert [host.weights_from for host in plan.hosts] == [(), ()]


def test_copied_images_run_by_their_id() -> None:
    pinned = LOCK.replace("entrypoint: [/opt", f'config: "sha256:{"7" * 64}", entrypoint: [/opt')
    text = PAIR.replace("address: 192.168.1.12", "address: 192.168.1.12\n    images_from: spark-01")
    first, second = planned(text, locked=pinned).hosts
    assert first.images_from is None
    assert second.images_from == ("spark-01", "192.168.177.11")
    assert [host.copied_by for host in (first, second)] == [("192.168.1.12", "192.168.177.12"), ()]
    assert second.containers[0].image.pull == f"sha256:{'7' * 64}"
    assert second.preflight.units["big"].image == f"sha256:{'7' * 64}"
    assert first.containers[0].image.pull.startswith("nvcr.io/nvidia/vllm@sha256:")
    assert planned(text).hosts[1].containers[0].image.pull == "sha256:UNLOCKED"


def test_without_a_link_the_address_serves() -> None:
    text = deployment(host="spark-01: {address: 192.168.1.11, images_from: spark-02}, spark-02: {address: box2.lan}")
    first, second = planned(text).hosts
    assert first.images_from == ("spark-02", "box2.lan")
    assert second.copied_by == ("192.168.1.11",)


def test_a_host_gets_the_list_of_hosts_that_copy_weights_from_it() -> None:
    first, second = planned(PAIR, locked=BIG).hosts
    assert (first.copied_by, second.copied_by) == (("192.168.1.12", "192.168.177.12"), ())
    text = PAIR.replace("address: 192.168.1.12", "address: box2.lan") + "    bind: loopback\n"
    named = planned(text, locked=BIG)
    assert [host.copied_by for host in named.hosts] == [(), ()]


def test_a_drafter_that_is_one_file_belongs_to_its_repository() -> None:
    drafter = "speculative: {method: draft_model, model: /models/example/draft/small.gguf}"
    text = deployment(drafter, "container: {mounts: {/models: {source: model_store}}}")
    assert "example/draft" in container(text, locked=LOCK + OTHERS).weights.commits
    own = text.replace("/models/example/draft/small.gguf", "/models/own")
    found = container(own)
    assert (found.weights.directories, found.weights.commits) == (("own",), {"example/model": COMMIT})


def test_a_pin_of_another_revision_than_the_inventory_wants_is_none() -> None:
    """So `generate` stops, as it does without a lock."""
    text = deployment() + "revisions: {example/model: v2}\n"
    assert container(text).weights.commits == {}
    assert "--revision" not in " ".join(container(text).command.words)
    assert "MDL001 7:12 chat loads example/model, which the lock does not pin to a commit" in said(
        checked(text).report.findings
    )
    moved = LOCK.replace("example/model: {", "example/model: {revision: v2, ")
    assert container(text, locked=moved).weights.commits == {"example/model": COMMIT}


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("env: {A: b}", f"/srv/models/hub/models--example--big/snapshots/{COMMIT}"),
        ("model_path: /model", "/srv/models/example/big"),
    ],
)
def test_every_node_of_a_group_compares_the_same_manifest_with_its_files(line: str, place: str) -> None:
    plan = planned(f"{PAIR}    {line}\n", locked=BIG)
    found = [host.preflight.units["big"].weights for host in plan.hosts]
    assert found == [((place, COMMIT, "models/example--big.json"),)] * 2


def test_a_node_compares_the_files_of_its_own_model_in_its_own_store_alone() -> None:
    rest = "recipe: base/single-spark, hosts: spark-01"
    others = (
        f"  chat: {{model: example/model, port: 8002, {rest}}}\n"
        f"  twin: {{model: example/big, port: 8003, model_store: /srv/other, {rest}}}\n"
    )
    both = BIG.replace("example/model: {", f"example/model: {{files: {FILES}, ")
    node = planned(PAIR + others, locked=both).hosts[0].preflight.units["big"]
    assert [each.path for each in node.weights] == [f"/srv/models/hub/models--example--big/snapshots/{COMMIT}"]


def test_a_deployment_on_one_host_is_not_compared() -> None:
    [host] = planned(deployment("env: {A: b}"), locked=KNOWN).hosts
    assert host.preflight.units["chat"].weights == ()


def _own(host: str, *lines: str, path: str = "/home/me/bot") -> str:
    """Write an inventory whose model lies on spark-01 and is served on a host."""
    others = "spark-01: {address: 192.168.1.11}, spark-02: {address: 192.168.1.12}"
    text = (
        deployment(*lines, host=others).replace("example/model", "me/bot").replace("hosts: spark-01", f"hosts: {host}")
    )
    return f"{text}own_models: {{me/bot: {{host: spark-01, path: {path}}}}}\n"


def _own_lock(path: str = "/home/me/bot") -> str:
    return f'{LOCK}  me/bot: {{commit: "{"7" * 40}", revision: "spark-01:{path}", files: {FILES}}}\n'


def test_a_model_of_the_users_is_loaded_from_a_directory_that_nothing_can_write_to() -> None:
    found = container(_own("spark-01"), locked=_own_lock())
    assert "/model" in found.command.words
    assert ("/srv/models/me/bot", "/model", True) in [each[:3] for each in found.storage.mounts]
    assert found.server.served == ("me/bot",)
    assert not [word for word in found.command.words if "revision" in word]


def test_the_host_that_has_a_model_stores_it_for_the_others_over_the_lan_too() -> None:
    plan = planned(_own("spark-02"), locked=_own_lock())
    first, second = plan.hosts
    assert first.containers == ()
    assert first.stores == second.stores
    assert [(peer.host, peer.address) for peer in second.weights_from] == [("spark-01", "192.168.1.11")]
    assert first.weights_from == ()
    assert second.address in first.copied_by
    [mine], [others] = (store.models for host in plan.hosts for store in staging.stores(host))
    assert (mine.own, others.own) == (("spark-01", "/home/me/bot"), ("spark-01", None))
    assert list(plan.restricted) == []
    assert [staging.fetch(host, plan.hub)["owners"] for host in plan.hosts] == [[], ["spark-01"]]


def test_a_gguf_file_needs_no_further_key() -> None:
    path = "/home/me/bot-q4.gguf"
    text = _own("spark-01", "set: {ctx_size: 4096}", "image: example.org/x:1", path=path)
    found = container(text.replace("base/single-spark", "base/llama-cpp"), locked=_own_lock(path))
    assert "/model/bot-q4.gguf" in found.command.words
    [[mine]] = [store.models for store in staging.stores(planned(text, locked=_own_lock(path)).hosts[0])]
    assert mine.own == ("spark-01", "/home/me")


def test_a_model_that_moved_is_not_pinned() -> None:
    assert container(_own("spark-01"), locked=_own_lock("/home/me/former")).weights.commits == {}


def test_each_node_of_a_group_compares_a_model_of_the_users_with_its_manifest() -> None:
    text = PAIR.replace("example/big", "me/bot") + "own_models: {me/bot: {host: spark-01, path: /home/me/bot}}\n"
    plan = planned(text, locked=_own_lock())
    for host in plan.hosts:
        [found] = host.preflight.units["big"].weights
        assert found == ("/srv/models/me/bot", "7" * 40, "models/me--bot.json")
        assert ("/srv/models/me/bot", "/model", True) in [each[:3] for each in host.containers[0].storage.mounts]
    assert [host.weights_from for host in plan.hosts] == [(), (("spark-01", "192.168.177.11"),)]


def mounted(*lines: str, inside: str = "") -> list[tuple[str, str]]:
    """Return source and target of what is below the model store, or of what is mounted below a path."""
    found = weights.mounted(container(deployment(*lines)))
    return [(each.source, each.target) for each in found if each.target.startswith(inside or "/models")]


MODEL = ("/srv/models/hub/models--example--model", "/models/hub/models--example--model")
OTHER = ("/srv/models/hub/models--example--big", "/models/hub/models--example--big")
WHOLE = ("/srv/models", "/models")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ((), [MODEL]),
        (("speculative: {method: eagle3, model: example/big}",), [OTHER, MODEL]),
        (("needs_models: [example/big]",), [OTHER, MODEL]),
        (("set: {tokenizer: example/big}",), [OTHER, MODEL]),
        (
            ("set: {chat_template: /models/me/chat.jinja}",),
            [MODEL, ("/srv/models/me/chat.jinja", "/models/me/chat.jinja")],
        ),
        (("set: {download_dir: /models}",), [WHOLE]),
        (("set: {lora_modules: [a=me/adapter]}",), [WHOLE]),
        (("env: {HF_HUB_CACHE: /models/hub}",), [WHOLE]),
        (("container: {mounts: {/models: {source: model_store, read_only: false}}}",), [WHOLE]),
        (("env: {HF_HOME: /models/home}",), [WHOLE]),
    ],
)
def test_of_a_store_only_what_a_container_reads_is_mounted(
    lines: tuple[str, ...], expected: list[tuple[str, str]]
) -> None:
    assert mounted(*lines) == expected


def test_a_folder_of_the_user_is_mounted_as_it_is() -> None:
    assert mounted("container: {mounts: {/data: {source: /srv/data}}}", inside="/data") == [("/srv/data", "/data")]


def test_a_drafter_in_a_folder_of_the_store_is_mounted_alone() -> None:
    lines = (
        "env: {HF_HOME: null}",
        "model_path: /target",
        "speculative: {method: dflash, model: /models/example/big}",
    )
    assert mounted(*lines) == [("/srv/models/example/big", "/models/example/big")]
