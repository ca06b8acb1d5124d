"""Options of `docker run`: the table against Docker itself, and what becomes of each."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from sparkiac.foreign import docker, docker_command
from sparkiac.foreign.launch import EnvVariable, Launch, Note, PublishedPort, Volume
from sparkiac.foreign.shell_words import script
from sparkiac.plan.confinement import ContainerOption
from sparkiac.report import placeholders
from tests.importers.texts import deployment, imported

NGC = "nvcr.io/nvidia/vllm:26.04-py3"


def launch(text: str) -> Launch:
    found = docker_command.launch(script(text).commands[0])
    assert found is not None
    return found


@pytest.mark.skipif(shutil.which("docker") is None, reason="Docker's client is not installed")
def test_the_table_is_dockers_own_help() -> None:
    said = subprocess.run(["docker", "run", "--help"], capture_output=True, text=True, check=True).stdout
    listed = re.findall(r"^  (?:-(\w), |    )--([a-z0-9-]+)(?: ([a-z]\S*))?(?:  |$)", said, re.MULTILINE)
    assert {name for _, name, kind in listed if kind} <= docker.VALUED
    assert {name for _, name, kind in listed if not kind} <= docker.FLAGS
    known = docker.VALUED | docker.FLAGS
    assert {name for _, name, _ in listed} >= known - {"use-api-socket"}
    for short, name, kind in listed:
        if short:
            found = docker.read((f"-{short}", *(["x"] if kind else []), "image"), (1, 1, 1), 0)
            assert [option.name for option in found.options] == [name]


def test_options_are_read_in_all_their_spellings() -> None:
    text = (
        f"docker run -itd -p8000:8000 -p=8001:8001 --publish 8002:8002 --name=x -e A=1 --env B='2 3' -ec=d {NGC} a -p 1"
    )
    found = launch(text)
    assert [(port.host, port.container) for port in found.ports] == [(8000, 8000), (8001, 8001), (8002, 8002)]
    assert [(each.name, each.value) for each in found.env] == [("A", "1"), ("B", "2 3"), ("c", "d")]
    assert (found.name, found.image, found.argv) == ("x", NGC, ("a", "-p", "1"))


def test_an_unknown_option_swallows_no_word() -> None:
    found = launch(f"docker run --new-thing -Z --rm {NGC} vllm serve a/b")
    assert found.image == NGC
    assert [(note.kind, note.what) for note in found.notes] == [("lost", "--new-thing"), ("lost", "-Z")]


@pytest.mark.parametrize(
    "start",
    ["sudo docker run", "docker container run", "podman run", "docker --context far run", "/usr/bin/docker create"],
)
def test_a_container_is_started_in_many_ways(start: str) -> None:
    assert launch(f"{start} --gpus all {NGC}").gpus


def test_volumes_ports_and_limits_are_values() -> None:
    found = launch(
        f"docker run -v /a:/b:ro,z -v c:/d --mount type=bind,src=/e,dst=/f,readonly -p 127.0.0.1:1:2/tcp -p 3 "
        f"--ulimit memlock=-1:-1 --shm-size 1.5g --net host --ipc host --device /dev/x --stop-timeout 90 {NGC}"
    )
    assert found.volumes == (Volume("/a", "/b", True, 1), Volume("c", "/d", False, 1), Volume("/e", "/f", True, 1))  # noqa: FBT003
    assert found.ports == (PublishedPort("127.0.0.1", 1, 2, 1), PublishedPort(None, None, 3, 1))
    assert found.settings == {
        ("container", "ulimits", "memlock"): -1,
        ("container", "shm_size_gib"): 1.5,
        ("timeouts", "stop_s"): 90,
        ("container", "ipc"): "host",
    }
    assert (found.host_network, found.devices) == (True, ("/dev/x",))


def test_a_variable_of_the_callers_has_no_value() -> None:
    found = launch(f'docker run -e A -e B="$B" -e C=${{C}} -e D=$E {NGC}')
    assert found.env == (
        EnvVariable("A", None, 1),
        EnvVariable("B", None, 1),
        EnvVariable("C", None, 1),
        EnvVariable("D", "$E", 1),
    )


def test_what_nothing_says_is_lost_and_what_is_done_otherwise_is_corrected() -> None:
    text = (
        f"docker run -p 1:2-3 --cpus 4 --env-file .env --user 1000 --privileged --restart always {NGC} vllm serve a/b"
    )
    found = imported(text)
    assert found.whys("lost") == {
        "port 1:2-3": "only a single TCP port can be published, not a range or UDP",
        "--cpus 4": "an inventory has no setting for this",
        "--env-file .env": "the variables of an env file are not imported: write them under `env`, without secrets",
        "--user 1000": "it runs as the user of its image",
    }
    assert {"--privileged", "--restart always"} <= found.whys("corrected").keys()


@pytest.mark.parametrize(
    ("text", "size"),
    [("32g", 32 << 30), ("32GB", 32 << 30), ("16GiB", 16 << 30), ("1.5g", 3 << 29), ("64", 64), ("x", None)],
)
def test_sizes_are_bytes(text: str, size: int | None) -> None:
    assert docker.size_bytes(text) == size


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("900", 900), ("15min", 900), ("1h 30s", 3630), ("2 hours", 7200), ("infinity", None), ("", None)],
)
def test_times_are_seconds(text: str, wanted: int | None) -> None:
    assert docker.seconds(text) == wanted


@pytest.mark.parametrize("text", ["1-2:3-4", "53:53/udp", "0:80", "70000:80", "x", ""])
def test_what_is_not_a_port_is_a_note(text: str) -> None:
    assert isinstance(docker.port(text, 1), Note)


def test_the_hubs_cache_is_the_model_store() -> None:
    found = imported(f"docker run -p 1:8000 -v /data/hf:/root/.cache/huggingface {NGC} vllm serve a/b")
    assert "  model_store: /data/hf\n" in found.text
    assert "container" not in found.entry.data


def test_a_directory_within_the_mount_names_the_model_by_organisation_and_name() -> None:
    text = f"docker run -p 1:8000 -v /data/llm:/llm:ro {NGC} vllm serve /llm/Qwen/Qwen3-8B --served-model-name q"
    found = imported(text)
    assert "  model_store: /data/llm\n" in found.text
    assert (found.entry.data["model"], found.entry.data["model_path"]) == ("Qwen/Qwen3-8B", "/llm/Qwen/Qwen3-8B")
    assert (found.entry.name, found.whys("lost")) == ("q", {})


@pytest.mark.parametrize("source", ["/path/to/qwen3-8b", "/data/Qwen/Qwen3-8B", "~/m/qwen3-8b"])
def test_a_path_of_the_host_does_not_become_a_handle(source: str) -> None:
    found = imported(f"docker run -p 1:8000 -v {source}:/model:ro {NGC} vllm serve /model --served-model-name q")
    assert (found.entry.data["model"], found.entry.data["model_path"]) == (placeholders.MODEL, "/model")
    assert found.whys("lost") == {
        f"model /model, on the host {source}": "the file does not name the model: fill in its handle"
    }


@pytest.mark.parametrize("words", ["vllm serve gpt2", "vllm serve --port 8000 gpt2", "vllm serve --model gpt2", "gpt2"])
def test_a_model_without_a_slash_is_reported(words: str) -> None:
    found = imported(f"docker run -p 1:8000 vllm/vllm-openai:nightly {words}")
    assert found.whys("lost") == {"model gpt2": "not a model handle and not a path in the container"}
    assert found.entry.data["model"] == placeholders.MODEL


def test_other_mounts_stay_and_those_below_the_home_directory_are_lost() -> None:
    text = f"docker run -p 1:8000 -v /opt/x:/x:ro -v ~/y:/y -v ~/t.jinja:/t.jinja -v ~/c:/root/.cache/vllm {NGC} "
    found = imported(text + "vllm serve a/b --chat-template /t.jinja")
    container = found.entry.data["container"]
    assert container["mounts"] == {"/x": {"source": "/opt/x", "read_only": True}}
    assert list(container["files"]) == ["/t.jinja"]
    assert set(found.whys("lost")) == {"-v ~/y:/y", "-v …:/t.jinja"}
    assert "-v ~/c:/root/.cache/vllm" in found.whys("corrected")


def test_shared_memory_of_its_own_makes_the_namespace_private() -> None:
    data = deployment(f"docker run -p 1:8000 --shm-size 12g {NGC} vllm serve a/b")
    assert data["container"] == {"shm_size_gib": 12.0}


def test_a_container_without_a_server_is_a_service() -> None:
    found = imported(
        "docker run -d -p 127.0.0.1:3001:8080 -e A=1 -e WEBUI_URL=$X -v data:/app/backend/data -v /etc/x:/x:ro "
        "--name chat ghcr.io/open-webui/open-webui:main\n"
        "docker run -d -p 9100:9100 --gpus all quay.io/prometheus/node-exporter:v1 --path.rootfs=/host"
    )
    chat, node = found.entries
    assert chat.data == {
        "kind": "open-webui",
        "image": "ghcr.io/open-webui/open-webui:main",
        "port": 3001,
        "bind": "loopback",
        "env": {"A": 1},
        "mounts": {"/x": {"source": "/etc/x", "read_only": True}},
    }
    assert node.data == {
        "kind": "container",
        "image": "quay.io/prometheus/node-exporter:v1",
        "port": 9100,
        "command": ("--path.rootfs=/host",),
        "gpu": True,
        "read_only": False,
    }
    assert set(found.whys("lost")) == {"-e WEBUI_URL"}


def test_a_path_that_is_the_callers_is_not_a_known_model() -> None:
    found = imported(f"docker run -p 1:8000 -v /srv/m:/models {NGC} vllm serve /models/$NAME")
    assert not found.entry.same_model
    assert found.whys("lost") == {
        "model /models/$NAME": "the caller's environment sets its value, which is not in this file"
    }
    assert "$NAME" not in found.entry.items


def test_what_is_lost_is_not_understood() -> None:
    found = imported("docker run -p 1:8000 $IMAGE vllm serve $MODEL")
    assert {item.path for item in found.entry.items}.isdisjoint({("image",), ("model",)})
    assert set(found.whys("lost")) == {"image $IMAGE", "model $MODEL"}


def test_a_served_name_shows_the_model_of_a_directory_that_is_called_so() -> None:
    line = f"docker run -p 1:8000 -v /root/models:/models {NGC} vllm serve /models/qwen3-8b --served-model-name {{}}"
    found = imported(line.format("Qwen/Qwen3-8B"))
    assert (found.entry.data["model"], found.entry.store) == ("Qwen/Qwen3-8B", "/root/models")
    assert found.whys("lost") == {}
    assert imported(line.format("x/Other")).entry.data["model"] == placeholders.MODEL


def test_a_model_that_no_word_names_is_reported() -> None:
    found = imported(f"docker run -p 1:8000 -v ~/m:/models {NGC} vllm serve /models/x")
    why = "the file does not name the model: fill in its handle"
    assert found.whys("lost") == {"model /models/x, on the host ~/m/x": why}


def test_of_mounts_in_mounts_the_inner_one_counts() -> None:
    line = f"docker run -p 1:8000 -v /srv/hf:/models -v /data:/models/x {NGC} vllm serve /models/x/org/name"
    found = imported(line)
    assert (found.entry.data["model"], found.entry.store) == ("org/name", "/data")


def test_a_served_directory_is_not_a_model_store() -> None:
    found = imported(f"docker run -p 1:8000 -v /data/org/name:/models {NGC} vllm serve --model /models")
    assert (found.entry.data["model"], found.entry.store) == (placeholders.MODEL, None)


def test_the_registry_that_docker_takes_anyway_is_not_written() -> None:
    line = "docker run -p 1:8000 docker.io/{}"
    assert imported(line.format("vllm/vllm-openai:nightly --model Qwen/Qwen3-8B")).entry.data["image"] == (
        "vllm/vllm-openai:nightly"
    )
    assert imported(line.format("library/redis:7")).entry.data["image"] == "redis:7"


def test_the_gpu_and_the_links_devices_are_given_anyway() -> None:
    devices = "--device nvidia.com/gpu=all -v /dev/infiniband:/dev/infiniband"
    found = imported(f"docker run -p 1:8000 {devices} {NGC} vllm serve Qwen/Qwen3-8B")
    assert "the GPU" in {item.what for item in found.entry.items}
    assert "container" not in found.entry.data
    assert found.whys("lost") == {}


def test_the_time_that_a_model_has_to_load_is_kept() -> None:
    line = f"docker run -p 1:8000 --health-start-period {{}} {NGC} vllm serve Qwen/Qwen3-8B"
    assert imported(line.format("2400s")).entry.data["timeouts"] == {"ready_s": 2400}
    assert "timeouts" not in imported(line.format("60s")).entry.data


def test_a_size_that_is_not_a_whole_number_is_written_as_it_is_meant() -> None:
    found = imported(f"docker run -p 1:8000 --shm-size 6.15g {NGC} vllm serve Qwen/Qwen3-8B")
    assert found.entry.data["container"]["shm_size_gib"] == 6.15


def test_the_file_system_of_a_service_is_as_writable_as_it_was() -> None:
    assert imported("docker run -d example.org/x:1").entry.data["read_only"] is False
    assert "read_only" not in imported("docker run -d --read-only example.org/x:1").entry.data


@pytest.mark.parametrize(("text", "value"), [("300", 300), ("-500", -500), ("x", None), ("1.5", None), ("", None)])
def test_a_number_of_a_container_is_read_or_noted(text: str, value: int | None) -> None:
    setting = ContainerOption("pids_limit", "pids-limit", lambda _: None, "pids_limit", "number")
    values, notes = docker.settings([(setting, text, 3)])
    assert values == ({} if value is None else {("container", "pids_limit"): value})
    assert [(each.line, each.why) for each in notes] == ([] if value is not None else [(3, "not a number")])
