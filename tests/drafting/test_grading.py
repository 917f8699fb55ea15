"""Grading: a draft is judged by the text that came about, when that is known and not before."""

from drafting.grading import Grading
from drafting.interface import Draft
from drafting.survival import Situation, Survival

HERE = Situation("go", "lookup", 3, 0)


class Book(Survival):
    """Notes what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[tuple[int, bool, int | None]] = []

    def learn(self, situation: Situation, num_stood: int, *, fell: bool, statement: int | None = None) -> None:
        assert situation == HERE
        self.told.append((num_stood, fell, statement))


def test_waits_for_the_text_to_reach_the_draft() -> None:
    book = Book()
    grading = Grading(book)
    grading.add(HERE, Draft((4, 5, 6), statement=2), 1)
    grading.follow([9, 4])
    assert book.told == []
    grading.follow([9, 4, 5, 7])
    assert book.told == [(2, True, 2)]


def test_a_whole_draft_that_stands_did_not_fall() -> None:
    book = Book()
    grading = Grading(book)
    grading.add(HERE, Draft((4, 5)), 1)
    grading.follow([9, 4, 5, 6])
    assert book.told == [(2, False, None)]


def test_the_end_of_the_text_censors() -> None:
    book = Book()
    grading = Grading(book)
    grading.add(HERE, Draft((4, 5)), 1)
    grading.add(HERE, Draft((5, 6)), 2)
    grading.finish([9, 4])
    assert book.told == [(1, False, None)]  # of the second draft nothing is known
    grading.finish([9, 4])
    assert len(book.told) == 1


def test_drafts_that_nobody_used_are_graded_as_well() -> None:
    book = Book()
    grading = Grading(book)
    grading.add(HERE, Draft((4,)), 1)
    grading.add(HERE, Draft((8,)), 1)
    grading.follow([9, 4])
    assert book.told == [(1, False, None), (0, True, None)]
