"""`sparkiac memory`: the log of a start beside the plan, and the next plan that is exact."""

from __future__ import annotations

import io
import json
import re
import sys
from typing import TYPE_CHECKING, Any, Final

import pytest

from sparkiac.memory import startup
from sparkiac.memory.budget import BEYOND_BYTES
from sparkiac.memory.startup import Startup
from sparkiac.model.records import StartRecord
from sparkiac.words.plan import LOOKED_FOR
from tests.plan.fleets import COMMIT, LOCK, PAIR, deployment

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

GIB: Final = 1 << 30
ARGUMENTS: Final = (
    f"{{'model_tag': 'example/model', 'host': '0.0.0.0', 'model': 'example/model', 'revision': '{COMMIT}', "
    "'max_model_len': 65536, 'gpu_memory_utilization': 0.5, 'max_num_seqs': 4}"
)
CONFIG: Final = (
    f"model='/models/hub/models--example--model/snapshots/{COMMIT}', speculative_config=None, revision={COMMIT}, "
    "max_seq_len=65536, quantization=None, device_config=cuda, seed=0"
)
LOG: Final = f"""\
(APIServer pid=1) INFO 11-22 04:39:13 [utils.py:253] non-default args: {ARGUMENTS}
(EngineCore pid=7) INFO 11-22 04:39:51 [core.py:105] Initializing a V1 LLM engine (v0.19.0) with config: {CONFIG}
INFO [gpu_model_runner.py:4821] Model loading took 15.21 GiB memory and 84.123456 seconds
INFO [gpu_worker.py:437] Available KV cache memory: 38.5 GiB
INFO [kv_cache_utils.py:1319] GPU KV cache size: 3,364,176 tokens
INFO [kv_cache_utils.py:1325] Maximum concurrency for 65,536 tokens per request: 51.33x
INFO [gpu_model_runner.py:6047] Graph capturing finished in 31 secs, took 0.57 GiB
(APIServer pid=1) INFO:     Application startup complete.
"""
SUMMARY: Final = (
    "DEBUG [gpu_worker.py:640] Free memory on device (110.02/119.64 GiB) on startup. "
    "Desired GPU memory utilization is (0.5, 59.82 GiB).\n"
)
PAGE: Final = """\
process_resident_memory_bytes 1.093152768e+09
vllm:num_requests_running{engine="0",model_name="example/model"} 0.0
vllm:cache_config_info{block_size="16",gpu_memory_utilization="0.5",num_gpu_blocks="22993"} 1.0
vllm:spec_decode_num_draft_tokens_total{engine="0"} 400.0
vllm:spec_decode_num_accepted_tokens_total{engine="0"} 300.0
"""
NEGATIVE: Final = (
    "vLLM estimates the CUDA graphs at -10.3 GiB and adds that to the KV cache (vllm#44740), so the sizes are wrong; "
    "set env: {VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS: 0} and start the server again"
)
IMPOSSIBLE: Final = "are impossible for a server that can use"
TEXT: Final = deployment("set: {gpu_memory_utilization: 0.5}")


@pytest.fixture(autouse=True)
def half(folder: Path) -> None:
    """Run the test in a folder with an inventory, its lock and a log."""
    (folder / "lab.yaml").write_text(TEXT)
    (folder / "lab.lock.yaml").write_text(LOCK)
    (folder / "start.log").write_text(LOG)


def as_json(outcome: Outcome) -> dict[str, Any]:
    """Read standard output."""
    assert (outcome.code, outcome.err) == (0, "")
    found: dict[str, Any] = json.loads(outcome.out)
    return found


def set_total(text: str, said: str) -> str:
    """Put the memory that the log states into the inventory, as the command says."""
    total = re.search(r"under hosts\.spark-01:\n  (memory: .*)\n", said)
    return text.replace("address: 192.168.1.11", f"address: 192.168.1.11, {total[1]}") if total else text


def recorded(folder: Path) -> StartRecord:
    """Read the one record that was written."""
    [path] = (folder / "measurements").iterdir()
    return StartRecord.model_validate_json(path.read_bytes())


def test_what_was_measured_is_beside_what_was_worked_out(cli: Cli) -> None:
    outcome = cli("memory", "lab.yaml", "chat", "--from-log", "start.log")
    assert (outcome.code, outcome.err) == (0, "")
    rows = [line.split("  ") for line in outcome.out.splitlines()]
    found = {row[0]: [cell.strip() for cell in row[1:] if cell.strip()] for row in rows}
    assert found["weights"] == ["14.90 GiB", "15.21 GiB", "-2.0 %"]
    assert found["KV cache"] == ["41.60 GiB", "38.50 GiB", "+8.0 %"]
    assert found["overhead"][1] == "5.79 GiB"
    assert found["tokens"][1] == "3,364,176"
    assert "total memory" not in found


@pytest.mark.parametrize("log", [LOG, LOG + SUMMARY])
def test_the_next_plan_says_what_the_log_says(cli: Cli, folder: Path, log: str) -> None:
    (folder / "start.log").write_text(log)
    said = cli("memory", "lab.yaml", "chat", "--from-log", "start.log").out
    (folder / "lab.yaml").write_text(set_total(TEXT, said))
    assert ("memory: {total_gib: 119.64}" in said) == (log != LOG)
    outcome = cli("plan", "lab.yaml", "--format", "json")
    [host] = json.loads(outcome.out)["plan"]["hosts"]
    [account] = host["memory"]["accounts"]
    read = startup.read(log)
    assert account["inside"][0]["size_bytes"] == read.weights_bytes
    assert account["fit"]["pool_bytes"] == account["pool"]["size_bytes"] == read.pool_bytes
    assert account["outside"][0]["size_bytes"] == read.graphs_bytes
    again = as_json(cli("memory", "lab.yaml", "chat", "--from-log", "start.log", "--format", "json"))
    errors = {row["name"]: row["error"] for row in again["compared"] if row["name"] not in {"tokens", "concurrency"}}
    assert errors == dict.fromkeys(errors, 0.0)
    assert again["total_gib"] is None


def test_a_drafter_is_loaded_with_the_weights_and_counted_once(cli: Cli, folder: Path) -> None:
    speculative = "speculative: {method: draft_model, model: example/big, num_speculative_tokens: 3}"
    text = deployment("set: {gpu_memory_utilization: 0.5}", speculative)
    (folder / "lab.yaml").write_text(text)
    log = LOG.replace("15.21 GiB", "30.11 GiB").replace("38.5 GiB", "20.5 GiB")
    drafts = "speculative_config=SpeculativeConfig(method='draft_model', model='example/big', num_spec_tokens=3)"
    (folder / "start.log").write_text(log.replace("speculative_config=None", drafts))
    said = cli("memory", "lab.yaml", "chat", "--from-log", "start.log").out
    (folder / "lab.yaml").write_text(set_total(text, said))
    [host] = json.loads(cli("plan", "lab.yaml", "--format", "json").out)["plan"]["hosts"]
    [account] = host["memory"]["accounts"]
    weights, drafter, *_ = (term["size_bytes"] for term in account["inside"])
    assert (weights + drafter, drafter) == (round(30.11 * GIB), 16_000_000_000)
    assert account["pool"]["size_bytes"] == round(20.5 * GIB)


def test_machines_get_the_same_as_json(cli: Cli, folder: Path) -> None:
    found = as_json(cli("memory", "lab.yaml", "chat", "--from-log", "start.log", "--format", "json"))
    assert sorted(found) == ["compared", "format_version", "notes", "record", "total_gib"]
    assert [row["name"] for row in found["compared"]] == [
        "weights",
        "overhead",
        "CUDA graphs",
        "KV cache",
        "tokens",
        "concurrency",
    ]
    assert found["compared"][0]["error"] == round(16_000_000_000 / round(15.21 * GIB) - 1, 4)
    assert (folder / found["record"]).is_file()


def test_the_record_has_the_server_its_terms_and_its_source(cli: Cli, folder: Path) -> None:
    cli("memory", "lab.yaml", "chat", "--from-log", "start.log")
    record = recorded(folder)
    assert (record.subject.model, record.subject.platform) == ("example/model", "dgx-spark")
    assert record.subject.options["gpu_memory_utilization"] == 0.5
    assert record.terms.requested_bytes == -(-119 * GIB // 2)
    assert (record.terms.weights_bytes, record.terms.pool_bytes) == (round(15.21 * GIB), round(38.5 * GIB))
    assert record.terms.graphs_bytes == round(0.57 * GIB)
    assert (record.cached.tokens, record.cached.context) == (3_364_176, 65_536)
    assert (record.source.grade, record.source.link) == ("log", "start.log")


def test_a_page_of_metrics_is_added_to_the_record_of_the_log(cli: Cli, folder: Path) -> None:
    page = PAGE.replace("1.093152768e+09", "2.147483648e+09")
    (folder / "metrics").write_text(page)
    cli("memory", "lab.yaml", "chat", "--from-log", "start.log")
    assert cli("memory", "lab.yaml", "chat", "--from-metrics", "metrics").code == 0
    record = recorded(folder)
    assert record.terms.pool_bytes == round(38.5 * GIB)
    assert (record.cached.blocks, record.cached.block_tokens) == (22_993, 16)
    assert record.terms.host_bytes == 2 * GIB
    [host] = json.loads(cli("plan", "lab.yaml", "--format", "json").out)["plan"]["hosts"]
    [processes] = [part for part in host["memory"]["parts"] if part["name"] == "processes of vLLM"]
    assert processes["low_bytes"] == 2 * GIB + BEYOND_BYTES[0]
    assert record.acceptance == 0.75
    assert record.source.grade == "metrics"


def test_another_page_is_not_a_record(cli: Cli, folder: Path) -> None:
    (folder / "metrics").write_text("up 1\n")
    outcome = cli("memory", "lab.yaml", "chat", "--from-metrics", "metrics")
    assert (outcome.code, outcome.out) == (1, "")
    why = "it is not a metrics page of vLLM: it has no vllm:cache_config_info"
    assert outcome.err == f"metrics was not recorded:\n  {why}\n"
    assert not (folder / "measurements").exists()


def test_a_record_of_another_server_does_not_count_and_the_plan_says_why(cli: Cli, folder: Path) -> None:
    cli("memory", "lab.yaml", "chat", "--from-log", "start.log")
    (folder / "lab.yaml").write_text(deployment("set: {gpu_memory_utilization: 0.6}"))
    said = " ".join(cli("plan", "lab.yaml").out.split())
    assert "record not used start.log: gpu_memory_utilization is 0.5 in the record and 0.6 in the plan" in said
    assert "predicted from" not in said


def test_what_the_inventory_measured_wins(cli: Cli, folder: Path) -> None:
    cli("memory", "lab.yaml", "chat", "--from-log", "start.log")
    (folder / "lab.yaml").write_text(deployment("set: {gpu_memory_utilization: 0.5}", "measured: {overhead_bytes: 7}"))
    [host] = json.loads(cli("plan", "lab.yaml", "--format", "json").out)["plan"]["hosts"]
    assert [term["size_bytes"] for term in host["memory"]["accounts"][0]["inside"]] == [16_000_000_000, 7]


def test_an_image_without_a_pin_leaves_a_record_that_does_not_count(cli: Cli, folder: Path) -> None:
    (folder / "lab.lock.yaml").unlink()
    said = cli("memory", "lab.yaml", "chat", "--from-log", "start.log").out
    assert "The plan does not use it: the lock has no image and no model." in said


def test_a_record_that_cannot_be_read_is_named(cli: Cli, folder: Path) -> None:
    (folder / "measurements").mkdir()
    (folder / "measurements" / "chat-1.json").write_text('{"format": "sparkiac start 1"}')
    outcome = cli("plan", "lab.yaml")
    assert outcome.code == 2
    assert "chat-1.json cannot be read: subject: Field required; record it again" in " ".join(outcome.err.split())


def test_a_log_is_read_from_a_pipe(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff\xfe\n" + LOG.encode())))
    assert "38.50 GiB" in cli("memory", "lab.yaml", "chat", "--from-log", "-").out
    assert recorded(folder).source.link == "standard input"


def test_a_log_without_a_line_that_is_understood_says_what_was_looked_for(cli: Cli, folder: Path) -> None:
    (folder / "start.log").write_text("INFO: started\n")
    outcome = cli("memory", "lab.yaml", "chat", "--from-log", "start.log")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith(
        "start.log was not recorded:\n  it has no memory figures of vLLM, such as: Model loading"
    )
    assert all(line in outcome.err for line in LOOKED_FOR)


@pytest.mark.parametrize("line", LOOKED_FOR)
def test_each_named_log_line_is_parsed(line: str) -> None:
    log = line.replace("(…, …", "(0.5, …").replace("device …", "device").replace("…", "7")
    assert startup.read(log) != Startup()


@pytest.mark.parametrize(
    ("log", "reasons"),
    [
        (
            LOG.replace("65,536", "131,072").replace("'gpu_memory_utilization': 0.5", "'gpu_memory_utilization': 0.85"),
            (
                "max_model_len is 131072 in the log and 65536 in the inventory",
                "gpu_memory_utilization is 0.85 in the log and 0.5 in the inventory",
            ),
        ),
        (
            LOG.replace("INFO [gpu_worker", "Estimated CUDA graph memory: -10.33 GiB total\nINFO [gpu_worker"),
            (NEGATIVE,),
        ),
        (
            LOG.replace("38.5 GiB", "76.49 GiB"),
            (f"weights 15.2 GiB, KV cache 76.5 GiB and CUDA graphs 0.6 GiB {IMPOSSIBLE} 59.5 GiB",),
        ),
        (
            LOG.partition("(APIServer pid=1) INFO:")[0].replace(ARGUMENTS, "…") + SUMMARY.replace("59.82", "101.69"),
            (
                "the start failed, or the log ends too early: it has no line with Application startup complete",
                "requested memory is 101.7 GiB in the log and 59.8 GiB in the inventory",
            ),
        ),
    ],
    ids=["configuration", "negative estimate", "impossible pool", "crash"],
)
def test_a_log_that_is_not_of_this_server_is_not_recorded(
    cli: Cli, folder: Path, log: str, reasons: tuple[str, ...]
) -> None:
    (folder / "start.log").write_text(log)
    outcome = cli("memory", "lab.yaml", "chat", "--from-log", "start.log")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == "\n  ".join(("start.log was not recorded:", *reasons)) + "\n"
    assert not (folder / "measurements").exists()
    assert "predicted from" not in cli("plan", "lab.yaml").out


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("example/model", "example/other", "model is example/other on the page and example/model in the inventory"),
        ('"0.5"', '"0.85"', "gpu_memory_utilization is 0.85 on the page and 0.5 in the inventory"),
        ("model_name", "model", "there is no model name on the page"),
    ],
)
def test_a_page_that_is_not_of_this_server_is_not_recorded(
    cli: Cli, folder: Path, before: str, after: str, reason: str
) -> None:
    (folder / "metrics").write_text(PAGE.replace(before, after))
    outcome = cli("memory", "lab.yaml", "chat", "--from-metrics", "metrics")
    assert (outcome.code, outcome.err) == (1, f"metrics was not recorded:\n  {reason}\n")
    assert not (folder / "measurements").exists()


@pytest.mark.parametrize(
    "page",
    [
        PAGE.replace("1.093152768e+09", "NaN"),
        PAGE.replace("1.093152768e+09", "1e400"),
        PAGE.replace("1.093152768e+09", "-1"),
        PAGE.replace(" 300.0", " 500.0"),
        PAGE.replace(" 400.0", " NaN"),
        PAGE.replace("22993", "9" * 5000),
        PAGE.replace("22993", "\u00b2"),
    ],
)
def test_a_value_that_no_server_has_is_left_out(cli: Cli, folder: Path, page: str) -> None:
    (folder / "metrics").write_text(page)
    assert cli("memory", "lab.yaml", "chat", "--from-metrics", "metrics").code == 0
    found = recorded(folder)
    assert None in {found.terms.host_bytes, found.acceptance, found.cached.blocks}


def test_a_log_that_tells_a_part_gives_a_part(cli: Cli, folder: Path) -> None:
    lines = LOG.splitlines(keepends=True)
    (folder / "start.log").write_text("".join((*lines[:3], lines[-1])))
    found = as_json(cli("memory", "lab.yaml", "chat", "--from-log", "start.log", "--format", "json"))
    assert [row["name"] for row in found["compared"]] == ["weights"]
    assert recorded(folder).terms.pool_bytes is None
    assert found["notes"] == [
        "Not in the log, and not compared with the inventory: max_model_len, memory of the GPU.",
        "The log does not contain the memory used in addition to weights and KV cache.",
    ]


def test_an_engine_whose_memory_is_not_worked_out_has_nothing_to_compare(cli: Cli, folder: Path) -> None:
    text = deployment("set: {gpu_memory_utilization: 0.5, decode_context_parallel_size: 2}")
    (folder / "lab.yaml").write_text(text)
    (folder / "start.log").write_text(
        LOG.replace("'max_num_seqs'", "'decode_context_parallel_size': 2, 'max_num_seqs'")
    )
    outcome = cli("memory", "lab.yaml", "chat", "--from-log", "start.log")
    assert outcome.code == 0
    said = " ".join(outcome.out.split())
    assert "Nothing can be compared: options are unknown, missing: decode_context_parallel_size." in said


def test_the_log_of_a_discrete_gpu_does_not_tell_the_memory_of_the_host(cli: Cli, folder: Path) -> None:
    desk = deployment("set: {gpu_memory_utilization: 0.5}", host="spark-01: {address: 192.168.1.11, platform: desk}")
    gpu = "{name: GPU, compute_capability: '9.0'}"
    (folder / "lab.yaml").write_text(f"{desk}platforms: {{desk: {{title: D, architecture: arm64, gpu: {gpu}}}}}\n")
    (folder / "start.log").write_text(SUMMARY + LOG)
    outcome = cli("memory", "lab.yaml", "chat", "--from-log", "start.log")
    assert outcome.code == 0
    assert "the memory of the server is unknown, missing: size of" in " ".join(outcome.out.split())
    assert "total_gib" not in outcome.out


def test_of_a_group_the_node_that_answers_is_compared(cli: Cli, folder: Path) -> None:
    (folder / "lab.yaml").write_text(PAIR)
    log = LOG.replace("example/model", "example/big").replace("example--model", "example--big")
    options = "'tensor_parallel_size': 2, 'gpu_memory_utilization': 0.85"
    (folder / "start.log").write_text(log.replace("'gpu_memory_utilization': 0.5", options) + SUMMARY)
    said = cli("memory", "lab.yaml", "big", "--from-log", "start.log").out
    assert "Recorded in measurements/big-" in said
    assert "under hosts.spark-02:" in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("lab.yaml", "chatt", "--from-log", "start.log"), "unknown deployment 'chatt'; did you mean 'chat'?"),
        (("lab.yaml", "chat", "--from-log", "gone.log"), "'gone.log' does not exist"),
        (("lab.yaml", "chat", "--from-log", "."), "'.' is a directory"),
        (("lab.yaml", "chat"), "name one file: --from-log FILE or --from-metrics FILE"),
        (("gone.yaml", "chat", "--from-log", "start.log"), "gone.yaml does not exist"),
    ],
)
def test_wrong_input_is_reported(cli: Cli, arguments: tuple[str, ...], words: str) -> None:
    outcome = cli("memory", *arguments)
    assert outcome.code == 2
    assert words in " ".join(outcome.err.split())


def test_a_bad_inventory_is_reported_as_everywhere(cli: Cli, folder: Path) -> None:
    (folder / "lab.yaml").write_text(deployment("portt: 1"))
    outcome = cli("memory", "lab.yaml", "chat", "--from-log", "start.log")
    assert outcome.code == 2
    assert "error INV001" in outcome.err
