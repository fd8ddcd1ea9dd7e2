"""Delivers the events of a queue: to an MQTT broker, or to a web server by POST requests. Delivery is at least once: an
event that may have been received already is sent again with `"again": true`."""

import http.client
import json
import ssl
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from event_queue import QueueProblem

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30  # seconds between attempts, doubled after each failure
PATIENCE = 10  # seconds for an answer
MQTT_PORTS = {"mqtt": 1883, "mqtts": 8883}


class BadAddress(Exception):
    """An address or a file of an option cannot be used. The message gives the reason."""


class Undelivered(Exception):
    """Events were not received. The message gives the reason."""


def secret_in(path):
    """The first line of a file that contains a password or a token."""
    try:
        with open(path, encoding="utf-8") as file:
            secret = file.readline(4096).rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as problem:
        raise BadAddress(f"{path} cannot be read: {getattr(problem, 'strerror', None) or problem}") from problem
    if not secret:
        raise BadAddress(f"{path}: the first line is empty; expected a password or token")
    return secret


def split_address(address, schemes):
    """Returns the parts of an address. Passwords are refused, because every user of the machine can see a command line."""
    try:
        parts = urllib.parse.urlsplit(address)
        known = parts.scheme in schemes and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError as problem:
        raise BadAddress(f"{address}: {problem}") from problem
    if not known:
        raise BadAddress(f"{address}: expected {' or '.join(f'{scheme}://HOST[:PORT]/…' for scheme in schemes)}")
    if parts.password:
        raise BadAddress(f"the address of {parts.hostname} contains a password, which all users of this machine can see; write"
                         " it into a file, and name the file by an option")
    return parts


class Receiver(threading.Thread):
    """Sends events until stop(). A subclass has connect(), send(events) and disconnect(); send() returns the number of the
    last event that was received, and raises Undelivered after a failure."""

    name_of_kind, batch = "", 20

    def __init__(self, queue, address, say):
        super().__init__(daemon=True)
        self.queue, self.address, self.say = queue, address, say
        self.key = f"{self.name_of_kind} {address}"
        self.stopping, self.said = threading.Event(), None

    def run(self):
        pause = FIRST_PAUSE
        while not self.stopping.is_set():
            try:
                self.connect()
                self.report(None)
                pause = FIRST_PAUSE
                self.deliver()
            except (Undelivered, QueueProblem) as problem:
                self.report(str(problem))
                self.disconnect()
                self.stopping.wait(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
        self.disconnect()

    def deliver(self):
        while not self.stopping.is_set():
            if not self.queue.wait(self.key, 0.2):
                self.expect_connected()
                continue
            self.send(self.queue.waiting(self.key, self.batch), lambda number: self.queue.confirm(self.key, number))

    def report(self, problem):
        """Reports the beginning and the end of a failure, not each attempt."""
        if problem and not self.said:
            self.say(f"{self.address}: {problem}; events are kept, and sent again later")
        if self.said and not problem:
            self.say(f"{self.address}: is back")
        self.said = problem

    def expect_connected(self):
        pass

    def stop(self):
        self.stopping.set()
        self.join(PATIENCE)


class Webhook(Receiver):
    name_of_kind, batch = "webhook", 1

    def __init__(self, queue, address, say, token_file=None):
        super().__init__(queue, address, say)
        split_address(address, ("http", "https"))
        self.headers = {"Content-Type": "application/json", "User-Agent": "gst-regions"}
        if token_file:
            self.headers["Authorization"] = f"Bearer {secret_in(token_file)}"

    def connect(self):
        """Each request has its own connection. An attempt begins with the first event that waits."""
        while not self.stopping.is_set() and not self.queue.wait(self.key, 0.2):
            pass
        if not self.stopping.is_set() and self.said:
            self.send(self.queue.waiting(self.key, 1), lambda number: self.queue.confirm(self.key, number))

    def send(self, events, confirm):
        for event in events:
            request = urllib.request.Request(self.address, json.dumps(event).encode(), self.headers, method="POST")
            try:
                with urllib.request.urlopen(request, timeout=PATIENCE):
                    confirm(event["number"])
            except urllib.error.HTTPError as problem:
                raise Undelivered(f"the server answers {problem.code} {problem.reason}") from problem
            except http.client.HTTPException as problem:
                raise Undelivered(f"the server does not answer by HTTP: {str(problem).strip() or type(problem).__name__}"
                                  ) from problem
            except (OSError, ValueError) as problem:
                raise Undelivered(f"the server cannot be reached: {getattr(problem, 'reason', None) or problem}") from problem

    def disconnect(self):
        pass


class Mqtt(Receiver):
    """Publishes each event at PREFIX/zones/ID or PREFIX/lines/ID with QoS 1, and whether the program runs at
    PREFIX/status. PREFIX is the path of the address."""

    name_of_kind = "mqtt"

    def __init__(self, queue, address, say, password_file=None, authorities=None, home_assistant=None):
        super().__init__(queue, address, say)
        try:
            import paho.mqtt.client as client
        except ImportError as missing:
            raise BadAddress("--mqtt requires Debian's package python3-paho-mqtt: pipelines/setup installs it") from missing
        self.paho, self.client = client, None
        self.parts = split_address(address, MQTT_PORTS)
        self.prefix = urllib.parse.unquote(self.parts.path).strip("/") or "regions"
        if any(sign in self.prefix for sign in "+#\0"):
            raise BadAddress(f"{address}: a topic cannot contain + or #")
        self.password = secret_in(password_file) if password_file else None
        if self.password and not self.parts.username:
            raise BadAddress(f"{address}: --mqtt-password-file requires a user: mqtts://USER@HOST/…")
        self.context = None
        if self.parts.scheme == "mqtts":
            try:
                self.context = ssl.create_default_context(cafile=authorities)
            except (OSError, ssl.SSLError) as problem:
                raise BadAddress(f"{authorities} cannot be read as certificates: {problem}") from problem
        elif authorities:
            raise BadAddress(f"{address}: --mqtt-ca requires mqtts://")
        self.entities = home_assistant  # the rules as (kind, id, event names), or None

    def connect(self):
        paho = self.paho
        if hasattr(paho, "CallbackAPIVersion"):  # paho 2, in Debian 13 and later
            self.client = paho.Client(paho.CallbackAPIVersion.VERSION2)
        else:
            self.client = paho.Client()
        self.answer, self.lost = threading.Event(), threading.Event()
        self.refused, self.confirmed, self.published = None, set(), threading.Condition()
        self.client.on_connect = self.on_connect
        self.client.on_disconnect = lambda *_: (self.lost.set(), self.wake())
        self.client.on_publish = self.on_publish
        if self.parts.username:
            self.client.username_pw_set(urllib.parse.unquote(self.parts.username), self.password)
        if self.context:
            self.client.tls_set_context(self.context)
        self.client.will_set(f"{self.prefix}/status", "offline", qos=1, retain=True)
        try:
            self.client.connect(self.parts.hostname, self.parts.port or MQTT_PORTS[self.parts.scheme], keepalive=15)
        except (OSError, ValueError) as problem:
            raise Undelivered(f"the broker cannot be reached: {problem}") from problem
        self.client.loop_start()
        if not self.answer.wait(PATIENCE):
            raise Undelivered("the broker does not answer")
        if self.refused:
            raise Undelivered(f"the broker refuses the connection: {self.refused}")
        self.client.publish(f"{self.prefix}/status", "online", qos=1, retain=True)
        for topic, entity in self.discovery():
            self.client.publish(topic, json.dumps(entity), qos=1, retain=True)

    def on_connect(self, _client, _data, _flags, code, *_):
        number = getattr(code, "value", code)
        if number:
            self.refused = str(code) if hasattr(code, "value") else self.paho.connack_string(code)
        self.answer.set()

    def on_publish(self, _client, _data, identifier, *_):
        with self.published:
            self.confirmed.add(identifier)
            self.published.notify_all()

    def wake(self):
        with self.published:
            self.published.notify_all()

    def expect_connected(self):
        if self.lost.is_set():
            raise Undelivered("the connection to the broker is lost")

    def topic_of(self, event):
        kind = next((kind for kind in ("zone", "line") if kind in event), None)
        return f"{self.prefix}/{kind}s/{level(event[kind])}" if kind else f"{self.prefix}/scene"

    def send(self, events, confirm):
        sent = []
        for event in events:
            info = self.client.publish(self.topic_of(event), json.dumps(event), qos=1)
            if info.rc not in (self.paho.MQTT_ERR_SUCCESS, self.paho.MQTT_ERR_NO_CONN):
                raise Undelivered(f"an event cannot be published: {self.paho.error_string(info.rc)}")
            sent.append((info.mid, event["number"]))
        deadline = time.monotonic() + PATIENCE
        for identifier, number in sent:
            with self.published:
                self.published.wait_for(lambda wanted=identifier: wanted in self.confirmed or self.lost.is_set(),
                                        max(0, deadline - time.monotonic()))
                received = identifier in self.confirmed
            if not received:
                raise Undelivered("the connection to the broker is lost" if self.lost.is_set() else
                                  "the broker does not confirm events")
            self.confirmed.discard(identifier)
            confirm(number)

    def discovery(self):
        """The entities of Home Assistant's MQTT discovery: an `event` per zone and line, and one of the scene."""
        for kind, name, events in self.entities or ():
            unique = "".join(sign if sign.isascii() and sign.isalnum() or sign == "-" else f"_{ord(sign):x}_"
                             for sign in f"regions-{self.prefix}-{kind}-{name}")
            yield f"homeassistant/event/{unique}/config", {
                "name": name, "unique_id": unique, "event_types": events,
                "state_topic": f"{self.prefix}/{kind}s/{level(name)}" if kind != "scene" else f"{self.prefix}/scene",
                "value_template": "{{ dict(event_type=value_json.event, **value_json) | to_json }}",
                "availability_topic": f"{self.prefix}/status",
                "device": {"identifiers": [f"regions-{self.prefix}"], "name": self.prefix, "manufacturer": "gst-regions"}}

    def disconnect(self):
        if self.client:
            if self.stopping.is_set() and not self.lost.is_set():
                self.client.publish(f"{self.prefix}/status", "offline", qos=1, retain=True).wait_for_publish(1)
            self.client.disconnect()
            self.client.loop_stop()
            self.client = None


def level(name):
    """A name as one level of a topic."""
    return "".join(f"%{ord(sign):02X}" if sign in "+#%/" else sign for sign in name)
