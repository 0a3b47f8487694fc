#pragma once
// Recorded PyTorch results of tests/fixtures as one check.

#include <catch2/catch_test_macros.hpp>
#include <filesystem>

#include "models/verify.h"

/// Checks every comparison of the case; gives how many there were.
inline int verify_fixture(vkformer::Backend& backend, const char* name) {
  using vkformer::VerifyRow;
  int compared = 0;
  vkformer::verify_case(backend, std::filesystem::path(VKFORMER_FIXTURES) / name, [&](const VerifyRow& row) {
    INFO(row.tensor << " error " << row.error << " tolerance " << row.tolerance << " " << row.note);
    CHECK(row.verdict != VerifyRow::Verdict::failed);
    compared += row.verdict == VerifyRow::Verdict::passed;
  });
  return compared;
}
