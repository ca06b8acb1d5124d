"""Variables of AEON-7's images, which are told everything by them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac import engines
from sparkiac.importers import values
from sparkiac.importers.said import Line, Said

if TYPE_CHECKING:
    from sparkiac.importers.launch import Launch

_OPTIONS: Final = {
    option.spelling: (name, option.kind) for name, option in (engines.named("aeon-vllm").options or {}).items()
}
VARIABLES: Final = frozenset(
    {"MODEL_PATH", "SERVED_MODEL_NAME", "DFLASH_DRAFTER", "DFLASH_NUM_SPEC_TOKENS"}
    | {spelling for spelling in _OPTIONS if spelling}
)
"""Variables that stand for options."""


def read(launch: Launch) -> Line:
    """Read the variables of a launch as if they were options."""
    held = {each.name: each for each in launch.env if each.value is not None}
    said = []
    for name, each in held.items():
        text, what = str(each.value), f"-e {name}"
        if name in _OPTIONS:
            option, kind = _OPTIONS[name]
            said.append(Said(option, values.read(kind, text), each.line, what))
        elif name == "SERVED_MODEL_NAME":
            said.append(Said("served_model_name", text, each.line, what))
        elif name == "DFLASH_DRAFTER" and text:
            chosen = {"method": "dflash", "model": text}
            tokens = held.get("DFLASH_NUM_SPEC_TOKENS")
            counted = {"num_speculative_tokens": values.read("int", str(tokens.value))} if tokens else {}
            said.append(Said("speculative_config", chosen | counted, each.line, what))
    model = held["MODEL_PATH"].value if "MODEL_PATH" in held else None
    return Line(model, tuple(said), ())
