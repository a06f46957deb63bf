"""Pictures of what flows from round to round: well-formed, to scale, and safe whatever labels hold."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

import pytest

import concordant as cc
from concordant.results.flow_picture import HEIGHT, Flow, Node, draw_flows

SVG = "{http://www.w3.org/2000/svg}"


def test_boxes_are_as_high_as_what_they_hold():
    columns = [[Node(30.0), Node(10.0, "out"), Node(0.0)], [Node(36.0), Node(0.0), Node(4.0)]]
    flows = [[Flow(0, 0, 30.0), Flow(1, 0, 6.0), Flow(1, 2, 4.0)]]
    root = ElementTree.fromstring(draw_flows("votes", ["a", "b", "nobody"], ["one", "two"], columns, flows))
    heights = [float(box.get("height")) for box in root.iter(f"{SVG}rect")]
    assert heights == [pytest.approx(HEIGHT * share, abs=0.1) for share in (0.75, 0.25, 0.9, 0.1)]
    said = [title.text for title in root.iter(f"{SVG}title")]
    assert "b to a: 6" in said
    assert "b: 10, out" in said
    assert len(list(root.iter(f"{SVG}path"))) == 3


def test_labels_become_text_and_nothing_else():
    hostile = "<script>alert(1)</script>\"'&\x1b[2J\u202e"
    picture = draw_flows(hostile, [hostile, "over"], ["<b>"], [[Node(1.0), Node(0.0)]], [])
    assert "<script" not in picture
    assert "<b>" not in picture
    assert "\x1b" not in picture
    assert "\u202e" not in picture
    ElementTree.fromstring(picture)


def test_nothing_at_all_is_a_picture_too():
    ElementTree.fromstring(draw_flows("nothing", ["a", "over"], ["one"], [[Node(0.0), Node(0.0)]], []))


@pytest.mark.parametrize("method", ["instant-runoff", "stv", "meek"])
def test_counts_draw_themselves(method):
    ballots = [["<Ann & Bob>", "c"], ["b", "c"], ["c", "b"], [["b", "d"]], ["d"]]
    prefs = cc.Preferences.from_rankings(ballots, weight=[4, 3, 2, 2, 1])
    explanation = cc.rank(prefs, method).explain()
    root = ElementTree.fromstring(explanation.draw())
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert "<Ann & Bob>" in texts
    assert "<Ann" not in explanation._repr_html_().replace("&lt;", "")


def test_what_leaves_a_candidate_is_what_flows():
    prefs = cc.Preferences.from_rankings([["a", "b"], ["b", "c"], ["c", "a"], ["d"]], weight=[5, 4, 3, 2])
    for method in ("instant-runoff", "stv"):
        stages = cc.rank(prefs, method).model.stages
        for before, stage in pairwise(stages):
            left = sum(before.votes[label] - stage.votes[label] for label in stage.sources)
            assert sum(stage.flows.values()) == pytest.approx(left)
