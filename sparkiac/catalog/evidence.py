"""Facts: what is known to fail, to give wrong answers or to be slow, with its scope and its evidence.

A file of `facts/` is one rule. Its front matter (YAML) lists the facts, and its body (Markdown) is the rule's page.
docs/facts.md explains every key. The severity of a fact is computed from its evidence and is never written. A file of
`findings/` is the page of a code that no rule has, in the same form. Front matter is read from an `index.json` in each
folder, which `tools/docs/facts.py` writes from the files, because JSON is read much faster.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from sparkiac.catalog import interfaces
from sparkiac.report import Severity

_ROOT: Final = Path(__file__).parent
_FACTS: Final = "facts"
_FINDINGS: Final = "findings"
FOLDERS: Final = (_FACTS, _FINDINGS)
_FENCE: Final = "---\n"
_OF_IMAGES: Final = frozenset({"image", "repository", "lacks"})
"""Names in a condition that are about the image."""
_OF_HOSTS: Final = ("host.kernel", "host.driver", "host.package.")
"""How names in a condition begin that are about a version of a host's software."""
_HOST: Final = "host"
"""Position of a fact about the software of a host."""
_NESTED: Final = frozenset({"any", "none"})
"""Names in a condition that have lists of conditions."""

Kind = Literal[
    "parser", "source", "format", "arithmetic", "contract", "ab", "measured", "maker", "maintainer", "forum", "advice"
]
Verdict = Literal["fails", "wrong", "ignored", "deprecated", "exposed", "unknown", "slow", "advice"]
PROOF: Final[frozenset[Kind]] = frozenset({"parser", "source", "format", "arithmetic", "contract"})
"""Evidence that proves a fact: an engine's parser or source code, a file format, arithmetic, or a promise of sparkiac
itself: every image, model and file is pinned, no secret is shown, and no command is guessed."""
TESTIMONY: Final[frozenset[Kind]] = frozenset({"ab", "measured", "maker", "maintainer"})
"""Evidence by a named source: a measurement, a maker's documentation, a statement of a maintainer.

`ab` is a comparison: one machine with and without one change. If two parties measured it, it proves a fact. The other
kinds support a finding of severity `info` at most.
"""
BREAKS: Final[frozenset[Verdict]] = frozenset({"fails", "wrong"})
"""Verdicts of servers that do not start, end, refuse requests, or give wrong answers."""
WORKS: Final[frozenset[Verdict]] = frozenset({"ignored", "deprecated", "exposed", "unknown"})
"""Verdicts of servers that run: a setting has no effect or has none in a later release, somebody can use what is not
meant for them, or what runs cannot be told."""


def graded(verdict: Verdict, *, proven: bool, named: bool) -> Severity:
    """Return the severity that a verdict and its evidence support: proven, or reported by a named source."""
    if verdict in BREAKS:
        return Severity.ERROR if proven else Severity.WARNING if named else Severity.INFO
    return Severity.WARNING if verdict in WORKS and proven else Severity.INFO


_OF_RELEASE: Final = re.compile(r"https://github\.com/vllm-project/vllm/blob/v([0-9.]+)/")
_LINES: Final = re.compile(r"L([0-9]+)(?:-([0-9]+))?")
_WHOLE: Final = (1, 9999)
"""Lines of a document that is cited as a whole."""
READ: Final = "not measured"
"""Hardware of a source that was read, such as code."""


class Evidence(NamedTuple):
    """A source that supports or contradicts a fact."""

    kind: Kind
    source: str
    """A link, or a document of docs/sources.md with its lines."""
    date: str
    """Month in which it was published or read: 2026-05."""
    hardware: str = ""
    """Where it was measured: GB10, H100 …"""
    note: str = ""
    """Its statement, in a few words."""
    by: str = ""
    """Who measured it, required for `ab`: the name of a person, a group or a company."""


class Releases(NamedTuple):
    """A range of engine releases."""

    first: str | None = None
    """First release of the range; None if there is no lower bound."""
    before: str | None = None
    """First release after the range; None if there is no upper bound."""

    def __str__(self) -> str:
        """Return the range in words."""
        ends = {"from": self.first, "before": self.before}
        return " ".join(f"{word} {end}" for word, end in ends.items() if end)

    def include(self, found: str | None) -> bool:
        """Return whether a release is in the range; a pre-release, whether both releases next to it are."""
        if found is None:
            return False
        final = interfaces.release(found)[1]
        return all(map(self._has, (found,) if final else interfaces.neighbours(found)))

    def _has(self, found: str) -> bool:
        release = interfaces.release(found)
        late_enough = self.first is None or release >= interfaces.release(self.first)
        return late_enough and (self.before is None or release < interfaces.release(self.before))


class Fact(NamedTuple):
    """One known fact about a combination of model, image, release and options."""

    when: Mapping[str, Any]
    """Condition on the deployment; see `rules.evaluator`."""
    at: str
    """Setting that the finding points at: set.moe_backend, env.NAME, speculative, image …"""
    message: str
    hint: str
    verdict: Verdict
    evidence: tuple[Evidence, ...]
    against: tuple[Evidence, ...] = ()
    """Evidence that contradicts the fact within its scope."""
    releases: Releases | None = None
    """Releases to which the fact applies; None means all. A fact with a range does not apply to an unknown release."""
    engine: str = "vllm"
    hardware: str | None = None
    """Compute capability of the GPU; None for that of a DGX Spark, `any` for every machine."""
    fix: Mapping[str, Any] | None = None
    """Setting → value that removes the problem; null removes the setting. Only for proven facts."""
    default: Mapping[str, Any] | None = None
    """Setting → value that a speculative method has in these releases unless a recipe or the inventory sets another."""

    @property
    def proven(self) -> bool:
        """Return whether the fact is proven, and not only reported. A comparison by one party is only a measurement."""
        parties = {each.source: each.by.lower() for each in self.evidence if each.kind == "ab" and each.by}
        return len(set(parties.values())) > 1 or any(each.kind in PROOF for each in self.evidence)

    @property
    def severity(self) -> Severity:
        """Return the severity that verdict and evidence support; info if something contradicts them.

        A measurement supports one only for the releases or images that it names.
        """
        if self.against or not (self.proven or self._bounded):
            return Severity.INFO
        return graded(self.verdict, proven=self.proven, named=any(each.kind in TESTIMONY for each in self.evidence))

    @property
    def _bounded(self) -> bool:
        """Return whether it names an image, a version of a host's software, or releases with an end."""
        ended = self.releases is not None and self.releases.before is not None
        return ended or any(_is_version(name, wanted) for name, wanted in _entries(self.when))


class FactSheet(NamedTuple):
    """A file of facts."""

    name: str
    """Name of the file, `<code>_<slug>`."""
    since: str
    """First version of sparkiac that has it."""
    facts: tuple[Fact, ...]

    @property
    def code(self) -> str:
        """Code of the rule."""
        return self.name.partition("_")[0].upper()

    @property
    def slug(self) -> str:
        """Slug of the rule."""
        return self.name.partition("_")[2]

    @property
    def of_hosts(self) -> bool:
        """Return whether its facts are about the software of hosts, and not about deployments."""
        return all(fact.at == _HOST for fact in self.facts)

    @property
    def sources(self) -> tuple[str, ...]:
        """Sources of all evidence, each once."""
        found = (each.source for fact in self.facts for each in (*fact.evidence, *fact.against))
        return tuple(dict.fromkeys(found))

    def page(self) -> str:
        """Read the page of the rule, as Markdown."""
        return _page(_FACTS, self.name)


@cache
def sheets() -> tuple[FactSheet, ...]:
    """Return all facts, sorted by code."""
    return tuple(sheet(name, raw) for name, raw in _index(_FACTS).items())


def sheet(name: str, raw: dict[str, Any]) -> FactSheet:
    """Return a file of facts from the data of its front matter. A key that is unknown or missing raises TypeError."""
    facts = tuple(_fact(dict(each)) for each in raw["facts"])
    return FactSheet(name, facts=facts, **{key: value for key, value in raw.items() if key != "facts"})


class CodePage(NamedTuple):
    """The page of a code that no rule has: of faults in YAML, values and names, of hosts and of the lock."""

    name: str
    """Name of the file, `<code>_<slug>`."""
    phase: str
    """When it is reported: `generate`, `preflight` or `lock`."""
    severity: str = "error"
    """Highest severity that it can have."""
    sources: tuple[str, ...] = ()

    def page(self) -> str:
        """Read the page, as Markdown."""
        return _page(_FINDINGS, self.name)


@cache
def code_pages() -> tuple[CodePage, ...]:
    """Return the pages of all codes that no rule has, sorted by code."""
    return tuple(CodePage(name, **raw) for name, raw in _index(_FINDINGS).items())


def split(text: str) -> tuple[str, str]:
    """Split the text of a file into its front matter and its page."""
    _, matter, page = text.split(_FENCE, 2)
    return matter, page.strip()


def _entries(when: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Return the entries of a condition, and of those inside it."""
    for name, wanted in when.items():
        yield name, wanted
        if name in _NESTED:
            yield from (inner for each in wanted for inner in _entries(each))


def _is_version(name: str, wanted: Any) -> bool:  # noqa: ANN401  plain data
    """Return whether an entry names an image, or versions of a host's software."""
    return name in _OF_IMAGES or (name.startswith(_OF_HOSTS) and isinstance(wanted, str | list))


def _index(folder: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads((_ROOT / folder / "index.json").read_bytes())
    return found


def _page(folder: str, name: str) -> str:
    return split((_ROOT / folder / f"{name}.md").read_text("utf-8"))[1]


def _fact(raw: dict[str, Any]) -> Fact:
    evidence, against = (tuple(Evidence(**each) for each in raw.pop(key, ())) for key in ("evidence", "against"))
    releases = raw.pop("releases", None)
    return Fact(
        **raw,
        evidence=evidence,
        against=against,
        releases=None if releases is None else Releases(releases.get("from"), releases.get("before")),
    )


@cache
def documents() -> Mapping[str, Mapping[str, Any]]:
    """Return title, date, hardware, releases and links of documents, by the name with which a source begins.

    A release or link is [first line, last line, text]: what these lines are about or cite.
    """
    found: dict[str, dict[str, Any]] = json.loads((_ROOT / "documents.json").read_bytes())
    return found


def cited(source: str) -> dict[str, str]:
    """Return title, date, hardware, releases and links of a source, each empty if it is unknown.

    A source is a link, such as one to a file of a vLLM release, or a document, often with the lines that it is about.
    """
    if tagged := _OF_RELEASE.match(source):
        day = interfaces.published().get(tagged[1], ("",))[0]
        month = f"{day[:4]}-{day[4:6]}" if day else ""
        return {"title": "", "date": month, "hardware": READ, "releases": f"vLLM {tagged[1]}", "links": source}
    known = documents().get(max(filter(source.startswith, documents()), key=len, default=""), {})
    spans = [(int(first), int(last or first)) for first, last in _LINES.findall(source)] or [_WHOLE]
    found = {key: str(known.get(key, "")) for key in ("title", "date", "hardware")}
    for key in ("releases", "links"):
        parts = (what for low, high, what in known.get(key, ()) if any(low <= end and at <= high for at, end in spans))
        found[key] = ", ".join(dict.fromkeys(parts))
    return found | {"links": source} if source.startswith("https://") else found
