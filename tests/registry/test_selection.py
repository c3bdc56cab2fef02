"""The grammar of selection strings."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from harness import UsageError
from harness.support.selection import Item, parse, split, text_of

word = st.text("abcdefgh0123456789-_.", min_size=1, max_size=8)
name = st.tuples(word, st.sampled_from(["", "*", "?", "/x", "/*"])).map("".join)
quoted_value = st.text('ab,[]="()', min_size=1, max_size=6)
value = st.text("abc0123456789.e-+/ ", min_size=1, max_size=6).map(str.strip).filter(bool)
item = st.builds(Item, name, st.dictionaries(word, st.lists(value, min_size=1, max_size=3), max_size=3))
space = st.sampled_from(["", " "])


def written(chosen: Item, gap: str, listed: bool) -> str:
    def values(found: list[str]) -> str:
        return f"[{f',{gap}'.join(found)}]" if listed or len(found) > 1 else found[0]

    inside = f",{gap}".join(f"{key}{gap}={gap}{values(found)}" for key, found in chosen.values.items())
    return f"{chosen.name}[{inside}]" if inside or listed else chosen.name


@given(st.lists(item, max_size=4), space, st.booleans())
def test_what_is_written_is_read_back(items: list[Item], gap: str, listed: bool) -> None:
    text = f",{gap}".join(written(each, gap, listed) for each in items)
    assert parse(text) == items
    assert parse([written(each, gap, listed) for each in items]) == items


@given(st.builds(Item, quoted_value, st.dictionaries(word, st.lists(quoted_value, min_size=1, max_size=3), max_size=3)))
@example(Item("()"))
def test_what_has_brackets_commas_or_quotes_is_quoted_and_read_back(chosen: Item) -> None:
    assert parse(text_of(chosen)) == [chosen]
    assert split(f"{text_of(chosen)},x") == [text_of(chosen), "x"]


@given(st.text('ab[]()=,*? "\0', max_size=12))
def test_any_text_is_read_or_refused(text: str) -> None:
    items: list[Item] = []
    refused = ""
    try:
        items = parse(text)
    except UsageError as error:  # anything else is a fault of the parser
        refused = str(error)
    assert refused.endswith(".") or not refused
    assert all(each.name.strip() for each in items)


@pytest.mark.parametrize(
    ("text", "item"),
    [
        ("a[ (b) =1]", Item("a", {"(b)": ["1"]})),
        ("a[b=[(1,2),(3)],]", Item("a", {"b": ["(1,2)", "(3)"]})),
        ('a [b=[ "x,y" , z ]]', Item("a", {"b": ["x,y", "z"]})),
        ("(a,b)", Item("(a,b)")),
        ("é[ß=“x”]", Item("é", {"ß": ["“x”"]})),
        ('a"b"', Item('a"b"')),
        ("a[b=c=d]", Item("a", {"b": ["c=d"]})),
    ],
)
def test_brackets_quotes_and_tuples_stand_where_a_name_or_a_value_begins(text: str, item: Item) -> None:
    assert parse(text) == [item]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["lasvm[epochs=2"], "'[' without its ']'"),
        (["lasvm]", "lasvm[epochs=2][tau=1]"], "']' without its '['"),
        (["lasvm[epochs]"], "write name[parameter=value"),
        (["lasvm[=2]", "lasvm[epochs=]", "lasvm[epochs=[1],[2]]"], "which is not parameter=value"),
        (['lasvm["epochs=2"]', 'lasvm["epochs"=2]'], "which is not parameter=value"),
        (["lasvm[epochs=1,epochs=2]"], "'epochs' twice; for a grid"),
        (["lasvm[epochs=[1,,2]]"], "an empty value in epochs=[1,,2]"),
        (["lasvm[epochs=2]x"], "goes on after its ']'"),
        (["[epochs=2]"], "has no name"),
        (['"lasvm', 'lasvm[tau="1]'], "a double quote without its second"),
        (['"lasvm"2', 'lasvm[tau="1"2]'], "goes on after a double quote"),
        (['lasvm[tau=""]'], 'an empty value in tau=""'),
    ],
)
def test_a_mistake_is_named_with_its_remedy(texts: list[str], message: str) -> None:
    for text in texts:
        with pytest.raises(UsageError, match=re.escape(message)):
            parse(text)
