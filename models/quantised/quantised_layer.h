#pragma once
// One quantised layer's tensors, and what all forms of them need to be read.

#include "models/quantised/coded_matrix.h"
#include "models/quantised/quantisation.h"

namespace vkformer {

/// The tensors of a layer, by the ends of their names. Its checks throw Error naming file and tensor.
class QuantisedLayer {
 public:
  QuantisedLayer(const WeightSource& files, const WeightTensor& codes, std::string name)
      : files_(files), codes_(codes), name_(std::move(name)) {}

  const WeightSource& files() const { return files_; }
  const WeightTensor& codes() const { return codes_; }
  const std::string& name() const { return name_; }
  /// Of the codes and all that was found.
  uint64_t bytes() const { return codes_.bytes() + bytes_; }

  /// nullptr when there is none.
  const WeightTensor* find(std::string_view end) const;
  const WeightTensor& require(std::string_view end) const;

  void check_type(const WeightTensor& tensor, std::initializer_list<std::string_view> types) const;
  void check_shape(const WeightTensor& tensor, bool right) const;
  /// For what a tensor says that is not supported.
  void check_value(const WeightTensor& tensor, bool known) const;
  void check_matrix(const WeightTensor& tensor) const;
  /// Codes that fill their tensor.
  void check_codes(const PackedCodes& codes) const;

  /// The weight, without its codes and scales.
  CodedMatrix matrix(std::string_view type, int64_t rows, int64_t columns) const;
  /// Sets the blocks by the shape of the scales: one, one a row, or a grid.
  void set_blocks(const WeightTensor& scales, const Quantisation& how, CodedMatrix& matrix) const;
  /// Sets which of `count` groups of scales each column has, where they are not one behind the other. Files may have -1
  /// for all of them.
  void set_groups(const WeightTensor* tensor, int64_t count, CodedMatrix& matrix) const;

 private:
  const WeightSource& files_;
  const WeightTensor& codes_;
  std::string name_;
  mutable uint64_t bytes_ = 0;
};

/// "INT4".
std::string_view int_type(int bits);

/// FP8 of four bits of exponent and three of mantissa, by code; 0x7F is no number.
std::vector<float> e4m3_values();
/// FP4, of two bits of exponent and one of mantissa.
std::vector<float> e2m1_values();

std::vector<std::byte> bytes_of(const WeightTensor& tensor);
/// Of a tensor of floats, FP8, or bytes that are exponents of two.
std::vector<float> floats_of(const WeightTensor& tensor);

/// How many of `size` share a scale where there are `count` scales: as wanted if that fits, else equally many; 0 where
/// they can't.
int64_t block_of(int64_t size, int64_t count, int64_t wanted);

}  // namespace vkformer
