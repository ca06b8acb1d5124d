"""What the importers of sparkrun's and eugr's recipes share: placeholders, environment, server command, patches.

A command has placeholders in one of two dialects; the version in the file does not show which. Doubled: literal braces
are doubled, as Python's str.format requires (eugr's recipes). Single: braces around a known name are a placeholder, all
other braces are literal, and values may contain placeholders (sparkrun's recipes, which since 0.3 accept doubled braces
too). Both are tried: the right one leaves JSON intact. Sources: eugr's run-recipe.py (2026), sparkrun's RECIPES.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from sparkiac.foreign import serving
from sparkiac.foreign.launch import EnvVariable, Note, Unreadable
from sparkiac.foreign.recipe_file import RecipeFile, summary
from sparkiac.foreign.shell_words import script, split

KEY: Final = re.compile(r"""^(?:["']?)([A-Za-z_]\w*)(?:["']?)[ \t]*:""", re.MULTILINE)
"""A key at the top of a recipe."""
BACKEND: Final = "--distributed-executor-backend"
_SERVERS: Final = re.compile(rf"({serving.PROGRAMS}|mpirun|spark|atlas|ds4-serve|uvicorn|python3?(\.\d+)?)")
_MAX_VARIABLE: Final = 131_000
"""Characters of a variable: Linux MAX_ARG_STRLEN, 131072, less its name."""
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HANGING: Final = re.compile(r"(?<!\\)\\\Z")
"""A backslash at the end of the text, which continues nothing."""
_OWN_VALUE: Final = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)(?::?-)?\}?")
_EXPANDED: Final = re.compile(r"\$[A-Za-z_{(]|`")
_PATCH_FILE: Final = re.compile(r"(?:\./)?[\w.+-]+\.(?:jinja2?|py)")
_MODEL_FLAGS: Final = frozenset({"--model", "--model-path", "-m", "--hf-repo", "-hf", "-hfr"})
_SHARE: Final = "gpu_memory_utilization"
NO_EFFECT: Final = "the command does not use it, so it has no effect"
MAX_CHARACTERS: Final = 100_000
"""Length of a command with its values; Linux limits an argument to 131072 bytes."""
_PASSES: Final = 10
"""Number of passes that replace placeholders inside values, as in sparkrun."""
_TOKEN: Final = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_BEGINS_JSON: Final = re.compile(r"""\{\s*["{}]|\[\s*["{\[\]0-9]""")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPEN, _CLOSE = "\x00", "\x01"
"""Stand for literal braces until all values are filled in; a YAML file cannot contain these characters."""


class RecipeCommand(NamedTuple):
    """The server's command, with what comes before it."""

    argv: tuple[str, ...]
    lines: tuple[int, ...] = ()
    """Line of each word."""
    prelude: tuple[tuple[str, ...], ...] = ()
    env: tuple[EnvVariable, ...] = ()


def as_text(settings: Mapping[str, object]) -> dict[str, str]:
    """Convert each value to text, as both tools do with Python's str()."""
    return {key: str(value) for key, value in settings.items()}


def check_version(file: RecipeFile, known: Container[str | None], read_as: str) -> None:
    """Note a version that is not known."""
    version = file.text("recipe_version")
    if version not in known:
        file.lost(file.line("recipe_version"), f"recipe_version: {version}", f"read as version {read_as}")


def server_command(file: RecipeFile, text: str, key: str) -> RecipeCommand:
    """Extract the server's command from the shell text of a recipe."""
    found = script(_HANGING.sub("", text.rstrip()), line=file.first_line(key))
    known = [place for place, command in enumerate(found.commands) if _SERVERS.fullmatch(command.unwrapped().program)]
    chosen = known[-1] if known else len(found.commands) - 1
    before, notes = serving.around(found, max(chosen, 0))
    for note in notes:
        file.add(note)
    if chosen < 0:
        return RecipeCommand(())
    command = found.commands[chosen].unwrapped()
    pairs = ((name, value, command.line) for name, value in command.env)
    return RecipeCommand(command.words, command.lines, before, tuple(_checked_variables(file, pairs, exported=True)))


def variables(file: RecipeFile, key: str, *, exported: bool) -> Iterator[EnvVariable]:
    """Read the environment. `exported`: the tool writes it as export lines, which a shell expands."""
    yield from _checked_variables(file, _pairs(file, key), exported=exported)


def _checked_variables(
    file: RecipeFile, pairs: Iterable[tuple[str, object, int]], *, exported: bool
) -> Iterator[EnvVariable]:
    for name, value, line in pairs:
        text = str(value)
        if len(text) > _MAX_VARIABLE:
            file.lost(line, name, f"more than {_MAX_VARIABLE} characters, the limit of Linux")
        elif value is None or isinstance(value, dict | tuple) or not _VARIABLE.fullmatch(name):
            file.lost(line, summary(name, value), "not a variable with a value")
        elif (own := _OWN_VALUE.fullmatch(text)) and own[1] == name:
            file.corrected(line, f"{name}: {text}", "the value of the caller's environment is passed on")
            yield EnvVariable(name, None, line)
        elif _EXPANDED.search(text) and exported:
            file.lost(line, summary(name, text), "a shell would expand this value; sparkiac starts none")
        else:
            _note_expansion(file, EnvVariable(name, text, line), exported=exported)
            yield EnvVariable(name, text, line)


def _note_expansion(file: RecipeFile, variable: EnvVariable, *, exported: bool) -> None:
    value = variable.value or ""
    if exported and ('"' in value or "\\" in value):
        why = "its launcher's export line would drop the quotes and backslashes; they are kept"
    elif _EXPANDED.search(value):
        why = "kept unexpanded, as in sparkrun 0.3; older versions insert the control machine's value"
    else:
        return
    file.corrected(variable.line, summary(variable.name, value), why)


def _pairs(file: RecipeFile, key: str) -> Iterator[tuple[str, object, int]]:
    """Read a mapping, or a list of NAME=VALUE, which these formats do not specify but people write."""
    if not isinstance(file.data.get(key), tuple):
        yield from ((name, value, file.line(key, name)) for name, value in file.mapping(key).items())
        return
    for line, each in file.entries(key):
        name, sign, value = str(each).partition("=")
        file.corrected(line, summary(name, value), "a list, where the format requires a mapping")
        yield name, value if sign else f"${name}", line


def note_placeholders(file: RecipeFile, filled: FilledTemplate, *, strict: bool) -> None:
    """Note placeholders without a value, and braces that are not written as the format requires."""
    line = file.line("command")
    for name in filled.missing:
        file.lost(file.line_of("command", f"{{{name}}}"), f"{{{name}}}", "no default has this name")
    if not filled.valid_json:
        file.lost(line, "command:", "it contains text that begins like JSON but is not, with single or doubled braces")
    elif filled.doubled != strict and (strict or "{{" not in str(file.data.get("command"))):
        reading = "literal braces are single" if strict else "literal braces are doubled"
        file.corrected(line, "command:", f"{reading}, unlike in other files of the format; read accordingly")


def note_unused_defaults(file: RecipeFile, names: Iterable[str], why: str, *, kind: str = "unused") -> None:
    """Note defaults that have no effect."""
    defaults = file.data.get("defaults")
    for name in names:
        value = defaults.get(name) if isinstance(defaults, dict) else None
        file.add(Note(kind, file.line("defaults", name), summary(name, value), why))


def note_size_as_share(file: RecipeFile, settings: Mapping[str, object]) -> None:
    """Note a memory share above 1: it means GiB, for an option that a mod adds."""
    value = settings.get(_SHARE)
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 1:
        why = "a size in GiB, not a share of the memory; give gpu_memory_utilization as a share"
        file.lost(file.line("defaults", _SHARE), summary(_SHARE, value), why)


def _is_in_mods(value: str) -> bool:
    stem, dot, extension = value.partition("/mods/")[2].rpartition(".")
    return bool(stem and dot) and re.fullmatch(r"\w+", extension) is not None


def note_missing_files(file: RecipeFile, started: RecipeCommand, *, patched: bool) -> None:
    """Note the files of the command that come from neither the image nor the model."""
    found: dict[str, int] = {}
    for before, word, line in zip(("", *started.argv), started.argv, started.lines, strict=False):
        value = word.partition("=")[2] if word.startswith("-") else word if before.startswith("--") else ""
        if _PATCH_FILE.fullmatch(value) or _is_in_mods(value):
            found.setdefault(value, line)
    for name, line in found.items():
        why = "a mod creates it in the container" if patched else "its origin is unknown"
        file.lost(line, name, f"{why}; add it under container.files of the deployment")


def note_other_model(file: RecipeFile, argv: Sequence[str], model: str | None) -> None:
    """Note if the command serves another model than `model:` names."""
    argv = argv[2:] if argv[1:2] == ("-m",) else argv  # python -m names a module
    named = [word for before, word in pairwise(argv) if before in {*_MODEL_FLAGS, "serve"}]
    named = [word for word in named if not word.startswith("-")]
    if model is not None and named and model not in named and model not in argv:
        why = f"the command serves {named[0]}; the launcher only downloads the model under `model`"
        file.corrected(file.line("model"), f"model: {model}", why)


class FilledTemplate(NamedTuple):
    """A command with its values."""

    text: str
    used: frozenset[str]
    """Names that had a value."""
    missing: tuple[str, ...]
    """Names without a value; they stay in the text."""
    doubled: bool
    """Whether literal braces are doubled."""
    valid_json: bool
    """Whether every JSON value in it is valid."""


def fill(template: str, values: Mapping[str, str], *, strict: bool) -> FilledTemplate:
    """Fill in the values, in the dialect that leaves the command intact.

    `strict` is for a format that str.format reads: its dialect is doubled. Otherwise a doubled opening brace decides.
    Raises Unreadable for a command longer than MAX_CHARACTERS.
    """
    own = strict or "{{" in template
    tried = [_TemplateFiller(values, doubled=doubled).run(template, strict=strict) for doubled in (own, not own)]
    return max(tried, key=lambda filled: (filled.valid_json, -len(filled.missing)))


class _TemplateFiller:
    """Fills a template in one dialect."""

    def __init__(self, values: Mapping[str, str], *, doubled: bool) -> None:
        self.values = values
        self.doubled = doubled
        self.used: set[str] = set()
        self.missing: dict[str, None] = {}
        self.valid_json = True
        self.length = 0

    def run(self, template: str, *, strict: bool) -> FilledTemplate:
        """Fill a template, and placeholders inside values too, except with str.format, which does not replace those."""
        text = self._pass(template, doubled=self.doubled)
        for _ in range(0 if strict and self.doubled else _PASSES - 1):
            before, text = text, self._pass(text, doubled=False)
            if text == before:
                break
        text = text.replace(_OPEN, "{").replace(_CLOSE, "}")
        valid_json = self.valid_json and _json_is_valid(text)
        return FilledTemplate(text, frozenset(self.used), tuple(self.missing), self.doubled, valid_json)

    def _pass(self, text: str, *, doubled: bool) -> str:
        self.length = len(text)
        if self.length > MAX_CHARACTERS:
            self._too_long()
        return _TOKEN.sub(lambda found: self._token(found, doubled=doubled), text)

    def _token(self, found: re.Match[str], *, doubled: bool) -> str:
        name = found[1]
        if name is not None:
            return self._placeholder(found, name)
        if doubled and len(found[0]) == 1:
            self.valid_json = False  # str.format rejects a single brace
        text = found[0][:1] if doubled else found[0]
        return text.replace("{", _OPEN).replace("}", _CLOSE)

    def _placeholder(self, found: re.Match[str], name: str) -> str:
        if name in self.values:
            self.used.add(name)
            self.length += len(self.values[name])
            if self.length > MAX_CHARACTERS:
                self._too_long()
            return self.values[name]
        of_shell = found.string[found.start() - 1 : found.start()] == "$"
        if _NAME.fullmatch(name) and not of_shell:
            self.missing[name] = None
        elif self.doubled:
            self.valid_json = False  # str.format reads it as a placeholder
        return f"{_OPEN}{name}{_CLOSE}"

    def _too_long(self) -> None:
        raise Unreadable(f"with its values the command has more than {MAX_CHARACTERS} characters")


def _json_is_valid(text: str) -> bool:
    """Return whether each word that begins like JSON is valid JSON."""
    try:
        words = split(text)
    except Unreadable:
        return False
    return all(_is_json(part) for word in words for part in (word, word.partition("=")[2]) if _BEGINS_JSON.match(part))


def _is_json(word: str) -> bool:
    try:
        json.loads(word)
    except (ValueError, RecursionError):
        return False
    return True
