"""Check that this host meets the expectations of the plan.

preflight [--expect-json JSON] [--provided-secrets a,b] [--json]   check the host; changes nothing
preflight --start NAME                                             check and prepare one unit, as root, before it starts

Prints one entry per check: ok|warn|FAIL|info|unknown, the code of its page (`sparkiac rules explain CODE`), the name of
the check, the value found, the expected value, and a hint. Lines have at most 100 columns; further lines of an entry
are indented. Exit status: 0 no failure, 1 at least one failure, 2 usage.

Its modules are in the same directory. The playbook sends all of them to the host as one program before it copies any
file.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import sys
import textwrap
from typing import Any

from ..contract import ContractError, validated
from . import fabric, machine, needs, start
from .expectations import Expectations
from .host import EXPECTATIONS, Check, CheckResult, LocalHost, run_check

CHECKS: dict[str, Check] = {
    **machine.CHECKS,
    **fabric.CHECKS,
    **needs.CHECKS,
    **start.CHECKS,
}
GPU = ("gpu", "driver", "doubted_drivers", "image_drivers")  # checked with one call of nvidia-smi
WIDTH, INDENT = 100, " " * 17
PAIRS = ("versions", "kernel_parameters")  # name → value; each pair is a separate check


def check_host(wanted: dict[str, Any], host: LocalHost) -> list[CheckResult]:
    """Run all checks of the expectations; raise ContractError if the expectations have unknown or missing keys."""
    validated("preflight", "expectations", wanted, Expectations)
    gpu = {key: wanted[key] for key in GPU}
    asked = {**wanted, "nvidia-smi": gpu if any(gpu.values()) else None}
    lines = []
    for key in [key for key in CHECKS if key in asked]:
        value: Any = asked[key] or []
        listed = [pair for pair in value.items() if pair[1]] if key in PAIRS and value else value
        for item in [value] if isinstance(listed, (str, int, dict)) else listed:
            lines += run_check(key, CHECKS[key], item, host)
    return lines


def check_unit(name: str, wanted: dict[str, Any], host: LocalHost) -> list[CheckResult]:
    """Check one unit before its start and prepare the start."""
    validated("preflight", "expectations", wanted, Expectations)
    asked = {"start": {**wanted["units"][name], "name": name, "nft": wanted["nft"]}}
    if (kernel := wanted["unpinnable"]) and name in kernel["rdma_units"]:
        asked["unpinnable"] = kernel
    return [line for key, value in asked.items() for line in run_check(key, CHECKS[key], value, host)]


def shown(line: CheckResult) -> list[str]:
    """Return the lines that show a result, with short digests."""
    state, check, found, want, hint, code = line
    text = f"{state:<7}  {code:<6}  {check}: found {found}, wanted {want}" + (f"; hint: {hint}" if hint else "")
    short = re.sub(r"(sha256:[0-9a-f]{12})[0-9a-f]{52}", r"\1…", text)
    return textwrap.wrap(short, WIDTH, subsequent_indent=INDENT, break_on_hyphens=False)


def main(argv: list[str], host: LocalHost | None = None) -> int:
    """Run preflight and return its exit status."""
    host = host or LocalHost()
    parser = argparse.ArgumentParser(prog="preflight", description=__doc__.partition("\n")[0])
    parser.add_argument("--expect-json", metavar="JSON", help=f"expectations instead of {EXPECTATIONS}")
    parser.add_argument("--provided-secrets", default="", metavar="A,B", help="secrets that the playbook will write")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--start", metavar="NAME", help="check one unit before its start and prepare the start")
    arguments = parser.parse_args(argv)
    if arguments.start:  # a unit that is stopped while it waits for memory has not failed
        signal.signal(signal.SIGTERM, lambda _signal, _frame: sys.exit(0))
    host.provided_secrets = tuple(arguments.provided_secrets.split(","))
    try:
        wanted = dict(json.loads(arguments.expect_json or host.read(EXPECTATIONS)))
        lines = check_unit(arguments.start, wanted, host) if arguments.start else check_host(wanted, host)
    except ContractError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except (OSError, ValueError, TypeError, LookupError) as error:
        parser.error(f"cannot read the expectations: {type(error).__name__}: {error}")
    if arguments.json:
        checks = [{**line._asdict(), "lines": shown(line)} for line in lines]
        report = {"host": wanted["host"], "checks": checks}
        print(json.dumps(report, indent=1))  # noqa: T201
    else:
        print("\n".join(text for line in lines for text in shown(line)))  # noqa: T201
    return int(any(line.state == "FAIL" for line in lines))
