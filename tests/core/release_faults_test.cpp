// core/faults.cpp of builds without tests, in which no fault can be injected.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "core/error.hpp"
#include "core/faults.hpp"

namespace regions {
namespace {

TEST(ReleaseFaults, ReleaseBuild_AnyFaultText_InjectsNothing) {
  for (const char* text : {"allocation=1,launch=1,work=1,gone=1,idle=1", "nonsense"}) {
    setenv("REGIONS_FAULTS", text, 1);
    EXPECT_NO_THROW(inject_faults_from_environment());
    EXPECT_NO_THROW(inject_faults(text));
    for (const Fault kind : {Fault::allocation, Fault::launch, Fault::work}) {
      EXPECT_NO_THROW(fail_if_injected(kind));
    }
    EXPECT_FALSE(faults::enabled || faults::skip_launches);
  }
}

// A fault-injecting build contains this text, see core/faults.cpp.
TEST(ReleaseFaults, ReleaseBuild_ProgramFile_DoesNotContainTheFaultMessage) {
  std::ifstream program("/proc/self/exe", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(program), {}};
  ASSERT_GT(bytes.size(), 1000u);
  const std::string text = std::string("injected ") + "failure of";
  EXPECT_EQ(bytes.find(text), std::string::npos);
}

}  // namespace
}  // namespace regions
