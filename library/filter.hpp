// Declares Filter, the implementation of the C interface. A filter runs one algorithm on one
// device.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/algorithm.hpp"
#include "core/field.hpp"
#include "core/region_records.hpp"
#include "library/regions.h"

namespace regions {

// The results that an algorithm produces in addition to the output picture.
struct AlgorithmOutputs {
  bool regions = false;     // FrameTask.table and FrameTask.labels
  bool foreground = false;  // FrameTask.foreground
  bool moments = false;     // RegionTable.moments and borders
  bool runs = false;        // RegionTable.runs
};

// An algorithm and its parameters, independent of the type of the parameters.
class Runner {
 public:
  virtual ~Runner() = default;
  virtual AlgorithmOutputs outputs() const = 0;
  virtual std::span<const Field> fields() const = 0;
  virtual Value get(const Field& field) const = 0;
  // A live field takes effect at the next enqueue(). Any other field takes effect at the next
  // configure().
  virtual void set(const Field& field, std::string_view text) = 0;
  // Adds the values that follow from the parameters to `setup`, then configures the algorithm.
  virtual void configure(Setup& setup) = 0;
  virtual void enqueue(const FrameTask& task, Queue& queue) = 0;
  // Throws InputError if the parameters do not allow a frame with `total` regions.
  virtual void check_capacity(uint32_t total) const = 0;
  virtual void reset() = 0;
};

// Throws InputError if `algorithm` is not the name of an algorithm.
std::unique_ptr<Runner> make_runner(const std::string& algorithm,
                                    const std::shared_ptr<Backend>& backend);

// Opens a device: `device` is "auto", "cpu", "cuda" or "cuda:N". Throws InputError for another text
// and DeviceError if the device cannot be used.
std::shared_ptr<Backend> open_backend(const std::string& device, int threads);

// The pictures of a RegionsFrame. A picture that the caller left out is empty.
struct Pictures {
  Frame in, mask, out, labels, foreground;

  // These two functions throw InputError. The constructor checks each picture alone.
  // expect_suitable() checks that the pictures fit each other and that the algorithm produces the
  // requested outputs.
  explicit Pictures(const RegionsFrame& frame);
  void expect_suitable(const RegionsFrame& frame, const AlgorithmOutputs& outputs) const;

  bool draws_in_place() const { return in.plane[0] == out.plane[0]; }
};

// An algorithm on its device, with the state of earlier frames: the object behind a RegionsFilter.
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
  void configure(const Setup& requested);
  void enqueue(const Pictures& pictures, const RegionsFrame& frame);
  Frame accessible_frame(const Frame& picture, Block& block);
  Frame upload(const Frame& picture, Block& block);
  void copy(const Frame& from, const Frame& to);  // does nothing for the same picture
  void copy_records(RegionsFrame& frame) const;

  const std::shared_ptr<Backend> backend_;
  const std::unique_ptr<Runner> runner_;
  std::unique_ptr<Queue> queue_;
  const std::string device_;
  std::string returned_text_;  // the text that get() returned last

  // The setup of the last configure(), without the values that the parameters determine. process()
  // calls configure() if the frame has another setup, or if this member is empty.
  std::optional<Setup> requested_;
  // Memory for copies of the pictures that the backend cannot access directly.
  struct {
    Block in, out, mask, labels, foreground;
  } accessible_;
  RegionRecords records_;
  uint32_t max_regions_ = 0;
};

}  // namespace regions
