// The table of the companion operators: name, arguments, function. The two-phase functions are
// generated from it.
#ifndef PORTACL_COMPANION_OPERATORS_H_
#define PORTACL_COMPANION_OPERATORS_H_

namespace portacl::companion {

// What a function computes. a, b, c are the inputs in the order of the signature.
enum class Function {
  kAdd,  // a + alpha * b, rounded once
  kSub,  // a - alpha * b, rounded once
  kMul,
  kDiv,  // integers give FLOAT
  kNeg,
  kAbs,
  kCeil,
  kIsFinite,
  kNe,
  kGt,
  kLt,
  kAnd,  // bitwise, for integers and BOOL
  kCopy,
  kMseLoss,          // (a - b)^2, or its mean or sum
  kMseLossBackward,  // 2 (b - c) a; for the mean divided by the number of elements
  kSum,
  kMean,
  kMax,
  kMin,
  kMaskedSelect,
  kCat,    // joins list members along an axis
  kStack,  // joins list members along a new axis
};

}  // namespace portacl::companion

// X(name, arguments, function). src/api/aclnn_companion.cc defines the words for arguments: Self
// and Other are tensors, Scalar is an operand that is a scalar, InPlace writes its first tensor.
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
