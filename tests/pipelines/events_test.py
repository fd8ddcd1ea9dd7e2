#!/usr/bin/python3
"""pipelines/events: events as JSON, a real MQTT broker that is killed and restarted, a web server that fails, a full queue,
and a program that is killed."""

import collections
import contextlib
import http.server
import json
import pathlib
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import jsonschema
import media
from cases import Case, main

EVENTS = media.script("events")
SCHEMA = media.ROOT / "docs" / "events.schema.json"
MOSQUITTO = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin")
FILTER = "cclabel threshold=0.5 track=true output=none"
# A square that crosses a line and a zone again and again.
SQUARE = ("color=black:s=160x120:r=25:d={}[b];color=white:s=16x16:r=25:d={}[w];[b][w]overlay=x='72+60*sin(t*4)':y=50")
RULES = {"zones": [{"id": "right side", "points": [[80, 0], [160, 0], [160, 120], [80, 120]], "object-retention": 5}],
         "lines": [{"id": "gate", "points": [[60, 0], [60, 120]], "object-retention": 5}]}
ZONE = {"id": "z", "points": [[0, 0], [50, 0], [50, 50]]}
KILLS = 10


def without(event, *names):
    return {name: value for name, value in event.items() if name not in names}


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Broker:
    """Debian's Mosquitto on this machine."""

    def __init__(self, test, *lines):
        if not MOSQUITTO:
            test.skipTest("mosquitto is not installed: pipelines/setup --tests installs it")
        self.port, self.folder = free_port(), test.folder
        self.config = test.folder / "mosquitto.conf"
        self.config.write_text("\n".join((
            f"listener {self.port} 127.0.0.1", "persistence true", f"persistence_location {test.folder}/", "user root",
            *(lines or ("allow_anonymous true",)))), encoding="utf-8")
        self.start()
        test.addCleanup(self.stop)

    def start(self):
        self.process = subprocess.Popen([MOSQUITTO, "-c", str(self.config)], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            time.sleep(0.05)
        raise AssertionError("mosquitto does not start")

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.wait(20)


class Subscriber:
    """Receives all messages below a topic. Its session outlives the broker."""

    def __init__(self, test, broker, user=None, password=None, authorities=None):
        import paho.mqtt.client as paho

        self.messages, self.connected = [], threading.Event()
        options = {"client_id": "subscriber", "clean_session": False}
        self.client = (paho.Client(paho.CallbackAPIVersion.VERSION2, **options) if hasattr(paho, "CallbackAPIVersion") else
                       paho.Client(**options))
        if user:
            self.client.username_pw_set(user, password)
        if authorities:
            self.client.tls_set(str(authorities))
        self.client.reconnect_delay_set(1, 1)
        self.client.on_connect = lambda client, *_: client.subscribe("#", qos=1)
        self.client.on_subscribe = lambda *_: self.connected.set()
        self.client.on_disconnect = lambda *_: self.connected.clear()
        self.client.on_message = lambda _client, _data, message: self.messages.append(
            (message.topic, message.payload.decode()))
        self.client.connect("localhost" if authorities else "127.0.0.1", broker.port)
        self.client.loop_start()
        test.addCleanup(self.client.loop_stop)
        self.expect_connected()

    def expect_connected(self):
        if not self.connected.wait(20):
            raise AssertionError("the test's own client is not connected")

    def events(self):
        return [json.loads(text) for topic, text in self.messages if "/zones/" in topic or "/lines/" in topic]

    def wait_for(self, count, seconds=60):
        end = time.monotonic() + seconds * media.PATIENCE
        while len({event["number"] for event in self.events()}) < count and time.monotonic() < end:
            time.sleep(0.05)


class Events(Case):
    def setUp(self):
        super().setUp()
        self.rules = self.folder / "rules.json"
        self.rules.write_text(json.dumps(RULES), encoding="utf-8")

    def square(self, seconds=8):
        return self.clip("in.mkv", SQUARE.format(seconds, seconds), "-c:v", "ffv1", "-pix_fmt", "gray")

    def command(self, source, *options, more=""):
        return [sys.executable, EVENTS, source, "--rules", self.rules, "--filter", FILTER + more, "--queue",
                self.folder / "queue", *options]

    def run_events(self, *arguments, status=0, **options):
        return media.run(*self.command(*arguments, **options), status=status)

    def printed(self, *arguments, **options):
        return [json.loads(line) for line in self.run_events(*arguments, **options).splitlines() if line.startswith("{")]

    def expect_all(self, received, expected):
        """Each event arrived. A second copy is marked."""
        numbers = collections.defaultdict(list)
        for event in received:
            numbers[event.pop("number")].append(event.pop("again", False))
        unique = {json.dumps(event, sort_keys=True) for event in received}
        self.assertEqual(unique, {json.dumps(event, sort_keys=True) for event in expected})
        self.assertEqual(len(numbers), len(expected))
        for number, again in numbers.items():
            self.assertTrue(all(again[1:]), f"event {number} arrived twice without a mark")


class Printing(Events):
    def test_events_of_a_clip_are_json_lines_of_the_schema(self):
        events = self.printed(self.square(4))
        schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
        for event in events:
            jsonschema.validate(event, schema)
        kinds = collections.Counter((event["event"], event.get("zone") or event.get("line")) for event in events)
        # The square's centre, 80 + 60 sin(4 t), passes 80 five times after the start, and 60 four times.
        self.assertEqual(kinds, {("enter", "right side"): 3, ("leave", "right side"): 3, ("crossing", "gate"): 4})
        self.assertEqual([event["side"] for event in events if event["event"] == "crossing"],
                         ["right", "left", "right", "left"])

    def test_events_schema_other_lines_are_refused(self):
        schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
        event = self.printed(self.square(1))[0]
        for change in ({"event": "unknown"}, {"time": "3"}, {"more": 1}):
            with self.assertRaises(jsonschema.ValidationError):
                jsonschema.validate(event | change, schema)

    def test_live_test_picture_has_wall_clock_times(self):
        self.rules.write_text('[{"id": "all", "points": [[0, 0], [320, 0], [320, 240], [0, 240]]}]', encoding="utf-8")
        player = subprocess.Popen([str(word) for word in self.command("test")], stdout=subprocess.PIPE, text=True)
        event = json.loads(player.stdout.readline())
        player.send_signal(signal.SIGINT)
        player.communicate(timeout=60)
        self.assertEqual(player.returncode, 0)
        self.assertRegex(event["received"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$")

    def test_wrong_arguments_are_refused_with_the_reason(self):
        clip = self.square(1)
        secret = self.folder / "secret"
        secret.write_text("\n", encoding="utf-8")
        for options, message in (
                (("--webhook", "ftp://example/"), "expected http://HOST[:PORT]/… or https://HOST[:PORT]/…"),
                (("--mqtt", "mqtt://"), "expected mqtt://HOST[:PORT]/… or mqtts://HOST[:PORT]/…"),
                (("--mqtt", "mqtt://host:99999"), "Port out of range"),
                (("--mqtt", "mqtt://user:word@host"), "contains a password"),
                (("--mqtt", "mqtt://host", "--mqtt-password-file", secret), "the first line is empty"),
                (("--mqtt", "mqtt://host", "--mqtt-password-file", self.folder / "none"), "No such file"),
                (("--mqtt", "mqtt://host", "--mqtt-ca", secret), "--mqtt-ca requires mqtts://"),
                (("--mqtt-ca", secret), "--mqtt-ca requires --mqtt"),
                (("--mqtt", "mqtt://host/a+b"), "a topic cannot contain + or #"),
                (("--queue-limit", "0"), "expected a number from 1"),
                (("--linger", "nan"), "expected a number of seconds, 0 or more")):
            with self.subTest(options):
                self.assertIn(message, self.run_events(clip, *options, status=2))

    def test_missing_files_and_faulty_rules_end_the_program(self):
        clip = self.square(1)
        self.assertIn("/none.mkv", self.run_events(self.folder / "none.mkv", status=1))
        self.rules.write_text('{"zones": [{"id": "z", "points": [[0, 0]]}]}', encoding="utf-8")
        text = self.run_events(clip, status=2)
        self.assertRegex(text, "^events: .*: rules: zone 'z': ring 1 has 1 different points; an area requires at least 3\n$")
        for rules, message in (([ZONE | {"points": [[500, 0], [600, 0], [600, 50]]}], "zone 'z' is outside of the picture"),
                               ({"width": 100, "height": 100, "zones": [ZONE]}, "the rules are for 100x100 pixels")):
            self.rules.write_text(json.dumps(rules), encoding="utf-8")
            self.assertRegex(self.run_events(clip, status=1), f"^events: {message}.*\\n$")
        self.rules.unlink()
        self.assertIn("does not exist", self.run_events(clip, status=2))
        self.assertFalse((self.folder / "queue").exists())


class Mqtt(Events):
    def test_killed_broker_loses_no_event(self):
        clip, broker = self.square(), Broker(self)
        expected = self.printed(clip)
        subscriber = Subscriber(self, broker)
        broker.stop()  # stores the session
        broker.start()
        subscriber.expect_connected()
        program = subprocess.Popen([str(word) for word in self.command(
            clip, "--mqtt", f"mqtt://127.0.0.1:{broker.port}/cam", "--linger", "200", more=" ! identity sleep-time=40000")],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(program.kill)
        for kill in range(KILLS):
            subscriber.wait_for(min(kill + 1, len(expected) - 1))
            broker.stop(signal.SIGKILL)
            broker.start()
            subscriber.expect_connected()
        said = program.communicate(timeout=300)[1]
        self.assertEqual(program.returncode, 0, said)
        self.assertIn("events are kept, and sent again later", said)
        self.assertIn("is back", said)
        subscriber.wait_for(len(expected))
        self.expect_all(subscriber.events(), expected)

    def test_killed_program_loses_no_event(self):
        clip, broker = self.square(), Broker(self)
        expected = self.printed(clip)
        subscriber = Subscriber(self, broker)
        command = [str(word) for word in self.command(clip, "--mqtt", f"mqtt://127.0.0.1:{broker.port}",
                                                      more=" ! identity sleep-time=5000")]
        for kill in range(KILLS):
            program = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            subscriber.wait_for(min(kill + 1, len(expected) - 1))
            program.kill()
            program.wait()
        media.run(*command)
        subscriber.wait_for(len(expected))
        self.expect_all(subscriber.events(), expected)

    def test_mqtt_events_have_topics_a_status_and_home_assistant_entities(self):
        broker = Broker(self)
        subscriber = Subscriber(self, broker)
        self.run_events(self.square(1), "--mqtt", f"mqtt://127.0.0.1:{broker.port}/house/yard", "--home-assistant")
        subscriber.wait_for(3, 10)
        topics = [topic for topic, _ in subscriber.messages]
        self.assertIn("house/yard/zones/right side", topics)
        self.assertIn("house/yard/lines/gate", topics)
        self.assertEqual([text for topic, text in subscriber.messages if topic == "house/yard/status"], ["online", "offline"])
        entity = json.loads(dict(subscriber.messages)[
            "homeassistant/event/regions-house_2f_yard-zone-right_20_side/config"])
        self.assertEqual(entity["state_topic"], "house/yard/zones/right side")
        self.assertIn("leave", entity["event_types"])

    def test_rules_as_an_array_are_announced_to_home_assistant(self):
        self.rules.write_text(json.dumps(RULES["zones"] + RULES["lines"]), encoding="utf-8")
        broker = Broker(self)
        subscriber = Subscriber(self, broker)
        self.run_events(self.square(1), "--mqtt", f"mqtt://127.0.0.1:{broker.port}/yard", "--home-assistant")
        subscriber.wait_for(3, 10)
        entities = [json.loads(text) for topic, text in subscriber.messages if topic.startswith("homeassistant/")]
        self.assertEqual([entity["state_topic"] for entity in entities], ["yard/zones/right side", "yard/lines/gate", "yard/scene"])

    def test_mqtt_broker_with_tls_and_password_receives_the_events(self):
        if not shutil.which("openssl"):
            self.skipTest("openssl is not installed")
        key, certificate, passwords = (self.folder / name for name in ("key.pem", "certificate.pem", "passwords"))
        media.run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2",
                  "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost")
        media.run(pathlib.Path(MOSQUITTO or "/").parent.parent / "bin" / "mosquitto_passwd", "-b", "-c", passwords, "cam", "se cret")
        broker = Broker(self, f"certfile {certificate}", f"keyfile {key}", "allow_anonymous false", f"password_file {passwords}")
        subscriber = Subscriber(self, broker, "cam", "se cret", certificate)
        secret, address = self.folder / "secret", f"mqtts://cam@localhost:{broker.port}"
        clip = self.square(1)
        secret.write_text("wrong\n", encoding="utf-8")
        said = self.run_events(clip, "--mqtt", address, "--mqtt-password-file", secret, "--mqtt-ca", certificate, "--linger", "1",
                               status=1)
        self.assertRegex(said, "the broker refuses the connection: .*[Nn]ot authori[sz]ed")
        self.assertIn("events remain in", said)
        said = self.run_events(clip, "--mqtt", address, "--mqtt-password-file", secret, "--linger", "1", status=1)
        self.assertIn("certificate verify failed", said)
        secret.write_text("se cret\n", encoding="utf-8")
        self.run_events(clip, "--mqtt", address, "--mqtt-password-file", secret, "--mqtt-ca", certificate)
        subscriber.wait_for(2)
        self.expect_all(subscriber.events(), self.printed(clip))


class Server(http.server.HTTPServer):
    """Answers the first requests with errors, and keeps the bodies of all requests."""

    def __init__(self, answers, port=0):
        self.answers, self.received = list(answers), []
        super().__init__(("127.0.0.1", port), Handler)
        self.thread = threading.Thread(target=self.serve_forever, daemon=True)
        self.thread.start()

    def end(self):
        self.shutdown()
        self.server_close()
        self.thread.join()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received.append((json.loads(body), dict(self.headers)))
        self.send_response(self.server.answers.pop(0) if self.server.answers else 200)
        self.end_headers()

    def log_message(self, *_):
        pass


class Webhook(Events):
    def serve(self, *answers, port=0):
        server = Server(answers, port)
        self.addCleanup(server.end)
        return server

    def test_failing_server_receives_all_events_in_order(self):
        server, token = self.serve(500, 200, 503, 404), self.folder / "token"
        token.write_text("abc\n", encoding="utf-8")
        said = self.run_events(self.square(2), "--webhook", f"http://127.0.0.1:{server.server_port}/x", "--webhook-token-file",
                               token)
        self.assertIn("the server answers 500 Internal Server Error; events are kept", said)
        events = [event for event, _ in server.received]
        self.assertEqual([event["number"] for event in events][:5], [1, 1, 2, 2, 2])
        self.assertEqual([event.get("again", False) for event in events][:5], [False, True, False, True, True])
        self.assertEqual(server.received[0][1]["Authorization"], "Bearer abc")
        self.expect_all(events, self.printed(self.square(2)))

    def test_missing_server_receives_the_events_of_the_next_run(self):
        clip, port = self.square(1), free_port()
        expected = self.printed(clip)
        address = f"http://127.0.0.1:{port}/"
        said = self.run_events(clip, "--webhook", address, "--linger", "0.3", status=1)
        self.assertIn("the server cannot be reached", said)
        self.assertIn(f"{len(expected)} events remain in", said)
        server = self.serve(port=port)
        self.run_events(clip, "--webhook", address)
        self.expect_all([event for event, _ in server.received], expected)
        count = len(server.received)
        self.run_events(clip, "--webhook", address)
        self.assertEqual(len(server.received), 2 * count - sum("again" in event for event, _ in server.received),
                         "a finished file is evaluated again")

    def test_server_that_is_no_web_server_is_reported_and_tried_again(self):
        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)

        def answer():
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    with connection:
                        connection.recv(1000)
                        connection.sendall(b"220 mail.example ESMTP\r\n")

        threading.Thread(target=answer, daemon=True).start()
        said = self.run_events(self.square(1), "--webhook", f"http://127.0.0.1:{server.getsockname()[1]}/", "--linger", "2",
                               status=1)
        self.assertIn("the server does not answer by HTTP: 220 mail.example ESMTP; events are kept", said)
        self.assertNotIn("Traceback", said)
        self.assertIn("events remain in", said)

    def test_full_queue_drops_the_oldest_and_reports_it(self):
        clip, port = self.square(2), free_port()
        expected = self.printed(clip)
        address = f"http://127.0.0.1:{port}/"
        said = self.run_events(clip, "--webhook", address, "--linger", "0", "--queue-limit", "2", status=1)
        self.assertIn("the queue has more than 2 events: the oldest are dropped", said)
        server = self.serve(port=port)
        self.run_events(clip, "--webhook", address, "--queue-limit", "2")
        events = [event for event, _ in server.received]
        self.assertEqual(events[0].pop("dropped"), len(expected) - 2)
        self.expect_all(events, expected[-2:])

    def test_queue_on_a_full_disk_is_reported_and_the_stream_goes_on(self):
        clip, server = self.square(8), self.serve()
        expected = self.printed(clip)
        # SQLite fails at a limit on the size of files as on a full disk.
        limits = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))}
        text = media.run(*self.command(clip, "--webhook", f"http://127.0.0.1:{server.server_port}/", "--linger", "1"), status=1,
                         **limits)
        self.assertRegex(text, "the queue .*events.sqlite cannot be written: .*; events are printed, but not sent")
        self.assertNotIn("Traceback", text)
        self.assertEqual([json.loads(line) for line in text.splitlines() if line.startswith("{")], expected)
        # With room again, the same command sends the rest.
        self.run_events(clip, "--webhook", f"http://127.0.0.1:{server.server_port}/")
        received = [event for event, _ in server.received]
        self.assertGreaterEqual(
            {json.dumps(without(event, "number", "again", "dropped"), sort_keys=True) for event in received},
            {json.dumps(event, sort_keys=True) for event in expected})

    def test_queue_of_another_program_is_refused(self):
        clip = self.square(1)
        server = self.serve(*[500] * 100)
        address = f"http://127.0.0.1:{server.server_port}/"
        first = subprocess.Popen([str(word) for word in self.command(clip, "--webhook", address)], stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        self.addCleanup(first.wait)
        self.addCleanup(first.kill)
        while not server.received and first.poll() is None:
            time.sleep(0.02)
        self.assertIn("another program uses it", self.run_events(clip, "--webhook", address, status=2))


if __name__ == "__main__":
    main()
