// Session: an algorithm on its device, with its parameters and the setup of its stream. The plugin,
// the library and the Python package run every algorithm through a Session.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/algorithm.hpp"
#include "core/field.hpp"

namespace regions {

// Waits for the work before the queue's last record(). Ignores errors of the work.
inline void wait_without_errors(Queue& queue) noexcept {
  try {
    queue.wait();
  } catch (const std::exception&) {
  }
}

// Calls enqueue(), which puts work on the queue. If it throws, waits for the work that is already
// on the queue before the exception leaves, so that the caller can release the memory of this work.
template <class Enqueue>
void enqueue_or_drain(Queue& queue, const Enqueue& enqueue) {
  try {
    enqueue();
  } catch (...) {
    try {
      queue.record();
    } catch (const std::exception&) {  // ignored: the earlier error of enqueue() is reported
    }
    wait_without_errors(queue);
    throw;
  }
}

// A session of the algorithm with parameters P.
//
// The user can set the pending parameters at any time. The running stream uses the active
// parameters. commit() copies the pending parameters to the active ones, and rollback() undoes
// this. Each frame in flight has its own copy of the active parameters, because live fields may
// change during its work.
//
// Every function creates a Backend::Entry if it requires one. Only enqueue() does not: its caller
// must hold an Entry, which the queue requires anyway.
template <class P>
class Session {
 public:
  explicit Session(const P& params = {}) : pending_(params), active_(params) {}
  ~Session() {
    if (!algorithm_) return;
    const Backend::Entry entry(*backend_);
    algorithm_.reset();
  }

  // ---- parameters. Any thread may call these functions.

  std::span<const Field> fields() const { return fields_of(P{}); }
  // Returns the pending value of a field.
  Value get(const Field& field) const {
    const std::lock_guard lock(mutex_);
    return field.get(&pending_);
  }
  // Sets a pending value. A live field takes effect at once, any other field at the next commit().
  // Without an algorithm, every field takes effect at once.
  void set(const Field& field, const Value& value) { set_by(assign, field, value); }
  void set_text(const Field& field, std::string_view text) { set_by(assign_text, field, text); }
  // Sets a field while a stream runs. Before anything changes, calls check(changed parameters,
  // active parameters, setup), except for a field that may change only while the element is
  // stopped. The setup is null if the field takes effect at the next configure(). If check()
  // throws, nothing changes.
  template <class Check>
  void set_while_running(const Field& field, const Value& value, const Check& check) {
    const std::lock_guard lock(mutex_);
    const Setup* const running_setup = field.live() && setup_ ? &*setup_ : nullptr;
    P changed = running_setup ? active_ : pending_;
    assign(field, &changed, value);
    if (field.change != Change::stopped) check(changed, active_, running_setup);
    field.set(&pending_, value);
    if (field.live()) active_ = changed;
  }

  // Makes the pending parameters active.
  void commit() {
    const std::lock_guard lock(mutex_);
    previous_ = std::exchange(active_, pending_);
  }
  // Undoes the last commit(): renegotiated fields have their former values again.
  void rollback() {
    const std::lock_guard lock(mutex_);
    active_ = previous_;
    for (const Field& field : fields()) {
      if (field.change == Change::renegotiated) field.set(&pending_, field.get(&previous_));
    }
  }
  // Whether commit() would change a field. `only_renegotiated` ignores all fields that are not
  // `renegotiated`.
  bool has_pending_changes(bool only_renegotiated = false) const {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(fields(), [&](const Field& field) {
      return (!only_renegotiated || field.change == Change::renegotiated) &&
             field.get(&pending_) != field.get(&active_);
    });
  }

  // Returns use(pending parameters, active parameters). They do not change during the call.
  template <class Use>
  auto read(const Use& use) const {
    const std::lock_guard lock(mutex_);
    return use(pending_, active_);
  }
  P active() const {
    return read([](const P&, const P& active) { return active; });
  }

  // ---- algorithm. One thread at a time may call these functions.

  // Makes the algorithm for this backend. A null backend only removes the previous algorithm.
  // Returns the previous algorithm; the caller must hold an Entry of its backend when it destroys
  // it.
  std::shared_ptr<void> move_to(const std::shared_ptr<Backend>& backend) {
    std::shared_ptr<Algorithm<P>> created;
    if (backend) {
      const Backend::Entry entry(*backend);
      created = make_algorithm_on<P>(backend);
    }
    const std::lock_guard lock(mutex_);
    setup_.reset();
    backend_ = backend;
    return std::exchange(algorithm_, std::move(created));
  }
  BackendKind backend_kind() const { return backend_ ? backend_->kind() : BackendKind::cpu; }
  Algorithm<P>& algorithm() { return *algorithm_; }

  // Prepares and configures the algorithm. `params` are the active parameters. `setup` contains the
  // values that they determine, see plan().
  void configure(const Setup& setup, const P& params) {
    const Backend::Entry entry(*backend_);
    algorithm_->prepare(params);
    algorithm_->configure(setup);
    frame_params_.assign(static_cast<size_t>(setup.slots), params);
    const std::lock_guard lock(mutex_);
    setup_ = setup;
  }
  // The setup of the last configure().
  const Setup& setup() const { return setup_.value(); }

  // Copies the active parameters for the frame, calls adjust(copy), and enqueues the frame with
  // this copy.
  template <class Adjust = void (*)(P&)>
  void enqueue(
      const FrameTask& task, Queue& queue, const Adjust& adjust = [](P&) {}) {
    P& params = frame_params_.at(static_cast<size_t>(task.slot));
    read([&](const P&, const P& active) { params = active; });
    adjust(params);
    algorithm_->enqueue(task, params, queue);
  }
  // The parameters of the frame in this slot. The active parameters may have changed since it was
  // enqueued.
  const P& params_of(int slot) const { return frame_params_.at(static_cast<size_t>(slot)); }
  // Returns how many regions of the slot's frame get a label. `out` is the layout of the output
  // picture. Throws InputError if the parameters do not allow a frame with `total` regions.
  LabelCapacity check_capacity(int slot, uint32_t total, const Layout& out) const {
    if constexpr (requires { label_capacity(params_of(slot), total, out); }) {
      return label_capacity(params_of(slot), total, out);
    } else {
      return {total, {}};
    }
  }

  // Like the functions of Algorithm with the same names. They do nothing without an algorithm.
  void reset() { call_on_algorithm(&Algorithm<P>::reset); }
  void begin_scene() { call_on_algorithm(&Algorithm<P>::begin_scene); }

 private:
  template <class Assign, class NewValue>
  void set_by(const Assign& assign_to, const Field& field, const NewValue& value) {
    const std::lock_guard lock(mutex_);
    assign_to(field, &pending_, value);
    if (field.live() || !algorithm_) field.set(&active_, field.get(&pending_));
  }
  void call_on_algorithm(void (Algorithm<P>::*function)()) {
    if (!algorithm_) return;
    const Backend::Entry entry(*backend_);
    (*algorithm_.*function)();
  }

  mutable std::mutex mutex_;     // guards the parameters, setup_, and whether algorithm_ is null
  P pending_;                    // set by the user
  P active_;                     // used by the running stream
  P previous_;                   // active before the last commit(), for rollback()
  std::vector<P> frame_params_;  // [slot], parameters of the frame in the slot
  std::optional<Setup> setup_;   // setup of the running stream; empty before configure()
  std::shared_ptr<Backend> backend_;
  std::shared_ptr<Algorithm<P>> algorithm_;  // shared only with the caller of move_to()
};

}  // namespace regions
