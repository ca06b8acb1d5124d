"""`sparkiac diagnose`: logs, the change of the inventory, and the configurations that narrow a failure."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from sparkiac.commands.diagnose import proposal
from sparkiac.commands.diagnose.proposal import Proposal, propose
from tests.conftest import ROOT
from tests.plan.fleets import LOCK, ONES, PAIR, deployment

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sparkiac.commands.diagnose.proposal import Context
    from sparkiac.fleet.diagnosis.matching import Occurrence
    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

INVENTORY: Final = """\
name: lab
defaults: {user: milo, model_store: /home/milo/hf, bind: lan, api_key: {secret: key}}
hosts:
  spark-01: {address: 192.168.1.11, memory: {total_gib: 119}, driver: "580.142"}
deployments:
  qwen36:
    recipe: nvidia/qwen3.6-35b-a3b-nvfp4
    hosts: spark-01
    port: 8001
    set: {max_model_len: 131072, load_format: fastsafetensors}  # from the card
    env: {VLLM_FP8_MOE_BACKEND: marlin}
"""
TOOLS: Final = "enable_auto_tool_choice: true, tool_call_parser: qwen3_coder"
GUIDE: Final = ("minimal", "kv-cache-type", "prefix-caching", "chunked-prefill", "async-scheduling", "speculation")
AGENT: Final = """\
services:
  agent:
    kind: hermes-agent
    hosts: spark-01
    uses: qwen36
    api_key: {secret: hermes_key}
    program: /home/spark/.local/bin/hermes
    user: spark
"""
START: Final = """\
(APIServer pid=1) INFO 07-02 21:58:10 [api_server.py:1259] vLLM API server version 0.23.0
(EngineCore pid=207) INFO 07-02 21:58:30 [core.py:105] Initializing a V1 LLM engine (v0.23.0) with config: model='%s'
""".replace("%s", "nvidia/Qwen3.6-35B-A3B-NVFP4")
NO_LOADER: Final = (
    "(EngineCore pid=207) ERROR 07-02 21:58:40 [core.py:866] ModuleNotFoundError: No module named 'fastsafetensors'\n"
)
TOO_LONG: Final = (
    "(EngineCore pid=207) ERROR 07-02 21:59:40 [core.py:866] ValueError: To serve at least one request with the "
    "model's max seq len (131072), (2.3 GiB KV cache is needed, which is larger than the available KV cache memory "
    "(1.8 GiB). "
    "Based on the available memory, the estimated maximum model length is 100352.\n"
)
LLAMA: Final = """\
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  qwen36:
    recipe: base/llama-cpp
    hosts: spark-01
    port: 8001
    image: example.org/llama.cpp:1
    model: example/model
    model_file: model.gguf
"""
UNKNOWN: Final = (
    "(APIServer pid=1) WARNING 07-02 21:58:11 [envs.py:2027] Unknown vLLM environment variable detected: "
    "VLLM_FP8_MOE_BACKEND\n"
)


@pytest.fixture(autouse=True)
def lab(folder: Path) -> Path:
    """Run the test in a folder with an inventory."""
    (folder / "lab.yaml").write_text(INVENTORY)
    return folder


def logged(text: str, name: str = "start.log") -> str:
    Path(name).write_text(text)
    return name


def as_json(outcome: Outcome) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(outcome.out)
    assert found["format_version"] == 1
    return found


def test_a_healthy_log_is_0_with_what_was_chosen(cli: Cli) -> None:
    outcome = cli("diagnose", str(ROOT / "tests/catalog/healthy.log"))
    assert outcome.code == 0
    assert "No problem found." in outcome.out
    for fact in ("FLASHINFER", "MARLIN for NvFp4", "mtp with 3 tokens", "captured in 8 s, 0.24 GiB", "4,843,965"):
        assert fact in outcome.out


def test_a_known_error_is_1_with_line_cause_remedy_and_source(cli: Cli) -> None:
    outcome = cli("diagnose", logged(START + NO_LOADER))
    assert outcome.code == 1
    assert "error LOG113 no-fastsafetensors: The image has no fastsafetensors" in outcome.out
    assert "start.log:3: (EngineCore pid=207) ERROR" in outcome.out
    for word in ("cause:", "remedy:", "source:", "sparkiac rules explain LOG113"):
        assert word in outcome.out


def test_the_whole_output_is_a_patch_that_git_applies(cli: Cli, lab: Path) -> None:
    outcome = cli("diagnose", logged(START + NO_LOADER + TOO_LONG), "--inventory", "lab.yaml")
    subprocess.run(["git", "init", "--quiet", "."], cwd=lab, check=True)
    subprocess.run(["git", "apply"], cwd=lab, input=outcome.out, text=True, check=True)
    expected = INVENTORY.replace("131072, load_format: fastsafetensors", "100352")
    assert Path("lab.yaml").read_text() == expected
    assert cli("check", "lab.yaml", "--allow-unlocked").code != 2


def test_write_changes_the_inventory_and_keeps_the_comment(cli: Cli) -> None:
    outcome = cli("diagnose", logged(START + UNKNOWN), "--inventory", "lab.yaml", "--write", "--format", "json")
    found = as_json(outcome)["change"]
    assert (outcome.code, found["codes"], found["written"]) == (1, ["LOG117"], True)
    assert Path("lab.yaml").read_text() == INVENTORY.replace("    env: {VLLM_FP8_MOE_BACKEND: marlin}\n", "")
    again = as_json(cli("diagnose", "start.log", "--inventory", "lab.yaml", "--format", "json"))["change"]
    assert (again["diff"], again["already"]) == ("", ["LOG117"])


def test_a_value_of_the_recipe_is_removed_with_null(cli: Cli) -> None:
    wrong = "(APIServer pid=1)   Value error, Unknown quantization method: nvfp4. Must be one of ['awq', 'fp8']\n"
    found = as_json(cli("diagnose", logged(START + wrong), "--inventory", "lab.yaml", "--format", "json"))["change"]
    assert "+    set: {max_model_len: 131072, load_format: fastsafetensors, quantization: null}" in found["diff"]


def test_a_change_that_another_layer_hides_is_refused_with_the_reason(cli: Cli) -> None:
    text = INVENTORY.replace(
        "    hosts: spark-01\n", "    hosts: spark-01\n    per_host: {spark-01: {set: {max_model_len: 131072}}}\n"
    )
    Path("lab.yaml").write_text(text)
    found = as_json(cli("diagnose", logged(START + TOO_LONG), "--inventory", "lab.yaml", "--format", "json"))["change"]
    assert found["refused"] == [{"code": "LOG118", "reason": "another layer of the inventory sets the value"}]
    assert found["diff"] == ""


def test_the_figures_of_the_log_are_beside_those_of_the_plan(cli: Cli) -> None:
    memory = (ROOT / "tests/catalog/healthy.log").read_text()
    outcome = cli("diagnose", logged(START + memory), "--inventory", "lab.yaml")
    assert "Plan and log, qwen36 on spark-01" in outcome.out
    found = as_json(cli("diagnose", "start.log", "--inventory", "lab.yaml", "--format", "json"))
    assert {each["name"] for each in found["plan"]} >= {"weights", "KV cache"}


def test_an_unknown_error_is_shown_with_its_place_and_what_to_try(cli: Cli) -> None:
    error = (
        '(EngineCore pid=7) ERROR 07-02 21:58:40 [core.py:866]   File "/site/vllm/new.py", line 7, in load\n'
        "(EngineCore pid=7) ERROR 07-02 21:58:40 [core.py:866] vllm.errors.NewError: the tensor is odd\n"
        "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above.\n"
        '(APIServer pid=1) INFO:     127.0.0.1:40112 - "GET /health HTTP/1.1" 503 Service Unavailable\n'
    )
    outcome = cli("diagnose", logged(START + error))
    assert outcome.code == 1
    assert "no known symptom; the first error of the engine is" in outcome.out
    assert "start.log:4: (EngineCore pid=7) ERROR 07-02 21:58:40 [core.py:866] vllm.errors.NewError" in outcome.out
    assert (
        'start.log:3: (EngineCore pid=7) ERROR 07-02 21:58:40 [core.py:866]   File "/site/vllm/new.py"' in outcome.out
    )
    assert "--bisect" in outcome.out
    assert "GET /health" not in outcome.out


def test_a_start_that_goes_on_shows_its_last_line(cli: Cli) -> None:
    outcome = cli("diagnose", logged(START))
    assert outcome.code == 0
    assert "The server is not ready yet." in outcome.out
    assert "Initializing a V1 LLM engine" in outcome.out


def test_standard_input_is_read_and_terminal_controls_and_secrets_are_not_printed(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "hf_" + "Ab1" * 12
    line = "INFO vLLM API server version 0.23.0 'model': 'a\x1b[2J\x9b'\n"
    line += f"\x1b]0;pwn\x07 OSError: \u202e[Errno 28] No space left on device, HF_TOKEN={secret}\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(line.encode() + b"\xff\xfe\n")))
    outcome = cli("diagnose", "-")
    assert outcome.code == 1
    assert "standard input:2:" in outcome.out
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(outcome.out)
    assert secret not in outcome.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "name a log, - for standard input, or a deployment"),
        (["lab.yaml"], "lab.yaml is not a log; name an inventory with --inventory"),
        (["nothing.log"], "nothing.log cannot be read: No such file or directory"),
        (["--deployment", "qwen36"], "name an inventory file"),
        (["start.log", "--write"], "name an inventory file"),
        (["start.log", "--inventory", "none.yaml"], "none.yaml does not exist"),
        (["start.log", "--inventory", "lab.yaml", "--deployment", "qwen35"], "did you mean 'qwen36'?"),
        (["start.log", "--inventory", "lab.yaml", "--bisect", "out"], "--bisect needs --inventory and --deployment"),
    ],
)
def test_exit_2_for_wrong_words(cli: Cli, words: list[str], says: str) -> None:
    logged(START)
    outcome = cli("diagnose", *words)
    assert (outcome.code, outcome.out) == (2, "")
    assert says in outcome.err


def test_exit_2_with_the_findings_of_an_inventory_that_does_not_load(cli: Cli) -> None:
    Path("lab.yaml").write_text(INVENTORY.replace("port:", "prot:"))
    outcome = cli("diagnose", logged(START), "--inventory", "lab.yaml")
    assert outcome.code == 2
    assert "lab.yaml:9:5: error" in outcome.err


def test_the_deployment_is_that_with_the_model_of_the_log(cli: Cli) -> None:
    second = INVENTORY + "  other: {recipe: google/gemma-4-26b-a4b-it-fp8, hosts: spark-01, port: 8002}\n"
    Path("lab.yaml").write_text(second)
    found = as_json(cli("diagnose", logged(START + NO_LOADER), "--inventory", "lab.yaml", "--format", "json"))
    assert found["change"]["codes"] == ["LOG113"]
    outcome = cli("diagnose", logged(NO_LOADER), "--inventory", "lab.yaml")
    assert (outcome.code, "--deployment other|qwen36" in outcome.err) == (2, True)


def test_bisect_writes_valid_configurations_in_the_order_of_the_guide(cli: Cli, lab: Path) -> None:
    outcome = cli("diagnose", "--inventory", "lab.yaml", "--deployment", "qwen36", "--bisect", "narrow")
    assert (outcome.code, outcome.out) == (0, "")
    steps = sorted(path.stem for path in Path("narrow").glob("*.diff"))
    assert [step.partition("-")[2] for step in steps][:6] == list(GUIDE)
    subprocess.run(["git", "init", "--quiet", "."], cwd=lab, check=True)
    before = as_json(cli("check", "lab.yaml", "--allow-unlocked", "--format", "json"))
    for step in steps:
        subprocess.run(["git", "apply", f"narrow/{step}.diff"], cwd=lab, check=True)
        after = as_json(cli("check", "lab.yaml", "--allow-unlocked", "--format", "json"))
        assert errors(after) <= errors(before), step
        subprocess.run(["git", "apply", "--reverse", f"narrow/{step}.diff"], cwd=lab, check=True)
    first = Path("narrow/1-minimal.spark-01.compose.yaml").read_text()
    for kept in (
        "--quantization=modelopt",
        "--moe-backend=marlin",
        "--max-model-len=65536",
        "--reasoning-parser=qwen3",
    ):
        assert kept in first
    for absent in (
        "kv-cache-dtype",
        "prefix-caching",
        "chunked-prefill",
        "async-scheduling",
        "speculative",
        "load-format",
    ):
        assert absent not in first
    readme = Path("narrow/README.md").read_text()
    assert all(f"`{step}.diff`" in readme for step in steps)


@pytest.mark.parametrize("client", ["clients: [tools]", "agent"])
def test_bisect_keeps_the_options_that_clients_require(cli: Cli, client: str) -> None:
    text = INVENTORY.replace("load_format", f"{TOOLS}, disable_uvicorn_access_log: true, load_format")
    Path("lab.yaml").write_text(text + AGENT if client == "agent" else f"{text}    {client}\n")
    outcome = cli("diagnose", "--inventory", "lab.yaml", "--deployment", "qwen36", "--bisect", "narrow")
    assert (outcome.code, outcome.out) == (0, ""), outcome.err
    steps = sorted(Path("narrow").glob("*.compose.yaml"))
    assert [step.name.partition("-")[2].partition(".")[0] for step in steps] == [*GUIDE, "loading", "sizes"]
    for command in (step.read_text() for step in steps):
        assert "--enable-auto-tool-choice" in command
        assert "--tool-call-parser=qwen3_coder" in command
        assert "--disable-uvicorn-access-log" not in command, "it is in the last step, which is the deployment itself"
    readme = Path("narrow/README.md").read_text()
    assert "All of them keep `enable_auto_tool_choice`, `tool_call_parser`" in readme
    assert "what only the complete deployment has: `disable_uvicorn_access_log`" in readme


def test_bisect_leaves_out_what_only_long_requests_need(cli: Cli) -> None:
    """262,144 tokens do not fit without an FP8 cache; the configurations without it have a shorter context."""
    sizes = "kv_cache_dtype: fp8, max_model_len: 262144, kv_cache_memory_bytes: 2000000000"
    text = deployment(f"set: {{{sizes}, {TOOLS}}}", "clients: [tools]", f"image: vllm/vllm-openai:v0.33.0@{ONES}")
    Path("lab.yaml").write_text(text)
    Path("lab.lock.yaml").write_text(LOCK)
    outcome = cli("diagnose", "--inventory", "lab.yaml", "--deployment", "chat", "--bisect", "narrow")
    assert outcome.code == 0
    steps = sorted(path.name for path in Path("narrow").glob("*.diff"))
    assert steps == ["1-minimal.diff", "2-kv-cache-type.diff"]
    assert "--max-model-len=65536" in Path("narrow/2-kv-cache-type.spark-01.compose.yaml").read_text()


def errors(found: dict[str, Any]) -> set[str]:
    return {each["code"] for each in found["findings"] if each["severity"] == "error"}


def test_bisect_does_not_write_into_a_directory_with_files(cli: Cli) -> None:
    outcome = cli("diagnose", "--inventory", "lab.yaml", "--deployment", "qwen36", "--bisect", ".")
    assert outcome.code == 2
    assert ". exists and is not an empty directory" in outcome.err


def test_bisect_of_a_group_writes_the_files_of_each_host(cli: Cli) -> None:
    Path("lab.yaml").write_text(PAIR + "    set: {kv_cache_dtype: fp8}\n")
    Path("lab.lock.yaml").write_text(LOCK)
    outcome = cli("diagnose", "--inventory", "lab.yaml", "--deployment", "big", "--bisect", "narrow")
    assert outcome.code == 0
    written = sorted(path.name for path in Path("narrow").iterdir())
    assert written == ["1-minimal.diff", *(f"1-minimal.spark-0{n}.compose.yaml" for n in (1, 2)), "README.md"]
    readme = Path("narrow/README.md").read_text()
    assert "the cause is in what only the complete deployment has: `kv_cache_dtype`" in readme


def test_bisect_is_1_without_options_to_leave_out(cli: Cli) -> None:
    Path("lab.yaml").write_text(PAIR)
    Path("lab.lock.yaml").write_text(LOCK)
    outcome = cli("diagnose", "--inventory", "lab.yaml", "--deployment", "big", "--bisect", "narrow")
    assert (outcome.code, "has no options that can be left out" in outcome.err) == (1, True)
    assert not Path("narrow").exists()


def test_bisect_is_for_vllm(cli: Cli) -> None:
    Path("lab.yaml").write_text(LLAMA)
    outcome = cli("diagnose", "--inventory", "lab.yaml", "--deployment", "qwen36", "--bisect", "narrow")
    assert (outcome.code, "does not run vLLM" in outcome.err) == (2, True)


def test_exit_5_and_nothing_written_if_the_inventory_changes_meanwhile(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def changed(found: Sequence[Occurrence], context: Context) -> Proposal:
        Path("lab.yaml").write_text(INVENTORY + "# changed\n")
        return propose(found, context)

    monkeypatch.setattr(proposal, "propose", changed)
    outcome = cli("diagnose", logged(START + NO_LOADER), "--inventory", "lab.yaml", "--write")
    assert (outcome.code, "changed during the run; nothing was written" in outcome.err) == (5, True)
    assert Path("lab.yaml").read_text() == INVENTORY + "# changed\n"
