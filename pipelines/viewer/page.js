"use strict";
// The page of pipelines/view. A picture and its regions arrive together, or have the same timestamp, and are drawn together.

const SVG = "http://www.w3.org/2000/svg";
const TRAIL = 60; // positions of the selected track
const CHART = 300; // seconds
const MOST_LISTED = 200; // events
const REMEMBERED = 120; // frames whose regions wait for their picture by WebRTC
const EXACT = "MediaStreamTrackProcessor" in window && "VideoFrame" in window && "metadata" in VideoFrame.prototype;
const find = (selector, root = document) => root.querySelector(selector);
const setting = (id) => find("#" + id).checked;

function made(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key in element && key !== "list") element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

// Makes `count` children of an SVG group, reusing those that it has.
function pool(group, name, count) {
  while (group.childElementCount < count) group.append(document.createElementNS(SVG, name));
  while (group.childElementCount > count) group.lastChild.remove();
  return [...group.children];
}

function set(element, attributes) {
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
}

async function ask(path, body) {
  const options = body === undefined ? {} : {
    method: "PUT", headers: {"Content-Type": "application/json"}, body: typeof body === "string" ? body : JSON.stringify(body)};
  const answer = await fetch(path, options);
  const text = await answer.text();
  let found = null;
  try { found = JSON.parse(text); } catch { /* errors may be plain text */ }
  if (!answer.ok) throw new Error(found?.problem ?? text);
  return found;
}

function complain(text) {
  const place = find("#problem");
  place.textContent = text;
  place.hidden = !text;
}

// The border of regions as a path. `runs` are quadruples: id, x, y, width, sorted by id, y and x.
function outline_of(runs) {
  const path = [];
  let above = [], row = [], id = -1, y = -1;
  const flat = (at) => { // borders between two rows: where exactly one of them has a pixel
    const ends = [...above, ...row].sort((a, b) => a - b);
    for (let i = 0; i + 1 < ends.length; i += 2)
      if (ends[i] < ends[i + 1]) path.push(`M${ends[i]},${at}H${ends[i + 1]}`);
  };
  const next_row = () => { flat(y); above = row; row = []; };
  const end = () => { if (id >= 0) { next_row(); flat(y + 1); above = []; } };
  for (let i = 0; i < runs.length; i += 4) {
    const [one, x, top, width] = runs.slice(i, i + 4);
    if (one !== id) { end(); id = one; y = top; }
    else if (top !== y) {
      next_row();
      if (top !== y + 1) { flat(y + 1); above = []; }
      y = top;
    }
    row.push(x, x + width);
    path.push(`M${x},${y}v1M${x + width},${y}v1`);
  }
  end();
  return path.join("");
}

class Stream {
  constructor(number, about) {
    this.number = number;
    this.name = about.name;
    this.root = find("#stream").content.firstElementChild.cloneNode(true);
    this.canvas = find("canvas", this.root);
    this.video = find("video", this.root);
    this.drawing = find(".drawing", this.root);
    this.frame = null; // regions of the picture that is shown
    this.selected = 0; // track
    this.trail = [];
    this.frames = new Map(); // by RTP timestamp
    this.seconds = []; // [regions, share, frames] of each second
    this.draft = []; // points of the shape that is being drawn
    find(".name", this.root).textContent = about.name;
    find(".name", this.root).onclick = () => choose(this);
    this.state(about);
    this.listen();
    find("#streams").append(this.root);
    this.connect(1000);
    this.callbacks();
  }

  // ---- connection

  connect(pause) {
    this.socket = new WebSocket(`${location.protocol.replace("http", "ws")}//${location.host}/streams/${this.number}/live`);
    this.socket.binaryType = "arraybuffer";
    this.socket.onopen = () => {
      pause = 1000;
      complain("");
      this.want();
      if (this.was_lost) refresh();
      this.was_lost = false;
    };
    this.socket.onmessage = (message) => typeof message.data === "string" ? this.hear(JSON.parse(message.data))
      : this.show_picture(message.data);
    this.socket.onclose = () => {
      this.was_lost = true;
      this.end_video();
      find(".state", this.root).textContent = "not connected, trying again";
      setTimeout(() => this.connect(Math.min(pause * 2, 5000)), pause);
    };
  }

  send(command) {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(command));
  }

  want() {
    const wanted = find("#transport").value;
    if (wanted !== "video") this.end_video();
    this.video.hidden = wanted !== "video" || EXACT;
    this.canvas.hidden = !this.video.hidden;
    this.send({do: "want", what: wanted, runs: setting("outlines")});
  }

  hear(note) {
    if (note.kind === "state") this.state(note);
    else if (note.kind === "entry") { if (this.number === 0) list_event(note.entry); }
    else if (note.kind === "rules") { if (chosen === this) load_rules(); }
    else if (note.kind === "offer") this.answer(note.sdp);
    else if (note.kind === "candidate") this.peer?.addIceCandidate({sdpMLineIndex: note.line, candidate: note.candidate});
    else if ("rtp" in note) {
      this.frames.set(note.rtp, note);
      if (this.frames.size > REMEMBERED) this.frames.delete(this.frames.keys().next().value);
    }
  }

  state(about) {
    this.size = about.size ?? this.size;
    find(".state", this.root).textContent = about.state + (about.warning ? ` – ${about.warning}` : "");
  }

  // ---- JPEG pictures

  async show_picture(data) {
    const length = new DataView(data).getUint32(0, true);
    const frame = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length)));
    try {
      const picture = await createImageBitmap(new Blob([new Uint8Array(data, 4 + length)], {type: "image/jpeg"}));
      // A hidden page draws nothing and does not answer, so the server sends no more pictures.
      requestAnimationFrame(() => {
        this.show(picture, picture.width, picture.height);
        this.draw(frame);
        this.send({do: "shown", count: 1});
      });
    } catch {
      this.send({do: "shown", count: 1}); // a damaged picture
    }
  }

  // ---- WebRTC

  async answer(sdp) {
    this.peer?.close();
    const peer = this.peer = new RTCPeerConnection();
    peer.ontrack = (event) => {
      if ("jitterBufferTarget" in event.receiver) event.receiver.jitterBufferTarget = 0;
      if (EXACT) this.show_track(event.track);
      else this.video.srcObject = new MediaStream([event.track]);
    };
    peer.onicecandidate = (event) => event.candidate && this.send(
      {do: "candidate", line: event.candidate.sdpMLineIndex ?? 0, candidate: event.candidate.candidate});
    peer.onconnectionstatechange = () => {
      if (peer === this.peer && peer.connectionState === "failed") this.fall_back();
    };
    try {
      await peer.setRemoteDescription({type: "offer", sdp});
      const answer = await peer.createAnswer();
      await peer.setLocalDescription(answer);
      if (!/ H264\//i.test(answer.sdp)) throw new Error("no H.264");
      this.send({do: "answer", sdp: answer.sdp});
    } catch {
      this.fall_back();
    }
  }

  fall_back() {
    complain("WebRTC does not work here: showing JPEG pictures");
    find("#transport").value = "pictures";
    streams.forEach((stream) => stream.want());
  }

  end_video() {
    this.peer?.close();
    this.peer = null;
    this.video.srcObject = null;
  }

  // The regions of a video frame. Some browsers do not report the timestamp: the newest regions are close.
  regions_at(rtp) {
    if (rtp === undefined) return [...this.frames.values()].at(-1);
    return this.frames.get(rtp) ?? this.frames.get(rtp + 1) ?? this.frames.get(rtp - 1);
  }

  show(picture, width, height) {
    if (this.canvas.width !== width) this.canvas.width = width;
    if (this.canvas.height !== height) this.canvas.height = height;
    this.canvas.getContext("2d").drawImage(picture, 0, 0);
    picture.close();
  }

  // Draws each video frame together with its regions.
  async show_track(track) {
    const reader = new MediaStreamTrackProcessor({track, maxBufferSize: 2}).readable.getReader();
    for (let got = await reader.read(); !got.done; got = await reader.read()) {
      const picture = got.value, frame = this.regions_at(picture.metadata().rtpTimestamp);
      if (this.peer && frame) {
        this.show(picture, picture.displayWidth, picture.displayHeight);
        this.draw(frame);
      } else {
        picture.close();
      }
    }
  }

  // For browsers that give no access to the frames: draws the regions of each frame when the browser is about to show it. The
  // frame that is shown can be the next one if the page is busy.
  callbacks() {
    if (EXACT || !this.video.requestVideoFrameCallback) return;
    const shown = (_now, about) => {
      const frame = this.regions_at(about.rtpTimestamp);
      if (frame && find("#transport").value === "video") this.draw(frame);
      this.video.requestVideoFrameCallback(shown);
    };
    this.video.requestVideoFrameCallback(shown);
  }

  // ---- drawing

  draw(frame) {
    this.frame = frame;
    const {width, height} = frame;
    this.drawing.dataset.pts = frame.pts;
    this.drawing.dataset.time = frame.time;
    if (!width) return;
    const box = `0 0 ${width} ${height}`;
    if (this.drawing.getAttribute("viewBox") !== box) this.drawing.setAttribute("viewBox", box);
    const text_size = Math.max(width / 50, 8);
    this.draw_regions(frame.regions, text_size);
    const rules = setting("rules");
    const lines = rules ? frame.shapes ?? [] : [];
    pool(find(".rules", this.drawing), "line", lines.length).forEach((line, i) => {
      const [x1, y1, x2, y2, color, thickness] = lines[i];
      set(line, {x1, y1, x2, y2, stroke: `#${color.toString(16).padStart(6, "0")}`, "stroke-width": thickness});
    });
    const numbers = rules ? frame.numbers ?? [] : [];
    pool(find(".numbers", this.drawing), "text", numbers.length).forEach((text, i) => {
      set(text, {x: numbers[i][0], y: numbers[i][1], "font-size": text_size, "text-anchor": "middle"});
      text.textContent = numbers[i][2];
    });
    const paths = setting("outlines") && frame.runs?.length ? 1 : 0;
    pool(find(".outlines", this.drawing), "path", paths).forEach((path) => path.setAttribute("d", outline_of(frame.runs)));
    this.count(frame);
  }

  draw_regions(regions, text_size) {
    const with_boxes = setting("boxes"), with_ids = setting("ids");
    const group = find(".regions", this.drawing);
    pool(group, "g", regions.length).forEach((each, i) => {
      const [id, track, x, y, width, height] = regions[i];
      if (!each.firstChild) each.append(document.createElementNS(SVG, "rect"), document.createElementNS(SVG, "text"));
      const [rect, text] = each.children;
      const is_selected = track && track === this.selected;
      set(rect, {x, y, width, height, class: is_selected ? "selected" : track ? "" : "piece",
        "stroke-opacity": with_boxes || is_selected ? 1 : 0});
      rect.dataset.track = track;
      set(text, {x, y: Math.max(y - text_size / 4, text_size), "font-size": text_size});
      text.textContent = with_ids && track ? track : "";
      if (is_selected) this.trail.push(`${x + width / 2},${y + height}`);
    });
    this.trail = this.trail.slice(-TRAIL);
    find(".trail", this.drawing).setAttribute("d", this.trail.length > 1 ? "M" + this.trail.join("L") : "");
  }

  count(frame) {
    const words = [`${frame.total} regions`];
    for (const [name, inside, entered, left] of frame.zones ?? []) words.push(`${name}: ${inside} inside, ${entered} in, ${left} out`);
    for (const [name, to_left, to_right] of frame.lines ?? []) words.push(`${name}: ${to_left} to the left, ${to_right} to the right`);
    if (frame.scene && frame.scene !== "none") words.push(`scene: ${frame.scene}`);
    find(".counts", this.root).textContent = words.join(" · ");
    const second = Math.floor(performance.now() / 1000);
    const last = this.seconds.at(-1);
    if (last?.second === second) {
      last.total += frame.total; last.share += frame.share ?? 0; last.frames += 1;
      return;
    }
    this.seconds.push({second, total: frame.total, share: frame.share ?? 0, frames: 1});
    this.seconds = this.seconds.slice(-CHART);
    for (const name of ["total", "share"]) {
      const values = this.seconds.map((each) => each[name] / each.frames);
      const most = Math.max(...values, name === "total" ? 1 : .001);
      find(`.chart .${name}`, this.root).setAttribute("points", values.map(
        (value, i) => `${CHART - values.length + i},${38 - 36 * value / most}`).join(" "));
      find(`.legend .${name}`, this.root).textContent = name === "total" ? `regions, at most ${most.toFixed(1)}`
        : `foreground, at most ${(100 * most).toFixed(1)} %`;
    }
  }

  select(track) {
    this.selected = track;
    this.trail = [];
    if (this.frame) this.draw_regions(this.frame.regions, Math.max(this.frame.width / 50, 8));
  }

  // ---- pointer and keyboard

  point_of(event) {
    const box = this.drawing.getBoundingClientRect();
    const limit = (value, most) => Math.round(Math.min(Math.max(value, 0), 1) * most * 10) / 10;
    return [limit((event.clientX - box.left) / box.width, this.frame.width),
      limit((event.clientY - box.top) / box.height, this.frame.height)];
  }

  listen() {
    let began = null;
    this.drawing.onpointerdown = (event) => {
      choose(this);
      if (!this.frame || event.button) return;
      began = this.point_of(event);
      if (mode) this.drawing.setPointerCapture(event.pointerId);
    };
    this.drawing.onpointermove = (event) => {
      if (!mode || !this.frame) return;
      const at = this.point_of(event);
      if (began && far(began, at) > 3) this.show_draft(mode === "line" ? [began, at] : rectangle(began, at));
      else if (this.draft.length) this.show_draft([...this.draft, at]);
    };
    this.drawing.onpointerup = (event) => {
      if (!began || !this.frame) return;
      const from = began, at = this.point_of(event), was_dragged = far(from, at) > 3;
      began = null;
      if (!mode) {
        if (!was_dragged) this.click(at, event);
      } else if (was_dragged && !this.draft.length) {
        this.finish(mode === "line" ? [from, at] : rectangle(from, at));
      } else {
        this.add_point(at);
      }
    };
    this.drawing.onpointercancel = () => { began = null; };
    this.drawing.ondblclick = () => { if (mode && this.draft.length) this.finish(this.draft); };
    this.drawing.onkeydown = (event) => this.key(event);
    this.drawing.onblur = () => this.show_cursor(null);
  }

  click([x, y], event) {
    const button = event.shiftKey ? 3 : 1; // cclabel: 1 sets a seed, 3 adds one, 2 removes all
    this.send({do: "click", x, y, button});
    const hits = this.frame.regions.filter(([, track, left, top, width, height]) =>
      track && x >= left && x < left + width && y >= top && y < top + height);
    this.select(hits.length ? hits.at(-1)[1] : 0); // the smallest of them
  }

  key(event) {
    if (!this.frame) return;
    const {width, height} = this.frame;
    const step = width / (event.shiftKey ? 20 : 100);
    const move = {ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step]}[event.key];
    if (move) {
      const [x, y] = this.cursor ?? [width / 2, height / 2];
      this.show_cursor([Math.min(Math.max(x + move[0], 0), width), Math.min(Math.max(y + move[1], 0), height)]);
    } else if (event.key === " " && this.cursor) {
      if (mode) this.add_point(this.cursor);
      else this.click(this.cursor, event);
    } else if (event.key === "Enter" && this.draft.length) {
      this.finish(this.draft);
    } else if (event.key === "n") {
      const tracks = this.frame.regions.map((region) => region[1]).filter(Boolean).sort((a, b) => a - b);
      this.select(tracks.find((track) => track > this.selected) ?? tracks[0] ?? 0);
    } else if (event.key === "Escape") {
      this.send({do: "click", x: 0, y: 0, button: 2});
      this.select(0);
      draw_mode("");
    } else if (event.key === "z" || event.key === "l") {
      choose(this);
      draw_mode(event.key === "z" ? "zone" : "line");
    } else {
      return;
    }
    event.preventDefault();
  }

  show_cursor(at) {
    this.cursor = at;
    const size = this.frame ? this.frame.width / 50 : 0;
    find(".cursor", this.drawing).setAttribute("d", at ? `M${at[0] - size},${at[1]}h${2 * size}M${at[0]},${at[1] - size}v${2 * size}` : "");
  }

  add_point(at) {
    this.draft.push(at);
    this.show_draft(this.draft);
    if (mode === "line" && this.draft.length === 2) this.finish(this.draft);
  }

  show_draft(points) {
    find(".draft", this.drawing).setAttribute("d", points.length ? "M" + points.join("L") + (mode === "zone" ? "Z" : "") : "");
  }

  async finish(points) {
    points = points.filter((point, i) => !i || far(point, points[i - 1]) > 0);
    const kind = mode;
    draw_mode("");
    if (points.length >= (kind === "line" ? 2 : 3)) await add_rule(this, kind, points);
    else refuse(kind === "line" ? "A line has two points." : "A zone has at least three points.");
  }
}

const far = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]);
const rectangle = (a, b) => [a, [b[0], a[1]], b, [a[0], b[1]]];

// ---- zones and lines of the chosen stream

let streams = [], chosen = null, mode = "", rules = {};

function choose(stream) {
  if (chosen === stream) return;
  chosen = stream;
  for (const each of streams) each.root.setAttribute("aria-current", each === stream);
  for (const place of document.querySelectorAll(".chosen")) place.textContent = streams.length > 1 ? stream.name : "";
  load_rules();
  load_properties();
}

function draw_mode(kind) {
  mode = kind;
  for (const stream of streams) {
    stream.draft = [];
    stream.show_draft([]);
    stream.drawing.classList.toggle("drawing-now", Boolean(kind));
  }
  find("#draw-zone").setAttribute("aria-pressed", kind === "zone");
  find("#draw-line").setAttribute("aria-pressed", kind === "line");
  find("#hint").textContent = {zone: "Drag a rectangle, or click the corners and press Enter. Arrow keys and space also work.",
    line: "Drag from one end to the other. Objects cross to the left or right of this direction.", "": ""}[kind];
  if (kind) find("#name").placeholder = free_name(kind);
}

function refuse(text) {
  find("#refused").textContent = text;
}

// Lists of zones and of lines inside the rules, which have several forms.
function lists_of(document_) {
  if (Array.isArray(document_)) return [document_];
  return ["zones", "lines", "tripwires"].map((name) => document_[name]).filter(Array.isArray);
}

function free_name(kind) {
  const taken = new Set(lists_of(rules).flat().map((rule) => rule?.id));
  let number = 1;
  while (taken.has(`${kind} ${number}`)) number += 1;
  return `${kind} ${number}`;
}

async function add_rule(stream, kind, points) {
  const changed = structuredClone(rules), {width, height} = stream.frame;
  if (!Array.isArray(changed) && !lists_of(changed).flat().length && !changed.units && !changed.width)
    Object.assign(changed, {width, height});
  const [across, down, digits] = changed.units === "fractions" ? [width, height, 1e5]
    : changed.width ? [width / changed.width, height / changed.height, 10] : [1, 1, 10];
  const scaled = points.map(([x, y]) => [Math.round(x / across * digits) / digits, Math.round(y / down * digits) / digits]);
  const rule = {id: find("#name").value.trim() || free_name(kind), points: scaled};
  if (Array.isArray(changed)) changed.push(rule);
  else {
    const list = kind === "line" && changed.tripwires ? "tripwires" : kind + "s";
    changed[list] = [...changed[list] ?? [], rule];
  }
  find("#name").value = "";
  await save_rules(changed);
}

async function save_rules(changed) {
  try {
    await ask(`/api/streams/${chosen.number}/rules`, changed);
    refuse("");
    await load_rules();
  } catch (problem) {
    refuse(problem.message);
  }
}

async function load_rules() {
  rules = await ask(`/api/streams/${chosen.number}/rules`);
  find("#text").value = JSON.stringify(rules, null, 1);
  const list = find("#shapes");
  list.replaceChildren();
  for (const part of lists_of(rules)) {
    for (const rule of part) {
      const remove = made("button", {textContent: "Remove", ariaLabel: `Remove ${rule.id}`, onclick: () => {
        part.splice(part.indexOf(rule), 1);
        save_rules(rules);
      }});
      list.append(made("li", {}, made("span", {textContent: rule.id}), remove));
    }
  }
}

// ---- properties of the chosen stream

async function load_properties() {
  const elements = await ask(`/api/streams/${chosen.number}/properties`);
  find("#properties").replaceChildren(...elements.map((each, at) => made("fieldset", {},
    made("legend", {textContent: each.element}), ...each.properties.map((property) => property_row(at, property)))));
}

function property_row(at, property) {
  const {name, kind, value} = property;
  let input;
  if (kind === "switch") input = made("input", {type: "checkbox", checked: value === "true"});
  else if (kind === "choice") input = made("select", {}, ...property.choices.map((each) => made("option", {textContent: each})));
  else if (kind === "number") input = made("input", {type: "number", min: property.least, max: property.most,
    step: property.whole ? 1 : "any"});
  else input = made("input", {type: "text"});
  if (kind !== "switch") input.value = value;
  input.name = name;
  const problem = made("em");
  const row = made("label", {className: "property", title: property.blurb}, name, input, problem);
  input.onchange = async () => {
    try {
      await ask(`/api/streams/${chosen.number}/properties`,
        {element: at, name, value: kind === "switch" ? String(input.checked) : input.value});
      problem.textContent = "";
    } catch (refusal) {
      problem.textContent = refusal.message;
    }
  };
  return row;
}

// ---- events

function title_of(entry) {
  const first = entry.events[0] ?? {};
  const words = [first.event ?? "event", first.zone ?? first.line, first.change].filter(Boolean).join(" ");
  return entry.events.length > 1 ? `${words} and ${entry.events.length - 1} more` : words;
}

function list_event(entry) {
  const list = find("#events");
  const old = list.querySelector(`[data-name="${CSS.escape(entry.name)}"]`);
  if (entry.removed) {
    old?.remove();
    return;
  }
  const when = entry.time ? new Date(entry.time).toLocaleString() : "";
  const state = entry.problem ? `no clip: ${entry.problem}` : entry.clip === "writing" ? "recording" : "";
  const item = made("li", {}, made("button", {onclick: () => play(entry)},
    made("img", entry.picture ? {src: `/events/${entry.name}.jpg`, alt: "", loading: "lazy"} : {alt: ""}),
    made("span", {}, made("strong", {textContent: title_of(entry)}), made("br"),
      made("small", {textContent: [when, streams.length > 1 ? entry.source : ""].filter(Boolean).join(" · ")}), made("br"),
      made("small", {className: entry.problem ? "problem" : "", textContent: state}))));
  item.dataset.name = entry.name;
  if (old) old.replaceWith(item);
  else list.prepend(item);
  while (list.childElementCount > MOST_LISTED) list.lastChild.remove();
  find("#no-events").hidden = true;
}

function play(entry) {
  const dialog = find("#clip"), video = find("video", dialog), image = find("img", dialog), has_clip = entry.clip === true;
  find("h2", dialog).textContent = title_of(entry);
  video.hidden = !has_clip;
  image.hidden = has_clip || !entry.picture;
  if (has_clip) video.src = `/events/${entry.name}.mp4`;
  else if (entry.picture) image.src = `/events/${entry.name}.jpg`;
  find("pre", dialog).textContent = entry.events.map((event) => JSON.stringify(event)).join("\n");
  dialog.showModal();
}

// ---- the page

async function list_events() {
  const entries = await ask("/api/events");
  find("#events").replaceChildren();
  entries.reverse().forEach(list_event);
}

// After a new connection. The program may have started again.
async function refresh() {
  try {
    await Promise.all([list_events(), load_rules(), load_properties()]);
  } catch (problem) {
    complain(problem.message);
  }
}

async function start() {
  const about = await ask("/api/streams");
  const video = find("#transport option[value=video]");
  video.disabled = !about.webrtc || !window.RTCPeerConnection || !HTMLVideoElement.prototype.requestVideoFrameCallback;
  video.title = about["no-webrtc"] ?? "";
  streams = about.streams.map((stream, number) => new Stream(number, stream));
  choose(streams[0]);
  for (const id of ["transport", "outlines"]) find("#" + id).onchange = () => streams.forEach((stream) => stream.want());
  find("#draw-zone").onclick = () => draw_mode(mode === "zone" ? "" : "zone");
  find("#draw-line").onclick = () => draw_mode(mode === "line" ? "" : "line");
  find("#save").onclick = () => {
    let text = find("#text").value;
    try { JSON.parse(text); } catch (problem) { refuse(problem.message); return; }
    save_rules(text);
  };
  find("#close").onclick = () => find("#clip").close();
  find("#clip").onclose = () => find("#clip video").removeAttribute("src");
  await list_events();
}

start().catch((problem) => complain(problem.message));
