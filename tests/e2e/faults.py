"""What is wrong with a new version, and what must be true after its apply has failed."""

from __future__ import annotations

import getpass
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.lab import Lab

SERVED = {"spark-01": "RedHatAI/Qwen3.6-35B-A3B-NVFP4", "spark-02": "google/gemma-4-26B-A4B-it"}
UNITS = {"spark-01": "sparkiac-qwen36", "spark-02": "sparkiac-gemma4"}
RECIPE = "    recipe: redhatai/qwen3.6-35b-a3b-nvfp4"
IMAGE = "nvcr.io/nvidia/vllm:26.04-py3"
TOKENIZER = "Qwen/Qwen3.6-35B-A3B"
READY_S = 60
CASES = {
    "crash": ("env: {STANDIN_BEHAVIOUR: nonsense}", "behaviour 'nonsense' is none of"),
    "bad-option": ("set: {no_such_option: 1}", "unrecognized arguments: --no-such-option=1"),
    "garbage": ("env: {STANDIN_BEHAVIOUR: garbage}", "one token repeated"),
    "null": ("env: {STANDIN_BEHAVIOUR: 'null'}", "null answer"),
    "empty": ("env: {STANDIN_BEHAVIOUR: empty}", "empty answer"),
    "tools-refused": (
        "env: {STANDIN_BEHAVIOUR: refuse-tools}\n    clients: [tools]",
        "a request with tools is rejected",
    ),
    "never-ready": ("env: {STANDIN_BEHAVIOUR: unhealthy}", "/health: HTTP 503"),
}
"""What is added to the deployment of the first host, and the cause that the apply reports."""
NEW_VERSION = "set: {max_model_len: 65536}"
"""A change of the first host's deployment with which nothing is wrong."""


def apply_first(lab: Lab) -> None:
    """Write the lab, and apply it: both hosts serve."""
    lab.write()
    lab.edit(RECIPE, f"{RECIPE}\n    timeouts: {{ready_s: {READY_S}, drain_s: 0}}")
    lab.generate()
    lab.stage()
    recap = lab.apply()
    assert recap.code == 0, recap.output


@contextmanager
def goes_back(lab: Lab) -> Iterator[Lab]:
    """Afterwards the inventory is as it was, and both hosts serve and have what they served and had."""
    lock = lab.inventory.with_name("lab.lock.yaml")
    kept = {path: path.read_text() for path in (lab.inventory, lock)}
    before = state(lab)
    yield lab
    for path, text in kept.items():
        path.write_text(text)
    lab.generate()
    assert {host: lab.served(host) for host in SERVED} == {host: [name] for host, name in SERVED.items()}
    assert state(lab) == before
    assert {host: lab.drift(host) for host in SERVED} == {host: [] for host in SERVED}


def apply_last(lab: Lab) -> None:
    """Apply what the hosts have: nothing changes."""
    recap = lab.apply()
    assert recap.code == 0, recap.output
    assert recap.changed == {"spark-01": 0, "spark-02": 0}, recap.output


def state(lab: Lab) -> dict[str, str]:
    """Return the committed generation of each host; none of them has a pending one."""
    found = {}
    for host in SERVED:
        done = lab.bed.ssh(host, "/usr/local/lib/sparkiac/switch status", root=True)
        status = json.loads(done.stdout)
        assert status["pending"] is None
        assert status["current"] == status["committed"]
        found[host] = status["committed"]
    return found


def failing(lab: Lab, cause: str, code: int = 2) -> str:
    """Apply, expect a failure with a cause, and return what was printed."""
    began = time.monotonic()
    recap = lab.apply()
    assert recap.code == code, recap.output
    assert cause in " ".join(recap.output.split()), recap.output
    print(f"failed after {time.monotonic() - began:.0f} s: {cause}")  # noqa: T201 - shown with -s
    return recap.output


def change(lab: Lab, added: str) -> None:
    """Add something to the deployment of the first host."""
    lab.edit(RECIPE, f"{RECIPE}\n    {added}")
    lab.generate()


def check_bad_version(lab: Lab, added: str, cause: str) -> None:
    """Apply a bad version to the first host."""
    second = container(lab, "spark-02")
    change(lab, added)
    output = failing(lab, cause)
    assert "runs again" in output
    assert "GET /" not in output
    assert container(lab, "spark-02") == second


def check_image_that_no_registry_has(lab: Lab) -> None:
    """Apply a digest that nobody pushed."""
    first = container(lab, "spark-01")
    pin(lab, "images", IMAGE, digest="sha256:" + "0" * 64)
    failing(lab, "manifest unknown")
    assert container(lab, "spark-01") == first


def pin(lab: Lab, kind: str, name: str, **changed: object) -> None:
    """Change what the lock says about an image or a model."""
    lock = lab.inventory.with_name("lab.lock.yaml")
    locked = json.loads(lock.read_text())
    locked[kind][name].update(changed)
    lock.write_text(json.dumps(locked))
    lab.generate()


def container(lab: Lab, host: str) -> str:
    """Return the ID of the model server's container, or nothing if there is none."""
    return lab.bed.ssh(host, f"docker ps -q --no-trunc --filter name={UNITS[host]}-server", root=True).stdout.strip()


def check_two_applies(lab: Lab) -> None:
    """Apply twice at the same time: one goes on, the other is refused with the name of the owner."""
    change(lab, "env: {STANDIN_BEHAVIOUR: nonsense}")
    with ThreadPoolExecutor() as pool:
        outputs = [each.output for each in pool.map(lambda _: lab.apply(), range(2))]
    refused = [output for output in outputs if "another apply holds a lease" in output]
    assert len(refused) == 1, outputs
    assert f"is being applied by {getpass.getuser()}@{os.uname().nodename}, pid " in " ".join(refused[0].split())
    assert [output for output in outputs if "runs again" in output], outputs
