/* SPDX-License-Identifier: MIT */
/* Products of F32 with F32. */
#include "product.inc"

KERNEL product_f32_8(struct product_call q) { product<of<F32>, 8>(&q); }
KERNEL product_f32_4(struct product_call q) { product<of<F32>, 4>(&q); }
