/* SPDX-License-Identifier: MIT */
/* The kernel of these tests: k is added to each of n words at p. */
#ifndef TESTS_ADD_H
#define TESTS_ADD_H

static const char add_ptx[] =
	".version 7.0\n.target sm_52\n.address_size 64\n"
	".visible .entry add(.param .u64 p, .param .u32 k, .param .u32 n)\n{\n"
	".reg .pred q;\n.reg .b32 r<6>;\n.reg .b64 d<4>;\n"
	"ld.param.u64 d1, [p];\nld.param.u32 r1, [k];\nld.param.u32 r2, [n];\n"
	"mov.u32 r3, %ctaid.x;\nmov.u32 r4, %ntid.x;\nmov.u32 r5, %tid.x;\nmad.lo.u32 r3, r3, r4, r5;\n"
	"setp.ge.u32 q, r3, r2;\n@q bra END;\n"
	"mul.wide.u32 d2, r3, 4;\nadd.u64 d3, d1, d2;\nld.global.u32 r4, [d3];\nadd.u32 r4, r4, r1;\nst.global.u32 [d3], r4;\n"
	"END:\nret;\n}\n";

#endif
