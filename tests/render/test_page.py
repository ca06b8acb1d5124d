"""The HTML page: it stands alone, escapes what it shows, and is the same for the same plan."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from typing import Any, Final

import pytest

from sparkiac.model.inventory import FabricLink
from sparkiac.plan.values import HostPlan, Plan
from sparkiac.render import labels, page
from sparkiac.render.drawing import HostBox, draw
from tests.conftest import ROOT
from tests.plan.fleets import LOCK, ONES, PAIR, deployment, planned, webui
from tests.render.hostile import VECTORS

EMPTY: Final = frozenset({"meta", "br", "rect", "path", "polygon"})
FINDING: Final[dict[str, Any]] = {"code": "TST001", "slug": "test", "severity": "warning", "message": "odd"}
HOSTS: Final = ", ".join(f"spark-{number}: {{address: 192.168.1.1{number}}}" for number in range(1, 4))
MEASURED: Final = "measured: {overhead_bytes: 3221225472, graphs_bytes: 1073741824}"


class Reader(HTMLParser):
    """Reads a page with Python's own parser: elements, their attributes, and all texts."""

    def __init__(self, html: str) -> None:
        """Read all of it."""
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.elements.append((tag, dict(attrs)))
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element that ends where it begins."""
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        """Check that elements end in the order of their beginnings."""
        if tag not in EMPTY:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Note a text."""
        self.texts.append(data)

    def of(self, kind: str) -> list[dict[str, str | None]]:
        """Return the attributes of all elements of a class."""
        return [found for _, found in self.elements if kind in (found.get("class") or "").split()]


def read(plan: Plan, *findings: dict[str, Any]) -> Reader:
    """Render a page and read it."""
    reader = Reader(page.render(plan, findings).decode())
    assert reader.open == []
    return reader


def fleet(number: int) -> Plan:
    """Plan a fleet of so many hosts without units."""
    hosts = "".join(f"  spark-{each}: {{address: 10.0.{each // 250}.{each % 250 + 1}}}\n" for each in range(number))
    return planned(f"name: lab\nhosts:\n{hosts}")


def asking(number: int, *uses: str) -> str:
    """Return an inventory of three hosts: models everywhere, and a front end on one of them."""
    models = "".join(
        f"  m{each}: {{recipe: base/single-spark, model: example/model, hosts: spark-{each}, port: 8001}}\n"
        for each in range(1, 4)
    )
    text = webui(f"uses: [{', '.join(uses)}]", "secret_key: {secret: k}", host=HOSTS)
    text = text.replace("hosts: spark-01", f"hosts: spark-{number}").replace(
        "name: lab", "name: lab\ndefaults: {bind: lan, model_store: /srv/models}"
    )
    return text.replace("services:", f"deployments:\n{models}services:")


def test_it_loads_nothing_and_runs_nothing() -> None:
    html = page.render(planned(asking(1, "m2")), [FINDING]).decode()
    reader = Reader(html)
    assert not {tag for tag, _ in reader.elements} & {"script", "link", "img", "iframe", "object", "form", "base"}
    names = {name for _, attributes in reader.elements for name in attributes}
    assert not {name for name in names if name.startswith("on") or name in {"src", "srcset", "data", "action"}}
    assert all((found.get("href") or "#").startswith("#") for _, found in reader.elements)
    [style] = re.findall("<style>(.*?)</style>", html, re.DOTALL)
    assert not re.search(r"url\(|@import|@font-face|expression", style)


def test_the_same_plan_gives_the_same_bytes() -> None:
    assert page.render(planned(PAIR), [FINDING]) == page.render(planned(PAIR), [FINDING])


def test_whatever_it_shows_is_text() -> None:
    [host] = planned(deployment()).hosts
    [chat] = host.containers
    words = [text for text in VECTORS if len(text) < 5000 and text.strip()]
    for text in words:
        hostile = host._replace(
            values=host.values.model_copy(update={"title": text, "driver": text}),
            containers=(chat._replace(description=text, server=chat.server._replace(served=(text,))),),
        )
        reader = read(Plan(text, (hostile,)), FINDING | {"message": text, "hint": text, "source": text, "file": text})
        assert not {tag for tag, _ in reader.elements} & {"script", "x", "br/"}, text
        said = " ".join("".join(reader.texts).split())
        assert said.count(" ".join(text.split())) >= 4, text


def test_only_templates_whose_values_are_escaped_have_any() -> None:
    parts = sorted((ROOT / "templates/page").iterdir())
    assert len(parts) > 5
    assert [path.name for path in parts if "{{" in path.read_text() and not path.name.endswith(".html.j2")] == []


def test_every_drawing_is_well_formed() -> None:
    html = page.render(planned(asking(1, "m1", "m2", "m3"))).decode()
    drawings = re.findall(r"<svg.*?</svg>", html, re.DOTALL)
    assert len(drawings) == 2
    assert all(ET.fromstring(each).tag == "svg" for each in drawings)  # noqa: S314  our own text


def test_the_bar_shows_every_part_and_adds_up() -> None:
    plan = planned(deployment("set: {gpu_memory_utilization: 0.5}", MEASURED))
    segments = read(plan).of("seg")
    shares = [float((found["style"] or "").removeprefix("flex-grow:")) for found in segments]
    assert sum(shares) == pytest.approx(100, abs=0.01)
    assert [found["title"] for found in segments] == [
        "chat weights: 14.9 GiB",
        "chat runtime: 3.0 GiB",
        "chat KV cache: 41.6 GiB",
        "chat CUDA graphs: 1.0 GiB",
        "processes of vLLM: 4.3 GiB",
        "system and page cache: 7.6 GiB",
        "left free: 46.6 GiB",
    ]
    assert read(plan).of("end") == []


def test_what_is_assumed_is_marked_in_the_bar_and_in_the_table() -> None:
    reader = read(planned(deployment("set: {gpu_memory_utilization: 0.5}", MEASURED)))
    assumed = ["processes of vLLM: 4.3 GiB", "system and page cache: 7.6 GiB"]
    assert [found["title"] for found in reader.of("assumed")] == assumed
    assert len(reader.of("tag")) == len(assumed)


def test_an_overcommitted_host_shows_where_its_memory_ends() -> None:
    host = "spark-01: {address: 192.168.1.11, memory: {total_gib: 100, reserve_gib: 50}}"
    reader = read(planned(deployment("set: {gpu_memory_utilization: 0.75}", MEASURED, host=host)))
    [end] = reader.of("end")
    assert end["style"] == "left:79.365%"
    assert "26.0 GiB over budget" in reader.texts
    assert len(reader.of("free")) == 1, "only in the table"


def test_a_host_of_unknown_size_has_no_bar() -> None:
    text = "name: lab\nhosts: {a: {address: 192.168.1.11, platform: pc}}\n"
    reader = read(planned(text + "platforms: {pc: {title: PC, architecture: amd64}}\n"))
    assert reader.of("bar") == []
    assert "unknown" in reader.texts


def test_findings_come_worst_first_and_errors_are_unfolded() -> None:
    error = FINDING | {"severity": "error", "code": "TST002", "file": "lab.yaml", "line": 3, "column": 5}
    reader = read(planned(deployment()), FINDING, error)
    assert [text for text in reader.texts if text.startswith("TST")] == ["TST002", "TST001"]
    assert "lab.yaml:3:5" in reader.texts
    assert [found for tag, found in reader.elements if tag == "details"] == [
        {"class": "card", "id": "findings", "open": None}
    ]
    assert "1 error" in reader.texts
    folded = read(planned(deployment()), FINDING, FINDING)
    assert [found for tag, found in folded.elements if tag == "details"] == [{"class": "card", "id": "findings"}]
    assert "2 warnings" in folded.texts
    assert "findings" not in [found.get("id") for _, found in read(planned(deployment())).elements]


def test_it_says_the_same_as_the_other_outputs() -> None:
    plan = planned(deployment("set: {gpu_memory_utilization: 0.5}", "workload: {users: 2, context: 65536}", MEASURED))
    texts = read(plan).texts
    from sparkiac.plan import memory_use  # noqa: PLC0415  beside the page

    [account] = memory_use.of(plan.hosts[0]).accounts
    for label, value in (*labels.facts(account), *labels.speeds(account)):
        assert label in texts
        assert value in texts
    assert [cell for row in labels.steps(account) for cell in row if cell not in texts] == []


def test_units_have_ports_and_short_digests() -> None:
    reader = read(planned(asking(1, "m2")))
    for word in ("192.168.1.12:8001", f"nvcr.io/nvidia/vllm@{ONES[7:19]}"):
        assert word in reader.texts
    assert "uses m2 for example/model at http://192.168.1.12:8001/v1" in reader.texts
    assert f"nvcr.io/nvidia/vllm@{ONES}" in [found.get("title") for _, found in reader.elements]


def test_example_digests_are_marked() -> None:
    marked = planned(deployment(), locked=LOCK.replace("version: 1", "version: 1\nexample: true"))
    assert len(read(marked).of("note")) == 1
    assert read(planned(deployment())).of("note") == []


@pytest.mark.parametrize(("number", "drawings"), [(1, 2), (3, 2), (7, 2), (12, 2), (13, 0), (1000, 0)])
def test_a_fleet_is_drawn_up_to_a_readable_number_of_hosts(number: int, drawings: int) -> None:
    reader = read(fleet(number))
    assert len(reader.of("fleet")) == drawings
    links = [found["href"] for tag, found in reader.elements if tag == "a"]
    assert links == [f"#{host.name}" for host in fleet(number).hosts]


def boxes_of(hosts: tuple[HostPlan, ...], *, columns: int) -> tuple[HostBox, ...]:
    """Draw hosts and give their boxes."""
    return draw(hosts, columns=columns, box=262, gap=90).boxes


@pytest.mark.parametrize("columns", [1, 3, 4])
def test_boxes_do_not_overlap_and_hold_their_units(columns: int) -> None:
    drawn = draw(planned(asking(2, "m1", "m2", "m3")).hosts, columns=columns, box=262, gap=90)
    for number, box in enumerate(drawn.boxes):
        assert box.x + box.width < drawn.width
        assert box.y + box.height <= drawn.top + drawn.height
        for chip in box.chips:
            assert box.x < chip.x
            assert chip.x + chip.width < box.x + box.width
            assert chip.y + chip.height < box.y + box.height
        for other in drawn.boxes[number + 1 :]:
            assert box.x + box.width < other.x or box.y + box.height < other.y


def test_requests_are_drawn_from_unit_to_unit() -> None:
    drawn = draw(planned(asking(1, "m1", "m2", "m3")).hosts, columns=3, box=280, gap=90)
    assert [(line.kind, line.title) for line in drawn.asks] == [
        ("ask", "chat uses m1"),
        ("ask", "chat uses m2"),
        ("ask", "chat uses m3"),
    ]
    chips = {chip.name: chip for box in drawn.boxes for chip in box.chips}
    for line, name in zip(drawn.asks, ("m1", "m2", "m3"), strict=True):
        x, y = (float(word) for word in line.arrow.split()[0].split(","))
        assert x in {chips[name].x, chips[name].x + chips[name].width}
        assert y == chips[name].middle
    assert drawn.top == 0, "a line passes over the box between"


def test_a_node_of_a_group_is_drawn_with_its_rank() -> None:
    drawing = draw(planned(PAIR).hosts, columns=2, box=280, gap=90)
    below = {box.name: [line.text for chip in box.chips for line in chip.lines[1:]] for box in drawing.boxes}
    assert below == {"spark-01": ["node 2 of 2"], "spark-02": [":8001 · node 1 of 2"]}


def test_what_cannot_be_reached_is_drawn_as_broken() -> None:
    [line] = draw(
        planned(asking(1, "m2").replace("bind: lan", "bind: loopback")).hosts, columns=3, box=280, gap=90
    ).asks
    assert (line.kind, line.title) == ("broken", "chat uses m2, but cannot reach it")


def test_hosts_of_one_direct_link_are_joined() -> None:
    [line] = draw(planned(PAIR).hosts, columns=2, box=280, gap=90).links
    assert (line.kind, line.title) == ("link", "spark-01 and spark-02: 192.168.177.0/24")
    assert draw(planned(deployment()).hosts, columns=1, box=280, gap=0).links == ()


def test_lines_between_distant_hosts_go_around_the_hosts_between() -> None:
    one, two, three = planned(asking(1, "m2")).hosts
    near = (FabricLink(interface="a", address="192.168.9.1/24"),)
    [line] = draw((one._replace(links=near), two, three._replace(links=near)), columns=3, box=280, gap=90).links
    levels = [float(word.split(" ")[1]) for word in re.findall(r"[ML]([\d.]+ [\d.]+)", line.path)]
    assert min(levels) < boxes_of((one, two, three), columns=3)[1].y


@pytest.mark.parametrize("name", ["x" * 90, "one-two-" * 11])
def test_names_are_wrapped_in_their_boxes_and_never_cut(name: str) -> None:
    [host] = planned(deployment()).hosts
    [chat] = host.containers
    drawn = draw((host._replace(containers=(chat._replace(name=name),)),), columns=1, box=200, gap=0)
    [box] = drawn.boxes
    [chip] = box.chips
    titles = [line for line in chip.lines if line.kind == "unit"]
    assert "".join(line.text for line in titles) == name
    assert max(len(line.text) for line in titles) <= 17
    assert max(line.y for line in chip.lines) < chip.height
    assert chip.y + chip.height < box.y + box.height


def test_a_label_that_does_not_fit_into_its_part_of_the_bar_is_left_out() -> None:
    html = page.render(planned(deployment("set: {gpu_memory_utilization: 0.5}", MEASURED))).decode()
    labelled = re.findall(r'<div class="seg letters(\d+)[^>]*><span>([^<]*)</span><span>([^<]*)</span>', html)
    assert len(labelled) > 3
    for letters, *texts in labelled:
        assert int(letters) == max(map(len, texts))
        assert f"(max-width: calc({letters}ch + 20px)) {{ .seg.letters{letters} span {{ display: none; }} }}" in html
    assert "text-overflow" not in html


def test_every_host_has_its_verdict_at_the_top_and_in_its_section() -> None:
    text = page.render(planned(deployment("set: {gpu_memory_utilization: 0.5}", MEASURED))).decode()
    assert '<a class="pill fits" href="#spark-01">spark-01 fits</a>' in text
    assert re.search(r'<span class="pill fits">fits</span> [\d.]+ GiB left free', text)


def test_the_heading_counts_hosts_deployments_and_services() -> None:
    text = " ".join(re.sub("<[^>]+>", " ", page.render(planned(asking(1, "m2")), []).decode()).split())
    assert "3 hosts" in text
    assert "3 deployments" in text
    assert re.search(r"\b1 service\b", text)
