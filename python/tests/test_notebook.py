"""Tests evaluation on request, explanations, and the output in notebooks."""

from __future__ import annotations

import base64
import os
import re
import signal
import sys
import types
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import broadloom as bl
from broadloom import _core
from broadloom._notebook import MAX_PICTURE, MAX_TEXT, _bytes, _picture


def expression() -> bl.Array:
    return bl.asarray(np.arange(12.0).reshape(3, 4)) * 2 + 1


def symbolic() -> bl.Array:
    return bl.Array._of(_core.Handle.input("x", "f4", ["n", 3])) + 1


def picture_of(html: str) -> str:
    data = re.search(r'src="data:image/svg\+xml;base64,([^"]*)"', html)
    assert data is not None
    return base64.b64decode(data[1]).decode()


def values_of(html: str) -> str:
    """The values that a cell shows, which are monospaced."""
    (values,) = ElementTree.fromstring(html).iter("pre")
    assert "monospace" in values.attrib["style"]
    return values.text or ""


def test_an_expression_shows_values_and_plan_and_stays_one() -> None:
    x = expression()
    html = x._repr_html_()
    assert not x._handle.is_evaluated
    tree = ElementTree.fromstring(html)
    assert {element.tag for element in tree.iter()} <= {"div", "img", "code", "small", "pre", "details", "summary"}
    assert "float64[3, 4]" in html and "not computed" in html
    assert values_of(html) == str(np.arange(12.0).reshape(3, 4) * 2 + 1)
    drawn = ElementTree.fromstring(picture_of(html))
    tags = {element.tag.removeprefix("{http://www.w3.org/2000/svg}") for element in drawn.iter()}
    assert "script" not in tags and {"rect", "text"} <= tags


def test_the_picture_brings_its_paper_for_light_and_dark() -> None:
    svg = picture_of(expression()._repr_html_())
    paper = svg[svg.rindex("<style>") :]
    assert "background: #ffffff" in paper
    assert re.search(r"prefers-color-scheme: dark\) \{ \.graph \{ background: #14181d", paper)


def test_a_large_picture_keeps_its_size_and_scrolls() -> None:
    x = y = bl.asarray(np.ones(10))
    for _ in range(60):
        x = bl.exp(x * y)
    html = x._repr_html_()
    (box,) = (div for div in ElementTree.fromstring(html).iter("div") if div.find("img") is not None)
    assert "overflow: auto" in box.attrib["style"] and "max-height" in box.attrib["style"]
    (image,) = box
    assert image.attrib["style"] == "max-width: none"


def test_an_evaluated_array_shows_values() -> None:
    (x,) = (bl.evaluate(expression()),)
    html = x._repr_html_()
    assert "img" not in html and "float64[3, 4]" in html and "96 B in memory" in html and "23." in values_of(html)
    large = bl.asarray(np.arange(1_000_000))
    assert len(large._repr_html_()) < 2000 and "8 MB in memory" in large._repr_html_()


def test_every_array_shows_values_and_plan_in_the_same_way() -> None:
    def tags(html: str) -> list[str]:
        """The elements of a cell, without those of the plan."""
        tree = ElementTree.fromstring(html)
        plan = tree.find("details")
        assert plan is not None and plan.findtext("summary") == "the plan" and len(plan) > 1
        return [element.tag for element in tree]

    for shape in ((), (0,), (3,), (300,), (4, 5), (1000, 1000), (2, 3, 100_000)):
        ones = bl.asarray(np.ones(shape))
        lazy = ones * 2 + 1
        (computed,) = (bl.evaluate(ones * 2 + 1),)
        shown = [x._repr_html_() for x in (ones, lazy, computed)]
        assert [tags(html) for html in shown] == [["div", "pre", "details"]] * 3, shape
        assert values_of(shown[1]) == values_of(shown[2]), shape
        assert not lazy._handle.is_evaluated
    assert values_of(lazy._repr_html_()).count("3.") == 36
    slow = bl.sum(bl.asarray(np.ones(9_000_000)) * 2)
    assert tags(slow._repr_html_()) == ["div", "div", "details"] and "print(x)" in slow._repr_html_()
    assert values_of(bl.evaluate(slow)._repr_html_()) == "18000000.0"
    many_axes = bl.asarray(np.ones((7,) * 7)) * 2
    assert values_of(many_axes._repr_html_()).count("2.") == 2**7
    too_many = bl.asarray(np.ones((4,) * 9))
    for html in (too_many._repr_html_(), (too_many * 2)._repr_html_()):
        assert tags(html) == ["div", "div", "details"] and "too many axes" in html


@pytest.mark.parametrize(
    ("n", "said"),
    [
        (0, "0 B"),
        (96, "96 B"),
        (999, "999 B"),
        (1000, "1 kB"),
        (1536, "1.54 kB"),
        (999_500, "1 MB"),
        (3 * 10**18, "3 EB"),
    ],
)
def test_sizes_are_said_as_explain_says_them(n: int, said: str) -> None:
    assert _bytes(n) == said


def test_a_traced_array_shows_no_values() -> None:
    html = symbolic()._repr_html_()
    ElementTree.fromstring(html)
    assert "float32[n, 3]" in html and "traced" in html


def test_html_of_large_expressions_is_bounded() -> None:
    x = bl.asarray(np.ones(10))
    terms = [x + float(i) for i in range(600)]
    while len(terms) > 1:
        terms = [a + b for a, b in zip(terms[::2], terms[1::2], strict=False)]
    assert len(terms[0]._repr_html_()) < 2 * MAX_PICTURE
    whole = bl.explain(terms[0])._repr_html_()
    ElementTree.fromstring(whole)
    assert len(whole) < 2 * MAX_PICTURE + 3 * MAX_TEXT
    assert "characters more" in whole and len(str(bl.explain(terms[0]))) > MAX_TEXT
    assert _picture(f"<svg>{' ' * MAX_PICTURE}</svg>") is None
    assert _picture("no picture") is None


def test_texts_in_html_are_escaped() -> None:
    html = bl.Explanation("<script>alert(1)</script> & more", None)._repr_html_()
    assert ElementTree.fromstring(html).text == "<script>alert(1)</script> & more"


def test_explain_prints_as_text_and_shows_as_a_picture() -> None:
    made = bl.explain(expression())
    assert "typed graph" in str(made) and repr(made) == str(made)
    html = made._repr_html_()
    ElementTree.fromstring(html)
    assert "<script" not in picture_of(html)
    assert made.page is not None and made.page.startswith("<!DOCTYPE html>")
    assert "vector_width" not in str(made)
    assert len(str(bl.explain(expression(), code=True))) > len(str(made))
    with pytest.raises(TypeError, match="no option `speed`"):
        bl.explain(expression(), speed=1)


def test_explain_takes_what_explains_itself() -> None:
    assert "kernel" in str(bl.explain(_core.Kernel.parse("x: float32[n]; x + 1")))
    assert "result" in str(bl.explain(symbolic()))
    with pytest.raises(TypeError, match="takes an array"):
        bl.explain(3)


def test_evaluate_keeps_the_values_of_each_array() -> None:
    memory = np.arange(4.0)
    x = bl.asarray(memory)
    y, z = x * 2, x + 1
    assert all(a is b for a, b in zip(bl.evaluate(y, z), (y, z), strict=True))
    memory[:] = 0
    assert y.tolist() == [0, 2, 4, 6] and z.tolist() == [1, 2, 3, 4]
    assert bl.evaluate(x) is x
    memory[:] = 7
    assert x.tolist() == [7, 7, 7, 7]


def test_evaluate_writes_into_out() -> None:
    x = bl.asarray(np.arange(4.0))
    out, other = np.zeros(4), np.zeros(4, bool)
    assert bl.evaluate(x * 2, out=out) is out
    assert out.tolist() == [0, 2, 4, 6]
    made = bl.evaluate(x * 3, np.greater(x, 1), out=(out, other), threads=1)
    assert made[0] is out and made[1] is other
    assert out.tolist() == [0, 3, 6, 9] and other.tolist() == [False, False, True, True]
    for wrong, error in (
        (np.zeros(5), ValueError),
        (np.zeros(4, int), TypeError),
        ([1.0], TypeError),
        ([], ValueError),
    ):
        with pytest.raises(error):
            bl.evaluate(x * 2, out=wrong)
    for arrays in ((), (memory := np.zeros(3),)):
        with pytest.raises(TypeError):
            bl.evaluate(*arrays)
    del memory


def test_options_reach_the_engine() -> None:
    zero = bl.asarray(np.array([1, 2])) * 0
    with pytest.raises(ZeroDivisionError):
        bl.evaluate(np.floor_divide(1, zero), int_division="error")
    with pytest.raises(bl.LimitError):
        bl.evaluate(bl.asarray(np.ones(1000)) * 2, max_bytes=100)


def test_progress_is_told_the_end() -> None:
    told: list[tuple[int, int]] = []
    bl.evaluate(expression(), progress=lambda done, total: told.append((done, total)))
    assert told and told[-1][0] == told[-1][1]


class Bar:
    """The part of tqdm's bar that is used."""

    made: list[Bar] = []

    def __init__(self, **_: Any) -> None:
        self.n, self.total, self.closed = 0, None, False
        Bar.made.append(self)

    def update(self, by: int) -> None:
        self.n += by

    def close(self) -> None:
        self.closed = True


def test_progress_true_shows_a_bar_of_tqdm(monkeypatch: pytest.MonkeyPatch) -> None:
    auto = types.ModuleType("tqdm.auto")
    auto.tqdm = Bar  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", auto)
    bl.evaluate(expression(), progress=True)
    bar = Bar.made[-1]
    assert bar.closed and bar.total is not None and bar.n == bar.total


def test_progress_true_prints_without_tqdm(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    bl.evaluate(expression(), progress=True)
    assert capsys.readouterr().err.endswith("broadloom: 100 %\n")


def test_an_exception_of_progress_is_raised_and_the_array_stays_an_expression() -> None:
    x = expression()

    def stop(done: int, total: int) -> None:
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        bl.evaluate(x, progress=stop)
    assert not x._handle.is_evaluated
    assert x.tolist()[0] == [1, 3, 5, 7]


def test_an_interrupt_ends_an_evaluation() -> None:
    x = expression()
    with pytest.raises(KeyboardInterrupt):
        bl.evaluate(x, progress=lambda done, total: os.kill(os.getpid(), signal.SIGINT))
    assert not x._handle.is_evaluated


def test_show_versions(capsys: pytest.CaptureFixture[str]) -> None:
    assert bl.show_versions() is None
    printed = capsys.readouterr().out
    report = bl.show_versions(as_dict=True)
    assert report is not None
    assert report["numpy"] == np.__version__ and report["vector_width"] in (128, 256, 512) and report["threads"] >= 1
    assert np.__version__ in printed and "numexpr:" in printed and capsys.readouterr().out == ""
