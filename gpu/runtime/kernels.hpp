// Loads kernels before they are needed.
#pragma once

#include <initializer_list>

namespace regions {

// Whether machine code made for one of `architectures` runs on a device of compute capability
// `capability`, both times ten: the major version is the same, the minor no later (CUDA C++
// Programming Guide, "Binary Compatibility").
constexpr bool runs_on(int capability, std::initializer_list<int> architectures) {
  for (const int made_for : architectures) {
    if (made_for / 10 == capability / 10 && made_for <= capability) return true;
  }
  return false;
}

// Whether this build has machine code for the device in use. Else the driver translates a file's
// kernels, seconds each, when the first is launched, and keeps the code on disk.
bool have_machine_code();

// Loads all kernels of the process into the context in use, some 30 ms of work; else the driver
// loads each when it is first launched, while frames come, and lets other streams' kernels wait
// meanwhile. Where that can't be, or would mean to translate them all, nothing happens.
void load_kernels();

}  // namespace regions
