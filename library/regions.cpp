// The C interface: exceptions become status and text.
#include "library/regions.h"

#include <algorithm>
#include <cstring>

#include "library/filter.hpp"

struct RegionsFilter {
  regions::Filter filter;
};

namespace {

// Neither made nor taken down: it can be read from the thread's first to its last moment, and to
// write it takes no memory.
thread_local char last_error[1024] = "no call has failed";

RegionsStatus failed(RegionsStatus status, const char* text) {
  const size_t length = std::min(std::strlen(text), sizeof last_error - 1);
  std::memmove(last_error, text, length);
  last_error[length] = '\0';
  return status;
}

// Runs `call` and tells what became of it.
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

void expect_given(const void* pointer, const char* what) {
  regions::expects(pointer != nullptr, std::string(what) + " is null");
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

void regions_close(RegionsFilter* filter) { delete filter; }

const char* regions_device(const RegionsFilter* filter) {
  return filter ? filter->filter.device().c_str() : "none";
}

RegionsStatus regions_set(RegionsFilter* filter, const char* property, const char* value) {
  return guarded([&] {
    expect_given(filter, "the filter");
    expect_given(property, "the property's name");
    expect_given(value, "the value");
    filter->filter.set(property, value);
  });
}

const char* regions_get(RegionsFilter* filter, const char* property) {
  const char* text = nullptr;
  guarded([&] {
    expect_given(filter, "the filter");
    expect_given(property, "the property's name");
    text = filter->filter.get(property).c_str();
  });
  return text;
}

RegionsStatus regions_process(RegionsFilter* filter, RegionsFrame* frame) {
  return guarded([&] {
    expect_given(filter, "the filter");
    expect_given(frame, "the frame");
    filter->filter.process(*frame);
  });
}

RegionsStatus regions_reset(RegionsFilter* filter) {
  return guarded([&] {
    expect_given(filter, "the filter");
    filter->filter.reset();
  });
}

const char* regions_error(void) { return last_error; }

const char* regions_version(void) { return REGIONS_VERSION; }
