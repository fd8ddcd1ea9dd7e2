// Errors have the domain and code that an application expects, and are posted as early as possible.
// A wrong setting while frames flow causes a warning and changes nothing.
#include <glib/gstdio.h>

#include <atomic>

#include "tests/plugin/told.hpp"

namespace regions::test {
namespace {

constexpr int kWidth = 64, kHeight = 48;

std::vector<uint8_t> picture() { return std::vector<uint8_t>(kWidth * kHeight, 200); }

// The error that keeps an element from PAUSED.
Told error_at_start(const std::string& line) {
  Harness h(line);
  EXPECT_FALSE(h.starts()) << line;
  return told(h.message(GST_MESSAGE_ERROR));
}

TEST(Errors, MissingFilesAreToldBeforeTheFirstFrame) {
  for (const char* property : {"background-image", "exclusion-image", "replace-image"}) {
    const Told error =
        error_at_start(std::string("graphcutbg ") + property + "=/nowhere/picture.png");
    EXPECT_EQ(error.domain, GST_RESOURCE_ERROR) << property;
    EXPECT_EQ(error.code, GST_RESOURCE_ERROR_NOT_FOUND) << property;
    EXPECT_NE(error.text.find("/nowhere/picture.png"), std::string::npos) << error.text;
  }
}

TEST(Errors, AFolderIsNoFile) {
  for (const char* property : {"background-image", "model-location"}) {
    const Told error = error_at_start(std::string("graphcutbg ") + property + "=/");
    EXPECT_EQ(error.domain, GST_RESOURCE_ERROR) << property;
    EXPECT_EQ(error.code, GST_RESOURCE_ERROR_OPEN_READ) << property;
  }
}

TEST(Errors, AModelThatIsNotThereYetIsNoError) {
  gchar* folder = g_dir_make_tmp("regions-XXXXXX", nullptr);
  const std::string path = folder + std::string("/model");
  {
    Harness h("graphcutbg model-location=" + path);
    EXPECT_TRUE(h.starts());
    EXPECT_FALSE(h.has_error());
    EXPECT_FALSE(g_file_test(path.c_str(), G_FILE_TEST_EXISTS));
  }
  EXPECT_EQ(g_rmdir(folder), 0) << "a temporary file is left";
  g_free(folder);
}

// Writing comes at the end of the stream, which is too late to report it.
TEST(Errors, ModelThatCannotBeWritten_IsReportedBeforeTheFirstFrame) {
  struct Case {
    const char *path, *says;
    int code;
  };
  for (const auto& [path, says, code] :
       {Case{"/nowhere/model", "the folder '/nowhere/' does not exist",
             GST_RESOURCE_ERROR_NOT_FOUND},
        {"nowhere/deep/model", "the folder 'nowhere/deep/' does not exist",
         GST_RESOURCE_ERROR_NOT_FOUND},
        {"/tmp/nowhere/", "the folder '/tmp/nowhere/' does not exist",
         GST_RESOURCE_ERROR_NOT_FOUND},
        {"/", "not a regular file", GST_RESOURCE_ERROR_OPEN_READ},
        {"/tmp", "not a regular file", GST_RESOURCE_ERROR_OPEN_READ},
        {"/dev/null", "not a regular file", GST_RESOURCE_ERROR_OPEN_READ},
        {"/etc/passwd/model", "Not a directory", GST_RESOURCE_ERROR_OPEN_READ},
        // Also the superuser cannot create files in these.
        {"/proc/model", "no file can be created in the folder '/proc/'",
         GST_RESOURCE_ERROR_OPEN_WRITE},
        {"/sys/model", "no file can be created in the folder '/sys/'",
         GST_RESOURCE_ERROR_OPEN_WRITE}}) {
    const Told error = error_at_start(std::string("graphcutbg model-location=") + path);
    EXPECT_EQ(error.domain, GST_RESOURCE_ERROR) << path;
    EXPECT_EQ(error.code, code) << path << ": " << error.text;
    EXPECT_NE(error.text.find(says), std::string::npos) << error.text;
    EXPECT_NE(error.text.find(path), std::string::npos) << error.text;
  }
}

TEST(Errors, WhatIsNoPictureCannotBeRead) {
  const std::string path = std::string(g_get_tmp_dir()) + "/regions-no-picture";
  ASSERT_TRUE(g_file_set_contents(path.c_str(), "no picture", -1, nullptr));
  Harness h("graphcutbg output=replace replace-with=image replace-image=" + path);
  h.video("RGB", kWidth, kHeight);
  EXPECT_NE(h.push(std::vector<uint8_t>(kWidth * kHeight * 3)), GST_FLOW_OK);
  const Told error = told(h.message(GST_MESSAGE_ERROR));
  EXPECT_EQ(error.domain, GST_RESOURCE_ERROR);
  EXPECT_EQ(error.code, GST_RESOURCE_ERROR_OPEN_READ);
  g_unlink(path.c_str());
}

TEST(Errors, ContradictionsAreToldBeforeTheFirstFrame) {
  for (const char* line :
       {"cclabel depth=8 output=none", "cclabel connectivity=26 output=none",
        "cclabel depth=8 connectivity=6", "cclabel thresholds=<0.2,0.4>",
        "cclabel sliding=true output=none", "cclabel track=true label-background=true",
        "cclabel seeds=<1.0,2.0,3.0>", "cclabel criterion=equal thresholds=<0.2,0.4> output=none",
        "cclabel track=true max-regions=65536", "cclabel fill-holes=9 label-background=true"}) {
    const Told error = error_at_start(line);
    EXPECT_EQ(error.domain, GST_LIBRARY_ERROR) << line;
    EXPECT_EQ(error.code, GST_LIBRARY_ERROR_SETTINGS) << line << ": " << error.text;
  }
}

TEST(Errors, FramesThatDoNotSuitAreOfTheStream) {
  Harness alpha("cclabel source=alpha");
  alpha.video("RGB", kWidth, kHeight);
  alpha.push(std::vector<uint8_t>(kWidth * kHeight * 3));
  const Told error = told(alpha.message(GST_MESSAGE_ERROR));
  EXPECT_EQ(error.domain, GST_STREAM_ERROR);
  EXPECT_EQ(error.code, GST_STREAM_ERROR_FORMAT);
}

TEST(Errors, ARectangleOutsideThePictureIsOfTheSettings) {
  Harness h("cclabel left=64");
  h.video("GRAY8", kWidth, kHeight);
  h.push(picture());
  const Told error = told(h.message(GST_MESSAGE_ERROR));
  EXPECT_EQ(error.domain, GST_LIBRARY_ERROR);
  EXPECT_EQ(error.code, GST_LIBRARY_ERROR_SETTINGS);
}

// Upstream elements negotiate again and again after a failure.
TEST(Errors, CapsRefusedManyTimes_PostOneError) {
  for (const char* line :
       {"cclabel left=640", "cclabel output=none left=640", "cclabel source=alpha",
        "graphcutbg top=480", "slicsuperpixel left=640", "regionoverlay left=640",
        "graphcutbg output=replace replace-with=image replace-image=/etc/passwd"}) {
    for (const char* between : {"", "! queue ", "! identity "}) {
      const Pipeline p(
          "videotestsrc num-buffers=30 ! video/x-raw,format=RGB,width=320,height=240 " +
          std::string(between) + "! " + line + " ! fakesink sync=false");
      const std::string name = std::string(line).substr(0, std::string(line).find(' '));
      std::atomic<int> errors = 0;
      const auto count = [&](GstMessage* message) {
        const bool is_ours = GST_IS_ELEMENT(GST_MESSAGE_SRC(message)) &&
                             g_str_has_prefix(GST_MESSAGE_SRC_NAME(message), name.c_str());
        errors += GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR && is_ours;
      };
      GstBus* bus = gst_element_get_bus(p.get());
      gst_element_set_state(p.get(), GST_STATE_PLAYING);
      // The source posts an error when it gives up.
      for (bool ended = false; !ended;) {
        const MessagePtr message(gst_bus_timed_pop_filtered(
            bus, 10 * GST_SECOND,
            static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_EOS)));
        ASSERT_TRUE(message) << line << between;
        count(message.get());
        ended = g_str_has_prefix(GST_MESSAGE_SRC_NAME(message.get()), "videotestsrc") ||
                g_str_has_prefix(GST_MESSAGE_SRC_NAME(message.get()), "queue") ||
                GST_MESSAGE_TYPE(message.get()) == GST_MESSAGE_EOS;
      }
      gst_element_set_state(p.get(), GST_STATE_READY);
      while (const MessagePtr rest{gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR)}) count(rest.get());
      gst_object_unref(bus);
      EXPECT_EQ(errors, 1) << line << between;
    }
  }
}

// After a flush, or other caps that suit, the same error is a new one.
TEST(Errors, CapsRefusedAfterAFlushOrOtherCaps_PostAnotherError) {
  for (const bool flushes : {true, false}) {
    Harness h("cclabel output=none left=100");
    for (int time = 0; time < 2; ++time) {
      for (int i = 0; i < 3; ++i) {
        h.video("GRAY8", kWidth, kHeight);
        EXPECT_NE(h.push(picture(), i), GST_FLOW_OK);
      }
      EXPECT_TRUE(h.has_error()) << time << flushes;
      EXPECT_FALSE(h.has_error()) << time << flushes;
      if (flushes) {
        h.flush();
      } else {
        const int width = (time + 4) * kWidth;
        h.video("GRAY8", width, kHeight);
        EXPECT_EQ(h.push(std::vector<uint8_t>(static_cast<size_t>(width) * kHeight), 9),
                  GST_FLOW_OK);
      }
    }
  }
}

TEST(Errors, AnElementStartsOnceItsSettingsAgree) {
  Harness h("cclabel depth=2 output=none");
  ASSERT_FALSE(h.starts());
  gst_util_set_object_arg(G_OBJECT(h.element()), "connectivity", "6");
  EXPECT_EQ(gst_element_set_state(h.element(), GST_STATE_PAUSED), GST_STATE_CHANGE_SUCCESS);
}

// ---- while frames flow

// Sets a property, from text, between two frames: a warning, the old value, and the next frame as
// the previous one.
void expect_refused(const std::string& line, const char* format, const char* property,
                    const char* bad) {
  Harness h(line);
  h.video(format, kWidth, kHeight);
  const size_t bytes = kWidth * kHeight * (strcmp(format, "RGB") == 0 ? 3 : 1);
  ASSERT_EQ(h.push(std::vector<uint8_t>(bytes, 200), 0), GST_FLOW_OK) << line;
  GParamSpec* spec = g_object_class_find_property(G_OBJECT_GET_CLASS(h.element()), property);
  const std::string before = h.property(property);
  GValue wanted = G_VALUE_INIT;
  g_value_init(&wanted, spec->value_type);
  ASSERT_TRUE(gst_value_deserialize_with_pspec(&wanted, bad, spec)) << bad;
  g_object_set_property(G_OBJECT(h.element()), property, &wanted);
  g_value_unset(&wanted);
  for (int i = 1; i < 4; ++i) {
    ASSERT_EQ(h.push(std::vector<uint8_t>(bytes, 200), i), GST_FLOW_OK) << line << " " << property;
  }
  h.eos();
  const Told warning = told(h.message(GST_MESSAGE_WARNING));
  EXPECT_EQ(warning.domain, GST_LIBRARY_ERROR) << line << " " << property;
  EXPECT_EQ(warning.code, GST_LIBRARY_ERROR_SETTINGS);
  const std::string kept = " kept as it was: ";
  const size_t at = warning.text.find(kept);
  ASSERT_NE(at, std::string::npos) << line << " " << property << ": " << warning.text;
  EXPECT_GT(at, 3u) << "what, in " << warning.text;
  EXPECT_GT(warning.text.size(), at + kept.size() + 10) << "why, in " << warning.text;
  EXPECT_EQ(h.property(property), before) << line << " " << property;
  EXPECT_FALSE(h.has_error()) << line << " " << property;
  EXPECT_EQ(h.waiting(), 4u);
}

TEST(Refused, CombinationsOfProperties) {
  expect_refused("cclabel output=none", "GRAY8", "connectivity", "26");
  expect_refused("cclabel output=none depth=2 connectivity=6", "GRAY8", "connectivity", "8");
  // Earlier frames came without a mask.
  expect_refused("cclabel output=none depth=2 connectivity=6", "GRAY8", "source", "mask");
  expect_refused("cclabel output=none", "RGB", "source", "alpha");
  expect_refused("cclabel output=labels thresholds=<0.2,0.4>", "GRAY8", "criterion", "equal");
  expect_refused("cclabel output=none label-background=true", "GRAY8", "fill-holes", "5");
  expect_refused("cclabel output=none", "GRAY8", "seeds", "<1.0,2.0,3.0>");
  expect_refused("cclabel output=labels thresholds=<0.2,0.4>", "GRAY8", "output", "overlay");
  expect_refused("cclabel output=none", "GRAY8", "source", "mask");
  expect_refused("graphcutbg output=mask", "GRAY8", "source", "mask");
  expect_refused("graphcutbg output=replace", "GRAY8", "replace-with", "image");
  // Known when the next frame comes.
  expect_refused("cclabel output=none width=40", "GRAY8", "thresholds", "<0.2,0.4>");
}

TEST(Refused, RectanglesOutsideThePicture) {
  expect_refused("cclabel output=none", "GRAY8", "left", "64");
  expect_refused("graphcutbg output=mask", "RGB", "top", "48");
  expect_refused("cclabel output=none depth=2 connectivity=6", "GRAY8", "process-scale", "0.5");
}

TEST(Refused, WhatSuitsIsTakenAgain) {
  Harness h("cclabel output=none threshold=0");
  h.video("GRAY8", kWidth, kHeight);
  ASSERT_EQ(h.push(picture(), 0), GST_FLOW_OK);
  g_object_set(h.element(), "left", 64, nullptr);
  ASSERT_EQ(h.push(picture(), 1), GST_FLOW_OK);
  g_object_set(h.element(), "left", 60, nullptr);
  ASSERT_EQ(h.push(picture(), 2), GST_FLOW_OK);
  for (const char* x : {"0", "0", "60"}) {
    EXPECT_EQ(region_field(regions_of(h.pull().get()), 0, "x"), x);
  }
}

// An application that shows the value learns that it is the old one again.
TEST(Refused, IsNotified) {
  struct Case {
    const char *line, *property, *bad;
  };
  for (const Case& c : {Case{"cclabel output=none", "left", "64"},
                        {"cclabel output=none", "process-scale", "0.0625"},
                        {"cclabel output=none width=40", "thresholds", "<0.2,0.4>"}}) {
    std::string told;  // also while the element goes
    const bool scale = std::string(c.property) == "process-scale";
    Harness h(c.line + std::string(scale ? " depth=2 connectivity=6" : ""));
    h.video("GRAY8", kWidth, kHeight);
    ASSERT_EQ(h.push(picture(), 0), GST_FLOW_OK);
    gst_util_set_object_arg(G_OBJECT(h.element()), c.property, c.bad);
    g_signal_connect(h.element(), "notify",
                     G_CALLBACK(+[](GObject*, GParamSpec* spec, gpointer all) {
                       *static_cast<std::string*>(all) += std::string(spec->name) + " ";
                     }),
                     &told);
    ASSERT_EQ(h.push(picture(), 1), GST_FLOW_OK);
    EXPECT_NE(told.find(c.property + std::string(" ")), std::string::npos) << told;
  }
}

}  // namespace
}  // namespace regions::test
