// What is written of four pixels' labels at once: numbers, a mask, colours.
#pragma once

#include <concepts>
#include <cstdint>

#include "core/cclabel/cclabel.hpp"

#ifdef __CUDACC__

namespace regions::cclabel {

// What a pixel of a label gets, and how the values of four pixels are written.
template <class W>
concept PixelWriter = requires(const W& writer, int x, uint32_t label,
                               const uint32_t (&values)[4]) {
  { writer.value(label) } -> std::convertible_to<uint32_t>;
  writer.put(x, x, values);
};

// One label a pixel as a number of type T; four at once where the rows are aligned for it.
template <class T>
struct LabelWriter {
  Image<T> image;
  uint32_t least;  // value of label 1, and
  uint32_t limit;  // greatest value: a mask has both the same
  bool aligned;    // four pixels may be written at once

  __device__ uint32_t value(uint32_t label) const {
    return label ? min(max(label, least), limit) : 0;
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

// Each region in the colour of its label, opaque; background is all zero.
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

template <PixelWriter Writer>
__device__ void write(const Writer& writer, int x, int y, const uint32_t (&labels)[4]) {
  uint32_t values[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) values[k] = writer.value(labels[k]);
  writer.put(x, y, values);
}

// Calls launch(writer) with a writer of the image's, or of the frame's only plane's, labels.
template <class T, class Launch>
void with_label_writer(const Image<T>& image, uint32_t least, uint32_t limit,
                       const Launch& launch) {
  const auto address = reinterpret_cast<uintptr_t>(image.data);
  const bool aligned = (address | static_cast<uintptr_t>(image.pitch)) % (4 * sizeof(T)) == 0;
  launch(LabelWriter<T>{image, least, limit, aligned});
}
template <class Launch>
void with_label_writer(const Frame& out, uint32_t least, uint32_t limit, const Launch& launch) {
  const auto as = [&]<class T>(T) { return out.plane_as<T>(0, out.width, out.height); };
  switch (out.layout.sample_bytes) {
    case 1:
      return with_label_writer(as(uint8_t{}), least, limit, launch);
    case 2:
      return with_label_writer(as(uint16_t{}), least, limit, launch);
    default:
      return with_label_writer(as(uint32_t{}), least, limit, launch);
  }
}

}  // namespace regions::cclabel

#endif
