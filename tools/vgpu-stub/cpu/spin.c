/* SPDX-License-Identifier: MIT */
/* Loops in which lanes wait for what others write: a round of them costs more of a turn. Called by cfg.c, when code has its last order. */
#include "cfg.h"

#define SPIN_LONGEST 32u        /* instructions of a loop that is taken for one that waits */

/*
 * A short loop, from to to pc, that does nothing but look at one place, by loads that order nothing (ld.cg, as barriers across a grid from before cooperative launches have them),
 * ends when somebody else has written: such loads are taken for ones that do.
 */
static void waits_weakly(struct insn *code, u32 to, u32 pc)
{
	u32 i, j, k, n, loads = 0;

	for (i = to; i <= pc; i++) {
		const struct insn *in = &code[i];

		switch ((enum kind)in->kind) {
		case K_LD:
			loads += in->space == SPACE_GLOBAL || in->space == SPACE_GENERIC;
			break;
		case K_LANE: case K_SETP: case K_PRED: case K_LOP3: case K_CVT: case K_MEMBAR: case K_NOP: case K_JMP: case K_CBRA:
			break;
		default:
			return;
		}
		/* it reads what the round before it made: it counts */
		for (k = 0; k < 6; k++)
			for (j = i; (in->use >> k & 1) && in->o[k] != OPND_NONE && j <= pc; j++)
				for (n = 0; n < 6; n++)
					if ((code[j].def >> n & 1) && code[j].o[n] == in->o[k] && !(in->o[k] & OPND_CONST))
						return;
	}
	for (i = to; loads && i <= pc; i++)
		if (code[i].kind == K_LD && (code[i].space == SPACE_GLOBAL || code[i].space == SPACE_GENERIC))
			code[i].flags |= INF_SYNC;
}

/* Is v made between to and pc? */
static bool is_made(const struct insn *code, u32 to, u32 pc, u32 v)
{
	for (; to <= pc; to++)
		if (insn_writes(&code[to], v))
			return true;
	return false;
}

/* Does it look at one place, and count at the most? */
static bool polls(const struct insn *code, u32 to, u32 pc)
{
	u32 i, loads = 0;

	for (i = to; i <= pc; i++) {
		const struct insn *in = &code[i];

		switch ((enum kind)in->kind) {
		case K_LD:
			if (!(in->flags & INF_SYNC) || ((in->use >> 4 & 1) && !(in->o[4] & OPND_CONST) && is_made(code, to, pc, in->o[4])))
				return false;
			loads++;
			break;
		case K_LANE: case K_SETP: case K_PRED: case K_LOP3: case K_CVT: case K_MEMBAR: case K_NOP: case K_JMP: case K_CBRA: case K_NANOSLEEP:
			break;
		default:
			return false;
		}
	}
	return loads == 1;
}

/* A lock, a flag: the loop from to to pc, the jump back, ends when somebody else has written. INF_SPIN, INF_POLL, or neither */
u8 cfg_spins(struct insn *code, u32 to, u32 pc, bool weakly)
{
	u32 i;

	if (to > pc || pc - to > SPIN_LONGEST)
		return 0;
	if (weakly)
		waits_weakly(code, to, pc);
	for (i = to; i < pc; i++)
		if ((code[i].kind == K_LD && (code[i].flags & INF_SYNC)) || (code[i].kind == K_ATOM && code[i].o[0] != OPND_NONE))
			return polls(code, to, pc) ? INF_SPIN | INF_POLL : INF_SPIN;
	return 0;
}
