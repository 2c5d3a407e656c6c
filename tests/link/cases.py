# SPDX-License-Identifier: MIT
"""What the linker is asked: name, texts, and what comes out: numbers that kernel k writes, or None where it is refused; a fourth word: why
NVIDIA's verdict is not asked."""
HEAD = ".version 7.8\n.target sm_61\n.address_size 64\n"


def kernel(body, head=""):
    return f"""{HEAD}{head}
.visible .entry k(.param .u64 out)
{{
	.reg .b32 %r<9>;
	.reg .b64 %rd<4>;
	.param .b32 ret;
	ld.param.u64 %rd1, [out];
{body}
	st.global.u32 [%rd1], %r1;
	ret;
}}
"""


def call(name, to="%r1"):
    return f"	{{\n	.param .b32 back;\n	call.uni (back), {name}, ();\n	ld.param.b32 {to}, [back];\n	}}"


def proto(name, link=".extern"):
    return f"{link} .func (.param .b32 r) {name}();\n"


def func(name, value, link=".visible", extra=""):
    return f"{link} .func (.param .b32 r) {name}()\n{{\n	.reg .b32 %r<3>;\n{extra}	mov.u32 %r1, {value};\n	st.param.b32 [r], %r1;\n	ret;\n}}\n"


def load(name, space="global"):
    return f"	ld.{space}.u32 %r1, [{name}];"


VAR = ".global .align 4 .u32 "
CASES = [
    ("one", [kernel("	mov.u32 %r1, 5;")], 5),
    ("extern_function", [kernel(call("f"), proto("f")), HEAD + func("f", 7)], 7),
    ("definition_first", [HEAD + func("f", 7), kernel(call("f"), proto("f"))], 7),
    ("function_nowhere", [kernel(call("f"), proto("f"))], None),
    ("function_nowhere_unused", [kernel("	mov.u32 %r1, 5;", proto("f")), HEAD], 5),
    ("devrt_of_nvidia", [kernel(call("cudaGetDevices"), proto("cudaGetDevices")), HEAD + func("cudaGetDevices", 7),
                         HEAD + proto("cnpLaunchDevice") + func("cudaGetDevices", 0, ".visible", call("cnpLaunchDevice", "%r2") + "\n")], 7,
     "its own driver answers to that name"),
    ("function_twice", [kernel(call("f"), proto("f")), HEAD + func("f", 7), HEAD + func("f", 7)], 7),
    ("function_differs", [kernel(call("f"), proto("f")), HEAD + func("f", 7), HEAD + func("f", 8)], None, "says error, returns success"),
    ("weak_twice", [kernel(call("f"), proto("f")), HEAD + func("f", 7, ".weak"), HEAD + func("f", 8, ".weak")], 7),
    ("weak_and_strong", [kernel(call("f"), proto("f")), HEAD + func("f", 7, ".weak"), HEAD + func("f", 8)], 8),
    ("strong_and_weak", [kernel(call("f"), proto("f")), HEAD + func("f", 8), HEAD + func("f", 7, ".weak")], 8),
    ("own_functions", [kernel(call("f") + "\n" + call("g", "%r2") + "\n	mad.lo.u32 %r1, %r2, 100, %r1;", func("f", 1, "") + proto("g")),
                       HEAD + func("f", 2, "") + func("g", 0, ".visible", call("f", "%r2")).replace("mov.u32 %r1, 0", "mov.u32 %r1, %r2")], 201),
    ("own_variables", [kernel(load("v") + "\n" + call("g", "%r2") + "\n	mad.lo.u32 %r1, %r2, 100, %r1;", VAR + "v = 3;\n" + proto("g")),
                       HEAD + VAR + "v = 4;\n" + func("g", 0, ".visible", "	ld.global.u32 %r2, [v];\n").replace("mov.u32 %r1, 0", "mov.u32 %r1, %r2")], 403),
    ("own_and_visible", [kernel(load("v") + "\n" + call("g", "%r2") + "\n	mad.lo.u32 %r1, %r2, 100, %r1;", VAR + "v = 3;\n" + proto("g")),
                         HEAD + ".visible " + VAR + "v = 4;\n" + func("g", 0, ".visible", "	ld.global.u32 %r2, [v];\n").replace("mov.u32 %r1, 0", "mov.u32 %r1, %r2")], 403),
    ("extern_variable", [kernel(load("v"), ".extern " + VAR + "v;\n"), HEAD + ".visible " + VAR + "v = 9;\n"], 9),
    ("variable_nowhere", [kernel(load("v"), ".extern " + VAR + "v;\n"), HEAD], None),
    ("variable_twice", [kernel(load("v"), ".visible " + VAR + "v = 1;\n"), HEAD + ".visible " + VAR + "v = 1;\n"], 1),
    ("variable_differs", [kernel(load("v"), ".visible " + VAR + "v = 1;\n"), HEAD + ".visible " + VAR + "v = 2;\n"], None, "the same"),
    ("variable_weak", [kernel(load("v"), ".weak " + VAR + "v = 1;\n"), HEAD + ".weak " + VAR + "v = 1;\n"], 1),
    ("common_twice", [kernel(load("v"), ".common " + VAR + "v;\n"), HEAD + ".common " + VAR + "v;\n"], 0),
    ("common_larger", [kernel(load("v+28"), ".common " + VAR + "v[2];\n"), HEAD + ".common " + VAR + "v[8];\n"], 0),
    ("common_and_strong", [kernel(load("v"), ".common " + VAR + "v;\n"), HEAD + ".visible " + VAR + "v = 6;\n"], 6),
    ("constant", [kernel(load("c", "const"), ".extern .const .align 4 .u32 c;\n"), HEAD + ".visible .const .align 4 .u32 c = 11;\n"], 11),
    ("entry_twice", [kernel("	mov.u32 %r1, 5;"), kernel("	mov.u32 %r1, 6;")], None, "the same"),
    ("initialiser", [kernel("	ld.global.u64 %rd2, [t];\n	ld.global.u32 %r1, [%rd2];", ".extern .global .align 8 .u64 t;\n"),
                     HEAD + ".extern " + VAR + "v;\n.visible .global .align 8 .u64 t = v;\n", HEAD + ".visible " + VAR + "v = 12;\n"], 12),
    ("chain", [kernel(call("f"), proto("f")), HEAD + proto("g") + func("f", 0, ".visible", call("g", "%r2")).replace("mov.u32 %r1, 0", "add.u32 %r1, %r2, 1"),
               HEAD + func("g", 20)], 21),
    ("versions", [kernel(call("f"), proto("f")).replace("7.8", "6.4"), HEAD.replace("7.8", "8.0") + func("f", 7)], 7),
    ("devrt", [kernel("""	.param .b32 s; .param .b64 h; .param .b64 a; .param .b32 b; .param .b32 c; .reg .b64 %q<2>;
	st.param.b32 [s], 1;
	call.uni (h), cudaCGGetIntrinsicHandle, (s);
	ld.param.b64 %q1, [h];
	st.param.b64 [a], %q1;
	st.param.b32 [b], 0;
	call.uni (c), cudaCGSynchronize, (a, b);
	ld.param.b32 %r1, [c];""", ".extern .func (.param .b64 r) cudaCGGetIntrinsicHandle(.param .b32 a);\n"
        ".extern .func (.param .b32 r) cudaCGSynchronize(.param .b64 a, .param .b32 b);\n")], 1, "that is in an archive; not launched cooperatively"),
    ("comments", [kernel(call("f"), "// .extern .func f {\n/* } */\n" + proto("f")), HEAD + "/* { */" + func("f", 7) + "// }"], 7),
]
