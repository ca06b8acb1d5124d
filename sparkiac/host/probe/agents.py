"""Steps for agents: tool calls over chat, and turns with a call over the paths that Claude Code and Codex use."""

from __future__ import annotations

from typing import Any

from . import answers
from .http import RefusedError, WrongError, as_object
from .session import GENERATES, Session, SkippedError, TraitError, skip_unless, wrong_if

MESSAGES, RESPONSES = "/v1/messages", "/v1/responses"
ASKED = {"role": "user", "content": answers.QUESTION_FOR_TOOL}
RESULT = f"It is {answers.NUMBER} minutes past noon."
"""What the tool returns."""


def tools(session: Session) -> str:
    """Send a request with tools, as agents do, and check a call. The model need not call the tool."""
    skip_unless(session.promise["clients"], "no client sends tools")
    session.may_ask()
    if session.kind in {"completion", "embedding"}:
        raise WrongError(f"clients send tools, and the server has no chat for them ({session.kind})")
    try:
        session.called = session.ask(answers.QUESTION_WITH_TOOLS)
    except RefusedError as refusal:
        raise WrongError(f"a request with tools is rejected: {refusal}") from None
    wrong_if(answers.fault_of_call(session.called))
    return "a request with tools is accepted"


def called(session: Session) -> dict[str, Any]:
    """Return the response to a request with tools, or skip the step if there is none."""
    if session.called is None:
        raise SkippedError("no answer to a request with tools")
    return session.called


def unclosed(session: Session) -> str:
    """Check that a call is not inside reasoning that the model did not close, where parsers do not look."""
    wrong_if(answers.fault_of_thought(called(session)))
    return "no call in the reasoning"


def call(session: Session) -> str:
    """Check that the model calls the tool if the answer needs it."""
    choice = called(session)
    if answers.calls_of(choice):
        return f"calls {answers.TOOL['name']}"
    skip_unless(not answers.is_cut(choice), f"still reasoning after {answers.QUESTION_WITH_TOOLS['max_tokens']} tokens")
    raise WrongError(f"no tool call: {str(answers.text_of(choice))[:60]!r}")


def strings(session: Session) -> str:
    """Check the arguments of a call whose strings have quotes or look like a number."""
    skip_unless(session.promise["clients"], "no client sends tools")
    session.only(*GENERATES)
    choice = session.ask(answers.QUESTION_WITH_STRINGS)
    calls = answers.calls_of(choice)
    skip_unless(calls and choice.get("finish_reason") != "length", "no tool call")
    arguments = answers.arguments_of(calls[0])
    if arguments is None:
        raise WrongError(f"the arguments of the tool call are not JSON: {str(calls[0])[:100]!r}")
    others = {name: value for name, value in arguments.items() if not isinstance(value, str)}
    if others:
        raise TraitError(f"the tool takes strings, and the call has {others!r}")
    return "the arguments are JSON, and their values are strings"


def messages(session: Session) -> str:
    """Check a turn with a call and one with its result as Claude Code sends them."""
    skip_unless("messages" in session.promise["clients"], f"no client uses {MESSAGES}")
    schema = {"name": answers.TOOL["name"], "input_schema": answers.TOOL["parameters"]}
    body = {"max_tokens": 512, "tools": [schema]}
    parts = turn(session, MESSAGES, "content", {**body, "messages": [ASKED]})
    found = part_of(parts, "tool_use")
    check_call(MESSAGES, found, found.get("id"), found.get("input"))
    result = {"type": "tool_result", "tool_use_id": found["id"], "content": RESULT}
    turns = [ASKED, {"role": "assistant", "content": parts}, {"role": "user", "content": [result]}]
    turn(session, MESSAGES, "content", {**body, "messages": turns})
    return "a tool call and its result are answered"


def responses(session: Session) -> str:
    """Check a turn with a call and one with its result as Codex sends them."""
    skip_unless("responses" in session.promise["clients"], f"no client uses {RESPONSES}")
    body = {"max_output_tokens": 512, "tools": [{"type": "function", **answers.TOOL}], "store": False}
    parts = turn(session, RESPONSES, "output", {**body, "input": [ASKED]})
    found = part_of(parts, "function_call")
    check_call(RESPONSES, found, found.get("call_id"), answers.object_of(found.get("arguments")))
    result = {"type": "function_call_output", "call_id": found["call_id"], "output": RESULT}
    turn(session, RESPONSES, "output", {**body, "input": [ASKED, *parts, result]})
    return "a tool call and its result are answered"


def turn(session: Session, path: str, key: str, body: dict[str, Any]) -> list[dict[str, Any]]:
    """Send a conversation, and return the parts of the answer, which its response has under a key."""
    session.only(*GENERATES)
    wanted = {"model": session.model, "temperature": 0, **body}
    parts = as_object(path, session.server.post(path, wanted, within=session.within())).get(key)
    if not isinstance(parts, list) or not parts or not all(isinstance(part, dict) for part in parts):
        raise WrongError(f"{path}: response has no {key}: {str(parts)[:60]!r}")
    return parts


def part_of(parts: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    """Return the first part of a kind, or skip the step if the model calls no tool."""
    found = [part for part in parts if part.get("type") == kind]
    skip_unless(found, "a request with tools is accepted, and the model calls none")
    return found[0]


def check_call(path: str, found: dict[str, Any], key: object, arguments: object) -> None:
    """Raise an error if a client cannot run a call, or refer to it."""
    if not key or not isinstance(arguments, dict) or "city" not in arguments:
        raise WrongError(f"{path}: wrong tool call: {str(found)[:100]!r}")
