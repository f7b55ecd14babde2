// The companion operators: name, arguments, function. The two-phase functions are generated from
// this table.
#ifndef PORTACL_COMPANION_OPERATORS_H_
#define PORTACL_COMPANION_OPERATORS_H_

namespace portacl::companion {

// The computations; a, b, c are the inputs in the order of the signature.
enum class Function {
  kAdd,  // a + alpha * b, one rounding
  kSub,  // a - alpha * b, one rounding
  kMul,
  kDiv,  // true division: integers give FLOAT
  kNeg,
  kAbs,
  kCeil,
  kIsFinite,
  kNe,
  kGt,
  kLt,
  kAnd,  // bit by bit; integers and BOOL
  kCopy,
  kMseLoss,          // (a - b)^2, and its mean or sum
  kMseLossBackward,  // 2 (b - c) a, divided by the number of elements for the mean
  kSum,
  kMean,
  kMax,
  kMin,
  kMaskedSelect,
  kCat,    // members of a list side by side along an axis
  kStack,  // the same along a new axis
};

}  // namespace portacl::companion

// X(name, arguments, function). The arguments are named in src/api/aclnn_companion.cc: Self and
// Other are tensors, Scalar is the other operand as a scalar, InPlace writes its first tensor.
#define PORTACL_COMPANION_OPERATORS(X)                             \
  X(Add, SelfOtherAlphaOut, kAdd)                                  \
  X(Adds, SelfScalarAlphaOut, kAdd)                                \
  X(InplaceAdd, InPlaceOtherAlpha, kAdd)                           \
  X(InplaceAdds, InPlaceScalarAlpha, kAdd)                         \
  X(Sub, SelfOtherAlphaOut, kSub)                                  \
  X(Subs, SelfScalarAlphaOut, kSub)                                \
  X(InplaceSub, InPlaceOtherAlpha, kSub)                           \
  X(InplaceSubs, InPlaceScalarAlpha, kSub)                         \
  X(Mul, SelfOtherOut, kMul)                                       \
  X(Muls, SelfScalarOut, kMul)                                     \
  X(InplaceMul, InPlaceOther, kMul)                                \
  X(InplaceMuls, InPlaceScalar, kMul)                              \
  X(Div, SelfOtherOut, kDiv)                                       \
  X(Divs, SelfScalarOut, kDiv)                                     \
  X(InplaceDiv, InPlaceOther, kDiv)                                \
  X(InplaceDivs, InPlaceScalar, kDiv)                              \
  X(Neg, SelfOut, kNeg)                                            \
  X(Abs, SelfOut, kAbs)                                            \
  X(Ceil, SelfOut, kCeil)                                          \
  X(IsFinite, SelfOut, kIsFinite)                                  \
  X(NeTensor, SelfOtherOut, kNe)                                   \
  X(NeScalar, SelfScalarOut, kNe)                                  \
  X(GtScalar, SelfScalarOut, kGt)                                  \
  X(LtScalar, SelfScalarOut, kLt)                                  \
  X(BitwiseAndTensor, SelfOtherOut, kAnd)                          \
  X(BitwiseAndScalar, SelfScalarOut, kAnd)                         \
  X(Cast, SelfDTypeOut, kCopy)                                     \
  X(InplaceCopy, InPlaceSource, kCopy)                             \
  X(InplaceFillScalar, InPlaceValue, kCopy)                        \
  X(InplaceOne, InPlaceOne, kCopy)                                 \
  X(InplaceZero, InPlaceZero, kCopy)                               \
  X(MseLoss, SelfTargetReductionOut, kMseLoss)                     \
  X(MseLossBackward, GradSelfTargetReductionOut, kMseLossBackward) \
  X(ReduceSum, SelfDimsDTypeOut, kSum)                             \
  X(Mean, SelfDimsDTypeOut, kMean)                                 \
  X(Max, SelfOut, kMax)                                            \
  X(Min, SelfOut, kMin)                                            \
  X(MaskedSelect, SelfMaskOut, kMaskedSelect)                      \
  X(ForeachAddListV2, ListsAlphaOut, kAdd)                         \
  X(ForeachMulScalarV2, ListScalarOut, kMul)                       \
  X(Cat, ListDimOut, kCat)                                         \
  X(Stack, ListDimOut, kStack)

#endif  // PORTACL_COMPANION_OPERATORS_H_
