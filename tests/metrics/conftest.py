"""Every metric test runs on both back ends: the compiled kernels (where built) and their NumPy twins."""

from __future__ import annotations

import importlib

import pytest

from concordant import kernels
from concordant.kernels import twins
from concordant.kernels.metrics import distance, retrieval


@pytest.fixture(scope="module", params=["compiled", "numpy"], autouse=True)
def backend(request):
    if request.param == "compiled":
        try:
            chosen = importlib.import_module("concordant.kernels._compiled")
        except ImportError:
            pytest.skip("the compiled kernels are not built")
    else:
        chosen = twins
    with pytest.MonkeyPatch.context() as patch:
        for name in (*distance.__all__, *retrieval.__all__):
            getattr(kernels, name)
            patch.setattr(kernels, name, getattr(chosen, name))
        yield request.param
