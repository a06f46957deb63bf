"""Make the example data: invented elections, models, search engines, films and hotels, the same on every run.

    python3 examples/make.py            write the files next to this script
    python3 examples/make.py --check    exit 1 if a file differs from what would be written

Only ``random.Random(seed).random()`` is used, whose sequence Python promises never to change.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from random import Random

HERE = Path(__file__).resolve().parent

# Clara Lindqvist beats every other candidate in a duel (61:39 or more), yet most voters put her second:
# plurality elects Ada Marsh, and instant runoff, having dropped Clara third, elects Ben Okoro.
CANDIDATES = ("Ada Marsh", "Ben Okoro", "Clara Lindqvist", "Dev Rao", "Eli Stone")
BALLOTS = (
    (22, (1, 3, 4, 2, 5)),
    (19, (2, 3, 5, 4, 1)),
    (16, (1, 3, 4, 5, 2)),
    (12, (3, 2, 5, 4, 1)),
    (11, (2, 3, 5, 1, 4)),
    (9, (5, 2, 3, 4, 1)),
    (7, (3, 1, 4, 2, 5)),
    (4, (4, 3, 1, 2, 5)),
)

MODELS = {  # name: strength, on the scale of log odds
    "heron-large": 1.1,
    "osprey-2": 0.9,
    "finch-chat": 0.5,
    "heron-small": 0.1,
    "wren-mini": -0.2,
    "kestrel": -0.4,
    "plover-1": -0.8,
    "siskin": -1.2,
}
JUDGES = ("ana", "bo", "chidi", "dana", "emre", "freya")

STYLES = {  # name: strength when answers are equally long, and how many words its answers have on average
    "heron": (0.8, 140),
    "osprey": (0.5, 190),
    "finch": (0.1, 260),
    "wren": (-0.3, 420),
    "siskin": (-1.1, 210),
}
PER_100_WORDS = 0.5  # what voters give for length alone, on the scale of log odds

ENGINE_NOISE = (0.9, 1.1, 1.3, 1.9)  # engine 1 is the best, engine 4 little more than guesses
TOPICS, POOL, DEPTH, JUDGED = 12, 30, 15, 24

FILMS = {  # title: how much most people like it, in stars
    "The Lantern Keeper": 4.5,
    "Salt and Thunder": 4.2,
    "A Winter in Oslo": 4.0,
    "Paper Boats": 3.8,
    "The Ninth Passenger": 3.6,
    "Copper Moon": 3.4,
    "Late Train Home": 3.2,
    "The Glass Orchard": 3.0,
    "Two Left Shoes": 2.7,
    "Midnight Laundry": 2.4,
    "Robots on Holiday": 2.1,
    "Attack of the Marrows": 1.6,
}
USERS = 60

CITIES = ("Arles", "Bergen", "Cork", "Delft", "Evora", "Ghent", "Hania", "Inari", "Jaca", "Kotor", "Lucca", "Malmo")
CITIES += ("Namur", "Olot", "Porto", "Riga", "Split", "Turku", "Vigo", "Zadar")
PARTS = {"train": 20, "valid": 12, "test": 20}  # queries of every part


def normal(random: Random) -> float:
    """Draw from the standard normal distribution (Box and Muller)."""
    return math.sqrt(-2 * math.log(1 - random.random())) * math.cos(2 * math.pi * random.random())


def election_soc() -> str:
    """Write the election as PrefLib strict complete orders."""
    voters = sum(count for count, _ in BALLOTS)
    header = [
        "# FILE NAME: election.soc",
        "# TITLE: Election of a Town Council Chair (invented)",
        "# DESCRIPTION: A Condorcet winner whom plurality and instant runoff miss",
        "# DATA TYPE: soc",
        "# MODIFICATION TYPE: synthetic",
        "# RELATED FILES: election.csv",
        f"# NUMBER ALTERNATIVES: {len(CANDIDATES)}",
        f"# NUMBER VOTERS: {voters}",
        f"# NUMBER UNIQUE ORDERS: {len(BALLOTS)}",
    ]
    header += [f"# ALTERNATIVE NAME {code}: {name}" for code, name in enumerate(CANDIDATES, 1)]
    return lines(header + [f"{count}: {','.join(map(str, order))}" for count, order in BALLOTS])


def election_csv() -> str:
    """Write the same election as a table, one kind of ballot per row."""
    rows = [",".join([str(count), *(CANDIDATES[code - 1] for code in order)]) for count, order in BALLOTS]
    return lines(["count,first,second,third,fourth,fifth", *rows])


def model_votes_csv() -> str:
    """Simulate judges who compare two models: Bradley-Terry with ties (Davidson)."""
    random, rows = Random(1), ["model_a,model_b,winner,judge"]
    names, tie_tendency = list(MODELS), 0.5
    for _ in range(240):
        a, b = sorted(names, key=lambda _: random.random())[:2]
        judge = JUDGES[int(random.random() * len(JUDGES))]
        odds = math.exp(MODELS[a] - MODELS[b])
        wins, ties = odds, tie_tendency * math.sqrt(odds)
        draw = random.random() * (wins + ties + 1)
        winner = "model_a" if draw < wins else "tie" if draw < wins + ties else "model_b"
        rows.append(f"{a},{b},{winner},{judge}")
    return lines(rows)


def search_files() -> dict[str, str]:
    """Simulate search: graded relevance, engines that see it through noise, some documents judged."""
    random = Random(2)
    qrels: list[str] = []
    runs: list[list[str]] = [[] for _ in ENGINE_NOISE]
    for topic in range(1, TOPICS + 1):
        documents = [f"doc{topic:02d}{number:02d}" for number in range(1, POOL + 1)]
        relevance = [min(3, int(4 * random.random() ** 2.5)) for _ in documents]
        qrels += [f"{topic} 0 {documents[d]} {relevance[d]}" for d in range(JUDGED)]
        for engine, noise in enumerate(ENGINE_NOISE, 1):
            score = [relevance[d] + noise * normal(random) for d in range(POOL)]
            best = sorted(range(POOL), key=lambda d: -score[d])[:DEPTH]
            runs[engine - 1] += [
                f"{topic} Q0 {documents[d]} {rank} {score[d] + 10:.4f} engine{engine}" for rank, d in enumerate(best, 1)
            ]
    files = {f"runs/engine{engine}.run": lines(run) for engine, run in enumerate(runs, 1)}
    return {"qrels.txt": lines(qrels), **files}


def arena_style_csv() -> str:
    """Simulate voters who like good answers, and long ones for their length alone."""
    random, rows = Random(7), ["model_a,model_b,winner,length_a,length_b"]
    names = list(STYLES)
    for _ in range(360):
        pair = sorted(names, key=lambda _: random.random())[:2]
        words = [max(20, round(STYLES[name][1] * math.exp(0.4 * normal(random)))) for name in pair]
        lead = STYLES[pair[0]][0] - STYLES[pair[1]][0] + PER_100_WORDS * (words[0] - words[1]) / 100
        winner = "a" if random.random() < 1 / (1 + math.exp(-lead)) else "b"
        rows.append(",".join([*pair, winner, *map(str, words)]))
    return lines(rows)


def ratings_csv() -> str:
    """Simulate stars: a user is mild or strict and has seen about half the films, good ones more often."""
    random, rows = Random(3), ["user,item,rating"]
    for user in range(1, USERS + 1):
        mildness = 0.6 * normal(random)
        for film, liking in FILMS.items():
            seen = random.random() < 0.25 + 0.08 * liking
            stars = round(liking + mildness + 0.8 * normal(random))
            if seen:
                rows.append(f"u{user:02d},{film},{min(5, max(1, stars))}")
    return lines(rows)


def hotels_csv() -> str:
    """Simulate searches for hotels: eight per city, what people see of them, and how far they went (0, 1 or 2)."""
    random, rows = Random(4), ["city,hotel,relevance,price,stars,review,distance_km,breakfast"]
    for city in CITIES:
        seen = []
        for k in range(8):
            stars, review = 1 + int(5 * random.random()), 6 + 4 * random.random()
            price = round(30 + 28 * stars + 60 * random.random())
            distance, breakfast = round(6 * random.random() ** 2, 1), int(random.random() < 0.5)
            liking = (
                0.5 * stars + 1.2 * review - 0.018 * price - 0.5 * distance + 0.4 * breakfast + 0.6 * normal(random)
            )
            seen.append((liking, f"{city}-{k + 1}", f"{price},{stars},{review:.1f},{distance},{breakfast}"))
        best = sorted(liking for liking, _, _ in seen)[::-1]
        for liking, hotel, facts in seen:
            rows.append(f"{city},{hotel},{(liking >= best[0]) + (liking >= best[2])},{facts}")
    return lines(rows)


def letor_files() -> dict[str, str]:
    """Simulate feature rows in LETOR format: graded labels, seven documents a query, five features.

    The score is linear but for one product of two features, so that a linear ranker does well and a curved one better.
    """
    random, files, query = Random(5), {}, 0
    for part, count in PARTS.items():
        rows = []
        for _ in range(count):
            query += 1
            for document in range(1, 8):
                x = [normal(random) for _ in range(5)]
                score = 1.2 * x[0] + 0.8 * x[1] - 0.6 * x[2] + 0.9 * x[0] * x[1] + 0.7 * normal(random)
                label = (score > 0.3) + (score > 1.8)
                features = " ".join(f"{k}:{value:.2f}" for k, value in enumerate(x, 1))
                rows.append(f"{label} qid:{query} {features} # docid = d{query}-{document}")
        files[f"letor/{part}.txt"] = lines(rows)
    return files


def lines(rows: list[str]) -> str:
    """Join rows into the text of a file."""
    return "\n".join(rows) + "\n"


def files() -> dict[str, str]:
    """Return the text of every example file by its name."""
    return {
        "election.soc": election_soc(),
        "election.csv": election_csv(),
        "model-votes.csv": model_votes_csv(),
        "arena-style.csv": arena_style_csv(),
        "ratings.csv": ratings_csv(),
        **search_files(),
        "hotels.csv": hotels_csv(),
        **letor_files(),
    }


def is_current(path: Path, text: str) -> bool:
    """Say whether a file holds exactly this text."""
    return path.is_file() and path.read_bytes() == text.encode()


def main(arguments: list[str]) -> int:
    """Write the files, or only compare them."""
    stale = {name: text for name, text in files().items() if not is_current(HERE / name, text)}
    if arguments == ["--check"]:
        print("\n".join(f"{name} differs: run examples/make.py" for name in stale) or "all as made")
        return 1 if stale else 0
    for name, text in stale.items():
        (HERE / name).parent.mkdir(exist_ok=True)
        (HERE / name).write_bytes(text.encode())
        print(f"wrote {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
