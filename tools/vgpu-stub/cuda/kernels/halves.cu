/* SPDX-License-Identifier: MIT */
/* Products where an operand is of 16 bits. */
#include "product.inc"

KERNEL product_any_8(struct product_call q) { product<of<0>, 8>(&q); }
KERNEL product_any_4(struct product_call q) { product<of<0>, 4>(&q); }
