/* SPDX-License-Identifier: MIT */
/* Products of F16 on tensor cores. */
#include "tensor.inc"

KERNEL tensor_f16_8(struct product_call q) { product16<F16, 4, 2, 8>(&q); }
KERNEL tensor_f16_4(struct product_call q) { product16<F16, 2, 4, 2>(&q); }
