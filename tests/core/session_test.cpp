// Sessions: the transaction of the parameters, the algorithm on its backend, and the drain of a
// queue after a failure.
#include "core/session.hpp"

#include <gtest/gtest.h>

#include <string>

namespace regions {
namespace {

struct TestParams {
  int64_t level = 1;   // live
  int64_t format = 1;  // renegotiated
  int64_t memory = 1;  // stopped
};
using P = TestParams;

std::span<const Field> fields_of(const TestParams&) {
  static const std::vector<Field> fields = {
      field<P, &P::level>("level", "", {0, 9}),
      field<P, &P::format>("format", "", {0, 9}, {}, Change::renegotiated),
      field<P, &P::memory>("memory", "", {0, 9}, {}, Change::stopped)};
  return fields;
}

LabelCapacity label_capacity(const TestParams& params, uint32_t total, const Layout&) {
  return {std::min(total, static_cast<uint32_t>(params.level)), {}};
}

// A CPU backend that counts its entries. Each call of an algorithm must be inside an entry.
class CountingBackend final : public Backend {
 public:
  explicit CountingBackend(BackendKind kind = BackendKind::cpu) : kind_(kind) {}
  BackendKind kind() const override { return kind_; }
  std::string description() const override { return "test"; }
  Memory memory() const override { return Memory::host; }
  std::unique_ptr<Queue> make_queue(int) override { return nullptr; }
  Block allocate(size_t) override { return {}; }
  Block allocate_pinned(size_t) override { return {}; }
  int entries = 0;

 protected:
  void enter() override { ++entries; }
  void leave() override { --entries; }

 private:
  const BackendKind kind_;
};

// Records its calls, for example "prepare 1, configure 2, ".
std::string calls;

class TestAlgorithm final : public Algorithm<TestParams> {
 public:
  explicit TestAlgorithm(std::shared_ptr<Backend> backend)
      : backend_(std::static_pointer_cast<CountingBackend>(std::move(backend))) {
    record("make");
  }
  ~TestAlgorithm() override { record("destroy"); }
  void prepare(const P& params) override { record("prepare", params.memory); }
  void configure(const Setup& setup) override { record("configure", setup.slots); }
  void enqueue(const FrameTask&, const P& params, Queue&) override {
    record("enqueue", params.level);
  }
  void reset() override { record("reset"); }

 private:
  void record(const std::string& call, int64_t value = 0) {
    EXPECT_GT(backend_->entries, 0) << call;
    calls += call + " " + std::to_string(value) + ", ";
  }
  const std::shared_ptr<CountingBackend> backend_;
};

// Fails on request, and counts the calls.
class TestQueue final : public Queue {
 public:
  void copy(const ConstFrame&, const Frame&) override {}
  void copy_bytes(const void*, void*, size_t) override {}
  void start() override {}
  void record() override {
    ++records;
    if (fails) throw DeviceError("record");
  }
  bool done() const override { return true; }
  void wait() override {
    ++waits;
    if (fails) throw DeviceError("wait");
  }
  int64_t elapsed() const override { return 0; }
  void shrink(const ConstFrame&, const Frame&) override {}
  void transfer_changes(const ConstFrame&, const ConstFrame&, const Frame&, bool) override {}
  void pick(const ConstFrame&, const Frame&, const PixelMapping&) override {}

  bool fails = false;
  int records = 0, waits = 0;
};

}  // namespace

template <>
std::unique_ptr<Algorithm<TestParams>> make_algorithm<TestParams, BackendKind::cpu>(
    std::shared_ptr<Backend> backend) {
  return std::make_unique<TestAlgorithm>(std::move(backend));
}
#if REGIONS_CUDA
template <>
std::unique_ptr<Algorithm<TestParams>> make_algorithm<TestParams, BackendKind::cuda>(
    std::shared_ptr<Backend> backend) {
  return std::make_unique<TestAlgorithm>(std::move(backend));
}
#endif

namespace {

class SessionParameters : public testing::Test {
 protected:
  void SetUp() override { session_.move_to(backend_); }
  const Field& field(const char* name) { return find(session_.fields(), name); }
  void set(const char* name, int64_t value) { session_.set(field(name), value); }
  int64_t pending(const char* name) { return std::get<int64_t>(session_.get(field(name))); }
  void configure(int slots = 1) { session_.configure({.slots = slots}, session_.active()); }

  std::shared_ptr<CountingBackend> backend_ = std::make_shared<CountingBackend>();
  Session<TestParams> session_;
};

TEST_F(SessionParameters, Set_WhileAnAlgorithmExists_OnlyLiveFieldsBecomeActiveAtOnce) {
  for (const char* name : {"level", "format", "memory"}) set(name, 5);
  session_.set_text(field("level"), "6");
  EXPECT_EQ(pending("level"), 6);
  EXPECT_EQ(pending("format"), 5);
  EXPECT_EQ(session_.active().level, 6);
  EXPECT_EQ(session_.active().format, 1);
  EXPECT_EQ(session_.active().memory, 1);
}

TEST(SessionWithoutAlgorithm, Set_EachField_ChangesTheActiveValueAtOnce) {
  Session<TestParams> session;
  for (const Field& field : session.fields()) session.set(field, int64_t{5});
  EXPECT_EQ(session.active().level, 5);
  EXPECT_EQ(session.active().format, 5);
  EXPECT_EQ(session.active().memory, 5);
  EXPECT_FALSE(session.has_pending_changes());
}

TEST_F(SessionParameters, Set_ValueOutOfRange_ThrowsAndKeepsTheValue) {
  EXPECT_THROW(set("level", 10), InputError);
  EXPECT_THROW(session_.set_text(field("level"), "ten"), InputError);
  const auto accept = [](const P&, const P&, const auto*) {};
  EXPECT_THROW(session_.set_while_running(field("level"), int64_t{10}, accept), InputError);
  EXPECT_EQ(pending("level"), 1);
  EXPECT_EQ(session_.active().level, 1);
}

TEST_F(SessionParameters, Commit_PendingFields_BecomeActive) {
  set("memory", 5);
  EXPECT_TRUE(session_.has_pending_changes());
  EXPECT_FALSE(session_.has_pending_changes(true));
  set("format", 5);
  EXPECT_TRUE(session_.has_pending_changes(true));
  session_.commit();
  EXPECT_FALSE(session_.has_pending_changes());
  EXPECT_FALSE(session_.has_pending_changes(true));
  EXPECT_EQ(session_.active().format, 5);
  EXPECT_EQ(session_.active().memory, 5);
}

TEST_F(SessionParameters,
       Rollback_AfterCommit_RestoresActiveValuesAndKeepsFieldsOfTheNextStreamPending) {
  set("format", 5);
  set("memory", 5);
  session_.commit();
  session_.rollback();
  EXPECT_EQ(session_.active().format, 1);
  EXPECT_EQ(session_.active().memory, 1);
  EXPECT_EQ(pending("format"), 1) << "the stream cannot run with the new value";
  EXPECT_EQ(pending("memory"), 5) << "the value takes effect in the next stream";
  EXPECT_FALSE(session_.has_pending_changes(true));
}

TEST_F(SessionParameters, SetWhileRunning_LiveField_IsCheckedWithTheRunningSetupAndTakesEffect) {
  const regions::Setup* checked_setup = nullptr;
  P checked;
  const auto check = [&](const P& changed, const P& active, const auto* setup) {
    EXPECT_EQ(active.level, 1);
    checked = changed;
    checked_setup = setup;
  };
  set("memory", 5);
  configure();
  session_.set_while_running(field("format"), int64_t{3}, check);
  EXPECT_EQ(checked_setup, nullptr) << "the field takes effect at the next configure()";
  EXPECT_EQ(checked.memory, 5);
  EXPECT_EQ(session_.active().format, 1);
  session_.set_while_running(field("level"), int64_t{2}, check);
  EXPECT_NE(checked_setup, nullptr);
  EXPECT_EQ(checked.level, 2);
  EXPECT_EQ(checked.memory, 1) << "the running stream has the former value";
  EXPECT_EQ(session_.active().level, 2);
  EXPECT_EQ(session_.active().memory, 1);
}

TEST_F(SessionParameters, SetWhileRunning_CheckRefuses_ThrowsAndKeepsTheValue) {
  const auto refuse = [](const P&, const P&, const auto*) { throw SettingsError("refused"); };
  configure();
  for (const char* name : {"level", "format"}) {
    EXPECT_THROW(session_.set_while_running(field(name), int64_t{2}, refuse), SettingsError);
    EXPECT_EQ(pending(name), 1);
  }
  EXPECT_EQ(session_.active().level, 1);
  session_.set_while_running(field("memory"), int64_t{2}, refuse);
  EXPECT_EQ(pending("memory"), 2) << "a stopped field is checked when the next stream starts";
}

TEST_F(SessionParameters, FrameInFlight_LiveFieldSetAfterEnqueue_KeepsItsOwnParameters) {
  TestQueue queue;
  configure(2);
  const Backend::Entry entry(*backend_);
  session_.enqueue({.slot = 0}, queue);
  set("level", 4);
  session_.enqueue({.slot = 1}, queue, [](P& params) { params.level *= 2; });
  set("level", 5);
  EXPECT_EQ(session_.params_of(0).level, 1);
  EXPECT_EQ(session_.params_of(1).level, 8);
  EXPECT_EQ(session_.active().level, 5) << "the adjustment affects only the frame";
  EXPECT_EQ(session_.check_capacity(0, 7, {}).labelled, 1u);
  EXPECT_EQ(session_.check_capacity(1, 7, {}).labelled, 7u);
}

TEST(SessionAlgorithm, EveryCall_RunsInsideTheBackendWithActiveParameters) {
  calls.clear();
  const auto backend = std::make_shared<CountingBackend>();
  {
    Session<TestParams> session({.memory = 7});
    session.reset();  // does nothing without an algorithm
    session.move_to(backend);
    session.configure({.slots = 3}, session.active());
    EXPECT_EQ(session.setup().slots, 3);
    session.reset();
    session.begin_scene();
  }
  EXPECT_EQ(calls, "make 0, prepare 7, configure 3, reset 0, reset 0, destroy 0, ");
  EXPECT_EQ(backend->entries, 0);
}

TEST(SessionAlgorithm, MoveTo_NoBackend_ReturnsTheFormerAlgorithm) {
  const auto backend = std::make_shared<CountingBackend>(BackendKind::cuda);
  Session<TestParams> session;
  EXPECT_EQ(session.move_to(backend), nullptr);
  calls.clear();
  auto former = session.move_to(nullptr);
  EXPECT_EQ(calls, "") << "the caller destroys the former algorithm";
  const Backend::Entry entry(*backend);
  former.reset();
  EXPECT_EQ(calls, "destroy 0, ");
}

TEST(EnqueueOrDrain, EnqueueSucceeds_NeitherRecordsNorWaits) {
  TestQueue queue;
  enqueue_or_drain(queue, [] {});
  EXPECT_EQ(queue.records + queue.waits, 0);
}

TEST(EnqueueOrDrain, EnqueueFails_WaitsAndReportsTheFirstError) {
  for (const bool queue_fails : {false, true}) {
    TestQueue queue;
    queue.fails = queue_fails;
    try {
      enqueue_or_drain(queue, [] { throw InputError("first"); });
      ADD_FAILURE() << "no exception";
    } catch (const std::exception& error) {
      EXPECT_STREQ(error.what(), "first");
    }
    EXPECT_EQ(queue.records, 1);
    EXPECT_EQ(queue.waits, 1) << "also if record() fails";
  }
}

}  // namespace
}  // namespace regions
