#include "models/classification/candidate_claims.h"

#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

std::string claim_of(std::string hypothesis, const std::string& candidate) {
  constexpr std::string_view place = "{}";
  size_t at = hypothesis.find(place);
  if (at == std::string::npos)
    throw UsageError(fmt::format("the hypothesis {} has no {{}} where a candidate goes", in_quotes(hypothesis)));
  for (; at != std::string::npos; at = hypothesis.find(place, at + candidate.size()))
    hypothesis.replace(at, place.size(), candidate);
  return hypothesis;
}

}  // namespace

CandidateClaims::CandidateClaims(const std::string& hypothesis, const std::vector<std::string>& candidates,
                                 const Tokenizer& tokenizer, int64_t most)
    : tokenizer_(tokenizer), most_(most) {
  claims_ = claims_of(hypothesis, candidates);
  for (const std::string& claim : claims_) {
    const int64_t tokens = std::ssize(tokenizer.encode_pair("", claim).ids);
    check(tokens < most, "{} has {} tokens, the model {} positions for it and a text; shorten hypothesis or candidate",
          in_quotes(claim), tokens, most);
  }
}

std::vector<std::string> claims_of(const std::string& hypothesis, const std::vector<std::string>& candidates) {
  std::vector<std::string> claims;
  for (const std::string& candidate : candidates) claims.push_back(claim_of(hypothesis, candidate));
  return claims;
}

void CandidateClaims::add(TokenTexts& texts, std::string_view text, std::string_view place) const {
  for (const std::string& claim : claims_) texts.add(tokenizer_, text, claim, most_, place, Tokenizer::Shorten::first);
}

}  // namespace vkformer
