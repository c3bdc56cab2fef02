"""Numbers whose order of magnitude matters, gaps above all, as every message, table and page writes them."""

import math

UNKNOWN_ROUNDING = 1e-6  # assumed rounding of a relative gap without a bound
ROUNDING = 1e-8  # relative; a certificate is a difference of two float64 sums over all points


def power(value: float, digits: int = 1) -> str:
    """Return ``3.2e-3``."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    mantissa, _, exponent = f"{value:.{digits}e}".partition("e")
    return f"{mantissa}e{int(exponent)}"


def gap(value: float) -> str:
    """Return a gap or a violation: what rounding made negative is 0; a truly negative one stays, it is a fault."""
    return power(0.0 if -ROUNDING < value < 0.0 else value)


def above(value: float, limit: float) -> str:
    """Return a gap above a limit with as many digits as show that it is: ``1.01e-3`` above 1e-3."""
    texts = (power(value, digits) for digits in range(1, 17))
    return next((text for text in texts if float(text) > limit), gap(value))


def target(value: float) -> str:
    """Return a target gap as it is typed: ``1e-3``, with as many digits as it has."""
    short, usual = power(value, 0), f"{value:g}"
    return short if float(short) == value and len(short) <= len(usual) else usual
