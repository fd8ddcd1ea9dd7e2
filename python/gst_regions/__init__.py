"""Regions of pictures and volumes: connected components, superpixels, exact minimum cuts."""

from ._core import __version__
from .cuts import mincut
from .labelling import label, remove_small_holes, remove_small_objects
from .superpixels import slic
from .tables import regionprops_table

__all__ = ["__version__", "label", "mincut", "regionprops_table", "remove_small_holes", "remove_small_objects", "slic"]
