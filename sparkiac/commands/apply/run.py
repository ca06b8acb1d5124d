"""The two runs of Ansible: look.yml, which compares and changes nothing, and site.yml, which applies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import click

from sparkiac.commands.apply.results import Results
from sparkiac.commands.inputs import Exit
from sparkiac.commands.live import ApplyProgress
from sparkiac.fleet import looks
from sparkiac.fleet.looks import FleetLook
from sparkiac.upstream import playbook

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sparkiac.commands.apply.options import AnsibleOptions
    from sparkiac.commands.apply.tree import GeneratedFleet
    from sparkiac.upstream.playbook import Event

_LOOK: Final = "playbooks/look.yml"
_WAITING: Final = "{}: the switch of an apply that has ended still runs; waiting for its end …"
_NO_HOST: Final = "no host was compared: --limit selects none"
SITE: Final = "site.yml"


class Applied(NamedTuple):
    """The end of a run."""

    code: Exit
    reasons: tuple[str, ...]
    """Why it failed; empty if it did not."""
    seconds: float
    outcomes: dict[str, str]
    """Host → its final state in words."""


def look(fleet: GeneratedFleet, options: AnsibleOptions, log: Path) -> FleetLook | Applied:
    """Compare the hosts with the generated directory; return a failure if Ansible reached no host."""
    results, answers, waiting = Results(options.hidden), dict[str, str](), set[str]()

    def on_event(event: Event) -> None:
        results.on_event(event)
        if looks.is_answer(event):
            answers[event["host"]] = event["stdout"]
        elif event["event"] == "retry" and event["host"] not in waiting:
            waiting.add(event["host"])
            click.echo(_WAITING.format(event["host"]), err=True)

    wanted = playbook.PlaybookRun(fleet.path, _LOOK, options.for_look, log)
    code = results.code(playbook.run(wanted, on_event, lambda: None))
    if code is Exit.INTERRUPTED:
        raise KeyboardInterrupt
    if not (answers or results.failed or results.unreachable):
        reasons = () if code is Exit.OK else tuple(results.reasons(log))
        return Applied(code or Exit.BAD_INPUT, reasons or (_NO_HOST,), 0, {})
    found = looks.of_fleet(fleet.plan, fleet.generations, answers)
    unable = tuple(sorted(results.unreachable.items())), tuple(sorted(results.failed.items()))
    return found._replace(unreachable=unable[0], failed=unable[1], summary=tuple(results.summary))


def change(
    fleet: GeneratedFleet, options: AnsibleOptions, log: Path, hosts: Sequence[str], path: str = SITE
) -> Applied:
    """Run site.yml, or another playbook that switches hosts, and show the progress of these hosts.

    Raises KeyboardInterrupt after Ansible has ended.
    """
    results = Results(options.hidden)
    with ApplyProgress(hosts) as progress:

        def on_event(event: Event) -> None:
            results.on_event(event)
            progress.on_event(event)

        wanted = playbook.PlaybookRun(fleet.path, path, options.words, log)
        code = results.code(playbook.run(wanted, on_event, progress.waited))
        if code is Exit.INTERRUPTED:
            raise KeyboardInterrupt
        progress.finish(results, done=code is Exit.OK)
    reasons = () if code is Exit.OK else tuple(results.reasons(log))
    return Applied(code, reasons, progress.seconds, progress.phases)
