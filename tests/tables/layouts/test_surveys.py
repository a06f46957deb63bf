"""Exports of Qualtrics, SurveyMonkey and LimeSurvey."""

from __future__ import annotations

import io
from typing import Any

import pytest

import concordant as cc
from concordant.errors import InputError

NAMES = "StartDate,Status,Progress,Finished,RecordedDate,ResponseId,RecipientEmail,UserLanguage,Q1,Q2_1,Q2_2,Q2_3"
NAMES += ",Q2_DO_1,Q2_DO_2,Q2_DO_3,Q3_1,Q3_2,Q4_1,Q4_2,Q4_3_TEXT"
TEXTS = "Start Date,Response Type,Progress,Finished,Recorded Date,Response ID,Recipient Email,User Language,How old?"
TEXTS += ',"Rank, best first - Sushi - raw","Rank, best first - Taco","Rank, best first - Pho",o,o,o'
TEXTS += ",Rate the - Service,Rate the - Food,Pick any - x,Pick any - y,Other"
IDS = ",".join(f'"{{""ImportId"":""QID{k}""}}"' for k in range(20))
ROWS = [
    "2024-01-01,IP Address,100,True,2024-01-02,R_1,,EN,33,1,2,3,2,1,3,5,4,1,,",
    "2024-01-01,IP Address,100,True,2024-01-02,R_2,,DE,44,2,1,3,1,2,3,3,4,1,1,more",
    "2024-01-01,Survey Preview,100,True,2024-01-02,R_3,,EN,33,1,2,3,2,1,3,5,4,,1,",
    "2024-01-01,IP Address,60,False,2024-01-02,R_4,,EN,20,-99,-99,-99,2,1,3,,,,,",
]
QUALTRICS = "\n".join([NAMES, TEXTS, IDS, *ROWS]) + "\n"


def read(text: str, **options: Any) -> cc.Preferences:
    return cc.read(io.StringIO(text), **options)


def said(prefs: cc.Preferences) -> dict[str, str]:
    return dict(prefs.describe().first)


def test_a_ranking_question_of_qualtrics_is_read_without_options() -> None:
    prefs = read(QUALTRICS)
    assert said(prefs) == {"R_1": "Sushi - raw > Taco > Pho", "R_2": "Taco > Sushi - raw > Pho"}
    assert prefs.scale == "rank"
    notes = "\n".join(prefs.notes)
    assert "Qualtrics export" in notes
    assert "left out 1 row: previews, tests or spam (Status)" in notes
    assert "1 respondent did not finish the survey" in notes
    assert "an empty ballot, left out (first: line 7)" in notes


def test_another_question_of_qualtrics_is_chosen_by_its_code_or_text() -> None:
    for question in ("Q3", "Rate the"):
        prefs = read(QUALTRICS, question=question)
        assert prefs.scale == "rating"
        assert said(prefs) == {"R_1": "Service > Food", "R_2": "Food > Service"}


def test_groups_of_qualtrics_are_columns() -> None:
    assert list(read(QUALTRICS, by="UserLanguage").instances or ()) == ["EN", "DE"]


def test_several_ranking_questions_are_instances() -> None:
    text = QUALTRICS.replace("Q3_1,Q3_2", "Q5_1,Q5_2").replace(",5,4,", ",2,1,").replace(",3,4,", ",1,2,")
    text = text.replace("Rate the", "Order them")
    prefs = read(text)
    assert prefs.n_instances == 2
    assert said(read(text, question="Q5")) == {"R_1": "Food > Service", "R_2": "Service > Food"}


def test_qualtrics_without_import_ids_is_read_too() -> None:
    assert said(read("\n".join([NAMES, TEXTS, *ROWS]) + "\n")) == said(read(QUALTRICS))


SURVEY_MONKEY = """Respondent ID,Collector ID,Start Date,Email Address,Please rank the snacks,,,What else?
,,,,Apple,Bar,Chips,Open-Ended Response
100,7,01/02/2024,,1,2,3,nothing
101,7,01/02/2024,,3,1,2,more snacks please at noon
"""


def test_the_options_of_surveymonkey_are_in_the_second_row() -> None:
    prefs = read(SURVEY_MONKEY)
    assert said(prefs) == {"100": "Apple > Bar > Chips", "101": "Bar > Chips > Apple"}
    assert "SurveyMonkey export" in prefs.notes[1]


LIME = """id,submitdate,lastpage,startlanguage,seed,q1[1],q1[2],q1[3],q2[SQ001],q2[SQ002]
1,2024-01-01 10:00:00,3,en,99,Pizza,Sushi,Taco,A1,A2
2,2024-01-01 11:00:00,3,de,98,Sushi,Pizza,,A3,A1
3,,1,en,97,,,,,
"""


@pytest.mark.parametrize("codes", [("Pizza", "Sushi", "Taco"), ("1", "2", "3"), ("AO01", "AO02", "AO03")])
def test_a_ranking_question_of_limesurvey_has_a_column_per_place(codes: tuple[str, str, str]) -> None:
    text = LIME
    for name, code in zip(("Pizza", "Sushi", "Taco"), codes, strict=True):
        text = text.replace(name, code)
    prefs = read(text)
    assert said(prefs) == {"1": " > ".join(codes), "2": " > ".join(codes[1::-1])}
    assert "1 respondent did not submit the survey; their answers are read" in prefs.notes


def test_headings_in_full_text_are_read_too() -> None:
    text = '"Response ID","Date submitted","Last page","Food [Rank 1]","Food [Rank 2]"\n'
    prefs = read(text + "1,2024-01-01,3,Pizza,Sushi\n2,2024-01-01,3,Sushi,Pizza\n")
    assert said(prefs) == {"1": "Pizza > Sushi", "2": "Sushi > Pizza"}


def test_of_several_ranking_questions_of_limesurvey_one_is_chosen() -> None:
    text = LIME.replace("q2[SQ001],q2[SQ002]", "q2[1],q2[2]")
    with pytest.raises(InputError, match="several questions: choose one with question='q1' or question='q2'"):
        read(text)
    assert said(read(text, question="q2")) == {"1": "A1 > A2", "2": "A3 > A1"}


def test_google_and_microsoft_forms_are_read_as_before() -> None:
    google = "Timestamp,Your name,Rank [Sushi],Rank [Taco]\n1,ann,1st choice,2nd choice\n2,bob,2nd choice,1st choice\n"
    assert said(read(google)) == {"ann": "Sushi > Taco", "bob": "Taco > Sushi"}
    microsoft = "ID,Start time,Email,Name,Rank them\n1,5/1/24 10:00,a@x,ann,B;A;C;\n2,5/1/24 10:00,b@x,bob,A;B;C;\n"
    assert said(read(microsoft)) == {"ann": "B > A > C", "bob": "A > B > C"}


def test_grids_on_unknown_scales_do_not_hide_the_question_that_is_chosen() -> None:
    text = "Timestamp,Rank [x],Rank [y],Mood [x],Mood [y]\n1,1,2,meh,wow\n2,2,1,wow,meh\n"
    assert read(text, question="Rank").n_ballots == 2
