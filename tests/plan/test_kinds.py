"""What each kind of service is by itself, and what the inventory changes of it."""

from __future__ import annotations

import pytest

from sparkiac import catalog
from sparkiac.model.services import ContainerService
from sparkiac.plan import BindMount, Health, Published
from tests.plan.fleets import container, service

KINDS = ("parakeet", "chatterbox", "gpu-exporter", "ollama", "open-webui", "hermes-agent", "openclaw")
PC = "platforms: {pc: {title: PC, architecture: amd64}}\n"


def kind(name: str, *lines: str, host: str = "spark-01: {address: 192.168.1.11}") -> str:
    """Write an inventory with the service `asr` of another kind."""
    return service(*lines, host=host).replace("kind: container", f"kind: {name}")


@pytest.mark.parametrize(
    ("name", "port", "health"),
    [
        ("parakeet", 8765, "/health"),
        ("chatterbox", 8882, "/health"),
        ("gpu-exporter", 9835, "/metrics"),
        ("ollama", 11434, "/api/tags"),
    ],
)
def test_port_and_health_are_the_kinds_own(name: str, port: int, health: str) -> None:
    """As the dual-Spark post has them."""
    found = container(kind(name))
    assert found.network.published == Published("192.168.1.11", port, port)
    assert (found.network.listen, found.checks.path) == (("192.168.1.11", port), health)
    known = catalog.service_kind(name)
    assert known is not None
    assert known.value is not None
    assert found.description == known.value.title


def test_another_port_outside_leaves_the_one_inside() -> None:
    assert container(kind("parakeet", "port: 9000")).network.published == Published("192.168.1.11", 9000, 8765)


def test_what_the_inventory_says_wins() -> None:
    found = container(kind("gpu-exporter", "gpu: false", "env: {NVIDIA_DRIVER_CAPABILITIES: null, A: b}", "health: /x"))
    assert (found.confinement.gpu, dict(found.command.env), found.checks.path) == (False, {"A": "b"}, "/x")


def test_a_machine_without_a_gpu_gives_none() -> None:
    found = container(kind("gpu-exporter", host="spark-01: {address: 192.168.1.11, platform: pc}") + PC)
    assert found.confinement.gpu is False
    assert container(kind("gpu-exporter")).confinement.gpu is True


def test_an_image_without_an_http_client_is_asked_from_outside_alone() -> None:
    assert container(kind("gpu-exporter")).checks.health is None
    assert container(kind("ollama")).checks.health == Health(("CMD", "ollama", "list"), interval_s=15, timeout_s=10)


def test_ollama_takes_its_options_from_variables() -> None:
    """Rows 1.2 and 12.3: the models that it pulls are named in full, as its own list does."""
    found = container(kind("ollama", 'models: ["qwen3:8b", nomic]', "set: {keep_alive: 5m, flash_attention: true}"))
    assert found.command.env["OLLAMA_KEEP_ALIVE"] == "5m"
    assert found.command.env["OLLAMA_FLASH_ATTENTION"] == "1"
    assert found.server.pulls == ("qwen3:8b", "nomic:latest")
    assert (found.server.engine, found.server.options["keep_alive"], found.command.words) == ("ollama", "5m", ())


def test_data_outlives_the_container() -> None:
    found = container(kind("ollama"))
    assert found.storage.data == "/var/lib/sparkiac/asr"
    assert found.storage.mounts == (BindMount("/var/lib/sparkiac/asr", "/root/.ollama", read_only=False),)


def test_who_mounts_the_data_himself_keeps_it_there() -> None:
    found = container(kind("ollama", "mounts: {/root/.ollama: {source: /srv/ollama, read_only: false}}"))
    assert found.storage.data is None
    assert found.storage.mounts == (BindMount("/srv/ollama", "/root/.ollama", read_only=False),)


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_names_its_sources(name: str) -> None:
    known = catalog.service_kind(name)
    assert known is not None
    assert known.value is not None
    assert any(source.startswith(("Spark guide", "dual-Spark post")) for source in known.value.sources)


def test_a_new_kind_of_container_is_a_file_and_a_word() -> None:
    """Every word of the Literal but `container` has its file."""
    [words] = [ContainerService.model_fields["kind"].annotation]
    names = set(words.__args__) - {"container"}  # type: ignore[union-attr]
    assert names < set(KINDS)
    assert catalog.service_kind("container") is None
