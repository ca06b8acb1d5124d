"""One call of `sparkiac apply`: compare the hosts, show the changes, ask for confirmation, run Ansible, report."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import click

from sparkiac.commands import prompts, terminal
from sparkiac.commands.apply.options import AnsibleOptions
from sparkiac.commands.apply.results import Results
from sparkiac.commands.apply.tree import GeneratedFleet
from sparkiac.commands.inputs import Exit, print_json
from sparkiac.commands.live import UNCHANGED, ApplyProgress
from sparkiac.fleet import looks
from sparkiac.fleet.looks import FleetLook
from sparkiac.report.characters import escaped_line
from sparkiac.upstream import git, playbook
from sparkiac.upstream.playbook import Event
from sparkiac.upstream.programs import ProgramError
from sparkiac.words import apply as words
from sparkiac.words.page import counted, duration, names, plain, styled

_LOOK: Final = "playbooks/look.yml"
_WAITING: Final = "{}: the switch of an apply that has ended still runs; waiting for its end …"
_NO_HOST: Final = "no host was compared: --limit selects none"
_SITE: Final = "site.yml"
_NOTHING: Final = "Nothing to do: the hosts have what {path} contains."
_OTHERS: Final = "Nothing was changed. To apply to the other hosts, add: -- --limit '{limit}'"
_FAULTY: Final = "Nothing was changed: the hosts have what {path} contains, but a server does not work."
_HELD: Final = "Nothing was changed. Apply again when the other apply has ended."
_INTERRUPTED: Final = """
Interrupted. A host that was switching ends on the new or the former generation by itself.
The same command shows the state of each host and applies the rest."""
_NEWER: Final = "{} runs {}, which is newer than the tree here"
_ASK_OLDER: Final = "Go back to the older tree?"
_REFUSED_OLDER: Final = "Nothing was changed. To go back to the older tree, add --older."
_GENERATIONS: Final = "playbooks/generations.yml"
_STOPPED: Final = "\nInterrupted. What has begun on a host may go on there: sparkiac status shows its state."
_NO_WORK: Final = "Nothing to do."


class Applied(NamedTuple):
    """The end of a run."""

    code: Exit
    reasons: tuple[str, ...]
    """Why it failed; empty if it did not."""
    seconds: float
    outcomes: dict[str, str]
    """Host → its final state in words."""
    said: Mapping[str, Sequence[str]] = {}
    """Host → what was done there."""

    @property
    def done(self) -> int:
        """Return the number of hosts on which something was done."""
        return sum(each != UNCHANGED for each in self.outcomes.values())


class PlaybookCall(NamedTuple):
    """One call of a playbook that is a command of its own."""

    path: str
    hosts: Sequence[str]
    """Hosts that may take part."""
    question: str
    """What is asked after the list of what would be done; empty if nothing is shown and asked."""
    done: str
    """What is said at the end; both have a place for the hosts."""
    ranks: Mapping[str, str] = {}
    """Host → what it is called in the question, for the hosts of a group."""


def look_at(fleet: GeneratedFleet, options: AnsibleOptions, log: Path) -> FleetLook | Applied:
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
    fleet: GeneratedFleet, options: AnsibleOptions, log: Path, hosts: Sequence[str], path: str = _SITE
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
    return Applied(code, reasons, progress.seconds, progress.phases, results.said)


class ApplySession:
    """A generated directory and the options for Ansible."""

    def __init__(self, fleet: GeneratedFleet, options: AnsibleOptions, log: Path, output_format: str) -> None:
        """Use these options; `log` gets Ansible's own output."""
        self._fleet, self._options, self._log = fleet, options, log
        self._text = output_format == "text"
        self._data: dict[str, Any] = {"name": fleet.plan.name, "output": str(fleet.path), "applied": None}

    def run(self, *, asks: bool, only_check: bool, older: bool) -> Exit:
        """Run all steps of an apply and return the exit code; `older`: a host may run a newer commit."""
        return self._ended(self._run(asks=asks, only_check=only_check, older=older))

    def call(self, wanted: PlaybookCall, *, asks: bool, only_check: bool) -> Exit:
        """Show what a playbook would do, ask, run it, and return the exit code."""
        return self._ended(self._call(wanted, asks=asks, only_check=only_check))

    def roll_back(self, wanted: PlaybookCall, to: str | None, *, asks: bool, only_check: bool) -> Exit:
        """Show the states of the fleet, or switch to the one that is named; return the exit code."""
        results, ended = self._read(_GENERATIONS, self._options.words)
        listed = looks.states(results.states)
        if to is not None and not ended.code:
            listed = [looks.chosen(listed, to)]
        self._data["states"] = plain(listed)
        if self._text and not ended.code:
            subjects = {each.name: each.commit and git.subject(self._fleet.path, each.commit) for each in listed}
            terminal.show(words.states(listed, subjects))
        if to is None or ended.code:
            return self._ended(self._report(ended))
        [state] = listed
        variables = {"generation": ",".join(state.generations.values()), "commit": state.commit or ""}
        self._options = self._options._replace(words=(*self._options.words, "-e", json.dumps(variables)))
        return self.call(wanted, asks=asks, only_check=only_check)

    def _ended(self, code: Exit) -> Exit:
        """Print the remaining output, and return the exit code."""
        if not self._text:
            print_json(self._data)
        elif self.keeps_log(code) and self._log.exists():
            click.echo(f"Ansible's output: {self._log}", err=True)
        return code

    def keeps_log(self, code: Exit) -> bool:
        """Return whether to print the path of Ansible's output: after a failure, or if an option asks for output."""
        return code not in {Exit.OK, Exit.STALE} or self._options.wants_output

    def _run(self, *, asks: bool, only_check: bool, older: bool) -> Exit:
        if self._text:
            click.echo(f"Comparing {counted(len(self._fleet.plan.hosts), 'host')} with {self._fleet.path} …", err=True)
        look = look_at(self._fleet, self._options, self._log)
        if isinstance(look, Applied):
            return self._report(look)
        newer = self._newer(look)
        self._data |= words.data(look) | {"newer": newer}
        if self._text:
            terminal.show(words.page(look, terminal.width()))
        if code := self._prevented(look):
            return code
        if not look.work:
            self._echo((_FAULTY if look.faulty else _NOTHING).format(path=self._fleet.path))
            return Exit.FINDINGS if look.faulty else Exit.OK
        for host, commit in newer.items():
            self._echo(_NEWER.format(host, commit))
        if only_check:  # whether a former host is clean already is unknown
            return Exit.STALE if look.changing else Exit.OK
        hosts = [*(host for batch in look.batches for host in batch), *look.retired]
        if newer and not (older or asks):
            self._echo(_REFUSED_OLDER)
            return Exit.STALE
        questions = [*([_ASK_OLDER] if newer and not older else []), f"Apply to {words.few(hosts)}?"]
        for question in questions if asks else ():
            prompts.agree(question)
        return self._change(hosts, _SITE, "Applied to {}")

    def _newer(self, look: FleetLook) -> dict[str, str]:
        """Return host → the commit that it runs, of those that contain the commit of the generated directory."""
        found = ((host, git.newer(self._fleet.path, host.commit)) for host in look.changing if host.commit)
        return {host.host: f"{host.commit:.12} ({escaped_line(about)})" for host, about in found if about}

    def _prevented(self, look: FleetLook) -> Exit | None:
        """Return the exit code if a host cannot take part, and say what to do."""
        lost = [host for host, _ in look.unreachable]
        others = _OTHERS.format(limit=":!".join(["all", *lost])) if look.hosts else prompts.UNCHANGED
        for code, found, advice in (
            (Exit.IO, look.unreachable, others),
            (Exit.BUSY, look.held, _HELD),
            (Exit.FINDINGS, look.failed or look.summary, prompts.UNCHANGED),
        ):
            if found:
                for text in look.summary or (advice,):
                    self._echo(text)
                return code
        return None

    def _call(self, wanted: PlaybookCall, *, asks: bool, only_check: bool) -> Exit:
        hosts = wanted.hosts
        if wanted.question or only_check:
            results, ended = self._read(wanted.path, (*self._options.words, "--check"))
            if ended.code:
                self._report(ended)
                self._echo(prompts.UNCHANGED)
                return ended.code
            self._data["would"] = results.said
            if self._text:
                terminal.show(words.deeds(results.said))
            hosts = [host for host in hosts if host in results.changed]
            if not hosts:
                self._echo(_NO_WORK)
        if only_check or not hosts:
            return Exit.OK
        if asks:
            ranks = [wanted.ranks[host] for host in hosts if host in wanted.ranks]
            prompts.agree(wanted.question.format(names(ranks) if ranks else words.few(hosts)))
        return self._change(hosts, wanted.path, wanted.done)

    def _read(self, path: str, options: tuple[str, ...]) -> tuple[Results, Applied]:
        """Run a playbook so that it changes nothing, and return what it says."""
        results = Results(self._options.hidden)
        run = playbook.PlaybookRun(self._fleet.path, path, options, self._log)
        code = results.code(playbook.run(run, results.on_event, lambda: None))
        if code is Exit.INTERRUPTED:
            raise KeyboardInterrupt
        return results, Applied(code, () if code is Exit.OK else tuple(results.reasons(self._log)), 0, {})

    def _change(self, hosts: Sequence[str], path: str, done: str) -> Exit:
        try:
            return self._report(change(self._fleet, self._options, self._log, hosts, path), done)
        except KeyboardInterrupt:
            self._echo(_INTERRUPTED if path == _SITE else _STOPPED)
            return Exit.INTERRUPTED

    def _report(self, applied: Applied, done: str = "") -> Exit:
        result = applied._asdict() | {"seconds": round(applied.seconds, 1)}
        self._data["applied"] = result if applied.outcomes else None
        self._data["reasons"] = applied.reasons
        for reason in applied.reasons if self._text else ():
            terminal.show(["", styled(reason, "red")])
        if self._text and applied.said:
            terminal.show(words.deeds(applied.said))
        if applied.code is Exit.OK and applied.outcomes:
            text = ("Checked {}" if self._options.check else done).format(counted(applied.done, "host"))
            self._echo(f"{text} in {duration(applied.seconds)}.")
        return applied.code

    def _echo(self, text: str) -> None:
        if self._text:
            click.echo(text)


def in_session(
    fleet: GeneratedFleet, options: AnsibleOptions, output_format: str, work: Callable[[ApplySession], Exit]
) -> Exit:
    """Run with a file for Ansible's output; remove it unless its path was printed."""
    folder = Path(tempfile.mkdtemp(prefix="sparkiac-apply-"))
    session = ApplySession(fleet, options, folder / "ansible.log", output_format)
    code = None
    try:
        code = work(session)
    except ProgramError as error:
        click.echo(str(error), err=True)
        return Exit.BAD_INPUT
    finally:
        if code is None or not session.keeps_log(code):
            shutil.rmtree(folder)
    return code
