"""Steps for servers that generate text."""

from __future__ import annotations

from typing import Any

from . import answers, metrics
from .http import NotServingError, RefusedError, Stream, WrongError, delta_of
from .session import CHAT, FIRST_TOKEN_S, GENERATES, Session, SkippedError, skip_unless, wrong_if

COMPLETIONS = "/v1/completions"
FEWEST_DRAFTS = 20
"""With fewer drafted tokens, none accepted proves nothing."""


def content(session: Session) -> str:
    """Request the known answer and check that it is neither null nor empty."""
    session.only(*GENERATES)
    try:
        session.choice = session.ask(answers.QUESTION)
    except RefusedError as refusal:
        ask_otherwise(session, refusal)
    text = said(session)
    if text is None or answers.is_empty(str(text)):
        session.stopped = session.stopped or "no answer to check"
        session.choice = None
        raise WrongError(f"{path_of(session)}: {answers.fault_of_text(text)}")
    return f"{len(str(text))} characters"


def ask_otherwise(session: Session, refusal: RefusedError) -> None:
    """Request a text completion of a base model, or embeddings of a model without text, if the plan allows them."""
    if session.kind == "chat":
        raise refusal
    if answers.NO_CHAT.search(refusal.text):
        session.kind = "embedding"
        raise SkippedError("the server has no chat endpoint")
    if not answers.NO_TEMPLATE.search(refusal.text):
        raise refusal
    session.kind = "completion"
    session.choice = session.ask(answers.TEXT_TO_CONTINUE, path=COMPLETIONS)


def said(session: Session) -> Any:  # noqa: ANN401 - JSON
    """Return the text of the answer."""
    choice = session.choice or {}
    return choice.get("text") if session.kind == "completion" else answers.text_of(choice)


def path_of(session: Session) -> str:
    """Return the path that the answer came from."""
    return COMPLETIONS if session.kind == "completion" else CHAT


def answered(session: Session) -> dict[str, Any]:
    """Return the answer, or skip the step if there is none."""
    if session.choice is None:
        session.may_ask()
        raise SkippedError("no answer to check")
    return session.choice


def readable(session: Session) -> str:
    """Check that the answer is not garbage or one token repeated."""
    answered(session)
    wrong_if(answers.fault_of_text(said(session)), path_of(session))
    return repr(str(said(session))[:40])


def answer(session: Session) -> str:
    """Check that the answer is the known one. The continuation of a base model is not known."""
    choice = answered(session)
    skip_unless(session.kind != "completion", "a base model may continue the text in any way")
    wrong_if(answers.fault_of_answer(choice), CHAT)
    if answers.is_cut(choice):
        return f"not wrong: still reasoning after {answers.QUESTION['max_tokens']} tokens"
    return f"contains {answers.NUMBER}"


def reasoning(session: Session) -> str:
    """Check that the parser separates the reasoning from the content."""
    skip_unless(session.promise["reasoning"], "no reasoning parser")
    choice = answered(session)
    if answers.is_cut(choice):
        session.only(*GENERATES)
        choice = session.ask({**answers.QUESTION, "max_tokens": 1024})
    wrong_if(answers.fault_of_split(choice))
    skip_unless(not answers.is_cut(choice), "still reasoning after 1024 tokens")
    return "separated" if answers.parts_of(choice)[1] else "the model did not reason"


def tools(session: Session) -> str:
    """Send a request with tools, as agents do, and check a call. The model need not call the tool."""
    skip_unless("tools" in session.promise["clients"], "no client sends tools")
    session.may_ask()
    if session.kind in {"completion", "embedding"}:
        raise WrongError(f"clients send tools, and the server has no chat for them ({session.kind})")
    try:
        session.called = session.ask(answers.QUESTION_WITH_TOOLS)
    except RefusedError as refusal:
        raise WrongError(f"a request with tools is rejected: {refusal}") from None
    wrong_if(answers.fault_of_call(session.called))
    return "a request with tools is accepted"


def call(session: Session) -> str:
    """Check that the model calls the tool if the answer needs it."""
    if session.called is None:
        raise SkippedError("no answer to a request with tools")
    if (session.called.get("message") or {}).get("tool_calls"):
        return f"calls {answers.TOOL['name']}"
    if answers.is_cut(session.called):
        raise SkippedError(f"still reasoning after {answers.QUESTION_WITH_TOOLS['max_tokens']} tokens")
    raise WrongError(f"no tool call: {str(answers.text_of(session.called))[:60]!r}")


def structured(session: Session) -> str:
    """Check that an answer can be restricted to a JSON schema."""
    skip_unless(session.promise["structured"], "not promised")
    session.only(*GENERATES)
    body = answers.QUESTION_WITH_SCHEMA
    choice = session.ask(body)
    skip_unless(not answers.is_cut(choice), f"still reasoning after {body['max_tokens']} tokens")
    wrong_if(answers.fault_of_schema(choice))
    return str(answers.parts_of(choice)[0])[:40]


def stream(session: Session) -> str:
    """Check that a streamed answer ends properly, with usage, and that its first token comes in time."""
    if session.kind == "completion":
        session.may_ask()
        path, body = COMPLETIONS, answers.TEXT_TO_CONTINUE
    else:
        session.only(*GENERATES)
        path, body = CHAT, answers.QUESTION
    wanted = {"model": session.model, **body, "stream_options": {"include_usage": True}}
    session.streamed = session.server.stream(path, wanted, within=session.within())
    wrong_if(fault_of_stream(session.streamed), path)
    return f"{tokens_of(session.streamed)} tokens, ends with usage and [DONE]"


def fault_of_stream(found: Stream) -> str | None:
    """Return why a stream is broken; None if it is not."""
    if not found.done:
        return f"the stream ended after {len(found.events)} events without [DONE]"
    choices = [choice for event in found.events for choice in event.get("choices") or []]
    parts = [delta_of(choice) for choice in choices]
    text = "".join(str(part["content"] or part["reasoning"] or "") for part in parts)
    if not any(choice.get("finish_reason") for choice in choices):
        return "the stream has no finish_reason"
    if not tokens_of(found):
        return "the stream has no usage"
    return answers.fault_of_text(text)


def tokens_of(found: Stream) -> int:
    """Return the generated tokens that the usage at the end of a stream states."""
    usages = [event["usage"] for event in found.events if event.get("usage")]
    return int(usages[-1].get("completion_tokens") or 0) if usages else 0


def latency(session: Session) -> str:
    """Check the time to the first token of the streamed answer."""
    found = session.streamed
    if found is None:
        raise SkippedError("no streamed answer")
    if found.first_s > FIRST_TOKEN_S:
        raise NotServingError(f"first token after {found.first_s:.1f} s; the limit is {FIRST_TOKEN_S} s")
    rest = found.seconds - found.first_s
    rate = f", then {(tokens_of(found) - 1) / rest:.1f} tokens/s" if rest > 0 and tokens_of(found) > 1 else ""
    return f"first token after {found.first_s:.2f} s{rate}"


def repeated(session: Session) -> str:
    """Send a long prompt twice, and report how many of its tokens the prefix cache had."""
    session.only(*GENERATES)
    body = answers.long_question(session.promise["max_model_len"])
    before = metrics.sums(session.metrics())
    for _ in range(2):
        wrong_if(answers.fault_of_text(answers.text_of(session.ask(body))), f"{CHAT}: a long prompt")
    session.moved = metrics.growth(before, metrics.sums(session.metrics()))
    queries, hits = (session.moved.get(name) for name in (metrics.QUERIES, metrics.HITS))
    if not queries:
        return "two equal long prompts are answered; the server reports no prefix cache"
    return f"prefix cache: {hits or 0:.0f} of {queries:.0f} tokens ({(hits or 0) / queries:.0%}) of two equal prompts"


def speculation(session: Session) -> str:
    """Check that drafted tokens are accepted, in the requests of this run."""
    skip_unless(session.promise["speculative"], "no drafter")
    drafted, accepted = (session.moved.get(name) for name in (metrics.DRAFTED, metrics.ACCEPTED))
    if drafted is None or accepted is None:
        raise SkippedError("the server reports no drafted tokens")
    if drafted >= FEWEST_DRAFTS and not accepted:
        raise WrongError(f"none of {drafted:.0f} drafted tokens was accepted")
    share = f" ({accepted / drafted:.0%})" if drafted else ""
    return f"{accepted:.0f} of {drafted:.0f} drafted tokens accepted{share}"
