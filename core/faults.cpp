// Parses the plan of injected faults, and counts the steps that may fail.
#include "core/faults.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>

#include "core/error.hpp"

namespace regions {
#if REGIONS_FAULTS
namespace {

constexpr std::string_view kFaultNames[] = {"allocation", "launch", "work"};
constexpr int kFaultKinds = 3;

struct Plan {
  std::string text;
  int failure_interval[kFaultKinds] = {};  // [kind] every Nth step fails; 0: none
  int call_count[kFaultKinds] = {};        // [kind] number of steps so far
  // Number of the first step that fails because the device is lost; 0: none.
  int first_lost_step = 0;
  int skips_launches = 0;         // not 0: launches are skipped
  int separates_allocations = 0;  // not 0: allocations go to the system
  int step_count = 0;             // number of steps of all kinds so far
};

std::mutex mutex;  // guards the plan
Plan plan;

// Returns the member that stores the number after this name, or null if the name is unknown.
int* member_named(std::string_view name, Plan& next) {
  if (name == "gone") return &next.first_lost_step;
  if (name == "idle") return &next.skips_launches;
  if (name == "apart") return &next.separates_allocations;
  for (int k = 0; k < kFaultKinds; ++k) {
    if (name == kFaultNames[k]) return &next.failure_interval[k];
  }
  return nullptr;
}

void parse_fault(std::string_view part, Plan& next) {
  const size_t equals = part.find('=');
  int* member = equals == part.npos ? nullptr : member_named(part.substr(0, equals), next);
  if (member) {
    int number = 0;
    const char* end = part.data() + part.size();
    const auto [at, error] = std::from_chars(part.data() + equals + 1, end, number);
    if (error == std::errc() && at == end && number > 0) {
      *member = number;
      return;
    }
  }
  throw InputError(
      "REGIONS_FAULTS: '" + std::string(part) +
      "' is unknown; expected allocation=N, launch=N, work=N, gone=N, idle=1 or apart=1");
}

}  // namespace

void inject_faults(const char* text) {
  Plan next;
  next.text = text ? text : "";
  const std::lock_guard lock(mutex);
  if (next.text == plan.text) return;
  for (std::string_view unparsed = next.text; !unparsed.empty();) {
    const size_t comma = std::min(unparsed.find(','), unparsed.size());
    parse_fault(unparsed.substr(0, comma), next);
    unparsed.remove_prefix(std::min(comma + 1, unparsed.size()));
  }
  plan = next;
  faults::enabled = !plan.text.empty();
  faults::skip_launches = plan.skips_launches > 0;
  faults::separate_allocations = plan.separates_allocations > 0;
}

void faults::count(Fault kind) {
  const auto k = static_cast<int>(kind);
  {
    const std::lock_guard lock(mutex);
    ++plan.step_count;
    if (plan.first_lost_step > 0 && plan.step_count >= plan.first_lost_step) {
      throw DeviceError("injected failure: the device was lost");
    }
    if (plan.failure_interval[k] == 0 || ++plan.call_count[k] % plan.failure_interval[k] != 0)
      return;
  }
  const std::string what = "injected failure of " + std::string(kFaultNames[k]);
  if (kind == Fault::allocation) throw MemoryError(what);
  throw DeviceError(what);
}

void inject_faults_from_environment() { inject_faults(std::getenv("REGIONS_FAULTS")); }

#else  // builds without tests

void inject_faults(const char*) {}
void inject_faults_from_environment() {}
void faults::count(Fault) {}

#endif
}  // namespace regions
