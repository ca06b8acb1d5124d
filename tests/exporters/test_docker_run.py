"""The script that starts a container with `docker run`, run by the real shell."""

from __future__ import annotations

import itertools
import json
import os
import shlex
import subprocess
from typing import TYPE_CHECKING, Final

import pytest

from sparkiac import foreign
from sparkiac.foreign import node
from tests.plan.fleets import LOCK, ONES, PAIR, deployment, planned

if TYPE_CHECKING:
    from pathlib import Path

DOCKER: Final = (
    '#!/bin/sh\nfor word in "$@"; do printf "%s\\0" "$word"; done >"$ARGV"\nprintf %s "${VLLM_API_KEY-}" >"$KEY"\n'
)
"""Stands in for docker: it writes down its words, and the key that it would pass on."""
NASTY: Final = 'a\'b "c" $HOME `id` \\ {{x}} %h'


def text(inventory: str, name: str = "chat", kind: str = "docker-run") -> str:
    plan = planned(inventory, locked=LOCK)
    return foreign.exporter(kind).write(foreign.nodes(plan, name)).text


def started(script: str, folder: Path, **env: str) -> tuple[int, list[str], str]:
    """Run a script; give its exit code, docker's words, and what was said."""
    (folder / "docker").write_text(DOCKER)
    (folder / "docker").chmod(0o755)
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", "ARGV": str(folder / "argv"), "KEY": str(folder / "key")}
    done = subprocess.run(
        ["sh", "-c", script], env=environment | env, capture_output=True, text=True, check=False, cwd=folder
    )
    words = (folder / "argv").read_text().split("\0")[:-1] if (folder / "argv").exists() else []
    return done.returncode, words, done.stderr


def test_docker_runs_the_words_of_the_health_check(tmp_path: Path) -> None:
    _, words, _ = started(text(deployment()), tmp_path)
    [container] = planned(deployment()).hosts[0].containers
    assert tuple(shlex.split(words[words.index("--health-cmd") + 1])) == node.health_command(container)


def test_the_volume_of_compiled_code_has_a_note() -> None:
    assert "keeps compiled code: remove it when the image, the model or an option changes" in text(deployment())


def test_every_word_reaches_docker_as_the_plan_has_it(tmp_path: Path) -> None:
    inventory = deployment(
        "bind: loopback",
        f"set: {{chat_template: {json.dumps(NASTY)}, hf_overrides: {{a: {{b: [1, 2]}}}}}}",
        f"env: {{NASTY: {json.dumps(NASTY)}}}",
    )
    code, words, said = started(text(inventory), tmp_path)
    [container] = planned(inventory).hosts[0].containers
    assert (code, said) == (0, "")
    assert words[:2] == ["run", "--detach"]
    assert words[-len(container.command.words) :] == list(container.command.words)
    assert words[-len(container.command.words) - 1] == f"nvcr.io/nvidia/vllm:26.04-py3@{ONES}"
    options = list(itertools.pairwise(words))
    assert ("--publish", "127.0.0.1:8001:8000") in options
    assert all(("--env", f"{name}={value}") in options for name, value in container.command.env.items())
    mounted = [mount for mount in container.storage.mounts if not mount.target.startswith("/run/sparkiac/")]
    assert mounted
    assert all(("--volume", f"{mount.source}:{mount.target}:ro") in options for mount in mounted)
    assert not any("sparkiac" in word for word in words)


def test_a_key_is_named_and_never_written(tmp_path: Path) -> None:
    """Without it the script ends before docker is asked: vLLM takes no key for nobody's business, and serves all."""
    script = text(deployment("api_key: {secret: team_key}"))
    assert "team_key" not in script
    code, words, said = started(script, tmp_path)
    assert (code != 0, words) == (True, [])
    assert "VLLM_API_KEY: must contain the key" in said
    code, words, _ = started(script, tmp_path, VLLM_API_KEY="s3cret")
    assert code == 0
    assert words[words.index("VLLM_API_KEY") - 1] == "--env"
    assert (tmp_path / "key").read_text() == "s3cret"
    assert "s3cret" not in " ".join(words)


def test_what_runs_before_the_server_runs_in_one_shell_with_it(tmp_path: Path) -> None:
    inventory = deployment("bind: loopback", "container: {prelude: [[touch, 'a b'], [echo, two]]}")
    code, words, said = started(text(inventory), tmp_path)
    assert (code, said) == (0, "")
    assert words[words.index("--entrypoint") + 1] == "/bin/sh"
    flag, script = words[-2:]
    assert flag == "-c"
    assert script.startswith(
        "touch 'a b' && echo two && exec /opt/nvidia/nvidia_entrypoint.sh vllm serve example/model"
    )


def test_a_group_has_one_command_for_each_machine_and_is_never_run_whole(tmp_path: Path) -> None:
    script = text(PAIR, "big")
    code, words, said = started(script, tmp_path)
    assert (code, words, said) == (2, [], "run each of these commands on its own machine\n")
    parts = script.split("\n# On ")
    assert [part.partition(":")[0] for part in parts[1:]] == ["spark-02, 192.168.1.12", "spark-01, 192.168.1.11"]
    for rank, part in enumerate(parts[1:]):
        command = part.partition("\n")[2]
        code, words, said = started(command, tmp_path, VLLM_API_KEY="x")
        assert (code, said) == (0, "")
        assert f"--node-rank={rank}" in words
        assert words[words.index("--network") + 1] == "host"


@pytest.mark.parametrize("kind", ["docker-run", "compose", "eugr", "sparkrun"])
def test_an_image_stays_pinned_and_its_model_too(kind: str) -> None:
    found = text(deployment("bind: loopback"), kind=kind)
    assert f"nvcr.io/nvidia/vllm:26.04-py3@{ONES}" in found
    assert "3" * 40 in found


def test_an_image_that_nothing_pins_is_said_to_be_so() -> None:
    plan = planned(deployment("image: example.org/vllm:1"))
    found = foreign.exporter("docker-run").write(foreign.nodes(plan, "chat"))
    assert "the image is not pinned: `sparkiac lock` resolves its digest" in found.notes
    assert "  example.org/vllm:1 vllm serve" in found.text


def test_a_mirror_is_pulled_from_as_the_inventory_says() -> None:
    mirrors = "registries: {mirrors: {nvcr.io: mirror.example.org/nvcr}}\n"
    found = text(mirrors + deployment("bind: loopback"))
    assert f"mirror.example.org/nvcr/nvidia/vllm:26.04-py3@{ONES}" in found
