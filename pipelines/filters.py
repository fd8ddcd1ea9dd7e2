"""Creates filters from gst-launch descriptions and sets properties from PROPERTY=VALUE arguments."""

import ctypes
import os
import re
import warnings

from gi.repository import GObject
from gstreamer import GLib, Gst

GOBJECT = ctypes.CDLL("libgobject-2.0.so.0")
CAPS = "video/x-raw"
LIST = r"<\s*(-?[\d.]+(\s*,\s*-?[\d.]+)*)?\s*>"


class BadFilter(Exception):
    """The filter cannot be created. The message gives the reason."""


def made(line, properties=(), device=-1, attach_labels=False):
    """Returns the filter described by `line` as a bin. `properties` (PROPERTY=VALUE) are set on the element named
    `regions`, or on the filter's first element of this plugin. `device` is the CUDA device for elements that have
    `cuda-device-id`, unless `line` sets this property. `line` may begin and end with caps."""
    # GStreamer accepts caps only between two elements.
    if line.lstrip().startswith(CAPS):
        line = "identity ! " + line
    if line.rpartition("!")[2].lstrip().startswith(CAPS):
        line += " ! identity"
    try:
        with warnings.catch_warnings(record=True) as refused:  # PyGObject warns if a value is out of range
            warnings.simplefilter("always")
            filtered = Gst.parse_bin_from_description(line, True)
    except GLib.Error as error:
        raise BadFilter(explained(error.message)) from error
    if refused:
        raise BadFilter(explained(str(refused[0].message), filtered))
    if not filtered.sinkpads or not filtered.srcpads:
        raise BadFilter("expected exactly one unlinked sink pad and one unlinked source pad, as in"
                        " 'cclabel ! regionoverlay'")
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
    """Returns GStreamer's error message, followed by the accepted values if the message names a known property."""
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
    """Sets a property from PROPERTY=VALUE. The text after the first "=" is the value, whatever it contains."""
    name, equals, value = assignment.partition("=")
    of = element.get_factory().get_name()
    if not equals:
        raise BadFilter(f"'{assignment}': expected PROPERTY=VALUE")
    known = element.find_property(name)
    if known is None:
        raise BadFilter(f"{of} has no property '{name}': run 'gst-inspect-1.0 {of}' for a list of its properties")
    if known.value_type.name == "gchararray":
        # PyGObject accepts only UTF-8, but a file name may contain any bytes. The hash of an object is its address.
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
        raise BadFilter(f"{of} {name}={value}: the value is out of range")


def problem(element, name, value):
    """Returns the reason why a property cannot have a value, or None."""
    known = element.find_property(name)
    kind = known.value_type
    # The class of the current value lists all values in every version of PyGObject; the property's class does not.
    if kind.is_a(GObject.TYPE_ENUM):
        choices = type(element.get_property(name)).__enum_values__.values()
        nicks = [choice.value_nick for choice in choices]
        return None if value in nicks else "expected one of " + ", ".join(nicks)
    if kind.is_a(GObject.TYPE_FLAGS):
        choices = type(element.get_property(name)).__flags_values__.values()
        nicks = [flag for choice in choices for flag in choice.value_nicks]
        return None if set(value.split("+")) <= set(nicks) else "expected one or more of these, joined by +: " + (
            ", ".join(nicks))
    if kind.name == "gboolean":
        return None if value.lower() in ("true", "false", "yes", "no", "1", "0") else "expected true or false"
    if kind.name == "GstValueArray":
        return None if re.fullmatch(LIST, value) else "expected a list of numbers such as <1,2,3>"
    if hasattr(known, "minimum"):
        limits = f"expected a number from {known.minimum:g} to {known.maximum:g}"
        try:
            number = float(value) if kind.name in ("gfloat", "gdouble") else int(value, 0)
        except ValueError:
            return limits
        return None if known.minimum <= number <= known.maximum else limits
    return None
