// Reads and writes the files whose names are values of element properties: pictures, and files that
// are read or written as a whole.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/frame.hpp"

namespace regions {

// ---- regular files (regular_file.cpp)

// Reading has a size limit, because the user may name any file. Writing replaces a file in one
// step, so that a reader never sees half a file.

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

// ---- picture files (picture_file.cpp)

// A picture (PNG, JPEG, WebP or PNM) that was decoded to RGB.
struct PictureFile {
  Size size;
  std::vector<std::byte> pixels;  // [height][width] RGB, rows without padding

  ConstFrame frame() const;
};

// Decodes the first picture of the file and scales it to `target_size`, if that is not empty. Takes
// at most 30 seconds, and returns early if `stop` is requested. The content of the file, not its
// name, determines the format. Refuses other formats, files of more than 256 MiB, and pictures with
// a side of more than 16384 pixels. Throws MissingFile or UnreadableFile, which name the file.
PictureFile load_picture(const std::string& path, Size target_size, std::stop_token stop);

// Throws MissingFile or UnreadableFile if the file does not exist or cannot be opened.
void expect_picture(const std::string& path);

// A decoded portable bitmap, graymap or pixmap: PBM, PGM or PPM, netpbm's formats P1 to P6.
struct Anymap {
  Size size;
  std::vector<std::byte> pixels;  // [height][width] RGB; rows are padded to a multiple of 4 bytes,
                                  // as in GStreamer
};

// Decodes the first picture of a PNM file. Returns nothing if the file is damaged or truncated, or
// if a side has more than `max_side` pixels.
std::optional<Anymap> read_anymap(std::span<const std::byte> file, int max_side);

}  // namespace regions
