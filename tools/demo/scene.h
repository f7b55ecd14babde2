// A scene of the demo gives its part of the contact sheet, the operator calls to verify in all
// dtypes, and checks of its own.
#ifndef PORTACL_TOOLS_DEMO_SCENE_H_
#define PORTACL_TOOLS_DEMO_SCENE_H_

#include <string>
#include <vector>

#include "tools/picture/contact_sheet.h"
#include "tools/tensor/host_tensor.h"
#include "tools/testing/call.h"

namespace portacl::cli {

using golden::Call;

// An operator call of a scene; its inputs are rounded to each dtype.
struct DemoCase {
  std::string name;
  Call call;
};

// A fact that must hold, besides the bits.
struct DemoCheck {
  std::string name;
  std::string detail;
  bool ok = false;
};

struct DemoScene {
  Section section;
  std::vector<DemoCase> cases;
  std::vector<DemoCheck> checks;
};

// gradOutput in, gradInput out: enlarging by 2, 4 and 1.6 in 2D and by 4 in 1D.
DemoScene UpsampleScene();

// gridGrad finds the angle by which a photograph was turned.
DemoScene RotationScene();

// inputGrad straightens a photograph that a lens has bent.
DemoScene LensScene();

// Interpolation and padding modes: which pixels the gradient reaches, and how much of it.
DemoScene ModesScene();

// The gradients in four dtypes and their distance from float64.
DemoScene DataTypesScene();

// Enlarging and reducing by every kernel, aliasing, and their gradients.
DemoScene ResizingScene();

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_DEMO_SCENE_H_
