"""The checked mode knows every argument of every kernel, and refuses what would be read or written out of bounds."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from concordant.kernels import bundles, checked, twins

KERNELS = sorted(name for name in vars(twins) if not name.startswith("_") and callable(getattr(twins, name)))
LENGTHS_ONLY = {"like", "across"}


def call(name: str, kernel: Callable[..., Any], fields: dict[str, Any]) -> Any:
    """Call the verified kernel, fields of bundles gathered into them."""
    given = dict(fields)
    for one in inspect.signature(getattr(twins, name)).parameters.values():
        bundle = getattr(bundles, one.annotation, None)
        if hasattr(bundle, "_fields"):
            given[one.name] = bundle(**{field: given.pop(field) for field in bundle._fields})
    return checked.verifying(name, kernel)(**given)


@pytest.mark.parametrize("name", KERNELS)
def test_every_array_of_every_kernel_has_a_rule(name: str) -> None:
    """A new kernel with arguments of new names needs a line in ``RULES`` or ``OWN``."""
    kinds = checked.arguments_of(name)
    ruled, valued = set[str](), set[str]()
    for rule in checked.rules_of(name, tuple(kinds)):
        subject, verb, *others = (word.rstrip("?") for word in rule.split())
        ruled |= {subject, *others, *(["end"] if verb == "spans" else [])}
        valued |= {subject} if verb not in LENGTHS_ONLY else set()
        valued |= {*others} if verb in ("beside", "inside", "local") else {"end"} if verb == "spans" else set()
    assert not {one for one, kind in kinds.items() if kind.endswith(("s", "AnyArray", "Bytes"))} - ruled
    assert not {one for one, kind in kinds.items() if kind.startswith("Int")} - valued


def ints(*values: int, kind: type = np.int64) -> np.ndarray:
    return np.array(values, kind)


CODES = np.int32
BALLOTS: dict[str, Any] = {
    "slot_ptr": ints(0, 2, 5),
    "instance_of_ballot": ints(0, 1, kind=CODES),
    "indptr": ints(0, 2, 4),
    "entry_slot": ints(1, 0, 2, 4),
    "tier": ints(0, 1, 0, 1, kind=CODES),
    "weight": np.ones(2),
    "is_open": np.zeros(2, np.uint8),
    "missing": 1,
}
DUELS: dict[str, Any] = {
    "first": ints(0, 1, kind=CODES),
    "second": ints(1, 2, kind=CODES),
    "won": np.ones(2),
    "lost": np.ones(2),
    "tied": np.zeros(2),
    "n_slots": 3,
}
TREES: dict[str, Any] = {
    "X": np.zeros((2, 3), np.float32),
    "root": ints(0),
    "feature": ints(2, -1, -1, kind=CODES),
    "threshold": np.zeros(3),
    "left": ints(1, -1, -1, kind=CODES),
    "right": ints(2, -1, -1, kind=CODES),
    "value": np.ones(3),
}
PROBLEM: dict[str, Any] = {"ptr": ints(0, 3), "before": np.zeros(9), "order": ints(2, 0, 1), "draw": np.zeros((1, 2))}
GOOD = {
    "pair_counts": BALLOTS,
    "duel_groups": DUELS,
    "forest_means": TREES,
    "search_orders": PROBLEM,
    "encode_spans": {"data": np.zeros(4, np.uint8), "start": ints(0, 2), "end": ints(2, 4)},
}


@pytest.mark.parametrize("name", GOOD)
def test_right_arguments_pass(name: str) -> None:
    assert call(name, lambda **_: "called", GOOD[name]) == "called"


@pytest.mark.parametrize(
    ("name", "wrong", "said"),
    [
        ("pair_counts", {"slot_ptr": ints(1, 2, 5)}, "do not start at 0, or decrease"),
        ("pair_counts", {"indptr": ints(0, 2, 5)}, "has 4 rows, not 5"),
        ("pair_counts", {"entry_slot": ints(1, 0, 2, 5)}, "not all within 0 … 4"),
        ("pair_counts", {"entry_slot": ints(1, 0, 2, -1)}, "not all within 0 … 4"),
        ("pair_counts", {"entry_slot": ints(1, 2, 2, 4)}, "not all within their segment"),
        ("pair_counts", {"instance_of_ballot": ints(0, 2, kind=CODES)}, "not all within 2"),
        ("pair_counts", {"weight": np.ones(3)}, "weight has 3 rows, not 2"),
        ("duel_groups", {"second": ints(1, 3, kind=CODES)}, "not all within 0 … 2"),
        ("duel_groups", {"lost": np.ones(1)}, "lost has 1 rows, not 2"),
        ("forest_means", {"left": ints(3, -1, -1, kind=CODES)}, "not all point to a node"),
        ("forest_means", {"feature": ints(3, -1, -1, kind=CODES)}, "not all within 3"),
        ("search_orders", {"order": ints(2, 0, 3)}, "not all below the size of their segment"),
        ("search_orders", {"before": np.zeros(8)}, "before has 8 rows, not 9"),
        ("encode_spans", {"end": ints(2, 5)}, "not all within the data"),
    ],
)
def test_wrong_arguments_never_reach_the_kernel(name: str, wrong: dict[str, Any], said: str) -> None:
    def kernel(**_: Any) -> None:
        raise AssertionError("the kernel was called")

    with pytest.raises(checked.KernelError, match=said):
        call(name, kernel, {**GOOD[name], **wrong})


def test_the_environment_switches_the_checks_on() -> None:
    pytest.importorskip("concordant.kernels._compiled", reason="the compiled kernels are not built")
    code = (
        "import numpy as np; from concordant import kernels\n"
        "kernels.tier_positions(np.array([0, 9]), np.zeros(1, np.int32), True)"
    )
    environment = {**os.environ, "CONCORDANT_KERNELS": "checked"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert "KernelError: tier_positions: indptr cuts tier: tier has 1 rows, not 9" in done.stderr
