// Output pictures from final labels, a thread a pixel.
#include "gpu/slicsuperpixel/phases.hpp"
#include "gpu/slicsuperpixel/tuning.hpp"

namespace regions::slic {
namespace {

struct LabelWriter {
  __device__ void write(ConstLabelMap labels, const Frame& out, int x, int y) const {
    std::byte* to = out.at(0, x, y);
    const uint32_t label = labels(x, y);
    if (out.layout.sample_bytes == 1) {
      *reinterpret_cast<uint8_t*>(to) = static_cast<uint8_t>(label);
    } else if (out.layout.sample_bytes == 2) {
      *reinterpret_cast<uint16_t*>(to) = static_cast<uint16_t>(label);
    } else {
      *reinterpret_cast<uint32_t*>(to) = label;
    }
  }
};

struct BoundaryWriter {
  __device__ void write(ConstLabelMap labels, const Frame& out, int x, int y) const {
    const uint32_t label = labels(x, y);
    const bool begins =
        (x > 0 && labels(x - 1, y) != label) || (y > 0 && labels(x, y - 1) != label);
    *reinterpret_cast<uint8_t*>(out.at(0, x, y)) = begins ? 255 : 0;
  }
};

struct MeanWriter {
  Records records;

  __device__ void write(ConstLabelMap labels, const Frame& out, int x, int y) const {
    const uint32_t label = labels(x, y);
    if (label > records.capacity) return;
    const Region& region = records.region[label - 1];
    for (int c = 0; c < out.layout.channels; ++c) {
      const Component& k = out.layout.component[c];
      // A sample shared by several pixels follows the first of them.
      if ((x & ((1 << k.x_shift) - 1)) != 0 || (y & ((1 << k.y_shift) - 1)) != 0) continue;
      out.set_sample(c, x, y,
                     static_cast<int>((region.sum_value[c] + region.area / 2) / region.area));
    }
  }
};

template <class Writer>
__global__ __launch_bounds__(PixelBlock::threads) void write_kernel(ConstLabelMap labels, Frame out,
                                                                    Writer writer) {
  const int x = static_cast<int>(blockIdx.x * 32 + threadIdx.x % 32);
  const int y = static_cast<int>(blockIdx.y * (PixelBlock::threads / 32) + threadIdx.x / 32);
  if (x < labels.width && y < labels.height) writer.write(labels, out, x, y);
}

template <class Writer>
void launch_writer(ConstLabelMap labels, const Frame& out, const Writer& writer,
                   cudaStream_t stream) {
  launch(write_kernel<Writer>,
         dim3(blocks_for(static_cast<size_t>(labels.width), 32),
              blocks_for(static_cast<size_t>(labels.height), PixelBlock::threads / 32)),
         PixelBlock::threads, 0, stream, labels, out, writer);
}

}  // namespace

void write_label_picture(ConstLabelMap labels, const Frame& out, cudaStream_t stream) {
  launch_writer(labels, out, LabelWriter(), stream);
}
void write_boundaries(ConstLabelMap labels, const Frame& out, cudaStream_t stream) {
  launch_writer(labels, out, BoundaryWriter(), stream);
}
void write_means(ConstLabelMap labels, const Records& records, const Frame& out,
                 cudaStream_t stream) {
  launch_writer(labels, out, MeanWriter{records}, stream);
}

}  // namespace regions::slic
