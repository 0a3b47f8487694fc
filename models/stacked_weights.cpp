#include "models/stacked_weights.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "models/pieced_weight.h"
#include "runtime/check.h"
#include "runtime/encoding/encoding.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

using Stack = ParameterSpec::Stack;
using Layout = Stack::Layout;

/// Values that each of a part's outputs has: 1 of a vector.
int64_t inputs_of(const ParameterSpec& parameter) { return parameter.shape.rank() > 1 ? parameter.shape.columns() : 1; }

std::vector<int64_t> dimensions_of(const ParameterSpec& parameter) {
  return {parameter.shape.dimensions().begin(), parameter.shape.dimensions().end()};
}

std::vector<int64_t> stack_shape(const ParameterSpec& part) {
  if (part.stack->layout == Layout::groups) return {part.stack->count * part.stack->step, inputs_of(part)};
  const int64_t columns = part.stack->step * part.shape[0];
  if (part.shape.rank() == 1) return {part.stack->count, columns};
  if (part.stack->layout == Layout::rows) return {part.stack->count, columns, part.shape[1]};
  return {part.stack->count, part.shape[1], columns};
}

void check_shape(const WeightTensor& tensor, const std::vector<int64_t>& wanted) {
  check(std::ranges::equal(tensor.shape(), wanted), "tensor {} has shape [{}], the config asks for [{}]",
        in_quotes(tensor.name(), 120), fmt::join(tensor.shape(), ", "), fmt::join(wanted, ", "));
}

/// Of floats, [count, in, columns].
class FloatPart : public WeightTensor {
 public:
  FloatPart(const WeightTensor& whole, const ParameterSpec& part)
      : WeightTensor(part.name, dimensions_of(part), part.shape.elements(), whole.type(),
                     whole.bytes() / static_cast<uint64_t>(part.stack->count * part.stack->step)),
        whole_(whole),
        stack_(*part.stack),
        inputs_(inputs_of(part)),
        outputs_(part.shape[0]) {}

  bool is_float() const override { return whole_.is_float(); }
  std::optional<DType> stored(bool) const override { return std::nullopt; }
  void read_stored(int64_t, std::span<std::byte>) const override { fail("tensor {} has other rows", name()); }

  void read_floats(int64_t first, std::span<float> out) const override {
    const int64_t end = first + std::ssize(out), begin_row = first / inputs_, end_row = (end + inputs_ - 1) / inputs_;
    std::vector<float> columns(static_cast<size_t>((end_row - begin_row - 1) * stack_.step + 1));
    for (int64_t k = 0; k < inputs_; ++k) {
      const int64_t row = stack_.index * inputs_ + k;
      whole_.read_floats((row * outputs_ + begin_row) * stack_.step + stack_.first, columns);
      for (int64_t r = begin_row; r < end_row; ++r)
        if (const int64_t at = r * inputs_ + k; at >= first && at < end)
          out[static_cast<size_t>(at - first)] = columns[static_cast<size_t>((r - begin_row) * stack_.step)];
    }
  }
  void release(int64_t, int64_t) const override {
    const int64_t elements = inputs_ * outputs_ * stack_.step;
    whole_.release(stack_.index * elements, elements);
  }

 private:
  const WeightTensor& whole_;
  Stack stack_;
  int64_t inputs_, outputs_;
};

/// Of floats, [count, parts' rows, in]: its values follow one another.
class RowPart : public WeightTensor {
 public:
  RowPart(const WeightTensor& whole, const ParameterSpec& part)
      : WeightTensor(part.name, dimensions_of(part), part.shape.elements(), whole.type(),
                     whole.bytes() / static_cast<uint64_t>(part.stack->count * part.stack->step)),
        whole_(whole),
        begin_((part.stack->index * part.stack->step + part.stack->first) * part.shape.elements()) {}

  bool is_float() const override { return whole_.is_float(); }
  std::optional<DType> stored(bool) const override { return std::nullopt; }
  void read_stored(int64_t, std::span<std::byte>) const override { fail("tensor {} is a part of floats", name()); }
  void read_floats(int64_t first, std::span<float> out) const override { whole_.read_floats(begin_ + first, out); }
  void release(int64_t first, int64_t count) const override { whole_.release(begin_ + first, count); }

 private:
  const WeightTensor& whole_;
  int64_t begin_;
};

/// Elements of a part that follow one another in the whole, too.
struct Run {
  int64_t begin, in_whole, count;
};

/// Of a part of groups, in its order.
std::vector<Run> runs_of(const ParameterSpec& part) {
  const int64_t in = inputs_of(part);
  std::vector<Run> runs;
  int64_t begin = 0;
  for (const auto& [first, rows] : part.stack->spans)
    for (int64_t group = 0; group < part.stack->count; ++group, begin += rows * in)
      runs.push_back({begin, (group * part.stack->step + first) * in, rows * in});
  return runs;
}

/// Of floats or blocks, [groups * rows of each, in].
class GroupPart : public PiecedWeight {
 public:
  GroupPart(const WeightTensor& whole, const ParameterSpec& part)
      : PiecedWeight(part.name, dimensions_of(part), part.shape.elements(), whole.type(),
                     whole.bytes() / static_cast<uint64_t>(part.stack->count * part.stack->step) *
                         static_cast<uint64_t>(part.shape.elements() / inputs_of(part))),
        whole_(whole),
        runs_(runs_of(part)) {}

  bool is_float() const override { return whole_.is_float(); }
  std::optional<DType> stored(bool columns) const override { return columns ? std::nullopt : whole_.stored(false); }

 private:
  void visit(int64_t first, int64_t count, const Visitor& visitor) const override {
    auto run = std::ranges::upper_bound(runs_, first, {}, &Run::begin) - 1;
    for (int64_t done = 0; done < count; ++run) {
      const int64_t inside = first + done - run->begin, some = std::min(run->count - inside, count - done);
      visitor(whole_, run->in_whole + inside, done, some);
      done += some;
    }
  }

  const WeightTensor& whole_;
  std::vector<Run> runs_;
};

constexpr int64_t block_values = 32, code_bytes = block_values / 2, block_bytes = code_bytes + 1;

/// Of MXFP4 blocks, whose rows are the part's own. Two neighbours share a byte; in GGUF's blocks, which stores have,
/// values half a block apart do.
class BlockPart : public WeightTensor {
 public:
  BlockPart(const WeightTensor& codes, const WeightTensor& scales, const ParameterSpec& part)
      : WeightTensor(part.name, dimensions_of(part), part.shape.elements(), "MXFP4",
                     static_cast<uint64_t>(part.shape.elements() / block_values * block_bytes)),
        codes_(codes),
        scales_(scales),
        stack_(*part.stack),
        row_blocks_(part.shape[1] / block_values),
        rows_(part.shape[0]) {}

  bool is_float() const override { return true; }
  std::optional<DType> stored(bool columns) const override {
    return columns ? std::nullopt : std::optional(DType::mxfp4);
  }

  void read_stored(int64_t first, std::span<std::byte> out) const override {
    const int64_t end = first / block_values + std::ssize(out) / block_bytes;
    std::vector<std::byte> codes, scales;
    for (int64_t block = first / block_values, done = 0; block < end;) {
      const int64_t count = std::min(row_blocks_ - block % row_blocks_, end - block);
      const int64_t row = (stack_.index * rows_ + block / row_blocks_) * stack_.step + stack_.first;
      const int64_t at = row * row_blocks_ + block % row_blocks_;
      codes.resize(static_cast<size_t>(count * code_bytes));
      scales.resize(static_cast<size_t>(count));
      codes_.read_stored(at * code_bytes, codes);
      scales_.read_stored(at, scales);
      for (int64_t i = 0; i < count; ++i, ++done)
        pack(scales[static_cast<size_t>(i)], codes.data() + i * code_bytes, out.data() + done * block_bytes);
      block += count;
    }
  }

  void read_floats(int64_t first, std::span<float> out) const override {
    const int64_t begin = first / block_values;
    const int64_t blocks = (first + std::ssize(out) + block_values - 1) / block_values - begin;
    std::vector<std::byte> bytes(static_cast<size_t>(blocks * block_bytes));
    read_stored(begin * block_values, bytes);
    std::vector<float> values(static_cast<size_t>(blocks * block_values));
    decode(DType::mxfp4, bytes, values);
    std::copy_n(values.begin() + (first - begin * block_values), out.size(), out.begin());
  }
  void release(int64_t, int64_t) const override {
    const int64_t blocks = rows_ * stack_.step * row_blocks_;
    codes_.release(stack_.index * blocks * code_bytes, blocks * code_bytes);
    scales_.release(stack_.index * blocks, blocks);
  }

 private:
  static void pack(std::byte scale, const std::byte* pairs, std::byte* block) {
    const auto code = [pairs](int64_t i) { return i % 2 == 0 ? pairs[i / 2] & std::byte{15} : pairs[i / 2] >> 4; };
    block[0] = scale;
    for (int64_t i = 0; i < code_bytes; ++i) block[1 + i] = code(i) | code(i + code_bytes) << 4;
  }

  const WeightTensor &codes_, &scales_;
  Stack stack_;
  int64_t row_blocks_, rows_;
};

}  // namespace

std::optional<StackedWeight> find_in_stack(const WeightSource& files, const ParameterSpec& parameter,
                                           const std::string& name) {
  if (const WeightTensor* whole = files.find(name)) {
    check_shape(*whole, stack_shape(parameter));
    const auto as = [&]<class Part>(std::type_identity<Part>) {
      return StackedWeight{std::make_unique<Part>(*whole, parameter), {whole}};
    };
    switch (parameter.stack->layout) {
      case Layout::columns: return as(std::type_identity<FloatPart>());
      case Layout::rows: return as(std::type_identity<RowPart>());
      case Layout::groups: return as(std::type_identity<GroupPart>());
    }
  }
  const WeightTensor *codes = files.find(name + "_blocks"), *scales = files.find(name + "_scales");
  if ((!codes && !scales) || parameter.shape.rank() != 2 || parameter.stack->layout != Layout::columns)
    return std::nullopt;
  check(codes && scales, "there is a tensor {} without its {}", in_quotes((codes ? codes : scales)->name(), 120),
        codes ? "scales" : "blocks");
  check(parameter.shape[1] % block_values == 0, "tensor {} can't have rows of {} values in blocks of {}",
        in_quotes(codes->name(), 120), parameter.shape[1], block_values);
  std::vector<int64_t> shape{parameter.stack->count, parameter.stack->step * parameter.shape[0],
                             parameter.shape[1] / block_values};
  check_shape(*scales, shape);
  shape.push_back(code_bytes);
  check_shape(*codes, shape);
  for (const WeightTensor* tensor : {codes, scales})
    check(tensor->type() == "U8", "tensor {} is {}, it must be U8", in_quotes(tensor->name(), 120), tensor->type());
  return StackedWeight{std::make_unique<BlockPart>(*codes, *scales, parameter), {codes, scales}};
}

std::vector<float> FileTensor::values(const std::function<std::vector<float>(const ParameterSpec&)>& values_of) const {
  const ParameterSpec& first = *parts.front();
  if (!first.stack) return values_of(first);
  int64_t elements = 1, found = 0;
  for (const int64_t dimension : shape) elements *= dimension;
  for (const ParameterSpec* part : parts) found += part->shape.elements();
  check(found == elements, "tensor {} lacks some of its parts", in_quotes(name, 120));
  const int64_t in = inputs_of(first), out = first.shape[0], step = first.stack->step;
  std::vector<float> whole(static_cast<size_t>(elements));
  for (const ParameterSpec* part : parts) {
    const std::vector<float> values = values_of(*part);
    if (part->stack->layout == Layout::rows) {
      std::ranges::copy(values, whole.begin() + (part->stack->index * step + part->stack->first) * out * in);
      continue;
    }
    if (part->stack->layout == Layout::groups) {
      for (const Run& run : runs_of(*part))
        std::copy_n(values.begin() + run.begin, run.count, whole.begin() + run.in_whole);
      continue;
    }
    for (int64_t r = 0; r < out; ++r)
      for (int64_t k = 0; k < in; ++k)
        whole[static_cast<size_t>(((part->stack->index * in + k) * out + r) * step + part->stack->first)] =
            values[static_cast<size_t>(r * in + k)];
  }
  return whole;
}

std::vector<FileTensor> file_tensors(const std::vector<const ParameterSpec*>& parameters) {
  std::vector<FileTensor> tensors;
  std::map<std::string_view, size_t> stacks;
  for (const ParameterSpec* parameter : parameters) {
    if (!parameter->stack) {
      tensors.push_back({parameter->name, dimensions_of(*parameter), {parameter}});
      continue;
    }
    const auto [known, is_new] = stacks.emplace(parameter->stack->tensor, tensors.size());
    if (is_new) tensors.push_back({parameter->stack->tensor, stack_shape(*parameter), {}});
    tensors[known->second].parts.push_back(parameter);
  }
  return tensors;
}

std::vector<FileTensor> file_tensors(const std::vector<ParameterSpec>& parameters) {
  std::vector<const ParameterSpec*> all;
  for (const ParameterSpec& parameter : parameters) all.push_back(&parameter);
  return file_tensors(all);
}

}  // namespace vkformer
