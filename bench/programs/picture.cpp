// Writes one of the benchmark's pictures, and the labels our CPU gives it, as raw bytes to standard
// output, so that peers in other languages see the very same input.
#include <cstdio>
#include <cstring>

#include "bench/program.hpp"
#include "bench/stand.hpp"
#include "cpu/backend.hpp"

namespace regions {
namespace {

void write(const void* data, size_t bytes) {
  if (std::fwrite(data, 1, bytes, stdout) != bytes) throw InputError("standard output is closed");
}

void write_labels(const Picture& picture, const char* connectivity, const Case& base) {
  Case task = base;
  assign_text(find(fields_of(task.params), "connectivity"), &task.params, connectivity);
  auto backend = make_cpu_backend(0);
  Stand stand(backend, make_algorithm<CcLabelParams, BackendKind::cpu>(backend), task,
              std::span(&picture, 1), 1, 1);
  stand.enqueue(0);
  const Answer answer = stand.answer(0);
  write(answer.labels.data(), answer.labels.size() * sizeof(uint32_t));
}

int run(int count, char** words) {
  if (count == 2 && std::strcmp(words[1], "--contents") == 0) {
    for (const auto name : contents()) std::printf("%s\n", std::string(name).c_str());
    return 0;
  }
  expects(count >= 4, "usage: picture CONTENT WIDTH HEIGHT [4] [8] | picture --contents");
  Case task{.content = words[1], .size = {whole_number(words[2]), whole_number(words[3])}};
  task.params.output = CcOutput::none;
  const Picture picture = make_picture(task.content, task.size);
  write(picture.pixels.data(), picture.pixels.size());
  for (int i = 4; i < count; ++i) write_labels(picture, words[i], task);
  return 0;
}

}  // namespace
}  // namespace regions

int main(int count, char** words) {
  return regions::run_program("picture", regions::run, count, words);
}
