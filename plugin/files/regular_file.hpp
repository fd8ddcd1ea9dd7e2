// Files that properties name. They may be anything, so they are read with a bound, and written so
// that a name always means a whole file.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace regions {

// Returns the first `most` bytes of a regular file, or nothing if the file does not exist. Throws
// UnreadableFile, which names the file, if it is of another kind (reading a FIFO would wait) or
// cannot be read.
std::optional<std::vector<std::byte>> read_file(const std::string& path, size_t most);

// Throws MissingFile or UnwritableFile, which name the file and its folder, unless write_file()
// could create a file now: creates one next to `path` and removes it.
void expect_writable(const std::string& path);

// Writes a new file next to `path`, then renames it. The former file, or the target of a link,
// stays unchanged until then, and for good if writing fails. Throws UnwritableFile, which names the
// file.
void write_file(const std::string& path, std::span<const std::byte> bytes);

}  // namespace regions
