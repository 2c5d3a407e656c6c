/* SPDX-License-Identifier: MIT */
/* Operators of two operands and their codes (Itanium C++ ABI 5.1.3.3). Included where BINARY(code, text) is defined. */
BINARY("pl", "+") BINARY("mi", "-") BINARY("ml", "*") BINARY("dv", "/") BINARY("rm", "%") BINARY("an", "&") BINARY("or", "|")
BINARY("eo", "^") BINARY("aS", "=") BINARY("pL", "+=") BINARY("mI", "-=") BINARY("mL", "*=") BINARY("dV", "/=") BINARY("rM", "%=")
BINARY("aN", "&=") BINARY("oR", "|=") BINARY("eO", "^=") BINARY("ls", "<<") BINARY("rs", ">>") BINARY("lS", "<<=")
BINARY("rS", ">>=") BINARY("eq", "==") BINARY("ne", "!=") BINARY("lt", "<") BINARY("gt", ">") BINARY("le", "<=") BINARY("ge", ">=")
BINARY("ss", "<=>") BINARY("aa", "&&") BINARY("oo", "||") BINARY("cm", ",") BINARY("nt", "!") BINARY("co", "~")
