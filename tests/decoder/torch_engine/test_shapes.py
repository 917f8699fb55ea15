from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoder.torch_engine.shapes import (
    PREFILL_ROWS,
    SPARE_ROWS,
    VERIFY_ROWS,
    Block,
    FixedShapes,
    FreeShapes,
    Rows,
    Shape,
    Shapes,
)

WINDOW = 1500


@st.composite
def runs(draw: st.DrawFn) -> tuple[int, int, int, Rows]:
    """Held tokens, new ones, how many of them with logits, and the limits of rows."""
    start = draw(st.integers(0, WINDOW - 1))
    length = draw(st.integers(1, WINDOW - start))
    least = draw(st.sampled_from((1, 2, 8, 16, 32)))
    most = draw(st.sampled_from((256, 128, 64, 32, least)))
    return start, length, draw(st.integers(0, length)), Rows(least, most)


@pytest.mark.parametrize("shapes", [FixedShapes(WINDOW), FreeShapes()])
@given(run=runs())
def test_blocks_cover_the_run_and_give_the_rows_asked_for(shapes: Shapes, run: tuple[int, int, int, Rows]) -> None:
    start, length, wanted, rows = run
    blocks = shapes.plan(start, length, wanted, rows)
    assert blocks[0].start == start
    for block, following in pairwise(blocks):
        assert following.start == block.start + block.length
    assert sum(block.length for block in blocks) == length
    asked = [at for block in blocks for at in range(block.length - block.wanted, block.length)]
    assert len(asked) == sum(block.wanted for block in blocks) == wanted
    unasked = [block.wanted for block in blocks if block.wanted < block.length]
    assert not any(unasked[:-1]), "only the first block with logits may begin without"


@pytest.mark.parametrize("shapes", [FixedShapes(WINDOW), FreeShapes()])
@given(run=runs())
def test_every_pass_keeps_to_its_rows_keys_and_slots(shapes: Shapes, run: tuple[int, int, int, Rows]) -> None:
    rows = run[3]
    for block in shapes.plan(*run):
        shape = block.shape
        assert rows.least <= shape.rows
        assert block.length <= rows.most
        assert block.length <= shape.rows
        assert block.start + block.length <= shape.keys, "a token sees itself"
        assert block.start + shape.rows <= WINDOW + SPARE_ROWS, "padding has a slot as well"
        assert 0 <= block.wanted <= block.length
        if block.wanted:
            assert shape.logits >= min(rows.least, shape.rows), "the head, too, sees enough rows"
            assert block.kept.start >= 0
            assert block.kept.stop - block.kept.start == block.wanted
            assert shape.rows - shape.logits + block.kept.stop == block.length, "the last tokens, not the padding"


@given(run=runs())
def test_few_fixed_shapes_serve_everything(run: tuple[int, int, int, Rows]) -> None:
    shapes = FixedShapes(WINDOW)
    assert shapes.keys == (256, 512, 1024, 1500)
    for block in shapes.plan(*run):
        assert block.shape.rows in (*VERIFY_ROWS, PREFILL_ROWS // 2, PREFILL_ROWS)
        assert block.shape.logits == (block.shape.rows if block.shape.rows in VERIFY_ROWS else 1)


@given(first=runs(), second=runs())
def test_how_many_keys_a_token_is_compared_with_depends_on_its_position_alone(
    first: tuple[int, int, int, Rows], second: tuple[int, int, int, Rows]
) -> None:
    shapes = FixedShapes(WINDOW)
    keys: dict[int, int] = {}
    for run in (first, second):
        for block in shapes.plan(*run):
            for position in range(block.start, block.start + block.length):
                assert keys.setdefault(position, block.shape.keys) == block.shape.keys


@pytest.mark.parametrize("size", [16, 32])
def test_with_one_block_size_every_pass_has_it(size: int) -> None:
    blocks = FixedShapes(WINDOW).plan(250, 600, 9, Rows(size, size))
    assert {block.shape.rows for block in blocks} == {size}
    assert {block.shape.rows for block in FreeShapes().plan(250, 600, 9, Rows(size, size))} == {size}


def test_decoding_takes_one_block_a_step() -> None:
    shapes = FixedShapes(2048)
    assert shapes.plan(600, 1, 1, Rows(1)) == [Block(600, 1, 1, Shape(1, 1024, 1))]
    assert shapes.plan(600, 5, 5, Rows(8)) == [Block(600, 5, 5, Shape(8, 1024, 8))]
    assert shapes.plan(600, 16, 16, Rows(8)) == [Block(600, 16, 16, Shape(16, 1024, 16))]
    assert shapes.plan(600, 17, 16, Rows(8)) == [Block(600, 17, 16, Shape(32, 1024, 32))]
    assert shapes.plan(1020, 8, 8, Rows(8)) == [
        Block(1020, 4, 4, Shape(8, 1024, 8)),
        Block(1024, 4, 4, Shape(8, 2048, 8)),
    ]


def test_a_prompt_takes_large_blocks_and_its_wanted_end_a_small_one() -> None:
    blocks = FixedShapes(2048).plan(0, 700, 1, Rows(8))
    assert [(block.length, block.shape.rows, block.shape.keys) for block in blocks] == [
        (256, 256, 256),
        (256, 256, 512),
        (187, 256, 1024),
        (1, 8, 1024),
    ]


def test_fewer_rows_at_most_take_smaller_blocks_of_the_prompt() -> None:
    blocks = FixedShapes(2048).plan(0, 256, 0, Rows(8, 128))
    assert [block.shape for block in blocks] == [Shape(128, 256, 1), Shape(128, 256, 1)]
    assert {block.shape.rows for block in FixedShapes(2048).plan(0, 256, 0, Rows(8, 64))} == {32}


@pytest.mark.parametrize(
    ("least", "most", "fault"), [(0, 256, "min_rows 0"), (33, 256, "min_rows 33"), (8, 4, "max_rows 4")]
)
def test_rows_without_room_for_their_padding_are_refused(least: int, most: int, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        Rows(least, most)
