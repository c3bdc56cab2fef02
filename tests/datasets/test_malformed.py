"""Files that are damaged, too large or no data files end in a sentence, and so do files that are spoilt at random."""

import os
import random
from pathlib import Path

import numpy as np
import pytest

from harness import DataError
from harness.datasets import FileSource, validate
from harness.datasets.bounds import available_memory, bound, reading_within
from harness.datasets.readers import read_parts
from tests.datasets.test_files import PACK, refusal, sentence
from tests.datasets.test_inputs import array, header, members, parquet, write

CSV = b"x,label\n" + b"".join(b"%d,%d\n" % (i, i % 2) for i in range(20))


def spoilt(content: bytes, rng: random.Random) -> bytes:
    """Return content with bytes flipped, taken out, doubled or cut off."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 5, 50))):
        first, length = rng.randrange(len(data)), rng.choice((1, 4, 100))
        change = rng.randrange(4)
        if change == 0:
            data[first] ^= 1 << rng.randrange(8)
        elif change == 1 and len(data) > 2 * length:
            del data[first : first + length]
        elif change == 2:
            data[first:first] = data[first : first + length]
        else:
            data[first : first + 1] = rng.choice((b"nan", b"1e999", b"-", b"\0", b",,", b"99999999999", b"\xff"))
    return bytes(data[: rng.randrange(1, len(data))] if rng.random() < 0.2 else data)


@pytest.mark.parametrize("suffix", [*PACK][1:])
def test_damaged_compression(tmp_path, suffix):
    path, content, half = tmp_path / f"a.csv{suffix}", PACK[suffix](CSV * 50), len(PACK[suffix](CSV * 50)) // 2
    flipped = content[:half] + bytes([content[half] ^ 0xFF]) + content[half + 1 :]
    more = PACK[suffix](CSV.removeprefix(b"x,label\n") * 2)
    for damaged in (content[:half], flipped, content + more[:-6], content + b"no stream" + more):
        path.write_bytes(damaged)
        assert "it is damaged" in refusal(path)
    # two streams and what pads them; a file that is only named so
    for sound, n in ((PACK[suffix](CSV) + more, 60), (CSV, 20)):
        path.write_bytes(sound)
        assert FileSource(path=path, test_fraction=0).load().x_train.shape == (n, 1)


@pytest.mark.parametrize("suffix", [*PACK][1:])
@pytest.mark.parametrize("line", [b"1 1:2\n", b"1,2,3\n", b"\0"])
def test_what_unpacks_to_more_than_the_limit(tmp_path, suffix, line):
    name = f"bomb.{'csv' if b',' in line else 'libsvm'}{suffix}"
    path = write(tmp_path, name, PACK[suffix](line * (2**20 // len(line) + 1)))
    assert "reading may take 1.00 MB (--memory-limit). Give a greater --memory-limit, or unpack" in refusal(path, 2**20)


MEMORY = [  # name, content, what the sentence says where reading may take 1 MB
    ("a.npz", members(header("(40000, 10)", bytes(3_200_000))), "its arrays takes 6.10 MB; reading may take 1.00 MB"),
    ("a.parquet", parquet(a=np.zeros(100_000), label=np.arange(100_000) % 2), "its table of 100000 x 2 takes 1.53 MB"),
    ("a.npy", array(np.arange(400_000, dtype=np.int8).reshape(-1, 2)), "as float64, takes 1.53 MB"),
]


def test_what_takes_more_memory_than_the_limit(tmp_path):
    for name, content, said in MEMORY:
        assert said in refusal(write(tmp_path, name, content), 2**20)
    with (tmp_path / "a.csv").open("wb") as file:
        file.truncate(10**12)
    assert "its content takes 953,674.32 MB" in refusal(tmp_path / "a.csv")


def test_a_wide_index_can_be_meant(tmp_path):
    path = write(tmp_path, "wide.libsvm", "1 1:1\n-1 70000000:3\n1 1:2\n-1 1:3\n")
    assert "70,000,000 columns" in refusal(path)
    assert "70,000,000 columns" in refusal(path, 2**30)
    with reading_within(2**31):
        (part,) = read_parts([(str(path), "wide")], FileSource(path=path))
    assert part.x.shape == (4, 70_000_000)


def test_the_bound_is_the_users_or_half_of_what_is_there():
    with reading_within(12345):
        assert bound() == 12345
        with reading_within(None):
            assert bound() == 12345
    assert 0.8 < 2 * bound() / available_memory() < 1.25


def test_paths_that_are_no_data_file(tmp_path):
    write(tmp_path, "heart.csv", CSV)
    assert "haert.csv' (did you mean 'heart.csv'?)" in refusal(tmp_path / "haert.csv")
    assert "there is no file" in refusal(tmp_path / "nowhere" / "heart.csv")
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    for path in ("a\0b.csv", "a\nb.csv", "~nobody-of-that-name/a.csv", tmp_path / ("x" * 300), tmp_path / "loop.csv"):
        refusal(path)
    os.mkfifo(tmp_path / "pipe.csv")
    for path in (tmp_path, tmp_path / "pipe.csv", "/dev/zero", ""):
        assert "is a folder, a pipe or a device" in refusal(path)
    if os.geteuid() != 0:
        (tmp_path / "heart.csv").chmod(0)
        assert "cannot be read" in refusal(tmp_path / "heart.csv")


def valid_files(folder: Path) -> list[Path]:
    """Write one small good data file of each format."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 3)).round(3), np.where(np.arange(40) % 2, 1, -1)
    rows = ["{},{},{},{}".format(*point, label) for point, label in zip(x, y, strict=True)]
    sparse = ["{3} 1:{0} 2:{1} 3:{2}".format(*point, label) for point, label in zip(x, y, strict=True)]
    attributes = [f"@attribute {name} numeric" for name in "abc"]
    texts = {
        "csv": ["a,b,c,label", *rows],
        "libsvm": sparse,
        "arff": ["@relation r", *attributes, "@attribute label {-1,1}", "@data", *rows],
    }
    for kind, text in texts.items():
        (folder / f"good.{kind}").write_text("\n".join([*text, ""]))
    np.savez(folder / "good.npz", X=x, y=y)
    return sorted(folder.glob("good.*"))


def test_a_mutant_of_each_format_is_read_or_refused_in_a_sentence(tmp_path):
    rng = random.Random(0)
    for path in valid_files(tmp_path):
        FileSource(path=path).load()
        for number in range(12):
            mutant = write(tmp_path, f"mutant{number}{path.suffix}", spoilt(path.read_bytes(), rng))
            try:
                validate(FileSource(path=mutant).load())
            except DataError as error:
                message = sentence(error)
                assert mutant.name in message
