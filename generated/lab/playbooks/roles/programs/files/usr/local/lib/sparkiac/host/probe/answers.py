"""Requests for a model server, and checks of its answers."""

from __future__ import annotations

import math
import re
import unicodedata
from typing import Any

from ..contract import parsed

NUMBER, OTHER_NUMBER = "371", "864"
"""Known answers. A number with three digits is written in the same way in all languages."""
QUESTION_TEXT = "Repeat this number and say nothing else: "
TEXT_TO_CONTINUE = {"prompt": "One, two, three, four, five,", "max_tokens": 16, "temperature": 0}
TEXTS_TO_EMBED = ["The ship leaves the harbour at noon.", "A prime number has two divisors."]
SCHEMA = {
    "type": "object",
    "properties": {"number": {"type": "integer"}},
    "required": ["number"],
    "additionalProperties": False,
}
RUN = re.compile(r"(.{1,16}?)\1{3,}", re.DOTALL)
"""Up to 16 characters, about one token, repeated at least four times in a row."""
UNREADABLE = frozenset({"Cc", "Cn", "Co"})
MARKUP = re.compile(
    r"<tool_call>|<function=|\[TOOL_CALLS\]|<\|python_tag\|>|<\|tool_call|<minimax:tool_call>|<\uff5ctool"
    r"|\{\s*\"name\"\s*:\s*\"get_time\""
)
"""How families write a tool call; a parser of another family leaves it in the content."""
REASONING = re.compile(r"</?think(?:ing)?>|<\|channel\|?>|\[/?THINK\]|<\|begin_of_thought\|>|</?seed:think>")
"""How families mark reasoning; a parser of another family leaves it in the content."""
CONTROL = re.compile(
    r"</?think(?:ing)?>|<\|[a-z][a-z_]{1,30}\|>|<\uff5c[^\uff5c]{1,40}\uff5c>|</?s>|<(?:start|end)_of_turn>|\[/?INST\]"
)
"""Tokens that structure a prompt. Clients show them in a content, and send them back in the next turn."""
NO_TEMPLATE = re.compile("provide a chat template|chat_template is not set")
"""Messages of vLLM and Transformers for a base model, whose tokenizer has no chat template."""
NO_CHAT = re.compile(r'does not support Chat Completions|^\{"detail": ?"Not Found"\}$')
"""Messages of vLLM for a model that generates no text, such as an embedding model."""


FEW_BLANKS = 8
LONG_WORDS = 1200
"""Length of a prompt that fills several blocks of a prefix cache, in words."""


def request(content: Any, max_tokens: int, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """Return a chat request with one message."""
    return {"messages": [{"role": "user", "content": content}], "max_tokens": max_tokens, "temperature": 0, **more}


def tool_of(name: str, description: str, *texts: str) -> dict[str, Any]:
    """Return a tool whose arguments are texts."""
    schema = {"type": "object", "properties": {text: {"type": "string"} for text in texts}, "required": list(texts)}
    return {"name": name, "description": description, "parameters": schema}


def request_with(tool: dict[str, Any], text: str) -> dict[str, Any]:
    """Return a chat request with a tool."""
    return request(text, 256, tools=[{"type": "function", "function": tool}], tool_choice="auto")


TOOL = tool_of("get_time", "Get the time in a city.", "city")
NOTE = tool_of("save_note", "Save a note.", "title", "text")
QUESTION = request(QUESTION_TEXT + NUMBER, 128)
OTHER_QUESTION = request(QUESTION_TEXT + OTHER_NUMBER, 128)
LONG_ANSWER = request("Write the numbers from 1 to 1000 as digits, with a space after each.", 256)
QUESTION_FOR_TOOL = "What time is it in Paris? Use the tool get_time."
QUESTION_WITH_TOOLS = request_with(TOOL, QUESTION_FOR_TOOL)
QUESTION_WITH_STRINGS = request_with(
    NOTE, f'Use the tool save_note. The title is {NUMBER}, and the text is: He said "yes".'
)
QUESTION_WITH_SCHEMA = request(
    f"Write this number as JSON, with the key number: {NUMBER}",
    512,
    response_format={"type": "json_schema", "json_schema": {"name": "number", "schema": SCHEMA, "strict": True}},
)


def long_question(max_model_len: int | None) -> dict[str, Any]:
    """Return QUESTION after a long text, which takes at most half of the context."""
    words = min(LONG_WORDS, (max_model_len or LONG_WORDS * 8) // 8)
    text = " ".join(f"item {number}" for number in range(words // 2))
    return request(f"{text}\n\n{QUESTION_TEXT}{NUMBER}", 128)


def is_empty(text: str) -> bool:
    """Return whether a text is empty or a few blanks; many blanks are a repeated token."""
    return not text.strip() and len(text) < FEW_BLANKS


def is_repeated(text: str) -> bool:
    """Return whether more than half of a text is one token repeated."""
    words = " ".join(text.split()) + " "
    return 2 * max((len(run.group()) for run in RUN.finditer(words)), default=0) > len(words)


def is_unreadable(text: str) -> bool:
    """Return whether more than a tenth of a text is control characters, invalid bytes or unassigned code points."""
    readable = [each.isspace() or (each != "\ufffd" and unicodedata.category(each) not in UNREADABLE) for each in text]
    return 10 * readable.count(False) > len(text)


def fault_of_text(text: object) -> str | None:
    """Return why a text cannot be a proper answer to any request; None if it can."""
    if text is None:
        return "null answer"
    text = str(text)
    if is_empty(text):
        return "empty answer"
    if is_repeated(text) or not text.strip():
        return f"one token repeated: {text[:60]!r}"
    return f"unreadable text: {text[:60]!r}" if is_unreadable(text) else None


def parts_of(choice: dict[str, Any]) -> tuple[Any, Any]:
    """Return content and reasoning of a choice of a chat response."""
    message = choice.get("message") or {}
    return message.get("content"), message.get("reasoning") or message.get("reasoning_content")


def text_of(choice: dict[str, Any]) -> Any:  # noqa: ANN401 - JSON
    """Return the content of a choice, or its reasoning if that is all."""
    content, reasoning = parts_of(choice)
    return reasoning if reasoning and not str(content or "").strip() else content


def is_cut(choice: dict[str, Any]) -> bool:
    """Return whether max_tokens ended a response during the reasoning, so that nothing is proven wrong."""
    content, reasoning = parts_of(choice)
    return bool(reasoning) and not str(content or "").strip() and choice.get("finish_reason") == "length"


def fault_of_answer(choice: dict[str, Any], number: str = NUMBER) -> str | None:
    """Return why an answer to QUESTION is wrong; None if it is right, or if max_tokens ended it during reasoning."""
    text = text_of(choice)
    fault = fault_of_text(text)
    if fault or is_cut(choice) or number in str(text):
        return fault
    return f"wrong answer: {str(text)[:60]!r} instead of {number}"


def fault_of_split(choice: dict[str, Any], *, parser: bool) -> str | None:
    """Return why reasoning and content are not separated, which only a parser does; None if they are."""
    content, reasoning = parts_of(choice)
    if parser and REASONING.search(str(content or "")):
        return f"reasoning in the content: {str(content)[:60]!r}"
    if reasoning and not str(content or "").strip() and choice.get("finish_reason") == "stop":
        return "the whole answer is in the reasoning, and the content is empty"
    return None


def fault_of_call(choice: dict[str, Any]) -> str | None:
    """Return why a response to QUESTION_WITH_TOOLS cannot be used by a client; None if it can, also without a call."""
    content, _ = parts_of(choice)
    if choice.get("finish_reason") == "length":
        return None  # max_tokens may have cut the call
    if not functions_of(choice):
        return f"the tool call is in the content: {str(content)[:60]!r}" if MARKUP.search(str(content or "")) else None
    function = functions_of(choice)[0]
    arguments = arguments_of(function)
    if arguments is None:
        return f"the arguments of the tool call are not JSON: {str(function)[:100]!r}"
    known = function.get("name") == TOOL["name"] and "city" in arguments
    return None if known else f"wrong tool call: {str(function)[:100]!r}"


def functions_of(choice: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the functions that a response calls."""
    calls = (choice.get("message") or {}).get("tool_calls")
    found = [call.get("function") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    return [function if isinstance(function, dict) else {} for function in found]


def arguments_of(function: dict[str, Any]) -> dict[str, Any] | None:
    """Return the arguments of a call, which are an object as JSON text; None if they are not."""
    text = function.get("arguments")
    try:
        found = parsed(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def fault_of_thought(choice: dict[str, Any]) -> str | None:
    """Return what is wrong if a response has a tool call in its reasoning alone, where no client looks."""
    content, reasoning = parts_of(choice)
    ended = choice.get("finish_reason") != "length" and not str(content or "").strip() and not functions_of(choice)
    lost = ended and MARKUP.search(str(reasoning or ""))
    return f"the tool call is in the reasoning: {str(reasoning)[-60:]!r}" if lost else None


def fault_of_schema(choice: dict[str, Any]) -> str | None:
    """Return why a response to QUESTION_WITH_SCHEMA does not have the schema."""
    content, _ = parts_of(choice)
    try:
        found = parsed(content)
    except (TypeError, ValueError):
        return f"not JSON: {str(content)[:60]!r}"
    if not isinstance(found, dict) or list(found) != ["number"] or type(found["number"]) is not int:
        return f"not of the requested schema: {str(content)[:60]!r}"
    return None


def fault_of_vectors(vectors: list[Any], dimensions: int | None) -> str | None:
    """Return why vectors of two different texts are not embeddings."""
    lists = [vector for vector in vectors if isinstance(vector, list)]
    numbers = [[each for each in vector if type(each) in (int, float)] for vector in lists]
    if len(numbers) != len(TEXTS_TO_EMBED) or not all(numbers):
        return f"{len(numbers)} vectors for {len(TEXTS_TO_EMBED)} texts"
    if dimensions is not None and {len(each) for each in numbers} != {dimensions}:
        return f"{len(numbers[0])} dimensions instead of {dimensions}"
    if not all(math.isfinite(each) for vector in numbers for each in vector):
        return "a vector has values that are not numbers (NaN or infinite)"
    if any(len(set(vector)) == 1 for vector in numbers):
        return "all values of a vector are equal"
    return "different texts have the same vector" if numbers[0] == numbers[1] else None
