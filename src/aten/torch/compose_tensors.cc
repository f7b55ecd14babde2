// Compositions for tensors: indices, scatter, random numbers, matrices, lists.
#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <vector>

#include "aten/torch/compose.h"

namespace portacl::aten {

using at::Tensor;

Tensor Unpacked(const Tensor& mask, c10::IntArrayRef sizes) {
  const Tensor bits = mask.reshape({-1, 1}).to(at::kInt).bitwise_right_shift(
      at::arange(8, mask.options().dtype(at::kInt)));
  const int64_t count = c10::multiply_integers(sizes);
  TORCH_CHECK(mask.numel() * 8 >= count, "mask has bits for ", mask.numel() * 8,
              " elements, but there are ", count);
  return bits.bitwise_and(1).reshape({-1}).slice(0, 0, count).reshape(sizes).to(at::kBool);
}

namespace {

PORTACL_COMPOSITION(GatherV2) {
  const Tensor self = in.t("self"), index = in.t("index");
  TORCH_CHECK(self.dim() > 0, "self has no axes");
  const int64_t dim = at::maybe_wrap_dim(in.i("dim"), self.dim());
  std::vector<int64_t> sizes(self.sizes().begin(), self.sizes().begin() + dim);
  sizes.insert(sizes.end(), index.sizes().begin(), index.sizes().end());
  sizes.insert(sizes.end(), self.sizes().begin() + dim + 1, self.sizes().end());
  return {at::index_select(self, dim, index.reshape({-1})).reshape(sizes)};
}

PORTACL_COMPOSITION(IndexFill) {
  const Tensor self = in.first();
  const Tensor index = at::tensor(in.ints("index"), at::kLong).to(self.device());
  return {at::index_fill(self, in.i("dim"), index, in.s("value"))};
}

Text ScatterName(int64_t mode) {
  TORCH_CHECK(mode == 1 || mode == 2, "reduce is ", mode,
              ", but must be 0, 1 (add) or 2 (multiply)");
  return mode == 1 ? "add" : "multiply";
}

template <class Source>
Tensors ScatterOf(const Inputs& in, const Source& source) {
  const Tensor index = in.t("index").to(at::kLong);
  if (in.i("reduce") == 0) return {at::scatter(in.first(), in.i("dim"), index, source)};
  return {at::scatter(in.first(), in.i("dim"), index, source, ScatterName(in.i("reduce")))};
}
PORTACL_COMPOSITION(Scatter) { return ScatterOf(in, in.t("src")); }
PORTACL_COMPOSITION(ScatterValue) { return ScatterOf(in, in.s("value")); }

// Does not read C if beta is 0.
PORTACL_COMPOSITION(Gemm) {
  Tensor a = in.t("A"), b = in.t("B");
  TORCH_CHECK(a.dim() >= 2 && b.dim() >= 2, "A has the shape ", a.sizes(), " and B ", b.sizes(),
              ", but each must be a matrix");
  if (in.i("transA") != 0) a = a.mT();
  if (in.i("transB") != 0) b = b.mT();
  const Tensor product = at::matmul(a, b) * in.d("alpha");
  return {in.d("beta") == 0 ? product : product + in.t("C") * in.d("beta")};
}

PORTACL_COMPOSITION(MeanV2) {
  const Tensor self = in.t("self");
  if (in.ints("dims").empty() && in.b("noopWithEmptyAxes")) return {self};
  return {at::mean(self, in.ints("dims"), in.b("keepDims"))};
}

PORTACL_COMPOSITION(SumList) { return {at::stack(in.list("tensors")).sum(0)}; }
PORTACL_COMPOSITION(AddScalarTensor) {
  return {at::add(in.t("other") * in.s("alpha"), in.s("self"))};
}

// Reduces one axis after the other, the last axis first, because PyTorch 1.13 has no other way.
Tensors OverAxes(const Inputs& in, Tensor (*reduce)(const Tensor&, int64_t, bool)) {
  Tensor t = in.t("self");
  std::vector<int64_t> dims = in.ints("dims");
  if (dims.empty()) return {t.ne(0)};
  for (int64_t& dim : dims) dim = at::maybe_wrap_dim(dim, t.dim());
  std::sort(dims.rbegin(), dims.rend());
  for (size_t i = 0; i < dims.size(); ++i) {
    TORCH_CHECK(i == 0 || dims[i] != dims[i - 1], "dim ", dims[i], " appears twice in dims");
    t = reduce(t, dims[i], in.b("keepdim"));
  }
  return {t};
}

PORTACL_COMPOSITION(All) { return OverAxes(in, at::all); }
PORTACL_COMPOSITION(Any) { return OverAxes(in, at::any); }

PORTACL_COMPOSITION(Aminmax) {
  return {at::amin(in.t("self"), in.ints("dims"), in.b("keepdim")),
          at::amax(in.t("self"), in.ints("dims"), in.b("keepdim"))};
}

Optional<Text> Rounding(const Inputs& in) {
  return in.i("mode") == 1   ? Optional<Text>("trunc")
         : in.i("mode") == 2 ? Optional<Text>("floor")
                             : Optional<Text>();
}

PORTACL_COMPOSITION(DivMod) { return {at::div(in.first(), in.t("other"), Rounding(in))}; }
PORTACL_COMPOSITION(DivMods) { return {at::div(in.first(), in.s("other"), Rounding(in))}; }
PORTACL_COMPOSITION(Equal) {
  const Tensor a = in.t("self");
  if (a.is_meta()) return {at::empty({1}, a.options().dtype(at::kBool))};
  return {at::full({1}, a.equal(in.t("other")), at::kBool)};
}

// Returns the indices of each axis. An empty tensor means an axis without indices.
c10::List<Optional<Tensor>> Indices(const Inputs& in) {
  c10::List<Optional<Tensor>> list;
  for (const Tensor& t : in.list("indices")) {
    list.push_back(t.numel() == 0 ? Optional<Tensor>() : Optional<Tensor>(t));
  }
  return list;
}

PORTACL_COMPOSITION(Index) { return {at::index(in.t("self"), Indices(in))}; }
PORTACL_COMPOSITION(IndexPut) {
  return {at::index_put(in.t("selfRef"), Indices(in), in.t("values"), in.b("accumulate"))};
}
PORTACL_COMPOSITION(LinalgQr) {
  constexpr Text kModes[] = {"reduced", "complete", "r"};
  const int64_t mode = in.i("mode");
  TORCH_CHECK(mode >= 0 && mode <= 2, "mode is ", mode, ", but must be 0, 1 or 2");
  const auto [q, r] = at::linalg_qr(in.t("self"), kModes[mode]);
  return {q, r};
}

PORTACL_COMPOSITION(OneHot) {
  Tensor hot = at::arange(in.i("depth")).to(in.t("self").device()) == in.t("self").unsqueeze(-1);
  Tensor out = at::where(hot, in.t("on"), in.t("off"));
  return {in.i("axis") == -1 ? out : out.movedim(-1, in.i("axis"))};
}

PORTACL_COMPOSITION(Svd) {
  const auto r = at::linalg_svd(in.t("A"), in.b("full"));
  if (!in.b("computeUv")) return {at::linalg_svdvals(in.t("A"))};
  return {std::get<1>(r), std::get<0>(r), std::get<2>(r).mH()};
}

PORTACL_COMPOSITION(StridedSlice) {
  Tensor t = in.t("self");
  const auto begin = in.ints("begin"), end = in.ints("end"), step = in.ints("strides");
  TORCH_CHECK(
      in.i("bm") == 0 && in.i("em") == 0 && in.i("ell") == 0 && in.i("na") == 0 && in.i("sa") == 0,
      "masks are not served");
  TORCH_CHECK(end.size() == begin.size() && step.size() == begin.size(), "begin has ", begin.size(),
              " numbers, end ", end.size(), " and strides ", step.size());
  for (size_t d = 0; d < begin.size(); ++d)
    t = t.slice(static_cast<int64_t>(d), begin[d], end[d], step[d]);
  return {t};
}

at::Generator Seeded(const Inputs& in) {
  return at::make_generator<at::CPUGeneratorImpl>(static_cast<uint64_t>(in.i("seed")) *
                                                      0x9E3779B97F4A7C15u +
                                                  static_cast<uint64_t>(in.i("offset")));
}
// Fills a tensor like selfRef with draw().
template <class Draw>
Tensors Drawn(const Inputs& in, Draw&& draw) {
  Tensor t = at::empty_like(in.t("selfRef"), at::MemoryFormat::Contiguous);
  if (!t.is_meta()) draw(t);
  return {t};
}

PORTACL_COMPOSITION(Uniform) {
  return Drawn(in, [&](Tensor& t) { t.uniform_(in.d("from"), in.d("to"), Seeded(in)); });
}
PORTACL_COMPOSITION(Normal) {
  return Drawn(in, [&](Tensor& t) { t.normal_(in.d("mean"), in.d("std"), Seeded(in)); });
}
PORTACL_COMPOSITION(Bernoulli) {
  return Drawn(in, [&](Tensor& t) { t.bernoulli_(in.s("prob").toDouble(), Seeded(in)); });
}
PORTACL_COMPOSITION(BernoulliTensor) {
  return Drawn(in, [&](Tensor& t) { t.bernoulli_(in.t("prob"), Seeded(in)); });
}
PORTACL_COMPOSITION(RandomWithoutFromTo) {
  return Drawn(in, [&](Tensor& t) { t.random_(Seeded(in)); });
}
PORTACL_COMPOSITION(Random) {
  return Drawn(
      in, [&](Tensor& t) { t.random_(in.i("from"), Optional<int64_t>(in.i("to")), Seeded(in)); });
}

PORTACL_COMPOSITION(Randperm) {
  return {at::randperm(in.i("n"), Seeded(in), at::TensorOptions().dtype(at::kLong))};
}
PORTACL_COMPOSITION(Multinomial) {
  const Tensor self = in.t("self");
  TORCH_CHECK(self.dim() > 0, "self has no axes");
  if (self.is_meta()) {
    std::vector<int64_t> sizes(self.sizes().begin(), self.sizes().end());
    sizes.back() = in.i("samples");
    return {at::empty(sizes, self.options().dtype(at::kLong))};
  }
  return {at::multinomial(self, in.i("samples"), in.b("replacement"), Seeded(in))};
}

PORTACL_COMPOSITION(NormalOut) {
  const Tensor t = at::empty(in.t("out").sizes(), in.t("out").options().device(at::kCPU));
  return {t.normal_(in.d("mean"), in.d("std"), Seeded(in))};
}

PORTACL_COMPOSITION(FillDiagonal) {
  return {in.t("selfRef").clone().fill_diagonal_(in.s("value"), in.b("wrap"))};
}
const char* ReduceName(int64_t mode) {
  static const char* const names[] = {"sum", "prod", "amax", "amin", "mean"};
  TORCH_CHECK(mode >= 1 && mode <= 5, "reduce is ", mode,
              ", but must be 0, 1 (sum), 2 (product), 3 (maximum), 4 (minimum) or 5 (mean)");
  return names[mode - 1];
}

PORTACL_COMPOSITION(ScatterReduce) {
  const Tensor index = in.t("index").to(at::kLong);
  if (in.i("reduce") == 0) return {at::scatter(in.first(), in.i("dim"), index, in.t("src"))};
  return {at::scatter_reduce(in.first(), in.i("dim"), index, in.t("src"),
                             ReduceName(in.i("reduce")), in.b("includeSelf"))};
}

// Draws normal numbers of the output's shape, times std, plus mean. Both are tensors or numbers.
PORTACL_COMPOSITION(NormalTensor) {
  const Tensor out = in.t("out");
  const auto given = [&](std::string_view name) {
    return in[name].isTensor() ? in.t(name) : at::scalar_tensor(in.d(name));
  };
  const Tensor mean = given("mean"), std = given("std");
  if (mean.is_meta() || std.is_meta()) return {out};
  return {at::empty(out.sizes(), at::kFloat).normal_(0, 1, Seeded(in)) * std + mean};
}

// Draws a mask of `count` bits, each 1 with probability 1 - p.
Tensor MaskOf(const Inputs& in, int64_t count, double p) {
  count = (count + 127) / 128 * 128;
  const Tensor keep = at::empty({count / 8, 8}, at::kFloat).bernoulli_(1 - p, Seeded(in));
  const Tensor powers = at::pow(2, at::arange(8));
  return at::matmul(keep, powers.to(at::kFloat)).to(at::kByte);
}

PORTACL_COMPOSITION(DropoutGenMask) {
  return {MaskOf(in, c10::multiply_integers(in.ints("shape")), in.d("prob"))};
}

PORTACL_COMPOSITION(DropoutDoMask) {
  const Tensor self = in.t("self");
  if (in.d("prob") >= 1) return {at::zeros_like(self)};
  return {self * Unpacked(in.t("mask"), self.sizes()) / (1 - in.d("prob"))};
}

PORTACL_COMPOSITION(Dropout) {
  const Tensor self = in.t("self");
  if (self.is_meta()) return {self};
  const double p = in.b("train") ? in.d("p") : 0;
  Tensor mask = MaskOf(in, self.numel(), p);
  const Tensor out = self * Unpacked(mask, self.sizes()) * (p < 1 ? 1 / (1 - p) : 0);
  return {out, in.t("mask").numel() == mask.numel() ? mask : Tensor()};
}

PORTACL_COMPOSITION(DropoutBackward) {
  return {in.t("gradOutput") * Unpacked(in.t("mask"), in.t("gradOutput").sizes()) * in.d("scale")};
}

// Returns the part of t that `begins`, ends, `steps` and axes name; without axes, the first axes.
Tensor Sliced(const Inputs& in, Tensor t, std::string_view begins, std::string_view steps) {
  const auto begin = in.ints(begins), end = in.ints("ends"), step = in.ints(steps);
  std::vector<int64_t> axes(begin.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (in.has("axes")) axes = in.ints("axes");
  TORCH_CHECK(
      end.size() == begin.size() && step.size() == begin.size() && axes.size() == begin.size(),
      begins, " has ", begin.size(), " numbers, ends ", end.size(), ", ", steps, " ", step.size(),
      " and axes ", axes.size());
  for (size_t i = 0; i < axes.size(); ++i) t = t.slice(axes[i], begin[i], end[i], step[i]);
  return t;
}
PORTACL_COMPOSITION(SliceV2) { return {Sliced(in, in.t("self"), "starts", "steps")}; }
PORTACL_COMPOSITION(StridedSliceAssign) {
  const Tensor t = in.t("varRef").clone();
  Sliced(in, t, "begins", "strides").copy_(in.t("inputValue"));
  return {t};
}

PORTACL_COMPOSITION(ForeachCopy) { return in.list("x"); }
PORTACL_COMPOSITION(ForeachZero) {
  Tensors zeros;
  for (const Tensor& t : in.list("x")) zeros.push_back(at::zeros_like(t));
  return zeros;
}
PORTACL_COMPOSITION(Nonzero) {
  return in.t("self").is_meta() ? Tensors() : Tensors{at::nonzero(in.t("self"))};
}
// repeats has one number per element of the axis.
PORTACL_COMPOSITION(RepeatInterleaveGrad) {
  const Tensor grad = in.t("grad"), repeats = in.t("repeats").to(at::kLong);
  TORCH_CHECK(grad.dim() > 0, "grad has no axes");
  std::vector<int64_t> sizes = grad.sizes().vec();
  sizes[static_cast<size_t>(at::maybe_wrap_dim(in.i("dim"), grad.dim()))] = repeats.numel();
  const Tensor zeros = at::zeros(sizes, grad.options());
  return {grad.is_meta() ? zeros
                         : zeros.index_add(in.i("dim"), at::repeat_interleave(repeats), grad)};
}

PORTACL_COMPOSITION(NonzeroV2) {
  return in.t("self").is_meta() ? Tensors() : Tensors{at::nonzero(in.t("self")).t()};
}
PORTACL_COMPOSITION(Unique) {
  if (in.t("self").is_meta()) return {};
  const bool counts = in.knows("returnCounts") && in.b("returnCounts");
  const auto r = at::_unique2(in.t("self"), in.b("sorted"), true, counts);
  return {std::get<0>(r), in.b("returnInverse") || counts ? std::get<1>(r) : Tensor(),
          counts ? std::get<2>(r) : Tensor()};
}

PORTACL_COMPOSITION(UniqueDim) {
  if (in.t("self").is_meta()) return {};
  const auto r = at::unique_dim(in.t("self"), in.i("dim"), in.b("sorted"), true, true);
  return {std::get<0>(r), in.b("returnInverse") ? std::get<1>(r) : Tensor(), std::get<2>(r)};
}

PORTACL_COMPOSITION(UniqueConsecutive) {
  if (in.t("self").is_meta()) return {};
  const auto r = at::unique_consecutive(
      in.t("self"), true, true,
      in.i("dim") == 1000 ? Optional<int64_t>() : Optional<int64_t>(in.i("dim")));
  return {std::get<0>(r), in.b("returnInverse") ? std::get<1>(r) : Tensor(),
          in.b("returnCounts") ? std::get<2>(r) : Tensor()};
}

// The length depends on the values, so only the run can check if `out` has this length.
PORTACL_COMPOSITION(Bincount) {
  if (in.t("self").is_meta()) return {in.t("out")};
  return {at::bincount(in.t("self"), in.opt("weights"), in.i("minlength"))};
}

PORTACL_COMPOSITION(RRelu) {
  if (in.t("self").is_meta()) return {in.t("self")};
  Tensor noise = in.t("noise");
  return {at::rrelu_with_noise(in.t("self"), noise, in.s("lower"), in.s("upper"), in.b("training"),
                               Seeded(in))};
}

}  // namespace
}  // namespace portacl::aten
