"""Pages: blocks of code in Markdown, and command lines and units in plain text."""

from __future__ import annotations

import pytest

from sparkiac.foreign import NothingToImport, Unreadable, markdown, recognised
from tests.importers.texts import imported

PAGE = """\
# Models on my Spark

Set a token, then start:

```bash
export MODEL=Qwen/Qwen3-8B
```

1. vLLM

   ```console
   user@spark:~$ docker run -d --gpus all -p 8001:8000 \\
       nvcr.io/nvidia/vllm:26.04-py3 vllm serve $MODEL
   ```

> ```sh
> $ docker run -d -p 3000:8080 ghcr.io/open-webui/open-webui:main
> $ curl http://localhost:3000
> ```

~~~yaml
services:
  tts:
    image: example.org/tts:1
    ports: ["8882:8882"]
~~~

```ini
[Service]
ExecStart=docker run -p 8003:8000 nvcr.io/nvidia/vllm:26.04-py3 vllm serve google/gemma-4-31b-it
```

```python
print("docker run nothing")
```

```bash
docker run 'not closed
```

In prose, `docker run x` starts nothing.
"""


def test_every_block_of_a_page_is_read_as_what_it_is() -> None:
    assert recognised(PAGE, "README.md") == "markdown"
    found = imported(PAGE, "markdown", name="README.md")
    assert [(each.kind, each.name, each.launch.line) for each in found.entries] == [
        ("deployment", "qwen3-8b", 12),
        ("service", "open-webui", 17),
        ("service", "tts", 23),
        ("deployment", "gemma-4-31b-it", 30),
    ]
    assert found.entries[0].data["model"] == "Qwen/Qwen3-8B"
    assert found.whys("lost") == {"a block": "a quote or bracket is opened here and not closed"}
    assert [note.line for note in found.notes if note.what == "a block"] == [38]


PLAIN = """\
Notes of a Sunday

Then run it:
docker run -d --name one -p 8001:8000 \\
-e HF_HOME=/models -v ~/vllm:/models \\
nvcr.io/nvidia/vllm:26.04-py3 bash -c \\
"pip install x && vllm serve a/b \\
--seed 1"
It takes a while, don't worry. The unit:
[Unit]
Description=Two
[Service]
Restart=always
ExecStart=/usr/bin/docker run --rm --name two \\
-p 8002:8000 \\
nvcr.io/nvidia/vllm:26.04-py3 vllm serve c/d
Image: the same as before. It's fine.
"""


def test_a_plain_text_is_read_where_command_lines_and_units_stand_in_it() -> None:
    assert recognised(PLAIN, "notes.txt") == "markdown"
    found = imported(PLAIN, "markdown")
    assert [(each.name, each.launch.line, each.data["model"]) for each in found.entries] == [
        ("one", 4, "a/b"),
        ("two", 14, "c/d"),
    ]
    assert not found.whys("lost")


def test_command_lines_outside_of_the_fences_are_read_too() -> None:
    text = "```\nls\n```\n\n    docker run -p 8001:8000 nvcr.io/nvidia/vllm:1 \\\n        vllm serve a/b\n"
    found = imported(text, "markdown")
    assert (found.entry.launch.line, found.entry.data["model"]) == (5, "a/b")


def test_powershell_line_continuations_are_read() -> None:
    found = imported(
        "```powershell\ndocker run -p 8001:8000 `\n  nvcr.io/nvidia/vllm:1 vllm serve a/b\n```\n", "markdown"
    )
    assert (found.entry.data["port"], found.entry.data["model"]) == (8001, "a/b")


def test_a_page_without_anything_is_refused() -> None:
    with pytest.raises(Unreadable, match="no block of this page"):
        imported("# Nothing\n\n```\nls\n```\n", "markdown")


@pytest.mark.parametrize(
    ("text", "name", "form"),
    [
        ("docker run x", "a", "docker-run"),
        ("$ sudo docker run x", "a.txt", "docker-run"),
        ("#!/usr/bin/env bash\ndocker run x", "run", "shell"),
        ("A=1\ndocker run x", "run.sh", "shell"),
        ("services:\n  a:\n    image: x\n", "a.yaml", "compose"),
        ("cat >x <<EOF\nservices:\n  a:\n    image: x\nEOF\ndocker compose up", "run.sh", "shell"),
        ("\n# x\n[Unit]\nA=b\n[Service]\nExecStart=docker run x\n", "a", "systemd"),
        ("", "x.service", "systemd"),
        ('[{"Config": {}, "HostConfig": {}}]', "a", "inspect"),
        ("text\n\n```\ndocker run x\n```\n", "a", "markdown"),
        ("text\n\n  docker run x\n", "a", "markdown"),
        ("hello", "a", None),
        ("", "a", None),
    ],
)
def test_the_format_is_recognised(text: str, name: str, form: str | None) -> None:
    assert recognised(text, name) == form


@pytest.mark.parametrize("blank", ["\xa0", "\u3000", "\x1f", "\f"])
def test_a_unit_behind_an_odd_blank_comes_to_an_end(blank: str) -> None:
    assert recognised(f"{blank}[Unit]{blank}\nhello\n", "a") == "markdown"


def test_a_command_between_backquotes_with_a_line_of_its_own_is_one() -> None:
    page = (
        "# x\n\n1. `docker run --name a -p 8001:8000 nvcr.io/nvidia/vllm:26.04-py3`\n\n`docker exec a vllm serve a/b`\n"
    )
    found = imported(page, "markdown", name="x.md")
    assert (found.entry.name, found.entry.launch.line, found.entry.data["model"]) == ("a", 3, "a/b")


@pytest.mark.parametrize(
    ("page", "place"),
    [
        ('# x\n```sh\n  $ docker run \\\n    -e "A=b\n```\n', (4, 8)),
        ('# x\n```sh\n  $ docker run "a\n```\n', (3, 16)),
        ('docker run -d \\\n  "a\n', (2, 3)),
    ],
)
def test_a_page_of_one_block_that_cannot_be_read_is_refused_where_the_quote_is_opened(
    page: str, place: tuple[int, int]
) -> None:
    with pytest.raises(Unreadable) as refused:
        markdown.read(page, name="x.md")
    assert (refused.value.line, refused.value.column) == place


OPEN_QUOTE = """\
```bash
docker run -p 1:8000 vllm/vllm-openai:v0.20.0 org/One-7B
echo "it's done
docker exec node-1 bash -c 'vllm serve org/Two-7B --port 2'
docker run -p 3:8000 vllm/vllm-openai:v0.20.0 \\
  org/Broken-7B --served-model-name 'x
docker run -p 4:8000 vllm/vllm-openai:v0.20.0 org/Three-7B
```
"""


def test_an_open_quote_costs_its_own_command_alone() -> None:
    found = imported(OPEN_QUOTE, "markdown")
    assert [entry.data["model"] for entry in found.entries] == ["org/One-7B", "org/Two-7B", "org/Three-7B"]
    assert [note.line for note in found.notes if note.what == "a block"] == [3, 6]


def test_a_server_in_a_container_that_a_substitution_names_is_found() -> None:
    text = """\
```bash
export C=$(docker ps --format '{{.Names}}' | grep -E '^node-[0-9]+$')
docker exec -it $C /bin/bash -c '
  vllm serve org/One-7B --port 8001'
```
"""
    found = imported(text, "markdown")
    assert (found.entry.data["model"], found.entry.data["port"]) == ("org/One-7B", 8001)


def test_what_builds_a_server_starts_none() -> None:
    text = "```bash\ncmake --build build --target llama-server\nllama-server -hf org/one:Q4 --port 9000\n```\n"
    found = imported(text, "markdown")
    assert (found.entry.data["model"], found.entry.data["port"]) == ("org/one", 9000)


@pytest.mark.parametrize(
    "page",
    [
        "- ```sh\n  vllm serve a/b --port 8001\n  ```\n",
        "Run ```docker pull x``` or\n```docker pull y```\n\n```sh\nvllm serve a/b --port 8001\n```\n",
        "<details>\n```sh\nvllm serve a/b --port 8001\n```\n</details>\n",
        "1. a\n\n        ```sh\n        vllm serve a/b --port 8001\n        ```\n",
        "```text\n```sh\ndocker run -p 8002:8000 x/vllm vllm serve c/d\n```\n~~~\nvllm serve a/b --port 8001\n~~~\n",
    ],
)
def test_a_block_is_one_for_every_reader_of_markdown(page: str) -> None:
    found = imported(page, "markdown", name="x.md")
    line = page.partition("vllm serve a/b")[0].count("\n") + 1
    assert [(each.launch.line, each.data["model"]) for each in found.entries] == [(line, "a/b")]


def test_a_quote_within_a_quoted_block_is_reported_at_its_column() -> None:
    with pytest.raises(Unreadable) as refused:
        markdown.read('> ```sh\n> docker run "a\n> ```\n', name="x.md")
    assert (refused.value.line, refused.value.column) == (2, 14)


def test_a_broken_block_that_starts_nothing_does_not_refuse_its_page() -> None:
    page = "```bash\necho 'open\n```\n"
    with pytest.raises(NothingToImport):
        imported(page, "markdown")
    with pytest.raises(Unreadable, match="not closed"):
        imported(page.replace("echo", "docker run"), "markdown")


@pytest.mark.parametrize(
    ("download", "source"),
    [
        ("wget https://example.org/a/parser.py", "$(pwd)/parser.py"),
        ("curl -fsSL -o own.py https://example.org/a/parser.py", "./own.py"),
        ('sudo wget -q -O "own.py" "https://example.org/a/parser.py"', "${PWD}/own.py"),
        ("curl -s https://example.org/a/parser.py > own.py", "./own.py"),
    ],
)
def test_a_file_that_a_page_downloads_is_mounted_by_its_address(download: str, source: str) -> None:
    run = f"docker run -p 8000:8000 -v {source}:/app/parser.py nvcr.io/nvidia/vllm:26.04-py3 vllm serve a/b"
    text = f"```bash\n{download}\n```\n\n```bash\n{run}\n```\n"
    found = imported(text, "markdown")
    assert found.entry.data["container"]["files"] == {"/app/parser.py": {"url": "https://example.org/a/parser.py"}}
    assert found.whys("lost") == {}
    other = imported(text.replace(source, "./other.py"), "markdown")
    assert [each.what for each in other.notes if each.kind == "lost"] == ["-v …:/app/parser.py"]


@pytest.mark.parametrize(
    "download", ["wget http://example.org/own.py", "curl https://example.org/own.py https://example.org/b", "# wget"]
)
def test_what_is_not_one_file_of_a_private_connection_is_told(download: str) -> None:
    run = "docker run -p 8000:8000 -v ./own.py:/app/own.py nvcr.io/nvidia/vllm:26.04-py3 vllm serve a/b"
    text = f"```bash\n{download}\n{run}\n```\n"
    assert "-v …:/app/own.py" in imported(text, "markdown").whys("lost")
