"""`docker inspect` of a running container."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sparkiac.foreign import Unreadable, inspect, recognised
from tests.importers.texts import imported, loaded

CONTAINER: dict[str, Any] = {
    "Id": "4c1f",
    "Name": "/qwen",
    "Config": {
        "Image": "vllm/vllm-openai:nightly",
        "Entrypoint": ["vllm", "serve"],
        "Cmd": ["Qwen/Qwen3-8B", "--max-model-len", "32768", "--api-key", "not-for-you-1"],
        "Env": ["HF_TOKEN=hf_" + "a" * 30, "NCCL_DEBUG=INFO", "PATH=/usr/bin", "CUDA_VERSION=13.0", "NV_X=1"],
        "User": "",
        "WorkingDir": "/vllm-workspace",
    },
    "HostConfig": {
        "IpcMode": "host",
        "ShmSize": 67108864,
        "NetworkMode": "bridge",
        "RestartPolicy": {"Name": "unless-stopped", "MaximumRetryCount": 0},
        "PortBindings": {"8000/tcp": [{"HostIp": "", "HostPort": "8001"}]},
        "DeviceRequests": [{"Driver": "", "Count": -1, "Capabilities": [["gpu"]]}],
        "Ulimits": [{"Name": "memlock", "Hard": -1, "Soft": -1}],
        "Privileged": True,
        "Memory": 1 << 36,
    },
    "Mounts": [{"Type": "bind", "Source": "/data/hf", "Destination": "/root/.cache/huggingface", "RW": True}],
}


def test_a_container_is_read_without_what_its_image_brings() -> None:
    text = json.dumps([CONTAINER], indent=4)
    assert recognised(text, "x.json") == "inspect"
    found = imported(text, "inspect")
    data = found.entry.data
    assert (found.entry.name, data["model"], data["port"]) == ("qwen", "Qwen/Qwen3-8B", 8001)
    assert data["set"]["max_model_len"] == 32768
    assert data["env"] == {"NCCL_DEBUG": "INFO"}
    assert data["api_key"] == {"secret": "vllm_api_key"}
    assert data["container"] == {"ulimits": {"memlock": -1}}
    assert set(found.whys("lost")) == {"Memory", "HF_TOKEN"}
    assert "not-for-you-1" not in found.text + found.report
    assert "hf_" not in found.text + found.report
    assert loaded(found.text).defaults.model_store == "/data/hf"


def test_an_entrypoint_that_is_not_the_images_own_holds_the_server() -> None:
    config = CONTAINER["Config"] | {"Entrypoint": ["/bin/bash", "-c"], "Cmd": ["pip install x && vllm serve a/b"]}
    found = imported(json.dumps([CONTAINER | {"Config": config}]), "inspect")
    assert (found.entry.data["model"], found.entry.data["container"]["prelude"]) == ("a/b", (("pip", "install", "x"),))


def test_words_know_their_lines() -> None:
    text = json.dumps([CONTAINER], indent=4)
    (launch,) = inspect.read(text, name="x")
    assert text.split("\n")[launch.lines[1] - 1].strip() == '"--max-model-len",'


@pytest.mark.parametrize("text", ["[", "[]", "{}", '[{"Config": 1', "[" * 5000])
def test_what_is_not_a_container_is_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        inspect.read(text, name="x")


@pytest.mark.parametrize("key", ["Cmd", "Image", "Entrypoint", "Env"])
def test_characters_that_no_file_may_carry_are_left_out(key: str) -> None:
    for value in ("\ufeff", ["a\ufeff=\u202e"]):
        text = json.dumps([CONTAINER | {"Config": CONTAINER["Config"] | {key: value}}])
        loaded(imported(text, "inspect").text)
