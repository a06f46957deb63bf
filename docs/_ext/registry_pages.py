"""Reference pages of methods, learners, recommenders, metrics and formats, written from the code at build time.

``pages()`` needs no Sphinx; as an extension it writes them into docs/reference before the sources are read. Methods
of other installed packages get pages as well, because the extension reads the registry.
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

from concordant import api, io, laws, learn, metrics, registry
from concordant.errors import UnknownNameError
from concordant.method import Method
from concordant.params import Param, params_of, written_doc
from concordant.support.memory import shown
from concordant.tables.options import FEATURES, FRAME, LABELS, PREFERENCES, options_of

FAMILIES = {
    "positional": "Positional rules: points by rank",
    "voting": "Voting rules: majorities and elimination rounds",
    "fusion": "Fusion of search results",
    "pairwise": "Models of pairwise comparisons",
    "multinomial": "Multinomial preference models",
    "crowd": "Models of annotators",
    "stagewise": "Stagewise models: successive choices",
    "permutation": "Permutation models",
    "distance": "Minimum distance to the ballots",
    "spectral": "Spectral methods",
}
NEEDED = {
    "agents": "the data must name the agent of each ballot",
    "instances": "the data must have more than one instance",
    "values": "the data must contain ranks or ratings, not only an order",
    "order": "the data must keep the order of ballots, so equal ballots must not be merged",
    "time": "the data must contain the time of each ballot",
    "whole weights": "weights must be whole numbers of votes",
    "labels": "the method must be trained on labels first",
}


def pages() -> dict[str, str]:
    """Return the text of every page by its path below docs/reference."""
    classes = {}
    for name in registry.names():
        try:
            classes[name] = registry.load(name)
        except UnknownNameError:  # a plug-in that cannot be loaded has no page
            continue
    texts = {f"methods/{name}.md": method_page(name, cls) for name, cls in classes.items()}
    texts["methods/index.md"] = methods_index(classes)
    learners = {name: learn.load(name) for name in learn.modules()}
    texts |= {f"learners/{name}.md": learner_page(name, cls) for name, cls in learners.items()}
    texts["learners/index.md"] = learners_index(learners)
    recommenders = {name: registry.RECOMMENDERS.load(name) for name in registry.RECOMMENDERS.modules()}
    texts |= {f"recommenders/{name}.md": recommender_page(name, cls) for name, cls in recommenders.items()}
    texts["recommenders/index.md"] = recommenders_index(recommenders)
    texts["metrics.md"] = metrics_page()
    texts["formats.md"] = formats_page()
    texts["reading.md"] = reading_page()
    texts["defaults.md"] = defaults_page(classes)
    return texts


def defaults_page(classes: dict[str, type[Method]]) -> str:
    """Return the page of defaults: the method for every form of data, and the treatment of unranked candidates."""
    lines = [
        "# Defaults",
        "",
        "`cc.rank(prefs)` and `concordant rank FILE` choose a method by the form of the data and the conditions",
    ]
    lines += ["below, and report the choice. `concordant describe FILE` shows the form.", ""]
    rows = []
    for row in api.DEFAULTS:
        declared = {p.name: p for p in params_of(registry.load(registry.resolve(row.method)[0]))}
        prior = f"`{declared['prior'].default}`" if "prior" in declared else ""
        method = f"[{row.method}](methods/{row.method}.md)"
        rows.append([row.form, row.when, method, prior, _silence(registry.load(registry.resolve(row.method)[0]))])
    lines += [*_table(["form", "condition", "method", "prior", "unranked candidates"], rows), ""]
    lines += [
        "## Candidates that a ballot does not rank",
        "",
        "The parameter `missing` has the same values for all methods:",
        "",
    ]
    lines += ["- `last`: they are tied in last place, below all items on the ballot;"]
    lines += ["- `last-free`: the same, but they are not compared with each other;"]
    lines += ["- `ignore`: the ballot does not compare them;"]
    lines += [
        "- `auto`: `last` for rankings and approvals, where an omission is informative; `ignore` for pairs, choices,"
    ]
    lines += ["  top-k ballots (whose last tier is open) and ratings. `describe` shows which applies.", ""]
    rows = [[f"[{name}](methods/{name}.md)", *_missing(cls)] for name, cls in classes.items()]
    lines += [*_table(["method", "default", "alternatives"], rows), ""]
    return "\n".join(lines)


def _silence(cls: type[Method]) -> str:
    return _missing(cls)[0]


def _missing(cls: type[Method]) -> list[str]:
    """Return how a method treats candidates that a ballot does not rank, and the alternatives."""
    declared = next((p for p in params_of(cls) if p.name == "missing"), None)
    if declared is None:
        return [cls.silence, ""]
    others = [f"`{choice}`" for choice in declared.choices if choice != declared.default]
    return [f"`{declared.default}`", ", ".join(others)]


def methods_index(classes: dict[str, type[Method]]) -> str:
    """Return the page that lists all methods by family."""
    lines = [
        "# Methods",
        "",
        "`concordant methods` prints this list, and `concordant methods NAME` describes one method.",
        "",
    ]
    families = dict.fromkeys([*FAMILIES, *(registry.family(name) for name in classes)])
    for family in families:
        members = {name: cls for name, cls in classes.items() if registry.family(name) == family}
        if members:
            lines += [f"## {FAMILIES.get(family, f'From the package {family}')}", ""]
            rows = [[f"[{name}]({name}.md)", cls.summary(), _needs(cls)] for name, cls in members.items()]
            lines += [*_table(["method", "description", "needs"], rows), ""]
    lines += ["```{toctree}", ":hidden:", "", *classes, "```"]
    return "\n".join([*lines, ""])


def method_page(name: str, cls: type[Method]) -> str:
    """Return the page of one method: its docstring, parameters, needs and laws."""
    # Docstrings are plain text: formulas and lists keep their layout.
    text = inspect.getdoc(sys.modules[cls.__module__]) or cls.summary()
    lines = [f"# {name}", "", *_prose(text), ""]
    lines += ["```console", f"$ concordant rank FILE --method {name}", "```", ""]
    home = "concordant" if name in registry.modules() else cls.__module__
    lines += ["```{eval-rst}", f".. autoclass:: {home}.{cls.__name__}", "   :no-members:", "```", ""]
    lines += [*_options(params_of(cls)), ""]
    if cls.aliases:
        rows = [[f"`{alias}`", _preset(preset)] for alias, preset in cls.aliases.items()]
        lines += ["## Other names", "", *_table(["name", "meaning"], rows), ""]
    if cls.needs:
        lines += ["## Needs", ""]
        lines += [f"- **{need}**: {NEEDED.get(need, 'required')}." for need in sorted(cls.needs)]
        lines += [""]
    if cls.matrices:
        lines += ["## Memory", "", *_memory(cls), ""]
    lines += ["## Laws", "", *_laws(cls)]
    return "\n".join([*lines, ""])


def _memory(cls: type[Method]) -> list[str]:
    parts = (
        "If the matrices of all instances do not fit into memory together, instances are ranked in batches. "
        if cls.by_parts
        else ""
    )
    return [
        "The method builds matrices of all pairs of items. "
        f"Peak memory is about {8 * cls.matrices} bytes × items² per instance: "
        f"{shown(cls.memory_of(1_000))} for 1,000 items and {shown(cls.memory_of(10_000))} for 10,000. {parts}"
        "A ranking that needs more than half of the free memory, or more than the environment variable "
        "`CONCORDANT_MEMORY` allows (for example `4GB`), is rejected before it starts."
    ]


def learners_index(classes: dict[str, type]) -> str:
    """Return the page that lists all learners."""
    lines = ["# Learners", "", "Scikit-learn estimators that rank rows by their features, and transformers. The"]
    lines += [
        "[guide](../../guide/learning.md) compares them; `concordant learners` prints this list.",
        "",
    ]
    rows = [[f"[{name}]({name}.md)", f"`{cls.__name__}`", _cell(_first_line(cls))] for name, cls in classes.items()]
    lines += [*_table(["learner", "class", "description"], rows), "", "```{toctree}", ":hidden:", "", *classes, "```"]
    return "\n".join([*lines, ""])


def learner_page(name: str, cls: type) -> str:
    """Return the page of one learner: its docstring, its class, its parameters."""
    lines = [f"# {name}", "", *_prose(inspect.getdoc(sys.modules[cls.__module__]) or _first_line(cls)), ""]
    if hasattr(cls, "predict") and name != "label-ranker":
        lines += ["```console", f"$ concordant train FILE --method {name}", "```", ""]
    hidden = "get_metadata_routing, set_output, " + ", ".join(
        f"set_{method}_request" for method in ("fit", "predict", "score", "transform")
    )
    lines += ["```{eval-rst}", f".. autoclass:: concordant.learn.{cls.__name__}", "   :members:"]
    lines += ["   :inherited-members: BaseEstimator, TransformerMixin", f"   :exclude-members: {hidden}", "```", ""]
    return "\n".join([*lines, *_options(params_of(cls)), ""])


def recommenders_index(classes: dict[str, type]) -> str:
    """Return the page that lists all recommenders."""
    lines = [
        "# Recommenders",
        "",
        "Recommender systems, trained on ratings or implicit feedback. The [guide](../../guide/recommending.md)",
    ]
    lines += ["compares them; `concordant recommenders` prints this list.", ""]
    rows = [[f"[{name}]({name}.md)", f"`{cls.__name__}`", _cell(_first_line(cls))] for name, cls in classes.items()]
    table = _table(["recommender", "class", "description"], rows)
    return "\n".join([*lines, *table, "", "```{toctree}", ":hidden:", "", *classes, "```", ""])


def recommender_page(name: str, cls: type) -> str:
    """Return the page of one recommender: its docstring, how to train it, its parameters, its functions."""
    lines = [f"# {name}", "", *_prose(inspect.getdoc(sys.modules[cls.__module__]) or _first_line(cls)), ""]
    lines += ["```console", f"$ concordant recommend train FILE --method {name} -o model.zip", "```", ""]
    lines += ["```{eval-rst}", f".. autoclass:: concordant.recommend.{cls.__name__}", "   :members:"]
    lines += ["   :inherited-members:", "   :exclude-members: with_learnt, summary, learnt, name, to_dict", "```", ""]
    return "\n".join([*lines, *_options(params_of(cls)), ""])


def _first_line(cls: type) -> str:
    return (inspect.getdoc(cls) or "").partition("\n")[0]


def metrics_page() -> str:
    """Return the page of all metrics."""
    lines = ["# Metrics", "", "A metric is written `name@cutoff:option`, for example `ndcg@10`, `ndcg@5:letor`,"]
    lines += ["`p@5:threshold=2`. `cc.metrics.parse` parses it, and `str` converts it back.", ""]
    described = metrics.describe()
    kinds = {
        "retrieval": "Retrieval metrics (against relevance judgements)",
        "distance": "Distances between two rankings",
    }
    for kind, title in kinds.items():
        lines += [f"## {title}", ""]
        for one in (d for d in described if d.kind == kind):
            cls = type(metrics.parse(one.name))
            also = f" (also `{'`, `'.join(cls.aliases)}`)" if cls.aliases else ""
            lines += [f"### {one.name}", "", *_prose(written_doc(cls) or one.doc), ""]
            lines += [f"Higher is {'better' if cls.higher_is_better else 'worse'}{also}.", ""]
            lines += [*_parameters(one.options), ""]
    return "\n".join(lines)


def formats_page() -> str:
    """Return the page of all formats."""
    lines = ["# Formats", "", "The format is detected from the content and the file extension, or set by `--format` or"]
    lines += ["`format=`. `concordant convert --formats` prints this list.", ""]
    rows = [
        [
            f"`{f.name}`",
            " ".join(f"`{e}`" for e in f.endings),
            ", ".join(f.reads),
            "yes" if f.can_write else "",
            _cell(f.doc),
        ]
        for f in io.list_formats()
    ]
    return "\n".join([*lines, *_table(["format", "extensions", "reads", "writes", "description"], rows), ""])


READERS = {
    PREFERENCES: "`cc.read`, `concordant rank`, `compare`, `describe` and `convert`",
    FRAME: "`cc.Preferences.from_frame`",
    LABELS: "`cc.read_labels`",
    FEATURES: "`cc.read_features`, `concordant train` and `predict`",
}


def reading_page() -> str:
    """Return the page of all reading options."""
    lines = ["# Reading options", "", "Give a column by its name (case, spaces and punctuation are ignored) or by its"]
    lines += ["position, counted from 1; `None` or `none` means that no column has the role. Without an option, a"]
    lines += ["column with one of the recognised names is used for the role, and a note reports it. `?name` names a"]
    lines += ["column that may be missing.", ""]
    for what, who in READERS.items():
        rows = []
        for one in options_of(what):
            on_line = "" if one.flag is None or what in (FRAME, LABELS) else f"`{one.flag or one.option}`"
            also = ", ".join((*one.synonyms, *one.weak))
            default = "" if one.default is None else f"`{one.default}`"
            rows.append([f"`{one.name}=`", on_line, _cell(one.doc), default, also])
        lines += [f"## {what.capitalize()}", "", f"For {who}.", ""]
        lines += [*_table(["Python", "command line", "meaning", "default", "recognised names"], rows), ""]
    return "\n".join(lines)


def _prose(text: str) -> list[str]:
    """Return a docstring as Markdown: paragraphs stay, indented blocks become literal ones."""
    lines: list[str] = []
    for block in text.split("\n\n"):
        if all(line.startswith(" ") for line in block.splitlines()):
            lines += ["```text", inspect.cleandoc(block), "```", ""]
        else:
            lines += [_markdown(block), ""]
    return lines


def _markdown(text: str) -> str:
    """Convert reStructuredText inline literals to Markdown, and escape other markup."""
    parts = text.split("``")
    plain = [part.replace("\\", "\\\\").replace("*", "\\*").replace("_", "\\_") for part in parts[::2]]
    code = [f"`{part}`" for part in parts[1::2]]
    return "".join(word for pair in zip(plain, [*code, ""], strict=True) for word in pair)


def _options(declared: tuple[Param, ...]) -> list[str]:
    """Return the command-line options of the parameters, which the docstring of the class describes."""
    if not declared:
        return ["There are no parameters."]
    return ["On the command line, the parameters are the options " + ", ".join(f"`{p.option}`" for p in declared) + "."]


def _parameters(declared: tuple[Param, ...]) -> list[str]:
    if not declared:
        return ["There are no options."]
    return _table(["option", "type", "default", "description"], [_parameter(p) for p in declared])


def _parameter(p: Param) -> list[str]:
    return [f"`{p.name}`", _cell(f"`{p.type_text()}`"), f"`{p.default!r}`", _cell(p.section()[1].strip())]


def _laws(cls: type[Method]) -> list[str]:
    kept = [name for name in laws.WAIVABLE if name not in cls.waives]
    lines = [f"Satisfies {', '.join(name.replace('_', ' ') for name in kept)}."] if kept else []
    lines += ["", *(f"- Does not satisfy **{law.replace('_', ' ')}**: {reason}." for law, reason in cls.waives.items())]
    return [
        *lines,
        "",
        "[How accuracy is tested](../../develop/accuracy.md) defines the laws.",
    ]


def _needs(cls: type[Method]) -> str:
    return ", ".join(sorted(cls.needs))


def _preset(preset: Any) -> str:
    return ", ".join(f"`{key}={value!r}`" for key, value in preset.items()) or "the method itself"


def _table(header: list[str], rows: list[list[str]]) -> list[str]:
    cells = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(row) + " |" for row in cells]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def write(folder: Path) -> None:
    """Write the pages, and remove those of methods, learners and recommenders that are gone."""
    texts = pages()
    for kind in ("methods", "learners", "recommenders"):
        for old in (folder / kind).glob("*.md"):
            if f"{kind}/{old.name}" not in texts:
                old.unlink()
    for path, text in texts.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.is_file() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Write the pages before Sphinx looks for sources."""
    app.connect("config-inited", lambda app, _: write(Path(app.srcdir) / "reference"))
    return {"parallel_read_safe": True}
