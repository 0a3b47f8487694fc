#pragma once
// Where programs run: a Vulkan device or the CPU reference. Models, training and conformance see only this.
//
// Threads. A backend and all that it made (stores, workspaces, programs) belong to one thread at a time; on their way
// to another they need what any object needs, a join or a mutex. Backends share nothing, not even those of one device,
// so each may run in a thread of its own. make_backend(), make_reference_backend() and list_devices() may be called
// from any thread, while none changes the environment. A Vulkan backend that is called from a second thread while the
// first is inside throws Error.
//
// The library prints nothing and changes no environment: what its user should hear goes to BackendOptions::note.

#include <functional>
#include <memory>
#include <optional>

#include "runtime/plan.h"
#include "runtime/program_image.h"

namespace vkformer {

/// Persistent tensors, shared by programs. Data goes in and out as floats or 32-bit integers; a tensor of 16-bit floats
/// or of blocks takes and gives floats, rounded.
class Store {
 public:
  explicit Store(StoreLayout layout) : layout_(std::move(layout)) {}
  virtual ~Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  const StoreLayout& layout() const { return layout_; }
  /// Throws Error for an unknown name, another type, or a wrong number of elements.
  void write(const std::string& name, std::span<const float> data);
  void write(const std::string& name, std::span<const int32_t> data);
  /// Writes the elements from `first` on, of a tensor of blocks whole rows. Throws Error for an unknown name or
  /// elements outside the tensor.
  void write_part(const std::string& name, int64_t first, std::span<const float> data);
  /// Writes elements of the tensor's type from `first` on, of blocks whole rows, bit for bit as they lie in a file.
  /// Throws Error like write_part().
  void write_stored(const std::string& name, int64_t first, std::span<const std::byte> stored);
  void read(const std::string& name, std::span<float> data) const;
  std::vector<float> read(const std::string& name) const;

 protected:
  /// Writes elements of the tensor's type, laid out for a device, behind its first `first` ones; it has room for them.
  virtual void write_elements(const StoreLayout::Entry& entry, int64_t first, std::span<const std::byte> data) = 0;
  virtual void read_elements(const StoreLayout::Entry& entry, std::span<std::byte> data) const = 0;

  // For stores made of others.
  static void write_elements_of(Store& store, const StoreLayout::Entry& entry, int64_t first,
                                std::span<const std::byte> data) {
    store.write_elements(entry, first, data);
  }
  static void read_elements_of(const Store& store, const StoreLayout::Entry& entry, std::span<std::byte> data) {
    store.read_elements(entry, data);
  }

 private:
  StoreLayout layout_;
};

/// One row of a profile, of the last profiled run: one dispatch with BackendOptions::profile_details, otherwise all
/// those of one node.
struct Timing {
  std::string scope;                       ///< "h.0.attn"
  std::string_view op, kernel, candidate;  ///< of several kernels the first
  int node = -1;                           ///< index into the graph's nodes; -1: a copy to the host
  std::optional<DType> matrix;             ///< of the operands, where the kernel multiplies on matrix cores
  double start = 0;                        ///< seconds since the run began
  double seconds = 0;
  std::vector<float> recent;  ///< seconds in the last profiled runs, this one included; the oldest first
  bool barrier = false;       ///< it waited for all before it
  size_t submission = 0;      ///< of the run's
  Cost cost;
};

/// What one run of a profiled program took, in seconds.
struct RunTimes {
  double begin = 0;   ///< of the first submission, on the host's steady clock
  double host = 0;    ///< until the host knew that the device was done
  double device = 0;  ///< from the beginning of the first dispatch to the end of the last
  /// From the first submission to the beginning of the first dispatch, where device and driver can compare the clocks.
  std::optional<double> latency;
  bool timed = true;  ///< false: it ran without timestamps, to tell what these cost; then there is only the host's time
};

/// What one run of a program submits.
struct CommandCounts {
  uint64_t dispatches = 0;  ///< and copies and fills
  uint64_t barriers = 0;
};

/// Counts work that must not happen while a program is replayed.
struct Counters {
  uint64_t runs = 0;
  uint64_t recorded_dispatches = 0;  ///< dispatches written into command buffers since the program was made
  uint64_t command_buffers = 0;      ///< recorded since the program was made
  uint64_t allocations = 0;          ///< device memory allocations of the whole backend
  CommandCounts commands;            ///< of one run
  uint64_t segments = 0;             ///< submissions of one run
  double seconds = 0;                ///< of all runs, from the first submission until the device is done
  double recording_seconds = 0;      ///< of the host: recording, and waiting for pipelines to be made
};

/// Device memory for the temporaries of programs of which never two run at the same time: as much as the largest needs.
/// Programs whose memory moves when a larger one is compiled are recorded again at their next run; compile the largest
/// first where that is known.
class Workspace {
 public:
  Workspace() = default;
  virtual ~Workspace() = default;
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
};

/// A compiled graph. Write inputs, run, read outputs; as often as wanted.
class Program {
 public:
  explicit Program(Graph graph) : graph_(std::move(graph)) {}
  virtual ~Program() = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const Graph& graph() const { return graph_; }
  /// Sets an input by name; the element count and type must match. Floats are rounded for an input of 16-bit floats.
  void write(const std::string& input, std::span<const float> data);
  void write(const std::string& input, std::span<const int32_t> data);
  /// Sets an input of blocks, bit for bit as they would lie in a file.
  void write_blocks(const std::string& input, std::span<const std::byte> blocks);
  /// From now on `input` lies where `output` of `from`, a program of the same backend, does, at its beginning: each run
  /// of that one sets it, and so does write(). Throws Error when their types differ or there is not enough of it.
  void take_input(const std::string& input, Program& from, const std::string& output);
  virtual void run() = 0;
  /// A run in two parts: the device begins, and finish() waits until it is done. What begins in between comes behind
  /// it, so another program may be given inputs and started, and one that is done be read; all else that is called
  /// waits first.
  virtual void start() { run(); }
  virtual void finish() {}
  /// The value of an output after the last run.
  std::vector<float> read(const std::string& output) const;
  /// Of one that is i32.
  std::vector<int32_t> read_ints(const std::string& output) const;

  virtual const MemoryPlan& plan() const = 0;
  virtual Counters counters() const { return {}; }
  /// Timings of the last run, when the backend was made to profile.
  virtual std::vector<Timing> timings() const { return {}; }
  /// The last runs, when the backend was made to profile; those without timestamps behind the others.
  virtual std::vector<RunTimes> run_times() const { return {}; }
  /// Throws Error when something was written behind a tensor (only with PlanOptions::guard_bytes).
  virtual void check_guards() const {}

 protected:
  // In the tensor's own type.
  virtual void write_bytes(Value input, std::span<const std::byte> data) = 0;
  virtual void read_bytes(Value output, std::span<std::byte> data) const = 0;
  virtual void take_bytes(Value input, Program& from, Value output);
  // For programs made of others.
  static void write_bytes_of(Program& program, const std::string& input, std::span<const std::byte> data) {
    program.write_bytes(program.graph_.find(input), data);
  }
  static void read_bytes_of(const Program& program, const std::string& output, std::span<std::byte> data) {
    program.read_bytes(program.graph_.find(output), data);
  }
  Graph graph_;
};

struct BackendOptions {
  bool profile = false;  ///< timestamps around every node
  /// With `profile`: timestamps around every dispatch; every other run of a program goes without any, so that their
  /// cost is known; the device's clock is compared with the host's; pipelines are made anew, with what the driver says
  /// of them in pipeline_log().
  bool profile_details = false;
  /// Seconds of device time a submission may take before the next one is begun. Drivers reset after about 2 s.
  double segment_seconds = 0.1;
  /// Commands between two barriers run in the opposite order. They may run in any, side by side; software drivers run
  /// them as they come, and only this shows there that a barrier is missing.
  bool backwards = false;
  bool as_gpu = false;  ///< choose and launch kernels as on a GPU, whatever the device is (to test that choice)
  /// Kernels are chosen and launched within another device's limits, too, and as on a device of its kind.
  std::optional<DeviceFacts> limits = {};
  MemoryLimits memory = {};
  /// For make_pipelines(), not for running: pipelines are made anew, with what the driver says of them in
  /// pipeline_log(), and matrix cores are believed in untried.
  bool inspect = false;
  /// Of several devices: what share of a model's weights each has; empty: by the memory that is free on each.
  std::vector<double> shares = {};
  /// Of several devices: hears which has which layers of a model, a line each.
  std::function<void(const std::string&)> note_layers = {};
  /// Hears, a line each, what the user should know but is no error: that faulty matrix cores are left alone, that a
  /// better device can't be used, that a kernel stands in for one that the driver can't compile.
  std::function<void(const std::string&)> note = {};
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const DeviceFacts& facts() const = 0;
  /// One line for people: "device 0: llvmpipe (CPU; software Vulkan)".
  virtual std::string describe() const = 0;
  /// The backends of several devices that this one is made of; none: it is one device's.
  virtual std::vector<Backend*> parts() const { return {}; }
  /// Throws Error where it is made of several: `what` takes one.
  void check_one_device(std::string_view what) const;
  /// Whether programs can take inputs from others (Program::take_input()).
  virtual bool joins_programs() const { return true; }
  /// Whether programs are timed (BackendOptions::profile): then they should run one at a time.
  virtual bool profiles() const { return false; }
  /// Bytes of device memory allocated by this backend now.
  virtual uint64_t allocated_bytes() const = 0;
  /// Advice for who has no room for so many bytes here: the best other device that has it free, as "device 1: Card has
  /// 9000 MiB free (--device 1)"; empty without one.
  virtual std::string roomier_device(uint64_t /*bytes*/) const { return {}; }
  /// Zero-filled tensors. Throws Error when they don't fit.
  virtual std::shared_ptr<Store> make_store(const StoreLayout& layout) = 0;
  /// A store of which the first blocks, with all that is in them, are another's, whom it keeps alive: what is written
  /// to one is in both. `layout` is the other's with further blocks, which are zeros. Throws Error when these don't
  /// fit.
  virtual std::shared_ptr<Store> extend_store(std::shared_ptr<Store> store, const StoreLayout& layout) = 0;
  virtual std::shared_ptr<Workspace> make_workspace() = 0;
  /// What compile() would allocate; the reference has no plan to speak of.
  virtual MemoryPlan plan(const Graph& graph, const StoreLayout& layout) const = 0;
  /// Plans, allocates and records. Temporaries lie in `workspace`, or (nullptr) in the program's own. Throws Error when
  /// it does not fit, naming the biggest items. Copies of weights in host memory are further nodes of its graph.
  virtual std::unique_ptr<Program> compile(Graph graph, std::shared_ptr<Store> store, const PlanOptions& options = {},
                                           std::shared_ptr<Workspace> workspace = nullptr) = 0;
  /// Has the driver make the pipelines that compile() would use, and waits for them; allocates no memory. What became
  /// of each, also of those it could not make, is in pipeline_log(). Gives what a run would submit. The reference has
  /// none.
  virtual CommandCounts make_pipelines(const Graph& /*graph*/, const StoreLayout& /*layout*/, const PlanOptions& = {}) {
    return {};
  }

  /// The same of a SPIR-V module that is no kernel of this build: entry "main", constants at their defaults, at most
  /// 128 bytes of push constants, no descriptors. pipeline_log() has it as a kernel of that name, variant "spirv".
  /// Throws Error where there are no pipelines.
  virtual void make_pipeline(const std::string& name, std::span<const uint32_t> words);

  /// The program that compile() would make of a graph without persistent tensors. Throws Error where there is none.
  virtual ProgramImage image(const Graph& graph, const PlanOptions& options = {});

  /// Measured choices that plan() and compile() follow from now on; nullptr (at first): the heuristics alone decide.
  void set_tuning(std::shared_ptr<const Tuning> tuning) { tuning_ = std::move(tuning); }
  const Tuning* tuning() const { return tuning_.get(); }

 private:
  std::shared_ptr<const Tuning> tuning_;
};

/// `device`: "" for the best Vulkan device, "reference" for the CPU, otherwise an index or part of a name. The best is
/// a discrete GPU rather than an integrated one, and that rather than a CPU; among GPUs of a kind one with more memory
/// free. Several with commas between share a model, see runtime/split/split_backend.h.
std::unique_ptr<Backend> make_backend(const std::string& device, const BackendOptions& options = {});
/// The double-precision CPU interpreter of the ops' references.
std::unique_ptr<Backend> make_reference_backend();
/// Facts of all Vulkan devices, usable or not (with the reason).
struct DeviceListing {
  DeviceFacts facts;
  std::string unusable;
  bool best = false;  ///< what make_backend("") opens
};
std::vector<DeviceListing> list_devices();

}  // namespace vkformer
