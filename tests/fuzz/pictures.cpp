// Fuzz target: contents of the files that background-image, exclusion-image and replace-image name.
// What is decoded has the size that is asked for, and becomes a background and a replacement.
#include <sys/mman.h>
#include <unistd.h>

#include <vector>

#include "core/graphcutbg/stored_model.hpp"
#include "plugin/files/property_files.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/stage.hpp"

namespace regions::fuzz {
namespace {

// A file in memory.
class File {
 public:
  explicit File(std::span<const uint8_t> bytes) : fd_(memfd_create("picture", MFD_CLOEXEC)) {
    require(
        fd_ >= 0 && ::write(fd_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
        "no file in memory");
  }
  ~File() { ::close(fd_); }
  File(const File&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  const int fd_;
};

uint32_t crc32(std::span<const uint8_t> bytes) {
  uint32_t crc = ~0u;
  for (const uint8_t byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
  }
  return ~crc;
}
uint32_t big_endian(const uint8_t* p) {
  return uint32_t{p[0]} << 24 | p[1] << 16 | p[2] << 8 | p[3];
}

// Checksums of a PNG's chunks (ISO 15948, 5.3), which hardly a change of its bytes would pass.
void mend_checksums(std::vector<uint8_t>& png) {
  for (size_t at = 8; at + 12 <= png.size();) {
    const size_t length = big_endian(&png[at]), end = at + 8 + length;
    if (end + 4 > png.size()) return;
    const uint32_t crc = crc32({&png[at + 4], length + 4});
    for (size_t i = 0; i < 4; ++i) png[end + i] = static_cast<uint8_t>(crc >> (24 - 8 * i));
    at = end + 4;
  }
}

void use(const PictureFile& picture, Input& in) {
  Setup setup;
  setup.size = picture.size;
  setup.in = layout_of(static_cast<PixelFormat>(in.below(kPixelFormats - 1)));
  const size_t area = picture.size.area();
  require(graphcutbg::background_of(picture.frame(), setup).size() == area, "background");
  require(graphcutbg::replacement_of(picture.frame(), setup).size() == 3 * area, "replacement");
  require(graphcutbg::exclusion_of(picture.frame(), setup).size() == area, "exclusion");
}

}  // namespace
}  // namespace regions::fuzz

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  regions::fuzz::start_gstreamer(true);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace regions;
  // Choices follow the file, so that the input starts like such files.
  const size_t choices = std::min<size_t>(size, 4);
  fuzz::Input in(data + size - choices, choices);
  std::vector<uint8_t> bytes(data, data + size - choices);
  if (!in.one_in(8)) fuzz::mend_checksums(bytes);
  const Size fit = in.one_in(2) ? Size{1 + in.below(48), 1 + in.below(48)} : Size{};
  const fuzz::File file(bytes);
  try {
    const PictureFile picture = load_picture(file.path(), fit, {});
    fuzz::require(picture.size.area() > 0 && picture.pixels.size() == picture.size.area() * 3,
                  "a picture of another size than it says");
    fuzz::require(fit.area() == 0 || picture.size == fit, "a picture that does not fit");
    if (picture.size.area() < 1 << 16) fuzz::use(picture, in);
  } catch (const InputError&) {
  }
  return 0;
}
