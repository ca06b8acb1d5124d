"""Registries, hubs, files, Git servers and model servers that were taken over, and the commands that ask them.

The servers are stand-ins: no real one floods or lies.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import tarfile
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest

from tests.hostile import measured
from tests.hostile.servers import as_json, drip, endless, reply, serve
from tests.plan.fleets import LOCK, deployment, service
from tests.standin.hub import Hub
from tests.upstream.hub.tiny import HANDLE, tiny
from tests.upstream.registry import content, servers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from tests.hostile.servers import Answer

MIB: Final = 1 << 20
INDEX: Final = "application/vnd.oci.image.index.v1+json"
DIGEST: Final = f"sha256:{'0' * 64}"
MANY: Final = "JSON with more than 20000 values"
DEEP: Final = "JSON with more than 64 levels"
HOLES: Final = b'{"manifests":[' + b"{}," * 1_300_000 + b"{}]}"
"""3.9 MB. pydantic keeps two faults of each item, which took 2.5 GiB."""
NESTED: Final = b'{"manifests":' + b"[" * 15_000 + b"]" * 15_000 + b"}"


class ServerCase(NamedTuple):
    """What a server answers to a path, and what the command that asks it says."""

    does: str
    answer: Answer
    said: str
    often: bool = False
    """Whether `make test` tries it, and not only `make test-deep`."""


def always(blocks: Callable[[], Iterable[bytes]]) -> Answer:
    """Answer the same to each path."""
    return lambda *_: blocks()


def manifest(body: bytes, kind: str = INDEX, **headers: object) -> Answer:
    """Answer with this instead of an index or a manifest."""
    return always(lambda: reply(body, kind=kind, **headers))


def image(config: bytes) -> Answer:
    """Answer with the manifest of an image with this configuration."""
    blob = content.Blob(content.OCI_CONFIG, config)
    made = json.dumps({"config": blob.descriptor(), "layers": []}).encode()
    return lambda path, _: reply(config) if "/blobs/" in path else reply(made, kind=content.OCI_MANIFEST)


def artifact(*layers: content.Layer) -> Answer:
    """Answer with an artifact of these layers."""
    made = content.artifact(*layers)
    blobs = {each.digest: each.body for each in made.layers}

    def answer(path: str, _: bytes) -> Iterable[bytes]:
        name = path.rpartition("/")[2]
        return reply(blobs[name]) if name in blobs else reply(made.manifest.body, kind=content.OCI_MANIFEST)

    return answer


def archive(raw: bytes) -> Answer:
    """Answer with an artifact of one archive."""
    return artifact(content.Layer(content.Blob(content.LAYER, gzip.compress(raw))))


def late(make: Callable[[], Answer]) -> Answer:
    """Make a large answer when it is asked for: each worker collects the tests, and few of them run."""
    made = cache(make)

    def answer(path: str, body: bytes) -> Iterable[bytes]:
        return made()(path, body)

    return answer


def no_tag(body: bytes) -> Answer:
    """Answer that the tag does not exist, and with this list of tags."""
    return lambda path, _: reply(body) if "/tags/" in path else reply(b"{}", 404)


def token(blocks: Callable[[], Iterable[bytes]]) -> Answer:
    """Require a token of this server, and answer with this instead of one."""

    def answer(path: str, _: bytes) -> Iterable[bytes]:
        if path.startswith("/token"):
            return blocks()
        port = PORTS[-1]
        return reply(b"{}", 401, WWW_Authenticate=f'Bearer realm="http://127.0.0.1:{port}/token"')

    return answer


PORTS: Final[list[str]] = []
"""Ports of the servers of this process, the newest last."""
REGISTRY: Final = (
    ServerCase(
        "an index of empty items", manifest(HOLES), f"invalid image index from 127.0.0.1:{{port}}: {MANY}", often=True
    ),
    ServerCase(
        "a manifest of empty layers", manifest(HOLES.replace(b"manifests", b"layers"), content.OCI_MANIFEST), MANY
    ),
    ServerCase("a deep index", manifest(NESTED), DEEP),
    ServerCase("a less deep index", manifest(b'{"manifests":' + b"[" * 90 + b"]" * 90 + b"}"), DEEP),
    ServerCase(
        "a configuration of numbers", image(b'{"config":{"Env":[' + b"1," * 2_400_000 + b"1]}}"), MANY, often=True
    ),
    ServerCase(
        "a configuration of labels",
        late(lambda: image(b'{"config":{"Labels":{' + b",".join(b'"%d":1' % n for n in range(400_000)) + b"}}}")),
        MANY,
    ),
    ServerCase(
        "tags that are numbers", no_tag(b'{"tags":[' + b"1," * 1_900_000 + b"1]}"), "has no such repository or tag"
    ),
    ServerCase(
        "an endless index",
        always(lambda: endless(b"[" * 65_536, Content_Type=INDEX)),
        "response of more than 4194304 bytes",
    ),
    ServerCase("an endless error", always(lambda: endless(b"[" * 65_536, status=500)), "HTTP 500"),
    ServerCase(
        "a compressed bomb",
        late(lambda: manifest(gzip.compress(bytes(50 * MIB)), Content_Encoding="gzip")),
        "compressed response",
    ),
    ServerCase(
        "a length that is too large",
        manifest(b"{}", Content_Length=10**9),
        "the response ended after 2 of 1000000000 bytes",
    ),
    ServerCase("a web page", manifest(b"<html>", "text/html"), "a web page (text/html) instead of a manifest"),
    ServerCase(
        "another content than its digest",
        manifest(b"{}", Docker_Content_Digest=DIGEST),
        "do not match the digest in its header",
    ),
    ServerCase(
        "a negative size",
        manifest(json.dumps({"manifests": [{"digest": DIGEST, "size": -1}]}).encode()),
        "manifests.0.size: greater than equal",
    ),
    ServerCase("not UTF-8", manifest(b'{"manifests":"\xff"}'), "not a text in UTF-8"),
    ServerCase("redirects for ever", always(lambda: reply(b"", 302, Location="/again")), "more than 5 redirects"),
    ServerCase(
        "a token of many values",
        token(lambda: reply(b'{"token":[' + b"1," * 400_000 + b"1]}")),
        "no token in the response",
    ),
    ServerCase("an endless token", token(lambda: endless(b"x" * 65_536)), "response of more than 1048576 bytes"),
    ServerCase("a wait of a day", always(lambda: reply(b"", 503, Retry_After=86_400)), "it requests a wait of 86400 s"),
    ServerCase("a drip", always(drip), "too slow: "),
    ServerCase("a drip of headers", always(lambda: drip(b"HTTP/1.1 200 OK\r\nX-A: ")), "no response within 120 s"),
)
ARTIFACT: Final = (
    ServerCase(
        "a bomb", late(lambda: archive(bytes(200 * MIB))), "has more than 33554432 bytes when unpacked", often=True
    ),
    ServerCase(
        "many entries", late(lambda: archive(tarfile.TarInfo("a").tobuf() * 60_000)), "has more than 10000 entries"
    ),
    ServerCase(
        "a size that is no number",
        archive(tarfile.TarInfo("a").tobuf().replace(b"00000000000\0", b"99999999999\0")),
        "is not a tar archive: no header at byte 0",
    ),
    ServerCase("a file that is cut off", archive(tarfile.TarInfo("a").tobuf()[:300]), "is not a tar archive"),
    ServerCase(
        "31 MB of recipes",
        late(
            lambda: artifact(*(content.file(f"recipes/a/{n}.yaml", f"{n}: [{'1, ' * 300_000}1]\n") for n in range(31)))
        ),
        "its files have more than 2097152 bytes",
    ),
    ServerCase(
        "2 MB of two recipes",
        late(
            lambda: artifact(*(content.file(f"recipes/a/{n}.yaml", f"title: [{'1, ' * 330_000}1]\n") for n in range(2)))
        ),
        "more than 200000 keys and values",
    ),
    ServerCase(
        "a recipe of aliases",
        artifact(
            content.file("recipes/a/b.yaml", "a: &a [x, x]\n" + "".join(f"{n}: &{n} [*a, *a]\n" for n in range(99)))
        ),
        "anchors are not supported",
    ),
    ServerCase(
        "a deep recipe", artifact(content.file("recipes/a/b.yaml", "[" * 100_000)), "nested more than 20 levels deep"
    ),
)


def listing(**changed: Any) -> bytes:  # noqa: ANN401
    """Return the hub's listing of a repository with one file."""
    files = [{"rfilename": "config.json", "size": 2, "blobId": hashlib.sha1(b"blob 2\0{}").hexdigest()}]  # noqa: S324  Git's
    return json.dumps({"id": HANDLE, "sha": "0" * 40, "siblings": files} | changed).encode()


def shard(header: bytes) -> Hub:
    """Make a hub with a file of weights that has this header."""
    return Hub(tiny({"model-00001-of-00002.safetensors": len(header).to_bytes(8, "little") + header + b"\0"}))


HUB: Final = (
    ServerCase(
        "a listing of empty items",
        always(lambda: reply(b'{"siblings":[' + b"{}," * 2_600_000 + b"{}]}")),
        "JSON with more than 200000 values",
        often=True,
    ),
    ServerCase("a listing of 33 MB", always(lambda: reply(b" " * 33 * MIB)), "response of more than 8388608 bytes"),
    ServerCase("a deep listing", always(lambda: reply(b'{"siblings":' + b"[" * 5_000 + b"]" * 5_000 + b"}")), DEEP),
    ServerCase(
        "a listing with infinity",
        always(lambda: reply(listing().replace(b'"size": 2', b'"size": 1e999'))),
        "1e999 is not a finite number",
    ),
    ServerCase("an endless listing", always(lambda: endless(b"[" * 65_536)), "response of more than 8388608 bytes"),
    ServerCase("a listing of another kind", always(lambda: as_json([1, 2])), "unexpected types of values"),
    ServerCase(
        "a file that is longer than listed",
        lambda path, _: reply(listing() if "/api/" in path else b"{}" * 9),
        "but the hub lists 2 bytes",
    ),
    ServerCase(
        "a file outside LFS of 1 TB",
        always(lambda: reply(listing(siblings=[{"rfilename": "config.json", "size": 10**12, "blobId": "0" * 40}]))),
        "files up to 12582912 bytes are read to hash them",
    ),
    ServerCase("errors for ever", always(lambda: reply(b"{}", 500)), "(5 tries)"),
    ServerCase("a drip", always(drip), "too slow: "),
)
WEIGHTS: Final = (
    ("a header of lists", b'{"a":[' + b"[]," * 8_000_000 + b"[]]}", "its header does not list tensors"),
    ("a deep header", b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}", "its header does not list tensors"),
    (
        "many tensors",
        b"{" + b",".join(b'"%d":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}' % n for n in range(400_000)) + b"}",
        "the header lists 0 bytes of tensors, and 1 bytes follow it",
    ),
    ("metadata of lists", b'{"__metadata__":[' + b"[]," * 8_000_000 + b"[]]}", "its header does not list tensors"),
    (
        "digits",
        b'{"a":{"dtype":"U8","shape":[' + b"9" * 5_000_000 + b'],"data_offsets":[0,0]}}',
        "its header does not list tensors",
    ),
    ("names without end", b'{"' + b'\\"' * 10_000_000, "its header does not list tensors"),
)
"""Headers of a file of weights."""
FINE: Final = image(b'{"os":"linux","architecture":"arm64"}')
"""A registry with an image that is as it should be."""
FILE: Final = 'container: {files: {"/a.jinja": {url: "URL/a.jinja", why: "a template"}}}'
FROM: Final = service().partition("image: ")[2].partition("\n")[0]
"""The image of the service, which another one replaces."""
MODEL: Final = deployment("image: SERVER/a/b:1").replace("example/model", HANDLE)
FILES: Final = (
    ServerCase("an endless file", always(lambda: endless(bytes(MIB))), "response of more than 1073741824 bytes"),
    ServerCase(
        "a file that is cut off", always(lambda: reply(b"x", Content_Length=9)), "the response ended after 1 of 9 bytes"
    ),
    ServerCase(
        "redirects for ever", always(lambda: reply(b"", 302, Location="/again")), "more than 5 redirects", often=True
    ),
    ServerCase(
        "a redirect to a password",
        always(lambda: reply(b"", 302, Location="http://u:p@127.0.0.1/")),
        "redirect to an invalid address",
    ),
    ServerCase("a drip", always(drip), "too slow: "),
)


def chat(blocks: Callable[[], Iterable[bytes]]) -> Answer:
    """Answer as a model server with one model, but to a request of a chat with this."""
    models = {"data": [{"id": "m", "max_model_len": 4096}]}
    return lambda path, _: blocks() if "/chat/" in path else as_json(models) if "/models" in path else reply(b"", 404)


MODEL_SERVER: Final = (
    ServerCase(
        "a list of empty models", always(lambda: reply(b'{"data":[' + b"{}," * 2_000_000 + b"{}]}")), MANY, often=True
    ),
    ServerCase(
        "an endless list of models", always(lambda: endless(b"[" * 65_536)), "a response of more than 16777216 bytes"
    ),
    ServerCase("a deep list of models", always(lambda: reply(b"[" * 10_000)), DEEP),
    ServerCase("a deep error", always(lambda: reply(b'{"error":' + b"[" * 60_000, 500)), "HTTP 500"),
    ServerCase(
        "an event without end", chat(lambda: endless(b"x" * 65_536, b"data: ")), "an event of more than 1048576 bytes"
    ),
    ServerCase(
        "events without end",
        chat(lambda: endless(b'data: {"x":"' + b"y" * 65_000 + b'"}\n\n')),
        "a stream of more than 67108864 bytes",
    ),
    ServerCase(
        "an event of many values", chat(lambda: reply(b'data: {"choices":[' + b"{}," * 300_000 + b"{}]}\n\n")), MANY
    ),
    ServerCase("a deep event", chat(lambda: reply(b'data: {"choices":' + b"[" * 90_000 + b"\n\n")), MANY),
)


@cache
def environment() -> Mapping[str, str]:
    """Return an environment without a proxy and without logins."""
    unset = {name: "" for each in ("https_proxy", "http_proxy", "all_proxy") for name in (each, each.upper())}
    return unset | {"COLUMNS": "1000", "GIT_CONFIG_GLOBAL": os.devnull}


def cases(listed: Iterable[ServerCase]) -> list[object]:
    """Return the cases; the rare ones are deep."""
    return [pytest.param(each, id=each.does, marks=() if each.often else pytest.mark.deep) for each in listed]


def ask(folder: Path, case: ServerCase, words: tuple[str, ...], inventory: str = "", **env: str) -> None:
    """Run a command that asks this server, whose URL and address are put into its words and files."""
    with serve(case.answer) as url:
        PORTS.append(url.rpartition(":")[2])
        change: Callable[[str], str] = lambda text: text.replace("URL", url).replace("SERVER", url[7:])  # noqa: E731
        (folder / "lab.yaml").write_text(change(inventory))
        changed = {name: change(value) for name, value in env.items()}
        found = measured.run(*map(change, words), cwd=folder, env={**environment(), "HOME": str(folder), **changed})
    judge(found, case.said.format(port=PORTS[-1]))


def judge(found: measured.Measured, said: str) -> None:
    """Require a sentence, no traceback, little memory and no process that is left."""
    assert said in found.text, found
    assert found.code not in {0, -9}, found
    assert "Traceback" not in found.text
    assert found.left == []
    assert found.peak_bytes < measured.MOST_BYTES, found


@pytest.mark.parametrize("case", cases(REGISTRY))
def test_a_hostile_registry_costs_little(case: ServerCase, tmp_path: Path) -> None:
    ask(
        tmp_path,
        case,
        ("lock", "lab.yaml"),
        service().replace(FROM, "SERVER/a/b:1"),
    )


@pytest.mark.parametrize("case", cases(ARTIFACT))
def test_a_hostile_artifact_costs_little(case: ServerCase, tmp_path: Path) -> None:
    (tmp_path / "lab.lock.yaml").write_text(LOCK)
    ask(tmp_path, case, ("recipes", "fetch", "lab.yaml"), deployment() + 'sources: {team: {oci: "SERVER/a/b:1"}}\n')


@pytest.mark.parametrize("case", cases(HUB))
def test_a_hostile_hub_costs_little(case: ServerCase, tmp_path: Path) -> None:
    both = case._replace(answer=lambda path, body: (FINE if path.startswith("/v2/") else case.answer)(path, body))
    ask(tmp_path, both, ("lock", "lab.yaml"), MODEL, HF_ENDPOINT="URL")


@pytest.mark.parametrize(
    ("header", "said"), [pytest.param(*rest, id=name, marks=pytest.mark.deep) for name, *rest in WEIGHTS]
)
def test_hostile_weights_cost_little(header: bytes, said: str, tmp_path: Path) -> None:
    with shard(header) as hub:
        ask(tmp_path, ServerCase("", FINE, said), ("lock", "lab.yaml"), MODEL, HF_ENDPOINT=hub.url)


@pytest.mark.parametrize("case", cases(FILES))
def test_a_hostile_file_costs_little(case: ServerCase, tmp_path: Path) -> None:
    both = case._replace(answer=lambda path, body: (FINE if path.startswith("/v2/") else case.answer)(path, body))
    with Hub(tiny()) as hub:
        ask(tmp_path, both, ("lock", "lab.yaml"), f"{MODEL}    {FILE}\n", HF_ENDPOINT=hub.url)


@pytest.mark.parametrize("case", cases(MODEL_SERVER))
def test_a_hostile_model_server_costs_little(case: ServerCase, tmp_path: Path) -> None:
    ask(tmp_path, case, ("bench", "--url", "URL/v1", "single", "--yes"))


def packet(text: bytes) -> bytes:
    """Return a packet line (gitprotocol-common)."""
    return b"%04x%s" % (len(text) + 4, text)


def flooding_git(path: str, body: bytes) -> Iterable[bytes]:
    """Answer as a Git server with one branch (gitprotocol-v2) whose progress has no end."""
    if "info/refs" in path:
        service = packet(b"# service=git-upload-pack\n") + b"0000"
        able = packet(b"version 2\n") + packet(b"ls-refs\n") + packet(b"fetch=shallow\n") + b"0000"
        return reply(service + able, kind="application/x-git-upload-pack-advertisement")
    kind = "application/x-git-upload-pack-result"
    if b"command=ls-refs" in body:
        return reply(packet(b"1" * 40 + b" HEAD\n") + b"0000", kind=kind)
    progress = packet(b"\2" + b"x" * 65_000 + b"\n")
    return endless(progress, packet(b"packfile\n"), Content_Type=kind)


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> servers.Authority:
    """Make an authority and a server's certificate."""
    return servers.authority(tmp_path_factory.mktemp("tls"))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        pytest.param(flooding_git, "git printed more than 2097152 bytes", id="floods"),
        pytest.param(
            always(lambda: endless(b"0000" * 9_000)),
            "git did not end within 60 s",
            id="endless",
            marks=pytest.mark.deep,
        ),
        pytest.param(always(drip), "git did not end within 60 s", id="drips", marks=pytest.mark.deep),
    ],
)
def test_a_hostile_git_server_costs_little(answer: Answer, said: str, tmp_path: Path, tls: servers.Authority) -> None:
    (tmp_path / "lab.lock.yaml").write_text(LOCK)
    with serve(answer, tls) as url:
        (tmp_path / "lab.yaml").write_text(deployment() + f"sources: {{team: {{git: {url}/team}}}}\n")
        env = {**environment(), "HOME": str(tmp_path), "GIT_SSL_CAINFO": str(tls.bundle)}
        judge(measured.run("recipes", "fetch", "lab.yaml", cwd=tmp_path, env=env), said)
