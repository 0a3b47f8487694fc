// The CPU reference: an interpreter that walks the graph and calls each op's double-precision formula.

#include <algorithm>
#include <cstring>
#include <map>

#include "runtime/backend.h"
#include "runtime/encoding/planes.h"
#include "runtime/half.h"
#include "runtime/verify.h"

namespace vkformer {

namespace {

template <class Element>
Element element_at(std::span<const std::byte> bytes, int64_t i) {
  Element value;
  std::memcpy(&value, bytes.data() + i * static_cast<int64_t>(sizeof value), sizeof value);
  return value;
}

template <class Element>
void put_element(std::span<std::byte> bytes, int64_t i, Element value) {
  std::memcpy(bytes.data() + i * static_cast<int64_t>(sizeof value), &value, sizeof value);
}

// Elements cross the interface as they lie on a device.
void widen(const TensorType& type, std::span<const std::byte> bytes, double* out) {
  if (is_blocks(type.dtype)) {
    std::vector<float> values(static_cast<size_t>(type.elements()));
    decode_rows(type.dtype, type.shape.columns(), bytes, values);
    std::copy(values.begin(), values.end(), out);
    return;
  }
  for (int64_t i = 0; i < type.elements(); ++i)
    out[i] = type.dtype == DType::i32 ? element_at<int32_t>(bytes, i)
             : is_half(type.dtype)    ? static_cast<double>(from_half(type.dtype, element_at<uint16_t>(bytes, i)))
                                      : static_cast<double>(element_at<float>(bytes, i));
}

void narrow(const TensorType& type, const double* in, std::span<std::byte> bytes) {
  for (int64_t i = 0; i < type.elements(); ++i) {
    if (type.dtype == DType::i32)
      put_element(bytes, i, static_cast<int32_t>(in[i]));
    else if (is_half(type.dtype))
      put_element(bytes, i, to_half(type.dtype, static_cast<float>(in[i])));
    else
      put_element(bytes, i, static_cast<float>(in[i]));
  }
}

class ReferenceStore : public Store {
 public:
  /// `shared`: whose blocks the first ones are; nullptr: nobody's.
  explicit ReferenceStore(const StoreLayout& store_layout, std::shared_ptr<ReferenceStore> shared = nullptr)
      : Store(store_layout), shared_(std::move(shared)) {
    for (int64_t bytes : layout().blocks())
      blocks_.emplace_back(static_cast<size_t>(is_shared(blocks_.size()) ? 0 : bytes / 4));
  }
  /// The tensor's values.
  void fetch(const StoreLayout::Entry& entry, double* out) {
    if (is_blocks(entry.type.dtype)) return widen(entry.type, rows_at(entry, 0, entry.type.bytes()), out);
    std::copy_n(at(entry), entry.type.elements(), out);
  }
  /// Of a tensor that is not blocks.
  double* at(const StoreLayout::Entry& entry) {
    if (is_shared(static_cast<size_t>(entry.block))) return shared_->at(entry);
    if (!is_half(entry.type.dtype)) return blocks_[static_cast<size_t>(entry.block)].data() + entry.offset / 4;
    std::vector<double>& values = halves_[entry.block];
    values.resize(static_cast<size_t>(layout().blocks()[static_cast<size_t>(entry.block)] / 2));
    return values.data() + entry.offset / 2;
  }

 protected:
  void write_elements(const StoreLayout::Entry& entry, int64_t first, std::span<const std::byte> data) override {
    if (is_blocks(entry.type.dtype)) {
      const auto size = static_cast<int64_t>(data.size());
      std::ranges::copy(data, rows_at(entry, entry.type.offset_of(first), size).begin());
      return;
    }
    const auto count = static_cast<int64_t>(data.size()) / size_of(entry.type.dtype);
    widen({Shape{count}, entry.type.dtype}, data, at(entry) + first);
  }
  void read_elements(const StoreLayout::Entry& entry, std::span<std::byte> data) const override {
    auto* self = const_cast<ReferenceStore*>(this);
    if (is_blocks(entry.type.dtype))
      std::ranges::copy(self->rows_at(entry, 0, entry.type.bytes()), data.begin());
    else
      narrow(entry.type, self->at(entry), data);
  }

 private:
  bool is_shared(size_t block) const { return shared_ && block < shared_->layout().blocks().size(); }
  std::span<std::byte> rows_at(const StoreLayout::Entry& entry, int64_t offset, int64_t bytes) {
    if (is_shared(static_cast<size_t>(entry.block))) return shared_->rows_at(entry, offset, bytes);
    std::vector<std::byte>& rows = rows_[entry.block];
    rows.resize(static_cast<size_t>(layout().blocks()[static_cast<size_t>(entry.block)]));
    return std::span(rows).subspan(static_cast<size_t>(entry.offset + offset), static_cast<size_t>(bytes));
  }

  std::shared_ptr<ReferenceStore> shared_;
  std::vector<std::vector<double>> blocks_;
  /// The tensors of 16-bit floats, by block: there is an element in every two bytes, not in every four.
  std::map<int, std::vector<double>> halves_;
  /// Those of encoded blocks, as on a device.
  std::map<int, std::vector<std::byte>> rows_;
};

class ReferenceProgram : public Program {
 public:
  ReferenceProgram(Graph graph, std::shared_ptr<Store> store)
      : Program(std::move(graph)),
        store_(std::static_pointer_cast<ReferenceStore>(store)),
        values_(graph_.value_count()),
        last_use_(graph_.value_count(), -1) {
    verify(graph_);
    plan_.live_nodes = live_nodes(graph_);
    for (Value input : graph_.inputs()) values_[index(input)] = HostTensor(graph_.info(input).type);
    for (int n : plan_.live_nodes)
      for (Value input : node(n).inputs)
        if (input) last_use_[index(input)] = n;
  }

  void run() override {
    for (const auto& [input, given] : taken_) {
      const auto& [from, output] = given;
      HostTensor& tensor = values_[static_cast<size_t>(input)];
      std::copy_n(from->values_[index(output)].data.begin(), tensor.data.size(), tensor.data.begin());
    }
    for (int n : plan_.live_nodes) run_node(n);
  }
  const MemoryPlan& plan() const override { return plan_; }

 protected:
  void write_bytes(Value input, std::span<const std::byte> data) override {
    const auto given = taken_.find(input.id);
    HostTensor& tensor =
        given == taken_.end() ? values_[index(input)] : given->second.first->values_[index(given->second.second)];
    widen(graph_.info(input).type, data, tensor.data.data());
  }
  void take_bytes(Value input, Program& from, Value output) override {
    auto& given = dynamic_cast<ReferenceProgram&>(from);
    HostTensor& tensor = given.values_[index(output)];
    if (tensor.data.empty()) tensor = HostTensor(given.graph_.info(output).type);  // it did not run yet
    taken_.insert_or_assign(input.id, std::pair(&given, output));
  }
  void read_bytes(Value output, std::span<std::byte> data) const override {
    narrow(graph_.info(output).type, values_[index(output)].data.data(), data);
  }

 private:
  static size_t index(Value value) { return static_cast<size_t>(value.id); }
  const Node& node(int n) const { return graph_.nodes()[static_cast<size_t>(n)]; }

  /// Persistent tensors are read when needed, so that a changed block is seen through the names inside it.
  const HostTensor& fetch(Value value) {
    const ValueInfo& info = graph_.info(value);
    if (info.storage == Storage::persistent) {
      HostTensor& tensor = values_[index(value)];
      tensor = HostTensor(info.type);
      store_->fetch(store_->layout().require(info.name, info.type), tensor.data.data());
    }
    return values_[index(value)];
  }

  void run_node(int n) {
    const Node& current = node(n);
    std::vector<const HostTensor*> inputs;
    for (Value input : current.inputs) inputs.push_back(input ? &fetch(input) : nullptr);
    std::vector<HostTensor> outputs;
    for (size_t o = 0; o < current.outputs.size(); ++o) {
      const int source = o < current.op->aliases.size() ? current.op->aliases[o] : -1;
      outputs.emplace_back(current.output_types[o]);
      if (source >= 0) outputs.back().data = inputs[static_cast<size_t>(source)]->data;
    }
    if (current.op->reference) current.op->reference(current, inputs, outputs);
    // What lies in 16 bits between two nodes is rounded, here as on a device.
    for (HostTensor& output : outputs)
      if (is_half(output.type.dtype))
        for (double& value : output.data) value = round_to(output.type.dtype, value);
    for (size_t o = 0; o < current.outputs.size(); ++o) {
      // Changes in place go back to the Store, through any number of aliases.
      if (const Value root = persistent_root(current.outputs[o])) {
        const ValueInfo& info = graph_.info(root);
        // The store rounds, here as on a device: what is saved is all there is, so a resumed run has the same bits.
        std::transform(outputs[o].data.begin(), outputs[o].data.end(),
                       store_->at(store_->layout().require(info.name, info.type)),
                       [&](double value) { return round_to(info.type.dtype, value); });
      }
      values_[index(current.outputs[o])] = std::move(outputs[o]);
    }
    for (Value input : current.inputs)
      if (input && last_use_[index(input)] == n && graph_.info(input).storage != Storage::input &&
          !graph_.info(input).output)
        values_[index(input)] = {};
  }

  Value persistent_root(Value value) const {
    for (;;) {
      const ValueInfo& info = graph_.info(value);
      if (info.storage == Storage::persistent) return value;
      if (info.producer < 0) return {};
      const Node& producer = node(info.producer);
      int source = -1;
      for (size_t o = 0; o < producer.op->aliases.size(); ++o)
        if (producer.outputs[o] == value) source = producer.op->aliases[o];
      if (source < 0) return {};
      value = producer.inputs[static_cast<size_t>(source)];
    }
  }

  std::shared_ptr<ReferenceStore> store_;
  MemoryPlan plan_;
  std::vector<HostTensor> values_;
  std::vector<int> last_use_;
  std::map<int, std::pair<ReferenceProgram*, Value>> taken_;  ///< by input
};

class ReferenceBackend : public Backend {
 public:
  ReferenceBackend() {
    facts_.name = "reference";
    facts_.driver = "CPU, double precision";
    facts_.kind = DeviceKind::cpu;
    facts_.max_allocation = uint64_t{1} << 60;
  }
  const DeviceFacts& facts() const override { return facts_; }
  std::string describe() const override { return "device reference (CPU, double precision, slow)"; }
  uint64_t allocated_bytes() const override { return 0; }
  std::shared_ptr<Store> make_store(const StoreLayout& layout) override {
    return std::make_shared<ReferenceStore>(layout);
  }
  std::shared_ptr<Store> extend_store(std::shared_ptr<Store> store, const StoreLayout& layout) override {
    return std::make_shared<ReferenceStore>(layout, std::static_pointer_cast<ReferenceStore>(store));
  }
  std::shared_ptr<Workspace> make_workspace() override { return std::make_shared<Workspace>(); }
  MemoryPlan plan(const Graph& graph, const StoreLayout&) const override {
    MemoryPlan plan;
    plan.live_nodes = live_nodes(graph);
    return plan;
  }
  std::unique_ptr<Program> compile(Graph graph, std::shared_ptr<Store> store, const PlanOptions&,
                                   std::shared_ptr<Workspace>) override {
    return std::make_unique<ReferenceProgram>(std::move(graph), std::move(store));
  }

 private:
  DeviceFacts facts_;
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend() { return std::make_unique<ReferenceBackend>(); }

}  // namespace vkformer
