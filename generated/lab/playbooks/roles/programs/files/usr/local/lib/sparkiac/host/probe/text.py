"""Steps for servers that generate text."""

from __future__ import annotations

from typing import Any

from . import answers, metrics
from .http import NotServingError, RefusedError, Stream, WrongError, delta_of
from .session import CHAT, FIRST_TOKEN_S, GENERATES, Session, SkippedError, TraitError, skip_unless, wrong_if

COMPLETIONS = "/v1/completions"
FEWEST_DRAFTS = 20
"""With fewer drafted tokens, none accepted proves nothing."""
TRIES = 3
"""Wrong answers in a row that prove that two requests at once disturb each other."""


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
    """Check that the answer is not in the reasoning, and with a parser that no reasoning is in the answer."""
    choice = answered(session)
    if answers.is_cut(choice):
        session.only(*GENERATES)
        choice = session.ask({**answers.QUESTION, "max_tokens": 1024})
    wrong_if(answers.fault_of_split(choice, parser=session.promise["reasoning"]))
    skip_unless(not answers.is_cut(choice), "still reasoning after 1024 tokens")
    return "separated" if answers.parts_of(choice)[1] else "no reasoning beside the content"


def channel(session: Session) -> str:
    """Check that a streamed answer arrives as content. vLLM before pull request 40820 streamed it as reasoning."""
    session.only(*GENERATES)
    found = streamed(session)
    content, thought = ("".join(str(part[name] or "") for part in deltas(found)) for name in ("content", "reasoning"))
    if thought and not content.strip():
        skip_unless("length" not in ends(found), f"still reasoning after {answers.QUESTION['max_tokens']} tokens")
        raise WrongError(f"{CHAT}: the streamed answer is in the reasoning: {thought[-60:]!r}")
    return "a streamed answer is content"


def marks(session: Session) -> str:
    """Check that the content of no answer has tokens that structure prompts."""
    found = [answers.parts_of(choice)[0] for choice in (session.choice, session.called) if choice]
    found += [part["content"] for part in deltas(session.streamed)] if session.streamed else []
    skip_unless(found, "no answer to check")
    spliced = sorted({mark.group() for mark in answers.CONTROL.finditer(" ".join(str(text or "") for text in found))})
    if spliced:
        raise TraitError(f"{', '.join(spliced)} in the content: clients show it, and send it back in the next turn")
    return "none in the content"


def together(session: Session) -> str:
    """Check that two requests at once get the answers that each gets alone."""
    session.only(*GENERATES)
    skip_unless(not answers.is_cut(answered(session)), "still reasoning when asked alone")
    for _ in range(TRIES):
        found = session.ask_at_once([answers.QUESTION, answers.OTHER_QUESTION])
        fault = answers.fault_of_answer(found[0]) or answers.fault_of_answer(found[1], answers.OTHER_NUMBER)
        if fault is None:
            return "two requests at once get the answers that each gets alone"
    alone = answers.fault_of_answer(session.ask(answers.OTHER_QUESTION), answers.OTHER_NUMBER)
    skip_unless(alone is None and answers.fault_of_answer(session.ask(answers.QUESTION)) is None, "wrong alone as well")
    raise WrongError(
        f"{CHAT}: of two requests at once, one answer is wrong, {TRIES} times; alone, both are right: {fault}"
    )


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
    """Check that a streamed answer ends properly, with usage."""
    session.only(*GENERATES, "completion")
    found = streamed(session)
    wrong_if(fault_of_stream(found), path_of(session))
    return f"{tokens_of(found)} tokens, ends with usage and [DONE]"


def streamed(session: Session) -> Stream:
    """Return a streamed answer, which is requested once."""
    if session.streamed is None:
        body = answers.TEXT_TO_CONTINUE if session.kind == "completion" else answers.QUESTION
        wanted = {"model": session.model, **body, "stream_options": {"include_usage": True}}
        session.streamed = session.server.stream(path_of(session), wanted, within=session.within())
    return session.streamed


def deltas(found: Stream) -> list[dict[str, Any]]:
    """Return the new parts of each event of a stream."""
    return [delta_of(choice) for event in found.events for choice in event.get("choices") or []]


def ends(found: Stream) -> set[str]:
    """Return the reasons that a stream gives for its end."""
    named = (choice.get("finish_reason") for event in found.events for choice in event.get("choices") or [])
    return {reason for reason in named if reason}


def fault_of_stream(found: Stream) -> str | None:
    """Return why a stream is broken; None if it is not."""
    if not found.done:
        return f"the stream ended after {len(found.events)} events without [DONE]"
    text = "".join(str(part["content"] or part["reasoning"] or "") for part in deltas(found))
    if not ends(found):
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


def speed(session: Session) -> float:
    """Return the tokens/s of an answer of 256 tokens, the median of three; 0 for a server that has no chat."""
    if session.kind != "chat":
        return 0.0
    body = {"model": session.model, **answers.LONG_ANSWER, "stream_options": {"include_usage": True}}
    found = [session.server.stream(CHAT, body, within=session.within()) for _ in range(3)]
    return sorted(tokens_of(each) / each.seconds for each in found)[1]


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
