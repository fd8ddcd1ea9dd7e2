// Implements the C interface: runs one algorithm on one device, frame by frame.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/region_records.hpp"
#include "library/pictures.hpp"
#include "library/runner.hpp"

namespace regions {

// `device` is "auto", "cpu", "cuda" or "cuda:N". Throws InputError for another text and DeviceError
// if the device cannot be used.
std::shared_ptr<Backend> open_backend(const std::string& device, int threads);

// Throws InputError if `algorithm` is not the name of an algorithm.
std::unique_ptr<Runner> make_runner(const std::string& algorithm,
                                    const std::shared_ptr<Backend>& backend);

class Filter {
 public:
  Filter(const std::string& algorithm, const std::string& device, int threads);
  ~Filter();

  const std::string& device() const { return device_; }
  void set(const std::string& name, const std::string& value);
  const std::string& get(const std::string& name);
  void process(RegionsFrame& frame);
  void reset();

 private:
  // Properties that consecutive frames share. A frame that differs needs a new configure().
  struct Shape {
    Size size;
    Colorimetry color;
    PixelFormat in = PixelFormat::gray8;
    std::optional<PixelFormat> out, mask;
    bool borders = false;
    uint32_t runs = 0;
    bool operator==(const Shape& other) const;
  };
  void configure(const Shape& shape);
  void work(const Pictures& pictures, const RegionsFrame& frame);
  Frame reachable(const Frame& picture, Block& block);
  Frame bring_in(const Frame& picture, Block& block);
  void copy(const Frame& from, const Frame& to);  // does nothing if both are the same picture
  void take_table(RegionsFrame& frame) const;

  const std::shared_ptr<Backend> backend_;
  const std::unique_ptr<Runner> runner_;
  std::unique_ptr<Queue> queue_;
  const std::string device_;
  std::string text_;  // the value that get() returned last

  std::optional<Shape> shape_;  // of the last configure(); empty: the next frame configures
  Block in_, out_, mask_, labels_, foreground_;  // copies of pictures in other memory
  RegionRecords records_;
  uint32_t max_regions_ = 0;
};

}  // namespace regions
