// Fuzz target: stored background models of graphcutbg. One that is taken comes back as it was
// given, and frames can be worked on with it.
#include <algorithm>
#include <cstring>
#include <vector>

#include "core/frame.hpp"
#include "core/graphcutbg/stored_model.hpp"
#include "cpu/backend.hpp"
#include "tests/fuzz/input.hpp"

namespace regions::fuzz {
namespace {

using graphcutbg::Mode;
using graphcutbg::Model;
using graphcutbg::StateHeader;

struct Stream {
  explicit Stream(Input& in) {
    setup.in = layout_of(static_cast<PixelFormat>(in.below(kPixelFormats - 1)));
    setup.size = {1 + in.below(40), 1 + in.below(24)};
    setup.color.full_range = in.one_in(2);
    algorithm = make_algorithm<GraphCutBgParams, BackendKind::cpu>(backend);
    configure();
    pixels.resize(packed_bytes(setup.in, setup.size));
    mask.resize(setup.size.area());
  }
  GraphCutBg& cut() { return static_cast<GraphCutBg&>(*algorithm); }
  void configure() {
    algorithm->prepare(params);
    algorithm->configure(setup);
  }
  void set(Input& in) {
    const Field& field = in.one_of(fields_of(params));
    if (field.kind == Kind::text) return;
    try {
      assign_text(field, &params, value_text(field, in));
    } catch (const InputError&) {
    }
  }
  void frame(Input& in) {
    fill({reinterpret_cast<uint8_t*>(pixels.data()), pixels.size()},
         row_bytes(setup.in, 0, setup.size), in);
    FrameTask task;
    task.in = packed_frame(setup.in, setup.size, setup.color, Memory::host, pixels.data());
    task.foreground = {mask.data(), setup.size.width, setup.size.height, setup.size.width};
    try {
      algorithm->enqueue(task, params, *queue);
    } catch (const InputError&) {  // settings that contradict each other
    }
    queue->record();
    queue->wait();
  }

  const std::shared_ptr<Backend> backend = make_cpu_backend(1);
  const std::unique_ptr<Queue> queue = backend->make_queue();
  Setup setup;
  GraphCutBgParams params;
  std::unique_ptr<Algorithm<GraphCutBgParams>> algorithm;
  std::vector<std::byte> pixels;
  std::vector<uint8_t> mask;
};

// The bytes of a file: those of the input, or a model of the right size that repeats the words of
// the input. The weights and variances may be replaced by valid values.
std::vector<std::byte> stored_model(const Stream& stream, Input& in) {
  const int kind = in.below(8);
  const Size size = stream.setup.size;
  std::vector<std::byte> model(kind == 0 ? in.rest().size() : graphcutbg::state_bytes(size));
  StateHeader header;
  header.width = size.width;
  header.height = size.height;
  uint32_t* const scene[] = {&header.scene.age, &header.scene.frame, &header.scene.busy,
                             &header.scene.restarted};
  for (uint32_t* number : scene) *number = static_cast<uint32_t>(in.integer());
  for (uint16_t* number : {&header.scene.split, &header.scene.turning}) {
    *number = static_cast<uint16_t>(in.integer());
  }
  const auto words = in.rest().first(std::min<size_t>(in.rest().size(), kind == 0 ? 1 << 20 : 64));
  for (size_t i = 0; i < model.size() && !words.empty(); ++i) {
    model[i] = static_cast<std::byte>(words[i % words.size()] ^ (kind == 1 ? i * 0x9D >> 3 : 0));
  }
  if (kind == 0) return model;
  std::memcpy(model.data(), &header, sizeof header);
  const auto bytes_of = [&](size_t word, size_t pixel) {
    return model.data() + sizeof header + (word * size.area() + pixel) * sizeof(uint32_t);
  };
  for (size_t i = 0; kind != 2 && i < size.area(); ++i) {
    bytes_of(0, i)[2] |= std::byte{1};  // the weight of the first mode
    for (size_t k = 0; k < Model::kModes; ++k) {
      std::byte* variances = bytes_of(k * Mode::kWords + 2, i);
      variances[0] |= std::byte{1};
      variances[2] |= std::byte{1};
    }
  }
  if (kind == 3) model.resize(model.size() - 1 - in.byte() % model.size());
  if (kind == 4) model.resize(model.size() + in.byte());
  return model;
}

void restore(Stream& stream, Input& in) {
  const std::vector<std::byte> bytes = stored_model(stream, in);
  // The model's memory ends where its bytes do.
  const std::unique_ptr<std::byte[]> model(new std::byte[bytes.size()]);
  std::copy(bytes.begin(), bytes.end(), model.get());
  const auto before = stream.cut().state();
  try {
    stream.cut().restore({model.get(), bytes.size()});
  } catch (const InputError&) {
    require(stream.cut().state() == before, "a model that was refused has changed the one in use");
    return;
  }
  const auto taken = stream.cut().state();
  if (taken.empty()) return;  // of no frame: the next one begins it
  stream.cut().restore(taken);
  require(stream.cut().state() == taken, "a model that is stored and read again is another one");
}

}  // namespace
}  // namespace regions::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace regions::fuzz;
  Input in(data, size);
  Stream stream(in);
  restore(stream, in);
  for (int steps = 0; steps < 12 && !in.empty(); ++steps) {
    switch (in.below(6)) {
      case 0:
        restore(stream, in);
        break;
      case 1:
      case 2:
        stream.set(in);
        break;
      case 3:
        stream.algorithm->reset();
        break;
      default:
        stream.frame(in);
    }
  }
  return 0;
}
