"""Models that an earlier version saved load and answer as they did, wherever the modules of their classes are now.

``python -m tests.saving.test_models_saved_before FILE`` writes such a file. The one here was written before the modules
of the package moved into rooms.
"""

from __future__ import annotations

import io
import json
import sys
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.fuzz import models

import concordant as cc

ARCHIVE = Path(__file__).with_name("saved-before.zip")


def answer(model: Any) -> Any:
    """Return what a model says of the data it can be asked about."""
    if hasattr(model, "recommend"):
        return model.recommend(exclude_seen=False).score
    if hasattr(model, "rank"):
        prefs = models.one_contest() if model.learnt.get("covariates") else models.ballots()
        return model.rank(prefs).score
    return (model.predict if hasattr(model, "predict") else model.transform)(models.X)


def stored() -> dict[str, tuple[bytes, Any]]:
    """Return every model of the archive with its answer."""
    with zipfile.ZipFile(ARCHIVE) as archive:
        answers = json.loads(archive.read("answers.json"))
        return {name: (archive.read(f"{name}.zip"), said) for name, said in answers.items()}


@pytest.mark.parametrize("name", stored())
def test_a_model_saved_before_answers_as_it_did(name: str) -> None:
    content, said = stored()[name]
    if "light-gbm" in name or "expert-blend" in name:
        pytest.importorskip("lightgbm")
    np.testing.assert_allclose(answer(cc.load(io.BytesIO(content))), said, rtol=1e-6, atol=1e-8)


def write(path: str) -> None:
    """Write fitted models of this version and their answers."""
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        warnings.simplefilter("ignore")
        answers = {}
        for name, content in models.fitted().items():
            is_fitted = not name.startswith("method") or "(" in name
            if is_fitted and (not name.startswith("scikit-learn") or "Pipeline" in name):
                answers[name] = np.asarray(answer(cc.load(io.BytesIO(content)))).tolist()
                archive.writestr(zipfile.ZipInfo(f"{name}.zip"), content)
        archive.writestr(zipfile.ZipInfo("answers.json"), json.dumps(answers), zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    write(sys.argv[1])
