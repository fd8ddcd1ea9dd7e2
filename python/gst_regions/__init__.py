"""Finds and measures regions in pictures, volumes and videos.

The package contains connected components, superpixels, exact minimum cuts, background subtraction, tracking, and events of
zones and lines.
"""

from ._core import __version__
from .background import BackgroundCut, refine
from .cuts import WarmCut, mincut
from .floods import flood, flood_fill
from .gstreamer import setup
from .labelling import label
from .masks import dust, fill_holes, remove_small_holes, remove_small_objects
from .prompts import cut_box
from .superpixels import slic
from .tables import from_supervision, regionprops_table, to_supervision
from .tracking import Tracker
from .zones import Zones

__all__ = ["BackgroundCut", "Tracker", "WarmCut", "Zones", "__version__", "cut_box", "dust", "fill_holes", "flood", "flood_fill",
           "from_supervision", "label", "mincut", "refine", "regionprops_table", "remove_small_holes", "remove_small_objects",
           "setup", "slic", "to_supervision"]
