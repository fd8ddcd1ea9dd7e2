// Writes what each pixel's label gives, four a thread.
#include "gpu/cclabel/base/writers.hpp"
#include "gpu/cclabel/window/phases.hpp"

namespace regions::sliding {
namespace {

constexpr int kThreads = 256;

template <cclabel::PixelWriter Writer>
__global__ __launch_bounds__(kThreads) void write_kernel(ConstLabelMap labels, Writer writer,
                                                         cclabel::Shown shown) {
  const auto fours = (static_cast<uint32_t>(labels.width) + 3) / 4;
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= fours * static_cast<uint32_t>(labels.height)) return;
  const auto y = static_cast<int>(i / fours);
  const int x = static_cast<int>(i % fours) * 4;
  uint32_t values[4];
  for (int k = 0; k < 4; ++k) {
    values[k] = x + k < labels.width ? shown.of(labels(x + k, y)) : 0;
  }
  cclabel::write(writer, x, y, values);
}

struct Launch {
  ConstLabelMap labels;
  cclabel::Shown shown;
  cudaStream_t stream;
  template <cclabel::PixelWriter Writer>
  void operator()(const Writer& writer) const {
    const size_t fours = (static_cast<size_t>(labels.width) + 3) / 4;
    launch(write_kernel<Writer>, blocks_for(fours * static_cast<size_t>(labels.height), kThreads),
           kThreads, 0, stream, labels, writer, shown);
  }
};

}  // namespace

void write_labels(ConstLabelMap labels, LabelMap to, cudaStream_t stream) {
  cclabel::with_label_writer(to, 1, UINT32_MAX, Launch{labels, {}, stream});
}

void write_picture(ConstLabelMap labels, const Frame& out, const CcLabelParams& params,
                   const WindowFrame& frame, cudaStream_t stream) {
  const uint32_t limit = label_limit(out.layout);
  const cclabel::Shown tracks{frame.records, frame.total, frame.capacity, limit, params.overflow};
  switch (params.output) {
    case CcOutput::labels: {
      const bool shows_tracks = params.label_values == LabelValues::track;
      const cclabel::Shown shown = shows_tracks ? tracks : cclabel::Shown{};
      return cclabel::with_label_writer(out, 1, limit, Launch{labels, shown, stream});
    }
    case CcOutput::mask:
      return cclabel::with_label_writer(out, limit, limit, Launch{labels, {}, stream});
    case CcOutput::colors: {
      cclabel::Shown shown = tracks;
      shown.limit = UINT32_MAX;
      return Launch{labels, shown, stream}(cclabel::ColorWriter{out});
    }
    default:
      return;  // drawn on, or not touched
  }
}

}  // namespace regions::sliding
