"""Recipes of eugr's and of sparkrun's, filled in as their launchers do it."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from sparkiac import foreign
from tests.catalog.test_reference import ENTRIES
from tests.exporters.roundtrip import of_entry
from tests.plan.fleets import PAIR, deployment, planned

if TYPE_CHECKING:
    from sparkiac.foreign.node import Exported

SAID = "bind: loopback", "set: {max_model_len: 4096, gpu_memory_utilization: 0.5, hf_overrides: {a: {b: 1}}}"


def exported(kind: str, text: str, name: str = "chat") -> Exported:
    return foreign.exporter(kind).write(foreign.nodes(planned(text), name))


def words(kind: str, data: dict[str, Any], **changes: object) -> list[str]:
    """Fill a command in: eugr's launcher by str.format, sparkrun name by name."""
    values = data["defaults"] | changes
    text = data["command"]
    if kind == "eugr":
        text = text.format(**values)
    else:
        for name, value in values.items():
            text = text.replace(f"{{{name}}}", str(value))
    return shlex.split(text.replace("\\\n", " "))


@pytest.mark.parametrize("kind", ["eugr", "sparkrun"])
def test_the_command_listens_where_clients_reach_it_and_can_be_changed_by_its_defaults(kind: str) -> None:
    data = yaml.safe_load(exported(kind, deployment(*SAID)).text)
    found = words(kind, data, port=9000)
    assert found[:3] == ["vllm", "serve", "example/model"]
    assert found[found.index("--port") + 1] == "9000"
    assert found[found.index("--host") + 1] == "127.0.0.1"
    assert found[found.index("--hf-overrides") + 1] == '{"a":{"b":1}}'
    assert found[found.index("--revision") + 1] == "3" * 40
    assert data["defaults"] == {
        "gpu_memory_utilization": 0.5,
        "host": "127.0.0.1",
        "max_model_len": 4096,
        "port": 8001,
    }


@pytest.mark.parametrize("engine", ["sglang", "tensorrt-llm"])
@pytest.mark.parametrize("option", ["tp_size", "tensor_parallel_size"])
def test_the_size_of_any_engine_is_a_default(engine: str, option: str) -> None:
    text = deployment(f"set: {{{option}: 2}}", "image: example.org/server:1").replace("single-spark", engine)
    assert yaml.safe_load(exported("sparkrun", text).text)["defaults"]["tensor_parallel"] == 2


@pytest.mark.parametrize("kind", ["eugr", "sparkrun"])
def test_a_group_is_left_to_its_launcher(kind: str) -> None:
    found = exported(kind, PAIR, "big")
    data = yaml.safe_load(found.text)
    assert data["defaults"]["tensor_parallel"] == 2
    assert "--tensor-parallel-size {tensor_parallel}" in data["command"]
    assert not any(flag in data["command"] for flag in ("nnodes", "node-rank", "master", "headless", "backend"))
    assert not any(name in data["env"] for name in ("VLLM_HOST_IP", "NCCL_IB_HCA"))
    sizes = {
        "eugr": {"cluster_only": True},
        "sparkrun": {"runtime": "vllm-distributed", "min_nodes": 2, "max_nodes": 2},
    }
    assert sizes[kind].items() <= data.items()


@pytest.mark.parametrize("kind", ["eugr", "sparkrun"])
def test_what_a_recipe_cannot_say_is_a_note_and_a_comment(kind: str) -> None:
    mounted = "container: {mounts: {/data: {source: /srv/data}}}"
    found = exported(kind, deployment("api_key: {secret: team_key}", mounted))
    assert "not exported: mount /srv/data at /data" in found.notes
    assert "not exported: VLLM_API_KEY from a secret; set the variable in the container" in found.notes
    assert all(f"# {note}\n" in found.text for note in found.notes)
    assert "team_key" not in found.text


@pytest.mark.parametrize("kind", ["eugr", "sparkrun"])
def test_a_path_of_the_model_that_becomes_its_handle_is_noted(kind: str) -> None:
    noted = [note for note in exported(kind, deployment("model_path: /weights")).notes if "model_path" in note]
    assert len(noted) == 1
    assert noted[0].startswith("not exported: model_path /weights: the launcher downloads ")
    assert not [note for note in exported(kind, deployment()).notes if "model_path" in note]


def test_what_an_image_is_built_with_is_noted() -> None:
    """Its launcher has keys for it, but the image that the lock pins has it already."""
    trip = of_entry(ENTRIES["deepseek-ai/deepseek-v4-flash"], "eugr")
    assert {note for note in trip.first.notes if note.startswith(("not exported: build", "not exported: mods"))} == {
        "not exported: build_args: [--apply-vllm-pr, 41834, --rebuild-vllm]: the image is built with these arguments",
        "not exported: mods: [mods/fix-ds4-gpu-cache]: the image contains them; its launcher would apply them again",
    }


def test_an_address_of_one_host_is_noted() -> None:
    def noted(bind: str) -> list[str]:
        return [note for note in exported("sparkrun", deployment(f"bind: {bind}")).notes if "listens" in note]

    assert noted("any") == []
    why = "of the host's own network: change the default `host` on another host"
    assert noted("loopback") == [f"it listens on 127.0.0.1 {why}"]


@pytest.mark.parametrize("value", ["a\n\nb", "a \nb", "a\n b", "a\n  \nb", "a\tb", "ä", " a"])
def test_a_value_reaches_the_server_without_characters_that_editors_hide_or_remove(value: str) -> None:
    text = deployment("bind: loopback", f"set: {{chat_template: {json.dumps(value)}}}")
    written = exported("sparkrun", text).text
    found = words("sparkrun", yaml.safe_load(written))
    assert found[found.index("--chat-template") + 1] == value
    assert all(line.isascii() and line.isprintable() and not line.endswith(" ") for line in written.split("\n"))


def test_braces_that_a_name_stands_in_are_doubled_for_sparkrun() -> None:
    """Its later releases read doubled braces, and a single pair with a known name is a placeholder to all of them."""
    data = yaml.safe_load(exported("sparkrun", deployment("bind: loopback", "set: {chat_template: '{port}'}")).text)
    assert "--chat-template '{{port}}'" in data["command"]
    assert "--port {port}" in data["command"]


def test_what_happens_before_the_server_stands_before_it() -> None:
    data = yaml.safe_load(exported("eugr", deployment("container: {prelude: [[pip, install, 'a>1']]}")).text)
    assert data["command"].startswith("pip install 'a>1' &&\nvllm serve example/model \\\n")


@pytest.mark.parametrize(
    ("kind", "recipe", "said"),
    [
        ("eugr", "base/sglang", "eugr's launcher only runs vLLM; the engine of chat is sglang"),
        ("sparkrun", "aeon-7/dflash-qwen3.5-27b-nvfp4", "sparkrun has no runtime for aeon-vllm"),
    ],
)
def test_what_a_launcher_does_not_run_is_refused(kind: str, recipe: str, said: str) -> None:
    text = deployment("bind: loopback").replace("base/single-spark", recipe)
    text = text.replace("    model: example/model\n", "") if "aeon" in recipe else text
    with pytest.raises(foreign.ExportError, match=said):
        exported(kind, text + ("    image: example.org/sglang:1\n" if "sglang" in recipe else ""))


def test_a_module_that_python_runs_is_the_program() -> None:
    text = deployment("image: lmsysorg/sglang:latest").replace("base/single-spark", "base/sglang")
    command = yaml.safe_load(exported("sparkrun", text).text)["command"]
    assert command.startswith("python3 -m sglang.launch_server \\\n  --")
