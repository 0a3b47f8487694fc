// Blocks of parameters, and tensors that are one under a joint name.

#include <catch2/catch_test_macros.hpp>

#include "models/families/layers.h"
#include "models/model.h"
#include "models/parameters.h"

using namespace vkformer;

namespace {

/// Odd sizes: no part of a joint tensor ends at a multiple of 16 bytes.
std::vector<ParameterSpec> odd_parameters() {
  ParameterList list(0.02);
  list.linear("first", 3, 5);
  list.joint_linear("attn", "qkv", {{"q", 5}, {"k", 1}, {"v", 3}}, 3);
  list.linear("last", 3, 5);
  return list.take();
}

std::vector<float> count_up(int64_t elements, float from) {
  std::vector<float> values;
  for (int64_t i = 0; i < elements; ++i) values.push_back(from + static_cast<float>(i));
  return values;
}

}  // namespace

TEST_CASE("the parts of a joint tensor lie without a gap", "[blocks]") {
  const auto parameters = odd_parameters();
  const auto blocks = parameter_blocks(parameters, 1 << 20);
  REQUIRE(blocks.size() == 1);
  StoreLayout layout;
  add_parameter_blocks(layout, "parameters", blocks);
  add_parameter_blocks(layout, "exp_avg", blocks);
  auto backend = make_reference_backend();
  auto store = backend->make_store(layout);
  int64_t next = 0;
  for (const char* name : {"attn.q", "attn.k", "attn.v"}) {
    const std::string weight = std::string(name) + ".weight";
    const int64_t elements = layout.find(weight)->type.elements();
    store->write(weight, count_up(elements, static_cast<float>(next)));
    next += elements;
  }
  std::vector<float> joint(27);
  store->read("attn.qkv.weight", joint);
  CHECK(joint == count_up(27, 0));
  CHECK(layout.find("attn.qkv.bias")->type.shape == Shape{9});
  CHECK(layout.find("exp_avg/attn.v.weight")->offset == layout.find("attn.v.weight")->offset);
  CHECK(layout.find("last.weight")->offset % 16 == 0);
  // Decayed are the three weights, each padded to a multiple of four elements: 15, 27 and 15.
  CHECK(blocks[0].decayed_elements == 16 + 28 + 16);
  CHECK(layout.find("first.bias")->offset == 4 * blocks[0].decayed_elements);
}

TEST_CASE("a joint tensor is never split between blocks", "[blocks]") {
  const auto parameters = odd_parameters();
  for (uint64_t most = 200; most < 500; most += 16) {
    const auto blocks = parameter_blocks(parameters, most);
    StoreLayout layout;
    add_parameter_blocks(layout, "parameters", blocks);
    size_t count = 0;
    for (const ParameterBlock& block : blocks) count += block.parameters.size();
    CHECK(count == parameters.size());
    for (int64_t bytes : layout.blocks()) CHECK(static_cast<uint64_t>(bytes) <= most);
    CHECK(layout.find("attn.qkv.weight")->type.shape == Shape{9, 3});
  }
  CHECK(parameter_blocks(parameters, 200).size() > 1);
  CHECK_THROWS(parameter_blocks(parameters, 128));
}
