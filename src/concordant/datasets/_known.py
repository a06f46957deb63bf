"""Metadata of the known data sets, without the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from concordant.errors import arg


@dataclass(frozen=True)
class Dataset:
    """Metadata of a public data set."""

    name: str
    title: str
    holds: str
    """Return type of ``load``: preferences or features."""
    size: str
    licence: str
    page: str
    url: str
    loader: str
    files: tuple[tuple[str, ...], ...]
    """The possible names of each file; ``{part}`` is replaced by the requested part."""
    folders: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    free_part: bool = False
    """Whether any file name is a valid part."""
    labels: str | None = None
    label_files: tuple[tuple[str, ...], ...] = ()
    sha256: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 checksum by file, of the unpacked content (of the archive itself for zip and tar)."""
    note: str = ""


_LETOR_PAGE = ("LETOR 4.0 Datasets (Microsoft Research)", "research.microsoft.com/en-us/um/beijing/projects/letor")
_GROUPLENS = "GroupLens, MovieLens data sets"
_NO_REDISTRIBUTION = "research use, no redistribution, non-commercial"
_FIVE = tuple((f"A{k}.txt",) for k in range(1, 6))

_SETS = (
    Dataset(
        "mq2007-agg", "LETOR 4.0 rank aggregation, MQ2007", "preferences",
        "1,692 queries, 69,623 documents, 21 lists", "Microsoft LETOR, research use", *_LETOR_PAGE,
        loader="plain", files=_FIVE, folders=("letor4-agg/MQ2007-agg", "MQ2007-agg"), labels="plain",
    ),
    Dataset(
        "mq2008-agg", "LETOR 4.0 rank aggregation, MQ2008", "preferences",
        "784 queries, 15,211 documents, 25 lists", "Microsoft LETOR, research use", *_LETOR_PAGE,
        loader="plain", files=_FIVE, folders=("letor4-agg/MQ2008-agg", "MQ2008-agg"), labels="plain",
    ),
    Dataset(
        "mq2008", "LETOR 4.0 supervised ranking, MQ2008", "features",
        "784 queries, 15,211 documents, 46 features", "Microsoft LETOR, research use", *_LETOR_PAGE,
        loader="features", files=tuple((f"S{k}.txt",) for k in range(1, 6)), folders=("letor4-mq2008", "MQ2008"),
        labels="plain", note="the parts S1 … S5 contain the documents of A1 … A5 of mq2008-agg in the same order",
    ),
    Dataset(
        "lightgbm-lambdarank", "LightGBM's example of learning to rank", "features",
        "train 3,005 rows of 201 queries, test 768 of 50; 300 features", "with LightGBM (MIT)",
        "LightGBM on GitHub, examples/lambdarank", "github.com/microsoft/LightGBM",
        loader="features", files=(("rank.{part}",),), folders=("lightgbm-lambdarank",), parts=("train", "test"),
        sha256={
            "rank.train": "a0c7201c89120879c14a5059e091f441cbf2a29b8aaef363885ccb1a530448df",
            "rank.test": "3b1219ce117a0a36d2f76c02de7e7831c1d79af0d40f5195c03178bbe26c824b",
        },
    ),
    Dataset(
        "mslr-web10k-sample", "a sample of MSLR-WEB10K, fold 1", "features",
        "5,000 rows of 43 queries, train and test; 136 features", "Microsoft, research use",
        "Microsoft Learning to Rank Datasets", "www.microsoft.com/en-us/research/project/mslr",
        loader="features", files=(("msn1.fold1.{part}.5k.txt",),), folders=("mslr-web10k-sample",),
        parts=("train", "test"),
    ),
    Dataset(
        "mslr-web10k", "Microsoft Learning to Rank, 10,000 queries", "features",
        "10,000 queries, 136 features, five folds", "Microsoft, research use",
        "Microsoft Learning to Rank Datasets", "www.microsoft.com/en-us/research/project/mslr",
        loader="features", files=(("{part}.txt",),), folders=("MSLR-WEB10K", "mslr-web10k"),
        parts=tuple(f"Fold{k}/{kind}" for k in range(1, 6) for kind in ("train", "vali", "test")),
    ),
    Dataset(
        "yahoo-ltr", "Yahoo! Learning to Rank Challenge (C14B)", "features",
        "29,921 + 6,330 queries, 700 features", "Yahoo! Webscope, research use, on request",
        "Yahoo! Webscope, Learning to Rank Challenge (C14)", "webscope.sandbox.yahoo.com",
        loader="features", files=(("{part}.txt",),), folders=("yahoo-ltr", "Learning to Rank Challenge"),
        parts=tuple(f"set{k}.{kind}" for k in (1, 2) for kind in ("train", "valid", "test")),
    ),
    Dataset(
        "ml-100k", "MovieLens 100K", "preferences", "100,000 ratings by 943 users of 1,682 films",
        _NO_REDISTRIBUTION, _GROUPLENS, "grouplens.org/datasets/movielens/100k",
        loader="plain", files=(("u.data", "ml-100k.zip"),), folders=("ml-100k",),
        sha256={"u.data": "06416e597f82b7342361e41163890c81036900f418ad91315590814211dca490"},
    ),
    Dataset(
        "ml-1m", "MovieLens 1M", "preferences", "1,000,209 ratings by 6,040 users of 3,706 films",
        _NO_REDISTRIBUTION, _GROUPLENS, "grouplens.org/datasets/movielens/1m",
        loader="plain", files=(("ratings.dat", "ml-1m.zip", "ratings_notime.dat"),), folders=("ml-1m",),
    ),
    Dataset(
        "ml-10m", "MovieLens 10M", "preferences", "10,000,054 ratings by 69,878 users of 10,677 films",
        _NO_REDISTRIBUTION, _GROUPLENS, "grouplens.org/datasets/movielens/10m",
        loader="plain", files=(("ratings.dat", "ml-10m.zip"),), folders=("ml-10M100K", "ml-10m"),
    ),
    Dataset(
        "ml-latest-small", "MovieLens, latest small", "preferences", "100,836 ratings by 610 users of 9,724 films",
        _NO_REDISTRIBUTION, _GROUPLENS, "grouplens.org/datasets/movielens/latest",
        loader="plain", files=(("ml-latest-small.zip", "ratings.csv"),), folders=("ml-latest-small",),
        sha256={"ml-latest-small.zip": "b8aad1ba19d36ec359c8e77bebb5385b78bf2afc0e7bbeffd2cf67b2a61461d9"},
        note="GroupLens updates this data set, so a later copy differs",
    ),
    Dataset(
        "jester-1", "Jester, data set 1, part 1", "preferences", "1,810,455 ratings of 100 jokes by 24,983 users",
        "research use, to be acknowledged", "Jester Datasets (Ken Goldberg, AUTOLab, UC Berkeley)",
        "eigentaste.berkeley.edu/dataset", loader="plain",
        files=(("jester-data-1.zip", "jester-data-1.csv", "jester-data-1.xls"),), folders=("jester",),
        sha256={"jester-data-1.zip": "4adf783a1e03bd3be063315cb6e0a064fe63e983fd289d01b8e401a8e6c41e5f"},
        note="published as an Excel workbook in a zip archive; the checksum is that of a copy saved as csv",
    ),
    Dataset(
        "sushi-a", "Sushi preferences, item set A", "preferences", "5,000 full orders of 10 sushi",
        "research use, no redistribution", "SUSHI Preference Data Sets (Toshihiro Kamishima)",
        "www.kamishima.net/sushi", loader="plain", files=(("sushi3a.5000.10.order",),),
        folders=("sushi", "sushi3-2016"),
    ),
    Dataset(
        "sushi-b", "Sushi preferences, item set B", "preferences", "5,000 orders of 10 out of 100 sushi",
        "research use, no redistribution", "SUSHI Preference Data Sets (Toshihiro Kamishima)",
        "www.kamishima.net/sushi", loader="plain", files=(("sushi3b.5000.10.order", "sushi_large_raw.txt"),),
        folders=("sushi", "sushi3-2016"),
        sha256={"sushi_large_raw.txt": "449320222e97a59281f0a1ad4de1c2509058508ffd29a142a1eac797eb8aef18"},
        note="sushi_large_raw.txt is the order file without its first line",
    ),
    Dataset(
        "preflib", "PrefLib, a library for preferences", "preferences",
        "about 8,600 elections (soc, soi, toc, toi, cat)", "per data set, see its info.txt",
        "PrefLib: A Library for Preferences; PrefLib-Data on GitHub", "preflib.github.io/PrefLib-Jekyll",
        loader="preflib", files=(("datasets", "preflib.tar.xz", "preflib"),), folders=("preflib",), free_part=True,
        sha256={"preflib.tar.xz": "72d2196deda2dc2692c0e1861be6be41699fe6c1d900dffd1339e3f313205041"},
        note=arg("part") + " selects one file, for example " + arg("part", "00014-00000001.soc"),
    ),
    Dataset(
        "trec-robust03", "TREC 2003 robust track, 17 runs", "preferences",
        "17 runs of 100 topics, up to 1,000 documents each", "NIST, TREC results", "TREC, past results (NIST)",
        "trec.nist.gov/results.html", loader="runs", files=(("runs",),), folders=("trec-robust03",), labels="plain",
        label_files=(("robust03_qrels.txt", "qrels.txt"),),
        sha256={"robust03_qrels.txt": "809a8502f3865ea437714e692b601770ea7c9b70b294f4c391a38bf4bcfe7fd5"},
    ),
    Dataset(
        "crowd-2011", "TREC 2011 crowdsourcing, votes of Vuurens et al.", "preferences",
        "17,395 binary votes by workers", "see its Details.txt",
        "How Much Spam Can You Take? data (Jeroen Vuurens)", "trec.nist.gov/data/crowd11.html",
        loader="crowd-votes", files=(("votes",),), folders=("trec2011-crowd/vuurens", "vuurens"),
        labels="crowd-truth", label_files=(("task1_unlabeled_g_truth_cons_public.txt",),),
        sha256={"votes": "95256163504f1a8a38795669a7b6ea36fd3e7dc9b1c0ba8247f0cf5361617d12"},
    ),
    Dataset(
        "crowd-2011-all", "TREC 2011 crowdsourcing, votes of all participants of task 1", "preferences",
        "58,476 binary votes by 956 workers on 3,387 documents of 46 topics", "see its Details.txt",
        "How Much Spam Can You Take? data (Jeroen Vuurens)", "trec.nist.gov/data/crowd11.html",
        loader="crowd-votes", files=(("votes",), ("otherparticipantsvotes",)),
        folders=("trec2011-crowd/vuurens", "vuurens"), labels="crowd-truth",
        label_files=(("task1_unlabeled_g_truth_cons_public.txt",),),
    ),
    Dataset(
        "crowd-2011-graded", "TREC 2011 crowdsourcing, graded judgements of Urbano and others", "preferences",
        "1,298 accepted tasks of 5 documents in three runs", "CC BY-SA 4.0",
        "trec2011-crowdsourcing on GitHub (Julián Urbano)", "github.com/julian-urbano/trec2011-crowdsourcing",
        loader="crowd-graded", files=(("assignments.txt", "data/assignments.txt"), ("hits.txt", "data/hits.txt")),
        folders=("trec2011-crowd/urbano", "urbano"), parts=("1", "2", "3"),
        note="run 1 is graded 0 to 2, runs 2 and 3 are graded 0 to 100",
        sha256={"assignments.txt": "09ee990f6e8aad354e0ab02185690a8749b9fac5ce73f1d9ef444e127365057b"},
    ),
    Dataset(
        "crowd-2011-task2", "TREC 2011 crowdsourcing, task 2", "preferences",
        "noisy judgements by workers: topicID, workerID, docID, gold, label", "NIST, on request",
        "TREC 2011 Crowdsourcing Track data (NIST)", "trec.nist.gov/data/crowd11.html",
        loader="crowd-table", files=(("stage2.dev", "task2.txt", "trec-rf10-data.txt"),),
        folders=("trec2011-crowd/task2", "trec2011-crowd"),
    ),
    Dataset(
        "gifgif", "GIFGIF: which image says it better?", "preferences", "106,887 comparisons of 6,119 images",
        "not stated", "GIFGIF data (Lucas Maystre; MIT Media Lab)", "lucas.maystre.ch/gifgif-data",
        loader="gifgif", files=(("gifgif_raw.txt",),), folders=("gifgif",),
        sha256={"gifgif_raw.txt": "4cd4e5cfa880a8b2aac4cca6c69f56e56f82285d53e4a25b411e4e401590881c"},
    ),
    Dataset(
        "tennis-atp", "ATP tennis matches since 1968", "preferences", "194,996 matches of 7,556 players, by date",
        "CC BY-NC-SA 4.0", "tennis_atp on GitHub (Jeff Sackmann)", "github.com/JeffSackmann/tennis_atp",
        loader="tennis", files=(("atp_matches_1968on.tar.xz", "tennis_atp", "atp_matches_1968.csv"),),
        folders=("tennis-atp", "tennis_atp"), parts=("all", "played", "surfaces"),
        sha256={"atp_matches_1968on.tar.xz": "053250da15aff8d12180fd879f12a69c451aec37740cf8cd99fc5b3e455aaa58"},
    ),
)  # fmt: skip
KNOWN: dict[str, Dataset] = {one.name: one for one in _SETS}
