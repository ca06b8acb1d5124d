"""The catalog: platforms, images, recipes, services. It is package data with one file per entry.

Most functions return a Source, so that a resolved value has the file and line that it comes from.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pydantic import BaseModel

from sparkiac.model import references, tables
from sparkiac.model.catalog import Fragment, GeneralNotes, Gpu, Platform, Recipe, Variant
from sparkiac.model.images import CatalogBuild, ImageFamily
from sparkiac.model.services import ServiceKind
from sparkiac.report import assets
from sparkiac.source import Source, load

if TYPE_CHECKING:
    from sparkiac.model.symptoms import Symptom

M = TypeVar("M", bound=BaseModel)
_ROOT: Final = Path(__file__).parent
DEFAULT_PLATFORM: Final = "dgx-spark"
"""Platform of hosts that name none; what the catalog was measured on."""


@cache
def recipe(name: str) -> Source[Recipe] | None:
    """Return the recipe `vendor/name`, or None if there is none."""
    return _entry(f"recipes/{name}.yaml", Recipe)


@cache
def variant(recipe: str, name: str) -> Source[Variant] | None:
    """Return the variant `name` of a recipe, or None if there is none."""
    return _entry(f"recipes/{recipe}/{name}.yaml", Variant)


@cache
def fragment(name: str) -> Source[Fragment] | None:
    """Return the fragment `name`, or None if there is none."""
    return _entry(f"fragments/{name}.yaml", Fragment)


@cache
def platform(name: str) -> Source[Platform] | None:
    """Return the platform `name`, or None if there is none."""
    return _entry(f"platforms/{name}.yaml", Platform)


@cache
def gpu() -> Gpu:
    """Return the GPU of the default platform."""
    found = _shipped(f"platforms/{DEFAULT_PLATFORM}.yaml", Platform).gpu
    assert found is not None, "it has one"  # noqa: S101
    return found


def has_unified_memory(compute_capability: str) -> bool:
    """Return whether a platform of the catalog with this GPU has one memory for CPU and GPU."""
    known = (each.valid.gpu for name in platform_names() if (each := platform(name)))
    return any(gpu.unified_memory for gpu in known if gpu and gpu.compute_capability == compute_capability)


def platform_of(gpu_name: str, memory_gib: float) -> str:
    """Return the platform of a machine: with its GPU, and the least installed memory that is not below its MemTotal."""
    known = ((name, each.valid) for name in platform_names() if (each := platform(name)))
    fitting = ((each.installed_gib or 0, name) for name, each in known if each.gpu and each.gpu.name == gpu_name)
    return min((each for each in fitting if each[0] >= memory_gib), default=(0, DEFAULT_PLATFORM))[1]


def config(model: str | None) -> Mapping[str, object]:
    """Return the kept keys of a model's config.json; empty if no public repository is known to hold it."""
    found: Mapping[str, object] = _configs()[model]["config"] if model in _configs() else {}
    return found


@cache
def build(name: str) -> Source[CatalogBuild] | None:
    """Return the build of the image `name`, or None if there is none."""
    return _entry(f"builds/{name}.yaml", CatalogBuild)


@cache
def service_kind(name: str) -> Source[ServiceKind] | None:
    """Return the kind of service `name`, or None for a container of the inventory's own."""
    return _entry(f"services/{name}.yaml", ServiceKind)


def service_kinds() -> dict[str, ServiceKind]:
    """Return all kinds of services, by name."""
    found = {name: service_kind(name) for name in sorted(assets.entries("services"))}
    return {name: each.valid for name, each in found.items() if each}


@cache
def monitoring_kind(name: str) -> Source[ServiceKind] | None:
    """Return the part `name` of the monitoring, or None if there is none."""
    return _entry(f"monitoring/{name}.yaml", ServiceKind)


@cache
def drafters() -> tuple[tables.DrafterPair, ...]:
    """Return all pairs of target and drafter, in the order of the table."""
    return _shipped("drafters.yaml", tables.DrafterTable).pairs


def drafter(target: str | None, *, method: str) -> tables.DrafterPair | None:
    """Return the drafter for a model and a method; None if no source names one."""
    return next((pair for pair in drafters() if pair.target == target and pair.method == method), None)


@cache
def doubted_drivers() -> tuple[tables.DriverSeries, ...]:
    """Return the driver series that sources disagree on."""
    return _shipped("drivers.yaml", tables.Drivers).doubted


@cache
def measured_settings() -> tuple[tables.MeasuredSetting, ...]:
    """Return what sources measured with settings of hosts."""
    return _shipped("settings.yaml", tables.MeasuredSettings).measured


@cache
def sparkrun_runtimes() -> Mapping[str, tables.SparkrunRuntime]:
    """Return the runtimes of sparkrun, by name."""
    found = _shipped("sparkrun.yaml", tables.SparkrunRuntimes).runtimes
    return {name: each for each in found for name in each.names}


@cache
def launchers() -> tables.Launchers:
    """Return the keys and options of other tools."""
    return _shipped("launchers.yaml", tables.Launchers)


@cache
def group_settings() -> tuple[tables.GroupSetting, ...]:
    """Return the settings of the nodes of groups, in the order of the table."""
    return _shipped("groups.yaml", tables.GroupSettings).decisions


@cache
def standing() -> GeneralNotes:
    """Return the remarks that apply to every recipe."""
    return _shipped("standing.yaml", GeneralNotes)


@cache
def unwritten() -> tuple[tables.UnwrittenKeys, ...]:
    """Return the keys of an inventory that other tools and Kubernetes do not get."""
    return _shipped("unwritten.yaml", tables.UnwrittenTable).unwritten


@cache
def profiles() -> tables.Profiles:
    """Return the profiles of rules."""
    return _shipped("profiles.yaml", tables.Profiles)


def recipe_names() -> tuple[str, ...]:
    """Return the names of all recipes, sorted."""
    return tuple(sorted(f"{path.parent.name}/{path.stem}" for path in (_ROOT / "recipes").glob("*/*.yaml")))


def variant_names(recipe: str) -> tuple[str, ...]:
    """Return the names of a recipe's variants, sorted."""
    return _names(f"recipes/{recipe}")


def fragment_names() -> tuple[str, ...]:
    """Return the names of all fragments, sorted."""
    return _names("fragments")


def platform_names() -> tuple[str, ...]:
    """Return the names of all platforms, sorted."""
    return _names("platforms")


def build_names() -> tuple[str, ...]:
    """Return the names of all builds, sorted."""
    return _names("builds")


def engine_options(engine: str) -> dict[str, Any]:
    """Return the options of an engine other than vLLM by release; `sparkiac.engines.tables` describes the format."""
    found: dict[str, Any] = json.loads((_ROOT / "options" / f"{engine}.json").read_bytes())
    return found


def holding(text: str) -> Iterator[str]:
    """Return the recipes and variants whose file, or whose recipe's file, contains a text; no file is parsed."""
    raw, files = text.encode(), _files()
    return (name for name in files if raw in files[name] or raw in files[name.partition("#")[0]])


def image_families() -> tuple[Source[ImageFamily], ...]:
    """Return all image families, in the order of their file names."""
    return tuple(_families(b""))


@cache
def image_family(repository: str) -> Source[ImageFamily] | None:
    """Return the image family of a repository, or None if it is unknown; the prefix docker.io is optional."""
    wanted = references.full(repository)
    families = _families(references.short(wanted).encode())
    return next(
        (each for each in families if each.value and references.full(each.value.repository or "") == wanted), None
    )


@cache
def symptom(name: str) -> Symptom:
    """Return the symptom `code-slug`."""
    from sparkiac.model.symptoms import Symptom  # noqa: PLC0415  few checks need one

    return _shipped(f"symptoms/{name}.yaml", Symptom)


@cache
def symptoms() -> tuple[Symptom, ...]:
    """Return all known symptoms, sorted by code."""
    return tuple(map(symptom, _names("symptoms")))


@cache
def clients() -> Mapping[str, tables.ClientSettings]:
    """Return the settings of client programs, by name."""
    return {name: _shipped(f"clients/{name}.yaml", tables.ClientSettings) for name in _names("clients")}


@cache
def alert_groups() -> Mapping[str, tables.AlertGroup]:
    """Return the groups of alerts, by name."""
    return {name: _shipped(f"alerts/{name}.yaml", tables.AlertGroup) for name in _names("alerts")}


def _names(folder: str) -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in (_ROOT / folder).glob("*.yaml")))


@cache
def _files() -> dict[str, bytes]:
    """Return the files of all recipes and variants, each recipe before its variants."""
    found = {}
    for recipe in recipe_names():
        found[recipe] = (_ROOT / "recipes" / f"{recipe}.yaml").read_bytes()
        for variant in variant_names(recipe):
            found[f"{recipe}#{variant}"] = (_ROOT / "recipes" / recipe / f"{variant}.yaml").read_bytes()
    return found


def _families(text: bytes) -> Iterator[Source[ImageFamily]]:
    """Return the families whose files contain a text; no other file is parsed."""
    for path in sorted((_ROOT / "images").glob("*.yaml")):
        found = _family(path.name) if text in path.read_bytes() else None
        if found is not None:
            yield found


@cache
def _family(name: str) -> Source[ImageFamily] | None:
    return _entry(f"images/{name}", ImageFamily)


@cache
def _configs() -> dict[str | None, dict[str, Any]]:
    found: dict[str | None, dict[str, Any]] = json.loads((_ROOT / "configs.json").read_bytes(), object_hook=_frozen)
    return found


def _frozen(found: dict[str, Any]) -> dict[str, Any]:
    """Return lists as tuples, as a lock that is read has them."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in found.items()}


def _shipped(path: str, model: type[M]) -> M:
    """Return the value of a parsed catalog file; the catalog always contains the file."""
    found = _entry(path, model)
    assert found is not None and found.value is not None, "the file is shipped and valid"  # noqa: S101, PT018
    return found.value


def _entry(path: str, model: type[M]) -> Source[M] | None:
    try:
        raw = (_ROOT / path).read_bytes()
    except FileNotFoundError:
        return None
    source = load(raw, name=f"catalog/{path}", model=model)
    if source.value is None:
        raise AssertionError(f"catalog/{path} is not valid: {source.findings}")
    return source
