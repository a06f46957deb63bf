"""Saving and loading methods: everything comes back, nothing else gets in."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

import concordant as cc
from concordant import registry, saving
from concordant.method import Method

PREFS = cc.Preferences.from_rankings([["a", "b", "c"], ["c", "a", "b"], ["a", "c", "b"]], agent=["x", "y", "z"])


@pytest.mark.parametrize("name", list(registry.modules()))
def test_every_method_comes_back_as_it_was(name, tmp_path):
    method = registry.make(name)
    cc.save(method, tmp_path / "model.zip")
    assert cc.load(tmp_path / "model.zip") == method


def test_a_fitted_method_keeps_what_it_learnt(tmp_path):
    labels = cc.Labels(None, ["a", "b", "c"], [0, 1, 2])
    fitted = cc.MPM(prior=0.2).fit(PREFS, labels)
    cc.save(fitted, tmp_path / "model.zip")
    loaded = cc.load(tmp_path / "model.zip")
    assert loaded == fitted
    assert loaded.learnt == fitted.learnt
    np.testing.assert_array_equal(loaded.rank(PREFS).score, fitted.rank(PREFS).score)


def test_labels_in_any_script_survive(tmp_path):
    given = cc.MPM().with_variances({"naïve": 0.25, "日本": 1.5, 'quote"': 2.0})
    cc.save(given, tmp_path / "model.zip")
    assert cc.load(tmp_path / "model.zip").learnt == given.learnt


def test_the_same_model_gives_the_same_bytes():
    files = [io.BytesIO(), io.BytesIO()]
    for file in files:
        cc.save(cc.MPM(prior=0.3), file)
    assert files[0].getvalue() == files[1].getvalue()


def test_a_file_holds_names_and_numbers_only(tmp_path):
    cc.save(cc.MPM().with_variances({"a": 0.25}), tmp_path / "model.zip")
    with zipfile.ZipFile(tmp_path / "model.zip") as archive:
        assert archive.namelist() == ["model.json", "arrays.npz"]
        description = json.loads(archive.read("model.json"))
    assert description["method"] == "mpm"
    assert "concordant." not in json.dumps(description)


# ---- refused when saving ----
class Unregistered(Method):
    """Not in the registry."""


def test_what_cannot_be_loaded_again_is_not_saved(tmp_path):
    path = tmp_path / "model.zip"
    for thing, reason in (
        (Unregistered(), "not registered"),
        (PREFS, "cc.write"),
        (cc.MPM().with_learnt(theta={"x": object()}), "cannot be saved"),
        (cc.MPM().with_learnt(theta=np.array(["x"], object)), "cannot be saved"),
    ):
        with pytest.raises(cc.InputError, match=reason):
            cc.save(thing, path)
        assert not path.exists()


# ---- refused when loading ----
def write(path: Path, description: object, arrays: bytes | None = None, extra: str | None = None) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.json", description if isinstance(description, str) else json.dumps(description))
        if arrays is not None:
            archive.writestr("arrays.npz", arrays)
        if extra is not None:
            archive.writestr(extra, "")
    return path


def described(**changes):
    return {"format": saving.FORMAT, "version": 1, "method": "mpm", "params": {}, "learnt": {}, **changes}


@pytest.mark.parametrize(
    ("description", "reason"),
    [
        ("no json", "cannot be loaded"),
        ([1, 2], "does not describe a concordant model"),
        (described(format="something"), "does not describe a concordant model"),
        (described(version=2), "version 2"),
        (described(method="os.system"), "no method 'os.system'"),
        (described(method="concordant.aggregate.multinomial.mpm"), "no method"),
        (described(params={"prior": -1.0}), "out of range"),
        (described(params={"colour": "red"}), "no parameter 'colour'"),
        (described(params={"prior": {"__class__": "x"}}), "wrong type"),
        (described(learnt={"fit": {"kind": "plain", "value": 1}}), "does not learn 'fit'"),
        (described(learnt={"theta": {"kind": "magic"}}), "unknown kind"),
        (described(learnt={"theta": {"kind": "mapping", "labels": ["x"]}}), "theta"),
        (described(learnt=None), "cannot be loaded"),
        ({"format": saving.FORMAT, "version": 1}, "method"),
    ],
)
def test_a_file_that_is_no_model_is_refused(description, reason, tmp_path):
    path = write(tmp_path / "model.zip", description)
    with pytest.raises(cc.FormatError, match=reason) as caught:
        cc.load(path)
    assert str(path) in str(caught.value)


def test_objects_in_arrays_are_never_loaded(tmp_path):
    packed = io.BytesIO()
    np.savez(packed, theta=np.array([{"x": 1}], dtype=object))
    learnt = {"theta": {"kind": "mapping", "labels": ["x"]}}
    path = write(tmp_path / "model.zip", described(learnt=learnt), packed.getvalue())
    with pytest.raises(cc.FormatError, match="allow_pickle"):
        cc.load(path)


def test_a_model_that_unpacks_into_too_much_is_refused(tmp_path, monkeypatch):
    packed = io.BytesIO()
    np.savez_compressed(packed, theta=np.zeros(20_000_000))  # small in the file, large within it
    learnt = {"theta": {"kind": "array"}}
    path = write(tmp_path / "model.zip", described(learnt=learnt), packed.getvalue())
    monkeypatch.setenv("CONCORDANT_MEMORY", "100MB")
    with pytest.raises(cc.FormatError, match=r"it is too large: it would unpack into 152\.6 MB"):
        cc.load(path)


def test_other_files_are_refused(tmp_path):
    plain = tmp_path / "plain.txt"
    plain.write_text("a,b")
    for path in (plain, write(tmp_path / "more.zip", described(), extra="evil.py")):
        with pytest.raises(cc.FormatError):
            cc.load(path)
    with pytest.raises(FileNotFoundError):
        cc.load(tmp_path / "nowhere.zip")


@pytest.mark.parametrize(
    ("method", "former", "params"),
    [
        ("pav", {"output": "committee", "seats": 2}, {"result": "committee", "seats": 2}),
        ("kemeny", {"output": "weak"}, {"result": "weak"}),
        ("condorcet", {"output": "winner"}, {"result": "winner"}),
        ("elo", {"scale": 200.0}, {"spread": 200.0}),
        ("plackett-luce", {"solver": "mm"}, {}),
    ],
)
def test_models_saved_under_former_names_of_parameters_load(tmp_path, method, former, params):
    path = tmp_path / "model.cc"
    cc.save(registry.make(method, **params), path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    said = json.loads(parts["model.json"])
    old = {key: value for key, value in said["params"].items() if key not in params} | former
    parts["model.json"] = json.dumps(said | {"params": old}).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    assert cc.load(path) == registry.make(method, **params)


def test_a_former_name_of_a_parameter_is_told_the_present_one():
    with pytest.raises(cc.ParameterError, match="It is now called 'spread'"):
        registry.make("elo", scale=200.0)
