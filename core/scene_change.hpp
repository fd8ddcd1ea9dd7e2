// SceneChange: a sudden change of the whole picture, which graphcutbg notices and regionevents
// reports.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/field.hpp"

namespace regions {

enum class SceneChange : uint8_t {
  none,
  light,
  infrared,
  covered,
  moved,
  defocused,
  frozen,
  other
};

inline constexpr Choice kSceneChanges[] = {
    {static_cast<int>(SceneChange::none), "none", "The picture has not changed suddenly"},
    {static_cast<int>(SceneChange::light), "light", "The light has changed"},
    {static_cast<int>(SceneChange::infrared), "infrared",
     "The camera has switched to or from infrared light"},
    {static_cast<int>(SceneChange::covered), "covered", "The camera is covered"},
    {static_cast<int>(SceneChange::moved), "moved", "The camera has moved"},
    {static_cast<int>(SceneChange::defocused), "defocused", "The camera has lost its focus"},
    {static_cast<int>(SceneChange::frozen), "frozen", "The camera repeats a frame"},
    {static_cast<int>(SceneChange::other), "other",
     "Nearly all pixels are foreground, for an unknown reason"}};

constexpr const char* name_of(SceneChange change) {
  return kSceneChanges[static_cast<size_t>(change)].name;
}
// The change with this name; `none` for other texts.
constexpr SceneChange scene_change_of(std::string_view name) {
  for (const Choice& choice : kSceneChanges) {
    if (name == choice.name) return static_cast<SceneChange>(choice.value);
  }
  return SceneChange::none;
}

}  // namespace regions
