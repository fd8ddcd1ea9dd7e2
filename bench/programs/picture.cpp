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

int run(int argc, char** argv) {
  bool prints_names = false;
  std::string criterion = "binary";
  const auto positional = parse(
      argc, argv, "CONTENT SIZE [4] [8] | --contents\nWrites a picture.",
      {{"--contents", nullptr, "print the names of the criterion's pictures", into(prints_names)},
       {"--criterion", "NAME", "binary: gray (default); others: RGB", into(criterion)}});
  const bool is_binary = criterion == "binary";
  if (prints_names) {
    for (const auto name : is_binary ? contents() : tone_contents()) {
      std::printf("%s\n", std::string(name).c_str());
    }
    return 0;
  }
  expects(positional.size() >= 2, "expected CONTENT and SIZE (see --help)");
  Case test_case{.content = positional[0]};
  read(positional[1], test_case.size);
  test_case.params.output = CcOutput::none;
  set_parameter(fields_of(test_case.params), &test_case.params, "criterion=" + criterion);
  if (!is_binary) test_case.format = PixelFormat::rgb;
  const Picture picture = make_picture(test_case.content, test_case.size);
  if (is_binary || picture.format == test_case.format) {
    write(picture.pixels.data(), picture.pixels.size());
  } else {
    const GuardedFrame converted = convert(picture.frame(), test_case.format);
    const ConstFrame frame = converted.frame();
    const size_t row = row_bytes(frame.layout, 0, frame.size());
    for (int y = 0; y < frame.height; ++y) write(frame.plane[0] + y * frame.pitch[0], row);
  }
  for (size_t i = 2; i < positional.size(); ++i) {
    set_parameter(fields_of(test_case.params), &test_case.params, "connectivity=" + positional[i]);
    CcLabelTestStand test_stand =
        make_test_stand(test_case, make_cpu_backend(), std::span(&picture, 1), 1);
    test_stand.run(0);
    const Answer answer = test_stand.answer(0);
    write(answer.labels.data(), answer.labels.size() * sizeof(uint32_t));
  }
  return 0;
}

}  // namespace
}  // namespace regions

int main(int argc, char** argv) {
  return regions::run_program("picture", regions::run, argc, argv);
}
