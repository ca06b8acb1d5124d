"""Derive from the facts of a host what is wrong with the machine and its software, and what its pins withhold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date
from typing import Final, Literal, NamedTuple

from sparkiac.fleet.facts import AvailableUpdate, HostFacts, KernelTrial, PackageChange, Software
from sparkiac.host.conditions import applying
from sparkiac.host.kernel import packages
from sparkiac.host.kernel.trial import GOOD, OPEN
from sparkiac.host.software import MIXED, HostValues, parameter_faults, unlike
from sparkiac.host.watch.sickness import JOURNAL, KILLED, LOW_POWER
from sparkiac.model.lock import HostSet
from sparkiac.plan import HostPlan

UNHEALTHY: Final = "unhealthy"
DRIFT: Final = "drift"
CLOCK_LIMIT_S: Final = 5
"""Larger differences between the clocks are reported: logs of two machines can then no longer be compared."""
MOVED: Final = "install the pinned version again, or pin what runs: sparkiac lock INVENTORY --hosts --upgrade HOST"
_LISTED: Final = 3
_COMPARED: Final = {*HostSet.model_fields} - {"packages", "since", "review_by"}
"""What the status compares with the pins; the host itself compares packages, because it knows what moved them."""
_ADVICE: Final = "info"
_ERROR: Final = "error"
_NEXT_BOOT: Final = "sparkiac docs hosts says what to do before a reboot"
_PARAMETERS: Final = "sparkiac os tries the declared parameters for one boot"
_PRICE: Final = "apt changelog NAME shows what is in them"
_REVIEW: Final = "decide, then renew the pins: sparkiac lock INVENTORY --hosts --upgrade HOST"
_WAIT: Final = "wait, or run sparkiac os again; see `journalctl --unit=sparkiac-kernel`"
_SUSPECTED: Final = {LOW_POWER, JOURNAL, KILLED}
"""What is over, or not certain."""


class Problem(NamedTuple):
    """Something that is not healthy, that differs from the plan, or that an operator should know."""

    kind: Literal["unhealthy", "drift", "warning"]
    unit: str | None
    """Deployment or service that it is about; None if it is about the host."""
    text: str
    hint: str = ""


def machine_problems(host: HostPlan, facts: HostFacts, clock_s: float) -> Iterator[Problem]:
    """Yield what is wrong with the driver, the links, the ports and the clock of a host, and what its watch found."""
    machine = facts.machine
    if machine.driver_fault:
        yield Problem(UNHEALTHY, None, f"nvidia-smi fails: {machine.driver_fault}", "reboot after a driver upgrade")
    if host.gpu and machine.driver is None:
        yield Problem(UNHEALTHY, None, "no NVIDIA driver is loaded", "check `nvidia-smi` and `dmesg` on the host")
    if host.values.driver and machine.driver and not f"{machine.driver}.".startswith(f"{host.values.driver}."):
        text = f"driver {machine.driver} is loaded, the inventory has {host.values.driver}"
        yield Problem(DRIFT, None, text, "move to it with sparkiac os, or change the inventory")
    if machine.unpinnable and (known := host.preflight.unpinnable):
        hint = f"{known.code}: {known.hint}"
        yield Problem(UNHEALTHY if known.rdma_units else "warning", None, machine.unpinnable, hint)
    for sick in (each for each in facts.sick if each.unit is None):
        yield Problem("warning" if sick.kind in _SUSPECTED else UNHEALTHY, None, sick.words, sick.remedy)
    for link in host.preflight.links:
        if (state := machine.links.get(link.interface, "up")) != "up":
            text = f"the link {link.interface} of its groups is {state}"
            yield Problem(UNHEALTHY, None, text, "check the cable, and that the other host is on")
    if facts.doors:
        hint = "journalctl --unit=sparkiac-doors on the host; it is written again within 15 s"
        yield Problem(UNHEALTHY, None, facts.doors, hint)
    if abs(clock_s) > CLOCK_LIMIT_S:
        direction = "ahead of" if clock_s > 0 else "behind"
        text = f"its clock is {abs(clock_s):.0f} s {direction} the clock of this machine"
        yield Problem(UNHEALTHY, None, text, "check `timedatectl` on both machines")


def software_problems(host: HostPlan, found: Software | None, today: date) -> Iterator[Problem]:
    """Yield the facts about the software of a host, where it differs from the pins, and the updates they withhold."""
    if found is None:
        return
    yield from _known(host, found, "")
    if found.next_kernel:
        yield from _known(host, found.model_copy(update={"kernel": found.next_kernel}), "after the next boot: ")
        yield Problem("warning", None, f"the next boot starts {next_boot(found)}", _NEXT_BOOT)
    for text in parameter_faults(found.model_dump(), host.values.boot_words):
        yield Problem(DRIFT, None, text, _PARAMETERS)
    if host.pins is not None:
        now = host.pins.model_copy(update=found.model_dump(include=_COMPARED))
        for what, pinned, runs in host.pins.differing(now):
            yield Problem(DRIFT, None, f"{what} is {runs}, pinned {pinned}", MOVED)
        yield from price(host.pins, found.updates, today)


def _known(host: HostPlan, found: Software, when: str) -> Iterator[Problem]:
    """Yield the facts about this software that are more than advice."""
    known = host.preflight.host_facts
    if known is None:
        return
    for fact, text in applying(known.facts, HostValues(found.model_dump(), rdma=known.rdma)):
        if fact.severity != _ADVICE:
            kind: Literal["unhealthy", "warning"] = UNHEALTHY if fact.severity == _ERROR and not when else "warning"
            yield Problem(kind, None, f"{when}{text}", f"{fact.code}: {fact.hint}")


def trial_problems(found: KernelTrial | None) -> Iterator[Problem]:
    """Yield that a kernel is tried, or why the last one went back or is not finished."""
    if found is None or (found.phase == GOOD and not found.why):
        return
    if found.phase in OPEN:
        text = f"kernel {_change(found)} is tried ({found.phase}): any other boot starts {found.former} as before"
        yield Problem(DRIFT, None, text, _WAIT)
    else:
        reason = found.why.partition("\n")[0]
        yield Problem("warning", None, f"kernel {_change(found)}: {reason}", "sparkiac docs hosts says what to do")


def _change(found: KernelTrial) -> str:
    """Return the kernel of a trial, and the parameters that differ from those before it."""
    ways = (("with", found.parameters, found.former_parameters), ("without", found.former_parameters, found.parameters))
    differing = ((how, [each for each in one if each not in two]) for how, one, two in ways)
    return found.kernel + "".join(f" {how} {', '.join(words)}" for how, words in differing if words)


def package_problems(found: PackageChange | None, software: Software | None) -> Iterator[Problem]:
    """Yield that packages change or could not, and what keeps units that use the GPU down."""
    if software and (text := unlike(software.driver, {**software.packages})):
        yield Problem(UNHEALTHY, None, f"{text}: units that use the GPU do not start", "DRV005: reboot")
    if found is None or found.phase == GOOD:
        return
    named = listed([f"{name} {each}" for name, each in found.new.items()])
    reason = f": {found.why.partition(chr(10))[0]}" if found.why else ""
    if found.phase in MIXED:
        text = f"packages of two sets may be installed ({found.phase}), units that use the GPU do not start: {named}"
        yield Problem(UNHEALTHY, None, f"{text}{reason}", _WAIT)
    elif found.phase in packages.OPEN:
        yield Problem(DRIFT, None, f"{named}: tried ({found.phase}), any other boot brings the former ones back", _WAIT)
    else:
        yield Problem("warning", None, f"{named}: went back{reason}", "sparkiac docs hosts says what to do")


def next_boot(found: Software) -> str:
    """Return the kernel of the next boot, the running one, and what installed it."""
    package = f"linux-image-{found.next_kernel}"
    change = next((each for each in reversed(found.moved) if each.package == package), None)
    by = f", installed on {change.at} by {change.command}" if change else ""
    return f"kernel {found.next_kernel} instead of {found.kernel}{by}"


def price(pins: HostSet, updates: Iterable[AvailableUpdate], today: date) -> Iterator[Problem]:
    """Yield what the pins of a host withhold, and that their review is overdue."""
    held = sorted(
        (each for each in updates if each.package in pins.packages), key=lambda each: (not each.security, each.package)
    )
    days = (today - date.fromisoformat(pins.since)).days
    if held:
        named = listed([f"{each.package} {each.version}{' (security)' * each.security}" for each in held])
        urgent = sum(each.security for each in held)
        many = f"{len(held)} update{'' if len(held) == 1 else 's'}, {urgent} of them for security"
        text = f"pinned for {days} days, its pins withhold {many}: {named}"
        yield Problem("warning", None, text, _PRICE)
    if today > date.fromisoformat(pins.review_by):
        yield Problem("warning", None, f"the review of its pins was due on {pins.review_by}", _REVIEW)


def listed(names: list[str] | tuple[str, ...]) -> str:
    """Return the first names, and how many more there are."""
    left = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {left} more" if left > 0 else "")
