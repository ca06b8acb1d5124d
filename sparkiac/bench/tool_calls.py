"""Requests with tools, and whether the response calls the right tool with the right arguments.

A wrong value, a missing call, and a call where none is needed are failures. Texts are compared without regard to case.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from sparkiac.bench import client
from sparkiac.bench.runner import BenchSession
from sparkiac.model import answers
from sparkiac.model.bench import ToolCase
from sparkiac.upstream.streaming import ServerError

_TIMEOUT_S: Final = 300
_MAX_TOKENS: Final = 2048
"""Maximum tokens of the reasoning before a call."""
_TEXT: Final = {"type": "string"}


def _tool(name: str, description: str, **properties: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


_TOOLS: Final = (
    _tool("get_weather", "Return the weather in a city.", city=_TEXT, unit={"enum": ["celsius", "fahrenheit"]}),
    _tool("get_time", "Return the local time in a city.", city=_TEXT),
    _tool("convert_money", "Convert an amount between two currencies, given as ISO codes.",
          amount={"type": "number"}, source=_TEXT, target=_TEXT),
    _tool("add_reminder", "Add a reminder.", text=_TEXT, hour={"type": "integer", "minimum": 0, "maximum": 23}),
)  # fmt: skip


class Call(NamedTuple):
    """A call that is expected. A text must contain the expected one; other values must be equal."""

    name: str
    arguments: dict[str, Any]


class Case(NamedTuple):
    """A request and the calls that it needs."""

    name: str
    prompt: str
    calls: tuple[Call, ...] = ()
    """Expected calls; empty if no tool fits or none is needed."""
    result: str | None = None
    """Result of the first call. If set, the request contains it, and the answer must repeat it without a call."""


CASES: Final = (
    Case("direct", "What time is it in Paris?", (Call("get_time", {"city": "paris"}),)),
    Case("one of several", "Is it raining in Lisbon? Use celsius.",
         (Call("get_weather", {"city": "lisbon", "unit": "celsius"}),)),
    Case("unit", "How warm is it in Tokyo, in Fahrenheit?",
         (Call("get_weather", {"city": "tokyo", "unit": "fahrenheit"}),)),
    Case("number", "How much are 250 euros in Japanese yen?",
         (Call("convert_money", {"amount": 250, "source": "eur", "target": "jpy"}),)),
    Case("decimal", "Convert 19.99 US dollars to Swiss francs.",
         (Call("convert_money", {"amount": 19.99, "source": "usd", "target": "chf"}),)),
    Case("hour", "Remind me at 6 in the evening to water the plants.",
         (Call("add_reminder", {"text": "water the plants", "hour": 18}),)),
    Case("quotes", 'Remind me at 9 in the morning to write "see you" to Zo\N{LATIN SMALL LETTER E WITH DIAERESIS}.',
         (Call("add_reminder", {"text": "see you", "hour": 9}),)),
    Case("two calls", "What time is it in Oslo, and what time is it in Lima?",
         (Call("get_time", {"city": "oslo"}), Call("get_time", {"city": "lima"}))),
    Case("no tool needed", "What is the opposite of the word hot? Answer with one word."),
    Case("no tool fits", "Delete the last message in my mailbox."),
    Case("use the result", "What time is it in Quito?", (Call("get_time", {"city": "Quito"}),), result="14:37"),
)  # fmt: skip


def measure(session: BenchSession, runs: int) -> Iterator[tuple[str, str | None]]:
    """Send each case several times; yield its name and the fault, or None if it passed."""
    for number in range(runs):
        for case in CASES:
            if session.left_s <= 0:
                return
            session.on_progress(f"round {number + 1} of {runs}: {case.name}")
            yield case.name, _fault(session, case)


def collected(found: list[tuple[str, str | None]]) -> tuple[ToolCase, ...]:
    """Return the results of each case."""
    faults: dict[str, list[str | None]] = {}
    for name, fault in found:
        faults.setdefault(name, []).append(fault)
    return tuple(
        ToolCase(
            name=name,
            passed=tuple(fault is None for fault in listed),
            fault=next((fault for fault in reversed(listed) if fault is not None), None),
        )
        for name, listed in faults.items()
    )


def fault(case: Case, message: dict[str, Any]) -> str | None:
    """Return what is wrong with a message; None if it is right."""
    calls = [each.get("function") or {} for each in message.get("tool_calls") or () if isinstance(each, dict)]
    expected = () if case.result is not None else case.calls
    if len(calls) != len(expected):
        return f"{len(calls)} calls, expected {len(expected)}"
    for call, wanted in zip(calls, expected, strict=True):
        if found := _wrong(call, wanted):
            return found
    if case.result is not None and case.result not in str(message.get("content") or ""):
        return "the answer does not contain the result of the call"
    return None


def _fault(session: BenchSession, case: Case) -> str | None:
    body: dict[str, Any] = {"messages": _messages(case), "tools": _TOOLS, "max_tokens": _MAX_TOKENS}
    if session.thinking is not None:
        body["chat_template_kwargs"] = {"enable_thinking": session.thinking}
    try:
        return fault(case, client.complete(session.endpoint, body, _TIMEOUT_S))
    except ServerError as error:
        return str(error)
    except (AttributeError, TypeError, RecursionError):
        return "the response is not a chat completion"


def _messages(case: Case) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": case.prompt}]
    if case.result is not None:
        call = case.calls[0]
        function = {"name": call.name, "arguments": json.dumps(call.arguments)}
        calls = [{"id": "call_0000001", "type": "function", "function": function}]
        messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        messages.append({"role": "tool", "tool_call_id": "call_0000001", "content": case.result})
    return messages


def _wrong(call: dict[str, Any], wanted: Call) -> str | None:
    name = call.get("name")
    if name != wanted.name:
        return f"another tool than {wanted.name} was called"
    try:
        arguments = answers.plain(call.get("arguments") or "")
    except (ValueError, TypeError):
        return "the arguments are not JSON"
    if not isinstance(arguments, dict):
        return "the arguments are not an object"
    for key, value in wanted.arguments.items():
        if not _equal(arguments.get(key), value):
            return f"argument {key} of {wanted.name} is wrong"
    return None


def _equal(found: object, wanted: object) -> bool:
    if isinstance(wanted, str):
        return isinstance(found, str) and wanted.casefold() in found.casefold()
    return not isinstance(found, bool) and found == wanted
