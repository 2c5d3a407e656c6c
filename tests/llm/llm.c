/* SPDX-License-Identifier: MIT */
/*
 * llm: an unmodified libllama, through its C API, on CUDA and on its own CPU backend.
 *
 *   llm BACKENDS COMMAND ...        BACKENDS: the folder with libggml-*.so (the npm package's)
 *
 *   ops                                                                      single products against a model of the arithmetic
 *   logits [-p LENGTHS] [-n STEPS] [-b MAX_NMSE | -r F32.gguf [-k TIMES]] MODEL.gguf    how far apart the logits are, teacher-forced
 *   text   [-n TOKENS] [-b MAX_NMSE] MODEL.gguf PROMPT...                    greedy text of both sides
 *   checks MODEL.gguf OTHER.gguf                                             embeddings, sequences, shift, two models, reload
 *   speed  [-p TOKENS] [-n TOKENS] [-t THREADS] [-r ROUNDS] MODEL.gguf       tokens per second of both, and the ratio
 *   demo   [-n TOKENS] MODEL.gguf PROMPT                                     for people
 *
 * Lines begin with ok or FAIL. Exit 0: all ok, 1: something failed, 2: usage. Compiled against the headers
 * that the npm package's own sources carry; see build.sh.
 */
#include <stdio.h>
#include <string.h>

#include "lm.h"

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(const char *backends, int argc, char **argv);
	} commands[] = {
		{ "ops", cmd_ops }, { "logits", cmd_logits }, { "text", cmd_text }, { "checks", cmd_checks },
		{ "speed", cmd_speed }, { "demo", cmd_demo },
	};

	setvbuf(stdout, NULL, _IOLBF, 0);       /* what was found is there, also when the rest is cut off */
	for (size_t i = 0; argc > 2 && i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(argv[2], commands[i].name)) {
			int st = commands[i].run(argv[1], argc - 2, argv + 2);

			if (st == 2)
				break;
			return st;
		}
	fputs("usage: llm BACKENDS ops|logits|text|checks|speed|demo ...; see the head of llm.c\n", stderr);
	return 2;
}
