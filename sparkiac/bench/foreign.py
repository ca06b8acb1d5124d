"""Other benchmarks: `vllm bench serve`, llama-benchy and tool-eval-bench. Run them, and read their results as records.

Their averages are kept under the names that these programs print. `vllm bench serve --save-detailed` also writes the
times of each request; then the record has samples, and can be compared with statistics.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from sparkiac.bench.client import ApiEndpoint
from sparkiac.bench.points import Sizes
from sparkiac.bench.runner import BenchSession
from sparkiac.model import answers
from sparkiac.model.bench import BenchRecord, BenchSubject, PointRecord, RoundRecord, ToolCase
from sparkiac.upstream import programs
from sparkiac.upstream.streaming import ServerError

_SERVE: Final = {
    "median_ttft_ms": "TTFT median, ms",
    "p99_ttft_ms": "TTFT p99, ms",
    "median_tpot_ms": "TPOT median, ms",
    "p99_tpot_ms": "TPOT p99, ms",
    "median_itl_ms": "ITL median, ms",
    "output_throughput": "throughput, tokens/s",
    "request_throughput": "throughput, requests/s",
}
"""Key of the file of `vllm bench serve` → name in the record."""
_BENCHY_ROW: Final = re.compile(
    r"^\|(?:[^|]*\|)?\s*(?P<test>(?:pp|tg)\d+(?: @ d\d+)?)\s*\|\s*(?P<rate>[\d.]+) ± (?P<sd>[\d.]+)\s*\|(?P<rest>.*)$",
    re.MULTILINE,
)
_BENCHY: Final = re.compile(r"llama-benchy \(([\d.]+)\)")
_BENCHY_LATENCY: Final = re.compile(r"\| latency mode: (\w+)")
_BENCHY_MODEL: Final = re.compile(r"^\|\s*([\w.-]+/[\w.-]+)\s*\|\s*pp\d+", re.MULTILINE)
_CASE: Final = re.compile(r"^[ \t]*+●[ \t]++(TC-\d++)[ \t]++(.*)[ \t](PASS|PARTIAL|FAIL)[ \t]++(\d)/(\d)", re.MULTILINE)
"""The last word of the title is the symbol that the program prints after it."""
_POINTS: Final = re.compile(r"Points:\s*(\d+)/(\d+)")
_FIGURES: Final = {
    "quality": r"Quality:\s*(\d+)/100",
    "responsiveness": r"Responsiveness:\s*(\d+)/100",
    "deployability": r"Deployability:\s*(\d+)/100",
    "total tokens": r"Total: ([\d,]+) tokens",
}
_SPEC_ROW: Final = re.compile(
    r"^│\s*(?P<kind>filler|code|structured)\s*│\s*(?P<depth>\d+)(?P<kilo>K?)\s*│\s*(?P<eff>[\d.]+)\s*│\s*(?P<alpha>[\d.]+)%"
    r"\s*│\s*(?P<waste>\d+)%\s*│\s*(?P<tau>[\d.]+)\s*│\s*(?P<window>\d+)\s*│\s*(?P<draft>[\d.]+)\s*│\s*(?P<ttft>[\d,]+)"
    r"\s*│\s*(?P<total>[\d,]+)\s*│",
    re.MULTILINE,
)
_EVAL_MODEL: Final = re.compile(r"^│\s+(\S+)(?:\s+via \S+ @ \S+)?\s+│$", re.MULTILINE)
_VERSION: Final = re.compile(r"tool-eval-bench v([\d.]+)")
_MOST_VALUES: Final = 2_000_000
"""Most values of a result: a detailed one has a number for each token."""
_UNDATED: Final = "unknown"
_RESULT: Final = "result.json"
"""File of a result; a program that does not name it prints the result."""


def read(text: str) -> BenchRecord:
    """Return the record of a file of any known format. Raises ValueError with the reason."""
    if text.lstrip().startswith("{"):
        return _json(text)
    if _BENCHY_ROW.search(text):
        return _benchy(text)
    if _CASE.search(text) or _SPEC_ROW.search(text):
        return _tool_eval(text)
    raise ValueError("not a record of sparkiac, and not an output of vllm bench serve, llama-benchy or tool-eval-bench")


def _json(text: str) -> BenchRecord:
    try:
        data = answers.plain(text, most=_MOST_VALUES)
    except ValueError as error:
        raise ValueError(f"not JSON: {error}") from None
    if isinstance(data, dict) and "total_output_tokens" in data and "model_id" in data:
        return _serve(data)
    return BenchRecord.from_json(answers.counted(text))


def _serve(data: Mapping[str, Any]) -> BenchRecord:
    point = PointRecord(
        name=f"concurrency {data['max_concurrency']}" if data.get("max_concurrency") else "unlimited",
        concurrency=int(data.get("max_concurrency") or data["num_prompts"]),
        rate=data["request_rate"] if isinstance(data.get("request_rate"), int | float) else None,
        rounds=tuple(_requests(data)),
        reported={name: float(data[key]) for key, name in _SERVE.items() if data.get(key) is not None},
    )
    return BenchRecord(
        mode="serve",
        tool="vllm bench serve",
        taken=str(data.get("date", _UNDATED)),
        subject=BenchSubject(url="", model=str(data["model_id"]), engine="vllm"),
        points=(point,),
        notes=(f"{data['failed']} requests failed",) if data.get("failed") else (),
    )


def _requests(data: Mapping[str, Any]) -> Iterator[RoundRecord]:
    """Return each request of a detailed result as a round; concurrent requests are not independent of each other.

    Therefore only results with one request at a time have rounds.
    """
    keys = ("input_lens", "output_lens", "ttfts", "itls")
    if data.get("max_concurrency") != 1 or not all(data.get(key) for key in keys):
        return
    for prompt, output, ttft, itl in zip(*(data[key] for key in keys), strict=True):
        total = float(ttft) + sum(itl)
        yield RoundRecord(
            seconds=total,
            prompt_tokens=(int(prompt),),
            output_tokens=(int(output),),
            ttft_s=(float(ttft),),
            total_s=(total,),
            gap_s=(max(itl, default=0.0),),
            parts=(len(itl) + 1,),
            reasoning_parts=(0,),
        )


def _benchy(text: str) -> BenchRecord:
    """Read the tables of llama-benchy: pp is prefill, tg is decode, d is the depth of the context before it."""
    points: dict[str, PointRecord] = {}
    for row in _BENCHY_ROW.finditer(text):
        test, _, depth = row["test"].partition(" @ d")
        reported = {f"{test}, tokens/s": float(row["rate"]), f"{test} standard deviation, tokens/s": float(row["sd"])}
        cells = [float(cell.split("±")[0]) for cell in row["rest"].split("|") if "±" in cell]
        if test.startswith("pp") and len(cells) >= 2:  # noqa: PLR2004  ttfr and est_ppt
            reported |= {"TTFR, ms": cells[0], "prompt time, ms": cells[1]}
        name = f"depth {depth or 0}"
        former = points.get(name, PointRecord(name=name))
        points[name] = former.model_copy(update={"reported": {**former.reported, **reported}})
    version, latency, model = (each.search(text) for each in (_BENCHY, _BENCHY_LATENCY, _BENCHY_MODEL))
    return BenchRecord(
        mode="depth",
        tool=f"llama-benchy{f' {version[1]}' if version else ''}{f', latency mode {latency[1]}' if latency else ''}",
        taken=_UNDATED,
        subject=BenchSubject(url="", model=model[1] if model else "unknown"),
        points=tuple(points.values()),
    )


def _tool_eval(text: str) -> BenchRecord:
    """Read the output of tool-eval-bench: scenarios and scores, or its test of speculative decoding."""
    cases = tuple(
        ToolCase(
            name=f"{name} {title.rsplit(maxsplit=1)[0]}",
            passed=(state == "PASS",),
            fault=None if state == "PASS" else f"{got}/{most}",
        )
        for name, title, state, got, most in _CASE.findall(text)
    )
    reported = {
        name: float(found[1].replace(",", "")) for name, line in _FIGURES.items() if (found := re.search(line, text))
    }
    if found := _POINTS.search(text):
        reported |= {"points": float(found[1]), "most points": float(found[2])}
    version, model = _VERSION.search(text), _EVAL_MODEL.search(text)
    scores = (PointRecord(name="scores", reported=reported),) if reported else ()
    return BenchRecord(
        mode="tools" if cases else "speculation",
        tool=f"tool-eval-bench {version[1]}" if version else "tool-eval-bench",
        taken=_UNDATED,
        subject=BenchSubject(url="", model=model[1] if model else "unknown"),
        points=(*scores, *(_spec(row) for row in _SPEC_ROW.finditer(text))),
        tools=cases,
    )


def _spec(row: re.Match[str]) -> PointRecord:
    depth = int(row["depth"]) * (1024 if row["kilo"] else 1)
    return PointRecord(
        name=f"{row['kind']}, depth {depth}",
        kind=row["kind"],
        reported={
            "effective speed, tokens/s": float(row["eff"]),
            "acceptance, %": float(row["alpha"]),
            "waste, %": float(row["waste"]),
            "accepted per step": float(row["tau"]),
            "draft window": float(row["window"]),
            "draft speed, tokens/s": float(row["draft"]),
            "TTFT, ms": float(row["ttft"].replace(",", "")),
            "latency, ms": float(row["total"].replace(",", "")),
        },
    )


def run(session: BenchSession, tool: str, mode: str, sizes: Sizes) -> BenchRecord:
    """Run a program and return its result. Raises ServerError if it is missing or fails."""
    words = _COMMANDS[tool](session.endpoint, mode, sizes)
    session.on_progress(f"running {words[0]}")
    result = _RESULT if _RESULT in words else None
    try:
        return read(programs.output(words, result, key=session.endpoint.key, timeout_s=session.left_s))
    except programs.ProgramError as error:
        raise ServerError(str(error)) from None
    except ValueError as error:
        raise ServerError(f"the result of {words[0]} cannot be read: {error}") from None


def _vllm_command(endpoint: ApiEndpoint, mode: str, sizes: Sizes) -> tuple[str, ...]:
    """Return `vllm bench serve` as in section 10 of the Spark guide, with the times of each request."""
    alone = mode == "single"
    return (
        *("vllm", "bench", "serve", "--backend", "openai-chat", "--endpoint", "/v1/chat/completions"),
        *("--base-url", endpoint.url, "--model", endpoint.weights or endpoint.model),
        *("--served-model-name", endpoint.model, "--dataset-name", "random", "--ignore-eos"),
        *("--random-input-len", str(sizes.prompt_tokens or 1024)),
        *("--random-output-len", str(sizes.output_tokens or 256)),
        *("--num-prompts", "12" if alone else "100", "--num-warmups", "1"),
        *(("--max-concurrency", "1") if alone else ("--request-rate", "4")),
        *("--save-result", "--save-detailed", "--result-filename", _RESULT),
    )


def _benchy_command(endpoint: ApiEndpoint, mode: str, sizes: Sizes) -> tuple[str, ...]:  # noqa: ARG001  the form of _COMMANDS
    """Return llama-benchy with the sizes of most published results."""
    depths = ("0", "4096", "8192", "16384", "32768", "65536")
    fits = [each for each in depths if endpoint.max_model_len is None or int(each) + 4096 <= endpoint.max_model_len]
    return (
        *("llama-benchy", "--base-url", f"{endpoint.url}/v1", "--model", endpoint.model),
        *("--pp", str(sizes.prompt_tokens or 2048), "--tg", str(sizes.output_tokens or 128), "--depth", *fits),
    )


def _tool_eval_command(endpoint: ApiEndpoint, mode: str, sizes: Sizes) -> tuple[str, ...]:  # noqa: ARG001  the form of _COMMANDS
    """Return tool-eval-bench: its 15 short scenarios, or its test of speculative decoding."""
    kind = "--spec-bench" if mode == "speculation" else "--short"
    return ("tool-eval-bench", kind, "--base-url", endpoint.url, "--model", endpoint.model)


_COMMANDS: Final[dict[str, Callable[[ApiEndpoint, str, Sizes], tuple[str, ...]]]] = {
    "vllm-bench": _vllm_command,
    "llama-benchy": _benchy_command,
    "tool-eval-bench": _tool_eval_command,
}
