"""What is quoted from other open documents: what has names in common with the text at the cursor, in whole lines."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoder.buffers import Buffers
from decoder.neighbours import Neighbours, Passage, Quotes
from decoder.wire.messages import BufferClosed, BufferOpened, Complete
from drafting.screening import MAX_BUFFER_CHARACTERS

ROOT = "file:///home/me/shop"

CART = """import json


class Cart:
    def total(self):
        return sum(item.price for item in self.items)


def discount(cart, percent):
    return cart.total() * percent / 100


def unrelated(stream):
    return json.load(stream)
"""


def near(**documents: str) -> tuple[Buffers, Neighbours]:
    """Buffers with documents by file name, whose last part is the ending."""
    buffers = Buffers()
    languages = {"py": "python", "md": "markdown", "ts": "typescript", "tsx": "typescriptreact", "c": "c", "h": "cpp"}
    for name, text in documents.items():
        path = ".".join(name.rsplit("_", 1))
        buffers.apply(BufferOpened(f"1:{ROOT}/src/{path}", languages[path.rpartition(".")[2]], 1, text))
    return buffers, Neighbours(buffers)


def request(language: str = "python", document: str = f"1:{ROOT}/main.py") -> Complete:
    return Complete(1, document, language, "", "")


def texts(quotes: Quotes) -> list[str]:
    return [passage.text for passage in quotes.passages]


def test_the_passage_that_shares_names_with_the_text_at_the_cursor_is_quoted() -> None:
    _, neighbours = near(cart_py=CART)
    quotes = neighbours.choose(request(), "x = discount(", "", 80)
    assert quotes.passages == (
        Passage("src/cart.py", "def discount(cart, percent):\n    return cart.total() * percent / 100\n"),
    )
    assert (quotes.name, quotes.project) == ("main.py", "shop")


def test_names_behind_the_cursor_count_as_well() -> None:
    _, neighbours = near(cart_py=CART)
    assert texts(neighbours.choose(request(), "x = ", ")\nunrelated(stream)\n", 80)) == [
        "def unrelated(stream):\n    return json.load(stream)\n"
    ]


def test_nothing_is_quoted_where_no_name_is_shared() -> None:
    _, neighbours = near(cart_py=CART)
    assert not neighbours.choose(request(), "first = second", "", 500).passages
    assert not neighbours.choose(request(), "", "", 500).passages


def test_a_name_that_few_passages_hold_says_more() -> None:
    common = "".join(f"def read{n}(value, other):\n    return value + other\n\n\n" for n in range(9))
    _, neighbours = near(many_py=common, one_py="def blend(value, base):\n    return base + value\n")
    assert texts(neighbours.choose(request(), "blend(value", "", 60)) == [
        "def blend(value, base):\n    return base + value\n"
    ]


def test_passages_come_in_the_order_of_their_documents_and_places_whatever_was_opened_first() -> None:
    def passages(*names: str) -> tuple[Passage, ...]:
        _, neighbours = near(**{name: f"def {name}_one(): cart\n\n\ndef {name}_two(): cart\n" for name in names})
        return neighbours.choose(request(), "cart", "", 500).passages

    quoted = passages("b_py", "a_py", "c_py")
    assert [passage.name for passage in quoted] == ["src/a.py", "src/b.py", "src/c.py"]
    assert quoted[0].text == "def a_py_one(): cart\n\ndef a_py_two(): cart\n"
    assert quoted == passages("c_py", "b_py", "a_py")


def test_the_same_family_of_languages_comes_first() -> None:
    documents = {
        "notes_md": "all of: cart cart_total cart_items\n",
        "view_tsx": "const item = cart\n",
        "one_py": "cart = cart_total * 256\n",
    }
    _, neighbours = near(**documents)
    before = "cart + cart_total + cart_items"
    assert texts(neighbours.choose(request("typescript"), before, "", 40)) == ["const item = cart\n"]
    assert texts(neighbours.choose(request("python"), before, "", 40)) == ["cart = cart_total * 256\n"]
    assert texts(neighbours.choose(request("markdown"), before, "", 40)) == ["all of: cart cart_total cart_items\n"]


def test_the_document_itself_and_documents_of_others_are_never_quoted() -> None:
    _, neighbours = near(cart_py=CART)
    assert not neighbours.choose(request(document=f"1:{ROOT}/src/cart.py"), "discount", "", 500).passages
    assert not neighbours.choose(request(document=f"11:{ROOT}/main.py"), "discount", "", 500).passages


def test_what_the_prompt_holds_anyway_is_not_quoted_and_nothing_twice() -> None:
    copied = "def discount(cart):\n    return cart\n"
    _, neighbours = near(a_py=copied, b_py=copied)
    assert texts(neighbours.choose(request(), "discount(", "", 500)) == [copied]
    assert not neighbours.choose(request(), f"{copied}\n\ndiscount(", "", 500).passages
    assert neighbours.choose(request(), copied.replace("return", "yield"), "", 500).passages


def test_a_large_document_is_never_quoted() -> None:
    """P31: a file of many megabytes in another tab."""
    _, neighbours = near(large_py="cart = 1\n" * MAX_BUFFER_CHARACTERS, long_py="cart = [" + "1, " * 100_000 + "]\n")
    assert not neighbours.choose(request(), "cart", "", 500).passages


@pytest.mark.parametrize("text", ["cart = 1\0\n", "cart \ufffd\ufffd\n", "cart\n" + "cart;" * 9000])
def test_what_the_draft_index_leaves_out_is_not_quoted_either(text: str) -> None:
    _, neighbours = near(strange_py=text)
    assert not neighbours.choose(request(), "cart", "", 500).passages


def test_a_long_line_does_not_keep_the_rest_of_a_document_from_being_quoted() -> None:
    _, neighbours = near(data_py="cart = 1\n\n\nICON = '" + "x" * 600 + "'\n\n\ncart = 2\n")
    assert texts(neighbours.choose(request(), "cart", "", 500)) == ["cart = 1\n\ncart = 2\n"]


def test_of_a_long_block_whole_lines_are_quoted_under_its_first_line() -> None:
    methods = "".join(f"    def item{n}(self):\n        return {n}\n\n" for n in range(50))
    _, neighbours = near(cart_py=f"class Cart:\n{methods}\nclass Other:\n    pass\n")
    assert texts(neighbours.choose(request(), "cart.item7()", "", 100)) == [
        "class Cart:\n    def item7(self):\n        return 7\n"
    ]


def test_of_a_block_whose_first_line_is_long_nothing_is_quoted() -> None:
    _, neighbours = near(cart_py="CART = [" + "'cart', " * 50 + "\n" + "    'cart',\n" * 50 + "]\n")
    assert not neighbours.choose(request(), "cart", "", 300).passages


def test_line_ends_make_no_difference() -> None:
    quotes = [
        near(cart_py=CART.replace("\n", end))[1].choose(request(), "discount(cart", "", 200)
        for end in ("\n", "\r\n", "\r")
    ]
    assert quotes[0] == quotes[1] == quotes[2]
    assert quotes[0].passages
    assert "\r" not in "".join(texts(quotes[0]))


PARTS = st.sampled_from(
    ["def cart(x):\n", "    cart\n", "\n", "\n\n", "x" * 90 + "\n", "cart", "\r\n", "  }\n", "  \n"]
)


@settings(max_examples=60)
@given(st.lists(st.lists(PARTS, max_size=12).map("".join), max_size=3), st.integers(0, 300))
def test_never_more_is_quoted_than_asked_for_and_all_of_it_stands_in_the_documents(
    documents: list[str], characters: int
) -> None:
    _, neighbours = near(**{f"a{number}_py": text for number, text in enumerate(documents)})
    quotes = neighbours.choose(request(), "cart", "", characters)
    seams = sum(text.count("\n\n") for text in texts(quotes))
    assert sum(map(len, texts(quotes))) <= characters + seams
    lines = {line for text in documents for line in text.replace("\r\n", "\n").split("\n")}
    assert {line for text in texts(quotes) for line in text.split("\n")} <= {*lines, ""}
    assert all(text.endswith("\n") for text in texts(quotes))


def test_a_choice_holds_until_a_document_is_opened_or_closed() -> None:
    buffers, neighbours = near(cart_py=CART)
    quotes = neighbours.choose(request(), "discount", "", 200)
    assert neighbours.still_holds(quotes, request().document, 100)
    buffers.apply(BufferOpened(f"2:{ROOT}/b.py", "python", 1, "x"))
    assert neighbours.still_holds(quotes, request().document, 100)
    buffers.apply(BufferOpened(f"1:{ROOT}/b.py", "python", 1, "x"))
    assert not neighbours.still_holds(quotes, request().document, 100)
    buffers.apply(BufferClosed(f"1:{ROOT}/b.py"))
    assert neighbours.still_holds(quotes, request().document, 100)
    buffers.apply(BufferClosed(f"1:{ROOT}/src/cart.py"))
    assert not neighbours.still_holds(quotes, request().document, 100)


def test_a_choice_holds_until_the_text_has_become_another() -> None:
    _, neighbours = near(cart_py=CART)
    quotes = neighbours.choose(request(), "discount" * 100, "", 200)
    assert neighbours.still_holds(quotes, request().document, 1900)
    assert neighbours.still_holds(quotes, request().document, 0)
    assert not neighbours.still_holds(quotes, request().document, 1901)


@pytest.mark.parametrize(
    ("document", "name"),
    [
        (f"1:{ROOT}/my%20file.py", "my file.py"),
        ("1:untitled:Untitled-1", "Untitled-1"),
        ("1:file:///elsewhere/b.py", "b.py"),
        ("1:file:///c%3A/b.py", "b.py"),
    ],
)
def test_nothing_above_the_project_is_told(document: str, name: str) -> None:
    _, neighbours = near(cart_py=CART)
    quotes = neighbours.choose(request(document=document), "discount", "", 200)
    assert quotes.name == name
    assert "home" not in quotes.passages[0].name


def test_choosing_is_quick_with_many_large_documents_open() -> None:
    block = "".join(f"def name{n}(value, other):\n    return value{n} + other\n\n\n" for n in range(8000))
    _, neighbours = near(**{f"a{number}_py": block[:390_000] for number in range(50)})
    neighbours.choose(request(), "value7 + other", "", 800)
    started = time.perf_counter()
    neighbours.choose(request(), "value7 + other", "", 800)
    assert time.perf_counter() - started < 1, "about 0.03 s on two slow cores"
