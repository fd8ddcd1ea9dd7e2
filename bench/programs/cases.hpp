// The benchmark cases of cclabel, and the command line that selects them.
#pragma once

#include "bench/programs/program.hpp"
#include "bench/programs/row.hpp"
#include "bench/programs/stand.hpp"
#include "core/cclabel/cclabel.hpp"
#include "tests/pictures/pictures.hpp"

namespace regions {

struct Case {
  std::string content;  // name of the picture, see make_picture()
  Size size;
  PixelFormat format = PixelFormat::gray8;
  CcLabelParams params;
  bool table = false;  // whether the task includes the table of regions, in addition to the labels

  // Returns the name of a parameter's value: value_name("criterion") may return "binary".
  std::string value_name(std::string_view parameter) const;
  std::string name() const;  // for example "binary-8-table/maze/1920x1080"
  // Returns the memory traffic if each pixel is read once and each label is written once, in bytes.
  size_t min_bytes() const;
  // Returns the number of frames for timings. From 1920x1080 pixels on, the frames' data together
  // exceeds a cache of 60 MB.
  int frames_beyond_l2() const;
  Row row(const char* what, const std::string& implementation, const std::string& backend,
          int threads, uint32_t regions, bool correct, bool json) const;
};

using CcLabelTestStand = TestStand<CcLabelParams>;
// Makes a test stand of `frames` frames. The input of frame i is pictures[i % pictures.size()].
CcLabelTestStand make_test_stand(const Case& test_case, const std::shared_ptr<Backend>& backend,
                                 std::span<const Picture> pictures, int frames);
// Returns the picture and its mirror images (left-right, top-down, and both): four different inputs
// of equal difficulty.
std::vector<Picture> mirrored(const Picture& picture);

struct Options {
  // "cpu", "cuda" or both; empty: all backends that this machine supports.
  std::vector<std::string> backends;
  std::vector<int> threads = {1, 2, 0};  // each number of CPU threads to measure; 0: all cores
  std::vector<std::string> content;      // names of pictures; empty: all pictures for the criterion
  std::vector<Size> sizes = {{512, 512}, {1024, 768}, {1920, 1080}, {3840, 2160}, {4096, 4096}};
  std::vector<Connectivity> connectivity = {Connectivity::four, Connectivity::eight};
  std::vector<Criterion> criteria = {Criterion::binary, Criterion::difference};
  std::vector<bool> table_choices = {false, true};
  PixelFormat format = PixelFormat::gray8;  // pixel format of inputs for criterion=binary
  std::string filter;                       // regular expression over Case::name()
  CcLabelParams params;                     // parameter values that --set changes
  Effort effort;
  int repeats = 0;    // > 0: compare this many runs of each frame instead of timing
  bool json = false;  // print one JSON object per line
  bool list = false;  // only print the names of the cases
};

// Throws InputError for an invalid command line.
Options options_of(int argc, char** argv);
std::vector<Case> cases_of(const Options& options);
// Returns the requested numbers of threads, without duplicates and without numbers above `cores`.
std::vector<int> threads_of(const Options& options, int cores);

}  // namespace regions
