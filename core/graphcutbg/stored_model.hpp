// State that outlives a frame: the stored model as bytes, and pictures that the user provides. The
// bytes are equal on every backend, in little endian.
#pragma once

#include <span>
#include <vector>

#include "core/graphcutbg/graphcutbg.hpp"
#include "core/graphcutbg/scene_statistics.hpp"

namespace regions::graphcutbg {

// Header of a stored model. It is followed by the words of the model and of the background picture.
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
// Throws InputError unless `state` has this version and size and contains valid modes.
StateHeader checked_header(std::span<const std::byte> state, Size size);

// Convert user pictures to the form in which frames are compared or painted. Throw InputError for a
// wrong size.
void expects_picture(const ConstFrame& picture, const Setup& setup);
std::vector<uint32_t> background_of(const ConstFrame& picture, const Setup& setup);
std::vector<uint16_t> replacement_of(const ConstFrame& picture, const Setup& setup);
std::vector<uint8_t> exclusion_of(const ConstFrame& picture, const Setup& setup);

}  // namespace regions::graphcutbg
