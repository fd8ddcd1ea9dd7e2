// The workspace of a volume, and what it asks for, phase by phase.
#include "gpu/cclabel/volumes/slot.hpp"

#include <algorithm>
#include <string>

#include "gpu/cclabel/base/numbering.hpp"

namespace regions::volumes {
namespace {

// Room for all tiles' nodes, whatever the connectivity.
size_t nodes_of(const Volume& pieces, const Stack& most) {
  size_t count = 0;
  for (const Connectivity connectivity : {Connectivity::four, Connectivity::six}) {
    const Volume v = shaped(pieces, most, connectivity);
    count =
        std::max(count, static_cast<size_t>(v.tiles()) * static_cast<size_t>(most.layers) *
                            static_cast<size_t>(v.classes) * static_cast<size_t>(v.tile_nodes()));
  }
  return count;
}

}  // namespace

void Slot::allocate(const std::shared_ptr<Backend>& backend, const Setup& setup) {
  setup_ = setup;
  const Stack most{setup.size, setup.depth, setup.layers};
  pieces_.classes = setup.has_background ? 2 : 1;
  // Bands of one slice are the most.
  const Volume rows = shaped(pieces_, most, Connectivity::six);
  const size_t words =
      VoxelRows::words(static_cast<size_t>(most.rows()), static_cast<size_t>(rows.words));
  const size_t nodes = nodes_of(pieces_, most);
  const size_t all = std::max(words * static_cast<size_t>(rows.classes) * 32, nodes);
  expects(all < kNone,
          "on CUDA, rows of whole words of 32 voxels, of all thresholds and "
          "classes, are fewer than 2^32 voxels, not " +
              std::to_string(all));
  constexpr int kMaxSlabs = 65535;  // of a CUDA grid
  const int slabs = rows.classes * most.depth();
  expects(slabs <= kMaxSlabs, "on CUDA, slices of all thresholds and classes are up to " +
                                  std::to_string(kMaxSlabs) + ", not " + std::to_string(slabs));
  memory_.reserve(pieces_.bits, words);
  const size_t bands =
      BandRows::words(static_cast<size_t>(slabs) * static_cast<size_t>(rows.bands_y),
                      static_cast<size_t>(rows.words));
  memory_.reserve(pieces_.nodes, bands);
  memory_.reserve(pieces_.component, nodes);
  memory_.reserve(pieces_.forest, nodes);
  memory_.reserve(pieces_.counts, nodes / static_cast<size_t>(rows.tile_nodes()));
  memory_.reserve(pieces_.area, words * 32);
  memory_.reserve(pieces_.parts, words);
  memory_.reserve(pieces_.firsts, words);
  memory_.reserve(pieces_.before, words);
  memory_.reserve(pieces_.sums, words / Firsts::kSumWords + 1);
  memory_.reserve(pieces_.total, 2);
  memory_.reserve(records_, setup.max_regions);
  memory_.reserve(selection_, 1);
  // Ranks of voxels, in rows of whole words.
  memory_.reserve(ranks_,
                  static_cast<size_t>(most.volume_rows()) * static_cast<size_t>(rows.words) * 32);
  memory_.allocate(*backend);
}

void Slot::enqueue(const Job& job, const Subject& subject, const CcLabelParams& params,
                   cudaStream_t stream) const {
  expects(params.criterion == Criterion::binary,
          "on CUDA, volumes, thresholds and label-background require criterion=binary");
  expects(params.output != CcOutput::overlay || job.out.empty(),
          "on CUDA, output=overlay requires label-background=false");
  const Stack stack = stack_of(setup_, job);
  Volume volume = shaped(pieces_, stack, params.connectivity);
  const Levels levels = levels_of(subject, params);
  Records records;
  if (job.table.regions) records = {records_, job.table.capacity};
  volume.unsettled = records.capacity == 0 && !cclabel::AreaBounds(params).exclude_any() &&
                     !cclabel::drops_smallest(job, params, stack);

  if (params.fill_holes > 0) {
    const Ranks ranks(levels, setup_.layers);
    label_tiles(without_holes(subject, ranks, volume,
                              cclabel::AreaBounds::clamped(params.fill_holes), stream),
                ranks.foreground(setup_.layers), volume, stream);
  } else {
    label_tiles(subject, levels, volume, stream);
  }
  join_tiles(volume, stream);
  number_regions(job, params, stack,
                 cclabel::FirstsRegions<Volume>{volume, selection_, records, stream});
  if (records.capacity > 0) measure_regions(volume, job.in, records, stream);
  if (job.table.regions) {
    cclabel::publish_table(volume.total, records, job.table, stream);
  }
  if (!job.labels.empty()) write_labels(volume, job.labels, stream);
  if (job.out.empty()) return;
  if (params.output == CcOutput::labels) {
    write_labels(volume, job.out, label_limit(job.out.layout), stream);
  } else if (params.output == CcOutput::mask) {
    write_mask(volume, job.out, stream);
  } else if (params.output == CcOutput::colors) {
    write_colors(volume, job.out, stream);
  }
}

// What is left to label is the ranks of voxels.
Subject Slot::without_holes(const Subject& subject, const Ranks& ranks, const Volume& volume,
                            uint32_t most, cudaStream_t stream) const {
  const Image<uint8_t> voxels{ranks_, volume.stack.slice.width, volume.stack.volume_rows(),
                              ptrdiff_t{32} * volume.words};
  Subject ranked;
  ranked.frame.layout = layout_of(PixelFormat::gray8);
  ranked.frame.plane[0] = reinterpret_cast<const std::byte*>(voxels.data);
  ranked.frame.pitch[0] = voxels.pitch;
  ranked.frame.width = voxels.width;
  ranked.frame.height = voxels.height;
  ranked.frame.memory = Memory::device;
  const Volume background = shaped(pieces_, volume.stack, dual(volume.connectivity));
  rank_background(subject, ranks, voxels, stream);
  label_tiles(ranked, ranks.background(volume.stack.layers), background, stream);
  join_tiles(background, stream);
  sum_areas(background, stream);
  rank_filled(background, ranks, most, voxels, stream);
  return ranked;
}

}  // namespace regions::volumes
