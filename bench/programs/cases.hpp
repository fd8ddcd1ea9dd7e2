// The cases of cclabel that can be timed, and the command line that selects them.
#pragma once

#include "bench/programs/program.hpp"
#include "bench/programs/row.hpp"
#include "bench/programs/stand.hpp"
#include "core/cclabel/cclabel.hpp"
#include "tests/pictures/pictures.hpp"

namespace regions {

struct Case {
  std::string content;  // for make_picture()
  Size size;
  PixelFormat format = PixelFormat::gray8;
  CcLabelParams params;
  bool table = false;  // labels and the table of regions, or only labels

  // The name of a parameter's value: chosen("criterion") returns "binary".
  std::string value_name(std::string_view parameter) const;
  std::string name() const;      // "binary-8-table/maze/1920x1080"
  size_t min_bytes() const;      // the input read once and the labels written once
  int frames_beyond_l2() const;  // frames that exceed a 60 MB cache, from 1920x1080 on
  Row row(const char* what, const std::string& by, const std::string& backend, int threads,
          uint32_t regions, bool correct, bool json) const;
};

using CcLabelTestStand = TestStand<CcLabelParams>;
// Gives pictures[i % pictures.size()] to frame i.
CcLabelTestStand make_test_stand(const Case& test_case, const std::shared_ptr<Backend>& backend,
                                 std::span<const Picture> pictures, int frames);
// The picture and its mirror images (left-right, top-down, and in both directions): four different
// inputs of equal difficulty.
std::vector<Picture> mirrored(const Picture& picture);

struct Options {
  std::vector<std::string> backends;     // cpu, cuda; empty: all that work here
  std::vector<int> threads = {1, 2, 0};  // on the CPU; 0: all cores
  std::vector<std::string> content;      // empty: the 21 contents, or those of other criteria
  std::vector<Size> sizes = {{512, 512}, {1024, 768}, {1920, 1080}, {3840, 2160}, {4096, 4096}};
  std::vector<Connectivity> connectivity = {Connectivity::four, Connectivity::eight};
  std::vector<Criterion> criteria = {Criterion::binary, Criterion::difference};
  std::vector<bool> table_choices = {false, true};
  PixelFormat format = PixelFormat::gray8;  // for `binary`; other criteria use RGB
  std::string filter;                       // regular expression over Case::name()
  CcLabelParams params;                     // changed by --set
  Effort effort;
  int repeats = 0;    // > 0: compare this many runs of each frame instead of timing
  bool json = false;  // print one JSON object per line
  bool list = false;  // only print the names of the cases
};

// Throws InputError for an invalid command line.
Options options_of(int argc, char** argv);
std::vector<Case> cases_of(const Options& options);
// The requested numbers of threads, limited to `cores` and without duplicates.
std::vector<int> threads_of(const Options& options, int cores);

}  // namespace regions
