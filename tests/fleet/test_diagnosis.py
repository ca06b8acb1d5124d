"""What logs say about a server: real starts, real failures, several ranks, and logs that only look like trouble."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from sparkiac import catalog
from sparkiac.fleet.diagnosis import Diagnosis, diagnose, lines
from sparkiac.fleet.diagnosis.matching import DiagnosedServer
from tests.conftest import ROOT

HERE: Final = Path(__file__).parent
RECORDED: Final = sorted((HERE / "recorded").glob("*.log"))
"""Starts of vLLM 0.23.0 on an H100 with dummy weights, 2026-11, without DEBUG lines and routes."""
THREADS: Final[list[dict[str, Any]]] = yaml.safe_load((HERE / "threads.yaml").read_text())
FAILED: Final = {"qwen3-next-12l": "LOG133", "qwen3-8b": "LOG123"}
"""A start without FlashInfer, and one whose engine was killed; the others are healthy."""
OUT_OF_MEMORY: Final = (
    "(Worker pid=9) ERROR 07-02 21:58:40 [x.py:1] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB."
)
LOST: Final = "node0:1:2 [0] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer node2<42830>"


def read(*texts: str, server: DiagnosedServer | None = None) -> Diagnosis:
    """Diagnose logs, one for each text."""
    return diagnose([lines.read(f"rank{number}", [text.encode()]) for number, text in enumerate(texts)], server)


def codes(found: Diagnosis) -> list[str]:
    return [each.symptom.code for each in found.problems]


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_real_start_has_no_problem_but_the_one_it_had(path: Path) -> None:
    found = diagnose([lines.read(path.name, [path.read_bytes()])], None)
    assert codes(found) == ([FAILED[path.stem]] if path.stem in FAILED else [])
    assert found.unknown is None
    assert found.states[0].ready
    assert found.server.release == "0.23.0"


def test_a_real_start_shows_its_kernels_graphs_and_memory() -> None:
    found = diagnose([lines.read("a", [(HERE / "recorded/qwen3-30b-a3b.log").read_bytes()])], None)
    facts = {each.name: each.value for each in found.states[0].markers}
    assert facts == {
        "attention": "FLASH_ATTN",
        "attention version": "FlashAttention version 3",
        "MoE": "TRITON for Unquantized",
        "compilation": "32.43 s",
        "CUDA graphs": "captured in 8 s, 0.24 GiB",
        "weights": "56.88 GiB",
        "KV cache": "14.67 GiB",
        "KV cache tokens": "160,192",
        "concurrency": "4.89 requests of 32,768 tokens",
    }


@pytest.mark.parametrize("thread", THREADS, ids=lambda thread: thread["thread"])
def test_a_log_of_a_public_thread_is_named_as_its_readers_name_it(thread: dict[str, Any]) -> None:
    found = read("\n".join(thread["lines"]) + "\n")
    assert codes(found)[:1] == ([] if thread["expected"] == "unknown" else [thread["expected"]])
    assert found.failed
    assert (found.unknown is not None) == (thread["expected"] == "unknown")


NO_MEMORY: Final = (
    "Sep 14 23:16:52 spark-01 kernel: NVRM: nvCheckOkFailedNoLog: Check failed: Out of memory [NV_ERR_NO_MEMORY] "
    "(0x00000051) returned from _memdescAllocInternal(pMemDesc) @ mem_desc.c:1359\n"
)
"""Quoted from vllm-project/vllm issue 56824: three healthy starts logged the line, one that failed did not."""
PINNING: Final = "spark-02:211:211 [0] NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory\n"
SYSTEM_ERROR: Final = (
    "(Worker_TP1 pid=2) ERROR 09-12 10:21:09 [x.py:1] RuntimeError: NCCL error: unhandled system error "
    "(run with NCCL_DEBUG=INFO for details)\n"
)


def test_no_memory_of_the_driver_alone_is_a_note_and_no_problem() -> None:
    found = read((HERE / "recorded/qwen3-30b-a3b.log").read_text(), NO_MEMORY)
    assert (codes(found), found.failed) == ([], False)
    assert "LOG116" in [each.symptom.code for each in found.seen]


def test_no_memory_of_the_driver_does_not_explain_an_error_of_the_engine() -> None:
    unknown = read("vllm.errors.NewError: the tensor is odd\n", NO_MEMORY)
    assert codes(unknown) == []
    assert unknown.unknown is not None
    assert codes(read(f"{OUT_OF_MEMORY}\n", NO_MEMORY)) == ["MEM021"]


def test_the_call_that_nccl_names_is_the_cause_of_its_system_error() -> None:
    found = read(SYSTEM_ERROR, PINNING + SYSTEM_ERROR)
    assert codes(found) == ["LOG149"]
    assert [each.symptom.code for each in found.seen[0].consequences] == ["LOG147"]
    assert "kho=off" in found.seen[0].symptom.remedy[0]
    assert codes(read(SYSTEM_ERROR)) == ["LOG147"]


def test_the_page_says_how_many_threads_are_named() -> None:
    """Each thread is tested above, so that none is named wrongly."""
    named = [each for each in THREADS if each["expected"] != "unknown"]
    others = [each for each in THREADS if not each.get("cited")]
    page = " ".join((ROOT / "docs/diagnose.md").read_text().split())
    assert f"Of {len(THREADS)} logs of public threads" in page
    assert f"{len(named)} are named as their readers name them, {len(THREADS) - len(named)} are reported" in page
    both = [each for each in others if each in named]
    assert f"Of the {len(others)} with which no pattern was made, {len(both)} are named." in page


def test_the_error_of_one_rank_is_the_cause_of_the_lost_connection_of_the_other() -> None:
    found = read(f"{LOST}\n", f"\n\n{OUT_OF_MEMORY}\n")
    assert codes(found) == ["MEM021"]
    assert [each.symptom.code for each in found.seen[0].consequences] == ["LOG120"]
    assert [(line.log, line.number) for line in found.seen[0].lines] == [("rank1", 3)]


def test_a_lost_connection_alone_is_the_error() -> None:
    found = read(f"{LOST}\nRuntimeError: NCCL is gone\n")
    assert (codes(found), found.unknown) == (["LOG120"], None)


def test_an_unknown_error_of_one_rank_is_shown_beside_the_lost_connection_of_the_other() -> None:
    found = read(f"{LOST}\n", "vllm.errors.NewError: the tensor is odd\n")
    assert codes(found) == ["LOG120"]
    assert found.unknown is not None
    assert found.unknown.line.log == "rank1"


def test_the_earlier_of_two_errors_comes_first_by_the_time_of_the_journal() -> None:
    early = "2026-11-22T17:00:01.000001+0000 spark-02 docker[7]: OSError: [Errno 28] No space left on device"
    late = "2026-11-22T17:00:02.000001+0000 spark-01 docker[7]: ninja: build stopped: subcommand failed."
    assert codes(read(late, early)) == ["LOG135", "LOG138"]


def test_a_more_exact_symptom_explains_a_less_exact_one() -> None:
    text = (
        '  File "/x/gpu_worker.py", line 290, in init_device\n'
        "ValueError: Free memory on device cuda:0 (67.92/119.21 GiB) on startup is less than desired GPU memory\n"
    )
    found = read(text)
    assert codes(found) == ["LOG101"]
    assert [each.symptom.code for each in found.seen[0].consequences] == ["FLG025"]


def test_a_symptom_of_another_model_is_a_note_and_the_error_is_unknown() -> None:
    line = "KeyError: 'layers.0.moe.experts.0.down_proj.input_scale'\n"
    other = DiagnosedServer(("nvidia/Qwen3.6-35B-A3B-NVFP4",), None, "0.23.0")
    found = read(line, server=other)
    assert codes(found) == []
    assert [each.symptom.code for each in found.seen] == ["LOG110"]
    assert "this server has nvidia/Qwen3.6-35B-A3B-NVFP4" in found.seen[0].differences[0].text
    assert found.unknown is not None
    assert codes(read(line)) == ["LOG110"]
    assert codes(read(line, server=DiagnosedServer(("google/gemma-4-26B-A4B-it-NVFP4",), None, None))) == ["LOG110"]


def test_a_symptom_of_a_newer_release_is_a_note() -> None:
    line = "WARNING [envs.py:1] Unknown vLLM environment variable detected: VLLM_FP8_MOE_BACKEND\n"
    assert codes(read(line, server=DiagnosedServer((), None, "0.16.0"))) == []
    assert codes(read(line, server=DiagnosedServer((), None, "0.17.1"))) == ["LOG117"]


def test_the_release_of_the_log_counts_more_than_that_of_the_plan() -> None:
    found = read("INFO vLLM API server version 0.19.0\n", server=DiagnosedServer(("a/b",), "image:tag", "0.23.0"))
    assert found.server == DiagnosedServer(("a/b",), "image:tag", "0.19.0")


WAITING: Final = (
    "(Worker pid=8) INFO [p.py:1] world_size=2 rank=1 local_rank=0 distributed_init_method=tcp://192.0.2.1:29503\n"
)


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ("", ["LOG122"]),
        (
            "[W1122 04:52:44.3 socket.cpp:207] [c10d] The hostname of the client socket cannot be retrieved.\n",
            ["LOG122"],
        ),
        ("supervise: starting, 60 s\n", ["LOG122"]),
        ("(Worker pid=8) INFO [p.py:2] rank 1 in world size 2 is assigned as DP rank 0\n", []),
    ],
)
def test_a_rank_waits_only_if_nothing_of_the_engine_follows(after: str, expected: list[str]) -> None:
    assert codes(read(WAITING + after)) == expected


def test_a_symptom_in_an_access_log_or_a_debug_level_is_not_an_error() -> None:
    text = '(APIServer pid=1) INFO:     10.0.0.2:1 - "GET /?q=CUDA error: out of memory HTTP/1.1" 200 OK\n'
    assert not read(text).seen
    assert not read("supervise: starting connection error: refused\n").failed
    assert not read("(A pid=1) WARNING 07-02 21:58:40 [x.py:1] ValueError: odd, ignored\n").failed


def test_errors_after_the_end_was_requested_are_its_consequences() -> None:
    text = (
        "(EngineCore pid=2) INFO 07-02 21:58:40 [core.py:1] [shutdown] EngineCore: trigger received signal=SIGTERM\n"
        "(APIServer pid=1) ERROR 07-02 21:58:40 [x.py:1] asyncio.exceptions.InvalidStateError: late\n"
    )
    assert not read(text).failed


def test_starts_are_counted_and_the_last_one_is_described() -> None:
    first = f"(APIServer pid=1) INFO vLLM API server version 0.19.0\n{OUT_OF_MEMORY}\n"
    second = "(A pid=1) INFO vLLM API server version 0.23.0\n(A pid=1) INFO:     Application startup complete.\n"
    found = read(first + second)
    assert (found.states[0].log.starts, found.server.release, found.states[0].ready) == (2, "0.23.0", True)
    assert [(line.start, line.number) for line in found.seen[0].lines] == [(1, 2)]


def test_the_unit_begins_a_start_and_its_engine_does_not_begin_another() -> None:
    unit = "Nov 22 17:00:0{} spark-01 systemd[1]: Starting sparkiac-chat.service - chat...\n"
    engine = "Nov 22 17:00:0{} spark-01 docker[9]: (APIServer pid=1) INFO vLLM API server version 0.23.0\n"
    log = lines.read(
        "a", "".join(part.format(n) for n in (1, 2) for part in (unit, engine)).encode().splitlines(keepends=True)
    )
    assert [line.start for line in log.lines] == [1, 1, 2, 2]
    assert log.lines[1].text == "(APIServer pid=1) INFO vLLM API server version 0.23.0"


@pytest.mark.parametrize(
    "line",
    [
        "Nov 22 17:00:02 spark-01 docker[12]: ninja: build stopped: subcommand failed.",
        "2026-11-22T17:00:02.123456+0000 spark-01 docker[12]: ninja: build stopped: subcommand failed.",
        "2026-11-22T17:00:02.123456789Z ninja: build stopped: subcommand failed.",
        "qwen36-1  | ninja: build stopped: subcommand failed.",
        "\x1b[31mninja: build stopped: subcommand failed.\x1b[0m",
        "ninja: build stopped: subcommand failed.\r",
    ],
)
def test_what_other_programs_put_before_a_line_is_left_out(line: str) -> None:
    log = lines.read("a", [line.encode()])
    assert [each.text for each in log.lines] == ["ninja: build stopped: subcommand failed."]


def test_of_a_long_log_the_end_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MOST_BYTES", 60)
    log = lines.read("a", [b"first\n" * 50] * 2 + [b"last\n"])
    assert log.cut
    assert (log.lines[-1].text, log.lines[-1].number) == ("last", 101)
    assert sum(len(each.text) for each in log.lines) < 60


def test_every_change_has_a_certain_target() -> None:
    changes = {each.code: each.change for each in catalog.symptoms() if each.change is not None}
    assert len(changes) == 11
    assert all(each.set or each.remove_env or each.speculative for each in changes.values())
