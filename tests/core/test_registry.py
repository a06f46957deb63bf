import subprocess
import sys
from dataclasses import dataclass

import pytest
from tests.conftest import ROOT

import concordant as cc
from concordant import registry
from concordant.params import check_params, param, params_of, values_of


def test_names_match_in_any_spelling() -> None:
    assert registry.resolve("Ranked_Pairs")[0] == "ranked-pairs"
    assert registry.resolve("CombMNZ") == ("comb", {"combine": "mnz"})


@pytest.mark.parametrize(
    ("kind", "name", "entry"),
    [
        ("methods", "theta-mpm", "mpm"),
        ("methods", "pmop", "ordered-partitions"),
        ("methods", "cohen", "greedy-order"),
        ("methods", "lr-logR", "expert-ranker"),
        ("methods", "BordaCount", "borda"),
        ("methods", "Spearman footrule", "footrule"),
        ("learners", "pmop", "ordered-partition-ranker"),
        ("learners", "cohen", "pairwise-ranker"),
        ("learners", "Ranking SVM", "rank-svm"),
        ("learners", "Rank Regress", "rank-regressor"),
        ("learners", "PairTies-D", "davidson-ranker"),
        ("learners", "PairTies-RK", "rao-kupper-ranker"),
        ("recommenders", "pmop", "ordered-partition-mf"),
    ],
)
def test_names_from_the_papers_are_known(kind: str, name: str, entry: str) -> None:
    assert registry.KINDS[kind].resolve(name).name == entry


def test_an_unknown_name_gets_a_suggestion() -> None:
    with pytest.raises(cc.UnknownNameError, match="Did you mean borda"):
        registry.make("bordda")


def test_an_unknown_parameter_gets_a_suggestion() -> None:
    with pytest.raises(cc.ParameterError, match="borda has no parameter 'missin'"):
        registry.make("borda", missin="last")


def test_every_method_is_a_public_class() -> None:
    assert cc.Borda().rank(cc.Preferences.from_rankings([["a", "b"]])).items == ["a", "b"]
    assert "Schulze" in dir(cc)
    with pytest.raises(AttributeError):
        _ = cc.Nonsense


@dataclass(frozen=True)
class Sample:
    depth: int = param(3, "how deep", low=1, high=9)
    share: float | None = param(None, "how much", low=0.0)
    kind: str = param("a", "which", choices=("a", "b"))
    loud: bool = param(False, "whether")


def test_parameters_are_declared_once() -> None:
    depth, share, kind, loud = params_of(Sample)
    assert (depth.kind, depth.option, depth.range_text()) == (int, "--depth", "between 1 and 9")
    assert share.optional
    assert kind.choices == ("a", "b")
    assert loud.kind is bool
    assert values_of(Sample()) == {"depth": 3, "share": None, "kind": "a", "loud": False}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"depth": 0}, "between 1 and 9"),
        ({"depth": 2.5}, "a whole number"),
        ({"depth": True}, "a whole number"),
        ({"share": -1.0}, "of at least 0"),
        ({"share": float("nan")}, "out of range"),
        ({"kind": "c"}, "is not valid"),
        ({"loud": 1}, "True or False"),
    ],
)
def test_a_parameter_out_of_range_is_refused(given: dict[str, object], message: str) -> None:
    with pytest.raises(cc.ParameterError, match=message):
        check_params(Sample(**given))  # type: ignore[arg-type]


def test_a_method_says_what_it_needs() -> None:
    prefs = cc.Preferences.from_rankings([["a", "b"]])
    with pytest.raises(cc.NeedError, match="from_ranks or from_ratings"):
        cc.rank(prefs, "combsum")
    with pytest.raises(cc.InputError, match="nothing to rank"):
        cc.rank(cc.Preferences.from_rankings([]), "borda")
    with pytest.raises(cc.InputError, match="The data must be preferences, a DataFrame or file names, not list"):
        cc.rank([["a"]])  # type: ignore[arg-type]


def test_the_default_method_fits_the_form() -> None:
    from concordant.api import default_method

    ranks = cc.Preferences.from_ranks(["e", "e"], ["a", "b"], [1, 1], instance=["q1", "q2"])
    assert default_method(ranks) == "rrf"
    assert default_method(cc.Preferences.from_rankings([["a", "b", "c"]])) == "borda"
    assert default_method(cc.Preferences.from_rankings([["a", ["b", "c"]]])) == "approval"


def test_every_metric_stands_in_the_file_of_its_name() -> None:
    for name, module in registry.METRICS.modules().items():
        assert (registry.METRICS.load(name).name, registry.METRICS.load(name).__module__) == (name, module)


def test_the_stub_of_public_names_is_up_to_date() -> None:
    script = ROOT / "tools" / "make_stub.py"
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_method_has_a_usual_name_of_its_own() -> None:
    titles = {name: registry.title_of(name) for name in registry.names()}
    assert len(set(titles.values())) == len(titles)
    for name, title in titles.items():
        assert title[0].isupper(), name
        assert "_" not in title
        assert title not in (name, name.upper()) or name in ("ulara",), f"{name} is an id, not a name"


def test_usual_names_hold_for_every_spelling_and_for_aliases() -> None:
    assert registry.title_of("Glicko_2") == registry.title_of("glicko2") == "Glicko-2"
    assert registry.title_of("irv") == "Instant runoff"
    assert registry.title_of("combmnz") == "CombMNZ"
    assert registry.title_of("mc4") == "Markov chain (mc4)"


def test_an_unknown_name_is_shown_in_words() -> None:
    assert registry.title_of("their-own_rule") == "Their own rule"
    assert registry.title_of("") == ""
