"""Recipes of sparkrun, versions 2 and 3: a model, defaults, and a command that is a template or sparkrun's own.

Source: sparkrun's RECIPES.md (2026). `{key}` of a command is put in from `defaults`, `model` and `model_revision`;
without a command the runtime's options are written from `defaults`; `--served-model-name` is added where a default
names it and the command does not. The machines are as many as the parallel sizes multiply to, each with one GPU.
Recipes of version 1 with keys that only sparkrun has are read here as well.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from sparkiac.importers import eugr, recipe, sparkrun_blocks, sparkrun_layers, sparkrun_nodes, template, world
from sparkiac.importers.launch import Launch
from sparkiac.importers.sheet import Sheet, entry, whole
from sparkiac.importers.sparkrun_runtimes import RUNTIMES, Runtime, built, split
from sparkiac.importers.unreadable import Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

NAME: Final = "sparkrun"
_KEY: Final = re.compile(r"""^(?:["']?)([A-Za-z_]\w*)(?:["']?)[ \t]*:""", re.MULTILINE)
_OWN: Final = frozenset({"recipe_version", "runtime", "sparkrun_version", "metadata", "min_nodes", "max_nodes"})
_BODY: Final = frozenset({"command", "defaults", "container", "runtime"})
_BASE: Final = re.compile(r"^include[ \t]*:[ \t]*[^\s#-]", re.MULTILINE)
_NOT: Final = frozenset({"services", "apiVersion", "kind", "hosts", "deployments"})
_RAY: Final = frozenset({"vllm-ray", "eugr-vllm"})
_BACKEND: Final = "--distributed-executor-backend"
_PLACING: Final = frozenset({*world.KEYS, "ep_size", "served_model_name", "distributed_executor_backend"})
"""Defaults that sparkrun reads itself, whether the command uses them or not."""
_PROGRAMS: Final = (
    (re.compile(r"sglang\s+serve\b|python3?\s+-m\s+sglang\.launch_server\b"), "sglang"),
    (re.compile(r"llama-server\b"), "llama-cpp"),
    (re.compile(r"trtllm-serve\b|mpirun\b.*trtllm"), "trtllm"),
)


def recognise(text: str, name: str) -> bool:
    """Whether a text is a recipe, and none of eugr's."""
    keys = set(_KEY.findall(text))
    if keys & _NOT or eugr.recognise(text, name):
        return False
    if _BASE.search(text):
        return True
    return "model" in keys and bool(keys & _BODY) and bool(keys & _OWN or {"container", "defaults"} <= keys)


def read(text: str, *, name: str) -> tuple[Launch, ...]:
    """Read one recipe: one launch. Raises Unreadable for what sparkrun would not read either."""
    sheet = Sheet(text)
    _shape(sheet)
    sparkrun_layers.apply(sheet)
    model, command, runtime = sheet.word("model"), sheet.word("command"), _runtime(sheet)
    topology = sparkrun_nodes.Topology(sheet)
    settings = sheet.mapping("defaults") | topology.alone
    if command is None:
        started = _made(sheet, runtime, model, settings)
    else:
        started = _filled(sheet, command, RUNTIMES.get(runtime), settings, model)
    nodes = topology.nodes(started.argv)
    started = _backend(sheet, started, runtime, settings, nodes=nodes)
    launch = _launch(sheet, started, model=model, name=_name(sheet, name), nodes=nodes)
    recipe.shares(sheet, settings)
    sparkrun_blocks.blocks(sheet)
    for key, value, line in sheet.rest():
        sheet.unused(line, entry(key, value), "no key of the format: sparkrun ignores it")
    return (launch._replace(notes=sheet.notes()),)


def _shape(sheet: Sheet) -> None:
    """Note the version, and a base whose file is not here."""
    version = sheet.word("recipe_version")
    if version not in {"1", "2", "3", None}:
        sheet.lost(sheet.line("recipe_version"), f"recipe_version: {version}", "read as version 2")
    base = sheet.word("include")
    if base is not None:
        why = "the file that it builds on is not read; what only stands there is missing here"
        sheet.lost(sheet.line("include"), f"include: {base}", why)
    elif sheet.data.get("model") in (None, ""):
        message = "model: is missing"
        raise Unreadable(message, line=sheet.line("model"))


def _name(sheet: Sheet, name: str) -> str | None:
    """Give the file's name, which is the recipe's; the key of this name means nothing to sparkrun."""
    given = sheet.word("name")
    stem = re.sub(r"\.ya?ml$", "", name.rpartition("/")[2], flags=re.IGNORECASE)
    if stem in {"", "-"}:
        return given
    if given not in {stem, None}:
        sheet.corrected(sheet.line("name"), f"name: {given}", f"the file's name is the recipe's: {stem}")
    return stem


def _runtime(sheet: Sheet) -> str:
    """Give the runtime; if none is named, what the command begins with tells."""
    given = sheet.word("runtime")
    if given is not None:
        return given
    command = str(sheet.data.get("command") or "").strip()
    return next((runtime for form, runtime in _PROGRAMS if form.match(command)), "vllm")


def _filled(
    sheet: Sheet, command: str, runtime: Runtime | None, settings: Mapping[str, object], model: str | None
) -> recipe.Started:
    """Put the defaults into the command."""
    given = {"model": model, "model_revision": sheet.data.get("model_revision"), "resolved_model_path": model}
    values = {key: str(value) for key, value in given.items() if value is not None}
    values |= {key: _collapsed(value) for key, value in recipe.texts(settings).items()}
    filled = template.fill(command, values, strict=False)
    recipe.told(sheet, filled, strict=False)
    started = recipe.starts(sheet, filled.text, "command")
    idle = settings.keys() - filled.used - _PLACING
    recipe.idle(sheet, idle, "the command does not use it, so it has no effect")
    for key, option in _added(runtime, settings):
        if not any(word.partition("=")[0] == option for word in started.argv):
            line = sheet.line("defaults", key)
            added = (option, *split(str(settings[key])))
            started = started._replace(argv=(*started.argv, *added), lines=(*started.lines, *(line for _ in added)))
    return started


def _added(runtime: Runtime | None, settings: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Give the options that sparkrun adds to a command that lacks them, each with its default."""
    if runtime and runtime.served_name and settings.get("served_model_name") is not None:
        yield "served_model_name", runtime.served_name
    if runtime and (whole(settings.get("data_parallel")) or 1) > 1 and "data_parallel" in runtime.named:
        yield "data_parallel", runtime.named["data_parallel"]


def _collapsed(value: str) -> str:
    """Write doubled braces of a default once, as sparkrun does where an opening one is doubled."""
    return value.replace("{{", "{").replace("}}", "}") if "{{" in value else value


def _made(sheet: Sheet, runtime: str, model: str | None, settings: Mapping[str, object]) -> recipe.Started:
    """Write the command that the runtime makes of the defaults."""
    known = RUNTIMES.get(runtime)
    if known is None or model is None:
        why = f"no command, and what {runtime} would start is not known" if model else "no command and no model"
        sheet.lost(sheet.line("runtime"), f"runtime: {runtime}", why)
        recipe.idle(sheet, settings, "no command uses it", kind="lost")
        return recipe.Started(())
    made = built(known, model, settings)
    why = f"sparkrun 0.3 writes no option for this key when it starts {runtime}"
    recipe.idle(sheet, [key for key in made.unknown if key not in _PLACING], why, kind="lost")
    lines = tuple(sheet.line("model") if key == "model" else sheet.line("defaults", key) for key in made.keys)
    return recipe.Started(made.argv, lines)


def _backend(
    sheet: Sheet, started: recipe.Started, runtime: str, settings: Mapping[str, object], *, nodes: int
) -> recipe.Started:
    """Say in the command that Ray is wanted, where only the runtime or a default says it."""
    wanted = settings.get("distributed_executor_backend") or ("ray" if runtime in _RAY and nodes > 1 else None)
    argv = started.argv
    if wanted is None or not argv or (_BACKEND in argv and str(wanted) in argv):
        return started
    line = sheet.line("runtime" if runtime in _RAY else "defaults")
    sheet.corrected(line, f"runtime: {runtime}", f"said as {_BACKEND} {wanted}")
    if _BACKEND in argv[:-1]:
        place = argv.index(_BACKEND) + 1
        return started._replace(argv=(*argv[:place], str(wanted), *argv[place + 1 :]))
    return started._replace(argv=(*argv, _BACKEND, str(wanted)), lines=(*started.lines, line, line))


def _launch(sheet: Sheet, started: recipe.Started, *, model: str | None, name: str | None, nodes: int) -> Launch:
    image, revision = sheet.word("container"), sheet.word("model_revision")
    if image is None:
        sheet.lost(sheet.line("container"), "container:", "none is named; sparkrun takes one of its runtime's")
    copied = sparkrun_blocks.hooks(sheet)
    box = sparkrun_blocks.box(sheet)
    patched = bool(sheet.data.get("mods") or copied)
    recipe.served(sheet, started.argv, model)
    return Launch(
        name=name,
        line=sheet.line("command"),
        image=image,
        entrypoint=box.entrypoint,
        argv=started.argv,
        lines=started.lines,
        prelude=started.prelude,
        env=(*recipe.variables(sheet, "env", exported=False), *started.env),
        devices=box.devices,
        gpus=box.gpus,
        host_network=box.host_network,
        ipc=box.ipc,
        shm_size_bytes=box.shm_size_bytes,
        ulimits=box.ulimits,
        restart=box.restart,
        model=model,
        revision=sparkrun_blocks.distribution(sheet, model=model, container=image, revision=revision),
        nodes=nodes,
        description=sparkrun_blocks.description(sheet),
        requires=(*recipe.required(sheet, started, patched=patched), *copied),
    )
