"""An Ansible callback that spares this machine work which no test looks at.

Each run packs the modules that it uses, with what they import, for which it compiles about fifty files a module. They
are kept for later runs. While Ansible waits for a host, it looks a thousand times a second whether a task has ended.
Each task is a fork, in which a collection of garbage copies the pages of all that Ansible has loaded, and which loads
the filters and tests of templates, and plugins, anew unless Ansible has used them before.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import sys
from pathlib import Path

from ansible import constants, template
from ansible.executor import module_common
from ansible.parsing.dataloader import DataLoader
from ansible.plugins import loader
from ansible.plugins.callback import CallbackBase
from ansible.release import __version__

KEPT = Path(__file__).parents[2] / ".pytest_cache/ansible" / f"modules-{__version__}-{sys.implementation.cache_tag}"
DOCUMENTATION = """
name: less_work
type: aggregate
short_description: spares this machine work
description: see the module's text
"""


class CallbackModule(CallbackBase):
    """Prepares a run."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "less_work"

    def __init__(self) -> None:
        """Use the kept modules, unless this Ansible does not lock what other runs may write at the same time."""
        super().__init__()
        load_filters_and_tests()
        load_plugins()
        gc.disable()
        gc.freeze()
        constants.DEFAULT_INTERNAL_POLL_INTERVAL = 0.01
        if hasattr(module_common, "_locking"):
            KEPT.mkdir(parents=True, exist_ok=True)
            Path(constants.DEFAULT_LOCAL_TMP, "ansiballz_cache").symlink_to(KEPT)


def load_filters_and_tests() -> None:
    """Let Ansible evaluate a template; since 2.19 it takes only those that it trusts."""
    text = "{{ 1 | default(2) is defined }}"
    trusted = template.trust_as_template(text) if hasattr(template, "trust_as_template") else text
    template.Templar(loader=DataLoader()).template(trusted)


def load_plugins() -> None:
    """Load what nearly each task uses, and how modules and Ansible write JSON to each other since 2.19."""
    for plugins, names in (
        (loader.action_loader, ("assert", "command", "debug", "normal", "set_fact")),
        (loader.connection_loader, ("local", "ssh")),
        (loader.shell_loader, ("sh",)),
    ):
        for name in names:
            plugins.get(name, class_only=True)
    with contextlib.suppress(ImportError):
        for profile in ("module_legacy_c2m", "module_legacy_m2c"):
            importlib.import_module(f"ansible.module_utils._internal._json._profiles._{profile}")
