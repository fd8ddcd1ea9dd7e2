// Preloaded into GStreamer's tools. Without memory for a text, GLib reports this in another text,
// and so on until the stack overflows. With this library the process ends at the first failure.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdlib>
#include <string_view>

namespace {

int end_without_memory(int length) {
  constexpr std::string_view kText = "GLib-ERROR: failed to allocate memory for a text\n";
  if (length >= 0) return length;
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kText.data(), kText.size());
  std::abort();
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int vasprintf(char** text, const char* format, va_list arguments) {
  static const auto real = next<int (*)(char**, const char*, va_list)>("vasprintf");
  return end_without_memory(real(text, format, arguments));
}

int __vasprintf_chk(char** text, int flag, const char* format, va_list arguments) {
  static const auto real = next<int (*)(char**, int, const char*, va_list)>("__vasprintf_chk");
  return end_without_memory(real(text, flag, format, arguments));
}
}
