"""Parameters of the algorithms. Their names, ranges, defaults and descriptions come from the Field tables in core."""

from __future__ import annotations

import contextlib
import inspect
import keyword
import os
import pathlib
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Value = bool | int | float | str
# Name, description, kind, default, minimum, maximum and names of the choices of a parameter.
FieldDescription = tuple[str, str, int, str, float, float, list[str]]

FLAG, INTEGER, REAL = range(3)  # the first values of enum class Kind in core/field.hpp
COLOR = 5


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
            limits = "0xAARRGGBB" if kind == COLOR else " or ".join(choices) or f"{minimum:.15g} to {maximum:.15g}"
            type_name = type(value).__name__
            items.append(f"{python_name(name)} : {type_name if kind == FLAG else f'{type_name}, {limits}'}\n"
                         + textwrap.indent(textwrap.fill(f"{blurb} Default: {value}.", 112), "    "))
            arguments.append(inspect.Parameter(python_name(name), inspect.Parameter.KEYWORD_ONLY, default=value))
            setattr(owner, python_name(name), _property_of(python_name(name), blurb))
        owner.__doc__ = inspect.cleandoc(owner.__doc__ or "").replace("{parameters}", "\n".join(items))
        declared = inspect.signature(owner).parameters.values()
        explicit = [parameter for parameter in declared if parameter.kind is not inspect.Parameter.VAR_KEYWORD]
        owner.__signature__ = inspect.Signature(explicit + arguments)  # type: ignore[attr-defined]
        return owner
    return add_documentation


def _property_of(name: str, blurb: str) -> property:
    """Returns a property that reads and writes the parameter `name`."""
    return property(lambda owner: owner.parameters[name], lambda owner, value: owner.set(**{name: value}), doc=blurb)


@contextlib.contextmanager
def with_argument_names(names: Mapping[str, str]) -> Iterator[None]:
    """Replaces the names of fields in the message of a ValueError by the names of arguments."""
    try:
        yield
    except ValueError as error:
        pattern = r"\b(" + "|".join(map(re.escape, sorted(names, key=len, reverse=True))) + r")\b(?!-)"
        message = re.sub(pattern, lambda found: names[found[1]], str(error))
        raise ValueError(message) from None


class Parameters:
    """Base class of the classes that have parameters. `_algorithm` is the object of the compiled module.

    Each parameter is also an attribute.
    """

    _algorithm: Any
    _fields: list[FieldDescription]
    _state_name: str  # the name of the learned state and its verb, for messages

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_") and not hasattr(type(self), name):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}; its parameters are "
                                 + ", ".join(sorted(python_name(field[0]) for field in self._fields)))
        super().__setattr__(name, value)

    def _changed_parameters(self) -> dict[str, Value]:
        """Returns the parameters whose values are not the defaults."""
        defaults = {python_name(name): from_text(kind, text) for name, _, kind, text, *_ in self._fields}
        return {name: value for name, value in self.parameters.items() if value != defaults[name]}

    def __repr__(self) -> str:
        changed = self._changed_parameters()
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in changed.items())})"

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
            with with_argument_names({field_name(name): name}):
                self._algorithm.set(field_name(name), as_text(name, value))

    @property
    def parameters(self) -> dict[str, Value]:
        """The current value of each parameter, by name."""
        return {python_name(name): from_text(kind, self._algorithm.get(name)) for name, _, kind, *_ in self._fields}

    def reset(self) -> None:
        """Discards everything that was learned from earlier pictures. Parameters keep their values."""
        self._algorithm.load(b"")
        self._algorithm.reset()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes everything that was learned from earlier pictures to a file. load() reads it.

        Raises
        ------
        ValueError
            No picture has been processed yet. Or the object tracks pictures on a CUDA device, whose tracks cannot be saved.
        """
        state = self._algorithm.state()
        if not state:
            raise ValueError(f"no {self._state_name} yet; call apply() first")
        pathlib.Path(path).write_bytes(state)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Continues with a file that save() has written, also on another machine. Parameters keep their values.

        The next picture must have the size of the pictures before save(); otherwise apply() raises ValueError.

        Raises
        ------
        ValueError
            The file is empty.
        """
        state = pathlib.Path(path).read_bytes()
        if not state:
            raise ValueError(f"{path} is empty, must contain a file of save()")
        self._algorithm.load(state)
