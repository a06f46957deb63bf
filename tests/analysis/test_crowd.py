"""Crowdsourced judgements: annotator reliability and labels of documents."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.cases import main
from tests.cases import output_of as run

import concordant as cc
from concordant.analysis import crowd
from concordant.errors import InputError, NeedError, ParameterError

ROWS = [
    ("ann", "t1", "d1", 1), ("ann", "t1", "d2", 0), ("ann", "t2", "d1", 0), ("ann", "t2", "d3", 1),
    ("bob", "t1", "d1", 1), ("bob", "t1", "d2", 0), ("bob", "t2", "d1", 0), ("bob", "t2", "d3", 1),
    ("eve", "t1", "d1", 0), ("eve", "t1", "d2", 1), ("eve", "t2", "d1", 1),
]  # fmt: skip
GOLD = cc.Labels(["t1", "t1", "t2"], ["d1", "d2", "d1"], [2, 0, 0])


def judged(rows=ROWS):
    return crowd.judgements(*map(list, zip(*rows, strict=True)))


def simulated(rng, topics=40, documents=12):
    """Two careful workers, one who guesses, and a crowd of others who say little and are mostly right."""
    rows, gold = [], []
    for topic in range(topics):
        truth = rng.random(documents) < 0.5
        for document in range(documents):
            gold.append((f"t{topic}", f"d{document}", float(truth[document])))
            for worker, right in (("careful", 0.95), ("steady", 0.9), ("guess", 0.5), (f"w{rng.integers(200)}", 0.6)):
                vote = truth[document] if rng.random() < right else ~truth[document]
                rows.append((worker, f"t{topic}", f"d{document}", int(vote)))
    return judged(rows), cc.Labels(*map(list, zip(*gold, strict=True)))


def test_the_accuracy_is_the_share_of_right_judgements_of_gold_documents():
    found = crowd.reliability(judged(), GOLD)
    by_agent = dict(zip(found.agents, zip(found.judged, found.on_gold, found.accuracy, strict=True), strict=True))
    assert by_agent == {"ann": (4, 3, 1), "bob": (4, 3, 1), "eve": (3, 3, 0)}
    assert found.relevant.tolist() == [1, 1, 0]
    assert found.irrelevant.tolist() == [1, 1, 0]
    assert (found.low <= found.accuracy).all()
    assert (found.accuracy <= found.high).all()
    # Wilson's interval of 3 of 3, as tables have it
    assert found.low[0] == pytest.approx(0.4385, abs=1e-4)
    assert "ann" in str(found)


def test_without_gold_labels_there_is_the_estimate_alone():
    found = crowd.reliability(judged())
    assert np.isnan(found.accuracy).all()
    assert found.low.tolist() == [0, 0, 0]
    assert found.high.tolist() == [1, 1, 1]
    assert found.estimated[2] < found.estimated[0]


@pytest.mark.parametrize("system", ["majority-vote", "dawid-skene"])
def test_what_most_say_is_decided(system):
    decided = crowd.decide(judged(), system)
    labels = {
        (topic, item): decided.for_items(
            [q], decided.instances, decided.items, decided.items.codes(cc.Labels([topic], [item], [0]).items)
        )[0]
        for q, topic in enumerate(decided.instances.labels)
        for item in (["d1", "d2"] if topic == "t1" else ["d1", "d3"])
    }
    assert labels == {("t1", "d1"): 1, ("t1", "d2"): 0, ("t2", "d1"): 0, ("t2", "d3"): 1}
    assert crowd.agreement(decided, GOLD) == 1.0
    assert crowd.agreement(decided, GOLD, relevant=3.0) == pytest.approx(2 / 3)


def test_grades_are_a_yes_from_where_it_is_said():
    graded = judged([(worker, topic, document, 50 * vote + 20) for worker, topic, document, vote in ROWS])
    for system in ("majority-vote", "dawid-skene"):
        assert crowd.decide(graded, system, relevant=70).label.tolist() == crowd.decide(judged(), system).label.tolist()
        assert (crowd.decide(graded, system, relevant=10).label == 1).all()


def test_of_repeated_judgements_the_first_counts():
    again = judged([*ROWS, ("ann", "t1", "d1", 0)])
    assert "left out 1 repeated judgements" in again.notes[0]
    np.testing.assert_array_equal(again.value, judged().value)


def test_systems_that_learn_beat_the_majority_where_workers_differ():
    rng = np.random.default_rng(0)
    train, new = simulated(rng), simulated(rng)
    quality = {}
    for system, params in (
        ("majority-vote", {}),
        ("dawid-skene", {}),
        ("theta-mpm", {}),
        ("hybrid", {"min_preferences": 200}),
    ):
        ranking = crowd.rank(new[0], system, train=train, validation=0.2, **params)
        quality[system] = cc.evaluate(ranking, new[1], ["ndcg"], ties="average")["ndcg"]
    assert min(quality["dawid-skene"], quality["hybrid"]) > quality["majority-vote"] + 0.01
    assert quality["theta-mpm"] > quality["majority-vote"] - 0.01


def test_the_hybrid_knows_those_by_name_who_say_enough():
    prefs, gold = simulated(np.random.default_rng(1), 20)
    model = crowd.method("hybrid", min_preferences=200).fit(prefs, gold)
    assert set(model.experts) == {"careful", "steady", "guess", "others"}
    assert model.trust["careful"] > model.trust["guess"]


def test_what_is_wrong_is_said():
    with pytest.raises(ParameterError, match="majority-vote"):
        crowd.rank(judged(), "loudest")
    with pytest.raises(NeedError, match="train="):
        crowd.rank(judged(), "hybrid")
    with pytest.raises(ParameterError, match="does not assign labels"):
        crowd.decide(judged(), "hybrid")
    with pytest.raises(NeedError, match="judgements"):
        crowd.reliability(cc.Preferences.from_rankings([["a", "b"]]))
    with pytest.raises(InputError, match="gold label"):
        crowd.agreement(crowd.decide(judged(), "majority-vote"), cc.Labels(["t9"], ["d9"], [1]))
    with pytest.raises(InputError, match="length"):
        crowd.judgements(["a"], ["t", "t"], ["d", "e"], [1, 0])


def test_the_command_shows_the_same_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, gold = tmp_path / "judgements.csv", tmp_path / "gold.csv"
    table.write_text("agent,topic,item,rating\n" + "".join(f"{a},{t},{d},{j}\n" for a, t, d, j in ROWS))
    gold.write_text("topic,item,label\nt1,d1,2\nt1,d2,0\nt2,d1,0\n")
    found = json.loads(run(capsys, "crowd", table, "--instance", "topic", "--labels", gold, "--json"))
    assert [row["agent"] for row in found["agents"]] == ["ann", "bob", "eve"]
    assert [row["accuracy"] for row in found["agents"]] == [1, 1, 0]
    assert found["agreement"]["majority-vote"] == 1
    plain = json.loads(run(capsys, "crowd", table, "--instance", "topic", "--json"))
    assert plain["agents"][0]["accuracy"] is None
    assert plain["agreement"] == {}
    assert run(capsys, "crowd", table, "--instance", "topic", "--csv").startswith("agent,judged,on_gold,accuracy")
    assert "eve" in run(capsys, "crowd", table, "--instance", "topic", "--labels", gold)


def graded_crowd(values, seed=0):
    """Four workers judge 60 documents of four classes; the last one always gives the first class."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, len(values), 60)
    rows = []
    for worker, right in (("sure", 1.0), ("good", 0.8), ("poor", 0.4), ("same", None)):
        answer = np.where(rng.random(60) < (right or 0.0), truth, (truth + 1) % len(values))
        answer = np.zeros(60, int) if right is None else answer
        rows += [(worker, "t", f"d{k}", values[answer[k]]) for k in range(60)]
    return judged(rows), cc.Labels(["t"] * 60, [f"d{k}" for k in range(60)], [values[k] for k in truth]), truth


def test_of_classes_only_the_same_one_is_right():
    prefs, gold, truth = graded_crowd([1, 2, 3, 4])
    found = crowd.reliability(prefs, gold)
    by_agent = dict(zip(found.agents, found.accuracy.tolist(), strict=True))
    assert by_agent["sure"] == 1
    assert 0.6 < by_agent["good"] < 0.95
    assert by_agent["poor"] < 0.6
    assert by_agent["same"] == pytest.approx((truth == 0).mean())
    assert np.isnan(found.relevant).all()
    assert "more than two values" in found.notes[-1]
    assert crowd.reliability(prefs, gold, relevant=1.0).accuracy.tolist() == [1, 1, 1, 1]
    for system in ("majority-vote", "dawid-skene"):
        decided = crowd.decide(prefs, system)
        assert set(decided.label.tolist()) <= {1, 2, 3, 4}
        assert crowd.agreement(decided, gold) > 0.6


@pytest.mark.parametrize("values", [[1, 2], [0, 1], [-1, 1], [3, 7]])
def test_of_two_values_the_larger_is_a_yes(values):
    prefs, gold, truth = graded_crowd(values)
    found = crowd.reliability(prefs, gold)
    same = found.agents.index("same")
    assert crowd.yes_from(prefs, gold) == values[1]
    assert found.accuracy[same] == pytest.approx((truth == 0).mean())
    assert (found.relevant[same], found.irrelevant[same]) == (0, 1)
    assert crowd.agreement(crowd.decide(prefs), gold) > 0.6


def test_two_of_four_classes_are_not_yes_and_no():
    prefs = judged([("ann", "t", "d1", 1), ("ann", "t", "d2", 4), ("ann", "t", "d3", 4)])
    gold = cc.Labels(["t"] * 3, ["d1", "d2", "d3"], [2, 4, 3])
    assert crowd.reliability(prefs, gold).accuracy.tolist() == pytest.approx([1 / 3])


def test_the_command_says_that_classes_must_be_equal(tmp_path: Path, capsys):
    prefs, gold, _ = graded_crowd([1, 2, 3, 4])
    lines = ["worker,topic,item,rating"]
    agent = prefs.agents.take(np.repeat(prefs.agent, np.diff(prefs.indptr)))
    lines += [f"{a},t,{i},{v:g}" for a, i, v in zip(agent, prefs.items.take(prefs.item), prefs.value, strict=True)]
    (tmp_path / "votes.csv").write_text("\n".join(lines))
    rows = [f"t 0 {i} {v:g}" for i, v in zip(gold.items.take(gold.item), gold.label, strict=True)]
    (tmp_path / "gold.qrels").write_text("\n".join(rows) + "\n")
    files = ("crowd", tmp_path / "votes.csv", "--labels", tmp_path / "gold.qrels", "--json")
    told = {row["agent"]: row for row in json.loads(run(capsys, *files))["agents"]}
    assert told["poor"]["accuracy"] < 0.6
    assert told["poor"]["relevant"] is None
    forced = {row["agent"]: row for row in json.loads(run(capsys, *files, "--relevant", "1"))["agents"]}
    assert forced["poor"]["accuracy"] == 1


def of_one_worker(values):
    return judged([("ann", "t", f"d{k}", value) for k, value in enumerate(values)])


def gold_of(values):
    return cc.Labels(["t"] * len(values), [f"d{k}" for k in range(len(values))], values)


def test_agreement_takes_a_yes_from_where_decide_took_it():
    prefs, gold = of_one_worker([1, 2, 3, 4]), gold_of([2, 1, 4, 2])
    decided = crowd.decide(prefs, "majority-vote", relevant=3)
    assert crowd.agreement(decided, gold) == crowd.agreement(decided, gold, relevant=3) == 0.75
    classes = crowd.decide(prefs, "majority-vote", relevant=None)
    assert crowd.agreement(classes, gold) == 0.0
    assert crowd.agreement(classes, gold, relevant=3) == 0.75


def test_classes_stay_classes_where_only_0_and_1_were_decided():
    rows = [("ann", "t", "d0", 0), ("ann", "t", "d1", 1), ("bob", "t", "d1", 1), ("eve", "t", "d1", 2)]
    decided = crowd.decide(judged(rows), "majority-vote")
    assert sorted(decided.label.tolist()) == [0, 1]
    assert crowd.agreement(decided, gold_of([0, 2])) == 0.5
    assert crowd.agreement(cc.Labels(["t"] * 2, ["d0", "d1"], [0, 1]), gold_of([0, 2])) == 0.5


def test_gold_labels_with_a_third_value_make_classes_of_two_values(tmp_path, capsys):
    values, gold = [1, 2, 2, 1, 2], [1, 2, 3, 2, 3]
    prefs = of_one_worker(values)
    for system in ("majority-vote", "dawid-skene"):
        assert crowd.agreement(crowd.decide(prefs, system), gold_of(gold)) == pytest.approx(0.4)
    (tmp_path / "j.csv").write_text(
        "agent,item,rating\n" + "".join(f"ann,d{k},{value}\n" for k, value in enumerate(values))
    )
    (tmp_path / "g.csv").write_text("item,label\n" + "".join(f"d{k},{value}\n" for k, value in enumerate(gold)))
    told = json.loads(run(capsys, "crowd", str(tmp_path / "j.csv"), "--labels", str(tmp_path / "g.csv"), "--json"))
    assert told["agreement"]["majority-vote"] == pytest.approx(0.4)


def test_labels_from_elsewhere_are_yes_and_no_where_there_are_two_values():
    assert crowd.agreement(gold_of([1, 2, 2]), gold_of([1, 2, 1])) == pytest.approx(2 / 3)
    assert crowd.agreement(gold_of([0, 1, 1]), gold_of([0, 1, 0]), relevant=1) == pytest.approx(2 / 3)


def test_the_estimate_is_of_yes_and_no_where_the_accuracy_is():
    rng = np.random.default_rng(4)
    truth = rng.integers(1, 5, 300)
    near = np.where(truth % 2 == 1, truth + 1, truth - 1)  # another class on the same side of 3
    rows = [("exact", k, value) for k, value in enumerate(truth)]
    rows += [("exact too", k, value) for k, value in enumerate(truth)]
    rows += [("near", k, value) for k, value in enumerate(near)]
    prefs = judged([(agent, "t", f"d{k}", value) for agent, k, value in rows])
    found = crowd.reliability(prefs, gold_of(truth), relevant=3)
    assert found.accuracy.tolist() == [1, 1, 1]
    assert (found.estimated > 0.95).all()
    assert crowd.reliability(prefs, gold_of(truth)).estimated[2] < 0.1
    yes_no = judged()
    told = cc.rank(yes_no, "dawid-skene").agents
    assert crowd.reliability(yes_no).estimated.tolist() == pytest.approx([told[name] for name in yes_no.agents])


def test_the_note_of_the_command_names_its_option(tmp_path, capsys):
    (tmp_path / "j.csv").write_text("agent,item,rating\nann,d1,1\nann,d2,2\nbob,d1,3\n")
    (tmp_path / "g.csv").write_text("item,label\nd1,1\nd2,2\n")
    with pytest.raises(SystemExit):
        main(["crowd", str(tmp_path / "j.csv"), "--labels", str(tmp_path / "g.csv")])
    assert "give --relevant for yes/no" in capsys.readouterr().err
