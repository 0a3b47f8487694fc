#include "models/gguf/gguf_weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "models/gguf/eye_architectures.h"
#include "models/gguf/joined_rows.h"
#include "models/gguf/row_orders.h"
#include "runtime/check.h"
#include "runtime/encoding/encoding.h"
#include "runtime/files/utf8.h"

namespace vkformer {
namespace {

/// A tensor of a file, or the part of one that Hugging Face has apart, as a matrix whose rows lie in another order.
class GgufWeight : public WeightTensor {
 public:
  struct Place {
    const GgufFile* file = nullptr;
    const GgufTensor* tensor = nullptr;
    RowOrder order = RowOrder::same;
    RowHeads heads = {};
    int64_t first_row = 0;  ///< of the file's tensor
    float subtracted = 0;
    bool decay = false;  ///< the values are log(-a) of the file's a
  };

  GgufWeight(std::string name, std::vector<int64_t> shape, int64_t elements, uint64_t bytes, const Place& place)
      : WeightTensor(std::move(name), std::move(shape), elements, place.tensor->type->name, bytes),
        place_(place),
        dtype_(dtype_of(*place.tensor->type)),
        values_(place.tensor->type->values),
        columns_(by_rows() ? place.tensor->shape.back() : 1),
        rows_(elements / columns_),
        row_bytes_(columns_ / values_ * place.tensor->type->bytes) {}

  bool is_float() const override { return dtype_.has_value(); }

  void read_floats(int64_t first, std::span<float> out) const override {
    const auto count = static_cast<int64_t>(out.size());
    check(first >= 0 && count <= elements() && first <= elements() - count,
          "tensor {} has {} elements, {} from the {}th on were asked for", in_quotes(name(), 120), elements(), count,
          first);
    check(dtype_.has_value(), "tensor {} is {}, which can't be read", in_quotes(name(), 120), type());
    if (place_.order == RowOrder::transposed)
      read_transposed(first, out);
    else if (place_.order == RowOrder::turned_matrices)
      read_turned_matrices(first, out);
    else
      read_rows(first, out);
    if (place_.subtracted != 0)
      for (float& value : out) value -= place_.subtracted;
    if (place_.decay)
      for (float& value : out) {
        check(value < 0, "tensor {} is made of values below 0; the file's {} has {}", in_quotes(name(), 120),
              in_quotes(place_.tensor->name, 120), value);
        value = static_cast<float>(std::log(-static_cast<double>(value)));
      }
  }

  void read_columns(int64_t first, std::span<float> out) const override {
    if (place_.order != RowOrder::transposed) return WeightTensor::read_columns(first, out);
    for (int64_t done = 0; done < static_cast<int64_t>(out.size()); done += columns_, ++first)
      read_part(first, 0, columns_, out.subspan(static_cast<size_t>(done), static_cast<size_t>(columns_)));
  }

  std::optional<DType> stored(bool columns) const override {
    const bool as_they_are = columns == (place_.order == RowOrder::transposed) && place_.subtracted == 0 &&
                             !place_.decay && place_.order != RowOrder::turned_matrices &&
                             run_at(0).count % values_ == 0;
    return as_they_are ? dtype_ : std::nullopt;
  }

  void read_stored(int64_t first, std::span<std::byte> out) const override {
    const auto size = static_cast<int64_t>(out.size()), block = place_.tensor->type->bytes;
    for (int64_t at = first / values_, done = 0; done < size;) {  // by blocks
      const Run run = run_at(at * values_);
      const int64_t count = std::min(run.count / values_, size / block - done / block);
      const auto bytes = place_.tensor->bytes.subspan(
          static_cast<size_t>(run.row * row_bytes_ + run.column / values_ * block), static_cast<size_t>(count * block));
      std::memcpy(out.data() + done, bytes.data(), bytes.size());  // std::copy goes byte by byte
      at += count;
      done += count * block;
    }
  }

  void release(int64_t first, int64_t count) const override {
    if (place_.order == RowOrder::transposed || place_.order == RowOrder::turned_matrices ||
        place_.heads.key_heads > 1) {
      // Every row was touched, or rows from anywhere; those that are read next come from all of them again.
      if (first + count == elements()) place_.file->release(place_.tensor->bytes);
      return;
    }
    // Rows change places only within heads: what was read is about what lies here.
    const int64_t begin = (place_.first_row + first / columns_) * row_bytes_,
                  end = begin + count / columns_ * row_bytes_;
    place_.file->release(place_.tensor->bytes.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
  }

 private:
  /// Orders of single values (of a bias) are those of rows of one value.
  bool by_rows() const { return place_.tensor->shape.size() > 1 || place_.order == RowOrder::same; }

  /// Decodes the values [begin, end) of a row of the file.
  void read_part(int64_t row, int64_t begin, int64_t end, std::span<float> out) const {
    const int64_t first_block = begin / values_, end_block = (end + values_ - 1) / values_;
    const auto type_bytes = place_.tensor->type->bytes;
    const auto blocks = place_.tensor->bytes.subspan(static_cast<size_t>(row * row_bytes_ + first_block * type_bytes),
                                                     static_cast<size_t>((end_block - first_block) * type_bytes));
    if (begin % values_ == 0 && end % values_ == 0) return decode(*dtype_, blocks, out);
    scratch_.resize(static_cast<size_t>((end_block - first_block) * values_));
    decode(*dtype_, blocks, scratch_);
    std::copy_n(scratch_.begin() + (begin - first_block * values_), end - begin, out.begin());
  }

  /// Values that lie one after the other in the file, too.
  struct Run {
    int64_t row, column, count;
  };
  /// From this tensor's value `at` on, to the end of its row at most.
  Run run_at(int64_t at) const {
    const ColumnRun columns = gguf_columns(place_.order, at % columns_, columns_, place_.heads);
    return {place_.first_row + gguf_row(place_.order, at / columns_, rows_, place_.heads), columns.first,
            columns.count};
  }

  void read_rows(int64_t first, std::span<float> out) const {
    const int64_t end = first + static_cast<int64_t>(out.size());
    for (int64_t at = first; at < end;) {
      const Run run = run_at(at);
      const int64_t count = std::min(run.count, end - at);
      read_part(run.row, run.column, run.column + count,
                out.subspan(static_cast<size_t>(at - first), static_cast<size_t>(count)));
      at += count;
    }
  }

  /// Row i of [in, out] is column i of the file's [out, in].
  void read_transposed(int64_t first, std::span<float> out) const {
    const int64_t outs = rows_, end = first + static_cast<int64_t>(out.size());
    const int64_t begin_column = first / outs, end_column = (end + outs - 1) / outs;
    std::vector<float> part(static_cast<size_t>(end_column - begin_column));
    for (int64_t row = 0; row < outs; ++row) {
      read_part(row, begin_column, end_column, part);
      for (int64_t column = begin_column; column < end_column; ++column)
        if (const int64_t at = column * outs + row; at >= first && at < end)
          out[static_cast<size_t>(at - first)] = part[static_cast<size_t>(column - begin_column)];
    }
  }

  /// Of matrices [n, columns_], which this tensor has as [columns_, n].
  void read_turned_matrices(int64_t first, std::span<float> out) const {
    const int64_t n = shape().back(), size = n * columns_, end = first + std::ssize(out);
    std::vector<float> matrix(static_cast<size_t>(size));
    for (int64_t at = first; at < end;) {
      const int64_t i = at / size, stop = std::min(end, (i + 1) * size);
      for (int64_t row = 0; row < n; ++row)
        read_part(i * n + row, 0, columns_,
                  std::span(matrix).subspan(static_cast<size_t>(row * columns_), static_cast<size_t>(columns_)));
      for (; at < stop; ++at)
        out[static_cast<size_t>(at - first)] = matrix[static_cast<size_t>(at % n * columns_ + at % size / n)];
    }
  }

  Place place_;
  std::optional<DType> dtype_;
  int64_t values_;   ///< of a block
  int64_t columns_;  ///< of the file's tensor
  int64_t rows_;     ///< of this one, as the file has them
  int64_t row_bytes_;
  mutable std::vector<float> scratch_;
};

struct TypePair {
  std::string_view gguf;
  DType dtype;
};
constexpr TypePair type_pairs[] = {
    {"F32", DType::f32},   {"F16", DType::f16},       {"BF16", DType::bf16},     {"Q8_0", DType::q8_0},
    {"Q4_0", DType::q4_0}, {"Q4_1", DType::q4_1},     {"Q5_0", DType::q5_0},     {"Q5_1", DType::q5_1},
    {"Q2_K", DType::q2_k}, {"Q3_K", DType::q3_k},     {"Q4_K", DType::q4_k},     {"Q5_K", DType::q5_k},
    {"Q6_K", DType::q6_k}, {"IQ4_NL", DType::iq4_nl}, {"IQ4_XS", DType::iq4_xs}, {"MXFP4", DType::mxfp4}};

constexpr int64_t most_experts = 4096;

/// The place of a layer among those that have such a tensor.
int64_t rank_of(const NamedRow& named, const GgufShards& shards) {
  return std::ranges::count_if(shards.tensors(), [&](const GgufShards::Tensor& tensor) {
    const auto numbers = match_name(std::string(named.row->gguf).append(named.ending), tensor.entry->name);
    return numbers && numbers->front() < named.numbers.front();
  });
}

/// Tensors that the settings are made of: no weights.
constexpr std::string_view settings_of_rotary[] = {"rope_freqs.weight", "rope_factors_long.weight",
                                                   "rope_factors_short.weight"};

}  // namespace

std::optional<DType> dtype_of(const GgufTensorType& type) {
  for (const TypePair& pair : type_pairs)
    if (pair.gguf == type.name) return pair.dtype;
  return std::nullopt;
}

const GgufTensorType& gguf_type_of(DType dtype) {
  for (const TypePair& pair : type_pairs)
    if (pair.dtype == dtype) return *gguf_tensor_type(pair.gguf);
  fail("GGUF files have no {}", name_of(dtype));
}

const GgufArchitecture& architecture_of(const GgufShards& shards) {
  const std::string_view name = shards.metadata().text("general.architecture");
  if (name == architecture_of_eyes) return eye_architecture_of(shards);
  const GgufArchitecture* architecture = find_architecture(name);
  check(architecture != nullptr, "{}: architecture {} is not supported; vkformer reads: {}", shards.name(),
        in_quotes(name), known_architectures());
  return *architecture;
}

int64_t layers_of(const GgufShards& shards, const GgufArchitecture& architecture) {
  const auto setting = [&](std::string_view key, int64_t least) {
    return shards.metadata().integer_or(fmt::format("{}.{}", architecture.name, key), least, least, INT32_MAX);
  };
  const int64_t all = setting("block_count", 1), further = setting(further_layers, 0);
  check(further < all, "{}: {} of {} layers predict further tokens: none is left", shards.name(), further, all);
  return all - further;
}

GgufWeights::GgufWeights(const std::filesystem::path& path) : shards_(path) {
  const GgufArchitecture& architecture = architecture_of(shards_);
  const auto setting = [&](std::string_view key, std::optional<int64_t> otherwise) {
    const std::string name = fmt::format("{}.{}", architecture.name, key);
    constexpr int64_t most = 1 << 20;
    const GgufMetadata& metadata = shards_.metadata();
    if (otherwise && !metadata.has(name)) return *otherwise;
    if (!metadata.has(name) || !metadata.array_size(name)) return metadata.integer(name, 1, most);
    const std::vector<int64_t> of_layers = metadata.integers(name, 0, most);  // 0: it has none
    return std::max(int64_t{1}, of_layers.empty() ? 0 : std::ranges::max(of_layers));
  };
  const bool has_further = shards_.metadata().has(fmt::format("{}.{}", architecture.name, further_layers));
  const int64_t layers = has_further ? layers_of(shards_, architecture) : INT64_MAX;
  const auto has = [&](std::string_view tensor) { return shards_.find(tensor) != nullptr; };
  std::map<std::string, JoinedRows::Pieces> waiting;  // whose others have not come yet
  for (const auto& [file, tensor] : shards_.tensors()) {
    if (std::ranges::find(settings_of_rotary, tensor->name) != std::end(settings_of_rotary)) continue;
    if (layer_in_name(tensor->name) >= layers) continue;
    const auto elements = static_cast<int64_t>(tensor->bytes.size()) / tensor->type->bytes * tensor->type->values;
    const auto where = [&] { return fmt::format("{}: tensor {}", name(), in_quotes(tensor->name, 120)); };
    auto named = row_of_gguf(architecture, tensor->name, has);
    GgufWeight::Place place{.file = file, .tensor = tensor};
    if (!named) {
      add(std::make_unique<GgufWeight>(tensor->name, tensor->shape, elements, tensor->bytes.size(), place));
      continue;
    }
    const TensorRow& row = *named->row;
    if (row.by_rank) named->numbers[0] = rank_of(*named, shards_);
    std::vector<int64_t> shape = tensor->shape;
    place.subtracted = named->ending == ".weight" ? row.added : 0;
    place.order = row.order;
    place.decay = row.decay;
    if (row.order == RowOrder::experts) {
      const bool vectors = named->ending == ".bias";
      check(shape.size() == (vectors ? 2 : 3) && shape[0] <= most_experts, "{} is no stack of at most {} {}", where(),
            most_experts, vectors ? "vectors" : "matrices");
      place.order = RowOrder::same;
      const int64_t halves = row.second.empty() ? 1 : 2;
      std::vector<int64_t> part(shape.begin() + 1, shape.end());
      check(part[0] % halves == 0, "{} has matrices of {} rows, which are no two halves", where(), part[0]);
      part[0] /= halves;
      for (int64_t i = 0; i < shape[0] * halves; ++i) {
        place.first_row = i * (vectors ? 1 : part[0]);
        const NamedRow half{&row, {named->numbers[0], i / halves}, named->ending, i % halves == 1};
        add(std::make_unique<GgufWeight>(half.in_hugging_face(), part, elements / (shape[0] * halves),
                                         tensor->bytes.size() / static_cast<size_t>(shape[0] * halves), place));
      }
      continue;
    }
    if (row.order == RowOrder::as_rows || row.order == RowOrder::as_column) {
      place.order = RowOrder::same;
      shape = {elements};
    }
    if (const auto piece = piece_of(row.order)) {
      place.order = RowOrder::same;
      auto part = std::make_unique<GgufWeight>(named->in_hugging_face(), std::move(shape), elements,
                                               tensor->bytes.size(), place);
      JoinedRows::Pieces& pieces = waiting[part->name()];
      pieces.resize(static_cast<size_t>(piece->count));
      const bool fit = std::ranges::all_of(pieces, [&](const auto& other) {
        return !other || (other->shape().size() == part->shape().size() &&
                          std::ranges::equal(part->shape().subspan(1), other->shape().subspan(1)));
      });
      check(fit, "{} has other columns than the other pieces of {}", where(), part->name());
      const std::string whole = part->name();
      pieces[static_cast<size_t>(piece->index)] = std::move(part);
      if (!std::ranges::all_of(pieces, [](const auto& one) { return one != nullptr; })) continue;
      add(std::make_unique<JoinedRows>(std::move(pieces), piece->by_turns));
      waiting.erase(whole);
      continue;
    }
    if (row.order == RowOrder::one_row) {
      place.order = RowOrder::same;
      if (shape.size() == 1) shape.insert(shape.begin(), 1);
    }
    if (row.order == RowOrder::turned_matrices) {
      check(shape.size() == 3, "{} has {} dimensions, not 3", where(), shape.size());
      std::swap(shape[1], shape[2]);
    }
    if (row.order == RowOrder::transposed) {
      check(shape.size() <= 2, "{} has {} dimensions, not 2", where(), shape.size());
      if (shape.size() == 1) place.order = RowOrder::same;
      std::reverse(shape.begin(), shape.end());
    }
    place.heads = heads_of(place.order, setting);
    if (const int64_t parts = parts_of(place.order, place.heads); parts > 0) {
      const bool columns = place.order == RowOrder::value_columns, vector = shape.size() == 1;
      const int64_t places = columns ? shape.back() : shape[0] - place.heads.before;
      check(place.heads.heads % place.heads.key_heads == 0, "{}: {} heads of values are not a multiple of {} of keys",
            where(), place.heads.heads, place.heads.key_heads);
      check(shape.size() <= 2 && !(columns && vector) && places > 0 && places % parts == 0,
            "{} has {} {}, not a multiple of {} for {} heads", where(), places, columns ? "columns" : "rows", parts,
            place.heads.heads);
      check(!vector || tensor->type->values == 1, "{} is one row of {} blocks, which can't be in this order", where(),
            tensor->type->name);
    }
    if (row.order == RowOrder::rows_of_matrices) {
      check(shape.size() == 2 || named->ending == ".bias", "{} has {} dimensions, not 2", where(), shape.size());
      place.order = RowOrder::same;
    }
    if ((row.order == RowOrder::value_channels || row.order == RowOrder::rows_of_matrices) && shape.size() > 1)
      shape.insert(shape.begin() + 1, 1);
    add(std::make_unique<GgufWeight>(named->in_hugging_face(), std::move(shape), elements, tensor->bytes.size(),
                                     place));
  }
  // Too few rows, which is told where they are looked for.
  for (auto& [name, pieces] : waiting) add(std::move(*std::ranges::find_if(pieces, [](auto& one) { return !!one; })));
}

}  // namespace vkformer
