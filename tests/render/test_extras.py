"""Extra files on their way to a host: what Ansible is told, what the container mounts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml

from sparkiac import pipeline, source
from sparkiac.model.inventory import Inventory
from tests.plan.fleets import COMMIT, LOCK, deployment, planned, said

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.report.artifact import Artifact

HUB = "hf://example/model/plugins/parser.py"
WEB = "https://example.org/chat.jinja"
PINS = {HUB: "a" * 64, WEB: "b" * 64}


class _Loader(yaml.SafeLoader):
    """PyYAML with Ansible's tag for text that is not evaluated."""


_Loader.add_constructor("!unsafe", lambda loader, node: loader.construct_scalar(node))


def rendered(*lines: str, pins: Mapping[str, str] = PINS) -> dict[str, Artifact]:
    """Render a deployment with these lines, and the one beside it that asks for the same parser."""
    locked = LOCK + "files:\n" + "".join(f"  '{url}': {{sha256: '{pin}'}}\n" for url, pin in pins.items())
    extra = files(HUB, "/x/parser.py")
    twin = f"  twin: {{recipe: base/single-spark, model: example/m, hosts: spark-01, port: 9, {extra}}}"
    text = deployment(*lines) + twin + "\n"
    return {artifact.path: artifact for artifact in pipeline.render(planned(text, locked=locked))}


def files(url: str, target: str) -> str:
    return f"container: {{files: {{{target}: {{url: '{url}'}}}}}}"


def fetched(tree: Mapping[str, Artifact]) -> list[dict[str, str]]:
    found: dict[str, Any] = yaml.load(tree["host_vars/spark-01/main.yml"].content, Loader=_Loader)  # noqa: S506  a SafeLoader
    return list(found["sparkiac"]["extra_files"])


def test_the_same_content_is_fetched_once() -> None:
    found = fetched(rendered(files(HUB, "/opt/parser.py")))
    address = "https://huggingface.co/example/model/resolve/main/plugins/parser.py"
    assert found == [{"url": address, "sha256": "a" * 64, "path": f"{'a' * 64}/parser.py"}]


def test_a_file_of_the_hub_is_fetched_with_the_token_that_the_inventory_names() -> None:
    text = deployment(files(HUB, "/opt/parser.py")) + "hub: {api_key: {secret: hub_token}}\n"
    locked = f"{LOCK}files:\n  '{HUB}': {{sha256: '{'a' * 64}', size_bytes: 7, commit: '{COMMIT}'}}\n"
    plan = planned(text, locked=locked)
    [found] = fetched({artifact.path: artifact for artifact in pipeline.render(plan)})
    assert (found["token"], found["size_bytes"]) == ("hub_token", 7)
    assert "hub_token" in plan.hosts[0].secrets
    [found] = fetched(rendered(files(HUB, "/opt/parser.py")))
    assert "token" not in found


def test_other_addresses_stay_as_they_are() -> None:
    first, second = fetched(rendered(files(WEB, "/opt/t.jinja")))
    assert (first["path"], second["url"], second["path"]) == (f"{'a' * 64}/parser.py", WEB, f"{'b' * 64}/t.jinja")


def test_what_nobody_pinned_says_so() -> None:
    """`--allow-unlocked` renders it; the playbook refuses it."""
    found = fetched(rendered(pins={WEB: "b" * 64}))
    assert [(each["sha256"], each["path"]) for each in found] == [("UNLOCKED", "UNLOCKED/parser.py")]


def test_the_container_mounts_the_file_alone_and_read_only() -> None:
    """The path changes with the content, so the unit restarts for a new one."""
    tree = rendered(files(HUB, "/opt/parser.py"))
    project = yaml.safe_load(tree["hosts/spark-01/etc/sparkiac/chat/compose.yaml"].content)
    [mounted] = [each for each in project["services"]["server"]["volumes"] if each["target"] == "/opt/parser.py"]
    assert mounted == {
        "type": "bind",
        "source": f"/var/lib/sparkiac/files/{'a' * 64}/parser.py",
        "target": "/opt/parser.py",
        "read_only": True,
        "bind": {"create_host_path": False},
    }


def test_commands_before_the_server_are_one_script_and_the_image_starts_as_ever() -> None:
    """Each word is quoted, and `$` is the shell's alone where the shell shall read it."""
    tree = rendered("container: {prelude: [[pip, install, 'vllm[audio]'], [echo, '$HOME']]}", "api_key: {secret: k}")
    server = yaml.safe_load(tree["hosts/spark-01/etc/sparkiac/chat/compose.yaml"].content)["services"]["server"]
    shell, flag, script, name, *entrypoint = server["entrypoint"]
    assert (shell, flag, name, entrypoint) == ("/bin/sh", "-c", "sh", ["/opt/nvidia/nvidia_entrypoint.sh"])
    lines = script.split("; ")
    assert lines[:3] == ["set -eu", "pip install 'vllm[audio]'", "echo '$$HOME'"]
    assert lines[3].startswith('test -n "$$(cat ')
    assert lines[-1] == 'exec "$$@"'
    assert server["command"][:2] == ["vllm", "serve"]


@pytest.mark.parametrize("url", ["hf://example/model", "hf://model", "ftp://example.org/x", "file://", "https://x"])
def test_an_address_that_leads_to_no_file_is_refused(url: str) -> None:
    loaded = source.load(deployment(files(url, "/opt/x")).encode(), name="lab.yaml", model=Inventory)
    assert ["address of a file" in fault for fault in said(loaded.findings)] == [True]
