// Exceptions for all failures. The plugin turns each of them into an element error.
#pragma once

#include <concepts>
#include <stdexcept>
#include <string>

namespace regions {

// The caller's input or settings are invalid.
struct InputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Two settings contradict each other.
struct SettingsError : InputError {
  using InputError::InputError;
};

// A file named in the settings does not exist, cannot be read or cannot be written.
struct MissingFile : InputError {
  using InputError::InputError;
};
struct UnreadableFile : InputError {
  using InputError::InputError;
};
struct UnwritableFile : InputError {
  using InputError::InputError;
};

// The device failed or does not exist.
struct DeviceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Host or device memory ran out.
struct MemoryError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Checks an argument of a public function: throws InputError(message) unless `holds`. For checks
// that run for every frame, pass a function that builds the message.
inline void expects(bool holds, const std::string& message) {
  if (!holds) throw InputError(message);
}
inline void expects(bool holds, const char* message) {
  if (!holds) throw InputError(message);
}
template <std::invocable Message>
void expects(bool holds, const Message& message) {
  if (!holds) throw InputError(message());
}

// Checks settings against each other: throws SettingsError(message) unless `holds`.
inline void expects_setting(bool holds, const std::string& message) {
  if (!holds) throw SettingsError(message);
}
inline void expects_setting(bool holds, const char* message) {
  if (!holds) throw SettingsError(message);
}
template <std::invocable Message>
void expects_setting(bool holds, const Message& message) {
  if (!holds) throw SettingsError(message());
}

}  // namespace regions
