// Drawing on an RGB image: rectangles, pictures, anti-aliased lines and text.
#ifndef PORTACL_TOOLS_PICTURE_CANVAS_H_
#define PORTACL_TOOLS_PICTURE_CANVAS_H_

#include <string>
#include <vector>

#include "tools/picture/image.h"

namespace portacl::cli {

enum class Weight { kRegular, kMedium };

struct TextStyle {
  double size = 15;  // pixels per em
  Weight weight = Weight::kRegular;
  Colour colour = {33, 37, 41};
};

// Advance of a line of UTF-8 text in pixels.
double TextWidth(const std::string& text, const TextStyle& style);

// Breaks text at spaces into lines of at most `width` pixels.
std::vector<std::string> WrapText(const std::string& text, const TextStyle& style, double width);

// Rows and columns count from the top left; everything outside the image is clipped.
class Canvas {
 public:
  Canvas(int width, int height, Colour background) : image_(width, height, background) {}

  const Image& image() const { return image_; }
  int width() const { return image_.width(); }
  int height() const { return image_.height(); }

  void FillRectangle(int x, int y, int width, int height, Colour colour);
  // One pixel wide, inside the given rectangle.
  void DrawFrame(int x, int y, int width, int height, Colour colour);
  void FillRoundedRectangle(int x, int y, int width, int height, double radius, Colour colour);
  void FillDisc(double x, double y, double radius, Colour colour);
  void DrawLine(double x0, double y0, double x1, double y1, double width, Colour colour);

  // The picture scaled to width x height: each pixel is the mean of the area it covers, so that
  // whole-number enlargements are exact copies.
  void DrawImage(const Image& image, int x, int y, int width, int height);

  // `y` is the baseline.
  void DrawText(double x, double y, const std::string& text, const TextStyle& style);

 private:
  void Blend(int x, int y, Colour colour, double coverage);
  template <class Distance>
  void FillShape(double left, double top, double right, double bottom, Colour colour,
                 Distance distance);

  Image image_;
};

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_PICTURE_CANVAS_H_
