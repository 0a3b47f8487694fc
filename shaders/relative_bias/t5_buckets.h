#pragma once
// The buckets that T5 sorts relative positions into.

#include <cstdint>
#include <vector>

namespace vkformer {

/// The bucket of each relative position (key - query) from `first` to `last`, as in Hugging Face's T5: small distances
/// have a bucket each, larger ones share buckets that grow with the logarithm up to `max_distance`, all beyond share
/// the last. Bidirectional: half of the buckets are for keys behind the query; otherwise these count as distance 0. The
/// logarithm is f32, as there. Throws Error when `buckets` or `max_distance` leaves no such buckets.
std::vector<int32_t> t5_buckets(int64_t first, int64_t last, bool bidirectional, int64_t buckets, int64_t max_distance);

}  // namespace vkformer
