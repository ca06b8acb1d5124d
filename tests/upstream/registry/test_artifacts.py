"""OCI artifacts with recipes: what `oras push` writes is read; what is not plain files is refused."""

from __future__ import annotations

import gzip
import io
import tarfile
from typing import TYPE_CHECKING

import pytest

from sparkiac.upstream import errors
from sparkiac.upstream.errors import UpstreamError
from sparkiac.upstream.registry import artifacts, parse
from tests.upstream.registry import content
from tests.upstream.registry.content import Blob, Image, Layer
from tests.upstream.registry.servers import Shelf, shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from sparkiac.upstream.git import FetchedFiles
    from sparkiac.upstream.registry.client import RegistryClient
    from tests.upstream.registry.servers import Registry, Server

NAME = "team/recipes"
TEXT = "title: Ours\n"
NESTED = tarfile.TarInfo("x" * 200).tobuf(tarfile.PAX_FORMAT)[:1024]
"""The header of a long path, without the file that follows it. tarfile calls itself for each."""
DIGITS = tarfile.TarInfo("a").create_pax_global_header({"size": "9" * 3_000_000})
"""A size of three million digits, which tarfile of Python before 3.11.10 turns into a number for minutes."""
FILE = content.archive({"recipes/a.yaml": b"x" * 999})


def as_next(pax: bytes) -> bytes:
    """Return a global header as one of the next entry, with the sum of its bytes."""
    header = bytearray(pax[:512])
    header[156:157] = b"x"
    header[148:156] = b" " * 8
    header[148:156] = f"{sum(header):06o}\0 ".encode()
    return bytes(header) + pax[512:]


def entry(kind: bytes, target: str = "") -> tarfile.TarInfo:
    """Make the header of something that is not a file."""
    header = tarfile.TarInfo()
    header.type, header.linkname = kind, target
    return header


def fetched(serve: Callable[..., Server], client: RegistryClient, made: Image | Blob, *beside: Image) -> FetchedFiles:
    """Fetch an artifact from a stand-in that serves it."""
    shelf = Shelf()
    shelf.put(NAME, "v1", *beside, made)
    return artifacts.fetch(parse(f"{serve(shelf).host}/{NAME}:v1"), "recipes", client=client)


def refused(serve: Callable[..., Server], client: RegistryClient, made: Image | Blob, *beside: Image) -> str:
    """Fetch an artifact that must be refused; give the message after the reference."""
    with pytest.raises(UpstreamError) as caught:
        fetched(serve, client, made, *beside)
    assert caught.value.code == errors.REGISTRY_INVALID
    return str(caught.value).partition(f"{NAME}:v1: ")[2]


@pytest.mark.parametrize(
    "layers",
    [
        [content.file("recipes/ours/chat.yaml", TEXT), content.file("README.md", "# Recipes\n")],
        [content.file("recipes/ours/chat.yaml", TEXT)._replace(blob=Blob("text/yaml", TEXT.encode()))],
        [
            content.archive(
                {
                    "recipes": entry(tarfile.DIRTYPE),
                    "recipes/ours/chat.yaml": TEXT.encode(),
                    "recipes/README.md": b"# Recipes\n",
                }
            )
        ],
        [content.archive({"./recipes/ours/chat.yaml": TEXT.encode(), "other/x.yaml": b"x: 1\n"}, title="")],
    ],
    ids=["a layer for each file", "with a media type of its own", "a directory", "an archive of another client"],
)
def test_files_and_archives_are_read_from_a_real_registry(
    open_registry: Registry, client: RegistryClient, layers: list[Layer], request: pytest.FixtureRequest
) -> None:
    made = content.artifact(*layers)
    repository = f"{NAME}-{request.node.callspec.indices['layers']}"
    open_registry.push(repository, "v1", made)
    for selector in (":v1", f"@{made.manifest.digest}"):
        found = artifacts.fetch(parse(f"{open_registry.host}/{repository}{selector}"), "recipes", client=client)
        assert found == (made.manifest.digest, {"ours/chat.yaml": TEXT.encode()}, None)


@pytest.mark.parametrize(
    "name", ["../chat.yaml", "recipes/../../chat.yaml", "/etc/chat.yaml", "recipes//chat.yaml", "recipes/a b.yaml"]
)
def test_a_path_that_is_not_below_the_artifact_is_refused(
    serve: Callable[..., Server], client: RegistryClient, name: str
) -> None:
    for layer in (content.file(name, TEXT), content.archive({name: TEXT.encode()})):
        assert refused(serve, client, content.artifact(layer)) == f"{name!r} is not a path below the artifact"


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_links_and_devices_are_refused(serve: Callable[..., Server], client: RegistryClient, kind: bytes) -> None:
    layer = content.archive({"recipes/ours/chat.yaml": entry(kind, "/etc/passwd")})
    message = refused(serve, client, content.artifact(layer))
    assert message == "'recipes/ours/chat.yaml' is a link or a special file; an artifact may contain only files"


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        (lambda: [content.file("recipes/a.yaml", "x" * (1 << 20) + "x")], "recipes/a.yaml has more than 1048576 bytes"),
        (
            lambda: [content.archive({"recipes/a.yaml": b"x" * (1 << 20) + b"x"})],
            "recipes/a.yaml has more than 1048576 bytes",
        ),
        (
            lambda: [content.file("recipes/a.yaml", "1"), content.file("recipes/a.yaml", "2")],
            "recipes/a.yaml is there twice",
        ),
        (
            lambda: [content.archive({f"recipes/{number}.yaml": b"" for number in range(1001)})],
            "it has more than 1000 files",
        ),
        (
            lambda: [content.archive({f"{number}": b"" for number in range(10_001)})],
            "has more than 10000 entries",
        ),
        (
            lambda: [Layer(Blob(content.LAYER, gzip.compress(bytes((1 << 25) + 1))))],
            "has more than 33554432 bytes when unpacked",
        ),
        (lambda: [Layer(Blob(content.LAYER, b"no archive"))], "is not compressed with gzip"),
        (lambda: [Layer(Blob(content.LAYER, gzip.compress(b"no archive" * 99)))], "is not a tar archive"),
        (
            lambda: [Layer(Blob(content.LAYER, FILE.blob.body[:-20]))],
            "is not compressed with gzip",
        ),
        (
            lambda: [Layer(Blob(content.LAYER, gzip.compress(gzip.decompress(FILE.blob.body)[:600])))],
            "is not a tar archive: it ends within a file",
        ),
        (
            lambda: [Layer(Blob(content.LAYER, gzip.compress(NESTED * 20_000)))],
            "has more than 10000 entries",
        ),
        (
            lambda: [Layer(Blob(content.LAYER, gzip.compress(DIGITS[:156] + b"x" + DIGITS[157:])))],
            "is not a tar archive",
        ),
        (
            lambda: [Layer(Blob(content.LAYER, gzip.compress(as_next(DIGITS))))],
            "is a special file; an artifact may contain only files",
        ),
        (
            lambda: [
                content.archive({f"{part}/{number}.yaml": bytes(1 << 20) for number in range(17)}) for part in "ab"
            ],
            "its files have more than 2097152 bytes",
        ),
    ],
    ids=[
        "file",
        "entry",
        "twice",
        "files",
        "entries",
        "bomb",
        "not gzip",
        "not tar",
        "cut off",
        "tar cut off",
        "headers",
        "wrong sum",
        "digits",
        "all files",
    ],
)
def test_what_exceeds_a_limit_or_is_not_an_archive_is_refused(
    serve: Callable[..., Server], client: RegistryClient, layers: Callable[[], list[Layer]], message: str
) -> None:
    assert message in refused(serve, client, content.artifact(*layers()))


def test_too_much_is_refused_before_a_layer_is_requested(serve: Callable[..., Server], client: RegistryClient) -> None:
    layers = [content.file("recipes/a.yaml", TEXT).descriptor() | {"size": 1 << 26}]
    assert "it has 1 layers with 67108864 bytes" in refused(serve, client, content.artifact(layers=layers))
    layers = [content.file("recipes/a.yaml", TEXT).descriptor()] * 1001
    assert "it has 1001 layers" in refused(serve, client, content.artifact(layers=layers))


def test_other_bytes_than_those_of_the_digests_are_refused(
    serve: Callable[..., Server], client: RegistryClient
) -> None:
    made, other = (content.artifact(content.file("recipes/ours/chat.yaml", text)) for text in (TEXT, "title: Evil\n"))
    shelf = Shelf()
    shelf.put(NAME, "v1", made)
    server = serve(shelf)
    blob, evil = made.layers[0], other.layers[0]
    shelf.replies[f"/v2/{NAME}/blobs/{blob.digest}"] = [shown(evil)._replace(headers={})]
    shelf.replies[f"/v2/{NAME}/manifests/{made.manifest.digest}"] = [shown(other.manifest)]
    for selector, expected in ((":v1", blob), (f"@{made.manifest.digest}", made.manifest)):
        with pytest.raises(UpstreamError, match=f"do not match the requested digest {expected.digest}") as caught:
            artifacts.fetch(parse(f"{server.host}/{NAME}{selector}"), "recipes", client=client)
        assert caught.value.code == errors.REGISTRY_INVALID


def test_a_size_that_differs_from_the_manifest_is_refused(serve: Callable[..., Server], client: RegistryClient) -> None:
    layer = content.file("recipes/a.yaml", TEXT)
    made = content.artifact(layers=[layer.descriptor() | {"size": 3}])._replace(layers=(layer.blob,))
    assert refused(serve, client, made) == f"layer {layer.blob.digest} has 12 bytes; the manifest names 3"


def test_an_index_is_refused(serve: Callable[..., Server], client: RegistryClient) -> None:
    made = content.artifact(content.file("recipes/a.yaml", TEXT))
    top = content.index(made.manifest.descriptor())
    assert refused(serve, client, top, made) == f"{top.digest} is an index of several manifests"


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize("name", ["a.yaml", f"recipes/{'b' * 80}/{'c' * 80}.yaml", f"{'d' * 90}/{'é' * 30}.yaml"])
def test_archives_are_read_as_tarfile_reads_them(form: int, name: str) -> None:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=form) as tar:
        for path, text in ((name, b"x: 1\n"), ("after.yaml", b"y" * 512)):
            info = tarfile.TarInfo(path)
            info.size, info.mtime = len(text), 1.5
            tar.addfile(info, io.BytesIO(text))
    read = dict(artifacts.regular(parse("a.io/b:c"), artifacts.entries(raw.getvalue())))
    assert read == {name: b"x: 1\n", "after.yaml": b"y" * 512}
