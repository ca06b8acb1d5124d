"""Fill Jinja2 templates. Templates contain layout and make no decisions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from sparkiac.plan.numbers import gib
from sparkiac.render import escape
from sparkiac.report import assets


def fill(template: str, values: Mapping[str, Any]) -> bytes:
    """Fill the template at this path in templates/ and return the bytes."""
    return _environment().get_template(template).render(values).encode()


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(assets.directory("templates")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=select_autoescape(("html.j2",)),  # each other target format has its own filters
    )
    environment.filters.update(
        systemd_argument=escape.systemd_argument,
        systemd_command=escape.systemd_command,
        systemd_environment=escape.systemd_environment,
        systemd_text=escape.systemd_text,
        sysctl_line=escape.sysctl_line,
        markdown_cell=escape.markdown_cell,
        gib=gib,
    )
    return environment
