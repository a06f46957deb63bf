"""Declare the fitted state of the scikit-learn estimators that can be saved.

``LEARNS`` has the declarations of each class by name; ``check_more`` checks what declarations cannot express.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import comb
from typing import Any

from concordant.support.state import (
    SMALLEST,
    Classes,
    Flag,
    Held,
    Kind,
    ListOf,
    Numbers,
    Text,
    TypeOfNumbers,
    either,
    floats,
    labels,
    maybe,
    optional,
    part,
    whole,
)

P = "n_features_in_"
LARGEST_POWER = 100.0  # of a power transform: ordinary values stay finite
LARGEST_DEGREE = 64  # of polynomial features

_Learns = dict[str, Kind]


def _any(*shape: str | int, **limits: Any) -> Numbers:
    return floats(*shape, single=True, **limits)


ROWS: _Learns = {P: whole(low=1), "feature_names_in_": optional(labels(P))}
_COUNT = either(_any(low=0), whole(), _any(P, low=0), whole(P))
_ITERATIONS = optional(maybe(whole(), whole("iterated", bits=32), whole("iterated")))
_CLASSES = Classes(size="classes")
_OUTPUT: _Learns = {"_n_features_out": whole(low=1)}


def _linear(**more: Kind) -> _Learns:
    """Return the state of a linear regression with one or more targets."""
    coefficients = either(_any(P), _any("targets", P))
    return {**ROWS, "coef_": coefficients, "intercept_": either(_any(), _any("targets")), **more}


def _classifier(**more: Kind) -> _Learns:
    """Return the state of a linear classifier: one row of coefficients for two classes, else one per class."""
    coefficients = either(_any("rows", P), _any(P))
    return {**ROWS, "classes_": _CLASSES, "coef_": coefficients, "intercept_": either(_any("rows"), _any()), **more}


LEARNS: dict[str, Mapping[str, Kind]] = {
    "Pipeline": {},
    "FeatureUnion": {},
    "StandardScaler": {
        **ROWS,
        "n_samples_seen_": _COUNT,
        "mean_": maybe(_any(P)),
        "var_": maybe(_any(P, low=0)),
        "scale_": maybe(_any(P, low=SMALLEST)),
    },
    "MinMaxScaler": {
        **ROWS,
        "n_samples_seen_": whole(),
        **{name: _any(P) for name in ("scale_", "min_", "data_min_", "data_max_", "data_range_")},
    },
    "MaxAbsScaler": {
        **ROWS,
        "n_samples_seen_": whole(),
        "max_abs_": _any(P, low=0),
        "scale_": _any(P, low=SMALLEST),
    },
    "RobustScaler": {**ROWS, "center_": maybe(_any(P)), "scale_": maybe(_any(P, low=SMALLEST))},
    "QuantileTransformer": {
        **ROWS,
        "n_quantiles_": whole(low=1),
        "references_": floats("n_quantiles_", low=0, high=1, is_sorted=True),
        "quantiles_": _any("n_quantiles_", P, is_sorted=True),
    },
    "Normalizer": ROWS,
    "Binarizer": ROWS,
    "FunctionTransformer": ROWS,
    "LabelBinarizer": {
        "y_type_": Text(choices=("binary", "multiclass")),
        "sparse_input_": Flag(),
        "classes_": _CLASSES,
    },
    "PowerTransformer": {
        **ROWS,
        "lambdas_": _any(P, low=-LARGEST_POWER, high=LARGEST_POWER),
        "_scaler": optional(part(P, "transform")),
    },
    "PolynomialFeatures": {
        **ROWS,
        "_min_degree": whole(high=LARGEST_DEGREE),
        "_max_degree": whole(high=LARGEST_DEGREE),
        "n_output_features_": whole(),
        "_n_out_full": whole(),
    },
    "SimpleImputer": {
        **ROWS,
        "_fit_dtype": TypeOfNumbers(),
        "_fill_dtype": TypeOfNumbers(),
        "indicator_": maybe(),
        "statistics_": either(_any(P, may_miss=True), whole(P, low=-(2**53))),
    },
    "PCA": {
        **ROWS,
        "n_components_": whole(low=1),
        "_fit_svd_solver": Text(),
        "mean_": _any(P),
        "noise_variance_": _any(),
        "n_samples_": whole(),
        "components_": _any("n_components_", P),
        **{
            name: _any("n_components_", low=0)
            for name in ("explained_variance_", "explained_variance_ratio_", "singular_values_")
        },
    },
    "TruncatedSVD": {
        **ROWS,
        "components_": _any("components", P),
        **{name: _any("components") for name in ("explained_variance_", "explained_variance_ratio_")},
        "singular_values_": _any("components"),
    },
    "Nystroem": {
        **ROWS,
        **_OUTPUT,
        "normalization_": _any("_n_features_out", "_n_features_out"),
        "components_": _any("_n_features_out", P),
        "component_indices_": whole("_n_features_out"),
    },
    "RBFSampler": {
        **ROWS,
        **_OUTPUT,
        "_gamma": _any(),
        "random_weights_": _any(P, "_n_features_out"),
        "random_offset_": _any("_n_features_out"),
    },
    "GaussianRandomProjection": {
        **ROWS,
        **_OUTPUT,
        "n_components_": whole(low=1),
        "components_": _any("_n_features_out", P),
        "inverse_components_": optional(_any(P, "_n_features_out")),
    },
    "VarianceThreshold": {**ROWS, "variances_": _any(P, low=0)},
    "LogisticRegression": _classifier(n_iter_=_ITERATIONS),
    "LinearRegression": _linear(rank_=optional(whole()), singular_=optional(_any("singular", low=0))),
    "Ridge": _linear(n_iter_=_ITERATIONS, solver_=Text()),
    "Lasso": _linear(n_iter_=_ITERATIONS, dual_gap_=either(_any(), _any("targets"))),
    "ElasticNet": _linear(n_iter_=_ITERATIONS, dual_gap_=either(_any(), _any("targets"))),
    "BayesianRidge": _linear(
        X_offset_=_any(P),
        X_scale_=_any(P),
        scores_=either(ListOf(kind=_any(), size="scores"), _any("scores")),
        n_iter_=whole(),
        alpha_=_any(low=SMALLEST),
        lambda_=_any(low=0),
        sigma_=_any(P, P),
    ),
    "HuberRegressor": _linear(
        n_iter_=whole(), scale_=_any(low=0), outliers_=Numbers(shape=("rows",), dtypes=("bool",), low=0, high=1)
    ),
    "RidgeClassifier": _classifier(n_iter_=_ITERATIONS, solver_=Text(), _label_binarizer=Held(name="LabelBinarizer")),
    "LinearSVC": _classifier(n_iter_=whole()),
    "LinearSVR": {**_linear(), "intercept_": either(_any(1), _any()), "n_iter_": whole()},
    "GaussianNB": {
        **ROWS,
        "classes_": _CLASSES,
        "epsilon_": _any(low=0),
        "theta_": _any("classes", P),
        "var_": _any("classes", P, low=SMALLEST),
        "class_count_": _any("classes", low=0),
        "class_prior_": _any("classes", low=SMALLEST, high=1),
    },
    "LinearDiscriminantAnalysis": {
        **_classifier(),
        "priors_": _any("classes", low=0, high=1),
        "_max_components": whole(),
        "means_": _any("classes", P),
        "xbar_": optional(_any(P)),
        "explained_variance_ratio_": optional(_any("explained")),
        "scalings_": optional(_any(P, "scaled")),
        "covariance_": optional(_any(P, P)),
        "_n_features_out": whole(),
    },
    "QuadraticDiscriminantAnalysis": {
        **ROWS,
        "classes_": _CLASSES,
        "priors_": _any("classes", low=SMALLEST, high=1),
        "means_": _any("classes", P),
        "scalings_": ListOf(kind=_any(P, low=SMALLEST), size="classes"),
        "rotations_": ListOf(kind=_any(P, P), size="classes"),
        "covariance_": optional(ListOf(kind=_any(P, P), size="classes")),
    },
}


def check_more(estimator: Any, name: str) -> None:
    """Check the parameters as ``fit`` does, and conditions that declarations cannot express."""
    if hasattr(estimator, "_parameter_constraints"):
        estimator._validate_params()
    if name in ("Pipeline", "FeatureUnion"):
        _check_steps(estimator, name)
    if name == "PolynomialFeatures" and hasattr(estimator, "_n_out_full"):
        _check_polynomial(estimator)
    if name == "LabelBinarizer" and not estimator.neg_label < estimator.pos_label:
        raise ValueError("LabelBinarizer has labels in the wrong order")
    if hasattr(estimator, "classes_") and hasattr(estimator, "coef_"):
        _check_rows(estimator, name)


def _check_steps(estimator: Any, name: str) -> None:
    """Check that steps are pairs of names and estimators, as scikit-learn requires."""
    steps = estimator.steps if name == "Pipeline" else estimator.transformer_list
    if not steps or not all(isinstance(step, tuple) and len(step) == 2 and isinstance(step[0], str) for step in steps):
        raise ValueError(f"{name} does not list its steps as names and estimators")
    estimator._validate_steps() if name == "Pipeline" else estimator._validate_transformers()


def _check_polynomial(estimator: Any) -> None:
    """Check degrees and number of columns, on which scikit-learn relies when it fills an uninitialised array."""
    degree = estimator.degree
    low, high = (0, degree) if isinstance(degree, int) else degree
    if (estimator._min_degree, estimator._max_degree) != (low, high):
        raise ValueError("PolynomialFeatures learnt degrees that differ from its parameters")
    n = estimator.n_features_in_
    n_products = [comb(n, d) if estimator.interaction_only else comb(n + d - 1, d) for d in range(1, high + 1)]
    bias = int(estimator.include_bias)
    if (
        estimator._n_out_full != sum(n_products) + bias
        or estimator.n_output_features_ != sum(n_products[max(low - 1, 0) :]) + bias
    ):
        raise ValueError("the number of output columns of PolynomialFeatures does not match its degrees")


def _check_rows(estimator: Any, name: str) -> None:
    """Check that a linear classifier has one row of coefficients for two classes, else one per class."""
    classes, shape = len(estimator.classes_), estimator.coef_.shape
    rows = 1 if len(shape) == 1 else shape[0]
    if classes < 2 or rows != (1 if classes == 2 else classes):
        raise ValueError(f"{name} has {rows} rows of coefficients for {classes} classes")
