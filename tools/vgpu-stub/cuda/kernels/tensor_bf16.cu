/* SPDX-License-Identifier: MIT */
/* Products of BF16 on tensor cores. */
#include "tensor.inc"

KERNEL tensor_bf16_8(struct product_call q) { product16<BF16, 4, 2, 8>(&q); }
KERNEL tensor_bf16_4(struct product_call q) { product16<BF16, 2, 4, 2>(&q); }
