// Drawing cases: extents around vector lengths and strips, every layout for every tensor, unusual
// values and points.
#include "campaign/case.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "support/api/grid_case.h"

namespace portacl_test {
namespace {

template <class List>
auto Pick(Random& random, const List& list) {
  return list[static_cast<size_t>(random.Integer(0, static_cast<int64_t>(std::size(list)) - 1))];
}

// Mostly small; now and then around a vector's or a strip's length, rarely nothing.
int64_t DrawExtent(Random& random, int64_t least) {
  static constexpr int64_t kEdges[] = {7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100};
  const int64_t kind = random.Integer(0, 19);
  if (kind == 0) return least;
  if (kind < 5) return Pick(random, kEdges);
  return random.Integer(1, 12);
}

// Halves the largest extents until the product is at most `most`.
Shape Bounded(Shape shape, int64_t most) {
  while (ProductOf(shape) > most) {
    int64_t& largest = *std::max_element(shape.begin(), shape.end());
    largest = (largest + 1) / 2;
  }
  return shape;
}

// Now and then every tensor is dense: that is all that calls by name can say.
class Layouts {
 public:
  explicit Layouts(Random& random) : random_(random), dense_(random.Integer(0, 3) == 0) {}
  Layout Input() { return dense_ ? Layout::kContiguous : Pick(random_, kInputLayouts); }
  Layout Output() { return dense_ ? Layout::kContiguous : Pick(random_, kOutputLayouts); }

 private:
  Random& random_;
  const bool dense_;
};

enum class Values { kUniform, kTiny, kNotFinite };

void FillValues(Random& random, Values values, Tensor* tensor) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double strange[] = {infinity, -infinity, std::numeric_limits<double>::quiet_NaN(), -0.0};
  const double scale = values == Values::kTiny ? std::ldexp(1.0, -12) : 1.0;
  tensor->Fill([&](int64_t) {
    if (values == Values::kNotFinite && random.Integer(0, 15) == 0) return Pick(random, strange);
    return scale * random.Uniform(-1, 1);
  });
}

// Points at pixels' centres and edges, where taps and slopes change.
void FillKinks(Random& random, const GridMode& mode, const Shape& image, Tensor* grid) {
  const int64_t axes = grid->shape().back();  // x, the image's last one, comes first
  grid->Fill([&](int64_t i) {
    const auto extent =
        static_cast<double>(image[image.size() - 1 - static_cast<size_t>(i % axes)]);
    const double pixel =
        static_cast<double>(random.Integer(-4, 2 * static_cast<int64_t>(extent) + 2)) / 2;
    if (!mode.align_corners) return (2 * pixel + 1) / extent - 1;
    return extent > 1 ? 2 * pixel / (extent - 1) - 1 : pixel;
  });
}

// Returns whether all points are finite.
bool FillPoints(Random& random, const CampaignCase& c, const Shape& image, Tensor* grid) {
  const int64_t kind = random.Integer(0, 9);
  if (kind == 0) {
    const std::vector<double> strange = StrangeCoordinates(c.element);
    grid->Fill(
        [&](int64_t) { return random.Coin() ? Pick(random, strange) : random.Uniform(-1.5, 1.5); });
    return false;
  }
  if (kind < 4) {
    FillKinks(random, c.mode, image, grid);
  } else {
    static constexpr GridKind kKinds[] = {GridKind::kRandom, GridKind::kSmooth, GridKind::kOneCell};
    FillGrid(Pick(random, kKinds), random, grid);
  }
  return true;
}

Values DrawValues(Random& random) {
  const int64_t kind = random.Integer(0, 9);
  return kind == 0 ? Values::kNotFinite : kind == 1 ? Values::kTiny : Values::kUniform;
}

double DrawScale(Random& random, int64_t in, int64_t out) {
  switch (random.Integer(0, 3)) {
    case 0:
      return static_cast<double>(out) / static_cast<double>(std::max<int64_t>(in, 1));
    case 1:
      return random.Uniform(0.1, 6);
    default:
      return 0;
  }
}

void DrawNearest(Random& random, CampaignCase* c) {
  const bool backward = c->op == CampaignOp::kNearestBackward;
  Shape small = {DrawExtent(random, 0) % 5, DrawExtent(random, 0)};
  Shape large = small;
  const int64_t spatial = random.Integer(1, 3);
  for (int64_t i = 0; i < spatial; ++i) {
    small.push_back(DrawExtent(random, 1));
    // As large, a multiple, or anything, smaller too.
    const int64_t kind = random.Integer(0, 5);
    large.push_back(kind == 0  ? small.back()
                    : kind < 3 ? small.back() * random.Integer(2, 4)
                               : DrawExtent(random, 1));
  }
  while (ProductOf(small) > 6000 || ProductOf(large) > 6000) {
    small[1] = large[1] = small[1] / 2;
    if (small[1] == 0) small[0] = large[0] = 0;
  }
  if (random.Integer(0, 2) == 0) {
    for (size_t i = 2; i < small.size(); ++i) {
      c->scales.push_back(DrawScale(random, small[i], large[i]));
    }
  }
  Layouts layouts(random);
  Tensor from(c->element, backward ? large : small, layouts.Input());
  Tensor to(c->element, backward ? small : large, layouts.Output());
  const Values values = DrawValues(random);
  FillValues(random, values, &from);
  c->finite = values != Values::kNotFinite;
  c->inputs.push_back(std::move(from));
  c->outputs.push_back(std::move(to));
}

void DrawGrid(Random& random, CampaignCase* c) {
  const bool backward = c->op == CampaignOp::kGridBackward;
  c->mode = Pick(random, AllGridModes());
  const int64_t mask = random.Integer(0, 5);
  c->want_input_grad = mask != 1;
  c->want_grid_grad = mask != 2;
  const int64_t axes = random.Integer(0, 2) == 0 ? 3 : 2;  // volumes and images
  const auto draw = [&](Shape shape, int64_t least, int64_t most) {
    for (int64_t i = 0; i < axes; ++i) shape.push_back(DrawExtent(random, least));
    return Bounded(std::move(shape), most);
  };
  const int64_t n = DrawExtent(random, 0) % 4;
  const Shape image = draw({n, DrawExtent(random, 0)}, 1, 6000);
  Shape points = draw({image[0]}, 0, 1000);
  points[0] = image[0];
  Shape sampled = {image[0], image[1]};
  sampled.insert(sampled.end(), points.begin() + 1, points.end());
  points.push_back(axes);
  Layouts layouts(random);
  const auto input = [&](const Shape& shape) { return Tensor(c->element, shape, layouts.Input()); };
  const auto output = [&](const Shape& shape) {
    return Tensor(c->element, shape, layouts.Output());
  };
  if (backward) c->inputs.push_back(input(sampled));
  c->inputs.push_back(input(image));
  const Values values = DrawValues(random);
  for (Tensor& tensor : c->inputs) FillValues(random, values, &tensor);
  c->inputs.push_back(input(points));
  c->finite = FillPoints(random, *c, image, &c->inputs.back()) && values != Values::kNotFinite;
  if (!backward) c->outputs.push_back(output(sampled));
  if (backward && c->want_input_grad) c->outputs.push_back(output(image));
  if (backward && c->want_grid_grad) c->outputs.push_back(output(points));
}

const char* NameOf(CampaignOp op) {
  static constexpr const char* kNames[] = {"nearest", "nearest backward", "grid", "grid backward"};
  return kNames[static_cast<size_t>(op)];
}

}  // namespace

std::string CampaignCase::Describe() const {
  std::string text = std::string(NameOf(op)) + " " + portacl_test::NameOf(element);
  const auto add = [&text](const char* kind, const std::vector<Tensor>& tensors) {
    for (const Tensor& tensor : tensors) {
      text += std::string(" ") + kind + ToString(tensor.shape()) + "/" + ToString(tensor.strides());
    }
  };
  add("in", inputs);
  add("out", outputs);
  for (const double scale : scales) text += " scale " + std::to_string(scale);
  if (op == CampaignOp::kGrid || op == CampaignOp::kGridBackward) {
    text += " " + portacl_test::NameOf(mode);
  }
  return text + (finite ? "" : " not finite") + (overlaps ? " overlapping" : "");
}

CampaignCase DrawCase(uint64_t seed, uint64_t number) {
  Random random(Random(seed).Bits() ^ (number * 0xD1342543DE82EF95u));
  static constexpr CampaignOp kOps[] = {CampaignOp::kNearest, CampaignOp::kNearestBackward,
                                        CampaignOp::kGrid, CampaignOp::kGridBackward,
                                        CampaignOp::kGridBackward};
  CampaignCase c;
  c.op = Pick(random, kOps);
  c.element = Pick(random, kElements);
  if (c.op == CampaignOp::kNearest || c.op == CampaignOp::kNearestBackward) {
    DrawNearest(random, &c);
  } else {
    DrawGrid(random, &c);
  }
  c.overlaps = random.Integer(0, 49) == 0;
  return c;
}

}  // namespace portacl_test
