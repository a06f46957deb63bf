"""Every test of a method runs on both kernel back ends."""

from __future__ import annotations

import importlib

import pytest

from concordant import laws


@pytest.fixture(autouse=True, params=["_compiled", "twins"])
def backend(request):
    try:
        module = importlib.import_module(f"concordant.kernels.{request.param}")
    except ImportError:
        pytest.skip("the compiled kernels are not built")
    with laws.using_kernels(module):
        yield request.param
