// The cases of cclabel that are timed, and the command line that chooses among them.
#pragma once

#include "bench/programs/program.hpp"
#include "bench/programs/row.hpp"
#include "bench/programs/stand.hpp"
#include "core/cclabel/cclabel.hpp"
#include "tests/pictures/pictures.hpp"

namespace regions {

struct Case {
  std::string content;  // of make_picture
  Size size;
  PixelFormat format = PixelFormat::gray8;
  CcLabelParams params;
  bool table = false;  // the regions' records too, or labels alone

  // The name of the value that a parameter has: chosen("criterion") is "binary".
  std::string chosen(std::string_view parameter) const;
  std::string name() const;      // "binary-8-table/maze/1920x1080"
  size_t least_bytes() const;    // the input read once and the labels written once
  int frames_beyond_l2() const;  // how many frames outgrow a 60 MB cache from 1920x1080 on
  Row row(const char* what, const std::string& by, const std::string& backend, int threads,
          uint32_t regions, bool correct, bool json) const;
};

using CcLabelStand = Stand<CcLabelParams>;
// Frame i shows pictures[i % pictures.size()].
CcLabelStand stand_of(const Case& task, const std::shared_ptr<Backend>& backend,
                      std::span<const Picture> pictures, int frames);
// The picture and its mirror images (left-right, top-down, both): four different inputs that are
// equally hard.
std::vector<Picture> mirrored(const Picture& picture);

struct Options {
  std::vector<std::string> backends;     // cpu, cuda; empty: those that work here
  std::vector<int> threads = {1, 2, 0};  // of the cpu; 0: all cores
  std::vector<std::string> content;      // empty: the 21, or the tone contents for other criteria
  std::vector<Size> sizes = {{512, 512}, {1024, 768}, {1920, 1080}, {3840, 2160}, {4096, 4096}};
  std::vector<Connectivity> connectivity = {Connectivity::four, Connectivity::eight};
  std::vector<Criterion> criteria = {Criterion::binary, Criterion::difference};
  std::vector<bool> tables = {false, true};
  PixelFormat format = PixelFormat::gray8;  // of `binary`; other criteria see RGB
  std::string filter;                       // regular expression over Case::name()
  CcLabelParams params;                     // as changed by --set
  Effort effort;
  int repeats = 0;    // > 0: compares that many runs of each frame instead of timing
  bool json = false;  // one JSON object a line on standard output
  bool list = false;  // names the cases only
};

// Throws InputError for what it does not understand.
Options options_of(int count, char** words);
std::vector<Case> cases_of(const Options& options);
// The numbers of threads that are wanted and that there are, none twice.
std::vector<int> threads_of(const Options& options, int cores);

}  // namespace regions
