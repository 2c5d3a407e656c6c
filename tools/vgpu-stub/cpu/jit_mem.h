/* SPDX-License-Identifier: MIT */
/* Addresses of memory operations: from jit_addr.c for jit_mem.c (loads) and jit_st.c (stores). */
#ifndef VGPU_JIT_MEM_H
#define VGPU_JIT_MEM_H

#include "jit.h"
#include "lanes.h"

/* A uniform or pattern address; base + disp is lane 0's. */
struct acc {
	struct jval v;
	s32 cmin, cmax;
	u8 base;                /* general register: rax or the address's own */
	s32 disp;
	u32 bytes, align;       /* of one lane's access */
	u32 step;               /* exit */
	const s32 *pat;
	bool back;              /* a store to where a load before it in this piece of code has been */
};

bool jm_addr(struct jcomp *c, const struct insn *in, struct acc *x);
bool jm_asks(const struct jcomp *c, const struct insn *in, u32 ext);
void jm_ahead_rounds(struct jcomp *c, u32 last, s64 step, u32 ext);
bool jm_shape(struct jcomp *c, const struct insn *in, struct acc *x, u32 *ext);
void jm_late(struct jcomp *c);
/* jit_number.c */
bool jn_begin(struct jcomp *c);
bool jn_sure(const struct jcomp *c, u32 v, u32 pc);
struct jvn jn_of(struct jcomp *c, u32 o);
void jm_defines(struct jcomp *c, const struct insn *in);
bool jm_is_row(const struct acc *x);
enum { JM_CHECK = 1, JM_ADDRESS = 2 };
int jm_vary64_in(struct jcomp *c, const struct insn *in, u32 q, u32 step, u32 what);
void jm_vary64(struct jcomp *c, const struct insn *in, u32 q, u32 step, u32 what);
void jm_vary32(struct jcomp *c, const struct insn *in, u32 p, u32 step, u32 what);
bool jm_window(const struct insn *in);         /* shared or local memory: addresses are offsets */
bool jm_vary_base(struct jcomp *c, const struct insn *in, u32 step);
bool jm_addresses(struct jcomp *c, const struct insn *in, const struct acc *x, u32 step);

/* jit_mem.c: every lane's access is in zmm 0..3 as 64 bits, or that of 16 lanes as 128: takes them apart */
void jm_split64(struct jcomp *c, const struct insn *in);
void jm_split128(struct jcomp *c, const struct insn *in, u32 p, bool both);  /* both: for the other 16 lanes, too */
void jm_narrow(struct jcomp *c, int t, u32 size, bool sg, u32 from);
void jm_put_uniform(struct jcomp *c, u32 v, int gpr);
u32 jm_half(struct jcomp *c);   /* a register of 32 bits a lane that nobody else has, in P at JP_RESULT */
u32 jm_unless_all(struct jcomp *c);     /* jit_st.c: a jump, unless all 32 lanes run */
/* jit_st.c: unit u of the part's lanes; lanes 4g .. 4g+3 of four registers side by side */
int jm_st_value(struct jcomp *c, const struct insn *in, u32 u, u32 part, int tmp);
int jm_quad(struct jcomp *c, const int *r, u32 g);
/* jit_comb.c: bytes side by side in the 64 that some lanes from l0 on read, per bytes each; 64 such bytes into zmm t, by zmm 6 */
u32 jm_run_of(const struct acc *x, u32 l0, u32 per);
bool jm_chunk(struct jcomp *c, const struct acc *x, u32 l0, u32 per, int t, u32 n_exit);
bool jm_near(struct jcomp *c, const struct insn *in, const struct acc *x);      /* 16 bytes hold all that each part's lanes read */
/* jit_comb.c: any dwords within at most that many windows (up to 4); false: nothing emitted. Both halves of the warp read the same */
bool jm_combs(struct jcomp *c, const struct insn *in, const struct acc *x, u32 most);
bool jm_narrow_combs(struct jcomp *c, const struct insn *in, const struct acc *x);       /* one or two bytes a lane */
bool jm_words(struct jcomp *c, const struct insn *in, const struct acc *x, u32 d);
bool jm_places_apart(const s32 *at, u32 n);
bool jm_same_parts(const struct acc *x);
/* jit_piece.c: vectors of dwords, each lane's one access; all lanes run; false: nothing emitted */
bool jp_ld(struct jcomp *c, const struct insn *in, const struct acc *x);
bool jp_st(struct jcomp *c, const struct insn *in, const struct acc *x);
/* jit_byte.c: stores of one or two bytes that no row is known to be; x NULL: varying addresses */
bool jb_st(struct jcomp *c, const struct insn *in, const struct acc *x);
/* jit_shape64.c: 64 bits a lane by a pattern, of eight lanes or all; false: nothing emitted */
bool jm_windows64(struct jcomp *c, const struct acc *x, u32 q, int t);
bool jm_ld_widened(struct jcomp *c, const struct insn *in);
bool jm_widens(const struct jcomp *c, const struct insn *in);
bool jm_ld_shapes64(struct jcomp *c, const struct insn *in, const struct acc *x);
/* jit_row.c: lanes that turn out to be a row; behind it comes the code for those that are none, and g_here() */
u32 jr_ld(struct jcomp *c, const struct insn *in, u32 part, u32 step, int t);
u32 jr_same(struct jcomp *c, const struct insn *in, u32 step);
u32 jr_level(struct jcomp *c, const struct insn *in, u32 part, u32 step, int t);
u32 jr_beside(struct jcomp *c, const struct insn *in, u32 part, u32 step);
void jr_eights(struct jcomp *c, const struct insn *in, u32 part, u32 step);
void jm_load_scalar(struct jcomp *c, const struct insn *in, int gpr, struct rm m);      /* extended; not to be called for what may fault without j_site() */
u32 jr_st(struct jcomp *c, const struct insn *in, u32 part, u32 step);
bool jr_ld_parts(struct jcomp *c, const struct insn *in, const struct acc *x);  /* patterns whose parts are rows; false: nothing emitted */
bool jr_st_parts(struct jcomp *c, const struct insn *in, const struct acc *x);
bool js_stays(struct jcomp *c, const struct insn *in, u32 e);   /* jit_stay.c */
void js_stayed(struct jcomp *c, const struct insn *in);
void jm_rely_on(struct jcomp *c, u32 exit);             /* jit_addr.c */
/* jit_few.c: for the lanes in k7, few of them at once; want rcx, rdx, and the store zmm 1 */
void jf_gather(struct jcomp *c, u32 op, int t, struct rm m, u32 step);
void jf_scatter(struct jcomp *c, u32 op, int s, struct rm m, u32 step);
/* jit_index.c: by a base and indices; false: nothing emitted */
bool jx_ld(struct jcomp *c, const struct insn *in);
bool jx_st(struct jcomp *c, const struct insn *in);
bool jx_addresses(struct jcomp *c, const struct insn *in, u32 step);
u32 jx_kept(struct jcomp *c, const struct insn *in, u32 op, u32 step, bool same);
/*
 * jit_atom.c, for jit_reduce.c. Where a lane's part is: lane l, or the one in rcx. held: others may come to that memory; same: rdx is every
 * lane's value already. Addresses and values stand in P.
 */
struct ja_place { s32 l; u8 w; bool held, same; };
#define JA_VALUE JP_WIDE
void ja_one(struct jcomp *c, const struct insn *in, struct ja_place p, u32 step);
void ja_together(struct jcomp *c, const struct insn *in);       /* all values in lane 0's place */
/* rcx = the lowest lane of k7, which is at work; on to the next one at top, if there is one. Overwrites rcx, rdx */
void ja_lane(struct as *a);
void ja_next_lane(struct as *a, u32 top);
void ja_touch(struct jcomp *c, u32 step, bool lock);
u32 ja_vector_op(const struct insn *in);
u64 ja_neutral(const struct insn *in);
u32 ja_sum_csr(const struct insn *in);
/* jit_reduce.c: reductions of which all lanes' places are one or rows; done[]: the jumps to behind the other way's code, which follows; how many */
#define JA_WAYS 2
u32 ja_at_once(struct jcomp *c, const struct insn *in, const struct acc *x, u32 step, bool held, u32 *done);
/* jit_tensor.c: rows of a matrix; false: nothing emitted */
bool jt_ld(struct jcomp *c, const struct insn *in, u32 step);
/* jit_wide.c: a thread's vector access of global memory is one access */
void jw_addresses(struct jcomp *c, const struct acc *x);        /* of all lanes into P */
bool jw_wide(const struct insn *in);
/* For each lane that runs, in order: its number in rcx, its place in P in rax; rdx: those that are left. To where the next one begins */
u32 jw_lanes(struct jcomp *c);
void jw_next_lane(struct jcomp *c, u32 top);
/* Merged by jit_merge.c: aligned as its parts, and no one access. */
static inline bool jm_merged(const struct insn *in) { return (in->kind == K_LD || in->kind == K_ST) && in->sub2; }
static inline u32 jm_align(const struct insn *in) { return jm_merged(in) ? in->sub2 : (u32)in->size * in->vec; }
/* Stored by this is what the halves of in->o[0] are as floats (jit_unpack.c). */
static inline bool jm_unpacks(const struct insn *in) { return in->kind == K_ST && in->lop == LOP_CVT_F_H; }
void jit_unpack_st(struct jcomp *c, const struct insn *in, const struct acc *x, bool under);
bool jw_ld(struct jcomp *c, const struct insn *in, const struct acc *x);
void jw_ld_one(struct jcomp *c, const struct insn *in, const struct acc *x);
bool jw_st(struct jcomp *c, const struct insn *in, const struct acc *x);
void jw_st_one(struct jcomp *c, const struct insn *in, const struct acc *x);

#endif
