/* SPDX-License-Identifier: MIT */
/*
 * Warp IR as text: one function for all who show an instruction (faults, memcheck.c, optrace.c, vgpu check -d). Its
 * words are those of ops.def; names of registers and labels are the program's.
 */
#ifndef VGPU_CPU_DISASM_H
#define VGPU_CPU_DISASM_H

#include <stdio.h>

#include "cpu.h"

struct comp;
struct label;

/* Registers first .. first + count - 1 are name, or name0, name1 ..., or elements of such. Text of the module. */
struct regname { u32 first, count, n; u8 type, vec; bool family; const char *s; };
struct labelname { u32 pc, n; const char *s; };

/* What is left of a function's names after compilation, in the module's pool. */
struct fnames {
	struct regname *reg;    /* by first register */
	struct labelname *label;
	u32 nreg, nlabel;
	u32 *same, same_first, nsame;   /* registers from that one on are called like these */
	u32 *others, nothers;   /* of a coarse function: nothers for each further block, its registers in the place of the first one's; 0: the same */
	u32 (*uni)[2];          /* values of the grid: place in the pool, the register that it was */
	u32 nuni;
	u32 konst_bytes;        /* of the pool, before these */
	const struct insn *code;        /* with virtual registers; NULL: fn->jsrc has it */
};

/* Called while c->fn is compiled: by parse.c and compile.c, by cfg.c. */
void names_reg(struct comp *c, const struct sym *v, const char *s, u32 n, u32 count);
void names_same(struct comp *c, u32 made, u32 like);
void names_keep(struct comp *c, const struct insn *code, u32 ncode);
void names_label(struct func *fn, const struct label *l, u32 pc);

/* Text that grows up to its room and is then cut; always ends in a NUL. */
struct dtext { char *s; size_t room, n; };
void dt_say(struct dtext *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* "@%p1 add.s32 %r3, %r1, 4". in is of fn->code or fn->pro. */
void disasm(const struct func *fn, const struct insn *in, struct dtext *t);
/* Is in one of its instructions? */
static inline bool disasm_known(const struct func *fn, const struct insn *in)
{
	return in >= fn->code && in < fn->code + fn->ncode;
}
/* Where the function jumps to: the program's name for pc, or a number. */
void disasm_label(const struct func *fn, u32 pc, struct dtext *t);
/* Its i-th result: the name, and how its value reads; false: there is none. */
bool disasm_result(const struct func *fn, const struct insn *in, u32 i, struct dtext *name, enum type *type);
/* One lane's value of that type. */
void disasm_value(enum type type, u64 bits, struct dtext *t);
/* The instruction with virtual registers, NULL: they are not known; its place without steps (optrace.c). */
const struct insn *disasm_virtual(const struct func *fn, const struct insn *in);
u32 disasm_pc(const struct func *fn, const struct insn *in);

/* Between these files. A register; the one that a place in the pool was, or OPND_NONE; such a place or a constant. */
const struct regname *disasm_regname(const struct func *fn, u32 reg);
void disasm_reg(const struct func *fn, u32 reg, struct dtext *t);
u32 disasm_pool_reg(const struct func *fn, u32 place);
void disasm_pool(const struct func *fn, u32 place, enum type type, struct dtext *t);
/* What it is called, with modifiers and types; a row of lanes.def, with the types that lanes are stored and loaded as. */
struct lane_row { u8 lop, type, as[4]; };
void disasm_op(const struct insn *in, struct dtext *t);
const struct lane_row *disasm_lane(u32 lop, u32 type);

/* disasm_list.c: all of a kernel with what it calls, as vgpu check -d prints it. */
uint32_t disasm_list(struct engine *e, uint32_t fn, FILE *out);

#endif
