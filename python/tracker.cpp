// The class Tracker: cclabel with `track` for a video.
#include "core/cclabel/cclabel.hpp"
#include "python/arrays.hpp"
#include "python/bindings.hpp"
#include "python/stream.hpp"

namespace regions::python {
namespace {

constexpr const char* kNames[] = {"criterion",   "threshold",   "tolerance",  "connectivity",
                                  "min-area",    "max-area",    "fill-holes", "max-regions",
                                  "track-birth", "track-memory"};

class Tracker : public Stream<CcLabelParams> {
 public:
  Tracker() : Stream(kNames) {
    params_.output = CcOutput::none;
    params_.track = true;
  }

  // Returns the number of regions, the track of each recorded region, and the numbers of births,
  // deaths, splits, merges and lost tracks.
  nb::tuple apply(const Pixels& pixels, const Labels& labels, const PlaceWords& words) {
    const Place place = place_of(words);
    place.expects_holds(pixels, labels);
    Job job{.in = picture_of(pixels)};
    const Voxels voxels{AnyArray(labels)};
    expects(labels.ndim() == 2 && voxels.slice == job.in.size(),
            "labels must have the size of the picture");
    job.labels = {reinterpret_cast<uint32_t*>(labels.data()), voxels.slice.width,
                  voxels.slice.height, voxels.pitch};
    uint32_t total = 0;
    std::vector<uint32_t> tracks;
    TrackReport report;
    {
      const Unlocked unlocked;
      const Engines::Use use;
      const std::lock_guard lock(mutex_);
      run(place, job, [&](bool) {
        const auto capacity = static_cast<uint32_t>(params_.max_regions);
        std::byte* numbers = pinned(capacity * sizeof(Region) + sizeof(uint32_t));
        job.table = {.regions = reinterpret_cast<Region*>(numbers),
                     .capacity = capacity,
                     .total = reinterpret_cast<uint32_t*>(numbers + capacity * sizeof(Region))};
      });
      wait();
      total = *job.table.total;
      for (uint32_t i = 0; i < std::min(total, job.table.capacity); ++i) {
        tracks.push_back(job.table.regions[i].track);
      }
      report = static_cast<CcLabel&>(algorithm()).track_report(0);
    }
    return nb::make_tuple(total, tracks,
                          std::vector<uint32_t>{report.births, report.deaths, report.splits,
                                                report.merges, report.lost});
  }
};

}  // namespace

void bind_tracker(nb::module_& module) {
  module.def("tracker_fields", [] { return words_of<CcLabelParams>(kNames); });
  nb::class_<Tracker>(module, "Tracker")
      .def(nb::init<>())
      .def("set", &Tracker::set)
      .def("get", &Tracker::get)
      .def("reset", &Tracker::reset)
      .def("apply", &Tracker::apply);
}

}  // namespace regions::python
