// Failures on demand.
#include "core/faults.hpp"

#include <algorithm>
#include <charconv>
#include <mutex>
#include <string>
#include <string_view>

#include "core/error.hpp"

namespace regions {
namespace {

constexpr std::string_view kNames[] = {"allocation", "launch", "work"};
constexpr int kKinds = 3;

struct Plan {
  std::mutex mutex;
  std::string text;
  int every[kKinds] = {};  // 0: never
  int counted[kKinds] = {};
};
Plan& plan() {
  static Plan one;
  return one;
}

void read(std::string_view part, int (&every)[kKinds]) {
  const size_t equals = part.find('=');
  int number = 0;
  for (int k = 0; k < kKinds && equals != part.npos; ++k) {
    if (part.substr(0, equals) != kNames[k]) continue;
    const char* end = part.data() + part.size();
    const auto [at, error] = std::from_chars(part.data() + equals + 1, end, number);
    if (error == std::errc() && at == end && number > 0) {
      every[k] = number;
      return;
    }
  }
  throw InputError("REGIONS_FAULTS: '" + std::string(part) +
                   "' is not allocation=N, launch=N or work=N");
}

}  // namespace

void want_faults(const char* text) {
  const std::string wanted = text ? text : "";
  Plan& p = plan();
  const std::lock_guard lock(p.mutex);
  if (wanted == p.text) return;
  int every[kKinds] = {};
  for (std::string_view rest = wanted; !rest.empty();) {
    const size_t comma = std::min(rest.find(','), rest.size());
    read(rest.substr(0, comma), every);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  p.text = wanted;
  for (int k = 0; k < kKinds; ++k) {
    p.every[k] = every[k];
    p.counted[k] = 0;
  }
  faults::wanted = !wanted.empty();
}

void faults::count(Fault kind) {
  const auto k = static_cast<int>(kind);
  Plan& p = plan();
  {
    const std::lock_guard lock(p.mutex);
    if (p.every[k] == 0 || ++p.counted[k] % p.every[k] != 0) return;
  }
  const std::string what = "injected failure of " + std::string(kNames[k]);
  if (kind == Fault::allocation) throw MemoryError(what);
  throw DeviceError(what);
}

}  // namespace regions
