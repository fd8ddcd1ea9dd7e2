// The command line of bench/algorithms, and the cases it asks for.
#pragma once

#include <string>
#include <vector>

#include "bench/clock.hpp"
#include "bench/stand.hpp"

namespace regions {

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
  bool help = false;
};

// Throws InputError for what it does not understand.
Options parse(int count, char** words);
std::string usage();
std::vector<Case> cases_of(const Options& options);

}  // namespace regions
