// The labeller of frames and volumes, without windows.
#pragma once

#include "core/cclabel/cclabel.hpp"

namespace regions {

std::unique_ptr<CcLabel> make_labeller(const std::shared_ptr<Backend>& backend);

}  // namespace regions
