// Classes that write four adjacent pixels of an output picture: labels, masks or colours. All
// methods use them.
#pragma once

#include <concepts>
#include <cstdint>

#include "core/cclabel/cclabel.hpp"
#include "core/image.hpp"
#include "gpu/primitives/warp.hpp"

#ifdef __CUDACC__

namespace regions::cclabel {

// A writer converts a label to the value of a pixel by value(), and writes the values of the four
// adjacent pixels that begin at (x, y) by put().
template <class W>
concept PixelWriter = requires(const W& writer, int x, uint32_t label,
                               const uint32_t (&values)[4]) {
  { writer.value(label) } -> std::convertible_to<uint32_t>;
  writer.put(x, x, values);
};

// Writes labels as numbers of type T. Writes four at once if the rows are aligned for this.
template <class T>
struct LabelWriter {
  Image<T> image;
  uint32_t min_value;  // value of label 1
  uint32_t max_value;  // greatest value; a mask has the same min_value and max_value
  bool aligned;        // whether four pixels may be written at once

  __device__ uint32_t value(uint32_t label) const {
    return label ? min(max(label, min_value), max_value) : 0;
  }
  __device__ void put(int x, int y, const uint32_t (&values)[4]) const {
    struct alignas(4 * sizeof(T)) Four {
      T label[4];
    } four;
#pragma unroll
    for (int k = 0; k < 4; ++k) four.label[k] = static_cast<T>(values[k]);
    T* to = image.row(y) + x;
    if (aligned && x + 4 <= image.width) {
      *reinterpret_cast<Four*>(to) = four;
      return;
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if (x + k < image.width) to[k] = four.label[k];
    }
  }
};

// Writes a colour for each region's label or track, with full alpha. Background pixels are 0 in all
// channels.
struct ColorWriter {
  Frame out;

  __device__ uint32_t value(uint32_t label) const { return label; }
  __device__ void put(int x, int y, const uint32_t (&labels)[4]) const {
    for (int k = 0; k < 4 && x + k < out.width; ++k) {
      const Rgb color = labels[k] ? track_color(labels[k]) : Rgb{};
      out.set_sample(0, x + k, y, color.red);
      out.set_sample(1, x + k, y, color.green);
      out.set_sample(2, x + k, y, color.blue);
      if (out.layout.component[0].step == 4) out.set_sample(3, x + k, y, labels[k] ? 255 : 0);
    }
  }
};

// Writes the values of four labels to the four adjacent pixels that begin at (x, y).
template <PixelWriter Writer>
__device__ void write_four_pixels(const Writer& writer, int x, int y, const uint32_t (&labels)[4]) {
  uint32_t values[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) values[k] = writer.value(labels[k]);
  writer.put(x, y, values);
}

// Calls launch(writer) with a LabelWriter for the image, or for the first plane of the frame.
template <class T, class Launch>
void with_label_writer(const Image<T>& image, uint32_t min_value, uint32_t max_value,
                       const Launch& launch) {
  const auto address = reinterpret_cast<uintptr_t>(image.data);
  const bool aligned = (address | static_cast<uintptr_t>(image.pitch)) % (4 * sizeof(T)) == 0;
  launch(LabelWriter<T>{image, min_value, max_value, aligned});
}
template <class Launch>
void with_label_writer(const Frame& out, uint32_t min_value, uint32_t max_value,
                       const Launch& launch) {
  const auto as = [&]<class T>(T) { return out.plane_as<T>(0, out.width, out.height); };
  switch (out.layout.sample_bytes) {
    case 1:
      return with_label_writer(as(uint8_t{}), min_value, max_value, launch);
    case 2:
      return with_label_writer(as(uint16_t{}), min_value, max_value, launch);
    default:
      return with_label_writer(as(uint32_t{}), min_value, max_value, launch);
  }
}

// Writes the rows of the tile at (x0, y0), from the tile's row `first_row` on. `runs` contains
// foreground, run_starts and runs_before of each word; `run_value` contains the label of each run.
// All threads of the block must call this function.
template <class Shape, class Runs, PixelWriter Writer>
__device__ void write_words(const Runs& runs, const uint32_t* run_value, int x0, int y0, Size image,
                            const Writer& writer, int first_row = 0) {
  const int begin = first_row * Shape::words * 8;
  for (int i = begin + static_cast<int>(threadIdx.x); i < Shape::all_words * 8;
       i += Shape::threads) {
    const int w = i / 8, bit = i % 8 * 4;
    const int x = x0 + w % Shape::words * 32 + bit, y = y0 + w / Shape::words;
    if (x >= image.width || y >= image.height) continue;
    const uint32_t foreground = runs.foreground[w] >> bit, starts = runs.run_starts[w];
    int run = runs.runs_before[w] + __popc(starts & bits_up_to(bit)) - 1;
    uint32_t labels[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if (k > 0) run += starts >> (bit + k) & 1;
      labels[k] = foreground >> k & 1 ? run_value[run] : 0;
    }
    write_four_pixels(writer, x, y, labels);
  }
}

}  // namespace regions::cclabel

#endif
