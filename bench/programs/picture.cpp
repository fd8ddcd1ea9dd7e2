// Writes one of the benchmark's pictures and its labels, computed on the CPU, as raw bytes to
// standard output, so that peers in other languages get the same input.
#include <cstdio>

#include "bench/programs/cases.hpp"
#include "tests/pictures/guarded.hpp"

namespace regions {
namespace {

void write(const void* data, size_t bytes) {
  if (std::fwrite(data, 1, bytes, stdout) != bytes)
    throw InputError("cannot write to standard output");
}

int run(int count, char** words) {
  bool names = false;
  std::string criterion = "binary";
  const auto others =
      parse(count, words, "CONTENT SIZE [4] [8] | --contents\nWrites a picture.",
            {{"--contents", nullptr, "print the names of the criterion's pictures", into(names)},
             {"--criterion", "NAME", "binary: gray (default); others: RGB", into(criterion)}});
  const bool is_binary = criterion == "binary";
  if (names) {
    for (const auto name : is_binary ? contents() : tone_contents()) {
      std::printf("%s\n", std::string(name).c_str());
    }
    return 0;
  }
  expects(others.size() >= 2, "expected CONTENT and SIZE (see --help)");
  Case task{.content = others[0]};
  read(others[1], task.size);
  task.params.output = CcOutput::none;
  set_parameter(fields_of(task.params), &task.params, "criterion=" + criterion);
  if (!is_binary) task.format = PixelFormat::rgb;
  const Picture picture = make_picture(task.content, task.size);
  if (is_binary || picture.format == task.format) {
    write(picture.pixels.data(), picture.pixels.size());
  } else {
    const GuardedFrame converted = convert(picture.frame(), task.format);
    const ConstFrame frame = converted.frame();
    const size_t row = row_bytes(frame.layout, 0, frame.size());
    for (int y = 0; y < frame.height; ++y) write(frame.plane[0] + y * frame.pitch[0], row);
  }
  for (size_t i = 2; i < others.size(); ++i) {
    set_parameter(fields_of(task.params), &task.params, "connectivity=" + others[i]);
    CcLabelStand stand = stand_of(task, make_cpu_backend(), std::span(&picture, 1), 1);
    stand.run(0);
    const Answer answer = stand.answer(0);
    write(answer.labels.data(), answer.labels.size() * sizeof(uint32_t));
  }
  return 0;
}

}  // namespace
}  // namespace regions

int main(int count, char** words) {
  return regions::run_program("picture", regions::run, count, words);
}
