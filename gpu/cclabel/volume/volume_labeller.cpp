// The VolumeLabeller on CUDA: allocates the buffers of each in-flight volume, and enqueues the
// passes that volume.hpp lists.
#include <algorithm>
#include <string>
#include <vector>

#include "core/workspace.hpp"
#include "gpu/cclabel/first_pixels.hpp"
#include "gpu/cclabel/labeller.hpp"
#include "gpu/cclabel/volume/volume.hpp"

namespace regions::volume {
namespace {

// The buffers of one in-flight volume.
struct VolumeBuffers {
  Workspace memory;
  VolumeArrays arrays = {};
  Region* records = nullptr;  // [max_regions]
  uint8_t* ranks = nullptr;   // [volume rows][words * 32] ranks of voxels, see ThresholdRanks
  cclabel::LargestSelection* selection = nullptr;
};

// Returns the maximum number of nodes of all tiles together, over all connectivities.
size_t max_nodes(const VolumeArrays& arrays, const VolumeLayout& maximum) {
  size_t count = 0;
  for (const Connectivity connectivity : {Connectivity::four, Connectivity::six}) {
    const VolumeArrays v = with_geometry(arrays, maximum, connectivity);
    count = std::max(count, static_cast<size_t>(v.tiles()) * static_cast<size_t>(maximum.layers) *
                                static_cast<size_t>(v.classes) *
                                static_cast<size_t>(v.max_tile_nodes()));
  }
  return count;
}

// Allocates buffers that are large enough for every connectivity, so that the connectivity can
// change between frames.
void allocate(VolumeBuffers& buffers, Backend& backend, const Setup& setup) {
  const VolumeLayout maximum{setup.size, setup.depth, setup.layers};
  Workspace& memory = buffers.memory;
  VolumeArrays& arrays = buffers.arrays;
  arrays.classes = setup.has_background ? 2 : 1;
  // With 6-connectivity a band has one slice, so the number of bands is greatest.
  const VolumeArrays geometry = with_geometry(arrays, maximum, Connectivity::six);
  const size_t words =
      VoxelRows::words(static_cast<size_t>(maximum.rows()), static_cast<size_t>(geometry.words));
  const size_t nodes = max_nodes(arrays, maximum);
  const size_t ids = std::max(words * static_cast<size_t>(geometry.classes) * 32, nodes);
  expects(ids < kNone,
          "on CUDA, rows of whole words of 32 voxels, of all thresholds and "
          "classes, are fewer than 2^32 voxels, not " +
              std::to_string(ids));
  constexpr int kMaxSlabs = 65535;  // maximum size of a CUDA grid along z
  const int slabs = geometry.classes * maximum.total_slices();
  expects(slabs <= kMaxSlabs, "on CUDA, slices of all thresholds and classes are up to " +
                                  std::to_string(kMaxSlabs) + ", not " + std::to_string(slabs));
  memory.reserve(arrays.bits, words);
  const size_t bands =
      BandRows::words(static_cast<size_t>(slabs) * static_cast<size_t>(geometry.bands_y),
                      static_cast<size_t>(geometry.words));
  memory.reserve(arrays.nodes, bands);
  memory.reserve(arrays.component_of_node, nodes);
  memory.reserve(arrays.forest, nodes);
  memory.reserve(arrays.counts, nodes / static_cast<size_t>(geometry.max_tile_nodes()));
  memory.reserve(arrays.area, words * 32);
  memory.reserve(arrays.component_starts, words);
  memory.reserve(arrays.region_starts, words);
  memory.reserve(arrays.regions_before, words);
  memory.reserve(arrays.region_counts, words / FirstPixelBitmap::kWordsPerCount + 1);
  memory.reserve(arrays.total, 2);
  memory.reserve(buffers.records, setup.max_regions);
  memory.reserve(buffers.selection, 1);
  memory.reserve(buffers.ranks, static_cast<size_t>(maximum.volume_rows()) *
                                    static_cast<size_t>(geometry.words) * 32);
  memory.allocate(backend);
}

// Fills the holes of `input`. Returns an image of foreground ranks, which must be labelled instead
// of `input`.
LabelInput fill_holes(const VolumeBuffers& buffers, const LabelInput& input,
                      const ThresholdRanks& ranks, const VolumeArrays& volume,
                      uint32_t max_hole_area, cudaStream_t stream) {
  const Image<uint8_t> voxels{buffers.ranks, volume.layout.slice.width, volume.layout.volume_rows(),
                              ptrdiff_t{32} * volume.words};
  LabelInput ranked;
  ranked.frame.layout = layout_of(PixelFormat::gray8);
  ranked.frame.plane[0] = reinterpret_cast<const std::byte*>(voxels.data);
  ranked.frame.pitch[0] = voxels.pitch;
  ranked.frame.width = voxels.width;
  ranked.frame.height = voxels.height;
  ranked.frame.memory = Memory::device;
  const VolumeArrays background =
      with_geometry(buffers.arrays, volume.layout, dual(volume.connectivity));
  rank_background_voxels(input, ranks, voxels, stream);
  label_tiles(ranked, ranks.background(volume.layout.layers), background, stream);
  merge_tiles(background, stream);
  sum_areas(background, stream);
  fill_ranks(background, ranks, max_hole_area, voxels, stream);
  return ranked;
}

class CudaVolumeLabeller final : public cclabel::VolumeLabeller {
 public:
  explicit CudaVolumeLabeller(std::shared_ptr<Backend> backend) : backend_(std::move(backend)) {}

  void configure(const Setup& setup) override {
    setup_ = setup;
    buffers_.clear();
    buffers_.resize(static_cast<size_t>(setup.slots));
    for (VolumeBuffers& buffers : buffers_) allocate(buffers, *backend_, setup);
  }

  void enqueue(const FrameTask& task, const LabelInput& input, const CcLabelParams& params,
               cudaStream_t stream) override {
    expects(params.criterion == Criterion::binary,
            "on CUDA, volumes, thresholds and label-background require criterion=binary");
    expects(params.output != CcOutput::overlay || task.out.empty(),
            "on CUDA, output=overlay requires label-background=false");
    const VolumeBuffers& buffers = buffers_.at(static_cast<size_t>(task.slot));
    const VolumeLayout layout = volume_layout_of(setup_, task);
    VolumeArrays volume = with_geometry(buffers.arrays, layout, params.connectivity);
    const ThresholdLevels thresholds = threshold_levels_of(input, params);
    Records records;
    if (task.table.regions) records = {buffers.records, task.table.capacity};
    volume.needs_flat_forest = records.capacity > 0 || area_bounds_of(params).exclude_any() ||
                               cclabel::may_drop_smallest(task, params, layout);

    if (params.fill_holes > 0) {
      const ThresholdRanks ranks(thresholds, setup_.layers);
      label_tiles(fill_holes(buffers, input, ranks, volume, params.fill_holes, stream),
                  ranks.foreground(setup_.layers), volume, stream);
    } else {
      label_tiles(input, thresholds, volume, stream);
    }
    merge_tiles(volume, stream);
    filter_and_number_regions(
        task, params, layout,
        cclabel::FirstPixelRegions<VolumeArrays>{volume, buffers.selection, records, stream});
    if (records.capacity > 0) measure_regions(volume, task.in, records, stream);
    if (task.table.total) cclabel::publish_table(volume.total, records, task.table, stream);
    write_outputs(task, params, volume, stream);
  }

 private:
  static void write_outputs(const FrameTask& task, const CcLabelParams& params,
                            const VolumeArrays& volume, cudaStream_t stream) {
    if (!task.labels.empty()) write_labels(volume, task.labels, stream);
    if (task.out.empty()) return;
    if (params.output == CcOutput::labels) {
      write_labels(volume, task.out, max_label_of(task.out.layout), stream);
    } else if (params.output == CcOutput::mask) {
      write_mask(volume, task.out, stream);
    } else if (params.output == CcOutput::colors) {
      write_colors(volume, task.out, stream);
    }
  }

  std::shared_ptr<Backend> backend_;
  Setup setup_;
  std::vector<VolumeBuffers> buffers_;  // [slots] one per in-flight frame
};

}  // namespace
}  // namespace regions::volume

namespace regions {

std::unique_ptr<cclabel::VolumeLabeller> cclabel::make_volume_labeller(
    std::shared_ptr<Backend> backend) {
  return std::make_unique<volume::CudaVolumeLabeller>(std::move(backend));
}

}  // namespace regions
