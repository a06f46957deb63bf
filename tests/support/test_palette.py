"""Colours: the same in plots and pages, and different from each other for colour-blind readers."""

from __future__ import annotations

import re
from importlib.resources import files
from itertools import combinations

import numpy as np
import pytest

from concordant.support.palette import DARK, EITHER, LIGHT, Palette, luminance

pytestmark = pytest.mark.once

# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
VISION = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
LEAST = 19.0  # difference of two series by CIE76


def rgb(colour):
    return np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])


def lab(colour, vision):
    linear = np.where(rgb(colour) <= 0.04045, rgb(colour) / 12.92, ((rgb(colour) + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(VISION[vision]) @ linear, 0, 1)
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ seen
    t = xyz / np.array([0.95047, 1.0, 1.08883])
    f = np.where(t > (6 / 29) ** 3, np.cbrt(t), t / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(one, other):
    light, dark = sorted((luminance(*rgb(one)), luminance(*rgb(other))), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_any_two_series_differ_in_every_vision(palette: Palette, vision: str) -> None:
    apart = {(a, b): np.linalg.norm(lab(a, vision) - lab(b, vision)) for a, b in combinations(palette.series, 2)}
    assert min(apart.values()) >= LEAST, min(apart, key=apart.get)


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_below_and_above_differ_in_every_vision(palette: Palette, vision: str) -> None:
    for k in range(3):
        assert np.linalg.norm(lab(palette.diverging[k], vision) - lab(palette.diverging[8 - k], vision)) >= LEAST


def test_series_are_readable_on_their_surface() -> None:
    for palette in (LIGHT, DARK):
        assert min(contrast(colour, palette.surface) for colour in palette.series) >= 4.5
    assert min(contrast(EITHER, "#ffffff"), contrast(EITHER, "#111111"), contrast(EITHER, "#1e1e1e")) >= 3


def test_the_style_sheet_has_the_same_colours() -> None:
    style = files("concordant.reporting").joinpath("static/report.css").read_text(encoding="utf-8")
    tokens = dict(re.findall(r"--([\w-]+): light-dark\((#\w{6}, #\w{6})\)", style))
    own = {"surface": "surface", "ink": "ink", "ink-2": "quiet", "line": "line", "rest": "rest"}
    values = {token: (getattr(LIGHT, name), getattr(DARK, name)) for token, name in own.items()}
    values |= {f"s{k}": pair for k, pair in enumerate(zip(LIGHT.series, DARK.series, strict=True), 1)}
    values |= {f"d{k}": pair for k, pair in enumerate(zip(LIGHT.diverging, DARK.diverging, strict=True))}
    assert {token: tokens[token] for token in values} == {token: ", ".join(pair) for token, pair in values.items()}
