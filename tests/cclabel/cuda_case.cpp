// Moved to tests/pictures/device_frame.cpp.
