// A case of cclabel set up on a backend: several frames with inputs and outputs of their own, so
// that a timing neither finds its input in the cache nor overwrites its last output.
#pragma once

#include <string>

#include "core/cclabel/cclabel.hpp"
#include "tests/pictures/pictures.hpp"

namespace regions {

struct Case {
  std::string content;  // of make_picture
  Size size;
  PixelFormat format = PixelFormat::gray8;
  CcLabelParams params;
  bool table = false;  // the regions' records too, or labels alone

  // The name of the value that a parameter has: chosen("criterion") is "binary".
  std::string chosen(std::string_view parameter) const;
  std::string name() const;      // "binary-8-table/maze/1920x1080"
  size_t least_bytes() const;    // the input read once and the labels written once
  int frames_beyond_l2() const;  // how many frames outgrow a 60 MB cache from 1920x1080 on
};

// The picture and its mirror images (left-right, top-down, both): four different inputs that are
// equally hard.
std::vector<Picture> mirrored(const Picture& picture);

struct Answer {
  std::vector<uint32_t> labels;  // [height][width]
  std::vector<Region> regions;   // the first of them, if the case asks for the table
  uint32_t total = 0;            // as the table says; without one, the greatest label
};
// Empty if the answers are equal, else the first difference in words. Records are compared if `got`
// has any.
std::string difference(const Answer& expected, const Answer& got);

class Stand {
 public:
  // Frame i shows variants[i % variants.size()]. `slots` of the algorithm are used in turn.
  Stand(std::shared_ptr<Backend> backend, std::unique_ptr<Algorithm<CcLabelParams>> algorithm,
        const Case& task, std::span<const Picture> variants, int frames, int slots);

  int frames() const { return static_cast<int>(stations_.size()); }
  Queue& queue() { return *queue_; }
  const Job& job(int frame) const { return stations_[static_cast<size_t>(frame)].job; }

  void enqueue(int frame);
  // enqueue() and waiting for its end.
  void run(int frame);
  // Overwrites the outputs, so that an answer of an earlier run cannot pass.
  void spoil();
  // What the last run of this frame left; waits for it.
  Answer answer(int frame);

 private:
  struct Station {
    Block in, labels, table;
    Job job;
  };
  void upload(const Picture& picture, Station& station);

  std::shared_ptr<Backend> backend_;
  std::unique_ptr<Queue> queue_;
  std::unique_ptr<Algorithm<CcLabelParams>> algorithm_;
  Case case_;
  uint32_t capacity_ = 0;
  Block staging_;  // pinned, for a label map
  std::vector<Station> stations_;
};

}  // namespace regions
