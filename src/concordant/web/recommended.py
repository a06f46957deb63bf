"""The page of recommendations: items for a user, items for a new user, similar items, and how good they are."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from functools import cached_property, partial
from itertools import islice
from typing import Any

from concordant import registry, saving
from concordant.analysis.recommending import METRICS, TrainedRecommender, default_recommender, train_recommender
from concordant.ballots.vocabulary import shorten
from concordant.errors import ConcordantError, InputError, ParameterError, Words, in_words, suggest
from concordant.io import write
from concordant.narrative.verdict import Verdict
from concordant.params import Param, params_of
from concordant.preferences import Preferences
from concordant.registry import RECOMMENDERS
from concordant.reporting.about_ranking import csv_of
from concordant.reporting.about_recommender import (
    TOP,
    Recommendations,
    data_rows,
    quality_section,
    recommended,
    recommender_verdict,
    similar_section,
    title_of,
    user_section,
)
from concordant.reporting.pages import control
from concordant.reporting.sections import Control, Message, Messages, Section, Text
from concordant.support.markup import Markup, element, joined
from concordant.web import commands, drawer, forms
from concordant.web.offers import Offer, ranking_offers
from concordant.web.sectioned import (
    MAX_LISTED,
    SectionedTask,
    Sections,
    chips,
    choice,
    facts_section,
    metric_choice,
    refuse_unknown,
    text_field,
)
from concordant.web.settings import typed
from concordant.web.words import control_words

MAX_CELLS = 1_000_000  # of the lists of all users
RATING = re.compile(r"\s*(\S.*?)\s*=\s*([-+]?\d+(?:\.\d+)?)\s*(?:;|$)", re.DOTALL)
METRIC_CHOICES = ("ndcg@10", "ndcg@5", "err", "map", "mrr", "p@5", "recall@10")


class RecommendTask(SectionedTask):
    """Recommend items to users."""

    name = "recommend"
    first = "recommend"
    default_metrics = METRICS

    # ---- data and model ----
    def open(self) -> None:
        """Read the ratings and train the recommender."""
        self.source.check()
        self.tell("Reading")
        prefs = self.prefs
        name = self.settings.get("recommender") or default_recommender(prefs)
        self.tell(f"Training: {title_of(name)}")
        _ = self.of

    @cached_property
    def prefs(self) -> Preferences:
        """The ratings or clicks."""
        prefs: Preferences = self.kept("data", lambda: self.source.request(None).read(), 1)
        if prefs.form == "pairs":
            raise InputError("These are pairwise comparisons; recommendations need ratings or clicks: rank the items.")
        return prefs

    @cached_property
    def recommender(self) -> str:
        """The recommender: the chosen one, or the one for these data."""
        chosen = self.settings.get("recommender", "")
        refuse_unknown("recommender", chosen, tuple(RECOMMENDERS.modules()))
        return chosen or default_recommender(self.prefs)

    @cached_property
    def declared(self) -> tuple[Param, ...]:
        """The options of the recommender."""
        return params_of(RECOMMENDERS.load(self.recommender))

    @cached_property
    def params(self) -> dict[str, Any]:
        """The chosen options."""
        return typed(self.declared, self.settings["params"], self.settings.get("recommender", ""))

    @cached_property
    def of(self) -> Recommendations:
        """The trained recommender with its data."""
        key = f"model {self.recommender} {sorted(self.params.items())} {self.metrics}"
        of: Recommendations = self.kept(key, self._train, 3)
        return of

    def _train(self) -> Recommendations:
        def trained(**options: Any) -> TrainedRecommender:
            return train_recommender(self.prefs, self.recommender, self.params, metrics=self.metrics, **options)

        try:
            return Recommendations(self.prefs, trained())
        except InputError as problem:
            if "hold any out" not in str(problem):
                raise
            note = "Every user has too few ratings to hold any out, so the recommender was not evaluated."
            return Recommendations(self.prefs, trained(held_out=0.0), note)

    @property
    def words(self) -> Words:
        """How messages name the controls of the page."""
        return control_words([one.name for one in self.declared], self.recommender)

    @property
    def reading_notes(self) -> tuple[str, ...]:
        """How the files were understood."""
        return tuple(self.prefs.notes)

    # ---- what the page says ----
    def summary(self) -> str:
        """Return a line on the data."""
        numbers = recommender_verdict(self.of).numbers
        return ", ".join(f"{number} {noun}" for number, noun in reversed(numbers))

    def verdict(self) -> Verdict:
        """Return the verdict on the evaluation."""
        return recommender_verdict(self.of)

    def offers(self) -> tuple[Offer, ...]:
        """Return the way back to the ranking."""
        return ranking_offers(self.source, "Rank the items instead")

    @property
    def user(self) -> str:
        """The user whose recommendations are shown."""
        return self.settings.get("user") or self.of.default_user

    @property
    def like(self) -> str:
        """The item whose similar items are shown."""
        return self.settings.get("like") or self.of.items(1)[0]

    def sections(self) -> Sections:
        """Return the sections of the page and of the report."""
        return {
            "recommend": ("Recommendations", partial(user_section, self.of, self.user)),
            "newcomer": ("New user", self._newcomer_section),
            "similar": ("Similar items", partial(similar_section, self.of, self.like)),
            "quality": ("Evaluation", partial(quality_section, self.of)),
            "data": ("Data", self._data_section),
        }

    def panels(self) -> dict[str, Callable[[], Markup | None]]:
        """Return the panels with controls."""
        return {
            "recommend": self._user_panel,
            "newcomer": self._newcomer_panel,
            "similar": self._similar_panel,
            "data": lambda: self.data_panel(self._data_section()),
        }

    def _data_section(self) -> Section:
        return facts_section(data_rows(self.of), self.prefs.notes)

    def _parts(self, make: Callable[[], Section | None]) -> tuple[Any, ...]:
        """Return the parts of a section, or the sentence on why there are none."""
        try:
            section = make()
        except ConcordantError as problem:
            return (Messages((Message("Not available", in_words(problem, self.words)),)),)
        return () if section is None else section.parts

    # ---- recommendations for a user ----
    def _user_panel(self) -> Markup:
        """Return the items for the chosen user."""
        known = self.of.users(MAX_LISTED)
        field = Control("user", "User", self.user, "search", tuple((user, "") for user in known))
        n = self.of.noun[1]
        said = (
            f"{shorten(self.user, 40)} is shown, as one of the users with the most {n}; type the name of another user."
        )
        default = None if self.settings.get("user") else Text(said, "left-out")
        parts = self._parts(lambda: user_section(self.of, self._known_user()))
        return self.panel("recommend", "Recommendations", control(field), default, *parts)

    def _known_user(self) -> str:
        """Return the chosen user; reject an unknown one."""
        users = self.of.observed.agents
        if users.codes([self.user])[0] < 0:
            similar = suggest(self.user, self.of.users(MAX_LISTED))
            raise InputError(f"There is no user {shorten(self.user, 40)!r}: type a user of these data.{similar}")
        return self.user

    # ---- a new user ----
    @cached_property
    def rated(self) -> dict[str, float]:
        """The ratings of the new user; raises ParameterError if they cannot be read."""
        return ratings_of(self.settings.get("rated", ""), self.of)

    @property
    def readable_ratings(self) -> dict[str, float]:
        """The ratings of the new user, or none if they cannot be read."""
        try:
            return self.rated
        except ParameterError:
            return {}

    def _newcomer_section(self) -> Section | None:
        """Return the items for the new user; None without ratings."""
        if not self.rated:
            return None
        of, rated = self.of, self.rated
        unknown = [item for item in rated if of.observed.items.codes([item])[0] < 0]
        if len(unknown) == len(rated):
            raise InputError("None of these items is in the data: choose items from the list.")
        ranking = of.trained.model.fold_in(rated).recommend(None, TOP)
        given = "; ".join(f"{shorten(item, 40)}: {value:g}" for item, value in rated.items())
        left_out = ", ".join(shorten(item, 40) for item in unknown)
        note = (Text(f"Left out, because they are not in the data: {left_out}."),) if unknown else ()
        said = f"From {len(rated) - len(unknown)} {of.noun[len(rated) - len(unknown) != 1]} ({given}). The new user is "
        said += "folded in: the latent factors of the items stay as they are."
        return Section("newcomer", "New user", (Text(said), *note, *recommended(of, ranking, "For the new user")))

    def _newcomer_panel(self) -> Markup:
        """Return the controls for the ratings of a new user, and the items for this user."""
        of, add = self.of, element("button", "Add", type="button", class_="button", data_setting="rate-add")
        item = text_field("set-rate-item", "Item", listed=of.items(MAX_LISTED))
        if of.are_clicks or of.scale is None:
            value = element("input", type="hidden", id="set-rate-value", value="1")
        else:
            low, high = of.scale
            value = text_field("set-rate-value", f"Rating, from {low:g} to {high:g}", f"{high:g}", type="number",
                               min=f"{low:g}", max=f"{high:g}", step="any")  # fmt: skip
        given = self._given()
        row = element("div", item, value, add, class_="row")
        hint = None if given else Text(f"Add {of.noun[1]} of a new user to get recommendations.")
        note = "Recommendations for a user who is not in the data (cold start)."
        return self.panel("newcomer", "New user", row, given, hint, *self._parts(self._newcomer_section), note=note)

    def _given(self) -> Markup | None:
        """Return the ratings of the new user as chips that can be removed."""
        text = self.settings.get("rated", "")
        try:
            rated = named_ratings(text)
        except ConcordantError:
            return chips([("", element("bdi", shorten(text, 60)))], "rated")
        removable = []
        for item, value in rated.items():
            rest = "; ".join(f"{other}={one:g}" for other, one in rated.items() if other != item)
            said = "" if self.of.are_clicks else f": {value:g}"
            removable.append((rest, joined([element("bdi", shorten(item, 40)), said])))
        return chips(removable, "rated")

    # ---- similar items ----
    def _similar_panel(self) -> Markup | None:
        """Return the items similar to the chosen one; None if the model does not compare items."""
        known = self.of.items(MAX_LISTED)
        if similar_section(self.of, known[0]) is None:
            return None
        field = Control("like", "Item", self.like, "search", tuple((item, "") for item in known))
        note = "Items that the same users like: cosine between the latent factors of the items, at most 1."
        parts = self._parts(lambda: similar_section(self.of, self.like))
        return self.panel("similar", "Similar items", control(field), *parts, note=note)

    # ---- settings ----
    def controls(self) -> Markup:
        """Return the recommender, its options, and how the file is read."""
        names = [(name, title_of(name)) for name in sorted(RECOMMENDERS.modules(), key=title_of)]
        summary = registry.summary_of(RECOMMENDERS.load(self.recommender))
        menu = choice("recommender", "Recommender", names, self.recommender, default_recommender(self.prefs), summary)
        texts = self.settings["params"]
        fields = [forms.option_field(one, texts.get(one.name, "")) for one in self.declared]
        more = element("details", element("summary", "Options of this recommender"), *fields, open=bool(self.params))
        hint = "Metric of the verdict; training stops early where it is highest."
        metric = metric_choice(self, METRIC_CHOICES, hint)
        groups = [
            drawer.group("", menu, more if fields else None),
            drawer.group("Evaluation", metric),
            drawer.columns(self.source),
            drawer.reading(self.source, self.settings),
        ]
        return joined(one for one in groups if one is not None)

    # ---- files ----
    def kinds(self) -> list[tuple[str, str]]:
        """Return the files to download."""
        lists = f"Top {TOP} for all users"
        return [("lists", f"{lists} (CSV)"), ("lists_parquet", f"{lists} (Parquet)"), ("model", "Recommender (ZIP)")]

    def writers(self) -> dict[str, Callable[[], bytes]]:
        """Return functions that write the files."""
        return {"lists": lambda: csv_of(self._lists()), "lists_parquet": self._parquet, "model": self._model}

    def _lists(self) -> dict[str, Any]:
        """Return the lists of all users as columns."""
        model = self.of.trained.model
        if len(model.agents) * TOP > MAX_CELLS:
            raise InputError(
                f"There are {len(model.agents):,} users, too many for one file: download the recommender, and use "
                "`concordant recommend for` with it."
            )
        ranking = model.recommend([*model.agents], TOP)
        assert ranking.instances is not None
        rows = [
            (user, rank, item, float(score))
            for user, of_user in zip(ranking.instances, ranking, strict=True)
            for rank, (item, score) in enumerate(zip(of_user.items, of_user.scores, strict=True), 1)
        ]
        return {name: [row[k] for row in rows] for k, name in enumerate(("agent", "rank", "item", "score"))}

    def _parquet(self) -> bytes:
        out = io.BytesIO()
        write(self._lists(), out, format="parquet")  # type: ignore[arg-type]
        return out.getvalue()

    def _model(self) -> bytes:
        out = io.BytesIO()
        saving.save(self.of.trained.model, out, about=self.of.trained.about())
        return out.getvalue()

    def lines(self) -> tuple[str, str]:
        """Return the shell command and the Python code that reproduce the page."""
        return commands.recommend_lines(self)


def ratings_of(text: str, of: Recommendations) -> dict[str, float]:
    """Return the ratings in a text of the form ``ITEM=RATING; …``; reject those outside the scale."""
    rated = named_ratings(text)
    low, high = of.scale or (1.0, 1.0)
    for item, value in rated.items():
        if not low <= value <= high:
            problem = f"The rating {value:g} of {shorten(item, 40)!r} is out of range"
            raise ParameterError(f"{problem}: rate from {low:g} to {high:g}.")
    return rated


def named_ratings(text: str) -> dict[str, float]:
    """Return the numbers in a text of the form ``ITEM=RATING; …``; an item may contain "=" and ";"."""
    rated: dict[str, float] = {}
    end = 0
    for match in islice(RATING.finditer(text), 1000):
        if match.start() != end:
            break
        rated[match[1]], end = float(match[2]), match.end()
    if text[end:].strip(" ;"):
        raise ParameterError(
            f"{shorten(text[end:].strip(), 40)!r} is not a rating: write ITEM=NUMBER, and semicolons between ratings."
        )
    return rated
