// The modules that kernels come in, one a source file: copy_kernel.py ends each with a line that
// lists it.
#pragma once

namespace regions {

// Lists a module by one of its kernels; true.
bool list_module(const void* kernel);

// Loads the kernels of all modules into the context in use. CUDA loads each at its first launch
// otherwise, which takes a millisecond while streams wait for their first frames. Returns how many
// are loaded then: none where the driver has no such call, or where machine code would have to be
// made from the portable one, which takes a minute for all.
int load_modules();

}  // namespace regions
