"""concordant: preferences of any form into rankings people can trust.

>>> import concordant as cc
>>> prefs = cc.Preferences.from_rankings([["a", "b", "c"], ["b", "a", "c"], ["a", "c", "b"]])
>>> cc.rank(prefs, "borda").items
['a', 'b', 'c']
"""

# No import stands here, not even of __future__: python -m concordant would look for it in the working folder.
# Public names and where they live; resolved on first use so that importing concordant costs nothing.
_HOME = {
    "Preferences": "preferences",
    "concat": "preferences",
    "Labels": "labels",
    "Ranking": "ranking",
    "Notice": "ranking",
    "EloScale": "results.scales",
    "Method": "method",
    "param": "params",
    "ExpertFeatures": "features",
    "FusionFeatures": "features",
    "PlaceFeatures": "features",
    "rank": "api",
    "rank_groups": "analysis.groups.rank_groups",
    "fuse": "analysis.fusing",
    "compare": "analysis.comparing",
    "agreement": "analysis.agreement.measuring",
    "evaluate": "evaluation",
    "lehmer_recovery": "models.recovery",
    "report": "reporting",
    "read": "io",
    "read_labels": "io",
    "read_features": "io",
    "read_sql": "io",
    "write": "io",
    "save": "saving",
    "load": "saving",
    "ConcordantError": "errors",
    "InputError": "errors",
    "FormatError": "errors",
    "ParameterError": "errors",
    "NeedError": "errors",
    "UnknownNameError": "errors",
    "OneQueryWarning": "errors",
}
_MODULES = {name: name for name in ("datasets", "metrics", "recommend", "views", "registry", "kernels", "simulate")}
_MODULES["crowd"] = "analysis.crowd"


def __getattr__(name: str) -> object:
    import importlib

    if name == "__version__":  # stands in pyproject.toml
        from importlib.metadata import version

        value: object = version("concordant")
    elif name in _HOME:
        value = getattr(importlib.import_module(f"concordant.{_HOME[name]}"), name)
    elif name in _MODULES:
        value = importlib.import_module(f"concordant.{_MODULES[name]}")
    elif name[:1].isupper():
        from concordant import registry

        value = registry.METHODS.attribute(__name__, name)
    else:
        raise AttributeError(f"module 'concordant' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    from concordant import registry

    return sorted([*globals(), *_HOME, *_MODULES, *registry.METHODS.attributes()])
