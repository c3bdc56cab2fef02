from harness.report import layout
from harness.report.layout import Column


def test_wide_letters_take_two_columns():
    assert layout.text_width("数据") == 4
    assert layout.text_width("e\u0301") == 1


def test_a_listing_wraps_its_descriptions():
    text = layout.table([Column("name"), Column("description", wrap="words")], [["a", "word " * 40], ["b", ""]], 60)
    assert max(map(len, text.splitlines())) <= 60
    assert text.splitlines()[-1] == "b"


def test_a_listing_breaks_no_word_of_a_narrow_column():
    columns = [Column("type", wrap="words"), Column("meaning", wrap="words")]
    text = layout.table(columns, [["'active' or 'autoactive'", "word " * 40]], 60)
    assert "'autoactive'" in text
