"""Renew leases in the background for as long as ansible-playbook runs. Works with ansible-core 2.16 and newer.

A loop with `delegate_to` runs this action for one host after the other in one process of Ansible. It keeps their
connections, with all options and passwords, and starts one process that sends `argv` and `stdin` to each of the `hosts`
every 30 s. A host that no longer has the lease is left out. However ansible-playbook ends, this process ends as well.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import time
from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase  # type: ignore[import-untyped,import-not-found,unused-ignore]
from ansible.utils.display import Display  # type: ignore[import-untyped,import-not-found,unused-ignore]

PERIOD_S = 30
LIMIT_S = 25
"""Time for one renewal: then the connection to the host hangs."""
LOST = 5
"""Exit status of `switch lease renew` if another run holds the lease."""
HOSTS: list[ActionModule] = []


class ActionModule(ActionBase):  # type: ignore[misc,unused-ignore]
    """The renewal of the lease of one host."""

    _child = 0

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:  # noqa: ANN401  Ansible's signature
        """Keep the connection; at the last host, start the process."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        shutil.rmtree(Path(__file__).with_name("__pycache__"), ignore_errors=True)  # the tree is in Git
        HOSTS.append(self)
        controller = os.getppid()
        if len(HOSTS) == int(self._task.args["hosts"]) and os.fork() == 0:
            keep(controller)
        return result

    def begin(self) -> None:
        """Send a renewal from a process of its own, so that a host that hangs delays no other."""
        self._child = os.fork()
        if self._child:
            return
        signal.alarm(LIMIT_S)
        words, status = self._task.args, 1
        try:
            command = shlex.join(words["argv"])
            status = self._low_level_execute_command(command, in_data=words["stdin"].encode())["rc"]
        finally:
            os._exit(status)

    def lost(self) -> bool:
        """Return whether the last renewal found that the lease is lost. Without a connection, this is unknown."""
        return bool(self._child) and os.waitstatus_to_exitcode(os.waitpid(self._child, 0)[1]) == LOST


def keep(controller: int) -> None:
    """Renew the leases until the controller has ended or all are lost. Ansible's signals and output are not for us."""
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(null, descriptor)
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_DFL)
    Display().verbosity = 0
    try:
        while HOSTS:
            for host in list(HOSTS):
                rest(controller, PERIOD_S / len(HOSTS))
                if host.lost():
                    HOSTS.remove(host)
                else:
                    host.begin()
    finally:
        os._exit(0)


def rest(controller: int, seconds: float) -> None:
    """Wait; end this process if the controller has ended."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(1, left))
        try:
            os.kill(controller, 0)
        except OSError:
            os._exit(0)
