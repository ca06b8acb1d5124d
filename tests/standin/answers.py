"""What the stand-in answers: a product when asked for one, a tool call when given tools."""

from __future__ import annotations

import json
import re
import time
import uuid
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

PRODUCT = re.compile(r"(\d+)\s*[*x\N{MULTIPLICATION SIGN}]\s*(\d+)")
NUMBER = re.compile(r"repeat this number\D*(\d+)", re.IGNORECASE)
FAULTY = {"garbage": "!" * 64, "repeating": " the" * 32, "null": "", "empty": "", "wrong": "forty-two"}
"""Behaviour → the text that is generated whatever was asked."""
UNLIMITED = 1 << 30
ACCEPTANCE = {"Python": 0.75, "JSON": 0.7}
"""Word in the prompt → share of drafted tokens that the stand-in accepts; 0.5 otherwise."""
GREETING = "Hello from sparkiac's engine stand-in, which is not vLLM."
REASONING = "The stand-in pretends to think about this."
QUOTES = '{"title": "371", "text": "He said "yes"."}'
"""Arguments of save_note whose quotes are not escaped."""
SAMPLES = {"string": "example", "integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}}


Json = dict[str, Any]
Spoiled = tuple[list[str], list[str], Json | None]


class Speaker(Protocol):
    """Who answers: the parsed arguments, the names of its model and its mood."""

    args: argparse.Namespace
    names: list[str]
    behaviour: str


class BadRequestError(Exception):
    """A request that vLLM answers with 400."""


def text_of(content: object) -> str:
    """Return the text of a message's content, which may be a list of parts."""
    if isinstance(content, list):
        return " ".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content or "")


def reply(prompt: str) -> str:
    """Return the answer to a prompt: the number to repeat, the last product in it, or a greeting."""
    if number := NUMBER.search(prompt):
        return number[1]
    products = PRODUCT.findall(prompt)
    if not products:
        return GREETING
    left, right = products[-1]
    return str(int(left) * int(right))


def tokens(text: str) -> list[str]:
    """Return the pieces that a text is generated and counted in."""
    return re.findall(r"\s*\S+", text)


def chosen_tool(request: Json, *, parser: str | None, automatic: bool) -> Json | None:
    """Return the tool that the answer calls, or None; refuse as vLLM does without a tool parser."""
    tools = request.get("tools") or []
    choice = request.get("tool_choice", "auto" if tools else "none")
    if not tools or choice is None or choice == "none":
        return None
    if choice == "auto" and not automatic:
        refusal = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
        raise BadRequestError(refusal)
    if choice != "auto" and not parser:
        refusal = f'tool_choice="{choice}" requires --tool-call-parser to be set'
        raise BadRequestError(refusal)
    if choice == "auto" and request["messages"][-1].get("role") == "tool":
        return None  # the tool has answered: now the model does
    named = choice["function"]["name"] if isinstance(choice, dict) else None
    functions = [tool["function"] for tool in tools if named in {None, tool["function"]["name"]}]
    if not functions:
        refusal = "The tool specified in `tool_choice` does not match any of the specified `tools`"
        raise BadRequestError(refusal)
    found: Json = functions[0]
    return found


def tool_arguments(function: Json) -> str:
    """Return arguments that satisfy the function's schema, as the JSON text that the API carries."""
    schema = function.get("parameters") or {}
    properties = schema.get("properties") or {}
    names = schema.get("required") or list(properties)
    return json.dumps({name: sample(properties.get(name) or {}) for name in names})


def sample(schema: Json) -> object:
    """Return a value of a property's type."""
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type")
    return SAMPLES.get(kind if isinstance(kind, str) else "string", "example")


def schema_of(request: Json) -> Json | None:
    """Return the JSON schema that restricts the answer."""
    wanted = request.get("response_format") or {}
    found: Json | None = (wanted.get("json_schema") or {}).get("schema")
    return found


def with_schema(schema: Json, prompt: str) -> str:
    """Return an object of a schema; integers are the last number of the prompt."""
    numbers = re.findall(r"\d+", prompt)
    properties = schema.get("properties") or {}
    found = {name: sample(each) for name, each in properties.items()}
    integers = [name for name, each in properties.items() if each.get("type") == "integer"]
    return json.dumps(found | {name: int(numbers[-1]) for name in integers if numbers})


def spoiled(behaviour: str, thought: list[str], pieces: list[str], tool: Json | None) -> Spoiled:
    """Return reasoning, content and called tool as a broken parser or template gives them to clients."""
    if tool and behaviour in {"raw-calls", "unclosed"}:
        call = json.dumps({"name": tool["name"], "arguments": json.loads(tool_arguments(tool))})
        if behaviour == "raw-calls":
            return [], tokens(f"<tool_call>{call}</tool_call>"), None
        return tokens(f"{REASONING} <tool_call>{call}</tool_call>"), [], None
    found = {
        "leak": ([], [f"<think>{REASONING}</think> ", *pieces]),
        "orphan": ([], ["</think>", *pieces]),
        "spliced": (thought, [*pieces, "<|im_end|>"]),
        "reasoned": ([*thought, *pieces], []),
        "reasoned-stream": ([*thought, *pieces], []),
    }
    return (*found.get(behaviour, (thought, pieces)), tool)


class Answer:
    """One answer, whole or in chunks."""

    def __init__(self, engine: Speaker, request: Json, *, chat: bool, tool: Json | None) -> None:
        """Decide what is said."""
        self.chat, self.tool, self.model = chat, tool, request.get("model") or engine.names[0]
        self.streamed = bool(request.get("stream"))
        self.with_usage = bool((request.get("stream_options") or {}).get("include_usage"))
        prompt = self._prompt(request)
        limit = request.get("max_completion_tokens") or request.get("max_tokens") or UNLIMITED
        faulty = FAULTY.get(engine.behaviour)
        if engine.behaviour == "odd" and NUMBER.search(prompt):  # the first answer to the probe is wrong
            engine.behaviour, faulty = "ok", FAULTY["garbage"]
        pieces = tokens(reply(prompt) if faulty is None else faulty)
        if request.get("ignore_eos") and pieces and limit != UNLIMITED:
            pieces = (pieces * (limit // len(pieces) + 1))[:limit]
        thinks = chat and not tool and engine.args.reasoning_parser and _thinking(engine.args, request)
        thought = tokens(REASONING) if thinks and faulty is None else []
        behaviour = "ok" if engine.behaviour == "reasoned-stream" and not self.streamed else engine.behaviour
        thought, pieces, tool = spoiled(behaviour, thought, pieces, tool)
        self.tool = tool
        if faulty is None and (schema := schema_of(request)):
            pieces = tokens(with_schema(schema, prompt))
        self.without_text = "" if engine.behaviour == "empty" else None
        self.reason = "length" if len(thought) + len(pieces) > limit else "stop"
        # Thinking uses the budget first: with few tokens, vLLM's content is null, and so is this.
        self.thought, self.pieces = thought[:limit], pieces[: max(0, limit - len(thought))]
        self.call = None
        if tool:
            self.reason = "tool_calls"
            told = QUOTES if engine.behaviour == "broken-arguments" and tool["name"] == "save_note" else None
            function = {"name": tool["name"], "arguments": told or tool_arguments(tool)}
            self.call = {"id": f"chatcmpl-tool-{uuid.uuid4().hex}", "type": "function", "function": function}
            self.pieces = []
        self.prompt_tokens = len(tokens(prompt))
        self.acceptance = next((share for word, share in ACCEPTANCE.items() if word in prompt), 0.5)
        self.generated_tokens = len(self.thought) + len(self.pieces) + (4 if tool else 0)
        self.head = {
            "id": f"{'chatcmpl' if chat else 'cmpl'}-{uuid.uuid4().hex[:16]}",
            "created": int(time.time()),
            "model": self.model,
        }

    @property
    def usage(self) -> dict[str, int]:
        """Return the token counts."""
        total = self.prompt_tokens + self.generated_tokens
        return {"prompt_tokens": self.prompt_tokens, "total_tokens": total,
                "completion_tokens": self.generated_tokens}  # fmt: skip

    def whole(self) -> Json:
        """Return the answer as one document."""
        text = "".join(self.pieces)
        choice: Json = {"index": 0, "logprobs": None, "finish_reason": self.reason, "stop_reason": None}
        if self.chat:
            choice["message"] = {
                "role": "assistant", "content": text or self.without_text, "refusal": None, "annotations": None,
                "audio": None, "function_call": None, "tool_calls": [self.call] if self.call else [],
                "reasoning": "".join(self.thought) or None,
            }  # fmt: skip
        else:
            choice["text"] = text
        kind = "chat.completion" if self.chat else "text_completion"
        return {**self.head, "object": kind, "choices": [choice], "usage": self.usage}

    def chunks(self) -> Iterator[Json]:
        """Yield the answer piece by piece, and the usage after it when it is asked for."""
        if self.chat:
            yield self._chunk({"role": "assistant", "content": ""})
        parts: list[Json] = [{"reasoning": piece} for piece in self.thought]
        parts += [{"content": piece} for piece in self.pieces]
        if self.call:
            parts.append({"tool_calls": [{"index": 0, **self.call}]})
        for position, part in enumerate(parts, 1):
            yield self._chunk(part, reason=self.reason if position == len(parts) else None)
        if self.with_usage:
            yield {**self._chunk({}), "choices": [], "usage": self.usage}

    def _chunk(self, delta: Json, *, reason: str | None = None) -> Json:
        said = {"delta": delta} if self.chat else {"text": delta.get("content", "")}
        choice = {"index": 0, **said, "logprobs": None, "finish_reason": reason}
        kind = "chat.completion.chunk" if self.chat else "text_completion"
        return {**self.head, "object": kind, "choices": [choice]}

    def _prompt(self, request: Json) -> str:
        if not self.chat:
            prompt = request["prompt"]
            return prompt if isinstance(prompt, str) else " ".join(map(str, prompt))
        return " ".join(text_of(message.get("content")) for message in request["messages"])


def _thinking(args: argparse.Namespace, request: Json) -> bool:
    settings = {**(args.default_chat_template_kwargs or {}), **(request.get("chat_template_kwargs") or {})}
    return bool(settings.get("enable_thinking", True))
