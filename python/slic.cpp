// The function slic: superpixels of arrays.
#include <nanobind/stl/optional.h>

#include "core/slicsuperpixel/slicsuperpixel.hpp"
#include "python/arrays.hpp"
#include "python/bindings.hpp"
#include "python/engines.hpp"
#include "python/interpreter.hpp"
#include "python/settings.hpp"

namespace regions::python {
namespace {

using SlicEngine = AlgorithmEngine<SlicParams>;

// `image` has uint8 elements: gray, or R, G, B in a third axis.
std::optional<uint32_t> slic(const Pixels& image, const Labels& labels, const Settings& settings,
                             bool counts, const PlaceWords& words) {
  const Place place = place_of(words);
  place.expects_holds(image, labels);
  const ConstFrame frame = picture_of(image);
  const Voxels voxels{AnyArray(labels)};
  expects(voxels.slices == 1 && voxels.slice == frame.size(),
          "labels must have the size of the image");
  const Unlocked unlocked;
  const auto params = parameters<SlicParams>(settings);
  const Setup setup{.in = frame.layout, .size = voxels.slice, .max_regions = 1};
  const EngineKey key{EngineKey::Work::slic, frame.layout.format, setup.size, 1, 1, place, counts};
  const auto make = [&] { return std::make_unique<SlicEngine>(place, setup, params); };
  return Engines::all().with<SlicEngine>(key, make, [&](SlicEngine& engine) {
    Job job{.in = frame};
    job.labels = {reinterpret_cast<uint32_t*>(labels.data()), setup.size.width, setup.size.height,
                  voxels.pitch};
    return engine.run(place, job, params, counts);
  });
}

}  // namespace

void bind_slic(nb::module_& module) { module.def("slic", slic); }

}  // namespace regions::python
