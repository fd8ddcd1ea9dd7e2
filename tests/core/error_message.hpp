// The error message of a call, for tables of messages.
#pragma once

#include <string>

#include "core/error.hpp"

namespace regions {

// Empty if nothing is thrown; settings that contradict each other begin with "settings: ".
template <class Act>
std::string error_message_of(Act act) {
  try {
    act();
  } catch (const SettingsError& error) {
    return std::string("settings: ") + error.what();
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

}  // namespace regions
