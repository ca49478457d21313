"""Pages in a real browser without network: nothing is requested or run, all can be reached."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import clfeval
from clfeval.views.page import as_page
from tests.attack.test_hostile_names import CASES, saved_files
from tests.results import row_of, value_of
from tests.thoroughness import thinned
from tests.views.pages import HOSTILE, RESULTS, hostile_table, many_models

sync_api = pytest.importorskip("playwright.sync_api", reason="pages need playwright")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("pages need chromium", allow_module_level=True)
pytestmark = pytest.mark.xdist_group("browser")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]
AXE = Path(__file__).parent / "axe.min.js"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def visit(browser: Any, tmp_path: Path) -> Iterator[Any]:
    """Return a function that opens a page; what it asks for, says or alerts fails the test."""
    contexts, heard = [], list[str]()

    def opened(text: str, **options: Any) -> Any:
        path = tmp_path / "page.html"
        path.write_text(text, encoding="utf-8")
        context = browser.new_context(offline=True, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: heard.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: heard.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (heard.append("alert"), dialog.dismiss()))
        page.on(
            "request",
            lambda request: request.url == path.as_uri() or heard.append(f"request: {request.url}"),
        )
        page.goto(path.as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert heard == []


# opens what is folded, and keeps the first rows of each table: the others are like them
OPEN = """document.querySelectorAll("details").forEach((one) => { one.open = true });
for (const one of document.querySelectorAll("tbody")) while (one.rows[3]) one.deleteRow(3)"""


@pytest.mark.parametrize(
    "name", thinned(RESULTS, {*RESULTS} - {"labels", "sweep", "classes", "report"})
)
def test_axe_finds_no_violation_and_nothing_is_wider_than_a_small_screen(
    visit: Any, name: str
) -> None:
    page = visit(as_page(RESULTS[name]()), viewport={"width": 320, "height": 600}, bypass_csp=True)
    page.evaluate(OPEN)
    page.evaluate(AXE.read_text(encoding="utf-8"))
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") == 320
        found = page.evaluate("axe.run({resultTypes: ['violations']})")["violations"]
        assert [(one["id"], one["nodes"][0]["html"][:200]) for one in found] == []


def rates_of(model: dict[str, Any], point: list[float], prevalence: float) -> dict[str, float]:
    """Return the six numbers, from the counts by the formulas of the guide."""
    threshold, tp, fp = point
    se, sp = tp / model["positives"], 1 - fp / model["negatives"]
    hit, false = se * prevalence, (1 - sp) * (1 - prevalence)
    right, missed = sp * (1 - prevalence), (1 - se) * prevalence
    return {
        "sensitivity": se,
        "specificity": sp,
        "ppv": hit / (hit + false) if hit + false else None,
        "npv": right / (right + missed) if right + missed else None,
        "benefit": hit - false * threshold / (1 - threshold) if threshold < 1 else None,
        "alarms": 1000 * (hit + false),
    }


def test_the_sliders_agree_with_the_json(visit: Any) -> None:
    """At five thresholds and three prevalences of every model; counts are those of the tables."""
    result = RESULTS["report"]()
    tables = json.loads(result.to_json())["tables"]
    page = visit(as_page(result))
    data = json.loads(page.locator("#operating-points").text_content())
    assert len(data["models"]) == 6
    for i, model in enumerate(data["models"]):
        curve = {
            (r["threshold"], r["tp"], r["fp"])
            for r in tables["curves"]
            if r["model"] == model["name"]
        }
        (row,) = [r for r in tables["models"] if r["model"] == model["name"]]
        in_force = (row["threshold"], row["tp"], row["fp"])
        assert {tuple(point) for point in model["points"]} <= curve | {in_force}
        assert tuple(model["points"][model["start"]]) == in_force
        page.select_option("select[name=model]", str(i))
        points = model["points"]
        for place in {0, len(points) // 4, len(points) // 2, model["start"], len(points) - 1}:
            page.locator("input[name=point]").fill(str(len(points) - 1 - place))
            for prevalence in (0.01, data["prevalence"], 0.9):
                page.locator("input[name=prevalence]").fill(repr(prevalence))
                shown = page.evaluate(
                    "Object.fromEntries([...document.querySelectorAll('#sliders dd')]"
                    ".map((one) => [one.id.slice(4), [one.dataset.value, one.textContent]]))"
                )
                for name, value in rates_of(model, points[place], prevalence).items():
                    exact, text = shown[name]
                    if value is None:
                        assert text == "–", (name, text)
                        continue
                    assert float(exact) == pytest.approx(value, rel=1e-9, abs=1e-12), name
                    assert float(text) == pytest.approx(
                        value, abs=0.051 if name == "alarms" else 6e-4
                    )
        page.locator("input[name=threshold]").fill("0.5")
        assert page.locator("#now-sensitivity").text_content()
    page.locator("#back").click()
    assert page.locator("input[name=prevalence]").input_value() == "0.3719"


def test_the_dots_are_on_the_curves(visit: Any) -> None:
    result = RESULTS["report"]()
    page = visit(as_page(result))
    row = row_of(result, "models", model="logreg")
    at = page.evaluate("""() => {
      const group = document.querySelector('g.moving[data-x=fpr]');
      const [a, b, c, d] = group.dataset.pixels.split(' ').map(Number), one = group.firstChild;
      return [(one.cx.baseVal.value - a) / (b - a), (one.cy.baseVal.value - c) / (d - c)];
    }""")
    rates = [1 - value_of(row["specificity"]), value_of(row["sensitivity"])]
    assert at == pytest.approx(rates, abs=0.01)
    seen = page.locator("g.moving[data-model=logreg] line").get_attribute("visibility")
    assert seen == "visible"
    page.select_option("select[name=model]", label="svm")
    seen = page.locator("g.moving[data-model=logreg] line").get_attribute("visibility")
    assert seen == "hidden"


def test_names_neither_run_nor_break_out(visit: Any) -> None:
    result = clfeval.report(hostile_table(), truth="truth", positive="1", by=())
    page = visit(as_page(result))
    assert page.locator("script").count() == 2
    assert page.locator("option").count() == len(HOSTILE)
    assert "alert(1)" in page.locator("option").all_text_contents()[0] or any(
        "alert(1)" in text for text in page.locator("option").all_text_contents()
    )
    assert page.title().endswith("clfeval")


def test_a_page_without_script_is_whole(visit: Any) -> None:
    page = visit(as_page(RESULTS["report"]()), java_script_enabled=False)
    assert page.locator("#sliders").is_hidden()
    assert page.locator("table").first.is_visible()
    assert page.locator("svg").first.is_visible()
    assert page.locator("h1").text_content() == "report of scores.csv"


def test_the_keyboard_reaches_sliders_and_details(visit: Any) -> None:
    page = visit(as_page(RESULTS["report"]()))
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.name || document.activeElement.tagName"))
    assert {"model", "point", "threshold", "logit", "prevalence", "SUMMARY", "A"} <= reached
    page.locator("input[name=point]").focus()
    before = page.locator("#now-sensitivity").text_content()
    page.keyboard.press("Home")
    assert page.locator("#now-sensitivity").text_content() != before


def test_print_is_light_and_pages_are_small_and_always_the_same(visit: Any) -> None:
    text = as_page(RESULTS["report"]())
    assert text == as_page(RESULTS["report"]())
    assert len(text.encode()) < 200_000
    twenty = as_page(clfeval.report(many_models(20)))
    assert len(twenty.encode()) < 500_000
    page = visit(text, color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    ink = page.evaluate("getComputedStyle(document.querySelector('svg text')).fill")
    assert sum(map(int, re.findall(r"\d+", ink))) < 150


@pytest.mark.usefixtures("folder", "long_names", "quoted_words")
@pytest.mark.parametrize(("name", "command"), thinned(CASES, CASES[1:2]))
def test_a_page_with_hostile_names_runs_none(visit: Any, name: str, command: str) -> None:
    text = saved_files(name, command, "p.html")["p.html"]
    page = visit(text)
    assert page.locator("h1").count() == 1
    assert page.evaluate("document.scripts.length") == text.count("</script>")
