// Compositions for language models: norms, gates, rotary embedding, attention, experts.
#include <ATen/ATen.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "aten/torch/compose.h"

namespace portacl::aten {
namespace {

using at::Tensor;

Tensors Halves(const Tensor& t, int64_t dim) {
  TORCH_CHECK(t.dim() > 0 && t.size(dim) > 0 && t.size(dim) % 2 == 0, "axis ", dim,
              " of the shape ", t.sizes(), " has no halves");
  return t.chunk(2, dim);
}

// Rotates pairs by a quarter turn. A pair is element i of both halves (mode 0), or two neighbours.
Tensor Turned(const Tensor& x, int64_t mode) {
  if (mode == 0) {
    const Tensors halves = Halves(x, -1);
    return at::cat({-halves[1], halves[0]}, -1);
  }
  const Tensor pairs = x.unflatten(-1, {-1, 2});
  return at::stack({-pairs.select(-1, 1), pairs.select(-1, 0)}, -1).flatten(-2);
}

PORTACL_COMPOSITION(Rotary) {
  const Tensor x = Wide(in.t("x"));
  return {x * Wide(in.t("cos")) + Turned(x, in.i("mode")) * Wide(in.t("sin"))};
}

// Rotates query and key, with pairs of both halves.
PORTACL_COMPOSITION(RotaryPair) {
  TORCH_CHECK(in.i("layout") == 1, "layout is ", in.i("layout"), ", but must be 1 (BSND)");
  const Tensor cos = Wide(in.t("cos")), sin = Wide(in.t("sin"));
  const auto turn = [&](const Tensor& t) { return Wide(t) * cos + Turned(Wide(t), 0) * sin; };
  return {turn(in.t("queryRef")), turn(in.t("keyRef"))};
}

PORTACL_COMPOSITION(RotaryGrad) {
  const Tensor dy = Wide(in.t("dy")), cos = in.t("cos"), sin = in.t("sin");
  const Tensor dx = dy * Wide(cos) - Turned(dy * Wide(sin), in.i("mode"));
  if (!in.has("x")) return {dx};
  const Tensor x = Wide(in.t("x"));
  return {dx, at::sum_to(dy * x, cos.sizes()),
          at::sum_to(dy * Turned(x, in.i("mode")), sin.sizes())};
}

// With fixedTriuMask, the mask hides the elements above the diagonal.
PORTACL_COMPOSITION(ScaledMaskedSoftmax) {
  const Tensor x = Wide(in.t("x"));
  const Tensor mask = in.b("fixedTriuMask")
                          ? at::ones({x.size(-2), x.size(-1)}, x.options().dtype(at::kBool)).triu(1)
                          : in.t("mask").to(at::kBool);
  return {at::softmax((x * in.d("scale")).masked_fill(mask, -10000.0), -1)};
}

// Converts attention's tensors between `layout` (BSH, SBH, BSND, BNSD) and BNSD.
struct Heads {
  std::string layout;
  int64_t heads;
  Tensor To(Tensor t, int64_t n) const {
    if (layout == "SBH") t = t.transpose(0, 1);
    if (layout == "BSH" || layout == "SBH") t = t.unflatten(-1, {n, -1});
    return layout == "BNSD" ? t : t.transpose(1, 2);
  }
  Tensor From(Tensor t) const {
    if (layout != "BNSD") t = t.transpose(1, 2);
    if (layout == "BSH" || layout == "SBH") t = t.flatten(-2);
    return layout == "SBH" ? t.transpose(0, 1) : t;
  }
  int64_t KvHeads(const Tensor& query, const Tensor& key) const {
    const int64_t width = query.size(-1);
    TORCH_CHECK(heads > 0 && width >= heads, "the number of heads is ", heads,
                ", but query has the shape ", query.sizes());
    const int64_t found = layout == "BNSD"   ? key.size(1)
                          : layout == "BSND" ? key.size(2)
                                             : key.size(-1) / (width / heads);
    TORCH_CHECK(found > 0 && heads % found == 0, "the number of heads, ", heads,
                ", is no multiple of key's, ", found);
    return found;
  }
};

PORTACL_COMPOSITION(Attention) {
  const Heads h{in.text("inputLayout"), in.i("numHeads")};
  const auto& [layout, heads] = h;
  const int64_t kv_heads = in.i("numKeyValueHeads") == 0 ? heads : in.i("numKeyValueHeads");
  TORCH_CHECK(!in.has("blockTable"), "paged attention is not served");
  TORCH_CHECK(layout == "BSH" || layout == "BSND" || layout == "BNSD", "layout ", layout,
              " is not served");
  const Tensor q = Wide(h.To(in.t("query"), heads));
  const Tensors keys = in.list("key"), values = in.list("value");
  TORCH_CHECK(!keys.empty() && !values.empty(), "key has ", keys.size(), " members and value ",
              values.size(), ", but each must have one");
  TORCH_CHECK(kv_heads > 0 && heads % kv_heads == 0, "numHeads is ", heads,
              ", no multiple of numKeyValueHeads, ", kv_heads);
  Tensor k = Wide(h.To(keys[0], kv_heads)), v = Wide(h.To(values[0], kv_heads));
  if (kv_heads != heads) {
    k = k.repeat_interleave(heads / kv_heads, 1);
    v = v.repeat_interleave(heads / kv_heads, 1);
  }
  Tensor scores = at::matmul(q, k.transpose(-1, -2)) * in.d("scaleValue");
  const int64_t sq = scores.size(-2), sk = scores.size(-1);
  if (in.has("pseShift")) scores = scores + Wide(in.t("pseShift")).slice(2, 0, sq).slice(3, 0, sk);
  if (in.has("attenMask"))
    scores = scores.masked_fill(in.t("attenMask").to(at::kBool).slice(-2, 0, sq).slice(-1, 0, sk),
                                -INFINITY);
  Tensors results{h.From(at::matmul(at::softmax(scores, -1), v))};
  if (in.b("softmaxLseFlag")) results.push_back(at::logsumexp(scores, {-1}, true));
  return results;
}

// True if pse is added after the scores are scaled (pseType 0). With pseType 1, or without a
// pseType, pse is added before.
bool PseIsAddedLast(const Inputs& in) {
  if (!in.knows("pseType")) return false;
  const int64_t type = in.i("pseType");
  TORCH_CHECK(type == 0 || type == 1, "pseType is ", type, ", but only 0 and 1 are served");
  return type == 0;
}

Tensor ScoresOf(const Inputs& in, const Tensor& q, const Tensor& k) {
  Tensor scores = at::matmul(q, k.transpose(-1, -2));
  const bool scaled_first = PseIsAddedLast(in);
  if (scaled_first) scores = scores * in.d("scale");
  if (in.has("pse")) scores = scores + Wide(in.t("pse"));
  if (!scaled_first) scores = scores * in.d("scale");
  const int64_t sq = scores.size(-2), sk = scores.size(-1), mode = in.i("sparseMode");
  if (mode == 2 || mode == 3) {
    const Tensor all = at::ones({sq, sk}, scores.options().dtype(at::kBool));
    return scores.masked_fill(all.triu(mode == 2 ? 1 : sk - sq + 1), -INFINITY);
  }
  if (in.has("attenMask")) scores = scores.masked_fill(in.t("attenMask").to(at::kBool), -INFINITY);
  return scores;
}

// Returns the weights after dropout.
Tensor Kept(const Inputs& in, const Tensor& weights) {
  if (in.d("keepProb") == 1.0) return weights;
  TORCH_CHECK(in.has("dropMask"), "keepProb is ", in.d("keepProb"), ", but dropMask is null");
  return weights * Unpacked(in.t("dropMask"), weights.sizes()) / in.d("keepProb");
}

PORTACL_COMPOSITION(FlashAttention) {
  const Heads h{in.text("layout"), in.i("heads")};
  const int64_t kv = h.KvHeads(in.t("query"), in.t("key"));
  const Tensor q = Wide(h.To(in.t("query"), h.heads));
  const Tensor k = Wide(h.To(in.t("key"), kv)).repeat_interleave(h.heads / kv, 1),
               v = Wide(h.To(in.t("value"), kv)).repeat_interleave(h.heads / kv, 1);
  const Tensor scores = ScoresOf(in, q, k);
  const Tensor max = at::amax(scores, {-1}, true), sum = at::exp(scores - max).sum(-1, true);
  std::vector<int64_t> eight(max.sizes().begin(), max.sizes().end());
  eight.back() = 8;
  return {max.expand(eight), sum.expand(eight), Tensor(),
          h.From(at::matmul(Kept(in, at::softmax(scores, -1)), v))};
}

PORTACL_COMPOSITION(FlashAttentionGrad) {
  const Heads h{in.text("layout"), in.i("heads")};
  const int64_t kv = h.KvHeads(in.t("query"), in.t("key")), group = h.heads / kv;
  const Tensor q = Wide(h.To(in.t("query"), h.heads)), dy = Wide(h.To(in.t("dy"), h.heads));
  const Tensor k = Wide(h.To(in.t("key"), kv)).repeat_interleave(group, 1),
               v = Wide(h.To(in.t("value"), kv)).repeat_interleave(group, 1);
  const Tensor p = at::softmax(ScoresOf(in, q, k), -1);
  const Tensor dp = Kept(in, at::matmul(dy, v.transpose(-1, -2)));
  const Tensor ds = p * (dp - (dp * p).sum(-1, true));
  const auto sum = [&](Tensor t) { return h.From(t.unflatten(1, {kv, group}).sum(2)); };
  Tensors out{h.From(at::matmul(ds, k)) * in.d("scale"),
              sum(at::matmul(ds.transpose(-1, -2), q)) * in.d("scale"),
              sum(at::matmul(Kept(in, p).transpose(-1, -2), dy))};
  if (in.has("pse")) out.push_back(PseIsAddedLast(in) ? ds : ds * in.d("scale"));
  return out;
}

PORTACL_COMPOSITION(WeightQuantBatchMatmul) {
  const Tensor x = in.t("x");
  const int64_t group = in.i("antiquantGroupSize");
  Tensor weight = in.t("weight").to(at::kFloat);
  const auto spread = [&](Tensor t) {
    t = t.to(at::kFloat);
    return group > 0 ? t.repeat_interleave(group, 0).narrow(0, 0, weight.size(0)) : t;
  };
  if (in.has("antiquantOffset")) weight = weight + spread(in.t("antiquantOffset"));
  weight = weight * spread(in.t("antiquantScale"));
  Tensor y = at::matmul(x.to(at::kFloat), weight);
  if (in.has("bias")) y = y + in.t("bias");
  if (in.has("quantScale"))
    y = at::round(y * in.t("quantScale") +
                  (in.has("quantOffset") ? in.t("quantOffset") : at::zeros({})))
            .clamp(-128, 127);
  return {y};
}

PORTACL_COMPOSITION(SwiGlu) {
  const Tensors halves = Halves(Wide(in.t("x")), in.i("dim"));
  return {at::silu(halves[0]) * halves[1]};
}

PORTACL_COMPOSITION(SwiGluGrad) {
  const Tensors halves = Halves(Wide(in.t("x")), in.i("dim"));
  const Tensor dy = Wide(in.t("dy")), sig = at::sigmoid(halves[0]);
  return {at::cat({dy * halves[1] * sig * (1 + halves[0] * (1 - sig)), dy * halves[0] * sig},
                  in.i("dim"))};
}

PORTACL_COMPOSITION(GeGlu) {
  Tensors halves = Halves(Wide(in.t("self")), in.i("dim"));
  if (!in.b("activateLeft")) std::swap(halves[0], halves[1]);
  const Tensor gelu = at::gelu(halves[0], in.i("approximate") == 1 ? "tanh" : "none");
  return {gelu * halves[1], gelu};
}

Tensors RmsNormOf(const Tensor& x, const Tensor& gamma, double epsilon) {
  const Tensor wide = Wide(x);
  const Tensor rstd = at::rsqrt(wide.pow(2).mean(Last(gamma.dim()), true) + epsilon);
  return {(wide * rstd * Wide(gamma)), rstd};
}

PORTACL_COMPOSITION(RmsNorm) { return RmsNormOf(in.t("x"), in.t("gamma"), in.d("epsilon")); }
PORTACL_COMPOSITION(AddRmsNorm) {
  const Tensor sum = in.t("x1") + in.t("x2");
  Tensors out = RmsNormOf(sum, in.t("gamma"), in.d("epsilon"));
  out.push_back(sum);
  return out;
}

PORTACL_COMPOSITION(RmsNormGrad) {
  const Tensor x = Wide(in.t("x")), dy = Wide(in.t("dy")), gamma = Wide(in.t("gamma"));
  Tensor rstd = in.t("rstd");
  while (rstd.dim() < x.dim()) rstd = rstd.unsqueeze(-1);
  const Tensor normed = x * rstd, g = dy * gamma;
  return {rstd * (g - normed * (g * normed).mean(Last(gamma.dim()), true)),
          at::sum_to(dy * normed, gamma.sizes())};
}

}  // namespace
}  // namespace portacl::aten
