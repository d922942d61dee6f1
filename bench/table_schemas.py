"""What is public about the tables of `bench/tables.py`: files, column ranges, categories.

Ranges are round numbers from the codebooks or from what the quantity is, and are written here once:
every contestant gets the same. Where there is neither, they are those that are published with the
data, rounded outwards: public for these tables, as ranges of a user's own table must be.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple


class DataFile(NamedTuple):
    """A file and the sha256 of its bytes as stored."""

    name: str
    sha256: str


class Column(NamedTuple):
    """A column: its public range or its public levels, and where they come from."""

    name: str
    public: tuple[float, float] | tuple[str, ...]
    source: str

    @property
    def levels(self) -> tuple[str, ...]:
        """The categories; none for a number."""
        return () if self.is_number else tuple(str(level) for level in self.public)

    @property
    def bounds(self) -> tuple[float, float]:
        """The range of a number."""
        low, high = self.public
        return float(low), float(high)

    @property
    def is_number(self) -> bool:
        """Whether it has a range, not levels."""
        return not isinstance(self.public[0], str)

    @property
    def width(self) -> int:
        """Encoded columns: one for a number, one for each level but the first."""
        return 1 if self.is_number else len(self.levels) - 1


class TableSchema(NamedTuple):
    """A table: what is predicted, from which columns, and what is known of them beforehand."""

    name: str
    title: str
    task: Literal["regression", "classification"]
    files: tuple[DataFile, ...]
    fields: tuple[str, ...]
    """The columns of a file without a header line; of one with, none."""
    features: tuple[Column, ...]
    response: Column

    @property
    def bounds(self) -> dict[str, tuple[float, float]]:
        """Ranges of the numeric columns."""
        return {column.name: column.bounds for column in self.features if column.is_number}

    @property
    def categories(self) -> dict[str, list[str]]:
        """Levels of the categorical columns."""
        return {each.name: list(each.levels) for each in self.features if not each.is_number}

    @property
    def width(self) -> int:
        """Encoded columns, without intercept."""
        return sum(column.width for column in self.features)

    @property
    def number_columns(self) -> tuple[bool, ...]:
        """Which encoded columns are numbers."""
        return tuple(each.is_number for each in self.features for _ in range(each.width))

    @property
    def row_bound(self) -> float:
        """The longest encoded row with its intercept.

        A number is in [-1, 1], and of a category's indicators at most one is 1.
        """
        return math.sqrt(1 + len(self.features))

    def widened(self, factor: float) -> TableSchema:
        """The same with every range so many times as wide about its middle."""

        def wider(column: Column) -> Column:
            if not column.is_number:
                return column
            low, high = column.bounds
            middle, half = (low + high) / 2, factor * (high - low) / 2
            return column._replace(public=(middle - half, middle + half))

        response = wider(self.response)
        return self._replace(features=tuple(map(wider, self.features)), response=response)


PUBLISHED = "published summaries of the data, rounded outwards"
HOUSING = TableSchema(
    "housing",
    "California housing: median house value",
    "regression",
    (
        DataFile(
            "cal_housing.data.xz",
            "f6ef70c60f900f13aaf5ed7f324c24acae5d50e010b91eb0b3af7574e1ae09d3",
        ),
    ),
    (
        "longitude", "latitude", "housingMedianAge", "totalRooms", "totalBedrooms", "population",
        "households", "medianIncome", "medianHouseValue",
    ),
    (
        Column("longitude", (-125, -114), "California on a map"),
        Column("latitude", (32, 42), "California on a map"),
        Column("housingMedianAge", (0, 52), "years; the census top-codes at 52"),
        Column("totalRooms", (0, 40_000), PUBLISHED),
        Column("totalBedrooms", (0, 10_000), PUBLISHED),
        Column("population", (0, 40_000), PUBLISHED),
        Column("households", (0, 10_000), PUBLISHED),
        Column("medianIncome", (0, 15), "10,000 dollars; the census top-codes at 15"),
    ),
    Column("medianHouseValue", (0, 500_001), "dollars; the census top-codes at 500,001"),
)  # fmt: skip

GGPLOT = "ggplot2's help page, rounded outwards"
DIAMONDS = TableSchema(
    "diamonds",
    "Diamonds: price",
    "regression",
    (
        DataFile(
            "diamonds.csv.xz", "220e28d762ef8f17e606c284f459d2a85222a06178e5fcb334ddc6b3efeb3bd6"
        ),
    ),
    (),
    (
        Column("carat", (0, 6), GGPLOT),
        Column("cut", ("Fair", "Good", "Very Good", "Premium", "Ideal"), "ggplot2's help page"),
        Column("color", ("D", "E", "F", "G", "H", "I", "J"), "the trade's scale, D to J"),
        Column(
            "clarity",
            ("I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"),
            "the trade's scale, I1 to IF",
        ),
        Column("depth", (40, 80), GGPLOT),
        Column("table", (40, 100), GGPLOT),
        Column("x", (0, 12), GGPLOT),
        Column("y", (0, 60), GGPLOT),
        Column("z", (0, 32), GGPLOT),
    ),
    Column("price", (0, 20_000), GGPLOT),
)

PARKINSONS = TableSchema(
    "parkinsons",
    "Parkinson's telemonitoring: total UPDRS",
    "regression",
    (
        DataFile(
            "parkinsons_updrs.csv.xz",
            "f06a6240582521cafe656ac6507335835c894df661e9362d504edd81897f045b",
        ),
    ),
    (),
    (
        Column("age", (30, 90), "years of adult patients"),
        Column("sex", ("0", "1"), "the UCI page: 0 male, 1 female"),
        Column("test_time", (-10, 220), "days from enrolment in a trial of half a year"),
        Column("Jitter(%)", (0, 0.1), PUBLISHED),
        Column("Jitter(Abs)", (0, 0.0005), PUBLISHED),
        Column("Jitter:RAP", (0, 0.06), PUBLISHED),
        Column("Jitter:PPQ5", (0, 0.07), PUBLISHED),
        Column("Jitter:DDP", (0, 0.18), "three times RAP, by definition"),
        Column("Shimmer", (0, 0.3), PUBLISHED),
        Column("Shimmer(dB)", (0, 2.5), PUBLISHED),
        Column("Shimmer:APQ3", (0, 0.2), PUBLISHED),
        Column("Shimmer:APQ5", (0, 0.2), PUBLISHED),
        Column("Shimmer:APQ11", (0, 0.3), PUBLISHED),
        Column("Shimmer:DDA", (0, 0.6), "three times APQ3, by definition"),
        Column("NHR", (0, 1), "a ratio of energies"),
        Column("HNR", (0, 40), "decibels, as Praat prints them"),
        Column("RPDE", (0, 1), "a normalised entropy"),
        Column("DFA", (0.5, 1), "a normalised exponent"),
        Column("PPE", (0, 1), "a normalised entropy"),
    ),
    Column("total_UPDRS", (0, 176), "the rating scale runs from 0 to 176"),
)

NAMES = "adult.names, with ? for missing"
ADULT = TableSchema(
    "adult",
    "Adult: income above 50,000 dollars",
    "classification",
    (
        DataFile(
            "adult.data.xz", "03c5722d4eaeaa2962f81284344def3c5150dadc6ddf841fcbb57f233371445c"
        ),
        DataFile(
            "adult.test.xz", "45248f451a46bace9a234ece542aeadb66ea52e3c078f136d4b2c069cb38b1cd"
        ),
    ),
    (
        "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation",
        "relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week",
        "native-country", "income",
    ),
    (
        Column("age", (17, 90), "adult.names: above 16; the census top-codes at 90"),
        Column(
            "workclass",
            (
                "Private", "Self-emp-not-inc", "Self-emp-inc", "Federal-gov", "Local-gov",
                "State-gov", "Without-pay", "Never-worked", "?",
            ),
            NAMES,
        ),
        Column("fnlwgt", (0, 1_500_000), PUBLISHED),
        Column(
            "education",
            (
                "Bachelors", "Some-college", "11th", "HS-grad", "Prof-school", "Assoc-acdm",
                "Assoc-voc", "9th", "7th-8th", "12th", "Masters", "1st-4th", "10th", "Doctorate",
                "5th-6th", "Preschool",
            ),
            "adult.names",
        ),
        Column("education-num", (1, 16), "the 16 levels of education, numbered"),
        Column(
            "marital-status",
            (
                "Married-civ-spouse", "Divorced", "Never-married", "Separated", "Widowed",
                "Married-spouse-absent", "Married-AF-spouse",
            ),
            "adult.names",
        ),
        Column(
            "occupation",
            (
                "Tech-support", "Craft-repair", "Other-service", "Sales", "Exec-managerial",
                "Prof-specialty", "Handlers-cleaners", "Machine-op-inspct", "Adm-clerical",
                "Farming-fishing", "Transport-moving", "Priv-house-serv", "Protective-serv",
                "Armed-Forces", "?",
            ),
            NAMES,
        ),
        Column(
            "relationship",
            ("Wife", "Own-child", "Husband", "Not-in-family", "Other-relative", "Unmarried"),
            "adult.names",
        ),
        Column(
            "race",
            ("White", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other", "Black"),
            "adult.names",
        ),
        Column("sex", ("Female", "Male"), "adult.names"),
        Column("capital-gain", (0, 100_000), "dollars; the census top-codes at 99,999"),
        Column("capital-loss", (0, 5_000), "dollars; " + PUBLISHED),
        Column("hours-per-week", (1, 99), "the census top-codes at 99"),
        Column(
            "native-country",
            (
                "United-States", "Cambodia", "England", "Puerto-Rico", "Canada", "Germany",
                "Outlying-US(Guam-USVI-etc)", "India", "Japan", "Greece", "South", "China", "Cuba",
                "Iran", "Honduras", "Philippines", "Italy", "Poland", "Jamaica", "Vietnam",
                "Mexico", "Portugal", "Ireland", "France", "Dominican-Republic", "Laos", "Ecuador",
                "Taiwan", "Haiti", "Columbia", "Hungary", "Guatemala", "Nicaragua", "Scotland",
                "Thailand", "Yugoslavia", "El-Salvador", "Trinadad&Tobago", "Peru", "Hong",
                "Holand-Netherlands", "?",
            ),
            NAMES,
        ),
    ),
    Column("income", ("<=50K", ">50K"), "adult.names"),
)  # fmt: skip

TABLES = (HOUSING, DIAMONDS, PARKINSONS, ADULT)
