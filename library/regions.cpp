// Implements the functions of the C interface. Exceptions become a status and an error text.
#include "library/regions.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "library/filter.hpp"

struct RegionsFilter {
  regions::Filter filter;
  const pid_t process = getpid();  // the process that opened the filter
};

namespace {

// An array instead of a std::string, because it has no destructor and never allocates. The caller
// can therefore read it until the thread ends.
thread_local char last_error[1024] = "no call of this thread has failed";

RegionsStatus store_error(RegionsStatus status, const char* text) {
  const size_t length = std::min(std::strlen(text), sizeof last_error - 1);
  std::memmove(last_error, text, length);
  last_error[length] = '\0';
  return status;
}

// Runs `call` and returns its status. If it throws, stores the error text for regions_error().
template <class Call>
RegionsStatus guarded(Call call) {
  try {
    call();
    return REGIONS_OK;
  } catch (const regions::InputError& error) {
    return store_error(REGIONS_ERROR_INPUT, error.what());
  } catch (const regions::MemoryError& error) {
    return store_error(REGIONS_ERROR_MEMORY, error.what());
  } catch (const std::bad_alloc&) {
    return store_error(REGIONS_ERROR_MEMORY, "out of memory");
  } catch (const regions::DeviceError& error) {
    return store_error(REGIONS_ERROR_DEVICE, error.what());
  } catch (const std::exception& error) {
    return store_error(REGIONS_ERROR_OTHER, error.what());
  } catch (...) {
    return store_error(REGIONS_ERROR_OTHER, "unknown exception");
  }
}

// After fork() the child has none of the threads that a filter uses, and no access to its device.
bool is_of_this_process(const RegionsFilter* filter) { return filter->process == getpid(); }

void expect_not_null(const void* pointer, const char* message) {
  regions::expects(pointer != nullptr, message);
}

void expect_usable(const RegionsFilter* filter) {
  expect_not_null(filter, "filter is null, must come from regions_open()");
  if (is_of_this_process(filter)) return;
  throw std::runtime_error("the filter was opened in process " + std::to_string(filter->process) +
                           ", before fork(); open another one in this process");
}

constexpr char kNoProperty[] = "property is null, must be the name of a property";

}  // namespace

RegionsFilter* regions_open(const char* algorithm, const char* device, int threads) {
  RegionsFilter* filter = nullptr;
  guarded([&] {
    expect_not_null(algorithm, "algorithm is null, must be the name of an algorithm");
    regions::expects(threads >= 0, "threads is " + std::to_string(threads) +
                                       ", must be at least 0 (0: one per CPU core)");
    filter = new RegionsFilter{regions::Filter(algorithm, device ? device : "auto", threads)};
  });
  return filter;
}

void regions_close(RegionsFilter* filter) {
  if (!filter || !is_of_this_process(filter))
    return;  // a child process of fork() does not have the filter's threads
  delete filter;
}

const char* regions_device(const RegionsFilter* filter) {
  return filter ? filter->filter.device().c_str() : "none";
}

RegionsStatus regions_set(RegionsFilter* filter, const char* property, const char* value) {
  return guarded([&] {
    expect_usable(filter);
    expect_not_null(property, kNoProperty);
    expect_not_null(value, "value is null, must be the value as text");
    filter->filter.set(property, value);
  });
}

const char* regions_get(RegionsFilter* filter, const char* property) {
  const char* text = nullptr;
  guarded([&] {
    expect_usable(filter);
    expect_not_null(property, kNoProperty);
    text = filter->filter.get(property).c_str();
  });
  return text;
}

RegionsStatus regions_process(RegionsFilter* filter, RegionsFrame* frame) {
  return guarded([&] {
    expect_usable(filter);
    expect_not_null(frame, "frame is null, must point to a RegionsFrame");
    filter->filter.process(*frame);
  });
}

RegionsStatus regions_reset(RegionsFilter* filter) {
  return guarded([&] {
    expect_usable(filter);
    filter->filter.reset();
  });
}

const char* regions_error(void) { return last_error; }

const char* regions_version(void) { return REGIONS_VERSION; }
