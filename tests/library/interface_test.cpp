// What the interface promises of its structures and texts.
#include <thread>

#include "tests/library/library_case.hpp"

namespace regions::test {
namespace {

TEST(LibraryInterface, AFrameOfAnotherSizeIsRefused) {
  const Filter filter = open("cclabel");
  ASSERT_EQ(regions_set(filter.get(), "output", "none"), REGIONS_OK);
  Labelled l;
  EXPECT_EQ(l.frame.size, sizeof(RegionsFrame));
  for (const size_t size : {size_t{0}, size_t{1}, sizeof(RegionsFrame) - sizeof(void*),
                            sizeof(RegionsFrame) + sizeof(void*), SIZE_MAX}) {
    l.frame.size = size;
    l.frame.total = 77;
    EXPECT_EQ(regions_process(filter.get(), &l.frame), REGIONS_ERROR_INPUT) << size;
    const std::string text = regions_error();
    EXPECT_NE(text.find("frame.size is " + std::to_string(size)), std::string::npos) << text;
    EXPECT_EQ(l.frame.total, 77u) << "a member was written that may lie elsewhere";
  }
  l.frame.size = 0;
  regions_process(filter.get(), &l.frame);
  EXPECT_NE(std::string(regions_error()).find("REGIONS_FRAME_INIT"), std::string::npos);
  l.frame.size = sizeof(RegionsFrame);
  EXPECT_EQ(regions_process(filter.get(), &l.frame), REGIONS_OK) << regions_error();
}

TEST(LibraryInterface, AnErrorsTextStaysUntilTheNextFailure) {
  const Filter filter = open("cclabel");
  EXPECT_EQ(regions_set(filter.get(), "threshold", "2"), REGIONS_ERROR_INPUT);
  const char* const text = regions_error();
  const std::string before = text;
  EXPECT_NE(before.find("threshold"), std::string::npos);
  // What succeeds leaves it, and so does what fails on another thread.
  Labelled l;
  EXPECT_EQ(regions_set(filter.get(), "output", "none"), REGIONS_OK);
  EXPECT_EQ(regions_process(filter.get(), &l.frame), REGIONS_OK);
  EXPECT_STREQ(regions_get(filter.get(), "threshold"), "0.5");
  EXPECT_EQ(regions_reset(filter.get()), REGIONS_OK);
  std::string elsewhere, elsewhere_first;
  std::thread([&] {
    elsewhere_first = regions_error();
    regions_open("cclabels", "cpu", 0);
    elsewhere = regions_error();
  }).join();
  EXPECT_EQ(elsewhere_first, "no call of this thread has failed");
  EXPECT_NE(elsewhere.find("cclabels"), std::string::npos);
  EXPECT_EQ(regions_error(), text);
  EXPECT_EQ(text, before);
  // One that gives no status fails as well.
  EXPECT_EQ(regions_get(filter.get(), "treshold"), nullptr);
  EXPECT_NE(std::string(regions_error()).find("treshold"), std::string::npos);
  // An error's text may itself be what is wrong.
  EXPECT_EQ(regions_set(filter.get(), regions_error(), regions_error()), REGIONS_ERROR_INPUT);
  EXPECT_EQ(regions_set(filter.get(), std::string(1 << 20, 'x').c_str(), ""), REGIONS_ERROR_INPUT);
  EXPECT_EQ(std::strlen(regions_error()), 1023u);
}

TEST(LibraryInterface, AValuesTextStaysUntilTheNextValue) {
  const Filter filter = open("cclabel"), other = open("cclabel");
  const char* const text = regions_get(filter.get(), "connectivity");
  ASSERT_NE(text, nullptr);
  EXPECT_STREQ(text, "8");
  EXPECT_EQ(regions_get(filter.get(), "treshold"), nullptr);
  EXPECT_EQ(regions_get(filter.get(), nullptr), nullptr);
  EXPECT_EQ(regions_set(filter.get(), "connectivity", "4"), REGIONS_OK);
  EXPECT_STREQ(regions_get(other.get(), "output"), "overlay");
  EXPECT_STREQ(text, "8");
  EXPECT_STREQ(regions_get(filter.get(), "connectivity"), "4");
}

}  // namespace
}  // namespace regions::test
