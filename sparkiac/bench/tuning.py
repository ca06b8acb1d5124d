"""Search for better options of a deployment: which changes to try, and which to keep.

One change is tried at a time, on top of those that were kept. A change is kept if the comparison with the best record
so far says faster. At the end the original options are measured again: a difference that is only due to a machine that
became warmer or busier does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from sparkiac import catalog, engines
from sparkiac.bench import comparison
from sparkiac.bench.comparison import Row
from sparkiac.engines import Engine
from sparkiac.model.bench import BenchRecord
from sparkiac.plan import Container
from sparkiac.report import Edit, Scalar

GOALS: Final = {"decode": "decode", "ttft": "TTFT", "throughput": "throughput"}
"""Value of --goal → quantity that must become better."""
_FACTORS: Final = (2, 0.5)
_UTILIZATION_STEP: Final = 0.05
_MOST_DRAFTS: Final = 16

Edits = tuple[Edit, ...]


class OptionChange(NamedTuple):
    """A change of one option."""

    option: str
    value: Scalar
    edits: Edits
    """The change of the inventory."""

    @property
    def text(self) -> str:
        """Return a description of the change."""
        return f"{self.option}: {self.value}"


class Trial(NamedTuple):
    """A change that was tried."""

    change: OptionChange
    record: BenchRecord | None
    reason: str
    """Why there is no record; empty if there is one."""
    row: Row | None
    """Comparison of this trial with the best record so far."""
    kept: bool


class Better(NamedTuple):
    """The end of a search."""

    edits: Edits
    """Changes that made the goal better; empty if none did."""
    row: Row | None
    """Comparison of the best record with the original options, measured again at the end."""


def changes(container: Container) -> tuple[OptionChange, ...]:
    """Return the changes to try: the most promising first. Empty for engines whose record names none."""
    options, engine = container.server.options, engines.named(container.server.engine)
    if not engine.batches:
        return ()
    found = [*_drafts(container), *_backends(container, engine)]
    for option in engine.batches:
        value = options.get(option)
        if isinstance(value, int):
            found += [_set(container, option, max(1, int(value * factor))) for factor in _FACTORS]
    share = options.get(engine.memory_share or "")
    if engine.memory_share is not None and isinstance(share, int | float):
        found += [_set(container, engine.memory_share, round(share + _UTILIZATION_STEP, 2))]
    return tuple(found)


def search(
    base: BenchRecord, listed: tuple[OptionChange, ...], goal: str, try_: Callable[[Edits], BenchRecord | str | None]
) -> Iterator[Trial]:
    """Try the changes and yield each trial.

    `try_` returns a record, or why there is none, or None to end the search.
    """
    best, kept = base, dict[str, Edits]()
    for change in listed:
        found = try_(joined({**kept, change.option: change.edits}))
        if found is None:
            return
        if isinstance(found, str):
            yield Trial(change, None, found, None, kept=False)
            continue
        row = goal_row(best, found, goal)
        better = row is not None and row.verdict == comparison.FASTER
        if better:
            best, kept[change.option] = found, change.edits
        yield Trial(change, found, "", row, better)


def result(trials: list[Trial], again: BenchRecord, goal: str) -> Better:
    """Return the changes to keep, compared with the original options measured again at the end."""
    kept = {trial.change.option: trial.change.edits for trial in trials if trial.kept}
    best = next((trial.record for trial in reversed(trials) if trial.kept), None)
    if best is None:
        return Better((), None)
    row = goal_row(again, best, goal)
    return Better(joined(kept) if row is not None and row.verdict == comparison.FASTER else (), row)


def goal_row(first: BenchRecord, second: BenchRecord, goal: str) -> Row | None:
    """Return the comparison of the quantity that must become better."""
    return next((row for row in comparison.compare(first, second).rows if row.quantity == GOALS[goal]), None)


def joined(kept: Mapping[str, Edits]) -> Edits:
    """Return the edits of several changes."""
    return tuple(edit for edits in kept.values() for edit in edits)


def _set(container: Container, option: str, value: Scalar) -> OptionChange:
    return OptionChange(option, value, (Edit((*container.path, "set", option), value),))


def _drafts(container: Container) -> Iterator[OptionChange]:
    """Return more and fewer drafted tokens. The settings of speculation are one value, so all are written."""
    given = container.server.speculative
    tokens = given.get("num_speculative_tokens") if given else None
    if given is None or not isinstance(tokens, int):
        return
    for value in (tokens + 1, tokens - 1):
        if 1 <= value <= _MOST_DRAFTS:
            settings = {**given, "num_speculative_tokens": value}
            edits = tuple(
                Edit((*container.path, "speculative", name), each)
                for name, each in settings.items()
                if isinstance(each, str | int | float)
            )
            yield OptionChange("num_speculative_tokens", value, edits)


def _backends(container: Container, engine: Engine) -> Iterator[OptionChange]:
    """Return the backends of the other variants of the recipe: those that a source used for this model."""
    recipe = (container.server.recipe or "").partition("#")[0]
    options = container.server.options
    seen = set()
    for name in catalog.variant_names(recipe) if recipe else ():
        entry = catalog.variant(recipe, name)
        settings = entry.value.set if entry and entry.value and entry.value.set else {}
        for option in engine.backends:
            value = settings.get(option)
            if isinstance(value, str) and value != options.get(option) and (option, value) not in seen:
                seen.add((option, value))
                yield _set(container, option, value)
