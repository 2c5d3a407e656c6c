/* SPDX-License-Identifier: MIT */
/*
 * ops.def made into tables, and the names of types and special registers.
 */
#include <pthread.h>
#include <string.h>

#include "cpu.h"
#include "lanes.h"
#include "ops_doc.h"
#include "tex.h"

#define M(c) (1ull << MC_##c)
#define T(t) (1ull << T_##t)
#define TB(n) (1ull << T_B##n)
#define TNONE 1ull
#define TI8 (T(U8) | T(S8))
#define TI4 (T(U4) | T(S4) | T(U2) | T(S2))
#define TSMALL (T(E4M3X2) | T(E5M2X2) | T(E2M1X2) | T(E2M3X2) | T(E3M2X2) | T(UE8M0X2))
#define TSMALL4 (T(E4M3X4) | T(E5M2X4) | T(E2M1X4) | T(E2M3X4) | T(E3M2X4))
#define TI16 (T(U16) | T(S16))
#define TI32 (T(U32) | T(S32))
#define TI64 (T(U64) | T(S64))
#define TI (TI16 | TI32 | TI64)
#define TS (T(S16) | T(S32) | T(S64))
#define TF (T(F32) | T(F64))
#define TH (T(F16) | T(F16X2) | T(BF16) | T(BF16X2))
#define TB_16X2 (T(U16X2) | T(S16X2))
#define TBALL (TB(16) | TB(32) | TB(64))
#define TMEM (TB(8) | TBALL | TI8 | TI | TF)
#define TATOM (TB(16) | TB(32) | TB(64) | TI32 | TI64 | TF | TH)

/* where the lane op stands for a number: of elements of a video instruction */
enum { LOP_V1 = 1, LOP_V2 = 2, LOP_V4 = 4 };
const struct opdesc op_table[OPID_COUNT] = {
#define OP(id, name, x, lop, shape, mods, types) \
	[OPID_##id] = { name, OPID_##id, X_##x, LOP_##lop, shape, mods, types },
#include "ops.def"
};

static bool same(const char *word, const char *s, size_t n)
{
	return strlen(word) == n && !memcmp(word, s, n);
}

/*
 * Look-ups by name are a good part of what compiling costs. Words of a table hang in chains by length and outer letters,
 * in the order of the table; numbers are one more than the index, 0 ends a chain.
 */
#define CHAINS 128u
struct chains { u16 head[CHAINS], next[512]; u8 len[512]; };
static struct chains ops, mods_by, types_by;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static u32 chain_of(const char *s, size_t n)
{
	return ((u32)(u8)s[0] + (u32)(u8)s[n - 1] * 5 + (u32)(u8)s[n / 2] * 9 + (u32)n * 3) % CHAINS;
}

/* From the last word to the first. */
static void chain_put(struct chains *c, u32 i, const char *word)
{
	size_t n = strlen(word);
	u32 h;

	if (!n)
		return;
	h = chain_of(word, n);
	c->len[i] = (u8)n;
	c->next[i] = c->head[h];
	c->head[h] = (u16)(i + 1);
}

static u32 chain_first(const struct chains *c, const char *s, size_t n)
{
	return n ? c->head[chain_of(s, n)] : 0;
}

static void make_chains(void);

const struct opdesc *op_find(const char *s, size_t n)
{
	u32 i;

	pthread_once(&once, make_chains);
	for (i = chain_first(&ops, s, n); i; i = ops.next[i - 1])
		if (ops.len[i - 1] == n && !memcmp(op_table[i - 1].name, s, n))
			return &op_table[i - 1];
	return NULL;
}

bool op_known_unsupported(const char *s, size_t n)
{
	static const char *const names[] = {
#define UNSUP(name) name,
#include "ops.def"
	};
	u32 i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (same(names[i], s, n))
			return true;
	return false;
}

static const struct { const char *name; u8 cls, val; } mods[] = {
#define CV_RND(v) RND_##v
#define CV_HLW(v) HLW_##v
#define CV_CMP(v) CMP_##v
#define CV_BOOL(v) BOOL_##v
#define CV_SPACE(v) SPACE_##v
#define CV_BAR(v) BAR_##v
#define CV_RED(v) RED_##v
#define CV_ATOM(v) ATOM_##v
#define CV_VOTE(v) VOTE_##v
#define CV_SHFL(v) SHFL_##v
#define CV_FTZ(v) v
#define CV_NOFTZ(v) v
#define CV_SAT(v) v
#define CV_RELU(v) v
#define CV_APX(v) v
#define CV_CC(v) v
#define CV_SHIFTAMT(v) v
#define CV_VEC(v) v
#define CV_SEM(v) v
#define CV_SCOPE(v) v
#define CV_CACHE(v) v
#define CV_SHF(v) v
#define CV_CLAMP(v) v
#define CV_PRMT(v) v
#define CV_TESTP(v) v
#define CV_TO(v) v
#define CV_UNI(v) v
#define CV_IDX(v) v
#define CV_ALIGNED(v) v
#define CV_SYNC(v) v
#define CV_NAN(v) v
#define CV_PACK(v) v
#define CV_XORSIGN(v) v
#define CV_ABS(v) v
#define CV_MSHAPE(v) MSHAPE_##v
#define CV_ROW(v) v
#define CV_COL(v) v
#define CV_TRANS(v) v
#define CV_MNUM(v) v
#define CV_CP(v) CP_##v
#define CV_GRIDDEP(v) v
#define CV_HINT(v) v
#define CV_OOB(v) v
#define CV_SCALE(v) v
#define CV_PO(v) v
#define CV_WMMA(v) v
#define CV_WGMMA(v) WGMMA_##v
#define CV_SPARSE(v) SPARSE_##v
#define CV_TENSOR(v) TENSOR_OF_##v
#define CV_TMODE(v) TMODE_##v
#define CV_MBAR(v) MBAR_##v
#define CV_MBARM(v) MBARM_##v
#define CV_GEOM(v) GEOM_##v
#define CV_LEVEL(v) LEVEL_##v
#define CV_SURF(v) SURF_##v
#define CV_EDGE(v) EDGE_##v
#define CV_TLD(v) TLD_##v
#define CV_TXQ(v) TXQ_##v
#define CV_BULK(v) BULK_##v
#define CV_FRAG(v) v
#define CV_POLICY(v) v
#define CV_PROXY(v) v
#define CV_SATF(v) v
#define MOD(name, cls, val) { name, MC_##cls, CV_##cls(val) },
#include "ops.def"
};
_Static_assert(sizeof(mods) / sizeof(mods[0]) <= sizeof(mods_by.len) && OPID_COUNT <= 256, "chains");

int mod_find(const struct opdesc *od, const char *s, size_t n, enum modclass *cls)
{
	u32 i;

	pthread_once(&once, make_chains);
	for (i = chain_first(&mods_by, s, n); i; i = mods_by.next[i - 1])
		if (mods_by.len[i - 1] == n && (od->mods >> mods[i - 1].cls & 1) && !memcmp(mods[i - 1].name, s, n)) {
			*cls = mods[i - 1].cls;
			return mods[i - 1].val;
		}
	return -1;
}

const char *mod_name(enum modclass cls, u32 val)
{
	u32 i;

	for (i = 0; i < sizeof(mods) / sizeof(mods[0]); i++)
		if (mods[i].cls == cls && mods[i].val == val)
			return mods[i].name;
	return NULL;
}

const char *mod_nth(const struct opdesc *od, u32 i)
{
	u32 k;

	for (k = 0; k < sizeof(mods) / sizeof(mods[0]); k++)
		if ((od->mods >> mods[k].cls & 1) && !i--)
			return mods[k].name;
	return NULL;
}

static const struct { const char *name; u8 bytes; } types[T_COUNT] = {
	[T_NONE] = { "", 0 }, [T_PRED] = { "pred", 1 },
	[T_B8] = { "b8", 1 }, [T_B16] = { "b16", 2 }, [T_B32] = { "b32", 4 }, [T_B64] = { "b64", 8 },
	[T_U8] = { "u8", 1 }, [T_U16] = { "u16", 2 }, [T_U32] = { "u32", 4 }, [T_U64] = { "u64", 8 },
	[T_S8] = { "s8", 1 }, [T_S16] = { "s16", 2 }, [T_S32] = { "s32", 4 }, [T_S64] = { "s64", 8 },
	[T_F16] = { "f16", 2 }, [T_F16X2] = { "f16x2", 4 }, [T_BF16] = { "bf16", 2 },
	[T_BF16X2] = { "bf16x2", 4 }, [T_F32] = { "f32", 4 }, [T_F64] = { "f64", 8 },
	[T_U16X2] = { "u16x2", 4 }, [T_S16X2] = { "s16x2", 4 }, [T_B128] = { "b128", 16 },
	[T_TF32] = { "tf32", 4 }, [T_F32X2] = { "f32x2", 8 },
	[T_E4M3X2] = { "e4m3x2", 2 }, [T_E5M2X2] = { "e5m2x2", 2 }, [T_E2M1X2] = { "e2m1x2", 1 },
	[T_E2M3X2] = { "e2m3x2", 2 }, [T_E3M2X2] = { "e3m2x2", 2 }, [T_UE8M0X2] = { "ue8m0x2", 2 },
	[T_U4] = { "u4", 1 }, [T_S4] = { "s4", 1 }, [T_U2] = { "u2", 1 }, [T_S2] = { "s2", 1 }, [T_B1] = { "b1", 1 },
	[T_E4M3] = { "e4m3", 1 }, [T_E5M2] = { "e5m2", 1 }, [T_E4M3X4] = { "e4m3x4", 4 }, [T_E5M2X4] = { "e5m2x4", 4 },
	[T_E2M1X4] = { "e2m1x4", 2 }, [T_E2M3X4] = { "e2m3x4", 4 }, [T_E3M2X4] = { "e3m2x4", 4 },
};

u32 type_bytes(enum type t)
{
	return types[t].bytes;
}

const char *type_name(enum type t)
{
	return types[t].name;
}

enum type type_find(const char *s, size_t n)
{
	u32 i;

	pthread_once(&once, make_chains);
	for (i = chain_first(&types_by, s, n); i; i = types_by.next[i - 1])
		if (types_by.len[i - 1] == n && !memcmp(types[i - 1].name, s, n))
			return (enum type)(i - 1);
	return T_NONE;
}

static void make_chains(void)
{
	u32 i;

	for (i = OPID_COUNT; i-- > 1;)
		chain_put(&ops, i, op_table[i].name);
	for (i = sizeof(mods) / sizeof(mods[0]); i-- > 0;)
		chain_put(&mods_by, i, mods[i].name);
	for (i = T_COUNT; i-- > 1;)
		chain_put(&types_by, i, types[i].name);
}

static const struct { const char *name; int sr; } sregs[] = {
	{ "%tid.x", SR_TID_X }, { "%tid.y", SR_TID_Y }, { "%tid.z", SR_TID_Z }, { "%tid.w", SR_ZERO32 },
	{ "%ntid.x", SR_NTID_X }, { "%ntid.y", SR_NTID_Y }, { "%ntid.z", SR_NTID_Z },
	{ "%ctaid.x", SR_CTAID_X }, { "%ctaid.y", SR_CTAID_Y }, { "%ctaid.z", SR_CTAID_Z },
	{ "%ctaid.w", SR_ZERO32 }, { "%nctaid.x", SR_NCTAID_X }, { "%nctaid.y", SR_NCTAID_Y },
	{ "%nctaid.z", SR_NCTAID_Z }, { "%laneid", SR_LANEID }, { "%warpid", SR_WARPID },
	{ "%nwarpid", SR_NWARPID }, { "%lanemask_eq", SR_LANEMASK_EQ },
	{ "%lanemask_le", SR_LANEMASK_LE }, { "%lanemask_lt", SR_LANEMASK_LT },
	{ "%lanemask_ge", SR_LANEMASK_GE }, { "%lanemask_gt", SR_LANEMASK_GT },
	{ "%smid", SR_SMID }, { "%nsmid", SR_NSMID }, { "%gridid", SR_GRIDID },
	{ "%clock", SR_CLOCK }, { "%clock_hi", SR_CLOCK_HI }, { "%clock64", SR_CLOCK64 },
	{ "%globaltimer", SR_GLOBALTIMER }, { "%globaltimer_lo", SR_GLOBALTIMER_LO },
	{ "%globaltimer_hi", SR_GLOBALTIMER_HI }, { "%dynamic_smem_size", SR_DYNAMIC_SMEM },
	{ "%total_smem_size", SR_TOTAL_SMEM }, { "WARP_SZ", SR_WARPSZ },
	{ "%clusterid.x", SR_CLUSTERID_X }, { "%clusterid.y", SR_CLUSTERID_Y }, { "%clusterid.z", SR_CLUSTERID_Z }, { "%clusterid.w", SR_ZERO32 },
	{ "%nclusterid.x", SR_NCLUSTERID_X }, { "%nclusterid.y", SR_NCLUSTERID_Y }, { "%nclusterid.z", SR_NCLUSTERID_Z },
	{ "%nclusterid.w", SR_ONE32 }, { "%cluster_ctaid.x", SR_CLUSTER_CTAID_X }, { "%cluster_ctaid.y", SR_CLUSTER_CTAID_Y },
	{ "%cluster_ctaid.z", SR_CLUSTER_CTAID_Z }, { "%cluster_ctaid.w", SR_ZERO32 }, { "%cluster_nctaid.x", SR_CLUSTER_NCTAID_X },
	{ "%cluster_nctaid.y", SR_CLUSTER_NCTAID_Y }, { "%cluster_nctaid.z", SR_CLUSTER_NCTAID_Z }, { "%cluster_nctaid.w", SR_ONE32 },
	{ "%cluster_ctarank", SR_CLUSTER_CTARANK }, { "%cluster_nctarank", SR_CLUSTER_NCTARANK },
	{ "%is_explicit_cluster", SR_CLUSTER_EXPLICIT },
	/* nothing of a block's shared memory is the system's, no graph is launched from the device, no counter was ever started */
	{ "%aggr_smem_size", SR_TOTAL_SMEM }, { "%reserved_smem_offset_begin", SR_RESERVED_BEGIN }, { "%reserved_smem_offset_end", SR_RESERVED_END },
	{ "%reserved_smem_offset_cap", SR_RESERVED_CAP }, { "%reserved_smem_offset_0", SR_RESERVED_BEGIN }, { "%reserved_smem_offset_1", SR_RESERVED_1 },
	{ "%current_graph_exec", SR_ZERO64 },
	{ "%pm0", SR_ZERO32 }, { "%pm1", SR_ZERO32 }, { "%pm2", SR_ZERO32 }, { "%pm3", SR_ZERO32 }, { "%pm4", SR_ZERO32 },
	{ "%pm5", SR_ZERO32 }, { "%pm6", SR_ZERO32 }, { "%pm7", SR_ZERO32 }, { "%pm0_64", SR_ZERO64 }, { "%pm1_64", SR_ZERO64 },
	{ "%pm2_64", SR_ZERO64 }, { "%pm3_64", SR_ZERO64 }, { "%pm4_64", SR_ZERO64 }, { "%pm5_64", SR_ZERO64 },
	{ "%pm6_64", SR_ZERO64 }, { "%pm7_64", SR_ZERO64 },
};

int sreg_find(const char *s, size_t n)
{
	u32 i, v = 0;

	for (i = 0; i < sizeof(sregs) / sizeof(sregs[0]); i++)
		if (same(sregs[i].name, s, n))
			return sregs[i].sr;
	if (n > 7 && n <= 9 && !memcmp(s, "%envreg", 7)) {
		for (i = 7; i < n; i++)
			if (s[i] < '0' || s[i] > '9')
				return -1;
			else
				v = v * 10 + (u32)(s[i] - '0');
		if (v < 32)
			return SR_ENVREG0 + (int)v;
	}
	return -1;
}

u32 sreg_bytes(u32 sr)
{
	return sr == SR_CLOCK64 || sr == SR_GLOBALTIMER || sr == SR_ZERO64 ? 8 : sr == SR_GRIDID ? 0 : 4;
}

bool mod_known_unsupported(const struct opdesc *od, const char *s, size_t n)
{
	static const struct { const char *op, *mods; } rest[] = {
#define UNMOD(op, mods) { op, " " mods " " },
#include "ops.def"
	};
	char word[64];
	u32 i;

	if (n + 3 > sizeof(word))
		return false;
	word[0] = word[n + 1] = ' ';
	memcpy(word + 1, s, n);
	word[n + 2] = 0;
	for (i = 0; i < sizeof(rest) / sizeof(rest[0]); i++)
		if (!strcmp(rest[i].op, od->name) && strstr(rest[i].mods, word))
			return true;
	return false;
}

const char *sreg_name(u32 sr)
{
	u32 i;

	for (i = 0; i < sizeof(sregs) / sizeof(sregs[0]); i++)
		if (sregs[i].sr == (int)sr)
			return sregs[i].name;
	return sr == SR_COUNT ? "%dynamic_smem_offset" : "%envreg";
}

void ops_print(FILE *out)
{
	u32 i, k;

	fprintf(out, "| instruction | first types | modifiers |\n|---|---|---|\n");
	for (i = 1; i < OPID_COUNT; i++) {
		fprintf(out, "| `%s` |", op_table[i].name);
		if (op_table[i].types & TNONE)
			fprintf(out, " none");
		for (k = 1; k < T_COUNT; k++)
			if (op_table[i].types >> k & 1)
				fprintf(out, " .%s", types[k].name);
		fprintf(out, " |");
		for (k = 0; k < sizeof(mods) / sizeof(mods[0]); k++)
			if (op_table[i].mods >> mods[k].cls & 1)
				fprintf(out, " .%s", mods[k].name);
		fprintf(out, " |\n");
	}
}
