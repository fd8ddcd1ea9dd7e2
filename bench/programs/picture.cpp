// Writes one of the benchmark's pictures, and the labels our CPU gives it, as raw bytes to standard
// output, so that peers in other languages see the very same input.
#include <cstdio>

#include "bench/programs/cases.hpp"

namespace regions {
namespace {

void write(const void* data, size_t bytes) {
  if (std::fwrite(data, 1, bytes, stdout) != bytes) throw InputError("standard output is closed");
}

int run(int count, char** words) {
  bool names = false;
  const auto others = parse(count, words, "CONTENT SIZE [4] [8] | --contents\nWrites a picture.",
                            {{"--contents", nullptr, "names the 21 contents", into(names)}});
  if (names) {
    for (const auto name : contents()) std::printf("%s\n", std::string(name).c_str());
    return 0;
  }
  expects(others.size() >= 2, "CONTENT and SIZE are wanted (see --help)");
  Case task{.content = others[0]};
  read(others[1], task.size);
  task.params.output = CcOutput::none;
  const Picture picture = make_picture(task.content, task.size);
  write(picture.pixels.data(), picture.pixels.size());
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
