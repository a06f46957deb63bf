"""Public names of concordant. Written by tools/make_stub.py: do not edit."""

from concordant import kernels as kernels
from concordant import metrics as metrics
from concordant import registry as registry
from concordant import views as views
from concordant.aggregate.fusion.comb import Comb as Comb
from concordant.aggregate.fusion.rrf import RRF as RRF
from concordant.aggregate.positional.approval import Approval as Approval
from concordant.aggregate.positional.borda import Borda as Borda
from concordant.aggregate.positional.majority_vote import MajorityVote as MajorityVote
from concordant.aggregate.positional.median_rank import MedianRank as MedianRank
from concordant.aggregate.positional.plurality import Plurality as Plurality
from concordant.aggregate.voting.condorcet import Condorcet as Condorcet
from concordant.aggregate.voting.condorcet_fuse import CondorcetFuse as CondorcetFuse
from concordant.aggregate.voting.copeland import Copeland as Copeland
from concordant.aggregate.voting.instant_runoff import InstantRunoff as InstantRunoff
from concordant.aggregate.voting.minimax import Minimax as Minimax
from concordant.aggregate.voting.ranked_pairs import RankedPairs as RankedPairs
from concordant.aggregate.voting.schulze import Schulze as Schulze
from concordant.api import fuse as fuse
from concordant.api import rank as rank
from concordant.comparing import compare as compare
from concordant.errors import ConcordantError as ConcordantError
from concordant.errors import FormatError as FormatError
from concordant.errors import InputError as InputError
from concordant.errors import NeedError as NeedError
from concordant.errors import ParameterError as ParameterError
from concordant.errors import UnknownNameError as UnknownNameError
from concordant.evaluation import evaluate as evaluate
from concordant.io import read as read
from concordant.io import read_features as read_features
from concordant.io import read_labels as read_labels
from concordant.io import write as write
from concordant.labels import Labels as Labels
from concordant.method import Method as Method
from concordant.params import param as param
from concordant.preferences import Preferences as Preferences
from concordant.ranking import Notice as Notice
from concordant.ranking import Ranking as Ranking

__version__: str
