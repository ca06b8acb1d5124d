"""The environment variables through which AEON-7's images are configured."""

from __future__ import annotations

from typing import Final

from sparkiac import engines
from sparkiac.foreign import values
from sparkiac.foreign.launch import CommandLine, Launch, OptionValue

_OPTIONS: Final = {
    option.spelling: (name, option.kind) for name, option in (engines.named("aeon-vllm").options or {}).items()
}
VARIABLES: Final = frozenset(
    {"MODEL_PATH", "SERVED_MODEL_NAME", "DFLASH_DRAFTER", "DFLASH_NUM_SPEC_TOKENS"}
    | {spelling for spelling in _OPTIONS if spelling}
)
"""Variables that set options."""


def read(launch: Launch) -> CommandLine:
    """Read the environment variables of a launch as options."""
    variables = {variable.name: variable for variable in launch.env if variable.value is not None}
    options = []
    for name, variable in variables.items():
        text, what = str(variable.value), f"-e {name}"
        if name in _OPTIONS:
            option, kind = _OPTIONS[name]
            options.append(OptionValue(option, values.read(kind, text), variable.line, what))
        elif name == "SERVED_MODEL_NAME":
            options.append(OptionValue("served_model_name", text, variable.line, what))
        elif name == "DFLASH_DRAFTER" and text:
            drafter = {"method": "dflash", "model": text}
            tokens = variables.get("DFLASH_NUM_SPEC_TOKENS")
            count = {"num_speculative_tokens": values.read("int", str(tokens.value))} if tokens else {}
            options.append(OptionValue("speculative_config", drafter | count, variable.line, what))
    model = variables["MODEL_PATH"].value if "MODEL_PATH" in variables else None
    return CommandLine(model, tuple(options), ())
