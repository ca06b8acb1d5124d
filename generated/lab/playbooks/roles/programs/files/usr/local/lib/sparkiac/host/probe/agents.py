"""Steps for agents: tool calls over chat, and turns with a call over the paths that Claude Code and Codex use."""

from __future__ import annotations

from typing import Any

from . import answers
from .http import RefusedError, WrongError, as_object
from .session import GENERATES, Session, TraitError, skip_unless, wrong_if

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


def unclosed(session: Session) -> str:
    """Check that a call is not inside reasoning that the model did not close, where parsers do not look."""
    skip_unless(session.called, "no answer to a request with tools")
    wrong_if(answers.fault_of_thought(session.called))
    return "no call in the reasoning"


def call(session: Session) -> str:
    """Check that the model calls the tool if the answer needs it."""
    skip_unless(session.called, "no answer to a request with tools")
    if answers.functions_of(session.called):
        return f"calls {answers.TOOL['name']}"
    limit = answers.QUESTION_WITH_TOOLS["max_tokens"]
    skip_unless(not answers.is_cut(session.called), f"still reasoning after {limit} tokens")
    raise WrongError(f"no tool call: {str(answers.text_of(session.called))[:60]!r}")


def strings(session: Session) -> str:
    """Check the arguments of a call whose strings have quotes or look like a number."""
    skip_unless(session.promise["clients"], "no client sends tools")
    session.only(*GENERATES)
    choice = session.ask(answers.QUESTION_WITH_STRINGS)
    functions = answers.functions_of(choice)
    skip_unless(functions and choice.get("finish_reason") != "length", "no tool call")
    arguments = answers.arguments_of(functions[0])
    if arguments is None:
        # A model can write wrong JSON by itself, but no model writes an object where the API has a text.
        fault = TraitError if isinstance(functions[0].get("arguments"), str) else WrongError
        raise fault(f"the arguments of the tool call are not JSON: {str(functions[0])[:100]!r}")
    others = {name: value for name, value in arguments.items() if not isinstance(value, str)}
    if others:
        raise TraitError(f"the tool takes strings, and the call has {others!r}")
    return "the arguments are JSON, and their values are strings"


def messages(session: Session) -> str:
    """Check a turn with a call and one with its result as Claude Code sends them."""
    body = {"max_tokens": 256, "tools": [{"name": answers.TOOL["name"], "input_schema": answers.TOOL["parameters"]}]}
    parts = turn(session, "messages", "content", {**body, "messages": [ASKED]})
    found = call_among(parts, "tool_use", "id")
    result = {"type": "tool_result", "tool_use_id": found["id"], "content": RESULT}
    turns = [ASKED, {"role": "assistant", "content": parts}, {"role": "user", "content": [result]}]
    turn(session, "messages", "content", {**body, "messages": turns})
    return "a tool call and its result are answered"


def responses(session: Session) -> str:
    """Check a turn with a call and one with its result as Codex sends them."""
    body = {"max_output_tokens": 256, "tools": [{"type": "function", **answers.TOOL}], "store": False}
    parts = turn(session, "responses", "output", {**body, "input": [ASKED]})
    found = call_among(parts, "function_call", "call_id")
    result = {"type": "function_call_output", "call_id": found["call_id"], "output": RESULT}
    turn(session, "responses", "output", {**body, "input": [ASKED, *parts, result]})
    return "a tool call and its result are answered"


def turn(session: Session, client: str, key: str, body: dict[str, Any]) -> list[dict[str, Any]]:
    """Send a conversation as a client does, and return the parts of the answer, which its response has under a key."""
    path = f"/v1/{client}"
    skip_unless(client in session.promise["clients"], f"no client uses {path}")
    session.only(*GENERATES)
    wanted = {"model": session.model, "temperature": 0, **body}
    parts = as_object(path, session.server.post(path, wanted, within=session.within())).get(key)
    if not isinstance(parts, list) or not parts or not all(isinstance(part, dict) for part in parts):
        raise WrongError(f"{path}: response has no {key}: {str(parts)[:60]!r}")
    return parts


def call_among(parts: list[dict[str, Any]], kind: str, key: str) -> dict[str, Any]:
    """Return the call among the parts of an answer, or skip the step if the model calls no tool."""
    found = [part for part in parts if part.get("type") == kind]
    skip_unless(found, "a request with tools is accepted, and the model calls none")
    arguments = answers.arguments_of(found[0]) if kind == "function_call" else found[0].get("input")
    if not found[0].get(key) or not isinstance(arguments, dict) or "city" not in arguments:
        raise WrongError(f"wrong tool call: {str(found[0])[:100]!r}")
    return found[0]
