// Superpixels of arrays.
#include "core/slicsuperpixel/slicsuperpixel.hpp"
#include "python/arrays.hpp"
#include "python/bindings.hpp"
#include "python/engines.hpp"
#include "python/interpreter.hpp"
#include "python/settings.hpp"

namespace regions::python {
namespace {

using SlicEngine = AlgorithmEngine<SlicParams>;

// `image` has bytes: gray, or R, G, B in a third axis.
uint32_t slic(const Array<nb::ro, uint8_t, nb::c_contig>& image, const Labels& labels,
              const Settings& settings, int threads) {
  expects(labels.ndim() == 2, "labels have 2 axes");
  const Voxels voxels{AnyArray(labels)};
  expects(image.size() == labels.size() || image.size() == 3 * labels.size(),
          "the image goes with the labels");
  const PixelFormat format = image.size() == labels.size() ? PixelFormat::gray8 : PixelFormat::rgb;
  const Unlocked unlocked;
  const auto params = parameters<SlicParams>(settings);
  const Setup setup{.in = layout_of(format), .size = voxels.slice, .max_regions = 1};
  const std::string key = "slic " + std::string(name_of(format)) + " " +
                          std::to_string(setup.size.width) + "x" +
                          std::to_string(setup.size.height) + " " + std::to_string(threads);
  const auto make = [&] { return std::make_unique<SlicEngine>(threads, setup); };
  return Engines::all().with<SlicEngine>(key, make, [&](SlicEngine& engine) {
    uint32_t total = 0;
    Job job{.in = frame_at(reinterpret_cast<const std::byte*>(image.data()), format, setup.size)};
    job.labels = {reinterpret_cast<uint32_t*>(labels.data()), setup.size.width, setup.size.height,
                  voxels.pitch};
    job.table.total = &total;
    engine.run(job, params);
    return total;
  });
}

}  // namespace

void bind_slic(nb::module_& module) { module.def("slic", slic); }

}  // namespace regions::python
