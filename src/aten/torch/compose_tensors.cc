// Compositions on tensors: indices, scatter, random numbers, matrices, lists.
#include <ATen/ATen.h>

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aten/torch/compose.h"

namespace portacl::aten {
namespace {

using at::Tensor;

Tensors GatherV2(const Inputs& in) {
  const Tensor self = in.t("self"), index = in.t("index");
  const int64_t dim = at::maybe_wrap_dim(in.i("dim"), self.dim());
  std::vector<int64_t> sizes(self.sizes().begin(), self.sizes().begin() + dim);
  sizes.insert(sizes.end(), index.sizes().begin(), index.sizes().end());
  sizes.insert(sizes.end(), self.sizes().begin() + dim + 1, self.sizes().end());
  return {at::index_select(self, dim, index.reshape({-1})).reshape(sizes)};
}

Tensors IndexFill(const Inputs& in) {
  const Tensor self = in.first();
  const Tensor index = at::tensor(in.ints("index"), at::kLong).to(self.device());
  return {at::index_fill(self, in.i("dim"), index, in.s("value"))};
}

std::string_view ScatterName(int64_t mode) {
  TORCH_CHECK(mode == 1 || mode == 2, "reduce is ", mode,
              ", but must be 0, 1 (add) or 2 (multiply)");
  return mode == 1 ? "add" : "multiply";
}

Tensors Scatter(const Inputs& in) {
  const Tensor index = in.t("index").to(at::kLong);
  if (in.i("reduce") == 0) return {at::scatter(in.first(), in.i("dim"), index, in.t("src"))};
  return {at::scatter(in.first(), in.i("dim"), index, in.t("src"), ScatterName(in.i("reduce")))};
}

Tensors SumList(const Inputs& in) { return {at::stack(in.list("tensors")).sum(0)}; }
Tensors AddScalarTensor(const Inputs& in) {
  return {at::add(in.t("other") * in.s("alpha"), in.s("self"))};
}
Tensors All(const Inputs& in) {
  return {at::all(in.t("self"), at::OptionalIntArrayRef(in.ints("dims")), in.b("keepdim"))};
}
Tensors Any(const Inputs& in) {
  return {at::any(in.t("self"), at::OptionalIntArrayRef(in.ints("dims")), in.b("keepdim"))};
}
Tensors Aminmax(const Inputs& in) {
  return {at::amin(in.t("self"), in.ints("dims"), in.b("keepdim")),
          at::amax(in.t("self"), in.ints("dims"), in.b("keepdim"))};
}

std::optional<std::string_view> Rounding(const Inputs& in) {
  return in.i("mode") == 1   ? std::optional<std::string_view>("trunc")
         : in.i("mode") == 2 ? std::optional<std::string_view>("floor")
                             : std::nullopt;
}

Tensors DivMod(const Inputs& in) { return {at::div(in.first(), in.t("other"), Rounding(in))}; }
Tensors DivMods(const Inputs& in) { return {at::div(in.first(), in.s("other"), Rounding(in))}; }
Tensors Equal(const Inputs& in) {
  const Tensor a = in.t("self");
  if (a.is_meta()) return {at::empty({1}, a.options().dtype(at::kBool))};
  return {at::full({1}, a.equal(in.t("other")), at::kBool)};
}

// An empty tensor that is not of one dimension stands for an axis without indices.
c10::List<std::optional<Tensor>> Indices(const Inputs& in) {
  c10::List<std::optional<Tensor>> list;
  for (const Tensor& t : in.list("indices")) {
    if (t.numel() == 0)
      list.push_back(std::nullopt);
    else
      list.push_back(t);
  }
  return list;
}

Tensors Index(const Inputs& in) { return {at::index(in.t("self"), Indices(in))}; }
Tensors IndexPut(const Inputs& in) {
  return {at::index_put(in.t("selfRef"), Indices(in), in.t("values"), in.b("accumulate"))};
}
Tensors LinalgQr(const Inputs& in) {
  constexpr std::string_view kModes[] = {"reduced", "complete", "r"};
  const int64_t mode = in.i("mode");
  TORCH_CHECK(mode >= 0 && mode <= 2, "mode is ", mode, ", but must be 0, 1 or 2");
  const auto [q, r] = at::linalg_qr(in.t("self"), kModes[mode]);
  return {q, r};
}

Tensors OneHot(const Inputs& in) {
  Tensor hot = at::arange(in.i("depth")).to(in.t("self").device()) == in.t("self").unsqueeze(-1);
  Tensor out = at::where(hot, in.t("on"), in.t("off"));
  return {in.i("axis") == -1 ? out : out.movedim(-1, in.i("axis"))};
}

Tensors ScatterValue(const Inputs& in) {
  const Tensor index = in.t("index").to(at::kLong);
  if (in.i("reduce") == 0) return {at::scatter(in.first(), in.i("dim"), index, in.s("value"))};
  return {at::scatter(in.first(), in.i("dim"), index, in.s("value"), ScatterName(in.i("reduce")))};
}

Tensors Svd(const Inputs& in) {
  const auto r = at::linalg_svd(in.t("A"), in.b("full"));
  if (!in.b("computeUv")) return {at::linalg_svdvals(in.t("A"))};
  return {std::get<1>(r), std::get<0>(r), std::get<2>(r).mH()};
}

Tensors StridedSlice(const Inputs& in) {
  Tensor t = in.t("self");
  const auto begin = in.ints("begin"), end = in.ints("end"), step = in.ints("strides");
  TORCH_CHECK(
      in.i("bm") == 0 && in.i("em") == 0 && in.i("ell") == 0 && in.i("na") == 0 && in.i("sa") == 0,
      "masks are not served");
  for (size_t d = 0; d < begin.size(); ++d)
    t = t.slice(static_cast<int64_t>(d), begin[d], end[d], step[d]);
  return {t};
}

at::Generator Seeded(const Inputs& in) {
  return at::make_generator<at::CPUGeneratorImpl>(static_cast<uint64_t>(in.i("seed")) *
                                                      0x9E3779B97F4A7C15u +
                                                  static_cast<uint64_t>(in.i("offset")));
}
Tensors Uniform(const Inputs& in) {
  Tensor t = at::empty_like(in.t("selfRef"), at::MemoryFormat::Contiguous);
  return {t.is_meta() ? t : t.uniform_(in.d("from"), in.d("to"), Seeded(in))};
}

Tensors Normal(const Inputs& in) {
  Tensor t = at::empty_like(in.t("selfRef"), at::MemoryFormat::Contiguous);
  return {t.is_meta() ? t : t.normal_(in.d("mean"), in.d("std"), Seeded(in))};
}

Tensors Bernoulli(const Inputs& in) {
  Tensor t = at::empty_like(in.t("selfRef"), at::MemoryFormat::Contiguous);
  return {t.is_meta() ? t : t.bernoulli_(in.s("prob").toDouble(), Seeded(in))};
}

Tensors BernoulliTensor(const Inputs& in) {
  Tensor t = at::empty_like(in.t("selfRef"), at::MemoryFormat::Contiguous);
  return {t.is_meta() ? t : t.bernoulli_(in.t("prob"), Seeded(in))};
}

Tensors Random(const Inputs& in) {
  Tensor t = at::empty_like(in.t("selfRef"), at::MemoryFormat::Contiguous);
  return {t.is_meta() ? t
                      : t.random_(in.i("from"), std::optional<int64_t>(in.i("to")), Seeded(in))};
}

Tensors Randperm(const Inputs& in) {
  return {at::randperm(in.i("n"), Seeded(in), at::TensorOptions().dtype(at::kLong))};
}
Tensors Multinomial(const Inputs& in) {
  const Tensor self = in.t("self");
  if (self.is_meta()) {
    std::vector<int64_t> sizes(self.sizes().begin(), self.sizes().end());
    sizes.back() = in.i("samples");
    return {at::empty(sizes, self.options().dtype(at::kLong))};
  }
  return {at::multinomial(self, in.i("samples"), in.b("replacement"), Seeded(in))};
}

Tensors NormalOut(const Inputs& in) {
  const Tensor out = in.t("out");
  Tensor t = at::empty(out.sizes(), out.options().device(at::kCPU));
  return {t.normal_(in.d("mean"), in.d("std"), Seeded(in))};
}

Tensors FillDiagonal(const Inputs& in) {
  return {in.t("selfRef").clone().fill_diagonal_(in.s("value"), in.b("wrap"))};
}
const char* ReduceName(int64_t mode) {
  static const char* const names[] = {"sum", "prod", "mean", "amax", "amin"};
  TORCH_CHECK(mode >= 0 && mode < 5, "reduction ", mode);
  return names[mode];
}

Tensors ScatterReduce(const Inputs& in) {
  return {at::scatter_reduce(in.first(), in.i("dim"), in.t("index").to(at::kLong), in.t("src"),
                             ReduceName(in.i("reduce")), in.b("includeSelf"))};
}

Tensors Dropout(const Inputs& in) {
  const Tensor self = in.t("self");
  if (self.is_meta()) return {self};
  if (!in.b("train") || in.d("p") == 0) return {self};
  const Tensor keep = at::empty_like(self, at::kFloat).bernoulli_(1 - in.d("p"), Seeded(in));
  return {in.d("p") == 1 ? at::zeros_like(self) : self * keep / (1 - in.d("p"))};
}

Tensors ForeachCopy(const Inputs& in) { return in.list("x"); }
Tensors Nonzero(const Inputs& in) {
  return in.t("self").is_meta() ? Tensors() : Tensors{at::nonzero(in.t("self"))};
}
Tensors NonzeroV2(const Inputs& in) {
  return in.t("self").is_meta() ? Tensors() : Tensors{at::nonzero(in.t("self")).t()};
}
Tensors Unique2(const Inputs& in) {
  if (in.t("self").is_meta()) return {};
  const auto r = at::_unique2(in.t("self"), in.b("sorted"), true, true);
  return {std::get<0>(r), in.b("returnInverse") || in.b("returnCounts") ? std::get<1>(r) : Tensor(),
          in.b("returnCounts") ? std::get<2>(r) : Tensor()};
}

Tensors Unique(const Inputs& in) {
  if (in.t("self").is_meta()) return {};
  const auto r = at::_unique2(in.t("self"), in.b("sorted"), true, false);
  return {std::get<0>(r), in.b("returnInverse") ? std::get<1>(r) : Tensor()};
}

Tensors UniqueConsecutive(const Inputs& in) {
  if (in.t("self").is_meta()) return {};
  const auto r = at::unique_consecutive(
      in.t("self"), true, true,
      in.i("dim") == 1000 ? std::nullopt : std::optional<int64_t>(in.i("dim")));
  return {std::get<0>(r), in.b("returnInverse") ? std::get<1>(r) : Tensor(),
          in.b("returnCounts") ? std::get<2>(r) : Tensor()};
}

// The length depends on the values: the run finds whether it is the output's.
Tensors Bincount(const Inputs& in) {
  if (in.t("self").is_meta()) return {in.t("out")};
  return {at::bincount(in.t("self"), in.opt("weights"), in.i("minlength"))};
}

Tensors RRelu(const Inputs& in) {
  if (in.t("self").is_meta()) return {in.t("self")};
  Tensor noise = in.t("noise");
  return {at::rrelu_with_noise(in.t("self"), noise, in.s("lower"), in.s("upper"), in.b("training"),
                               Seeded(in))};
}

constexpr NamedComposition kAll[] = {
    {"GatherV2", GatherV2},
    {"IndexFill", IndexFill},
    {"Scatter", Scatter},
    {"SumList", SumList},
    {"AddScalarTensor", AddScalarTensor},
    {"All", All},
    {"Any", Any},
    {"Aminmax", Aminmax},
    {"DivMod", DivMod},
    {"DivMods", DivMods},
    {"Equal", Equal},
    {"Index", Index},
    {"IndexPut", IndexPut},
    {"LinalgQr", LinalgQr},
    {"OneHot", OneHot},
    {"ScatterValue", ScatterValue},
    {"Svd", Svd},
    {"StridedSlice", StridedSlice},
    {"Uniform", Uniform},
    {"Normal", Normal},
    {"Bernoulli", Bernoulli},
    {"BernoulliTensor", BernoulliTensor},
    {"Random", Random},
    {"Randperm", Randperm},
    {"Multinomial", Multinomial},
    {"NormalOut", NormalOut},
    {"FillDiagonal", FillDiagonal},
    {"ScatterReduce", ScatterReduce},
    {"Dropout", Dropout},
    {"ForeachCopy", ForeachCopy},
    {"Nonzero", Nonzero},
    {"NonzeroV2", NonzeroV2},
    {"Unique2", Unique2},
    {"Unique", Unique},
    {"UniqueConsecutive", UniqueConsecutive},
    {"Bincount", Bincount},
    {"RRelu", RRelu},
};

}  // namespace

std::span<const NamedComposition> CompositionsOfTensors() { return kAll; }

}  // namespace portacl::aten
