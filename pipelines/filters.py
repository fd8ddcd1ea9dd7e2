"""Filters that the operator wrote as for gst-launch, and properties given as PROPERTY=VALUE."""

import ctypes
import os
import re
import warnings

from gi.repository import GObject
from gstreamer import GLib, Gst

GOBJECT = ctypes.CDLL("libgobject-2.0.so.0")
LIST = r"<\s*(-?[\d.]+(\s*,\s*-?[\d.]+)*)?\s*>"


class BadFilter(Exception):
    """It cannot be made; the message says why."""


def made(line, properties=(), device=-1, attach_labels=False):
    """The filter as a bin. `properties` (PROPERTY=VALUE) are of its element `regions`, or of the first that is ours.
    Elements that may choose a GPU get `device`, unless the line chose."""
    try:
        with warnings.catch_warnings(record=True) as refused:  # how PyGObject tells a value out of range
            warnings.simplefilter("always")
            filtered = Gst.parse_bin_from_description(line, True)
    except GLib.Error as error:
        raise BadFilter(explained(error.message)) from error
    if refused:
        raise BadFilter(explained(str(refused[0].message), filtered))
    if not filtered.sinkpads or not filtered.srcpads:
        raise BadFilter("a filter needs one unlinked sink pad and one unlinked source pad")
    for element in reversed(filtered.children):
        if not all(pad.is_linked() for pad in element.pads):
            raise BadFilter(f"{element.get_factory().get_name()} is not linked to another element: write ! between them")
    elements = [filtered.get_by_name(element.get_name()) for element in reversed(filtered.children)]
    for assignment in properties:
        set_property(filtered.get_by_name("regions") or next(filter(is_ours, elements)), assignment)
    for element in elements:
        if device >= 0 and "cuda-device-id" not in line and has(element, "cuda-device-id"):
            element.set_property("cuda-device-id", device)
        if attach_labels and has(element, "attach-labels"):
            Gst.util_set_object_arg(element, "attach-labels", "always")
    return filtered


def explained(refusal, filtered=None):
    """GStreamer's refusal of a value and, where it names a property that is known, what would do."""
    quoted = re.findall(r"[\"']([^\"']*)[\"']", refusal)
    factories = filter(None, map(Gst.ElementFactory.find, quoted))
    elements = filtered.children if filtered else [factory.create() for factory in factories]
    would = next(filter(None, (problem(element, name, "") for element in elements for name in quoted
                               if has(element, name))), None)
    return f"{refusal}: {would}" if would else refusal


def has(element, name):
    return element.find_property(name) is not None


def is_ours(element):
    return element.get_factory().get_plugin_name() == "regions"


def version():
    return Gst.Registry.get().find_plugin("regions").get_version()


def set_property(element, assignment):
    """Sets a property as PROPERTY=VALUE says; the value is nothing but a value, whatever is in it."""
    name, equals, value = assignment.partition("=")
    of = element.get_factory().get_name()
    if not equals:
        raise BadFilter(f"'{assignment}': expected PROPERTY=VALUE")
    known = element.find_property(name)
    if known is None:
        raise BadFilter(f"{of} has no property '{name}'; gst-inspect-1.0 {of} lists them")
    if known.value_type.name == "gchararray":
        # PyGObject takes UTF-8 alone; a file's name is any bytes. The hash of an object is its address.
        GOBJECT.g_object_set(ctypes.c_void_p(hash(element)), os.fsencode(name), os.fsencode(value),
                             ctypes.c_void_p())
        return
    wrong = problem(element, name, value)
    if wrong:
        raise BadFilter(f"{of} {name}={value}: {wrong}")
    with warnings.catch_warnings(record=True) as refused:
        warnings.simplefilter("always")
        Gst.util_set_object_arg(element, name, value)
    if refused:
        raise BadFilter(f"{of} {name}={value}: out of range")


def problem(element, name, value):
    """Why a property cannot have a value, or None."""
    known = element.find_property(name)
    kind = known.value_type
    # The class of a value lists the others in each version of PyGObject; that of the property does not.
    if kind.is_a(GObject.TYPE_ENUM):
        choices = type(element.get_property(name)).__enum_values__.values()
        nicks = [choice.value_nick for choice in choices]
        return None if value in nicks else "expected one of " + ", ".join(nicks)
    if kind.is_a(GObject.TYPE_FLAGS):
        choices = type(element.get_property(name)).__flags_values__.values()
        nicks = [flag for choice in choices for flag in choice.value_nicks]
        return None if set(value.split("+")) <= set(nicks) else "expected some of these, joined by +: " + (
            ", ".join(nicks))
    if kind.name == "gboolean":
        return None if value.lower() in ("true", "false", "yes", "no", "1", "0") else "expected true or false"
    if kind.name == "GstValueArray":
        return None if re.fullmatch(LIST, value) else "expected numbers as in <1,2,3>"
    if hasattr(known, "minimum"):
        limits = f"expected a number from {known.minimum:g} to {known.maximum:g}"
        try:
            number = float(value) if kind.name in ("gfloat", "gdouble") else int(value, 0)
        except ValueError:
            return limits
        return None if known.minimum <= number <= known.maximum else limits
    return None
