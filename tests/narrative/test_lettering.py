"""Labels in plots: any script, distinct, never a formula, never a warning."""

from __future__ import annotations

import sys

import pytest

import concordant as cc
from concordant.narrative import lettering

pytestmark = pytest.mark.once

pytest.importorskip("matplotlib", reason="plots are an extra")

WORLD = ["北京大学", "東京タワー", "서울특별시", "กรุงเทพ", "القاهرة", "ירושלים 3", "नमस्ते", "🎉 ☺️ 🇫🇷 👩‍💻", "Москва"]
HOSTILE = ["cost $5 and $6", "$\\frac{$", "a\nb\tc", "\ud800x", "\u202eevil", "\x1b[2J", "", "𐀀\U0010fffd"]


@pytest.fixture
def no_fonts(monkeypatch):
    """Only the fonts that come with Matplotlib are installed."""
    from matplotlib import font_manager, get_data_path

    manager = font_manager.fontManager
    own = [font for font in manager.ttflist if font.fname.startswith(get_data_path())]
    monkeypatch.setattr(manager, "ttflist", own)
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda *_, **__: [])
    clear()
    yield
    clear()


def clear():
    lettering._fonts_for.cache_clear()
    lettering._add_new_fonts.cache_clear()


def ranking_of(labels):
    return cc.rank(cc.Preferences.from_rankings([labels, labels[::-1], labels]), "borda")


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
@pytest.mark.parametrize("labels", [WORLD, HOSTILE], ids=["world", "hostile"])
def test_every_label_is_drawn_without_a_warning(tmp_path, labels, ending):
    ranking_of(labels).plot(tmp_path / f"plot.{ending}")
    cc.compare(cc.Preferences.from_rankings([labels]), ["borda", "copeland"]).plot(tmp_path / f"ranks.{ending}")


@pytest.mark.usefixtures("no_fonts")
@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_scripts_that_no_font_has_are_boxes_with_one_note(tmp_path, ending):
    figure = ranking_of([*WORLD, "ไทย"]).plot(tmp_path / f"plot.{ending}")
    labels = [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    assert sum("□□" in label for label in labels) >= 4
    (note,) = lettering.notes(figure)
    assert "Thai" in note
    assert "Chinese, Japanese and Korean" in note
    assert "Noto Sans Thai" in note
    assert "Noto Sans CJK" in note
    figure.savefig(tmp_path / f"again.{ending}")


@pytest.mark.usefixtures("no_fonts")
def test_the_command_line_names_the_font_to_install(tmp_path, capsys):
    from concordant.cli.__main__ import main

    table, picture = tmp_path / "votes.csv", tmp_path / "plot.png"
    table.write_text("winner,loser\nกรุงเทพ,b\nb,c\nc,กรุงเทพ\n", encoding="utf-8")
    with pytest.raises(SystemExit) as done:
        main(["rank", str(table), "--plot", str(picture)])
    err = capsys.readouterr().err
    assert done.value.code == 0
    assert err.count("no installed font") == 1
    assert "Noto Sans Thai" in err
    assert "Warning" not in err


def test_fonts_are_not_searched_for_plain_labels(monkeypatch):
    monkeypatch.setattr(lettering, "_fonts_for", lambda *_: pytest.fail("searched"))
    ranking_of(["Ann", "Ben", "Cleo"]).plot()


def test_fonts_installed_meanwhile_are_found(monkeypatch):
    from matplotlib import font_manager

    manager = font_manager.fontManager
    thai = [font.fname for font in manager.ttflist if lettering._has(font.fname, 0)(ord("ก"))]
    thai = [path for path in thai if "LastResort" not in path]
    if not thai:
        pytest.skip("no installed font has Thai")
    monkeypatch.setattr(manager, "ttflist", [font for font in manager.ttflist if font.fname not in thai])
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda *_, **__: thai[:1])
    clear()
    try:
        assert lettering.notes(ranking_of(["กก", "b"]).plot()) == []
    finally:
        clear()


def test_a_label_is_text_and_not_a_formula():
    from matplotlib.text import Text

    figure = ranking_of(["$a$", "b"]).plot()
    assert not any(text.get_parse_math() for text in figure.findobj(Text) if text.get_text())
    assert figure.axes[0].get_yticklabels()[0].get_text().startswith("$a$")


def test_labels_are_one_line_distinct_and_isolated():
    long = ["meta-llama/Llama-3.1-405B-Instruct", "meta-llama/Llama-3.1-70B-Instruct"]
    assert lettering.labels(["a\n b", *long]) == ["a b", "meta-llam…3.1-405B-Instruct", "meta-llam…3.1-70B-Instruct"]
    assert lettering.labels(["שלום"]) == ["\u2068שלום\u2069"]


def test_a_script_has_a_name():
    names = {
        "北": lettering.ASIAN,
        "か": lettering.ASIAN,
        "한": lettering.ASIAN,
        "ก": "Thai",
        "ا": "Arabic",
        "न": "Devanagari",
    }
    assert {sign: lettering._script(sign) for sign in names} == names
    assert lettering._script("🎉") == lettering.EMOJI
    assert lettering._script("\U0010fffd") == lettering.SYMBOLS


def test_marks_without_a_shape_are_left_out_before_matplotlib_shapes_text(monkeypatch):
    monkeypatch.setattr(lettering, "_is_shaped", lambda: False)
    figure = ranking_of(["שלום", "b"]).plot()
    assert figure.axes[0].get_yticklabels()[0].get_text().startswith("שלום")
    assert "matplotlib" in sys.modules
