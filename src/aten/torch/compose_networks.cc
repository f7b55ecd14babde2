// Compositions for networks: pooling, normalisation, activations, losses.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include "aten/torch/compose.h"

namespace portacl::aten {
namespace {

using at::Tensor;

PORTACL_COMPOSITION(GeluV2) {
  return {at::gelu(in.t("self"), in.i("approximate") == 1 ? "tanh" : "none")};
}
PORTACL_COMPOSITION(SoftmaxCrossEntropyWithLogits) {
  const Tensor logits = in.t("features"), labels = in.t("labels");
  const Tensor log = at::log_softmax(logits, -1);
  return {-(labels * log).sum(-1), log.exp() - labels};
}

// "pads" has one number for all sides, one per axis, or four: top, bottom, left, right.
PORTACL_COMPOSITION(MaxPool) {
  std::vector<int64_t> p = in.ints("pads");
  TORCH_CHECK(p.size() <= 4 && p.size() != 3, "pads has ", p.size(),
              " elements, but must have 0, 1, 2 or 4");
  if (p.size() == 1) p = std::vector<int64_t>(4, p[0]);
  if (p.size() == 2) p = {p[0], p[0], p[1], p[1]};
  Tensor self = in.t("self");
  if (std::ranges::any_of(p, [](int64_t pad) { return pad != 0; })) {
    self = at::constant_pad_nd(self, {p[2], p[3], p[0], p[1]}, -INFINITY);
  }
  return {at::max_pool2d(self, in.ints("kernelShape"), in.ints("strides"), {0, 0},
                         in.ints("dilations"), in.b("ceilMode"))};
}

// Updates the running statistics in place.
PORTACL_COMPOSITION(BatchNorm) {
  const auto [out, mean, invstd] =
      at::native_batch_norm(in.t("input"), in.opt("weight"), in.opt("bias"), in.opt("runningMean"),
                            in.opt("runningVar"), in.b("training"), in.d("momentum"), in.d("eps"));
  const auto unless_empty = [](const Tensor& t) { return t.numel() > 0 ? t : Tensor(); };
  return {Tensor(), Tensor(), out, unless_empty(mean), unless_empty(invstd)};
}

std::vector<int64_t> NotChannel(const Tensor& t) {
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < t.dim(); ++d)
    if (d != 1) dims.push_back(d);
  return dims;
}

PORTACL_COMPOSITION(BatchNormElemt) {
  const Tensor x = in.t("input");
  std::vector<int64_t> shape(static_cast<size_t>(x.dim()), 1);
  shape[1] = x.size(1);
  Tensor y = (x - in.t("mean").reshape(shape)) * in.t("invstd").reshape(shape);
  if (in.has("weight")) y = y * in.t("weight").reshape(shape);
  if (in.has("bias")) y = y + in.t("bias").reshape(shape);
  return {y};
}

PORTACL_COMPOSITION(BatchNormStats) {
  const Tensor x = Wide(in.t("input"));
  const auto dims = NotChannel(x);
  return {x.mean(dims), at::rsqrt(x.var(dims, false) + in.d("eps"))};
}

PORTACL_COMPOSITION(ConvDepthwise2d) {
  return {at::conv2d(in.t("self"), in.t("weight"), in.opt("bias"), in.ints("stride"),
                     in.ints("padding"), in.ints("dilation"), in.t("self").size(-3))};
}

Optional<double> Eps(const Inputs& in) {
  return in.d("eps") < 0 ? Optional<double>() : Optional<double>(in.d("eps"));
}
PORTACL_COMPOSITION(Logit) { return {at::logit(in.t("self"), Eps(in))}; }
PORTACL_COMPOSITION(LogitGrad) { return {at::logit_backward(in.t("grad"), in.t("self"), Eps(in))}; }
// Replaces _prelu_kernel, which PyTorch 1.13 does not have.
PORTACL_COMPOSITION(Prelu) {
  const Tensor self = in.t("self");
  return {at::where(self > 0, self, in.t("weight") * self)};
}
PORTACL_COMPOSITION(PreluBackward) {
  const Tensor grad = in.t("grad"), self = in.t("self"), weight = in.t("weight");
  const Tensor gw = at::where(self > 0, at::zeros({}, self.options()), self * grad);
  return {at::where(self > 0, grad, weight * grad), at::sum_to(gw, weight.sizes())};
}

PORTACL_COMPOSITION(L1LossBackward) {
  const Tensor self = in.t("self"), sign = at::sign(self - in.t("target"));
  Tensor g = in.t("grad") * sign;
  return {in.i("reduction") == 1 ? g / static_cast<double>(sign.numel()) : g};
}

PORTACL_COMPOSITION(KlDivBackward) {
  const Tensor target = in.t("target"), self = in.t("self");
  Tensor g = in.b("logTarget")
                 ? -target.exp() * in.t("grad")
                 : at::where(target > 0, -target * in.t("grad"), at::zeros({}, target.options()));
  g = g.expand(at::infer_size(self.sizes(), g.sizes()));
  return {in.i("reduction") == 1 ? g / static_cast<double>(self.numel()) : g};
}

PORTACL_COMPOSITION(FastGelu) {
  const Tensor x = Wide(in.t("self"));
  return {x * at::sigmoid(1.702 * x)};
}
PORTACL_COMPOSITION(FastGeluBackward) {
  const Tensor x = Wide(in.t("self")), sigmoid = at::sigmoid(1.702 * x);
  return {Wide(in.t("grad")) * sigmoid * (1 + 1.702 * x * (1 - sigmoid))};
}

// Leaves the buffer empty, as a device does.
PORTACL_COMPOSITION(LogSigmoidForward) {
  const auto [out, buffer] = at::log_sigmoid_forward(in.t("self"));
  return {out, in.t("buffer").numel() == 0 ? Tensor() : buffer};
}
PORTACL_COMPOSITION(LogSigmoidBackward) {
  const Tensor buffer = in.t("buffer");
  return {at::log_sigmoid_backward(
      in.t("grad"), in.t("self"),
      buffer.numel() == 0 ? std::get<1>(at::log_sigmoid_forward(in.t("self"))) : buffer)};
}

PORTACL_COMPOSITION(BatchNormReduce) {
  const Tensor x = Wide(in.t("x"));
  return {x.sum(NotChannel(x)), at::square(x).sum(NotChannel(x))};
}

PORTACL_COMPOSITION(KlDivTargetBackward) {
  const Tensor target = in.t("target"), self = in.t("self");
  Tensor g = in.b("logTarget")
                 ? target.exp() * (target + 1 - self)
                 : at::where(target > 0, target.log() + 1 - self, at::zeros({}, target.options()));
  g = at::sum_to(in.t("grad") * g, target.sizes());
  return {in.i("reduction") == 1 ? g / static_cast<double>(self.numel()) : g};
}

// A device returns more columns than PyTorch, but only the gradient reads them.
PORTACL_COMPOSITION(CtcLoss) {
  const auto [loss, alpha] =
      at::_ctc_loss(in.t("logProbs"), in.t("targets"), in.ints("inputLengths"),
                    in.ints("targetLengths"), in.i("blank"), in.b("zeroInfinity"));
  const int64_t more = in.t("logAlpha").size(-1) - alpha.size(-1);
  return {loss, more > 0 ? at::constant_pad_nd(alpha, {0, more}, -INFINITY) : alpha};
}
// Checks the lengths, because PyTorch's gradient does not.
PORTACL_COMPOSITION(CtcLossBackward) {
  const Tensor chances = in.t("log_probs"), targets = in.t("targets");
  const std::vector<int64_t> inputs = in.ints("input_lengths"), lengths = in.ints("target_lengths");
  TORCH_CHECK(chances.dim() == 3, "log_probs has the shape ", chances.sizes(), ", not three axes");
  const auto batch = static_cast<size_t>(chances.size(1));
  TORCH_CHECK(inputs.size() == batch && lengths.size() == batch, "input_lengths has ",
              inputs.size(), " numbers and target_lengths ", lengths.size(), ", but the batch is ",
              batch);
  TORCH_CHECK(in.t("grad").numel() == chances.size(1) &&
                  in.t("neg_log_likelihood").numel() == chances.size(1),
              "grad and neg_log_likelihood must have ", batch, " elements");
  int64_t most = 0, all = 0;
  for (size_t i = 0; i < batch; ++i) {
    TORCH_CHECK(inputs[i] >= 0 && inputs[i] <= chances.size(0) && lengths[i] >= 0 &&
                    lengths[i] <= targets.numel(),
                "input_lengths or target_lengths of sequence ", i, " is ", inputs[i], " or ",
                lengths[i]);
    most = std::max(most, lengths[i]);
    all += lengths[i];
  }
  TORCH_CHECK(targets.dim() == 1 ? targets.numel() >= all
                                 : targets.dim() == 2 && targets.size(0) == chances.size(1) &&
                                       targets.size(1) >= most,
              "targets has the shape ", targets.sizes(), ", too small for target_lengths");
  const Tensor alpha = in.t("log_alpha");
  TORCH_CHECK(alpha.dim() == 3 && alpha.size(0) == chances.size(1) &&
                  alpha.size(1) >= chances.size(0) && alpha.size(2) >= 2 * most + 1,
              "log_alpha has the shape ", alpha.sizes());
  TORCH_CHECK(in.i("blank") >= 0 && in.i("blank") < chances.size(2), "blank is ", in.i("blank"));
  return {at::_ctc_loss_backward(
      in.t("grad"), chances, targets, inputs, lengths, in.t("neg_log_likelihood"),
      alpha.slice(-1, 0, 2 * most + 1).contiguous(), in.i("blank"), in.b("zero_infinity"))};
}

PORTACL_COMPOSITION(BceWithLogitsBackward) {
  const Tensor x = in.t("self"), t = in.t("target");
  Tensor g = in.has("posWeight")
                 ? ((in.t("posWeight") * t + 1 - t) * at::sigmoid(x) - in.t("posWeight") * t)
                 : at::sigmoid(x) - t;
  g = g * in.t("grad");
  if (in.has("weight")) g = g * in.t("weight");
  return {in.i("reduction") == 1 ? g / static_cast<double>(x.numel()) : g};
}

// A device's mask has its own layout. Only the gradient reads the mask, and this gradient computes
// the places again.
std::tuple<Tensor, Tensor> MaximaAndPlaces(const Inputs& in) {
  return at::max_pool2d_with_indices(in.t("self"), in.ints("kernel"), in.ints("stride"),
                                     in.ints("padding"), in.ints("dilation"), in.b("ceil"));
}
PORTACL_COMPOSITION(MaxPoolMask) { return {std::get<0>(MaximaAndPlaces(in))}; }
PORTACL_COMPOSITION(MaxPoolMaskBackward) {
  return {at::max_pool2d_with_indices_backward(
      in.t("grad"), in.t("self"), in.ints("kernel"), in.ints("stride"), in.ints("padding"),
      in.ints("dilation"), in.b("ceil"), std::get<1>(MaximaAndPlaces(in)))};
}

// Checks indices by index_select(), because PyTorch counts them without a check.
PORTACL_COMPOSITION(EmbeddingDenseBackward) {
  const Tensor grad = in.t("grad"), indices = in.t("indices").to(at::kLong).contiguous();
  if (in.b("scale")) at::empty({in.i("num")}, grad.options()).index_select(0, indices.flatten());
  return {at::embedding_dense_backward(grad, indices, in.i("num"), in.i("padding"), in.b("scale"))};
}

}  // namespace
}  // namespace portacl::aten
