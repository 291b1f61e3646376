"""Types by their name, as ``error.type`` wants it: whatever a class does to its own attributes."""


def type_name(error: BaseException) -> str:
    """Qualified type of an exception; builtins without their module."""
    return class_name(type(error))


def class_name(kind: type) -> str:
    """The same of a class."""
    asked = type.__dict__  # of `type` itself: a metaclass may raise, and its names may be odd
    name = str.__str__(asked["__qualname__"].__get__(kind))
    module = asked["__dict__"].__get__(kind).get("__module__", "builtins")
    return name if not isinstance(module, str) or module == "builtins" else f"{str.__str__(module)}.{name}"
