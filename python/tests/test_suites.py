"""Tests that the runners of other projects' suites detect wrong results, exclusions that aren't needed, and suites
that don't run."""

from __future__ import annotations

from pathlib import Path

import pytest
import suite_array_api
import suite_flox
import suite_groupies
import suite_numexpr
import suite_numpy
import suite_onnx
import suite_pandas
import suite_scipy
import suite_xarray
from run import main
from suite_numexpr import Cut, with_cuts
from suite_pytest import Face, Run, run_pytest
from suite_report import Report, table, write

SWAPPED_WHERE = """
from numexpr.expressions import functions

where = functions["where"]
functions["where"] = lambda condition, first, second: where(condition, second, first)
"""

SUITE = """
class test_numbers:
    def test_both(self):
        for kind in [int, complex]:
            check(kind)
        z = 1j
        check(z)
        assert True
"""


def test_a_cut_method_is_the_method_without_its_statements_and_elements() -> None:
    text = with_cuts(SUITE, [Cut("test_numbers::test_both", ("z = 1j", "check(z)"), ("complex",))])
    checked: list[object] = []
    space: dict[str, object] = {"check": checked.append}
    exec(text, space)
    methods = space["test_numbers"]
    methods.test_both_cut(None)  # type: ignore[attr-defined]
    assert checked == [int]
    methods.test_both(None)  # type: ignore[attr-defined]
    assert checked == [int, int, complex, 1j]


@pytest.mark.parametrize(
    "cut",
    [
        Cut("test_numbers::test_none", (), ()),
        Cut("test_strings::test_both", (), ()),
        Cut("test_numbers::test_both", ("z = 2j",), ()),
        Cut("test_numbers::test_both", (), ("str",)),
    ],
)
def test_a_cut_that_matches_nothing_is_refused(cut: Cut) -> None:
    with pytest.raises(ValueError, match="cut:"):
        with_cuts(SUITE, [cut])


def test_exclusions_of_numexpr_have_to_be_needed() -> None:
    run = Run(
        {"f::good": "passed", "f::bad": "failed", "f::skips": "skipped", "f::strings": "skipped"}, {"f::bad": "1 != 2"}
    )
    passed, excluded, errors = suite_numexpr.judge(run, ["strings"], complete=True)
    assert (passed, excluded) == (1, 1)
    assert errors == ["bad: failed: 1 != 2", "skips: skipped: "]
    _, _, errors = suite_numexpr.judge(run, ["good", "bad", "skips", "strings", "gone"], complete=True)
    assert errors == ["good: excluded, but it passes", "excluded, but there is no such test: gone"]


def test_pandas_is_compared_with_numexpr_test_by_test() -> None:
    ours = Run(
        {"a": "failed", "b": "failed", "c": "skipped", "d": "skipped", "e": "passed", "f": "failed"}, {"a": "wrong"}
    )
    theirs = Run({"a": "passed", "b": "failed", "c": "passed", "d": "skipped", "e": "failed", "f": "xfailed"})
    count, errors, notes = suite_pandas.compare(ours, theirs, [], complete=True)
    assert count == 0
    assert errors == ["a: failed, but passed with numexpr: wrong", "c: skipped, but passed with numexpr: "]
    assert notes == ["fails with numexpr, too: b"]
    count, errors, _ = suite_pandas.compare(ours, theirs, ["a", "c", "e", "z"], complete=True)
    assert count == 2
    assert errors == [
        "e: accepted as failing, but it passes",
        "accepted, but no failure needs it: e",
        "accepted, but no failure needs it: z",
    ]
    _, errors, _ = suite_pandas.compare(ours, Run(), ["a"], complete=False)
    assert errors[0] == "a: failed, and not run with numexpr"


def test_xarrays_failures_have_to_be_listed_and_real() -> None:
    prefix = "site-packages/xarray/tests/"
    rows = [
        {"pattern": "test_a.py::test_known"},
        {"pattern": "test_a.py::test_mended"},
        {"pattern": "test_a.py::test_no"},
    ]
    outcomes = {"test_known": "failed", "test_mended": "passed", "test_new": "failed", "test_both": "failed"}
    ours = Run({f"{prefix}test_a.py::{name}": outcome for name, outcome in outcomes.items()})
    theirs = Run({test: "failed" if test.endswith("both") else "passed" for test in ours.outcomes})
    accepted, errors, _ = suite_xarray.compare(ours, theirs, rows, complete=True)
    assert accepted == 1
    assert errors[0].startswith("test_a.py::test_new: failed, but passed with NumPy's")
    assert errors[1:] == [
        "test_a.py::test_mended: accepted as failing, but it passes",
        "accepted, but no failure needs it: test_a.py::test_mended",
        "accepted, but no failure needs it: test_a.py::test_no",
    ]


def test_verdicts_on_scipys_functions() -> None:
    rules = {
        "claimed": {"special": 0, "stats": 8},
        "distance": [{"module": "stats", "functions": ["skew"], "ulps": 100, "reason": ""}],
        "refused": [{"functions": ["stats.gone", "stats.old"], "reason": ""}],
    }
    common = {"module": "stats", "claimed": True, "verdict": "ours", "message": "", "differs": "", "ulps": 0.0}
    rows = [
        common | {"function": "mean", "call": "stats.mean(S)", "ulps": 8.0},
        common | {"function": "skew", "call": "stats.skew(S)", "ulps": 99.0},
        common | {"function": "far", "call": "stats.far(S)", "ulps": 9.0},
        common | {"function": "kind", "call": "stats.kind(S)", "verdict": "numpy"},
        common | {"function": "gone", "call": "stats.gone(S)", "verdict": "refused", "message": "why"},
        common | {"function": "wide", "call": "stats.wide(S)", "differs": "result has dtype float32"},
        common | {"function": "mixed", "call": "stats.mixed(S)", "verdict": "refused", "claimed": False},
    ]
    passed, accepted, errors = suite_scipy.judge(rows, [rows[-1] | {"verdict": "ours"}], rules, "float64")
    assert (passed, accepted) == (4, 2) and rows[-1]["verdict"] == "numpy promotion"
    assert errors == [
        "stats.far(S), float64: 9 ulps from SciPy on NumPy's arrays, at most 8 are stated",
        "stats.kind(S), float64: gives numpy, but SciPy claims it",
        "stats.gone(S), float64: refused, but SciPy claims it: why",
        "stats.wide(S), float64: result has dtype float32",
    ]
    assert suite_scipy._check_refusals(rows, rules) == [
        "stats.mixed: refused, and not listed",
        "stats.old: listed as refused, but it is not",
    ]


def test_at_most_three_failures_of_the_array_api_are_accepted_and_only_real_ones() -> None:
    run = Run({"a": "failed", "b": "passed", "c": "failed"}, {"c": "no"})
    assert suite_array_api.judge(run, ["a"]) == (1, ["c: no"])
    assert suite_array_api.judge(run, ["a", "c", "b"])[1] == ["b: accepted as failing, but it passed"]
    count, errors = suite_array_api.judge(run, ["a", "c", "x", "y"])
    assert count == 2
    assert errors[0] == "4 failures are accepted, which is more than 3"
    assert "x: accepted as failing, but it does not exist" in errors


def test_without_the_array_api_suite_the_step_says_that_it_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(suite_array_api.VARIABLE, raising=False)
    root = tmp_path / "repository"
    assert suite_array_api.find(None, root) is None
    report = suite_array_api.run("numpy", folder=None)
    assert report.verdict.startswith("skipped") and not report.errors
    beside = tmp_path / "shared" / "vendor" / "array-api-tests"
    (beside / "array_api_tests").mkdir(parents=True)
    assert suite_array_api.find(None, root) == beside
    monkeypatch.setenv(suite_array_api.VARIABLE, str(tmp_path))
    with pytest.raises(FileNotFoundError):
        suite_array_api.find(None, root)


def test_a_test_of_numpys_passes_only_if_a_function_of_the_package_ran() -> None:
    folder = "numpy/lib/tests/test_a.py::"
    outcomes = {"test_ours": "passed", "test_numpys": "passed", "test_wrong": "failed", "test_mended": "passed"}
    outcomes |= {"test_objects[0]": "passed", "test_objects[1]": "failed", "test_later": "skipped"}
    calls = {"test_ours": ["take"], "test_numpys": [], "test_wrong": ["take"], "test_mended": ["pad"]}
    run = Run({folder + name: outcome for name, outcome in outcomes.items()}, {f"{folder}test_wrong": "1 != 2"})
    run.properties = {folder + name: {"broadloom engine": ran} for name, ran in calls.items()}
    rows = [
        {"file": "test_a", "pattern": pattern, "reason": pattern[:8]}
        for pattern in ("test_mended", r"test_objects\[.*", "test_gone")
    ]
    passed, reasons, errors = suite_numpy.judge(run, rows, complete=True)
    assert passed == 1 and reasons == {"test_obj": 2, "test_men": 1}
    assert errors == [
        "test_a::test_later: skipped: ",
        "test_a::test_mended: excluded, but it passes",
        "test_a::test_numpys: passed, but no function of the package ran",
        "test_a::test_wrong: failed: 1 != 2",
        "excluded, but there is no such test: test_a::test_gone",
    ]
    assert suite_numpy.judge(run, [{**row, "file": "test_b"} for row in rows], complete=False)[0] == 2


def test_numpys_tests_run_on_the_packages_functions(tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    needless = tmp_path / "exclusions.toml"
    row = "[[excluded]]\nfile = 'test_multiarray'\npattern = 'TestTake::test_wrap'\nreason = ''\n"
    needless.write_text(row, encoding="utf-8")
    report = suite_numpy.run(select="TestTake and (wrap or clip or byteorder)", exclusions=needless)
    assert report.passed == 2
    assert report.errors == [
        "test_multiarray::TestTake::test_byteorder[>i4]: passed, but no function of the package ran",
        "test_multiarray::TestTake::test_wrap: excluded, but it passes",
    ]


def test_numpy_groupies_tests_run_on_the_implementation_over_segments() -> None:
    pytest.importorskip("numpy_groupies")
    report = suite_groupies.run(select="test_fill_value or test_the_distinct_values_of_every_group")
    assert not report.errors and report.passed > 1


def test_floxs_tests_are_skipped_without_its_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(suite_flox.VARIABLE, raising=False)
    assert suite_flox.run(folder=None, full=True).verdict == f"skipped: ${suite_flox.VARIABLE} names no folder"


def test_a_wrong_numexpr_fails_its_own_suite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("numexpr")
    face = tmp_path / "swapped.py"
    face.write_text(SWAPPED_WHERE, encoding="utf-8")
    one = ["--only", "numexpr", "--jobs", "1", "--select", "test_where_scalar_bool"]
    assert main([*one, "--face", "numexpr"]) == 0
    assert "| 2 | 0 | 0 | 0 |" in capsys.readouterr().out
    assert main([*one, "--face", str(face)]) == 1
    assert "test_numexpr::test_where_scalar_bool: failed" in capsys.readouterr().out


def test_a_run_with_the_real_numexpr_in_place_of_ours_is_trouble(tmp_path: Path) -> None:
    pytest.importorskip("numexpr")
    (tmp_path / "test_it.py").write_text("import numexpr\ndef test_it(): pass\n", encoding="utf-8")
    run = run_pytest(["test_it.py"], cwd=tmp_path, face=Face("nothing", "", ours=True), jobs=1)
    assert "not broadloom.numexpr" in run.trouble


def test_outcomes_of_every_kind_are_recorded(tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "@pytest.fixture\ndef broken(): raise OSError('no')\n"
        "def test_good(): pass\n"
        "def test_bad(): assert 1 == 2\n"
        "def test_broken(broken): pass\n"
        "def test_skips(): pytest.skip('why')\n"
        "@pytest.mark.xfail\ndef test_expected(): assert 0\n"
        "@pytest.mark.xfail\ndef test_better(): pass\n",
        encoding="utf-8",
    )
    run = run_pytest(["test_it.py"], cwd=tmp_path, jobs=2)
    assert not run.trouble
    assert {test.partition("::")[2]: outcome for test, outcome in run.outcomes.items()} == {
        "test_good": "passed",
        "test_bad": "failed",
        "test_broken": "failed",
        "test_skips": "skipped",
        "test_expected": "xfailed",
        "test_better": "xpassed",
    }
    assert "why" in run.messages["test_it.py::test_skips"]


def test_a_run_that_never_ends_is_killed(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import threading\ndef test_it(): threading.Event().wait()\n", encoding="utf-8"
    )
    run = run_pytest(["test_it.py"], cwd=tmp_path, jobs=1, limit=3)
    assert "did not end within 3 s" in run.trouble


def test_every_test_of_onnx_passes_or_is_refused_for_a_reason(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    outcomes = suite_onnx.Outcomes(
        [
            suite_onnx.Outcome("test_abs", "Node", suite_onnx.ELEMENTWISE),
            suite_onnx.Outcome("test_conv", "Node", verdict="refused", operators=("Conv",)),
            suite_onnx.Outcome("test_sin", "Node", verdict="failed", text="ValueError: no"),
            *(suite_onnx.Outcome(name, "Node", verdict="refused") for name in suite_onnx.REFUSED),
        ]
    )
    page, about = tmp_path / "onnx-tests.md", tmp_path / suite_onnx.OPERATORS
    about.write_text(f"before\n{suite_onnx.BEGIN}\n{suite_onnx.END}\nafter\n", encoding="utf-8")
    assert suite_onnx.judge(outcomes) == ["test_sin: ValueError: no"]
    errors = suite_onnx.judge(outcomes, page)
    assert "onnx-tests.md is not what this run gives" in errors[1] and "another table" in errors[2]
    page.write_text(suite_onnx.text_of(outcomes), encoding="utf-8")
    about.write_text(suite_onnx.with_operators(about.read_text(encoding="utf-8")), encoding="utf-8")
    assert suite_onnx.judge(outcomes, page) == errors[:1]
    assert "| `Conv` |" not in about.read_text(encoding="utf-8") and "| `Sin` |" in about.read_text(encoding="utf-8")
    outcomes.tests[-1].verdict = "passed"
    assert any("listed as refused" in error for error in suite_onnx.judge(outcomes, page))


def test_a_refusal_of_what_is_supported_fails_onnxs_suite() -> None:
    onnx = pytest.importorskip("onnx")
    model = onnx.parser.parse_model("""<ir_version: 9, opset_import: ["" : 20]>
        g (float[N] x) => (float[N] y) { h = Sin (x) y = Softmax (h) }""")
    assert suite_onnx.is_ours(model) and suite_onnx.kind_of(model) == suite_onnx.REDUCING
    model.graph.node[0].op_type = "Conv"
    assert not suite_onnx.is_ours(model) and suite_onnx.kind_of(model) == suite_onnx.OTHER
    model.graph.node[0].op_type = "Sin"
    model.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.BFLOAT16
    assert not suite_onnx.is_ours(model)


def test_suites_that_were_not_run_stay_in_the_table(tmp_path: Path) -> None:
    page = tmp_path / "suites.md"
    page.write_text("<!-- results: begin -->\n<!-- results: end -->\n", encoding="utf-8")
    write(page, [Report("one", passed=3, notes=["a fact"]), Report("two", passed=4, notes=["of two"])], "full")
    first = page.read_text(encoding="utf-8")
    write(page, [Report("two", passed=5, notes=["new"]), Report("three", passed=6)], "quick")
    text = page.read_text(encoding="utf-8")
    assert "| one |  | 3 |" in text and "| two |  | 5 |" in text and "| three |  | 6 |" in text
    assert "| two |  | 4 |" not in text and "- one: a fact" in text and "- two: new" in text and "of two" not in text
    assert [x for x in text.split("\n") if x.startswith("Run of")] == [
        x for x in first.split("\n") if x.startswith("Run of")
    ]


def test_the_table_stands_between_the_marks_of_the_page(tmp_path: Path) -> None:
    page = tmp_path / "suites.md"
    page.write_text("before\n<!-- results: begin -->\nold\n<!-- results: end -->\nafter\n", encoding="utf-8")
    reports = [Report("one", ("numpy",), passed=3, notes=["a fact"]), Report("two", errors=["x", "y"])]
    write(page, reports, "quick")
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n") and text.endswith("\nafter\n") and "old" not in text
    assert table(reports) in text and "- one: a fact" in text and "| 2 errors |" in text
    page.write_text("no marks", encoding="utf-8")
    with pytest.raises(ValueError, match="marks"):
        write(page, reports, "quick")
