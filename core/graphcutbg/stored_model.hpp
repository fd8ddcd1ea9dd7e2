// The stored form of a model, and the conversion of pictures that the user provides. The bytes of a
// stored model are the same on every backend, in little endian.
#pragma once

#include <span>
#include <vector>

#include "core/graphcutbg/graphcutbg.hpp"
#include "core/graphcutbg/scene_statistics.hpp"

namespace regions::graphcutbg {

// Header of a stored model. After the header follow the words of ModelArrays::model, and then the
// words of ModelArrays::background.
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
// Returns the header. Throws InputError unless `state` has the current version and this frame size,
// and contains valid modes.
StateHeader checked_header(std::span<const std::byte> state, Size size);
// Whether a mode of a valid stored model has chroma.
bool stores_chroma(std::span<const std::byte> state, Size size);

// These functions check and convert a picture that the user provides. They throw InputError for a
// wrong size. background_of() returns packed colours of the model, replacement_of() components
// [3][height][width] in the frames' format, and exclusion_of() returns 1 for pixels that are always
// background.
void expects_picture(const ConstFrame& picture, const Setup& setup);
std::vector<uint32_t> background_of(const ConstFrame& picture, const Setup& setup);
std::vector<uint16_t> replacement_of(const ConstFrame& picture, const Setup& setup);
std::vector<uint8_t> exclusion_of(const ConstFrame& picture, const Setup& setup);

}  // namespace regions::graphcutbg
