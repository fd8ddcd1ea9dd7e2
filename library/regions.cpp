// The C interface: turns exceptions into status and text.
#include "library/regions.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "library/filter.hpp"

struct RegionsFilter {
  regions::Filter filter;
  const pid_t process = getpid();  // that opened the filter
};

namespace {

// A plain array: it exists during the thread's whole life, and writing it needs no memory.
thread_local char last_error[1024] = "no call has failed";

RegionsStatus failed(RegionsStatus status, const char* text) {
  const size_t length = std::min(std::strlen(text), sizeof last_error - 1);
  std::memmove(last_error, text, length);
  last_error[length] = '\0';
  return status;
}

// Runs `call` and returns its status.
template <class Call>
RegionsStatus guarded(Call call) {
  try {
    call();
    return REGIONS_OK;
  } catch (const regions::InputError& error) {
    return failed(REGIONS_ERROR_INPUT, error.what());
  } catch (const regions::MemoryError& error) {
    return failed(REGIONS_ERROR_MEMORY, error.what());
  } catch (const std::bad_alloc&) {
    return failed(REGIONS_ERROR_MEMORY, "no memory");
  } catch (const regions::DeviceError& error) {
    return failed(REGIONS_ERROR_DEVICE, error.what());
  } catch (const std::exception& error) {
    return failed(REGIONS_ERROR_OTHER, error.what());
  } catch (...) {
    return failed(REGIONS_ERROR_OTHER, "an unknown failure");
  }
}

// After fork() the child has none of the threads that a filter uses, and no access to its device.
bool is_of_this_process(const RegionsFilter* filter) { return filter->process == getpid(); }

void expect_given(const void* pointer, const char* what) {
  regions::expects(pointer != nullptr, std::string(what) + " is null");
}

void expect_usable(const RegionsFilter* filter) {
  expect_given(filter, "the filter");
  if (is_of_this_process(filter)) return;
  throw std::runtime_error("the filter was opened in process " + std::to_string(filter->process) +
                           ", before fork(); open another one in this process");
}

}  // namespace

RegionsFilter* regions_open(const char* algorithm, const char* device, int threads) {
  RegionsFilter* filter = nullptr;
  guarded([&] {
    expect_given(algorithm, "the algorithm's name");
    regions::expects(threads >= 0, "threads below 0");
    filter = new RegionsFilter{regions::Filter(algorithm, device ? device : "auto", threads)};
  });
  return filter;
}

void regions_close(RegionsFilter* filter) {
  if (!filter || !is_of_this_process(filter))
    return;  // in a child of fork() its threads are missing
  delete filter;
}

const char* regions_device(const RegionsFilter* filter) {
  return filter ? filter->filter.device().c_str() : "none";
}

RegionsStatus regions_set(RegionsFilter* filter, const char* property, const char* value) {
  return guarded([&] {
    expect_usable(filter);
    expect_given(property, "the property's name");
    expect_given(value, "the value");
    filter->filter.set(property, value);
  });
}

const char* regions_get(RegionsFilter* filter, const char* property) {
  const char* text = nullptr;
  guarded([&] {
    expect_usable(filter);
    expect_given(property, "the property's name");
    text = filter->filter.get(property).c_str();
  });
  return text;
}

RegionsStatus regions_process(RegionsFilter* filter, RegionsFrame* frame) {
  return guarded([&] {
    expect_usable(filter);
    expect_given(frame, "the frame");
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
