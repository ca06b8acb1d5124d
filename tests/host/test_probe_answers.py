"""What the probe makes of an answer: pure functions, with answers as servers gave them and as broken ones give them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sparkiac.host.probe import http as probe_http

if TYPE_CHECKING:
    from types import ModuleType

THOUGHT = "The user wants me to repeat a number. I only have to say it, without anything else. So"


def choice(content: object = None, *, reason: str = "stop", **more: object) -> dict[str, Any]:
    return {"message": {"role": "assistant", "content": content, **more}, "finish_reason": reason}


@pytest.mark.parametrize(
    "answer",
    [
        choice("371"),
        choice("\n\nSure! The number is **371**."),
        choice("371", reasoning=THOUGHT),
        choice(None, reasoning=f"{THOUGHT} 371"),  # a parser that takes everything for reasoning
        choice("", reasoning_content=f"{THOUGHT} 371"),  # vLLM 0.15.1
        choice(f"<think>Repeat 371. {THOUGHT}", reason="length"),  # no parser
        choice(None, reasoning=THOUGHT, reason="length"),  # no tokens left for the answer
        choice("", reasoning_content=THOUGHT, reason="length"),
    ],
)
def test_these_are_right_or_not_proven_wrong(answers: ModuleType, answer: dict[str, Any]) -> None:
    assert answers.fault_of_answer(answer) is None


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (choice(None), "null answer"),
        ({"message": None}, "null answer"),
        ({}, "null answer"),
        (choice(None, reasoning=None, reason="length"), "null answer"),
        (choice(""), "empty answer"),
        (choice(" \n\t"), "empty answer"),
        (choice(None, reasoning="\n" * 128, reason="length"), "one token repeated: "),  # random weights in vLLM 0.23.0
        (choice("!!!!"), "one token repeated: '!!!!'"),
        (choice("!" * 128, reason="length"), f"one token repeated: {'!' * 60!r}"),
        (choice("the the the the the"), "one token repeated: 'the the the the the'"),
        (choice("371" * 40), "one token repeated: "),
        (choice("371 " + "!" * 40), "one token repeated: "),
        (choice("的" * 30), "one token repeated: "),
        (choice("\n".join(["0"] * 20)), "one token repeated: "),
        (choice(None, reasoning="!" * 128, reason="length"), "one token repeated: "),
        (choice("!!!!", reasoning=f"{THOUGHT} 371"), "one token repeated: "),
        (choice("\ufffd\no}"), r"unreadable text: '�\no}'"),  # weights that were never trained
        (choice(None, reasoning="\ufffd\no}\x03", reason="length"), "unreadable text: "),
        (choice("Hello! How can I help?"), "wrong answer: 'Hello! How can I help?' instead of 371"),
        (choice("I am at a loss", reason="length"), "wrong answer: "),
        (choice(None, reasoning=THOUGHT), "wrong answer: "),  # it ended by itself
    ],
)
def test_these_are_wrong(answers: ModuleType, answer: dict[str, Any], fault: str) -> None:
    assert answers.fault_of_answer(answer).startswith(fault)


@pytest.mark.parametrize(
    "text",
    [
        " six, seven, eight, nine, ten, eleven",
        "------\n| 371 |\n------\nthat is the number you asked me for",
        "Hmm... the number is three hundred and seventy-one, I think",
        "👩‍💻 🙂 \ufffd emoji that ends in the middle",
        "Die Zahl lautet dreihunderteinundsiebzig",
        "no no no, I will think about that again",
    ],
)
def test_a_text_of_a_working_model(answers: ModuleType, text: str) -> None:
    assert answers.fault_of_text(text) is None


def test_control_characters_of_an_answer_are_shown_as_escapes(answers: ModuleType) -> None:
    assert answers.fault_of_answer(choice("\x1b]0;x\x07 and more words \u202e")).isprintable()


def test_the_cost_of_a_long_answer_is_small(answers: ModuleType) -> None:
    text = "".join(f"{number} " for number in range(100_000))
    assert answers.fault_of_text(text) is None


@pytest.mark.parametrize("deep", ["[" * 60_000, "[" * 500 + "]" * 500, '{"a":' * 20_000])
def test_an_answer_that_is_nested_deeply_is_a_wrong_answer(answers: ModuleType, deep: str) -> None:
    """Python raises RecursionError for it, or later for its parts."""
    assert answers.fault_of_schema(choice(deep)).startswith("not JSON: ")
    call = {"id": "1", "type": "function", "function": {"name": "get_time", "arguments": deep}}
    assert answers.fault_of_call(choice(None, tool_calls=[call])).startswith("the arguments of the tool call are not ")
    http = probe_http
    with pytest.raises(http.WrongError, match="/v1/models: response is not a JSON object"):
        http.as_object("/v1/models", deep.encode())
