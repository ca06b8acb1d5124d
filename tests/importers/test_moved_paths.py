"""Options that name paths move with the mount that the paths lie in, or the mount stays."""

from __future__ import annotations

import pytest

from sparkiac.engines.engine import STAGED
from tests.importers.texts import imported, loaded

NGC = "nvcr.io/nvidia/vllm:26.04-py3"
STORE = f"docker run -p 1:8000 -v /srv/hf:/root/.cache/huggingface {NGC} vllm serve org/Name-7B"
HUB = "/root/.cache/huggingface"


def test_a_template_moves_with_the_model_store() -> None:
    found = imported(f"{STORE} --chat-template {HUB}/templates/a.jinja")
    assert found.entry.data["set"]["chat_template"] == "/models/templates/a.jinja"
    assert "--chat-template" not in found.whys("corrected")


def test_a_drafter_moves_with_the_model_store() -> None:
    found = imported(f"""{STORE} --speculative-config '{{"method": "dflash", "model": "{HUB}/org/drafter"}}'""")
    assert found.entry.data["speculative"] == {"method": "dflash", "model": "/models/org/drafter"}


def test_a_variable_moves_with_the_model_store() -> None:
    found = imported(STORE.replace("-p 1", f"-e TIKTOKEN_DIR={HUB}/tiktoken -p 1"))
    assert found.entry.data["env"] == {"TIKTOKEN_DIR": "/models/tiktoken"}


def test_what_only_begins_like_the_mount_stays() -> None:
    found = imported(f"{STORE} --chat-template {HUB}-old/a.jinja")
    assert found.entry.data["set"]["chat_template"] == f"{HUB}-old/a.jinja"


def test_what_is_in_a_mount_within_the_mount_stays() -> None:
    found = imported(f"{STORE} --chat-template {HUB}/own/a.jinja".replace("-p 1", f"-v /opt/own:{HUB}/own -p 1"))
    assert found.entry.data["set"]["chat_template"] == f"{HUB}/own/a.jinja"
    assert found.entry.data["container"]["mounts"] == {f"{HUB}/own": {"source": "/opt/own", "read_only": False}}


@pytest.mark.parametrize("directory", [HUB, f"{HUB}/hub"])
def test_a_download_directory_is_the_model_store(directory: str) -> None:
    found = imported(f"{STORE} --download-dir {directory}")
    assert "download_dir" not in found.entry.data["set"]
    assert found.whys("corrected")["--download-dir"] == STAGED
    assert found.entry.store == "/srv/hf"


def test_a_variable_and_an_option_for_downloads_are_one_sentence() -> None:
    found = imported(f"{STORE.replace('-p 1', '-e HF_HOME=/x -p 1')} --download-dir $HF_HOME --load-format auto")
    assert [note.what for note in found.entry.notes if note.why == STAGED] == ["--download-dir", "-e HF_HOME"]
    assert not found.whys("lost")


def test_the_mount_of_a_download_directory_is_the_model_store() -> None:
    found = imported(f"docker run -p 1:8000 -v /srv/x:/weights {NGC} vllm serve org/Name-7B --download-dir /weights")
    assert found.entry.store == "/srv/x"
    assert "container" not in found.entry.data


def test_a_directory_of_a_model_stays_mounted_for_what_else_is_in_it() -> None:
    line = f"docker run -p 1:8000 -v /srv/llm:/llm {NGC} vllm serve /llm/org/Name-7B --chat-template /llm/a.jinja"
    found = imported(line)
    assert found.entry.data["container"]["mounts"] == {"/llm": {"source": "/srv/llm", "read_only": False}}
    assert loaded(found.text).deployments["name-7b"].set == {
        "chat_template": "/llm/a.jinja",
        "gpu_memory_utilization": None,
        "max_model_len": None,
        "max_num_seqs": None,
    }


def test_the_model_store_stays_mounted_where_a_recipe_has_none() -> None:
    line = (
        "docker run -p 1:8080 -v /srv/gguf:/models ghcr.io/ggml-org/llama.cpp:server-cuda "
        "-m /models/org/name/a.gguf --chat-template-file /models/a.jinja"
    )
    found = imported(line)
    assert found.entry.data["container"]["mounts"] == {"/models": {"source": "model_store"}}
    assert found.entry.store == "/srv/gguf"


def test_a_cache_is_mounted_where_an_option_names_a_file_in_it() -> None:
    line = f"docker run -p 1:8000 -v /srv/c:/cache {NGC} vllm serve org/Name-7B --chat-template /cache/a.jinja"
    assert imported(line).entry.data["container"]["mounts"] == {"/cache": {"source": "/srv/c", "read_only": False}}
