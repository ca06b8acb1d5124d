"""`sparkiac import`: what goes to which stream, and how it ends."""

from __future__ import annotations

import io
import json
import re
import sys
from typing import TYPE_CHECKING

import pytest
import yaml

from sparkiac.foreign import IMPORTED, recipes
from sparkiac.report import placeholders
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

GEMMA = (
    "docker run -d --gpus all -p 8001:8000 -v /srv/hf:/root/.cache/huggingface vllm/vllm-openai:gemma4-cu130 "
    "nvidia/Gemma-4-31B-IT-NVFP4 --quantization modelopt --tensor-parallel-size 1 --gpu-memory-utilization 0.85 "
    "--max-model-len 65536 --max-num-seqs 4\n"
)


@pytest.fixture
def one(folder: Path) -> Path:
    """Run the test in a folder with one command line."""
    (folder / "gemma.sh").write_text(GEMMA)
    return folder


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Missing argument 'FILE…'"),
        (["missing.sh"], "missing.sh does not exist or is not a file"),
        (["gemma.sh", "--from", "dockr-run"], "unknown format 'dockr-run'; did you mean 'docker-run'?"),
        (["gemma.sh", "--host", "spark-01"], "--host 'spark-01' is not NAME=ADDRESS, such as spark-01=192.168.1.11"),
        (["gemma.sh", "--output", "gemma.sh"], "gemma.sh exists; name another file, or remove it"),
        (["gemma.sh", "gemma.sh", "--as", "recipe"], "a recipe starts one server, and the files start 2"),
    ],
)
def test_wrong_use_ends_with_a_sentence(one: Path, cli: Cli, arguments: list[str], said: str) -> None:
    outcome = cli("import", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err
    assert sorted(path.name for path in one.iterdir()) == ["gemma.sh"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "docker run \\\n 'x",
            "bad:2:2: error IMP001 unreadable: a quote or bracket is opened here and not closed\n  2 |  'x\n",
        ),
        (
            "hello",
            "bad:1:1: error IMP001 unreadable: format not recognised; set it with `sparkiac import --from`, one of",
        ),
        (b"docker run \xff", "bad:1:1: error IMP001 unreadable: byte 0xff is not UTF-8"),
        ("docker run " + "x " * 600_000, "bad:1:1: error IMP001 unreadable: the file has more than 1048576 bytes"),
        ("services:\n  a:\n    image: [\n", "bad:3:13: error IMP001 unreadable: not valid YAML: "),
    ],
)
def test_a_file_that_cannot_be_read_is_a_finding_and_nothing_is_written(
    one: Path, cli: Cli, text: str | bytes, said: str
) -> None:
    (one / "bad").write_bytes(text if isinstance(text, bytes) else text.encode())
    outcome = cli("import", "gemma.sh", "bad", "--output", "draft.yaml")
    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err
    assert not (one / "draft.yaml").exists()


def test_the_draft_goes_to_standard_output_and_the_report_to_the_other_stream(one: Path, cli: Cli) -> None:
    outcome = cli("import", "gemma.sh", "--host", "spark-07=192.168.1.17")
    assert outcome.code == 0
    draft = yaml.safe_load(outcome.out)
    assert draft["name"] == "gemma"
    assert draft["defaults"] == {"model_store": "/srv/hf"}
    assert draft["hosts"] == {"spark-07": {"address": "192.168.1.17"}}
    (deployment,) = draft["deployments"].values()
    assert deployment == {"recipe": "nvidia/gemma-4-31b-it-nvfp4", "hosts": "spark-07", "port": 8001}
    assert "gemma.sh:1: deployment gemma-4-31b-it-nvfp4, recipe nvidia/gemma-4-31b-it-nvfp4" in outcome.err
    assert "1 imported: " in outcome.err
    assert " 0 lost" in outcome.err
    assert one


def test_a_draft_in_a_file_is_checked_under_its_name(one: Path, cli: Cli) -> None:
    outcome = cli("import", "gemma.sh", "--host", "spark-01=192.168.1.11", "--output", "draft.yaml")
    assert (outcome.code, outcome.out) == (0, "")
    assert "draft.yaml:" in outcome.err
    again = cli("check", "draft.yaml")
    assert again.code == 1
    assert again.err.count("error IMG003") == 1
    assert cli("import", "gemma.sh", "--host", "spark-01=192.168.1.11").out == (one / "draft.yaml").read_text()


def test_what_is_lost_is_reported_by_the_exit_code_and_in_the_draft(one: Path, cli: Cli) -> None:
    (one / "lost.sh").write_text(GEMMA.replace("-d ", "-d --cpus 4 "))
    outcome = cli("import", "lost.sh", "--host", "spark-01=192.168.1.11")
    assert outcome.code == 1
    assert "  # lost, line 1: --cpus 4: an inventory has no setting for this\n" in outcome.out


def test_an_error_of_check_is_reported_by_the_exit_code(one: Path, cli: Cli) -> None:
    (one / "flag.sh").write_text("docker run -p 8000:8000 vllm/vllm-openai:v0.28.0 example/model --no-such-flag 1\n")
    outcome = cli("import", "flag.sh", "--host", "spark-01=192.168.1.11")
    assert outcome.code == 1
    assert "error FLG101" in outcome.err


def test_alternatives_with_the_same_port_take_turns(one: Path, cli: Cli) -> None:
    """A page shows several ways to start a server; no file states that they run at the same time."""
    (one / "twice.sh").write_text(GEMMA * 2)
    outcome = cli("import", "twice.sh", "--host", "spark-01=192.168.1.11")
    assert outcome.code == 0
    assert "error" not in outcome.err
    turns = yaml.safe_load(outcome.out)["turns"]
    assert [*turns.values()] == [[name] for name in turns]
    assert "# two of these have the same port, so each runs in a turn of its own" in outcome.out
    (one / "ports.sh").write_text(GEMMA + GEMMA.replace("8001:", "8003:"))
    assert "turns" not in yaml.safe_load(cli("import", "ports.sh", "--host", "spark-01=192.168.1.11").out)


def test_a_launch_without_an_image_gets_no_findings_about_one(one: Path, cli: Cli) -> None:
    """The image of a base recipe is not that of the file: its release would make findings of options of another one."""
    (one / "bare.sh").write_text("vllm serve example/model --swap-space 4 --load-format fastsafetensors\n")
    outcome = cli("import", "bare.sh", "--host", "spark-01=192.168.1.11")
    assert yaml.safe_load(outcome.out)["deployments"]["model"]["image"] == placeholders.IMAGE
    found = [line.split()[2] for line in outcome.err.splitlines() if line.startswith("draft.yaml:")]
    assert sorted(found) == ["MDL001", "OPN001"]


def test_open_webui_beside_its_server_has_no_address_in_the_container(one: Path, cli: Cli) -> None:
    options = "--network host -e OPENAI_API_BASE_URL=http://localhost:8355/v1"
    (one / "ui.sh").write_text(f"docker run {options} ghcr.io/open-webui/open-webui:main\n")
    outcome = cli("import", "ui.sh", "--host", "spark-01=192.168.1.11")
    assert "NET001" not in outcome.err
    assert "name its deployment under `uses`" in outcome.err


DFLASH = (
    "docker run -p 8000:8000 vllm/vllm-openai:{} org/Own-27B --gpu-memory-utilization 0.8 "
    """--speculative-config '{{"method": "dflash", "model": "org/Own-27B-DFlash", "num_speculative_tokens": 15}}'\n"""
)
ADDED = "triton_attn, a default of speculative dflash: ATT004, FLASH_ATTN and FlashInfer crashed with DFlash"


def test_what_a_method_of_speculation_adds_is_named(one: Path, cli: Cli) -> None:
    """The draft does not contain it: the release of the image decides."""
    (one / "draft.sh").write_text(DFLASH.format("v0.26.0"))
    outcome = cli("import", "draft.sh", "--host", "spark-01=192.168.1.11", "--output", "draft.yaml")
    assert f"  corrected, line 1: speculative: adds attention_backend: {ADDED}\n" in outcome.err
    assert "corrected, line 1: speculative: adds VLLM_USE_DEEP_GEMM: 0, a default of" in outcome.err
    said = f"own-27b: the speculative method adds attention_backend: {ADDED}"
    assert said in " ".join(cli("plan", "draft.yaml").out.split())
    plan = json.loads(cli("plan", "draft.yaml", "--format", "json").out)["plan"]
    assert ["own-27b", f"attention_backend: {ADDED}"] in plan["method_defaults"]


def test_a_method_adds_nothing_in_a_release_that_no_fact_names(one: Path, cli: Cli) -> None:
    (one / "draft.sh").write_text(DFLASH.format("v0.28.0"))
    outcome = cli("import", "draft.sh", "--host", "spark-01=192.168.1.11", "--output", "draft.yaml")
    assert "0 corrected, 0 not used, 0 lost" in outcome.err
    plan = json.loads(cli("plan", "draft.yaml", "--format", "json").out)["plan"]
    assert plan["method_defaults"] == []
    cli("generate", "draft.yaml", "--allow-unlocked", "--output", "tree")
    compose = (one / "tree/hosts/spark-01/etc/sparkiac/own-27b/compose.yaml").read_text()
    assert "dflash" in compose
    assert "attention" not in compose
    assert "DEEP_GEMM" not in compose


def test_machines_get_the_report_as_json(one: Path, cli: Cli) -> None:
    outcome = cli("import", "gemma.sh", "--format", "json")
    report = json.loads(outcome.err)
    assert report["format_version"] == 1
    (found,) = report["imported"]
    assert (found["file"], found["line"], found["recipe"], found["lost"]) == (
        *("gemma.sh", 1, "nvidia/gemma-4-31b-it-nvfp4", []),
    )
    assert {"line": 1, "what": "-p 8001:8000", "key": "port"} in found["understood"]
    assert [each["code"] for each in report["findings"]]
    assert one


def test_a_directory_is_read_in_order_and_skipped_files_are_reported(one: Path, cli: Cli) -> None:
    (one / "x" / "deep").mkdir(parents=True)
    (one / "x" / ".git").mkdir()
    (one / "x" / ".git" / "b.sh").write_text(GEMMA)
    (one / "x" / "deep" / "b.sh").write_text(GEMMA.replace("8001", "8002"))
    (one / "x" / "a.sh").write_text(GEMMA)
    (one / "x" / "LICENSE").write_text("Do what you want.\n")
    (one / "x" / "README.md").write_text("# How to\n\n```sh\nls\n```\n")
    (one / "x" / "stop.sh").write_text("#!/bin/sh\ndocker exec llm ls\n")
    (one / "x" / "photo.png").write_bytes(b"\x89PNG" + bytes(range(256)))
    outcome = cli("import", "x")
    assert [line.split(":")[0] for line in outcome.err.splitlines() if ": deployment " in line] == [
        "x/a.sh",
        "x/deep/b.sh",
    ]
    for name in ("LICENSE", "README.md", "stop.sh", "photo.png"):
        assert f"x/{name}: skipped, no known launch found\n" in outcome.err
    assert cli("import", "x/README.md").code == 2
    (one / "x" / "a.sh").write_text(GEMMA.replace("-d ", "--cpus 4 "))
    assert "  # lost, x/a.sh, line 1: --cpus 4: " in cli("import", "x").out


def test_standard_input_is_a_file(one: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(GEMMA.encode())))
    outcome = cli("import", "-")
    assert "recipe: nvidia/gemma-4-31b-it-nvfp4" in outcome.out
    assert "standard input:1: deployment" in outcome.err
    assert one


def test_the_format_can_be_named(one: Path, cli: Cli) -> None:
    (one / "odd").write_text("# just a line\n" + GEMMA)
    assert cli("import", "odd", "--from", "shell").out.count("recipe:") == 1
    outcome = cli("import", "odd", "--from", "compose")
    assert outcome.code == 2
    assert "odd:1:1: error IMP001 unreadable: the file has no `services:`" in outcome.err


def test_a_recipe_says_everything_of_one_server(one: Path, cli: Cli) -> None:
    from sparkiac import source  # noqa: PLC0415  this test alone reads a draft as the catalog would
    from sparkiac.model.catalog import Recipe  # noqa: PLC0415

    outcome = cli("import", "gemma.sh", "--as", "recipe")
    found = source.load(outcome.out.encode(), name="draft", model=Recipe)
    assert found.findings == ()
    assert found.value is not None
    assert (found.value.engine, found.value.image, found.value.model) == (
        *("vllm", "vllm/vllm-openai:gemma4-cu130", "nvidia/Gemma-4-31B-IT-NVFP4"),
    )
    assert found.value.set == {
        "gpu_memory_utilization": 0.85,
        "max_model_len": 65536,
        "max_num_seqs": 4,
        "quantization": "modelopt",
        "tensor_parallel_size": 1,
    }
    assert one


def test_the_page_names_every_format() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \|", (ROOT / "docs" / "import.md").read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(IMPORTED)


def test_a_recipe_that_starts_another_server_is_refused(one: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is compared with the file, as a draft of an inventory is."""
    assert "max_model_len: 65536" in cli("import", "gemma.sh", "--as", "recipe").out
    written = recipes.recipe
    monkeypatch.setattr(recipes, "recipe", lambda *found: written(*found).replace("65536", "4096"))
    outcome = cli("import", "gemma.sh", "--as", "recipe", "--output", "made.yaml")
    assert (outcome.code, outcome.out) == (2, "")
    assert "gemma.sh:1: its recipe starts another server; --max-model-len 65536: refused" in outcome.err
    assert sorted(path.name for path in one.iterdir()) == ["gemma.sh"]
