// Running cclabel with sliding=true over many frames, on any backend and with several in flight;
// and what windows are by definition.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/cclabel/oracle.hpp"

namespace regions {

struct WindowResult {
  Labelling labelling;
  uint32_t total = 0;
  std::vector<uint8_t> out;  // the output picture, rows without padding
  std::vector<PixelRun> runs;
  TrackEvents report;
};

struct WindowOptions {
  int slots = 1;
  uint32_t capacity = 4096;
  uint32_t most_runs = 0;
  std::optional<PixelFormat> out;
  std::vector<ConstFrame> masks;  // gray8, one a frame, or none
};

// Gray frames of one size.
std::vector<WindowResult> run_windows(const std::shared_ptr<Backend>& backend,
                                      Algorithm<CcLabelParams>& algorithm,
                                      const std::vector<ConstFrame>& frames,
                                      const CcLabelParams& params,
                                      const WindowOptions& options = {});

// Frame t by definition: the window that ends there is labelled as a volume, of whose regions the
// last slice alone counts; they are numbered and measured anew in it. Tracks are the labels.
Labelling last_of_window_slowly(const std::vector<ConstFrame>& frames, size_t t,
                                const CcLabelParams& params);

// Copies with tracks as ids: what the oracle knows.
Labelling without_tracks(Labelling labelling);

// Empty if equal in everything, tracks too.
std::string difference(const WindowResult& found, const WindowResult& expected, int width);

}  // namespace regions
