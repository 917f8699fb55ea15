"""What a document is called decides whether the decoder may see it; the person's patterns have the last word."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsp_server.exclusion import OwnPatterns, judge, path_of, remedy


@pytest.mark.parametrize(
    ("patterns", "path", "excluded"),
    [
        (["*.sql"], "/a/b/dump.sql", True),
        (["*.sql"], "/a/sql/main.py", None),
        (["*.sql", "!keep.sql"], "/a/keep.sql", False),
        (["!keep.sql", "*.sql"], "/a/keep.sql", True),
        (["private/"], "/code/private/deep/a.py", True),
        (["private/"], "/code/private", None),
        (["conf/prod/**"], "/code/conf/prod/x/a.yaml", True),
        (["**/generated/*.py"], "/code/generated/a.py", True),
        (["/code/**"], "/code/a.py", True),
        (["/code/**"], "/home/code/a.py", None),
        (["~/notes/**"], "/home/me/notes/a.md", True),
        (["*"], "/a.py", True),
        (["", "# no comment", "a b.py"], "/x/a b.py", True),
        ([], "/a.py", None),
    ],
)
def test_patterns_are_those_of_a_gitignore_in_any_folder(
    monkeypatch: pytest.MonkeyPatch, patterns: Sequence[str], path: str, excluded: bool | None
) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert OwnPatterns(patterns).judge(path).excluded is excluded


def test_the_pattern_that_decided_is_named() -> None:
    assert "'*.sql'" in OwnPatterns(["", "a", "*.sql"]).judge("/dump.sql").because
    verdict = judge(["/home/me/.env"], OwnPatterns())
    assert "'.env'" in verdict.because
    assert '"exclude": ["!.env"]' in verdict.because, "the remedy"


@pytest.mark.parametrize("name", [".env", "a[1].py", "what?.key", "a*b", "!x", "#x", "é 漢.py", "back\\slash"])
def test_the_remedy_lets_in_exactly_the_file(name: str) -> None:
    (pattern,) = json.loads(remedy(f"/code/{name}").removeprefix('"exclude": ').removesuffix(" lets it in"))
    assert OwnPatterns([pattern]).judge(f"/code/{name}").excluded is False
    assert OwnPatterns([pattern]).judge("/code/what1.key").excluded is None, "a letter of the name is no wildcard"


@pytest.mark.parametrize(
    ("paths", "patterns", "excluded"),
    [
        (["/a/.env"], [], True),
        (["/a/.env"], ["!.env"], False),
        (["/a/main.py"], [], None),
        (["/a/notes.txt", "/a/.env"], [], True),
        (["/a/notes.txt", "/private/x.txt"], ["/private/"], True),
        (["/a/notes.txt", "/private/x.txt"], ["!notes.txt", "/private/"], True),
    ],
)
def test_both_the_name_and_what_a_link_leads_to_count(
    paths: Sequence[str], patterns: Sequence[str], excluded: bool | None
) -> None:
    assert judge(paths, OwnPatterns(patterns)).excluded is excluded


@pytest.mark.parametrize(
    "uri",
    [
        "file:///code/.env",
        "FILE:///code/%2Eenv",
        "file:///C%3A/work%5C.env",
        "file:///C#/.env",
        "file:///what?/.env",
        "untitled:.env",
        "vscode-remote://ssh-remote%2Bhost/code/.env",
        "git:/code/.env?%7B%22ref%22%3A%22HEAD%22%7D",
        "/code/.env",
        ".env",
    ],
)
def test_a_secret_is_known_under_any_uri(uri: str) -> None:
    assert judge([path_of(uri)], OwnPatterns()).excluded


@given(st.text(), st.lists(st.sampled_from(["*.a", "!b", "c/", "**", "/d", "?"]), max_size=4))
def test_no_uri_at_all_breaks_it(uri: str, patterns: list[str]) -> None:
    assert judge([path_of(uri)], OwnPatterns(patterns)).excluded in (True, False, None)
