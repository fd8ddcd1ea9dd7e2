// What outlives a frame, as bytes and as pictures a user gives. The bytes are the same on every
// backend, little endian.
#pragma once

#include <span>
#include <vector>

#include "core/graphcutbg/graphcutbg.hpp"
#include "core/graphcutbg/pixel.hpp"

namespace regions::graphcut {

// Before the model's words and the background's.
struct StateHeader {
  static constexpr uint32_t kMagic = 0x4D424347;  // "GCBM"
  static constexpr uint32_t kVersion = 1;
  uint32_t magic = kMagic;
  uint32_t version = kVersion;
  int32_t width = 0, height = 0;
  Scene scene;
};

inline size_t state_bytes(Size size) {
  return sizeof(StateHeader) + size.area() * (Model::kWords + 1) * sizeof(uint32_t);
}
// Throws InputError unless `state` is of this version and size and its modes are possible ones.
StateHeader checked_header(std::span<const std::byte> state, Size size);

// Pictures in the form that frames are compared with. Throw InputError for another size.
void expects_picture(const ConstFrame& picture, const Setup& setup);
std::vector<uint32_t> background_of(const ConstFrame& picture, const Setup& setup);
std::vector<uint16_t> replacement_of(const ConstFrame& picture, const Setup& setup);
std::vector<uint8_t> exclusion_of(const ConstFrame& picture, const Setup& setup);

}  // namespace regions::graphcut
