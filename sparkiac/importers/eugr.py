"""Recipes of eugr/spark-vllm-docker, version 1: one command with placeholders, and patches for a container.

What its launcher makes of a file is in its run-recipe.py and recipes/README.md (2026): `command` goes through Python's
str.format with `defaults`; on one machine `tensor_parallel` is 1; `--distributed-executor-backend` is taken out where
no Ray is started, which since July 2026 is everywhere unless --ray is given; the machines are as many as the command's
parallel sizes multiply to. `container` is the image, `env` becomes export lines in front of the command, `model` is
what is downloaded, `mods` are patches that run in the container at each start, `build_args` are for building the image.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from sparkiac.importers import recipe, template, world
from sparkiac.importers.launch import Launch
from sparkiac.importers.sheet import Sheet, entry, whole
from sparkiac.importers.unreadable import Unreadable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NAME: Final = "eugr"
_KEY: Final = re.compile(r"""^(?:["']?)([A-Za-z_]\w*)(?:["']?)[ \t]*:""", re.MULTILINE)
_FIRST_VERSION: Final = re.compile(
    r"""^["']?recipe_version["']?[ \t]*:[ \t]*["']?1["']?[ \t]*(#.*)?\r?$""", re.MULTILINE
)
_ANY_VERSION: Final = "recipe_version"
_OTHERS: Final = frozenset(
    {
        "runtime", "metadata", "min_nodes", "max_nodes", "mode", "builder", "builder_config", "executor",
        "executor_config", "distribution_config", "runtime_config", "runtime_version", "model_revision", "pre_exec",
        "post_exec", "post_commands", "include", "overrides", "sparkrun_version", "services", "apiVersion",
    }
)  # fmt: skip
"""Keys of sparkrun, which reads version 1 as well, and of things that are no recipes."""
_BACKEND: Final = "--distributed-executor-backend"


def recognise(text: str, name: str) -> bool:  # noqa: ARG001  every importer is asked in this way
    """Whether a text is a recipe of version 1 with nothing in it that only sparkrun reads."""
    keys = set(_KEY.findall(text))
    if keys & _OTHERS or not {"command", "container"} <= keys:
        return False
    return _FIRST_VERSION.search(text) is not None if _ANY_VERSION in keys else "name" in keys


def read(text: str, *, name: str) -> tuple[Launch, ...]:
    """Read one recipe: one launch. Raises Unreadable for what its launcher would not read either."""
    sheet = Sheet(text)
    command = sheet.word("command")
    if command is None:
        message = "command: is missing, and the launcher makes none"
        raise Unreadable(message, line=sheet.line("command"))
    _version(sheet)
    defaults = sheet.mapping("defaults")
    solo, cluster = sheet.truth("solo_only"), sheet.truth("cluster_only")
    model = sheet.word("model")
    settings = _alone(sheet, defaults) if solo else defaults
    started = _started(sheet, command, settings, model)
    patched = _patches(sheet)
    launch = Launch(
        name=sheet.word("name") or name,
        line=sheet.line("command"),
        image=sheet.word("container"),
        entrypoint=(),  # the command runs in an idle container, past the image's own
        argv=started.argv,
        prelude=started.prelude,
        env=(*recipe.variables(sheet, "env", exported=True), *started.env),
        gpus=True,
        host_network=True,
        ipc="host",
        model=model,
        nodes=_nodes(sheet, started.argv, solo=solo, cluster=cluster),
        description=sheet.word("description"),
        lines=started.lines,
        requires=recipe.required(sheet, started, patched=patched),
    )
    recipe.served(sheet, started.argv, model)
    for key, value, line in sheet.rest():
        sheet.unused(line, entry(key, value), "no key of the format: its launcher ignores it")
    return (launch._replace(notes=sheet.notes()),)


def _version(sheet: Sheet) -> None:
    version = sheet.word("recipe_version")
    if version not in {"1", None}:
        sheet.lost(sheet.line("recipe_version"), f"recipe_version: {version}", "read as version 1")


def _alone(sheet: Sheet, defaults: dict[str, object]) -> dict[str, object]:
    """Give the settings for one machine."""
    size = whole(defaults.get("tensor_parallel"))
    if size is None or size == 1:
        return defaults
    why = "1 with solo_only, as the launcher has it on one machine"
    sheet.corrected(sheet.line("defaults", "tensor_parallel"), f"tensor_parallel: {size}", why)
    return defaults | {"tensor_parallel": 1}


def _started(sheet: Sheet, command: str, settings: Mapping[str, object], model: str | None) -> recipe.Started:
    values = recipe.texts(settings)
    extra = {} if model is None else {"model": model}
    filled = template.fill(command, extra | values, strict=True)
    recipe.told(sheet, filled, strict=True)
    if extra.keys() - values.keys() & filled.used:
        why = "its launcher knows no {model} unless a default has this name; the value of model: is taken"
        sheet.corrected(sheet.place("command", "{model}"), "{model}", why)
    recipe.idle(sheet, settings.keys() - filled.used, "the command does not use it, so it has no effect")
    recipe.shares(sheet, settings)
    started = recipe.starts(sheet, filled.text, "command")
    return _without_backend(sheet, started)


def _without_backend(sheet: Sheet, started: recipe.Started) -> recipe.Started:
    argv, lines = started.argv, started.lines
    while _BACKEND in argv[:-1]:
        place = argv.index(_BACKEND)
        why = "its launcher takes it out and starts vLLM on each machine itself, unless --ray is given"
        sheet.corrected(sheet.place("command", _BACKEND), " ".join(argv[place : place + 2]), why)
        argv, lines = (*argv[:place], *argv[place + 2 :]), (*lines[:place], *lines[place + 2 :])
    return started._replace(argv=argv, lines=lines)


def _patches(sheet: Sheet) -> bool:
    """Note mods and build arguments; tell whether there are mods."""
    mods = [*sheet.entries("mods")]
    for line, mod in mods:
        why = "a patch that its launcher applies in the container at each start; build it into the image"
        sheet.lost(line, entry("mods", mod), why)
    for line, word in sheet.entries("build_args"):
        sheet.lost(line, entry("build_args", word), "for building the image; sparkiac pins images by digest")
    return bool(mods)


def _nodes(sheet: Sheet, argv: Sequence[str], *, solo: bool, cluster: bool) -> int:
    """Count the machines: one with solo_only, else as many as the command's parallel sizes want."""
    wanted = world.of_argv(argv) or 1
    if solo and cluster:
        sheet.lost(
            sheet.line("cluster_only"), "cluster_only: true", "contradicts solo_only; its launcher starts neither"
        )
    if solo:
        if wanted > 1:
            why = f"contradicts the command, whose parallel sizes want {wanted} machines"
            sheet.lost(sheet.line("solo_only"), "solo_only: true", why)
        return 1
    if cluster and wanted == 1:
        why = "contradicts the command, whose parallel sizes want one machine"
        sheet.lost(sheet.line("cluster_only"), "cluster_only: true", why)
    if not cluster and wanted > 1:
        why = f"{wanted} machines are taken; its launcher starts it on one as well, with tensor_parallel 1"
        sheet.corrected(sheet.line("defaults", "tensor_parallel"), f"for {wanted} machines, or for one", why)
    return wanted
