// The class BackgroundCut: the algorithm of graphcutbg for a video.
#include <nanobind/stl/optional.h>

#include "core/graphcutbg/graphcutbg.hpp"
#include "python/arrays.hpp"
#include "python/bindings.hpp"
#include "python/stream.hpp"

namespace regions::python {
namespace {

using Bytes = nb::ndarray<nb::ro, uint8_t, nb::ndim<2>, nb::c_contig>;
using Foreground = nb::ndarray<uint8_t, nb::ndim<2>, nb::c_contig>;

// All fields except the ones for output pictures, files and live pipelines.
constexpr const char* kNames[] = {
    "source",          "lambda",     "sigma",          "neighbours",
    "var-threshold",   "shadow",     "shadow-darkest", "foreground-colors",
    "learning-rate",   "history",    "freeze",         "mask-foreground",
    "mask-background", "warm-start", "max-iterations", "time-budget"};

// A picture that the caller passes once. It is kept, because a new configure() needs it again.
struct GivenPicture {
  std::vector<std::byte> bytes;
  PixelFormat format = PixelFormat::gray8;
  Size size;
};

class BackgroundCut : public Stream<GraphCutBgParams> {
 public:
  BackgroundCut() : Stream(kNames) { params_.output = GraphCutOutput::none; }

  void give(GraphCutPicture which, const Pixels& pixels, bool is_bgr) {
    Place{}.expects_holds(pixels);
    const ConstFrame frame = picture_of(pixels, order_of(is_bgr));
    GivenPicture& given = given_[static_cast<size_t>(which)];
    given.bytes.assign(frame.plane[0], frame.plane[0] + pixels.nbytes());
    given.format = frame.layout.format;
    given.size = frame.size();
  }

  // Sets `foreground` to 255 in the foreground and to 0 in the background.
  void apply(const Pixels& pixels, bool is_bgr, const std::optional<Bytes>& mask,
             const Foreground& foreground, const PlaceWords& words) {
    const Place place = place_of(words);
    place.expects_holds(pixels, foreground);
    Job job{.in = picture_of(pixels, order_of(is_bgr))};
    const Size size = job.in.size();
    expects(Voxels{AnyArray(foreground)}.slice == size,
            "foreground must have the size of the picture");
    job.foreground = {foreground.data(), size.width, size.height, size.width};
    if (mask) {
      place.expects_holds(*mask);
      job.mask = picture_of(Pixels(*mask));
    }
    const Unlocked unlocked;
    const Engines::Use use;
    const std::lock_guard lock(mutex_);
    run(place, job, [&](bool is_new) {
      if (is_new) give_pictures();
    });
  }

  // Waits for the last picture. Returns the flow of its cut, whether the cut is exact, and whether
  // the picture restarted the model.
  nb::tuple report() {
    GraphCutReport report{.cut = {.exact = true}};
    {
      const Unlocked unlocked;
      const std::lock_guard lock(mutex_);
      wait();
      if (has_run()) report = cut().report(0);
    }
    return nb::make_tuple(report.cut.flow, report.cut.exact, report.restarted);
  }

 private:
  static ColorOrder order_of(bool is_bgr) { return is_bgr ? ColorOrder::bgr : ColorOrder::rgb; }
  GraphCutBg& cut() { return static_cast<GraphCutBg&>(algorithm()); }

  void give_pictures() {
    for (const auto which : {GraphCutPicture::background, GraphCutPicture::exclusion}) {
      const GivenPicture& given = given_[static_cast<size_t>(which)];
      if (given.bytes.empty()) continue;
      cut().set_picture(which, frame_at(given.bytes.data(), given.format, given.size));
    }
  }

  GivenPicture given_[3];  // by GraphCutPicture
};

}  // namespace

void bind_background(nb::module_& module) {
  module.def("background_fields", [] { return words_of<GraphCutBgParams>(kNames); });
  nb::class_<BackgroundCut>(module, "BackgroundCut")
      .def(nb::init<>())
      .def("set", &BackgroundCut::set)
      .def("get", &BackgroundCut::get)
      .def("reset", &BackgroundCut::reset)
      .def("give_background",
           [](BackgroundCut& cut, const Pixels& pixels, bool is_bgr) {
             cut.give(GraphCutPicture::background, pixels, is_bgr);
           })
      .def("give_exclusion",
           [](BackgroundCut& cut, const Pixels& pixels) {
             cut.give(GraphCutPicture::exclusion, pixels, false);
           })
      .def("report", &BackgroundCut::report)
      .def("apply", &BackgroundCut::apply, nb::arg("pixels"), nb::arg("is_bgr"),
           nb::arg("mask").none(), nb::arg("foreground"), nb::arg("place"));
}

}  // namespace regions::python
