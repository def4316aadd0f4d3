"""The longest common subsequence, a row of its table at a time in the bits of one integer.

Source: H. Hyyrö, Bit-parallel LCS-length computation revisited, AWOCA 2004. Bit j of a row is 0 where the length
grows from column j to j + 1, so a length is a count of zeros.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def lcs_length(first: Sequence[str], second: Sequence[str]) -> int:
    """Length of the longest common subsequence of two lists of tokens.

    >>> lcs_length("police killed the gunman".split(), "the gunman killed police".split())
    2
    """
    full = (1 << len(second)) - 1
    row = full
    for row in _rows(first, second):  # noqa: B007 - the last one is wanted
        pass
    return len(second) - row.bit_count()


def lcs_positions(reference: Sequence[str], candidate: Sequence[str]) -> list[int]:
    """Positions in the reference of one longest common subsequence: of several, the one that rouge-score takes.

    >>> lcs_positions("a b c d".split(), "b x d".split())
    [1, 3]
    """
    rows = [(1 << len(candidate)) - 1, *_rows(reference, candidate)]
    i, j = len(reference), len(candidate)
    length = j - rows[i].bit_count()
    found: list[int] = []
    while i and j and length:
        if reference[i - 1] == candidate[j - 1]:
            i, j, length = i - 1, j - 1, length - 1
            found.append(i)
        elif j - (rows[i - 1] & ((1 << j) - 1)).bit_count() < length:
            j -= 1
        else:
            i -= 1
    return found[::-1]


def _rows(first: Sequence[str], second: Sequence[str]) -> Iterator[int]:
    """The table's rows, one for each token of the first."""
    where: dict[str, int] = {}
    for column, token in enumerate(second):
        where[token] = where.get(token, 0) | 1 << column
    full = row = (1 << len(second)) - 1
    for token in first:
        matches = where.get(token)
        if matches is not None:
            new = row & matches
            row = ((row + new) | (row - new)) & full
        yield row
