"""Ansible callback that writes one JSON object per event to the file descriptor SPARKIAC_EVENTS.

It adds to Ansible's own output, and ends Ansible if `sparkiac apply` is killed. Works with ansible-core 2.16 and newer.
"""

from __future__ import annotations

import json
import os
import select
import signal
import threading
from collections.abc import Iterator
from typing import Any

from ansible.plugins.callback import CallbackBase  # type: ignore[import-untyped,import-not-found,unused-ignore]

DOCUMENTATION = """
name: sparkiac_events
type: notification
short_description: events for sparkiac apply
description: Writes one JSON object per event to the file descriptor SPARKIAC_EVENTS.
"""

WITH_OUTPUT = frozenset({"look", "services", "status"})
"""Roles whose programs print JSON that sparkiac reads."""
SAYING = frozenset({None, "driver", "os", "prune", "reboot", "uninstall"})
"""Roles whose messages say what was done, or in check mode what would be done; None stands for a play itself."""
REASONS = ("msg", "response", "url", "cmd", "stderr", "module_stderr")
"""What a module says of its failure: the message of a failed download has neither the answer nor the URL."""


class CallbackModule(CallbackBase):  # type: ignore[misc,unused-ignore]
    """Writes events. Ansible has already removed the values of tasks with `no_log`."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "sparkiac_events"

    def __init__(self, *words: Any, **options: Any) -> None:  # noqa: ANN401  Ansible's signature
        """Open the descriptor."""
        super().__init__(*words, **options)
        self._out: int | None = int(os.environ["SPARKIAC_EVENTS"])
        self._items: dict[tuple[str, str], list[Any]] = {}
        threading.Thread(target=_end_with_reader, args=(self._out,), daemon=True).start()

    def v2_playbook_on_play_start(self, play: Any) -> None:  # noqa: ANN401
        """Write that a play starts: Ansible has read all files and asked for all passwords."""
        self._write("play", name=play.get_name())

    def v2_runner_on_start(self, host: Any, task: Any) -> None:  # noqa: ANN401
        """Write that a host starts a task. An include starts on all hosts, also on those that it leaves out."""
        if "include" not in task.action:
            self._write("started", host=host.get_name(), **_task(task))

    def v2_runner_on_ok(self, result: Any) -> None:  # noqa: ANN401
        """Write that a task is done."""
        self._result("ok", result)

    def v2_runner_item_on_failed(self, result: Any) -> None:  # noqa: ANN401
        """Keep the result of a failed item until its loop has ended."""
        self._items.setdefault(_of_task(result), []).append(_field(result, "result"))

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:  # noqa: ANN401, FBT001, FBT002
        """Write that a task failed."""
        self._result("ignored" if ignore_errors else "failed", result)

    def v2_runner_retry(self, result: Any) -> None:  # noqa: ANN401
        """Write that a task is repeated."""
        self._result("retry", result)

    def v2_runner_on_unreachable(self, result: Any) -> None:  # noqa: ANN401
        """Write that a host did not respond."""
        self._result("unreachable", result)

    def _result(self, event: str, result: Any) -> None:  # noqa: ANN401
        task = _task(_field(result, "task"))
        found = _field(result, "result")
        kept = {key: found[key] for key in ("changed", "rc") if key in found}
        if event != "ok":
            # A loop fails with "One or more items failed"; its failed items have the reasons.
            kept |= _reasons(self._items.pop(_of_task(result), [found]))
        if task["role"] in WITH_OUTPUT and "stdout" in found:
            kept["stdout"] = found["stdout"]
        if task["action"] == "debug" and task["role"] in SAYING:
            kept["said"] = list(_said(found))
        self._write(event, host=_field(result, "host").get_name(), **task, **kept)

    def _write(self, event: str, **data: Any) -> None:  # noqa: ANN401
        """Write one line; when the reader has gone, write no more."""
        line = (json.dumps({"event": event, **data}, default=str) + "\n").encode()
        try:
            while line and self._out is not None:
                line = line[os.write(self._out, line) :]
        except OSError:
            self._out = None


def _end_with_reader(descriptor: int) -> None:
    """Wait until the reader of the pipe has ended, and end Ansible."""
    poll = select.poll()
    poll.register(descriptor, 0)  # an error is always reported
    poll.poll()
    os.kill(os.getpid(), signal.SIGTERM)


def _of_task(result: Any) -> tuple[str, str]:  # noqa: ANN401
    """Return the host and the ID of the task of a result."""
    return _field(result, "host").get_name(), _field(result, "task")._uuid  # noqa: SLF001  Ansible has no other ID


def _reasons(failed: list[Any]) -> dict[str, str]:
    """Return why a task or the items of its loop failed."""
    texts = {key: [str(each[key]) for each in failed if each.get(key)] for key in REASONS}
    return {key: "\n".join(dict.fromkeys(lines)) for key, lines in texts.items() if lines}


def _said(found: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of a message, or of the messages of a loop."""
    for each in found.get("results", [found]):
        message = each.get("msg", [])
        yield from map(str, message if isinstance(message, list) else [message])


def _field(result: Any, name: str) -> Any:  # noqa: ANN401
    """Return a field of a result; before ansible-core 2.19 its name starts with an underscore."""
    return getattr(result, name) if hasattr(result, name) else getattr(result, f"_{name}")


def _task(task: Any) -> dict[str, str | None]:  # noqa: ANN401
    role = getattr(task, "_role", None)
    action = task.action.rpartition(".")[2]
    return {"role": role.get_name() if role else None, "task": task.get_name(), "action": action}
