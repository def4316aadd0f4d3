"""The sandbox in which prompts are rendered.

Its arithmetic cannot fill the memory or take for ever.
"""

import re
from typing import Any

from jinja2.exceptions import SecurityError
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

BITS = 10_000  # of a power
LENGTH = 10_000_000  # characters or items of a repeated text or list
WIDE = re.compile(r"\d{7,}")  # a width in a format


class PromptEnvironment(ImmutableSandboxedEnvironment):
    """An environment in which powers, repetitions and formats have limits.

    Operators run when a template is rendered, and never when it compiles.

    >>> PromptEnvironment().from_string("{{ 2 ** 10 }} {{ 'ab' * 2 }} {{ '%05d' % 7 }}").render()
    '1024 abab 00007'
    """

    intercepted_binops = frozenset({"**", "*", "%"})

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Return the result of an operator.

        A result that is too large raises SecurityError.
        """
        if _is_too_large(operator, left, right):
            raise SecurityError(f"the result of {operator} is too large; write a smaller number")
        return super().call_binop(context, operator, left, right)


def _is_too_large(operator: str, left: Any, right: Any) -> bool:
    if operator == "%":
        return isinstance(left, (str, bytes)) and bool(WIDE.search(str(left)) or "*" in str(left))
    if operator == "**":
        return isinstance(left, int) and isinstance(right, int) and right > 0 and left.bit_length() * right > BITS
    for count, repeated in ((left, right), (right, left)):
        if isinstance(count, int) and hasattr(repeated, "__len__"):
            return len(repeated) * count > LENGTH
    return False
