// What goes wrong is thrown as one of these; the plugin turns each into one element error.
#pragma once

#include <concepts>
#include <stdexcept>
#include <string>

namespace regions {

// The caller's input or settings are at fault.
struct InputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Settings contradict each other.
struct SettingsError : InputError {
  using InputError::InputError;
};

// A file that the settings name is not there, or cannot be read.
struct MissingFile : InputError {
  using InputError::InputError;
};
struct UnreadableFile : InputError {
  using InputError::InputError;
};

// The device failed or is not there.
struct DeviceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Host or device memory ran out.
struct MemoryError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Precondition at a public edge: throws InputError(message) unless `holds`. Where it is asked for
// every frame, a message of several parts is better given as a function that makes it.
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

// The same where settings may contradict each other: throws SettingsError.
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
