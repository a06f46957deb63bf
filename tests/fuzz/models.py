"""Damaged model files: a case is a number that decides the model and the damage. The same number, the same case.

    python -m tests.fuzz.models 123 456     run these cases here and show what happens

A damaged model is refused in a sentence (ConcordantError), or loaded and used: it predicts, ranks, recommends, is shown
and saved again. Numbers it gives are finite. Anything else is a bug.
"""

from __future__ import annotations

import copy
import importlib
import importlib.util
import io
import itertools
import json
import math
import os
import random
import re
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from tests.fuzz.mutate import change_field, change_line, flip_bytes, truncate
from tests.fuzz.run import SHARED

import concordant as cc
from concordant import registry, saving

BOOSTERS = {"xgboost-ranker": "xgboost", "light-gbm-ranker": "lightgbm"}
AGENTS = ["ann", "bob", "cy"]
X = np.random.default_rng(0).normal(size=(24, 3))
Y = np.digitize(X @ [1.0, 2, -1], [-0.5, 1.0]).astype(float)
QID = np.repeat(np.arange(4), 6)


# ---- whole models ----
@cache
def ballots() -> cc.Preferences:
    """Return rankings of four items in three queries by three agents."""
    draw = random.Random(1)
    orders = [draw.sample("wxyz", 4) for _ in range(9)]
    return cc.Preferences.from_rankings(orders, agent=AGENTS * 3, instance=[f"q{k // 3}" for k in range(9)])


@cache
def one_contest() -> cc.Preferences:
    """Return rankings of four items by three agents."""
    return cc.Preferences.from_rankings([["w", "x", "y", "z"], ["x", "w", "z"], ["y", "x"]], agent=AGENTS)


@cache
def ratings() -> cc.Preferences:
    """Return ratings of five items by four agents."""
    draw = random.Random(2)
    rows = [(agent, item, draw.randint(1, 5)) for agent in "abcd" for item in draw.sample("mnopq", 4)]
    agent, item, rating = zip(*rows, strict=True)
    return cc.Preferences.from_ratings(agent, item, rating)


def labels() -> cc.Labels:
    """Return a label of every item in every query."""
    return cc.Labels(
        [f"q{k}" for k in range(3) for _ in range(4)], list("wxyz") * 3, [2, 1, 0, 0, 1, 2, 0, 1, 0, 0, 1, 2]
    )


def fitted_methods() -> Iterator[tuple[str, Any]]:
    """Yield methods that learnt something, in the ways they can."""
    prefs, known = ballots(), labels()
    yield "mpm (adherences)", cc.MPM().fit(prefs, known)
    yield "mpm (variances)", cc.MPM().with_variances({"w": 0.25, "x": 1.5})
    yield "cps (fitted)", cc.CPS().fit(prefs, known)
    yield "cranking (fitted)", registry.make("cranking").fit(prefs, known)
    for name in ("bradley-terry", "davidson", "thurstone"):
        yield f"{name} (agent weights)", registry.make(name).with_agent_weights({"ann": 2.0, "bob": 0.5})
    table = {item: {"price": float(k), "age": k * 0.5 - 1} for k, item in enumerate("wxyz")}
    yield "bradley-terry (covariates)", registry.make("bradley-terry").with_covariates(table)
    yield "supervised-markov-chain (fitted)", registry.make("supervised-markov-chain", max_iter=5).fit(prefs, known)
    yield "crf (fitted)", registry.make("crf", passes=3).fit(prefs, known)
    yield "expert-ranker (fitted)", registry.make("expert-ranker", passes=3).fit(prefs, known)
    boost = registry.make("expert-ranker", learner="rank-boost", features="both", settings="rounds=5")
    yield "expert-ranker (rank-boost)", boost.fit(prefs, known)
    if importlib.util.find_spec("lightgbm"):
        yield "expert-blend (fitted)", registry.make("expert-blend", bags=2, trees=3, leaves=3).fit(prefs, known)


SMALL: dict[str, dict[str, Any]] = {
    "forest-ranker": {"trees": 4},
    "rank-boost": {"rounds": 6},
    "light-gbm-ranker": {"trees": 3, "leaves": 3, "threads": 1, "min_rows": 2},
    "xgboost-ranker": {"trees": 3, "depth": 2, "threads": 1},
    "lambda-rank": {"max_iter": 5},
}


def fitted_learners() -> Iterator[tuple[str, Any]]:
    """Yield every learner, fitted, some in several forms."""
    from concordant import learn
    from concordant.learn import GradientRanker, LabelRanker, Ranker

    ranks = np.argsort(np.argsort(-X, axis=1), axis=1) + 1
    yield "label-ranker", LabelRanker().fit(X, ranks)
    yield "label-ranker (pairwise)", LabelRanker(scoring="pairwise").fit(X, ranks)
    yield "pairwise-ranker (svc)", learn.load("pairwise-ranker")("svc").fit(X, Y, qid=QID)
    yield "query-ranks", learn.load("query-ranks")().fit(X)
    yield "second-order-features", learn.load("second-order-features")().fit(X, Y)
    members = {"bagged-ranker": {"ranker": learn.load("rank-boost")(rounds=3), "n_rankers": 2}}
    members["blended-ranker"] = {"rankers": [learn.load("rank-net")(), learn.load("forest-ranker")(trees=2)]}
    for name in learn.modules():
        cls = learn.load(name)
        if not issubclass(cls, Ranker) or (name in BOOSTERS and importlib.util.find_spec(BOOSTERS[name]) is None):
            continue
        yield name, cls(**SMALL.get(name, {}), **members.get(name, {})).fit(X, Y, qid=QID)
        if issubclass(cls, GradientRanker) and name in ("rank-net", "rank-svm", "davidson-ranker"):
            for kind in ({"hidden": 2}, {"kernel": "rbf"}, {"kernel": "polynomial", "components": 6}):
                said = " ".join(str(value) for value in kind.values())
                yield f"{name} ({said})", cls(**kind, max_iter=3).fit(X, Y, qid=QID)


def fitted_estimators() -> Iterator[tuple[str, Any]]:
    """Yield every class of scikit-learn that can be saved, fitted, and pipelines of them."""
    from sklearn.pipeline import FeatureUnion, make_pipeline

    from concordant.learn import RankNet
    from concordant.saving.estimators import SKLEARN

    def made(name: str, **params: Any) -> Any:
        return getattr(importlib.import_module(SKLEARN[name][0]), name)(**params)

    for name in sorted(set(SKLEARN) - {"Pipeline", "FeatureUnion", "LabelBinarizer"}):
        params = {"n_quantiles": 8} if name == "QuantileTransformer" else {}
        params |= {"n_components": 2} if name in ("PCA", "TruncatedSVD", "Nystroem", "RBFSampler") else {}
        params |= {"n_components": 2} if name == "GaussianRandomProjection" else {}
        yield name, made(name, **params).fit(X, Y)
        if hasattr(made(name), "predict_proba") or name in ("LinearSVC", "RidgeClassifier"):
            yield f"{name} (two classes)", made(name, **params).fit(X, Y > 0)
    yield "LabelBinarizer", made("LabelBinarizer").fit(Y)
    both = FeatureUnion([("first", "passthrough"), ("main", made("PCA", n_components=2))])
    steps = [made("SimpleImputer"), made("StandardScaler"), made("PolynomialFeatures"), both, RankNet()]
    yield "Pipeline", make_pipeline(*steps).fit(X, Y, ranknet__qid=QID)


@cache
def seeds() -> dict[str, bytes]:
    """Return a small file of every class that can be saved, by name; fitted once where processes share a folder."""
    shared = os.environ.get(SHARED)
    kept = Path(shared, "seeds.zip") if shared else None
    if kept is not None and kept.exists():
        with zipfile.ZipFile(kept) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    found = fitted()
    if kept is not None:
        with zipfile.ZipFile(kept, "w") as archive:
            for name, content in found.items():
                archive.writestr(name, content)
    return found


def fitted() -> dict[str, bytes]:
    """Fit and save a small model of every class."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {f"method {name}": registry.make(name) for name in registry.modules()}
        found |= {f"method {name}": model for name, model in fitted_methods()}
        found |= {f"recommender {name}": registry.RECOMMENDERS.make(name) for name in registry.RECOMMENDERS.modules()}
        found = {name: one.fit(ratings()) if name.startswith("recommender") else one for name, one in found.items()}
        found |= {f"recommender {name} (auto)": _fitted_auto(name) for name in ("pmf", "ordered-partition-mf")}
        found |= {f"learner {name}": model for name, model in fitted_learners()}
        found |= {f"scikit-learn {name}": model for name, model in fitted_estimators()}
        return {name: _saved(model) for name, model in found.items()}


def _fitted_auto(name: str) -> Any:
    return registry.RECOMMENDERS.make(name, ridge="auto", factors=2, sweeps=3, precision="single").fit(ratings())


def _saved(model: Any) -> bytes:
    file = io.BytesIO()
    cc.save(model, file, about={"method": "test"})
    return file.getvalue()


# ---- damage ----
NOWHERE = {"kind": "array", "at": "nowhere"}
NUMBERS: list[Any] = [0, -1, 1, 2, 7, 2**31, -(2**31), 2**40, 2**62, -(2**62), 2**63, 10**30, 0.5, -0.5, 1e-9, 1e16]
NUMBERS += [1e99, -1e99, 1e-99, 1e12, -1e12, 1e14, 1e-12, 1e308, -1e308, 1e-308, 5e-324, math.nan, math.inf, -math.inf]
VALUES: list[Any] = [*NUMBERS, None, True, False, "", "x", "nan", "\udc80", [], {}, [1], [[]], ["x", "x"], NOWHERE]
VALUES += [{"kind": "float", "value": "nan"}, {"kind": "float", "value": "inf"}, {"kind": "tuple", "items": [1, 2]}]
VALUES += [
    {"kind": "dict", "items": [["a", 1]]},
    {"kind": "texts", "items": ["a", "b"]},
    {"kind": "dtype", "value": "f8"},
]
DTYPES = ["int8", "int32", "int64", "uint64", "float16", "float32", "float64", ">f8", ">i8", "bool", "U3", "longdouble"]


def mutate(content: bytes, draw: random.Random) -> bytes:
    """Return a model file with one to three changes, or with changed bytes."""
    if draw.random() < 0.08:
        return draw.choice([flip_bytes, truncate])(content, [content], draw)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        description = json.loads(archive.read("model.json"))
        packed = archive.read("arrays.npz") if "arrays.npz" in archive.namelist() else None
    arrays = {} if packed is None else dict(np.load(io.BytesIO(packed)))
    for _ in range(draw.choice([1, 1, 1, 1, 2, 3])):
        texts = [change_text] * (12 if len(json.dumps(description)) > 5000 else 1)
        change = draw.choice([*texts, *[change_json] * 5, *([change_array] * 8 if arrays else [])])
        change(description, arrays, draw)
    text = json.dumps(description).encode("utf-8", "surrogatepass")
    if draw.random() < 0.06:
        text = draw.choice([flip_bytes, change_field, change_line, truncate])(text, [text], draw)
    return _zipped(text, arrays, draw) if arrays or packed is not None else _zipped(text, None, draw)


def _zipped(text: bytes, arrays: dict[str, Any] | None, draw: random.Random) -> bytes:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", text)
        if arrays is not None:
            archive.writestr("arrays.npz", _packed(arrays, draw))
    return whole.getvalue()


def _packed(arrays: dict[str, Any], draw: random.Random) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as inner:
        for name, array in arrays.items():
            one = io.BytesIO()
            np.lib.format.write_array(one, np.asanyarray(array), allow_pickle=True)
            content = one.getvalue()
            if draw.random() < 0.02:
                content = draw.choice([flip_bytes, truncate, change_field])(content, [content], draw)
            inner.writestr(f"{name}.npy", content)
    return packed.getvalue()


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every place in plain data: what holds it, and its key or number."""
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in list(keys):
        yield value, key
        yield from places(value[key])


def change_json(description: Any, _arrays: dict[str, Any], draw: random.Random) -> None:
    """Replace, remove, repeat, swap or add a value."""
    everywhere = list(places(description))
    if not everywhere:
        return
    inside = [place for place in everywhere if place[1] in ("params", "learnt", "estimator")] or everywhere
    holder, key = draw.choice(everywhere if draw.random() < 0.9 else inside)
    kind = draw.random()
    if kind < 0.6:
        same = isinstance(holder[key], (int, float)) and draw.random() < 0.7
        holder[key] = _drawn(holder[key], draw) if same else copy.deepcopy(draw.choice(VALUES))
    elif kind < 0.75:
        del holder[key]
    elif kind < 0.9:
        other, where = draw.choice(everywhere)
        if (isinstance(other, dict) and where in other) or (isinstance(other, list) and where < len(other)):
            holder[key] = json.loads(json.dumps(other[where]))
    elif isinstance(holder, dict):
        holder[draw.choice(["extra", "extra_", "coef_", "__class__", "kind", "seed"])] = copy.deepcopy(
            draw.choice(VALUES)
        )
    else:
        holder.insert(draw.randint(0, len(holder)), copy.deepcopy(draw.choice([draw.choice(VALUES), holder[key]])))


def change_text(description: Any, _arrays: dict[str, Any], draw: random.Random) -> None:
    """Damage a long text inside: the trees of a booster."""
    texts = [(holder, key) for holder, key in places(description) if isinstance(holder[key], str)]
    long = [place for place in texts if len(place[0][place[1]]) > 200] or texts
    if not long:
        return
    holder, key = draw.choice(long)
    content = holder[key].encode("utf-8", "surrogatepass")
    for _ in range(draw.choice([1, 1, 2])):
        change = draw.choice([flip_bytes, change_field, change_line, truncate, *[change_number] * 6])
        content = change(content, [content], draw)
    text = content.decode("utf-8", "replace")
    holder[key] = resized(text) if draw.random() < 0.7 else text


def change_number(content: bytes, _others: Sequence[bytes], draw: random.Random) -> bytes:
    """Put another number in the place of one."""
    where = [found.span() for found in re.finditer(rb"-?\d+(\.\d+)?([eE][+-]?\d+)?", content)]
    if not where:
        return content
    a, b = draw.choice(where)
    return content[:a] + str(draw.choice([*range(-4, 9), *NUMBERS])).encode() + content[b:]


def resized(text: str) -> str:
    """Correct the lengths that a LightGBM model gives of its trees, as somebody would who wants it to be read."""
    starts = [found.start() for found in re.finditer(r"^Tree=", text, re.M)] + [text.find("end of trees")]
    sizes = " ".join(str(end - start) for start, end in itertools.pairwise(starts))
    return re.sub(r"^tree_sizes=.*$", f"tree_sizes={sizes}", text, count=1, flags=re.M)


def change_array(_description: Any, arrays: dict[str, Any], draw: random.Random) -> None:
    """Change an entry, the type, the shape or the length of an array; or swap or drop it."""
    if not arrays:
        return
    name = draw.choice(sorted(arrays))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        changed = draw.choice(ARRAY_CHANGES)(np.array(arrays[name]), draw)
    if draw.random() < 0.06:
        changed = arrays[draw.choice(sorted(arrays))]
    if draw.random() < 0.03:
        del arrays[name]
        return
    arrays[name] = changed


def _drawn(value: Any, draw: random.Random) -> Any:
    """Return an extreme number, or one that is near a given one."""
    if draw.random() < 0.5 or isinstance(value, (bool, str)):
        return draw.choice(NUMBERS)
    return draw.choice(
        [value + 1, value - 1, -value, value * 2, value * 1000, value * 1e-6 if value % 1 else value + 2]
    )


def _entries(array: Any, draw: random.Random) -> Any:
    if not array.size:
        return np.array([draw.choice(NUMBERS)], float)
    for _ in range(draw.choice([1, 1, 2, array.size])):
        value = _drawn(array.reshape(-1)[draw.randrange(array.size)].item(), draw)
        if array.dtype.kind in "iu":
            limits = np.iinfo(array.dtype)
            value = 0 if isinstance(value, float) and not math.isfinite(value) else value
            value = int(max(min(int(value), limits.max), limits.min))
        array.reshape(-1)[draw.randrange(array.size)] = value if array.dtype.kind != "U" else str(value)
    return array


def _retyped(array: Any, draw: random.Random) -> Any:
    return array.astype(draw.choice(DTYPES)) if array.dtype.kind != "U" else np.arange(array.size)


def _reshaped(array: Any, draw: random.Random) -> Any:
    shapes = [(-1,), (1, -1), (-1, 1), (array.size, 1, 1), array.shape[::-1], (*array.shape, 1)]
    return array.reshape(draw.choice(shapes))


def _cut(array: Any, draw: random.Random) -> Any:
    flat = array.reshape(-1)
    return draw.choice(
        [flat[:0], flat[: max(array.size // 2, 0)], flat[:-1], np.tile(flat, 2), array[:0] if array.ndim else flat]
    )


def _shuffled(array: Any, draw: random.Random) -> Any:
    flat = array.reshape(-1).tolist()
    draw.shuffle(flat)
    return np.array(flat, array.dtype).reshape(array.shape)


ARRAY_CHANGES: list[Callable[..., Any]] = [_entries, _entries, _entries, _entries, _retyped, _reshaped, _cut, _shuffled]


# ---- use ----
class NotFiniteError(Exception):
    """A number that came out is not finite."""


def finite(values: Any, what: str) -> None:
    """Say so where a number is not finite."""
    numbers = np.asarray(values.toarray() if hasattr(values, "toarray") else values)
    if numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
        raise NotFiniteError(what)


def use(path: Path) -> None:
    """Load a model, and do all that can be done with it."""
    model = cc.load(path)
    saving.read_about(path)
    repr(model)
    if getattr(model, "word", "") == "recommender":
        use_recommender(model)
    elif hasattr(model, "rank"):
        use_method(model)
    else:
        use_estimator(model)
    again = io.BytesIO()
    cc.save(model, again)
    cc.load(again)


def tried(action: Callable[[], Any], what: str) -> None:
    """Do something that may be refused in a sentence."""
    try:
        finite(action(), what)
    except cc.ConcordantError:
        return


def use_method(model: Any) -> None:
    """Rank with a method, and let it explain itself."""
    model.to_dict()
    for prefs in (ballots(), one_contest()):
        try:
            ranking = model.rank(prefs)
        except cc.ConcordantError:
            continue
        finite(ranking.score, "score")
        for ends in (ranking.slot_low, ranking.slot_high):
            if ends is not None and np.isnan(ends).any():
                raise NotFiniteError("interval")
        repr(ranking)
        tried(lambda ranking=ranking: ranking.to_dict() and 0, "to_dict")
        tried(lambda ranking=ranking: str(ranking.explain()) and 0, "explain")
    if hasattr(model, "fuse") and model.learnt:
        tried(lambda: cc.fuse({agent: ["w", "x", "y"] for agent in AGENTS}, model).score, "fuse")


def use_recommender(model: Any) -> None:
    """Recommend to everybody, predict, fold in."""
    model.to_dict()
    tried(lambda: model.recommend(n=3).score, "recommend")
    tried(lambda: model.recommend("a", exclude_seen=False).score, "recommend")
    tried(lambda: model.predict(["a", "nobody"], ["m", "nothing"]), "predict")
    tried(lambda: model.similar("m").score, "similar")
    tried(lambda: model.fold_in({"m": 5, "n": 1}).recommend(n=3).score, "fold_in")
    tried(lambda: model.score(ratings()), "score")


def use_estimator(model: Any) -> None:
    """Predict and transform rows of the width that the model takes."""
    from sklearn.exceptions import NotFittedError

    from concordant.learn import Learner

    if type(model).__name__ == "LabelBinarizer":
        model.transform(Y) if hasattr(model, "classes_") else None
        return
    width = getattr(model, "n_features_in_", X.shape[1])
    if width > 1000:
        return
    rows = np.resize(X, (6, width))
    pair = ([0, 1], [1, 2])
    for name in ("predict", "predict_scores", "predict_proba", "decision_function", "predict_category", "transform"):
        if hasattr(model, name):
            try:
                tried(lambda name=name: getattr(model, name)(rows), name)
            except NotFittedError:
                return
    if not isinstance(model, Learner):
        return
    for name in ("predict_proba_pair", "preference"):
        if hasattr(model, name):
            tried(lambda name=name: getattr(model, name)(rows, *pair), name)
    if hasattr(model, "get_feature_names_out"):
        tried(lambda: len(model.get_feature_names_out()), "names")


# ---- cases ----
def name_of(number: int) -> str:
    """Return which model a case damages."""
    return list(seeds())[number % len(seeds())]


def make(number: int) -> tuple[str, bytes, str]:
    """Return the name of the model, the content of the damaged file, and nothing."""
    name = name_of(number)
    return name, mutate(seeds()[name], random.Random(number)), ""


def run(number: int, folder: Path) -> str:
    """Run a case: ``"read"`` or ``"refused"``; a foreign exception comes out."""
    path = folder / "model.zip"
    path.write_bytes(make(number)[1])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            use(path)
        except (cc.ConcordantError, OSError):
            return "refused"
        except NotFiniteError as found:
            return f"NaN in {found}"
        finally:
            path.unlink()
    return "read"


WHAT = "damaged model files from {seeds} classes and forms"

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        for argument in sys.argv[1:]:
            print(argument, make(int(argument))[0], flush=True)
            print(run(int(argument), Path(scratch)))
