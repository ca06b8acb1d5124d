"""Rules as plain data, for `--format json`, tables, SARIF and docs/rules.md."""

from __future__ import annotations

import re
from typing import Any, Final

from sparkiac import catalog
from sparkiac.report import Severity
from sparkiac.rules.pages import Page, pages
from sparkiac.rules.rule import Rule

_LABEL: Final = re.compile(r"^((?:Bad|Good|The lock|One Spark|Two Sparks)[^\n]*:)(?=\n\n```yaml$)", re.MULTILINE)
FOUND: Final = {"preflight": "found on a host by the preflight", "lock": "found in the lock, or by `sparkiac lock`"}
"""Phase of a code without a profile → where it is found."""
_WAIVED_BY: Final = "allow: [{{code: {code}, reason: why it is right here}}]"


def names() -> tuple[str, ...]:
    """Return the codes and slugs of all rules and symptoms."""
    return (*pages(), *(page.rule.slug for page in pages().values()))


def named(name: str) -> Page:
    """Return the page of a code or a slug from `names`."""
    return pages().get(name) or next(page for page in pages().values() if page.rule.slug == name)


def listed(severity: Severity | None = None) -> list[dict[str, Any]]:
    """Return the summaries of all codes, or of the codes with one severity."""
    return [summary(page) for page in pages().values() if severity in {None, page.rule.severity}]


def levels() -> list[dict[str, Any]]:
    """Return the profiles, smallest first."""
    known = catalog.profiles()
    return [
        {"name": name, "title": profile.title, "default": name == known.default}
        for name, profile in known.profiles.items()
    ]


def summary(page: Page) -> dict[str, Any]:
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


def explained(page: Page) -> dict[str, Any]:
    """Return all facts about a code."""
    return summary(page) | {
        "why": page.why,
        "bad": list(page.bad),
        "good": list(page.good),
        "lock": page.lock or None,
        "sources": list(page.rule.sources),
        "waiver": _WAIVED_BY.format(code=page.rule.code) if page.rule.waivable else None,
    }


def markdown(page: Page) -> str:
    """Return a page and the facts about its code as Markdown."""
    data = summary(page)
    found = f"from profile `{data['profile']}` on" if data["profile"] else FOUND[page.rule.phase]
    facts = f"{data['severity']}, {found}, since {data['since']}"
    text = _LABEL.sub(r"**\1**", page.text)
    parts = [f"**{data['code']} {data['slug']}** ({facts})", text, _waiver(page.rule)]
    if page.rule.sources:
        parts.append(f"**Sources:** {'; '.join(page.rule.sources)}")
    return "\n\n".join(parts) + "\n"


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
