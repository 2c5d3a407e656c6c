/* SPDX-License-Identifier: MIT */
/*
 * Conversions and lop3, as cvt.c and lanes.def say. Called by jit.c, one instruction at a time.
 */
#include "jit.h"
#include "lanes.h"

bool jit_lop3(struct jcomp *c, const struct insn *in)
{
	u8 w = in->dw;
	u32 p;

	for (p = 0; p < (w ? 4u : 2u); p++) {
		int x = jv_obs(c, in->o[1], w, p, 0), y = jv_obs(c, in->o[2], w, p, 1), z = jv_obs(c, in->o[3], w, p, 2);

		ev(&c->a, V_MOVA32, 3, 0, rm_reg(x));
		ev_i(&c->a, V_PTERNLOGD, 3, y, rm_reg(z), 0, 0, (u32)in->imm);
		jv_put(c, in->o[0], p, 3);
	}
	return true;
}

/* What a 32-bit register holds as a value of type t, of up to 32 bits, extended. */
void jl_extend(struct jcomp *c, int d, int x, enum type t)
{
	u32 bytes = type_bytes(t);
	bool sg = type_is_signed(t);

	if (bytes == 4) {
		if (d != x)
			ev(&c->a, V_MOVA32, d, 0, rm_reg(x));
		return;
	}
	if (!sg) {
		ev(&c->a, V_PANDD, d, x, rm_lit(j_lit32(c, (1u << 8 * bytes) - 1), 0));
		return;
	}
	jl_shift(c, LOP_SHL, false, 0, d, x, 32 - 8 * bytes);
	jl_shift(c, LOP_SHR, sg, 0, d, d, 32 - 8 * bytes);
}

bool jit_cvt(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	enum type dt = in->type, at = in->stype;
	bool di = !type_is_float(dt) && dt != T_TF32, ai = !type_is_float(at);
	u32 p;
	int x;

	if ((in->flags & (INF_SAT | INF_RELU)) || in->aw)
		return jit_cvt_float(c, in);
	if (di && ai) {
		if (in->dw && type_bytes(dt) != 8)
			return false;
		for (p = 0; p < (in->dw ? 4u : 2u); p++) {
			if (in->dw) {
				jl_widen(c, in->o[1], p, 0, true, true);
				ev_i(a, V_PSHIQ, 6, 0, rm_reg(0), 0, 0, 64 - 8 * type_bytes(at));
				if (type_is_signed(at))
					ev_i(a, V_PSRAIQ, 4, 0, rm_reg(0), 0, 0, 64 - 8 * type_bytes(at));
				else
					ev_i(a, V_PSHIQ, 2, 0, rm_reg(0), 0, 0, 64 - 8 * type_bytes(at));
				jv_put(c, in->o[0], p, 0);
				continue;
			}
			x = jv_obs(c, in->o[1], 0, p, 0);
			jl_extend(c, 0, x, at);
			if (type_bytes(dt) < type_bytes(at) || type_is_signed(dt) != type_is_signed(at))
				jl_extend(c, 0, 0, dt);
			jv_put(c, in->o[0], p, 0);
		}
		return true;
	}
	if (in->dw)
		return jit_cvt_float(c, in);
	if (dt == T_F32 && ai && in->sub <= RND_RN && type_bytes(at) < 4) {
		/* exact: no rounding at all */
		for (p = 0; p < 2; p++) {
			x = jv_obs(c, in->o[1], 0, p, 0);
			jl_extend(c, 0, x, at);
			ev(a, V_CVTDQ2PS, 0, 0, rm_reg(0));
			jv_put(c, in->o[0], p, 0);
		}
		return true;
	}
	if (di && at == T_F32 && type_bytes(dt) == 4 && (in->sub == RND_RZI || in->sub == RND_RNI)) {
		/* saturating, a NaN gives 0. Rounding is named in the instruction; subnormals give 0 either way */
		u32 near = in->sub == RND_RNI;

		for (p = 0; p < 2; p++) {
			x = jv_reg(c, in->o[1], 0, p, 0);
			if (dt == T_S32) {
				ev_i(a, V_CMPPS, 7, x, rm_lit(j_lit32(c, 0x4f000000), 0), 0, 0, 0x0d);
				if (near)
					ev_n(a, V_LL(V_CVTPS2DQ, 0), 1, 0, rm_reg(x), 0, 0, 1, 64, 0);
				else
					ev(a, V_CVTTPS2DQ, 1, 0, rm_reg(x));
				ev_k(a, V_MOVA32, 1, 0, rm_lit(j_lit32(c, 0x7fffffff), 0), 7, 0);
				ev_i(a, V_CMPPS, 7, x, rm_reg(x), 0, 0, 7);
				ev_k(a, V_MOVA32, 1, 0, rm_reg(1), 7, 1);
			} else {
				ev(a, V_PXORD, 1, 1, rm_reg(1));
				ev(a, V_MAXPS, 1, x, rm_reg(1));        /* NaN: 0 */
				if (near)
					ev_n(a, V_LL(VOP(0, 1, 0, 0x79), 0), 1, 0, rm_reg(1), 0, 0, 1, 64, 0);
				else
					ev(a, V_CVTTPS2UDQ, 1, 0, rm_reg(1));
			}
			jv_put(c, in->o[0], p, 1);
		}
		return true;
	}
	if (dt == T_F32 && at == T_F32 && in->sub >= RND_RNI && in->sub <= RND_RPI) {
		static const u8 imm[] = { [RND_RNI] = 8, [RND_RMI] = 9, [RND_RPI] = 10, [RND_RZI] = 11 };

		if (c->s->mxcsr == ~0u)
			jit_mxcsr(c, in->flags & INF_FTZ ? 0x9fc0 : 0x1f80);
		else if ((c->s->mxcsr == 0x9fc0) != !!(in->flags & INF_FTZ) || !c->s->mxcsr)
			return jit_cvt_float(c, in);
		for (p = 0; p < 2; p++) {
			int d = c->r[in->o[0]].rawf ? jv_dst(c, in->o[0], p, 1) : 1;

			x = jv_reg(c, in->o[1], 0, p, 0);
			ev_i(a, V_RNDSCALEPS, d, 0, rm_reg(x), 0, 0, imm[in->sub]);
			if (!c->r[in->o[0]].rawf)
				d = jv_canon(c, d, d);
			jv_put(c, in->o[0], p, d);
		}
		return true;
	}
	return jit_cvt_float(c, in);
}
