"""Files of arena competitions that contain no votes: test files without models, and submissions with probabilities."""

from __future__ import annotations

from concordant.errors import arg
from concordant.tables.options import Options, normalise
from concordant.tables.rows import InputTable


def arrange(table: InputTable, _: Options) -> InputTable | None:
    """Reject the file with the reason."""
    if "winner model a" in map(normalise, table.columns):
        what = "the file gives outcomes but does not name the models, like a submission to a competition: join it with "
        raise table.error(-1, what + "the file that names them, as model_a and model_b.")
    what = "the file has pairs of answers, but neither their models nor a winner, like the test file of a competition: "
    named = arg("left", shown="COLUMN") + ", " + arg("right", shown="COLUMN") + " and " + arg("outcome", shown="COLUMN")
    raise table.error(-1, what + "read the training file, or name the columns with " + named + ".")
