#pragma once
// Masks that say who sees whom, made on the device from a number for each position: [B, T] goes there, not [B, T, T].

#include "runtime/graph.h"

namespace vkformer {

/// Which key s the query at t sees, given their numbers n.
enum class MaskRule : uint8_t {
  same,             ///< n[s] = n[t], and not 0: rows of several texts, 0 being none
  present_or_self,  ///< n[s] != 0, or s = t: padding is 0, and still sees itself (XLNet)
  earlier,          ///< n[s] < 0, or n[s] < n[t]: places in an order, below 0 what is given (XLNet's query stream)
  earlier_or_self,  ///< the same, or s = t (its content stream)
};

/// visible i32 [B, T, T], 1 where query t sees key s. numbers i32 [B, T]. Throws Error for another shape or type.
Value visible_keys(Graph& graph, Value numbers, MaskRule rule);

}  // namespace vkformer
