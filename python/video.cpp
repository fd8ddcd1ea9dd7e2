// The classes BackgroundCut and Tracker, whose algorithms keep state from picture to picture.
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <span>

#include "core/cclabel/cclabel.hpp"
#include "core/graphcutbg/graphcutbg.hpp"
#include "cpu/cclabel/region_tracker.hpp"
#include "python/arrays.hpp"
#include "python/cached_algorithms.hpp"
#include "python/module.hpp"

namespace regions::python {
namespace {

// Base class of the Python classes whose algorithms keep state from picture to picture.
template <class P>
class VideoAlgorithm {
 public:
  using Names = std::span<const char* const>;

  // `names` are the names of the fields of P that the Python class offers.
  VideoAlgorithm(Names names, const P& params) : names_(names), session_(params) {}
  virtual ~VideoAlgorithm() { destroy_algorithm(); }
  VideoAlgorithm(const VideoAlgorithm&) = delete;
  VideoAlgorithm& operator=(const VideoAlgorithm&) = delete;

  void set(const std::string& name, const std::string& value) {
    const Field& field = field_of(name);
    const Unlocked unlocked;
    const std::lock_guard lock(mutex_);
    session_.set_text(field, value);
    if (field.live()) return;
    if (field.change == Change::renegotiated && has_state_ && is_configured()) {
      wait();
      stored_state_ = algorithm_state();
      has_state_ = false;
    }
    requested_.reset();
  }

  std::string get(const std::string& name) {
    const Field& field = field_of(name);
    const Unlocked unlocked;
    const std::lock_guard lock(mutex_);
    return to_text(field, session_.get(field));
  }

  void reset() {
    const Unlocked unlocked;
    const std::lock_guard lock(mutex_);
    session_.reset();
  }

  // Returns the state that the algorithm has learned from pictures, or no bytes before the first
  // picture. load() accepts the bytes on any machine.
  nb::bytes state() {
    std::vector<std::byte> bytes;
    {
      const Unlocked unlocked;
      const AlgorithmCache::Use use;
      const std::lock_guard lock(mutex_);
      wait();
      bytes = stored_state_;
      if (bytes.empty() && has_state_ && is_configured()) bytes = algorithm_state();
    }
    return nb::bytes(bytes.data(), bytes.size());
  }

  // Continues with a state that state() has returned. The next picture must have the same size as
  // the pictures before. No bytes discard a state that no picture has used yet.
  void load(const nb::bytes& state) {
    const auto* first = static_cast<const std::byte*>(state.data());
    std::vector<std::byte> bytes(first, first + state.size());
    const Unlocked unlocked;
    const std::lock_guard lock(mutex_);
    wait();
    stored_state_ = std::move(bytes);
    if (stored_state_.empty()) return;
    has_state_ = false;
    requested_.reset();  // run() configures the algorithm, even if the setup is unchanged
  }

 protected:
  // The state of the configured algorithm, while it does no work.
  virtual std::vector<std::byte> algorithm_state() = 0;
  virtual void restore(std::span<const std::byte> state) = 0;

  // Starts the work of `task`. The caller holds mutex_ and an AlgorithmCache::Use. Before the work
  // starts, calls begin(is_new), where is_new is true if the algorithm has just been configured.
  // has_state() still returns whether it had a state before.
  template <class Begin>
  void run(const Target& target, FrameTask& task, Begin begin) {
    wait();  // the algorithm has memory for only one picture at a time
    Setup setup{.in = task.in.layout, .size = task.in.size()};
    setup.has_mask = !task.mask.empty();
    setup.mask = task.mask.layout;
    setup.has_output = !task.out.empty();
    setup.out = task.out.layout;
    const bool is_new = requested_ != setup || device_ != target.device;
    if (is_new) configure(setup, target);
    begin(is_new);
    if (is_new) {
      has_state_ = false;  // until the work has been enqueued
      if (!stored_state_.empty()) restore(stored_state_);
      stored_state_.clear();
    }
    requested_ = setup;
    queue_->run(target, [&](Queue& queue) { session_.enqueue(task, queue); });
    has_state_ = true;
  }

  void wait() {
    if (queue_) queue_->wait();
  }
  bool is_configured() const { return requested_.has_value(); }
  bool has_state() const { return has_state_; }
  Algorithm<P>& algorithm() { return session_.algorithm(); }
  P params() const { return session_.active(); }
  const RegionRecords& records() const { return records_; }

  std::mutex mutex_;  // guards all members; held during calls of the algorithm

 private:
  const Field& field_of(const std::string& name) const {
    expects(std::ranges::find(names_, name) != names_.end(),
            "unknown parameter '" + name + "' (see the class's documentation)");
    return find(session_.fields(), name);
  }

  void configure(Setup setup, const Target& target) {
    requested_.reset();
    if (!queue_ || device_ != target.device) {
      destroy_algorithm();
      queue_.emplace(target);
      device_ = target.device;
      session_.move_to(queue_->backend());
    }
    session_.commit();
    const P params = session_.active();
    plan(params, setup);
    session_.configure(setup, params);
    Backend& backend = *queue_->backend();
    const Backend::Entry entry(backend);
    records_ = RegionRecords(backend, setup.max_regions, false, false, 0, setup.tracks);
  }

  void destroy_algorithm() {
    if (!queue_) return;
    auto algorithm = session_.move_to(nullptr);
    queue_->destroy(algorithm, records_);
  }

  const Names names_;
  std::optional<DeviceQueue> queue_;
  int device_ = Target::kCpu;
  Session<P> session_;
  RegionRecords records_;  // for as many regions as the algorithm may find
  // The setup of the last configure(), without the values that the parameters determine. Empty if
  // the algorithm must be configured.
  std::optional<Setup> requested_;
  bool has_state_ = false;               // whether a picture has been processed
  std::vector<std::byte> stored_state_;  // the state of load(), until the next picture
};

// Returns a description of each field for Python: name, blurb, kind, default, minimum, maximum and
// the names of the choices.
template <class P>
std::vector<nb::tuple> descriptions_of(std::span<const char* const> names) {
  const P defaults;
  std::vector<nb::tuple> descriptions;
  for (const char* name : names) {
    const Field& field = find(fields_of(defaults), name);
    std::vector<std::string> choices;
    for (const Choice& choice : field.choices) choices.emplace_back(choice.name);
    descriptions.push_back(nb::make_tuple(field.name, field.blurb, static_cast<int>(field.kind),
                                          to_text(field, field.get(&defaults)), field.min,
                                          field.max, choices));
  }
  return descriptions;
}

using Bytes = nb::ndarray<nb::ro, uint8_t, nb::ndim<2>, nb::c_contig>;

using Picture = nb::ndarray<uint8_t, nb::c_contig>;

// The fields of graphcutbg that BackgroundCut offers: all except fields for other outputs than a
// replaced part, files and live pipelines.
constexpr const char* kBackgroundFields[] = {"source",
                                             "lambda",
                                             "sigma",
                                             "neighbours",
                                             "var-threshold",
                                             "shadow",
                                             "shadow-darkest",
                                             "foreground-colors",
                                             "learning-rate",
                                             "history",
                                             "freeze",
                                             "mask-foreground",
                                             "mask-background",
                                             "warm-start",
                                             "max-iterations",
                                             "time-budget",
                                             "feather",
                                             "replace-with",
                                             "replace-color",
                                             "blur",
                                             "pixelate",
                                             "grow",
                                             "hold"};

// A copy of a picture that the caller passes only once. The algorithm requires the picture again
// after each configure().
struct StoredPicture {
  std::vector<std::byte> bytes;
  PixelFormat format = PixelFormat::gray8;
  Size size;
};

// Returns the parameters for a cut that replaces this part of each picture, or for a cut that
// returns masks if the text is empty.
GraphCutBgParams parameters_replacing(const std::string& part) {
  if (part.empty()) return parameters<GraphCutBgParams>({{"output", "none"}});
  return parameters<GraphCutBgParams>({{"output", "replace"}, {"replace", part}});
}

// Implements BackgroundCut: the algorithm of graphcutbg for a video.
class BackgroundCut : public VideoAlgorithm<GraphCutBgParams> {
 public:
  explicit BackgroundCut(const std::string& replaced_part)
      : VideoAlgorithm(kBackgroundFields, parameters_replacing(replaced_part)),
        replaces_(!replaced_part.empty()) {}

  void store_picture(GraphCutPicture kind, const Pixels& pixels, bool is_bgr) {
    Target{}.expect_arrays(pixels);
    const ConstFrame frame = picture_of(pixels, order_of(is_bgr));
    StoredPicture& stored = stored_[static_cast<size_t>(kind)];
    stored.bytes.assign(frame.plane[0], frame.plane[0] + pixels.nbytes());
    stored.format = frame.layout.format;
    stored.size = frame.size();
  }

  // Processes the next picture. Writes to `out` the picture with a part replaced if the cut
  // replaces one. Otherwise sets `out` to 255 in the foreground and to 0 in the background.
  void apply(const Pixels& pixels, bool is_bgr, const std::optional<Bytes>& mask,
             const Picture& out, const TargetTuple& target_tuple) {
    const Target target = target_of(target_tuple);
    target.expect_arrays(pixels, out);
    FrameTask task{.in = picture_of(pixels, order_of(is_bgr))};
    const Size size = task.in.size();
    const size_t pixel_bytes = replaces_ && pixels.ndim() == 3 ? pixels.shape(2) : 1;
    expects(out.nbytes() == size.area() * pixel_bytes, "out must have the size of the picture");
    if (replaces_) {
      task.out = frame_at(reinterpret_cast<std::byte*>(out.data()), task.in.layout.format, size);
      task.out.memory = task.in.memory;
    } else {
      task.foreground = {out.data(), size.width, size.height, size.width};
    }
    if (mask) {
      target.expect_arrays(*mask);
      task.mask = picture_of(Pixels(*mask));
    }
    const Unlocked unlocked;
    const AlgorithmCache::Use use;
    const std::lock_guard lock(mutex_);
    run(target, task, [&](bool is_new) {
      expects(params().source != GraphCutSource::boxes,
              "source is 'boxes', but BackgroundCut has no boxes; use cut_box()");
      was_reconfigured_ = is_new && has_state();
      if (is_new) pass_stored_pictures();
    });
  }

  // Waits for the last picture. Returns the flow of its cut, whether the cut is exact, whether the
  // picture restarted the model, and the change of the scene.
  nb::tuple report() {
    GraphCutResult result{.cut = {.exact = true}};
    {
      const Unlocked unlocked;
      const std::lock_guard lock(mutex_);
      wait();
      if (is_configured()) result = cut().result(0);
    }
    return nb::make_tuple(result.cut.flow, result.cut.exact, result.restarted || was_reconfigured_,
                          name_of(result.change));
  }

 private:
  static ColorOrder order_of(bool is_bgr) { return is_bgr ? ColorOrder::bgr : ColorOrder::rgb; }
  GraphCutBg& cut() { return static_cast<GraphCutBg&>(algorithm()); }
  std::vector<std::byte> algorithm_state() override { return cut().state(); }
  void restore(std::span<const std::byte> state) override { cut().restore(state); }

  void pass_stored_pictures() {
    for (const auto kind : {GraphCutPicture::background_image, GraphCutPicture::exclusion_image,
                            GraphCutPicture::replace_image}) {
      const StoredPicture& stored = stored_[static_cast<size_t>(kind)];
      if (stored.bytes.empty()) continue;
      cut().set_picture(kind, frame_at(stored.bytes.data(), stored.format, stored.size));
    }
  }

  const bool replaces_;            // whether apply() writes a picture, not a mask
  StoredPicture stored_[3];        // [GraphCutPicture], empty if the caller passed no picture
  bool was_reconfigured_ = false;  // whether the last picture had another size or type than before
};

// The fields of cclabel that Tracker offers.
constexpr const char* kTrackerFields[] = {
    "criterion", "threshold",  "tolerance",   "connectivity", "min-area",
    "max-area",  "fill-holes", "max-regions", "track-birth",  "track-memory"};

// Implements Tracker: the algorithm of cclabel with the parameter `track`, for a video.
class Tracker : public VideoAlgorithm<CcLabelParams> {
 public:
  Tracker()
      : VideoAlgorithm(kTrackerFields,
                       parameters<CcLabelParams>({{"output", "none"}, {"track", "true"}})) {}

  // Labels the next picture. Returns the number of regions; the track of each region with a record,
  // for how many pictures it has been still, and the track that it is a part of; the numbers of
  // births, deaths, splits, merges and lost tracks; and the ids of tracks. On a device, it returns
  // None instead of the ids.
  nb::tuple apply(const Pixels& pixels, const Labels& labels, const TargetTuple& target_tuple) {
    const Target target = target_of(target_tuple);
    target.expect_arrays(pixels, labels);
    FrameTask task{.in = picture_of(pixels)};
    const Voxels voxels{AnyArray(labels)};
    expects(labels.ndim() == 2 && voxels.slice == task.in.size(),
            "labels must have the size of the picture");
    task.labels = {reinterpret_cast<uint32_t*>(labels.data()), voxels.slice.width,
                   voxels.slice.height, voxels.pitch};
    uint32_t total = 0;
    std::vector<std::array<uint32_t, 3>> tracks;
    TrackEvents events;
    std::optional<TrackChanges> changes;
    {
      const Unlocked unlocked;
      const AlgorithmCache::Use use;
      const std::lock_guard lock(mutex_);
      run(target, task, [&](bool) {
        task.table = records().table();
        task.table.occluded_tracks = nullptr;
      });
      wait();
      total = records().total();
      const uint32_t count = std::min(total, task.table.capacity);
      for (uint32_t i = 0; i < count; ++i) {
        const TrackState& state = records().track_states(count)[i];
        tracks.push_back({records().regions(count)[i].track, state.still, state.part_of});
      }
      events = static_cast<CcLabel&>(algorithm()).track_events(0);
      if (target.is_cpu()) changes = tracker().changes();
    }
    return nb::make_tuple(total, tracks,
                          std::vector<uint32_t>{events.births, events.deaths, events.splits,
                                                events.merges, events.lost},
                          ids_of(changes));
  }

 private:
  std::vector<std::byte> algorithm_state() override { return tracker().state(); }
  void restore(std::span<const std::byte> state) override { tracker().restore(state); }

  regions::Tracker& tracker() {
    auto* const access = dynamic_cast<TrackAccess*>(&algorithm());
    expects(access != nullptr, "tracks on a CUDA device cannot be saved or restored");
    return access->tracker();
  }

  // Returns lists of the ids that are born, ended and lost, and of the pairs that merged.
  static nb::object ids_of(const std::optional<TrackChanges>& changes) {
    if (!changes) return nb::none();
    std::vector<std::pair<uint32_t, uint32_t>> merged;
    for (const auto& [id, host] : changes->merged) merged.emplace_back(id, host);
    return nb::make_tuple(changes->born, changes->ended, changes->lost, merged);
  }
};

}  // namespace

void bind_video(nb::module_& module) {
  module.def("background_fields",
             [] { return descriptions_of<GraphCutBgParams>(kBackgroundFields); });
  nb::class_<BackgroundCut>(module, "BackgroundCut")
      .def(nb::init<const std::string&>())
      .def("set", &BackgroundCut::set)
      .def("get", &BackgroundCut::get)
      .def("reset", &BackgroundCut::reset)
      .def("give_background",
           [](BackgroundCut& cut, const Pixels& pixels, bool is_bgr) {
             cut.store_picture(GraphCutPicture::background_image, pixels, is_bgr);
           })
      .def("give_exclusion",
           [](BackgroundCut& cut, const Pixels& pixels) {
             cut.store_picture(GraphCutPicture::exclusion_image, pixels, false);
           })
      .def("give_replace_image",
           [](BackgroundCut& cut, const Pixels& pixels, bool is_bgr) {
             cut.store_picture(GraphCutPicture::replace_image, pixels, is_bgr);
           })
      .def("report", &BackgroundCut::report)
      .def("state", &BackgroundCut::state)
      .def("load", &BackgroundCut::load)
      .def("apply", &BackgroundCut::apply, nb::arg("pixels"), nb::arg("is_bgr"),
           nb::arg("mask").none(), nb::arg("out"), nb::arg("target"));
  module.def("tracker_fields", [] { return descriptions_of<CcLabelParams>(kTrackerFields); });
  nb::class_<Tracker>(module, "Tracker")
      .def(nb::init<>())
      .def("set", &Tracker::set)
      .def("get", &Tracker::get)
      .def("reset", &Tracker::reset)
      .def("state", &Tracker::state)
      .def("load", &Tracker::load)
      .def("apply", &Tracker::apply);
}

}  // namespace regions::python
