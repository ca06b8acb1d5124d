"""Any text whatever: findings and drafts, never a traceback, never a secret, and every draft is an inventory.

`SPARKIAC_FUZZ=10000` runs that many inputs for each importer.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sparkiac import foreign
from sparkiac.foreign import Unreadable
from tests.importers.texts import imported, loaded

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

WANTED = int(os.environ.get("SPARKIAC_FUZZ") or 0)
FUZZ = settings(
    max_examples=WANTED or 100,
    deadline=None,
    derandomize=not WANTED,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
TOKEN = "XwVuTsRqPoNmLkJiHgFeDcBa_fh"[::-1]
PASSWORD = "rZ9-yranac-7qX"[::-1]
NAMED = re.compile(rf"(?<![\w.-])(--api-key |DB_PASSWORD=|X_TOKEN: ){PASSWORD}(?![\w-])")
"""What calls it a secret: by itself nobody could know it."""
WORDS = st.sampled_from(
    (
        *("docker", "run", "docker run", "podman run", "-d", "--rm", "-it", "--gpus", "all", "--name", "vllm", "--net"),
        *("host", "--ipc=host", "-p", "8000:8000", "8000", "-p 1:2", "-v", "~/x:/models", "/a:/b:ro", "a:/b", "-e"),
        *("HF_HOME=/models", "A=b", "NCCL_DEBUG=INFO", "--entrypoint", "/bin/bash", "-c", "-lc", "bash", "sh", "\\\n"),
        *("vllm/vllm-openai:nightly", "nvcr.io/nvidia/vllm:26.04-py3", "ghcr.io/aeon-7/vllm-dflash:latest", "x/vllm"),
        *("lmsysorg/sglang:spark", "ghcr.io/ggml-org/llama.cpp:server", "ollama/ollama", "open-webui/open-webui"),
        *("vllm serve", "serve", "python3 -m sglang.launch_server", "llama-server", "trtllm-serve", "Qwen/Qwen3-8B"),
        *(
            "nvidia/Qwen3.6-35B-A3B-NVFP4",
            "--model",
            "/models/x",
            "-m",
            "--port",
            "--host",
            "::",
            "-tp",
            "2",
            "--",
        ),
        *("--max-model-len", "--max_model_len=8k", "0.5", "-1", "--gpu-memory-util", "--enable-prefix-caching", "-O3"),
        *("--speculative-config", '{"method":"mtp"}', "--speculative_config.method", "ngram", "--no-x", "--x=y", "{"),
        *("--served-model-name", "a b", "--nnodes", "--node-rank", "--api-key", "'", '"', "`", "$", "${", "$(", ")"),
        *(
            ";",
            "&&",
            "||",
            "|",
            "&",
            ">",
            "<<EOF",
            "EOF",
            "\n",
            "#",
            "$X",
            "${X:-y}",
            "X=1",
            "export",
            "=",
            "\u2013",
            "\u201c",
        ),
        *("--ulimit", "memlock=-1", "--shm-size", "16g", "--device", "--cudagraph-capture-sizes", "1", "%", "{{x}}"),
        *("if", "then", "fi", "for", "ARGS=(", '"${ARGS[@]}"', "\x00", "\ufeff", "\u202e", "é", "1e999", "9" * 30),
        *(
            "[Unit]",
            "[Service]",
            "ExecStart=",
            "Environment=",
            "Restart=",
            "TimeoutStartSec=900",
            "%i",
            "\t",
            "- ",
            ": ",
        ),
        *(
            "services:",
            "\n  a:",
            "\n    image: x",
            "\n    command: ",
            "\n    ports: ",
            "[",
            "]",
            "}",
            ",",
            "&a",
            "*a",
            "<<: *a",
        ),
        *("```bash\n", "\n```\n", "~~~", "> ", "$ ", f"-e HF_TOKEN={TOKEN}", TOKEN, f"--api-key {PASSWORD}"),
        *(f"-e DB_PASSWORD={PASSWORD}", f"--hf-token={TOKEN}", f"export HF_TOKEN={TOKEN}\n", f"X_TOKEN: {PASSWORD}\n"),
    )
)
SOUP = st.lists(st.one_of(WORDS, st.text(max_size=12)), max_size=40).map(" ".join)
COMMAND = st.lists(WORDS, max_size=40).map(lambda words: "docker run -d vllm/vllm-openai:nightly " + " ".join(words))
UNIT = st.lists(WORDS, max_size=30).map(lambda words: "[Unit]\nA=b\n[Service]\nExecStart=docker run " + " ".join(words))
PAGE = st.lists(st.one_of(SOUP, COMMAND, UNIT).map(lambda text: f"```\n{text}\n```\n"), max_size=3).map("\n".join)
VALUES: SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), WORDS, st.text(max_size=10)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(WORDS, inner, max_size=4)),
    max_leaves=12,
)
KEYS = ("image", "command", "entrypoint", "environment", "ports", "volumes", "ipc", "shm_size", "ulimits", "devices")
SERVICE = st.dictionaries(st.sampled_from((*KEYS, "deploy", "restart", "gpus", "x")), VALUES, max_size=8)
COMPOSE = st.one_of(
    SOUP, st.dictionaries(st.text(max_size=8), SERVICE, max_size=3).map(lambda it: json.dumps({"services": it}))
)
INSIDE = ("Image", "Cmd", "Entrypoint", "Env", "User", "WorkingDir", "Healthcheck")
AROUND = (
    "IpcMode",
    "ShmSize",
    "Ulimits",
    "PortBindings",
    "Devices",
    "DeviceRequests",
    "RestartPolicy",
    "NetworkMode",
    "CapAdd",
)
CONTAINER = st.fixed_dictionaries(
    {
        "Config": st.dictionaries(st.sampled_from(INSIDE), VALUES, max_size=6),
        "HostConfig": st.dictionaries(st.sampled_from(AROUND), VALUES, max_size=6),
    },
    optional={"Id": VALUES, "Name": VALUES, "Mounts": VALUES},
)
INSPECT = st.one_of(SOUP, st.lists(CONTAINER, max_size=2).map(json.dumps))
TEXTS = {
    "docker-run": st.one_of(st.text(), COMMAND, SOUP),
    "shell": st.one_of(st.text(), SOUP, COMMAND),
    "markdown": st.one_of(st.text(), PAGE, SOUP),
    "compose": COMPOSE,
    "systemd": st.one_of(st.text(), UNIT, SOUP),
    "inspect": INSPECT,
}


def took(text: str, form: str) -> None:
    """Import a text: it is refused at a place, or becomes an inventory without its secrets."""
    assert foreign.recognised(text, "file") in {None, *foreign.IMPORTED}
    said = _said(text, form)
    assert TOKEN not in said
    if text.count(PASSWORD) == len(NAMED.findall(text)):
        assert PASSWORD not in said


def _said(text: str, form: str) -> str:
    try:
        found = imported(text, form)
    except Unreadable as refusal:
        return f"{refusal} in line {refusal.line}" if 1 <= refusal.line <= text.count("\n") + 2 else TOKEN
    loaded(found.text)
    assert imported(text, form).text == found.text
    return found.text + found.report


@pytest.mark.parametrize("form", TEXTS)
def test_any_text_is_a_draft_or_a_finding_without_a_secret(form: str) -> None:
    @FUZZ
    @given(TEXTS[form])
    def check(text: str) -> None:
        took(text, form)

    check()
