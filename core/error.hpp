// The exceptions that report failures, and checks that throw them. The plugin turns each exception
// into an element error.
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

// A file that the settings name does not exist.
struct MissingFile : InputError {
  using InputError::InputError;
};
// A file that the settings name cannot be read.
struct UnreadableFile : InputError {
  using InputError::InputError;
};
// A file that the settings name cannot be written.
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

// Checks an argument of a public function: throws InputError(message) if `holds` is false. Checks
// that run for every frame should pass a function that builds the message, because it is called
// only on failure.
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

// Checks that settings fit together: throws SettingsError(message) if `holds` is false.
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
