"""``concordant metrics``: the metrics there are and how to write them."""

from __future__ import annotations

import click

from concordant.cli import _shared as shared

EPILOG = """\b
Examples:
  concordant metrics
  concordant metrics --json

\b
A metric is written NAME[@CUTOFF][:OPTION…]:
  ndcg@10           log2 discount, exponential gain
  ndcg@5:letor      as the LETOR script; 0 for queries with fewer than 5 documents
  p@5:threshold=2   labels of at least 2 are relevant
  ndcg_cut_10       trec_eval's names mean what they mean there: ndcg@10:linear
"""


@click.command(epilog=EPILOG)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool) -> None:
    """List the metrics and their conventions."""
    from concordant import metrics

    described = metrics.describe()
    if as_json:
        data = [
            {"name": d.name, "kind": d.kind, "doc": d.doc, "options": [o.name for o in d.options]} for d in described
        ]
        shared.write_text(shared.to_json(data), "-")
        return
    rows = [[d.name, d.kind, d.doc, ", ".join(o.name for o in d.options)] for d in described]
    shared.write_text(shared.table(["metric", "kind", "what it measures", "options"], rows, set()), "-")
