"""Real data sets: what each is, and how it is read from a folder that the user names.

A file is known by the SHA-256 of its content after decompression, whatever it is called; one that
has the name of a data set and other content is refused. Where we have never seen the content, a
file is accepted by its name, by its numbers of rows and columns and by what is published of its
responses, and told as such. Nothing is downloaded and nothing copied.
"""

from __future__ import annotations

import bz2
import csv
import hashlib
import io
import lzma
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

LARGEST = 2**27
"""Files above this many bytes are not looked into unless they have the name of a data set."""


DECOMPRESS: dict[str, Callable[[bytes], bytes]] = {".xz": lzma.decompress, ".bz2": bz2.decompress}


class WrongContent(ValueError):
    """A file with the name of a data set and other content, in a sentence."""


class UnreadableFolder(ValueError):
    """A folder of data that cannot be read, in a sentence."""


@dataclass(frozen=True)
class DataSet:
    """One file, and what it holds."""

    key: str
    file: str
    """Its name; .xz or .bz2 may follow."""
    sha256: str | None
    """None: not known to us."""
    what: str
    licence: str
    citation: str
    used_by: str
    read: Callable[[bytes], Any]
    rows: int | None = None
    """How many lines there must be where the content is not known."""
    responses: tuple[float, float, float] | None = None
    """The least, the largest and the mean response, where they are published and the content is
    not."""

    @property
    def names(self) -> tuple[str, ...]:
        """What the file may be called."""
        return tuple(f"{self.file}{ending}" for ending in ("", *DECOMPRESS))

    @property
    def acceptance(self) -> str:
        """What is to be told of a file that was found."""
        if self.sha256:
            return "found"
        return f"found, known by its {'rows and responses' if self.responses else 'rows'} alone"

    def problem(self, content: bytes) -> str | None:
        """Why this is not its content, in half a sentence; None if it is or may be."""
        if self.sha256 is not None:
            found = hashlib.sha256(content).hexdigest()
            wrong = f"its content has SHA-256 {found[:16]}…, not {self.sha256[:16]}…"
            return None if found == self.sha256 else wrong
        lines = content.splitlines()
        if len(lines) != self.rows:
            return f"it has {len(lines)} rows, not {self.rows}"
        return None if self.responses is None else _wrong_responses(lines, self.responses)


def _wrong_responses(lines: Sequence[bytes], wanted: tuple[float, float, float]) -> str | None:
    """Why the first numbers of the lines are not those that are published."""
    try:
        found = np.array([float(line.split(maxsplit=1)[0]) for line in lines])
    except (ValueError, IndexError):
        return "not every row begins with a number"
    told = (found.min(), found.max(), found.mean())
    if np.allclose(told, wanted, rtol=0, atol=1e-9):
        return None
    return "its responses have least, largest and mean {:.6g}, {:.6g}, {:.6g}".format(*told)


def _numbers(content: bytes) -> np.ndarray:
    """Comma-separated numbers without a header."""
    return np.loadtxt(io.BytesIO(content), delimiter=",", ndmin=2)


def _covertype(content: bytes) -> np.ndarray:
    """55 columns of whole numbers, the last the class."""
    return np.fromstring(content.decode().replace("\n", ","), dtype=np.int32, sep=",").reshape(
        -1, 55
    )


def _svmlight(content: bytes, *, features: int) -> tuple[Any, np.ndarray]:
    """Rows, sparse, and responses; raises `ValueError` if a column lies beyond."""
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(io.BytesIO(content), n_features=features, zero_based=False)
    return X, y


def _matlab(content: bytes) -> dict[str, Any]:
    from scipy.io import loadmat

    found: dict[str, Any] = loadmat(io.BytesIO(content))
    return found


def _arrays(content: bytes) -> dict[str, np.ndarray]:
    with np.load(io.BytesIO(content)) as found:
        return {name: found[name] for name in found.files}


def _columns(content: bytes) -> dict[str, list[str]]:
    rows = list(csv.reader(io.StringIO(content.decode())))
    return dict(zip(rows[0], map(list, zip(*rows[1:], strict=True)), strict=True))


DATA_SETS = {
    each.key: each
    for each in (
        DataSet(
            "housing",
            "cal_housing.data",
            "a2b44dcc7e1c9091b43c4f458b25cbd1f7e8068d08edd26bc4703108d3fa6214",
            "California housing, 1990: 20,640 block groups, 8 features and the median value",
            "none stated; US census figures",
            "Pace and Barry, Statistics and Probability Letters 33 (1997) 291-297",
            "CWZ19: Figure 4(b)",
            _numbers,
        ),
        DataSet(
            "covertype",
            "covtype.data",
            "0a9371cef7c964b5475d6053cc3e0894a5aa6f65ad1ed3ecb01c45aa96217945",
            "Forest cover: 581,012 places, 54 features, 7 classes",
            "free with the notice of J. A. Blackard and Colorado State University",
            "Blackard and Dean, Computers and Electronics in Agriculture 24 (2000) 131-151",
            "WX21: Figure 3; WX19: Figure 2",
            _covertype,
        ),
        DataSet(
            "rcv1-subset",
            "rcv1_ccat_subset.svm",
            "14bec25dd82e2fedc0910e2a02042db8fad5a26d02e28812351a958a030af05b",
            "1,747 rows of RCV1-v2, 47,236 terms; not the sample of 20,242 that the papers use",
            "3-clause BSD (carrier); the vectors were released for research",
            "Lewis, Yang, Rose, Li, JMLR 5 (2004) 361-397",
            "a stand-in for WX21: Figure 4 and WG19: Table 3",
            partial(_svmlight, features=47_236),
        ),
        DataSet(
            "reuters",
            "reuters21578.mat",
            "2e442026efc64cfbcd3a531b4bc99b21eed6c5463276dbfa69d096f91dd5c245",
            "Reuters-21578: 8,293 stories, counts of 18,933 terms, 65 topics",
            "Apache-2.0 (carrier); released for research",
            "D. D. Lewis; vectors by Deng Cai",
            "a stand-in for WG19: Table 3 and WX21: Figure 4",
            _matlab,
        ),
        DataSet(
            "mice",
            "mice_snp.npz",
            "7ad70c405407a15162aefd4d9d19dba5ef5efb135ca60c8cb1ecff306d8a0921",
            "1,814 heterogeneous-stock mice, 10,346 SNPs coded 0, 1, 2",
            "GPL-3 (carrier)",
            "Valdar et al., Nature Genetics 38 (2006) 879-887",
            "a stand-in for CWZ19: Figure 4(a) and WG19: Table 2",
            _arrays,
        ),
        DataSet(
            "mice-traits",
            "mice_pheno.csv",
            "6497fe48d92461d75ba99b21ade2cdad6b6b84a88179a4daa15c91c65cd49ba7",
            "traits of the same 1,814 mice, in the same order",
            "GPL-3 (carrier)",
            "Valdar et al., Genetics 174 (2006) 959-984",
            "with the SNPs",
            _columns,
        ),
        *(
            DataSet(
                f"e2006-{part}",
                f"E2006.{part}",
                None,
                f"E2006-tfidf: {rows:,} annual reports, 150,360 terms, log volatility",
                "not stated; as distributed with LIBSVM",
                "Kogan et al., NAACL-HLT (2009) 272-280",
                "WG19: Table 2",
                partial(_svmlight, features=150_360),
                rows,
                responses,
            )
            for part, rows, responses in (
                ("train", 16_087, (-7.89957807347, -0.51940952694, -3.51405313669)),
                ("test", 3_308, None),
            )
        ),
    )
}


def folder_of(folder: Path) -> Path:
    """The folder, if it can be read; raises `UnreadableFolder`."""
    if not folder.is_dir():
        raise UnreadableFolder(f"there is no folder {folder}")
    try:
        list(folder.iterdir())
    except OSError as error:
        raise UnreadableFolder(f"cannot read {folder}: {error.strerror}") from error
    return folder


@cache
def path_of(key: str, folder: Path) -> Path | None:
    """Where a data set is in a folder, or None; raises `WrongContent`, `UnreadableFolder`."""
    try:
        return _found(DATA_SETS[key], folder)
    except PermissionError as error:
        raise UnreadableFolder(f"cannot read {error.filename}: {error.strerror}") from error


def _found(wanted: DataSet, folder: Path) -> Path | None:
    for name in wanted.names:
        path = folder / name
        if path.is_file():
            problem = wanted.problem(content_of(path))
            if problem is not None:
                raise WrongContent(f"{path} is not {wanted.what}: {problem}")
            return path
    if wanted.sha256 is None:
        return None
    named = {name for each in DATA_SETS.values() for name in each.names}
    for path in sorted(folder.iterdir()):
        other = path.is_file() and path.name not in named and path.stat().st_size <= LARGEST
        if other and _digest(path) == wanted.sha256:
            return path
    return None


@cache
def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(content_of(path)).hexdigest()
    except (OSError, WrongContent):
        return ""


def content_of(path: Path) -> bytes:
    """The bytes of a file, decompressed if its name says that it is; raises `WrongContent`."""
    stored = path.read_bytes()
    if path.suffix not in DECOMPRESS:
        return stored
    try:
        return DECOMPRESS[path.suffix](stored)
    except (OSError, EOFError, ValueError, lzma.LZMAError) as error:
        raise WrongContent(f"{path} cannot be decompressed: {error}") from error


@lru_cache(maxsize=2)
def load(key: str, folder: Path) -> Any:
    """A data set, read; raises `FileNotFoundError` with the name of the file, `WrongContent`."""
    path = path_of(key, folder)
    if path is None:
        raise FileNotFoundError(f"{folder} has no {DATA_SETS[key].file}")
    try:
        return DATA_SETS[key].read(content_of(path))
    except (ValueError, IndexError) as error:
        raise WrongContent(f"{path} is not {DATA_SETS[key].what}: {error}") from error
