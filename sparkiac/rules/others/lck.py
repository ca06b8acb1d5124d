"""Pages of LCK codes: what `sparkiac lock` finds when it asks upstream, or compares a lock with its inventory."""

from __future__ import annotations

from typing import Final

from sparkiac.report import Severity
from sparkiac.rules.others.other import Other
from sparkiac.rules.rule import Rule


def _other(code: str, slug: str, page: str, *sources: str) -> Other:
    return Other(Rule(code, slug, Severity.ERROR, sources, "0.1.0", waivable=False, phase="lock"), page)


OTHERS: Final[tuple[Other, ...]] = (
    _other(
        "LCK001",
        "no-such-image",
        """\
A registry has no such image.

It has no repository of that name, or the repository has no such tag or digest. Look for a slip in the name; the hint
has the nearest tag, if there is one. If the lock holds a digest that its owner has deleted, no host can pull it anew:
`sparkiac lock --upgrade` takes what the tag names now.
""",
        "OCI distribution specification 1.1, error codes",
    ),
    _other(
        "LCK002",
        "image-without-architecture",
        """\
An image is not built for the hosts' architecture.

A DGX Spark is linux/arm64. An image for amd64 alone would be pulled, and would end with `exec format error` when it
starts. The message lists what the image has. Take a tag that is built for arm64, or build the image from source.
""",
        "Spark guide L19, L25, L114",
        "dual-Spark post L85, L99",
    ),
    _other(
        "LCK003",
        "registry-refuses",
        """\
A registry does not show an image to whoever asked, or the login for it cannot be read.

Log in where `sparkiac lock` runs: `docker login nvcr.io --username '$oauthtoken'`, with an NGC API key as password,
for NVIDIA's images. Logins are read from Docker's and Podman's files and from the programs that they name;
none is ever printed or written. The hosts need a login of their own: see HST003.
""",
        "Spark guide L72",
    ),
    _other(
        "LCK004",
        "registry-silent",
        """\
A registry does not answer, or not now.

It was asked several times. No route, a certificate that is not trusted, a proxy, or too many questions: the message
says which. The lock is as it was. A lock that is complete needs no network, so `check`, `plan` and `generate` go on
working. Docker Hub gives more answers to those who log in.
""",
    ),
    _other(
        "LCK005",
        "registry-false",
        """\
What a registry gives is not what its digest or its type says.

Every answer is hashed and compared with the digest that was asked for. If they differ, somebody between here and the
registry changes the content, or the registry is damaged: nothing of it goes into the lock. An answer of another type
is often the page of a login or of a proxy.
""",
        "OCI distribution specification 1.1",
    ),
    _other(
        "LCK010",
        "no-such-model",
        """\
The model hub has no such repository, or it is private.

The hub does not tell the two apart. Look for a slip in organisation and name: capitals count. For a private one, set
`HF_TOKEN` to a token that may read it, or run `hf auth login`.
""",
    ),
    _other(
        "LCK011",
        "gated-model",
        """\
A model is gated, and the token may not read it.

Its publisher gives it to those who accepted its terms. Accept them on the model's page, and set `HF_TOKEN` to a token
of that account. The hosts that stage the weights need one as well: see HST004.
""",
        "Spark guide L52, L71, L229",
    ),
    _other(
        "LCK012",
        "no-such-revision",
        """\
A repository of the model hub has no such branch, tag or commit.

`revisions` of the inventory names it, or the catalog does, where a source ran one commit. A branch may have been
deleted, and a commit is gone if its history was rewritten. Name another one under `revisions`.
""",
    ),
    _other(
        "LCK013",
        "hub-silent",
        """\
The model hub does not answer, or must not be asked.

It was asked several times, or `HF_HUB_OFFLINE` is set, or `HF_ENDPOINT` is no address. The lock is as it was. A lock
that is complete needs no network, so `check`, `plan` and `generate` go on working.
""",
    ),
    _other(
        "LCK014",
        "hub-false",
        """\
Something on the model hub is not what the hub says of it.

A file came with another size or hash than the listing has, a safetensors file is not whole, or a path could not be
staged. Nothing of it goes into the lock. Often an upload was cut short: the publisher can mend it, and until then an
earlier commit under `revisions` may serve.
""",
    ),
    _other(
        "LCK015",
        "no-such-model-file",
        """\
A repository of the model hub has no such file.

`model_file` names one file of many, such as one quantisation of a GGUF. Look for a slip in its name: capitals count. A
repository that holds several GGUF files and no safetensors needs one to be named: all of them are many times the model.
""",
    ),
    _other(
        "LCK020",
        "no-such-file",
        """\
There is no file at an address.

The server has none, or not for everybody: hosts fetch it without credentials. A `file:///` address is read on the
machine that runs `sparkiac lock`, and on each host, so it has to be on both. A file of the model hub may also be
another one by now than the lock pins without saying at which commit: `sparkiac lock --upgrade` takes what it is now.
""",
    ),
    _other(
        "LCK021",
        "file-silent",
        """\
The server of a file does not answer.

It was asked several times. The lock is as it was.
""",
    ),
    _other(
        "LCK022",
        "file-unfit",
        """\
A file is larger than an extra file may be, or did not come whole.

Extra files are loaders, parsers and templates of a few kilobytes. Weights are models: name them by their handle, so
that they are downloaded once, to the model store.
""",
    ),
    _other(
        "LCK030",
        "two-architectures",
        """\
Hosts of two architectures want one image under one name.

The lock says of each image which manifest its hosts run, how it starts and how large it is, and that differs from one
architecture to the other. Give the image a reference of its own for one of them: its repository with the digest of
that manifest after @.
""",
    ),
    _other(
        "LCK031",
        "stale-lock",
        """\
The lock and the inventory do not fit together.

An image, a model or a file is wanted that the lock lacks or knows too little of; the inventory asks for another
revision than the one that was locked; a build was changed since; or nothing wants a pin any more. `sparkiac lock`
mends all of it and moves no other pin. `sparkiac lock --check` looks for it without network, in CI as well. Of a model
and the files that lie in its repository the lock holds one commit: if they differ, the files follow the model.
""",
    ),
    _other(
        "LCK032",
        "stale-interface",
        """\
What an image said of its vLLM was said by another image.

`sparkiac images capture` asked the image that the lock pinned then, and the file in `interfaces` names its digests. The
lock pins another digest now, so the file is not used: options are checked against the nearest known release again. Pull
the image where it was asked before, and ask it anew; or remove the file.
""",
    ),
    _other(
        "LCK033",
        "example-lock",
        """\
The lock says `example: true`: its pins are made up.

sparkiac ships such locks with its example inventories, so that there is something to look at before anything is pinned.
Their digests, commits and hashes name nothing real. `check` refuses them with this one error, whatever the lock holds.
`generate` writes the files, warns, and marks them: the playbook stops in its first task, before it connects to any
host. `sparkiac lock` replaces all pins and removes the mark. Pins that are missing (IMG003, MDL001, FIL001) and are
rendered with `--allow-unlocked` stop the playbook as well.
""",
    ),
)
