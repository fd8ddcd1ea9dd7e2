// Loads kernels before they are needed.
#pragma once

namespace regions {

// Loads all kernels of the process into the context in use, some 50 ms of work; else the driver
// loads each when it is first launched, while frames come, and lets other streams' kernels wait
// meanwhile. Where the driver cannot (before CUDA 12.4), nothing happens.
void load_kernels();

}  // namespace regions
