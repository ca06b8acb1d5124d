"""Every field that an inventory can hold, found by walking the models, and values to tell a field's effect by.

Nothing here lists fields: a new field of any model is walked from the day it is added.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping as AbstractMapping
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple, Union

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from sparkiac.model import forms

if TYPE_CHECKING:
    from collections.abc import Iterator

EACH: Final = "*"
"""Stands in a place for any key of a mapping, or any item of a list."""

TEXTS: Final[dict[str, tuple[str, str]]] = {
    forms.NAME: ("one", "two"),
    forms.SECRET: ("key_one", "key_two"),
    forms.OPTION: ("option_one", "option_two"),
    forms.OPTION_KEY: ("option_one", "option_two.key"),
    forms.VARIABLE: ("ONE", "TWO"),
    forms.LINE: ("first line", "second line"),
    forms.TITLE: ("First text", "Second text"),
    forms.PATH: ("/srv/one", "/srv/two"),
    forms.FILE: ("one.gguf", "two.gguf"),
    forms.SOURCE: ("https://example.org/one", "https://example.org/two"),
    forms.URL: ("https://one.example.org", "https://two.example.org"),
    forms.COMMIT: ("1" * 40, "2" * 40),
    forms.GIT: ("https://example.org/one.git", "https://example.org/two.git"),
    forms.GIT_REF: ("branch-one", "branch-two"),
    forms.SSH_KEY: ("ssh-ed25519 AAAAC3Nz", "ssh-rsa AAAAB3Nz"),
    forms.INSIDE: ("mods/one", "mods/two"),
    forms.PIN: ("one==1.0", "two==2.0"),
    forms.URL_PATH: ("/one", "/two"),
    forms.IMAGE: ("example.org/one:1", "example.org/two:2"),
    forms.REGISTRY: ("mirror-one.example.org", "mirror-two.example.org"),
    forms.HANDLE: ("example/one", "example/two"),
    forms.OLLAMA: ("one:8b", "two:8b"),
    forms.SERVED: ("served-one", "served-two"),
    forms.ALIAS: ("alias-one", "alias-two"),
    forms.ADDRESS: ("192.168.1.101", "192.168.1.102"),
    forms.PREFIXED: ("10.0.9.1/24", "10.0.9.2/24"),
    forms.NETWORK: ("10.0.8.0/24", "10.0.9.0/24"),
    forms.INTERFACE: ("enp1", "enp2"),
    forms.USER: ("alice", "bob"),
    forms.VERSION: ("580.101", "580.102"),
    forms.RELEASE: ("0.34", "0.35"),
    forms.MONTH: ("2027-01", "2027-02"),
    forms.TIME_OF_DAY: ("21:01", "21:02"),
    forms.SYSCTL_KEY: ("net.core.one", "net.core.two"),
    forms.SYSCTL_VALUE: ("11", "12"),
    forms.KERNEL_PARAMETER: ("module.one", "module.two"),
    forms.BOOT_PARAMETER: ("one", "two"),
    forms.BOOT_VALUE: ("off", "on"),
    forms.WORD: ("word_one", "word_two"),
    forms.RETENTION: ("30d", "12w"),
    forms.MAIL: ("one@example.org", "two@example.org"),
    forms.SMTP: ("one.example.org:587", "two.example.org:25"),
    forms.CODE: ("ENT001", "MEM001"),
}
"""Form of a text → two texts that match it."""


FITTING: Final[dict[str, tuple[Any, ...]]] = {
    "Inventory.turns": (
        {"day": ["chat"], "night": ["other"]},
        {"day": ["other"], "night": ["chat"]},
    ),
    "Turn.run": (["chat"], ["third"]),
    "Host.platform": ("dgx-spark", "bench"),
    "Host.images_from": ("spark-02", "spark-03"),
    "Rollout.batch": (1, 2),
    "Rollout.canary": ("spark-02", "spark-03"),
    "Deployment.engine": ("vllm", "sglang"),
    "Deployment.hosts": ("spark-01", "spark-02"),
    "Prometheus.hosts": ("spark-01", "spark-02"),
    "Grafana.hosts": ("spark-01", "spark-02"),
    "FleetTimer.hosts": ("spark-01", "spark-02"),
    "_ServiceFields.hosts": ("spark-01", "spark-02"),
    "OwnModel.host": ("spark-01", "spark-02"),
    "Deployment.recipe": ("base/single-spark", "google/gemma-4-26b-a4b-it-fp8"),
    "Deployment.variant": ("chat-template", "flashinfer-cutlass"),
    "HermesAgentService.model": ("first", "second"),
    "Alias.model": ("first", "second"),
    "Measured.context": (65_536, 32_768),
    "Build.program": (["make-one", "{image}"], ["make-two", "{image}"]),
    "ExtraFlags.variables": (["VLLM_ONE"], ["VLLM_TWO"]),
    "Deployment.fragments": (["thinking"], ["tools"]),
    "OpenWebuiService.uses": (["chat"], ["ollama"]),
    "HermesAgentService.uses": ("chat", "ollama"),
    "Alias.to": ("chat", "other"),
    "ModelRoute.to": (["chat"], ["chat", "other"]),
    "ModelRoute.fallback": (["other"], ["third"]),
    "ModelRoute.weights": ({"chat": 2}, {"chat": 3}),
    "Speculative.method": ("mtp", "deepseek_mtp"),
    "Settings.set": ({"max_num_seqs": 7}, {"max_num_seqs": 8}),
    "OllamaService.set": ({"keep_alive": "5m"}, {"keep_alive": "6m"}),
    "Registries.mirrors": ({"nvcr.io": "one.example.org"}, {"nvcr.io": "two.example.org"}),
    "Inventory.revisions": ({"example/model": "branch-one"}, {"example/model": "branch-two"}),
}
"""Fields whose values are names, with names that the inventories have."""


BESIDE: Final[dict[str, dict[str, Any]]] = {
    "ExtraFile": {"url": "https://example.org/file"},
    "Email": {"user": "me", "password": {"secret": "smtp_password"}},
    "Measured": {
        "weights_bytes": 16 * 10**9,
        "overhead_bytes": 10**9,
        "graphs_bytes": 10**9,
        "pool_bytes": 10**10,
        "tokens": 100_000,
        "context": 65_536,
    },
}
"""Class → further values without which its others say nothing."""


class Step(NamedTuple):
    """One key on the way to a field."""

    key: str
    model: type[BaseModel] | None = None
    """Class of what stands there, unless it is a mapping, a list or a single value."""
    new: str = ""
    """Key for an entry of a mapping that has none yet."""


class Place(NamedTuple):
    """A field of a model, at one place where an inventory can hold it."""

    steps: tuple[Step, ...]
    owner: type[BaseModel]
    hint: Any

    def __str__(self) -> str:
        """Write the keys with dots, and the class where a kind chooses it."""
        return ".".join(f"{step.key}{_class(step.model)}" for step in self.steps)


def _class(model: type[BaseModel] | None) -> str:
    return f"<{model.__name__}>" if model and "kind" in model.model_fields else ""


def places(model: type[BaseModel], steps: tuple[Step, ...] = ()) -> Iterator[Place]:
    """Walk every field that can be reached from a model, down to what holds no model."""
    hints = typing.get_type_hints(model, include_extras=True)
    for name in model.model_fields:
        yield from _below((*steps, Step(name)), model, hints[name])


def _below(steps: tuple[Step, ...], owner: type[BaseModel], hint: Any) -> Iterator[Place]:  # noqa: ANN401
    keys, inner = content(hint)
    for each in models(hint):
        yield from places(each, (*steps[:-1], Step(steps[-1].key, each)))
    for each in models(inner):
        yield from places(each, (*steps, Step(EACH, each, new=keys)))
    if not models(hint) and not models(inner):
        yield Place(steps, owner, hint)


def models(hint: Any) -> tuple[type[BaseModel], ...]:  # noqa: ANN401  any annotation
    """Return the models that a value of this type may be."""
    hint, _ = _bare(hint)
    if typing.get_origin(hint) in (Union, types.UnionType):
        return tuple(each for part in typing.get_args(hint) for each in models(part))
    return (hint,) if isinstance(hint, type) and issubclass(hint, BaseModel) else ()


def content(hint: Any) -> tuple[str, Any]:  # noqa: ANN401
    """Return a key of a mapping and the type of what is in it, or in a list; nothing for a single value."""
    hint, _ = _bare(hint)
    if typing.get_origin(hint) in (Union, types.UnionType):
        parts = [part for part in typing.get_args(hint) if part is not type(None)]
        return content(parts[0]) if len(parts) == 1 else ("", None)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple:
        return "", arguments[0]
    return (values(arguments[0])[0], arguments[1]) if origin in (dict, AbstractMapping) else ("", None)


def _bare(hint: Any) -> tuple[Any, tuple[Any, ...]]:  # noqa: ANN401
    """Take an annotation apart into the type and its constraints."""
    constraints: list[Any] = []
    while typing.get_origin(hint) is Annotated:
        hint, *more = typing.get_args(hint)
        for each in more:
            constraints += each.metadata if isinstance(each, FieldInfo) else [each]
    return hint, tuple(constraints)


def values(hint: Any) -> list[Any]:  # noqa: ANN401  any annotation
    """Return at least two different values of a type, or the only one that there is."""
    hint, constraints = _bare(hint)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        return [value for part in arguments if part is not type(None) for value in values(part)]
    if origin is Literal:
        return list(arguments)
    if origin is tuple:
        found = values(arguments[0])
        return [[each] for each in found] if len(found) > 1 else [found, []]
    if origin in (dict, AbstractMapping):
        return [{values(arguments[0])[0]: each} for each in values(arguments[1])]
    return _single(hint, constraints)


def _single(hint: Any, constraints: tuple[Any, ...]) -> list[Any]:  # noqa: ANN401
    if models(hint):
        return [sample(models(hint)[0])]
    if hint is bool:
        return [True, False]
    if hint is int:
        open_ended = not any(hasattr(each, "le") for each in constraints)
        first = max(_least(constraints), 1) + (2 * 10**9 if open_ended else 10)
        return [first, first + (2 * 10**9 if open_ended else 1)]
    if hint is float:
        top = min(
            limit for each in constraints if (limit := getattr(each, "le", getattr(each, "lt", None))) is not None
        )
        return [top / 2, top / 4]
    if hint is object:
        return ["one", "two"]
    assert hint is str, f"tests/everyfield.py has no values for {hint}"
    patterns = [pattern for each in constraints if (pattern := getattr(each, "pattern", None))]
    assert patterns, "a text without a form: give it one of sparkiac/model/base.py"
    return list(TEXTS[patterns[0]])


def choices(owner: type[BaseModel], name: str, hint: Any) -> list[Any]:  # noqa: ANN401
    """Return the values to try for a field, two or more where its type has them."""
    fitting = next((FITTING[key] for each in owner.__mro__ if (key := f"{each.__name__}.{name}") in FITTING), None)
    return list(fitting or values(hint))


def sample(model: type[BaseModel]) -> dict[str, Any]:
    """Return a mapping with what a model cannot do without."""
    hints = typing.get_type_hints(model, include_extras=True)
    needed = (name for name, field in model.model_fields.items() if field.is_required())
    return {name: choices(model, name, hints[name])[0] for name in needed} | BESIDE.get(model.__name__, {})


def put(node: Any, steps: tuple[Step, ...], value: object) -> bool:  # noqa: ANN401
    """Set a field of an inventory, with what it stands in; false if no entry of a mapping can be such a model."""
    step, *rest = steps
    if not rest:
        node[step.key] = value
        return True
    if step.key == EACH:
        keys = range(len(node)) if isinstance(node, list) else list(node)
        key = next((key for key in keys if fits(node[key], step.model)), None)
        return key is not None and put(node[key], tuple(rest), value)
    if not fits(node.get(step.key), step.model):
        node[step.key] = sample(step.model) if step.model else _filled(rest[0])
    return put(node[step.key], tuple(rest), value)


def _filled(entry: Step) -> Any:  # noqa: ANN401
    made = sample(entry.model) if entry.model else {}
    return {entry.new: made} if entry.new else [made]


def fits(here: Any, model: type[BaseModel] | None) -> bool:  # noqa: ANN401
    """Whether what stands there can be this model; of those that have a kind, that tells."""
    if not here or model is None:
        return bool(here)
    hints = {name: _bare(hint)[0] for name, hint in typing.get_type_hints(model, include_extras=True).items()}
    return "kind" not in hints or here.get("kind") in typing.get_args(hints["kind"])


def _least(constraints: tuple[Any, ...]) -> int:
    return max((getattr(each, "ge", getattr(each, "gt", 0)) for each in constraints), default=0)
