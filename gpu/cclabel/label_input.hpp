// LabelInput describes the input of labelling: the frame, which value of each pixel is compared,
// and the level with which it is compared.
#pragma once

#include "core/cclabel/cclabel.hpp"
#include "gpu/primitives/warp.hpp"

namespace regions::cclabel {

// Which value of a pixel is compared. `value`: gray, luma or colour. `alpha`: the alpha channel.
// `nonzero`: a positive number if the pixel of a mask is not zero. `bits`: the pixel's bit in
// LabelInput::bits.
enum class ComparedValue : uint8_t { value, alpha, nonzero, bits };

struct LabelInput {
  ConstFrame frame;
  Criterion criterion = Criterion::binary;
  ComparedValue compared = ComparedValue::value;
  int level = 0;            // threshold_level() or tolerance_level(); 1 for criterion=equal
  bool complement = false;  // true: label the background instead of the foreground
  // [height][bits_stride] one bit per pixel, for ComparedValue::bits.
  const uint32_t* bits = nullptr;
  int bits_stride = 0;  // words from one row of `bits` to the next
};

// Maximum number of thresholds that are labelled at once.
inline constexpr int kMaxLayers = decltype(CcLabelParams::thresholds)::kMax;

// The levels of the properties `threshold` and `thresholds`, for criterion=binary.
struct ThresholdLevels {
  int level[kMaxLayers];  // [layers] minimum value of a foreground pixel
};

// Returns the input that the parameters select: the image, its alpha channel, or the attached mask.
// The level is the level of the first threshold.
LabelInput label_input_of(const FrameTask& task, const CcLabelParams& params);
// Returns the levels of all thresholds.
ThresholdLevels threshold_levels_of(const LabelInput& input, const CcLabelParams& params);

#ifdef __CUDACC__

// Returns the value that criterion=binary compares with the level. Does not support
// ComparedValue::bits.
__device__ inline int compared_value(const LabelInput& input, int x, int row) {
  const ConstFrame& frame = input.frame;
  switch (input.compared) {
    case ComparedValue::alpha:
      return frame.sample(3, x, row);
    case ComparedValue::nonzero:
      if (frame.layout.sample_bytes == 4) {
        return *reinterpret_cast<const uint32_t*>(frame.at(0, x, row)) != 0;
      }
      return frame.sample(0, x, row);
    default:
      return value_at(frame, x, row);
  }
}

// How adjacent pixels are stored. `words`: one aligned 32-bit word per pixel. `triples`: three
// bytes per pixel, so that four pixels share three words. `other`: any other format; each pixel is
// loaded separately.
enum class PixelPacking : uint8_t { words, triples, other };

// Computes the addresses of the values that criterion=equal and criterion=difference compare.
struct PixelAddresses {
  const std::byte* start;
  ptrdiff_t pitch;
  int width, height;
  int step;             // bytes from one pixel to the next
  int channels;         // number of compared channels, which are adjacent in memory
  int tolerance_level;  // pixels are linked if their distance is less than this

  explicit PixelAddresses(const LabelInput& input)
      : width(input.frame.width), height(input.frame.height), tolerance_level(input.level) {
    const Layout& layout = input.frame.layout;
    const bool is_rgb = layout.model == ColorModel::rgb && input.compared == ComparedValue::value;
    const Component& component = layout.component[input.compared == ComparedValue::alpha ? 3 : 0];
    start = input.frame.plane[component.plane] + (is_rgb ? 0 : component.offset);
    pitch = input.frame.pitch[component.plane];
    step = component.step;
    channels = is_rgb ? 3 : 1;
  }
  __device__ const std::byte* at(int x, int y) const {
    return start + y * pitch + static_cast<ptrdiff_t>(x) * step;
  }
};

// Decides whether two pixels with 8-bit channels are linked: the absolute differences of their
// channels must sum to less than the tolerance level.
class ByteLinks {
 public:
  explicit ByteLinks(const LabelInput& input) : addresses_(input) {
    const auto address = reinterpret_cast<uintptr_t>(addresses_.start);
    const bool aligned = (address | static_cast<uintptr_t>(addresses_.pitch)) % 4 == 0;
    are_words_ = addresses_.channels == 3 && addresses_.step == 4 && aligned;
    are_triples_ = addresses_.channels == 3 && addresses_.step == 3 && aligned;
  }
  __device__ int width() const { return addresses_.width; }
  __device__ int height() const { return addresses_.height; }
  // Returns the channels of a pixel, one per byte. The order of the channels does not matter.
  __device__ uint32_t color(int x, int y) const {
    const std::byte* at = addresses_.at(x, y);
    if (are_words_)
      return *reinterpret_cast<const uint32_t*>(at) & 0xffffffu;  // clears the alpha byte
    const auto* p = reinterpret_cast<const uint8_t*>(at);
    if (addresses_.channels == 1) return p[0];
    return p[0] | static_cast<uint32_t>(p[1]) << 8 | static_cast<uint32_t>(p[2]) << 16;
  }
  // Returns how to load 32 adjacent pixels that begin at a multiple of 32. `all_inside`: all 32
  // pixels are inside the image.
  __device__ PixelPacking packing(bool all_inside) const {
    return are_words_                   ? PixelPacking::words
           : are_triples_ && all_inside ? PixelPacking::triples
                                        : PixelPacking::other;
  }
  __device__ const std::byte* at(int x, int y) const { return addresses_.at(x, y); }
  __device__ bool operator()(uint32_t a, uint32_t b) const {
    return static_cast<int>(__vsadu4(a, b)) < addresses_.tolerance_level;
  }

 private:
  PixelAddresses addresses_;
  bool are_words_;    // four bytes per pixel, aligned
  bool are_triples_;  // three bytes per pixel, each row begins at a multiple of four bytes
};

// Decides whether two pixels are linked whose values are single numbers of two or four bytes.
// Numbers of two bytes are linked if their absolute difference is below the tolerance level.
// Numbers of four bytes are labels, and are linked if they are equal.
class NumberLinks {
 public:
  explicit NumberLinks(const LabelInput& input)
      : addresses_(input),
        low_bits_(input.frame.layout.low_bits),
        is_label_(input.frame.layout.sample_bytes == 4) {}
  __device__ int width() const { return addresses_.width; }
  __device__ int height() const { return addresses_.height; }
  __device__ uint32_t color(int x, int y) const {
    const std::byte* at = addresses_.at(x, y);
    if (is_label_) return *reinterpret_cast<const uint32_t*>(at);
    const auto* p = reinterpret_cast<const uint8_t*>(at);
    return (p[0] | static_cast<uint32_t>(p[1]) << 8) >> low_bits_;
  }
  __device__ static constexpr PixelPacking packing(bool) { return PixelPacking::other; }
  __device__ const std::byte* at(int x, int y) const { return addresses_.at(x, y); }
  __device__ bool operator()(uint32_t a, uint32_t b) const {
    if (is_label_) return a == b;
    return abs(static_cast<int>(a) - static_cast<int>(b)) < addresses_.tolerance_level;
  }

 private:
  PixelAddresses addresses_;
  int low_bits_;   // number of unused low bits of a sample
  bool is_label_;  // whether the numbers are labels of four bytes
};

#endif

}  // namespace regions::cclabel
