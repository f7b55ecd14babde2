// Tensors from and to files, by their extension: .npy, .bin (raw elements), .png/.jpg (pictures);
// and tensors made from a word: `ones`, `zeros`, `random:SEED`.
#ifndef PORTACL_TOOLS_FILE_TENSOR_IO_H_
#define PORTACL_TOOLS_FILE_TENSOR_IO_H_

#include <optional>
#include <string>

#include "tools/picture/image.h"
#include "tools/tensor/host_tensor.h"

namespace portacl::cli {

// The options of a tensor that is to be read or made.
struct TensorRequest {
  std::string option;                               // "--grad-output", for messages
  std::string source;                               // a file or the word of a made tensor
  std::optional<DataType> dtype;                    // wanted; needed for .bin
  std::optional<Shape> shape;                       // wanted; needed for .bin and made tensors
  std::string no_shape = "; give it with --shape";  // ends the message if the shape is needed
};

// Whether a source is the word of a made tensor.
bool IsMade(const std::string& source);

// Pictures and made tensors get the wanted dtype (float32 without one). Throws BadInput if a
// file's dtype or shape is another one than wanted.
HostTensor LoadTensor(const TensorRequest& request);

// How a result becomes a picture.
enum class PictureStyle { kValues, kFlow };

// Throws BadInput if WriteTensor does not know the file extension, or such files cannot hold the
// dtype. Call it before the work.
void CheckOutputPath(const std::string& path, DataType dtype);

// Writes the file and returns a note for its readers ("grey = 0, ...", "" for numbers).
std::string SaveTensor(const std::string& path, const HostTensor& tensor, PictureStyle style,
                       std::optional<ValueRange> range);

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_FILE_TENSOR_IO_H_
