"""Requests for a model server, and checks of its answers. Needs only Python 3.8 or newer."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

NUMBER = "371"
"""The known answer. A number with three digits is written in the same way in all languages."""
QUESTION = {
    "messages": [{"role": "user", "content": f"Repeat this number and say nothing else: {NUMBER}"}],
    "max_tokens": 128,
    "temperature": 0,
}
TEXT_TO_CONTINUE = {"prompt": "One, two, three, four, five,", "max_tokens": 16, "temperature": 0}
TOOL = {
    "name": "get_time",
    "description": "Get the time in a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
QUESTION_WITH_TOOLS = {
    "messages": [{"role": "user", "content": "What time is it in Paris?"}],
    "tools": [{"type": "function", "function": TOOL}],
    "tool_choice": "auto",
    "max_tokens": 16,
    "temperature": 0,
}
RUN = re.compile(r"(.{1,16}?)\1{3,}", re.DOTALL)
"""Up to 16 characters, about one token, repeated at least four times in a row."""
UNREADABLE = frozenset({"Cc", "Cn", "Co"})
NO_TEMPLATE = re.compile("provide a chat template|chat_template is not set")
"""Messages of vLLM and Transformers for a base model, whose tokenizer has no chat template."""
NO_CHAT = re.compile(r'does not support Chat Completions|^\{"detail": ?"Not Found"\}$')
"""Messages of vLLM for a model that generates no text, such as an embedding model."""


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
    if not text.strip():
        return "empty answer"
    if is_repeated(text):
        return f"one token repeated: {text[:60]!r}"
    return f"unreadable text: {text[:60]!r}" if is_unreadable(text) else None


def fault_of_answer(choice: dict[str, Any]) -> str | None:
    """Return why an answer to QUESTION is wrong; None if it is right, or if max_tokens ended it during reasoning."""
    message = choice.get("message") or {}
    content, reasoning = message.get("content"), message.get("reasoning") or message.get("reasoning_content")
    reasons_only = bool(reasoning) and not str(content or "").strip()
    text = reasoning if reasons_only else content
    fault = fault_of_text(text)
    if fault or NUMBER in str(text) or (reasons_only and choice.get("finish_reason") == "length"):
        return fault
    return f"wrong answer: {str(text)[:60]!r} instead of {NUMBER}"
