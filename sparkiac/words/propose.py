"""Settings with which deployments fit beside each other, and placements of wishes, as pages and as plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from typing import Final

from sparkiac.fix.fitting import Fitted, Shortage
from sparkiac.fix.placing import ProposedInventory, SearchOutcome
from sparkiac.memory.budget import reserve
from sparkiac.memory.values import Unknown, known_bytes, least_bytes
from sparkiac.plan import Plan, memory_use
from sparkiac.plan.memory_use import DeploymentMemory
from sparkiac.plan.numbers import count, figure, gib, span, unknown
from sparkiac.words.page import (
    BAD,
    Blocks,
    Data,
    Row,
    Table,
    Verbatim,
    bullets,
    counted,
    grid,
    heading,
    line,
    names,
    plain,
    ranges,
    stacked,
    table,
)

_FIGURES: Final = ("share of the memory", "context", "KV cache", "tokens in the KV cache", "requests of full length")
_BY_HAND: Final = (
    "Write the deployment into the inventory by hand and run sparkiac lock, which reads it from the model hub; "
    "sparkiac plan then shows the smallest share of each."
)
_TURNS: Final = "or let them take turns (docs/turns.md)"


def fitted(found: Fitted, new: str) -> Blocks:
    """Return what each deployment loses, and the order in which they start."""
    after, changed = _accounts(found.plan), _changed(found)
    yield "The memory is too small for what the recipes ask for. With these settings they fit:"
    yield _losses(found, changed, new)
    unsure = {name: after[name].fit for name in changed}
    yield from (f"{name}: {unknown(fit)}" for name, fit in unsure.items() if isinstance(fit, Unknown))
    yield heading("They start in this order; vLLM gives up if its share is not free:")
    yield grid(
        (f"{each['host']}: {each['name']}", f"needs {gib(each['needs_bytes'])}", f"of {gib(each['free_bytes'])} free")
        for each in _starts(found.plan, changed)
    )
    yield ""


def _changed(found: Fitted) -> list[str]:
    before, after = _accounts(found.asked), _accounts(found.plan)
    return [name for name in after if _figures(before[name]) != _figures(after[name])]


def _losses(found: Fitted, changed: Collection[str], new: str) -> Table:
    """Return the figures of deployments before and after."""
    before, after, rows = _accounts(found.asked), _accounts(found.plan), list[Row]()
    for name in changed:
        rows.append((f"{name} (new)" if name == new else name, "", ""))
        pairs = zip(_FIGURES, _figures(before[name]), _figures(after[name]), strict=True)
        rows += ((f"  {what}", old, now) for what, old, now in pairs if old or now)
    return table(("", "before", "after"), rows, right=("before", "after"))


def fitted_data(found: Fitted) -> Data:
    """Return {"deployments": [{name, before, after}], "starts": [{host, name, needs_bytes, free_bytes}]}."""
    both = {name: (_accounts(found.asked)[name], after) for name, after in _accounts(found.plan).items()}
    losses = [{"name": name, "before": _data(before), "after": _data(after)} for name, (before, after) in both.items()]
    return {"deployments": losses, "starts": list(_starts(found.plan, both))}


def short(found: Shortage | Unknown, nearest: str | None) -> Blocks:
    """Return what is missing, and what would fit."""
    if isinstance(found, Unknown):
        missing = ", ".join(dict.fromkeys(found.missing))
        yield f"No shares can be proposed, because this is unknown: {missing}. {_BY_HAND}"
        return
    least = ", ".join(f"{name} {gib(size)}" for name, size in found.least_bytes)
    missing = f"{gib(found.missing_bytes)} are missing on {found.where}"
    yield f"{missing}, even with the smallest shares and the shortest contexts: {least}."
    yield f"Nearest: {nearest}, {_TURNS}." if nearest else f"No recipe fits beside them: use another host, {_TURNS}."


def proposals(found: SearchOutcome) -> Blocks:
    """Return each proposal with its speeds and its inventory, and what was examined and left out."""
    for number, each in enumerate(found.proposals, 1):
        yield heading(f"{number}. {_title(each)}")
        yield grid(_rows(each))
        new = {part.wish.name for part in each.placing.parts}
        if losing := [name for name in _changed(each.fitted) if name not in new]:
            yield f"Changed for it: {names(losing)}"
            yield _losses(each.fitted, losing, "")
        yield ""
        yield Verbatim(each.fitted.text)
    for name, why in found.unmet.items():
        yield line((name, BAD), f": {why}")
    yield from _examined(found)


def proposals_data(found: SearchOutcome) -> Data:
    """Return {"proposals": [{deployments, turns, inventory}], "examined", "placements", "unmet", "left_out"}."""
    return {
        "proposals": [
            {"deployments": _speeds(each), "turns": plain(each.placing.turns), "inventory": each.fitted.text}
            for each in found.proposals
        ],
        "examined": {name: len(chosen) + len(found.cut[name]) for name, chosen in found.chosen.items()},
        "placements": found.placings,
        "unmet": dict(found.unmet),
        "left_out": {name: dict(cut) for name, cut in found.cut.items()},
        "dropped": list(found.dropped),
    }


def _title(each: ProposedInventory) -> str:
    turns = each.placing.turns
    if turns:
        return f"in turns, because they do not fit together: {'; '.join(map(names, turns))}"
    return f"at least {figure(each.placing.speeds[0])} tokens/s at full context while all decode"


def _speeds(each: ProposedInventory) -> list[Data]:
    accounts = _accounts(each.fitted.plan)
    found = list[Data]()
    for wish, candidate, hosts in each.placing.parts:
        account = accounts[wish.name]
        decode = () if isinstance(account.decode, Unknown) else account.decode
        found.append(
            {
                "name": wish.name,
                "recipe": candidate.found.name,
                "hosts": [host.name for host in hosts],
                "utilization": account.utilization,
                "decode": [{"context": speed.context, "low": speed.low, "high": speed.high} for speed in decode],
                "busy": None if each.placing.in_turns else account.busy,
                "source": decode[-1].source if decode else None,
            }
        )
    return found


def _rows(each: ProposedInventory) -> Iterator[Row]:
    for data in _speeds(each):
        longest, share = data["decode"][-1], data["utilization"]
        speed = f"{span(longest['low'], longest['high'], 'tokens/s')} at {count(longest['context'])} tokens"
        busy = "" if data["busy"] is None else f"; while all of its host decode, at least {figure(data['busy'])}"
        where = f"on {ranges(data['hosts'])}" + ("" if share is None else f", share {share:g}")
        yield data["name"], stacked(data["recipe"], where, f"{speed}{busy}")


def _examined(found: SearchOutcome) -> Blocks:
    """Return how many recipes and placements were examined, and why the others were left out."""
    for name, chosen in found.chosen.items():
        reasons: dict[str, list[str]] = {}
        for entry, why in found.cut[name].items():
            reasons.setdefault(why, []).append(entry)
        total = len(chosen) + len(found.cut[name])
        yield heading(f"{name}: {len(chosen)} of {counted(total, 'recipe')} taken")
        yield bullets(f"{', '.join(entries)}: {why}" for why, entries in reasons.items())
    if found.placings:
        yield f"\n{counted(found.placings, 'placement')} compared; the check or the plan refused {len(found.dropped)}."
    for why, times in Counter(found.dropped).items():
        yield f"  {times} times: {why}"


def _accounts(plan: Plan) -> dict[str, DeploymentMemory]:
    """Return the memory of each deployment, of a group that of its leader."""
    return {each.name: each for host in plan.hosts for each in memory_use.of(host).accounts if each.leads}


def _figures(account: DeploymentMemory) -> tuple[str, ...]:
    fit, context = account.fit, account.context
    return (
        f"{account.utilization:g}" if account.utilization is not None else "",
        "" if isinstance(context, Unknown) else count(context),
        gib(known_bytes(account.pool.size_bytes)),
        "unknown" if isinstance(fit, Unknown) else count(fit.tokens),
        "" if isinstance(fit, Unknown) else f"{fit.concurrency:.1f}",
    )


def _data(account: DeploymentMemory) -> Data:
    return {"utilization": account.utilization, "context": plain(account.context), "fit": plain(account.fit)}


def _starts(plan: Plan, names: Collection[str]) -> Iterator[Data]:
    """Yield the starts on each host with one of these deployments, in each of its turns.

    vLLM compares its share with the free memory, also if the KV cache has a size of its own.
    """
    for view in (view for host in plan.hosts if set(host.proofs) & set(names) for view in host.views):
        free = (view.memory_bytes or 0) - least_bytes((reserve(view.memory_bytes, view.reserve_bytes),))
        for name, proof in ((each.name, view.proofs[each.name]) for each in view.starting):
            share = 0.0 if isinstance(proof.options, Unknown) else proof.options.gpu_memory_utilization
            needs = max(least_bytes((proof.server.requested,)), int(share * (view.memory_bytes or 0)))
            yield {"host": view.name, "name": name, "needs_bytes": needs, "free_bytes": free}
            free -= least_bytes(proof.server.taken)
