"""Any other container on a host."""

from __future__ import annotations

from sparkiac.model.resolved import ResolvedTimeouts
from sparkiac.plan import BindMount, Health, Published
from tests.plan.fleets import ONES, container, service


def test_a_service_with_required_keys_only() -> None:
    asr = container(service())
    assert (asr.kind, asr.name, asr.unit, asr.description) == ("service", "asr", "sparkiac-asr", "asr")
    assert asr.path == ("services", "asr")
    assert asr.image.pull == f"example.org/asr@{ONES}"
    assert (asr.network.published, asr.network.listen, asr.checks.health, asr.checks.path) == (None, None, None, None)
    assert (asr.command.words, dict(asr.command.env), asr.storage.mounts) == ((), {}, ())
    assert not asr.command.needs_shell
    assert (asr.storage.data, asr.network.shared, asr.network.extra_hosts, asr.dependencies, asr.server.pulls) == (
        None,
        None,
        (),
        (),
        (),
    )
    assert (asr.confinement.gpu, asr.confinement.read_only, asr.confinement.ipc, asr.network.host) == (
        False,
        True,
        "private",
        False,
    )
    assert asr.timeouts == ResolvedTimeouts(ready_s=300, stop_s=60, restart_delay_s=2, drain_s=0, answer_s=120)
    assert (asr.memory_bytes, asr.storage.cache_key, asr.weights.store, asr.weights.models, asr.server.served) == (
        None,
        None,
        None,
        (),
        (),
    )
    assert (asr.secrets, asr.confinement.devices, dict(asr.confinement.ulimits), asr.confinement.shm_size_bytes) == (
        (),
        (),
        {},
        None,
    )
    assert asr.confinement.tmp_size_bytes == 256 << 20


def test_a_port_is_published_on_the_lan() -> None:
    asr = container(service("port: 8765"))
    assert asr.network.published == Published("192.168.1.11", 8765, 8765)
    assert asr.network.listen == ("192.168.1.11", 8765)


def test_a_container_port_of_its_own() -> None:
    asr = container(service("port: 8765", "container_port: 80", "bind: loopback", "health: /health"))
    assert asr.network.published == Published("127.0.0.1", 8765, 80)
    assert asr.checks.path == "/health"
    url = "http://127.0.0.1:80/health"
    curl, wget = f"curl -fsS -m 4 {url} >/dev/null", f"wget -q -T 4 -O /dev/null {url}"
    python = f"python3 -c \"import urllib.request as r; r.urlopen('{url}', timeout=4)\""
    command = ("CMD-SHELL", f"{curl} || {wget} || {python}")
    assert asr.checks.health == Health(command, interval_s=15, timeout_s=15)


def test_everything_that_can_be_said() -> None:
    asr = container(
        service(
            "description: Speech to text",
            "command: [--model, 'a b']",
            "env: {Z: 1, A: x}",
            "mounts: {/z: {source: /srv/z, read_only: false}, /a: {source: model_store}}",
            "gpu: true",
            "read_only: false",
            "timeouts: {ready_s: 7, stop_s: 8, restart_delay_s: 9, drain_s: 10, answer_s: 11}",
            defaults="{model_store: /srv/models}",
        )
    )
    assert asr.description == "Speech to text"
    assert (asr.command.words, asr.argv) == (("--model", "a b"), ("--model", "a b"))
    assert list(asr.command.env.items()) == [("A", "x"), ("Z", "1")]
    assert asr.storage.mounts == (
        BindMount("/srv/models", "/a", read_only=True),
        BindMount("/srv/z", "/z", read_only=False),
    )
    assert (asr.confinement.gpu, asr.confinement.read_only) == (True, False)
    assert asr.timeouts == ResolvedTimeouts(ready_s=7, stop_s=8, restart_delay_s=9, drain_s=10, answer_s=11)
