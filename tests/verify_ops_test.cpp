// How recorded operators are compared; the recorded ones themselves are in fixtures_test.cpp.

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/verify/verify.h"
#include "runtime/files/safetensors.h"
#include "tests/file_helpers.h"

using namespace vkformer;

namespace {

/// A folder of cases made here.
class CaseFolder {
 public:
  void add(const std::string& name, const std::string& op, nlohmann::json attributes,
           const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
    nlohmann::json one = {{"name", name}, {"op", op}, {"attributes", std::move(attributes)}};
    one["tolerance"] = {{"relative", 1e-5}, {"absolute", 1e-6}};
    one["inputs"] = one["outputs"] = nlohmann::json::object();
    for (const std::string& input : inputs) one["inputs"][input] = nullptr;
    for (const std::string& output : outputs) one["outputs"][output] = nullptr;
    cases_.push_back(std::move(one));
  }
  void tensor(const std::string& name, const std::vector<int64_t>& shape, const std::vector<float>& values) {
    floats_[name] = values;
    sources_.push_back(TensorSource::of(name, shape, std::span<const float>(floats_[name])));
  }
  void tensor(const std::string& name, const std::vector<int64_t>& shape, const std::vector<int32_t>& values) {
    ints_[name] = values;
    sources_.push_back(TensorSource::of(name, shape, std::span<const int32_t>(ints_[name])));
  }

  std::vector<VerifyRow> verify() const {
    write_json(folder_ / "ops.json", {{"cases", cases_}});
    write_safetensors(folder_ / "ops.safetensors", sources_);
    std::vector<VerifyRow> rows;
    auto backend = make_reference_backend();
    verify_case(*backend, folder_.path(), [&](const VerifyRow& row) { rows.push_back(row); });
    return rows;
  }

 private:
  vkformer::testing::TemporaryFolder folder_;
  nlohmann::json cases_ = nlohmann::json::array();
  std::map<std::string, std::vector<float>> floats_;
  std::map<std::string, std::vector<int32_t>> ints_;
  std::vector<TensorSource> sources_;
};

void add_relu(CaseFolder& folder, const std::string& name, float expected) {
  folder.add(name, "relu", nlohmann::json::object(), {"x", "grad_out"}, {"out", "grad.x"});
  folder.tensor(name + "/x", {2}, std::vector<float>{-1, 2});
  folder.tensor(name + "/grad_out", {2}, std::vector<float>{3, 5});
  folder.tensor(name + "/out", {2}, std::vector<float>{0, expected});
  folder.tensor(name + "/grad.x", {2}, std::vector<float>{0, 5});
}

}  // namespace

TEST_CASE("a recorded operator that differs fails", "[ops]") {
  CaseFolder folder;
  add_relu(folder, "right", 2);
  add_relu(folder, "wrong", 2.0001f);
  const auto rows = folder.verify();
  REQUIRE(rows.size() == 4);
  for (const VerifyRow& row : rows) {
    INFO(row.tensor << " " << row.error << " " << row.note);
    CHECK((row.verdict == VerifyRow::Verdict::failed) == (row.tensor == "wrong/out"));
  }
}

TEST_CASE("operator cases that can't be run say why, and the others run", "[ops]") {
  const auto note_of = [](const std::string& op, nlohmann::json attributes) {
    CaseFolder folder;
    folder.add("bad", op, std::move(attributes), {"x", "grad_out"}, {"out"});
    folder.tensor("bad/x", {1, 1, 2, 3}, std::vector<float>(6, 1));
    folder.tensor("bad/grad_out", {1, 1, 2, 3}, std::vector<float>(6, 1));
    folder.tensor("bad/positions", {2}, std::vector<int32_t>{0, -1});
    add_relu(folder, "good", 2);
    const auto rows = folder.verify();
    REQUIRE(rows.size() == 3);
    CHECK(rows[0].verdict == VerifyRow::Verdict::failed);
    CHECK(rows[1].verdict == VerifyRow::Verdict::passed);
    return rows[0].note;
  };
  const auto has = [](const std::string& text, const std::string& word) {
    INFO(text);
    CHECK(text.find(word) != std::string::npos);
  };
  has(note_of("mamba", nlohmann::json::object()), "mamba");
  has(note_of("rms_norm", {{"eps", 1e-5}}), "bad/weight");
  has(note_of("gelu", nlohmann::json::object()), "approximate");
  has(note_of("gelu", {{"approximate", "erf"}}), "erf");
  has(note_of("softmax", {{"causal", false}, {"lengths", {1, 2}}}), "lengths");
  has(note_of("softmax", {{"causal", false}, {"lengths", {"one"}}}), "lengths");
  has(note_of("rope", {{"style", "half"}, {"rotary", 2}, {"theta", 10}}), "positions");
}

TEST_CASE("recorded rotary positions may have gaps", "[ops]") {
  CaseFolder folder;
  folder.add("gaps", "rope", {{"style", "half"}, {"rotary", 2}, {"theta", 10000}}, {"x", "positions", "grad_out"},
             {"out", "grad.x"});
  const std::vector<int32_t> positions = {5, 2, 2};
  folder.tensor("gaps/positions", {3}, positions);
  std::vector<float> x, out, back;
  for (const int32_t position : positions) {
    const double c = std::cos(position), s = std::sin(position);
    x.insert(x.end(), {1, 2, 7});
    out.insert(out.end(), {static_cast<float>(c - 2 * s), static_cast<float>(2 * c + s), 7});
    back.insert(back.end(), {static_cast<float>(c + 2 * s), static_cast<float>(2 * c - s), 7});
  }
  folder.tensor("gaps/x", {1, 1, 3, 3}, x);
  folder.tensor("gaps/grad_out", {1, 1, 3, 3}, x);
  folder.tensor("gaps/out", {1, 1, 3, 3}, out);
  folder.tensor("gaps/grad.x", {1, 1, 3, 3}, back);
  const auto rows = folder.verify();
  REQUIRE(rows.size() == 2);
  for (const VerifyRow& row : rows) {
    INFO(row.tensor << " " << row.error << " " << row.note);
    CHECK(row.verdict == VerifyRow::Verdict::passed);
  }
}
