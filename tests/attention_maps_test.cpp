// The attention weights of whole models, on the reference.

#include "models/inspection/attention_maps.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "models/parameters.h"
#include "models/weights.h"
#include "runtime/check.h"
#include "tests/model_helpers.h"

using namespace vkformer;
using Kind = AttentionMap::Kind;
using vkformer::testing::some_ids;

namespace {

constexpr int64_t inspected_positions = 7, inspected_source = 5;

std::vector<AttentionMap> maps_of(const std::string& fixture) {
  const auto folder = vkformer::testing::fixtures / fixture;
  const Model model = load_model(folder);
  InspectedText text{.ids = some_ids(inspected_positions, model.vocabulary - 1, 11)};
  if (model.has_encoder()) text.source = some_ids(inspected_source, model.vocabulary - 1, 13);
  const auto backend = make_reference_backend();
  const auto weights = make_model_store(*backend, model);
  load_parameters(*weights, model.parameters, folder);
  return attention_maps(*backend, model, weights, text);
}

int64_t count(const std::vector<AttentionMap>& maps, Kind kind) {
  return std::ranges::count(maps, kind, &AttentionMap::kind);
}

void check_rows(const AttentionMap& map) {
  INFO(name_of(map.kind) << " " << map.layer);
  CHECK(map.queries ==
        (map.kind == Kind::encoder && map.keys == inspected_source ? inspected_source : inspected_positions));
  CHECK(map.keys == (map.kind == Kind::cross ? inspected_source : map.queries));
  REQUIRE(std::ssize(map.weights) == map.heads * map.queries * map.keys);
  double largest_error = 0, largest_ahead = 0;
  for (int64_t row = 0; row < map.heads * map.queries; ++row) {
    double sum = 0;
    for (int64_t s = 0; s < map.keys; ++s) {
      const auto weight = static_cast<double>(map.weights[static_cast<size_t>(row * map.keys + s)]);
      sum += weight;
      if (s > row % map.queries) largest_ahead = std::max(largest_ahead, weight);
    }
    largest_error = std::max(largest_error, std::abs(sum - 1));
  }
  CHECK(largest_error < 1e-5);
  CHECK((largest_ahead == 0) == (map.kind == Kind::decoder));
}

}  // namespace

TEST_CASE("beside layers with states attention has its layer's number", "[attention_maps]") {
  std::vector<int64_t> layers;
  for (const AttentionMap& map : maps_of("qwen3_5")) layers.push_back(map.layer);
  CHECK(layers == std::vector<int64_t>{0, 3});
}

TEST_CASE("weights of attention sum to 1 and decoders see nothing ahead", "[attention_maps]") {
  struct Expected {
    std::string fixture;
    bool encoder, decoder, cross;
  };
  const Expected all[] = {{"marian", true, true, true},
                          {"bart", true, true, true},
                          {"t5", true, true, true},
                          {"vaswani", true, true, true},
                          {"gpt2", false, true, false},
                          {"llama", false, true, false},
                          {"gpt_neox", false, true, false},
                          {"bert_mlm", true, false, false},
                          {"distilbert_cls", true, false, false},
                          {"mpnet_cls", true, false, false},
                          {"electra_mlm", true, false, false},
                          {"deberta_mlm", true, false, false},
                          {"nomic_mlm", true, false, false},
                          {"modernbert_mlm", true, false, false},
                          {"modernbert_cls", true, false, false},
                          {"xlnet", true, false, false}};
  for (const Expected& expected : all) {
    INFO(expected.fixture);
    const std::vector<AttentionMap> maps = maps_of(expected.fixture);
    const int64_t layers = load_model(vkformer::testing::fixtures / expected.fixture).layers;
    CHECK((count(maps, Kind::encoder) > 0) == expected.encoder);
    CHECK((count(maps, Kind::decoder) > 0) == expected.decoder);
    CHECK(count(maps, Kind::cross) == (expected.cross ? count(maps, Kind::decoder) : 0));
    if (!expected.cross) CHECK(std::ssize(maps) == layers);
    for (const AttentionMap& map : maps) check_rows(map);
  }
}

TEST_CASE("layers of attention are counted within their kind", "[attention_maps]") {
  std::map<Kind, int64_t> next;
  for (const AttentionMap& map : maps_of("marian")) CHECK(map.layer == next[map.kind]++);
  CHECK(next.size() == 3);
}

TEST_CASE("ids that the model has not are refused", "[attention_maps]") {
  const Model model = load_model(vkformer::testing::fixtures / "gpt2");
  const auto backend = make_reference_backend();
  const auto weights = make_model_store(*backend, model);
  CHECK_THROWS_AS(attention_maps(*backend, model, weights, {.ids = {static_cast<int32_t>(model.vocabulary)}}), Error);
  CHECK_THROWS_AS(attention_maps(*backend, model, weights, {.ids = {}}), Error);
  CHECK_THROWS_AS(attention_maps(*backend, model, weights, {.ids = {1}, .source = {1}}), Error);
}
