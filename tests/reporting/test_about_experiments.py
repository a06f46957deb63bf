"""Pages of experiments: all parts are there, and text from results is never markup."""

from __future__ import annotations

from concordant.experiments.claims import Claim, claims_table, untestable
from concordant.experiments.frame import About, ResultTable
from concordant.reporting import about_experiments as pages

CLAIMS = (
    Claim.of("a < b & c", "table 1", [True], "+1.00 (p < 0.001)", "paired t-test"),
    Claim.of("d beats e", "table 2", [True, False]),
    Claim.of("f beats g", "table 3", [False]),
    untestable("h beats i", "table 4", "the data are not public"),
    Claim.of("j beats k", "table 5", [None]),
)
RUN = pages.ExperimentRun(
    "small",
    "A <small> experiment",
    About("A paper.", "A setting.", "Some data."),
    (
        ResultTable("Figures", ["method", "N@5"], [["rrf", "1.00"], ["  published", "1.00"], ["borda", "0.50"]]),
        claims_table(CLAIMS),
    ),
    CLAIMS,
    "\n- First `note`\n  goes on.\n- A second *note*.\n",
    (),
    "concordant reproduce small",
    75.0,
    "one seed",
)


def test_a_page_shows_setting_claims_tables_notes_and_how_it_was_run() -> None:
    text = pages.experiment_page(RUN).to_html()
    for shown in (
        "A paper.",
        "A &lt; b &amp; c",
        "Does not hold.",
        "Not run.",
        "1 min 15 s",
        "one seed",
        "First note goes on.",
    ):
        assert shown in text, shown
    assert "<small>" not in text
    assert "5 claims: 1 holds, 1 holds in part, 1 does not hold, 1 cannot be tested with the data available" in text


def test_published_rows_stay_below_their_method() -> None:
    table = pages.report_table(RUN.tables[0])
    assert table.rows[1][0] == "\u2003published"
    assert not table.is_sortable
    assert pages.report_table(RUN.tables[1]).is_sortable


def test_the_index_links_to_pages_and_states_what_was_not_run() -> None:
    others = [pages.NotRun("crowd", "its data are missing"), pages.NotRun("tennis", "ValueError: oh", is_failure=True)]
    text = pages.index_page([RUN], others).to_html()
    assert 'href="small.html"' in text
    assert "skipped: its data are missing" in text
    assert "failed: ValueError: oh" in text


def test_a_module_without_matplotlib_has_no_figures() -> None:
    class Plain:
        """No drawing."""

    assert pages.figures_of(Plain, None) == ()
