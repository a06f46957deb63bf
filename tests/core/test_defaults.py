"""An ordinary file gets a sensible answer without an option: one test per kind of file."""

import csv
import io
import tarfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import Run

import concordant as cc
from concordant import api, registry
from concordant.params import params_of

MODELS = [f"model {k}" for k in "hbgadfce"]  # the true order, best first, is not the alphabet's


def write_table(path: Path, header: str, rows: Sequence[Sequence[object]]) -> Path:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(header.split(","))
    writer.writerows(rows)
    path.write_text(text.getvalue())
    return path


def duels(n: int, tied: float = 0.0, seed: int = 0) -> list[tuple[str, str, float]]:
    """Draw duels of the models: (left, right, 1 where the left one won, 0 for a tie, -1)."""
    rng = np.random.default_rng(seed)
    score = np.linspace(2, -2, len(MODELS))
    drawn = []
    for _ in range(n):
        a, b = rng.choice(len(MODELS), 2, replace=False)
        won = rng.random() < 1 / (1 + np.exp(score[b] - score[a]))
        drawn.append((MODELS[a], MODELS[b], 0.0 if rng.random() < tied else 1.0 if won else -1.0))
    return drawn


def kendall(items: list[str]) -> float:
    place = [MODELS.index(item) for item in items]
    kept = sum(a < b for k, a in enumerate(place) for b in place[k + 1 :])
    return 4 * kept / (len(place) * (len(place) - 1)) - 1


@pytest.fixture
def arena(tmp_path: Path) -> Path:
    """A file as model comparison sites publish them: identifiers, judges and languages beside the votes."""
    words = {1.0: "model_a", -1.0: "model_b", 0.0: "tie (bothbad)"}
    rows = [
        (f"q{k:05d}", left, right, words[side], f"judge {k % 97}", ["English", "German"][k % 2], 1, 1.6e9 + k)
        for k, (left, right, side) in enumerate(duels(3000, 0.03))
    ]
    return write_table(tmp_path / "arena.csv", "question_id,model_a,model_b,winner,judge,language,turn,tstamp", rows)


# ---- the table of defaults ----
RANKED = [["a", "b", "c"], ["a", "c", "b"], ["b", "a", "c"]]
TWO_TEAMS = [
    (match, place, player, place)
    for match, teams in enumerate([("ab", "cd"), ("ac", "bd"), ("ad", "bc"), ("bc", "ad")] * 3)
    for place, team in enumerate(teams, 1)
    for player in team
]
A_FILE_OF_EACH_KIND = [
    ("pairs", "", "winner,loser", [("a", "b")] * 3 + [("b", "c"), ("a", "c")]),
    (
        "pairs",
        "more than 5% of the pairs are ties",
        "left,right,outcome",
        [("a", "b", "left")] * 3 + [("b", "c", "tie"), ("b", "c", "left")],
    ),
    ("rankings", "", "first,second,third", RANKED),
    ("rankings", "", "ranking", [(" > ".join(row),) for row in RANKED]),
    (
        "rankings",
        "the same agents rank in several instances",
        "query,engine,doc,rank",
        [(q, e, d, r + 1) for q in "pq" for e in "xyz" for r, d in enumerate("abc")],
    ),
    ("ratings", "", "user,film,rating", [(u, f, r) for u in "xyz" for f, r in zip("abc", (5, 3, 1), strict=True)]),
    ("approvals", "", "ranking", [("a = b > c = d",), ("a > b = c = d",)]),
    (
        *("rankings", "they name the best and the worst item of sets", "item1,item2,item3,item4,best,worst"),
        [("a", "b", "c", "d", "a", "d"), ("a", "c", "d", "e", "a", "e"), ("b", "c", "d", "e", "b", "c")],
    ),
    (
        *("ratings", "they count how often items were best and worst", "item,totals,bests,worsts"),
        [("a", 10, 6, 1), ("b", 10, 3, 3), ("c", 12, 2, 5)],
    ),
    ("choices", "", "ranking,open", [("a > b = c", 1), ("a > b = d", 1), ("b > c = d", 1)]),
    (
        *("ratings", "all ratings are equal", "voter,item,rating"),
        [("ann", "a", 1), ("ann", "b", 1), ("bob", "a", 1), ("cyd", "c", 1), ("cyd", "a", 1)],
    ),
    ("teams", "", "ballot,team,item,rank", TWO_TEAMS),
    (
        "teams",
        "a match has more than two teams",
        "ballot,team,item,rank",
        [*TWO_TEAMS, (99, 1, "a", 1), (99, 2, "b", 2), (99, 3, "c", 3)],
    ),
    ("top-k", "", "ranking,open", [("a > b > c = d", 1), ("a > c > b = d", 1)]),
]


@pytest.mark.parametrize(("form", "when", "header", "rows"), A_FILE_OF_EACH_KIND)
def test_every_kind_of_file_has_its_method(
    tmp_path: Path, run: Run, form: str, when: str, header: str, rows: list[tuple[object, ...]]
) -> None:
    path = write_table(tmp_path / "file.csv", header, rows)
    prefs = cc.read(path)
    assert prefs.form == form
    row = api.default_choice(prefs)
    assert (row.form, row.when) == (form, when)
    ranking = cc.rank(prefs)
    assert ranking.method == registry.make(row.method).name
    assert next(iter(ranking)).items[0] == "a"
    code, _, said = run("rank", path)
    assert code == 0
    assert f"ranked by {row.method}, because the data are {row.reason}" in said


def test_every_row_of_the_table_is_tested() -> None:
    assert {(row.form, row.when) for row in api.DEFAULTS} == {(form, when) for form, when, _, _ in A_FILE_OF_EACH_KIND}


# ---- pairs ----
def test_an_arena_file_gives_one_ranking_in_the_true_order(arena: Path, run: Run) -> None:
    ranking = cc.rank(cc.read(arena))
    assert ranking.method in ("bradley-terry", "davidson")
    assert kendall(ranking.items) > 0.9
    code, out, said = run("rank", arena)
    assert code == 0
    assert len(out.splitlines()) == 2 + len(MODELS)
    assert "not read: question_id" in said


def test_pairs_are_never_fused_by_rank(arena: Path) -> None:
    ranking = cc.rank(cc.read(arena, instance="language"))
    assert ranking.method in ("bradley-terry", "davidson")
    assert all(kendall(part.items) > 0.8 for part in ranking)
    rows = {"instance": ["p", "p", "q", "q"], "agent": ["x", "y", "x", "y"]}
    small = cc.rank(cc.Preferences.from_pairs(["a", "b", "a", "b"], ["b", "c", "b", "c"], **rows))
    assert small.method == "bradley-terry"
    assert all(part.items == ["a", "b", "c"] for part in small)


def test_describe_recommends_what_rank_does(arena: Path) -> None:
    prefs = cc.read(arena, instance="language")
    assert "rrf" not in {advice.method for advice in prefs.describe().methods}
    assert api.default_method(prefs) in {advice.method for advice in prefs.describe().methods}


def test_outcomes_may_stand_in_a_column_each(tmp_path: Path) -> None:
    rows = [
        (k, left, right, f"prompt {k}", "yes", "no", int(side > 0), int(side < 0), int(side == 0))
        for k, (left, right, side) in enumerate(duels(3000, 0.3))
    ]
    header = "id,model_a,model_b,prompt,response_a,response_b,winner_model_a,winner_model_b,winner_tie"
    prefs = cc.read(write_table(tmp_path / "votes.csv", header, rows))
    assert prefs.n_instances == 1
    assert api.default_method(prefs) == "davidson"
    assert kendall(cc.rank(prefs).items) > 0.9
    merged = cc.read(tmp_path / "votes.csv", merge=True)
    assert merged.weight.sum() == 3000
    assert cc.rank(merged).items == cc.rank(prefs).items
    rows[7] = (*rows[7][:6], 1, 1, 0)
    with pytest.raises(cc.InputError, match="line 9: 2 outcomes are true, not one"):
        cc.read(write_table(tmp_path / "odd.csv", header, rows))


def test_a_name_is_taken_rather_than_an_identifier(tmp_path: Path) -> None:
    path = write_table(tmp_path / "games.csv", "winner_id,winner_name,loser_id,loser_name", [(1, "Ann", 2, "Bob")])
    assert cc.read(path).items.labels == ["Ann", "Bob"]
    with pytest.raises(cc.InputError, match="could each be the winner"):
        cc.read(path, strict=True)


# ---- instances ----
def test_a_column_that_numbers_the_rows_is_no_instance(tmp_path: Path) -> None:
    rows = [(f"q{k}", f"judge {k % 3}", f"item {k // 3}", 1 + k % 5) for k in range(30)]
    path = write_table(tmp_path / "ratings.csv", "question_id,judge,item,rating", rows)
    prefs = cc.read(path)
    assert prefs.instances is None
    assert "question_id identifies rows and is not used as the instance" in prefs.notes[0]
    assert cc.read(path, instance="question_id").n_instances == 30
    with pytest.raises(cc.InputError, match="question_id identifies rows"):
        cc.read(path, strict=True)


@pytest.mark.parametrize("off", [None, "none", "None"])
def test_none_switches_a_role_off(tmp_path: Path, off: str | None) -> None:
    rows = [(q, e, d, r + 1) for q in "pq" for e in "xyz" for r, d in enumerate(f"{q}{k}" for k in range(3))]
    path = write_table(tmp_path / "runs.csv", "query,engine,doc,rank", rows)
    assert cc.read(path).n_instances == 2
    assert cc.read(path, instance=off).n_instances == 1
    votes = write_table(tmp_path / "votes.csv", "winner,loser,judge,weight", [("a", "b", "x", 2), ("a", "b", "y", 3)])
    plain = cc.read(votes, agent=off, weight=off)
    assert plain.agents is None
    assert plain.weight.tolist() == [1, 1]
    assert cc.read(votes, time=off, merge=True).weight.tolist() == [5]


# ---- duels and short ballots ----
SHORT = [["ann", "bob"]] * 60 + [["bob", "ann"]] * 39 + [["zed", "ann"]]


@pytest.mark.parametrize("method", [None, "schulze", "borda", "copeland", "minimax", "ranked-pairs", "kemeny"])
def test_a_short_ballot_is_no_duel(tmp_path: Path, method: str | None) -> None:
    for prefs in (
        cc.Preferences.from_rankings(SHORT),
        cc.read(write_table(tmp_path / "ballots.csv", "first,second", SHORT)),
        cc.Preferences.from_rankings([*SHORT, ["ann", "bob", "zed"]]),
    ):
        assert prefs.form == "rankings"
        assert cc.rank(prefs, method).items[0] == "ann"


def test_a_duel_stays_a_duel_through_every_change(tmp_path: Path) -> None:
    prefs = cc.Preferences.from_pairs(["a", "b", "a"], ["b", "c", "c"], agent=["x", "y", "x"])
    for same in (
        prefs.take([0, 1]),
        prefs.merge(agents=False),
        prefs.select(items=["a", "b"]),
        prefs.select(agents="x"),
        prefs.replace(),
    ):
        assert same.form == "pairs"
    assert prefs.select(items=["a", "b"]).n_ballots == 1
    cc.write(prefs, tmp_path / "pairs.csv")
    assert cc.read(tmp_path / "pairs.csv") == prefs
    short = cc.Preferences.from_rankings([["a", "b"], ["b", "c"]])
    cc.write(short, tmp_path / "short.csv")
    assert cc.read(tmp_path / "short.csv") == short
    assert short != cc.Preferences.from_pairs(["a", "b"], ["b", "c"])


def test_pairs_have_two_items_each() -> None:
    with pytest.raises(cc.InputError, match="two items each"):
        cc.Preferences(["a", "b", "c"], [0, 3], [0, 1, 2], [0, 1, 2], form="pairs")
    with pytest.raises(cc.InputError, match="is not a valid form"):
        cc.Preferences(["a", "b"], [0, 2], [0, 1], [0, 1], form="duels")


# ---- what silence says ----
@pytest.mark.parametrize("seed", range(30))
def test_describe_and_the_rules_agree_on_the_winner(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ballots = [rng.permutation(list("abcde"))[: rng.integers(1, 6)].tolist() for _ in range(15)]
    prefs = cc.Preferences.from_rankings(ballots, candidates="abcde")
    found = prefs.describe()
    winner = found.finding("cyclic").data["condorcet_winner"]
    wins = cc.views.win_matrices(prefs, "last").matrix()
    beats_all = [
        prefs.items[int(prefs.slot_item[k])]
        for k in range(5)
        if (np.delete(wins[k], k) > np.delete(wins[:, k], k)).all()
    ]
    assert [winner] == (beats_all or [None])
    if winner is not None:
        assert {cc.rank(prefs, name).items[0] for name in ("schulze", "copeland", "minimax", "kemeny")} == {winner}


def test_description_does_not_contradict_itself() -> None:
    prefs = cc.Preferences.from_rankings([["a", "b"], ["a", "c"], [["a", "b"], "c"]])
    text = str(prefs.describe())
    assert text.count("connected") == 1
    assert "above and below others" not in text
    assert "ranked last by voting rules" in text


def test_nobody_dislikes_what_they_did_not_rate() -> None:
    agents = ["u", "u", "v", "v", "w", "w", "x"]
    prefs = cc.Preferences.from_ratings(agents, ["seen", "dull"] * 3 + ["gem"], [4, 1, 4, 1, 4, 2, 5])
    assert cc.views.resolve_missing(prefs, "auto") == "ignore"
    assert cc.rank(prefs, "borda").scores[-1] == 0  # dull, not gem


# ---- several files, options, words ----
def test_several_tables_are_one(tmp_path: Path, run: Run) -> None:
    one = write_table(tmp_path / "one.csv", "winner,loser,place", [("a", "b", "x"), ("b", "c", "x")])
    two = write_table(tmp_path / "two.csv", "loser,winner", [("c", "a"), ("d", "c")])
    both = cc.read([one, two])
    assert both == cc.Preferences.from_pairs(["a", "b", "a", "c"], ["b", "c", "c", "d"])
    assert any("not read, because not in every file: place" in note for note in both.notes)
    assert cc.read([one, two], merge=True) == both.merge()
    two.write_text("loser,winner\nc,a\nd,d\n")
    with pytest.raises(cc.InputError, match=r"two\.csv, line 3: 'd' is compared with itself"):
        cc.read([one, two])
    code, out, _ = run("rank", one, one)
    assert code == 0
    assert out.splitlines()[2].split()[1] == "a"


def test_options_of_the_default_method_need_no_method(arena: Path, run: Run) -> None:
    code, out, _ = run("rank", arena, "--prior", "5", "--json")
    assert code == 0
    assert '"prior": 5.0' in out
    code, _, said = run("rank", arena, "--k", "5")
    assert code == 2
    assert "--k is an option of rrf, but these data are ranked by" in said
    code, _, said = run("rank", arena, "--prior", "much")
    assert code == 2
    assert "much" in said
    code, _, said = run("rank", arena, "--nonsense", "5")
    assert code == 2
    assert "--nonsense" in said


def test_the_command_line_speaks_of_its_own_options(tmp_path: Path, run: Run) -> None:
    path = write_table(tmp_path / "odd.csv", "one,two,three", [(1, 2, 3)])
    code, _, said = run("rank", path)
    assert code == 1
    assert "--winner … and --loser …" in said
    assert "winner=" not in said
    both = write_table(tmp_path / "both.csv", "model,team,rank,judge", [("a", "b", 1, "x")])
    code, _, said = run("rank", both)
    assert code == 1
    assert "choose one with --item model" in said
    votes = write_table(tmp_path / "votes.csv", "winner,loser", [("a", "a")])
    code, _, said = run("rank", votes)
    assert code == 1
    assert "use --skip-bad-rows to leave" in said


# ---- real files ----
@pytest.mark.data
def test_movielens_is_led_by_films_people_love(data_folder: Path) -> None:
    ranking = cc.rank(cc.datasets.load("ml-100k", data_folder))
    assert ranking.method == "mpm"
    films = {"Star Wars": "50", "Godfather": "127", "Silence of the Lambs": "98", "Shawshank": "64", "Raiders": "174"}
    assert set(films.values()) <= set(ranking.items[:10])


@pytest.mark.data
@pytest.mark.parametrize(("years", "wanted", "within"), [
    (range(1990, 2025), ("Djokovic", "Nadal", "Federer"), 5),
    (range(2015, 2016), ("Djokovic", "Murray", "Federer"), 4),
])  # fmt: skip
def test_tennis_is_led_by_the_champions(
    data_folder: Path, tmp_path: Path, years: range, wanted: tuple[str, ...], within: int
) -> None:
    with tarfile.open(next((data_folder / "tennis-atp").glob("*.tar.xz"))) as archive:
        archive.extractall(tmp_path, filter="data")
    files = [next(tmp_path.rglob(f"*matches_{year}.csv")) for year in years]
    ranking = cc.rank(cc.read(files))
    assert ranking.method == "bradley-terry"
    first = " ".join(ranking.items[:within])
    assert all(name in first for name in wanted)


@pytest.mark.data
def test_runs_are_fused(data_folder: Path) -> None:
    runs = sorted((data_folder / "trec-robust03" / "runs").glob("*"))[:3]
    assert cc.rank(cc.read(runs)).method == "rrf"


@pytest.mark.data
def test_describe_and_the_rules_agree_on_dublin(data_folder: Path) -> None:
    with tarfile.open(data_folder / "preflib" / "preflib.tar.xz") as archive:
        name = next(n for n in archive.getnames() if n.endswith("00001-00000001.soi"))
        stream = archive.extractfile(name)
        assert stream is not None
        prefs = cc.read(io.BytesIO(stream.read()), format="preflib")
    winner = prefs.describe().finding("cyclic").data["condorcet_winner"]
    assert winner is not None
    assert {cc.rank(prefs, name).items[0] for name in ("schulze", "copeland", "minimax", "ranked-pairs")} == {winner}


def test_every_method_says_what_silence_means() -> None:
    for name in registry.modules():
        method = registry.load(name)
        has_option = any(declared.name == "missing" for declared in params_of(method))
        assert bool(method.silence) != has_option, name
