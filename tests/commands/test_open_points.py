"""What the files do not say becomes a placeholder: the draft loads, `check` counts it, `generate` refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sparkiac.report import placeholders

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

NGC = "nvcr.io/nvidia/vllm:26.04-py3"
GROUP = (
    f"docker run --gpus all --network host {NGC} vllm serve org/Big-100B --tensor-parallel-size 2 --nnodes 2 "
    "--node-rank 0 --master-addr 10.0.0.1 --port 8000 --no-such-flag\n"
)
HOSTS = ("--host", "spark-01=10.0.0.1", "--host", "spark-02=10.0.0.2")


def lines(outcome: Outcome, code: str) -> list[str]:
    return [line for line in outcome.err.splitlines() if f" {code} " in line]


def test_a_draft_for_several_hosts_is_checked_as_a_whole(folder: Path, cli: Cli) -> None:
    (folder / "big.sh").write_text(GROUP)
    outcome = cli("import", "big.sh", "--output", "draft.yaml", *HOSTS)
    links = lines(outcome, "OPN001")
    assert [line.partition("open-point: ")[2] for line in links] == [
        "link 1 of spark-01 has placeholders: interface, address, hca"
    ]
    assert "  all 2: spark-01, spark-02\n" in outcome.err
    assert lines(outcome, "REF003") == []
    assert lines(outcome, "FLG101"), "the other findings show"
    assert "0 lost, 2 to fill in" in outcome.err


def test_open_points_are_not_losses(folder: Path, cli: Cli) -> None:
    (folder / "big.sh").write_text(GROUP.replace(" --no-such-flag", ""))
    assert cli("import", "big.sh", "--output", "draft.yaml").code == 0
    outcome = cli("check", "draft.yaml")
    assert outcome.code == 1
    assert (len(lines(outcome, "OPN001")), outcome.err.count("  all 2: spark-01, spark-02\n")) == (2, 2)


def test_nothing_is_generated_while_an_open_point_is_left(folder: Path, cli: Cli) -> None:
    (folder / "big.sh").write_text(GROUP.replace(" --no-such-flag", ""))
    cli("import", "big.sh", "--output", "draft.yaml", *HOSTS)
    outcome = cli("generate", "draft.yaml", "--allow-unlocked")
    assert outcome.code == 1
    assert len(lines(outcome, "OPN001")) == 1
    assert sorted(path.name for path in folder.iterdir()) == ["big.sh", "draft.yaml"]
    text = (folder / "draft.yaml").read_text()
    text = text.replace("interface: placeholder", "interface: enp1s0f1np1").replace(
        "hca: placeholder", "hca: rocep1s0f1"
    )
    (folder / "draft.yaml").write_text(text.replace("198.51.100.", "192.168.177."))
    assert lines(cli("check", "draft.yaml"), "OPN001") == []


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("docker run -p 1:8000 $IMAGE vllm serve org/Name-7B", ["image"]),
        ("docker run -p 1:8000 $IMAGE python3 -m sglang.launch_server --model-path org/Name-7B", ["image"]),
        (f"docker run -p 1:8000 {NGC} vllm serve ${{HF_MODEL_HANDLE}}", ["model"]),
        ("docker run -p 1:8080 ghcr.io/ggml-org/llama.cpp:server-cuda -hf org/name:Q4", ["model_file"]),
        ("docker run -d -p 1:80 $IMAGE", ["service"]),
        (f"docker run -p 1:8000 -v ~/a.jinja:/a.jinja {NGC} vllm serve org/Name-7B --chat-template /a.jinja", ["url"]),
    ],
)
def test_values_that_a_file_leaves_open_are_reported_as_placeholders(
    folder: Path, cli: Cli, text: str, left: list[str]
) -> None:
    (folder / "x.sh").write_text(text)
    outcome = cli("import", "x.sh", "--output", "draft.yaml", "--host", "spark-01=10.0.0.1")
    assert outcome.code == 1, "it was lost"
    assert len(lines(outcome, "OPN001")) == len(left)
    assert lines(outcome, "REF003") == lines(outcome, "INV003") == []


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        (placeholders.host(0), True),
        (placeholders.links(3)[0]["address"], True),
        ("2001:db8::7", True),
        ("192.168.1.11/24", False),
        ("spark-01.example.org", False),
        (placeholders.MODEL, True),
        ("org/placeholder", False),
        (placeholders.IMAGE, True),
        (placeholders.URL, True),
        ("enp1s0f1np1", False),
    ],
)
def test_a_placeholder_is_not_a_real_value(value: str, is_one: bool) -> None:  # noqa: FBT001  a parameter
    assert placeholders.is_placeholder(value) is is_one
