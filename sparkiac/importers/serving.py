"""The server in a container's command: its engine, its words, and what a shell does before it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac import catalog
from sparkiac.importers import hiding, values
from sparkiac.importers.launch import Note
from sparkiac.importers.shell_words import Command, handed, script, unread
from sparkiac.importers.unreadable import Unreadable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.importers.launch import Launch
    from sparkiac.model.images import ImageFamily

_SHELLS: Final = frozenset({"bash", "sh", "dash", "zsh", "ash"})
_WRAPPERS: Final = frozenset(
    {"tini", "dumb-init", "nvidia_entrypoint.sh", "exec", "nohup", "env", "sudo", "time", "stdbuf", "--", "-g", "-s"}
)
_PYTHON: Final = re.compile(r"python(3(\.\d{1,2})?)?")
_MODULES: Final = {
    "vllm.entrypoints.openai.api_server": "vllm",
    "vllm.entrypoints.cli.main": "vllm",
    "sglang.launch_server": "sglang",
    "tensorrt_llm.commands.serve": "tensorrt-llm",
}
_PROGRAMS: Final = {"vllm": "vllm", "sglang": "sglang", "trtllm-serve": "tensorrt-llm", "llama-server": "llama-cpp"}
_SUBCOMMANDS: Final = frozenset({"vllm", "sglang"})
"""Programs that serve only if the next word says so."""
_ASSIGNED: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_SPEAKS: Final = frozenset({"echo", "set", "sleep", "ulimit", "trap", "wait", "true", ":"})
_BUILDS: Final = frozenset({"cmake", "make", "ninja"})
"""Programs that name a server to build it."""
_DOWNLOADS: Final = frozenset({"hf", "huggingface-cli"})
_OF_A_SHELL: Final = frozenset({"cd", "source", ".", "ray", "for", "case", "[", "[[", "test", "exit", "return"})
NO_IMAGE: Final = "no image is named: sparkiac runs containers"
_DEPTH: Final = 4
_MANY: Final = 800


class Start(NamedTuple):
    """How a server is started."""

    engine: str
    words: tuple[str, ...]
    """Words after the program."""
    lines: tuple[int, ...]
    prelude: tuple[tuple[str, ...], ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    """Variables that a shell sets before it."""
    notes: tuple[Note, ...] = ()


def start(launch: Launch) -> Start | None:
    """Find the server that a container runs; None if it runs none that is known. Raises Unreadable."""
    words = (*(launch.entrypoint or ()), *launch.argv)
    lines = (*(launch.line for _ in launch.entrypoint or ()), *(launch.lines or (launch.line,) * len(launch.argv)))
    if len(words) > _MANY:
        message = f"a command of more than {_MANY} words"
        raise Unreadable(message, line=launch.line)
    family = of_image(launch.image)
    built_in = launch.entrypoint is None and family is not None
    if built_in and family is not None and family.style == "environment":
        return Start("aeon-vllm", words, lines)
    given = {each.name: each.value for each in launch.env if each.value and not hiding.is_secret_name(each.name)}
    found = _found(Command(words, lines), _DEPTH, given) if words else None
    if built_in and family is not None and family.style == "vllm-serve":
        return _after_entrypoint(Start("vllm", words, lines), found)
    if found is None and launch.entrypoint is None and words:
        return _by_name(launch, Start("vllm", words, lines))
    return found


def runs_server(command: Command) -> bool:
    """Whether a command of a script starts a server by itself."""
    return _plain(command) is not None


def of_image(reference: str | None) -> ImageFamily | None:
    """Give what the catalog knows of an image's family."""
    repository = repository_of(reference or "")
    source = catalog.image_family(repository) if repository else None
    return source.value if source else None


def repository_of(reference: str) -> str:
    """Give a reference without its tag and digest."""
    name = reference.partition("@")[0]
    head, colon, tag = name.rpartition(":")
    plain = head if colon and "/" not in tag else name
    return plain.removeprefix("docker.io/")


def short(reference: str) -> str:
    """Give a reference without the registry that Docker takes anyway."""
    return reference.removeprefix("docker.io/").removeprefix("library/")


def _after_entrypoint(bare: Start, found: Start | None) -> Start:
    """Read the words of an image that has `vllm serve` built in; people write it again."""
    if found is None:
        return bare
    why = "the image's entrypoint says `vllm serve` already; written twice, the server ends at once"
    return found._replace(notes=(*found.notes, Note("corrected", bare.lines[0], "vllm serve", why)))


def _by_name(launch: Launch, bare: Start) -> Start | None:
    """Guess the engine of an image that nothing is known of by its name, if the words look like a server's."""
    if bare.words[0] == "serve" and len(bare.words) > 1:
        bare = bare._replace(words=bare.words[1:], lines=bare.lines[1:])
    image, first = repository_of(launch.image or "").lower(), bare.words[0]
    if not (first.startswith("-") or (first.count("/") == 1 and not first.startswith("/"))):
        return None
    tag = (launch.image or "").rpartition(":")[2]
    engines = {"vllm": "vllm", "sglang": "sglang", "llama.cpp": "llama-cpp", "llama-cpp": "llama-cpp"}
    engine = next((engine for part, engine in engines.items() if part in image), None)
    if engine is None or (engine == "llama-cpp" and not tag.startswith("server") and "--server" not in bare.words):
        return None
    why = f"taken for the arguments of {engine}, for the image is called so; the catalog does not know its entrypoint"
    note = Note("corrected", launch.line, hiding.shown(launch.image or ""), why)
    return bare._replace(engine=engine, notes=(note,))


def _found(command: Command, depth: int, given: Mapping[str, str]) -> Start | None:
    """Look through wrappers and shells; `given` are the container's variables, which a shell in it puts in."""
    words, lines = command.words, command.lines
    env = dict(command.env)
    at = 0
    while at < len(words) and (_base(words[at]) in _WRAPPERS or _ASSIGNED.match(words[at])):
        if _ASSIGNED.match(words[at]):
            name, _, value = words[at].partition("=")
            env[name] = value
        at += 1
    inner = Command(words[at:], lines[at:], tuple(env.items()))
    if not inner.words:
        return None
    if _base(inner.words[0]) in _SHELLS:
        return _in_shell(inner, depth, given) if depth else None
    return _plain(inner)


def _plain(command: Command) -> Start | None:
    words, lines = command.words, command.lines
    if _base(words[0]) in _BUILDS:
        return None
    for at, word in enumerate(words[:12]):
        base, following = _base(word), words[at + 1 : at + 3]
        end = at + 1
        engine = _PROGRAMS.get(base)
        if _PYTHON.fullmatch(base) and following[:1] == ("-m",) and len(following) > 1:
            engine, end = _MODULES.get(following[1]), at + 3
        if engine is None or (base in _SUBCOMMANDS and following[:1] != ("serve",)):
            continue
        end += words[end : end + 1] == ("serve",) and engine != "llama-cpp"
        before = tuple(each for each in words[:at] if each not in _WRAPPERS)
        why = "what stands before the server is left out"
        notes = (Note("lost", lines[0], hiding.shown(" ".join(before)), why),) if before else ()
        return Start(engine, words[end:], lines[end:], env=command.env, notes=notes)
    return None


def _in_shell(command: Command, depth: int, given: Mapping[str, str]) -> Start | None:
    """Read the text behind `bash -c`: what comes before the server is its prelude."""
    place = handed(command.words)
    if place is None:
        return None
    inner = script(command.words[place], variables=given, line=command.lines[place])
    prelude: list[tuple[str, ...]] = []
    notes = [*inner.notes, *unread(inner.documents)]
    found: Start | None = None
    for each in inner.commands:
        if found is not None:
            notes.append(Note("lost", each.line, hiding.shown(" ".join(each.words)), "stands behind the server"))
            continue
        found = _found(each._replace(env=(*command.env, *each.env)), depth - 1, given)
        if found is not None:
            continue
        said = step(each)
        if said is None:
            prelude.append(each.words)
        else:
            notes.append(Note(said[0], each.line, hiding.shown(" ".join(each.words)), said[1]))
    if found is None:
        return None
    return found._replace(prelude=(*prelude, *found.prelude), notes=(*notes, *found.notes))


def step(command: Command) -> tuple[str, str] | None:
    """Say what becomes of a command before the server that is no step of a prelude: kind and reason."""
    program = _base(command.words[0])
    if program in _SPEAKS and not command.piped:
        return "corrected", "the server needs nothing of it"
    if program in _DOWNLOADS and command.words[1:2] == ("download",):
        return "corrected", "models are staged by the playbook"
    alone = not command.piped and command.after != "||" and program not in _OF_A_SHELL
    if not alone or any(hiding.is_secret(word) or values.unknown(word) for word in command.words):
        return "lost", "a step before the server is a program with its words"
    return None


def _base(word: str) -> str:
    return word.rpartition("/")[2]
