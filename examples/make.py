"""Make the example data: invented elections, models, players, engines, films, hotels, matches and forms.

    python3 examples/make.py            write the files next to this script
    python3 examples/make.py --check    exit 1 if a file differs from what would be written

Only ``random.Random(seed).random()`` is used, whose sequence Python promises never to change.
"""

from __future__ import annotations

import io
import math
import sys
import zipfile
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from html import escape
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

# Three seats of a ward. Rosa Lind has more than a quota; Greta Blom has more first places than Omar Haddad, who gets
# the third seat by what others pass on.
WARD = ("Rosa Lind", "Tom Acker", "Ines Duarte", "Karl Voss", "Omar Haddad", "Greta Blom", "Pia Sund")
PAPERS = (
    (118, (1, 2, 5)),
    (61, (1, 5, 2)),
    (34, (2, 1)),
    (83, (3, 4)),
    (47, (4, 3, 6)),
    (40, (3, 6, 5)),
    (41, (5, 7, 1)),
    (21, (5, 3)),
    (46, (6, 3, 4)),
    (22, (6, 7)),
    (28, (7, 5, 6)),
    (17, (7,)),
)

# Three seats of a reading group, by crosses: two camps and a few who like a bit of both.
BOOKS = ("Dune Songs", "Iron Tides", "Red Orbit", "Quiet Rooms", "The Orchard", "Salt Letters", "A Field Guide to Moss")
CROSSES = (
    (30, (1, 2, 3)),
    (9, (1, 2)),
    (2, (1,)),
    (17, (4, 5)),
    (8, (4, 6)),
    (6, (3, 4)),
    (5, (7,)),
    (4, (5, 6, 7)),
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
TALK = {"heron-small": 380, "kestrel": 300, "osprey-2": 90, "finch-chat": 120}  # words of an answer, others 180
JUDGES = ("ana", "bo", "chidi", "dana", "emre", "freya")
LANGUAGES = {"English": 0.45, "German": 0.25, "French": 0.18, "Japanese": 0.08, "Swahili": 0.04}  # shares of the votes
ELSEWHERE = {("German", "wren-mini"): 2.4}  # how much stronger a model is in one language than in the others

LEAGUE = {  # name: strength at the beginning and at the end (log odds), first and last year
    "Ama": (1.6, 0.2, 2016, 2024),
    "Bo": (0.9, 0.9, 2016, 2024),
    "Cleo": (-0.6, 1.9, 2016, 2024),
    "Dario": (0.6, -0.6, 2016, 2024),
    "Edda": (0.0, 0.3, 2016, 2024),
    "Finn": (1.2, 0.6, 2016, 2020),
    "Gia": (-0.3, 1.3, 2019, 2024),
    "Hugo": (-0.9, -0.3, 2016, 2024),
}
SEASONS, GAMES = range(2016, 2025), 46  # games of every season

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
PLAYERS = {  # name: strength, on the scale of log odds
    "Mira": 1.2,
    "Jonas": 0.9,
    "Aiko": 0.6,
    "Tomas": 0.3,
    "Lena": 0.0,
    "Pavel": -0.3,
    "Odile": -0.6,
    "Sam": -0.9,
    "Yusuf": -1.2,
}
MATCHES = 70

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


def council_csv() -> str:
    """Write the papers of a ward as a table, one kind of paper per row; papers may be short."""
    most = max(len(order) for _, order in PAPERS)
    rows = []
    for count, order in PAPERS:
        names = [WARD[code - 1] for code in order]
        rows.append(",".join([str(count), *names, *[""] * (most - len(order))]))
    return lines(["count,first,second,third", *rows])


def approvals_csv() -> str:
    """Write crosses as a table: a row, rated 1, for every book a member would read."""
    rows, voter = ["voter,item,rating"], 0
    for count, crossed in CROSSES:
        for _ in range(count):
            voter += 1
            rows += [f"member {voter},{BOOKS[code - 1]},1" for code in crossed]
    return lines(rows)


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


def arena_style_csv() -> str:
    """Simulate judges who take long answers for good ones; heron-small talks a lot, osprey-2 hardly."""
    random, names = Random(5), list(MODELS)
    rows = ["model_a,model_b,winner,length_a,length_b"]
    for _ in range(280):
        a, b = sorted(names, key=lambda _: random.random())[:2]
        words = [round(TALK.get(name, 180) * (0.6 + 0.8 * random.random())) for name in (a, b)]
        odds = math.exp(MODELS[a] - MODELS[b] + 0.008 * (words[0] - words[1]))
        winner = "model_a" if random.random() * (odds + 1) < odds else "model_b"
        rows.append(f"{a},{b},{winner},{words[0]},{words[1]}")
    return lines(rows)


def league_csv() -> str:
    """Simulate a league of nine seasons whose players rise and decline; one comes late, one leaves early."""
    random, rows = Random(7), []
    for season in SEASONS:
        active = [name for name, (_, _, first, last) in LEAGUE.items() if first <= season <= last]
        for _ in range(GAMES):
            a, b = sorted(active, key=lambda _: random.random())[:2]
            month, day = 2 + int(random.random() * 10), 1 + int(random.random() * 28)
            passed = (season - SEASONS[0] + month / 12) / len(SEASONS)
            of_a, of_b = ((1 - passed) * LEAGUE[one][0] + passed * LEAGUE[one][1] for one in (a, b))
            a_wins = random.random() < 1 / (1 + math.exp(of_b - of_a))
            rows.append(f"{season}-{month:02d}-{day:02d}," + (f"{a},{b}" if a_wins else f"{b},{a}"))
    return lines(["date,winner,loser", *sorted(rows)])


def arena_languages_csv() -> str:
    """Simulate votes in five languages that agree on all models but one; equal votes are counted."""
    random, names = Random(8), list(MODELS)
    counts: dict[tuple[str, str, str], int] = {}
    for _ in range(600):
        a, b = sorted(names, key=lambda _: random.random())[:2]
        draw, shares = random.random(), list(LANGUAGES.values())
        language = list(LANGUAGES)[sum(draw >= sum(shares[: k + 1]) for k in range(len(shares) - 1))]
        strength = [MODELS[name] + ELSEWHERE.get((language, name), 0.0) for name in (a, b)]
        odds = math.exp(strength[0] - strength[1])
        winner, loser = (a, b) if random.random() * (odds + 1) < odds else (b, a)
        counts[language, winner, loser] = counts.get((language, winner, loser), 0) + 1
    return lines(["language,winner,loser,votes", *(f"{','.join(vote)},{n}" for vote, n in sorted(counts.items()))])


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


def doubles_csv() -> str:
    """Simulate matches of two against two, partners drawn by lot: Bradley-Terry of the sums of strengths."""
    random, rows = Random(6), ["date,match,team,player,place"]
    for match in range(1, MATCHES + 1):
        on_court = sorted(PLAYERS, key=lambda _: random.random())[:4]
        red, blue = on_court[:2], on_court[2:]
        lead = sum(PLAYERS[name] for name in red) - sum(PLAYERS[name] for name in blue)
        red_wins = random.random() < 1 / (1 + math.exp(-lead))
        day = date(2026, 3, 1) + timedelta(days=match // 2)
        for team, names, has_won in (("red", red, red_wins), ("blue", blue, not red_wins)):
            rows += [f"{day},{match},{team},{name},{1 if has_won else 2}" for name in names]
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


# ---- spreadsheets ----
RESTAURANTS = ("Sushi Bar", "Taco Place", "Pho Corner", "The Diner", "Green Bowl")
GUESTS = ("ana", "bo", "chidi", "dana", "emre", "freya", "gus", "hana")
APPEAL = (0.9, 1.2, 0.6, -0.4, 0.1)
PLACES = ("1st choice", "2nd choice", "3rd choice", "4th choice", "5th choice")
PROPOSALS = ("Bike lanes", "Night bus", "Library roof", "Skate park")
COMMITTEE = {
    "Ines": (9, 7, 4, 2),
    "Jonas": (8, 9, 5, 6),
    "Kofi": (6, 8, 9, None),
    "Lena": (10, 6, 7, 3),
    "Marek": (7, 7, 8, 5),
    "Nora": (9, 4, 6, 8),
}


def lunch_form_csv() -> str:
    """Return the answers of a form as Google exports them: a column per restaurant, places in words."""
    random = Random(11)
    rows = ["Timestamp,Your name," + ",".join(f"Rank the restaurants [{name}]" for name in RESTAURANTS) + ",Comments"]
    for k, guest in enumerate(GUESTS):
        liked = [appeal + normal(random) for appeal in APPEAL]
        order = sorted(range(len(liked)), key=lambda item: -liked[item])
        places = ",".join(PLACES[order.index(item)] for item in range(len(liked)))
        rows.append(f"2024/05/{13 + k // 4} 12:{4 * k:02}:09,{guest},{places},{'no onions' if k == 2 else ''}")
    return lines(rows)


def committee_sheets() -> dict[str, list[list[object]]]:
    """Return a workbook: points from 0 to 10 by every member for every proposal, and a sheet of remarks."""
    rows = [["Member", *PROPOSALS], *([name, *points] for name, points in COMMITTEE.items())]
    title: list[list[object]] = [["Points for the proposals, 0 to 10"], []]
    return {"Points": [*title, *rows], "Remarks": [["Kofi was not there for the skate park."]]}


def xlsx(sheets: Mapping[str, Sequence[Sequence[object]]], *, merged: Sequence[str] = ()) -> bytes:
    """Return an Excel workbook of text, numbers and empty cells (None); ``merged`` cells (A1:B1) of the first sheet."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    package = "http://schemas.openxmlformats.org/package/2006"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    numbers = range(1, len(sheets) + 1)
    types = "".join(
        f'<Override PartName="/xl/worksheets/sheet{k}.xml" '
        'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/>'
        for k in numbers
    )
    named = "".join(
        f'<sheet name="{escape(n)}" sheetId="{k}" r:id="r{k}"/>' for k, n in zip(numbers, sheets, strict=True)
    )
    linked = "".join(
        f'<Relationship Id="r{k}" Type="{office}/worksheet" Target="worksheets/sheet{k}.xml"/>' for k in numbers
    )
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Override PartName="/xl/workbook.xml" '
        'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>'
        f"{types}</Types>",
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships">'
        f'<Relationship Id="r0" Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>{named}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships">{linked}</Relationships>',
    }
    for k, rows in zip(numbers, sheets.values(), strict=True):
        cells = "".join(
            f'<row r="{r}">' + "".join(_xlsx_cell(f"{_letters(c)}{r}", cell) for c, cell in enumerate(row)) + "</row>"
            for r, row in enumerate(rows, 1)
        )
        spans = "".join(f'<mergeCell ref="{span}"/>' for span in merged if k == 1)
        spans = f"<mergeCells>{spans}</mergeCells>" if spans else ""
        parts[f"xl/worksheets/sheet{k}.xml"] = (
            f'<worksheet xmlns="{main}"><sheetData>{cells}</sheetData>{spans}</worksheet>'
        )
    return archive(parts)


def _letters(column: int) -> str:
    return (_letters(column // 26 - 1) if column >= 26 else "") + chr(65 + column % 26)


def _xlsx_cell(where: str, cell: object) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return f'<c r="{where}" t="b"><v>{int(cell)}</v></c>'
    if isinstance(cell, (int, float)):
        return f'<c r="{where}"><v>{cell}</v></c>'
    return f'<c r="{where}" t="inlineStr"><is><t>{escape(str(cell))}</t></is></c>'


def ods(sheets: Mapping[str, Sequence[Sequence[object]]]) -> bytes:
    """Return an OpenDocument workbook of text, numbers and empty cells (None)."""
    names = "urn:oasis:names:tc:opendocument:xmlns"
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    tables = "".join(
        f'<table:table table:name="{escape(name)}">'
        + "".join(f"<table:table-row>{''.join(map(_ods_cell, row))}</table:table-row>" for row in rows)
        + "</table:table>"
        for name, rows in sheets.items()
    )
    parts = {
        "mimetype": kind,
        "META-INF/manifest.xml": f'<manifest:manifest xmlns:manifest="{names}:manifest:1.0">'
        f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/>'
        '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/></manifest:manifest>',
        "content.xml": f'<office:document-content xmlns:office="{names}:office:1.0" xmlns:table="{names}:table:1.0" '
        f'xmlns:text="{names}:text:1.0" office:version="1.2"><office:body><office:spreadsheet>{tables}'
        "</office:spreadsheet></office:body></office:document-content>",
    }
    return archive(parts)


def _ods_cell(cell: object) -> str:
    if cell is None:
        return "<table:table-cell/>"
    if isinstance(cell, (int, float)):
        number = f'<table:table-cell office:value-type="float" office:value="{cell}">'
        return f"{number}<text:p>{cell}</text:p></table:table-cell>"
    return f'<table:table-cell office:value-type="string"><text:p>{escape(str(cell))}</text:p></table:table-cell>'


def archive(parts: Mapping[str, str]) -> bytes:
    """Return a zip archive that is the same on every run and every machine."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        for name, text in parts.items():
            head = "" if name == "mimetype" else '<?xml version="1.0" encoding="UTF-8"?>\n'
            about = zipfile.ZipInfo(name)
            about.create_system = 3
            packed.writestr(about, head + text)
    return out.getvalue()


def lines(rows: list[str]) -> str:
    """Join rows into the text of a file."""
    return "\n".join(rows) + "\n"


def files() -> dict[str, bytes]:
    """Return the content of every example file by its name."""
    texts = {
        "election.soc": election_soc(),
        "election.csv": election_csv(),
        "council.csv": council_csv(),
        "approvals.csv": approvals_csv(),
        "model-votes.csv": model_votes_csv(),
        "arena-style.csv": arena_style_csv(),
        "league.csv": league_csv(),
        "arena-languages.csv": arena_languages_csv(),
        "ratings.csv": ratings_csv(),
        **search_files(),
        "hotels.csv": hotels_csv(),
        "doubles.csv": doubles_csv(),
        **letor_files(),
        "lunch-form.csv": lunch_form_csv(),
    }
    sheets = committee_sheets()
    return {
        **{name: text.encode() for name, text in texts.items()},
        "committee.xlsx": xlsx(sheets, merged=["A1:E1"]),
        "committee.ods": ods(sheets),
    }


def is_current(path: Path, content: bytes) -> bool:
    """Say whether a file holds exactly this."""
    return path.is_file() and path.read_bytes() == content


def main(arguments: list[str]) -> int:
    """Write the files, or only compare them."""
    stale = {name: content for name, content in files().items() if not is_current(HERE / name, content)}
    if arguments == ["--check"]:
        print("\n".join(f"{name} differs: run examples/make.py" for name in stale) or "all as made")
        return 1 if stale else 0
    for name, content in stale.items():
        (HERE / name).parent.mkdir(exist_ok=True)
        (HERE / name).write_bytes(content)
        print(f"wrote {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
