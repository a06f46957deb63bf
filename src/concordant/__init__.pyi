"""Public names of concordant. Written by tools/make_stub.py: do not edit."""

from collections.abc import Sequence
from typing import Any

from concordant import datasets as datasets
from concordant import kernels as kernels
from concordant import metrics as metrics
from concordant import recommend as recommend
from concordant import registry as registry
from concordant import simulate as simulate
from concordant import views as views
from concordant.aggregate.crowd.dawid_skene import DawidSkene as DawidSkene
from concordant.aggregate.crowd.glad import GLAD as GLAD
from concordant.aggregate.crowd.mace import MACE as MACE
from concordant.aggregate.crowd.ordinal_annotators import OrdinalAnnotators as OrdinalAnnotators
from concordant.aggregate.distance.fas_pivot import FasPivot as FasPivot
from concordant.aggregate.distance.faslp_pivot import FaslpPivot as FaslpPivot
from concordant.aggregate.distance.footrule import Footrule as Footrule
from concordant.aggregate.distance.greedy_order import GreedyOrder as GreedyOrder
from concordant.aggregate.distance.insertion_sort import InsertionSort as InsertionSort
from concordant.aggregate.distance.kemeny import Kemeny as Kemeny
from concordant.aggregate.distance.lehmer import Lehmer as Lehmer
from concordant.aggregate.distance.local_search import LocalSearch as LocalSearch
from concordant.aggregate.distance.pick_a_perm import PickAPerm as PickAPerm
from concordant.aggregate.fusion.calibrated_rrf import CalibratedRRF as CalibratedRRF
from concordant.aggregate.fusion.comb import Comb as Comb
from concordant.aggregate.fusion.rrf import RRF as RRF
from concordant.aggregate.fusion.ulara import Ulara as Ulara
from concordant.aggregate.multinomial.mpm import MPM as MPM
from concordant.aggregate.multinomial.mpm_mixture import MPMMixture as MPMMixture
from concordant.aggregate.pairwise.bradley_terry import BradleyTerry as BradleyTerry
from concordant.aggregate.pairwise.davidson import Davidson as Davidson
from concordant.aggregate.pairwise.elo import Elo as Elo
from concordant.aggregate.pairwise.glicko2 import Glicko2 as Glicko2
from concordant.aggregate.pairwise.rao_kupper import RaoKupper as RaoKupper
from concordant.aggregate.pairwise.thurstone import Thurstone as Thurstone
from concordant.aggregate.pairwise.trueskill import Trueskill as Trueskill
from concordant.aggregate.pairwise.whole_history import WholeHistory as WholeHistory
from concordant.aggregate.pairwise.windowed_bradley_terry import WindowedBradleyTerry as WindowedBradleyTerry
from concordant.aggregate.permutation.cps import CPS as CPS
from concordant.aggregate.permutation.cranking import Cranking as Cranking
from concordant.aggregate.permutation.generalised_mallows import GeneralisedMallows as GeneralisedMallows
from concordant.aggregate.permutation.mallows import Mallows as Mallows
from concordant.aggregate.positional.approval import Approval as Approval
from concordant.aggregate.positional.best_worst import BestWorst as BestWorst
from concordant.aggregate.positional.borda import Borda as Borda
from concordant.aggregate.positional.majority_vote import MajorityVote as MajorityVote
from concordant.aggregate.positional.mean_rating import MeanRating as MeanRating
from concordant.aggregate.positional.median_rank import MedianRank as MedianRank
from concordant.aggregate.positional.plurality import Plurality as Plurality
from concordant.aggregate.positional.score import Score as Score
from concordant.aggregate.positional.veto import Veto as Veto
from concordant.aggregate.spectral.hodgerank import HodgeRank as HodgeRank
from concordant.aggregate.spectral.markov_chain import MarkovChain as MarkovChain
from concordant.aggregate.spectral.rank_centrality import RankCentrality as RankCentrality
from concordant.aggregate.spectral.svp import SVP as SVP
from concordant.aggregate.stagewise.ordered_partitions import OrderedPartitions as OrderedPartitions
from concordant.aggregate.stagewise.plackett_luce import PlackettLuce as PlackettLuce
from concordant.aggregate.supervised.crf import CRF as CRF
from concordant.aggregate.supervised.expert_blend import ExpertBlend as ExpertBlend
from concordant.aggregate.supervised.expert_ranker import ExpertRanker as ExpertRanker
from concordant.aggregate.supervised.supervised_markov_chain import SupervisedMarkovChain as SupervisedMarkovChain
from concordant.aggregate.voting.baldwin import Baldwin as Baldwin
from concordant.aggregate.voting.black import Black as Black
from concordant.aggregate.voting.bucklin import Bucklin as Bucklin
from concordant.aggregate.voting.condorcet import Condorcet as Condorcet
from concordant.aggregate.voting.condorcet_fuse import CondorcetFuse as CondorcetFuse
from concordant.aggregate.voting.coombs import Coombs as Coombs
from concordant.aggregate.voting.copeland import Copeland as Copeland
from concordant.aggregate.voting.instant_runoff import InstantRunoff as InstantRunoff
from concordant.aggregate.voting.minimax import Minimax as Minimax
from concordant.aggregate.voting.nanson import Nanson as Nanson
from concordant.aggregate.voting.pav import PAV as PAV
from concordant.aggregate.voting.phragmen import Phragmen as Phragmen
from concordant.aggregate.voting.ranked_pairs import RankedPairs as RankedPairs
from concordant.aggregate.voting.schulze import Schulze as Schulze
from concordant.aggregate.voting.sequential_pav import SequentialPAV as SequentialPAV
from concordant.aggregate.voting.star import Star as Star
from concordant.aggregate.voting.stv import STV as STV
from concordant.analysis import crowd as crowd
from concordant.analysis.comparing import compare as compare
from concordant.analysis.fusing import fuse as fuse
from concordant.analysis.groups.rank_groups import rank_groups as rank_groups
from concordant.api import rank as rank
from concordant.errors import ConcordantError as ConcordantError
from concordant.errors import FormatError as FormatError
from concordant.errors import InputError as InputError
from concordant.errors import NeedError as NeedError
from concordant.errors import OneQueryWarning as OneQueryWarning
from concordant.errors import ParameterError as ParameterError
from concordant.errors import UnknownNameError as UnknownNameError
from concordant.evaluation import evaluate as evaluate
from concordant.features import ExpertFeatures as ExpertFeatures
from concordant.features import FusionFeatures as FusionFeatures
from concordant.features import PlaceFeatures as PlaceFeatures
from concordant.io import Paths
from concordant.io import write as write
from concordant.io.formats.features import Features
from concordant.labels import Labels as Labels
from concordant.method import Method as Method
from concordant.models.recovery import lehmer_recovery as lehmer_recovery
from concordant.params import param as param
from concordant.preferences import Preferences as Preferences
from concordant.preferences import concat as concat
from concordant.ranking import Notice as Notice
from concordant.ranking import Ranking as Ranking
from concordant.reporting import report as report
from concordant.results.scales import EloScale as EloScale
from concordant.saving import load as load
from concordant.saving import save as save

__version__: str

def read(
    path: Paths,
    *,
    format: str | None = ...,
    layout: str | None = ...,
    winner: str | int | Sequence[str] | None = ...,
    loser: str | int | Sequence[str] | None = ...,
    tie: str | int | None = ...,
    left: str | int | Sequence[str] | None = ...,
    right: str | int | Sequence[str] | None = ...,
    outcome: str | int | None = ...,
    left_won: str | int | None = ...,
    right_won: str | int | None = ...,
    left_score: str | int | None = ...,
    right_score: str | int | None = ...,
    neutral: str | int | None = ...,
    ranking: str | int | None = ...,
    agent: str | int | None = ...,
    item: str | int | None = ...,
    rank: str | int | None = ...,
    rating: str | int | None = ...,
    answer: str | int | None = ...,
    instance: str | int | None = ...,
    by: str | int | None = ...,
    weight: str | int | None = ...,
    time: str | int | None = ...,
    team: str | int | None = ...,
    covariate: Sequence[str] | str | None = ...,
    ballot: str | int | None = ...,
    open: str | int | None = ...,
    places: Sequence[str | int] | str | int | None = ...,
    encoding: str | None = ...,
    delimiter: str | None = ...,
    header: bool | None = ...,
    transpose: bool = ...,
    team_separator: str | None = ...,
    date_order: str | None = ...,
    sheet: str | int | None = ...,
    table: str | None = ...,
    sql: str | None = ...,
    where: str | None = ...,
    drop_duplicates: Sequence[str] | str | bool = ...,
    question: str | None = ...,
    categories: Sequence[str] | str | None = ...,
    repeated: str | None = ...,
    both_bad: str = ...,
    baseline_model: str | None = ...,
    merge: bool = ...,
    reduce: bool = ...,
    workers: int | None = ...,
    cluster: object = ...,
    memory_limit: str | None = ...,
    skip_bad_files: bool = ...,
    skip_bad_rows: bool = ...,
    strict: bool = ...,
    max_bytes: int = ...,
    max_ratio: float = ...,
) -> Preferences: ...
def read_labels(
    path: Paths,
    *,
    format: str | None = ...,
    item: str | int | None = ...,
    instance: str | int | None = ...,
    label: str | int | None = ...,
    encoding: str | None = ...,
    delimiter: str | None = ...,
    header: bool | None = ...,
    transpose: bool = ...,
    sheet: str | int | None = ...,
    table: str | None = ...,
    sql: str | None = ...,
    where: str | None = ...,
    drop_duplicates: Sequence[str] | str | bool = ...,
    categories: Sequence[str] | str | None = ...,
    skip_bad_rows: bool = ...,
    strict: bool = ...,
    max_bytes: int = ...,
    max_ratio: float = ...,
) -> Labels: ...
def read_features(
    path: Paths | Any,
    *,
    format: str | None = ...,
    label: str | int | bool | None = ...,
    query: str | int | bool | None = ...,
    item: str | int | bool | None = ...,
    weight: str | int | bool | None = ...,
    features: Sequence[str] | str | None = ...,
    encoding: str | None = ...,
    delimiter: str | None = ...,
    header: bool | None = ...,
    transpose: bool = ...,
    sheet: str | int | None = ...,
    table: str | None = ...,
    sql: str | None = ...,
    where: str | None = ...,
    drop_duplicates: Sequence[str] | str | bool = ...,
    n_features: int | None = ...,
    dtype: str = ...,
    skip_bad_rows: bool = ...,
    strict: bool = ...,
    max_bytes: int = ...,
    max_ratio: float = ...,
) -> Features: ...
def read_sql(
    connection: Any,
    query: str,
    params: Any,
    *,
    layout: str | None = ...,
    winner: str | int | Sequence[str] | None = ...,
    loser: str | int | Sequence[str] | None = ...,
    tie: str | int | None = ...,
    left: str | int | Sequence[str] | None = ...,
    right: str | int | Sequence[str] | None = ...,
    outcome: str | int | None = ...,
    left_won: str | int | None = ...,
    right_won: str | int | None = ...,
    left_score: str | int | None = ...,
    right_score: str | int | None = ...,
    neutral: str | int | None = ...,
    ranking: str | int | None = ...,
    agent: str | int | None = ...,
    item: str | int | None = ...,
    rank: str | int | None = ...,
    rating: str | int | None = ...,
    answer: str | int | None = ...,
    instance: str | int | None = ...,
    by: str | int | None = ...,
    weight: str | int | None = ...,
    time: str | int | None = ...,
    team: str | int | None = ...,
    covariate: Sequence[str] | str | None = ...,
    ballot: str | int | None = ...,
    open: str | int | None = ...,
    places: Sequence[str | int] | str | int | None = ...,
    transpose: bool = ...,
    team_separator: str | None = ...,
    date_order: str | None = ...,
    where: str | None = ...,
    drop_duplicates: Sequence[str] | str | bool = ...,
    question: str | None = ...,
    categories: Sequence[str] | str | None = ...,
    repeated: str | None = ...,
    both_bad: str = ...,
    baseline_model: str | None = ...,
    skip_bad_rows: bool = ...,
    strict: bool = ...,
) -> Preferences: ...
