"""Why a source gives no runs: a value, since a wrong file is what people try first."""

from traced_loop.frozen_value import frozen_value


@frozen_value
class Unreadable:
    """One sentence that says what is wrong and what to do. Strangers' text can be in it: escape it."""

    text: str
