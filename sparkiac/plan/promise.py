"""What clients can expect of each unit (its "promise"), and the health check of a container, which tests it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from sparkiac import engines
from sparkiac.engines import Engine, Part
from sparkiac.host.generation import Promise
from sparkiac.memory import options
from sparkiac.memory.values import Unknown
from sparkiac.plan import facts
from sparkiac.plan.container import Checks, Container, Program
from sparkiac.plan.parts import Health
from sparkiac.plan.topology import locally

if TYPE_CHECKING:
    from sparkiac.plan.container import Container, ModelServer

    Config = Mapping[str, object]

_EMBEDDING: Final = {"convert": "embed", "task": "embed", "is_embedding": True, "embedding": True}
_POOLING: Final = {"convert": ("classify", "reward"), "task": ("classify", "reward", "score")}
_ARCHITECTURES: Final = (
    (r"Whisper\w*|\w+ForSpeechSeq2Seq|\w*ASR\w*", "transcription"),
    (r"\w+For(Sequence|Token|Image)Classification|\w+RewardModel", "pooling"),
    (r"\w+(ForCausalLM|ForConditionalGeneration|ChatModel|LMHeadModel)", "generate"),
    (r"\w+(ForTextEncoding|EmbeddingModel|Model)", "embedding"),
)
"""Ending of the architecture name in config.json → kind of API, chosen as vLLM chooses its runner."""
INSIDE: Final = "/run/sparkiac"
"""Directory in the container with the probe and its list of API checks."""


def promise(unit: Container | Program, config: Config) -> Promise | None:
    """Return the expected API of a unit; `config` is config.json of its model. None if it accepts no requests.

    A worker of a group serves no HTTP; it must be connected to the leader's store.
    """
    server, listen = unit.server, unit.network.listen
    serves = isinstance(unit, Program) or server.leads
    if serves and listen is None:
        return None
    kind = _kind(unit, config) if serves else "worker"
    generates = kind in {"chat", "generate"}
    return Promise(
        unit=unit.unit,
        kind=kind,
        url=f"http://{locally(listen[0])}:{listen[1]}" if listen else None,
        health=unit.checks.path,
        models=server.served,
        api_key=unit.api_key,
        clients=server.clients if serves else (),
        reasoning=generates and server.options.get("reasoning_parser") is not None,
        structured=generates and engines.named(server.engine).structured,
        vision=generates and _accepts_images(server, config),
        max_model_len=_length(server) if serves else None,
        dimensions=_dimensions(config) if kind == "embedding" else None,
        speculative=generates and server.speculative is not None,
        metrics=_metrics(server) if serves else None,
        answer_s=unit.timeouts.answer_s,
        store=server.store,
        workers=server.node[1] - 1 if server.node else 0,
    )


def _kind(unit: Container | Program, config: Config) -> str:
    server = unit.server
    if unit.path[0] != "deployments":
        return unit.checks.endpoint or "service"
    if any(server.options.get(name) in values for name, values in _POOLING.items()):
        return "pooling"
    if any(server.options.get(name) == value for name, value in _EMBEDDING.items()):
        return "embedding"
    overridden = server.options.get("hf_overrides")
    found = _architecture({**config, **overridden} if isinstance(overridden, Mapping) else config)
    if found == "generate" and server.options.get("runner") == "pooling":
        return "embedding"
    return "chat" if found == "generate" and _chats(server) else found


def _architecture(config: Config) -> str:
    listed: Any = config.get("architectures")
    name = str(listed[0]) if isinstance(listed, list | tuple) and listed else ""
    known = _ARCHITECTURES if name else ()
    return next((kind for pattern, kind in known if re.fullmatch(pattern, name)), "generate")


def _chats(server: ModelServer) -> bool:
    """Return whether the server must have a chat template: a parser or a client of chat responses requires one."""
    known = facts.known(server)
    named = ("tool_call_parser", "reasoning_parser", "chat_template", "enable_auto_tool_choice")
    return bool(server.clients) or any(map(server.options.get, named)) or (known is not None and known.thinks is True)


def _accepts_images(server: ModelServer, config: Config) -> bool:
    """Return whether it accepts images: the model does, and no option turns that off."""
    limits = server.options.get("limit_mm_per_prompt")
    if server.options.get("language_model_only") or (isinstance(limits, dict) and limits.get("image") == 0):
        return False
    known = facts.known(server)
    return "image" in known.modalities if known and known.modalities else "vision_config" in config


def _length(server: ModelServer) -> int | None:
    """Return the length that /v1/models must report, if the inventory or the recipe sets it."""
    length = server.options.get(engines.named(server.engine).context or "")
    found = options.read({"max_model_len": length}, release=(0,))
    return None if isinstance(found, Unknown) else found.max_model_len


def _dimensions(config: Config) -> int | None:
    found = config.get("hidden_size")
    return found if isinstance(found, int) else None


def _metrics(server: ModelServer) -> str | None:
    engine = engines.named(server.engine)
    return None if server.options.get(engine.metrics_option or "", True) is False else engine.metrics


def promise_file(name: str) -> str:
    """Return the path of the file on the host with the API checks of a container.

    The file is mounted and not its directory, so no container is compared with the promise of a newer version.
    """
    return f"/etc/sparkiac/{name}/promise.json"


def is_probed(container: Container) -> bool:
    """Return whether the health check of a container is the probe, which reads what the container promises."""
    return any(mount.source == promise_file(container.name) for mount in container.storage.mounts)


def checks(engine: Engine, part: Part, url: str | None) -> Checks:
    """Return the health checks; `url` is None for the worker of a group, which serves no HTTP to clients.

    The probe checks the API of the unit; its timeout is long enough for the first, slow answer. An image without
    Python can only check the health endpoint and the connections to the other nodes; the playbook checks the rest from
    the host.
    """
    command = _probe(url) if engine.python else _shell(part, url, engine.health)
    return Checks(Health(command, interval_s=15, timeout_s=150), engine.health if url else None)


def _probe(url: str | None) -> tuple[str, ...]:
    watch = ("CMD", "python3", f"{INSIDE}/lib/probe.py", "watch", f"{INSIDE}/promise.json")
    return watch if url is None else (*watch, "--at", url)


def _shell(part: Part, url: str | None, path: str) -> tuple[str, ...]:
    request = () if url is None else ("curl", "-fsS", "-m", "4", "-o", "/dev/null", f"{url}{path}")
    if not part.check:
        return ("CMD", *request)
    return ("CMD", "/bin/sh", "-c", " && ".join(filter(None, (shlex.join(request), part.check))))
