"""Playbooks that are commands: `sparkiac rollback`, `drain`, `reboot` and others, one record each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import click

from sparkiac.commands import completion
from sparkiac.commands.apply import AnsibleCommand, require_answer
from sparkiac.commands.inputs import AS_JSON, Exit, known, reject
from sparkiac.commands.inventories import INVENTORY
from sparkiac.commands.prompts import WrittenText

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sparkiac.commands.apply.session import ApplySession
    from sparkiac.plan import Plan

_COMMON: Final = """

It runs playbooks/{0}.yml in generated/<name>, with the same checks of the directory as `sparkiac apply`; \
`ansible-playbook playbooks/{0}.yml` does the same. {1} Options after -- go to ansible-playbook unchanged.

Exit codes: 0 done or nothing to do, 1 errors found or a host failed, 2 bad input or options, 3 files out of date or \
edited by hand, 4 lock missing, incomplete or an example, 5 an apply changes a host, 6 a host is unreachable, 130 \
interrupted or answered with no.""".replace("\\\n", "")
_WHERE: Final = {
    "hosts": "A HOST chooses where; a DEPLOYMENT or service, its hosts; without a name, all hosts.",
    "hosts or a unit": "A HOST chooses where; a DEPLOYMENT or service, only that one; without a name, all hosts.",
    "a unit": "With a HOST beside it, only there.",
    "a turn": "It is done on all hosts that take turns.",
}
_NAMES: Final = {"a unit": "DEPLOYMENT [HOST]...", "a turn": "TURN"}
_OUTPUT: Final = click.option(
    "--output", type=click.Path(path_type=Path), help="Generated directory; default: generated/<name>."
)
_YES: Final = click.option("--yes", is_flag=True, help="Do it without a question.")
_CHECK: Final = click.option("--check", "only_check", is_flag=True, help="Show what would be done; change nothing.")
_BOTH: Final = "name hosts and deployments either as arguments or with -- --limit"


class Verb(NamedTuple):
    """A command that runs the playbook of the same name."""

    summary: str
    """What it does, in one sentence."""
    done: str
    """What is said at the end; {} stands for the hosts, NAME for the unit or turn."""
    question: str = ""
    """What is asked after the list of what would be done; empty if it asks nothing."""
    details: str = ""
    takes: Literal["hosts", "hosts or a unit", "a unit", "a turn"] = "hosts"
    """What its names choose."""
    options: tuple[Callable[..., Any], ...] = ()
    """Options with the names of the variables that they set."""
    variables: tuple[tuple[str, str], ...] = ()
    """Variables that are always set."""
    lists: bool = False
    """Whether it lists the states of the fleet; it does only that if no option chooses one."""


_STATE: Final = WrittenText("COMMIT|previous", "previous|[0-9a-z]{7,40}", "previous or 4d513ffd09ab")
_VERSION: Final = WrittenText("VERSION", r"[0-9]+([.][0-9]+)+", "580.142")
VERBS: Final = {
    "turn": Verb(
        "Switch the hosts to another turn: other models that share them.",
        "Switched {} to the turn NAME",
        "Switch {} to the turn NAME?",
        "The units of the current turn are drained and stopped, those of TURN are started and checked. A host on which "
        "TURN does not answer well returns to the former turn, and so do the hosts that were switched before it.",
        "a turn",
    ),
    "rollback": Verb(
        "List which commit the fleet ran when, or go back to one.",
        "Switched {}",
        "Switch {} back?",
        "Without --to it changes nothing. A state is what all hosts ran after an apply; its name is the commit of the "
        "repository, or that of the apply if the tree was not clean. It needs no network but the connections to the "
        "hosts. A host on which the older generation does not answer well returns to the one that ran. The next apply "
        "brings the generated files again.",
        options=(
            click.option(
                "--to",
                "state",
                type=_STATE,
                help="State of all hosts to go back to: the one before the one that runs, or a commit of the list.",
            ),
        ),
        lists=True,
    ),
    "drain": Verb(
        "Take no new requests, and wait until the running ones have ended.",
        "Drained {}",
        "Drain {}?",
        "The units go on running. `sparkiac undrain` opens their ports again, and so does the next change of the host.",
        "hosts or a unit",
    ),
    "undrain": Verb("Take requests again, after drain.", "Opened the ports on {}", takes="hosts or a unit"),
    "restart": Verb(
        "Restart a deployment or service, and check that it answers well.",
        "Restarted NAME on {}",
        "Restart NAME on {}?",
        "Hosts restart it one after the other, the nodes of a group together.",
        "a unit",
    ),
    "reboot": Verb(
        "Reboot hosts one by one, and wait until each serves again.",
        "Rebooted {}",
        "Reboot {}?",
        "Each host is drained, its units are stopped, and after the reboot it is checked. The hosts of a group reboot "
        "together. A host that fails ends the run.",
    ),
    "stage": Verb(
        "Download and stage what an apply needs; change nothing that runs.",
        "Staged on {}",
        details="A later apply only has to switch.",
    ),
    "prune": Verb(
        "Remove images, weights and caches that no kept generation needs.",
        "Pruned {}",
        "Remove this from {}?",
        "The newest three generations of a host are kept.",
    ),
    "driver": Verb(
        "Hold the NVIDIA driver packages, or install another version.",
        "Set the driver of {}",
        "Change this on {}?",
        "With --upgrade-to, hosts reboot one after the other and are checked. A version that the inventory, an image "
        "or the catalog excludes is refused, and any on a host that the lock pins: `sparkiac os` moves that one.",
        options=(click.option("--upgrade-to", type=_VERSION, help="Driver version to install."),),
    ),
    "os": Verb(
        "Move hosts to the kernel, driver and Docker that the lock pins.",
        "Changed the software of {}",
        "Change this on {}?",
        "Hosts change one after the other, canaries first, also the nodes of a group. The first time a host reboots "
        "once more, to prove that its boot loader comes back. Then it starts the pinned kernel for one boot, checks "
        "itself and its models, and keeps the kernel, or reboots into the former one, which stays the default until "
        "then. Driver, container toolkit and Docker follow: the packages of both sets are on the host before one is "
        "touched, and it goes back to the former ones without a network. It changes nothing while an alert of "
        "Prometheus fires, and no host whose models only it serves while another one should.",
        options=(click.option("--despite", multiple=True, metavar="ALERT", help="Go on although this alert fires."),),
    ),
    "drift": Verb(
        "Show what was changed on hosts by hand, with a diff.",
        "Compared {}",
        details="It changes nothing, and a host that differs from the generation that it runs counts as failed.",
    ),
    "network": Verb(
        "Set the addresses of the links between hosts.",
        "Set the links of {}",
        "Set the links of {}?",
        "Those with `fabric: {netplan: true}` change, one after the other. One that loses its connection goes back to "
        "its former links.",
    ),
    "uninstall": Verb(
        "Remove from hosts exactly what sparkiac put there.",
        "Removed sparkiac from {}",
        "Remove this from {}?",
        "Images, Docker, the driver and the addresses of links stay, and weights unless --weights is given.",
        options=(click.option("--weights", is_flag=True, help="Also remove weights that only sparkiac downloaded."),),
        variables=(("confirm", "yes"),),
    ),
}


def command(name: str) -> click.Command:
    """Return the command of a verb."""
    verb = VERBS[name]
    names = click.argument(
        "names",
        nargs=1 if verb.takes == "a turn" else -1,
        required=verb.takes in _NAMES,
        metavar=_NAMES.get(verb.takes, "[HOST|DEPLOYMENT]..."),
        shell_complete=completion.turns if verb.takes == "a turn" else completion.targets,
    )

    def run(**given: Any) -> int:  # noqa: ANN401  the parameters below
        return _run(name, **given)

    asking = (_YES,) if verb.question else ()
    for decorated in reversed((INVENTORY, names, *verb.options, _OUTPUT, *asking, _CHECK, AS_JSON)):
        run = decorated(run)
    text = f"{verb.summary}\n\n{verb.details}{_COMMON.format(name, _WHERE[verb.takes])}"
    return click.command(name, cls=AnsibleCommand, help=text)(run)


def _run(  # noqa: PLR0913  one parameter for each option
    name: str,
    inventory: Path,
    names: str | tuple[str, ...],
    ansible: tuple[str, ...],
    output_format: str,
    *,
    output: Path | None,
    only_check: bool,
    yes: bool = False,
    **variables: Any,  # noqa: ANN401  values of the verb's own options
) -> int:
    from sparkiac.commands.apply import options, tree

    verb, given = VERBS[name], options.parse(ansible)
    only_check = only_check or given.check
    lists = verb.lists and not any(variables.values())
    asks = bool(verb.question) and not (yes or only_check or lists)
    fleet = tree.checked(inventory, output, output_format)
    target = _target(fleet.plan, name, names)
    require_answer(output_format, asks=asks)
    if target.limit and any(option.name == "--limit" for option in given.found):
        reject(_BOTH)
    words = (*target.limit, *_variables(verb, target, {} if verb.lists else variables), *given.words)
    from sparkiac.commands.apply.session import PlaybookCall, in_session

    question, done = (text.replace("NAME", target.name) for text in (verb.question, verb.done))
    wanted = PlaybookCall(f"playbooks/{name}.yml", target.hosts, question, done, _ranks(fleet.plan, target.name))

    def work(session: ApplySession) -> Exit:
        if verb.lists:
            return session.roll_back(wanted, variables["state"], asks=asks, only_check=only_check)
        return session.call(wanted, asks=asks, only_check=only_check)

    return in_session(fleet, given._replace(words=words), output_format, work)


class _Target(NamedTuple):
    """What the names choose."""

    hosts: tuple[str, ...]
    """Hosts that may take part."""
    name: str = ""
    """The unit or the turn."""
    limit: tuple[str, ...] = ()
    """Option of ansible-playbook; empty if no name chooses hosts."""


def _target(plan: Plan, verb: str, names: str | Sequence[str]) -> _Target:
    """Return what the names choose. Raises click.UsageError for a name that is unknown, or does not fit."""
    if isinstance(names, str):
        turns = dict.fromkeys(each.name for host in plan.hosts for each in host.turns)
        return _Target(tuple(host.name for host in plan.hosts if host.turns), known("turn", names, turns))
    retired = tuple(host.name for host in plan.retired if verb == "uninstall")
    found = named(plan, names, retired)
    chosen, unit = {*found.hosts, *found.owners}, ""
    if VERBS[verb].takes != "hosts":
        unit = _unit(found, required=VERBS[verb].takes == "a unit")
        chosen = {known(f"host of {unit}", host, found.owners) if unit else host for host in found.hosts}
        chosen = chosen or {*found.owners}
    hosts = tuple(name for name in (*(host.name for host in plan.hosts), *retired) if name in chosen or not names)
    return _Target(hosts, unit, ("--limit", ",".join(hosts)) if names else ())


def _ranks(plan: Plan, unit: str) -> dict[str, str]:
    """Return host → host and rank, for a unit that is a group."""
    nodes = ((host.name, each.server.node) for host in plan.hosts for each in host.containers if each.name == unit)
    return {host: f"{host} (rank {node[0]})" for host, node in nodes if node is not None}


def _unit(found: Named, *, required: bool) -> str:
    """Return the one unit that is named, or an empty text if none is."""
    if len(found.units) > 1 or (required and not found.units):
        reject(f"name one deployment or service, not {' and '.join(found.units) if found.units else 'only hosts'}")
    return next(iter(found.units), "")


def _variables(verb: Verb, target: _Target, given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the option that sets the variables of the playbook."""
    found = {key: value for key, value in given.items() if value} | dict(verb.variables)
    if target.name:
        found["turn" if verb.takes == "a turn" else "unit"] = target.name
    return ("-e", json.dumps(found)) if found else ()


class Named(NamedTuple):
    """What names of hosts, deployments and services stand for."""

    hosts: tuple[str, ...]
    """Named hosts."""
    units: tuple[str, ...]
    """Named deployments and services."""
    owners: tuple[str, ...]
    """Hosts with one of these."""


def named(plan: Plan, words: Sequence[str], more: Sequence[str] = ()) -> Named:
    """Return what names stand for; `more` are further hosts. A host comes before a deployment with its name.

    Raises click.UsageError for an unknown name.
    """
    here = {host.name: {unit.name for unit in host.units} for host in plan.hosts} | {name: set() for name in more}
    every = {*here}.union(*here.values())
    units = tuple(known("host or deployment", each, every) for each in dict.fromkeys(words) if each not in here)
    owners = tuple(host for host, own in here.items() if own.intersection(units))
    return Named(tuple(each for each in dict.fromkeys(words) if each in here), units, owners)
