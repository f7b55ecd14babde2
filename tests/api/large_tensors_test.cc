// More than 2^31 elements, points and bytes in a tensor, on every kernel of this machine: expanded
// inputs, views with gigabytes between images and channels, and results at addresses that share
// memory. So little memory is used.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "support/api/compare.h"
#include "support/api/native.h"
#include "support/api/native_grid.h"

namespace portacl_test {
namespace {

constexpr int64_t kTwoToThe31 = int64_t{1} << 31;

class LargeTensors : public NativeTest {
 protected:
  LargeTensors() { portaclSetProfile("open"); }
  void SetUp() override {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the thread sanitizer has no room for the shadow of so many addresses";
#endif
    if (AvailableImpls().size() == 1) GTEST_SKIP() << "no kernels but the reference";
  }
};

// Addresses; those that are written get memory.
class Addresses {
 public:
  explicit Addresses(size_t bytes) : bytes_(bytes) {
    void* const start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) return;
    start_ = static_cast<std::byte*>(start);
    madvise(start_, bytes, MADV_NOHUGEPAGE);
  }
  ~Addresses() {
    if (start_ != nullptr) munmap(start_, bytes_);
  }
  Addresses(const Addresses&) = delete;
  Addresses& operator=(const Addresses&) = delete;
  std::byte* start() const { return start_; }

  // Maps every `period` bytes up to `end` (a multiple of `period`) to the same memory; false if the
  // system refuses.
  bool Repeat(size_t period, size_t end) {
    const int file = memfd_create("portacl-test", MFD_CLOEXEC);
    bool ok = file >= 0 && ftruncate(file, static_cast<off_t>(period)) == 0;
    for (size_t at = 0; ok && at < end; at += period) {
      ok = mmap(start_ + at, period, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) !=
           MAP_FAILED;
    }
    if (file >= 0) close(file);
    return ok;
  }

 private:
  const size_t bytes_;
  std::byte* start_ = nullptr;
};

portacl::Tensor ViewOf(const void* data, Element element, const Shape& shape,
                       const Shape& strides) {
  return portacl::Tensor(data, static_cast<portacl::DataType>(element), shape.size(), shape.data(),
                         strides.data());
}

// Calls check(name of the kernels) with each family that computes vectors.
template <class Check>
void ForFastImpls(const Check& check) {
  for (const std::string& impl : AvailableImpls()) {
    if (impl == "ref") continue;
    SCOPED_TRACE(impl);
    portaclSetImpl(impl.c_str());
    check();
    portaclSetImpl(nullptr);
  }
}

// ---- gigabytes between images and channels -----------------------------------------------------

// A copy of a dense tensor whose indices along the second axis are 2^28 elements or more apart.
class Spread {
 public:
  explicit Spread(const Tensor& dense)
      : element_(dense.element()),
        shape_(dense.shape()),
        strides_(dense.strides()),
        memory_(static_cast<size_t>(shape_[0] * shape_[1] * kApart) * SizeOf(element_)) {
    strides_[1] = kApart;
    strides_[0] = shape_[1] * kApart;
    if (there())
      ForEach(dense,
              [](std::byte* own, std::byte* other, size_t size) { std::memcpy(own, other, size); });
  }
  bool there() const { return memory_.start() != nullptr; }
  portacl::Tensor view() const { return ViewOf(memory_.start(), element_, shape_, strides_); }

  Tensor Dense() const {
    Tensor dense(element_, shape_);
    ForEach(dense,
            [](std::byte* own, std::byte* other, size_t size) { std::memcpy(other, own, size); });
    return dense;
  }

 private:
  static constexpr int64_t kApart = (int64_t{1} << 28) + 21;  // elements

  template <class Each>
  void ForEach(const Tensor& dense, const Each& each) const {
    const size_t size = SizeOf(element_);
    auto* const other = static_cast<std::byte*>(const_cast<void*>(dense.first()));
    for (int64_t i = 0; i < dense.size(); ++i) {
      int64_t offset = 0;
      for (size_t axis = shape_.size(), rest = static_cast<size_t>(i); axis-- > 0;) {
        const auto extent = static_cast<size_t>(shape_[axis]);
        offset += static_cast<int64_t>(rest % extent) * strides_[axis];
        rest /= extent;
      }
      each(memory_.start() + offset * static_cast<int64_t>(size),
           other + i * static_cast<int64_t>(size), size);
    }
  }

  Element element_;
  Shape shape_;
  Shape strides_;
  Addresses memory_;
};

void CheckSpreadGrid(const GridCase& c, const GridMode& mode) {
  const Element element = c.input.element();
  Tensor input_grad(element, c.input.shape());
  Tensor grid_grad(element, c.grid.shape());
  Tensor output(element, c.grad_output.shape());
  portaclSetImpl("ref");
  ASSERT_TRUE(Succeeds(SampleGridBackward(View(c.grad_output), View(c.input), View(c.grid),
                                          View(input_grad), View(grid_grad), mode)));
  ASSERT_TRUE(Succeeds(SampleGrid(View(c.input), View(c.grid), View(output), mode)));
  const Spread from(c.grad_output);
  const Spread image(c.input);
  const Spread grid(c.grid);
  const Spread to_image(Tensor(element, c.input.shape()));
  const Spread to_grid(Tensor(element, c.grid.shape()));
  const Spread to(Tensor(element, c.grad_output.shape()));
  for (const Spread* tensor : {&from, &image, &grid, &to_image, &to_grid, &to}) {
    if (!tensor->there()) GTEST_SKIP() << "so many addresses are not to be had";
  }
  ForFastImpls([&] {
    ASSERT_TRUE(Succeeds(SampleGridBackward(from.view(), image.view(), grid.view(), to_image.view(),
                                            to_grid.view(), mode)));
    ASSERT_TRUE(Succeeds(SampleGrid(image.view(), grid.view(), to.view(), mode)));
    EXPECT_TRUE(BitIdentical(to_image.Dense(), input_grad));
    EXPECT_TRUE(BitIdentical(to_grid.Dense(), grid_grad));
    EXPECT_TRUE(BitIdentical(to.Dense(), output));
  });
}

TEST_F(LargeTensors, GridSamplerOfChannelsThatLieGigabytesApart) {
  Random random(141);
  for (const Element element : {Element::kFloat, Element::kFloat16}) {
    for (const GridMode& mode : AllGridModes()) {
      if (ShortRun() && mode.padding != kReflection) continue;
      SCOPED_TRACE(std::string(NameOf(element)) + NameOf(mode));
      for (const int64_t channels : {2, 9}) {  // 9: more than 2^31 elements in one image
        GridCase image(element, 2, channels, 5, 7, 9, 4);
        CheckSpreadGrid(image.Fill(GridKind::kRandom, random), mode);
        GridCase volume(element, 2, channels, {3, 2, 5}, {9, 2, 3});
        CheckSpreadGrid(volume.Fill(GridKind::kRandom, random), mode);
      }
    }
  }
}

TEST_F(LargeTensors, NearestOfChannelsThatLieGigabytesApart) {
  Random random(142);
  const std::vector<std::array<Shape, 2>> kShapes = {{{{2, 9, 5}, {2, 9, 35}}},
                                                     {{{2, 9, 3, 20}, {2, 9, 6, 40}}},
                                                     {{{2, 9, 3, 5}, {2, 9, 7, 11}}},
                                                     {{{2, 9, 2, 3, 5}, {2, 9, 4, 7, 5}}}};
  for (const Element element : {Element::kFloat, Element::kFloat16}) {
    for (const auto& [small, large] : kShapes) {
      SCOPED_TRACE(std::string(NameOf(element)) + ToString(large));
      Tensor input(element, small);
      Tensor grad_output(element, large);
      input.FillUniform(random, -1, 1);
      grad_output.FillUniform(random, -1, 1);
      Tensor output(element, large);
      Tensor grad_input(element, small);
      portaclSetImpl("ref");
      ASSERT_TRUE(Succeeds(portacl::upsample_nearest_exact(View(input), View(output))));
      ASSERT_TRUE(
          Succeeds(portacl::upsample_nearest_exact_backward(View(grad_output), View(grad_input))));
      const Spread from(input);
      const Spread back_from(grad_output);
      const Spread to(Tensor(element, large));
      const Spread back_to(Tensor(element, small));
      for (const Spread* tensor : {&from, &back_from, &to, &back_to}) {
        if (!tensor->there()) GTEST_SKIP() << "so many addresses are not to be had";
      }
      ForFastImpls([&, &wanted = output] {
        ASSERT_TRUE(Succeeds(portacl::upsample_nearest_exact(from.view(), to.view())));
        ASSERT_TRUE(
            Succeeds(portacl::upsample_nearest_exact_backward(back_from.view(), back_to.view())));
        EXPECT_TRUE(BitIdentical(to.Dense(), wanted));
        EXPECT_TRUE(BitIdentical(back_to.Dense(), grad_input));
      });
    }
  }
}

// ---- more than 2^31 elements -------------------------------------------------------------------

// Images that are one image, by a stride of 0: results are those of the one image.
TEST_F(LargeTensors, GridSamplerOfMoreThanTwoToThe31InputElements) {
  constexpr int64_t kHeight = 1023;
  constexpr int64_t kWidth = 1024;
  constexpr int64_t kImages = kTwoToThe31 / (kHeight * kWidth) + 5;
  Random random(143);
  GridCase c(Element::kFloat, 1, 1, kHeight, kWidth, kImages, 1);
  c.input.FillUniform(random, -1, 1);
  c.grad_output.FillUniform(random, -1, 1);
  c.grid.FillUniform(random, -1.2, 1.2);
  const auto input =
      ViewOf(c.input.first(), Element::kFloat, {kImages, 1, kHeight, kWidth}, {0, 0, kWidth, 1});
  const auto grid = ViewOf(c.grid.first(), Element::kFloat, {kImages, 1, 1, 2}, {2, 2, 2, 1});
  const auto values = [](const Tensor& tensor) {
    return ViewOf(tensor.first(), Element::kFloat, {kImages, 1, 1, 1}, {1, 1, 1, 1});
  };
  for (const int interpolation : {kBilinear, kNearest, kBicubic}) {
    const GridMode mode = {interpolation, kReflection, false};
    SCOPED_TRACE(NameOf(mode));
    Tensor output(Element::kFloat, c.grad_output.shape());
    Tensor grid_grad(Element::kFloat, c.grid.shape());
    portaclSetImpl("ref");
    ASSERT_TRUE(Succeeds(NativeGrid(c.input, c.grid, mode, &output)));
    ASSERT_TRUE(Succeeds(NativeGridBackward(c, mode, nullptr, &grid_grad)));
    ForFastImpls([&] {
      Tensor got(Element::kFloat, c.grad_output.shape());
      ASSERT_TRUE(Succeeds(SampleGrid(input, grid, values(got), mode)));
      EXPECT_TRUE(BitIdentical(got, output));
      if (interpolation == kBicubic) return;  // every image would be made a slab
      Tensor got_grid(Element::kFloat, c.grid.shape());
      ASSERT_TRUE(Succeeds(SampleGridBackward(
          values(c.grad_output), input, grid, portacl::Tensor(),
          ViewOf(got_grid.first(), Element::kFloat, {kImages, 1, 1, 2}, {2, 2, 2, 1}), mode)));
      EXPECT_TRUE(BitIdentical(got_grid, grid_grad));
    });
  }
}

// Results of more than 2^31 elements: all images are computed from one input image, into addresses
// that share the memory of a few images.
class RepeatedImages {
 public:
  static constexpr int64_t kSide = 64;
  static constexpr int64_t kImages = kTwoToThe31 / (kSide * kSide) + 3;

  explicit RepeatedImages(Element element)
      : element_(element),
        image_bytes_(static_cast<size_t>(kSide * kSide) * SizeOf(element)),
        memory_(static_cast<size_t>(kImages) * image_bytes_) {
    there_ = memory_.start() != nullptr &&
             memory_.Repeat(kShared * image_bytes_, kFirstOwn * image_bytes_);
    if (there_) std::memset(memory_.start(), 0x5A, kShared * image_bytes_);
  }
  bool there() const { return there_; }
  portacl::Tensor view() const {
    return ViewOf(memory_.start(), element_, {kImages, 1, kSide, kSide},
                  {kSide * kSide, kSide * kSide, kSide, 1});
  }
  testing::AssertionResult AllAre(const Tensor& image) const {
    for (size_t i = 0; i < size_t{kImages}; ++i) {
      if (i == kShared) i = kFirstOwn;
      if (std::memcmp(memory_.start() + i * image_bytes_, image.first(), image_bytes_) == 0) {
        continue;
      }
      return testing::AssertionFailure() << "image " << i << " has other bytes";
    }
    return testing::AssertionSuccess();
  }

 private:
  static constexpr size_t kShared = 512;  // images: whole pages
  static constexpr size_t kFirstOwn =
      kTwoToThe31 / (kSide * kSide);  // memory of its own from here on
  static_assert(kFirstOwn % kShared == 0);
  const Element element_;
  const size_t image_bytes_;
  Addresses memory_;
  bool there_ = false;
};

TEST_F(LargeTensors, NearestOfMoreThanTwoToThe31Elements) {
  if (ShortRun()) GTEST_SKIP() << "reads and writes 2^31 elements";
  constexpr int64_t kSide = RepeatedImages::kSide;
  constexpr int64_t kImages = RepeatedImages::kImages;
  Random random(144);
  Tensor small(Element::kFloat16, {1, 1, 2, 1});
  Tensor large(Element::kFloat16, {1, 1, kSide, kSide});
  small.FillUniform(random, -1, 1);
  portaclSetImpl("ref");
  ASSERT_TRUE(Succeeds(portacl::upsample_nearest_exact(View(small), View(large))));
  const RepeatedImages images(Element::kFloat16);
  if (!images.there()) GTEST_SKIP() << "so many addresses are not to be had";
  const auto many = ViewOf(small.first(), Element::kFloat16, {kImages, 1, 2, 1}, {0, 1, 1, 1});
  portaclSetImpl(nullptr);
  ASSERT_TRUE(Succeeds(portacl::upsample_nearest_exact(many, images.view())));
  EXPECT_TRUE(images.AllAre(large));

  portaclSetImpl("ref");
  large.FillUniform(random, -1, 1);
  ASSERT_TRUE(Succeeds(portacl::upsample_nearest_exact_backward(View(large), View(small))));
  portaclSetImpl(nullptr);
  Tensor sums(Element::kFloat16, {kImages, 1, 2, 1});
  ASSERT_TRUE(Succeeds(portacl::upsample_nearest_exact_backward(
      ViewOf(large.first(), Element::kFloat16, {kImages, 1, kSide, kSide}, {0, 0, kSide, 1}),
      View(sums))));
  int64_t different = 0;
  for (int64_t i = 0; i < sums.size(); ++i) different += sums.Bits(i) != small.Bits(i % 2);
  EXPECT_EQ(different, 0);
}

TEST_F(LargeTensors, GridSamplerOfMoreThanTwoToThe31GradientElements) {
  if (ShortRun()) GTEST_SKIP() << "writes 2^31 elements";
  constexpr int64_t kSide = RepeatedImages::kSide;
  constexpr int64_t kImages = RepeatedImages::kImages;
  Random random(145);
  const GridMode mode;
  GridCase c(Element::kFloat, 1, 1, kSide, kSide, 1, 3);
  c.Fill(GridKind::kRandom, random);
  c.grid.Set(0, 0.2);
  c.grid.Set(1, -0.3);
  Tensor input_grad(Element::kFloat, c.input.shape());
  portaclSetImpl("ref");
  ASSERT_TRUE(Succeeds(NativeGridBackward(c, mode, &input_grad, nullptr)));
  portaclSetImpl(nullptr);
  portaclSetNumThreads(1);  // two would add to one memory
  const RepeatedImages images(Element::kFloat);
  if (!images.there()) GTEST_SKIP() << "so many addresses are not to be had";
  ASSERT_TRUE(Succeeds(SampleGridBackward(
      ViewOf(c.grad_output.first(), Element::kFloat, {kImages, 1, 1, 3}, {0, 3, 3, 1}),
      ViewOf(c.input.first(), Element::kFloat, {kImages, 1, kSide, kSide}, {0, 0, kSide, 1}),
      ViewOf(c.grid.first(), Element::kFloat, {kImages, 1, 3, 2}, {0, 6, 2, 1}), images.view(),
      portacl::Tensor(), mode)));
  EXPECT_TRUE(images.AllAre(input_grad));
}

}  // namespace
}  // namespace portacl_test
