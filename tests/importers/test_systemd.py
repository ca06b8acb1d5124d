"""Units around `docker run`."""

from __future__ import annotations

from textwrap import dedent

import pytest

from sparkiac.foreign import Unreadable, systemd
from tests.importers.texts import imported, loaded

UNIT = """\
# My model.
[Unit]
Description=Qwen on port 8001
After=docker.service
Requires=docker.service

[Service]
Environment=MODEL=Qwen/Qwen3-8B "ARGS=--seed 1 --enable-prefix-caching"
EnvironmentFile=-/etc/default/vllm
TimeoutStartSec=1h
TimeoutStopSec=2min
RestartSec=5
Restart=always
ExecStartPre=-/usr/bin/docker rm -f %n
ExecStartPre=/usr/local/bin/prepare
ExecStart=/usr/bin/docker run --rm --name qwen \\
  # a comment between
  --gpus all -p 8001:8000 \\
  -e "PERCENT=100%%" -e DOLLAR=$$5 -e HF_TOKEN=${HF_TOKEN} \\
  -v /srv/models:/root/.cache/huggingface \\
  nvcr.io/nvidia/vllm:26.04-py3 \\
  vllm serve ${MODEL} $ARGS --hf-overrides '{"a": {"b": 1}}'
ExecStop=/usr/bin/docker stop qwen
[Install]
WantedBy=multi-user.target
"""


def test_a_unit_is_read_as_systemd_reads_it() -> None:
    found = imported(UNIT, "systemd")
    data = found.entry.data
    assert (found.entry.name, data["model"], data["port"]) == ("qwen", "Qwen/Qwen3-8B", 8001)
    assert data["description"] == "Qwen on port 8001"
    assert (data["env"]["PERCENT"], data["env"]["DOLLAR"]) == ("100%", "$5")
    assert (data["set"]["seed"], data["set"]["enable_prefix_caching"]) == (1, True)
    assert data["set"]["hf_overrides"] == {"a": {"b": 1}}
    assert data["timeouts"] == {"ready_s": 3600, "restart_delay_s": 5}
    assert set(found.whys("lost")) == {"EnvironmentFile=-/etc/default/vllm", "ExecStartPre=/usr/local/bin/prepare"}
    assert {"Restart=always", "ExecStop=/usr/bin/docker stop qwen"} <= found.whys("corrected").keys()
    assert loaded(found.text).deployments["qwen"].port == 8001


def test_each_word_knows_its_line() -> None:
    (launch,) = systemd.read(UNIT, name="x.service")
    assert UNIT.split("\n")[launch.lines[launch.argv.index("--hf-overrides")] - 1].lstrip().startswith("vllm serve")


def test_a_unit_that_starts_through_a_shell_is_read() -> None:
    text = """\
    [Service]
    ExecStart=/bin/bash -c 'docker run -p 1:8000 nvcr.io/nvidia/vllm:26.04-py3 vllm serve a/b --seed 1'
    """
    found = imported(dedent(text), "systemd")
    assert found.entry.data["set"]["seed"] == 1


def test_a_unit_without_a_container_gets_its_name_from_the_file() -> None:
    found = imported(
        "[Service]\nExecStart=/opt/venv/bin/vllm serve a/b --port 8005\n", "systemd", name="x/my_llm.service"
    )
    assert (found.entry.name, found.entry.data["port"]) == ("my-llm", 8005)
    assert found.whys("lost") == {"/opt/venv/bin/vllm": "no image is named; sparkiac runs servers in containers"}


def test_a_specifier_of_systemds_is_reported() -> None:
    found = imported(
        "[Service]\nExecStart=docker run -v %h/m:/models nvcr.io/nvidia/vllm:1 vllm serve a/b\n", "systemd"
    )
    assert found.whys("lost")["%h/m:/models"] == "it contains a systemd specifier, which only the host can expand"


@pytest.mark.parametrize("text", ["[Service]\nExecStart=/bin/true\n", "[Unit]\nA=b", ""])
def test_a_unit_that_starts_nothing_of_ours_is_refused(text: str) -> None:
    with pytest.raises(Unreadable, match="no ExecStart="):
        systemd.read(text, name="x.service")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[Service]\nExecStart=docker run \\\n  'a", (3, 3)),
        ("[Service]\n  ExecStart=-docker 'run\n", (2, 21)),
    ],
)
def test_a_quote_that_is_not_closed_is_refused_where_it_is_opened(text: str, place: tuple[int, int]) -> None:
    with pytest.raises(Unreadable) as refused:
        systemd.read(text, name="x")
    assert (refused.value.line, refused.value.column) == place


def test_a_variable_that_a_command_repeats_without_end_is_refused() -> None:
    with pytest.raises(Unreadable, match="grow"):
        systemd.read(f"[Service]\nEnvironment=A={'x' * 100_000}\nExecStart=docker run x {'${A}' * 20}\n", name="a")
