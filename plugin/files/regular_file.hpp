// Reads and writes whole files whose names are property values. A name may refer to any kind of
// file, so reading has a size limit. Writing replaces a file in one step, so a reader never sees
// half a file.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace regions {

// Returns the first `max_bytes` bytes of a regular file, or nothing if the file does not exist.
// Throws UnreadableFile, which names the file, if it is not a regular file (reading a FIFO would
// block) or cannot be read.
std::optional<std::vector<std::byte>> read_file(const std::string& path, size_t max_bytes);

// Checks that write_file() could create the file: creates a temporary file next to `path` and
// removes it. Throws MissingFile or UnwritableFile, which name the file and its folder.
void expect_writable(const std::string& path);

// Writes a temporary file next to `path`, then renames it to `path`. An existing file keeps its
// content until the rename, also if writing fails. If `path` is a symbolic link, the rename
// replaces the link and does not change its target. Throws UnwritableFile, which names the file.
void write_file(const std::string& path, std::span<const std::byte> bytes);

}  // namespace regions
