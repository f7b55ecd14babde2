// How a camera was held: the orientation that photographs carry beside their pixels.
#ifndef PORTACL_TOOLS_PICTURE_EXIF_H_
#define PORTACL_TOOLS_PICTURE_EXIF_H_

#include <span>

#include "tools/picture/codec.h"

namespace portacl::cli {

// The orientation in Exif data, 1 to 8 ("EXIF", 4.6.4 A); 1, upright, if there is none or the
// data are damaged. `tiff` begins with its byte order, "II" or "MM".
int ExifOrientation(std::span<const unsigned char> tiff);

// The same of a JPEG file, from its first APP1 segment with Exif data.
int JpegOrientation(std::span<const unsigned char> file);

// The picture as it was seen.
Samples Upright(Samples samples, int orientation);

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_PICTURE_EXIF_H_
