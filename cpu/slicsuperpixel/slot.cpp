// Memory for the largest grids and the most pieces there can be; untouched pages cost nothing.
#include "cpu/slicsuperpixel/slot.hpp"

#include <algorithm>
#include <cstring>

#include "cpu/slicsuperpixel/borders.hpp"
#include "cpu/slicsuperpixel/colors.hpp"

namespace regions {

void SuperpixelSlot::allocate(Backend& backend, const Setup& setup) {
  const Size size = setup.size;
  const size_t pixels = size.area();
  width_ = static_cast<size_t>(size.width);
  memory_.clear();
  const size_t pitch = (width_ + kPlaneSlack + 63) / 64 * 64;
  for (auto& plane : colors.plane) {
    const size_t bytes = pitch * static_cast<size_t>(size.height);
    plane = {piece<int8_t>(backend, bytes), size.width, size.height, static_cast<ptrdiff_t>(pitch)};
    // Vectors compute with what lies beyond the width, though no result is used.
    for (int y = 0; y < size.height; ++y) std::memset(plane.row(y) + size.width, 0, pitch - width_);
  }
  const size_t most = most_cells(size);
  allocate_sums(backend, size);
  // Of the smallest cells, 2x2 pixels.
  const size_t stride = cell_stride(size.width / 2 + 1);
  const size_t rows = static_cast<size_t>(size.height) / 2 + 3;
  cells.colors = piece<int8_t>(backend, CellMemory::color_bytes(size));
  for (int16_t*& list : cells.centers) {
    list = piece<int16_t>(backend, rows * CellCenterRow::kParts * stride);
  }
  for (int32_t*& list : cells.bases) list = piece<int32_t>(backend, rows * stride);
  cells.sums = piece<uint32_t>(backend, static_cast<size_t>(PieceStrip::kMax) *
                                            CellMemory::kStripRows * CellSumRow::kParts * stride);
  codes = {piece<uint8_t>(backend, pixels + kPlaneSlack), size.width, size.height,
           static_cast<ptrdiff_t>(width_)};
  const auto label_map = [&] {
    return LabelMap{piece<uint32_t>(backend, pixels), size.width, size.height,
                    static_cast<ptrdiff_t>(width_ * sizeof(uint32_t))};
  };
  pieces = label_map();
  labels = label_map();
  runs = piece<Run>(backend, pixels);
  values = piece<RunValues>(backend, pixels + 1);
  allocate_graph(backend, pixels);
  largest = piece<uint64_t>(backend, most);
  spares = piece<uint32_t>(backend, most);
  records = piece<Region>(backend, setup.max_regions);
  borders =
      setup.has_borders ? piece<Border>(backend, border_table_size(setup.max_regions)) : nullptr;
  const size_t scratch_bytes =
      std::max(color_scratch_bytes(size.width), run_scratch_bytes(size.width));
  for (std::byte*& memory : scratch) memory = piece<std::byte>(backend, scratch_bytes);
  const size_t ink_size = ink_bytes(size);
  auto* memory = piece<std::byte>(backend, ink_size);
  std::memset(memory, 0, ink_size);  // draw() wants zeros
  ink = ink_in(memory, size);
}

void SuperpixelSlot::allocate_sums(Backend& backend, Size size) {
  const auto sums_of = [](size_t columns, size_t rows) { return 3 * (columns + 2) * rows; };
  // Of the smallest cells, 2x2 pixels, or of the lowest that have phases.
  const size_t most_columns = width_ / 2 + 1, height = static_cast<size_t>(size.height);
  const size_t pixels = size.area(), most_contacts = kMaxContacts * pixels;
  const size_t contact_bytes =
      most_contacts * sizeof(Contact) + (pixels + 1) * sizeof(PieceGraph::Pixel);
  const size_t count = std::max({sums_of(most_columns, height / 2 + 1),
                                 kMaxRowStep * sums_of(most_columns, height / kPatchRows + 1),
                                 contact_bytes / sizeof(PackedSums) + 1});
  sums = piece<PackedSums>(backend, count);
  reach = piece<uint32_t>(backend, count);
  // Pieces join when the sums are done with.
  contacts = reinterpret_cast<Contact*>(sums);
  graph.first = reinterpret_cast<PieceGraph::Pixel*>(contacts + most_contacts);
}

void SuperpixelSlot::allocate_graph(Backend& backend, size_t pixels) {
  graph.piece = piece<Piece>(backend, pixels + 1);
  // Values of runs are summed after pieces have joined.
  static_assert(sizeof(PieceColor) == sizeof(RunValues));
  graph.color = reinterpret_cast<PieceColor*>(values);
  graph.parent = piece<uint32_t>(backend, pixels + 1);
  graph.choice = piece<uint64_t>(backend, pixels + 1);
  graph.chooser = piece<uint32_t>(backend, pixels + 1);
  graph.dense = piece<uint32_t>(backend, pixels + 1);
}

}  // namespace regions
