"""Real data are known by their content, wherever and under whatever name they lie."""

from __future__ import annotations

import bz2
import hashlib
import lzma
from dataclasses import replace

import numpy as np
import pytest

from verify import data_sets
from verify.data_sets import DATA_SETS, UnreadableFolder, WrongContent, folder_of, load, path_of

CONTENT = b"1,2,3\n4,5,6\n"


@pytest.fixture(autouse=True)
def small_housing(monkeypatch):
    """The housing data stand for two rows of three numbers."""
    digest = hashlib.sha256(CONTENT).hexdigest()
    small = {**DATA_SETS, "housing": replace(DATA_SETS["housing"], sha256=digest)}
    monkeypatch.setattr(data_sets, "DATA_SETS", small)
    for cached in (path_of, load, data_sets._digest):
        cached.cache_clear()
    yield
    for cached in (path_of, load, data_sets._digest):
        cached.cache_clear()


@pytest.mark.parametrize("name", ["cal_housing.data", "cal_housing.data.xz", "renamed.xz", "other"])
def test_a_file_is_found_by_its_content(tmp_path, name):
    content = lzma.compress(CONTENT) if name.endswith(".xz") else CONTENT
    (tmp_path / name).write_bytes(content)
    (tmp_path / "covtype.data").write_bytes(b"something else")  # of another data set: not asked
    assert path_of("housing", tmp_path) == tmp_path / name
    assert np.array_equal(load("housing", tmp_path), [[1, 2, 3], [4, 5, 6]])


def test_a_known_name_with_other_content_is_refused(tmp_path):
    (tmp_path / "cal_housing.data").write_bytes(CONTENT + b"7,8,9\n")
    with pytest.raises(WrongContent, match=r"cal_housing.data is not California housing"):
        path_of("housing", tmp_path)


@pytest.mark.parametrize("ending", [".xz", ".bz2"])
def test_a_file_that_was_cut_off_is_refused(tmp_path, ending):
    whole = {".xz": lzma.compress, ".bz2": bz2.compress}[ending](CONTENT * 100)
    (tmp_path / f"cal_housing.data{ending}").write_bytes(whole[:-10])
    with pytest.raises(WrongContent, match="cannot be decompressed"):
        path_of("housing", tmp_path)


def test_a_file_of_the_right_length_with_words_in_it_is_refused(tmp_path):
    (tmp_path / "E2006.test").write_bytes(b"hello\n" * 3_308)
    assert path_of("e2006-test", tmp_path) is not None
    with pytest.raises(WrongContent, match=r"E2006.test is not E2006-tfidf"):
        load("e2006-test", tmp_path)


def test_published_responses_are_compared(tmp_path):
    """A file of the right length with other responses is not E2006-tfidf; the control has them."""
    wanted = DATA_SETS["e2006-train"]
    least, largest, mean = wanted.responses
    rest = (mean * wanted.rows - least - largest) / (wanted.rows - 2)
    values = [least, largest, *[rest] * (wanted.rows - 2)]
    right = "".join(f"{value!r} 1:0.5\n" for value in values).encode()
    assert wanted.problem(right) is None
    assert "responses" in wanted.acceptance
    (tmp_path / "E2006.train").write_bytes(right.replace(b"-7.8995", b"-7.8996"))
    with pytest.raises(WrongContent, match=r"its responses have least, largest and mean -7\.8"):
        path_of("e2006-train", tmp_path)
    assert wanted.problem(b"word\n" * wanted.rows) == "not every row begins with a number"


def test_a_file_that_may_not_be_read_is_said_so(tmp_path, monkeypatch):
    (tmp_path / "cal_housing.data").write_bytes(CONTENT)

    def denied(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(data_sets, "content_of", denied)
    with pytest.raises(UnreadableFolder, match=r"cannot read .*cal_housing.data: Permission"):
        path_of("housing", tmp_path)


def test_what_is_absent_is_none_and_loading_it_names_the_file(tmp_path):
    (tmp_path / "broken.xz").write_bytes(b"not compressed")
    assert path_of("housing", tmp_path) is None
    with pytest.raises(FileNotFoundError, match=r"cal_housing\.data"):
        load("housing", tmp_path)


def test_a_folder_that_is_not_there_is_said_so(tmp_path):
    assert folder_of(tmp_path) == tmp_path
    with pytest.raises(UnreadableFolder, match="there is no folder"):
        folder_of(tmp_path / "nowhere")


def test_every_data_set_is_told_whole():
    for key, each in DATA_SETS.items():
        assert each.key == key
        assert len(each.sha256) == 64 if each.sha256 else each.rows
        assert each.what
        assert each.licence
        assert each.citation
        assert each.used_by
