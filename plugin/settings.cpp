// The parameters that all elements have. They precede an element's own parameters.
#include "plugin/settings.hpp"

namespace regions {
namespace {

constexpr Choice kDevices[] = {
    {0, "auto", "A CUDA device that works, else the CPU, with a warning if there is a device"},
    {1, "cuda", "A CUDA device; an error without one"},
    {2, "cpu", "The CPU"}};
constexpr Choice kAttachments[] = {
    {0, "auto", "Where the picture itself passes untouched"},
    {1, "always", "With every picture"},
    {2, "never", "Never; also removes a label map that arrives with a frame"}};

}  // namespace

std::span<const Field> fields_of(const FilterSettings&) {
  using S = FilterSettings;
  static const std::vector<Field> fields = [] {
    std::vector<Field> all = {
        field<S, &S::device>("device", "Where the work is done", {}, kDevices, Change::stopped),
        field<S, &S::cuda_device_id>(
            "cuda-device-id",
            "CUDA device index; -1 selects the device of the input memory, "
            "then of neighbouring elements, then the least used one "
            "(device number)",
            {-1, 255}, {}, Change::stopped),
        field<S, &S::cpu_threads>("cpu-threads",
                                  "Threads that share a frame's work on the CPU; 0 takes as many "
                                  "as there are cores (threads)",
                                  {0, 256}, {}, Change::stopped),
        field<S, &S::frames_in_flight>("frames-in-flight",
                                       "Frames worked on at once; 0 takes 1 for live input, 4 "
                                       "otherwise, of volumes 2 (frames)",
                                       {0, 64}, {}, Change::stopped),
        field<S, &S::priority>("priority",
                               "Work of larger ranks goes first on a GPU that is busy (rank)",
                               {0, 5}, {}, Change::stopped),
        field<S, &S::post_messages>(
            "post-messages", "Post an element message with the regions of each frame (flag)"),
        field<S, &S::max_gap>("max-gap",
                              "Timestamps that jump further, either way, begin a new scene: what "
                              "was learnt of earlier frames is forgotten, ids of tracks go on; "
                              "lost frames and shorter gaps change nothing (seconds)",
                              {0, 1e6}),
        field<S, &S::attach_labels>("attach-labels",
                                    "When the label map itself goes into the metadata", {},
                                    kAttachments, Change::stopped)};
    const std::vector<Field> area = work_area_fields<S>();
    all.insert(all.end(), area.begin(), area.end());
    return all;
  }();
  return fields;
}

}  // namespace regions
