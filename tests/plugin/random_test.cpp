// Random caps, properties, contents and events: whatever comes, every frame that was accepted
// leaves, or the element says what was wrong. The ranges are those of the properties themselves.
#include "tests/plugin/harness.hpp"

namespace regions::test {
namespace {

// Numbers from a counter, so that a failing seed can be run alone.
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}
  uint64_t next() {  // splitmix64
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  int below(int n) { return static_cast<int>(next() % static_cast<uint64_t>(n)); }
  double unit() { return static_cast<double>(next() >> 11) / 9007199254740992.0; }

 private:
  uint64_t state_;
};

// Sets one property to a value its specification allows.
void roll(GObject* object, GParamSpec* spec, Dice& dice) {
  GValue value = G_VALUE_INIT;
  g_value_init(&value, spec->value_type);
  if (G_IS_PARAM_SPEC_DOUBLE(spec)) {
    auto* s = G_PARAM_SPEC_DOUBLE(spec);
    g_value_set_double(&value, s->minimum + dice.unit() * (s->maximum - s->minimum));
  } else if (G_IS_PARAM_SPEC_INT(spec)) {
    auto* s = G_PARAM_SPEC_INT(spec);
    const int span = std::min(s->maximum - s->minimum, 99);  // large ones are large memory only
    g_value_set_int(&value, s->minimum + dice.below(span + 1));
  } else if (G_IS_PARAM_SPEC_INT64(spec)) {
    g_value_set_int64(&value, dice.below(3) ? dice.below(40) : 0);
  } else if (G_IS_PARAM_SPEC_ENUM(spec)) {
    auto* s = G_PARAM_SPEC_ENUM(spec)->enum_class;
    g_value_set_enum(&value, s->values[dice.below(static_cast<int>(s->n_values))].value);
  } else if (G_IS_PARAM_SPEC_FLAGS(spec)) {
    g_value_set_flags(
        &value, static_cast<guint>(dice.below(16)) & G_PARAM_SPEC_FLAGS(spec)->flags_class->mask);
  } else if (G_IS_PARAM_SPEC_BOOLEAN(spec)) {
    g_value_set_boolean(&value, dice.below(2));
  } else {
    g_value_unset(&value);
    return;
  }
  g_object_set_property(object, spec->name, &value);
  g_value_unset(&value);
}

void roll_all(GstElement* element, Dice& dice, bool playing) {
  guint count = 0;
  GParamSpec** specs = g_object_class_list_properties(G_OBJECT_GET_CLASS(element), &count);
  for (guint i = 0; i < count; ++i) {
    const char* name = specs[i]->name;
    const bool ours = specs[i]->owner_type == G_OBJECT_TYPE(element);
    // The device is the machine's matter; slots cost memory.
    if (!ours || !(specs[i]->flags & G_PARAM_WRITABLE) || g_str_has_prefix(name, "device") ||
        g_str_has_prefix(name, "cuda") || g_str_has_prefix(name, "cpu") || dice.below(3) == 0) {
      continue;
    }
    if (playing && !(specs[i]->flags & GST_PARAM_MUTABLE_PLAYING)) continue;
    roll(G_OBJECT(element), specs[i], dice);
  }
  g_free(specs);
  if (!playing) g_object_set(element, "frames-in-flight", dice.below(4), nullptr);
  // Most rectangles begin in the picture, some do not.
  g_object_set(element, "left", dice.below(4), "top", dice.below(3), nullptr);
}

struct Shape {
  const char* format;
  int width, height;
  size_t bytes;
};

Shape roll_shape(Dice& dice) {
  static const char* formats[] = {"NV12", "I420", "P010_10LE", "YUY2", "UYVY",  "RGBA",     "BGRA",
                                  "RGBx", "BGRx", "RGB",       "BGR",  "GRAY8", "GRAY16_LE"};
  Shape shape = {formats[dice.below(13)], 1 + dice.below(140), 1 + dice.below(90), 0};
  GstVideoInfo info;
  gst_video_info_set_format(&info, gst_video_format_from_string(shape.format),
                            static_cast<guint>(shape.width), static_cast<guint>(shape.height));
  shape.bytes = GST_VIDEO_INFO_SIZE(&info);
  return shape;
}

std::vector<uint8_t> roll_picture(const Shape& shape, Dice& dice) {
  std::vector<uint8_t> bytes(shape.bytes);
  const int kind = dice.below(3);
  const auto flat = static_cast<uint8_t>(dice.below(256));
  for (uint8_t& b : bytes)
    b = kind == 0 ? flat
                  : static_cast<uint8_t>(dice.below(kind == 1 ? 2 : 256) * (kind == 1 ? 255 : 1));
  return bytes;
}

class Random : public ::testing::TestWithParam<int> {};

TEST_P(Random, EveryAcceptedFrameLeaves) {
  for (int round = 0; round < 30; ++round) {
    Dice dice(static_cast<uint64_t>(GetParam() * 1000 + round));
    const bool chain = dice.below(2);
    Harness h(chain ? "cclabel ! regionoverlay name=second" : "cclabel");
    roll_all(h.element(), dice, false);
    if (chain) {
      g_object_set(h.element(), "output", dice.below(2) ? 0 : 4, nullptr);
      GstElement* second = gst_harness_find_element(h.get(), "regionoverlay");
      roll_all(second, dice, false);
      gst_object_unref(second);
    }
    int accepted = 0;
    bool refused = false;
    for (int stretch = 0; stretch < 3 && !refused; ++stretch) {
      const Shape shape = roll_shape(dice);
      h.video(shape.format, shape.width, shape.height);
      for (int i = 0; i < 4 && !refused; ++i) {
        roll_all(h.element(), dice, true);
        refused = h.push(roll_picture(shape, dice), accepted) != GST_FLOW_OK;
        if (!refused) ++accepted;
      }
    }
    h.eos();
    const bool error = h.has_error();
    EXPECT_TRUE(!refused || error) << "refused without a word, seed " << GetParam() << "/" << round;
    if (!error) {
      EXPECT_EQ(h.waiting(), static_cast<guint>(accepted)) << "seed " << GetParam() << "/" << round;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Random, ::testing::Range(0, 10));

}  // namespace
}  // namespace regions::test
