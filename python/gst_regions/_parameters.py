"""Parameters of the algorithms. Their names, ranges, defaults and descriptions come from the Field tables in core."""

from __future__ import annotations

import inspect
import keyword
import textwrap
from collections.abc import Callable
from typing import Any

Value = bool | int | float | str
# Name, description, kind, default, minimum, maximum and names of the choices of a parameter.
FieldDescription = tuple[str, str, int, str, float, float, list[str]]

FLAG, INTEGER, REAL = range(3)  # the first values of enum class Kind in core/field.hpp


def python_name(name: str) -> str:
    """Converts the name of a field to the name of a Python argument, such as `var_threshold` or `lambda_`."""
    argument = name.replace("-", "_")
    return argument + "_" if keyword.iskeyword(argument) else argument


def field_name(name: str) -> str:
    """Converts the name of a Python argument to the name of its field, such as `var-threshold`."""
    return name.removesuffix("_").replace("_", "-")


def as_text(name: str, value: Value) -> str:
    """Converts the value to text, in the form that the Field tables parse."""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, (int, float, str)):
        raise TypeError(f"{name} is of type {type(value).__name__}, must be bool, int, float or str")
    return str(value)


def from_text(kind: int, text: str) -> Value:
    """Converts the text of a field's value to a Python value."""
    if kind == FLAG:
        return text == "true"
    if kind == INTEGER:
        return int(text)
    return float(text) if kind == REAL else text


def documents_parameters(fields: list[FieldDescription]) -> Callable[[type], type]:
    """Adds the parameters to the signature and the docstring of a class that accepts `**parameters`."""
    def add_documentation(owner: type) -> type:
        items, arguments = [], []
        for name, blurb, kind, default, minimum, maximum, choices in fields:
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
    return add_documentation


class Parameters:
    """Base class of the classes that have parameters. `_algorithm` is the object of the compiled module."""

    _algorithm: Any
    _fields: list[FieldDescription]

    def set(self, **parameters: Value) -> None:
        """Changes parameters. The new values apply from the next picture on.

        Raises
        ------
        TypeError
            A parameter does not exist, or its value has the wrong type.
        ValueError
            A value is outside its range.
        """
        known = {python_name(field[0]) for field in self._fields}
        for name, value in parameters.items():
            if name not in known:
                raise TypeError(f"unknown parameter {name!r}; expected one of {', '.join(sorted(known))}")
            self._algorithm.set(field_name(name), as_text(name, value))

    @property
    def parameters(self) -> dict[str, Value]:
        """The current value of each parameter, by name."""
        return {python_name(name): from_text(kind, self._algorithm.get(name)) for name, _, kind, *_ in self._fields}

    def reset(self) -> None:
        """Discards everything that was learned from earlier pictures. Parameters keep their values."""
        self._algorithm.reset()
