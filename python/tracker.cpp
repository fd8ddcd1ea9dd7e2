// Regions followed from picture to picture: cclabel with `track` as an object.
#include "core/cclabel/cclabel.hpp"
#include "python/arrays.hpp"
#include "python/bindings.hpp"
#include "python/stream.hpp"

namespace regions::python {
namespace {

constexpr const char* kNames[] = {"criterion",    "threshold",   "tolerance",
                                  "connectivity", "min-area",    "max-area",
                                  "fill-holes",   "max-regions", "track-memory"};

class Tracker : public Stream<CcLabelParams> {
 public:
  explicit Tracker(int threads) : Stream(threads, kNames) {
    params_.output = CcOutput::none;
    params_.track = true;
  }

  // Returns how many regions there are, the tracks of those that are recorded, and what became of
  // regions: births, deaths, splits, merges, lost.
  nb::tuple apply(const Pixels& pixels, const Labels& labels) {
    Job job{.in = picture_of(pixels)};
    const Voxels voxels{AnyArray(labels)};
    expects(labels.ndim() == 2 && voxels.slice == job.in.size(), "labels have the picture's size");
    job.labels = {reinterpret_cast<uint32_t*>(labels.data()), voxels.slice.width,
                  voxels.slice.height, voxels.pitch};
    uint32_t total = 0;
    std::vector<uint32_t> tracks;
    TrackReport report;
    {
      const Unlocked unlocked;
      const auto begin = [&](bool is_new) {
        if (is_new) records_.resize(static_cast<size_t>(params_.max_regions));
        job.table = {.regions = records_.data(),
                     .capacity = static_cast<uint32_t>(records_.size()),
                     .total = &total};
      };
      report = run(job, begin, [&] {
        for (size_t i = 0; i < std::min<size_t>(total, records_.size()); ++i) {
          tracks.push_back(records_[i].track);
        }
        return static_cast<CcLabel&>(algorithm()).track_report(0);
      });
    }
    return nb::make_tuple(total, tracks,
                          std::vector<uint32_t>{report.births, report.deaths, report.splits,
                                                report.merges, report.lost});
  }

 private:
  std::vector<Region> records_;  // of the last picture
};

}  // namespace

void bind_tracker(nb::module_& module) {
  module.def("tracker_fields", [] { return words_of<CcLabelParams>(kNames); });
  nb::class_<Tracker>(module, "Tracker")
      .def(nb::init<int>())
      .def("set", &Tracker::set)
      .def("get", &Tracker::get)
      .def("reset", &Tracker::reset)
      .def("apply", &Tracker::apply);
}

}  // namespace regions::python
