/* SPDX-License-Identifier: MIT */
/*
 * Lane operations: pure functions over the 32 lanes of a warp (lanes.def says what each does).
 * lanes.inc is compiled once per instruction set; lanes_get picks the best one at run time.
 */
#ifndef VGPU_LANES_H
#define VGPU_LANES_H

#include "cpu.h"

#define LOP_LIST(X) \
	X(ADD) X(ADDSAT) X(SUB) X(SUBSAT) X(MUL) X(MULSAT) X(MULHI) X(MULWIDE) X(MAD) X(MADSAT) \
	X(MADRELU) X(MADHI) X(MADHISAT) X(MADWIDE) X(MUL24LO) X(MUL24HI) X(MAD24LO) X(MAD24HI) \
	X(MAD24HISAT) X(SAD) X(DIV) X(REM) X(ABS) X(NEG) X(MIN) X(MAX) X(MINNAN) X(MAXNAN) \
	X(POPC) X(CLZ) X(BFIND) X(BFINDSH) X(FNS) X(BREV) X(BFE) X(BMSKC) X(BMSKW) X(SZEXTC) \
	X(SZEXTW) X(RCP) X(SQRT) X(RSQRT) X(SIN) X(COS) X(LG2) X(EX2) X(TANH) \
	X(SELP) X(AND) X(OR) X(XOR) X(NOT) X(CNOT) X(SHL) X(SHR) X(SHFLW) X(SHFLC) X(SHFRW) \
	X(SHFRC) X(PRMT) X(PRMTF4E) X(PRMTB4E) X(PRMTRC8) X(PRMTECL) X(PRMTECR) X(PRMTRC16) \
	X(DP4AUU) X(DP4AUS) X(DP4ASU) X(DP4ASS) X(DP2ALUU) X(DP2ALUS) X(DP2ALSU) X(DP2ALSS) \
	X(DP2AHUU) X(DP2AHUS) X(DP2AHSU) X(DP2AHSS) X(MOV) X(PACK) X(XTR) X(SLCTS) X(SLCTF) \
	X(FLUSH) X(RELU) X(CVT_SEXT) X(CVT_F_S32) X(CVT_F_U32) X(CVT_F_H) X(CVT_H_F) X(CVT_TRUNC) \
	X(SETONE)

enum lop {
	LOP_NONE,
#define LOP_ENUM(n) LOP_##n,
	LOP_LIST(LOP_ENUM)
#undef LOP_ENUM
	LOP_COUNT
};

enum { TESTP_BASE = CMP_NAN };          /* testp rows follow the comparisons */
#define MOP_COUNT (CMP_NAN + 7)

static inline bool lop_is_dp4a(u32 lop) { return lop == LOP_DP4AUU || lop == LOP_DP4AUS || lop == LOP_DP4ASU || lop == LOP_DP4ASS; }

struct lane_span { u64 lo, span, align, base, shift; };

/* Shapes of 32 addresses: elements next to each other, one address for all, or neither. */
enum { SHAPE_NONE, SHAPE_ROW, SHAPE_SAME };


/*
 * A matrix product of fragments (PTX ISA 9.7.14.5), d = a b + c, of 8 or 16 rows and 8 columns: registers of 32 lanes at v. Of a word k
 * of rows 8 r on is at PRODUCT_A + k * rows + r, of b at PRODUCT_B + k; c, which d replaces, at PRODUCT_C + 2 r for even columns and
 * behind that for odd ones; with PRODUCT_BOTH (.f16) both are halves of a word at PRODUCT_C + r. type, stype: of a and of b;
 * .f16, .bf16, .tf32, .e4m3, .e5m2, .s8, .u8. Sums of floats go up k, each rounded to .f32; a NaN is the canonical one. v is aligned to 64.
 */
typedef void product_fn(u32 (*v)[LANES], u32 type, u32 stype, u32 shape);
enum { PRODUCT_A = 0, PRODUCT_B = 4, PRODUCT_C = 6, PRODUCT_REGS = 10 };
#define PRODUCT_SHAPE(rows, words) (((rows) - 1) | ((words) - 1) << 1)
#define PRODUCT_BOTH 4u
product_fn product_avx2, product_avx512;

struct lane_table {
	const char *name;
	lane_fn *fn[LOP_COUNT][T_COUNT];
	mask_fn *cmp[MOP_COUNT][T_COUNT];
	u32 (*access32)(u64 *d, const void *a, u64 add, const struct lane_span *s, u32 *shape);
	u32 (*access64)(u64 *d, const void *a, u64 add, const struct lane_span *s, u32 *shape);
	/*
	 * The shape of the addresses of m (not 0), elements being 1 << shift bytes. *x0: where lane 0
	 * reads or would, if its lane were one of the row. Nothing is checked.
	 */
	u32 (*probe32)(const void *a, u64 add, u32 shift, u32 m, u64 *x0);
	u32 (*probe64)(const void *a, u64 add, u32 shift, u32 m, u64 *x0);
	/* d[l] = s[l] for the lanes of m; nothing else is read or written */
	void (*row32)(void *d, const void *s, u32 m);
	void (*row64)(void *d, const void *s, u32 m);
	/* shfl: fills d and returns the lanes whose source was in range */
	u32 (*shfl)(u32 *d, const u32 *a, const u32 *b, const u32 *c, u32 kind);
	void (*same)(u32 *d, const u32 *v);             /* match: of each lane those that have its number */
	void (*addlane)(u64 *d, u64 step);              /* d[l] += l * step */
	void (*splat32)(void *d, u32 v);
	void (*splat64)(void *d, u64 v);
	void (*blend32)(void *d, const void *s, u32 m);
	void (*blend64)(void *d, const void *s, u32 m);
	product_fn *product;
};

/* The same functions for the eight lanes of a strip, by the same numbers. */
struct strip_lanes {
	lane_fn *fn[LOP_COUNT][T_COUNT];
	mask_fn *cmp[MOP_COUNT][T_COUNT];
};
extern const struct strip_lanes lanes_strip;

extern const struct lane_table lanes_base, lanes_avx2, lanes_avx512;
const struct lane_table *lanes_get(void);

#endif
