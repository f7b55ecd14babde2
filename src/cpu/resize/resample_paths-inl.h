// The paths of W: each takes some rows through W, by what the plan has found out for it. Per
// target.
#if defined(PORTACL_CPU_RESIZE_RESAMPLE_PATHS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_RESIZE_RESAMPLE_PATHS_INL_H_
#undef PORTACL_CPU_RESIZE_RESAMPLE_PATHS_INL_H_
#else
#define PORTACL_CPU_RESIZE_RESAMPLE_PATHS_INL_H_
#endif

#include <cstdint>

#include "cpu/resize/resample_plan.h"
#include "cpu/vector/highway.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

// Rows on their way through W. Pointers are to where column 0 would be.
template <class F, class Ti, class To>
struct RowsOfW {
  const ResampleTaps<F>& w;
  F init;
  const ResampleTile& columns;  // the destinations that are wanted
  const Ti* const* from;
  To* const* to;
  int64_t rows;
  // Rows that go past the caches do so as whole lines. Destinations of other lines are made in
  // these rows of scratch. Null: rows do not.
  To* const* edges = nullptr;
  const Ti* const* ahead = nullptr;  // as many rows whose same columns are wanted soon, or null
};

// `ring`: scratch for the columns. The tile begins at a multiple of a block.
template <class F, class Ti, class To>
void AddColumns(const ResampleColumns& columns, const RowsOfW<F, Ti, To>& rows,
                ResampleBetween<F>* ring);

// Of bytes, in resample_bytes.cc.
template <>
void AddColumns<int32_t, uint8_t, uint8_t>(const ResampleColumns& columns,
                                           const RowsOfW<int32_t, uint8_t, uint8_t>& rows,
                                           uint8_t* ring);

// `taps`: room for as many pointers as a destination has taps. `split`: scratch for the phases.
template <class F, class Ti, class To>
void AddPhases(const ResamplePhases<F>& phases, const RowsOfW<F, Ti, To>& rows, const F** taps,
               F* split);

// The others are not for scalable vectors. Of lookups whole windows of the sources can be read.
template <class F, class To>
void LookUpRows(const ResampleLookups<F>& lookups, const RowsOfW<F, F, To>& rows);
template <class F, class To>
void Expand(const ResampleExpand<F>& expand, const RowsOfW<F, F, To>& rows);

// All axes of `rows` planes, of which `axes` are the tables. `scratch`: for both halves.
template <class F, class Ti, class To>
void AddPlanes(const ResamplePlanes& planes, const ResampleTaps<F>* const (&axes)[3], bool backward,
               const RowsOfW<F, Ti, To>& rows, F* scratch);

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
