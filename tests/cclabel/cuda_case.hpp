// Moved: include tests/pictures/device_frame.hpp instead.
#pragma once

#include "tests/pictures/device_frame.hpp"
