// The labeller of frames and volumes on CUDA, without windows.
#pragma once

#include "core/cclabel/cclabel.hpp"

namespace regions::cclabel {

std::unique_ptr<CcLabel> make_labeller(std::shared_ptr<Backend> backend);

}  // namespace regions::cclabel
