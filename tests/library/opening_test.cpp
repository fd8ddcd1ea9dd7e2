// How filters are opened, on which device, and the library's version.
#include <cstdio>
#include <thread>

#include "tests/algorithms.hpp"
#include "tests/library/library_case.hpp"

namespace regions::test {
namespace {

void expect_open_refused(const char* algorithm, const char* device, int threads, const char* why) {
  EXPECT_EQ(regions_open(algorithm, device, threads), nullptr) << why;
  EXPECT_STREQ(regions_error(), why);
}

TEST(LibraryOpening, OpeningNamesWhatIsWrong) {
  expect_open_refused(nullptr, "cpu", 0, "algorithm is null, must be the name of an algorithm");
  expect_open_refused("cclabel", "cpu", -1,
                      "threads is -1, must be at least 0 (0: one per CPU core)");
  std::string known;
  for (const KnownAlgorithm& one : kAlgorithms)
    known += (known.empty() ? "" : ", ") + std::string(one.name);
  for (const char* name : {"cclabels", ""}) {
    const std::string why =
        "unknown algorithm '" + std::string(name) + "'; expected one of " + known;
    expect_open_refused(name, "cpu", 1, why.c_str());
  }
  for (const char* device :
       {"", "tpu", "CPU", "cpu:0", "cud", "cuda0", "cuda:", "cuda:-1", "cuda:x", "cuda:1x",
        "cuda: 1", "cuda:256", "cuda:99999999999999999999"}) {
    expect_open_refused("cclabel", device, 1,
                        ("unknown device '" + std::string(device) +
                         "'; expected auto, cpu, cuda or cuda:N with N from 0 to 255")
                            .c_str());
  }
  // A name that may be one of a device: what refuses it speaks of CUDA.
  for (const char* device : {"cuda:255", "cuda:0", "cuda"}) {
    const Filter filter(regions_open("cclabel", device, 1));
    if (!filter) {
      EXPECT_NE(std::string(regions_error()).find("CUDA"), std::string::npos) << device;
    }
  }
}

TEST(LibraryOpening, DevicesSayWhatTheyAre) {
  const auto device_of = [](const char* device, int threads) {
    const Filter filter(regions_open("cclabel", device, threads));
    EXPECT_TRUE(filter) << regions_error();
    return std::string(regions_device(filter.get()));
  };
  EXPECT_EQ(device_of("cpu", 1), "cpu: 1 thread");
  EXPECT_EQ(device_of("cpu", 3), "cpu: 3 threads");
  const unsigned all = std::thread::hardware_concurrency();
  EXPECT_EQ(device_of("cpu", 0),
            "cpu: " + std::to_string(all) + (all == 1 ? " thread" : " threads"));
  EXPECT_STREQ(regions_device(nullptr), "none");
  // Null is auto, whichever device that is here.
  EXPECT_EQ(device_of(nullptr, 2), device_of("auto", 2));
  const Filter cuda(regions_open("cclabel", "cuda", 2));
  EXPECT_EQ(device_of("auto", 2), cuda ? regions_device(cuda.get()) : "cpu: 2 threads");
}

// The version is three numbers, as in regions.pc.
TEST(LibraryOpening, TheVersionIsANumber) {
  int numbers[3] = {-1, -1, -1}, length = 0;
  const int read =
      std::sscanf(regions_version(), "%d.%d.%d%n", &numbers[0], &numbers[1], &numbers[2], &length);
  EXPECT_EQ(read, 3) << regions_version();
  EXPECT_EQ(static_cast<size_t>(length), std::strlen(regions_version()));
  EXPECT_STREQ(regions_version(), REGIONS_VERSION) << "the project's";
}

}  // namespace
}  // namespace regions::test
