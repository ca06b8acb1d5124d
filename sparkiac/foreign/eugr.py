"""Recipes of eugr/spark-vllm-docker, version 1: a command with placeholders, and patches for the container.

Source: its run-recipe.py and recipes/README.md (2026). `command` is filled with `defaults` by Python's str.format; on
one machine `tensor_parallel` is 1. The launcher removes `--distributed-executor-backend` unless it starts Ray, which
since July 2026 requires --ray. The number of machines is the product of the command's parallel sizes. `container` is
the image, `env` becomes export lines before the command, `model` is downloaded, `mods` are patches that run in the
container at each start, and `build_args` are for building the image.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from sparkiac import engines
from sparkiac.foreign import machines, node, recipe_reader, recipe_writer, values
from sparkiac.foreign.launch import Launch, Unreadable
from sparkiac.foreign.node import Exported, ExportError, HostContainer
from sparkiac.foreign.recipe_file import RecipeFile, positive_int, summary
from sparkiac.foreign.recipe_reader import BACKEND, RecipeCommand
from sparkiac.model.images import IMAGE

_FIRST_VERSION: Final = re.compile(
    r"""^["']?recipe_version["']?[ \t]*:[ \t]*["']?1["']?[ \t]*(#.*)?\r?$""", re.MULTILINE
)
_ANY_VERSION: Final = "recipe_version"
_OTHER_FORMATS: Final = values.words("""
    runtime metadata min_nodes max_nodes mode builder builder_config executor executor_config distribution_config
    runtime_config runtime_version model_revision pre_exec post_exec post_commands include overrides sparkrun_version
    services apiVersion
""")
"""Keys that show another format than eugr's: sparkrun's recipes, or files that are not recipes."""
_BUILDER: Final = "build-and-copy.sh"
"""The program of its repository that builds images."""
_CONTAINER: Final = "its launcher starts the container privileged, in the host's network and IPC namespace"


def recognise(text: str, name: str) -> bool:  # noqa: ARG001  all importers have the same signature
    """Return whether a text is a recipe of version 1 without keys that only sparkrun reads."""
    keys = set(recipe_reader.KEY.findall(text))
    if keys & _OTHER_FORMATS or not {"command", "container"} <= keys:
        return False
    return _FIRST_VERSION.search(text) is not None if _ANY_VERSION in keys else "name" in keys


def read(text: str, *, name: str, given: Mapping[str, str] = {}) -> tuple[Launch, ...]:
    """Read one recipe as one launch. Raises Unreadable for a recipe that its launcher refuses too."""
    file = RecipeFile(text)
    command = file.text("command")
    if command is None:
        raise Unreadable("command: is missing, and the launcher has no default command", line=file.line("command"))
    recipe_reader.check_version(file, {"1", None}, read_as="1")
    defaults = file.mapping("defaults")
    solo, cluster = file.boolean("solo_only"), file.boolean("cluster_only")
    model = file.text("model")
    settings = _for_one_machine(file, defaults) if solo else defaults
    started = _server_command(file, command, settings | dict(given), model)
    patched = _patches(file)
    launch = Launch(
        name=file.text("name") or name,
        line=file.line("command"),
        image=file.text("container"),
        entrypoint=(),  # the command runs in an idle container, without the image's entrypoint
        argv=started.argv,
        prelude=started.prelude,
        env=(*recipe_reader.variables(file, "env", exported=True), *started.env),
        gpus=True,
        host_network=True,
        settings={("container", "ipc"): "host"},
        model=model,
        nodes=_nodes(file, started.argv, solo=solo, cluster=cluster),
        description=file.text("description"),
        lines=started.lines,
    )
    recipe_reader.note_missing_files(file, started, patched=patched)
    recipe_reader.note_other_model(file, started.argv, model)
    for key, value, line in file.unread():
        file.unused(line, summary(key, value), "not a key of the format: its launcher ignores it")
    return (launch._replace(notes=file.notes()),)


def _for_one_machine(file: RecipeFile, defaults: dict[str, object]) -> dict[str, object]:
    size = positive_int(defaults.get("tensor_parallel"))
    if size is None or size == 1:
        return defaults
    why = "set to 1 for solo_only, as its launcher does on one machine"
    file.corrected(file.line("defaults", "tensor_parallel"), f"tensor_parallel: {size}", why)
    return defaults | {"tensor_parallel": 1}


def _server_command(file: RecipeFile, command: str, settings: Mapping[str, object], model: str | None) -> RecipeCommand:
    filling = recipe_reader.as_text(settings)
    extra = {} if model is None else {"model": model}
    filled = recipe_reader.fill(command, extra | filling, strict=True)
    recipe_reader.note_placeholders(file, filled, strict=True)
    if extra.keys() - filling.keys() & filled.used:
        why = "its launcher fills {model} only from a default of this name; here the value of model: is used"
        file.corrected(file.line_of("command", "{model}"), "{model}", why)
    recipe_reader.note_unused_defaults(file, settings.keys() - filled.used, recipe_reader.NO_EFFECT)
    recipe_reader.note_size_as_share(file, settings)
    started = recipe_reader.server_command(file, filled.text, "command")
    return _without_backend(file, started)


def _without_backend(file: RecipeFile, started: RecipeCommand) -> RecipeCommand:
    argv, lines = started.argv, started.lines
    while BACKEND in argv[:-1]:
        place = argv.index(BACKEND)
        why = "its launcher removes it and starts vLLM on each machine itself, unless --ray is given"
        file.corrected(file.line_of("command", BACKEND), " ".join(argv[place : place + 2]), why)
        argv, lines = (*argv[:place], *argv[place + 2 :]), (*lines[:place], *lines[place + 2 :])
    return started._replace(argv=argv, lines=lines)


def _patches(file: RecipeFile) -> bool:
    """Note mods and build arguments; return whether there are mods."""
    mods = [*file.entries("mods")]
    for line, mod in mods:
        why = "a patch that its launcher applies in the container at each start; build it into the image instead"
        file.lost(line, summary("mods", mod), why)
    for line, word in file.entries("build_args"):
        file.lost(line, summary("build_args", word), "for building the image; sparkiac pins images by digest")
    return bool(mods)


def _nodes(file: RecipeFile, argv: Sequence[str], *, solo: bool, cluster: bool) -> int:
    """Return the number of machines: one with solo_only, otherwise the product of the command's parallel sizes."""
    needed = machines.from_argv(argv) or 1
    if solo and cluster:
        file.lost(file.line("cluster_only"), "cluster_only: true", "contradicts solo_only; its launcher refuses both")
    if solo:
        if needed > 1:
            why = f"contradicts the command, whose parallel sizes need {needed} machines"
            file.lost(file.line("solo_only"), "solo_only: true", why)
        return 1
    if cluster and needed == 1:
        why = "contradicts the command, whose parallel sizes need one machine"
        file.lost(file.line("cluster_only"), "cluster_only: true", why)
    if not cluster and needed > 1:
        why = f"imported for {needed} machines; its launcher can also start it on one, with tensor_parallel 1"
        file.corrected(file.line("defaults", "tensor_parallel"), f"for {needed} machines or for one", why)
    return needed


def write(nodes: Sequence[HostContainer]) -> Exported:
    """Write a deployment. Raises ExportError for any engine but vLLM."""
    first = nodes[0].container
    if not engines.named(first.server.engine).interfaces:
        raise ExportError(f"eugr's launcher only runs vLLM; the engine of {first.name} is {first.server.engine}")
    found = recipe_writer.build(nodes, "eugr", doubled=True)
    model = first.server.model or ""
    fetched = recipe_writer.fetched(first, first.weights.commits)
    notes = [*found.notes, *_build_notes(nodes[0].build or {}), *fetched, _CONTAINER]
    data: dict[str, Any] = {
        "recipe_version": "1",
        "name": first.name,
        "description": first.description,
        "model": model,
        "container": node.image(first),
        "cluster_only" if found.nodes > 1 else "solo_only": True,
        "defaults": found.defaults,
        "env": found.env,
    }
    return Exported(recipe_writer.text(notes, node.heading(first), data, found.command), tuple(notes))


def _build_notes(build: Mapping[str, Any]) -> Iterator[str]:
    """Yield notes on the keys of its recipes that describe an image, which this image has in it."""
    program, *arguments = build.get("program", ("",))
    if program == _BUILDER:
        words = [word for word, after in pairwise((*arguments, "")) if IMAGE not in word + after]
        yield f"not exported: build_args: [{', '.join(words)}]: the image is built with these arguments"
    if mods := ", ".join(mod["path"] for mod in build.get("mods", ())):
        yield f"not exported: mods: [{mods}]: the image contains them; its launcher would apply them again"
