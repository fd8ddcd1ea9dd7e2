// Files that properties name, which may be anything: read with a bound, written so that a name
// always means a whole file.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace regions {

// The first `most` bytes of a regular file; nothing where there is no file. Throws
// UnreadableFile naming the file if it is of another kind (a FIFO would be waited for) or cannot be
// read.
std::optional<std::vector<std::byte>> read_file(const std::string& path, size_t most);

// Writes beside `path` under a name that is new, then takes the name over. What the path named
// before, also by a link, stays as it is until then, or for good where writing fails. Throws
// InputError naming the file.
void write_file(const std::string& path, std::span<const std::byte> bytes);

}  // namespace regions
