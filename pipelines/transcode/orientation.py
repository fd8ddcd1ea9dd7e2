"""Which side of a picture is up, as a tag of the stream tells it."""

from gstreamer import Gst, GstVideo


def turn_of(pad):
    """How to turn the picture to have it upright, or None; told by a tag before the first frame. Pads
    that decodebin shows have none yet, but the decoder behind them has."""
    while isinstance(pad, Gst.GhostPad):
        pad = pad.get_target()
    for source in (pad, *pad.get_parent_element().sinkpads):
        number = 0
        while event := source.get_sticky_event(Gst.EventType.TAG, number):
            told, turn = GstVideo.video_orientation_from_tag(event.parse_tag())
            if told and turn != GstVideo.VideoOrientationMethod.IDENTITY:
                return turn
            number += 1
    return None


def leave_out_turn(pad, info):
    """A probe where pixels are upright: newer muxers (seen with 1.26) write the tag that the input had
    for them into the file, and players would turn the picture again."""
    event = info.get_event()
    tags = event.parse_tag() if event.type == Gst.EventType.TAG else None
    if not tags or not tags.get_string(Gst.TAG_IMAGE_ORIENTATION)[0]:
        return Gst.PadProbeReturn.OK
    others = tags.copy()
    others.remove_tag(Gst.TAG_IMAGE_ORIENTATION)
    pad.push_event(Gst.Event.new_tag(others))
    return Gst.PadProbeReturn.DROP
