// Validates stored models, and converts pictures that the user provides to the format of the
// frames.
#include "core/graphcutbg/stored_model.hpp"

#include <cstring>

#include "core/graphcutbg/composite.hpp"

namespace regions::graphcutbg {
namespace {

std::string text_of(Size size) {
  return std::to_string(size.width) + "x" + std::to_string(size.height);
}

// Calls use(index, rgb) for each pixel of the picture, in raster order.
template <class Use>
void for_each_rgb(const ConstFrame& picture, Use use) {
  const RgbDecoder decoder = decoder_of(picture.layout, picture.color);
  size_t i = 0;
  for (int y = 0; y < picture.height; ++y) {
    for (int x = 0; x < picture.width; ++x) {
      int rgb[3];
      decoder.decode(picture, x, y, rgb);
      use(i++, Rgb{static_cast<uint8_t>(rgb[0]), static_cast<uint8_t>(rgb[1]),
                   static_cast<uint8_t>(rgb[2])});
    }
  }
}

}  // namespace

StateHeader checked_header(std::span<const std::byte> state, Size size) {
  StateHeader header;
  expects(state.size() >= sizeof header, "the stored background model is truncated");
  std::memcpy(&header, state.data(), sizeof header);
  expects(header.magic == StateHeader::kMagic, "this is not a stored background model");
  expects(header.version == StateHeader::kVersion,
          "the stored background model has version " + std::to_string(header.version) +
              "; expected version " + std::to_string(StateHeader::kVersion));
  const Size stored{header.width, header.height};
  expects(stored == size, "the stored background model is for " + text_of(stored) +
                              " pixels; the frames have " + text_of(size));
  expects(state.size() == state_bytes(size),
          state.size() < state_bytes(size)
              ? "the stored background model is truncated"
              : "the stored background model has extra bytes at its end");
  // Variances are divisors: each pixel must have a mode, and the variances of its modes must not be
  // zero.
  const std::byte* words = state.data() + sizeof header;
  const size_t plane = size.area();
  for (size_t i = 0; i < plane; ++i) {
    bool has_mode = false;
    for (size_t k = 0; k < Model::kModes; ++k) {
      uint32_t weight_and_luma, variances;
      const size_t mode = k * Mode::kWords;
      std::memcpy(&weight_and_luma, words + (mode * plane + i) * sizeof(uint32_t),
                  sizeof(uint32_t));
      std::memcpy(&variances, words + ((mode + 2) * plane + i) * sizeof(uint32_t),
                  sizeof(uint32_t));
      if (weight_and_luma >> 16 == 0) continue;
      has_mode = true;
      const bool possible = (variances & 0xFFFF) && variances >> 16;
      expects(possible, "the stored background model is damaged");
    }
    expects(has_mode, "the stored background model is damaged");
  }
  return header;
}

bool stores_chroma(std::span<const std::byte> state, Size size) {
  const std::byte* words = state.data() + sizeof(StateHeader);
  const size_t plane = size.area();
  const auto word = [&](size_t number, size_t i) {
    uint32_t value;
    std::memcpy(&value, words + (number * plane + i) * sizeof value, sizeof value);
    return value;
  };
  for (size_t first = 0; first < Model::kWords; first += Mode::kWords) {
    for (size_t i = 0; i < plane; ++i) {
      const bool exists = word(first, i) >> 16 != 0;
      if (exists && word(first + 1, i) != static_cast<uint32_t>(Mode::kNeutralChroma)) return true;
    }
  }
  return false;
}

void expects_picture(const ConstFrame& picture, const Setup& setup) {
  expects(picture.layout.model != ColorModel::labels, "a label image cannot be used as a picture");
  expects(picture.size() == setup.size, "the picture has " + text_of(picture.size()) +
                                            " pixels; the frames have " + text_of(setup.size));
}

std::vector<uint32_t> background_of(const ConstFrame& picture, const Setup& setup) {
  expects_picture(picture, setup);
  const ColorEncoder encoder = encoder_of(setup.in, setup.color);
  std::vector<uint32_t> colors(setup.size.area());
  for_each_rgb(picture, [&](size_t i, Rgb rgb) {
    int component[3] = {};
    encoder.encode(rgb, component);
    colors[i] = color_of(setup.in, setup.color.full_range, component).packed();
  });
  return colors;
}

std::vector<uint16_t> replacement_of(const ConstFrame& picture, const Setup& setup) {
  expects_picture(picture, setup);
  const ColorEncoder encoder = encoder_of(setup.in, setup.color);
  const size_t plane = setup.size.area();
  std::vector<uint16_t> components(3 * plane);
  for_each_rgb(picture, [&](size_t i, Rgb rgb) {
    int component[3] = {};
    encoder.encode(rgb, component);
    for (size_t c = 0; c < 3; ++c) components[c * plane + i] = static_cast<uint16_t>(component[c]);
  });
  return components;
}

std::vector<uint8_t> exclusion_of(const ConstFrame& picture, const Setup& setup) {
  expects_picture(picture, setup);
  std::vector<uint8_t> excluded(setup.size.area());
  for_each_rgb(picture, [&](size_t i, Rgb rgb) {
    excluded[i] = luma_of(rgb.red, rgb.green, rgb.blue) >= 128;
  });
  return excluded;
}

}  // namespace regions::graphcutbg
