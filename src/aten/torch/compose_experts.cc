// Compositions of mixtures of experts (routing, grouped products) and of optimizers. They compute
// the same as torch_npu's functions with these names.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "aten/torch/compose.h"

namespace portacl::aten {
namespace {

using at::Tensor;

// Refuses arguments of quantised forms: lists that have a member with elements.
void RefuseGiven(const Inputs& in, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (!in.knows(name) || !in.has(name)) continue;
    for (const Tensor& t : in.list(name))
      TORCH_CHECK(t.numel() == 0, name, " is given, but quantised products are not served");
  }
}

void RefusePadded(const Inputs& in) {
  TORCH_CHECK(!in.b("paddedMode"), "paddedMode is true, but only false is served");
}

// Returns t[index]: rows of t. Index -1 is the last row.
Tensor Rows(const Tensor& t, const Tensor& index) {
  c10::List<Optional<Tensor>> list;
  list.push_back(index.to(at::kLong));
  return at::index(t, list);
}

// Returns `rows` rows of zeros, plus t's rows at the rows that `index` names.
Tensor AddedRows(int64_t rows, const Tensor& index, const Tensor& t) {
  std::vector<int64_t> sizes = t.sizes().vec();
  TORCH_CHECK(!sizes.empty() && rows >= 0, "no rows in the shape ", t.sizes());
  sizes[0] = rows;
  return at::zeros(sizes, t.options()).index_add(0, index.to(at::kLong), t);
}

// Returns the indices that sort the last axis, stably. Order(Order(t)): where each element went.
Tensor Order(const Tensor& t, bool descending = false) {
  return std::get<1>(at::sort(t, true, -1, descending));
}

Tensor Arange(int64_t count, const Tensor& like) {
  return at::arange(count, like.options().dtype(at::kLong));
}

// Counts how often a flat tensor has each of the values 0 to count - 1.
Tensor CountsOf(const Tensor& values, int64_t count) {
  return AddedRows(count, values, at::ones_like(values, values.options().dtype(at::kLong)));
}

int64_t WidthOf(const Tensor& t) { return t.dim() == 2 ? t.size(1) : 1; }

PORTACL_COMPOSITION(MoeInitRouting) {
  const Tensor x = in.t("x"), experts = in.t("expertIdx"), order = Order(experts.flatten());
  const Tensor rows = Rows(in.t("rowIdx").flatten(), order);
  const int64_t k = WidthOf(experts), tokens = experts.numel() / std::max<int64_t>(k, 1);
  const int64_t active = std::clamp<int64_t>(in.i("activeNum"), 0, std::min(x.size(0), tokens));
  return {Rows(x, rows.remainder(std::max<int64_t>(x.size(0), 1))).slice(0, 0, active * k),
          Order(rows), Rows(experts.flatten(), order)};
}

// Gives each expert `capacity` rows. Returns these rows, and each token's row. Tokens beyond the
// capacity are dropped (row -1); rows without a token are 0.
std::pair<Tensor, Tensor> Padded(const Tensor& tokens, const Tensor& experts, const Tensor& counts,
                                 int64_t capacity) {
  const int64_t all = counts.numel() * capacity;
  const Tensor rank = Arange(experts.numel(), experts) - Rows(counts.cumsum(0) - counts, experts);
  const Tensor slot =
      at::where(rank < capacity, experts * capacity + rank, at::full_like(rank, all));
  return {
      AddedRows(all + 1, slot, tokens).slice(0, 0, all).unflatten(0, {counts.numel(), capacity}),
      at::where(slot < all, slot, at::full_like(slot, -1))};
}

PORTACL_COMPOSITION(MoeInitRoutingV2) {
  const Tensor x = in.t("x"), experts = in.t("expertIdx").flatten().to(at::kLong);
  const Tensor order = Order(experts), places = Order(order);
  const int64_t k = std::max<int64_t>(WidthOf(in.t("expertIdx")), 1), count = in.i("expertNum");
  const int64_t active = in.i("activeNum"), flag = in.i("expertTokensCountOrCumsumFlag");
  const bool pads = in.i("dropPadMode") == 1;
  TORCH_CHECK(count >= 0 && count <= INT32_MAX, "expertNum is ", count);
  const Tensor tokens = Rows(x, order.div(k, "floor"));
  const Tensor counts = pads || flag != 0 ? CountsOf(experts, count) : Tensor();
  if (!pads) {
    return {active > 0 ? tokens.slice(0, 0, active) : tokens, places,
            flag == 1 ? counts.cumsum(0) : counts};
  }
  const int64_t capacity = in.i("expertCapacity"), most = INT64_MAX / std::max<int64_t>(count, 1);
  TORCH_CHECK(capacity > 0 && capacity <= x.size(0) && capacity < most, "expertCapacity is ",
              capacity);
  const auto [padded, rows] = Padded(tokens, Rows(experts, order), counts, capacity);
  return {padded, Rows(rows, places), Tensor(),
          in.b("expertTokensBeforeCapacityFlag") ? counts : Tensor()};
}

// dropPadMode 2 and 3: expandedRowIdx counts by rows, not by columns. Row -1 adds nothing.
PORTACL_COMPOSITION(MoeFinalizeRouting) {
  const Tensor x = Wide(in.t("expandedX")).flatten(0, -2), index = in.t("expandedRowIdx");
  const int64_t mode = in.knows("dropPadMode") ? in.i("dropPadMode") : 0;
  const int64_t k = in.has("scales") ? in.t("scales").size(1) : 1;
  TORCH_CHECK(k > 0 && mode >= 0 && mode <= 3, "dropPadMode is ", mode, " and scales has ", k,
              " columns");
  const Tensor places = mode >= 2 ? index.reshape({-1, k}) : index.reshape({k, -1}).t();
  Tensor rows = Rows(at::cat({x, x.new_zeros({1, x.size(-1)})}), places);
  if (in.has("bias")) rows = rows + Rows(Wide(in.t("bias")), in.t("expertIdx"));
  if (in.has("scales")) rows = rows * Wide(in.t("scales")).unsqueeze(-1);
  Tensor out = rows.sum(1);
  for (const char* const name : {"x1", "x2"}) out = in.has(name) ? out + in.t(name) : out;
  return {out};
}

// Returns the k largest elements of the last axis and their indices; equal ones in their order.
std::pair<Tensor, Tensor> Largest(const Tensor& t, int64_t k) {
  TORCH_CHECK(t.dim() > 0 && k >= 1 && k <= t.size(-1), "k is ", k, ", but the shape is ",
              t.sizes());
  const auto [values, indices] = at::sort(t, true, -1, true);
  return {values.slice(-1, 0, k), indices.slice(-1, 0, k)};
}

PORTACL_COMPOSITION(MoeGatingTopKSoftmax) {
  const Tensor x = Wide(in.t("x")), softmax = at::softmax(x, -1);
  const int64_t k = in.i("k");
  const bool v2 = in.knows("renorm"), last = v2 && in.i("renorm") == 1;
  auto [y, experts] = Largest(last ? x : softmax, k);
  if (last) y = at::softmax(y, -1);
  if (in.has("finished")) experts = experts.masked_fill(in.t("finished").unsqueeze(-1), x.size(-1));
  if (v2) return {y, experts, in.b("outputSoftmaxResultFlag") && !last ? softmax : Tensor()};
  return {y, experts, Arange(y.numel(), y).view({k, -1}).t().reshape(y.sizes())};
}

PORTACL_COMPOSITION(MoeGatingTopK) {
  const Tensor x = Wide(in.t("x"));
  const int64_t groups = in.i("groupCount"), by_sigmoid = in.i("normType");
  TORCH_CHECK(in.i("renorm") == 0, "renorm is ", in.i("renorm"), ", but only 0 is served");
  const Tensor norm = by_sigmoid == 1 ? x.sigmoid() : at::softmax(x, -1);
  Tensor scores = in.has("bias") ? norm + Wide(in.t("bias")) : norm;
  if (groups > 1) {
    scores = scores.unflatten(-1, {groups, -1});
    const Tensor best =
        in.i("groupSelectMode") == 0 ? scores.amax(-1) : Largest(scores, 2).first.sum(-1);
    const Tensor out = at::ones_like(best, best.options().dtype(at::kBool))
                           .scatter(-1, Largest(best, in.i("kGroup")).second, 0);
    scores = scores.masked_fill(out.unsqueeze(-1), -INFINITY).flatten(-2);
  }
  const Tensor experts = Largest(scores, in.i("k")).second;
  Tensor y = norm.gather(-1, experts);
  if (by_sigmoid == 1) y = y / (y.sum(-1, true) + in.d("eps"));
  return {y * in.d("routedScalingFactor"), experts, in.b("outFlag") ? norm : Tensor()};
}

PORTACL_COMPOSITION(MoeComputeExpertTokens) {
  return {CountsOf(in.t("sortedExperts"), in.i("numExperts")).cumsum(0)};
}

// Sums, for each token, its `width` rows. Indices behind the last row add nothing.
Tensor Unpermuted(const Tensor& rows, const Tensor& indices, int64_t width, const Tensor& probs) {
  const Tensor x = at::cat({rows, rows.new_zeros({1, rows.size(-1)})});
  Tensor picked = Rows(x, indices.clamp_max(rows.size(0))).unflatten(0, {-1, width});
  if (probs.defined()) picked = picked * probs.unsqueeze(-1);
  return picked.sum(1);
}

PORTACL_COMPOSITION(MoeTokenPermute) {
  RefusePadded(in);
  const Tensor indices = in.t("indices"), order = Order(indices.flatten());
  const Tensor rows = order.div(std::max<int64_t>(WidthOf(indices), 1), "floor");
  const int64_t given = in.i("numOutTokens"), count = given + (given > 0 ? 0 : order.numel());
  TORCH_CHECK(count >= 0, "numOutTokens is ", given, ", but there are ", order.numel(), " rows");
  return {Rows(in.t("tokens"), rows.slice(0, 0, count)), Order(order)};
}
PORTACL_COMPOSITION(MoeTokenPermuteGrad) {
  RefusePadded(in);
  return {Unpermuted(Wide(in.t("grad")), in.t("sortedIndices"), in.i("numTopk"), Tensor())};
}
PORTACL_COMPOSITION(MoeTokenUnpermute) {
  RefusePadded(in);
  const Tensor probs = in.has("probs") ? Wide(in.t("probs")) : Tensor();
  return {Unpermuted(Wide(in.t("permutedTokens")), in.t("sortedIndices"),
                     probs.defined() ? probs.size(1) : 1, probs)};
}
PORTACL_COMPOSITION(MoeTokenUnpermuteGrad) {
  RefusePadded(in);
  const Tensor grad = Wide(in.t("grad")).unsqueeze(1), indices = in.t("sortedIndices");
  const int64_t rows = in.t("permutedTokensGrad").size(0);
  TORCH_CHECK(rows < INT64_MAX, "permutedTokensGrad has ", rows, " rows");
  const Tensor probs =
      in.has("probs") ? Wide(in.t("probs")).unsqueeze(-1) : at::ones({1, 1, 1}, grad.options());
  const Tensor places = indices.clamp_max(rows);
  Tensors out{AddedRows(rows + 1, places, (grad * probs).flatten(0, 1)).slice(0, 0, rows)};
  if (!in.has("probs")) return out;
  const Tensor x = Wide(in.t("permutedTokens"));
  const Tensor picked = Rows(at::cat({x, x.new_zeros({1, x.size(-1)})}), places);
  out.push_back((picked.unflatten(0, {grad.size(0), -1}) * grad).sum(-1));
  return out;
}

// Returns the indices of marked elements in the transposed routing map, expert by expert. Unpadded:
// of all `count` elements. Padded: of the first count / experts tokens of each expert.
Tensor Marked(const Tensor& map, int64_t count, bool padded) {
  const Tensor turned = map.to(at::kByte).t().contiguous();
  const int64_t experts = map.size(1);
  if (!padded) {
    const int64_t marked = map.is_meta() ? count : turned.count_nonzero().item<int64_t>();
    TORCH_CHECK(marked == count, "routingMap marks ", marked, " elements, but there are ", count);
    return Order(turned.flatten(), true).slice(0, 0, count);
  }
  const Tensor first = Order(turned, true).slice(1, 0, count / std::max<int64_t>(experts, 1));
  return (first + Arange(experts, map).unsqueeze(1) * map.size(0)).flatten();
}

Tensor OfExperts(const Tensor& probs, const Tensor& marked) {
  return Rows(Wide(probs).t().flatten(), marked);
}
// The gradient of OfExperts().
Tensor OfTokens(const Tensor& grad, const Tensor& marked, const Tensor& map) {
  return AddedRows(map.numel(), marked, Wide(grad)).view({map.size(1), map.size(0)}).t();
}

PORTACL_COMPOSITION(MoeTokenPermuteWithRoutingMap) {
  const Tensor map = in.t("routingMap");
  const bool padded = in.b("dropAndPad");
  const int64_t tokens = map.size(0), parts = std::max<int64_t>(map.size(padded ? 1 : 0), 1);
  TORCH_CHECK(in.i("numOutTokens") >= 0, "numOutTokens is ", in.i("numOutTokens"));
  const Tensor marked = Marked(map, in.i("numOutTokens") / parts * parts, padded);
  const Tensor rows = marked.remainder(std::max<int64_t>(tokens, 1));
  return {Rows(in.t("tokens"), rows), in.has("probs") ? OfExperts(in.t("probs"), marked) : Tensor(),
          padded ? rows : Order(rows)};
}
PORTACL_COMPOSITION(MoeTokenPermuteWithRoutingMapGrad) {
  const Tensor grad = Wide(in.t("grad")), indices = in.t("sortedIndices");
  const int64_t tokens = in.i("tokensNum");
  const bool padded = in.b("dropAndPad");
  Tensors out{
      padded ? AddedRows(tokens, indices, grad)
             : Unpermuted(grad, indices, indices.numel() / std::max<int64_t>(tokens, 1), Tensor())};
  if (!in.has("probsGrad")) return out;
  TORCH_CHECK(in.has("routingMap"), "routingMap is null, but probsGrad is not");
  const Tensor map = in.t("routingMap"), marked = Marked(map, indices.numel(), padded);
  out.push_back(OfTokens(in.t("probsGrad"), marked, map));
  return out;
}
PORTACL_COMPOSITION(MoeTokenUnpermuteWithRoutingMap) {
  const std::vector<int64_t> sizes = in.ints("restoreShape");
  TORCH_CHECK(sizes.size() == 2 && sizes[0] >= 0, "restoreShape has ", sizes.size(), " numbers");
  const bool padded = in.b("paddedMode");
  const Tensor indices = in.t("sortedIndices");
  const int64_t width = std::max<int64_t>(indices.numel() / std::max<int64_t>(sizes[0], 1), 1);
  Tensor rows = Wide(in.t("permutedTokens")), probs;
  if (in.has("probs")) {
    TORCH_CHECK(in.has("routingMap"), "routingMap is null, but probs is not");
    probs = OfExperts(in.t("probs"), Marked(in.t("routingMap"), indices.numel(), padded));
    rows = rows * probs.unsqueeze(-1);
  }
  if (!padded) {
    return {Unpermuted(rows, indices, width, Tensor()), indices,
            Arange(indices.numel(), indices).div(width, "floor"), probs};
  }
  const Tensor order = Order(indices);
  return {AddedRows(sizes[0], indices, rows), order, Rows(indices, order), probs};
}
PORTACL_COMPOSITION(MoeTokenUnpermuteWithRoutingMapGrad) {
  const Tensor index = in.t("outIndex"), ids = in.t("permuteTokenId");
  const Tensor grad = AddedRows(index.numel(), index, Rows(Wide(in.t("grad")), ids));
  if (!in.has("probs")) return {grad};
  TORCH_CHECK(in.has("routingMap") && in.has("permutedTokens"),
              "routingMap or permutedTokens is null, but probs is not");
  const Tensor map = in.t("routingMap"), marked = Marked(map, index.numel(), in.b("dropAndPad"));
  const Tensor of_rows = (grad * Wide(in.t("permutedTokens"))).sum(-1);
  return {grad * OfExperts(in.t("probs"), marked).unsqueeze(-1), OfTokens(of_rows, marked, map)};
}

// Returns the groups' lengths. groupList has lengths (groupListType 1) or ends (0).
std::vector<int64_t> LengthsOf(const Inputs& in, int64_t rows) {
  const Tensor list = in["groupList"].isTensor() ? in.t("groupList").to(at::kLong).contiguous()
                                                 : at::tensor(in.ints("groupList"), at::kLong);
  const auto* const first = list.data_ptr<int64_t>();
  std::vector<int64_t> numbers(first, first + list.numel());
  const int64_t type = in.knows("groupListType") ? in.i("groupListType") : 0;
  TORCH_CHECK(type == 0 || type == 1, "groupListType is ", type, ", but only 0 and 1 are served");
  for (const int64_t number : numbers) {
    TORCH_CHECK(number >= 0 && number <= rows, "groupList has ", number, ", but ", rows, " rows");
    if (type == 1) rows -= number;  // rows that are left
  }
  for (size_t i = numbers.size(); type == 0 && i-- > 1;) numbers[i] -= numbers[i - 1];
  return numbers;
}

// If `wanted`, splits a list's only member of `axes` dimensions along the first axis.
Tensors Unbound(Tensors list, int64_t axes, bool wanted) {
  return wanted && list.size() == 1 && list[0].dim() == axes ? list[0].unbind(0) : list;
}

// Returns x[i] weight[i] + bias[i] for each i.
Tensors Products(const Tensors& x, const Tensors& weight, const Tensors& bias) {
  TORCH_CHECK(weight.size() == x.size() && (bias.empty() || bias.size() == x.size()), "weight has ",
              weight.size(), " members and bias ", bias.size(), ", but x ", x.size());
  Tensors out;
  for (size_t i = 0; i < x.size(); ++i) {
    out.push_back(at::matmul(x[i], weight[i]));
    if (!bias.empty()) out[i] = out[i] + bias[i];
  }
  return out;
}

// Splits x into the groups' rows (groupType 0), or x's columns and the only weight's rows (2).
void Divide(const Inputs& in, bool columns, bool joined, Tensors* x, Tensors* weight) {
  const int64_t axis = columns ? 1 : 0, rows = x->front().size(axis);
  const std::vector<int64_t> lengths = LengthsOf(in, rows);
  const int64_t all = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
  *x = x->front().narrow(axis, 0, all).split_with_sizes(lengths, axis);
  TORCH_CHECK(columns || !joined || all == rows, "groupList divides ", all, " rows, but x has ",
              rows);
  if (!columns || weight->size() != 1) return;
  *weight = weight->front().narrow(0, 0, all).split_with_sizes(lengths, 0);
}

// Returns the products' shapes in phase 1, if groupList is a tensor: it has no numbers yet.
Tensors WithoutLengths(const Tensor& x, const Tensors& weight, const Tensors& bias, int64_t groups,
                       bool columns, bool joined) {
  const auto members = static_cast<int64_t>(weight.size());
  TORCH_CHECK(members == groups || (columns && members == 1), "weight has ", members,
              " members, but groupList ", groups);
  if (columns) return {at::matmul(x, at::cat(weight)).unsqueeze(0).expand({groups, -1, -1})};
  const Tensors out = Products(Tensors(weight.size(), x.slice(0, 0, 1)), weight, bias);
  return joined ? Tensors{x.new_empty({x.size(0), at::cat(out).size(-1)})} : Tensors();
}

// Computes x[i] weight[i] for lists, or for the groups of one x. Joins them if y has one member.
PORTACL_COMPOSITION(GroupedMatmul) {
  RefuseGiven(in, {"scale", "offset", "antiquantScale", "antiquantOffset", "perTokenScale",
                   "activationInput", "activationQuantScale", "activationQuantOffset"});
  Tensors x = in.list("x"), weight = in.list("weight");
  TORCH_CHECK(!x.empty() && !weight.empty() && weight[0].dim() > 0, "x or weight has no members");
  TORCH_CHECK(!in.knows("actType") || in.i("actType") == 0, "actType is not 0: not served");
  const bool divided = in.has("groupList") && x.size() == 1, joined = in.list("y").size() == 1;
  const int64_t type = in.knows("groupType") ? in.i("groupType") : 0;
  TORCH_CHECK(!divided || type == 0 || type == 2, "groups of this kind are not served");
  weight = Unbound(weight, 3, type != 2);
  const bool several = weight.size() > 1 || type == 2;
  const Tensors bias = in.has("bias") ? Unbound(in.list("bias"), 2, several) : Tensors();
  if (divided && in["groupList"].isTensor() && x[0].is_meta()) {
    return WithoutLengths(x[0], weight, bias, in.t("groupList").numel(), type == 2, joined);
  }
  if (divided) Divide(in, type == 2, joined, &x, &weight);
  const Tensors out = Products(x, weight, bias);
  if (type == 2 && divided) return {at::stack(out)};
  return joined ? Tensors{at::cat(out)} : out;
}

// AdamW's step with numbers or tensors of one element. The powers are beta^t in double, because
// 1 - beta^t loses digits.
template <class Number>
Tensors AdamW(const Inputs& in, const Number& lr, const Number& decay, const Number& beta1,
              const Number& beta2, const Number& eps, const Tensor& power1, const Tensor& power2) {
  const bool amsgrad = in.b("amsgrad");
  TORCH_CHECK(!amsgrad || in.has("maxGradNorm"), "amsgrad is true, but maxGradNorm is null");
  const Tensor grad = in.b("maximize") ? -Wide(in.t("grad")) : Wide(in.t("grad"));
  const Tensor m = Wide(in.t("mRef")) * beta1 + grad * (1 - beta1);
  const Tensor v = Wide(in.t("vRef")) * beta2 + grad * grad * (1 - beta2);
  const Tensor most = amsgrad ? at::maximum(Wide(in.t("maxGradNorm")), v) : v;
  const auto rest = [&](const Tensor& power) { return (1 - power).to(m.scalar_type()); };
  const Tensor step = m / (at::sqrt(most / rest(power2)) + eps) / rest(power1);
  return {Wide(in.t("varRef")) * (1 - lr * decay) - step * lr, m, v, amsgrad ? most : Tensor()};
}

// beta1Power and beta2Power belong to the previous step.
PORTACL_COMPOSITION(ApplyAdamW) {
  const auto one = [&](std::string_view name) { return Wide(in.t(name)); };
  const Tensor beta1 = one("beta1"), beta2 = one("beta2");
  return AdamW(in, one("lr"), one("weightDecay"), beta1, beta2, one("eps"),
               in.t("beta1Power").to(at::kDouble) * beta1.to(at::kDouble),
               in.t("beta2Power").to(at::kDouble) * beta2.to(at::kDouble));
}
// step counts from 0, because torch_npu's _fused_adamw_ subtracts 1 from PyTorch's step.
PORTACL_COMPOSITION(ApplyAdamWV2) {
  const double beta1 = in.d("beta1"), beta2 = in.d("beta2");
  const Tensor t = in.t("step").to(at::kDouble) + 1;
  return AdamW(in, in.d("lr"), in.d("weightDecay"), beta1, beta2, in.d("eps"), at::pow(beta1, t),
               at::pow(beta2, t));
}

// beta1Power and beta2Power belong to this step.
PORTACL_COMPOSITION(ApplyAdam) {
  const auto one = [&](std::string_view name) { return Wide(in.t(name)); };
  const Tensor grad = one("grad"), beta1 = one("beta1"), beta2 = one("beta2");
  const Tensor m = one("mRef") * beta1 + grad * (1 - beta1);
  const Tensor v = one("vRef") * beta2 + grad * grad * (1 - beta2);
  const Tensor move = in.b("useNesterov") ? m * beta1 + grad * (1 - beta1) : m;
  const Tensor step = one("lr") * at::sqrt(1 - one("beta2Power")) / (1 - one("beta1Power"));
  return {one("varRef") - step * move / (at::sqrt(v) + one("epsilon")), m, v};
}

}  // namespace
}  // namespace portacl::aten
