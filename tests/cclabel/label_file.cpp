// label_file WIDTH HEIGHT DEPTH CONNECTIVITY IN OUT [HOLES]: fills holes of up to HOLES voxels,
// labels raw gray8 volumes of DEPTH slices (or pictures, of depth 1) lying one after another in
// file IN. Writes to OUT, for each: its labels (uint32), the number of regions (uint32), and for
// each region 14 doubles: left, top, right, bottom, area, centroid x, centroid y, mean gray, first
// x, first y, front, back, centroid z, first z. All little endian. For checks by other programs.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>

#include "core/cclabel/cclabel.hpp"
#include "cpu/backend.hpp"

namespace regions {
namespace {

template <class T>
void put(std::ostream& out, const T* values, size_t count) {
  out.write(reinterpret_cast<const char*>(values), static_cast<std::streamsize>(count * sizeof(T)));
}

void put_table(std::ostream& out, const std::vector<Region>& regions, uint32_t total) {
  put(out, &total, 1);
  for (uint32_t k = 0; k < total; ++k) {
    const Region& r = regions[k];
    const double line[] = {double(r.left),    double(r.top),
                           double(r.right),   double(r.bottom),
                           double(r.area),    r.centroid_x(),
                           r.centroid_y(),    double(r.sum_value[0]) / double(r.area),
                           double(r.first_x), double(r.first_y),
                           double(r.front),   double(r.back),
                           r.centroid_z(),    double(r.first_z)};
    put(out, line, std::size(line));
  }
}

void label_file(Size slice, int depth, Connectivity connectivity, int64_t holes, std::istream& in,
                std::ostream& out) {
  const auto backend = make_cpu_backend();
  const auto queue = backend->make_queue();
  const auto algorithm = make_algorithm<CcLabelParams, BackendKind::cpu>(backend);
  const Size size = {slice.width, slice.height * depth};
  Setup setup{.in = layout_of(PixelFormat::gray8), .size = slice};
  setup.depth = depth;
  setup.max_regions = static_cast<uint32_t>(size.area());
  algorithm->configure(setup);
  std::vector<std::byte> picture(size.area());
  std::vector<uint32_t> labels(size.area());
  std::vector<Region> regions(size.area());
  CcLabelParams params;
  params.connectivity = connectivity;
  params.fill_holes = holes;
  while (in.read(reinterpret_cast<char*>(picture.data()),
                 static_cast<std::streamsize>(picture.size()))) {
    uint32_t total = 0;
    FrameTask task;
    task.slices = depth;
    task.in = {.plane = {picture.data()},
               .pitch = {size.width},
               .width = size.width,
               .height = size.height,
               .layout = setup.in};
    task.labels = {labels.data(), size.width, size.height, size.width * 4};
    task.table = {regions.data(), setup.max_regions, &total};
    algorithm->enqueue(task, params, *queue);
    queue->record();
    queue->wait();
    put(out, labels.data(), labels.size());
    put_table(out, regions, total);
  }
}

}  // namespace
}  // namespace regions

int main(int argc, char** argv) {
  try {
    regions::expects(argc == 7 || argc == 8,
                     "usage: label_file WIDTH HEIGHT DEPTH CONNECTIVITY IN OUT [HOLES]");
    std::ifstream in(argv[5], std::ios::binary);
    std::ofstream out(argv[6], std::ios::binary);
    regions::expects(in && out, "cannot open the files");
    regions::label_file({std::stoi(argv[1]), std::stoi(argv[2])}, std::stoi(argv[3]),
                        static_cast<regions::Connectivity>(std::stoi(argv[4])),
                        argc == 8 ? std::stoi(argv[7]) : 0, in, out);
    regions::expects(static_cast<bool>(out.flush()), "cannot write the labels");
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "label_file: " << error.what() << '\n';
    return 1;
  }
}
