"""A viewer's video by WebRTC: sends the packets of a stream. The RTP timestamp is the running time at 90 kHz, so the page
finds the regions of each frame."""

import threading

import gi
from gstreamer import Gst, GstVideo

try:
    gi.require_version("GstWebRTC", "1.0")
    gi.require_version("GstSdp", "1.0")
    from gi.repository import GstSdp, GstWebRTC
except (ImportError, ValueError):
    GstSdp = GstWebRTC = None

PAYLOAD = 96
PIPELINE = (
    "appsrc name=packets format=time is-live=true max-buffers=60 leaky-type=downstream"
    f" ! h264parse ! rtph264pay pt={PAYLOAD} config-interval=-1 timestamp-offset=0 mtu=1200 aggregate-mode=zero-latency"
    f" ! application/x-rtp,media=video,encoding-name=H264,payload={PAYLOAD}"
    " ! webrtcbin name=peer bundle-policy=max-bundle latency=0")
NEEDED = ("webrtcbin", "nicesrc", "dtlssrtpenc", "srtpenc", "rtph264pay", "x264enc")


def missing():
    """Why WebRTC is not available, or None."""
    lacking = [name for name in NEEDED if not Gst.ElementFactory.find(name)]
    if lacking:
        return f"GStreamer has no {lacking[0]}: install gstreamer1.0-plugins-bad, gstreamer1.0-nice and gstreamer1.0-plugins-ugly"
    return None if GstWebRTC else "the Python bindings are missing: install gir1.2-gst-plugins-bad-1.0"


class Peer:
    """`say` sends a message to the page, and `ask_key_frame` requests a key frame from the encoder after a loss of
    packets. Threads of GStreamer call them."""

    def __init__(self, say, ask_key_frame):
        self.say, self.ask_key_frame, self.caps = say, ask_key_frame, None
        self.made = Gst.parse_launch(PIPELINE)
        self.feed, self.peer = self.made.get_by_name("packets"), self.made.get_by_name("peer")
        self.feed.get_static_pad("src").add_probe(Gst.PadProbeType.EVENT_UPSTREAM, self.see_event)
        self.peer.connect("on-negotiation-needed", self.offer)
        self.peer.connect("on-ice-candidate", lambda _, line, candidate: say(
            {"kind": "candidate", "line": line, "candidate": candidate}))
        self.made.get_bus().set_flushing(True)  # no thread reads its messages
        self.made.connect("deep-element-added", self.send_at_once)
        self.made.set_state(Gst.State.PLAYING)

    @staticmethod
    def send_at_once(_pipeline, _part, element):
        """Sinks must not wait until the clock of this pipeline shows the time of a packet."""
        if element.find_property("sync"):
            element.set_property("sync", False)

    def see_event(self, _pad, info):
        if GstVideo.video_event_is_force_key_unit(info.get_event()):
            self.ask_key_frame()
        return Gst.PadProbeReturn.OK

    def offer(self, peer):
        peer.emit("create-offer", None, Gst.Promise.new_with_change_func(self.take_offer, peer))

    def take_offer(self, promise, peer):
        promise.wait()
        reply = promise.get_reply()  # it owns the offer
        if reply and reply.has_field("offer"):
            offer = reply.get_value("offer")
            peer.emit("set-local-description", offer, Gst.Promise.new())
            self.say({"kind": "offer", "sdp": offer.sdp.as_text()})

    def take_answer(self, text):
        """Returns whether the text is an answer."""
        status, sdp = GstSdp.SDPMessage.new_from_text(text)
        if status != GstSdp.SDPResult.OK or not sdp.medias_len():
            return False
        answer = GstWebRTC.WebRTCSessionDescription.new(GstWebRTC.WebRTCSDPType.ANSWER, sdp)
        self.peer.emit("set-remote-description", answer, Gst.Promise.new())
        return True

    def take_candidate(self, line, candidate):
        self.peer.emit("add-ice-candidate", line, candidate)

    def send(self, packet):
        if self.caps is None:
            if not packet.is_key:
                return
            self.caps = packet.caps
            self.feed.set_property("caps", packet.caps)
        elif not packet.caps.is_equal(self.caps):
            self.caps = packet.caps
            self.feed.set_property("caps", packet.caps)
        self.feed.emit("push-buffer", packet.buffer())

    def close(self):
        """Stops in another thread, because GStreamer waits for its threads meanwhile."""
        threading.Thread(target=self.made.set_state, args=(Gst.State.NULL,), daemon=True).start()
