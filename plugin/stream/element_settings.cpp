// The Field table of the properties that all elements share.
#include "plugin/stream/element_settings.hpp"

namespace regions {
namespace {

constexpr Choice kDevices[] = {
    {0, "auto",
     "A working CUDA device, else the CPU. If a device exists but cannot be used, a warning says "
     "why"},
    {1, "cuda", "A CUDA device. Without one, the element stops with an error"},
    {2, "cpu", "The CPU"}};
constexpr Choice kAttachments[] = {
    {0, "auto", "If the picture itself passes unchanged"},
    {1, "always", "With every picture"},
    {2, "never", "Never. A label map that upstream attached is removed as well"}};
constexpr Choice kFormChoices[] = {
    {kTableForm, "table",
     "The field `table` of the metadata `regions`: one row of bytes per region. Always attached"},
    {kStructuresForm, "structures",
     "The field `regions` of the same metadata: one GstStructure per region"},
    {kRoisForm, "roi", "GstVideoRegionOfInterestMeta for the 256 largest regions"},
    {kAnalyticsForm, "analytics",
     "GStreamer's analytics metadata for the 256 largest regions, and for the label map or mask"}};

}  // namespace

std::span<const Field> fields_of(const FilterSettings&) {
  using S = FilterSettings;
  static const std::vector<Field> fields = [] {
    std::vector<Field> all = {
        field<S, &S::device>("device", "Device that does the work.", {}, kDevices, Change::stopped),
        field<S, &S::cuda_device_id>("cuda-device-id",
                                     "CUDA device index. -1: the device of the input memory, then "
                                     "of neighbouring elements, then the least used one.",
                                     {-1, 255}, {}, Change::stopped),
        field<S, &S::cpu_threads>("cpu-threads",
                                  "Number of CPU threads that share the work on a frame (threads). "
                                  "0: one per core. 1: on the CPU, the element works in the thread "
                                  "that passes it the frames, which needs the least CPU time, "
                                  "unless frames-in-flight is larger than 1.",
                                  {0, 256}, {}, Change::stopped),
        field<S, &S::frames_in_flight>(
            "frames-in-flight",
            "Maximum number of frames that are processed at the same time (frames). 0: 1 in live "
            "pipelines and on the CPU with cpu-threads=1, else 4 (2 for volumes).",
            {0, 64}, {}, Change::stopped),
        field<S, &S::priority>(
            "priority",
            "Priority on a busy GPU (rank). Work of elements with larger values runs first.",
            {0, 5}, {}, Change::stopped),
        field<S, &S::post_messages>(
            "post-messages", "Post an element message with the regions of each frame (boolean)."),
        field<S, &S::max_gap>("max-gap",
                              "Timestamps that jump further, forwards or backwards, start a new "
                              "scene (seconds). A new scene discards the background model, the "
                              "window and the superpixel history; track ids continue.",
                              {0, 1e6}),
        field<S, &S::attach_labels>("attach-labels",
                                    "When the label map is attached to the output as metadata.", {},
                                    kAttachments, Change::stopped),
        field<S, &S::describe>("describe",
                               "Forms in which the regions are attached to the output (flags). "
                               "Each form costs CPU time per region. The default is all forms; "
                               "that of slicsuperpixel is the table alone.",
                               {}, kFormChoices, Change::stopped)};
    const std::vector<Field> area = work_area_fields<S>();
    all.insert(all.end(), area.begin(), area.end());
    return all;
  }();
  return fields;
}

}  // namespace regions
