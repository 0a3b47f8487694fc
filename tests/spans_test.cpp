// T5's span corruption: lengths, what is hidden, and that nothing is lost.

#include "models/data/spans.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "models/text/sentinels.h"
#include "models/text/tokenizer.h"
#include "models/text/tokenizer_training.h"
#include "tests/file_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;

namespace {

constexpr int32_t first_word = 200;

/// Sentinels 100, 99, ..; the end is 1, the decoder begins with 0; words are 200, 201, ..
SpanText span_text(const WindowData::Settings& settings, int64_t sentinels = 100) {
  std::vector<int32_t> ids(4000), special(static_cast<size_t>(sentinels));
  std::iota(ids.begin(), ids.end(), first_word);
  std::iota(special.rbegin(), special.rend(), static_cast<int32_t>(101 - sentinels));
  return {split_text(ids, 0.25), {special, 1, 0}, settings};
}

std::vector<int32_t> span_row(const DataBatch& batch, const char* name, int64_t row) {
  const std::vector<int32_t>& all = batch.values(name);
  const int64_t size = std::ssize(all) / batch.shape.rows;
  return {all.begin() + row * size, all.begin() + (row + 1) * size};
}

/// The source with what the target says in place of each sentinel.
std::vector<int32_t> filled(const std::vector<int32_t>& source, const std::vector<int32_t>& target) {
  std::vector<int32_t> text;
  for (const int32_t id : source) {
    if (id >= first_word) text.push_back(id);
    if (id >= first_word || id == 1) continue;
    auto at = std::ranges::find(target, id) + 1;
    REQUIRE(*at >= first_word);
    while (*at >= first_word) text.push_back(*at++);
  }
  return text;
}

}  // namespace

TEST_CASE("windows fill a source exactly", "[spans]") {
  const SpanLengths lengths = SpanLengths::of_source(512);  // T5's own: 568 tokens, 114 of the target
  CHECK(lengths.tokens == 568);
  CHECK(lengths.noise == 85);
  CHECK(lengths.spans == 28);
  CHECK(lengths.target() == 114);
  for (int64_t positions = 3; positions < 700; ++positions) {
    const SpanLengths own = SpanLengths::of_source(positions);
    CHECK(own.source() == positions);
    CHECK(own.spans <= own.noise);
    CHECK(own.spans <= own.tokens - own.noise);
    CHECK(SpanLengths::of_window(own.tokens + 1).source() > positions);
  }
  CHECK(SpanLengths::of_window(10).noise == 2);  // 1.5: as Python rounds
  CHECK(SpanLengths::of_window(30).noise == 4);  // 4.5
  CHECK(error_of([] { SpanLengths::of_source(2); }).find("3 or more") != std::string::npos);
}

TEST_CASE("source and target together give back the text", "[spans]") {
  for (const int64_t context : {3, 17, 64, 129}) {
    const SpanText data = span_text({.context = context, .rows = 3});
    const SpanLengths lengths = SpanLengths::of_source(context);
    const BatchShape shape = data.shapes().front();
    CHECK(shape == BatchShape{.rows = 3, .positions = lengths.target(), .source_positions = context});
    for (int64_t number = 0; number < 20; ++number) {
      const DataBatch batch = data.training_batch(number);
      for (int64_t row = 0; row < 3; ++row) {
        const auto source = span_row(batch, "source", row), target = span_row(batch, "targets", row);
        const auto text = filled(source, target);
        REQUIRE(std::ssize(text) == lengths.tokens);
        for (size_t i = 1; i < text.size(); ++i) REQUIRE(text[i] == text[i - 1] + 1);
        CHECK(text.back() < first_word + 3000);
        CHECK(source.back() == 1);
        CHECK(target.back() == 1);
        CHECK(target.front() == 100);
        CHECK(std::ranges::count_if(target, [](int32_t id) { return id > 1 && id < first_word; }) == lengths.spans);
        std::vector<int32_t> read = target;  // by the decoder
        read.insert(read.begin(), 0);
        read.pop_back();
        CHECK(span_row(batch, "ids", row) == read);
      }
    }
  }
}

TEST_CASE("gaps lie anywhere but at the beginning", "[spans]") {
  const SpanText data = span_text({.context = 64, .rows = 8});
  const int64_t tokens = SpanLengths::of_source(64).tokens;
  std::vector<int> hidden(static_cast<size_t>(tokens));
  std::set<int64_t> lengths;
  constexpr int batches = 100;
  for (int64_t number = 0; number < batches; ++number)
    for (int64_t row = 0; row < 8; ++row) {
      const DataBatch batch = data.training_batch(number);
      const int32_t first = span_row(batch, "source", row)[0];
      int64_t length = 0;
      for (const int32_t id : span_row(batch, "targets", row)) {
        if (id >= first_word) {
          ++length;
          ++hidden[static_cast<size_t>(id - first)];
        } else if (length > 0) {
          lengths.insert(std::exchange(length, 0));
        }
      }
    }
  CHECK(hidden[0] == 0);
  for (int64_t i = 3; i + 5 < tokens; ++i) {
    INFO(i);
    CHECK(hidden[static_cast<size_t>(i)] > 0.05 * 8 * batches);
    CHECK(hidden[static_cast<size_t>(i)] < 0.3 * 8 * batches);
  }
  CHECK(lengths.size() > 4);
}

TEST_CASE("gaps follow from the seed and the number of the batch", "[spans]") {
  const WindowData::Settings whole{.context = 40, .rows = 2, .seed = 7};
  WindowData::Settings parts = whole, other = whole;
  parts.rows = 1;
  parts.accumulate = 2;
  other.seed = 8;
  const SpanText data = span_text(whole), one_by_one = span_text(parts);
  CHECK(data.training_batch(3).inputs == span_text(whole).training_batch(3).inputs);
  CHECK(data.training_batch(3).inputs != span_text(other).training_batch(3).inputs);
  CHECK(span_row(data.training_batch(3), "source", 1) == one_by_one.training_batch(7).values("source"));
  CHECK(span_row(data.validation_batch(2, 9), "source", 0) == one_by_one.validation_batch(4, 18).values("source"));
  CHECK(count_targets(data.validation_batch(0, 1).view(), 10000) == 2 * data.shapes().front().positions);
}

TEST_CASE("too few sentinels, and too short a text, are refused", "[spans]") {
  CHECK(error_of([] { span_text({.context = 512}, 27); }).find("28 spans, the tokenizer only 27 sentinels") !=
        std::string::npos);
  CHECK(error_of([] { span_text({.context = 3000}); }).find("one context needs 3") != std::string::npos);
}

TEST_CASE("gaps and what fills them stay in a decoded text", "[spans]") {
  const std::vector<std::string> lines(20, "the big dog walks in a park and a cat in the house");
  for (const auto kind : {TokenizerTraining::Kind::unigram, TokenizerTraining::Kind::bpe}) {
    const nlohmann::json content =
        train_tokenizer(lines, {.kind = kind, .layout = TokenizerTraining::Layout::t5, .size = 140});
    const Tokenizer tokenizer(JsonObject::parse(content.dump(), "tokenizer.json"));
    const std::vector<int32_t> sentinels = sentinel_ids(tokenizer);
    REQUIRE(sentinels.size() == 100);
    CHECK(sentinels[0] == tokenizer.size() - 1);
    CHECK(sentinels[99] == tokenizer.size() - 100);
    const std::string text = "<extra_id_0> the dog <extra_id_12> a";
    CHECK(decode_with_sentinels(tokenizer, tokenizer.encode(text).ids) == text);
    CHECK(tokenizer.decode(tokenizer.encode(text).ids).find("extra_id") == std::string::npos);
    CHECK(decode_with_sentinels(tokenizer, tokenizer.encode("the dog").ids) == "the dog");
    CHECK(decode_with_sentinels(tokenizer, {}).empty());
    const std::vector<int32_t> beyond = sentinels_beyond(tokenizer, tokenizer.encode(text).ids);
    CHECK(beyond.size() == 98);
    CHECK(beyond[0] == sentinels[1]);
    CHECK(sentinels_beyond(tokenizer, tokenizer.encode("the dog").ids).empty());
  }
}
