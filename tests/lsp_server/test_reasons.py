"""What the window keeps of requests that showed nothing."""

from lsp_server.reasons import MAX_REASONS, Reasons


def test_the_newest_comes_first_and_the_same_again_only_once() -> None:
    reasons = Reasons()
    for uri, reason in [("a", "loading"), ("a", "superseded"), ("a", "superseded"), ("b", "superseded")]:
        reasons.note(uri, reason)
    assert [(kept.uri, kept.reason) for kept in reasons] == [
        ("b", "superseded"),
        ("a", "superseded"),
        ("a", "loading"),
    ]
    assert [kept.when for kept in reasons] == sorted((kept.when for kept in reasons), reverse=True)


def test_what_came_in_between_keeps_two_apart_and_the_oldest_go() -> None:
    reasons = Reasons()
    for number in range(MAX_REASONS):
        reasons.note("a", f"reason {number % 2}")
    assert len(list(reasons)) == MAX_REASONS
    reasons.note("a", "last")
    assert len(list(reasons)) == MAX_REASONS
    assert [kept.reason for kept in reasons][:2] == ["last", "reason 1"]
