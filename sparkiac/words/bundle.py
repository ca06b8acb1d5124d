"""The report of a host as one text that can be posted: its sections, without secrets and without what names anybody."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from sparkiac.fleet.status import HostStatus
from sparkiac.foreign import redaction
from sparkiac.plan import HostPlan
from sparkiac.plan.container import Container, Program
from sparkiac.report.characters import escaped

_HEAD: Final = """\
# Report of a host by sparkiac

Secrets are replaced by stars; names of hosts and users and addresses are numbered, each always with the same number.
Names of models, deployments and files are as they are: read it before you post it.
"""
_LONGEST: Final = 200_000
"""Most characters of a section."""
_CUT_OFF: Final = re.compile(r"(?<!\S)\S+…")
"""A word at which a text was cut: the half of a secret or of an address has another form."""
_REMOVED: Final = "(removed)"
_SHORTEST: Final = 4
"""A shorter line of a secret, such as a bracket, is no secret by itself."""
_HEX: Final = "[0-9A-Fa-f]"
_UNIQUE: Final = re.compile(
    rf"(?<!{_HEX})(?:{_HEX}{{8}}-(?:{_HEX}{{4}}-){{3}}{_HEX}{{12}}|{_HEX}{{32}}|(?:{_HEX}{{4}}:){{3}}{_HEX}{{4}})(?![\w:])"
    r"|(?:(?<=wwn-)|(?<=eui\.)|(?<=naa\.))(?:0x)?[0-9A-Fa-f]{16,32}"
    r"|(?i:(?<![a-z])(?:serial[ _-]?(?:number|num|no\.?)?|s/n|asset[ _-]tag|guid|(?:part)?uuid|image_guid))(?![a-z0-9])"
    r"['\"]?[ \t]{0,40}(?:[:=]|is|[ \t])[ \t]{0,40}['\"]?(?=[\w.:-]{0,80}\d)[\w.:-]{1,80}"
)
"""UUIDs, IDs of machines and boots, GUIDs and names of disks, and what follows the word `serial`."""
_ADDRESS: Final = re.compile(
    rf"(?:(?:(?<!{_HEX})(?:{_HEX}{{2}}[:-]){{5,19}}|(?<=\ben[xX])(?=[0-9a-f]{{12}}\b){_HEX}{{10}}){_HEX}{{2}}(?!{_HEX}))"
    rf"|(?<!\w)(?:(?:{_HEX}{{1,4}}:){{7}}{_HEX}{{1,4}}|(?:(?:{_HEX}{{1,4}}:){{1,6}}|:):(?:{_HEX}{{1,4}}(?::{_HEX}{{1,4}}){{0,5}})?)"
    r"(?:\.\d{1,3}){0,3}(?!\w)"
    r"|(?<!\d)(?:\d{1,3}\.){3}\d{1,3}(?!\d)"
)
_NOWHERE: Final = re.compile(r"127\..+|0\.0\.0\.0|255\..+|::1?")
"""Addresses that are the same on each machine, and netmasks."""
_HOME: Final = re.compile(r"/(?:home|Users)/([A-Za-z0-9_][\w.-]{0,60})")
_NOBODY: Final = frozenset(
    "admin dgx docker linuxbrew localhost nvidia root spark sparkiac ubuntu user vllm".split()  # noqa: SIM905
)
"""Names that identify nobody, and that logs contain as words."""


class Identities(NamedTuple):
    """What identifies somebody or something, and the values of secrets."""

    hosts: Sequence[Sequence[str]]
    """The names of each host."""
    users: Sequence[Sequence[str]]
    """The names of each user."""
    secrets: Iterable[str] = ()


def text(sections: Mapping[str, str], known: Identities) -> str:
    """Return the report: title → text of each section."""
    hidden = _spellings(known.secrets)
    parts = (f"\n## {title}\n\n{_safe(cut(escaped(body), _LONGEST), hidden)}\n" for title, body in sections.items())
    return anonymous("".join((_HEAD, *parts)), known)


def planned(host: HostPlan) -> Iterator[str]:
    """Yield the units of a host with image, command and environment."""
    for unit in host.units:
        yield f"{unit.name}, {unit.kind if isinstance(unit, Container) else 'program'}"
        if isinstance(unit, Container):
            yield f"  image {unit.image.repository}@{unit.image.digest or f'(no digest, {unit.image.reference})'}"
        yield f"  argv  {redaction.joined(unit.argv)}"
        yield from (f"  env   {name}={value}" for name, value in _environment(unit).items())


def _environment(unit: Container | Program) -> Mapping[str, str]:
    return unit.command.env if isinstance(unit, Container) else unit.env


def state(found: HostStatus) -> Iterator[str]:
    """Yield the units of a host with their state, and its problems."""
    yield from (f"{unit.name}: {unit.state}" for unit in found.units)
    for each in found.problems:
        yield f"{each.kind}: {f'{each.unit}: ' if each.unit else ''}{each.text}"


def as_json(data: object) -> str:
    """Return plain data in lines."""
    return json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False)


def cut(body: str, most: int) -> str:
    """Return a text that is not too long."""
    return body if len(body) <= most else f"{body[:most]}…"


def _spellings(secrets: Iterable[str]) -> list[str]:
    """Return the secrets, their lines and their forms in JSON, the longest first."""
    parts = {part.strip() for value in secrets for part in (value, *value.splitlines())}
    quoted = {json.dumps(part, ensure_ascii=False)[1:-1] for part in parts}
    return sorted((each for each in parts | quoted if len(each) >= _SHORTEST), key=len, reverse=True)


def _safe(body: str, hidden: Iterable[str]) -> str:
    body = _CUT_OFF.sub("…", body)
    for each in hidden:
        body = body.replace(each, redaction.STARS)
    return redaction.redacted_line(body)


def anonymous(body: str, known: Identities) -> str:
    """Remove serial numbers and UUIDs, and replace addresses, and names of hosts and users, by numbered words."""
    body = _UNIQUE.sub(_REMOVED, _without_addresses(body))  # four groups of an address would be a GUID
    homes = ((each.rstrip(".-"),) for each in _HOME.findall(body))
    hosts, users = _numbered("host", known.hosts), _numbered("user", (*known.users, *homes))
    words = {**users, **hosts}
    if not words:
        return body
    listed, domain = "|".join(map(re.escape, sorted(words, key=len, reverse=True))), r"(?:\.[a-z][a-z0-9-]*)*"
    pattern = re.compile(rf"(?<![a-z0-9])({listed}){domain}(?![a-z0-9])", re.IGNORECASE)
    return pattern.sub(lambda found: words[found[1].lower()], body)


def _numbered(kind: str, each_names: Iterable[Sequence[str]]) -> dict[str, str]:
    """Return name in lower case → its word; somebody with a known name gets no other number."""
    words: dict[str, str] = {}
    for names in each_names:
        own = [name.lower() for name in names if name and name.lower() not in _NOBODY and not _ADDRESS.fullmatch(name)]
        number = len(set(words.values())) + 1
        word = next((words[name] for name in own if name in words), f"{kind}-{number}")
        words.update({name: word for name in own if name not in words})
    return words


def _without_addresses(body: str) -> str:
    words: dict[str, str] = {}

    def word(found: re.Match[str]) -> str:
        plain = found[0].lower()
        return found[0] if _NOWHERE.fullmatch(plain) else words.setdefault(plain, f"address-{len(words) + 1}")

    return _ADDRESS.sub(word, body)
