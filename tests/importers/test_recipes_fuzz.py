"""For any text: a launch or a refusal, notes that stand in the file, and no secret in them.

SPARKIAC_FUZZ=10000 is the full run.
"""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkiac.foreign import eugr, sparkrun
from sparkiac.foreign.launch import Launch, Unreadable
from sparkiac.source import secrets
from tests.importers.test_corpus import FILES

if TYPE_CHECKING:
    from types import ModuleType

EXAMPLES = int(os.environ.get("SPARKIAC_FUZZ", "100"))
SECRETS = ("hf_" + "Zq" * 15, "sk-" + "9x" * 12, "correct-horse-battery")
SEEDS = (
    """\
recipe_version: '1'
name: Small
container: vllm-node
mods: [mods/a]
defaults:
  port: 8000
  tensor_parallel: 2
env:
  HF_TOKEN: ${HF_TOKEN}
  A: "1"
command: |
  export B=2; exec vllm serve a/b \\
    --port {port} -tp {tensor_parallel} \\
    --x '{{"a": {{"b": {port}}}}}' \\
    --distributed-executor-backend ray
""",
    """\
recipe_version: "2"
model: a/b
runtime: vllm
container: c:1
min_nodes: 2
metadata: {description: x, model_params: 8B}
defaults: {port: 8000, tensor_parallel: 2, speculative_config: '{"n": 2}'}
executor_config: {shm_size: 10gb, ulimit: [memlock=-1]}
overrides:
  - when: {nodes: 2}
    defaults: {port: 8001}
pre_exec: [echo, {copy: /a, dest: /b}]
command: vllm serve {model} --port {port} --y '{speculative_config}'
""",
)
PIECES = (
    "recipe_version: '1'\n", "runtime: sglang\n", "include: x\n", "model: a/b\n", "container: c\n", "command: |\n",
    "  vllm serve {model}\n", "defaults:\n", "  port: {port}\n", "{{", "}}", "{", "}", "'", '"', "\\\n", "\\ \n", "$",
    "`", "$(", "${", "&x ", "*x", "<<: *x\n", "- ", ": ", "~", "!!int ", "%", "\t", "|", ">-\n", "#", "&&", ";",
    "\u202e", "env: [A=1, B]\n", "max_nodes: 1\n", "  api_key: ", *SECRETS,
)  # fmt: skip
WORDS = """
    recipe_version name model runtime container command defaults env mods build_args solo_only cluster_only mode
    min_nodes max_nodes metadata executor executor_config distribution_config pre_exec post_commands overrides when
    include entries models revision port tensor_parallel nodes copy dest entrypoint ulimit description api_key hf_token
    variants model_revision served_model_name
"""
KEYS = st.sampled_from(WORDS.split())
SCALARS: Any = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 10**7),
    st.floats(allow_nan=True),
    st.sampled_from(
        ["1", "2", "vllm", "sglang", "atlas", "auto", "{port}", "{model}", "vllm serve {model} --a '{\"b\":{port}}'"]
    ),
    st.sampled_from(["vllm serve x --p {{", "a; b && c", "'", "$X", "${X:-y}", "x.jinja", "--chat-template=x.jinja"]),
    st.text(max_size=12),
)
DATA: Any = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=6)),
    max_leaves=15,
)
MAPPINGS = st.dictionaries(KEYS, DATA, min_size=1, max_size=12)
GOOD = {"recipe_version": "1", "name": "x", "model": "a/b", "container": "c", "command": "vllm serve {model}"}
SETTINGS = settings(derandomize=EXAMPLES <= 1000, max_examples=EXAMPLES)


def launch_or_refusal(importer: ModuleType, text: str) -> Launch | Unreadable:
    try:
        (found,) = importer.read(text, name="x.yaml")
    except Unreadable as refusal:
        return refusal
    assert isinstance(found, Launch)
    return found


def looked_at(text: str) -> None:
    """Read a text with both importers and check what comes out."""
    lines = text.count("\n") + 1
    for importer in (eugr, sparkrun):
        assert importer.recognise(text, "x.yaml") in {True, False}
        found = launch_or_refusal(importer, text)
        if isinstance(found, Unreadable):
            assert 1 <= found.line <= lines + 1
            assert secrets.literal(str(found), ()) is None
            continue
        assert found.nodes >= 1
        assert len(found.lines) == len(found.argv)
        for note in found.notes:
            assert note.kind in {"corrected", "unused", "lost"}
            assert 1 <= note.line <= lines
            assert "\n" not in note.what + note.why
            assert secrets.literal(note.what + " " + note.why, ()) is None, note


@SETTINGS
@given(data=MAPPINGS, good=st.booleans())
def test_any_data_is_read_or_refused(data: dict[str, object], good: bool) -> None:  # noqa: FBT001  a case
    looked_at(yaml.safe_dump(data | GOOD if good else data, sort_keys=False, allow_unicode=True))


@SETTINGS
@given(seed=st.integers(0, 2**32))
def test_any_text_near_a_recipe_is_read_or_refused(seed: int) -> None:
    chance = random.Random(seed)
    text = chance.choice([*SEEDS, *(path.read_text() for _, path in chance.sample(FILES, min(1, len(FILES))))])
    for _ in range(chance.randint(1, 6)):
        start = chance.randrange(len(text) + 1)
        end = min(len(text), start + chance.choice([0, 0, 1, 5, 60]))
        text = text[:start] + chance.choice(PIECES) * chance.choice([1, 1, 1, 3]) + text[end:]
    looked_at(text)


@SETTINGS
@given(
    secret=st.sampled_from(SECRETS),
    key=st.sampled_from(["api_key", "hf_token", "MY_PASSWORD", "API_SECRET"]),
    seed=st.integers(0, 99),
)
def test_a_secret_under_its_name_is_in_no_note(secret: str, key: str, seed: int) -> None:
    places = [
        f"{key}: {secret}\n",
        f"env: {{{key}: '\"{secret}'}}\n",
        f"variants: {{{key}: {secret}}}\n",
        f"defaults: {{{key}: {secret}}}\n",
        f"pre_exec: ['x {key}={secret}']\n",
        f"executor_config: {{{key}: {secret}}}\n",
        f"mods: ['--{key}={secret}']\n",
        f"command: export {key}={secret}; echo --{key} {secret}; vllm serve a/b\n",
    ]
    head = "recipe_version: '1'\nname: x\nmodel: a/b\ncontainer: c\n"
    for place in random.Random(seed).sample(places, 3):
        for importer in (eugr, sparkrun):
            body = place if place.startswith("command") else place + "command: vllm serve a/b\n"
            (found,) = importer.read(head + body, name="x.yaml")
            assert not [note for note in found.notes if secret in note.what + note.why]


def laughs() -> str:
    """Return a list of lists of lists, each named once and repeated twenty times."""
    lines = ["a0: &a0 [1]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 20)}]" for n in range(1, 9)]
    return "\n".join(lines) + "\n"


SLOW = {
    "itself": "command: &x [*x]\n",
    "laughs": laughs(),
    "cycle": f"command: vllm serve {'{a}' * 20_000}\ndefaults: {{a: '{{b}}{{b}}', b: '{{c}}{{c}}', c: '{{a}}'}}\n",
    "files": f"command: vllm serve {' '.join(f'--x a{n}.py' for n in range(8_000))}\n",
    "names": "command: |\n" + "".join(f"  --x {{n{n}}} \\\n" for n in range(7_000)),
    "backends": f"command: vllm serve {'--distributed-executor-backend ray ' * 2_500}\n",
    "variables": f"command: x\nx: &x '{'$A' * 60_000}'\nenv: {{{', '.join(f'A{n}: *x' for n in range(3_000))}}}\n",
    "deep": "command: x\n" + "[" * 5_000,
    "braces": f"command: '{'{' * 90_000}'\n",
    "digits": f"command: x\ndefaults: {{tensor_parallel: {'9' * 5_000}}}\n",
}


@pytest.mark.parametrize("text", SLOW.values(), ids=SLOW)
def test_a_text_made_to_be_slow_comes_to_an_end(text: str) -> None:
    looked_at(f"recipe_version: '1'\nname: x\nmodel: a/b\ncontainer: c\n{text}")
