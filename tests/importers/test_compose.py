"""Compose files: short and long forms, variables, and what is odd in files by other hands."""

from __future__ import annotations

from textwrap import dedent

import pytest

from sparkiac.foreign import Unreadable, compose, yamlread
from sparkiac.report import placeholders
from tests.importers.texts import imported, loaded

LONG = """\
name: ai
x-common: &common
  restart: unless-stopped
  ipc: host
services:
  vllm:
    <<: *common
    image: ${IMAGE:-nvcr.io/nvidia/vllm:26.04-py3}
    container_name: qwen
    command:
      - vllm
      - serve
      - nvidia/Qwen3.6-35B-A3B-NVFP4
      - --max-model-len=${LEN:-65536}
      - --served-model-name
      - one
    ports:
      - target: 8000
        published: "8001"
        host_ip: 127.0.0.1
    environment:
      HF_TOKEN: ${HF_TOKEN}
      HF_HOME: /models
      NCCL_DEBUG: INFO
    volumes:
      - {type: bind, source: /srv/hf, target: /models, read_only: true}
    ulimits: {memlock: -1, stack: {soft: 67108864, hard: 67108864}, core: 0}
    deploy: {resources: {reservations: {devices: [{driver: nvidia, capabilities: [gpu]}]}}}
    depends_on: [db]
    labels: {a: b}
    stop_grace_period: 1m30s
  db:
    image: postgres:17
    environment: [POSTGRES_PASSWORD=verysecret1, POSTGRES_DB=x]
    ports: ["5432:5432"]
volumes: {x: }
"""


def test_a_compose_file_is_read_in_all_its_forms() -> None:
    found = imported(LONG, "compose")
    vllm, db = found.entries
    assert vllm.recipe == "nvidia/qwen3.6-35b-a3b-nvfp4#minimal"
    assert vllm.name == "qwen"
    assert (vllm.data["port"], vllm.data["bind"], vllm.data["served_names"]) == (8001, "loopback", ("one",))
    assert vllm.data["env"]["NCCL_DEBUG"] == "INFO"
    assert vllm.data["container"] == {"ulimits": {"memlock": -1, "stack": 67108864}}
    assert vllm.data["timeouts"] == {"stop_s": 90}
    assert (db.data["kind"], db.data["image"], db.data["port"]) == ("container", "postgres:17", 5432)
    assert (db.data["env"], db.data["read_only"]) == ({"POSTGRES_DB": "x"}, False)
    assert set(found.whys("lost")) == {"container.ulimits.core: 0", "labels", "-e POSTGRES_PASSWORD"}
    assert "verysecret1" not in found.text + found.report
    assert loaded(found.text).defaults.model_store == "/srv/hf"


@pytest.mark.parametrize("command", ["vllm serve a/b --seed 1", ">-\n      vllm serve a/b\n      --seed 1"])
def test_a_command_is_a_text_folded_or_in_one_line(command: str) -> None:
    text = (
        f"services:\n  x:\n    image: nvcr.io/nvidia/vllm:26.04-py3\n    command: {command}\n    ports: [8000:8000]\n"
    )
    found = imported(text, "compose")
    assert (found.entry.data["model"], found.entry.data["set"]["seed"]) == ("a/b", 1)


def test_a_shell_in_a_command_is_a_shell() -> None:
    text = """\
    services:
      x:
        image: nvcr.io/nvidia/vllm:26.04-py3
        entrypoint: ["/bin/bash", "-c"]
        command:
          - |
            pip install x &&
            vllm serve a/b \\
              --seed 1
    """
    found = imported(dedent(text), "compose")
    assert found.entry.data["container"] == {"prelude": (("pip", "install", "x"),)}
    assert found.entry.data["set"]["seed"] == 1


def test_two_dollars_are_one_and_a_variable_without_a_default_stays() -> None:
    (launch,) = compose.read("services:\n  x:\n    image: y\n    command: [a$$b, $C, '${D:-e}', '${F-}']\n", name="x")
    assert launch.argv == ("a$b", "$C", "e", "")


def test_no_command_at_all_is_the_images_own() -> None:
    text = "services:\n  x:\n    image: vllm/vllm-openai:nightly\n    ports: ['8000:8000']\n"
    found = imported(text, "compose")
    assert found.entry.recipe == "base/single-spark"
    assert found.entry.data["model"] == placeholders.MODEL
    assert list(found.whys("lost")) == ["model"]


def test_a_repeated_key_says_what_its_last_value_says() -> None:
    found = yamlread.read("a: 1\nb: {c: 2}\na: 3\n")
    assert found.data == {"a": 3, "b": {"c": 2}}
    assert [(note.kind, note.line) for note in found.notes] == [("corrected", 3)]


def test_words_that_readers_take_in_two_ways_stay_words() -> None:
    assert yamlread.read("[yes, 0x10, 22:22, 1e3, ~, 1.10]").data == ("yes", "0x10", "22:22", "1e3", "~", 1.1)


def test_every_value_has_its_line() -> None:
    document = yamlread.read("a:\n  - b\n  - c: 1\n    d: 2\n")
    assert [document.line("a"), document.line("a", 1), document.line("a", 1, "d"), document.line("a", 9)] == [
        1,
        3,
        4,
        1,
    ]


BOMB = "a: &a [1,1,1,1,1,1,1,1,1]\n" + "".join(
    f"{chr(98 + at)}: &{chr(98 + at)} [{','.join([f'*{chr(97 + at)}'] * 9)}]\n" for at in range(8)
)


@pytest.mark.parametrize(
    ("text", "line"),
    [("a: [", 1), ("a: 1\nb: *c", 2), ("[" * 60, 1), (BOMB, 5), ("a: 1\n\x00", 2), ("", 1), ("? [a]\n: 1", 1)],
)
def test_what_is_not_yaml_or_too_much_is_refused_at_its_line(text: str, line: int) -> None:
    with pytest.raises(Unreadable) as refused:
        yamlread.read(text)
    assert refused.value.line == line


def test_a_file_without_services_is_refused() -> None:
    with pytest.raises(Unreadable, match="no `services:`"):
        compose.read("a: 1", name="x")


def test_other_keys_at_the_top_are_noted_in_the_order_of_the_file() -> None:
    keys = ["secrets", "configs", "include", "models", "networks", "volumes", "profiles", "hosts"]
    text = "services: {a: {image: b}}\n" + "".join(f"{key}: {{}}\n" for key in keys)
    [launch] = compose.read(text, name="compose.yaml")
    assert [note.what for note in launch.notes] == keys


def test_defaults_within_defaults_are_read() -> None:
    text = """\
    services:
      a:
        image: ${REGISTRY:-nvcr.io}/${SPACE:-${OTHER:-nvidia}}/vllm:26.04-py3
        command: vllm serve ${MODEL:-${BASE:-Qwen}/Qwen3-8B} --seed ${SEED:?must be set}
        ports: ["${BIND:-127.0.0.1}:${PORT}:8000"]
    """
    found = imported(dedent(text), "compose")
    assert (found.entry.launch.image, found.entry.data["model"]) == ("nvcr.io/nvidia/vllm:26.04-py3", "Qwen/Qwen3-8B")
    why = "the caller's environment sets its value, which is not in this file"
    assert found.whys("lost") == {"--seed ${SEED}": why, "port 127.0.0.1:${PORT}:8000": why}


def test_a_service_takes_over_another_one_of_its_file() -> None:
    text = """\
    services:
      base:
        image: nvcr.io/nvidia/vllm:26.04-py3
        environment: [NCCL_DEBUG=INFO, OMP_NUM_THREADS=1]
        ulimits: {memlock: -1}
        command: vllm serve a/b
      one:
        extends: {service: base}
        environment: {OMP_NUM_THREADS: 4}
        ulimits: {stack: 67108864}
        ports: ["8001:8000"]
        command: vllm serve Qwen/Qwen3-8B
      circle: {extends: circle, image: x/y}
      far: {extends: {file: other.yaml, service: base}, image: x/y}
    """
    entries = {each.name: each for each in imported(dedent(text), "compose").entries}
    one = entries["one"].data
    assert (one["model"], one["port"]) == ("Qwen/Qwen3-8B", 8001)
    assert one["env"] == {"NCCL_DEBUG": "INFO", "OMP_NUM_THREADS": 4}
    assert one["container"]["ulimits"] == {"memlock": -1, "stack": 67108864}
    assert [note.what for note in entries["one"].notes if note.kind == "lost"] == []
    assert [note.what for note in entries["far"].notes if note.kind == "lost"] == ["extends"]


def test_the_gpu_is_a_device_of_the_container_device_interface() -> None:
    text = "services: {a: {image: x/y, devices: [nvidia.com/gpu=all, /dev/snd]}}"
    found = imported(text, "compose")
    assert found.entry.data["gpu"] is True
    assert found.whys("lost") == {"--device /dev/snd": "services get no devices"}


def test_the_time_that_a_model_has_to_load_is_kept() -> None:
    text = """\
    services:
      a:
        image: nvcr.io/nvidia/vllm:26.04-py3
        command: vllm serve a/b
        healthcheck: {test: [CMD, "true"], start_period: 40m}
    """
    assert imported(dedent(text), "compose").entry.data["timeouts"] == {"ready_s": 2400}


@pytest.mark.parametrize(
    ("kind", "image"), [("container", "redis:7"), ("open-webui", "ghcr.io/open-webui/open-webui:v1")]
)
def test_times_and_file_system_of_a_service_are_imported(kind: str, image: str) -> None:
    text = f"""
        services:
          other:
            image: {image}
            read_only: true
            stop_grace_period: 90s
            healthcheck: {{start_period: 5m}}
        """
    data = imported(dedent(text), "compose").entry.data
    assert (data["kind"], data["timeouts"]) == (kind, {"stop_s": 90, "ready_s": 300})
    assert data.get("read_only", True)


@pytest.mark.parametrize(
    ("text", "name", "known"),
    [
        ("services:\n  x:\n    image: y\n", "stack.yaml", True),
        ("services:\n  x:\n    extends: {file: base.yaml, service: x}\n", "docker-compose.yaml", True),
        ("services:\n  x:\n    extends: {file: base.yaml, service: x}\n", "compose/stack.yaml", False),
        ("deployments:\n  x:\n    image: y\n", "compose.yaml", False),
    ],
)
def test_a_project_is_recognised_by_its_services_or_its_name(text: str, name: str, *, known: bool) -> None:
    assert compose.recognise(text, name) is known


def test_a_profile_is_no_loss() -> None:
    keys = "image: vllm/vllm-openai:v0.23.0, command: a/b, ports: ['1:8000'], profiles: [x]"
    text = f"services:\n  a: {{{keys}}}\n"
    found = imported(text, "compose")
    assert "`turns`" in found.whys("corrected")["profiles"]
    assert found.whys("lost") == {}


def test_a_long_text_that_aliases_repeat_without_end_is_refused() -> None:
    values = ", ".join(["*x"] * 20)
    with pytest.raises(Unreadable, match="aliases repeat"):
        compose.read(f"x: &x {'x' * 100_000}\nservices:\n  a:\n    command: [{values}]\n", name="a")
