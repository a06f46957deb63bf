"""The page of a ranker that learns from labelled feature rows: evaluation, features, queries, and the model."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from functools import cached_property, partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from concordant import registry
from concordant.analysis import training
from concordant.analysis.training import HeldOut, Trained
from concordant.ballots.vocabulary import shorten
from concordant.errors import ConcordantError, InputError, Reference, Words, arg, in_words
from concordant.io import read_features
from concordant.io.formats.features import Features
from concordant.narrative.verdict import Verdict
from concordant.params import Param
from concordant.registry import LEARNERS
from concordant.reporting.about_learner import (
    Learnt,
    data_rows,
    features_section,
    learner_verdict,
    predictions,
    quality_section,
    queries_section,
    title_of,
)
from concordant.reporting.about_ranking import csv_of
from concordant.reporting.sections import ReportTable, Section
from concordant.support.markup import Markup, element, joined
from concordant.tables.options import FEATURES, columns_of, normalise
from concordant.web import commands, drawer, forms
from concordant.web.offers import Offer, ranking_offers
from concordant.web.reading import MAX_BYTES, Source
from concordant.web.sectioned import SectionedTask, Sections, choice, facts_section, metric_choice, refuse_unknown
from concordant.web.settings import NOT_READ, typed
from concordant.web.words import control_words

READING = ("encoding", "delimiter", "sheet", "where", "skip_bad_rows")  # options that feature rows have, too
METRIC_CHOICES = ("ndcg@10", "ndcg@5", "map", "err@10", "mrr", "p@5")
MISSING = (("mean", "mean of the feature"), ("median", "median of the feature"), ("zero", "zero"))
LIBRARIES = {"light-gbm-ranker": "lightgbm", "xgboost-ranker": "xgboost"}  # that need not be installed
IMPUTED = "mean"  # if the ranker does not support missing values
RANKED = re.compile(r"-?\d+|null", re.IGNORECASE)  # what LETOR files of ranks contain, instead of features


# ---- what files are for ----
def holds_features(source: Source) -> bool:
    """Return whether files hold labelled feature rows: LETOR features, or a table with label, query and numbers."""
    if not source.preview.columns:
        return source.preview.format in ("letor", "svmlight") and _are_letor_features(source)
    if source.preview.plan is not None:
        return False
    label, query = _column(source, "label"), query_column(source)
    others = [name for name in forms.numeric_columns(source.preview, source.roles) if name not in (label, query)]
    return label is not None and query is not None and bool(others)


def _are_letor_features(source: Source) -> bool:
    """Return whether some values of the first lines are not whole numbers, as ranks would be."""
    lines = [(row[0] or "").partition("#")[0].split() for row in source.preview.rows]
    values = [word.partition(":")[2] for line in lines for word in line[1:] if not word.startswith("qid:")]
    return bool(values) and not all(RANKED.fullmatch(value) for value in values)


def _column(source: Source, role: str) -> str | None:
    """Return the column whose name is recognised for a role of feature rows."""
    known = (role, *columns_of(FEATURES)[role].synonyms)
    found = [name for name in source.preview.columns if normalise(name) in known]
    return min(found, key=lambda name: known.index(normalise(name)), default=None)


def query_column(source: Source) -> str | None:
    """Return the column of queries: by its name, or the first column of words that repeat."""
    named = _column(source, "query")
    if named is not None:
        return named
    label, item = _column(source, "label"), _column(source, "item")
    numbers = forms.numeric_columns(source.preview, {})
    for k, name in enumerate(source.preview.columns):
        cells = [row[k] for row in source.preview.rows if row[k]]
        if name not in (label, item, *numbers) and cells and len(set(cells)) <= max(1, len(cells) / 2):
            return name
    return None


def usable_rankers() -> tuple[str, ...]:
    """List the rankers whose libraries are installed."""
    return tuple(name for name in training.rankers() if name not in LIBRARIES or find_spec(LIBRARIES[name]))


def feature_words(known: Words) -> Words:
    """Return how the page names parameters, among them those that only feature rows have."""
    own = {"label": "“Column of labels”", "query": "“Column of queries”", "missing": "“Missing values”"}

    def words(reference: Reference) -> str | None:
        if reference.of or reference.name not in own:
            return known(reference)
        value = f" {reference.value}" if reference.is_text and reference.value else ""
        return f"{own[reference.name]}{value}"

    return words


class TrainTask(SectionedTask):
    """Train a ranker on some queries and evaluate it on the others."""

    name = "train"
    first = "quality"
    default_metrics = training.METRICS

    # ---- data ----
    def open(self) -> None:
        """Read the rows, train the ranker, and evaluate it."""
        self.tell("Reading")
        try:
            _ = self.rows
            self.tell(f"Training: {title_of(self.learner)}")
            _ = self.of
        except ConcordantError as problem:
            problem.args = (in_words(problem, feature_words(control_words())),)
            raise

    @cached_property
    def columns(self) -> dict[str, str]:
        """The columns of label and query, if they are not those that the reader recognises."""
        if not self.source.preview.columns:
            return {}
        chosen = {"label": self.settings.get("label_column", ""), "query": self.settings.get("query_column", "")}
        known = self.source.preview.columns
        columns = {role: name for role, name in chosen.items() if name in known}
        guessed = query_column(self.source)
        is_unnamed = _column(self.source, "query") is None
        if "query" not in columns and chosen["query"] != NOT_READ and guessed is not None and is_unnamed:
            columns["query"] = guessed
        return columns

    @cached_property
    def reading(self) -> dict[str, Any]:
        """The reading options that feature rows have."""
        return {name: value for name, value in self.source.reading.items() if name in READING}

    @cached_property
    def rows(self) -> Features:
        """The feature rows."""
        is_table = bool(self.source.preview.columns)
        if is_table and "label" not in self.columns and _column(self.source, "label") is None:
            raise InputError(
                "No column was recognised as the label of feature rows: choose it with " + arg("label") + "."
            )
        first = self.question["files"][0] if len(self.question["files"]) == 1 else list(self.question["files"])
        key = f"rows {sorted(self.columns.items())} {sorted(self.reading.items())}"

        def read() -> Features:
            return read_features(first, **self.columns, **self.reading, max_bytes=MAX_BYTES)

        rows: Features = self.kept(key, read, 1)
        if not rows.has_labels:
            raise InputError("The rows have no labels: choose the column of labels.")
        return rows

    # ---- the ranker ----
    @cached_property
    def learner(self) -> str:
        """The ranker: the chosen one, or the default."""
        chosen = self.settings.get("learner", "")
        refuse_unknown("learner", chosen, usable_rankers())
        return chosen or training.DEFAULT

    @cached_property
    def declared(self) -> tuple[Param, ...]:
        """The options of the ranker."""
        return training.params_of(LEARNERS.load(self.learner))

    @cached_property
    def params(self) -> dict[str, Any]:
        """The chosen options."""
        return typed(self.declared, self.settings["params"], self.settings.get("learner", ""))

    @cached_property
    def missing(self) -> str:
        """How missing values are imputed; empty if there are none, or if the ranker supports them."""
        from sklearn.utils import get_tags

        if not np.isnan(self.rows.X).any():
            return ""
        chosen = str(self.settings.get("missing", ""))
        return chosen or ("" if get_tags(self._ranker()).input_tags.allow_nan else IMPUTED)

    def _explain(self, message: Warning | str) -> str:
        """Return a warning of the training in the words of the page."""
        text = message.args[0] if isinstance(message, Warning) and message.args else message
        return in_words(text, self.words).partition("\n")[0]

    def _ranker(self) -> Any:
        return LEARNERS.load(self.learner)(**self.params)

    @cached_property
    def _key(self) -> str:
        return f"{self.learner} {sorted(self.params.items())} {self.missing} {sorted(self.columns.items())}"

    @cached_property
    def tried(self) -> HeldOut:
        """The ranker trained on some queries, and its metrics on the others."""

        def train() -> HeldOut:
            with training.explained(self._explain) as messages:
                tried = training.try_out(self._ranker(), self.rows, self.metrics, missing=self.missing or None)
            tried.trained.warnings = messages
            return tried

        tried: HeldOut = self.kept(f"tried {self._key} {self.metrics}", train, 3)
        return tried

    @cached_property
    def final(self) -> Trained:
        """The ranker trained on all queries, which is what is downloaded."""

        def train() -> Trained:
            with training.explained(self._explain):
                return training.fit_ranker(self._ranker(), self.rows, missing=self.missing or None)

        final: Trained = self.kept(f"final {self._key}", train, 2)
        return final

    @cached_property
    def of(self) -> Learnt:
        """The rows with the trained ranker."""
        return Learnt(self.rows, self.tried)

    @property
    def words(self) -> Words:
        """How messages name the controls of the page."""
        return feature_words(control_words([one.name for one in self.declared], self.learner))

    @property
    def reading_notes(self) -> tuple[str, ...]:
        """How the files were understood."""
        imputed = f"Missing values are replaced by the {dict(MISSING)[self.missing]}" if self.missing else ""
        return (*self.rows.notes, *filter(None, [imputed]))

    # ---- what the page says ----
    def summary(self) -> str:
        """Return a line on the data."""
        return ", ".join(f"{number} {noun}" for number, noun in self.verdict().numbers)

    def verdict(self) -> Verdict:
        """Return the verdict on the evaluation."""
        return learner_verdict(self.of)

    def offers(self) -> tuple[Offer, ...]:
        """Return the way back to the ranking, if the files can be ranked, and another ranker."""
        other = "forest-ranker" if self.learner != "forest-ranker" else training.DEFAULT
        text = "Train a randomised forest instead" if other != training.DEFAULT else f"Train {title_of(other)} instead"
        reason = "Trees find interactions of features." if other != training.DEFAULT else "A linear model is simpler."
        letor = not self.source.preview.columns
        back = () if letor else ranking_offers(self.source)
        return (Offer(text, {"task": "train", "learner": other}, reason), *back)

    def sections(self) -> Sections:
        """Return the sections of the page and of the report."""
        return {
            "quality": ("Evaluation", partial(quality_section, self.of)),
            "features": ("Features", partial(features_section, self.of)),
            "queries": ("Queries", partial(queries_section, self.of)),
            "data": ("Data", self._data_section),
        }

    def _data_section(self) -> Section:
        preview = self.source.preview
        section = facts_section(data_rows(self.of), self.rows.notes)
        columns = preview.columns or ("line",)
        cells = tuple(tuple(shorten(cell or "", forms.CELL) for cell in row) for row in preview.rows)
        first = ReportTable("First rows", columns, cells, labels=frozenset(range(len(columns))), is_sortable=False)
        return Section(section.name, section.title, (*section.parts, first))

    def controls(self) -> Markup:
        """Return the ranker, its options, the columns, and how the file is read."""
        names = [(name, title_of(name)) for name in sorted(usable_rankers(), key=title_of)]
        summary = registry.summary_of(LEARNERS.load(self.learner))
        menu = choice("learner", "Ranker", names, self.learner, training.DEFAULT, summary)
        texts = self.settings["params"]
        fields = [forms.option_field(one, texts.get(one.name, "")) for one in self.declared]
        more = element("details", element("summary", "Options of this ranker"), *fields, open=bool(self.params))
        groups = [
            drawer.group("", menu, more if fields else None),
            drawer.group("Evaluation", metric_choice(self, METRIC_CHOICES, "Metric of the verdict.")),
            self._columns(self.rows),
            drawer.reading(self.source, self.settings),
        ]
        return joined(one for one in groups if one is not None)

    def reading_controls(self) -> Markup:
        """Return the columns of labels and queries."""
        return self._columns(None)

    def _columns(self, rows: Features | None) -> Markup:
        """Return the columns of labels and queries, and what replaces missing values in these rows."""
        known = self.source.preview.columns
        shown = [(name, shorten(name, 40)) for name in known]
        label = self.columns.get("label") or _column(self.source, "label") or ""
        query = self.columns.get("query") or _column(self.source, "query") or NOT_READ
        menus = []
        if known:
            menus.append(choice("label_column", "Column of labels", shown, label, "", "Relevance; higher is better."))
            options = [(NOT_READ, "none: all rows are one query"), *shown]
            menus.append(choice("query_column", "Column of queries", options, query, "", "Rows of a query are ranked."))
        if rows is not None and np.isnan(rows.X).any():
            options = [("", "as the ranker does")] * (self.missing == "") + list(MISSING)
            hint = "What replaces empty cells."
            menus.append(choice("missing", "Missing values", options, self.missing, "", hint))
        return drawer.group("Columns", *menus) if menus else Markup("")

    # ---- files ----
    def kinds(self) -> list[tuple[str, str]]:
        """Return the files to download."""
        return [("model", "Model (ZIP)"), ("predictions", "Held-out predictions (CSV)")]

    def writers(self) -> dict[str, Callable[[], bytes]]:
        """Return functions that write the files."""
        return {
            "model": self._model,
            "predictions": lambda: csv_of(predictions(self.tried.test, self.tried.scores)),
        }

    def _model(self) -> bytes:
        out = io.BytesIO()
        self.final.values = self.tried.trained.values
        training.save_ranker(self.final, out, self.rows)
        return out.getvalue()

    def lines(self) -> tuple[str, str]:
        """Return the shell command and the Python code that reproduce the page."""
        return commands.train_lines(self)
