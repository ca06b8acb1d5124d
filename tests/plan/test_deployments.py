"""A deployment on one host: its container, leaf by leaf."""

from __future__ import annotations

import re

import pytest

from sparkiac.model.resolved import ResolvedTimeouts
from sparkiac.plan import BindMount, Export, Health, Published, Secret
from tests.plan.fleets import LOCK, ONES, PAIR, container, containers, deployment

GEMMA = deployment().replace("base/single-spark", "google/gemma-4-26b-a4b-it-fp8")
GEMMA = GEMMA.replace("    model: example/model\n", "")
PROBE = (
    BindMount("/usr/local/lib/sparkiac", "/run/sparkiac/lib", read_only=True),
    BindMount("/etc/sparkiac/chat/promise.json", "/run/sparkiac/promise.json", read_only=True),
)
WATCH = ("CMD", "python3", "/run/sparkiac/lib/probe.py", "watch", "/run/sparkiac/promise.json")


def test_the_whole_container() -> None:
    """Loading may take 20 minutes."""
    chat = container(deployment())
    assert (chat.kind, chat.name, chat.unit) == ("deployment", "chat", "sparkiac-chat")
    assert (chat.description, chat.path) == ("example/model", ("deployments", "chat"))
    assert chat.image.pull == f"nvcr.io/nvidia/vllm@{ONES}"
    assert (chat.network.published, chat.network.listen) == (
        Published("192.168.1.11", 8001, 8000),
        ("192.168.1.11", 8001),
    )
    assert (chat.network.host, chat.confinement.devices, chat.server.node) == (False, (), None)
    assert (
        chat.confinement.ipc,
        chat.confinement.shm_size_bytes,
        chat.confinement.tmp_size_bytes,
        chat.confinement.read_only,
    ) == ("private", 16 << 30, 1 << 30, True)
    assert chat.timeouts == ResolvedTimeouts(ready_s=1200, stop_s=120, restart_delay_s=2, drain_s=30, answer_s=120)
    command = chat.command
    assert (chat.confinement.gpu, chat.secrets, command.exports, command.pre_start, command.needs_shell) == (
        True,
        (),
        (),
        (),
        False,
    )
    assert (chat.server.engine, chat.server.model, chat.server.speculative) == ("vllm", "example/model", None)
    assert chat.server.options["max_model_len"] == 65536
    assert (chat.storage.files, chat.storage.data, chat.network.shared, chat.server.superseded) == ((), None, None, ())
    assert chat.storage.mounts == (BindMount("/srv/models", "/models", read_only=True), *PROBE)
    assert (chat.weights.store, chat.weights.models, chat.server.served) == (
        "/srv/models",
        ("example/model",),
        ("example/model",),
    )
    assert chat.checks.path == "/health"


def test_the_description_is_the_users_if_there_is_one() -> None:
    assert container(deployment("description: For the team")).description == "For the team"


@pytest.mark.parametrize(
    ("bind", "address"),
    [("loopback", "127.0.0.1"), ("lan", "192.168.1.11"), ("fabric", "10.0.0.1"), ("any", "0.0.0.0")],  # noqa: S104
)
def test_where_a_port_is_published(bind: str, address: str) -> None:
    fabric = "fabric: {links: [{interface: enp1s0f1np1, address: 10.0.0.1/24}]}"
    chat = container(deployment(f"bind: {bind}", host=f"spark-01: {{address: 192.168.1.11, {fabric}}}"))
    assert chat.network.published == Published(address, 8001, 8000)
    assert chat.network.listen == (address, 8001)


def test_the_probe_asks_inside_the_container_whatever_is_published() -> None:
    chat = container(deployment("bind: loopback", "set: {port: 9000}", "served_names: [fast, chat]"))
    words = (*WATCH, "--at", "http://127.0.0.1:9000")
    assert chat.checks.health == Health(words, interval_s=15, timeout_s=150)
    assert chat.network.published == Published("127.0.0.1", 8001, 9000)


def test_the_names_that_clients_use() -> None:
    chat = container(deployment("served_names: [fast, chat]"))
    assert chat.server.served == ("fast", "chat")
    at = chat.command.words.index("--served-model-name")
    assert chat.command.words[at : at + 3] == ("--served-model-name", "fast", "chat")


def test_the_command_says_vllm_serve_where_the_entrypoint_does_not() -> None:
    chat = container(deployment())
    assert chat.command.words[:3] == ("vllm", "serve", "example/model")
    assert chat.argv == ("/opt/nvidia/nvidia_entrypoint.sh", *chat.command.words)


def test_the_command_starts_with_the_model_where_the_entrypoint_is_vllm_serve() -> None:
    chat = container(GEMMA)
    assert chat.command.words[0] == "google/gemma-4-26B-A4B-it"
    assert chat.argv[:3] == ("vllm", "serve", "google/gemma-4-26B-A4B-it")


def test_the_command_of_an_image_that_nothing_is_known_of_is_written_out() -> None:
    chat = container(deployment(f"image: example.org/engine:1@{ONES}"))
    assert (chat.image.entrypoint, chat.argv[:2]) == (None, ("vllm", "serve"))


def test_a_key_is_exported_from_its_file_so_that_no_argument_and_no_environment_shows_it() -> None:
    chat = container(deployment("api_key: {secret: team_key}"))
    assert chat.secrets == (Secret("team_key", "/run/secrets/vllm_api_key"),)
    assert (chat.command.exports, chat.command.needs_shell) == ((Export("VLLM_API_KEY", ("team_key",)),), True)
    assert chat.argv == ("/opt/nvidia/nvidia_entrypoint.sh", *chat.command.words)
    assert not any("KEY" in name for name in chat.command.env)
    assert not any("key" in word for word in chat.command.words)


def test_a_key_and_an_image_that_is_vllm_serve_itself() -> None:
    chat = container(GEMMA.replace("    port:", "    api_key: {secret: k}\n    port:"))
    assert chat.command.needs_shell
    assert chat.argv[:3] == ("vllm", "serve", "google/gemma-4-26B-A4B-it")
    assert chat.command.words[0] == "google/gemma-4-26B-A4B-it"


def test_commands_before_the_server_wrap_it_too() -> None:
    """As the Omni recipe installs its audio part."""
    chat = container(deployment("container: {prelude: [[pip, install, 'vllm[audio]'], [echo, ok]]}"))
    assert chat.command.pre_start == (("pip", "install", "vllm[audio]"), ("echo", "ok"))
    assert chat.command.needs_shell
    assert chat.command.words[:2] == ("vllm", "serve")


def test_files_are_under_the_name_of_their_content() -> None:
    url = "hf://example/model/parser.py"
    locked = f"{LOCK}files: {{'{url}': {{sha256: '{'a' * 64}'}}}}\n"
    lines = f"container: {{files: {{/opt/p.py: {{url: '{url}'}}, /opt/other.py: {{url: 'file:///srv/o.py'}}}}}}"
    other, parser = container(deployment(lines), locked=locked).storage.files
    assert (parser.url, parser.sha256, parser.target) == (url, "a" * 64, "/opt/p.py")
    assert parser.path == f"/var/lib/sparkiac/files/{'a' * 64}/p.py"
    assert (other.sha256, other.path) == (None, "/var/lib/sparkiac/files/UNLOCKED/other.py")


def test_a_file_that_is_pinned_at_another_revision_is_not_pinned() -> None:
    url, content = "hf://example/files/parser.py", "a" * 64
    for revision, pinned in (("main", None), ("v2", content)):
        locked = f"{LOCK}files: {{'{url}': {{sha256: '{content}', revision: {revision}}}}}\n"
        text = deployment(f"container: {{files: {{/opt/p.py: {{url: '{url}'}}}}}}")
        [file] = container(f"revisions: {{example/files: v2, example/other: v3}}\n{text}", locked=locked).storage.files
        assert file.sha256 == pinned


def test_the_environment_is_text_and_sorted() -> None:
    chat = container(deployment("env: {Z: 15, A: x, HF_HUB_OFFLINE: 0}"))
    assert (chat.command.env["Z"], chat.command.env["A"], chat.command.env["HF_HUB_OFFLINE"]) == ("15", "x", "0")
    assert list(chat.command.env) == sorted(chat.command.env)
    assert container(deployment("env: null")).command.env == {}


def test_mounts_are_sorted_and_read_only_unless_said() -> None:
    lines = "container: {mounts: {/z: {source: /srv/z, read_only: false}, /a: {source: model_store}}}"
    assert container(deployment(lines)).storage.mounts == (
        BindMount("/srv/models", "/a", read_only=True),
        BindMount("/srv/models", "/models", read_only=True),
        *PROBE,
        BindMount("/srv/z", "/z", read_only=False),
    )


def test_sizes_are_bytes() -> None:
    chat = container(deployment("container: {ipc: private, shm_size_gib: 0.5, tmp_size_gib: 2, ulimits: {stack: 9}}"))
    assert (chat.confinement.ipc, chat.confinement.shm_size_bytes, chat.confinement.tmp_size_bytes) == (
        "private",
        1 << 29,
        2 << 30,
    )
    assert chat.confinement.ulimits == {"stack": 9}


@pytest.mark.parametrize(
    ("lines", "ipc", "gib"),
    [
        ("{}", "private", 16),
        ("{shm_size_gib: 32}", "private", 32),
        ("{ipc: private}", "private", 16),
        ("{ipc: private, shm_size_gib: null}", "private", None),
        ("{ipc: host, shm_size_gib: null}", "host", None),
    ],
)
def test_a_server_on_one_host_has_its_own_shared_memory_unless_the_inventory_says_otherwise(
    lines: str, ipc: str, gib: int | None
) -> None:
    chat = container(deployment(f"container: {lines}")).confinement
    assert (chat.ipc, chat.shm_size_bytes) == (ipc, gib and gib << 30)


def test_a_node_of_a_group_shares_the_memory_of_its_host() -> None:
    nodes = containers(PAIR).values()
    assert {(each.confinement.ipc, each.confinement.shm_size_bytes) for each in nodes} == {("host", None)}


def test_the_models_that_the_store_must_hold() -> None:
    assert container(GEMMA).weights.models == ("google/gemma-4-26B-A4B-it", "google/gemma-4-26B-A4B-it-assistant")
    drafter = "speculative: {method: draft_model, model: example/draft}"
    assert container(deployment(drafter)).weights.models == ("example/model", "example/draft")
    assert container(deployment("speculative: {method: ngram}")).weights.models == ("example/model",)
    local = "speculative: {method: draft_model, model: /drafter}"
    assert container(deployment(local, "needs_models: [example/tokenizer]")).weights.models == (
        "example/model",
        "example/tokenizer",
    )


def test_a_model_that_is_served_from_a_directory() -> None:
    chat = container(deployment("model_path: /checkpoint"))
    assert (chat.weights.models, chat.weights.directories) == ((), ("example/model",))
    assert BindMount("/srv/models/example/model", "/checkpoint", read_only=True) in chat.storage.mounts
    assert chat.command.words[2] == "/checkpoint"
    assert chat.server.served == ("example/model",)


@pytest.mark.parametrize(
    ("lines", "host", "memory_bytes"),
    [
        (["set: {gpu_memory_utilization: 0.5}"], "", 119 * (1 << 29)),
        (["set: {gpu_memory_utilization: 0.5}"], ", memory: {total_gib: 121}", 121 * (1 << 29)),
        (["set: {gpu_memory_utilization: 1}"], "", 119 << 30),
        (["set: {gpu_memory_utilization: null}"], "", int(0.9 * (119 << 30))),
        (["set: {gpu_memory_utilization: 0.5}"], ", platform: pc", None),
    ],
)
def test_memory_is_computed_or_unknown(lines: list[str], host: str, memory_bytes: int | None) -> None:
    text = deployment(*lines, host=f"spark-01: {{address: 192.168.1.11{host}}}")
    chat = container(text + "platforms: {pc: {title: PC, architecture: amd64}}\n")
    assert chat.memory_bytes == memory_bytes


def test_a_machine_without_a_gpu_gives_none() -> None:
    text = deployment(host="spark-01: {address: 192.168.1.11, platform: pc}")
    assert not container(text + "platforms: {pc: {title: PC, architecture: amd64}}\n").confinement.gpu


def test_the_cache_name_changes_with_everything_compiled_code_depends_on() -> None:
    other = LOCK.replace("1" * 64, "3" * 64)
    keys = {
        container(deployment()).storage.cache_key,
        container(deployment(), locked=other).storage.cache_key,
        container(deployment("set: {dtype: float16}")).storage.cache_key,
        container(deployment("env: {VLLM_FLAG: 1}")).storage.cache_key,
        container(deployment().replace("example/model", "example/other")).storage.cache_key,
    }
    assert len(keys) == 5
    assert all(key is not None and re.fullmatch(r"[0-9a-f]{16}", key) for key in keys)


def test_the_caches_name_stays_when_only_the_host_side_changes() -> None:
    """A key that moves without need throws away minutes of compilation."""
    same = [
        deployment(),
        deployment("bind: any", "timeouts: {ready_s: 7}", "description: x", "api_key: {secret: k}"),
        deployment(defaults="{model_store: /elsewhere}"),
        deployment().replace("port: 8001", "port: 8002"),
        deployment() + "registries: {mirrors: {nvcr.io: mirror.lan}}\n",
    ]
    assert len({container(text).storage.cache_key for text in same}) == 1


def test_a_drafter_by_its_path_in_the_store_must_be_there() -> None:
    found = container(
        deployment(
            "speculative: {method: mtp, model: /drafters/z-lab/small}",
            "container: {mounts: {/drafters: {source: model_store}, /other: {source: /srv/other}}}",
        )
    )
    assert found.weights.directories == ("z-lab/small",)
    elsewhere = deployment(
        "speculative: {method: mtp, model: /other/z-lab/small}", "container: {mounts: {/other: {source: /srv/other}}}"
    )
    assert container(elsewhere).weights.directories == ()
