"""Recipes of sparkrun, versions 2 and 3: a model, defaults, and a command template or a runtime with its own command.

Source: sparkrun's RECIPES.md (2026). `{key}` in a command is filled from `defaults`, `model` and `model_revision`;
without a command, the runtime's options are generated from `defaults`; `--served-model-name` is added if a default
sets it and the command does not. The number of machines is the product of the parallel sizes, with one GPU each.
Recipes of version 1 with keys that only sparkrun reads are imported here as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from sparkiac import catalog, engines
from sparkiac.foreign import (
    eugr,
    machines,
    node,
    recipe_reader,
    recipe_writer,
    serving,
    sparkrun_blocks,
    values,
)
from sparkiac.foreign.launch import Launch, Unreadable
from sparkiac.foreign.node import Exported, ExportError, HostContainer
from sparkiac.foreign.recipe_file import RecipeFile, positive_int, summary
from sparkiac.foreign.recipe_reader import BACKEND, RecipeCommand
from sparkiac.foreign.shell_words import split
from sparkiac.model.tables import SparkrunRuntime
from sparkiac.plan import unwritten
from sparkiac.plan.confinement import KEYED, Confinement, Tree

_SPARKRUN_KEYS: Final = values.words("recipe_version runtime sparkrun_version metadata min_nodes max_nodes")
_COMMAND_KEYS: Final = frozenset({"command", "defaults", "container", "runtime"})
_INCLUDE: Final = re.compile(r"^include[ \t]*:[ \t]*[^\s#-]", re.MULTILINE)
_OTHER_FORMATS: Final = frozenset({"services", "apiVersion", "kind", "hosts", "deployments"})
_RAY: Final = frozenset({"vllm-ray", "eugr-vllm"})
_READ_BY_SPARKRUN: Final = frozenset({*machines.KEYS, "ep_size", "served_model_name", "distributed_executor_backend"})
"""Defaults that sparkrun reads itself, whether or not the command uses them."""
_FALSE: Final = frozenset({"false", "no", "off", "0", "none"})


def recognise(text: str, name: str) -> bool:
    """Return whether a text is a recipe of sparkrun and not of eugr."""
    keys = set(recipe_reader.KEY.findall(text))
    if keys & _OTHER_FORMATS or eugr.recognise(text, name):
        return False
    if _INCLUDE.search(text):
        return True
    return (
        "model" in keys
        and bool(keys & _COMMAND_KEYS)
        and bool(keys & _SPARKRUN_KEYS or {"container", "defaults"} <= keys)
    )


def read(text: str, *, name: str, given: Mapping[str, str] = {}) -> tuple[Launch, ...]:
    """Read one recipe as one launch. Raises Unreadable for a recipe that sparkrun refuses too."""
    file = RecipeFile(text)
    _check(file)
    sparkrun_blocks.apply_overrides(file)
    model, command, runtime = file.text("model"), file.text("command"), _runtime(file)
    topology = machines.Topology(file)
    settings = file.mapping("defaults") | topology.solo_sizes | dict(given)
    if command is None:
        started = _generated(file, runtime, model, settings)
    else:
        started = _filled(file, command, catalog.sparkrun_runtimes().get(runtime), settings, model)
    nodes = topology.nodes(started.argv)
    started = _backend(file, started, runtime, settings, nodes=nodes)
    launch = _launch(file, started, model=model, name=_name(file, name), nodes=nodes)
    recipe_reader.note_size_as_share(file, settings)
    sparkrun_blocks.blocks(file)
    for key, value, line in file.unread():
        file.unused(line, summary(key, value), "not a key of the format: sparkrun ignores it")
    return (launch._replace(notes=file.notes()),)


def _check(file: RecipeFile) -> None:
    """Check the version and the model, and note a base recipe that is not available."""
    recipe_reader.check_version(file, {"1", "2", "3", None}, read_as="2")
    base = file.text("include")
    if base is not None:
        why = "the recipe that it includes is not read, so settings that are only there are missing"
        file.lost(file.line("include"), f"include: {base}", why)
    elif file.data.get("model") in (None, ""):
        raise Unreadable("model: is missing", line=file.line("model"))


def _name(file: RecipeFile, name: str) -> str | None:
    """Return the file's name, which is the recipe's name; sparkrun ignores the key `name`."""
    named = file.text("name")
    stem = re.sub(r"\.ya?ml$", "", name.rpartition("/")[2], flags=re.IGNORECASE)
    if stem in {"", "-"}:
        return named
    if named not in {stem, None}:
        file.corrected(file.line("name"), f"name: {named}", f"the recipe is named after its file: {stem}")
    return stem


def _runtime(file: RecipeFile) -> str:
    """Return the runtime; if none is named, it follows from the command's program."""
    named = file.text("runtime")
    if named is not None:
        return named
    engine = engines.named(serving.engine_of(str(file.data.get("command") or "")))
    return (engine.sparkrun or engines.every()[0].sparkrun)[0]


def _filled(
    file: RecipeFile, command: str, runtime: SparkrunRuntime | None, settings: Mapping[str, object], model: str | None
) -> RecipeCommand:
    named = {"model": model, "model_revision": file.data.get("model_revision"), "resolved_model_path": model}
    filling = {key: str(value) for key, value in named.items() if value is not None}
    filling |= {key: _collapsed(value) for key, value in recipe_reader.as_text(settings).items()}
    filled = recipe_reader.fill(command, filling, strict=False)
    recipe_reader.note_placeholders(file, filled, strict=False)
    started = recipe_reader.server_command(file, filled.text, "command")
    idle = settings.keys() - filled.used - _READ_BY_SPARKRUN
    recipe_reader.note_unused_defaults(file, idle, recipe_reader.NO_EFFECT)
    for key, option in _added_options(runtime, settings):
        if not any(word.partition("=")[0] == option for word in started.argv):
            line = file.line("defaults", key)
            added = (option, *split(str(settings[key])))
            started = started._replace(argv=(*started.argv, *added), lines=(*started.lines, *(line for _ in added)))
    return started


def _added_options(runtime: SparkrunRuntime | None, settings: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield the options that sparkrun adds to a command without them, each with its default's key."""
    if runtime and runtime.served_name and settings.get("served_model_name") is not None:
        yield "served_model_name", runtime.served_name
    if runtime and (positive_int(settings.get("data_parallel")) or 1) > 1 and "data_parallel" in runtime.renamed:
        yield "data_parallel", runtime.renamed["data_parallel"]


def _collapsed(value: str) -> str:
    """Replace doubled braces in a default by single ones, as sparkrun does if an opening brace is doubled."""
    return value.replace("{{", "{").replace("}}", "}") if "{{" in value else value


def _generated(file: RecipeFile, runtime: str, model: str | None, settings: Mapping[str, object]) -> RecipeCommand:
    """Build the command that the runtime generates from the defaults."""
    known = catalog.sparkrun_runtimes().get(runtime)
    if known is None or model is None:
        why = f"no command, and the command of runtime {runtime} is unknown" if model else "no command and no model"
        file.lost(file.line("runtime"), f"runtime: {runtime}", why)
        recipe_reader.note_unused_defaults(file, settings, "no command uses it", kind="lost")
        return RecipeCommand(())
    is_file = model.lower().endswith(".gguf") or "/" not in model
    start = (known.start_file if is_file else ()) or known.start
    pairs = [(word, file.line("model")) for word in (*start, model)]
    unknown: list[str] = []
    for key, value in {**known.defaults, **settings}.items():
        option = _option(known, key, settings)
        if value is not None and option is not None:
            pairs += [(word, file.line("defaults", key)) for word in _option_words(known, key, option, value)]
        elif value is not None and key not in _READ_BY_SPARKRUN:
            unknown.append(key)
    why = f"sparkrun 0.4.2 has no option for this key when it starts {runtime}"
    recipe_reader.note_unused_defaults(file, unknown, why, kind="lost")
    return RecipeCommand(tuple(word for word, _ in pairs), tuple(line for _, line in pairs))


def _option(runtime: SparkrunRuntime, key: str, settings: Mapping[str, object]) -> str | None:
    switches = (*runtime.switches, *runtime.on_by_default, *runtime.written_if_false)
    spelled = {other: f"--{other.replace('_', '-')}" for other in (key, *settings)}
    renamed = runtime.renamed.get(key)
    if any(spelled[other] == renamed for other in settings if other != key and other in runtime.same_name):
        return None
    return renamed or (spelled[key] if key in (*runtime.same_name, *switches) else None)


def _option_words(runtime: SparkrunRuntime, key: str, option: str, value: object) -> list[str]:
    """Return the words of an option: of a switch, those that turn it on or off; none for its default."""
    on, off = str(value).lower() not in _FALSE, [f"--no-{option.removeprefix('--')}"]
    if key in runtime.written_if_false:
        return [] if on else off
    if key in runtime.on_by_default:
        return [option] if on else off
    if key in runtime.switches:
        return [option] if on else []
    return [option, *_words(key, value)]


def _words(key: str, value: object) -> Iterator[str]:
    """Convert a value to words: JSON and collections to one word, booleans to lower case, text as a shell splits it."""
    text = str(value).strip()
    if isinstance(value, dict | tuple):
        yield json.dumps(value, separators=(",", ":"))
    elif isinstance(value, bool):
        yield {"flash_attn": "on" if value else "off"}.get(key, text.lower())
    elif text[:1] in {"{", "["}:
        yield text
    else:
        yield from split(text)


def _backend(
    file: RecipeFile, started: RecipeCommand, runtime: str, settings: Mapping[str, object], *, nodes: int
) -> RecipeCommand:
    """Add Ray to the command if only the runtime or a default requests it."""
    backend = settings.get("distributed_executor_backend") or ("ray" if runtime in _RAY and nodes > 1 else None)
    argv = started.argv
    if backend is None or not argv or (BACKEND in argv and str(backend) in argv):
        return started
    line = file.line("runtime" if runtime in _RAY else "defaults")
    file.corrected(line, f"runtime: {runtime}", f"imported as {BACKEND} {backend}")
    if BACKEND in argv[:-1]:
        place = argv.index(BACKEND) + 1
        return started._replace(argv=(*argv[:place], str(backend), *argv[place + 1 :]))
    return started._replace(argv=(*argv, BACKEND, str(backend)), lines=(*started.lines, line, line))


def _launch(file: RecipeFile, started: RecipeCommand, *, model: str | None, name: str | None, nodes: int) -> Launch:
    image, revision = file.text("container"), file.text("model_revision")
    if image is None:
        file.lost(file.line("container"), "container:", "not set; sparkrun uses the default image of the runtime")
    copies = sparkrun_blocks.note_hooks(file)
    recipe_reader.note_missing_files(file, started, patched=copies or bool(file.data.get("mods")))
    recipe_reader.note_other_model(file, started.argv, model)
    launch = Launch(
        name=name,
        line=file.line("command"),
        image=image,
        entrypoint=None,
        argv=started.argv,
        lines=started.lines,
        prelude=started.prelude,
        env=(*recipe_reader.variables(file, "env", exported=False), *started.env),
        model=model,
        revision=sparkrun_blocks.distribution(file, model=model, container=image, revision=revision),
        nodes=nodes,
        description=sparkrun_blocks.description(file),
    )
    return sparkrun_blocks.with_container_settings(file, launch)


def write(nodes: Sequence[HostContainer]) -> Exported:
    """Write a deployment. Raises ExportError."""
    first = nodes[0].container
    runtimes = engines.named(first.server.engine).sparkrun
    if not runtimes:
        raise ExportError(f"sparkrun has no runtime for {first.server.engine}")
    found = recipe_writer.build(nodes, "sparkrun", doubled=False)
    model = first.server.model or ""
    notes = (*found.notes, *recipe_writer.fetched(first, [each for each in first.weights.commits if each != model]))
    data: dict[str, Any] = {
        "recipe_version": "2",
        "model": model,
        **({"model_revision": first.weights.commits[model]} if model in first.weights.commits else {}),
        "runtime": runtimes[-1] if found.nodes > 1 else runtimes[0],
        "min_nodes": found.nodes,
        "max_nodes": found.nodes,
        "container": node.image(first),
        "executor_config": _executor_config(first.confinement),
        "metadata": {"description": first.description},
        "defaults": found.defaults,
        "env": found.env,
    }
    keys = {key: value for key, value in data.items() if value not in ({}, "")}
    return Exported(recipe_writer.text(notes, node.heading(first), keys, found.command), notes)


def _executor_config(found: Confinement) -> dict[str, Tree]:
    """Return the container's settings that differ from sparkrun's default, the host's IPC namespace."""
    wanted = {
        each.docker.replace("-", "_"): each.value(found)
        for each in KEYED
        if not unwritten.refuses("sparkrun", ".".join(each.path))
    }
    wanted["ipc"] = None if found.ipc == "host" else found.ipc
    lists = {
        key: [f"{name}={each}" for name, each in value.items()]
        for key, value in wanted.items()
        if isinstance(value, Mapping)
    }
    return {key: value for key, value in (wanted | lists).items() if value}
