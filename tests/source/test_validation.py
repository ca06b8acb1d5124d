"""Pydantic's errors become sentences with the right place."""

from __future__ import annotations

import re
from typing import Annotated

import pytest
from pydantic import Field

from sparkiac.model.base import DIRECTORIES_OF_SPARKIAC, UNITS_OF_SPARKIAC, Model
from sparkiac.model.inventory import Inventory
from sparkiac.model.schema import classes, descriptions
from sparkiac.report import assets
from sparkiac.source import load
from sparkiac.source.wording import dotted, shown
from tests.source.reading import FLEET, findings, only

NAME = "a name of 1 to 40 lower-case letters, digits and hyphens that starts with a letter"


def deployment(keys: str) -> str:
    return f"{FLEET}deployments:\n  d: {{recipe: a/b, {keys}}}\n"


@pytest.mark.parametrize(
    ("value", "column", "message"),
    [
        ("1", 37, "deployments.d.hosts: must be a text or a list, not the number 1"),
        ("1.5", 37, "deployments.d.hosts: must be a text or a list, not the number 1.5"),
        ("true", 37, "deployments.d.hosts: must be a text or a list, not the boolean true"),
        ("null", 37, "deployments.d.hosts: must be a text or a list, not nothing"),
        ("{a: b}", 37, "deployments.d.hosts: must be a text or a list, not a mapping"),
        ("[]", 37, "deployments.d.hosts: it has 0 entries; the minimum is 1"),
        ("A", 37, f"deployments.d.hosts: 'A' is not {NAME}"),
        ("[A]", 38, f"deployments.d.hosts[0]: 'A' is not {NAME}"),
        ("[a, 1]", 41, "deployments.d.hosts[1]: must be a text, not the number 1"),
        ("[[a]]", 38, "deployments.d.hosts[0]: must be a text, not a list"),
        ("[{a: b}]", 38, "deployments.d.hosts[0]: must be a text, not a mapping"),
        ("all", 37, "deployments.d.hosts: 'all' is a reserved name in Ansible; choose another name"),
        ("[a, all]", 41, "deployments.d.hosts[1]: 'all' is a reserved name in Ansible; choose another name"),
    ],
)
def test_a_wrong_host(value: str, column: int, message: str) -> None:
    finding = only(deployment(f"port: 80, hosts: {value}"))
    assert finding.loc is not None
    assert (finding.loc.mark[:2], finding.code, finding.message) == ((5, column), "INV002", message)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("port: 0", "deployments.d.port: must be at least 1, not 0"),
        ("port: 70000", "deployments.d.port: must be at most 65535, not 70000"),
        ("port: '80'", "deployments.d.port: must be a whole number, not the text '80'"),
        ("port: 1.5", "deployments.d.port: must be a whole number, not the number 1.5"),
        (
            "port: 8, bind: wan",
            "deployments.d.bind: must be 'loopback', 'lan', 'fabric' or 'any', not the text 'wan'",
        ),
        ("port: 8, bind: 5", "deployments.d.bind: must be 'loopback', 'lan', 'fabric' or 'any', not the number 5"),
        ("port: 8, description: ''", "deployments.d.description: '' is not one line of text that neither starts"),
        (f"port: 8, description: {'x' * 201}", "deployments.d.description: it has 201 characters; the maximum is 200"),
        (f"port: 8, env: {{A: {'x' * 130_901}}}", "deployments.d.env.A: 130901 bytes; Linux passes at most 130900 in"),
        (f"port: 8, set: {{a: [x, {'x' * 130_901}]}}", "deployments.d.set.a: 130901 bytes; Linux passes at most"),
        (f"port: 8, set: {{a: {{b: {'x' * 130_901}}}}}", "deployments.d.set.a: 130910 bytes; Linux passes at most"),
        ("port: 8, env: {A: {int: 3}}", "deployments.d.env.A: must be a text or a whole number, not a mapping"),
        ("port: 8, env: {int: {str: 3}}", "deployments.d.env.int: must be a text or a whole number, not a mapping"),
        ("port: 8, set: {a: [[1]]}", "deployments.d.set.a[0]: must be a text or a number, not a list"),
        ("port: 8, container: {shm_size_gib: 0}", "deployments.d.container.shm_size_gib: must be greater than 0"),
        ("port: 8, container: {mounts: {/x: 5}}", "deployments.d.container.mounts./x: must be a mapping, not the"),
        (
            "port: 8, container: {mounts: {/x: {source: 5}}}",
            "deployments.d.container.mounts./x.source: must be 'model_store' or a text, not the number 5",
        ),
        (
            "port: 8, container: {mounts: {/x: {source: rel}}}",
            "deployments.d.container.mounts./x.source: 'rel' is not 'model_store' or an absolute path of letters",
        ),
        ("port: 8, set: {A: 1}", "name in deployments.d.set: 'A' is not an option name in snake_case"),
        ("port: 8, per_host: {'a b': {x: 1}}", "name in deployments.d.per_host: 'a b' is not a name of 1 to 40"),
        ("port: 8, model: [a]", "deployments.d.model: must be a text, not a list"),
    ],
)
def test_a_wrong_value(keys: str, message: str) -> None:
    finding = findings(deployment(f"hosts: spark-01, {keys}"))[0]
    assert finding.code == "INV002"
    assert finding.message.startswith(message)


@pytest.mark.parametrize(
    ("text", "place", "message", "hint"),
    [
        ("name: lab\n", (1, 1), "the top level needs the key 'hosts'", "Hosts of the fleet, by name."),
        ("# a\nname: lab\n", (2, 1), "the top level needs the key 'hosts'", "Hosts of the fleet, by name."),
        (
            f"{FLEET}  b: {{}}\n",
            (4, 3),
            "hosts.b needs the key 'address'",
            "Address of the host for Ansible and for clients.",
        ),
        (f"{FLEET}x: 1\n", (4, 1), "unknown key 'x' in the top level", "known: allow, builds, defaults,"),
        (f"{FLEET}? {'k' * 99}\n: 1\n", (4, 3), f"unknown key '{'k' * 58}… in the top level", "known: allow"),
        (f"{FLEET}defaults: {{usr: x}}\n", (4, 12), "unknown key 'usr' in defaults", "did you mean 'user'?"),
        (
            f"{FLEET}allow: [{{code: ABC123}}]\n",
            (4, 9),
            "allow[0] needs the key 'reason'",
            "Why the finding does not apply here.",
        ),
        (
            f"{FLEET}defaults: {{bind: lann}}\n",
            (4, 18),
            "defaults.bind: must be 'loopback', 'lan',",
            "did you mean 'lan'?",
        ),
        (f"{FLEET}defaults: {{bind: zzz}}\n", (4, 18), "defaults.bind: must be 'loopback', 'lan',", ""),
        (f"{FLEET}defaults: {{image: 1.10}}\n", (4, 19), "defaults.image: must be a text", "to make it a text"),
        ("- a\n", (1, 1), "the file: must be a mapping, not a list", "write `name: value` for each"),
        ("lab\n", (1, 1), "the file: must be a mapping, not the text 'lab'", "write `name: value` for each"),
        (f"{FLEET}  b: 192.168.1.12\n", (4, 6), "hosts.b: must be a mapping", "write {address: 192.168.1.12}"),
        (
            f"{FLEET}defaults: {{model_store: ~/m}}\n",
            (4, 25),
            "defaults.model_store: '~/m' is not",
            "write the value itself",
        ),
        (f"{FLEET}defaults: {{user: $USER}}\n", (4, 18), "defaults.user: '$USER' is not", "write the value itself"),
        (f"{FLEET}defaults: {{user: “a”}}\n", (4, 18), "defaults.user: '“a”' is not", "use straight quotation marks"),
        (f"{FLEET}\u00a0x: 1\n", (4, 1), "unknown key '\\xa0x' in the top level", "remove the character before"),
        (f"{FLEET}defaults:\n  image: >\n    a\n    b\n", (5, 3), "defaults.image: 'a b\\n' is not an image", ""),
        ("name: lab\nhosts: {}\n", (2, 8), "hosts: it has 0 entries; the minimum is 1", "Hosts of the fleet, by name."),
        (
            f"{FLEET}defaults: {{load_memory: true}}\n",
            (4, 25),
            "defaults.load_memory: must be a mapping, not the boolean true",
            "its keys are drop_caches_every_s, drop_caches_for_s, read_ahead_for_s, read_ahead_kib, sysctl",
        ),
    ],
)
def test_place_and_hint(text: str, place: tuple[int, int], message: str, hint: str) -> None:
    finding = only(text)
    assert finding.loc is not None
    assert finding.loc.mark[:2] == place
    assert finding.message.startswith(message)
    assert finding.hint.startswith(hint)
    assert bool(finding.hint) is bool(hint)


def test_a_hint_is_one_line_even_if_the_meaning_of_the_key_takes_two() -> None:
    assert all("\n" not in text for model in classes(Inventory).values() for text in descriptions(model).values())


def test_a_number_is_quoted_as_it_stands() -> None:
    assert only(f"{FLEET}defaults: {{image: 1.10}}\n").hint == "to make it a text, quote it: '1.10'"


@pytest.mark.parametrize(
    ("entry", "hint"),
    [
        ("port: '8000'", "write it without quotation marks"),
        ("port: 8000:8000", "write the port of the host alone: 8000"),
        ("env: [A=b]", "write `name: value` for each, on separate lines or inside { }"),
        ("fragments: mtp", "write [mtp]"),
        ("max-num-seqs: 1", "put engine options under `set`"),
        (
            "context: 8192",
            "write `set: {max_model_len: …}`; its name is ctx_size in llama.cpp, context_length in SGLang",
        ),
        ("tp: 2", "write `set: {tensor_parallel_size: …}`"),
        (
            "revision: main",
            "the lock has the commit; `revisions: {organisation/name: …}` at the top level chooses another",
        ),
        ("environment: {A: b}", "write `env: {NAME: value}`"),
        ("server: a", "the key is `hosts`: in a deployment `hosts: HOST`, or `hosts: [HOST, HOST]`"),
        ("model-store: /srv", "did you mean 'model_store'?"),
        ("prot: 1", "did you mean 'port'?"),
    ],
)
def test_what_to_do_with_a_key_of_a_deployment(entry: str, hint: str) -> None:
    text = f"{FLEET}deployments:\n  chat: {{recipe: base/single-spark, hosts: a, {entry}}}\n"
    assert only(text).hint == hint


@pytest.mark.parametrize(
    ("recipe", "hint"),
    [
        ("qwen3.6-35b-a3b-nvfp4", "`sparkiac recipes search --model qwen3.6-35b-a3b-nvfp4` prints its whole name"),
        ("unsloth/qwen3.6-27b-nvfp4#mtp", "write `recipe: unsloth/qwen3.6-27b-nvfp4` and `variant: mtp`"),
    ],
)
def test_a_recipe_as_lists_name_it_is_not_a_name_of_an_inventory(recipe: str, hint: str) -> None:
    assert only(f"{FLEET}deployments:\n  chat: {{recipe: {recipe}, hosts: a}}\n").hint == hint


def test_a_number_of_tokens_under_a_wrong_key_is_not_a_secret() -> None:
    finding = only(f"{FLEET}deployments:\n  a: {{recipe: x/y, hosts: a, max_num_batched_tokens: 8192}}\n")
    assert finding.loc is not None
    assert "max_num_batched_tokens: 8192}" in finding.loc.text
    finding = only(f"{FLEET}deployments:\n  a: {{recipe: x/y, hosts: a, tokenn: hunter2}}\n")
    assert finding.loc is not None
    assert "hunter2" not in finding.loc.text


def test_a_bad_name_hides_no_fault_below_it() -> None:
    messages = [finding.message for finding in findings("name: lab\nhosts: {'a b': {adress: x}}\n")]
    assert messages == [
        f"name in hosts: 'a b' is not {NAME}",
        "unknown key 'adress' in hosts.'a b'",
    ]


class Odd(Model):
    """Bounds that the inventory does not have today."""

    word: Annotated[str, Field(min_length=2)] = "ab"
    number: Annotated[int, Field(multiple_of=5)] = 5
    flag: bool = False
    nothing: None = None
    free: dict[str, object] | None = None
    any_key: dict[str, dict[str, Model]] | None = None
    either: Model | tuple[Model, ...] = ()
    listed: Annotated[tuple[Model, ...], Field(min_length=1)] | None = None


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("word: a", "word: it has 1 characters; the minimum is 2", ""),
        ("number: 7", "number: Input should be a multiple of 5", ""),
        ("flag: maybe", "flag: must be true or false, not the text 'maybe'", ""),
        ("nothing: x", "nothing: must be nothing, not the text 'x'", ""),
        ("any_key: {a: {b: {c: 1}}}", "unknown key 'c' in any_key.a.b", ""),
        ("either: [{c: 1}]", "unknown key 'c' in either[0]", ""),
        ("listed: [{c: 1}]", "unknown key 'c' in listed[0]", ""),
        ("either: 5", "either: must be a mapping or a list, not the number 5", ""),
    ],
)
def test_other_models(text: str, message: str, hint: str) -> None:
    (finding,) = load(text.encode(), name="x", model=Odd).findings
    assert (finding.message, finding.hint) == (message, hint)


def test_dotted() -> None:
    assert dotted(("hosts", "spark-01", "fabric", "links", 0, "a b", "x\ny")) == (
        "hosts.spark-01.fabric.links[0].'a b'.'x\\ny'"
    )
    assert dotted(()) == ""
    assert dotted(("'",)) == '"\'"'


def test_shown() -> None:
    assert (shown("a"), shown(True), shown(1.5), shown("x" * 99)) == ("'a'", "true", "1.5", f"'{'x' * 58}…")  # noqa: FBT003
    assert len(shown("\x07" * 99)) == 60


def test_a_name_of_the_domain_name_system_may_be_long() -> None:
    name = ".".join(["a" * 63] * 3)
    assert not findings(f"name: lab\nhosts:\n  a: {{address: {name}}}\n")
    assert only(f"name: lab\nhosts:\n  a: {{address: {name}.{name}}}\n").code == "INV002"


@pytest.mark.parametrize("name", sorted({*UNITS_OF_SPARKIAC, *DIRECTORIES_OF_SPARKIAC, "turn-night"}))
def test_a_name_that_sparkiac_uses_on_each_host_is_refused(name: str) -> None:
    finding = only(f"{FLEET}deployments:\n  {name}: {{recipe: a/b, port: 80, hosts: a}}\n")
    assert finding.code == "INV002"
    assert f"'{name}'" in finding.message
    assert "sparkiac uses a" in finding.message
    assert "choose another name" in finding.message


def test_every_unit_and_directory_of_sparkiac_is_reserved() -> None:
    """Read the names from the programs and templates that use them."""
    role = assets.directory("playbooks") / "roles"
    text = "".join(path.read_text() for name, path in assets.files("sparkiac/host") if not name.startswith("build/"))
    text += (role / "stage/defaults/main.yml").read_text()
    place = r"^(?:[A-Z_]+ = \"(?:etc/systemd/system/)?|stage_share_unit: )"
    units = set(re.findall(place + r"sparkiac-([a-z-]+)(?:\.service)?\"?$", text, re.MULTILINE))
    units -= {"probe", "trial"}  # a boundary of HTTP, and an entry of GRUB
    templates = assets.directory("templates") / "host/etc/systemd/system"
    units |= {path.name.removeprefix("sparkiac-").split(".")[0] for path in templates.glob("sparkiac-*")}
    assert units == {*UNITS_OF_SPARKIAC, "turn"}
    kept = re.search(r"^OWN = \((.*?)\)$", text, re.MULTILINE | re.DOTALL)
    assert kept is not None
    directories = {name for name in re.findall(r'"([^"]+)"', kept[1]) if "." not in name}
    directories |= {*re.findall(r'/?var/lib/sparkiac/([a-z]+)["/]', text)}
    assert {*DIRECTORIES_OF_SPARKIAC} == directories | {"models", "secrets"}  # these two are in /etc/sparkiac
