"""The pins that a plan needs: each image, model and file once, with its users."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from sparkiac import engines
from sparkiac.catalog import interfaces
from sparkiac.model import forms
from sparkiac.model.inventory import OwnModel
from sparkiac.model.lock import LoadedFormat
from sparkiac.model.references import hub_file
from sparkiac.model.resolved import ResolvedDeployment
from sparkiac.plan import Container, HostPlan, Image, Plan, PlannedBuild
from sparkiac.report import Loc, Origin, Path
from sparkiac.resolve import Resolved
from sparkiac.source.document import Document

Kind: TypeAlias = Literal["image", "model", "file"]
_BARE: Final = ("tokenizer", "tokenizer_path", "hf_config_path")
"""Options of vLLM and SGLang that name a repository of which the weights are not loaded."""
_AUTO: Final = "auto"
_NATIVE_SINCE: Final = "0.12"
"""First vLLM release that loads Mistral's own format without an option."""
DEFAULT_REVISION: Final = "main"
"""Default branch of a repository."""


class RequiredPin(NamedTuple):
    """One name that must be pinned."""

    kind: Kind
    name: str
    """Key in the lock: image reference, model handle or URL."""
    users: tuple[str, ...]
    """Deployments, services and builds that use it, sorted."""
    locations: tuple[Loc, ...]
    """Positions in the inventory that need it, sorted; never empty."""
    origin: Origin | None = None
    """Layer that requires the pin at the first of these positions; None if the inventory itself does."""
    source: str = ""
    """An image's reference at the registry that gets the request, which may be a mirror."""
    architectures: tuple[str, ...] = ()
    """Architectures of the hosts that run an image, sorted."""
    revision: str = DEFAULT_REVISION
    """Branch, tag or commit of a repository on the model hub."""
    revision_loc: Loc | None = None
    """Position of the revision in the inventory."""
    files: tuple[str | None, ...] = ()
    """Required files of a model, sorted; None stands for all files that the engine loads by default."""
    forms: tuple[LoadedFormat, ...] = ()
    """Weight formats that the engines load by default, sorted."""
    own: OwnModel | None = None
    """Where a model of the user's lies; None for everything that has an upstream server."""

    @property
    def key(self) -> tuple[Kind, str]:
        """Unique key of the pin."""
        return self.kind, self.name

    @property
    def repository(self) -> str | None:
        """The model hub repository that it is or belongs to. All pins of one repository have the same commit."""
        return repository(self.kind, self.name)


class _PinUse(NamedTuple):
    """One use of a pin."""

    kind: Kind
    name: str
    user: str
    path: Path
    leaf: Path
    source: str = ""
    architecture: str = ""
    file: str | None = None
    form: LoadedFormat | None = None
    """Format in which the engine loads a whole model; None for everything else."""


def repository(kind: Kind, name: str) -> str | None:
    """Return the model hub repository that a pin is or belongs to."""
    if kind == "file":
        handle, _ = hub_file(name) or (None, "")
        return handle
    return name if kind == "model" else None


def required(plan: Plan, resolved: Resolved) -> tuple[RequiredPin, ...]:
    """Return everything that must be pinned, sorted by kind and name. Models of an Ollama server have no pin."""
    uses: dict[tuple[Kind, str], list[_PinUse]] = {}
    for use in _uses(plan, resolved):
        uses.setdefault((use.kind, use.name), []).append(use)
    return tuple(
        _pin(found, _revision(name, uses.get(("model", name or ""), ()), resolved), resolved)
        for (kind, called), found in sorted(uses.items())
        for name in (repository(kind, called),)
    )


def _pin(uses: list[_PinUse], revision: tuple[str, Loc | None], resolved: Resolved) -> RequiredPin:
    document = resolved.inventory.document
    located = sorted(
        ((_loc(document, resolved, use), _origin(resolved, use)) for use in uses),
        key=lambda each: (each[0].file, each[0].mark.line, each[0].mark.column),
    )
    first = uses[0]
    return RequiredPin(
        kind=first.kind,
        name=first.name,
        users=tuple(sorted({use.user for use in uses})),
        locations=tuple(dict.fromkeys(loc for loc, _ in located)),
        origin=located[0][1],
        source=first.source,
        architectures=tuple(sorted({use.architecture for use in uses} - {""})),
        revision=revision[0],
        revision_loc=revision[1],
        files=tuple(sorted({use.file for use in uses}, key=str)) if first.kind == "model" else (),
        forms=tuple(sorted({use.form for use in uses if use.form is not None})),
        own=resolved.written.own_models.get(first.name) if first.kind == "model" else None,
    )


def _loc(document: Document, resolved: Resolved, use: _PinUse) -> Loc:
    """Return the location of the value in the inventory, or that of its container if another layer sets it."""
    leaf = resolved.leaves.get(use.leaf)
    elsewhere = leaf is not None and leaf[1].file == document.name and leaf[1].mark is not None
    if use.path not in document.values and leaf is not None and elsewhere and leaf[1].mark is not None:
        return document.loc(leaf[1].mark)
    return document.at_value(use.path)


def _origin(resolved: Resolved, use: _PinUse) -> Origin | None:
    leaf = resolved.leaves.get(use.leaf)
    return leaf[1] if leaf is not None and leaf[1].file != resolved.inventory.document.name else None


def _uses(plan: Plan, resolved: Resolved) -> Iterator[_PinUse]:
    for host in plan.hosts:
        for container in host.containers:
            leaf = container.path if container.kind == "service" else (*container.path, host.name)
            if container.image.build is None:
                yield _image(container.image, host, container.name, (*container.path, "image"), (*leaf, "image"))
            yield from _models(container, leaf, resolved)
            for file in container.storage.files:
                path = ("container", "files", file.target)
                yield _PinUse("file", file.url, container.name, (*container.path, *path, "url"), (*leaf, *path))
    for build in plan.builds:
        yield from _base(build, plan)


def _image(image: Image, host: HostPlan, user: str, path: Path, leaf: Path) -> _PinUse:
    tag = re.search(r"[:@].*", image.reference.rpartition("/")[2])
    source = image.repository + (tag[0] if tag else "")
    return _PinUse("image", image.reference, user, path, leaf, source=source, architecture=host.values.architecture)


def _base(build: PlannedBuild, plan: Plan) -> Iterator[_PinUse]:
    """Return the base image of a build, once for each host that runs the built image."""
    for host in plan.hosts if build.base is not None else ():
        if any(container.image.build == build.name for container in host.containers):
            assert build.base is not None  # noqa: S101  checked above
            own: Path = ("builds", build.name, "base")
            yield _image(build.base, host, build.name, own, own)


def _models(container: Container, leaf: Path, resolved: Resolved) -> Iterator[_PinUse]:
    """Return the repositories that the model store needs: weights, tokenizers and drafters."""
    if container.kind != "deployment":
        return
    values = resolved.fleet.deployments[container.name][str(leaf[-1])]
    for named in (*container.weights.models, *container.weights.directories):
        handle, file = _split(named)
        if handle is not None:
            key = _key(named, values)
            file = (values.model_file or file) if key == ("model",) else file
            form = _form(container, handle) if file is None else None
            yield _PinUse(
                "model", handle, container.name, (*container.path, *key), (*leaf, key[0]), file=file, form=form
            )


def _form(container: Container, handle: str) -> LoadedFormat:
    """Return the format in which weights are loaded.

    vLLM prefers Mistral's own format unless an option selects the other one (vLLM 0.32.0, default_loader.py; since
    0.12). Other engines, such as SGLang, load it only if an option selects it.
    """
    options = container.server.options
    drafter = (container.server.speculative or {}).get("model")
    if handle in [options.get(key) for key in _BARE] and handle not in (container.server.model, drafter):
        return "bare"
    formats = {str(options.get(key) or _AUTO) for key in ("load_format", "config_format")}
    native = "mistral" in formats or (
        formats == {_AUTO} and engines.named(container.server.engine).interfaces and not _is_old(container)
    )
    return "consolidated" if native else "shards"


def _is_old(container: Container) -> bool:
    found = container.image.vllm
    return found is not None and interfaces.release(found) < interfaces.release(_NATIVE_SINCE)


def _split(named: str) -> tuple[str | None, str | None]:
    """Split organisation/name/file into handle and file; None if the path has another form."""
    organisation, name, *rest = *named.split("/"), ""
    handle = f"{organisation}/{name}"
    return (handle if re.fullmatch(forms.HANDLE, handle) else None), "/".join(filter(None, rest)) or None


def _key(named: str, values: ResolvedDeployment) -> Path:
    """Return the path in a deployment that names a model."""
    if named == values.model:
        return ("model",)
    needed = values.needs_models
    return ("needs_models", needed.index(named)) if named in needed else ("speculative", "model")


def _revision(repository: str | None, models: Sequence[_PinUse], resolved: Resolved) -> tuple[str, Loc | None]:
    """Return the revision of a repository: the inventory's, the commit of a source, or the default branch.

    That of a model of the user's is its place, so that another place is read again.
    """
    written = resolved.written
    if own := written.own_models.get(repository or ""):
        return str(own), resolved.inventory.document.at_key(("own_models", repository or ""))
    if repository in written.revisions:
        return written.revisions[repository], resolved.inventory.document.at_value(("revisions", repository))
    return min((commit for use in models for commit in _source_commits(use, resolved)), default=DEFAULT_REVISION), None


def _source_commits(use: _PinUse, resolved: Resolved) -> Iterator[str]:
    """Return the commits of this model that the sources of a deployment's recipe used."""
    written = resolved.written
    deployment = written.deployments[use.user]
    if deployment.recipe is None:
        return
    recipe = resolved.library.recipe(deployment.recipe)
    variant = resolved.library.variant(deployment.recipe, deployment.variant) if deployment.variant else None
    for entry in (recipe.value if recipe else None, variant.value if variant else None):
        if entry is not None and entry.model == use.name and entry.facts is not None and entry.facts.revision:
            yield entry.facts.revision
