"""Command lines of SGLang, llama.cpp and TensorRT-LLM, by the tables of their engines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from sparkiac import engines
from sparkiac.importers import hiding, values
from sparkiac.importers.launch import Note
from sparkiac.importers.said import Line, Said
from sparkiac.model import forms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sparkiac.engines import Option

_SHORT: Final[dict[str, dict[str, str]]] = {
    # Aliases of the options' own documentation: sglang's server_args, tools/server/README.md, trtllm-serve.rst.
    "sglang": {
        "--model": "model_path",
        "--tp": "tp_size",
        "--tensor-parallel-size": "tp_size",
        "--dp": "dp_size",
        "--data-parallel-size": "dp_size",
        "--pp": "pp_size",
        "--pipeline-parallel-size": "pp_size",
        "--ep": "ep_size",
    },
    "llama-cpp": {
        "-m": "model",
        "-a": "alias",
        "-c": "ctx_size",
        "-b": "batch_size",
        "-ub": "ubatch_size",
        "-np": "parallel",
        "-t": "threads",
        "-tb": "threads_batch",
        "-ngl": "n_gpu_layers",
        "-fa": "flash_attn",
        "-n": "n_predict",
        "-ctk": "cache_type_k",
        "-ctv": "cache_type_v",
        "-hf": "hf_repo",
        "-hff": "hf_file",
        "-md": "spec_draft_model",
        "--model-draft": "spec_draft_model",
        "-sm": "split_mode",
        "-ts": "tensor_split",
        "-mg": "main_gpu",
        "-s": "seed",
        "-cb": "cont_batching",
        "-ot": "override_tensor",
    },
    "tensorrt-llm": {"--extra_llm_api_options": "extra_llm_api_options"},
}
_ONCE: Final = {"-fa": "on", "--flash-attn": "on"}
"""Switches of llama.cpp that take a value since September 2025."""
_SEVERAL: Final = frozenset({"served_model_name"})
"""Options of which people give several words, as vLLM takes them."""
_LISTS: Final = frozenset({"words", "many"})
_NUMBER: Final = re.compile(r"-[\d.]+")


def read(engine: str, words: Sequence[str], lines: Sequence[int]) -> Line:
    """Read the words after a server's program."""
    return _Reader(engine, words, lines).read()


class _Reader:
    """Goes through the words once."""

    def __init__(self, engine: str, words: Sequence[str], lines: Sequence[int]) -> None:
        known = engines.named(engine)
        self.options = known.options or {}
        self.elsewhere = known.elsewhere
        self.pairs = [*zip(words, lines, strict=True)]
        self.short = _SHORT.get(engine, {})
        self.model: str | None = None
        self.said: dict[str, Said] = {}
        self.notes: list[Note] = []

    def read(self) -> Line:
        """Read the whole line."""
        while self.pairs:
            word, line = self.pairs.pop(0)
            if _is_option(word):
                self._option(word, line)
            elif self.model is None:
                self.model = word
            else:
                self.notes.append(Note("lost", line, hiding.shown(word), "no option takes this word"))
        self._repository()
        return Line(self.model, tuple(self.said.values()), tuple(self.notes))

    def _repository(self) -> None:
        """Take the repository that llama.cpp would download from as the model; its file is not in its name."""
        said = self.said.pop("hf_repo", None)
        if said is None or "model" in self.said or self.model is not None:
            return
        self.model = str(said.value).partition(":")[0]
        files = [said, *([self.said.pop("hf_file")] if "hf_file" in self.said else ())]
        for each in files:
            what = hiding.shown(f"{each.what} {each.value}")
            self.notes.append(Note("lost", each.line, what, "write the GGUF file's name as `model_file`"))

    def _option(self, word: str, line: int) -> None:
        head, equals, value = word.partition("=")
        plain = head.lstrip("-").replace("-", "_")
        name = self.short.get(head, plain)
        negative = name.startswith("no_") and name.removeprefix("no_") in self.options and name not in self.options
        name = name.removeprefix("no_") if negative else name
        if not re.fullmatch(forms.OPTION, name):
            self.notes.append(Note("lost", line, hiding.shown(word), "this is no option"))
            return
        known = self.options.get(name)
        known_here = known is not None or name in self.elsewhere
        found = self._value(name, known, [value] if equals else None, known=known_here)
        if known is not None and found is None and head in _ONCE:
            found = _ONCE[head]
            self.notes.append(Note("corrected", line, head, f"a value is wanted by now; read as {found}"))
        if known is not None and found is None:
            self.notes.append(Note("lost", line, head, "its value is missing"))
            return
        if name in self.said:
            self.notes.append(
                Note("corrected", self.said[name].line, head, f"given again in line {line}, which counts")
            )
        self.said[name] = Said(name, False if negative else found, line, head)

    def _value(self, name: str, option: Option | None, given: list[str] | None, *, known: bool) -> Any:  # noqa: ANN401
        kind = option.kind if option else ("words" if name in _SEVERAL else "text") if known else None
        if kind == "switch":
            following = self.pairs[0][0] if self.pairs else ""
            return _switch(given[0]) if given else _switch(self.pairs.pop(0)[0]) if following in {"on", "off"} else True
        rest = [*(given or [])]
        while (
            given is None and self.pairs and not _is_option(self.pairs[0][0]) and (kind in {None, *_LISTS} or not rest)
        ):
            rest.append(self.pairs.pop(0)[0])
        if kind in _LISTS:
            return tuple(rest) or None
        if kind is None:
            return values.guessed(tuple(rest))
        return values.read(kind, rest[0]) if rest else None


def _switch(word: str) -> bool:
    return word.lower() not in {"false", "0", "off", "no"}


def _is_option(word: str) -> bool:
    return word.startswith("-") and word != "-" and _NUMBER.fullmatch(word) is None
