import csv
import gzip
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cases import PLAIN_KEYS
from tests.conftest import ROOT, Run

import concordant as cc
from concordant import learn, registry
from concordant.cli.__main__ import commands
from concordant.cli.reproduce import command as reproduce
from concordant.support import progress

EXAMPLES = ROOT / "examples"
VOTES = "winner,loser\na,b\na,b\nb,c\na,c\n"


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    path = tmp_path / "votes.csv"
    path.write_text(VOTES)
    return path


def test_help_lists_every_command_and_every_command_has_examples(run: Run) -> None:
    code, out, _ = run("--help")
    assert code == 0
    for command in commands():
        assert command in out
        code, text, _ = run(command, "--help")
        assert code == 0
        assert "Examples:" in text


def test_every_example_of_the_help_names_real_options(run: Run) -> None:
    for command in commands():
        _, text, _ = run(command, "--help")
        shown = text.partition("Examples:")[2]
        used = {word for word in shown.split() if word.startswith("--")}
        methods = [words.split()[0] for words in shown.split("--method ")[1:]]
        if command == "reproduce":
            text += "".join(run(command, name, "--help")[1] for name in reproduce.commands)
        for method in methods:
            if method in (*registry.names(), *learn.modules()) or registry.fold(method).startswith("comb"):
                text += run(command, "--method", method, "--help")[1]
        known = text.partition("Examples:")[0] + text
        assert all(f"  {word}" in known or f"{word} " in known for word in used), (command, used)


def test_python_can_run_the_package(run: Run) -> None:
    done = subprocess.run([sys.executable, "-m", "concordant", "--version"], capture_output=True, text=True)
    assert done.stdout == run("--version")[1]


def test_the_version_names_the_kernels(run: Run) -> None:
    assert "kernels" in run("--version")[1]


def test_ranking_a_csv_prints_a_table(run: Run, votes: Path) -> None:
    code, out, err = run("rank", votes, "--method", "borda")
    assert code == 0
    assert [line.split()[1] for line in out.splitlines()[2:]] == ["a", "b", "c"]
    assert "3 pairs" in err or "4 pairs" in err


def test_json_has_the_promised_keys_for_every_method(run: Run, tmp_path: Path) -> None:
    ballots = tmp_path / "ratings.csv"
    ballots.write_text("user,item,rating\nu,a,3\nu,b,1\nv,a,2\nv,b,5\nv,c,4\n")
    for method in registry.modules():
        if registry.load(method).needs - {"agents", "values"}:
            continue
        code, out, err = run("rank", ballots, "--method", method, "--json")
        assert code == 0, (method, err)
        data = json.loads(out)
        assert list(data) == PLAIN_KEYS
        assert list(data["instances"][0]["items"][0])[:5] == [
            "item",
            "rank",
            "score",
            "low",
            "high",
        ]  # or more
        assert sorted(item["item"] for item in data["instances"][0]["items"]) == ["a", "b", "c"]


def test_csv_output_reads_back(run: Run, votes: Path) -> None:
    _, out, _ = run("rank", votes, "--method", "borda", "--csv", "--top", "2")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["item"] for row in rows] == ["a", "b"]
    assert list(rows[0])[:3] == ["rank", "item", "score"]


def test_items_on_few_ballots_are_left_out_and_counted(run: Run, tmp_path: Path) -> None:
    ratings = tmp_path / "ratings.csv"
    rows = [f"u{k},{film},{stars - k % 2}" for k in range(6) for film, stars in (("good", 5), ("poor", 2))]
    ratings.write_text("\n".join(["user,item,rating", *rows, "u9,once,5"]) + "\n")
    _, everything, _ = run("rank", ratings, "--method", "mean", "--csv")
    assert [row["item"] for row in csv.DictReader(io.StringIO(everything))] == ["once", "good", "poor"]
    _, out, err = run("rank", ratings, "--method", "mean", "--min-ballots", "2", "--csv")
    assert [row["item"] for row in csv.DictReader(io.StringIO(out))] == ["good", "poor"]
    assert "left out 1 of 3 items that are on fewer than 2 ballots" in err
    _, out, err = run("compare", ratings, "--methods", "mean,mpm", "--min-ballots", "2")
    assert "once" not in out
    assert "left out 1 of 3 items" in err
    code, _, err = run("rank", ratings, "--min-ballots", "7")
    assert code != 0
    assert "the maximum is 6" in err


def test_output_goes_to_a_file(run: Run, votes: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    run("rank", votes, "--json", "-o", target)
    assert json.loads(target.read_text())["instances"][0]["items"][0]["item"] == "a"


def test_standard_input_and_output(votes: Path) -> None:
    command = [sys.executable, "-m", "concordant.cli", "rank", "-", "--csv"]
    done = subprocess.run(command, input=VOTES, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1].split(",")[1] == "a"
    converted = subprocess.run(
        [sys.executable, "-m", "concordant.cli", "convert", str(votes), "-", "--to", "jsonl"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(converted.stdout.splitlines()[0])


def test_a_reader_that_leaves_early_is_no_error(votes: Path) -> None:
    script = f"{sys.executable} -m concordant.cli rank {votes} | true"
    done = subprocess.run(script, shell=True, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr


def test_a_method_brings_its_own_options(run: Run, votes: Path) -> None:
    _, text, _ = run("rank", "--method", "borda", "--help")
    assert "--missing" in text
    code, out, _ = run("rank", votes, "--method", "borda", "--missing", "last", "--json")
    assert code == 0
    assert json.loads(out)["params"]["missing"] == "last"
    code, _, err = run("rank", votes, "--method", "plurality", "--missing", "last")
    assert code == 2
    assert "--missing" in err


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["rank"], 2, "Missing argument"),
        (["rank", "nowhere.csv"], 1, "nowhere.csv"),
        (["rnak", "votes.csv"], 2, "Did you mean rank"),
        (["rank", "{votes}", "--method", "bordda"], 2, "Did you mean borda"),
        (["rank", "{votes}", "--winner", "who"], 1, "who"),
        (["rank", "{votes}", "--method", "rrf", "--k", "-5"], 1, "--k -5"),
        (["rank", "{votes}", "--method", "rrf", "--k", "x"], 2, "not a valid float"),
        (["rank", "{votes}", "--method", "combsum"], 1, "cannot rank this data"),
        (["evaluate", "{votes}", "--labels", "nowhere.txt"], 1, "nowhere.txt"),
        (["reproduce", "metasearch", "--data", "nowhere"], 1, "nowhere"),
        (["reproduce", "metasearch", "--set", "MQ2009", "--data", "."], 1, "MQ2009"),
        (["methods", "nonsense"], 1, "no method 'nonsense'"),
    ],
)
def test_user_errors_are_one_sentence_without_a_traceback(
    run: Run, votes: Path, args: list[str], code: int, message: str
) -> None:
    got, _, err = run(*(arg.format(votes=votes) for arg in args))
    assert got == code
    assert message in err
    assert "Traceback" not in err


@pytest.mark.parametrize("content", ["", "winner,loser\n", "a;b\x00c", "winner,loser\na,a\n", "winner\na\n", "\n\n\n"])
def test_bad_files_never_show_a_traceback(run: Run, tmp_path: Path, content: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(content)
    for command in ("rank", "describe", "compare"):
        code, _, err = run(command, path)
        assert code in (1, 2)
        assert err.startswith("Error: ")
        assert "Traceback" not in err


def test_describe_says_what_the_data_is(run: Run, votes: Path) -> None:
    assert "pairs" in run("describe", votes)[1]
    data = json.loads(run("describe", votes, "--json")[1])
    assert (data["form"], data["n_items"], data["never_lost"]) == ("pairs", 3, ["a"])


def test_compare_shows_agreement(run: Run, votes: Path) -> None:
    code, out, _ = run("compare", votes, "--methods", "borda,copeland", "--json")
    data = json.loads(out)
    assert code == 0
    assert data["tau"] == [[1.0, 1.0], [1.0, 1.0]]
    assert data["methods"][0]["distance"] == 0.0
    assert "tau copeland" in run("compare", votes, "--methods", "borda,copeland")[1]
    assert run("compare", votes, "--csv")[1].startswith("method,ranking,distance,")


def test_convert_round_trips(run: Run, votes: Path, tmp_path: Path) -> None:
    packed = tmp_path / "votes.jsonl.gz"
    assert run("convert", votes, packed, "--merge")[0] == 0
    assert gzip.decompress(packed.read_bytes())
    rows = json.loads(run("rank", packed, "--method", "borda", "--json")[1])["instances"][0]["items"]
    assert [row["item"] for row in rows] == ["a", "b", "c"]
    assert "csv" in run("convert", "--formats")[1]


def test_fused_runs_are_named_by_their_settings(run: Run, tmp_path: Path) -> None:
    runs = sorted((EXAMPLES / "runs").glob("*.run"))[:2]
    asked = {
        "combsum": ["-m", "combsum"],
        "combmnz": ["-m", "comb", "--combine", "mnz"],
        "combmnz-normalise-z-score": ["-m", "combmnz", "--normalise", "z-score"],
        "rrf": [],
        "rrf-k-30": ["--k", "30"],
        "rrf-weights-2-1": ["--weights", "2,1"],
        "borda": ["-m", "borda"],
    }
    for name, options in asked.items():
        code, out, err = run("fuse", *runs, *options)
        assert code == 0, err
        assert out.split("\n")[0].split()[5] == f"concordant-{name}"
    for method in ("combsum", "combmnz"):
        cc.write(cc.rank(cc.read(runs), method), tmp_path / "x.run")
        assert (tmp_path / "x.run").read_text().split()[5] == method


def test_runs_with_one_tag_are_named_by_file(run: Run, tmp_path: Path) -> None:
    one, two = sorted((EXAMPLES / "runs").glob("*.run"))[:2]
    tag = one.read_text().split()[5]
    copy = tmp_path / "copy.run"
    copy.write_text("".join(" ".join([*line.split()[:5], tag]) + "\n" for line in two.read_text().splitlines()))
    code, _, err = run("evaluate", one, copy, "--labels", EXAMPLES / "qrels.txt")
    assert code == 1
    assert f"{one} and {copy} both contain a system named '{tag}'" in err
    assert "fuse --tag NAME" in err


def test_a_baseline_is_checked_before_the_work(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = sorted((EXAMPLES / "runs").glob("*.run"))[:2]
    tags = [path.read_text().split()[5] for path in runs]
    monkeypatch.setattr("concordant.evaluation.evaluate", lambda *_, **__: pytest.fail("it was evaluated"))
    code, _, err = run("evaluate", *runs, "--labels", EXAMPLES / "qrels.txt", "--baseline", "nobody")
    assert code == 2
    assert f"there is no system 'nobody'. The systems are {tags[0]}, {tags[1]}." in err


def test_what_holds_of_all_runs_is_said_once(run: Run, tmp_path: Path) -> None:
    runs = sorted((EXAMPLES / "runs").glob("*.run"))[:3]
    lines = (EXAMPLES / "qrels.txt").read_text().splitlines(keepends=True)
    first = lines[0].split()[0]
    (tmp_path / "some.qrels").write_text("".join(line for line in lines if line.split()[0] != first))
    _, _, err = run("evaluate", *runs, "--labels", tmp_path / "some.qrels")
    assert err.count("ranked instance has no labels") == 1
    assert f"warning: unjudged-instances: 1 ranked instance has no labels ({first}): left out." in err
    short = tmp_path / "short.run"
    kept = [line for line in runs[0].read_text().splitlines(keepends=True) if line.split()[0] != first]
    short.write_text("".join(kept))
    _, _, err = run("evaluate", short, *runs[1:], "--labels", EXAMPLES / "qrels.txt")
    assert f"warning: {kept[0].split()[5]}: missing-instances" in err
    _, _, err = run("train-fusion", *runs, "--labels", tmp_path / "some.qrels", "--validation", "0")
    assert err.count("note: 1 topic without judgements left out") == 1


def test_fused_runs_evaluate_better_than_their_parts(run: Run, tmp_path: Path) -> None:
    runs = sorted((EXAMPLES / "runs").glob("*.run"))
    fused = tmp_path / "fused.run"
    assert run("fuse", *runs, "-o", fused, "--depth", "10", "--tag", "fused")[0] == 0
    assert len(fused.read_text().splitlines()[0].split()) == 6
    code, out, err = run("evaluate", fused, *runs, "--labels", EXAMPLES / "qrels.txt", "--metric", "ndcg@10", "--json")
    assert code == 0, err
    data: dict[str, Any] = json.loads(out)
    means = {system["system"]: system["means"]["ndcg@10"] for system in data["systems"]}
    assert means["fused"] >= max(value for name, value in means.items() if name != "fused") - 0.05
    assert {"metric", "baseline", "system", "difference", "p", "p_holm", "significant"} <= set(data["tests"][0])
    table = run("evaluate", fused, *runs, "--labels", EXAMPLES / "qrels.txt", "--baseline", "fused")[1]
    assert "p (Holm)" in table
    every = run("evaluate", fused, "--labels", EXAMPLES / "qrels.txt", "--per-instance", "--csv")[1]
    assert every.splitlines()[0].startswith("system,instance,")
    assert run("evaluate", fused, fused, "--labels", EXAMPLES / "qrels.txt")[0] == 1


def test_methods_and_metrics_are_listed_and_explained(run: Run) -> None:
    listed = run("methods")[1]
    assert all(name in listed for name in registry.modules())
    assert "Parameters:" in run("methods", "rrf")[1]
    facts = json.loads(run("methods", "combmnz", "--json")[1])
    assert "combsum" in facts["aliases"]
    assert len(json.loads(run("methods", "--json")[1])) == len(registry.names())
    assert "ndcg" in run("metrics")[1]
    assert {"name", "kind", "doc", "options"} == set(json.loads(run("metrics", "--json")[1])[0])


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_printed(run: Run, shell: str) -> None:
    assert "_CONCORDANT_COMPLETE" in run("completion", shell)[1]


def test_the_shell_completes_method_names() -> None:
    environment = {**os.environ, "_CONCORDANT_COMPLETE": "bash_complete", "COMP_WORDS": "concordant rank --method sch"}
    environment["COMP_CWORD"] = "3"
    code = "from concordant.cli.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert "schulze" in done.stdout


@pytest.mark.data
@pytest.mark.parametrize(
    ("dataset", "row"),
    [
        ("MQ2008-agg", [38.77, 40.73, 43.48, 45.70, 47.18, 44.89, 41.32, 38.82, 36.51, 34.13, 47.71]),
        ("MQ2007-agg", [41.93, 42.66, 42.42, 42.73, 43.13, 48.70, 47.20, 44.84, 43.52, 42.52, 46.72]),
    ],
)
def test_metasearch_prints_the_published_row(run: Run, data_folder: Path, dataset: str, row: list[float]) -> None:
    """The RRF rows of Volkovs, Larochelle and Zemel (2012), table 3 (MQ2008-agg N@5 is 47.175, printed 47.17 there)."""
    args = ("reproduce", "metasearch", "--data", data_folder, "--set", dataset, "--methods", "rrf")
    code, out, _ = run(*args, "--json")
    assert code == 0
    (found,) = json.loads(out)["rows"]
    columns = [*(f"N@{k}" for k in range(1, 6)), *(f"P@{k}" for k in range(1, 6)), "MAP"]
    assert [found[column] for column in columns] == pytest.approx(row, abs=0.01)
    assert found["published"]["N@1"] == row[0]
    assert "published" in run(*args)[1]


def test_runs_are_compared_over_the_same_queries(run: Run, tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1 0 d1 1\n2 0 d1 1\n3 0 d1 1\n")
    (tmp_path / "one").write_text("1 Q0 d1 1 9 one\n2 Q0 d1 1 9 one\n9 Q0 d1 1 9 one\n")
    (tmp_path / "two").write_text("1 Q0 d2 1 9 two\n1 Q0 d1 2 8 two\n2 Q0 d1 1 9 two\n3 Q0 d1 1 9 two\n")
    args = ("evaluate", tmp_path / "one", tmp_path / "two", "--labels", tmp_path / "qrels", "--metric", "recip_rank")
    code, out, err = run(*args, "--json")
    assert code == 0
    systems = {system["system"]: system for system in json.loads(out)["systems"]}
    assert systems["one"]["means"]["mrr"] == pytest.approx(2 / 3)
    assert systems["two"]["means"]["mrr"] == pytest.approx(2.5 / 3)
    assert (systems["one"]["missing"], systems["one"]["unjudged"]) == (["3"], ["9"])
    assert "means over 3 of 3 judged queries" in err
    assert "warning: one: missing-instances: 1 of 3" in err
    assert "--queries shared" in err
    code, out, err = run(*args, "--json", "--queries", "shared")
    means = [system["means"]["mrr"] for system in json.loads(out)["systems"]]
    assert means == pytest.approx([1.0, 0.75])
    assert "means over 2 of 3 judged queries" in err
    (tmp_path / "tied").write_text("1 Q0 d1 1 9 tied\n1 Q0 d2 2 9 tied\n")
    args = ("evaluate", tmp_path / "tied", "--labels", tmp_path / "qrels", "--metric", "mrr", "--queries", "shared")
    assert "--ties average" in run(*args)[2]
    assert "0.7500" in run(*args, "--ties", "average")[1]


def test_weights_of_runs_decide_the_fusion(run: Run, tmp_path: Path) -> None:
    for name, first, second in (("one", "d1", "d2"), ("two", "d2", "d1")):
        (tmp_path / name).write_text(f"1 Q0 {first} 1 9 {name}\n1 Q0 {second} 2 8 {name}\n")
    files = [str(tmp_path / name) for name in ("one", "two")]
    assert run("fuse", *files, "--weights", "3,1")[1].split()[2] == "d1"
    assert run("fuse", *files, "--weights", "1,3")[1].split()[2] == "d2"
    for wrong in ("1", "1,x", "-1,1", "0,0"):
        code, _, err = run("fuse", *files, f"--weights={wrong}")
        assert code == 2
        assert "--weights" in err


def test_metrics_of_skipped_instances_are_said_and_are_no_nan(run: Run, tmp_path: Path) -> None:
    labels = tmp_path / "none.txt"
    labels.write_text("1 0 nothing 0\n")
    one = sorted((EXAMPLES / "runs").glob("*.run"))[0]
    args = ("evaluate", one, "--labels", labels, "--metric", "ndcg@5:skip")
    code, out, _ = run(*args, "--json")
    assert code == 0
    assert json.loads(out)["systems"][0]["means"] == {"ndcg@5:skip": None}
    assert "skipped" in run(*args, "--per-instance")[1]


def test_kemeny_says_whether_its_ranking_is_proven(run: Run, tmp_path: Path) -> None:
    simulated = tmp_path / "votes.csv"
    run("simulate", "mallows", "--items", 30, "--ballots", 5, "--phi", 0.99, "-o", simulated)
    _, out, _ = run("rank", simulated, "--method", "kemeny")
    assert "proven optimal" in out
    _, out, err = run("rank", simulated, "--method", "kemeny", "--time-limit", 0)
    assert re.search(r"within \d[.\d]*% of the smallest total distance", out)
    assert "before optimality was proven" in err
    assert "--time-limit extends the search" in err


def test_kemeny_reports_how_far_it_has_come(run: Run, tmp_path: Path) -> None:
    simulated = tmp_path / "votes.csv"
    run("simulate", "mallows", "--items", 30, "--ballots", 5, "--phi", 0.99, "-o", simulated)
    shown: list[str] = []
    with progress.listen(lambda now: shown.append(now.text)):
        run("rank", simulated, "--method", "kemeny")
    assert "ranking by Kemeny" in shown
    assert [text for text in shown if "within" in text][-1].endswith("within 0%")


def test_the_command_line_says_which_prior_was_chosen_and_sorts_by_the_low_end(run: Run, tmp_path: Path) -> None:
    votes = tmp_path / "votes.csv"
    rows = ["new,b"] * 2 + ["known,b"] * 60 + ["b,known"] * 15
    votes.write_text("\n".join(["winner,loser", *rows]) + "\n")
    code, out, err = run("rank", votes, "--prior", "auto", "--csv", "--sort", "low")
    assert code == 0
    assert out.splitlines()[1].split(",")[1] == "known"
    code, out, err = run("rank", votes)
    assert "chosen by marginal likelihood; use --prior to change it" in err
    code, out, err = run("rank", votes, "--prior", "0.01")
    assert "chosen by evidence" not in err
    code, _, err = run("rank", votes, "--method", "borda", "--sort", "low")
    assert code != 0
    assert "borda computes no intervals here" in err
    code, _, err = run("rank", votes, "--method", "bradley-terry", "--prior", "much")
    assert code == 2
    assert "'much' is neither a number nor auto" in err
