"""Pictures: they are drawn, saved by their ending, and refused with a reason."""

from __future__ import annotations

import dataclasses
import sys

import pytest

import concordant as cc

pytest.importorskip("matplotlib", reason="plots are an extra")


@pytest.fixture
def votes():
    return cc.Preferences.from_pairs(["a", "a", "b", "c"], ["b", "c", "c", "a"])


def test_intervals_are_drawn_best_first(votes):
    figure = cc.rank(votes, "bradley-terry").plot()
    labels = [tick.get_text().split()[0] for tick in figure.axes[0].get_yticklabels()]
    assert labels == cc.rank(votes, "bradley-terry").items
    assert "95%" in figure.axes[0].get_xlabel()


def test_scores_without_intervals_are_drawn_too(votes):
    assert cc.rank(votes, "borda").plot().axes[0].get_xlabel() == "score"


@pytest.mark.parametrize(("ending", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_the_ending_says_what_is_saved(votes, tmp_path, ending, start):
    path = tmp_path / f"picture.{ending}"
    cc.rank(votes, "bradley-terry").plot(path)
    assert path.read_bytes().startswith(start)


def test_an_ending_that_is_no_picture_is_refused(votes, tmp_path):
    with pytest.raises(cc.InputError, match=r"\.svg, \.png or \.pdf"):
        cc.rank(votes, "bradley-terry").plot(tmp_path / "picture.txt")


def test_the_matrix_shows_shares_in_consensus_order(votes, tmp_path):
    ranking = cc.rank(votes, "bradley-terry")
    figure = ranking.plot_matrix(votes, tmp_path / "m.svg")
    image = figure.axes[0].images[0].get_array()
    i, j = ranking.items.index("a"), ranking.items.index("b")
    assert image[i, j] == 1.0
    assert image.mask[i, i]


def test_the_matrix_needs_the_preferences_of_the_ranking(votes):
    other = cc.Preferences.from_rankings([["x", "y"]])
    with pytest.raises(cc.InputError, match="give the preferences of this ranking"):
        cc.rank(votes, "bradley-terry").plot_matrix(other)


def test_agents_are_drawn_by_weight(votes):
    ranking = dataclasses.replace(cc.rank(votes, "borda"), agents={"x": 0.2, "y": 0.9})
    labels = [tick.get_text() for tick in ranking.plot_agents().axes[0].get_yticklabels()]
    assert labels == ["y", "x"]


def test_agents_without_weights_are_no_picture(votes):
    with pytest.raises(cc.InputError, match="has no agent weights"):
        cc.rank(votes, "borda").plot_agents()
    with pytest.raises(cc.InputError, match=r"mpm learns .* only on request: give adherence=True\."):
        cc.rank(votes, "mpm").plot_agents()


def test_a_missing_matplotlib_is_named(votes, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(cc.ConcordantError, match=r"concordant\[plots\]"):
        cc.rank(votes, "borda").plot()


def run(arguments):
    from concordant.cli.__main__ import main

    with pytest.raises(SystemExit) as done:
        main(arguments)
    return done.value.code


def test_the_command_line_draws_pictures(tmp_path, capsys):
    table, scores, wins = (tmp_path / name for name in ("votes.csv", "scores.svg", "wins.png"))
    table.write_text("winner,loser\na,b\nb,c\nc,a\na,c\n")
    assert run(["rank", str(table), "--plot", str(scores), "--plot-matrix", str(wins)]) == 0
    assert "bradley-terry" in capsys.readouterr().out
    assert scores.read_bytes().startswith(b"<?xml")
    assert wins.read_bytes().startswith(b"\x89PNG")
    assert run(["rank", str(table), "--plot-agents", str(wins)]) != 0
    assert "has no agent weights" in capsys.readouterr().err


def test_a_ranking_of_many_instances_is_drawn_one_by_one():
    prefs = cc.Preferences.from_pairs(["a", "a"], ["b", "b"], instance=["q1", "q2"])
    ranking = cc.rank(prefs, "borda")
    with pytest.raises(cc.ConcordantError, match="2 instances"):
        ranking.plot()
    assert ranking["q1"].plot() is not None


def test_the_ranks_by_method_are_drawn_in_columns(votes, tmp_path):
    figure = cc.compare(votes, ["borda", "copeland", "plurality"]).plot(tmp_path / "ranks.svg")
    axes = figure.axes[0]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["borda", "copeland", "plurality"]
    assert len(axes.lines) == 3
    ranks = cc.rank(votes, "borda").rank_by_slot
    assert sorted(line.get_ydata()[0] for line in axes.lines) == sorted(ranks.tolist())
    few = cc.compare(votes, ["borda", "copeland"]).plot(top=2)
    assert len(few.axes[0].lines) == 2
    assert "2 of 3 items" in few.axes[0].get_title(loc="left")


def test_the_agreement_on_several_instances_is_a_heat_map():
    prefs = cc.Preferences.from_pairs(["a", "b"], ["b", "a"], instance=["p", "q"])
    figure = cc.compare(prefs, ["borda", "copeland"]).plot()
    assert figure.axes[0].images[0].get_array().shape == (2, 2)


def evaluations():
    labels = {f"q{k}": {"d1": 1, "d2": 0} for k in range(4)}
    good = {f"q{k}": {"d1": 2.0, "d2": 1.0} for k in range(4)}
    mixed = {f"q{k}": {"d1": float(k % 2), "d2": 0.5} for k in range(4)}
    return cc.evaluate(good, labels, ["mrr"]), cc.evaluate(mixed, labels, ["mrr"])


def test_the_queries_that_gain_and_lose_are_drawn(tmp_path):
    good, mixed = evaluations()
    axes = mixed.plot(tmp_path / "queries.svg", baseline=good).axes[0]
    assert [bar.get_width() for bar in axes.patches] == [0, 0, -0.5, -0.5]
    assert axes.get_title(loc="left") == "0 gain, 2 lose, 2 equal"
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["q1", "q3", "q0", "q2"]
    assert [bar.get_width() for bar in mixed.plot(metric="mrr").axes[0].patches] == [1, 1, 0.5, 0.5]
    with pytest.raises(cc.InputError, match="map was not evaluated"):
        mixed.plot(metric="map")


def test_the_means_of_systems_have_intervals():
    from concordant.narrative.plots_of_systems import plot_instances, plot_means

    good, mixed = evaluations()
    values = {"mrr": {"good": good.per_instance["mrr"], "mixed": mixed.per_instance["mrr"]}}
    axes = plot_means(values).axes[0]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["good", "mixed"]
    assert axes.lines[0].get_xdata().tolist() == [1.0, 0.75]
    with pytest.raises(cc.InputError, match="room for 12 systems"):
        plot_instances({f"s{k}": {"q": 1.0} for k in range(13)}, "mrr")
    with pytest.raises(cc.InputError, match="no instance with a value"):
        plot_instances({"s": {}}, "mrr")


def test_panels_of_systems_share_one_scale():
    from concordant.narrative.plots_of_systems import plot_instances

    figure = plot_instances({"a": {"q": 0.1}, "b": {"q": -0.9}}, "mrr", None, "base")
    assert figure.axes[0].get_xlim() == figure.axes[1].get_xlim()
    many = plot_instances({"a": {f"q{k}": k / 100 for k in range(100)}}, "mrr")
    assert "100 instances" in many.axes[0].get_ylabel()


def test_counts_are_bars_and_ratings_are_dots(votes):
    counts = cc.rank(cc.Preferences.from_rankings([["a", "b", "c"], ["a", "c", "b"]]), "borda").plot().axes[0]
    assert [bar.get_width() for bar in counts.patches] == [4, 1, 1]
    assert counts.get_xlim()[0] == 0
    for ratings in (
        cc.rank(votes, "bradley-terry"),
        cc.rank(votes, "bradley-terry").on_scale("elo"),
        cc.rank(votes, "elo"),
    ):
        assert not ratings.plot().axes[0].patches


def test_pairs_that_were_never_compared_are_hatched():
    prefs = cc.Preferences.from_pairs(["a", "b", "b", "c"], ["b", "a", "c", "b"])
    axes = cc.rank(prefs, "bradley-terry").plot_matrix(prefs).axes[0]
    assert [patch.get_hatch() for patch in axes.patches if patch.get_hatch()]
    assert "never compared" in axes.get_title(loc="left")
    (image,) = axes.images
    assert image.cmap(image.norm(image.get_array()))[0, 2, 3] == 0  # the hatching shows through
    assert image.cmap(image.norm(0.5))[3] == 1


def test_axes_have_few_numbers_and_write_them_in_full():
    prefs = cc.Preferences.from_rankings([["a", "b"]], weight=[5_000_000])
    figure = cc.rank(prefs, "borda").plot()
    figure.canvas.draw()
    written = [tick.get_text() for tick in figure.axes[0].get_xticklabels()]
    assert "2,000,000" in written
    assert len(written) <= 8
    assert figure.axes[0].xaxis.get_offset_text().get_text() == ""


@pytest.mark.parametrize(
    ("times", "written"), [(["2021-03-01", "2023-03-01", "2025-03-01"], "2023"), ([2001, 2003, 2009], "2004")]
)
def test_times_are_dates_or_plain_numbers(times, written):
    prefs = cc.Preferences.from_pairs(["a", "b", "a"], ["b", "a", "b"], time=times)
    figure = cc.rank(prefs, "elo").plot_history()
    figure.canvas.draw()
    assert written in [tick.get_text() for tick in figure.axes[0].get_xticklabels()]


def test_models_with_a_long_common_name_stay_distinct():
    names = ["meta-llama/Llama-3.1-405B-Instruct", "meta-llama/Llama-3.1-70B-Instruct"]
    axes = cc.rank(cc.Preferences.from_rankings([names]), "borda").plot().axes[0]
    assert ["405B" in tick.get_text() for tick in axes.get_yticklabels()] == [True, False]
