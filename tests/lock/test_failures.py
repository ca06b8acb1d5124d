"""`sparkiac lock` where it fails, is interrupted or killed: all is told at once, and the lock is as it was."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

from sparkiac.write import single
from tests.commands.test_quiet import on_terminal
from tests.lock.upstream import repository
from tests.standin.hub import Fault
from tests.upstream.registry import content

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tests.conftest import Outcome
    from tests.lock.upstream import Upstream

    Cli = Callable[..., Outcome]

CANARY = "hf_canaryOfTheToken"
LIMIT_SECONDS = 300


def places(outcome: Outcome) -> list[str]:
    """Return place, code and slug of each finding."""
    return [
        line.split(": ")[0] + line.split(" error")[1].split(":")[0]
        for line in outcome.err.split("\n")
        if " error " in line
    ]


def locked(upstream: Upstream, cli: Cli) -> bytes:
    """Lock what there is; give the lock."""
    assert cli("lock", "lab.yaml").code == 0
    return upstream.lock.read_bytes()


def test_all_errors_are_reported_at_once(upstream: Upstream, cli: Cli) -> None:
    before = locked(upstream, cli)
    amd = content.image("amd64")
    upstream.registry.push(f"{upstream.prefix}/amd", "1", amd)
    upstream.hub.repositories["acme/gated"] = repository("acme/gated", gated="auto")
    upstream.write(
        upstream.deployment()
        + upstream.deployment(name="b", image="none", model="acme/none", port=8002)
        + upstream.deployment(name="c", image="amd", model="acme/gated", port=8003),
        upstream.service(image="vllm").replace("vllm:1", "vllm:11"),
        "revisions: {acme/tiny: v9}\n",
    )
    outcome = cli("lock", "lab.yaml")
    assert (outcome.code, outcome.out) == (1, "")
    assert places(outcome) == [
        "lab.yaml:13:12 LCK001 no-such-image",
        "lab.yaml:14:12 LCK010 no-such-model",
        "lab.yaml:19:12 LCK002 image-without-architecture",
        "lab.yaml:20:12 LCK011 gated-model",
        "lab.yaml:24:33 LCK001 no-such-image",
        "lab.yaml:25:24 LCK012 no-such-revision",
    ]
    assert "it has linux/amd64 (used by c)" in outcome.err
    assert "hint: see the tags of the repository" in outcome.err
    assert outcome.err.endswith("6 errors\n")
    assert upstream.lock.read_bytes() == before


def test_a_finding_for_machines_has_the_same_place(upstream: Upstream, cli: Cli) -> None:
    upstream.write(upstream.deployment(model="acme/none"))
    [found] = json.loads(cli("lock", "lab.yaml", "--format", "json").out)["findings"]
    assert (found["code"], found["file"], found["line"], found["column"]) == ("LCK010", "lab.yaml", 8, 12)
    assert not upstream.lock.exists()


def test_a_name_of_the_recipe_is_found_at_the_deployment_with_its_origin(upstream: Upstream, cli: Cli) -> None:
    image = upstream.image("vllm")
    upstream.write(
        f"  chat: {{recipe: redhatai/qwen3.6-35b-a3b-nvfp4, hosts: spark-01, port: 8001, image: '{image}'}}\n"
    )
    outcome = cli("lock", "lab.yaml")
    assert outcome.code == 1
    assert "lab.yaml:5:3: error LCK010 no-such-model: " in outcome.err
    assert "from: recipe redhatai/qwen3.6-35b-a3b-nvfp4 catalog/recipes/redhatai/" in outcome.err


def test_nobody_answers(upstream: Upstream, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    before = locked(upstream, cli)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    upstream.hub.repositories["acme/next"] = repository("acme/next")
    upstream.write(upstream.deployment(model="acme/next"))
    outcome = cli("lock", "lab.yaml")
    assert (outcome.code, places(outcome)) == (6, ["lab.yaml:8:12 LCK013 hub-silent"])
    upstream.write(upstream.deployment(model="acme/next", image="none"))
    assert cli("lock", "lab.yaml").code == 1, "one thing at least will not come by itself"
    assert upstream.lock.read_bytes() == before


def test_a_digest_that_was_deleted_upstream(upstream: Upstream, cli: Cli) -> None:
    gone = "sha256:" + "5" * 64
    upstream.lock.write_text(f"version: 1\nimages: {{'{upstream.image('vllm')}': {{digest: '{gone}'}}}}\n")
    before = upstream.lock.read_bytes()
    outcome = cli("lock", "lab.yaml")
    assert (outcome.code, places(outcome)) == (1, ["lab.yaml:7:12 LCK001 no-such-image"])
    assert gone in outcome.err
    assert upstream.lock.read_bytes() == before
    assert cli("lock", "lab.yaml", "--upgrade").code == 0
    assert upstream.locked["images"][upstream.image("vllm")]["digest"] == upstream.pushed["vllm"].index.digest


def test_hosts_of_two_architectures_want_one_image(upstream: Upstream, cli: Cli) -> None:
    platform = "platforms: {pc: {title: A PC, architecture: amd64}}\n"
    hosts = "hosts: {spark-01: {address: 192.168.1.11}, pc-01: {address: 192.168.1.12, platform: pc}}\n"
    both = upstream.service(image="vllm") + upstream.service("tts", image="vllm", port=8766).replace(
        "spark-01", "pc-01"
    )
    upstream.inventory.write_text(f"name: lab\n{platform}{hosts}services:\n{both}")
    outcome = cli("lock", "lab.yaml")
    assert (outcome.code, places(outcome)) == (1, ["lab.yaml:5:33 LCK030 two-architectures"])
    assert (
        "is used on amd64 and arm64, but the lock holds only one manifest per image (used by asr, tts)" in outcome.err
    )
    assert "LCK030" in cli("lock", "lab.yaml", "--check").err


def test_an_image_for_the_architecture_of_its_host(upstream: Upstream, cli: Cli) -> None:
    platform = "platforms: {pc: {title: A PC, architecture: amd64}}\n"
    hosts = "hosts: {pc-01: {address: 192.168.1.12, platform: pc}}\n"
    upstream.inventory.write_text(
        f"name: lab\n{platform}{hosts}services:\n{upstream.service(image='vllm').replace('spark-01', 'pc-01')}"
    )
    assert cli("lock", "lab.yaml").code == 0
    assert upstream.locked["images"][upstream.image("vllm")]["manifest"] == upstream.pushed["vllm"].amd.manifest.digest


def test_a_disk_that_fails_leaves_the_lock(upstream: Upstream, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    before = locked(upstream, cli)
    upstream.push("vllm", mark="second")

    def fail(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(single.os, "fsync", fail)
    outcome = cli("lock", "lab.yaml", "--upgrade")
    assert (outcome.code, outcome.err) == (6, f"sparkiac: {upstream.lock}: No space left on device\n")
    assert upstream.lock.read_bytes() == before
    assert {path.name for path in upstream.folder.iterdir()} == {"lab.yaml", "lab.lock.yaml"}


def test_a_lock_that_somebody_changed_meanwhile_is_left(upstream: Upstream, cli: Cli) -> None:
    upstream.hub.fail(Fault("/revision/main", silent_seconds=2))
    written = threading.Thread(target=lambda: (asked(upstream, since=0), upstream.lock.write_text("# mine\n")))
    written.start()
    outcome = cli("lock", "lab.yaml")
    written.join()
    assert outcome.code == 5
    assert outcome.err == "lab.lock.yaml changed during the run; nothing was written\n"
    assert upstream.lock.read_text() == "# mine\n"


def test_a_secret_shows_nowhere(upstream: Upstream, cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".docker").mkdir()
    login = {"auths": {upstream.registry.host: {"auth": "cmVhZGVyOmNhbmFyeS1vZi1iYXNpYw=="}}}
    (tmp_path / ".docker/config.json").write_text(json.dumps(login))
    monkeypatch.setenv("HF_TOKEN", CANARY)
    upstream.hub.tokens[CANARY] = frozenset({"acme/mine"})
    upstream.hub.repositories["acme/mine"] = repository("acme/mine", gated="auto")
    upstream.write(upstream.deployment(model="acme/mine"))
    good = cli("lock", "lab.yaml")
    assert good.code == 0
    assert upstream.locked["models"]["acme/mine"]["gated"] is True
    upstream.write(upstream.deployment(model="acme/none", image="none"))
    bad = cli("lock", "lab.yaml")
    assert bad.code == 1
    everything = good.text + bad.text + upstream.lock.read_text()
    for secret in (CANARY, "canary-of-basic", "cmVhZGVy"):
        assert secret not in everything


def asked(upstream: Upstream, *, since: int) -> None:
    """Wait until the hub has been asked more often than that."""
    end = time.monotonic() + LIMIT_SECONDS
    while len(upstream.hub.requests) <= since and time.monotonic() < end:
        time.sleep(0.02)
    assert len(upstream.hub.requests) > since, "it asks"


class Running:
    """A run whose hub keeps still, so that it can be ended in the middle."""

    def __init__(self, upstream: Upstream) -> None:
        """Start it, and wait until it asks."""
        upstream.hub.fail(Fault("/revision/main", silent_seconds=LIMIT_SECONDS, times=9))
        before = len(upstream.hub.requests)
        argv = [sys.executable, "-m", "sparkiac", "lock", "lab.yaml", "--upgrade"]
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        asked(upstream, since=before)

    def end(self, sent: signal.Signals) -> tuple[int, bytes]:
        """Send a signal; give how it ended and what it said."""
        self.process.send_signal(sent)
        _, said = self.process.communicate(timeout=LIMIT_SECONDS / 2)
        return self.process.returncode, said


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -9), (signal.SIGTERM, -15)])
def test_whoever_ends_it_the_lock_is_as_it_was(upstream: Upstream, cli: Cli, sent: signal.Signals, code: int) -> None:
    """An interrupt does not wait for the hub, which would not answer for half a minute."""
    before = locked(upstream, cli)
    upstream.push("vllm", mark="second")
    ended, said = Running(upstream).end(sent)
    assert (ended, said.strip()) == (code, b"" if sent == signal.SIGKILL else b"sparkiac: interrupted")
    assert upstream.lock.read_bytes() == before
    assert {path.name for path in upstream.folder.iterdir()} == {"lab.yaml", "lab.lock.yaml"}


def environment() -> Mapping[str, str]:
    return {name: os.environ[name] for name in ("HOME", "HF_ENDPOINT", "SSL_CERT_FILE")}


def test_progress_is_reported_on_a_terminal_after_a_second(upstream: Upstream) -> None:
    upstream.hub.fail(Fault("/revision/main", silent_seconds=2))
    said = on_terminal("lock", "lab.yaml", cwd=upstream.folder, env=environment())
    assert said.startswith(b"\r\x1b[Kupstream requests: ")
    assert b"\x1b[Kupstream requests: 1 of 2\r" in said
    assert said.endswith(b"\r\x1b[K")
    assert upstream.lock.exists()


def test_progress_is_told_to_nobody_else(upstream: Upstream, cli: Cli) -> None:
    upstream.hub.fail(Fault("/revision/main", silent_seconds=2))
    outcome = cli("lock", "lab.yaml")
    assert (outcome.code, outcome.err) == (0, "")


def test_200_images_in_one_run(upstream: Upstream, cli: Cli) -> None:
    image = content.image("arm64")
    upstream.registry.push(f"{upstream.prefix}/many", "1", image)
    for number in range(200):
        upstream.registry.push(
            f"{upstream.prefix}/many", f"v{number}", content.Blob(image.manifest.media_type, image.manifest.body)
        )
    services = "".join(
        upstream.service(f"s{number}", image="many", port=9000 + number).replace("many:1", f"many:v{number}")
        for number in range(200)
    )
    upstream.write(services=services)
    assert cli("lock", "lab.yaml").code == 0
    assert len(upstream.locked["images"]) == 200
    assert {each["digest"] for each in upstream.locked["images"].values()} == {image.manifest.digest}
    assert cli("lock", "lab.yaml", "--check").code == 0
