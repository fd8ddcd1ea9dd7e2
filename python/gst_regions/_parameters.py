"""Parameters of the algorithms. Names, ranges, defaults and descriptions come from the algorithms' Field tables."""

from __future__ import annotations

import inspect
import keyword
import textwrap
from collections.abc import Callable
from typing import Any

Value = bool | int | float | str
Words = tuple[str, str, int, str, float, float, list[str]]

FLAG, WHOLE, REAL = range(3)  # core/field.hpp: enum class Kind


def python_name(name: str) -> str:
    """The name of a field as a Python argument, such as `var_threshold` or `lambda_`."""
    found = name.replace("-", "_")
    return found + "_" if keyword.iskeyword(found) else found


def table_name(name: str) -> str:
    return name.removesuffix("_").replace("_", "-")


def as_text(name: str, value: Value) -> str:
    """The value as text, in the form that the Field tables parse."""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, (int, float, str)):
        raise TypeError(f"{name} is of type {type(value).__name__}, must be bool, int, float or str")
    return str(value)


def from_text(kind: int, text: str) -> Value:
    if kind == FLAG:
        return text == "true"
    if kind == WHOLE:
        return int(text)
    return float(text) if kind == REAL else text


def described(words: list[Words]) -> Callable[[type], type]:
    """Adds the parameters to the signature and the docstring of a class that accepts `**parameters`."""
    def describe(owner: type) -> type:
        items, arguments = [], []
        for name, blurb, kind, default, minimum, maximum, choices in words:
            value = from_text(kind, default)
            limits = " or ".join(choices) if choices else f"{minimum:.15g} to {maximum:.15g}"
            type_name = type(value).__name__
            items.append(f"{python_name(name)} : {type_name if kind == FLAG else f'{type_name}, {limits}'}\n"
                         + textwrap.indent(textwrap.fill(f"{blurb} Default: {value}.", 112), "    "))
            arguments.append(inspect.Parameter(python_name(name), inspect.Parameter.KEYWORD_ONLY, default=value))
        owner.__doc__ = inspect.cleandoc(owner.__doc__ or "").replace("{parameters}", "\n".join(items))
        declared = inspect.signature(owner).parameters.values()
        explicit = [parameter for parameter in declared if parameter.kind is not inspect.Parameter.VAR_KEYWORD]
        owner.__signature__ = inspect.Signature(explicit + arguments)  # type: ignore[attr-defined]
        return owner
    return describe


class Parameters:
    """Base of the classes that have parameters. `_stream` is the compiled object."""

    _stream: Any
    _words: list[Words]

    def set(self, **parameters: Value) -> None:
        """Changes parameters. The new values apply from the next picture on.

        Raises
        ------
        TypeError
            A parameter does not exist, or its value has the wrong type.
        ValueError
            A value is outside its range.
        """
        known = {python_name(words[0]) for words in self._words}
        for name, value in parameters.items():
            if name not in known:
                raise TypeError(f"unknown parameter {name!r}; expected one of {', '.join(sorted(known))}")
            self._stream.set(table_name(name), as_text(name, value))

    @property
    def parameters(self) -> dict[str, Value]:
        """The current value of each parameter, by name."""
        return {python_name(name): from_text(kind, self._stream.get(name)) for name, _, kind, *_ in self._words}

    def reset(self) -> None:
        """Discards everything that was learned from earlier pictures. Parameters keep their values."""
        self._stream.reset()
