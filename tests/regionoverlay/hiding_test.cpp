// Regions that regionoverlay hides by blocks or by a blur: the CPU equals the oracle, and CUDA
// equals the CPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "core/drawing/regionoverlay.hpp"
#include "tests/core/error_message.hpp"
#include "tests/pictures/backend_test.hpp"
#include "tests/regionoverlay/scene.hpp"

namespace regions {
namespace {

RegionOverlayParams hiding(Style style, int size, int grow) {
  RegionOverlayParams params;
  params.style = static_cast<uint32_t>(style);
  params.pixelate = params.blur = size;
  params.grow = grow;
  return params;
}

// Runs one frame. The label map is optional.
GuardedFrame hide(const std::shared_ptr<Backend>& backend, const GuardedFrame& in,
                  const Scene& scene, const RegionOverlayParams& params, bool with_labels,
                  bool in_place) {
  const Layout& layout = in.frame().layout;
  const auto queue = backend->make_queue();
  const auto algorithm = make_algorithm_on<RegionOverlayParams>(backend);
  algorithm->prepare(params);
  algorithm->configure({.in = layout,
                        .size = scene.size,
                        .out = layout,
                        .has_output = true,
                        .mask = layout_of(PixelFormat::labels32),
                        .has_mask = with_labels,
                        .max_regions = 1 << 16});
  DeviceFrame from(*backend, *queue, layout.format, scene.size, 3 * layout.sample_bytes);
  const DeviceFrame to(*backend, *queue, layout.format, scene.size, 5 * layout.sample_bytes);
  DeviceFrame map(*backend, *queue, PixelFormat::labels32, scene.size, 4);
  from.upload(in.frame());
  GuardedFrame labels(PixelFormat::labels32, scene.size);
  for (int y = 0; y < scene.size.height; ++y) {
    std::copy_n(scene.label_map().row(y), scene.size.width,
                reinterpret_cast<uint32_t*>(labels.frame().at(0, 0, y)));
  }
  map.upload(std::as_const(labels).frame());
  FrameTask task;
  task.in = from.frame();
  task.out = (in_place ? from : to).frame();
  if (with_labels) task.mask = map.frame();
  task.attached = scene.regions.data();
  task.attached_count = static_cast<uint32_t>(scene.regions.size());
  for (int i = 0; i < (in_place ? 1 : 2); ++i) {  // twice with one workspace
    algorithm->enqueue(task, params, *queue);
    queue->record();
    queue->wait();
  }
  bool intact = false;
  GuardedFrame out = (in_place ? from : to).download(&intact);
  EXPECT_TRUE(intact);
  return out;
}

// The pixels that must be hidden, without the margin.
bool is_covered(const Scene& scene, bool with_labels, int x, int y) {
  if (with_labels && scene.label_map()(x, y) != 0) return true;
  return std::ranges::any_of(scene.regions, [&](const Region& r) {
    const bool is_inside = x >= r.left && x <= r.right && y >= r.top && y <= r.bottom;
    return is_inside && (!with_labels || r.layer == kObjectLayer);
  });
}

// [y * width + x] whether the pixel is hidden.
std::vector<bool> hidden_pixels(const Scene& scene, bool with_labels, int grow) {
  const Size size = scene.size;
  std::vector<bool> hidden(size.area());
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      if (!is_covered(scene, with_labels, x, y)) continue;
      for (int v = std::max(0, y - grow); v <= std::min(size.height - 1, y + grow); ++v) {
        for (int u = std::max(0, x - grow); u <= std::min(size.width - 1, x + grow); ++u) {
          hidden[static_cast<size_t>(v * size.width + u)] = true;
        }
      }
    }
  }
  return hidden;
}

// Three regions of a label map and two objects without labels, one of them partly outside.
Scene scene_with_objects(Size size) {
  Scene scene = make_scene(size, 3, 5);
  for (const int left : {-9, size.width / 2}) {
    Region object;
    object.layer = kObjectLayer;
    object.left = left;
    object.right = left + 14;
    object.top = size.height / 3;
    object.bottom = size.height / 3 + 9;
    scene.regions.push_back(object);
  }
  for (uint32_t& label : scene.labels) label = label % 5 == 1 ? label : 0;  // less of them
  return scene;
}

class Hiding : public BackendTest {};
TEST_ON_BACKENDS(Hiding);

TEST_P(Hiding, Blocks_AreMeansOfTheirHiddenPixels) {
  for (const bool with_labels : {false, true}) {
    for (const int grow : {0, 3}) {
      for (const int block : {6, 15}) {
        const Scene scene = scene_with_objects({131, 97});
        const GuardedFrame in = noisy_picture(PixelFormat::rgb, scene.size);
        const GuardedFrame out =
            hide(backend_, in, scene, hiding(Style::pixelate, block, grow), with_labels, false);
        const std::vector<bool> hidden = hidden_pixels(scene, with_labels, grow);
        EXPECT_NE(std::count(hidden.begin(), hidden.end(), false), 0);
        const int side = block + block % 2;
        for (int y = 0; y < scene.size.height; ++y) {
          for (int x = 0; x < scene.size.width; ++x) {
            const auto is_hidden = [&](int u, int v) {
              return hidden[static_cast<size_t>(v * scene.size.width + u)];
            };
            for (int c = 0; c < 3; ++c) {
              double sum = 0, count = 0;
              for (int v = y / side * side; v < std::min(y / side * side + side, 97); ++v) {
                for (int u = x / side * side; u < std::min(x / side * side + side, 131); ++u) {
                  sum += is_hidden(u, v) ? in.frame().sample(c, u, v) : 0;
                  count += is_hidden(u, v);
                }
              }
              const double wanted = is_hidden(x, y) ? sum / count : in.frame().sample(c, x, y);
              ASSERT_NEAR(std::as_const(out).frame().sample(c, x, y), wanted, 0.51)
                  << x << ", " << y << " grow " << grow << " labels " << with_labels;
            }
          }
        }
      }
    }
  }
}

// A different picture in the hidden pixels gives the same output elsewhere; a different picture
// elsewhere gives the same output in the hidden pixels.
TEST_P(Hiding, Blur_UsesOnlyHiddenPixels) {
  const Scene scene = scene_with_objects({131, 97});
  const std::vector<bool> hidden = hidden_pixels(scene, true, 2);
  const GuardedFrame in = noisy_picture(PixelFormat::rgb, scene.size);
  GuardedFrame other = noisy_picture(PixelFormat::rgb, scene.size);
  for (int y = 0; y < scene.size.height; ++y) {
    for (int x = 0; x < scene.size.width; ++x) {
      if (hidden[static_cast<size_t>(y * scene.size.width + x)]) continue;
      for (int c = 0; c < 3; ++c) other.frame().set_sample(c, x, y, 255);
    }
  }
  const RegionOverlayParams params = hiding(Style::blur, 9, 2);
  const GuardedFrame one = hide(backend_, in, scene, params, true, false);
  const GuardedFrame two = hide(backend_, other, scene, params, true, true);
  int changed = 0;
  for (int y = 0; y < scene.size.height; ++y) {
    for (int x = 0; x < scene.size.width; ++x) {
      const bool is_hidden = hidden[static_cast<size_t>(y * scene.size.width + x)];
      for (int c = 0; c < 3; ++c) {
        const int before = in.frame().sample(c, x, y);
        const int first = std::as_const(one).frame().sample(c, x, y);
        const int second = std::as_const(two).frame().sample(c, x, y);
        ASSERT_EQ(second, is_hidden ? first : 255) << x << ", " << y;
        changed += is_hidden && std::abs(first - before) > 2;
      }
    }
  }
  EXPECT_GT(changed, 1000);
}

TEST_P(Hiding, EveryFormatAndSize_EqualsOneCpuThread) {
  const auto cpu = make_cpu_backend(1);
  for (const PixelFormat format : drawable_formats()) {
    for (const Size size : {Size{131, 97}, {1, 1}, {2, 65}, {64, 3}}) {
      for (const Style style : {Style::pixelate, Style::blur}) {
        for (const bool with_labels : {false, true}) {
          RegionOverlayParams params = hiding(style, 7, 3);
          params.style |= 1 | 8;
          const Scene scene = scene_with_objects(size);
          const GuardedFrame in = noisy_picture(format, size, 3);
          const GuardedFrame wanted = hide(cpu, in, scene, params, with_labels, false);
          for (const bool in_place : {false, true}) {
            EXPECT_TRUE(
                hide(backend_, in, scene, params, with_labels, in_place).same_pixels(wanted))
                << describe(format, size, params) << (in_place ? " in place" : "");
          }
        }
      }
    }
  }
}

TEST_P(Hiding, ThousandsOfObjects_EqualOneCpuThread) {
  Scene scene = make_scene({641, 363}, 10000, 3);
  for (Region& region : scene.regions) {
    region.layer = kObjectLayer;
    region.right = region.left + static_cast<int>(region.id % 9);
    region.bottom = region.top + static_cast<int>(region.id % 7);
  }
  const GuardedFrame in = noisy_picture(PixelFormat::nv12, scene.size);
  const RegionOverlayParams params = hiding(Style::pixelate, 16, 0);
  EXPECT_TRUE(hide(backend_, in, scene, params, false, false)
                  .same_pixels(hide(make_cpu_backend(1), in, scene, params, false, false)));
}

TEST_P(Hiding, ChosenWithoutPrepare_IsAnError) {
  const auto algorithm = make_algorithm_on<RegionOverlayParams>(backend_);
  algorithm->configure({.in = layout_of(PixelFormat::gray8),
                        .size = {8, 8},
                        .out = layout_of(PixelFormat::gray8),
                        .has_output = true});
  const DeviceFrame picture(*backend_, *queue_, PixelFormat::gray8, {8, 8}, 0);
  const FrameTask task{.in = picture.frame(), .out = picture.frame()};
  EXPECT_EQ(error_message_of([&] { algorithm->enqueue(task, hiding(Style::blur, 8, 0), *queue_); }),
            "style=pixelate and style=blur must be chosen before the stream starts, because they "
            "need memory");
  finish();
}

}  // namespace
}  // namespace regions
