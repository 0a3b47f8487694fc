#pragma once
// Which weights did not get the type they were to have, since their rows are no whole blocks of it.

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "runtime/tensor.h"

namespace vkformer {

class TypeFallbacks {
 public:
  /// A weight that was to be `wanted` and became `got`.
  void add(DType wanted, DType got);
  /// "3 of 14 weights have rows that are no whole blocks of q4_k: q5_0 2, f16 1"; empty where all have what was wanted.
  std::string text() const;

 private:
  int64_t weights_ = 0;           ///< that were to be in blocks
  std::set<DType> wanted_;        ///< by those that got another
  std::map<DType, int64_t> got_;  ///< instead
};

}  // namespace vkformer
