"""Every key of vLLM's JSON options, and of `speculative`, in the file of another tool and back."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml

from sparkiac import pipeline
from sparkiac.catalog import interfaces
from tests import kubelet
from tests.engines.fields import rights
from tests.every import every
from tests.exporters.roundtrip import NAME, of_fleet, plain, planned
from tests.plan.fleets import deployment

if TYPE_CHECKING:
    from sparkiac.plan import Container

RELEASE: Final = "0.32.0"
SPECULATION: Final = "speculative_config"
OWN: Final = {"method": "mtp", "model": "example/draft", "num_speculative_tokens": 3}
KINDS: Final = ("docker-run", "compose", "eugr", "sparkrun")


def structured() -> dict[str, dict[str, Any]]:
    """Return a value for every key of every JSON option of a release; the lock has the revision of a drafter."""
    known = interfaces.interface(RELEASE)
    assert known is not None
    objects = {option.name[2:].replace("-", "_"): option.object for option in known.options.values() if option.object}
    found = {option: rights(name, known) for option, name in objects.items()}
    found[SPECULATION] |= OWN
    del found[SPECULATION]["revision"]
    return found


VALUES: Final = structured()
KEYS: Final = [(option, key) for option, values in VALUES.items() for key in values]


def fleet() -> dict[str, Any]:
    """Return an inventory that sets all of them."""
    made: dict[str, Any] = yaml.safe_load(deployment(f"image: vllm/vllm-openai:v{RELEASE}"))
    made["deployments"][NAME] |= {
        "speculative": VALUES[SPECULATION],
        "set": {option: values for option, values in VALUES.items() if option != SPECULATION},
    }
    return made


def structures(container: Container) -> dict[str, Any]:
    """Return the JSON options of a deployment."""
    return plain({**container.server.options, SPECULATION: container.server.speculative})  # type: ignore[no-any-return]


@cache
def there_and_back(kind: str) -> dict[str, Any]:
    """Return the JSON options after an export and an import."""
    return structures(of_fleet(fleet(), kind).after[0])


@pytest.mark.parametrize("kind", KINDS)
@every(KEYS)
def test_a_key_comes_back(of: tuple[str, str], kind: str) -> None:
    option, key = of
    assert there_and_back(kind)[option][key] == VALUES[option][key]


def test_kubernetes_gets_every_key() -> None:
    rendering = pipeline.render_kubernetes(planned(fleet()))
    container = kubelet.pods(kubelet.objects(rendering.artifacts), NAME)[0]["spec"]["containers"][0]
    words = dict(word[2:].split("=", 1) for word in container["args"] if word.startswith("--") and "=" in word)
    for option, values in VALUES.items():
        written = json.loads(words[option.replace("_", "-")].replace("$$", "$"))
        assert {key: written[key] for key in values} == values
