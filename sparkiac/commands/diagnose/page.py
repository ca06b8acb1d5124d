"""A diagnosis as text for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from sparkiac.formats import terminal
from sparkiac.formats.findings import titles
from sparkiac.report.characters import escaped_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import RenderableType

    from sparkiac.commands.diagnose.proposal import Proposal
    from sparkiac.fleet.diagnosis import Diagnosis, LogState
    from sparkiac.fleet.diagnosis.lines import EngineError, LogLine
    from sparkiac.fleet.diagnosis.matching import Occurrence

_COLOURS: Final = {"error": "red", "warning": "yellow", "info": "cyan"}
_NOT_KNOWN: Final = (
    "Search for it in the issues of the engine, together with the release.",
    "If the server fails while it starts: `sparkiac diagnose --bisect` writes the configurations that find the option.",
)


def page(found: Diagnosis) -> Iterator[RenderableType]:
    """Return problems with their causes, an unknown error, notes, and what is known about each start."""
    yield from (part for state in found.states for part in _head(state, found))
    starts = {state.log.name: state.log.starts for state in found.states}
    for seen in found.problems:
        yield from _symptom(seen, starts)
    if found.unknown is not None:
        yield from _unknown(found.unknown)
    notes = [each for each in found.seen if each not in found.problems]
    if notes:
        yield terminal.heading("Also in the log, often normal")
        yield terminal.grid((f"{each.symptom.code}", _note(each)) for each in notes)
    yield from (part for state in found.states for part in _markers(state, several=len(found.states) > 1))
    if not found.failed:
        yield Text("\nNo problem found.")
        yield from (part for state in found.states for part in _last(state))


def change(proposal: Proposal, *, file: str, written: bool) -> Iterator[RenderableType]:
    """List what is already done, what is refused and why, and the diff last: `git apply` then accepts this output."""
    for code in proposal.done:
        yield Text(f"\n{code}: {file} already has the change; apply it, or read a newer log.")
    for code, reason in proposal.refused:
        yield Text(f"\n{code}: {file} is not changed: {reason}.")
    if proposal.diff:
        how = "changed" if written else "change it with --write, or pipe this output to `git apply`"
        yield terminal.heading(f"Change for {', '.join(proposal.codes)} in {file}: {how}")
        yield terminal.Verbatim(proposal.diff.rstrip("\n"))


def _head(state: LogState, found: Diagnosis) -> Iterator[RenderableType]:
    log = state.log
    facts = [f"vLLM {found.server.release}" if found.server.release else "", *found.server.models[:1]]
    starts = f"{log.starts} starts" if log.starts > 1 else ""
    cut = "only the end was read" if log.cut else ""
    parts = (*(facts if state.is_server else ()), starts, cut, _progress(state) if state.is_server else "")
    text = ", ".join(filter(None, parts)) or f"{len(log.lines)} lines"
    yield Text(escaped_line(f"{log.name}: {text}"), style="bold")


def _progress(state: LogState) -> str:
    if state.ended:
        return "was ready, then ended"
    return "ready" if state.ready else "not ready"


def _symptom(seen: Occurrence, starts: Mapping[str, int]) -> Iterator[RenderableType]:
    symptom = seen.symptom
    yield Text.assemble(
        "\n", (seen.severity, _COLOURS[seen.severity]), f" {symptom.code} {symptom.slug}: {symptom.title}"
    )
    for line in seen.lines:
        if line.start < starts[line.log]:
            yield Text(f"  in start {line.start} of {starts[line.log]}:")
        yield _line(line)
    if seen.times > len(seen.lines):
        yield Text(f"  {seen.times} such lines in all")
    rows = [("note:", each.text) for each in seen.differences]
    rows += [("cause:", symptom.cause), ("remedy:", symptom.remedy[0]), *(("", step) for step in symptom.remedy[1:])]
    yield terminal.grid(rows)
    rule = f"{symptom.rule} finds it in the inventory; " if symptom.rule else ""
    yield Text(f"  see: {rule}sparkiac rules explain {symptom.code}")
    yield Text(f"  source: {'; '.join(dict.fromkeys(titles(each) for each in symptom.sources))}", style="dim")
    for found in seen.consequences:
        yield Text(f"  comes with it: {found.symptom.code} {found.symptom.slug}, {_place(found.lines[0])}")


def _unknown(error: EngineError) -> Iterator[RenderableType]:
    yield Text.assemble("\n", ("error", "red"), ": no known symptom; the first error of the engine is")
    if error.frame is not None:
        yield _line(error.frame)
    yield _line(error.line)
    yield Text("  what to do:")
    yield terminal.bullets(_NOT_KNOWN)


def _note(seen: Occurrence) -> str:
    times = f", {seen.times} lines" if seen.times > 1 else ""
    other = "".join(f"; {each.text}" for each in seen.differences if each.excludes)
    return f"{seen.symptom.title} ({_place(seen.lines[0])}{times}){other}"


def _line(line: LogLine) -> RenderableType:
    return terminal.Verbatim(f"  {_place(line)}: {line.shown}")


def _place(line: LogLine) -> str:
    at = f" at {line.at[:19]}" if line.at else ""
    return f"{escaped_line(line.log)}:{line.number}{at}"


def _markers(state: LogState, *, several: bool) -> Iterator[RenderableType]:
    if state.markers:
        yield terminal.heading(f"The start in {escaped_line(state.log.name)}" if several else "The start")
        yield terminal.grid((each.name, escaped_line(each.value)) for each in state.markers)


def _last(state: LogState) -> Iterator[RenderableType]:
    if state.is_server and not state.ready and state.last is not None:
        yield Text("The server is not ready yet. The last line of the engine:")
        yield _line(state.last)
