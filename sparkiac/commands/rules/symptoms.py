"""Symptoms of running servers as plain data and as pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from sparkiac import catalog
from sparkiac.formats.findings import titles
from sparkiac.model.symptoms import Observation, Symptom, Threshold
from sparkiac.rules.pages import pages

_SEEN: Final = {
    "log": "the log of the server",
    "kernel": "the kernel log",
    "container": "the output of Docker",
    "answer": "an answer of the server",
    "metrics": "the metrics of the server",
    "memory": "the memory of the host",
    "time": "a duration",
    "bench": "the output of a benchmark",
}

_FINDERS: Final = {
    "verify": "`sparkiac verify`, step {}",
    "alert": "the alert {}",
    "status": "`sparkiac status`, column {}",
    "bench": "`sparkiac bench {}`",
}


def names() -> tuple[str, ...]:
    """Return the codes and slugs of all symptoms."""
    found = catalog.symptoms()
    return (*(each.code for each in found), *(each.slug for each in found))


def named(name: str) -> Symptom:
    """Return the symptom with a code or a slug from `names`."""
    return next(each for each in catalog.symptoms() if name in {each.code, each.slug})


def explained(symptom: Symptom) -> dict[str, Any]:
    """Return all facts about a symptom."""
    return symptom.model_dump(mode="json", exclude_defaults=True)


def markdown(symptom: Symptom) -> str:
    """Return the page of a symptom."""
    return "\n\n".join(_parts(symptom)) + "\n"


def _parts(symptom: Symptom) -> Iterator[str]:
    seen = f"{symptom.severity}, in {_SEEN[symptom.sees]}"
    yield f"**{symptom.code} {symptom.slug}** ({seen})"
    yield f"{symptom.title}."
    if symptom.pattern is not None:
        yield f"**Lines:** `{symptom.pattern}`"
    if symptom.probe is not None:
        yield _look(symptom.probe)
    if symptom.found_by:
        yield f"**Found by:** {', '.join(map(_finder, symptom.found_by))}"
    yield f"**Cause:** {symptom.cause}"
    yield _listed("Remedy", symptom.remedy)
    if symptom.rule in pages():
        yield f"**Found in the inventory by:** {symptom.rule}"
    conditions = symptom.conditions.model_dump(exclude_defaults=True)
    if conditions:
        yield _listed("Applies to", (_condition(key, value) for key, value in conditions.items()))
    if symptom.conflicts:
        rows = (f"{titles(each.source)}: {each.says} What decides: {each.decided_by}" for each in symptom.conflicts)
        yield _listed("Other sources", rows)
    if symptom.notes:
        yield _listed("Notes", symptom.notes)
    yield f"**Sources:** {'; '.join(dict.fromkeys(titles(each) for each in symptom.sources))}"


def _look(probe: Observation) -> str:
    metrics = f" Metrics: {', '.join(probe.metrics)}." if probe.metrics else ""
    lines = (f"- {_threshold(each)}" for each in probe.thresholds)
    return "\n".join((f"**Look at:** {probe.look}{metrics}", *(("", *lines) if probe.thresholds else ())))


def _finder(check: str) -> str:
    kind, _, name = check.partition(" ")
    return _FINDERS[kind].format(name)


def _threshold(each: Threshold) -> str:
    when = f" ({each.when})" if each.when else ""
    return f"{each.measure} {each.comparison.replace('-', ' ')} {each.number:g} {each.unit}{when}"


def _condition(key: str, value: object) -> str:
    words = {"vllm_at_least": "vLLM from {} on", "vllm_below": "vLLM below {}"}
    if isinstance(value, tuple):
        joined = ", ".join(map(str, value))
        return joined if key == "others" else f"{key}: {joined}"
    return words[key].format(value)


def _listed(title: str, rows: Iterator[str] | tuple[str, ...]) -> str:
    return "\n".join((f"**{title}:**", "", *(f"- {row}" for row in rows)))
