/* SPDX-License-Identifier: MIT */
/* Between the files that load and store: mem.c, store.c, pair.c. */
#ifndef VGPU_STRIP_MEM_H
#define VGPU_STRIP_MEM_H

#include "strip.h"

#define L_ADDR 0                /* places in sprivate.lanes: addresses, rows of 16 bytes or elements, columns */
#define L_ROWS 64
#define L_COLS 192
#define L_IDLE 448              /* what lanes that do not run load; where they store: apart, that those loads wait for no store */
#define L_IDLE_ST 480

#define X_MOVQ_TO VOP(1, 1, 0, 0xd6)
#define X_MOVHPS_TO VOP(0, 1, 0, 0x17)
#define X_PEXTRB_TO VOP(1, 3, 0, 0x14)
#define X_PEXTRW_TO VOP(1, 3, 0, 0x15)
#define X_PEXTRD_TO VOP(1, 3, 0, 0x16)

static inline struct rm s_mem_lanes_at(u32 off) { return rm_mem(R15, (s32)(offsetof(struct sprivate, lanes) + off)); }
static inline struct rm s_mem_lanes_of(u32 off, int index, u8 scale)
{
	return rm_idx(R15, index, scale, (s32)(offsetof(struct sprivate, lanes) + off));
}

bool s_can_be(const struct scomp *c, const struct insn *in);     /* is the address of a kind that is done here? */
/* Can the lanes' addresses be checked as one, and is each aligned if the scalar is? */
bool s_mem_row(const struct scomp *c, const struct insn *in, struct sval *v);
bool s_in_static(const struct scomp *c, const struct insn *in);   /* is it a place in a function's own shared memory that is known now? */
struct rm s_row_address(struct scomp *c, const struct insn *in, struct sval v);  /* that of lane 0, checked for all of them */
static inline struct rm s_off(struct rm m, s32 by) { m.disp += by; return m; }
bool s_twin(struct scomp *c, struct rm m, const s32 *p);         /* pair.c */
/* wide.c: in's result, of the eight halves in xmm0 */
void s_half_float(struct scomp *c, const struct insn *in);
/* wide.c: ymm0 = the unsigned numbers in ymm x as f32; ymm1 is lost */
void s_unsigned_float(struct scomp *c, int x);
/* convert.c: of X_ROUNDPS and X_ROUNDPD, by the rounding to a whole number */
extern const u8 s_round_imm[];
/* half.c: xmm d = the lower or the upper halves in ymm x, side by side */
void s_halves(struct scomp *c, bool up, int d, int x);
/* half.c: arithmetic of f16 and bf16; conversions to them, and to f32; ymm d = one in operand o, as f32 */
bool s_half(struct scomp *c, const struct insn *in);
bool s_half_cvt(struct scomp *c, const struct insn *in);
void s_half_wide(struct scomp *c, u8 t, u32 o, int d);
/* step.c */
void s_ask_for_next(struct scomp *c, struct rm m, bool warp);
void s_ask_ahead(struct scomp *c, int base, s32 disp, u32 bytes);

/* some.c: shared memory by a pattern, some lanes of which wait */
bool s_lanes_can(const struct scomp *c);
bool s_lanes_have(struct scomp *c, const u32 *twin, u32 n);
void s_lanes_way(struct scomp *c, u32 slow);
bool s_load_lanes(struct scomp *c, const struct insn *in);
bool s_store_lanes(struct scomp *c, const struct insn *in);
void s_lanes_rows8(struct scomp *c);
void s_gather(struct scomp *c, u32 size);        /* mem.c: ymm0 and ymm1 hold the addresses; elements of 64 bits in ymm2 and ymm0, others in ymm2 */

/* row.c */
#define S_NO_ROW 5u
bool s_may_be_row(const struct scomp *c, const struct insn *in);
struct rm s_run_row(struct scomp *c, const struct insn *in, u32 *no, u32 *n);

/* index.c */
void s_index_check(struct scomp *c, const struct insn *in, const struct sindex *s);
void s_index_gather(struct scomp *c, const struct insn *in, const struct sindex *s);
void s_index_store(struct scomp *c, const struct insn *in, const struct sindex *s);
struct rm s_index_place(struct scomp *c, const struct insn *in, const struct sindex *s);
u32 s_index_row(struct scomp *c, const struct sindex *s);
int s_index_origin(struct scomp *c, const struct insn *in, const struct sindex *s, s32 *disp);
void s_index_from(struct scomp *c, const struct insn *in, const struct sindex *s, u64 from);
bool s_atom_direct(const struct insn *in);      /* atom.c: one instruction of the processor */

/* address.c */
bool s_by_scalar(struct scomp *c, const struct insn *in);
static inline u32 s_log2(u32 n) { return (u32)__builtin_ctz(n); }
/* Is the function's own shared memory all that it has, and large enough for an access to bytes of it? Then that is a limit which is known now. */
static inline bool s_own_shared(const struct scomp *c, u32 bytes) { return !c->dynamic && bytes <= c->fn->shared_bytes; }
void s_local_base(struct scomp *c);      /* rcx = where the local memory of the strip's first thread begins */
void s_lane_addresses(struct scomp *c, const struct insn *in);   /* in ymm0 and ymm1, checked for the lanes that run */
void s_idle_lanes(struct scomp *c, u32 place);      /* those in ymm0 and ymm1 of lanes that do not run: of a place where they do no harm */
void s_store_addresses(struct scomp *c);                         /* of ymm0 and ymm1, in sprivate.lanes */
/* column.c: elements of 32 and 64 bits out of rows, lane l's at[l] behind m; sites: they may fault */
void s_columns(struct scomp *c, const struct insn *in, struct rm m, const s32 *at, bool sites);
void s_wide_columns(struct scomp *c, const struct insn *in, struct rm m, const s32 *at, bool sites);
/* four rows of 8 bytes in ymm r, ymm tmp is lost */
void s_mem_rows(struct scomp *c, struct rm m, const s32 *at, int r, int tmp, bool sites);
void s_mem_eight(struct scomp *c, u32 size, struct rm m, const s32 *p);  /* xmm0 = eight of 8 or 16 bits; xmm1 is lost */
void s_mem_four(struct scomp *c, int d, struct rm m, const s32 *p);      /* xmm d = four 32-bit elements at those distances from m */

#endif
