// Injected faults: when they occur, their texts, and unknown texts.
#include "core/faults.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/core/error_message.hpp"

namespace regions {
namespace {

class InjectedFaults : public testing::Test {
 protected:
  ~InjectedFaults() override { inject_faults(nullptr); }
};

// The kind and the text of the failure of one step; empty if it succeeds.
std::string step(Fault kind) {
  try {
    fail_if_injected(kind);
  } catch (const MemoryError& error) {
    return std::string("memory: ") + error.what();
  } catch (const DeviceError& error) {
    return std::string("device: ") + error.what();
  }
  return {};
}

TEST_F(InjectedFaults, StepsOfAKind_CountNInjected_EveryNthStepFails) {
  inject_faults("allocation=2,launch=3,work=1");
  EXPECT_TRUE(faults::enabled);
  EXPECT_FALSE(faults::skip_launches);
  for (int i = 1; i <= 7; ++i) {
    EXPECT_EQ(step(Fault::allocation), i % 2 == 0 ? "memory: injected failure of allocation" : "");
    EXPECT_EQ(step(Fault::launch), i % 3 == 0 ? "device: injected failure of launch" : "");
    EXPECT_EQ(step(Fault::work), "device: injected failure of work");
  }
  inject_faults("allocation=2,launch=3,work=1");  // counts go on: the seventh was the last
  EXPECT_NE(step(Fault::allocation), "");
  inject_faults("allocation=2");
  EXPECT_EQ(step(Fault::allocation), "");
  EXPECT_EQ(step(Fault::work), "");
  inject_faults("");
  EXPECT_FALSE(faults::enabled);
  EXPECT_EQ(step(Fault::allocation), "");
}

TEST_F(InjectedFaults, DeviceLossAtTheThirdOperation_ThatAndAllLaterOperationsFail) {
  inject_faults("gone=3");
  EXPECT_EQ(step(Fault::allocation), "");
  EXPECT_EQ(step(Fault::launch), "");
  for (const Fault kind : {Fault::work, Fault::allocation, Fault::launch, Fault::allocation}) {
    EXPECT_EQ(step(kind), "device: injected failure: the device was lost");
  }
}

TEST_F(InjectedFaults, IdleFault_Injected_SetsTheFlagThatSkipsLaunchesAndFailsNoLaunch) {
  inject_faults("idle=1,");
  EXPECT_TRUE(faults::skip_launches);
  EXPECT_EQ(step(Fault::launch), "");
  inject_faults("launch=1");
  EXPECT_FALSE(faults::skip_launches);
}

TEST_F(InjectedFaults, FaultText_Unknown_ErrorNamesTheUnknownPartAndEarlierFaultsStillOccur) {
  inject_faults("work=1");
  const std::pair<const char*, const char*> texts[] = {{"x=1", "x=1"},
                                                       {"launch", "launch"},
                                                       {"launch=0", "launch=0"},
                                                       {"launch=-1", "launch=-1"},
                                                       {"launch=1x", "launch=1x"},
                                                       {"launch=", "launch="},
                                                       {"=1", "=1"},
                                                       {"launch=1,,work=1", ""},
                                                       {"launch=1,work:2", "work:2"},
                                                       {"launc=1", "launc=1"},
                                                       {"gone=99999999999", "gone=99999999999"}};
  for (const auto& [text, named] : texts) {
    EXPECT_EQ(
        error_message_of([&] { inject_faults(text); }),
        std::string("REGIONS_FAULTS: '") + named +
            "' is unknown; expected allocation=N, launch=N, work=N, gone=N, idle=1 or apart=1");
    EXPECT_EQ(step(Fault::launch), "") << text;
    EXPECT_NE(step(Fault::work), "") << text;
  }
}

TEST_F(InjectedFaults, RegionsFaultsVariable_SetThenUnset_FaultsOccurOnlyWhileItIsSet) {
  setenv("REGIONS_FAULTS", "launch=1", 1);
  inject_faults_from_environment();
  EXPECT_NE(step(Fault::launch), "");
  unsetenv("REGIONS_FAULTS");
  inject_faults_from_environment();
  EXPECT_EQ(step(Fault::launch), "");
}

}  // namespace
}  // namespace regions
