"""Rules and symptoms: lists, pages in Markdown, and plain data, for terminals, SARIF and docs/rules.md."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from sparkiac import catalog
from sparkiac.catalog import evidence
from sparkiac.catalog.evidence import Evidence, Releases
from sparkiac.model.symptoms import Observation, Symptom, Threshold
from sparkiac.report import Severity
from sparkiac.rules.pages import Page, pages
from sparkiac.rules.rule import Rule
from sparkiac.words.findings import titles
from sparkiac.words.page import NARROW, SEVERITIES, Blocks, Data, Row, grid, heading, stacked, styled, table

_LABEL: Final = re.compile(r"^((?:Bad|Good|The lock|One Spark|Two Sparks)[^\n]*:)(?=\n\n```yaml$)", re.MULTILINE)
FOUND: Final = {"preflight": "found on a host by the preflight", "lock": "found in the lock, or by `sparkiac lock`"}
"""Phase of a code without a profile → where it is found."""
_SYMPTOMS: Final = (
    "\nSymptoms of running servers, which `sparkiac diagnose` finds, have pages too: sparkiac rules explain LOG101"
)
_NO_SOURCE: Final = ("none: it follows from the files themselves",)
_WAIVED_BY: Final = "allow: [{{code: {code}, reason: why it is right here}}]"
_SEEN: Final = {
    "log": "the log of the server",
    "kernel": "the kernel log",
    "container": "the output of Docker",
    "ansible": "a failure that Ansible reports",
    "answer": "an answer of the server",
    "metrics": "the metrics of the server",
    "memory": "the memory of the host",
    "machine": "power, heat or the journal of the host",
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
    """Return the codes and slugs of all rules."""
    return (*pages(), *(page.rule.slug for page in pages().values()))


def symptom_names() -> tuple[str, ...]:
    """Return the codes and slugs of all symptoms."""
    found = catalog.symptoms()
    return (*(each.code for each in found), *(each.slug for each in found))


def named(name: str) -> Page:
    """Return the page of a code or a slug from `names`."""
    return pages().get(name) or next(page for page in pages().values() if page.rule.slug == name)


def summaries(severity: Severity | None = None) -> list[Data]:
    """Return the summaries of all codes, or of the codes with one severity."""
    return [summary(page) for page in pages().values() if severity in {None, page.rule.severity}]


def levels() -> list[Data]:
    """Return the profiles, smallest first."""
    known = catalog.profiles()
    return [
        {"name": name, "title": profile.title, "default": name == known.default}
        for name, profile in known.profiles.items()
    ]


def summary(page: Page) -> Data:
    """Return the values of a code that lists show."""
    rule = page.rule
    return {
        "code": rule.code,
        "slug": rule.slug,
        "severity": str(rule.severity),
        "waivable": rule.waivable,
        "profile": rule.smallest_profile(catalog.profiles().floors) if rule.phase == "generate" else None,
        "phase": rule.phase,
        "since": rule.since,
        "title": page.title,
    }


def explained(page: Page) -> Data:
    """Return all facts about a code."""
    return summary(page) | {
        "why": page.why,
        "bad": list(page.bad),
        "good": list(page.good),
        "lock": page.lock or None,
        "sources": list(page.rule.sources),
        "evidence": _evidence(page.rule),
        "waiver": _WAIVED_BY.format(code=page.rule.code) if page.rule.waivable else None,
    }


def markdown(page: Page) -> str:
    """Return a page and the facts about its code as Markdown."""
    data = summary(page)
    found = f"from profile `{data['profile']}` on" if data["profile"] else FOUND[page.rule.phase]
    facts = f"{data['severity']}, {found}, since {data['since']}"
    text = _LABEL.sub(r"**\1**", page.text)
    parts = [f"**{data['code']} {data['slug']}** ({facts})", text, _waiver(page.rule)]
    parts.append(_listed("Sources", map(source_line, _evidence(page.rule)) if page.rule.sources else _NO_SOURCE))
    return "\n\n".join(parts) + "\n"


def _evidence(rule: Rule) -> list[Data]:
    """Return the evidence of a code, that of its facts or else its sources, with what is known of each document."""
    facts = [fact for sheet in evidence.sheets() if sheet.code == rule.code for fact in sheet.facts]
    found = dict.fromkeys((each, fact.releases) for fact in facts for each in (*fact.evidence, *fact.against))
    sources = ({"source": source, "says": ""} | evidence.cited(source) for source in rule.sources)
    return [_known(each, releases) for each, releases in found] or list(sources)


def _known(each: Evidence, releases: Releases | None) -> Data:
    known = evidence.cited(each.source)
    read = evidence.READ if each.kind in evidence.PROOF else known["hardware"]
    own = {"source": each.source, "date": each.date, "hardware": each.hardware or read, "says": each.note}
    return known | own | {"releases": known["releases"] or str(releases or "")}


def source_line(each: Data) -> str:
    """Return one source with its date, hardware, releases, statement and link, or that they are unknown."""
    named = f"{each['source']} ({each['title']})" if each["title"] else each["source"]
    known = (each[key] or f"no {key} stated" for key in ("date", "hardware", "releases"))
    links = "" if each["links"] == each["source"] else each["links"] or "no public copy is known"
    return "; ".join(filter(None, (f"{named}: {', '.join(known)}", each["says"], links)))


def _waiver(rule: Rule) -> str:
    if rule.waivable:
        where = "in the deployment, service or host that it is about, or at the top for all of them"
        return f"**To waive it**, write {where}:\n\n```yaml\n{_WAIVED_BY.format(code=rule.code)}\n```"
    if rule.phase == "lock":
        return "**It cannot be waived**: correct the part that it names."
    if rule.phase == "preflight":
        return "**It cannot be waived**: it is found on a host, so repair the host or correct the inventory."
    if rule.always_shown:
        return "**It cannot be waived**: every profile contains it, and no option turns it off."
    return f"**It cannot be waived**; `sparkiac check --ignore {rule.code}` skips it."


def listed(rules: Iterable[Data], width: int) -> Blocks:
    """Return a table of codes, and below it the profiles."""
    if width < NARROW:
        yield grid((stacked(f"{each['code']} {each['slug']}", each["title"], _facts(each)),) for each in rules)
    else:
        fixed = ("code", "severity", "profile", "waivable", "since")
        yield table(("code", "what is wrong", *fixed[1:]), map(_row, rules), whole=fixed)
    yield heading("Profiles: each includes the ones before it")
    yield grid((each["name"], each["title"]) for each in levels())
    yield _SYMPTOMS


def _row(rule: Data) -> Row:
    waivable = "yes" if rule["waivable"] else "no"
    severity = styled(rule["severity"], SEVERITIES[rule["severity"]])
    found = rule["profile"] or rule["phase"]
    return rule["code"], stacked(rule["slug"], rule["title"]), severity, found, waivable, rule["since"]


def _facts(rule: Data) -> str:
    waivable = "can be waived" if rule["waivable"] else "cannot be waived"
    return f"{rule['severity']}, {rule['profile'] or rule['phase']}, {waivable}, since {rule['since']}"


def symptom(name: str) -> Symptom:
    """Return the symptom with a code or a slug from `names`."""
    return next(each for each in catalog.symptoms() if name in {each.code, each.slug})


def symptom_data(found: Symptom) -> Data:
    """Return all facts about a symptom."""
    return found.model_dump(mode="json", exclude_defaults=True)


def symptom_markdown(found: Symptom) -> str:
    """Return the page of a symptom."""
    return "\n\n".join(_parts(found)) + "\n"


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
