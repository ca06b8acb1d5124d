"""The tutorial and its page for two Sparks as a newcomer follows them: installed from the wheel, typed as printed.

Command lines are read from the pages. What differs: addresses, the mirror, the hub, and a platform for hosts that are
no DGX Sparks (x86, less disk); for a model on both hosts also the links, which have other names and no RDMA device. The
model server, images and weights are stand-ins. `pytest -m deep -s` prints the minutes of each step.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import ROOT
from tests.docs.blocks import Block, blocks, commands
from tests.e2e.bed import images
from tests.e2e.newcomer import Done, Newcomer
from tests.packaging import test_wheel
from tests.upstream.registry import servers

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.bed import Bed
    from tests.packaging.test_wheel import Built

pytestmark = pytest.mark.deep
built = test_wheel.built
CONTROL = "10.77.0.1"
HANDLES = (
    *("RedHatAI/Qwen3.6-35B-A3B-NVFP4", "Qwen/Qwen3.6-35B-A3B", "Qwen/Qwen3-Coder-Next-FP8"),
    *("google/gemma-4-26B-A4B-it", "google/gemma-4-26B-A4B-it-assistant"),
)
PLATFORM = """
platforms:
  dgx-spark:
    title: systemd host of the test bed with a stand-in GPU
    architecture: amd64
    gpu: {name: NVIDIA GB10, compute_capability: "12.1"}
    driver: "580"
    memory_gib: 119
    requires: {docker: "26.0", compose: "2.26", container_toolkit: "1.17.8", systemd: "254"}
    docker_free_gib: 1
"""
PLACES = {"192.168.1.11": "10.77.0.11", "192.168.1.12": "10.77.0.12"}
_RDMA = "\n          hca: rocep1s0f1\n          twin: {interface: enP2p1s0f1np1, hca: roceP2p1s0f1}"
LINKS = {
    f"enp1s0f1np1\n          address: 192.168.177.{number}/24{_RDMA}": here
    for number, here in (
        (11, "enp1s0f0np0\n          address: 10.78.0.1/24"),
        (12, "enP2p1s0f0np0\n          address: 10.78.0.2/24"),
    )
}
EACH, BOTH = "A model on each", "One model on both"
"""Sections of the page for two Sparks."""
INVENTORY = "inventories/two.yaml"
INSTALLED = ("pipx install WHEEL", "pipx inject --include-apps --force sparkiac ansible-core")
"""What the page of the installation says for pipx and a wheel."""
PROMPTS = {"[home]: ": "", "[two]: ": "", "empty for yours: ": "", "[/srv/models]: ": "", "[y/N]: ": "y"}
"""End of a question of `init` or `apply` → what is typed: Enter accepts a default."""


@pytest.fixture(scope="module")
def hub(bed: Bed) -> Iterator[str]:
    """Start the hub's stand-in on the control station; return its address."""
    argv = bed.inside([sys.executable, "-m", "tests.e2e.placed_hub", CONTROL, *HANDLES])
    with subprocess.Popen(argv, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        yield process.stdout.readline().strip()
        process.stdin.close()


@pytest.fixture(scope="module")
def mirror(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """Serve stand-ins of the images over TLS; return the address, and the authority that signed it."""
    bed.push("nvidia/vllm", tag="26.04-py3")
    for tag in ("gemma4-0505-arm64-cu130", "cu130-nightly"):
        bed.push("hub/vllm/vllm-openai", tag=tag, entrypoint=images.SERVE_ENTRYPOINT)
    authority = servers.authority(tmp_path_factory.mktemp("authority"), CONTROL)
    return bed.start_tls_registry(authority), authority.bundle


@pytest.fixture(scope="module")
def newcomer(bed: Bed, hub: str, mirror: tuple[str, Path], built: Built) -> Iterator[Newcomer]:
    """Open a terminal on a machine on which sparkiac was installed as the page of the installation prints."""
    environment = {"HF_ENDPOINT": hub, "SSL_CERT_FILE": "/home/spark/authority.pem"}
    with Newcomer(bed, built.wheel, environment=environment) as opened:
        write(opened, "authority.pem", mirror[1].read_text())
        for line in INSTALLED:
            assert line in [printed for _, printed in lines("install")]
            ran(opened, line.replace("WHEEL", opened.wheel.name), step="Installation")
        yield opened


@pytest.fixture(scope="module")
def differences(hub: str, mirror: tuple[str, Path]) -> str:
    """Return what an inventory of the bed has at its end."""
    mirrors = f'{{nvcr.io: "{mirror[0]}", docker.io: "{mirror[0]}/hub"}}'
    return f'{PLATFORM}registries: {{mirrors: {mirrors}}}\nhub: {{url: "{hub}"}}\n'


def lines(page: str) -> list[tuple[Block, str]]:
    """Return the command lines that a page prints, in its order."""
    return [(block, line) for block in blocks(ROOT / f"docs/{page}.md", "console") for line in commands(block)]


def ran(newcomer: Newcomer, line: str, *, step: str) -> Done:
    """Type a command line, which must succeed, and print how long it took."""
    done = newcomer.types(line, answers=PROMPTS)
    assert done.status == 0, f"{step}: $ {line}\n{done.output}"
    print(f"{step}: {done.seconds / 60:.1f} min: {line}", flush=True)  # noqa: T201  shown with -s
    return done


def write(newcomer: Newcomer, path: str, text: str, *, mode: str = ">") -> None:
    """Write a file in an editor's place."""
    assert newcomer.types(f"cat {mode}{path} <<'END'\n{text}\nEND").status == 0


def placed(line: str) -> str:
    """Return a command line with the bed's addresses, and its user, who is the same on all machines."""
    line = line.replace("milo@", "")
    for printed, here in PLACES.items():
        line = line.replace(printed, here)
    return line


def found(done: Done) -> Any:  # noqa: ANN401  JSON
    """Return the body that curl printed."""
    return json.loads(done.output.splitlines()[-1])


def test_the_tutorial_ends_with_an_answer(newcomer: Newcomer, differences: str) -> None:
    answers, model = [], "MODEL"
    for block, line in lines("tutorial"):
        done = ran(newcomer, placed(line).replace("MODEL", model), step=block.heading)
        if line.startswith("git init"):
            write(newcomer, "inventories/home.yaml", differences, mode=">>")
        if line.startswith("curl"):
            answers.append(found(done))
            model = answers[0]["data"][0]["id"]
    listed, answer = answers
    assert listed["data"][0]["id"] == model
    assert answer["choices"][0]["message"]["content"]


def test_a_model_on_each_of_two_sparks(newcomer: Newcomer, differences: str) -> None:
    newcomer.types("cd ~")
    for block, line in lines("two-sparks"):
        if block.heading == EACH:
            ran(newcomer, placed(line), step=block.heading)
        if line == "cd two":
            write(newcomer, INVENTORY, differences, mode=">>")
    assert served(newcomer, "10.77.0.11:8001") == ["RedHatAI/Qwen3.6-35B-A3B-NVFP4"]
    assert served(newcomer, "10.77.0.12:8001") == ["google/gemma-4-26B-A4B-it"]


def test_one_model_on_both(newcomer: Newcomer, differences: str) -> None:
    [block] = [each for each in blocks(ROOT / "docs/two-sparks.md", "yaml") if each.heading == BOTH]
    text = placed(block.text)
    for printed, here in LINKS.items():
        assert printed in text
        text = text.replace(printed, here)
    no_rdma = "{code: MN002, reason: the test bed has no RDMA device}"
    write(newcomer, INVENTORY, text + differences.replace("allow: [", f"allow: [{no_rdma}, "))
    for each, line in lines("two-sparks"):
        if each.heading == BOTH and not line.startswith("sparkiac fabric"):  # the bed has nothing to find it by
            done = ran(newcomer, placed(line), step=each.heading)
    assert [model["id"] for model in found(done)["data"]] == ["qwen3-coder-next"]


def served(newcomer: Newcomer, address: str) -> list[str]:
    """Return the names of the models that a host lists."""
    read = 'json.load(open("secrets/two.json"))["sparkiac_secrets"]["vllm_api_key"]'
    newcomer.types(f"key=$(python3 -c 'import json; print({read})')")
    done = newcomer.types(f'curl --silent http://{address}/v1/models -H "Authorization: Bearer $key"')
    return [model["id"] for model in found(done)["data"]]
