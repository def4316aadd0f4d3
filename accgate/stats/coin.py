"""Evidence that a coin is not fair, and that a share is small.

Both are valid whenever the looking ends.
"""

import math

from accgate.stats import special


def coin_evidence(heads: int, tails: int) -> float:
    """Return the evidence that heads are likelier than tails, as a factor.

    A factor of 1 is no evidence. Of a coin that is fair, or falls on tails more often, the factor ever reaches 1 /
    alpha with probability alpha at most, however often and whenever one looks.

    Notes
    -----
    The likelihood ratio of the throws against a fair coin, mixed evenly over all chances of heads from 1/2 to 1.

    References
    ----------
    Robbins 1970, Annals of Mathematical Statistics 41; Ville 1939.

    Examples
    --------
    >>> round(coin_evidence(10, 0), 1), round(coin_evidence(5, 5), 2)
    (186.1, 0.37)
    """
    return _mixed(heads, tails, 0.5)


def share_evidence(hits: int, misses: int, share: float) -> float:
    """Return the evidence that hits are rarer than `share`, as a factor.

    The share is above 0 and below 1. See `coin_evidence`.

    Examples
    --------
    >>> round(share_evidence(0, 20, 0.25), 1), round(share_evidence(5, 15, 0.25), 2)
    (59.9, 0.41)
    """
    return _mixed(misses, hits, 1.0 - share)


def _mixed(heads: int, tails: int, chance: float) -> float:
    """Return the mixed likelihood ratio against a chance of heads.

    The mixture is even over all chances above it.
    """
    a, b = heads + 1.0, tails + 1.0
    above = float(special.betainc(b, a, 1.0 - chance))  # of the Beta(a, b) distribution, what lies above the chance
    if above == 0.0:
        return 0.0
    log = float(special.betaln(a, b)) + math.log(above) - math.log1p(-chance)
    return math.exp(min(log - heads * math.log(chance) - tails * math.log1p(-chance), 700.0))
