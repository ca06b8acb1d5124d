"""How many machines a server's own flags want: one GPU each, as a DGX Spark has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.importers.sheet import whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

KEYS: Final = ("tensor_parallel", "pipeline_parallel", "data_parallel")
"""Names under which recipes give the three sizes."""
_EXPERTS: Final = "ep_size"
_FLAGS: Final = {
    "tp": "tensor_parallel",
    "tp-size": "tensor_parallel",
    "tensor-parallel-size": "tensor_parallel",
    "pp": "pipeline_parallel",
    "pp-size": "pipeline_parallel",
    "pipeline-parallel-size": "pipeline_parallel",
    "dp": "data_parallel",
    "dp-size": "data_parallel",
    "data-parallel-size": "data_parallel",
}
_SHARED: Final = "--enable-dp-attention"
"""With it SGLang's replicas are parts of the tensor group."""


def of_argv(argv: Sequence[str]) -> int | None:
    """Multiply what the flags say; None if they say nothing. The last of a repeated flag counts."""
    sizes = dict(_sizes(argv))
    if _SHARED in argv:
        sizes.pop("data_parallel", None)
    return _product(sizes)


def of_settings(settings: Mapping[str, object]) -> int | None:
    """Multiply what a recipe's settings say; None if they say nothing."""
    sizes = {key: size for key in KEYS if (size := whole(settings.get(key))) is not None}
    experts = whole(settings.get(_EXPERTS))
    if experts is not None and experts != sizes.get("tensor_parallel"):
        sizes[_EXPERTS] = experts
    return _product(sizes)


def _sizes(argv: Sequence[str]) -> Iterator[tuple[str, int]]:
    for index, word in enumerate(argv):
        flag, _, value = word.partition("=")
        key = _FLAGS.get(flag.lstrip("-").replace("_", "-")) if flag.startswith("-") else None
        size = whole(value or next(iter(argv[index + 1 : index + 2]), None))
        if key is not None and size is not None:
            yield key, size


def _product(sizes: Mapping[str, int]) -> int | None:
    if not sizes:
        return None
    product = 1
    for size in sizes.values():
        product *= size
    return product
