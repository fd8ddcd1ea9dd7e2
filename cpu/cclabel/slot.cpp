// Cutting a slot's memory into its parts.
#include "cpu/cclabel/slot.hpp"

#include <cstring>

#include "cpu/cclabel/write.hpp"
#include "cpu/memory_cutter.hpp"

namespace regions {

void Slot::allocate(Backend& backend, const Setup& setup, int strips) {
  const Stack most{setup.size, setup.depth, setup.layers};
  const auto width = static_cast<size_t>(setup.size.width);
  const int words = words_for(setup.size.width);
  const size_t bits = static_cast<size_t>(words) * static_cast<size_t>(most.rows());
  draws_ = setup.has_output && setup.out.format == setup.in.format && most.depth() == 1;
  tracks_ = setup.tracks;
  max_regions_ = setup.max_regions;
  memory_ = allocate_pieces(backend, [&](MemoryCutter& cutter) {
    pixels = {cutter.piece<Word>(bits), words};
    background = {cutter.piece<Word>(bits), words};
    for (int s = 0; s < strips; ++s) {
      for (auto& line : rows[s].values) {
        for (std::byte*& row : line) row = cutter.piece<std::byte>(width * sizeof(uint32_t));
      }
      for (Word*& row : rows[s].contacts) row = cutter.piece<Word>(static_cast<size_t>(words));
      rows[s].flags = cutter.piece<uint8_t>(width);
      value[s] = cutter.piece<uint32_t>(width, kValueSlack);
      records[s] = cutter.piece<Region>(setup.max_regions);
    }
    if (draws_ || setup.max_runs > 0) {
      auto* map = cutter.piece<uint32_t>(most.size().area());
      labels = {map, setup.size.width, most.rows(),
                static_cast<ptrdiff_t>(width * sizeof(uint32_t))};
    }
    if (draws_) {
      const size_t ink_size = ink_bytes(setup.size);
      if (auto* memory = cutter.piece<std::byte>(ink_size)) {
        std::memset(memory, 0, ink_size);  // draw() wants zeros
        ink = ink_in(memory, setup.size);
      }
    }
  });
  forest.allocate(backend, most);
  if (setup.max_runs > 0) runs.allocate(backend, setup);
}

}  // namespace regions
