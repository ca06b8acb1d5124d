"""An Ansible callback that kills its controller at $KILL, such as `before 12`: before the 12th task of the run.

`after 12` is after the first host has done it. A task's name can stand for its number. Without $KILL, the tasks of a
run are listed in the file $TASKS, each with its number, its action and its name, and again when the first host has done
it.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ansible.plugins.callback import CallbackBase

if TYPE_CHECKING:
    from ansible.playbook.task import Task

DOCUMENTATION = """
name: kill_controller
type: aggregate
short_description: lists the tasks of a run, or kills its controller
description: see the module's text
"""


class CallbackModule(CallbackBase):
    """Counts the tasks of a run."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "kill_controller"

    def __init__(self) -> None:
        """Read what to do."""
        super().__init__()
        self.number = 0
        self.name = ""
        self.done = 0
        self.kill_at = os.environ.get("KILL", "")
        self.listed = os.environ.get("TASKS", "")

    def v2_playbook_on_task_start(self, task: Task, is_conditional: bool) -> None:  # noqa: ARG002, FBT001
        """Count a task."""
        self.number += 1
        self.name = task.get_name()
        self.write(f"{self.number}\t{task.action}\t{self.name}")
        self.kill("before")

    def v2_runner_on_ok(self, result: Any) -> None:  # noqa: ANN401, ARG002 - the type has another name in each version
        """Note that a host has done the task."""
        if self.done != self.number:
            self.done = self.number
            self.write(f"{self.number}\tdone\t")
        self.kill("after")

    def write(self, line: str) -> None:
        """Add a line to the list of tasks."""
        if self.listed:
            with Path(self.listed).open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")

    def kill(self, moment: str) -> None:
        """Kill this process and its children, if it is the moment."""
        if self.kill_at in (f"{moment} {self.number}", f"{moment} {self.name}"):
            os.killpg(0, signal.SIGKILL)
