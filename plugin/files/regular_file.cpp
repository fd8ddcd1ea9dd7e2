// Reads and writes whole files with POSIX calls.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <utility>

#include "core/error.hpp"
#include "plugin/files/property_files.hpp"

namespace regions {
namespace {

// Owns a POSIX file descriptor, or -1.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  // Returns false if the system reports an error.
  bool close() { return fd_ < 0 || ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

[[noreturn]] void fail_to_read(const std::string& path, int error) {
  throw UnreadableFile("cannot read '" + path + "': " + std::strerror(error));
}
[[noreturn]] void fail_to_write(const std::string& path, int error) {
  throw UnwritableFile("cannot write '" + path + "': " + std::strerror(error));
}

// Reads up to `bytes` bytes and returns their number, which is 0 at the end of the file.
size_t read_some(const Descriptor& file, std::byte* to, size_t bytes, const std::string& path) {
  for (;;) {
    const ssize_t count = ::read(file.get(), to, bytes);
    if (count >= 0) return static_cast<size_t>(count);
    if (errno != EINTR) fail_to_read(path, errno);
  }
}

// Returns false on failure. errno then has the reason.
bool write_all(const Descriptor& file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return true;
}

// Creates a new file next to `path` and stores its name in `name`. Returns its descriptor, or -1.
int create_temporary(const std::string& path, std::string& name) {
  std::random_device random;
  for (int attempt = 0; attempt < 100; ++attempt) {
    name = path + "." + std::to_string(random()) + ".part";
    const int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? "." : path.substr(0, slash + 1);
}

// Writes the directory entry to the disk, so that the new file survives a power failure. Errors are
// ignored, because not every file system supports fsync() of a directory.
void sync_folder_of(const std::string& path) {
  const Descriptor folder(::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() >= 0) ::fsync(folder.get());
}

}  // namespace

std::optional<std::vector<std::byte>> read_file(const std::string& path, size_t max_bytes) {
  // Without O_NONBLOCK, opening a FIFO would wait for a process that writes to it.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0 && errno == ENOENT) return std::nullopt;
  if (file.get() < 0) fail_to_read(path, errno);
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) fail_to_read(path, errno);
  if (!S_ISREG(status.st_mode)) throw UnreadableFile("'" + path + "' is not a regular file");
  // Another process may shorten the file during the loop. Therefore the loop also ends if the file
  // does.
  std::vector<std::byte> bytes(std::min(max_bytes, static_cast<size_t>(status.st_size)));
  size_t filled = 0;
  while (filled < bytes.size()) {
    const size_t count = read_some(file, bytes.data() + filled, bytes.size() - filled, path);
    if (count == 0) break;
    filled += count;
  }
  bytes.resize(filled);
  return bytes;
}

void expect_writable(const std::string& path) {
  std::string temporary_name;
  const Descriptor file(create_temporary(path, temporary_name));
  if (file.get() >= 0) {
    ::unlink(temporary_name.c_str());
    return;
  }
  const int error = errno;
  if (error == ENOENT && ::access(folder_of(path).c_str(), F_OK) != 0) {
    throw MissingFile("cannot write '" + path + "': the folder '" + folder_of(path) +
                      "' does not exist; create it first");
  }
  throw UnwritableFile("cannot write '" + path + "': no file can be created in the folder '" +
                       folder_of(path) + "': " + std::strerror(error));
}

void write_file(const std::string& path, std::span<const std::byte> bytes) {
  std::string temporary_name;
  Descriptor file(create_temporary(path, temporary_name));
  if (file.get() < 0) fail_to_write(path, errno);
  const bool is_written = write_all(file, bytes) && ::fsync(file.get()) == 0 && file.close() &&
                          ::rename(temporary_name.c_str(), path.c_str()) == 0;
  if (!is_written) {
    const int error = errno;
    ::unlink(temporary_name.c_str());
    fail_to_write(path, error);
  }
  sync_folder_of(path);
}

}  // namespace regions
