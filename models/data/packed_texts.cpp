#include "models/data/packed_texts.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "models/data/draws.h"
#include "runtime/check.h"

namespace vkformer {

namespace {

constexpr uint32_t draws_stream = 0x7061636b;  // "pack"

/// Positions that a text takes: its last id is a target only.
std::vector<int64_t> lengths_of(const std::vector<LearnedText>& texts) {
  std::vector<int64_t> lengths;
  for (const LearnedText& text : texts) lengths.push_back(std::ssize(text.ids) - 1);
  return lengths;
}

std::vector<uint32_t> in_order(size_t count) {
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

}  // namespace

std::vector<std::vector<uint32_t>> pack(std::span<const int64_t> lengths, std::span<const uint32_t> order,
                                        int64_t row) {
  std::vector<uint32_t> longest_first(order.begin(), order.end());
  std::ranges::stable_sort(longest_first, std::greater(), [&](uint32_t text) { return lengths[text]; });
  std::vector<std::vector<uint32_t>> rows;
  std::multimap<int64_t, size_t> room;  // of rows
  for (const uint32_t text : longest_first) {
    const auto fullest = room.lower_bound(lengths[text]);
    size_t place = rows.size();
    int64_t left = row;
    if (fullest == room.end()) {
      rows.emplace_back();
    } else {
      std::tie(left, place) = *fullest;
      room.erase(fullest);
    }
    rows[place].push_back(text);
    room.emplace(left - lengths[text], place);
  }
  return rows;
}

PackedTexts::PackedTexts(std::vector<LearnedText> training, std::vector<LearnedText> validation,
                         const Settings& settings)
    : training_(std::move(training)),
      validation_(std::move(validation)),
      shape_{.rows = settings.rows, .positions = settings.positions, .packed = true},
      seed_(settings.seed) {
  check(!training_.empty(), "there are no texts to train on");
  for (const auto* texts : {&training_, &validation_})
    for (const LearnedText& text : *texts)
      check(text.ids.size() == text.learned.size() && text.ids.size() >= 2 &&
                std::ssize(text.ids) <= shape_.positions + 1,
            "a text of {} ids does not fit into a row of {} positions", text.ids.size(), shape_.positions);
  training_rows_ = std::ssize(pack(lengths_of(training_), in_order(training_.size()), shape_.positions));
  validation_rows_ = pack(lengths_of(validation_), in_order(validation_.size()), shape_.positions);
}

std::vector<PackedTexts::Row> PackedTexts::shuffled(int64_t epoch) const {
  Draws draws(seed_, draws_stream, static_cast<uint64_t>(epoch));
  std::vector<uint32_t> order = in_order(training_.size());
  draws.shuffle(std::span(order));
  std::vector<Row> rows = pack(lengths_of(training_), order, shape_.positions);
  draws.shuffle(std::span(rows));
  return rows;
}

DataBatch PackedTexts::training_batch(int64_t number) const {
  if (const int64_t wanted = number / epoch(); current_.number != wanted) current_ = {wanted, shuffled(wanted)};
  return assemble(training_, current_.rows, number % epoch());
}

DataBatch PackedTexts::validation_batch(int64_t index, int64_t count) const {
  return assemble(validation_, validation_rows_, index * validation_batches() / count);
}

DataBatch PackedTexts::assemble(const std::vector<LearnedText>& texts, std::span<const Row> rows, int64_t batch) const {
  const auto B = static_cast<size_t>(shape_.rows), T = static_cast<size_t>(shape_.positions);
  std::vector<int32_t> ids(B * T, 0), positions(B * T, 0), targets(B * T, ignored_target), numbers(B * T, 0);
  DataBatch made{.shape = shape_, .inputs = {}};
  const size_t first_row = static_cast<size_t>(batch) * B;
  for (size_t b = 0; b < B && first_row + b < rows.size(); ++b) {
    size_t begin = b * T;  // of the text
    int32_t number = 0;
    for (const uint32_t place : rows[first_row + b]) {
      const LearnedText& text = texts[place];
      const size_t length = text.ids.size() - 1;
      ++number;
      for (size_t t = 0; t < length; ++t) {
        ids[begin + t] = text.ids[t];
        positions[begin + t] = static_cast<int32_t>(t);
        if (text.learned[t + 1]) targets[begin + t] = text.ids[t + 1];
        numbers[begin + t] = number;
      }
      begin += length;
    }
    made.tokens += static_cast<int64_t>(begin - b * T);
  }
  made.inputs.emplace_back("ids", std::move(ids));
  made.inputs.emplace_back("texts", std::move(numbers));
  made.inputs.emplace_back("positions", std::move(positions));
  made.inputs.emplace_back("targets", std::move(targets));
  return made;
}

std::string PackedTexts::describe() const {
  const std::vector<int64_t> lengths = lengths_of(training_);
  const auto taken = static_cast<double>(std::accumulate(lengths.begin(), lengths.end(), int64_t{0}));
  return fmt::format(
      "packed into {} rows of {} positions, {} a batch: {} batches an epoch, {:.1f} % of their positions "
      "are padding",
      training_rows_, shape_.positions, shape_.rows, epoch(),
      100 * (1 - taken / static_cast<double>(epoch() * shape_.rows * shape_.positions)));
}

}  // namespace vkformer
