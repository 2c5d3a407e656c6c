/* SPDX-License-Identifier: MIT */
/* PTX as the engine knows it: types, modifiers, instructions (ops.def), special registers. What ops.c answers is asked here. */
#ifndef VGPU_CPU_ISA_H
#define VGPU_CPU_ISA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

enum type {
	T_NONE, T_PRED, T_B8, T_B16, T_B32, T_B64, T_U8, T_U16, T_U32, T_U64, T_S8, T_S16, T_S32,
	T_S64, T_F16, T_F16X2, T_BF16, T_BF16X2, T_F32, T_F64, T_U16X2, T_S16X2, T_B128, T_TF32,
	/* of operands only: parts of a register, see gen.h */
	T_F32X2, T_E4M3X2, T_E5M2X2, T_E2M1X2, T_E2M3X2, T_E3M2X2, T_UE8M0X2, T_U4, T_S4, T_U2, T_S2, T_B1, T_E4M3, T_E5M2,
	T_E4M3X4, T_E5M2X4, T_E2M1X4, T_E2M3X4, T_E3M2X4, T_COUNT
};

u32 type_bytes(enum type t);
const char *type_name(enum type t);
static inline bool type_is_float(enum type t) { return t >= T_F16 && t <= T_F64; }
static inline bool type_is_signed(enum type t)
{
	return (t >= T_S8 && t <= T_S64) || t == T_S16X2;
}

enum modclass {
	MC_RND, MC_FTZ, MC_SAT, MC_APX, MC_HLW, MC_CMP, MC_BOOL, MC_SPACE, MC_VEC, MC_SEM, MC_CACHE,
	MC_SCOPE, MC_CC, MC_SHF, MC_CLAMP, MC_PRMT, MC_SHFL, MC_SYNC, MC_VOTE, MC_ATOM, MC_TO,
	MC_UNI, MC_ALIGNED, MC_BAR, MC_RED, MC_NOFTZ, MC_TESTP, MC_SHIFTAMT, MC_NAN, MC_IDX,
	MC_RELU, MC_PACK, MC_GRIDDEP, MC_XORSIGN, MC_ABS, MC_MSHAPE, MC_ROW, MC_COL, MC_TRANS, MC_MNUM, MC_CP,
	MC_HINT, MC_POLICY, MC_PROXY, MC_SATF, MC_OOB, MC_SCALE, MC_PO, MC_WMMA, MC_FRAG, MC_MBAR, MC_MBARM, MC_BULK, MC_FROM,
	MC_GEOM, MC_LEVEL, MC_SURF, MC_EDGE, MC_TLD, MC_TXQ, MC_WGMMA, MC_TENSOR, MC_TMODE, MC_SPARSE, MC_COUNT
};

enum { RND_RN = 1, RND_RZ, RND_RM, RND_RP, RND_RNA, RND_RNI, RND_RZI, RND_RMI, RND_RPI, RND_RS };
enum { HLW_LO = 1, HLW_HI, HLW_WIDE };
enum { CMP_EQ = 1, CMP_NE, CMP_LT, CMP_LE, CMP_GT, CMP_GE, CMP_EQU, CMP_NEU, CMP_LTU, CMP_LEU,
       CMP_GTU, CMP_GEU, CMP_NUM, CMP_NAN };
enum { BOOL_AND = 1, BOOL_OR, BOOL_XOR };
#define MXCSR_BASE 0x1f80u      /* all exceptions masked, to nearest even */
#define MXCSR_FLUSH 0x8040u     /* FTZ and DAZ */
enum { SPACE_GENERIC, SPACE_GLOBAL, SPACE_SHARED, SPACE_LOCAL, SPACE_CONST, SPACE_PARAM };
enum { BAR_SYNC = 1, BAR_ARRIVE, BAR_RED, BAR_WAIT };     /* the last of clusters only */
enum { RED_POPC = 1, RED_AND, RED_OR };
enum { ATOM_ADD = 1, ATOM_MIN, ATOM_MAX, ATOM_INC, ATOM_DEC, ATOM_AND, ATOM_OR, ATOM_XOR,
       ATOM_EXCH, ATOM_CAS,
       ATOM_MBAR_ARRIVE, ATOM_MBAR_DROP, ATOM_MBAR_TX };       /* on an mbarrier, see atoms.c */
enum { MBAR_INIT = 1, MBAR_INVAL, MBAR_ARRIVE, MBAR_DROP, MBAR_TEST, MBAR_TRY, MBAR_COMPLETE, MBAR_PENDING };
enum { MBARM_EXPECT = 1, MBARM_NO_COMPLETE, MBARM_PARITY, MBARM_NOINC };
enum { BULK_COPY = 1, BULK_MBARRIER, BULK_TX, BULK_GROUP, BULK_PREFETCH };
enum { TENSOR_OF_1D = 1, TENSOR_OF_2D, TENSOR_OF_3D, TENSOR_OF_4D, TENSOR_OF_5D, TENSOR_OF_NONE,
       TENSOR_OF_BASE, TENSOR_OF_RANK, TENSOR_OF_BOX, TENSOR_OF_DIM, TENSOR_OF_STRIDE, TENSOR_OF_STEP, TENSOR_OF_TYPE, TENSOR_OF_INTERLEAVE,
       TENSOR_OF_SWIZZLE, TENSOR_OF_ATOM, TENSOR_OF_FILL };     /* dimensions; fields of a map */
enum { TMODE_TILE = 1, TMODE_IM2COL, TMODE_NO_OFFS, TMODE_B1024 };
enum { SPARSE_ANY = 1, SPARSE_ORDERED };  /* mma.sp: its indices */
enum { WGMMA_MMA = 1, WGMMA_FENCE, WGMMA_COMMIT, WGMMA_WAIT };
enum { VOTE_ALL = 1, VOTE_ANY, VOTE_UNI, VOTE_BALLOT };
#define SHFL_WITHIN 1           /* sub2 in jit_src.code: strip/within.c */
enum { SHFL_UP = 1, SHFL_DOWN, SHFL_BFLY, SHFL_IDX };
enum { MSHAPE_M8N8 = 1, MSHAPE_M8N8K16, MSHAPE_M16N8K4, MSHAPE_M16N8K8, MSHAPE_M16N8K16, MSHAPE_M16N8K32,
       MSHAPE_M16N8K64, MSHAPE_M16N8K128, MSHAPE_M16N8K256, MSHAPE_M8N8K4, MSHAPE_M8N8K32, MSHAPE_M8N8K128, MSHAPE_M16N16K16,
       MSHAPE_M8N32K16, MSHAPE_M32N8K16, MSHAPE_M16N16K8 };
enum { SEM_VOLATILE = 1, SEM_RELAXED, SEM_ACQUIRE, SEM_RELEASE, SEM_ACQ_REL, SEM_SC, SEM_MMIO, SEM_WEAK };
enum { SCOPE_CTA = 1, SCOPE_GPU, SCOPE_SYS, SCOPE_CLUSTER };
enum { LAYOUT_A = 1, LAYOUT_B };         /* of mma: by bits in .row and .col which matrix lies so */
enum { CP_ASYNC = 1, CP_COMMIT, CP_WAIT, CP_WAIT_ALL, CP_REPLACE, CP_FENCEPROXY };

enum opid {
	OPID_NONE,
#define OP(id, name, x, lop, shape, mods, types) OPID_##id,
#include "ops.def"
	OPID_COUNT
};

enum xclass {
	X_NOP, X_LANE, X_ARITH, X_CARRY, X_BFI, X_COPYSIGN, X_DP, X_TESTP, X_SETP, X_SET, X_SLCT, X_LOGIC, X_LOP3,
	X_SHF, X_PRMT, X_MOV, X_LD, X_ST, X_ISSPACEP, X_CVTA, X_CVT, X_BRA, X_BRX, X_CALL, X_RET,
	X_EXIT, X_TRAP, X_BAR, X_MEMBAR, X_ATOM, X_VOTE, X_MATCH, X_ACTIVEMASK, X_ELECT, X_REDUX, X_SHFL,
	X_NANOSLEEP, X_MMA, X_LDMATRIX, X_MOVMATRIX, X_CPASYNC, X_POLICY, X_VIDEO, X_WMMA,
	X_STMATRIX, X_MBAR, X_MAPA, X_TEX, X_STACK, X_WGMMA, X_TMAP
};

struct opdesc {
	const char *name;
	u16 id;
	u8 x;                   /* enum xclass */
	u16 lop;                /* enum lop */
	const char *shape;
	u64 mods;               /* bit per modclass */
	u64 types;              /* bit per type; bit 0: no type at all */
};
extern const struct opdesc op_table[OPID_COUNT];
const struct opdesc *op_find(const char *s, size_t n);
bool op_known_unsupported(const char *s, size_t n);
/* Value of modifier s in the first class that the op permits; -1 if there is none. */
int mod_find(const struct opdesc *od, const char *s, size_t n, enum modclass *cls);
enum type type_find(const char *s, size_t n);
/* The other way round: how the table spells value val of the class, NULL: not at all; and all that the op permits. */
const char *mod_name(enum modclass cls, u32 val);
const char *mod_nth(const struct opdesc *od, u32 i);
const char *sreg_name(u32 sr);
u32 sreg_bytes(u32 sr);                 /* 0: %gridid, which had 32 bits and has 64 */
/* A legal modifier of an instruction that we have, in a form that we have not. */
bool mod_known_unsupported(const struct opdesc *od, const char *s, size_t n);

/* special registers, in the order of sreg_names[] */
enum sreg {
	SR_TID_X, SR_TID_Y, SR_TID_Z, SR_NTID_X, SR_NTID_Y, SR_NTID_Z, SR_CTAID_X, SR_CTAID_Y,
	SR_CTAID_Z, SR_CLUSTER_CTAID_X, SR_CLUSTER_CTAID_Y, SR_CLUSTER_CTAID_Z, SR_CLUSTER_CTARANK, SR_CLUSTERID_X, SR_CLUSTERID_Y,
	SR_CLUSTERID_Z, SR_NCLUSTERID_X, SR_NCLUSTERID_Y, SR_NCLUSTERID_Z, SR_CLUSTER_NCTAID_X, SR_CLUSTER_NCTAID_Y, SR_CLUSTER_NCTAID_Z,
	SR_CLUSTER_NCTARANK, SR_CLUSTER_EXPLICIT, SR_NCTAID_X, SR_NCTAID_Y, SR_NCTAID_Z, SR_LANEID, SR_WARPID, SR_NWARPID,
	SR_LANEMASK_EQ, SR_LANEMASK_LE, SR_LANEMASK_LT, SR_LANEMASK_GE, SR_LANEMASK_GT, SR_SMID,
	SR_NSMID, SR_GRIDID, SR_CLOCK, SR_CLOCK_HI, SR_CLOCK64, SR_GLOBALTIMER, SR_GLOBALTIMER_LO,
	SR_GLOBALTIMER_HI, SR_DYNAMIC_SMEM, SR_TOTAL_SMEM,
	SR_RESERVED_BEGIN, SR_RESERVED_1, SR_RESERVED_END, SR_RESERVED_CAP, SR_ENVREG0, SR_WARPSZ = SR_ENVREG0 + 32,
	SR_ZERO32, SR_ZERO64, SR_ONE32, SR_COUNT
};
int sreg_find(const char *s, size_t n);

#endif
