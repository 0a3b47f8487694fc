#pragma once
// Measured choices: which kernel is the fastest for which node on one device with this build's kernels, and what the
// device can do at most. `vkformer tune` writes them, plans follow them.

#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "runtime/op.h"

namespace vkformer {

/// Rates that no kernel on the device exceeds for long, as `vkformer bench --roof` measures them.
struct Roof {
  double bytes_per_second = 0;  ///< of a large copy, read and written bytes together
  double flops_per_second = 0;  ///< f32 multiply-adds in registers, each counts two
  std::map<DType, double> matrix_flops_per_second = {};  ///< the same on matrix cores, by type of operands, where known
  bool operator==(const Roof&) const = default;
};
/// {"bytes_per_second", "flops_per_second", "matrix_flops_per_second": {"f16", ..}}
nlohmann::json roof_json(const Roof& roof);

/// The least seconds that a cost takes.
struct RoofTimes {
  double copy = 0, arithmetic = 0;
};
/// `matrix`: the operands' type of work on matrix cores. None: what these do was not measured.
std::optional<RoofTimes> times_at_roof(const Roof& roof, const Cost& cost, std::optional<DType> matrix);

/// What decides which kernels are legal and how long they take: op, attributes, types of inputs and outputs.
/// "matmul transpose_a=0 transpose_b=1 f32[8, 64] f32[16, 64] - -> f32[8, 16]"
std::string signature(const Node& node);

class Tuning {
 public:
  struct Choice {
    std::string candidate;
    double seconds = 0;  ///< of one such node
    bool operator==(const Choice&) const = default;
  };
  const Choice* find(const std::string& signature) const;
  const Choice* find(const Node& node) const { return choices_.empty() ? nullptr : find(signature(node)); }
  void set(const std::string& signature, Choice choice) { choices_[signature] = std::move(choice); }
  /// Takes over the other's choices and roof; where both have one, the other's.
  void merge(const Tuning& other);
  size_t size() const { return choices_.size(); }
  std::optional<Roof> roof;

  /// The device's file in the user's cache directory, within other limits another; empty when there is no such
  /// directory.
  static std::filesystem::path usual_file(const DeviceFacts& facts);
  /// Reads a file. One that is damaged, or of another device, driver or build, or within other limits, gives an empty
  /// Tuning, and `ignored` says why in one line; so does one that is not there, in silence.
  static Tuning load(const std::filesystem::path& file, const DeviceFacts& facts, std::string& ignored);
  /// Writes the file in one step, and its folder where that is missing. Throws Error.
  void save(const std::filesystem::path& file, const DeviceFacts& facts) const;

 private:
  std::map<std::string, Choice> choices_;  ///< by signature
};

}  // namespace vkformer
