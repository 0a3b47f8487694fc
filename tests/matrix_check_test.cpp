// Whether the check of matrix cores tells right from wrong.

#include <catch2/catch_test_macros.hpp>

#include "runtime/check.h"
#include "runtime/matrix_check.h"
#include "shaders/common/result_type.h"
#include "tests/matrix_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;

namespace {

/// The reference, except that products come out in another scale or not at all.
class WrongBackend : public Backend {
 public:
  explicit WrongBackend(double scale, bool rounded_alone = false, bool saturated = false)
      : facts_(device_with_matrix_cores()), scale_(scale), rounded_alone_(rounded_alone), saturated_(saturated) {
    facts_.matrix_shapes.push_back({16, 16, 16, DType::bf16});
  }
  const DeviceFacts& facts() const override { return facts_; }
  std::string describe() const override { return "wrong"; }
  uint64_t allocated_bytes() const override { return 0; }
  std::shared_ptr<Store> make_store(const StoreLayout& layout) override { return reference_->make_store(layout); }
  std::shared_ptr<Store> extend_store(std::shared_ptr<Store> store, const StoreLayout& layout) override {
    return reference_->extend_store(std::move(store), layout);
  }
  std::shared_ptr<Workspace> make_workspace() override { return reference_->make_workspace(); }
  MemoryPlan plan(const Graph& graph, const StoreLayout& layout) const override {
    return reference_->plan(graph, layout);
  }
  std::unique_ptr<Program> compile(Graph graph, std::shared_ptr<Store> store, const PlanOptions& options,
                                   std::shared_ptr<Workspace> workspace) override {
    check(scale_ != 0, "vkCreateComputePipelines failed");
    if (scale_ == 1 && !saturated_) return reference_->compile(std::move(graph), std::move(store), options, workspace);
    Graph scaled;
    Values inputs;
    for (Value input : graph.inputs())
      inputs.push_back(
          scaled.input(graph.info(input).name, graph.info(input).type.shape, graph.info(input).type.dtype));
    auto next = inputs.begin();
    for (size_t i = 0; i < graph.nodes().size(); ++i) {
      const Node& node = graph.nodes()[i];
      Attributes attributes = node.attributes;
      if (!rounded_alone_ || is_half(node.output_types[0].dtype)) attributes.set("scale", scale_);
      if (saturated_ && is_half(node.output_types[0].dtype))
        set_saturated_result(attributes, node.output_types[0].dtype);
      const auto end = next + static_cast<std::ptrdiff_t>(node.inputs.size());
      scaled.mark_output(scaled.add(*node.op, Values(next, end), attributes)[0], graph.info(graph.outputs()[i]).name);
      next = end;
    }
    return reference_->compile(scaled, store, options, workspace);
  }

 private:
  DeviceFacts facts_;
  double scale_;
  bool rounded_alone_;  ///< other products are right
  bool saturated_;      ///< overflows are not seen
  std::unique_ptr<Backend> reference_ = make_reference_backend();
};

}  // namespace

TEST_CASE("the check of matrix cores tells right from wrong", "[matrix_cores][long]") {
  WrongBackend right(1), wrong(1.01), failing(0), badly_rounded(1.05, true);
  for (const DType type : {DType::f16, DType::bf16})
    CHECK(matrix_cores_fault(badly_rounded, type, "matrix64").find("a^T b, rounded is ") != std::string::npos);
  WrongBackend finite(1, false, true);
  CHECK(matrix_cores_fault(finite, DType::f16, "matrix64") ==
        "element 0 of a product a^T b, rounded is 65504, not inf");
  CHECK(matrix_cores_fault(finite, DType::bf16, "matrix64").empty());
  CHECK(matrix_cores_fault(right, DType::f16, "matrix64").empty());
  CHECK(matrix_cores_fault(wrong, DType::bf16, "matrix64").starts_with("element 0 of a product a b is "));
  CHECK(matrix_cores_fault(failing, DType::f16, "matrix64") == "vkCreateComputePipelines failed");
  CHECK(matrix_cores_fault(right, DType::f16, "matrix128").empty());
  CHECK(matrix_cores_fault(wrong, DType::f16, "matrix128").starts_with("element 0 of a product a b is "));
  for (const DType type : {DType::f16, DType::bf16})
    for (const char* kernel : {"attention", "experts"}) CHECK(matrix_cores_fault(right, type, kernel).empty());
}

TEST_CASE("a device's matrix cores are tried on the device, for as long as it is open", "[matrix_cores][device]") {
  std::vector<std::string> notes;
  auto backend = make_backend("", {.as_gpu = true, .note = [&](const std::string& line) { notes.push_back(line); }});
  const DeviceFacts facts = backend->facts();
  REQUIRE(facts.matrix_check);
  const bool right = facts.matrix_check(DType::f16, "matrix64");
  CHECK(facts.matrix_check(DType::f16, "matrix64") == right);
  CHECK(notes.size() == (right ? 0 : 1));
  CHECK(facts.matrix_check(DType::f16, "matrix_workgroup128"));
  backend.reset();
  CHECK_FALSE(facts.matrix_check(DType::f16, "matrix64"));
}
