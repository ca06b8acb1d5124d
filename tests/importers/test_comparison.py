"""A draft is compared with its launch: what differs has a reason, or the server is refused."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Final

import pytest

from sparkiac import foreign
from sparkiac.commands.import_ import compared
from sparkiac.foreign import assemble
from tests.importers.texts import imported

if TYPE_CHECKING:
    from collections.abc import Callable

    from sparkiac.foreign.draft import DraftEntry

LAUNCH: Final = """docker run --gpus all --ipc host --ulimit memlock=-1 -p 8100:8000 \\
  -v /srv/hf:/root/.cache/huggingface -v /data/plugins:/plugins -v /data/chat.jinja:/chat.jinja \\
  -e VLLM_LOGGING_LEVEL=DEBUG -e PLUGIN_DIR=/plugins/a \\
  vllm/vllm-openai:v0.23.0 --model acme/tiny-7b --served-model-name tiny small --port 8000 \\
  --max-model-len 8192 --enable-prefix-caching --chat-template /chat.jinja --tool-parser-plugin /plugins/p.py \\
  --speculative-config '{"method": "eagle3", "model": "acme/draft", "num_speculative_tokens": 3,
    "attention_backend": "FLASH_ATTN"}' --attention-backend TRITON_ATTN
"""


def entry(text: str = LAUNCH) -> tuple[str, DraftEntry]:
    """Return the entry of a text before it is compared."""
    (found,) = assemble.entries(
        [("a.sh", each) for each in foreign.importer("shell").read(text, name="a.sh")], frozenset()
    )
    return found


def refusals(found: tuple[str, DraftEntry]) -> list[str]:
    """Return what the refused entry names; none if the entry is kept."""
    ((_, after),) = compared([found], frozenset())
    return [note.what for note in after.notes if "refused: the draft has" in note.why]


def test_a_launch_that_is_drafted_as_it_is_has_no_difference() -> None:
    assert refusals(entry()) == []
    ((_, after),) = compared([entry()], frozenset())
    assert after.kind == "deployment"
    assert [note.what for note in after.notes if note.kind == "lost"] == []


def drop(*path: str) -> Callable[[dict[str, Any]], None]:
    def edit(data: dict[str, Any]) -> None:
        inner = data
        for part in path[:-1]:
            inner = inner[part]
        del inner[path[-1]]

    return edit


def put(value: object, *path: str) -> Callable[[dict[str, Any]], None]:
    def edit(data: dict[str, Any]) -> None:
        inner = data
        for part in path[:-1]:
            inner = inner[part]
        inner[path[-1]] = value

    return edit


EDITS: Final = {
    "an option": (drop("set", "enable_prefix_caching"), "--enable-prefix-caching"),
    "a number": (put(4096, "set", "max_model_len"), "--max-model-len 8192"),
    "the model's backend": (put("FLASH_ATTN", "set", "attention_backend"), "--attention-backend TRITON_ATTN"),
    "the drafter's backend": (drop("speculative", "attention_backend"), "attention_backend FLASH_ATTN"),
    "the drafter": (put("acme/other", "speculative", "model"), "model acme/draft"),
    "a variable": (drop("env", "VLLM_LOGGING_LEVEL"), "VLLM_LOGGING_LEVEL"),
    "a path in a variable": (put("/plugins/b", "env", "PLUGIN_DIR"), "PLUGIN_DIR"),
    "names": (put(("tiny",), "served_names"), "names tiny small"),
    "the image": (put("vllm/vllm-openai:v0.22.0", "image"), "vllm-openai:v0.23.0"),
    "the port": (put(8000, "port"), "8100"),
    "the model": (put("acme/other-7b", "model"), "acme/tiny-7b"),
    "a mount": (drop("container", "mounts", "/plugins"), "/data/plugins:/plugins"),
    "the source of a mount": (put({"source": "/data/x"}, "container", "mounts", "/plugins"), "/data/plugins"),
    "a file": (put({"url": "file:///data/x.jinja"}, "container", "files", "/chat.jinja"), "/chat.jinja"),
    "a limit": (put({"memlock": 64}, "container", "ulimits"), "memlock"),
    "an added option": (put(True, "set", "enforce_eager"), "--enforce-eager"),  # noqa: FBT003  a value
    "an added variable": (put(1, "env", "NCCL_DEBUG"), "NCCL_DEBUG"),
    "an added key of the drafter": (put(2, "speculative", "draft_tensor_parallel_size"), "draft-tensor-parallel-size"),
    "who reaches it": (put("loopback", "bind"), "an open port"),
}


@pytest.mark.parametrize("name", EDITS)
def test_a_draft_that_says_something_else_is_refused_with_the_difference(name: str) -> None:
    file, found = entry()
    edit, what = EDITS[name]
    data = copy.deepcopy(found.data)
    edit(data)
    named = refusals((file, found._replace(data=data)))
    assert [each for each in named if what in each], named


def test_a_note_with_the_same_number_is_no_reason() -> None:
    line = "docker run -p 8000:8000 vllm/vllm-openai:v0.23.0 --model acme/tiny-7b --nnodes 2 -tp 2 --max-num-seqs 2"
    file, found = entry(line)
    data = copy.deepcopy(found.data)
    drop("set", "max_num_seqs")(data)
    assert refusals((file, found._replace(data=data))) == ["--max-num-seqs 2"]


def test_a_refused_server_is_not_in_the_draft() -> None:
    file, found = entry()
    ((_, after),) = compared([(file, found._replace(data=found.data | {"port": 1}))], frozenset())
    assert (after.kind, after.data) == ("nothing", {})


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("docker run vllm/vllm-openai:v0.23.0 --model acme/tiny-7b", "no published port"),
        ("docker run -p 127.0.0.1:8000:8000 -p 9:9 vllm/vllm-openai:v0.23.0 --model acme/tiny-7b", ""),
        ("llama-server -m /m/tiny.gguf --port 8080", ""),
        ("vllm serve acme/tiny-7b --port 8080", ""),
    ],
)
def test_a_port_that_the_file_does_not_open_is_told(line: str, what: str) -> None:
    told = [note.what for note in imported(line).notes if "publishes port" in note.why]
    assert told == ([what] if what else [])


@pytest.mark.parametrize(
    ("line", "bind"),
    [
        ("llama-server -m /m/tiny.gguf --port 8080", "loopback"),
        ("llama-server -m /m/tiny.gguf --port 8080 --host 0.0.0.0", None),
        ("docker run --network host lmsysorg/sglang:spark sglang serve --model-path acme/tiny-7b", "loopback"),
        ("docker run --network host vllm/vllm-openai:v0.23.0 --model acme/tiny-7b --host ::1", "loopback"),
        ("docker run --network host vllm/vllm-openai:v0.23.0 --model acme/tiny-7b", None),
        ("docker run -p 8000:8000 vllm/vllm-openai:v0.23.0 --model acme/tiny-7b --host 127.0.0.1", None),
    ],
)
def test_a_server_that_listens_on_loopback_is_drafted_so(line: str, bind: str | None) -> None:
    assert imported(line).entry.data.get("bind") == bind


def test_one_pipeline_stage_is_what_a_group_has_anyway() -> None:
    found = imported("docker run -p 8000:8000 vllm/vllm-openai:v0.23.0 --model acme/tiny-7b --nnodes 2 -tp 2 -pp 1")
    assert "pipeline_parallel_size" not in found.entry.data.get("set", {})
    assert not [note for note in found.notes if note.what.startswith("-pp")]


def test_a_served_directory_and_the_model_store_have_one_path_each() -> None:
    line = "docker run -p 8000:8000 -v /data/q:/models vllm/vllm-openai:v0.23.0 --model /models --served-model-name q"
    data = imported(line).entry.data
    assert data["model_path"] == "/models"
    assert data["container"]["mounts"] == {"/models": None}


@pytest.mark.parametrize("source", ["/var/run/docker.sock", "/run/podman/podman.sock", "/", "/etc", "/var/lib/docker"])
@pytest.mark.parametrize("image", ["vllm/vllm-openai:v0.23.0 --model acme/tiny-7b", "portainer/portainer-ce:2.1"])
def test_a_mount_that_gives_control_of_the_host_is_left_out_and_told(source: str, image: str) -> None:
    found = imported(f"docker run -p 8000:8000 -v {source}:/inside {image}")
    assert "controls the host" in found.whys("lost")[f"-v {source}:/inside"]
    assert "/inside" not in str(found.entry.data)


@pytest.mark.parametrize(
    "line",
    [
        f"docker run -p 8000:8000 -v $DATA/{'x' * 150}:/data vllm/vllm-openai:v0.23.0 --model acme/tiny-7b",
        "docker run -p 8000:8000 -v /a:/b acme/llama.cpp:server -m /x/$FILE --port 8000",
        "docker run -p 8000:8000 vllm/vllm-openai:v0.23.0 --model $MODEL --served-model-name a",
    ],
)
def test_what_is_to_be_filled_in_or_shortened_in_its_note_is_told(line: str) -> None:
    found = imported(line)
    assert not [note for note in found.notes if "refused: the draft has" in note.why]


def test_a_system_directory_may_be_read() -> None:
    found = imported("docker run -p 9100:9100 -v /proc:/host/proc:ro quay.io/acme/exporter:1")
    assert "/host/proc" in str(found.entry.data)
