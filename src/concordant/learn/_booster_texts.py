"""Validation of serialised boosters before LightGBM or XGBoost parses them, because their parsers trust their input.

``lightgbm_text`` and ``xgboost_text`` check that every tree is well formed and splits existing features, and that all
numbers are finite. They return a text that contains only the checked parts, or raise ``ValueError``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from concordant.support.state import LARGEST, LARGEST_SINGLE
from concordant.types import AnyArray, Floats, Int64s

NUMBER = r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
NUMBERS = re.compile(rf"(?:{NUMBER}(?: {NUMBER})*)?")
OR_INFINITE = re.compile(rf"(?:(?:{NUMBER}|-?inf)(?: (?:{NUMBER}|-?inf))*)?")


def check_tree(left: Int64s, right: Int64s) -> None:
    """Raise ValueError unless every node is reached from node 0 exactly once; negative children are leaves."""
    was_reached, level = np.zeros(len(left), bool), np.zeros(1, np.int64)
    while len(level):
        if was_reached[level].any() or len(np.unique(level)) < len(level):
            raise ValueError("a tree of the booster is malformed: a node is reached twice (cycle or shared child)")
        was_reached[level] = True
        children = np.concatenate([left[level], right[level]])
        level = children[children >= 0]
        if (level >= len(left)).any():
            raise ValueError("a tree of the booster is malformed: a child node does not exist")
    if not was_reached.all():
        raise ValueError("a tree of the booster is malformed: some nodes cannot be reached from the root")


def _numbers(text: str, size: int, what: str, largest: float = LARGEST) -> Floats:
    """Return the ``size`` numbers of a line, at most ``largest``, or raise ValueError with the name ``what``."""
    if not (OR_INFINITE if largest == np.inf else NUMBERS).fullmatch(text):
        raise ValueError(f"{what} of the booster contains a value that is not a number")
    numbers = np.array(text.split(" ") if text else [], np.float64)
    if numbers.shape != (size,):
        raise ValueError(f"{what} of the booster must have {size} numbers, got {len(numbers)}")
    if not (np.abs(numbers) <= largest).all():
        raise ValueError(f"{what} of the booster contains a number that is not finite")
    return numbers


def _whole(text: str, size: int, what: str) -> Int64s:
    """Return the ``size`` integers of a line, or raise ValueError."""
    numbers = _numbers(text, size, what, 2**31 - 1)
    if (numbers != np.rint(numbers)).any():
        raise ValueError(f"{what} of the booster contains a number that is not an integer")
    return numbers.astype(np.int64)


# ---- LightGBM ----
HEADER = (
    *("version", "num_class", "num_tree_per_iteration", "label_index", "max_feature_idx", "objective"),
    *("feature_names", "feature_infos", "tree_sizes"),
)
BY_SPLIT = ("split_gain", "internal_value", "internal_weight", "internal_count")
BY_LEAF = ("leaf_value", "leaf_weight", "leaf_count")
TREE = (
    *("num_leaves", "num_cat", "split_feature", "split_gain", "threshold", "decision_type", "left_child"),
    *("right_child", *BY_LEAF, "internal_value", "internal_weight", "internal_count", "is_linear", "shrinkage"),
)
END = "end of trees\n"
TAIL = "\nparameters:\nend of parameters\n\npandas_categorical:null\n"
OBJECTIVE = re.compile(r"(lambdarank|rank_xendcg)")
INFO = re.compile(rf"none|\[{NUMBER}:{NUMBER}\]")
CATEGORICAL, HIGHEST_DECISION = 1, 11  # bits of decision_type: categorical, default left, two of what is missing


def lightgbm_text(text: str, n_features: int) -> str:
    """Return the text of a LightGBM model with ``n_features`` features, rebuilt from checked parts."""
    if not text.isascii() or not text.startswith("tree\n"):
        raise ValueError("the booster is not a LightGBM model")
    head, blank, body = text[len("tree\n") :].partition("\n\n")
    sizes = _header(_fields(head, HEADER), n_features)
    offset = 0
    for number, size in enumerate(sizes):
        _check_tree(body[offset : offset + size], number, n_features)
        offset += size
    if not body.startswith(END, offset):
        raise ValueError("the booster has unexpected text after its trees")
    return f"tree\n{head}{blank}{body[:offset]}{END}{TAIL}"


def _fields(text: str, names: tuple[str, ...]) -> dict[str, str]:
    """Return the lines "name=value" as a dictionary, or raise ValueError unless they have these names in this order."""
    pairs = [line.partition("=") for line in text.split("\n")]
    if tuple(name for name, _, _ in pairs) != names:
        raise ValueError("the booster has missing, unknown or misplaced lines")
    return {name: value for name, _, value in pairs}


def _header(fields: Mapping[str, str], n_features: int) -> list[int]:
    """Check the lines before the trees and return the length of every tree in characters."""
    names, infos = fields["feature_names"].split(" "), fields["feature_infos"].split(" ")
    are_default_names = len(names) == n_features and all(name == f"Column_{k}" for k, name in enumerate(names))
    if not are_default_names or fields["max_feature_idx"] != str(n_features - 1):
        raise ValueError(f"the booster was not trained on {n_features} features")
    if len(infos) != n_features or not all(INFO.fullmatch(info) for info in infos):
        raise ValueError("feature_infos of the booster is missing or invalid for some features")
    fixed = (fields["num_class"], fields["num_tree_per_iteration"], fields["label_index"])
    if fixed != ("1", "1", "0") or not re.fullmatch(r"v[0-9]", fields["version"]):
        raise ValueError("the booster is not a LightGBM ranker")
    if not OBJECTIVE.fullmatch(fields["objective"]):
        raise ValueError("the booster has an unknown objective")
    if not re.fullmatch(r"[1-9][0-9]{0,11}( [1-9][0-9]{0,11})*", fields["tree_sizes"]):
        raise ValueError("tree_sizes of the booster is missing or invalid")
    return [int(size) for size in fields["tree_sizes"].split(" ")]


def _check_tree(text: str, number: int, n_features: int) -> None:
    """Check the text of one LightGBM tree: its fields, features, splits and leaves."""
    opening, closing = f"Tree={number}\n", "\n\n\n"
    if not text.startswith(opening) or not text.endswith(closing):
        raise ValueError(f"the position or length of tree {number} of the booster does not match tree_sizes")
    fields = _fields(text[len(opening) : -len(closing)], TREE)
    leaves = int(_whole(fields["num_leaves"], 1, "num_leaves")[0])
    if not 1 <= leaves < 2**20 or (fields["num_cat"], fields["is_linear"]) != ("0", "0"):
        raise ValueError(
            f"tree {number} of the booster is of an unsupported type (categorical splits, linear leaves or too "
            "many leaves)"
        )
    splits = leaves - 1
    feature = _whole(fields["split_feature"], splits, "split_feature")
    decision = _whole(fields["decision_type"], splits, "decision_type")
    _numbers(fields["threshold"], splits, "threshold", np.inf)  # infinite where a split tells missing values apart
    for name in BY_SPLIT:
        _numbers(fields[name], splits, name)
    for name in BY_LEAF:
        if fields[name] or leaves > 1 or name == "leaf_value":
            _numbers(fields[name], leaves, name)
    _numbers(fields["shrinkage"], 1, "shrinkage")
    if ((feature < 0) | (feature >= n_features)).any():
        raise ValueError(f"tree {number} of the booster splits on a feature that does not exist")
    if ((decision < 0) | (decision > HIGHEST_DECISION) | (decision & CATEGORICAL > 0)).any():
        raise ValueError(f"tree {number} of the booster has an unsupported decision_type")
    children = [_whole(fields[name], splits, name) for name in ("left_child", "right_child")]
    if splits:
        check_tree(*children)
    _check_leaves(children, leaves, number)


def _check_leaves(children: list[Int64s], leaves: int, number: int) -> None:
    """Check that every leaf is the child of exactly one split; child -1 - k is leaf k."""
    child = np.concatenate(children)
    if leaves > 1 and np.sort(~child[child < 0]).tolist() != list(range(leaves)):
        raise ValueError(f"tree {number} of the booster is malformed: each leaf must have exactly one parent")


# ---- XGBoost ----
FLOATS = ("base_weights", "loss_changes", "split_conditions", "sum_hessian")
NODES = (*FLOATS, "default_left", "left_children", "right_children", "split_indices", "split_type")
CATEGORIES = ("categories", "categories_nodes", "categories_segments", "categories_sizes")
WORD = re.compile(r"[A-Za-z0-9_:.+-]{0,64}")
BASE_SCORE = re.compile(rf"{NUMBER}|\[{NUMBER}\]")


def xgboost_text(text: str, n_features: int) -> str:
    """Return the text of an XGBoost model with ``n_features`` features, rebuilt from checked parts."""
    try:
        learner, version = (json.loads(text, parse_constant=_no_number)[part] for part in ("learner", "version"))
        model = learner["gradient_booster"]["model"]
        base = str(learner["learner_model_param"]["base_score"])
        objective = {str(key): value for key, value in learner["objective"].items()}
        trees = [_checked_tree(tree, number, n_features) for number, tree in enumerate(model["trees"])]
    except (KeyError, TypeError, AttributeError, RecursionError):
        raise ValueError("the booster is not an XGBoost model") from None
    if not trees or not BASE_SCORE.fullmatch(base) or not abs(float(base.strip("[]"))) <= LARGEST_SINGLE:
        raise ValueError("the booster has no trees, or its base_score is not a finite number")
    if len(version) != 3 or not all(type(component) is int and 0 <= component < 1000 for component in version):
        raise ValueError("the version of the booster is missing or invalid")
    return json.dumps({"learner": _learner(trees, base, _words(objective), n_features), "version": version})


def _no_number(word: str) -> float:
    """Raise ValueError for NaN and Infinity, which are not valid JSON."""
    raise ValueError(f"the booster contains {word}")


def _learner(trees: list[dict[str, Any]], base: str, objective: Any, n_features: int) -> dict[str, Any]:
    """Return the "learner" object of an XGBoost model with these trees, without attributes, names or categories."""
    model = {
        "cats": {"enc": [], "feature_segments": [], "sorted_idx": []},
        "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(len(trees))},
        "iteration_indptr": list(range(len(trees) + 1)),
        "tree_info": [0] * len(trees),
        "trees": trees,
    }
    params = {"base_score": base, "boost_from_average": "1", "num_class": "0", "num_feature": str(n_features)}
    return {
        "attributes": {},
        "feature_names": [],
        "feature_types": [],
        "gradient_booster": {"model": model, "name": "gbtree"},
        "learner_model_param": {**params, "num_target": "1"},
        "objective": objective,
    }


def _words(value: object, depth: int = 0) -> Any:
    """Return the settings of the objective: names and single words, nested at most twice."""
    if isinstance(value, dict) and depth < 2 and all(WORD.fullmatch(str(key)) for key in value):
        return {str(key): _words(word, depth + 1) for key, word in value.items()}
    if not isinstance(value, str) or not WORD.fullmatch(value):
        raise ValueError("the booster has an unknown objective")
    return value


def _checked_tree(tree: Any, number: int, n_features: int) -> dict[str, Any]:
    """Check an XGBoost tree and return it with only its checked values."""
    size = len(tree["left_children"])
    nodes = {name: _node_values(tree[name], name, size, name in FLOATS) for name in NODES}
    left, right = nodes["left_children"], nodes["right_children"]
    if not size or ((left < 0) != (right < 0)).any() or (left < -1).any() or (right < -1).any():
        raise ValueError(
            f"tree {number} of the booster is malformed: a node has an invalid child, or the tree is empty"
        )
    check_tree(left, right)
    feature = nodes["split_indices"]
    if ((feature < 0) | (feature >= n_features)).any() or nodes["split_type"].any() or any(map(tree.get, CATEGORIES)):
        raise ValueError(f"tree {number} of the booster splits on a feature that does not exist")
    if not np.isin(nodes["default_left"], (0, 1)).all():
        raise ValueError(f"tree {number} of the booster has an invalid default_left (0 or 1 expected)")
    params = {"num_deleted": "0", "num_feature": str(n_features), "num_nodes": str(size), "size_leaf_vector": "1"}
    values: dict[str, Any] = {name: values.tolist() for name, values in nodes.items()}
    values |= {name: [] for name in CATEGORIES}
    return {**values, "parents": _parents(left, right).tolist(), "id": number, "tree_param": params}


def _parents(left: Int64s, right: Int64s) -> Int64s:
    """Return the parent of every node; for the root it is 2^31 - 1, as in XGBoost."""
    parent = np.full(len(left), 2**31 - 1, np.int64)
    inner = np.flatnonzero(left >= 0)
    parent[left[inner]] = parent[right[inner]] = inner
    return parent


def _node_values(values: object, what: str, size: int, are_floats: bool) -> AnyArray:
    """Return one number per node, an integer or (``are_floats``) any finite number, or raise ValueError."""
    if not isinstance(values, list) or len(values) != size:
        raise ValueError(f"{what} of the booster must be a list of {size} numbers")
    if not all(type(value) is int or (are_floats and type(value) is float) for value in values):
        raise ValueError(f"{what} of the booster contains a value that is not a number")
    if not all(abs(value) <= (LARGEST_SINGLE if are_floats else 2**31) for value in values):
        raise ValueError(f"{what} of the booster contains a number that is out of range")
    return np.array(values, np.float64 if are_floats else np.int64)
